// SPDX-License-Identifier: Apache-2.0
// One job from start to end: makes the map of a search point, runs the algorithm, and settles what
// of the result can be used.

#include <math.h>
#include <string.h>

#include "agent/job_hooks.h"
#include "agent/job_internal.h"
#include "agent/learner.h"
#include "base/status.h"
#include "map/map_internal.h"

void mm_result_release(mm_result *result) {
  if (!result) return;
  mm_free(result->curve);
  mm_free(result->curve_step);
  mm_free(result->measure);
  result->curve = NULL;
  result->curve_step = NULL;
  result->measure = NULL;
  result->n_curve = 0;
}

mm_status mm_job_candidate(const mm_job *job, mm_map **out) {
  mm_status status = mm_map_from_search_stages(job->point.kind, job->point.n, job->point.stages,
                                               job->point.z, out);
  if (status == MM_ERR_INPUT) return MM_FAIL(MM_ERR_NUMERIC, "%s", mm_last_error());
  if (status != MM_OK || (*out)->finite) return status;
  mm_map_destroy(*out);
  *out = NULL;
  return MM_FAIL(MM_ERR_NUMERIC, "candidate: phi^-1 is not finite on (0, 1]");
}

bool mm_job_moves(const mm_job *job) {
  return (job->map ? mm_map_stages(job->map) : job->point.stages) > 1;
}

static mm_status run(const mm_job *job, const volatile int *stop, mm_result *result) {
  mm_map *own = NULL;
  const mm_learner *learner = mm_learner_of_job(job);
  if (!learner) return MM_ERR_INPUT;
  if (job->hooks && job->hooks->run) return job->hooks->run(job, stop, result, job->hooks->user);
  if (!job->map) MM_TRY(mm_job_candidate(job, &own));
  mm_status status = learner->run(job, job->map ? job->map : own, stop, result);
  mm_map_destroy(own);
  return status;
}

void mm_job_begin(mm_result *result) {
  memset(result, 0, sizeof *result);
  result->final_value = result->recent_value = result->optimal_value = NAN;
}

mm_status mm_job_end(const mm_job *job, mm_status status, mm_result *result) {
  // numerical trouble of the agent leaves the last finite policy's value; of the solver, nothing
  bool usable = status == MM_ERR_NUMERIC && result->n_curve > 0 && isfinite(result->final_value);
  if (status != MM_OK && !usable) mm_result_release(result);
  result->status = status;
  if (job->hooks && job->hooks->ended) job->hooks->ended(job, result, job->hooks->user);
  return status;
}

mm_status mm_job_continue(const mm_job *job, const volatile int *stop, mm_result *result) {
  return mm_job_end(job, run(job, stop, result), result);
}

// ---------------------------------------------------------------------------------------------
// Hooks of the copies

static const mm_job *given_of(const mm_job_copies *c, const mm_job *job) {
  return c->given[job - c->job];
}

static void pass_state(const mm_job *job, const void *state, size_t size, void *user) {
  const mm_job *given = given_of(user, job);
  given->hooks->save(given, state, size, given->hooks->user);
}

static void pass_net(const mm_job *job, mm_net *net, void *user) {
  const mm_job *given = given_of(user, job);
  given->hooks->trained(given, net, given->hooks->user);
}

static void pass_result(const mm_job *job, const mm_result *result, void *user) {
  const mm_job *given = given_of(user, job);
  given->hooks->ended(given, result, given->hooks->user);
}

static mm_status pass_run(const mm_job *job, const volatile int *stop, mm_result *result,
                          void *user) {
  const mm_job *given = given_of(user, job);
  return given->hooks->run(given, stop, result, given->hooks->user);
}

static void copy_job(mm_job_copies *c, size_t i) {
  c->job[i] = *c->given[i];
  const mm_job_hooks *hooks = c->given[i]->hooks;
  if (!hooks) return;
  c->hooks[i] = (mm_job_hooks){ .save = hooks->save ? pass_state : NULL,
                                .save_seconds = hooks->save_seconds,
                                .trained = hooks->trained ? pass_net : NULL,
                                .ended = hooks->ended ? pass_result : NULL,
                                .run = hooks->run ? pass_run : NULL,
                                .user = c };
  c->job[i].hooks = &c->hooks[i];
}

// ---------------------------------------------------------------------------------------------

static mm_status no_memory(void) {
  return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of jobs");
}

mm_status mm_job_copies_make(const mm_job *const *given, size_t n, mm_job_copies *out) {
  *out = (mm_job_copies){ .given = mm_alloc_array(n, sizeof *out->given),
                          .job = mm_alloc_array(n, sizeof *out->job),
                          .hooks = mm_alloc_array(n, sizeof *out->hooks),
                          .config = mm_alloc_array(n, sizeof *out->config) };
  if (!out->given || !out->job || !out->hooks || !out->config) {
    mm_job_copies_release(out);
    return no_memory();
  }
  out->n = n;
  for (size_t i = 0; i < n; i++) {
    out->given[i] = given[i];
    out->config[i] = NULL;
    copy_job(out, i);
  }
  return MM_OK;
}

void mm_job_copies_release(mm_job_copies *c) {
  for (size_t i = 0; i < c->n; i++)
    mm_free(c->config[i]);
  mm_free(c->given);
  mm_free(c->job);
  mm_free(c->hooks);
  mm_free(c->config);
  *c = (mm_job_copies){ .n = 0 };
}

// ---------------------------------------------------------------------------------------------
// Settings

// The learner whose settings are not those of this library; NULL where there is none, and for jobs
// without settings, which fail where they are run.
static const mm_learner *other_settings(const mm_job *job) {
  size_t size;
  if (!job->config || (size_t)job->algo >= mm_algo_count()) return NULL;
  const mm_learner *learner = mm_learner_of(job->algo);
  if (!learner->config_name) return NULL;
  memcpy(&size, job->config, sizeof size);
  return size != learner->config_size ? learner : NULL;
}

// Jobs that share settings share them here as well, where they follow each other.
static mm_status complete_one(mm_job_copies *c, size_t i, const mm_learner *learner) {
  const bool same = i > 0 && c->given[i]->config == c->given[i - 1]->config &&
                    c->given[i]->algo == c->given[i - 1]->algo;
  if (!same) {
    c->config[i] = mm_alloc(learner->config_size);
    if (!c->config[i]) return no_memory();
    MM_TRY(mm_learner_take(learner, c->given[i]->config, c->config[i]));
  }
  c->job[i].config = same ? c->job[i - 1].config : c->config[i];
  return MM_OK;
}

mm_status mm_job_copies_complete(const mm_job *jobs, size_t n, mm_job_copies *out) {
  size_t first = 0;
  *out = (mm_job_copies){ .n = 0 };
  while (first < n && !other_settings(&jobs[first]))
    first++;
  if (first == n) return MM_OK;
  const mm_job **given = mm_alloc_array(n, sizeof *given);
  if (!given) return no_memory();
  for (size_t i = 0; i < n; i++)
    given[i] = &jobs[i];
  mm_status status = mm_job_copies_make(given, n, out);
  mm_free(given);
  for (size_t i = first; i < n && status == MM_OK; i++) {
    const mm_learner *learner = other_settings(&jobs[i]);
    if (learner) status = complete_one(out, i, learner);
  }
  if (status != MM_OK) mm_job_copies_release(out);
  return status;
}

// ---------------------------------------------------------------------------------------------

mm_status mm_job_run(const mm_job *job, const volatile int *stop, mm_result *result) {
  mm_job_copies complete;
  mm_job_begin(result);
  mm_status status = mm_job_copies_complete(job, 1, &complete);
  if (status != MM_OK) return mm_job_end(job, status, result);
  status = mm_job_continue(complete.n > 0 ? complete.job : job, stop, result);
  mm_job_copies_release(&complete);
  return status;
}
