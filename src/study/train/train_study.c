// SPDX-License-Identifier: Apache-2.0
// A training as a study (mirrormap/study.h, mirrormap/result.h).

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/train/train_internal.h"

mm_study *mm_train_study(mm_train *t) {
  return &t->study;
}

static mm_train *of(const mm_study *study) {
  return (mm_train *)study;
}

static mm_status study_resume(const char *folder, mm_study **out) {
  mm_train *t;
  MM_TRY(mm_train_resume(folder, &t));
  *out = &t->study;
  return MM_OK;
}

static mm_status study_advance(mm_study *study, const mm_backend_config *backend,
                               double save_seconds) {
  return mm_train_run(of(study), backend, save_seconds);
}

// Runs that failed for the machine's sake are open to whoever resumes, not to this process.
static bool study_done(const mm_study *study) {
  const bool ours = study->in_session || !study->run;
  mm_backend_report now;
  mm_job_store_count(study->store, 0, of(study)->plan.seeds, &now);
  return of(study)->complete || (ours && now.n_done == of(study)->plan.seeds);
}

static void study_look(const mm_study *study, mm_study_progress *out) {
  mm_train_view v;
  mm_train_look(of(study), &v);
  *out = (mm_study_progress){ .done = (double)v.n_done,
                              .total = (double)v.plan->seeds,
                              .unit = "runs",
                              .n_failed = v.n_failed,
                              .n_numeric = v.n_numeric,
                              .env_steps = v.env_steps,
                              .seconds = v.seconds };
}

static void study_describe(const mm_study *study, mm_study_info *out) {
  mm_train *t = of(study);
  mm_train_view v;
  mm_train_look(t, &v);
  memcpy(t->policy_path, v.policy, sizeof t->policy_path);
  out->n_env = out->n_map = 1;
  out->seed = t->plan.seed;
  out->seeds = t->plan.seeds;
  out->steps = (double)t->plan.seeds * mm_settings_steps(&t->plan.settings);
  out->complete = t->complete;
  out->policy = t->policy_path;
  out->no_policy = v.no_policy;
}

static void study_env(const mm_study *study, size_t i, mm_study_env_info *out) {
  const mm_train *t = of(study);
  out->name = out->label = t->plan.env;
  out->env = t->envs.env[i];
  out->settings = &t->plan.settings;
}

static void study_map(const mm_study *study, size_t i, mm_study_map_info *out) {
  const mm_train *t = of(study);
  (void)i;
  out->name = out->label = t->plan.map;
  out->map = t->map;
}

static void study_failures(const mm_study *study, mm_study_failures *out) {
  const mm_train *t = of(study);
  mm_train_view v;
  mm_train_look(t, &v);
  out->n = t->plan.seeds;
  out->n_done = v.n_done;
  out->n_failed = v.n_failed;
  out->n_numeric = v.n_numeric;
  if (v.trouble == t->plan.seeds) return;
  out->status = v.result[v.trouble].status;
  out->map = t->plan.map;
  out->env = t->plan.env;
  out->error = v.error;
  out->seed = t->plan.seed + v.trouble;
}

const mm_result *mm_study_results(const mm_study *study, size_t *n) {
  const bool is_training = study->class == &mm_train_class;
  *n = is_training ? of(study)->plan.seeds : 0;
  return is_training ? mm_job_store_results(study->store, 0) : NULL;
}

static bool is_done(const mm_result *r) {
  return r->status != MM_ERR_INTERRUPTED;
}

// What the results come to, but for the estimates and the curve.
static void sum_up(const mm_train_view *v, mm_study_training *out) {
  const size_t n = v->plan->seeds;
  for (size_t i = 0; i < n; i++) {
    const mm_result *r = &v->result[i];
    if (!is_done(r)) continue;
    out->n_done++;
    out->unfinished += mm_result_is_unfinished(r);
    if (r->env_steps > out->run_steps) out->run_steps = r->env_steps;
    out->rollout += r->seconds_rollout;
    out->update += r->seconds_update;
    out->value += r->seconds_value;
  }
  for (size_t i = 0; i < n; i++)
    if (is_done(&v->result[i])) out->optimal += v->result[i].optimal_value / (double)out->n_done;
  if (out->n_done == 0) out->optimal = NAN;
}

static void sum_samples(const mm_train_view *v, mm_study_training *out) {
  bool any = false;
  double least = INFINITY;
  for (size_t i = 0; i < v->plan->seeds; i++) {
    const mm_result *r = &v->result[i];
    for (size_t k = 0; k < r->n_curve && r->measure; k++) {
      const double *at = r->measure + k * MM_MEASURES;
      if (isnan(at[MM_MEASURE_CLAMPED])) continue; // of discrete actions
      any = true;
      least = fmin(least, at[MM_MEASURE_ESS]);
      for (int m = MM_MEASURE_CLAMPED; m <= MM_MEASURE_NONFINITE; m++)
        out->measure[m] += at[m];
      if (k + 1 == r->n_curve) out->measure[MM_MEASURE_UNSTABLE] += at[MM_MEASURE_UNSTABLE];
    }
  }
  out->least_ess = any ? least : NAN;
}

static mm_status estimate(mm_train *t, const mm_train_view *v, mm_study_training *out) {
  const size_t n = t->plan.seeds;
  size_t done = 0;
  double *value = mm_alloc_array(n, 2 * sizeof *value);
  if (!value) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n);
  double *recent = value + n;
  for (size_t i = 0; i < n; i++) {
    if (!is_done(&v->result[i])) continue;
    recent[done] = v->result[i].recent_value;
    value[done++] = v->result[i].final_value;
  }
  out->final = mm_estimate_of(value, done);
  out->recent = mm_estimate_of(recent, done);
  mm_free(value);
  mm_curve_release(t->curve);
  t->curve = NULL;
  MM_TRY(mm_estimate_curve(v->result, n, &t->curve, &out->n_curve));
  out->curve = t->curve;
  return MM_OK;
}

mm_status mm_study_look_training(mm_study *study, mm_study_training *out) {
  mm_study_training ours = { .n_done = 0 };
  mm_train_view v;
  MM_TRY(mm_study_expect(study, MM_STUDY_TRAIN));
  mm_train_look(of(study), &v);
  sum_up(&v, &ours);
  sum_samples(&v, &ours);
  MM_TRY(estimate(of(study), &v, &ours));
  return mm_study_give(&ours, sizeof ours, out);
}

// ---------------------------------------------------------------------------------------------
// Its one cell

static size_t study_cells(const mm_study *study) {
  (void)study;
  return 1;
}

static void study_cell(const mm_study *study, size_t i, mm_study_cell *out) {
  mm_train *t = of(study);
  mm_settings settings = t->plan.settings;
  const double *eta = mm_settings_number(&settings, "eta");
  mm_train_view v;
  (void)i;
  mm_train_look(t, &v);
  for (size_t k = 0; k < t->plan.seeds; k++)
    t->worth[k] = mm_result_worth(&v.result[k]);
  *out = (mm_study_cell){ .env = t->plan.env,
                          .map = t->plan.map,
                          .n_failed = v.n_failed,
                          .n_numeric = v.n_numeric,
                          .seed = t->plan.seed,
                          .eta = eta ? *eta : NAN };
  mm_study_fill_cell(out, t->worth, t->plan.seeds);
}

static void study_detail(const mm_study *study, size_t i, mm_study_detail *out) {
  mm_study_cell cell; // fills in the worths
  study_cell(study, i, &cell);
  out->of = mm_estimate_worths(cell.final, cell.n_seed, cell.seed);
}

// ---------------------------------------------------------------------------------------------
// JSON

// Entry i is that of seed i; null for one that is not done or finished no episode.
static void add_finals(cJSON *root, const mm_train_view *v) {
  cJSON *array = cJSON_AddArrayToObject(root, "finals");
  for (size_t i = 0; i < v->plan->seeds; i++) {
    const mm_result *r = &v->result[i];
    cJSON_AddItemToArray(array, is_done(r) ? mm_json_defined(r->final_value) : cJSON_CreateNull());
  }
}

static void add_curve(cJSON *root, const mm_study_training *all) {
  cJSON *array = cJSON_AddArrayToObject(root, "curve");
  for (size_t k = 0; k < all->n_curve; k++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "step", mm_json_number((double)all->curve[k].step));
    mm_json_add_defined(object, "mean", all->curve[k].value.mean);
    mm_json_add_defined(object, "sem", all->curve[k].value.sem);
    cJSON_AddItemToArray(array, object);
  }
}

// Devices do not tell where their time goes (see bench cuda).
static void add_split(cJSON *root, const mm_train_view *v, const mm_study_training *all) {
  if (v->machine.ran & MM_BACKEND_ON_CUDA) {
    cJSON_AddNullToObject(root, "thread_seconds");
    return;
  }
  cJSON *seconds = cJSON_AddObjectToObject(root, "thread_seconds");
  cJSON_AddItemToObject(seconds, "rollout", mm_json_number(all->rollout));
  cJSON_AddItemToObject(seconds, "update", mm_json_number(all->update));
  cJSON_AddItemToObject(seconds, "value", mm_json_number(all->value));
}

static void add_samples(cJSON *root, const mm_study_training *all) {
  if (isnan(all->least_ess)) return;
  cJSON *object = cJSON_AddObjectToObject(root, "samples");
  mm_json_add_defined(object, "least_ess", all->least_ess);
  cJSON_AddItemToObject(object, "clamped", mm_json_number(all->measure[MM_MEASURE_CLAMPED]));
  cJSON_AddItemToObject(object, "capped", mm_json_number(all->measure[MM_MEASURE_CAPPED]));
  cJSON_AddItemToObject(object, "nonfinite", mm_json_number(all->measure[MM_MEASURE_NONFINITE]));
  cJSON_AddItemToObject(object, "unstable", mm_json_number(all->measure[MM_MEASURE_UNSTABLE]));
}

static cJSON *text_or_null(const char *text) {
  return text[0] ? cJSON_CreateString(text) : cJSON_CreateNull();
}

static cJSON *study_json(mm_study *study) {
  const mm_train_plan *plan = &of(study)->plan;
  mm_study_training all = { .size = sizeof all };
  mm_train_view v;
  if (mm_study_look_training(study, &all) != MM_OK) return NULL;
  mm_train_look(of(study), &v);
  cJSON *root = cJSON_CreateObject();
  mm_study_add_run(root, study);
  cJSON_AddStringToObject(root, "env", plan->env);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddItemToObject(root, "map",
                        text_or_null(mm_algo_has_map(plan->settings.algo) ? plan->map : ""));
  mm_json_add_whole(root, "seed", plan->seed);
  mm_json_add_whole(root, "seeds", plan->seeds);
  mm_json_add_whole(root, "seeds_done", all.n_done);
  cJSON_AddItemToObject(root, "steps", mm_json_number((double)all.run_steps));
  mm_json_add_defined(root, "final_mean", all.final.mean);
  mm_json_add_defined(root, "final_sem", all.final.sem);
  mm_json_add_whole(root, "unfinished", all.unfinished);
  mm_json_add_defined(root, "recent_mean", all.recent.mean);
  mm_json_add_defined(root, "recent_sem", all.recent.sem);
  add_finals(root, &v);
  mm_json_add_defined(root, "optimal_mean", all.optimal);
  add_curve(root, &all);
  mm_json_add_whole(root, "numeric_failures", v.n_numeric);
  add_samples(root, &all);
  cJSON_AddItemToObject(root, "policy", text_or_null(v.policy));
  mm_study_add_speed(root, v.seconds, v.env_steps);
  add_split(root, &v, &all);
  mm_machine_add(root, &study->machine);
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  return root;
}

static void study_close(mm_study *study) {
  mm_train_close(of(study));
}

const mm_study_class mm_train_class = { .kind = MM_STUDY_TRAIN,
                                        .resume = study_resume,
                                        .advance = study_advance,
                                        .done = study_done,
                                        .look = study_look,
                                        .describe = study_describe,
                                        .env = study_env,
                                        .map = study_map,
                                        .failures = study_failures,
                                        .cells = study_cells,
                                        .cell = study_cell,
                                        .detail = study_detail,
                                        .json = study_json,
                                        .close = study_close };
