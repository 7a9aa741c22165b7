// SPDX-License-Identifier: Apache-2.0
// The list of cases, the list of what was found, and timing: how long a piece of work takes.

#define _GNU_SOURCE // sched_setaffinity

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/status.h"
#include "bench/bench.h"
#include "net/kernels.h"

enum { N_TIMING = 9, PROBE_ROUNDS = 20000 };

static const double least_time = 1e-3; // of one timing; the clock resolves some 1e-8

const mm_bench_case mm_bench_cases[] = {
  { "map", MM_BENCH_CORE, mm_bench_map },
  { "gridworld", MM_BENCH_CORE, mm_bench_gridworld },
  { "env", MM_BENCH_CORE, mm_bench_env },
  { "physics", MM_BENCH_CORE, mm_bench_physics },
  { "learn", MM_BENCH_CPU, mm_bench_learn },
  { "ampo", MM_BENCH_CORE, mm_bench_ampo },
  { "ampo", MM_BENCH_CORE, mm_bench_ampo_training },
  { "ampo", MM_BENCH_CPU, mm_bench_scaling },
  { "gaussian", MM_BENCH_CORE, mm_bench_gaussian },
  { "gaussian", MM_BENCH_CORE, mm_bench_gaussian_training },
  { "mpi", MM_BENCH_RANKS, mm_bench_mpi },
  { "gridworld", MM_BENCH_CUDA, mm_bench_cuda_gridworld },
  { "physics", MM_BENCH_CUDA, mm_bench_cuda_physics },
  { "learn", MM_BENCH_CUDA, mm_bench_cuda_learn },
  { "ampo", MM_BENCH_CUDA, mm_bench_cuda_ampo },
  { "gaussian", MM_BENCH_CUDA, mm_bench_cuda_gaussian },
  { 0 },
};

mm_status mm_bench_run(const mm_bench_case *c, mm_bench *b) {
  const bool one_core = c->place == MM_BENCH_CORE;
  mm_bench_core core = { .held = 0 };
  if (one_core) core = mm_bench_core_hold();
  mm_status status = c->run(b);
  if (one_core) mm_bench_core_release(&core);
  if (status == MM_OK && b->out_of_memory)
    status = MM_FAIL(MM_ERR_MEMORY, "benchmark results: out of memory");
  return status;
}

// ---------------------------------------------------------------------------------------------
// The list

static bool make_room(mm_bench *b) {
  if (b->n < b->capacity) return true;
  size_t capacity = b->capacity ? 2 * b->capacity : 64;
  mm_bench_result *larger = mm_alloc_array(capacity, sizeof *larger);
  if (!larger) return false;
  if (b->n) memcpy(larger, b->entry, b->n * sizeof *larger);
  mm_free(b->entry);
  b->entry = larger;
  b->capacity = capacity;
  return true;
}

void mm_bench_add(mm_bench *b, double value, const char *unit, double limit,
                  const char *name_format, ...) {
  if (!make_room(b)) {
    b->out_of_memory = true;
    return;
  }
  mm_bench_result *entry = &b->entry[b->n++];
  *entry = (mm_bench_result){ .value = value, .limit = limit, .reference = NAN };
  snprintf(entry->unit, sizeof entry->unit, "%s", unit);
  va_list arguments;
  va_start(arguments, name_format);
  vsnprintf(entry->name, sizeof entry->name, name_format, arguments);
  va_end(arguments);
}

void mm_bench_refer(mm_bench *b, double reference) {
  if (b->n > 0) b->entry[b->n - 1].reference = reference;
}

const mm_bench_result *mm_bench_find(const mm_bench *b, const char *name) {
  for (size_t i = 0; i < b->n; i++)
    if (strcmp(b->entry[i].name, name) == 0) return &b->entry[i];
  return NULL;
}

void mm_bench_begin(const mm_bench *b, const char *name_format, ...) {
  char name[64];
  va_list arguments;
  va_start(arguments, name_format);
  vsnprintf(name, sizeof name, name_format, arguments);
  va_end(arguments);
  if (b->progress) b->progress(name, b->user);
}

void mm_bench_free(mm_bench *b) {
  mm_free(b->entry);
  *b = (mm_bench){ 0 };
}

// ---------------------------------------------------------------------------------------------
// Time

double mm_bench_thread_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double mm_bench_fma_rate(void) {
  float sink[16];
  double start = mm_bench_thread_time();
  double done = mm_net_kernels_current()->peak(PROBE_ROUNDS, sink);
  return done / (mm_bench_thread_time() - start);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int mm_bench_rounds(const mm_bench *b, int most) {
  return b->quick && most > 3 ? 3 : most;
}

double mm_bench_median(double *x, size_t n) {
  qsort(x, n, sizeof *x, by_value);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static mm_status time_calls(mm_bench_work *work, void *context, size_t calls, double *seconds) {
  double start = mm_clock_seconds();
  for (size_t i = 0; i < calls; i++)
    MM_TRY(work(context));
  *seconds = mm_clock_seconds() - start;
  return MM_OK;
}

mm_status mm_bench_seconds(mm_bench_work *work, void *context, double *seconds) {
  // finding the number of calls warms the caches and the core at the same time
  size_t calls = 1;
  double taken;
  MM_TRY(time_calls(work, context, calls, &taken));
  for (;;) {
    MM_TRY(time_calls(work, context, calls, &taken));
    if (taken >= least_time) break;
    calls *= 2;
  }
  double timing[N_TIMING];
  for (int i = 0; i < N_TIMING; i++)
    MM_TRY(time_calls(work, context, calls, &timing[i]));
  *seconds = mm_bench_median(timing, N_TIMING) / (double)calls;
  return MM_OK;
}

static mm_status time_thread(mm_bench_work *work, void *context, double *seconds) {
  double start = mm_bench_thread_time(), taken;
  size_t calls = 0;
  do {
    MM_TRY(work(context));
    calls++;
    taken = mm_bench_thread_time() - start;
  } while (taken < least_time);
  *seconds = taken / (double)calls;
  return MM_OK;
}

mm_status mm_bench_turns(int rounds, mm_bench_work *const *work, int n, void *context,
                         double *fma_rate, double *seconds) {
  double rates[MM_BENCH_TURNS_MOST + 1], times[MM_BENCH_WORKS_MOST][MM_BENCH_TURNS_MOST + 1];
  for (int i = 0; i <= rounds; i++) {
    rates[i] = mm_bench_fma_rate();
    for (int k = 0; k < n; k++)
      MM_TRY(time_thread(work[k], context, &times[k][i]));
  }
  *fma_rate = mm_bench_median(rates + 1, (size_t)rounds);
  for (int k = 0; k < n; k++)
    seconds[k] = mm_bench_median(times[k] + 1, (size_t)rounds);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// One core

// A core that was idle takes a while to reach its speed.
static void warm_up(void) {
  double end = mm_clock_seconds() + 0.3;
  volatile double work = 1;
  while (mm_clock_seconds() < end) {
    for (int i = 0; i < 1000; i++)
      work = work * 1.0000001 + 1e-9;
  }
}

#ifdef __linux__

_Static_assert(sizeof(cpu_set_t) <= sizeof((mm_bench_core){ 0 }.before), "room for a core set");

mm_bench_core mm_bench_core_hold(void) {
  mm_bench_core core = { .held = 0 };
  cpu_set_t before, one;
  warm_up();
  int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0)
    return core;
  CPU_ZERO(&one);
  CPU_SET((size_t)here, &one);
  memcpy(core.before, &before, sizeof before);
  core.held = sched_setaffinity(0, sizeof one, &one) == 0;
  return core;
}

void mm_bench_core_release(const mm_bench_core *core) {
  cpu_set_t before;
  memcpy(&before, core->before, sizeof before);
  if (core->held) sched_setaffinity(0, sizeof before, &before);
}

#else

mm_bench_core mm_bench_core_hold(void) {
  warm_up();
  return (mm_bench_core){ .held = 0 };
}

void mm_bench_core_release(const mm_bench_core *core) {
  (void)core;
}

#endif
