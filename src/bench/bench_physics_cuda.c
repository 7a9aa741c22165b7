// Environment steps per second of the physics on a CUDA device, beside those of the processor and
// of the MuJoCo library in the same run.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/host/cuda.h"
#include "backend/cuda/measure/cuda_wander.h"
#include "base/status.h"
#include "bench/bench.h"

enum { DEVICE = 0, WARM_UP = 100, ROUNDS = 5, STEPS_MOST = 1 << 16 };

static const size_t sizes[] = { 2048, 16384, 131072, 1048576 };

static const double least_seconds = 0.03; // of a launch that counts

static const mm_bench_result *find(const mm_bench_results *results, const char *name) {
  for (size_t i = 0; i < results->n; i++)
    if (strcmp(results->entry[i].name, name) == 0) return &results->entry[i];
  return NULL;
}

// The median of launches that are long enough.
static mm_status rate_of(mm_cuda_wander *w, size_t n, double *rate) {
  double seconds, each[ROUNDS];
  int steps = 8;
  MM_TRY(mm_cuda_wander_run(w, WARM_UP, &seconds));
  for (;; steps *= 2) {
    MM_TRY(mm_cuda_wander_run(w, steps, &seconds));
    if (seconds >= least_seconds || steps >= STEPS_MOST) break;
  }
  for (int i = 0; i < ROUNDS; i++) {
    MM_TRY(mm_cuda_wander_run(w, steps, &seconds));
    each[i] = (double)n * steps / seconds;
  }
  *rate = mm_bench_median(each, ROUNDS);
  return MM_OK;
}

static mm_status measure(mm_body body, size_t n, double reference, mm_bench_results *results) {
  mm_cuda_wander *w;
  double rate;
  char name[64];
  MM_TRY(mm_cuda_wander_open(DEVICE, body, n, &w));
  mm_status status = rate_of(w, n, &rate);
  mm_cuda_wander_close(w);
  MM_TRY(status);
  snprintf(name, sizeof name, "physics/%s/cuda/%zu", mm_body_describe(body)->name, n);
  MM_TRY(mm_bench_add(results, name, rate, "steps/s", NAN));
  results->entry[results->n - 1].reference = reference;
  return MM_OK;
}

mm_status mm_bench_cuda_physics(mm_bench_results *results, mm_bench_progress *progress,
                                void *user) {
  int count;
  MM_TRY(mm_cuda_find(&count));
  if (!find(results, "physics/Hopper/portable")) MM_TRY(mm_bench_physics(results, progress, user));
  for (mm_body body = 0; body < MM_BODY_COUNT; body++) {
    char name[64];
    snprintf(name, sizeof name, "physics/%s/mujoco", mm_body_describe(body)->name);
    const mm_bench_result *library = find(results, name);
    const double reference = library ? library->value : NAN;
    snprintf(name, sizeof name, "cuda/%s", mm_body_describe(body)->name);
    if (progress) progress(name, user);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      MM_TRY(measure(body, sizes[i], reference, results));
  }
  return MM_OK;
}
