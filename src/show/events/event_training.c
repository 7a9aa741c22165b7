// SPDX-License-Identifier: Apache-2.0
// Training runs as event files: one for every seed of a batch, and one for the mean over its seeds.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/events/event_internal.h"
#include "show/report/report_internal.h"

#define RETURN "return"

typedef struct reader {
  mm_report_trainings all;
  mm_report_measures measures;
} reader;

// Numbers over steps under one tag, of all training runs of a group.
typedef struct curves {
  const char *tag;
  mm_result *of; // [n] of the group; only curve, status and final return count
} curves;

// Training runs that differ by their seeds alone: n from number `from` on.
typedef struct group {
  const mm_report_trainings *all;
  size_t from, n;
  curves *curves; // [n_curves]
  size_t n_curves;
  bool repeated;     // some seed is there twice
  double begin, end; // shares of the run's time between which they were trained
  double last_step;  // of any
} group;

static mm_status fail_on_memory(void) {
  return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of training runs");
}

// ---------------------------------------------------------------------------------------------
// Reading

static mm_status read_all(mm_run *run, const cJSON *config, reader *r) {
  mm_status status = mm_report_read_trainings(run, config, &r->all);
  if (status != MM_OK && status != MM_ERR_INPUT) return status;
  status = mm_report_read_measures(run, &r->all, &r->measures);
  return status == MM_ERR_INPUT ? MM_OK : status;
}

static void release(reader *r) {
  mm_report_release_trainings(&r->all);
  mm_report_release_measures(&r->measures);
}

// ---------------------------------------------------------------------------------------------
// Groups

static mm_status find_curves(group *g, const char *tag, curves **out) {
  for (size_t i = 0; i < g->n_curves; i++) {
    *out = &g->curves[i];
    if (strcmp((*out)->tag, tag) == 0) return MM_OK;
  }
  mm_result *of = MM_GROW(g->curves, g->n_curves) ? mm_alloc_array(g->n, sizeof *of) : NULL;
  if (!of) return fail_on_memory();
  memset(of, 0, g->n * sizeof *of);
  *out = &g->curves[g->n_curves++];
  **out = (curves){ tag, of };
  return MM_OK;
}

static mm_status add_curve(group *g, size_t k, const char *tag, const mm_result *curve) {
  curves *c;
  MM_TRY(find_curves(g, tag, &c));
  c->of[k] = (mm_result){ .curve_step = curve->curve_step,
                          .curve = curve->curve,
                          .n_curve = curve->n_curve,
                          .final_value = curve->final_value };
  return MM_OK;
}

// Tags in the order in which they come up, the return first.
static mm_status gather(const reader *r, group *g) {
  for (size_t k = 0; k < g->n; k++) {
    const mm_result *own = &r->all.result[g->from + k];
    if (own->n_curve > 0) MM_TRY(add_curve(g, k, RETURN, own));
  }
  const mm_report_measures *all = &r->measures;
  for (const mm_report_measure *m = all->measure; m < all->measure + all->n; m++) {
    if (m->training >= g->from + g->n) break;
    const bool taken = strcmp(m->name, RETURN) == 0;
    if (m->training >= g->from)
      MM_TRY(add_curve(g, m->training - g->from, taken ? "measure/" RETURN : m->name, &m->curve));
  }
  return MM_OK;
}

static int by_seed(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

// Seeds name the files; a file of anybody may have one twice.
static mm_status look_at_seeds(group *g) {
  uint64_t *seed = mm_alloc_array(g->n, sizeof *seed);
  if (!seed) return fail_on_memory();
  memcpy(seed, g->all->seed + g->from, g->n * sizeof *seed);
  qsort(seed, g->n, sizeof *seed, by_seed);
  for (size_t i = 1; i < g->n; i++)
    g->repeated = g->repeated || seed[i] == seed[i - 1];
  mm_free(seed);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Times. The database has those of sessions only: within them time goes with the environment steps,
// group after group, and the seeds of a group run side by side.

static void set_times(group *g, mm_event_folder *folder) {
  double steps = 0;
  for (size_t k = 0; k < g->n; k++) {
    double own = (double)g->all->result[g->from + k].env_steps;
    steps += own;
    g->last_step = fmax(g->last_step, own);
    for (size_t i = 0; i < g->n_curves; i++) {
      const mm_result *r = &g->curves[i].of[k];
      if (r->n_curve > 0) g->last_step = fmax(g->last_step, (double)r->curve_step[r->n_curve - 1]);
    }
  }
  bool known = folder->steps > 0;
  g->begin = known ? folder->steps_before / folder->steps : 0;
  folder->steps_before += steps;
  g->end = known ? folder->steps_before / folder->steps : 1;
}

static double time_at(const group *g, const mm_event_folder *folder, uint64_t step) {
  double part = g->last_step > 0 ? fmin((double)step / g->last_step, 1) : 0;
  return mm_event_moment(folder, g->begin + part * (g->end - g->begin));
}

// ---------------------------------------------------------------------------------------------
// Writing

static mm_status put_seed(const group *g, size_t k, mm_event_folder *folder, const char *stem,
                          mm_event_file *file) {
  char sub[MM_EVENT_SUB_SIZE], job[32] = "";
  if (g->repeated) snprintf(job, sizeof job, "-job-%" PRId64, g->all->place[g->from + k]);
  snprintf(sub, sizeof sub, "%sseed-%" PRIu64 "%s", stem, g->all->seed[g->from + k], job);
  MM_TRY(mm_event_file_start(file, folder->start));
  for (size_t i = 0; i < g->n_curves; i++) {
    const mm_result *r = &g->curves[i].of[k];
    for (size_t p = 0; p < r->n_curve; p++)
      MM_TRY(mm_event_file_put(file, time_at(g, folder, r->curve_step[p]), r->curve_step[p],
                               g->curves[i].tag, r->curve[p]));
  }
  return mm_event_save(folder, sub, file);
}

static mm_status put_mean_of(const group *g, curves *c, const mm_event_folder *folder,
                             mm_event_file *file) {
  mm_curve_point *point;
  size_t n;
  MM_TRY(mm_report_mean_curve(g->all->result + g->from, c->of, g->n, &point, &n));
  mm_status status = MM_OK;
  for (size_t p = 0; p < n && status == MM_OK; p++)
    status = mm_event_file_put(file, time_at(g, folder, point[p].step), point[p].step, c->tag,
                               point[p].value.mean);
  mm_free(point);
  return status;
}

static mm_status put_mean(const group *g, mm_event_folder *folder, const char *stem,
                          mm_event_file *file) {
  char sub[MM_EVENT_SUB_SIZE];
  snprintf(sub, sizeof sub, "%smean", stem);
  MM_TRY(mm_event_file_start(file, folder->start));
  for (size_t i = 0; i < g->n_curves; i++)
    MM_TRY(put_mean_of(g, &g->curves[i], folder, file));
  return mm_event_save(folder, sub, file);
}

static mm_status write_group(const group *g, mm_event_folder *folder, const char *stem) {
  mm_event_file file;
  for (size_t k = 0; k <= g->n && g->n > 0; k++) {
    mm_status status =
        k < g->n ? put_seed(g, k, folder, stem, &file) : put_mean(g, folder, stem, &file);
    mm_event_file_release(&file);
    MM_TRY(status);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Batches

// Training runs from .. to - 1 in a sub-folder of their own, or, without a label, at the top.
static mm_status export_group(const reader *r, mm_event_folder *folder, size_t from, size_t to,
                              const char *stem, const char *label) {
  char name[MM_EVENT_NAME_SIZE], sub[MM_EVENT_NAME_SIZE + 1] = "";
  if (from >= to) return MM_OK;
  group g = { .all = &r->all, .from = from, .n = to - from };
  mm_status status = gather(r, &g);
  if (status == MM_OK) status = look_at_seeds(&g);
  if (status == MM_OK && label) {
    status = mm_event_take_name(folder, stem, label, name);
    if (status == MM_OK) snprintf(sub, sizeof sub, "%s/", name);
  }
  set_times(&g, folder);
  if (status == MM_OK) status = write_group(&g, folder, sub);
  for (size_t i = 0; i < g.n_curves; i++)
    mm_free(g.curves[i].of);
  mm_free(g.curves);
  return status;
}

// Many batches of a tuning are the same but for their settings: their numbers tell them apart.
static mm_status export_batch(const reader *r, mm_event_folder *folder, const mm_report_batch *b,
                              size_t from) {
  char stem[MM_RUN_WORD_SIZE + 32] = "", label[2 * MM_RUN_WORD_SIZE];
  if (!mm_report_is_shown(b)) snprintf(stem, sizeof stem, "%s-%" PRId64 "-", b->role, b->batch);
  snprintf(label, sizeof label, "%s-%s", b->env, b->map);
  return export_group(r, folder, from, b->from + b->n, stem, label);
}

// Training runs whose batch is lost are shown all the same, and none twice.
static mm_status export_batches(const reader *r, mm_event_folder *folder) {
  static const char lost[] = "without-batch";
  size_t next = 0;
  for (const mm_report_batch *b = r->all.batch; b < r->all.batch + r->all.n_batch; b++) {
    MM_TRY(export_group(r, folder, next, b->from, "", lost));
    if (next < b->from) next = b->from;
    MM_TRY(export_batch(r, folder, b, next));
    if (next < b->from + b->n) next = b->from + b->n;
  }
  return export_group(r, folder, next, r->all.n, "", lost);
}

mm_status mm_event_export_trainings(mm_run *run, mm_event_folder *folder) {
  reader r = { 0 };
  cJSON *config;
  const char *text = mm_run_config(run);
  if (mm_json_parse(text, strlen(text), "config", &config) != MM_OK) config = NULL;
  mm_status status = read_all(run, config, &r);
  for (size_t i = 0; i < r.all.n; i++)
    folder->steps += (double)r.all.result[i].env_steps;
  if (status == MM_OK && strcmp(mm_run_command(run), "train") == 0)
    status = export_group(&r, folder, 0, r.all.n, "", NULL);
  else if (status == MM_OK)
    status = export_batches(&r, folder);
  release(&r);
  cJSON_Delete(config);
  return status;
}
