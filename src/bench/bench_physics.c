// SPDX-License-Identifier: Apache-2.0
// Environment steps per second of the physics on one core: our own engine in each of its builds
// beside the MuJoCo library, which is their reference, with random actions and resets included;
// then how many times the library's rate the best is. Without the library its lines are missing.
//
// All start from the same states, in which episodes are in all their stages, and take turns, so
// that whatever else the machine does falls on each of them. The thread's own time is counted.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/rng.h"
#include "base/status.h"
#include "bench/bench.h"
#include "env/locomotion/body_laws.h"

enum { ENVS = 2048, WARM_UP = 300, ROUNDS = 9, SETS = 16, BUILDS = MM_ISA_COUNT, LIMIT = 1000 };

// The builds of our own engine, then the library.
enum { LIBRARY = BUILDS, RUNNERS };
static const char *const names[RUNNERS] = { "portable", "avx2", "avx512", "mujoco" };

// One engine that takes its turns.
typedef struct runner {
  mm_physics *physics; // NULL: not here
  int32_t *time;       // [ENVS]
  int t;
  double each[ROUNDS]; // steps a second
} runner;

typedef struct work {
  mm_body body;
  mm_flavour flavour;
  float *action; // [SETS][ENVS][nu]
  runner runner[RUNNERS];
} work;

// ---------------------------------------------------------------------------------------------
// What is timed

static void restart(mm_physics *p, size_t i) {
  const double *start = p->info->start[p->config.flavour];
  for (size_t k = 0; k < (size_t)p->info->nq; k++)
    p->q[k * p->stride + i] = (float)start[k];
  for (size_t k = 0; k < (size_t)p->info->nv; k++)
    p->v[k * p->stride + i] = p->warm[k * p->stride + i] = 0;
}

static void step(work *w, runner *r) {
  mm_physics *p = r->physics;
  mm_physics_step(p, 0, ENVS, w->action + (size_t)(r->t++ % SETS) * ENVS * (size_t)p->info->nu);
  for (size_t i = 0; i < ENVS; i++) {
    if (++r->time[i] < LIMIT && !p->bad[i] && mm_body_healthy(p, p->config.body, i)) continue;
    restart(p, i);
    r->time[i] = 0;
  }
}

static double time_steps(work *w, runner *r, int n) {
  double start = mm_bench_thread_time();
  for (int i = 0; i < n; i++)
    step(w, r);
  return (double)n * ENVS / (mm_bench_thread_time() - start);
}

// ---------------------------------------------------------------------------------------------

// The library gets as few iterations as brax' bodies allow it, though it does not always end there:
// nobody shall say that it was slowed down. Ours keeps the build that is chosen when it is made.
static mm_status open_runner(work *w, int which) {
  runner *r = &w->runner[which];
  const bool library = which == LIBRARY, four = library && w->flavour == MM_FLAVOUR_BRAX;
  mm_physics_config config = { .body = w->body,
                               .flavour = w->flavour,
                               .engine = library ? MM_ENGINE_MUJOCO : MM_ENGINE_OWN,
                               .n = ENVS,
                               .iterations = four ? 4 : 0 };
  mm_status status = library ? MM_OK : mm_isa_select(names[which]);
  if (status == MM_ERR_UNSUPPORTED) return MM_OK; // said by its absence
  if (status == MM_OK) status = mm_physics_create(&config, &r->physics);
  if (library && status == MM_ERR_UNSUPPORTED) return MM_OK;
  MM_TRY(status);
  r->time = mm_alloc_array(ENVS, sizeof *r->time);
  if (!r->time) return MM_FAIL(MM_ERR_MEMORY, "benchmark of physics: out of memory");
  for (int32_t i = 0; i < ENVS; i++)
    r->time[i] = i * LIMIT / ENVS;
  return MM_OK;
}

static void copy_runner(const runner *from, runner *to) {
  const mm_physics *a = from->physics;
  mm_physics *b = to->physics;
  memcpy(b->q, a->q, (size_t)a->info->nq * a->stride * sizeof *a->q);
  memcpy(b->v, a->v, (size_t)a->info->nv * a->stride * sizeof *a->v);
  memcpy(b->warm, a->warm, (size_t)a->info->nv * a->stride * sizeof *a->warm);
  memcpy(to->time, from->time, ENVS * sizeof *to->time);
  to->t = from->t;
}

static void work_close(work *w) {
  for (int i = 0; i < RUNNERS; i++) {
    mm_physics_destroy(w->runner[i].physics);
    mm_free(w->runner[i].time);
  }
  mm_free(w->action);
}

static mm_status open_runners(work *w) {
  char chosen[16];
  snprintf(chosen, sizeof chosen, "%s", mm_isa_name());
  mm_status status = MM_OK;
  for (int i = 0; i < RUNNERS && status == MM_OK; i++)
    status = open_runner(w, i);
  if (status != MM_OK) {
    (void)mm_isa_select(chosen);
    return status;
  }
  return mm_isa_select(chosen);
}

static runner *fastest(work *w) {
  int i = BUILDS - 1;
  while (i > 0 && !w->runner[i].physics)
    i--;
  return &w->runner[i];
}

static mm_status work_open(work *w) {
  const size_t nu = (size_t)mm_body_describe(w->body)->nu;
  mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 2);
  w->action = mm_alloc_array(SETS * ENVS * nu, sizeof *w->action);
  if (!w->action) return MM_FAIL(MM_ERR_MEMORY, "benchmark of physics: out of memory");
  for (size_t i = 0; i < SETS * ENVS * nu; i++)
    w->action[i] = 2 * mm_uniform_f(mm_stream_block(stream, i).word[0]) - 1;
  MM_TRY(open_runners(w));
  runner *first = fastest(w);
  for (int i = 0; i < WARM_UP; i++)
    step(w, first);
  for (int i = 0; i < RUNNERS; i++)
    if (w->runner[i].physics && &w->runner[i] != first) copy_runner(first, &w->runner[i]);
  return MM_OK;
}

// As the environments are called: Hopper, Hopper-v4.
static void name_of(mm_body body, mm_flavour flavour, char out[24]) {
  snprintf(out, 24, "%s%s", mm_body_describe(body)->name,
           flavour == MM_FLAVOUR_GYMNASIUM ? "-v4" : "");
}

// Rates with the library's as their reference, then how many times it the best one is.
static void report(mm_bench *b, work *w) {
  char body[24];
  double rate[RUNNERS];
  name_of(w->body, w->flavour, body);
  for (int i = 0; i < RUNNERS; i++)
    rate[i] = w->runner[i].physics ? mm_bench_median(w->runner[i].each, ROUNDS) : NAN;
  for (int i = 0; i < RUNNERS; i++) {
    if (isnan(rate[i])) continue;
    mm_bench_add(b, rate[i], "steps/s", NAN, "physics/%s/%s", body, names[i]);
    mm_bench_refer(b, i == LIBRARY ? NAN : rate[LIBRARY]);
  }
  if (!isnan(rate[LIBRARY]))
    mm_bench_add(b, rate[fastest(w) - w->runner] / rate[LIBRARY], "x", NAN,
                 "physics/%s/times-mujoco", body);
}

static mm_status measure(mm_bench *b, mm_body body, mm_flavour flavour) {
  work w = { .body = body, .flavour = flavour };
  mm_status status = work_open(&w);
  for (int i = 0; i < ROUNDS * RUNNERS && status == MM_OK; i++) {
    runner *r = &w.runner[i % RUNNERS];
    const bool slow = i % RUNNERS == 0 || i % RUNNERS == LIBRARY;
    if (r->physics) r->each[i / RUNNERS] = time_steps(&w, r, slow ? 1 : 8);
  }
  if (status == MM_OK) report(b, &w);
  work_close(&w);
  return status;
}

mm_status mm_bench_physics(mm_bench *b) {
  for (int i = 0; i < MM_FLAVOUR_COUNT * MM_BODY_COUNT; i++) {
    const mm_flavour flavour = (mm_flavour)(i / MM_BODY_COUNT);
    const mm_body body = (mm_body)(i % MM_BODY_COUNT);
    char name[24];
    name_of(body, flavour, name);
    mm_bench_begin(b, "%s", name);
    MM_TRY(measure(b, body, flavour));
  }
  return MM_OK;
}
