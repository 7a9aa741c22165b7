// Making, resuming and closing a training.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "study/train/train_internal.h"

// ---------------------------------------------------------------------------------------------
// The object

static mm_status take(mm_train **out) {
  mm_train *t = mm_alloc(sizeof *t);
  if (!t) return MM_FAIL(MM_ERR_MEMORY, "no memory for a training");
  memset(t, 0, sizeof *t);
  if (pthread_mutex_init(&t->lock, NULL) != 0) {
    mm_free(t);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a training");
  }
  *out = t;
  return MM_OK;
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

static mm_status make_jobs(mm_train *t) {
  const size_t n = t->plan.seeds;
  if (t->job) return MM_OK;
  t->job = mm_alloc_array(n, sizeof *t->job);
  if (!t->job) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n);
  for (size_t i = 0; i < n; i++) {
    t->job[i] = (mm_job){ .env = t->env, .map = t->map, .seed = t->plan.seed + i };
    mm_settings_bind(&t->plan.settings, &t->job[i]);
  }
  return MM_OK;
}

static mm_status open_store(mm_train *t) {
  const mm_train_plan *p = &t->plan;
  size_t first;
  MM_TRY(make_jobs(t));
  mm_job_batch batch = { .jobs = p->seeds,
                         .role = "train",
                         .env = p->env,
                         .map = p->map,
                         .settings = &p->settings,
                         .job = t->job };
  MM_TRY(mm_job_store_open(t->run, &t->store));
  if (t->policy) mm_job_store_watch(t->store, t->complete, take_net, t);
  MM_TRY(mm_job_store_batch(t->store, &batch, &first));
  return mm_job_store_check_end(t->store);
}

// Tables of tabular agents are not kept: they take milliseconds to learn.
static mm_status open_policy(mm_train *t) {
  const mm_train_plan *p = &t->plan;
  if (p->settings.algo == MM_ALGO_PMD) return MM_OK;
  return mm_policy_create(p->env, t->map, &p->settings, p->seed, p->seeds, &t->policy);
}

void mm_train_close(mm_train *t) {
  if (!t) return;
  mm_job_store_close(t->store);
  mm_run_close(t->run);
  mm_policy_destroy(t->policy);
  mm_map_destroy(t->own_map);
  mm_env_destroy(t->env);
  mm_free(t->task);
  mm_free(t->job);
  pthread_mutex_destroy(&t->lock);
  mm_free(t);
}

// ---------------------------------------------------------------------------------------------
// A new one

static mm_status create_run(mm_train *t, const char *folder) {
  char *config;
  MM_TRY(mm_plan_read_task(t->plan.env, &t->task));
  MM_TRY(make_jobs(t));
  MM_TRY(mm_job_rehearse(&t->job[0]));
  MM_TRY(open_policy(t));
  MM_TRY(mm_train_plan_write(&t->plan, t->map, t->task, &config));
  mm_status status = mm_run_create(folder, "train", config, &t->run);
  mm_free(config);
  if (status == MM_OK) status = mm_plan_copy_task(t->task, 0, folder);
  return status;
}

mm_status mm_train_create(const char *folder, const mm_train_plan *plan, const mm_map *map,
                          mm_train **out) {
  mm_train *t;
  *out = NULL;
  MM_TRY(take(&t));
  t->plan = *plan;
  t->map = map;
  mm_status status = mm_env_open(plan->env, &t->env);
  if (status == MM_OK && folder) status = create_run(t, folder);
  if (status == MM_OK) status = open_store(t);
  if (status == MM_OK)
    *out = t;
  else
    mm_train_close(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Going on

// Nothing is left to be done when all seeds are in and nothing is kept of them.
static mm_status find_end(mm_train *t) {
  char path[MM_RUN_PATH_SIZE + 24];
  struct stat about;
  mm_run_summary summary;
  MM_TRY(mm_run_summarise(t->run, &summary));
  t->complete = summary.trainings == (int64_t)t->plan.seeds && summary.kept == 0;
  snprintf(path, sizeof path, "%s/policy.safetensors", mm_run_folder_of(t->run));
  t->has_file = t->policy && stat(path, &about) == 0 && S_ISREG(about.st_mode);
  return MM_OK;
}

static mm_status resume(mm_train *t, const char *folder) {
  char source[MM_RUN_PATH_SIZE];
  MM_TRY(mm_run_open(folder, MM_RUN_WRITE, &t->run));
  folder = mm_run_folder_of(t->run);
  snprintf(source, sizeof source, "%.4000s/run.db: config", folder);
  MM_TRY(mm_train_plan_read(mm_run_config(t->run), source, &t->plan, &t->own_map, &t->task));
  t->map = t->own_map;
  MM_TRY(mm_plan_open_env(t->plan.env, t->task, 0, folder, &t->env));
  MM_TRY(open_policy(t));
  MM_TRY(find_end(t));
  return open_store(t);
}

mm_status mm_train_resume(const char *folder, mm_train **out) {
  mm_train *t;
  *out = NULL;
  MM_TRY(take(&t));
  mm_status status = resume(t, folder);
  if (status == MM_OK)
    *out = t;
  else
    mm_train_close(t);
  return status;
}
