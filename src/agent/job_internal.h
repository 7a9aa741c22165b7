// How the algorithms run a job; job.c chooses.

#ifndef MM_AGENT_JOB_INTERNAL_H
#define MM_AGENT_JOB_INTERNAL_H

#include "mirrormap/agent.h"

// `map` is the job's, or the one made of its search point. `result` comes zeroed, its values NaN.
// MM_ERR_NUMERIC with a point on the curve is a result.
mm_status mm_job_run_pmd(const mm_job *job, const mm_map *map, const volatile int *stop,
                         mm_result *result);
mm_status mm_job_run_ampo(const mm_job *job, const mm_map *map, const volatile int *stop,
                          mm_result *result);

// Has the caller had enough?
static inline bool mm_job_stopped(const volatile int *stop) {
  return stop && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

#endif
