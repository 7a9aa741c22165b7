// Speed of the parts against what the machine allows, measured in one run.

#ifndef MM_EXPERIMENT_BENCH_H
#define MM_EXPERIMENT_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/ampo.h"
#include "mirrormap/base.h"

typedef struct mm_bench_result {
  char name[64];
  double value;
  char unit[24];
  double limit;     // the machine's own figure for the same thing, or NaN where there is none
  double reference; // what others reached, or NaN; what and where is said with the benchmark
} mm_bench_result;

typedef struct mm_bench_results {
  mm_bench_result *entry; // [n]
  size_t n, capacity;
  bool quick; // a short look at everything: few rounds, and a search of fewer candidates
} mm_bench_results;

// Appends to `results`, which starts zeroed and is released with mm_bench_free.
// `progress` (may be NULL) is told the name of each measurement before it starts.
typedef void mm_bench_progress(const char *name, void *user);

// Nanoseconds per phi, per phi^-1 and per projection of each kind of map: `scalar`, one number or
// one row of scores a call in double precision, and `batched`, many a call in single precision. The
// limit is one expf of the C library for each number, in a loop of the same shape on the same core.
mm_status mm_bench_map(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Milliseconds of tabular PMD runs with the paper's settings, by configuration and map: the whole
// run, its rollouts, its updates and the exact value at the end; medians over instances. The limits
// are the random numbers of the rollouts and the exponentials of the updates by themselves.
mm_status mm_bench_gridworld(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Steps per second of each environment on one core, random actions and resets included: one at a
// time and 1024 side by side, in the two fastest forms of observation. The limit is the same with
// the bytes of a step moved and nothing computed. Reference: gymnax on an A100 with 2000
// environments.
mm_status mm_bench_env(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Environment steps per second of each body's physics on one core, 2048 environments with random
// actions and resets: our own engine in each build that this CPU runs, with the MuJoCo library in
// the same run as the reference; then how many times the library's rate the best is. Without the
// library its lines are missing.
mm_status mm_bench_physics(mm_bench_results *results, mm_bench_progress *progress, void *user);

// A generation of the paper's Grid-World search on all cores: seconds, with those in the backend as
// the limit; the share that is not training; the whole schedule; milliseconds of evolution and
// database by themselves; growth of the database per generation.
mm_status mm_bench_learn(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Gradient steps of AMPO on one core for the shapes of the paper's environments, with made-up data:
// floating-point operations a second, counted as in the algorithm, beside the rate of fused
// multiply-adds alone; nanoseconds per row of each stage, of a rollout's scores and of its values.
mm_status mm_bench_ampo(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Whole trainings with AMPO on one core, by environment and map: environment steps a second with
// all learning included, operations a second beside the rate of fused multiply-adds alone, shares
// of the stages; and how many times as much all cores do with a job each.
mm_status mm_bench_training(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Gaussian policies on one core: gradient steps of the paper's size with made-up data, whole and by
// stage, beside the rate of fused multiply-adds alone; nanoseconds per sample of the maps; whole
// iterations by environment and map.
mm_status mm_bench_gaussian(mm_bench_results *results, mm_bench_progress *progress, void *user);

// AMPO, Grid-World, searches and physics on a CUDA device, the first of the machine; without one
// they are MM_ERR_UNSUPPORTED.
//
// Whole trainings with AMPO through the backend, by environment and population, a piecewise map for
// each member: environment steps a second, with the device's own rate of fused multiply-adds as the
// limit and the paper's stack (JAX) on an H200 as the reference; operations a second of all layers
// dense beside the rates of multiply-adds and of tensor cores, and of the sparse count; seconds of
// warming up; memory and shares of the stages.
mm_status mm_bench_cuda_ampo(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Seconds of a list of the paper's Grid-World generation, 512 candidates.
mm_status mm_bench_cuda_gridworld(mm_bench_results *results, mm_bench_progress *progress,
                                  void *user);

// Environment steps per second of each body there by the number of environments, random actions,
// resets and observations included, after those of mm_bench_physics unless `results` has them; the
// MuJoCo library on one core is their reference too.
mm_status mm_bench_cuda_physics(mm_bench_results *results, mm_bench_progress *progress, void *user);

// mm_bench_learn's generation, with the trainings there.
mm_status mm_bench_cuda_learn(mm_bench_results *results, mm_bench_progress *progress, void *user);

// Ranks, as many as the program was started with: microseconds of messages, what dealing out costs
// rank 0 for a job without work and beside trainings of classic control and Grid-World, bytes of a
// job out and back. With two ranks or more also a model of many: at how many threads efficiency
// falls below 90 %, in several cases, and a picture of that at `figure` (NULL: none).
mm_status mm_bench_mpi(mm_bench_results *results, mm_bench_progress *progress, void *user,
                       const char *figure);

void mm_bench_free(mm_bench_results *results);

// ---------------------------------------------------------------------------------------------
// For the benchmarks themselves

mm_status mm_bench_add(mm_bench_results *results, const char *name, double value, const char *unit,
                       double limit);

// Seconds of one call of work(context): the median over several timings, each of as many calls as
// fill a millisecond, after a warm-up. Fails when the work does.
typedef mm_status mm_bench_work(void *context);
mm_status mm_bench_seconds(mm_bench_work *work, void *context, double *seconds);

// How many rounds to take medians of, where it would be `most`.
int mm_bench_rounds(const mm_bench_results *results, int most);

// Seconds that the calling thread used since some moment.
double mm_bench_thread_time(void);

// Operations a second of fused multiply-adds alone, two for each; a short probe by the thread's
// time.
double mm_bench_fma_rate(void);

// Operations of an environment step with AMPO and everything that is learned from it: multiply-adds
// as two, for lists of inputs that are on the sums of weight rows alone, twelve of Adam for each
// parameter. Environments, projections and everything else count nothing.
double mm_bench_step_work(const mm_ampo_config *config, const mm_ampo_shape *shape);

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
