// SPDX-License-Identifier: Apache-2.0
// Copies of jobs, for whoever runs them in another form than they were given in. What happens to a
// copy is passed on to the hooks of the job that was given, in its name.

#ifndef MM_AGENT_JOB_COPIES_H
#define MM_AGENT_JOB_COPIES_H

#include "mirrormap/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

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
