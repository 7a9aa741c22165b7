// Runs a list of jobs; the caller cannot tell how. Results come in job order and do not depend on
// the number of threads, nor on that of the ranks (ranks.h) among which a list is dealt out.

#ifndef MM_BACKEND_BACKEND_H
#define MM_BACKEND_BACKEND_H

#include "base/status.h"
#include "mirrormap/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

// `auto` is cuda where there is a device that can run all of a list, else cpu.
typedef enum mm_backend_kind { MM_BACKEND_CPU, MM_BACKEND_CUDA, MM_BACKEND_AUTO } mm_backend_kind;

// Where to work.
typedef struct mm_backend_place {
  mm_backend_kind kind;
  const int *devices; // [n_device] numbers of those to use; NULL: all
  size_t n_device;
  int tile; // of the kernels on a device: 0, or the one to take (for tests)
} mm_backend_place;

// "cpu" or "cuda": what the place stands for on this machine.
const char *mm_backend_name(const mm_backend_place *place);

// Where lists ran, or-ed: on `auto` not every list need be for the devices of a machine.
enum { MM_BACKEND_ON_CPU = 1, MM_BACKEND_ON_CUDA = 2 };

// "cpu", "cuda" or "cpu+cuda"; where none ran yet, what the place stands for.
const char *mm_backend_ran_name(unsigned ran, const mm_backend_place *place);

// What a call did beside its results.
typedef struct mm_backend_report {
  bool cuda;        // on devices
  int threads;      // of the processor that worked at a time: for devices they make and value
  int ranks;        // processes among which the list was dealt out; their threads together
  size_t n_done;    // jobs that were not interrupted
  size_t n_numeric; // MM_ERR_NUMERIC: they have a value nevertheless
  size_t n_failed;  // other failures: no value
  // The first failed job, else the first numeric one (n if there is neither), and the sentence it
  // left.
  size_t trouble;
  char error[MM_ERROR_SIZE];
} mm_backend_report;

typedef struct mm_backend_config {
  mm_backend_place place;
  int threads;              // at most, also for devices; 0: one per core that this process may use
  double job_timeout;       // > 0: a job at work for longer fails with MM_ERR_TIMEOUT (on the
                            // processor, and noticed between two iterations)
  const volatile int *stop; // nonzero: finish or drop jobs in flight and return MM_ERR_INTERRUPTED
  // called from the calling thread, a few times a second and at the end
  void (*progress)(size_t done, size_t total, uint64_t env_steps, void *user);
  void *user;
  mm_backend_report *report; // filled on return, failures included, unless NULL
} mm_backend_config;

// results[n]: each is filled, with its own status; release each with mm_result_release. The call
// fails only when the list as a whole could not be run: MM_ERR_INTERRUPTED leaves every result
// either complete or marked with that status.
mm_status mm_backend_run(const mm_backend_config *config, const mm_job *jobs, size_t n,
                         mm_result *results);

// Cores this process may use; its share of them where other ranks are on the same machine.
int mm_backend_cores(void);

// Processes that a list is dealt out among, and the threads that they have together, where each may
// have so many (0: one per core).
int mm_backend_ranks(void);
int mm_backend_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif
