// SPDX-License-Identifier: Apache-2.0
// A tuning as a study (mirrormap/study.h, mirrormap/result.h).

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study/tune/tune_files.h"
#include "study/tune/tune_internal.h"

mm_study *mm_tune_study(mm_tune *t) {
  return &t->study;
}

static mm_tune *of(const mm_study *study) {
  return (mm_tune *)study;
}

static mm_status study_resume(const char *folder, mm_study **out) {
  mm_tune *t;
  MM_TRY(mm_tune_resume(folder, &t));
  *out = &t->study;
  return MM_OK;
}

static mm_status study_advance(mm_study *study, const mm_backend_config *backend,
                               double save_seconds) {
  return mm_tune_run(of(study), backend, save_seconds);
}

static bool study_done(const mm_study *study) {
  return of(study)->complete;
}

static void study_look(const mm_study *study, mm_study_progress *out) {
  const mm_tune *t = of(study);
  const mm_tune_search_config config = mm_tune_config_of(t);
  mm_tune_view v;
  mm_tune_look(t, &v);
  *out = (mm_study_progress){ .done = (double)t->search.n,
                              .total = (double)mm_tune_search_room(&config),
                              .unit = "trials",
                              .env_steps = v.session_env_steps,
                              .seconds = v.seconds };
  for (size_t c = 0; c < mm_tune_cells(&t->plan) && t->validated; c++)
    out->n_failed += t->check[c].n_failed;
}

static void study_describe(const mm_study *study, mm_study_info *out) {
  const mm_tune_plan *p = &of(study)->plan;
  out->n_env = p->n_env;
  out->n_map = p->n_map;
  out->seed = p->seed;
  out->seeds = p->seeds;
}

static void study_env(const mm_study *study, size_t i, mm_study_env_info *out) {
  const mm_tune *t = of(study);
  out->name = out->label = t->plan.env[i];
  out->env = t->envs.env[i];
  out->settings = &t->plan.settings[i];
  if (t->search.n > 0) out->unit = t->scale[i];
}

static void study_map(const mm_study *study, size_t i, mm_study_map_info *out) {
  const mm_tune *t = of(study);
  out->name = out->label = t->plan.map[i];
  out->map = t->map[i];
}

// ---------------------------------------------------------------------------------------------
// Trials

mm_status mm_study_look_tuning(const mm_study *study, mm_study_tuning *out) {
  MM_TRY(mm_study_expect(study, MM_STUDY_TUNE));
  const mm_tune *t = of(study);
  const mm_tune_plan *p = &t->plan;
  const mm_tune_search_config config = mm_tune_config_of(t);
  const mm_study_tuning ours = {
    .method = mm_tune_method_name(p->space.method),
    .grid = mm_tune_is_grid(&p->space),
    .n_parameter = p->space.n,
    .asked = p->trials,
    .population = p->population > 0 ? p->population : mm_tune_population(p->space.n),
    .candidates = (double)(mm_tune_search_room(&config) - 1),
    .n_trial = t->search.n,
    .best = t->search.n > 0 ? mm_tune_best(&t->search) : 0,
    .n_same = t->search.n > 0 ? t->search.n_candidates + 1 - t->search.n : 0,
    .complete = t->search.complete,
    .validated = t->validated,
    .validate = p->validate,
    .gain = t->gain,
    .trainings = t->trainings,
    .env_steps = t->env_steps
  };
  return mm_study_give(&ours, sizeof ours, out);
}

static mm_status check_trial(const mm_study *study, size_t trial) {
  MM_TRY(mm_study_expect(study, MM_STUDY_TUNE));
  if (trial < of(study)->search.n) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "trial %zu: there are %zu so far", trial, of(study)->search.n);
}

mm_status mm_study_trial_at(const mm_study *study, size_t i, mm_study_trial *out) {
  MM_TRY(check_trial(study, i));
  const mm_tune_search *search = &of(study)->search;
  const mm_tune_trial *trial = &search->trial[i];
  const mm_study_trial ours = { .score = mm_tune_score(trial),
                                .n = trial->n,
                                .stopped = trial->pruned,
                                .failed = trial->failed,
                                .state = mm_tune_state(search, i) };
  return mm_study_give(&ours, sizeof ours, out);
}

typedef struct ranked {
  const mm_tune_search *search;
  size_t trial;
} ranked;

static int best_first(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  int order = mm_tune_compare(&b->search->trial[b->trial], &a->search->trial[a->trial]);
  if (order != 0) return order;
  return a->trial < b->trial ? -1 : 1;
}

mm_status mm_study_rank_trials(const mm_study *study, size_t *trial) {
  MM_TRY(mm_study_expect(study, MM_STUDY_TUNE));
  const mm_tune_search *search = &of(study)->search;
  ranked *order = mm_alloc_array(search->n + 1, sizeof *order);
  if (!order) return MM_FAIL(MM_ERR_MEMORY, "no memory for the order of %zu trials", search->n);
  for (size_t i = 0; i < search->n; i++)
    order[i] = (ranked){ search, i };
  qsort(order, search->n, sizeof *order, best_first);
  for (size_t i = 0; i < search->n; i++)
    trial[i] = order[i].trial;
  mm_free(order);
  return MM_OK;
}

// NULL: there is none.
static const mm_tune_parameter *parameter_of(const mm_study *study, size_t j) {
  if (study->class != &mm_tune_class || j >= of(study)->plan.space.n) return NULL;
  return &of(study)->plan.space.parameter[j];
}

const char *mm_study_parameter(const mm_study *study, size_t j) {
  const mm_tune_parameter *p = parameter_of(study, j);
  return p ? p->name : NULL;
}

const char *mm_study_trial_value(const mm_study *study, size_t trial, size_t j,
                                 char out[MM_STUDY_SETTING_SIZE]) {
  char text[MM_SETTING_TEXT_SIZE];
  const mm_tune_parameter *p = parameter_of(study, j);
  if (!p || trial >= of(study)->search.n) return NULL;
  snprintf(out, MM_STUDY_SETTING_SIZE, "%s",
           mm_tune_text(p, of(study)->search.trial[trial].value[j], text));
  return out;
}

double mm_study_trial_mean(const mm_study *study, size_t trial, size_t env, size_t map) {
  const mm_tune *t = of(study);
  if (study->class != &mm_tune_class || trial >= t->search.n || env >= t->plan.n_env ||
      map >= t->plan.n_map)
    return NAN;
  return mm_tune_mean(t, trial, env * t->plan.n_map + map);
}

mm_status mm_study_importance(const mm_study *study, double *share, bool *known) {
  mm_tune_importance importance;
  *known = false;
  MM_TRY(mm_study_expect(study, MM_STUDY_TUNE));
  if (of(study)->search.n == 0) return MM_OK;
  MM_TRY(mm_tune_weigh(&of(study)->search, &importance));
  *known = importance.known;
  if (*known) memcpy(share, importance.share, of(study)->plan.space.n * sizeof *share);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Cells

// In each cell the baseline settings, and the winner unless it is these.
static size_t arms_of(const mm_tune *t) {
  return mm_tune_best(&t->search) > 0 ? 2 : 1;
}

static size_t study_cells(const mm_study *study) {
  const mm_tune *t = of(study);
  return t->validated ? mm_tune_cells(&t->plan) * arms_of(t) : 0;
}

static void study_cell(const mm_study *study, size_t i, mm_study_cell *out) {
  const mm_tune *t = of(study);
  const size_t n = t->plan.validate, c = i / arms_of(t), arm = i % arms_of(t);
  const size_t e = c / t->plan.n_map, m = c % t->plan.n_map;
  mm_settings settings = t->plan.settings[e];
  (void)mm_tune_apply(&t->plan.space,
                      t->search.trial[arm == 0 ? 0 : mm_tune_best(&t->search)].value, &settings);
  const double *eta = mm_settings_number(&settings, "eta");
  mm_tune_view v;
  mm_tune_look(t, &v);
  *out = (mm_study_cell){ .env = t->plan.env[e],
                          .map = arm == 0 ? t->plan.map[m] : t->tuned[m],
                          .n_failed = t->check[c].n_failed,
                          .seed = v.fresh_seed,
                          .eta = eta ? *eta : NAN };
  mm_study_fill_cell(out, t->fresh + (arm * mm_tune_cells(&t->plan) + c) * n, n);
}

static void study_detail(const mm_study *study, size_t i, mm_study_detail *out) {
  const mm_tune *t = of(study);
  const size_t c = i / arms_of(t), arm = i % arms_of(t);
  const mm_tune_check *check = &t->check[c];
  out->env = c / t->plan.n_map;
  out->map = c % t->plan.n_map;
  out->of.mean = arm == 0 ? check->own : check->best;
  out->of.n = t->plan.validate - check->n_failed;
  if (arm == 1) out->over_own = check->difference;
}

static mm_status study_setting(const mm_study *study, const char *key,
                               char out[MM_STUDY_SETTING_SIZE]) {
  const mm_tune *t = of(study);
  const mm_tune_space *space = &t->plan.space;
  if (t->search.n == 0) return MM_FAIL(MM_ERR_INPUT, "setting '%.40s': nothing was tried yet", key);
  const size_t best = mm_tune_best(&t->search);
  for (size_t j = 0; j < space->n; j++) {
    char text[MM_SETTING_TEXT_SIZE];
    if (strcmp(space->parameter[j].name, key) != 0) continue;
    snprintf(out, MM_STUDY_SETTING_SIZE, "%s",
             mm_tune_text(&space->parameter[j], t->search.trial[best].value[j], text));
    return MM_OK;
  }
  return MM_FAIL(MM_ERR_INPUT, "setting '%.40s' is not tuned here", key);
}

// ---------------------------------------------------------------------------------------------
// Files and JSON

static mm_status study_write(mm_study *study) {
  const mm_tune *t = of(study);
  bool written;
  if (!t->complete) return MM_FAIL(MM_ERR_INPUT, "%s: the tuning is not complete", t->folder);
  MM_TRY(mm_tune_write(t, t->folder));
  return mm_tune_write_preset(t, t->folder, &written);
}

static cJSON *study_json(mm_study *study) {
  const mm_tune *t = of(study);
  char preset[MM_RUN_PATH_SIZE + 16];
  mm_tune_view v;
  cJSON *root = mm_tune_json(t);
  if (!root) return NULL;
  mm_tune_look(t, &v);
  snprintf(preset, sizeof preset, "%s/preset.yaml", t->folder);
  const bool written = t->complete && access(preset, F_OK) == 0;
  mm_study_add_run(root, study);
  cJSON_AddItemToObject(root, "preset", written ? cJSON_CreateString(preset) : cJSON_CreateNull());
  mm_study_add_speed(root, v.seconds, v.session_env_steps);
  mm_machine_add(root, &study->machine);
  return root;
}

static void study_close(mm_study *study) {
  mm_tune_close(of(study));
}

const mm_study_class mm_tune_class = { .kind = MM_STUDY_TUNE,
                                       .resume = study_resume,
                                       .advance = study_advance,
                                       .done = study_done,
                                       .look = study_look,
                                       .describe = study_describe,
                                       .env = study_env,
                                       .map = study_map,
                                       .cells = study_cells,
                                       .cell = study_cell,
                                       .detail = study_detail,
                                       .write = study_write,
                                       .json = study_json,
                                       .setting = study_setting,
                                       .close = study_close };
