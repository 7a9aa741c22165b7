// SPDX-License-Identifier: Apache-2.0
// Running the jobs of a store: those that are open go to the backend, and the database hears of
// them as they go on. Hooks are called by the threads that train; one lock keeps the database to
// one of them at a time.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/ampo.h"
#include "agent/learner.h"
#include "base/clock.h"
#include "base/status.h"
#include "mirrormap/stats.h"
#include "study/jobs/job_store_internal.h"

// ---------------------------------------------------------------------------------------------
// Trouble with the database; the lock is held

static void note_trouble(mm_job_store *s, mm_status status) {
  if (s->trouble_status == MM_OK) s->trouble_is_new = true;
  s->trouble_status = status;
  snprintf(s->trouble, sizeof s->trouble, "%s", mm_last_error());
}

bool mm_job_store_trouble(mm_job_store *s, char out[MM_ERROR_SIZE]) {
  pthread_mutex_lock(&s->lock);
  bool is_new = s->trouble_is_new;
  s->trouble_is_new = false;
  if (is_new) memcpy(out, s->trouble, MM_ERROR_SIZE);
  pthread_mutex_unlock(&s->lock);
  return is_new;
}

// ---------------------------------------------------------------------------------------------
// Storing a job that ended; the lock is held

static bool is_measured(const mm_result *r, size_t m) {
  for (size_t k = 0; k < r->n_curve; k++)
    if (!isnan(r->measure[k * MM_MEASURES + m])) return true;
  return false;
}

// Each measure as a curve of its own; one that the algorithm does not have is left out. Of those
// that the store's owner has there may be less than a point for each of the curve: what is NaN of
// them is left out.
static mm_status put_measures(mm_job_store *s, size_t place, const mm_result *r) {
  static const char *const own[MM_MEASURES] = {
#define NAME(id, name) name,
    MM_MEASURE_LIST(NAME)
#undef NAME
  };
  const char *const *name = s->train ? s->measure_name : own;
  for (size_t m = 0; m < MM_MEASURES; m++) {
    if (!name[m] || !is_measured(r, m)) continue;
    for (size_t k = 0; k < r->n_curve; k++) {
      double value = r->measure[k * MM_MEASURES + m];
      if (s->train && isnan(value)) continue;
      MM_TRY(mm_run_put_measure(s->run, (int64_t)place, name[m], &r->curve_step[k], &value, 1));
    }
  }
  return MM_OK;
}

static mm_status put_job(mm_job_store *s, size_t place, const mm_result *r) {
  const mm_job_entry *e = &s->entry[place];
  mm_run_training row = { .job = (int64_t)place,
                          .seed = e->seed,
                          .status = r->status,
                          .final = r->final_value,
                          .recent = r->recent_value,
                          .optimal = r->optimal_value,
                          .env_steps = r->env_steps,
                          .points = (int64_t)r->n_curve };
  if (!e->stored) MM_TRY(mm_run_put_training(s->run, &row, r->curve_step, r->curve));
  if (!e->stored && r->measure && r->n_curve > 0) MM_TRY(put_measures(s, place, r));
  // networks beyond what a database takes are not worth failing for
  if (s->see_net && e->bytes && e->size <= MM_RUN_KEPT_MAX)
    return mm_run_keep(s->run, (int64_t)place, e->bytes, e->size);
  return mm_run_forget(s->run, (int64_t)place);
}

static mm_status store_job(mm_job_store *s, size_t place, const mm_result *r) {
  mm_status status = mm_run_begin(s->run);
  if (status == MM_OK) {
    status = put_job(s, place, r);
    if (status == MM_OK)
      status = mm_run_commit(s->run);
    else
      mm_run_drop(s->run);
  }
  if (status != MM_OK) {
    note_trouble(s, status);
    return status;
  }
  mm_job_entry *e = &s->entry[place];
  e->stored = true;
  mm_free(e->bytes);
  e->bytes = NULL;
  return MM_OK;
}

// Jobs that could not be stored when they ended. The backend's own results may be looked at only
// when it has returned: `at_end`.
static mm_status store_pending(mm_job_store *s, bool at_end) {
  for (size_t k = 0; k < s->n_job && s->n_pending > 0; k++) {
    mm_job_entry *e = &s->entry[s->place[k]];
    if (!e->pending || !(e->late || at_end)) continue;
    MM_TRY(store_job(s, s->place[k], at_end ? &s->fresh[k] : e->late));
    e->pending = false;
    mm_free(e->late);
    e->late = NULL;
    s->n_pending--;
  }
  if (s->n_pending == 0) s->trouble_status = MM_OK;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Hooks. What they fail at must not hide the sentence that a job left.

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

static size_t place_of(const mm_job_store *s, const mm_job *job) {
  return s->place[job - s->job];
}

// Said once: it will not become smaller.
static mm_status refuse_size(mm_job_store *s, size_t size) {
  bool again = s->too_large;
  s->too_large = true;
  return again ? MM_OK
               : MM_FAIL(MM_ERR_INPUT,
                         "the state of a training takes %zu bytes, more than the %d that a "
                         "database keeps: it can only begin again",
                         size, MM_RUN_KEPT_MAX);
}

static void save_state(const mm_job *job, const void *state, size_t size, void *user) {
  mm_job_store *s = user;
  sentence before = keep_sentence();
  pthread_mutex_lock(&s->lock);
  mm_status status = size > MM_RUN_KEPT_MAX
                         ? refuse_size(s, size)
                         : mm_run_keep(s->run, (int64_t)place_of(s, job), state, size);
  if (status != MM_OK)
    note_trouble(s, status);
  else
    (void)store_pending(s, false);
  pthread_mutex_unlock(&s->lock);
  restore_sentence(&before);
}

// Of a job that pauses: the next list goes on from there. Without memory it begins again, to the
// same bits.
static void hold_state(const mm_job *job, const void *state, size_t size, void *user) {
  mm_job_store *s = user;
  void *bytes = mm_alloc(size);
  if (bytes) memcpy(bytes, state, size);
  pthread_mutex_lock(&s->lock);
  mm_job_entry *e = &s->entry[place_of(s, job)];
  mm_free(e->bytes);
  e->bytes = bytes;
  e->size = bytes ? size : 0;
  pthread_mutex_unlock(&s->lock);
}

const void *mm_job_store_state(const mm_job_store *s, size_t place, size_t *size) {
  *size = s->entry[place].size;
  return s->entry[place].bytes;
}

static void take_net(const mm_job *job, mm_net *net, void *user) {
  mm_job_store *s = user;
  sentence before = keep_sentence();
  size_t place = place_of(s, job), size = 0;
  void *bytes = NULL;
  (void)s->see_net(place, net, s->net_user); // what does not fit there is its own business
  mm_status status = s->run ? mm_job_net_save(net, &bytes, &size) : MM_OK;
  pthread_mutex_lock(&s->lock);
  if (status != MM_OK) note_trouble(s, status);
  mm_job_entry *e = &s->entry[place];
  e->has_net = true;
  mm_free(e->bytes); // the state it began with
  e->bytes = bytes;
  e->size = size;
  pthread_mutex_unlock(&s->lock);
  restore_sentence(&before);
}

// A breakdown would come again, so it is an end too. What depends on the machine may not.
static bool is_end(mm_status status) {
  return status == MM_OK || status == MM_ERR_NUMERIC;
}

static void take_result(const mm_job *job, const mm_result *result, void *user) {
  mm_job_store *s = user;
  if (!is_end(result->status)) return;
  sentence before = keep_sentence();
  size_t place = place_of(s, job);
  pthread_mutex_lock(&s->lock);
  mm_job_entry *e = &s->entry[place];
  e->ended = true;
  if (s->has_lists) {
    mm_job_store_list_result(s, place, result);
  } else if (s->run) {
    e->pending = store_job(s, place, result) != MM_OK;
    if (e->pending) {
      s->n_pending++;
      e->late = mm_alloc(sizeof *e->late); // without it, at the end
      if (e->late) *e->late = *result;
    } else {
      (void)store_pending(s, false);
    }
  }
  pthread_mutex_unlock(&s->lock);
  restore_sentence(&before);
}

// ---------------------------------------------------------------------------------------------
// Jobs that are open

static bool is_open(const mm_job_store *s, size_t place) {
  const mm_job_entry *e = &s->entry[place];
  return !e->ended || (s->see_net && !s->complete && !e->has_net);
}

static uint64_t steps_of_state(const mm_job *job) {
  const uint64_t done = mm_job_state_done(job->state, job->state_size);
  if (done == 0) return 0; // none, or not of a job at all
  return done * (uint64_t)(mm_job_number(job, "envs", 1) * mm_job_number(job, "unroll", 1));
}

static mm_status take_jobs(mm_job_store *s, size_t first, const mm_job *jobs, size_t n) {
  size_t open = 0;
  for (size_t i = 0; i < n; i++)
    open += is_open(s, first + i);
  s->first = first;
  s->n_known = n - open;
  s->known_steps = 0;
  for (size_t i = 0; i < n; i++)
    if (!is_open(s, first + i)) s->known_steps += s->result[first + i].env_steps;
  s->job = mm_alloc_array(open, sizeof *s->job);
  s->place = mm_alloc_array(open, sizeof *s->place);
  s->fresh = mm_alloc_array(open, sizeof *s->fresh);
  if (!s->job || !s->place || !s->fresh)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", open);
  const bool saves = s->run && !s->has_lists, pauses = s->has_lists && n > 0 && jobs[0].until > 0;
  s->hooks = (mm_job_hooks){ .ended = take_result,
                             .save = pauses  ? hold_state
                                     : saves ? save_state
                                             : NULL,
                             .save_seconds = saves ? s->save_seconds : 0,
                             .trained = s->see_net ? take_net : NULL,
                             .run = s->train,
                             .user = s };
  for (size_t i = 0; i < n; i++) {
    mm_job_entry *e = &s->entry[first + i];
    if (!is_open(s, first + i)) continue;
    mm_job *job = &s->job[s->n_job];
    *job = jobs[i];
    job->hooks = &s->hooks;
    if (e->bytes && !e->ended) {
      job->state = e->bytes;
      job->state_size = e->size;
    }
    e->begun_at = job->state ? steps_of_state(job) : 0;
    s->place[s->n_job++] = first + i;
  }
  return MM_OK;
}

static void release_jobs(mm_job_store *s) {
  mm_free(s->job);
  mm_free(s->place);
  mm_free(s->fresh);
  s->job = NULL;
  s->place = NULL;
  s->fresh = NULL;
  s->n_job = 0;
}

// What a checkpoint fails at must not hide why the list did not come to its end.
static void end_list(mm_job_store *s, size_t n) {
  sentence before = keep_sentence();
  mm_job_store_list_end(s, s->first, n);
  restore_sentence(&before);
}

// Results of this call take their places among the others.
static void merge(mm_job_store *s) {
  for (size_t k = 0; k < s->n_job; k++) {
    mm_result *r = &s->fresh[k];
    uint64_t begun = s->entry[s->place[k]].begun_at;
    s->work.trained++;
    if (r->env_steps > begun) s->work.env_steps += r->env_steps - begun;
    if (r->status == MM_ERR_INTERRUPTED) {
      mm_result_release(r);
      continue;
    }
    mm_result_release(&s->result[s->place[k]]);
    s->result[s->place[k]] = *r;
  }
}

// ---------------------------------------------------------------------------------------------
// What the caller hears is about all of its jobs, not only those that were open

static void tell_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  const mm_job_store *s = user;
  s->backend->progress(done + s->n_known, total + s->n_known, s->known_steps + env_steps,
                       s->backend->user);
}

void mm_job_store_count(const mm_job_store *s, size_t first, size_t n, mm_backend_report *out) {
  size_t numeric = n;
  out->n_done = out->n_numeric = out->n_failed = 0;
  out->trouble = n;
  for (size_t i = n; i-- > 0;) {
    const mm_result *r = &s->result[first + i];
    if (r->status == MM_ERR_INTERRUPTED) continue;
    out->n_done++;
    if (r->status == MM_OK) continue;
    bool has_value = mm_result_has_value(r);
    out->n_numeric += has_value;
    out->n_failed += !has_value;
    if (has_value) numeric = i;
    if (!has_value) out->trouble = i;
  }
  if (out->n_failed == 0) out->trouble = numeric;
}

static void complete_report(const mm_job_store *s, size_t n, const mm_backend_report *own) {
  mm_backend_report *report = s->backend->report;
  if (!report) return;
  *report = *own;
  if (s->has_lists) return; // nobody asks which of all it was
  mm_job_store_count(s, s->first, n, report);
  bool same = own->trouble < s->n_job && s->place[own->trouble] == s->first + report->trouble;
  if (!same) // sentences are not stored
    snprintf(report->error, sizeof report->error, "%s",
             report->trouble < n ? "it broke down when it was trained before" : "");
}

static bool logs(const mm_job *job) {
  mm_ampo_method method = { 0 };
  const mm_learner *learner = mm_learner_of_job(job);
  if (learner && learner->method) learner->method(job->config, &method);
  return method.log;
}

mm_status mm_job_rehearse(const mm_job *job, bool keeps_log) {
  const volatile int stop = 1;
  mm_result result;
  if (!keeps_log && logs(job))
    return MM_FAIL(MM_ERR_INPUT, "setting 'log': only train keeps what it records: expected off");
  mm_status status = mm_job_run(job, &stop, &result);
  mm_result_release(&result);
  return status == MM_ERR_INTERRUPTED ? MM_OK : status;
}

mm_status mm_job_store_run(mm_job_store *s, const mm_backend_config *backend, size_t first,
                           const mm_job *jobs, size_t n) {
  mm_backend_report own = { 0 };
  mm_backend_config config = *backend;
  s->backend = backend;
  mm_status status = take_jobs(s, first, jobs, n);
  if (status == MM_OK) {
    config.report = &own;
    config.user = s;
    if (backend->progress) config.progress = tell_progress;
    if (s->has_lists) mm_job_store_list_begin(s);
    double start = mm_clock_seconds();
    status = mm_backend_run(&config, s->job, s->n_job, s->fresh);
    s->work.seconds += mm_clock_seconds() - start;
    if (s->n_job > 0) s->work.ran |= own.cuda ? MM_BACKEND_ON_CUDA : MM_BACKEND_ON_CPU;
    if (s->run && store_pending(s, true) != MM_OK) status = s->trouble_status;
    merge(s);
    if (s->has_lists) end_list(s, n);
    complete_report(s, n, &own);
  }
  release_jobs(s);
  return status;
}
