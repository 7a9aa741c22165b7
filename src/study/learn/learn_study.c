// SPDX-License-Identifier: Apache-2.0
// A search as a study (mirrormap/study.h).

#include <math.h>
#include <stdio.h>

#include "study/learn/learn_internal.h"

mm_study *mm_learn_study(mm_learn *l) {
  return &l->study;
}

static mm_learn *of(const mm_study *study) {
  return (mm_learn *)study;
}

static mm_status study_resume(const char *folder, mm_study **out) {
  mm_learn *l;
  MM_TRY(mm_learn_resume(folder, 0, &l));
  *out = &l->study;
  return MM_OK;
}

// What is in hand is checkpointed as it ends, however often that is.
static mm_status study_advance(mm_study *study, const mm_backend_config *backend,
                               double save_seconds) {
  (void)save_seconds;
  MM_TRY(mm_learn_advance(of(study), backend));
  return mm_learn_done(of(study)) ? mm_learn_write_maps(of(study)) : MM_OK;
}

static bool study_done(const mm_study *study) {
  return mm_learn_done(of(study));
}

static void study_look(const mm_study *study, mm_study_progress *out) {
  mm_study_search v;
  mm_learn_look(of(study), &v);
  *out = (mm_study_progress){ .done = (double)v.generation,
                              .total = (double)v.generations,
                              .unit = "generations",
                              .n_numeric = v.nonfinite,
                              .env_steps = v.session_env_steps,
                              .seconds = v.session_job_seconds };
}

static void study_describe(const mm_study *study, mm_study_info *out) {
  mm_study_search v;
  mm_learn_look(of(study), &v);
  out->n_env = of(study)->plan.n_env;
  out->seed = of(study)->plan.seed;
  out->steps = v.steps;
}

static void study_env(const mm_study *study, size_t i, mm_study_env_info *out) {
  const mm_learn *l = of(study);
  out->name = out->label = l->plan.env[i];
  out->env = l->envs.env[i];
  out->settings = &l->plan.settings;
}

// There are none.
static void study_map(const mm_study *study, size_t i, mm_study_map_info *out) {
  (void)study, (void)i, (void)out;
}

static mm_status study_lengthen(mm_study *study, int64_t generations) {
  return mm_learn_lengthen(of(study), generations);
}

static mm_status study_write(mm_study *study) {
  return mm_learn_write_maps(of(study));
}

mm_status mm_study_look_search(const mm_study *study, mm_study_search *out) {
  mm_study_search ours;
  MM_TRY(mm_study_expect(study, MM_STUDY_LEARN));
  mm_learn_look(of(study), &ours);
  return mm_study_give(&ours, sizeof ours, out);
}

// The best mean, then the controls, when there has been a validation.
static size_t study_cells(const mm_study *study) {
  const mm_learn *l = of(study);
  return l->view.best.known ? 1 + (size_t)l->n_control : 0;
}

static void study_cell(const mm_study *study, size_t i, mm_study_cell *out) {
  const mm_learn *l = of(study);
  const mm_study_score *score = i == 0 ? &l->view.best : &l->view.control[i - 1];
  *out = (mm_study_cell){ .env = "",
                          .map = i == 0 ? "learned" : mm_control_names[i - 1],
                          .mean = score->value.mean,
                          .sem = score->value.sem,
                          .n = score->value.n,
                          .eta = NAN };
}

static void study_detail(const mm_study *study, size_t i, mm_study_detail *out) {
  const mm_learn *l = of(study);
  const mm_study_score *score = i == 0 ? &l->view.best : &l->view.control[i - 1];
  out->of.mean = score->value;
  out->of.n = score->value.n;
  out->over[MM_BASELINE_NEGENTROPY].gain = score->over_negentropy;
  out->over[MM_BASELINE_L2].gain = score->over_l2;
}

// ---------------------------------------------------------------------------------------------
// JSON

static void add_validation(cJSON *root, const mm_study_search *v) {
  cJSON *object = cJSON_AddObjectToObject(root, "validation");
  if (!v->best.known) return;
  mm_study_add_estimate(object, "learned", v->best.value);
  for (int c = 0; c < v->n_control; c++)
    mm_study_add_estimate(object, v->control_name[c], v->control[c].value);
  mm_study_add_estimate(object, "final", v->last.value);
  mm_json_add_whole(root, "final_generation", (uint64_t)v->last.generation);
  cJSON *difference = cJSON_AddObjectToObject(root, "difference");
  mm_study_add_estimate(difference, "negentropy", v->best.over_negentropy);
  mm_study_add_estimate(difference, "l2", v->best.over_l2);
  mm_json_add_whole(root, "best_generation", (uint64_t)v->best.generation);
}

static void add_maps(cJSON *root, const mm_study *study, bool best) {
  char path[MM_RUN_PATH_SIZE + 16];
  snprintf(path, sizeof path, "%s/best.json", mm_study_folder(study));
  cJSON_AddItemToObject(root, "map_file", best ? cJSON_CreateString(path) : cJSON_CreateNull());
  snprintf(path, sizeof path, "%s/mean.json", mm_study_folder(study));
  cJSON_AddStringToObject(root, "mean_file", path);
}

static cJSON *study_json(mm_study *study) {
  const mm_learn_plan *plan = &of(study)->plan;
  mm_study_search v;
  mm_learn_look(of(study), &v);
  cJSON *root = cJSON_CreateObject();
  mm_study_add_run(root, study);
  cJSON *envs = cJSON_AddArrayToObject(root, "env");
  for (size_t i = 0; i < plan->n_env; i++)
    cJSON_AddItemToArray(envs, cJSON_CreateString(plan->env[i]));
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  mm_json_add_whole(root, "seed", plan->seed);
  mm_json_add_whole(root, "generations", (uint64_t)v.generation);
  mm_json_add_whole(root, "generations_planned", (uint64_t)v.generations);
  mm_json_add_whole(root, "evaluations", v.evaluations);
  mm_json_add_whole(root, "nonfinite", v.nonfinite);
  mm_json_add_defined(root, "mean_fitness", v.fitness_mean);
  mm_json_add_defined(root, "best_fitness", v.fitness_best);
  cJSON_AddItemToObject(root, "sigma", mm_json_number(v.sigma));
  add_validation(root, &v);
  add_maps(root, study, v.best.known);
  cJSON_AddItemToObject(root, "env_steps", mm_json_number((double)v.env_steps));
  mm_study_add_speed(root, v.session_seconds, v.session_env_steps);
  mm_machine_add(root, &study->machine);
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  cJSON_AddItemToObject(root, "learn", mm_search_json(&plan->settings));
  return root;
}

static void study_close(mm_study *study) {
  mm_learn_close(of(study));
}

const mm_study_class mm_learn_class = { .kind = MM_STUDY_LEARN,
                                        .resume = study_resume,
                                        .advance = study_advance,
                                        .done = study_done,
                                        .look = study_look,
                                        .describe = study_describe,
                                        .env = study_env,
                                        .map = study_map,
                                        .lengthen = study_lengthen,
                                        .cells = study_cells,
                                        .cell = study_cell,
                                        .detail = study_detail,
                                        .write = study_write,
                                        .json = study_json,
                                        .close = study_close };
