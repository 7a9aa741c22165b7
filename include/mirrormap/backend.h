// SPDX-License-Identifier: Apache-2.0
// Lists of jobs on threads, CUDA devices or ranks; the caller cannot tell which by the results.
//
//   mm_backend_config config = mm_backend_config_default();
//   config.progress = show;
//   mm_job job[8] = ..; mm_result result[8];                mm_job of agent.h, seeds 0 .. 7
//   mm_backend_run(&config, job, 8, result);
//   ... result[i].status, result[i].final_value, result[i].curve ...
//   for (int i = 0; i < 8; i++) mm_result_release(&result[i]);
//
// Results come in the order of the jobs and depend on their jobs alone: not on the number of
// threads, nor on that of the ranks; devices round in their own way. Networks, checkpoints and
// results as they come are for the jobs' hooks (mm_job_hooks; mm_policy_hooks of policy.h). A job
// that begins with a state that its hook was given goes on from there, on another kind of backend
// too.
//
// Threads: lists may run at the same time in different threads, each on threads of its own, where
// there is only one rank. What is said of a function below holds besides.

#ifndef MIRRORMAP_BACKEND_H
#define MIRRORMAP_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/agent.h"
#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// AUTO is CUDA where there is a device that can run all of a list, else CPU.
typedef enum mm_backend_kind { MM_BACKEND_CPU, MM_BACKEND_CUDA, MM_BACKEND_AUTO } mm_backend_kind;

// Where to work.
typedef struct mm_backend_place {
  mm_backend_kind kind;
  const int *devices; // [n_device] numbers of those to use; NULL: all
  size_t n_device;
  int tile; // of the kernels on a device: 0, or the one to take (for tests)
} mm_backend_place;

// What a call did beside its results.
enum { MM_BACKEND_ERROR_SIZE = 1024 };
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
  char error[MM_BACKEND_ERROR_SIZE];
} mm_backend_report;

typedef struct mm_backend_config {
  size_t size; // of this struct, set by mm_backend_config_default
  mm_backend_place place;
  int threads;              // at most, also for devices; 0: one per core that this process may use
  double job_timeout;       // > 0: a job at work for longer, in seconds, fails with MM_ERR_TIMEOUT
                            // (on the processor, and noticed between two iterations)
  const volatile int *stop; // nonzero: finish or drop jobs in flight and return MM_ERR_INTERRUPTED;
                            // may be NULL
  // Called from the calling thread, a few times a second and at the end: jobs done, environment
  // steps so far. May be NULL.
  void (*progress)(size_t done, size_t total, uint64_t env_steps, void *user);
  void *user;
  mm_backend_report *report; // filled on return, failures included, unless NULL
} mm_backend_config;

// Devices where they can do a list, else one thread per core. From any thread.
MM_API void mm_backend_config_init(mm_backend_config *out, size_t size);
static inline mm_backend_config mm_backend_config_default(void) {
  mm_backend_config config;
  mm_backend_config_init(&config, sizeof config);
  return config;
}

// results[n]: each is filled, with its own status; release each with mm_result_release. The call
// fails only when the list as a whole could not be run: MM_ERR_INTERRUPTED leaves every result
// either complete or marked with that status. Starts the threads it needs and has ended them when
// it returns. From any thread; where there are several ranks, one list at a time.
MM_API mm_status mm_backend_run(const mm_backend_config *config, const mm_job *jobs, size_t n,
                                mm_result *results);

// "cpu" or "cuda": what the place stands for on this machine. From any thread.
MM_API const char *mm_backend_name(const mm_backend_place *place);

// Cores that this process may use; its share of them where other ranks are on the same machine.
// From any thread.
MM_API int mm_backend_cores(void);

// ---------------------------------------------------------------------------------------------
// Ranks: several processes as one
//
// Under mpirun or srun the lists of the first process are dealt out among all, each with its own
// threads or devices (docs/cluster.md). A program that wants this begins and ends with
//
//   bool first;
//   int code = 0;
//   if (mm_ranks_join(NULL, &first, &code) != MM_OK) ..     and leaves with _exit
//   if (first) code = program();
//   mm_ranks_end(code);
//   return code;
//
// These functions are for the thread that main runs in.

// Does nothing, and `first` is true, in a process that no such launcher started. Else starts MPI:
// the first process comes back at once, the others work for its lists until it ends, and come back
// with first = false and *code as it gave it to mm_ranks_end. *stop (may be NULL) is nonzero once
// somebody has asked this process to end; it gives the first one a few seconds to agree.
// MM_ERR_UNSUPPORTED where the build has no MPI. After a failure the process should leave by _exit,
// so that the launcher ends the others.
MM_API mm_status mm_ranks_join(const volatile int *stop, bool *first, int *code);

// All of them end MPI here; the first lets the others go. Where one is lost they are ended by
// force, and the call does not return. Does nothing in a process that runs alone.
MM_API void mm_ranks_end(int code);

// How many there are, and which one this is; 1 and 0 in a process that runs alone.
MM_API int mm_ranks_count(void);
MM_API int mm_ranks_rank(void);

#ifdef __cplusplus
}
#endif

#endif
