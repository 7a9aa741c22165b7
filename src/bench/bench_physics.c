// Environment steps per second of the physics on one core: our own engine in each of its builds
// beside the MuJoCo library, with random actions and resets included.
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

static const char *const build_names[BUILDS] = { "portable", "avx2", "avx512" };

// One engine that takes its turns.
typedef struct runner {
  mm_physics *physics; // NULL: not here
  char name[24];
  int32_t *time; // [ENVS]
  int t;
  double each[ROUNDS]; // steps a second
} runner;

typedef struct work {
  mm_body body;
  mm_flavour flavour;
  float *action; // [SETS][ENVS][nu]
  runner own[BUILDS], library;
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
// nobody shall say that it was slowed down.
static mm_status open_runner(work *w, mm_engine engine, const char *name, runner *r) {
  const bool four = engine == MM_ENGINE_MUJOCO && w->flavour == MM_FLAVOUR_BRAX;
  mm_physics_config config = {
    .body = w->body, .flavour = w->flavour, .engine = engine, .n = ENVS, .iterations = four ? 4 : 0
  };
  MM_TRY(mm_physics_create(&config, &r->physics));
  snprintf(r->name, sizeof r->name, "%s", name);
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

static void close_runner(runner *r) {
  mm_physics_destroy(r->physics);
  mm_free(r->time);
}

static void work_close(work *w) {
  for (int i = 0; i < BUILDS; i++)
    close_runner(&w->own[i]);
  close_runner(&w->library);
  mm_free(w->action);
}

// An engine keeps the build that was chosen when it was made.
static mm_status open_builds(work *w) {
  for (int i = 0; i < BUILDS; i++) {
    mm_status status = mm_isa_select(build_names[i]);
    if (status == MM_ERR_UNSUPPORTED) continue;
    MM_TRY(status);
    MM_TRY(open_runner(w, MM_ENGINE_OWN, build_names[i], &w->own[i]));
  }
  return MM_OK;
}

static runner *fastest(work *w) {
  int i = BUILDS - 1;
  while (i > 0 && !w->own[i].physics)
    i--;
  return &w->own[i];
}

static mm_status work_open(work *w) {
  char chosen[16];
  const size_t nu = (size_t)mm_body_describe(w->body)->nu;
  mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 2);
  w->action = mm_alloc_array(SETS * ENVS * nu, sizeof *w->action);
  if (!w->action) return MM_FAIL(MM_ERR_MEMORY, "benchmark of physics: out of memory");
  for (size_t i = 0; i < SETS * ENVS * nu; i++)
    w->action[i] = 2 * mm_uniform_f(mm_stream_block(stream, i).word[0]) - 1;
  snprintf(chosen, sizeof chosen, "%s", mm_isa_name());
  mm_status status = open_builds(w);
  if (mm_isa_select(chosen) != MM_OK || status != MM_OK) return status;
  status = open_runner(w, MM_ENGINE_MUJOCO, "mujoco", &w->library);
  if (status == MM_ERR_UNSUPPORTED) status = MM_OK; // said by its absence
  MM_TRY(status);
  for (int i = 0; i < WARM_UP; i++)
    step(w, fastest(w));
  for (int i = 0; i < BUILDS; i++)
    if (w->own[i].physics && &w->own[i] != fastest(w)) copy_runner(fastest(w), &w->own[i]);
  if (w->library.physics) copy_runner(fastest(w), &w->library);
  return MM_OK;
}

static mm_status add_runner(runner *r, const char *body, double reference,
                            mm_bench_results *results) {
  char name[64];
  snprintf(name, sizeof name, "physics/%s/%s", body, r->name);
  MM_TRY(mm_bench_add(results, name, mm_bench_median(r->each, ROUNDS), "steps/s", NAN));
  results->entry[results->n - 1].reference = reference;
  return MM_OK;
}

// As the environments are called: Hopper, Hopper-v4.
static void name_of(mm_body body, mm_flavour flavour, char out[24]) {
  snprintf(out, 24, "%s%s", mm_body_describe(body)->name,
           flavour == MM_FLAVOUR_GYMNASIUM ? "-v4" : "");
}

// Rates with the library's as their reference, then how many times it the best one is.
static mm_status report(work *w, mm_bench_results *results) {
  char body[24];
  name_of(w->body, w->flavour, body);
  runner *library = &w->library, *best = fastest(w);
  double reference = library->physics ? mm_bench_median(library->each, ROUNDS) : NAN;
  char name[64];
  for (int i = 0; i < BUILDS; i++)
    if (w->own[i].physics) MM_TRY(add_runner(&w->own[i], body, reference, results));
  if (!library->physics) return MM_OK;
  MM_TRY(add_runner(library, body, NAN, results));
  snprintf(name, sizeof name, "physics/%s/times-mujoco", body);
  return mm_bench_add(results, name, mm_bench_median(best->each, ROUNDS) / reference, "x", NAN);
}

static mm_status measure(mm_body body, mm_flavour flavour, mm_bench_results *results) {
  work w = { .body = body, .flavour = flavour };
  mm_status status = work_open(&w);
  for (int round = 0; round < ROUNDS && status == MM_OK; round++) {
    for (int i = 0; i < BUILDS; i++)
      if (w.own[i].physics) w.own[i].each[round] = time_steps(&w, &w.own[i], i == 0 ? 1 : 8);
    if (w.library.physics) w.library.each[round] = time_steps(&w, &w.library, 1);
  }
  if (status == MM_OK) status = report(&w, results);
  work_close(&w);
  return status;
}

mm_status mm_bench_physics(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_bench_core core = mm_bench_core_hold();
  mm_status status = MM_OK;
  for (int i = 0; i < MM_FLAVOUR_COUNT * MM_BODY_COUNT && status == MM_OK; i++) {
    const mm_flavour flavour = (mm_flavour)(i / MM_BODY_COUNT);
    const mm_body body = (mm_body)(i % MM_BODY_COUNT);
    char name[24];
    name_of(body, flavour, name);
    if (progress) progress(name, user);
    status = measure(body, flavour, results);
  }
  mm_bench_core_release(&core);
  return status;
}
