// SPDX-License-Identifier: Apache-2.0
// One job from start to end: makes the map of a search point, runs the algorithm, and settles what
// of the result can be used.

#include <math.h>
#include <string.h>

#include "agent/job_copies.h"
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

mm_status mm_job_run(const mm_job *job, const volatile int *stop, mm_result *result) {
  mm_job_copies complete;
  mm_job_begin(result);
  mm_status status = mm_job_copies_complete(job, 1, &complete);
  if (status != MM_OK) return mm_job_end(job, status, result);
  status = mm_job_continue(complete.n > 0 ? complete.job : job, stop, result);
  mm_job_copies_release(&complete);
  return status;
}
