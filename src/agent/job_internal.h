// SPDX-License-Identifier: Apache-2.0
// What runs of jobs have in common.

#ifndef MM_AGENT_JOB_INTERNAL_H
#define MM_AGENT_JOB_INTERNAL_H

#include "mirrormap/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

// What mm_job_run does around a learner's own part, for whoever runs jobs in another way: the
// result before anything is known, the map of the search point (one that is not usable has failed,
// MM_ERR_NUMERIC; it is nobody's mistake), and what becomes of the result of a job that ended with
// `status`, which is returned.
void mm_job_begin(mm_result *result);
mm_status mm_job_candidate(const mm_job *job, mm_map **out);
mm_status mm_job_end(const mm_job *job, mm_status status, mm_result *result);

// mm_job_run of a result that mm_job_begin has filled.
mm_status mm_job_continue(const mm_job *job, const volatile int *stop, mm_result *result);

// More environment steps are done. Another thread may read their number meanwhile, by an atomic
// load, to show how far the run has come.
static inline void mm_job_advance(mm_result *result, uint64_t steps) {
  __atomic_store_n(&result->env_steps, result->env_steps + steps, __ATOMIC_RELAXED);
}

// The step size of a job whose settings have `own`: a candidate may bring another.
static inline double mm_job_eta(const mm_job *job, double own) {
  return !job->map && job->point.eta > 0 ? job->point.eta : own;
}

// Does its map move in the course of the run?
bool mm_job_moves(const mm_job *job);

// Has the caller had enough?
static inline bool mm_job_stopped(const volatile int *stop) {
  return stop && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

// ---------------------------------------------------------------------------------------------
// Copies of jobs, for whoever runs them in another form than they were given in. What happens to a
// copy is passed on to the hooks of the job that was given, in its name.

typedef struct mm_job_copies {
  const mm_job **given; // [n]
  mm_job *job;          // [n] their copies
  mm_job_hooks *hooks;  // [n] of the copies
  void **config;        // [n] settings that are ours, or NULL
  size_t n;
} mm_job_copies;

// `hooks` point to the object, which must stay where it is. On failure nothing is left.
mm_status mm_job_copies_make(const mm_job *const *given, size_t n, mm_job_copies *out);
void mm_job_copies_release(mm_job_copies *copies);

// Copies of a list with all settings that the library knows: of a program that was compiled with
// fewer of them, whose defaults the others get. Without any such job, where all is as it should be,
// there are none (n = 0). MM_ERR_INPUT for settings that are no learner's of this library.
mm_status mm_job_copies_complete(const mm_job *jobs, size_t n, mm_job_copies *out);

#ifdef __cplusplus
}
#endif

#endif
