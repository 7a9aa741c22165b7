// SPDX-License-Identifier: Apache-2.0
// A transfer study over all its environments, as `compare` has it: interquartile means of scores,
// win rates against the baseline, performance profiles.

#include <math.h>
#include <string.h>

#include "mirrormap/stats.h"
#include "show/report/report_internal.h"

enum {
  STRIDE = 2, // every second point of a profile: more cannot be seen
  POINTS = (MM_PROFILE_POINTS + STRIDE - 1) / STRIDE,
  MAPS_MOST = 32 // more profiles cannot be told apart
};

// Shares and scores with four digits behind the point: a page has thousands of them.
static cJSON *column(const double *x, size_t stride) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < POINTS; i++)
    cJSON_AddItemToArray(array, mm_json_defined(round(1e4 * x[i * stride]) / 1e4));
  return array;
}

static void add_profile(cJSON *object, const mm_scores *s, size_t map, const double *tau) {
  double share[POINTS];
  mm_interval band[POINTS];
  if (mm_scores_profile(s, map, tau, POINTS, share, band) != MM_OK) return;
  cJSON_AddItemToObject(object, "share", column(share, 1));
  cJSON_AddItemToObject(object, "share_low", column(&band[0].low, 2));
  cJSON_AddItemToObject(object, "share_high", column(&band[0].high, 2));
}

static cJSON *map_json(const mm_scores *s, size_t map, const double *tau) {
  const mm_score_table *t = s->table;
  const mm_score_map *m = &s->map[map];
  const mm_comparison *wins = &s->match[map * t->n_map + s->baselines.row[0]];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "map", t->map[map]);
  mm_json_add_whole(object, "runs", m->n);
  mm_json_add_whole(object, "failures", m->failures);
  mm_json_add_defined(object, "iqm", m->iqm.iqm);
  mm_json_add_defined(object, "low", m->iqm.low);
  mm_json_add_defined(object, "high", m->iqm.high);
  mm_json_add_defined(object, "wins", wins->wins);
  mm_json_add_defined(object, "wins_low", wins->win_interval.low);
  mm_json_add_defined(object, "wins_high", wins->win_interval.high);
  add_profile(object, s, map, tau);
  return object;
}

static cJSON *scores_json(const mm_scores *s) {
  const mm_score_table *t = s->table;
  double tau[POINTS];
  size_t n_env = 0;
  for (size_t i = 0; i < POINTS; i++)
    tau[i] = s->tau[i * STRIDE];
  for (size_t e = 0; e < t->n_env; e++)
    if (!isnan(s->scale[e].zero)) n_env++;
  if (n_env == 0) return cJSON_CreateNull(); // all means alike
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "baseline", t->map[s->baselines.row[0]]);
  mm_json_add_whole(object, "envs", n_env);
  cJSON_AddItemToObject(object, "tau", column(tau, 1));
  cJSON *maps = cJSON_AddArrayToObject(object, "maps");
  for (size_t m = 0; m < t->n_map; m++)
    cJSON_AddItemToArray(maps, map_json(s, m, tau));
  return object;
}

static cJSON *judge(const mm_score_table *t) {
  mm_scores s = { .map = NULL };
  if (t->n_map < 2 || t->n_map > MAPS_MOST) return cJSON_CreateNull();
  const mm_score_baselines baselines = mm_score_baselines_of(t);
  cJSON *object = NULL;
  if (mm_scores_of(t, &baselines, NULL, mm_score_random_row(t), &s) == MM_OK)
    object = scores_json(&s);
  mm_scores_release(&s);
  return object ? object : cJSON_CreateNull();
}

cJSON *mm_report_scores_json(const mm_report_run *r) {
  const char *folder = mm_run_folder_of(r->run);
  mm_score_table t = { .n_map = 0 };
  if (r->part_of >= 0 || strcmp(mm_run_command(r->run), "transfer") != 0 || mm_run_damage(r->run))
    return cJSON_CreateNull();
  // a study that has not ended has no such file
  cJSON *object = mm_score_table_read(&folder, 1, &t) == MM_OK ? judge(&t) : cJSON_CreateNull();
  mm_score_table_release(&t);
  return object;
}
