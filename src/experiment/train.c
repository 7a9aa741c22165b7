// The run of a training: jobs for the seeds that are open, and the database as they go on. Hooks
// are called by the threads that train; one lock keeps the database to one of them at a time.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/isa.h"
#include "experiment/train_internal.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---------------------------------------------------------------------------------------------
// Trouble with the database; the lock is held

static void note_trouble(mm_train *t, mm_status status) {
  if (t->trouble_status == MM_OK) t->trouble_is_new = true;
  t->trouble_status = status;
  snprintf(t->trouble, sizeof t->trouble, "%s", mm_last_error());
}

bool mm_train_trouble(mm_train *t, char out[MM_ERROR_SIZE]) {
  pthread_mutex_lock(&t->lock);
  bool is_new = t->trouble_is_new;
  t->trouble_is_new = false;
  if (is_new) memcpy(out, t->trouble, MM_ERROR_SIZE);
  pthread_mutex_unlock(&t->lock);
  return is_new;
}

// ---------------------------------------------------------------------------------------------
// Storing a seed that ended; the lock is held

static mm_status put_seed(mm_train *t, size_t i, const mm_result *r) {
  const mm_train_seed *s = &t->seed[i];
  mm_run_training row = { .job = (int64_t)i,
                          .seed = t->plan.seed + i,
                          .status = r->status,
                          .final = r->final_value,
                          .recent = r->recent_value,
                          .optimal = r->optimal_value,
                          .env_steps = r->env_steps,
                          .points = (int64_t)r->n_curve };
  if (!s->stored) MM_TRY(mm_run_put_training(t->run, &row, r->curve_step, r->curve));
  // networks beyond what a database takes are not worth failing for
  if (s->bytes && s->size <= MM_RUN_KEPT_MAX)
    return mm_run_keep(t->run, (int64_t)i, s->bytes, s->size);
  return mm_run_forget(t->run, (int64_t)i);
}

static mm_status store_seed(mm_train *t, size_t i, const mm_result *r) {
  mm_status status = mm_run_begin(t->run);
  if (status == MM_OK) {
    status = put_seed(t, i, r);
    if (status == MM_OK)
      status = mm_run_commit(t->run);
    else
      mm_run_drop(t->run);
  }
  if (status != MM_OK) {
    note_trouble(t, status);
    return status;
  }
  mm_train_seed *s = &t->seed[i];
  s->stored = true;
  mm_free(s->bytes);
  s->bytes = NULL;
  return MM_OK;
}

// Seeds that could not be stored when they ended. The backend's own results may be looked at only
// when it has returned: `at_end`.
static mm_status store_pending(mm_train *t, bool at_end) {
  for (size_t k = 0; k < t->n_job && t->n_pending > 0; k++) {
    mm_train_seed *s = &t->seed[t->place[k]];
    if (!s->pending || !(s->late || at_end)) continue;
    MM_TRY(store_seed(t, t->place[k], at_end ? &t->fresh[k] : s->late));
    s->pending = false;
    mm_free(s->late);
    s->late = NULL;
    t->n_pending--;
  }
  if (t->n_pending == 0) t->trouble_status = MM_OK;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Hooks

// The sentence of a job that broke down must not be lost over what is done here.
typedef struct sentence {
  char text[MM_ERROR_SIZE];
} sentence;

static sentence keep_sentence(void) {
  sentence s;
  snprintf(s.text, sizeof s.text, "%s", mm_last_error());
  return s;
}

static void restore_sentence(const sentence *s) {
  (void)MM_FAIL(MM_OK, "%s", s->text);
}

static size_t seed_of(const mm_train *t, const mm_job *job) {
  return t->place[job - t->job];
}

// Said once: it will not become smaller.
static mm_status refuse_size(mm_train *t, size_t size) {
  bool again = t->too_large;
  t->too_large = true;
  return again ? MM_OK
               : MM_FAIL(MM_ERR_INPUT,
                         "the state of a training takes %zu bytes, more than the %d that a "
                         "database keeps: it can only begin again",
                         size, MM_RUN_KEPT_MAX);
}

static void save_state(const mm_job *job, const void *state, size_t size, void *user) {
  mm_train *t = user;
  sentence before = keep_sentence();
  pthread_mutex_lock(&t->lock);
  mm_status status = size > MM_RUN_KEPT_MAX
                         ? refuse_size(t, size)
                         : mm_run_keep(t->run, (int64_t)seed_of(t, job), state, size);
  if (status != MM_OK)
    note_trouble(t, status);
  else
    (void)store_pending(t, false);
  pthread_mutex_unlock(&t->lock);
  restore_sentence(&before);
}

void mm_train_set_net(mm_train *t, size_t i, const mm_net *net) {
  mm_status status = mm_policy_set(t->policy, i, net);
  pthread_mutex_lock(&t->lock);
  t->seed[i].has_net = true; // or will never be
  if (status != MM_OK) snprintf(t->no_policy, sizeof t->no_policy, "%s", mm_last_error());
  pthread_mutex_unlock(&t->lock);
}

static void take_net(const mm_job *job, mm_net *net, void *user) {
  mm_train *t = user;
  sentence before = keep_sentence();
  size_t i = seed_of(t, job), size;
  void *bytes;
  mm_train_set_net(t, i, net);
  mm_status status = mm_train_net_save(net, &bytes, &size);
  pthread_mutex_lock(&t->lock);
  if (status != MM_OK) note_trouble(t, status);
  mm_free(t->seed[i].bytes); // the state it began with
  t->seed[i].bytes = bytes;
  t->seed[i].size = size;
  pthread_mutex_unlock(&t->lock);
  restore_sentence(&before);
}

// A breakdown would come again, so it is an end too. What depends on the machine may not.
static bool is_end(mm_status status) {
  return status == MM_OK || status == MM_ERR_NUMERIC;
}

static void take_result(const mm_job *job, const mm_result *result, void *user) {
  mm_train *t = user;
  if (!is_end(result->status)) return;
  sentence before = keep_sentence();
  size_t i = seed_of(t, job);
  pthread_mutex_lock(&t->lock);
  t->seed[i].ended = true;
  if (t->run) {
    mm_train_seed *s = &t->seed[i];
    s->pending = store_seed(t, i, result) != MM_OK;
    if (s->pending) {
      t->n_pending++;
      s->late = mm_alloc(sizeof *s->late); // without it, at the end
      if (s->late) *s->late = *result;
    } else {
      (void)store_pending(t, false);
    }
  }
  pthread_mutex_unlock(&t->lock);
  restore_sentence(&before);
}

// ---------------------------------------------------------------------------------------------
// All of them

static mm_status take_jobs(mm_train *t, double save_seconds) {
  size_t n = 0;
  for (size_t i = 0; i < t->plan.seeds; i++)
    n += mm_train_is_open(t, i);
  t->job = mm_alloc_array(n, sizeof *t->job);
  t->place = mm_alloc_array(n, sizeof *t->place);
  t->fresh = mm_alloc_array(n, sizeof *t->fresh);
  if (!t->job || !t->place || !t->fresh)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n);
  t->hooks = (mm_job_hooks){ .ended = take_result, .user = t };
  if (t->run && t->policy) {
    t->hooks.save = save_state;
    t->hooks.save_seconds = save_seconds;
    t->hooks.trained = take_net;
  }
  for (size_t i = 0; i < t->plan.seeds; i++) {
    if (!mm_train_is_open(t, i)) continue;
    mm_job *job = &t->job[t->n_job];
    *job = (mm_job){ .env = t->env, .map = t->map, .seed = t->plan.seed + i, .hooks = &t->hooks };
    if (!t->seed[i].ended) job->state = t->seed[i].bytes;
    job->state_size = job->state ? t->seed[i].size : 0;
    mm_settings_bind(&t->plan.settings, job);
    t->place[t->n_job++] = i;
  }
  return MM_OK;
}

static mm_status start_session(mm_train *t, int threads) {
  if (!t->run || t->session) return MM_OK;
  mm_run_session session = { .backend = "cpu",
                             .isa = mm_isa_name(),
                             .threads = threads > 0 ? threads : mm_backend_cores() };
  MM_TRY(mm_run_session_start(t->run, &session));
  t->session = true;
  return MM_OK;
}

// Results of this run take their places among the others.
static void merge(mm_train *t) {
  for (size_t k = 0; k < t->n_job; k++) {
    size_t i = t->place[k];
    mm_result *r = &t->fresh[k];
    uint64_t begun = t->seed[i].begun_at;
    if (r->env_steps > begun) t->env_steps += r->env_steps - begun;
    if (r->status == MM_ERR_INTERRUPTED) {
      mm_result_release(r);
      continue;
    }
    mm_result_release(&t->result[i]);
    t->result[i] = *r;
  }
}

static void release_jobs(mm_train *t) {
  mm_free(t->job);
  mm_free(t->place);
  mm_free(t->fresh);
  t->job = NULL;
  t->place = NULL;
  t->fresh = NULL;
  t->n_job = 0;
}

// The networks go to their file; then nothing need be kept any more.
static mm_status write_policy(mm_train *t) {
  char path[MM_RUN_PATH_SIZE + 24];
  if (t->no_policy[0] != '\0') return MM_OK; // there is no file for such networks, now or later
  for (size_t i = 0; i < t->plan.seeds; i++)
    mm_policy_set_final(t->policy, i, t->result[i].final_value);
  snprintf(path, sizeof path, "%s/policy.safetensors", mm_run_folder_of(t->run));
  mm_status status = mm_policy_save(t->policy, path);
  t->has_file = status == MM_OK;
  return status;
}

static mm_status finish(mm_train *t) {
  if (t->complete || !t->run) {
    t->complete = true;
    return MM_OK;
  }
  if (t->policy) MM_TRY(write_policy(t));
  MM_TRY(mm_run_begin(t->run));
  mm_status status = mm_run_forget(t->run, -1);
  if (status == MM_OK) status = mm_run_commit(t->run);
  if (status != MM_OK) {
    mm_run_drop(t->run);
    return status;
  }
  (void)mm_run_trim(t->run); // a file larger than it need be is no failure
  t->complete = true;
  return MM_OK;
}

static bool all_ended(const mm_train *t) {
  for (size_t i = 0; i < t->plan.seeds; i++)
    if (!t->seed[i].ended) return false;
  return true;
}

static mm_status run_jobs(mm_train *t, const mm_backend_config *backend, double save_seconds) {
  mm_backend_config config = *backend;
  MM_TRY(take_jobs(t, save_seconds));
  MM_TRY(start_session(t, config.threads));
  config.report = &t->report;
  double start = now();
  mm_status status = mm_backend_run(&config, t->job, t->n_job, t->fresh);
  t->seconds += now() - start;
  t->report_seed = t->report.trouble < t->n_job ? t->place[t->report.trouble] : 0;
  if (t->run && store_pending(t, true) != MM_OK) status = t->trouble_status;
  merge(t);
  return status;
}

mm_status mm_train_run(mm_train *t, const mm_backend_config *backend, double save_seconds) {
  mm_status status = run_jobs(t, backend, save_seconds);
  release_jobs(t);
  if (status != MM_OK || !all_ended(t)) return status;
  return finish(t);
}

// ---------------------------------------------------------------------------------------------
// Looking at it

void mm_train_look(const mm_train *t, mm_train_view *out) {
  *out = (mm_train_view){ .plan = &t->plan,
                          .folder = t->run ? mm_run_folder_of(t->run) : NULL,
                          .result = t->result,
                          .trouble = t->plan.seeds,
                          .complete = t->complete,
                          .no_policy = t->no_policy,
                          .threads = t->report.threads,
                          .seconds = t->seconds,
                          .env_steps = t->env_steps,
                          .error = "" };
  size_t broken = t->plan.seeds;
  for (size_t i = t->plan.seeds; i-- > 0;) {
    const mm_result *r = &t->result[i];
    if (r->status == MM_ERR_INTERRUPTED) continue;
    out->n_done++;
    if (r->status == MM_OK) continue;
    if (r->status == MM_ERR_NUMERIC && r->n_curve > 0) {
      out->n_numeric++;
      broken = i;
    } else {
      out->n_failed++;
      out->trouble = i;
    }
  }
  if (out->n_failed == 0) out->trouble = broken;
  if (out->trouble < t->plan.seeds && out->trouble == t->report_seed) out->error = t->report.error;
  if (t->run && t->has_file)
    snprintf(out->policy, sizeof out->policy, "%s/policy.safetensors", out->folder);
}

// Best effort: a run whose disk is full has nothing to say any more.
void mm_train_note_end(mm_train *t, const char *outcome) {
  if (t->session && mm_run_session_end(t->run, outcome) == MM_OK) t->session = false;
}
