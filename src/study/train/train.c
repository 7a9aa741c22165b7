// SPDX-License-Identifier: Apache-2.0
// A training is the smallest study: one batch of jobs, one per seed, and the networks at the end.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "study/jobs/eta_tuning.h"
#include "study/train/train_internal.h"

// ---------------------------------------------------------------------------------------------
// The plan as JSON: {"command": "train", "env", "file", "algo", "map", "map_file", "seed", "seeds",
// "settings": {..}}

mm_status mm_train_plan_json(const mm_train_plan *plan, const mm_map *map, const mm_plan_envs *envs,
                             cJSON **out) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", "train");
  cJSON_AddStringToObject(root, "env", plan->env);
  mm_plan_add_file(root, envs->task[0]);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  cJSON_AddStringToObject(root, "map", plan->map);
  mm_status status = mm_plan_add_map(root, map);
  mm_plan_add_seed(root, plan->seed);
  mm_plan_add_count(root, "seeds", plan->seeds);
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  return mm_plan_end(root, status, out);
}

mm_status mm_train_plan_read(const cJSON *root, const char *source, mm_train_plan *plan,
                             mm_map **map, mm_plan_envs *envs) {
  const char *env, *name;
  mm_algo algo;
  MM_TRY(mm_plan_read_command(root, source, "train"));
  MM_TRY(MM_JSON_KEYS(root, source, "command", "env", "file", "algo", "map", "map_file", "seed",
                      "seeds", "settings"));
  MM_TRY(mm_json_get_string(root, source, "env", &env));
  MM_TRY(mm_plan_read_algo(root, source, &algo));
  MM_TRY(mm_json_get_string(root, source, "map", &name));
  MM_TRY(mm_plan_read_count(root, source, "seeds", 1, MM_TRAIN_SEEDS_MAX, &plan->seeds));
  MM_TRY(mm_plan_read_seed(root, source, &plan->seed));
  if (plan->seed > UINT64_MAX - (plan->seeds - 1))
    return MM_FAIL(MM_ERR_INPUT, "%s: seed %" PRIu64 " leaves no room for %zu seeds", source,
                   plan->seed, plan->seeds);
  MM_TRY(mm_plan_copy_name(env, source, plan->env));
  MM_TRY(mm_plan_copy_name(name, source, plan->map));
  MM_TRY(mm_plan_read_settings(mm_json_find(root, "settings"), source, algo, &plan->settings));
  MM_TRY(mm_plan_read_map(root, source, map));
  envs->n = 1;
  return mm_plan_read_file(root, source, &envs->task[0]);
}

// ---------------------------------------------------------------------------------------------
// Creating, resuming and closing

static mm_status alloc_train(mm_train **out) {
  *out = NULL;
  mm_train *t = mm_alloc(sizeof *t);
  if (t) memset(t, 0, sizeof *t);
  if (!t || pthread_mutex_init(&t->lock, NULL) != 0) {
    mm_free(t);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a training");
  }
  t->study.class = &mm_train_class;
  *out = t;
  return MM_OK;
}

void mm_train_close(mm_train *t) {
  if (!t) return;
  mm_study_release(&t->study);
  mm_policy_destroy(t->policy);
  mm_map_destroy(t->own_map);
  mm_plan_release_envs(&t->envs);
  mm_free(t->job);
  mm_free(t->worth);
  mm_curve_release(t->curve);
  pthread_mutex_destroy(&t->lock);
  mm_free(t);
}

// Hands a training over to its owner, or takes back what there is of it.
static mm_status hand_over(mm_train *t, mm_status status, mm_train **out) {
  if (status == MM_OK)
    *out = t;
  else
    mm_train_close(t);
  return status;
}

// Enters networks in the policy. What does not fit there is noted. Called by several threads.
static mm_status take_net(size_t i, const mm_net *net, void *user) {
  mm_train *t = user;
  mm_status status = mm_policy_set(t->policy, i, net);
  if (status == MM_OK) return MM_OK;
  pthread_mutex_lock(&t->lock);
  snprintf(t->no_policy, sizeof t->no_policy, "%s", mm_last_error());
  pthread_mutex_unlock(&t->lock);
  return status;
}

static mm_status open_store(mm_train *t) {
  const mm_train_plan *p = &t->plan;
  const mm_job_batch batch = {
    .jobs = p->seeds, .role = "train", .env = p->env, .map = p->map, .settings = &p->settings
  };
  t->job = mm_alloc_array(p->seeds, sizeof *t->job);
  t->worth = mm_alloc_array(p->seeds, sizeof *t->worth);
  if (!t->job || !t->worth)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", p->seeds);
  MM_TRY(mm_job_store_open(t->study.run, &t->study.store));
  if (t->policy) mm_job_store_watch(t->study.store, t->complete, take_net, t);
  MM_TRY(mm_job_store_seeds(t->study.store, batch, t->envs.env[0], t->map, p->seed, t->job, NULL));
  return mm_job_store_check_end(t->study.store);
}

// Only networks are kept; tables take milliseconds to learn.
static mm_status open_policy(mm_train *t) {
  const mm_train_plan *p = &t->plan;
  if (!mm_settings_learner(&p->settings)->networks) return MM_OK;
  return mm_policy_make(p->env, t->map, &p->settings, p->seed, p->seeds, &t->policy);
}

static mm_status create_run(mm_train *t, const char *folder) {
  mm_job first = { .env = t->envs.env[0], .map = t->map, .seed = t->plan.seed };
  mm_settings_bind(&t->plan.settings, &first);
  MM_TRY(mm_job_rehearse(&first, true));
  MM_TRY(open_policy(t));
  cJSON *plan;
  MM_TRY(mm_train_plan_json(&t->plan, t->map, &t->envs, &plan));
  return mm_study_make_run(&t->study, folder, plan, &t->envs);
}

static mm_status create(mm_train *t, const char *folder) {
  const mm_train_plan *plan = &t->plan;
  MM_TRY(mm_plan_new_envs(&plan->env, 1, &t->envs));
  if (folder) MM_TRY(create_run(t, folder));
  return open_store(t);
}

mm_status mm_train_create(const char *folder, const mm_train_plan *plan, const mm_map *map,
                          mm_train **out) {
  mm_train *t;
  *out = NULL;
  MM_TRY(alloc_train(&t));
  t->plan = *plan;
  t->map = map;
  return hand_over(t, create(t, folder), out);
}

void mm_train_take_map(mm_train *t, mm_map *map) {
  t->own_map = map;
}

static const char *policy_path(const mm_train *t, char out[MM_RUN_PATH_SIZE + 24]) {
  snprintf(out, MM_RUN_PATH_SIZE + 24, "%s/policy.safetensors", mm_study_folder(&t->study));
  return out;
}

// Nothing is left to be done when all seeds are in and nothing is checkpointed of them.
static mm_status find_end(mm_train *t) {
  char path[MM_RUN_PATH_SIZE + 24];
  struct stat about;
  mm_run_summary summary;
  MM_TRY(mm_run_summarise(t->study.run, &summary));
  t->complete = summary.trainings == (int64_t)t->plan.seeds && summary.kept == 0;
  t->has_file = t->policy && stat(policy_path(t, path), &about) == 0 && S_ISREG(about.st_mode);
  return MM_OK;
}

static mm_status read_plan(mm_train *t) {
  char source[MM_STUDY_SOURCE_SIZE];
  cJSON *root;
  MM_TRY(mm_study_plan(t->study.run, &root, source));
  mm_status status = mm_train_plan_read(root, source, &t->plan, &t->own_map, &t->envs);
  cJSON_Delete(root);
  t->map = t->own_map;
  return status;
}

static mm_status resume(mm_train *t, const char *folder) {
  const mm_train_plan *plan = &t->plan;
  MM_TRY(mm_study_take_run(&t->study, folder));
  MM_TRY(read_plan(t));
  MM_TRY(mm_plan_copy_tasks(&t->envs, mm_study_folder(&t->study)));
  MM_TRY(mm_plan_open_envs(&plan->env, mm_study_folder(&t->study), &t->envs));
  MM_TRY(open_policy(t));
  MM_TRY(find_end(t));
  return open_store(t);
}

mm_status mm_train_resume(const char *folder, mm_train **out) {
  mm_train *t;
  *out = NULL;
  MM_TRY(alloc_train(&t));
  return hand_over(t, resume(t, folder), out);
}

// ---------------------------------------------------------------------------------------------
// Running

// The networks go to their file; then nothing need be checkpointed any more.
static mm_status write_policy(mm_train *t) {
  char path[MM_RUN_PATH_SIZE + 24];
  if (t->no_policy[0] != '\0') return MM_OK; // there is no file for such networks, now or later
  const mm_result *result = mm_job_store_results(t->study.store, 0);
  for (size_t i = 0; i < t->plan.seeds; i++)
    mm_policy_set_final(t->policy, i, result[i].final_value);
  mm_status status = mm_policy_save(t->policy, policy_path(t, path));
  t->has_file = status == MM_OK;
  return status;
}

static mm_status finish(mm_train *t) {
  if (t->study.run && t->policy && !t->complete) MM_TRY(write_policy(t));
  MM_TRY(mm_job_store_finish(t->study.store));
  t->complete = true;
  return MM_OK;
}

static bool all_ended(const mm_train *t) {
  const mm_result *result = mm_job_store_results(t->study.store, 0);
  for (size_t i = 0; i < t->plan.seeds; i++)
    if (result[i].status != MM_OK && result[i].status != MM_ERR_NUMERIC) return false;
  return true;
}

mm_status mm_train_run(mm_train *t, const mm_backend_config *backend, double save_seconds) {
  MM_TRY(mm_study_start(&t->study, backend));
  mm_job_store_save_every(t->study.store, save_seconds);
  MM_TRY(mm_study_run_jobs(&t->study, backend, 0, t->job, t->plan.seeds, &t->report));
  return all_ended(t) ? finish(t) : MM_OK;
}

void mm_train_look(const mm_train *t, mm_train_view *out) {
  const mm_job_store_work work = mm_job_store_work_of(t->study.store);
  mm_backend_report now;
  mm_job_store_count(t->study.store, 0, t->plan.seeds, &now);
  bool known = now.trouble < t->plan.seeds && now.trouble == t->report.trouble;
  *out = (mm_train_view){ .plan = &t->plan,
                          .env = t->envs.env[0],
                          .folder = mm_study_folder(&t->study),
                          .result = mm_job_store_results(t->study.store, 0),
                          .n_done = now.n_done,
                          .n_numeric = now.n_numeric,
                          .n_failed = now.n_failed,
                          .trouble = now.trouble,
                          .error = known ? t->report.error : "",
                          .complete = t->complete,
                          .no_policy = t->no_policy,
                          .machine = t->study.machine,
                          .seconds = work.seconds,
                          .env_steps = work.env_steps };
  if (t->study.run && t->has_file) policy_path(t, out->policy);
}
