// SPDX-License-Identifier: Apache-2.0
// Environment steps per second of the physics on a CUDA device, beside those of the processor and
// of the MuJoCo library in the same run.

#include <math.h>
#include <stdio.h>

#include "backend/cuda/host/cuda.h"
#include "backend/cuda/measure/physics.h"
#include "bench/bench.h"

enum { DEVICE = 0, WARM_UP = 100, ROUNDS = 5, STEPS_MOST = 1 << 16 };

static const size_t sizes[] = { 2048, 16384, 131072, 1048576 };

static const double least_seconds = 0.03; // of a launch that counts

// The median of launches that are long enough.
static mm_status rate_of(mm_cuda_physics *w, size_t n, double *rate) {
  double seconds, each[ROUNDS];
  int steps = 8;
  MM_TRY(mm_cuda_physics_run(w, WARM_UP, &seconds));
  for (;; steps *= 2) {
    MM_TRY(mm_cuda_physics_run(w, steps, &seconds));
    if (seconds >= least_seconds || steps >= STEPS_MOST) break;
  }
  for (int i = 0; i < ROUNDS; i++) {
    MM_TRY(mm_cuda_physics_run(w, steps, &seconds));
    each[i] = (double)n * steps / seconds;
  }
  *rate = mm_bench_median(each, ROUNDS);
  return MM_OK;
}

static mm_status measure(mm_bench *b, mm_body body, size_t n, double reference) {
  mm_cuda_physics *w;
  double rate;
  MM_TRY(mm_cuda_physics_open(DEVICE, body, n, &w));
  mm_status status = rate_of(w, n, &rate);
  mm_cuda_physics_close(w);
  MM_TRY(status);
  mm_bench_add(b, rate, "steps/s", NAN, "physics/%s/cuda/%zu", mm_body_describe(body)->name, n);
  mm_bench_refer(b, reference);
  return MM_OK;
}

mm_status mm_bench_cuda_physics(mm_bench *b) {
  const mm_bench_case on_cpu = { "physics", MM_BENCH_CORE, mm_bench_physics };
  int count;
  MM_TRY(mm_cuda_find(&count));
  if (!mm_bench_find(b, "physics/Hopper/portable")) MM_TRY(mm_bench_run(&on_cpu, b));
  for (mm_body body = 0; body < MM_BODY_COUNT; body++) {
    char name[64];
    snprintf(name, sizeof name, "physics/%s/mujoco", mm_body_describe(body)->name);
    const mm_bench_result *library = mm_bench_find(b, name);
    const double reference = library ? library->value : NAN;
    mm_bench_begin(b, "cuda/%s", mm_body_describe(body)->name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      MM_TRY(measure(b, body, sizes[i], reference));
  }
  return MM_OK;
}
