// How a training is followed from outside: kept to go on later, its networks and its result taken
// at the end. Only AMPO and PPO have states and networks; runs of tabular PMD take milliseconds.

#ifndef MM_AGENT_JOB_HOOKS_H
#define MM_AGENT_JOB_HOOKS_H

#include "mirrormap/agent.h"
#include "net/net.h"

#ifdef __cplusplus
extern "C" {
#endif

// Functions are called by the thread that runs the job, for different jobs at the same time.
typedef struct mm_job_hooks {
  // Where the job stands, between two iterations: every `save_seconds` (0: never), when it is
  // interrupted and where it pauses (mm_job.until). The bytes are the callee's to copy. A job that
  // begins with them as its `state` goes on to the same bits as one that was never stopped. May be
  // NULL.
  void (*save)(const mm_job *job, const void *state, size_t size, void *user);
  double save_seconds;
  // The networks of a job that came to its end, or the last ones of one that broke down
  // numerically. May be NULL.
  void (*trained)(const mm_job *job, mm_net *net, void *user);
  // The result of a job as mm_job_run is about to return it, interrupted ones included. May be
  // NULL.
  void (*ended)(const mm_job *job, const mm_result *result, void *user);
  // Trains in the place of the job's own algorithm, for those who measure more of a run; the
  // columns of the result's `measure` are theirs to name. Such a job is done by this process's
  // threads, wherever the others go. May be NULL.
  mm_status (*run)(const mm_job *job, const volatile int *stop, mm_result *result, void *user);
  void *user;
} mm_job_hooks;

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
