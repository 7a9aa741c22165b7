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

// ---------------------------------------------------------------------------------------------
// As a study

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

static void study_close(mm_study *study) {
  mm_tune_close(of(study));
}

const mm_study_class mm_tune_class = { .kind = MM_STUDY_TUNE,
                                       .resume = study_resume,
                                       .advance = study_advance,
                                       .done = study_done,
                                       .look = study_look,
                                       .cells = study_cells,
                                       .cell = study_cell,
                                       .setting = study_setting,
                                       .close = study_close };
