// SPDX-License-Identifier: Apache-2.0
// Training runs of a run, and their curves. Everything of a file may be damaged or odd: places
// without a batch, batches without training runs, curves of training runs that are not there.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/report/report_internal.h"
#include "study/jobs/plan.h"

typedef struct reader {
  mm_report_trainings *all;
  const cJSON *config; // of the run
  size_t at;           // training whose points come
  bool no_memory;
} reader;

// ---------------------------------------------------------------------------------------------
// Reading

static int see_training(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  reader *r = user;
  mm_report_trainings *all = r->all;
  r->no_memory =
      !MM_GROW(all->result, all->n) || !MM_GROW(all->place, all->n) || !MM_GROW(all->seed, all->n);
  if (r->no_memory) return 1;
  all->place[all->n] = row->job;
  all->seed[all->n] = row->seed;
  all->result[all->n++] = (mm_result){ .status = row->status,
                                       .final_value = row->final,
                                       .recent_value = row->recent,
                                       .optimal_value = row->optimal,
                                       .env_steps = row->env_steps };
  return 0;
}

// Both tables are in the order of the places.
static int see_point(const mm_run_row *any, void *user) {
  const mm_run_point *row = &any->curve;
  reader *r = user;
  mm_report_trainings *all = r->all;
  while (r->at < all->n && all->place[r->at] < row->job)
    r->at++;
  if (r->at == all->n || all->place[r->at] != row->job) return 0;
  r->no_memory = !MM_GROW(all->step, all->n_point) || !MM_GROW(all->value, all->n_point);
  if (r->no_memory) return 1;
  all->step[all->n_point] = row->step;
  all->value[all->n_point++] = row->value;
  all->result[r->at].n_curve++;
  return 0;
}

static void place_curves(mm_report_trainings *all) {
  size_t first = 0;
  for (size_t i = 0; i < all->n; i++) {
    all->result[i].curve_step = all->step + first;
    all->result[i].curve = all->value + first;
    first += all->result[i].n_curve;
  }
}

static int see_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  reader *r = user;
  r->no_memory = !MM_GROW(r->all->batch, r->all->n_batch);
  if (r->no_memory) return 1;
  mm_report_batch *batch = &r->all->batch[r->all->n_batch++];
  *batch = (mm_report_batch){ .batch = row->batch, .first = row->first, .jobs = row->jobs };
  snprintf(batch->role, sizeof batch->role, "%s", row->role);
  snprintf(batch->env, sizeof batch->env, "%s", row->env);
  mm_plan_label(r->config, row->map, batch->map, sizeof batch->map);
  if (mm_json_parse(row->settings, strlen(row->settings), "settings", &batch->settings) != MM_OK)
    batch->settings = NULL;
  return 0;
}

// Before version 3 only `train` had training runs, all of one kind.
static bool make_batch(reader *r) {
  const cJSON *config = r->config;
  const char *env = mm_report_config_text(config, "env");
  const char *map = mm_report_config_text(config, "map");
  const cJSON *seeds = mm_json_find(config, "seeds");
  if (!env || !map || !cJSON_IsNumber(seeds)) return true;
  double jobs = seeds->valuedouble;
  mm_run_row row = { .batch = { .jobs =
                                    jobs >= 1 && jobs < 1e15 ? (int64_t)jobs : (int64_t)r->all->n,
                                .role = "train",
                                .env = env,
                                .map = map,
                                .settings = "null" } };
  see_batch(&row, r);
  if (r->no_memory) return false;
  cJSON_Delete(r->all->batch[0].settings);
  r->all->batch[0].settings = cJSON_Duplicate(mm_json_find(config, "settings"), true);
  return true;
}

static void fill_batches(mm_report_trainings *all) {
  for (size_t b = 0; b < all->n_batch; b++) {
    mm_report_batch *batch = &all->batch[b];
    while (batch->from < all->n && all->place[batch->from] < batch->first)
      batch->from++;
    size_t end = batch->from;
    while (end < all->n && all->place[end] - batch->first < batch->jobs)
      end++;
    batch->n = end - batch->from;
  }
}

// The worst of what happened; damage is no reason not to go on.
static mm_status worse(mm_status so_far, mm_status status, const reader *r) {
  if (r->no_memory) return MM_FAIL(MM_ERR_MEMORY, "no memory for the training runs of a run");
  return so_far == MM_OK || (so_far == MM_ERR_INPUT && status != MM_OK) ? status : so_far;
}

mm_status mm_report_read_trainings(mm_run *run, const cJSON *config, mm_report_trainings *out) {
  *out = (mm_report_trainings){ 0 };
  reader r = { .all = out, .config = config };
  if (mm_plan_read_seed(config, "config", &out->resampling) != MM_OK) out->resampling = 0;
  mm_status status = worse(MM_OK, mm_run_each(run, MM_RUN_TRAINING, see_training, &r), &r);
  if (status == MM_OK || status == MM_ERR_INPUT)
    status = worse(status, mm_run_each(run, MM_RUN_CURVE, see_point, &r), &r);
  if (status == MM_OK || status == MM_ERR_INPUT)
    status = worse(status, mm_run_each(run, MM_RUN_BATCH, see_batch, &r), &r);
  if (status == MM_OK && out->n_batch == 0 && !make_batch(&r))
    status = worse(status, MM_ERR_MEMORY, &r);
  place_curves(out);
  fill_batches(out);
  return status;
}

static void release_batch(mm_report_batch *batch) {
  cJSON_Delete(batch->settings);
  mm_free(batch->cell.curve);
}

void mm_report_release_trainings(mm_report_trainings *all) {
  for (size_t b = 0; b < all->n_batch; b++)
    release_batch(&all->batch[b]);
  mm_free(all->batch);
  mm_free(all->result);
  mm_free(all->place);
  mm_free(all->seed);
  mm_free(all->step);
  mm_free(all->value);
  *all = (mm_report_trainings){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Measures

typedef struct measure_reader {
  const mm_report_trainings *all;
  mm_report_measures *out;
  size_t at; // training whose rows come
  bool no_memory;
} measure_reader;

// The row goes on with the measure that the row before was of.
static bool is_next(const measure_reader *r, const mm_run_measure *row) {
  if (r->out->n == 0) return false;
  const mm_report_measure *last = &r->out->measure[r->out->n - 1];
  return last->training == r->at && strcmp(last->name, row->name) == 0;
}

static bool add_measure(const measure_reader *r, const mm_run_measure *row) {
  if (!MM_GROW(r->out->measure, r->out->n)) return false;
  mm_report_measure *m = &r->out->measure[r->out->n++];
  *m = (mm_report_measure){ .training = r->at, .first = r->out->n_point };
  snprintf(m->name, sizeof m->name, "%s", row->name);
  return true;
}

// A point of a training whose own row is lost has nowhere to go.
static int see_measure(const mm_run_row *any, void *user) {
  const mm_run_measure *row = &any->measure;
  measure_reader *r = user;
  mm_report_measures *out = r->out;
  while (r->at < r->all->n && r->all->place[r->at] < row->job)
    r->at++;
  if (r->at == r->all->n || r->all->place[r->at] != row->job) return 0;
  r->no_memory = (!is_next(r, row) && !add_measure(r, row)) || !MM_GROW(out->step, out->n_point) ||
                 !MM_GROW(out->value, out->n_point);
  if (r->no_memory) return 1;
  out->step[out->n_point] = row->step;
  out->value[out->n_point++] = row->value;
  out->measure[out->n - 1].curve.n_curve++;
  return 0;
}

mm_status mm_report_read_measures(mm_run *run, const mm_report_trainings *trainings,
                                  mm_report_measures *out) {
  *out = (mm_report_measures){ 0 };
  measure_reader r = { .all = trainings, .out = out };
  const mm_status status = mm_run_each(run, MM_RUN_MEASURE, see_measure, &r);
  for (mm_report_measure *m = out->measure; m < out->measure + out->n; m++) {
    m->curve.curve_step = out->step + m->first;
    m->curve.curve = out->value + m->first;
    m->curve.final_value = m->curve.curve[m->curve.n_curve - 1];
  }
  if (r.no_memory) return MM_FAIL(MM_ERR_MEMORY, "no memory for the measures of training runs");
  return status;
}

// Whether the points of a training lie at the first steps of the longest curve, at all of them
// unless it broke down: points that a damaged file lost would shift the others.
static bool is_whole(const mm_result *r, const mm_result *longest, mm_status status) {
  if (r->n_curve == 0 || (r->n_curve < longest->n_curve && status == MM_OK)) return false;
  return memcmp(r->curve_step, longest->curve_step, r->n_curve * sizeof *r->curve_step) == 0;
}

mm_status mm_report_mean_curve(const mm_result *runs, mm_result *curve, size_t n,
                               mm_curve_point **out, size_t *n_point) {
  const mm_result *longest = &curve[0];
  for (size_t k = 1; k < n; k++)
    if (curve[k].n_curve > longest->n_curve) longest = &curve[k];
  for (size_t k = 0; k < n; k++)
    curve[k].status = is_whole(&curve[k], longest, runs[k].status) ? runs[k].status : MM_ERR_INPUT;
  return mm_estimate_curve(curve, n, out, n_point);
}

// Enters the mean of the measure called `name`; curve: room for the batch's training runs.
static mm_status estimate_measure(const mm_report_trainings *all, size_t b, const char *name,
                                  mm_result *curve, mm_report_measures *m) {
  const mm_report_batch *batch = &all->batch[b];
  memset(curve, 0, batch->n * sizeof *curve);
  for (size_t i = 0; i < m->n; i++) {
    const mm_report_measure *one = &m->measure[i];
    if (one->training >= batch->from && one->training - batch->from < batch->n &&
        strcmp(one->name, name) == 0)
      curve[one->training - batch->from] = one->curve;
  }
  if (!MM_GROW(m->mean, m->n_mean))
    return MM_FAIL(MM_ERR_MEMORY, "no memory for the measures of training runs");
  mm_report_measured *mean = &m->mean[m->n_mean++];
  *mean = (mm_report_measured){ .batch = b, .name = name };
  return mm_report_mean_curve(all->result + batch->from, curve, batch->n, &mean->point, &mean->n);
}

// Names in the order in which they come up.
static bool has_mean(const mm_report_measures *m, size_t batch, const char *name) {
  for (size_t i = 0; i < m->n_mean; i++)
    if (m->mean[i].batch == batch && strcmp(m->mean[i].name, name) == 0) return true;
  return false;
}

static mm_status estimate_measures(const mm_report_trainings *all, size_t b, mm_report_measures *m,
                                   mm_result *curve) {
  const mm_report_batch *batch = &all->batch[b];
  for (size_t i = 0; i < m->n; i++) {
    const mm_report_measure *one = &m->measure[i];
    if (one->training < batch->from || one->training - batch->from >= batch->n) continue;
    if (!has_mean(m, b, one->name)) MM_TRY(estimate_measure(all, b, one->name, curve, m));
  }
  return MM_OK;
}

mm_status mm_report_estimate_measures(const mm_report_trainings *all, mm_report_measures *m) {
  if (m->n == 0) return MM_OK;
  mm_result *curve = mm_alloc_array(all->n, sizeof *curve);
  mm_status status =
      curve ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the measures of training runs");
  for (size_t b = 0; b < all->n_batch && status == MM_OK; b++)
    status = estimate_measures(all, b, m, curve);
  mm_free(curve);
  return status;
}

void mm_report_release_measures(mm_report_measures *measures) {
  for (size_t i = 0; i < measures->n_mean; i++)
    mm_free(measures->mean[i].point);
  mm_free(measures->mean);
  mm_free(measures->measure);
  mm_free(measures->step);
  mm_free(measures->value);
  *measures = (mm_report_measures){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Curves

bool mm_report_is_shown(const mm_report_batch *batch) {
  return strcmp(batch->role, "tuning") != 0 && strcmp(batch->role, "trial") != 0;
}

// x: room for all of them.
static mm_status estimate(const mm_report_trainings *all, mm_report_batch *batch, double *x) {
  const mm_result *runs = all->result + batch->from;
  mm_transfer_cell *cell = &batch->cell;
  for (size_t i = 0; i < batch->n; i++) {
    bool has_value = mm_result_has_value(&runs[i]);
    x[i] = mm_result_worth(&runs[i]);
    cell->n_numeric += has_value && runs[i].status != MM_OK;
    cell->n_failed += !has_value;
    cell->n_failure += mm_result_is_failure(&runs[i]);
  }
  cell->of = mm_estimate_worths(x, batch->n, all->resampling);
  return mm_estimate_curve(runs, batch->n, &cell->curve, &cell->n_curve);
}

mm_status mm_report_estimate(mm_report_trainings *all) {
  double *x = mm_alloc_array(all->n, sizeof *x);
  mm_status status = x ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory for the training runs of a run");
  for (size_t b = 0; b < all->n_batch && status == MM_OK; b++)
    if (mm_report_is_shown(&all->batch[b])) status = estimate(all, &all->batch[b], x);
  mm_free(x);
  return status;
}

void mm_report_add_worths(cJSON *object, const mm_transfer_cell *cell, bool with_failed) {
  const mm_worths *of = &cell->of;
  mm_json_add_defined(object, "mean", of->mean.mean);
  mm_json_add_defined(object, "sem", of->mean.sem);
  mm_json_add_defined(object, "n", (double)of->n);
  if (with_failed) mm_json_add_defined(object, "failed", (double)cell->n_failed);
  if (with_failed) mm_json_add_defined(object, "failures", (double)cell->n_failure);
  mm_json_add_defined(object, "unfinished", (double)of->unfinished);
  mm_json_add_defined(object, "iqm", of->iqm.iqm);
  mm_json_add_defined(object, "low", of->iqm.low);
  mm_json_add_defined(object, "high", of->iqm.high);
}

// So many points at equal distances, the last one included.
static void add_points(cJSON *object, const mm_curve_point *point, size_t n, size_t most) {
  cJSON *step = cJSON_AddArrayToObject(object, "step");
  cJSON *mean = cJSON_AddArrayToObject(object, "mean");
  cJSON *sem = cJSON_AddArrayToObject(object, "sem");
  size_t stride = n / most + 1;
  for (size_t k = 0; k < n; k = k + stride < n || k == n - 1 ? k + stride : n - 1) {
    cJSON_AddItemToArray(step, mm_json_defined((double)point[k].step));
    cJSON_AddItemToArray(mean, mm_json_defined(point[k].value.mean));
    cJSON_AddItemToArray(sem, mm_json_defined(point[k].value.sem));
  }
}

static cJSON *measure_json(const mm_report_measured *mean) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", mean->name);
  add_points(object, mean->point, mean->n, MM_REPORT_MEASURE);
  return object;
}

static cJSON *batch_json(const mm_report_trainings *all, size_t b, const mm_report_measures *m) {
  const mm_report_batch *batch = &all->batch[b];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "env", batch->env);
  cJSON_AddStringToObject(object, "map", batch->map);
  cJSON_AddStringToObject(object, "role", batch->role);
  mm_json_add_defined(object, "n", (double)batch->n);
  mm_json_add_defined(object, "planned", (double)batch->jobs);
  add_points(object, batch->cell.curve, batch->cell.n_curve, MM_REPORT_POINTS);
  mm_report_add_worths(cJSON_AddObjectToObject(object, "final"), &batch->cell, false);
  cJSON *measures = cJSON_AddArrayToObject(object, "measures");
  for (size_t i = 0; m && i < m->n_mean; i++)
    if (m->mean[i].batch == b) cJSON_AddItemToArray(measures, measure_json(&m->mean[i]));
  return object;
}

cJSON *mm_report_curves(const mm_report_trainings *all, const mm_report_measures *measures) {
  cJSON *array = cJSON_CreateArray();
  for (size_t b = 0; b < all->n_batch; b++)
    if (mm_report_is_shown(&all->batch[b]) && all->batch[b].n > 0)
      cJSON_AddItemToArray(array, batch_json(all, b, measures));
  return array;
}
