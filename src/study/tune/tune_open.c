// SPDX-License-Identifier: Apache-2.0
// Making, resuming, reading and closing a tuning.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "study/jobs/eta_tuning.h"
#include "study/tune/tune_internal.h"

static mm_status alloc_tune(mm_tune **out) {
  *out = NULL;
  mm_tune *t = mm_alloc(sizeof *t);
  if (!t) return MM_FAIL(MM_ERR_MEMORY, "no memory for a tuning");
  memset(t, 0, sizeof *t);
  t->gain = MM_COMPARISON_NONE;
  t->study.class = &mm_tune_class;
  *out = t;
  return MM_OK;
}

void mm_tune_close(mm_tune *t) {
  if (!t) return;
  mm_study_release(&t->study);
  mm_tune_search_release(&t->search);
  mm_free(t->value);
  mm_free(t->fresh);
  mm_plan_release_envs(&t->envs);
  for (size_t m = 0; m < MM_TUNE_MAPS; m++)
    mm_map_destroy(t->own_map[m]);
  mm_free(t);
}

// Hands a tuning over to its owner, or takes back what there is of it.
static mm_status hand_over(mm_tune *t, mm_status status, mm_tune **out) {
  if (status == MM_OK)
    *out = t;
  else
    mm_tune_close(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// A new one

static mm_status check_maps(const mm_tune *t) {
  for (size_t m = 0; m < t->plan.n_map; m++)
    MM_TRY(mm_tune_map_check(&t->plan.space, t->map[m], t->plan.map[m]));
  return MM_OK;
}

static mm_status check_plan(const mm_tune *t) {
  const mm_tune_plan *p = &t->plan;
  mm_tune_search_config config = mm_tune_config_of(t);
  for (size_t e = 1; e < p->n_env; e++)
    if (p->settings[e].algo != p->settings[0].algo)
      return MM_FAIL(MM_ERR_INPUT,
                     "'%s' is trained by %s, '%s' by %s: settings are tuned for one algorithm",
                     p->env[0], mm_algo_name(p->settings[0].algo), p->env[e],
                     mm_algo_name(p->settings[e].algo));
  MM_TRY(check_maps(t));
  MM_TRY(mm_tune_search_check(&config));
  for (size_t c = 0; c < mm_tune_cells(p); c++) {
    const size_t e = c / p->n_map;
    MM_TRY(mm_study_rehearse(t->envs.env[e], t->map[c % p->n_map], &p->settings[e], p->seed));
  }
  return MM_OK;
}

static mm_status create(mm_tune *t, const char *folder) {
  const mm_tune_plan *plan = &t->plan;
  cJSON *root;
  MM_TRY(mm_plan_new_envs(plan->env, plan->n_env, &t->envs));
  MM_TRY(check_plan(t));
  if (!folder) return MM_OK;
  MM_TRY(mm_tune_plan_json(plan, t->map, &t->envs, &root));
  MM_TRY(mm_study_make_run(&t->study, folder, root, &t->envs));
  snprintf(t->folder, sizeof t->folder, "%s", mm_study_folder(&t->study));
  return MM_OK;
}

mm_status mm_tune_create(const char *folder, const mm_tune_plan *plan, const mm_map *const *map,
                         mm_tune **out) {
  mm_tune *t;
  *out = NULL;
  MM_TRY(alloc_tune(&t));
  t->plan = *plan;
  t->plan.rounds = plan->prune;
  memcpy(t->map, map, plan->n_map * sizeof *map);
  return hand_over(t, create(t, folder), out);
}

// ---------------------------------------------------------------------------------------------
// One that is there

static mm_status read_plan(mm_tune *t, const mm_run *run) {
  const mm_tune_plan *plan = &t->plan;
  char source[MM_STUDY_SOURCE_SIZE];
  cJSON *root;
  snprintf(t->folder, sizeof t->folder, "%s", mm_run_folder_of(run));
  MM_TRY(mm_study_plan(run, &root, source));
  mm_status status = mm_tune_plan_read(root, source, &t->plan, t->own_map, &t->envs);
  cJSON_Delete(root);
  MM_TRY(status);
  for (size_t m = 0; m < plan->n_map; m++)
    t->map[m] = t->own_map[m];
  MM_TRY(mm_plan_open_envs(plan->env, t->folder, &t->envs));
  MM_TRY(check_maps(t));
  mm_tune_search_config config = mm_tune_config_of(t);
  return mm_tune_search_check(&config);
}

static mm_status resume(mm_tune *t, const char *folder) {
  MM_TRY(mm_study_take_run(&t->study, folder));
  MM_TRY(read_plan(t, t->study.run));
  return mm_plan_copy_tasks(&t->envs, t->folder);
}

mm_status mm_tune_resume(const char *folder, mm_tune **out) {
  mm_tune *t;
  *out = NULL;
  MM_TRY(alloc_tune(&t));
  return hand_over(t, resume(t, folder), out);
}

// ---------------------------------------------------------------------------------------------
// Only looking

static mm_status read_run(mm_tune *t, mm_run *run) {
  MM_TRY(read_plan(t, run));
  MM_TRY(mm_job_store_read(run, &t->study.store));
  mm_status status = mm_tune_search_all(t);
  t->complete = status == MM_OK;
  return status == MM_ERR_INTERRUPTED ? MM_OK : status;
}

mm_status mm_tune_read(mm_run *run, mm_tune **out) {
  mm_tune *t;
  *out = NULL;
  MM_TRY(alloc_tune(&t));
  return hand_over(t, read_run(t, run), out);
}
