// Runs a list of jobs; the caller cannot tell how. Results come in job order and do not depend on
// the number of threads.

#ifndef MM_BACKEND_BACKEND_H
#define MM_BACKEND_BACKEND_H

#include "base/status.h"
#include "mirrormap/agent.h"

// What a call did beside its results.
typedef struct mm_backend_report {
  int threads;      // that worked
  size_t n_done;    // jobs that were not interrupted
  size_t n_numeric; // MM_ERR_NUMERIC: they have a value nevertheless
  size_t n_failed;  // other failures: no value
  // The first failed job, else the first numeric one (n if there is neither), and the sentence it
  // left.
  size_t trouble;
  char error[MM_ERROR_SIZE];
} mm_backend_report;

typedef struct mm_backend_config {
  int threads;              // 0: one per core that this process may use
  const volatile int *stop; // nonzero: finish or drop jobs in flight and return MM_ERR_INTERRUPTED
  // called from the calling thread, a few times a second and at the end
  void (*progress)(size_t done, size_t total, uint64_t env_steps, void *user);
  void *user;
  mm_backend_report *report; // filled on return unless NULL
} mm_backend_config;

// results[n]: each is filled, with its own status; release each with mm_result_release. The call
// fails only when the list as a whole could not be run: MM_ERR_INTERRUPTED leaves every result
// either complete or marked with that status.
mm_status mm_backend_run(const mm_backend_config *config, const mm_job *jobs, size_t n,
                         mm_result *results);

// Cores this process may use.
int mm_backend_cores(void);

#endif
