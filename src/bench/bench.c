// Timing: how long a piece of work takes, and the list of what was found.

#define _GNU_SOURCE // sched_setaffinity

#include <math.h>
#include <sched.h>
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

mm_status mm_bench_add(mm_bench_results *results, const char *name, double value, const char *unit,
                       double limit) {
  if (results->n == results->capacity) {
    size_t capacity = results->capacity ? 2 * results->capacity : 64;
    mm_bench_result *larger = mm_alloc_array(capacity, sizeof *larger);
    if (!larger) return MM_FAIL(MM_ERR_MEMORY, "benchmark results: out of memory");
    if (results->n) memcpy(larger, results->entry, results->n * sizeof *larger);
    mm_free(results->entry);
    results->entry = larger;
    results->capacity = capacity;
  }
  mm_bench_result *entry = &results->entry[results->n++];
  memset(entry, 0, sizeof *entry);
  snprintf(entry->name, sizeof entry->name, "%s", name);
  snprintf(entry->unit, sizeof entry->unit, "%s", unit);
  entry->value = value;
  entry->limit = limit;
  entry->reference = NAN;
  return MM_OK;
}

void mm_bench_free(mm_bench_results *results) {
  mm_free(results->entry);
  memset(results, 0, sizeof *results);
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

int mm_bench_rounds(const mm_bench_results *results, int most) {
  return results->quick && most > 3 ? 3 : most;
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
