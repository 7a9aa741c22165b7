// SPDX-License-Identifier: Apache-2.0
// Jobs of tabular PMD on a CUDA device. Results are those of mm_job_run to the bit, but for the
// times they took.

#ifndef MM_BACKEND_CUDA_TABULAR_PMD_H
#define MM_BACKEND_CUDA_TABULAR_PMD_H

#include "mirrormap/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where and by whom; the last four may be NULL.
typedef struct mm_cuda_pmd_config {
  int device;
  int threads; // of the host, which make maps and tasks and value policies; at least 1
  // Looked at about ten times a second, between iterations; nonzero ends the call with
  // MM_ERR_INTERRUPTED, and every result is either complete or marked with that status.
  const volatile int *stop;
  // Told from the calling thread how many steps have been done.
  void (*progress)(uint64_t env_steps, void *user);
  // Told about each job whose result is settled, from any thread and several at a time: the
  // sentence of one that failed is in that thread's mm_last_error().
  void (*ended)(size_t job, void *user);
  void *user;
} mm_cuda_pmd_config;

// Runs jobs[which[i]], i < n, which are all of MM_ALGO_PMD, into results[which[i]]: each is filled,
// with its own status. A failure of the device or of the host's memory ends the call, and marks
// what is not complete. *threads: how many of the host's worked at a time, at most.
mm_status mm_cuda_pmd_run(const mm_cuda_pmd_config *config, const mm_job *jobs, const size_t *which,
                          size_t n, mm_result *results, int *threads);

#ifdef __cplusplus
}
#endif

#endif
