// Making, resuming and closing a training.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "experiment/train_internal.h"

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

static mm_status take_seeds(mm_train *t) {
  size_t n = t->plan.seeds;
  t->result = mm_alloc_array(n, sizeof *t->result);
  t->seed = mm_alloc_array(n, sizeof *t->seed);
  if (!t->result || !t->seed) {
    mm_free(t->result);
    mm_free(t->seed);
    t->result = NULL;
    t->seed = NULL;
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n);
  }
  memset(t->seed, 0, n * sizeof *t->seed);
  for (size_t i = 0; i < n; i++)
    t->result[i] = (mm_result){
      .status = MM_ERR_INTERRUPTED, .final_value = NAN, .recent_value = NAN, .optimal_value = NAN
    };
  return MM_OK;
}

// Tables of tabular agents are not kept: they take milliseconds to learn.
static mm_status open_policy(mm_train *t) {
  const mm_train_plan *p = &t->plan;
  if (p->settings.algo == MM_ALGO_PMD) return MM_OK;
  return mm_policy_create(p->env, t->map, &p->settings, p->seed, p->seeds, &t->policy);
}

void mm_train_close(mm_train *t) {
  if (!t) return;
  mm_run_close(t->run);
  for (size_t i = 0; t->seed && i < t->plan.seeds; i++) {
    mm_result_release(&t->result[i]);
    mm_free(t->seed[i].bytes);
    mm_free(t->seed[i].late);
  }
  mm_free(t->result);
  mm_free(t->seed);
  mm_policy_destroy(t->policy);
  mm_map_destroy(t->own_map);
  mm_env_destroy(t->env);
  mm_free(t->task);
  pthread_mutex_destroy(&t->lock);
  mm_free(t);
}

// ---------------------------------------------------------------------------------------------
// A new one

// Trains nothing, but makes everything that a training needs: what is wrong with the plan shows
// now.
static mm_status rehearse(const mm_train *t) {
  const volatile int stop = 1;
  mm_job job = { .env = t->env, .map = t->map, .seed = t->plan.seed };
  mm_settings_bind(&t->plan.settings, &job);
  mm_result result;
  mm_status status = mm_job_run(&job, &stop, &result);
  mm_result_release(&result);
  return status == MM_ERR_INTERRUPTED ? MM_OK : status;
}

static mm_status create_run(mm_train *t, const char *folder) {
  char *config;
  MM_TRY(mm_plan_read_task(t->plan.env, &t->task));
  MM_TRY(rehearse(t));
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
  mm_status status = take_seeds(t);
  if (status == MM_OK) status = mm_env_open(plan->env, &t->env);
  if (status == MM_OK && folder) status = create_run(t, folder);
  if (status == MM_OK)
    *out = t;
  else
    mm_train_close(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Going on

// What rows say that no training of this plan has; leaves the sentence for the end of the walk.
typedef struct replay {
  mm_train *t;
  mm_status status;
} replay;

static int spoil(replay *r, const char *what, int64_t job) {
  r->status = MM_FAIL(MM_ERR_INPUT, "%s/run.db: training %" PRId64 ": %s",
                      mm_run_folder_of(r->t->run), job, what);
  return 1;
}

static int take_training(const mm_run_training *row, void *user) {
  replay *r = user;
  mm_train *t = r->t;
  if ((uint64_t)row->job >= t->plan.seeds) return spoil(r, "there are not so many", row->job);
  if (row->seed != t->plan.seed + (uint64_t)row->job)
    return spoil(r, "the seed is another one's", row->job);
  if (row->status != MM_OK && row->status != MM_ERR_NUMERIC)
    return spoil(r, "its status is not one of an end", row->job);
  if ((double)row->points > mm_settings_iterations(&t->plan.settings) + 1)
    return spoil(r, "its curve is too long", row->job);
  mm_result *result = &t->result[row->job];
  size_t points = (size_t)row->points;
  result->status = row->status;
  result->final_value = row->final;
  result->recent_value = row->recent;
  result->optimal_value = row->optimal;
  result->env_steps = row->env_steps;
  result->curve = mm_alloc_array(points, sizeof *result->curve);
  result->curve_step = mm_alloc_array(points, sizeof *result->curve_step);
  t->seed[row->job].size = points; // expected, until the curve is in
  t->seed[row->job].ended = t->seed[row->job].stored = true;
  if (result->curve && result->curve_step) return 0;
  r->status = MM_FAIL(MM_ERR_MEMORY, "no memory for a curve of %zu points", points);
  return 1;
}

static int take_point(int64_t job, uint64_t step, double value, void *user) {
  replay *r = user;
  mm_train *t = r->t;
  if ((uint64_t)job >= t->plan.seeds || t->result[job].n_curve >= t->seed[job].size)
    return spoil(r, "its curve has more points than it says", job);
  mm_result *result = &t->result[job];
  result->curve[result->n_curve] = value;
  result->curve_step[result->n_curve++] = step;
  return 0;
}

static mm_status check_curves(replay *r) {
  for (size_t i = 0; i < r->t->plan.seeds; i++) {
    if (r->t->result[i].n_curve != r->t->seed[i].size)
      spoil(r, "its curve has fewer points than it says", (int64_t)i);
    r->t->seed[i].size = 0;
  }
  return r->status;
}

// Of a finished training the networks, of another one its state.
static int take_kept(int64_t job, const void *bytes, size_t size, void *user) {
  replay *r = user;
  mm_train *t = r->t;
  if ((uint64_t)job >= t->plan.seeds) return spoil(r, "there are not so many", job);
  if (t->seed[job].ended) {
    mm_net *net;
    if (!t->policy) return 0;
    if (mm_train_net_load(bytes, size, &net) != MM_OK) return spoil(r, mm_last_error(), job);
    mm_train_set_net(t, (size_t)job, net);
    mm_net_destroy(net);
    return 0;
  }
  mm_train_seed *s = &t->seed[job];
  s->bytes = mm_alloc(size);
  s->size = size;
  if (s->bytes && size > 0) memcpy(s->bytes, bytes, size);
  if (t->policy)
    s->begun_at = mm_job_state_done(bytes, size) *
                  (uint64_t)(t->plan.settings.ampo.envs * t->plan.settings.ampo.unroll);
  if (s->bytes) return 0;
  r->status = MM_FAIL(MM_ERR_MEMORY, "no memory for the state of a training");
  return 1;
}

// The sentence of a walk that was ended is the replay's.
static mm_status settle(const replay *r, mm_status walked) {
  return r->status != MM_OK ? r->status : walked;
}

static mm_status replay_rows(mm_train *t) {
  replay r = { .t = t };
  MM_TRY(settle(&r, mm_run_each_training(t->run, take_training, &r)));
  MM_TRY(settle(&r, mm_run_each_point(t->run, take_point, &r)));
  MM_TRY(check_curves(&r));
  return settle(&r, mm_run_each_kept(t->run, take_kept, &r));
}

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
  MM_TRY(take_seeds(t));
  MM_TRY(mm_plan_open_env(t->plan.env, t->task, 0, folder, &t->env));
  MM_TRY(open_policy(t));
  MM_TRY(replay_rows(t));
  return find_end(t);
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
