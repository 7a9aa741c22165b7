// Jobs of tabular PMD on a CUDA device. Results are those of mm_job_run to the bit, but for the
// times they took.

#ifndef MM_BACKEND_CUDA_PMD_H
#define MM_BACKEND_CUDA_PMD_H

#include "mirrormap/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

// Runs jobs[which[i]], i < n, which all have `pmd` set, into results[which[i]]: each is filled,
// with its own status. Maps and tasks are made, and policies valued, by the host's threads.
//
// `stop` (may be NULL) is looked at about ten times a second, between iterations; nonzero ends the
// call with MM_ERR_INTERRUPTED, and every result is either complete or marked with that status. A
// failure of the device or of the host's memory ends it too, and marks what is not complete.
//
// progress (may be NULL) is told from the calling thread how many steps have been done; ended (may
// be NULL) about each job whose result is settled, from any thread and several at a time: the
// sentence of one that failed is in that thread's mm_last_error().
mm_status mm_cuda_pmd_run(int device, const mm_job *jobs, const size_t *which, size_t n,
                          const volatile int *stop,
                          void (*progress)(uint64_t env_steps, void *user),
                          void (*ended)(size_t job, void *user), void *user, mm_result *results);

#ifdef __cplusplus
}
#endif

#endif
