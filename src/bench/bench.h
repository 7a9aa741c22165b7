// SPDX-License-Identifier: Apache-2.0
// Speed of the parts against what the machine allows, measured in one run.

#ifndef MM_BENCH_BENCH_H
#define MM_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/ampo.h"
#include "backend/backend.h"
#include "base/status.h"
#include "study/settings/settings.h"

typedef struct mm_bench_result {
  char name[64];
  double value;
  char unit[24];
  double limit;     // the machine's own figure for the same thing, or NaN where there is none
  double reference; // what others reached, or NaN; what and where is said with the benchmark
} mm_bench_result;

// What was measured, and how to measure. Starts zeroed but for `quick`, `figure` and `progress`;
// released with mm_bench_free.
typedef struct mm_bench {
  mm_bench_result *entry; // [n]
  size_t n, capacity;
  bool quick;         // a short look at everything: few rounds, and a search of fewer candidates
  bool out_of_memory; // entries are missing
  const char *figure; // where the model of ranks is drawn, or NULL
  void (*progress)(const char *name, void *user); // told each measurement before it starts, or NULL
  void *user;
} mm_bench;

// Where a case is measured: on the one core that it is kept on, on all, on all ranks of the program
// (only when it is named), or on the first CUDA device, without which it is MM_ERR_UNSUPPORTED.
typedef enum mm_bench_place {
  MM_BENCH_CORE,
  MM_BENCH_CPU,
  MM_BENCH_RANKS,
  MM_BENCH_CUDA
} mm_bench_place;

typedef mm_status mm_bench_function(mm_bench *b);

typedef struct mm_bench_case {
  const char *name; // NULL ends the list; several cases may share one
  mm_bench_place place;
  mm_bench_function *run;
} mm_bench_case;

extern const mm_bench_case mm_bench_cases[];

mm_status mm_bench_run(const mm_bench_case *c, mm_bench *b);
void mm_bench_free(mm_bench *b);

// ---------------------------------------------------------------------------------------------
// The cases; their files say what is measured and against which limit

mm_bench_function mm_bench_map, mm_bench_gridworld, mm_bench_env, mm_bench_physics, mm_bench_learn;
mm_bench_function mm_bench_ampo, mm_bench_ampo_training, mm_bench_scaling, mm_bench_gaussian;
mm_bench_function mm_bench_gaussian_training, mm_bench_mpi, mm_bench_cuda_gridworld,
    mm_bench_cuda_physics;
mm_bench_function mm_bench_cuda_learn, mm_bench_cuda_ampo, mm_bench_cuda_gaussian;

// ---------------------------------------------------------------------------------------------
// For the cases themselves

// Tells that the measurement of that name begins.
void mm_bench_begin(const mm_bench *b, const char *name_format, ...) MM_CHECK_FORMAT(2, 3);

// Appends a figure. mm_bench_run fails where there was no memory for one.
void mm_bench_add(mm_bench *b, double value, const char *unit, double limit,
                  const char *name_format, ...) MM_CHECK_FORMAT(5, 6);

// What others reached, beside the figure that was added last.
void mm_bench_refer(mm_bench *b, double reference);

// The figure of that name, or NULL.
const mm_bench_result *mm_bench_find(const mm_bench *b, const char *name);

// How many rounds to take medians of, where it would be `most`.
int mm_bench_rounds(const mm_bench *b, int most);

// Seconds of one call of work(context): the median over several timings, each of as many calls as
// fill a millisecond, after a warm-up. Fails when the work does.
typedef mm_status mm_bench_work(void *context);
mm_status mm_bench_seconds(mm_bench_work *work, void *context, double *seconds);

// Seconds of one call of each of work[n], and the rate of fused multiply-adds, all in turn: medians
// over `rounds`, after one that warms up. By the thread's time, not by the clock: on a busy machine
// long work is interrupted more often than a short probe.
enum { MM_BENCH_TURNS_MOST = 31, MM_BENCH_WORKS_MOST = 3 };
mm_status mm_bench_turns(int rounds, mm_bench_work *const *work, int n, void *context,
                         double *fma_rate, double *seconds);

// Seconds that the calling thread used since some moment.
double mm_bench_thread_time(void);

// Operations a second of fused multiply-adds alone, two for each; a short probe by the thread's
// time.
double mm_bench_fma_rate(void);

// Operations of an environment step with AMPO and everything that is learned from it: multiply-adds
// as two, for lists of inputs that are on the sums of weight rows alone, twelve of Adam for each
// parameter. Environments, projections and everything else count nothing.
double mm_bench_step_work(const mm_actor_critic_config *config, const mm_ampo_shape *shape);

// Of a gradient step on a minibatch, per row: of each stage, and their sum, which is returned.
double mm_bench_row_work(bool gaussian, double hidden, const mm_ampo_shape *shape, size_t minibatch,
                         double work[MM_NET_STAGES]);

// Training runs as a generation of a search has them, each of a map near the start of the search.
typedef struct mm_bench_jobs {
  mm_settings settings; // to be set before they are opened, with n
  size_t n;
  mm_env *env;
  double *z;         // [n][search size of the maps]
  mm_job *job;       // [n]
  mm_result *result; // [n]
} mm_bench_jobs;

// What it took to run them.
typedef struct mm_bench_jobs_time {
  double seconds, thread_seconds; // by the clock, of the calling thread
  double steps;                   // of environments
  size_t broken;                  // training runs that ended early
  mm_backend_report report;
} mm_bench_jobs_time;

// As candidates of a first generation, in pairs with a seed each; or (`spread` false) all with the
// map in their middle and a seed of their own. Close in either case.
mm_status mm_bench_jobs_open(mm_bench_jobs *j, const char *env, bool spread);
void mm_bench_jobs_close(mm_bench_jobs *j);

// The first n of them. Maps as wild as some of a first generation are may break down, in the first
// iteration too: that is counted, and no failure.
mm_status mm_bench_jobs_run(mm_bench_jobs *j, size_t n, const mm_backend_place *place,
                            mm_bench_jobs_time *out);

// Of x[n], n > 0, which it sorts.
double mm_bench_median(double *x, size_t n);

// Keeps the calling thread on the core it runs on, so that a figure and its limit come from the
// same one, and brings it to its speed; `release` undoes it. Without effect where the system does
// not allow it.
typedef struct mm_bench_core {
  unsigned char before[128]; // the cores allowed until now
  int held;
} mm_bench_core;
mm_bench_core mm_bench_core_hold(void);
void mm_bench_core_release(const mm_bench_core *core);

#endif
