// SPDX-License-Identifier: Apache-2.0
// States and networks of trainings as bytes, for whoever follows them (mm_job_hooks).

#ifndef MM_AGENT_JOB_HOOKS_H
#define MM_AGENT_JOB_HOOKS_H

#include "mirrormap/agent.h"
#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of the longest state of a job with a map, of a learner with networks.
mm_status mm_job_state_size(const mm_job *job, size_t *out);

// Iterations done in a state; 0 for bytes that are none.
uint64_t mm_job_state_done(const void *state, size_t size);

// Networks of a finished training as bytes (net_bytes.c), released with mm_free.
mm_status mm_job_net_save(const mm_net *net, void **out, size_t *size);
mm_status mm_job_net_load(const void *bytes, size_t size, mm_net **out);

#ifdef __cplusplus
}
#endif

#endif
