// SPDX-License-Identifier: Apache-2.0
// Speed of mirror maps. Inputs are random but the same in every run: probabilities spread over
// (0, 1), the x that belong to them, and normal scores of the size that a trained policy has.
//
// Nanoseconds per phi, per phi^-1 and per projection of each kind of map: `scalar`, one number or
// one row of scores a call in double precision, and `batched`, many a call in single precision. The
// limit is one expf of the C library for each number, in a loop of the same shape on the same core.

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/status.h"
#include "bench/bench.h"
#include "mirrormap/map.h"

enum {
  N_NUMBER = 4096, // numbers of a call of phi and phi^-1
  N_ROW = 4096,    // rows of a call of the projection
  MOST_ACTIONS = 18,
  N_SCALAR = 16 // calls of one number, or of one row, between two looks at the clock
};

_Static_assert(N_NUMBER == N_ROW && N_NUMBER % N_SCALAR == 0, "single calls go through both alike");

// name in the results, text for mm_map_open
static const char *const kinds[][2] = {
  { "negentropy", "negentropy" },   { "l2", "l2" },
  { "tsallis-0.5", "tsallis:0.5" }, { "tsallis-1.5", "tsallis:1.5" },
  { "tsallis-1.3", "tsallis:1.3" }, { "piecewise", "piecewise:100" },
  { "rough", "random:1" },          { "neural", "neural" },
};
enum { N_KIND = sizeof kinds / sizeof *kinds };

typedef struct inputs {
  const mm_map *map;
  size_t n_action;
  size_t next;      // of the numbers or rows, for single calls: they go through all, as batches do
  double *p, *x;    // [N_NUMBER]
  double *scores;   // [N_ROW][MOST_ACTIONS]
  double *out;      // [N_ROW][MOST_ACTIONS]
  float *p_f, *x_f; // [N_NUMBER]
  float *scores_f, *out_f;      // [N_ROW][MOST_ACTIONS]
  float *exponents;             // [N_NUMBER] of expf
  float (*volatile exp)(float); // unknown to the compiler, so that each call is made
} inputs;

// ---------------------------------------------------------------------------------------------
// What is timed: one call each

// The first of the next N_SCALAR numbers or rows. The same few again and again would be learnt by
// the branch predictor.
static size_t advance(inputs *in) {
  size_t first = in->next;
  in->next = (first + N_SCALAR) % N_NUMBER;
  return first;
}

static mm_status expf_scalar(void *context) {
  inputs *in = context;
  size_t first = advance(in);
  for (size_t i = first; i < first + N_SCALAR; i++)
    in->out_f[i] = in->exp(in->exponents[i]);
  return MM_OK;
}

static mm_status expf_batched(void *context) {
  inputs *in = context;
  const float *x = in->exponents;
  float *out = in->out_f;
  for (size_t i = 0; i < N_NUMBER; i++)
    out[i] = expf(x[i]);
  return MM_OK;
}

static mm_status phi_scalar(void *context) {
  inputs *in = context;
  size_t first = advance(in);
  for (size_t i = first; i < first + N_SCALAR; i++)
    MM_TRY(mm_map_phi(in->map, &in->x[i], 1, &in->out[i]));
  return MM_OK;
}

static mm_status phi_batched(void *context) {
  inputs *in = context;
  return mm_map_phi_f(in->map, in->x_f, N_NUMBER, in->out_f);
}

static mm_status inverse_scalar(void *context) {
  inputs *in = context;
  size_t first = advance(in);
  for (size_t i = first; i < first + N_SCALAR; i++)
    MM_TRY(mm_map_phi_inverse(in->map, &in->p[i], 1, &in->out[i]));
  return MM_OK;
}

static mm_status inverse_batched(void *context) {
  inputs *in = context;
  return mm_map_phi_inverse_f(in->map, in->p_f, N_NUMBER, in->out_f);
}

static mm_status project_scalar(void *context) {
  inputs *in = context;
  size_t first = advance(in);
  for (size_t i = first; i < first + N_SCALAR; i++)
    MM_TRY(mm_map_project(in->map, MM_PROJECTION_EXACT, &in->scores[i * in->n_action], in->n_action,
                          &in->out[i * in->n_action], NULL));
  return MM_OK;
}

static mm_status project_batched(void *context) {
  inputs *in = context;
  return mm_map_project_batch_f(in->map, MM_PROJECTION_EXACT, in->scores_f, N_ROW, in->n_action,
                                in->out_f, NULL);
}

// ---------------------------------------------------------------------------------------------

// Times `work`, which does `items` of what the name says.
static mm_status measure(mm_bench *b, inputs *in, mm_bench_work *work, size_t items, double limit,
                         const char *name) {
  double seconds;
  mm_bench_begin(b, "%s", name);
  MM_TRY(mm_bench_seconds(work, in, &seconds));
  mm_bench_add(b, 1e9 * seconds / (double)items, "ns", limit, "%s", name);
  return MM_OK;
}

// `what` of a map, one by one and batched; each needs `numbers` exponentials.
typedef struct subject {
  const char *what;
  mm_bench_work *scalar, *batched;
  size_t numbers; // actions of a projection, else 1
} subject;

static const subject subjects[] = {
  { "phi", phi_scalar, phi_batched, 1 },
  { "phi-inverse", inverse_scalar, inverse_batched, 1 },
  { "project-3", project_scalar, project_batched, 3 },
  { "project-5", project_scalar, project_batched, 5 },
  { "project-18", project_scalar, project_batched, MOST_ACTIONS },
};

// The limit is taken anew for each map: a busy machine's speed drifts within seconds.
static mm_status measure_kind(mm_bench *b, inputs *in, const char *kind) {
  double scalar, batched;
  char name[64];
  MM_TRY(mm_map_phi_inverse(in->map, in->p, N_NUMBER, in->x));
  for (size_t i = 0; i < N_NUMBER; i++)
    in->x_f[i] = (float)in->x[i];
  MM_TRY(mm_bench_seconds(expf_scalar, in, &scalar));
  MM_TRY(mm_bench_seconds(expf_batched, in, &batched));
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    const subject *s = &subjects[i];
    const double n = (double)(in->n_action = s->numbers);
    snprintf(name, sizeof name, "map/%s/%s/scalar", s->what, kind);
    MM_TRY(measure(b, in, s->scalar, N_SCALAR, n * 1e9 * scalar / N_SCALAR, name));
    snprintf(name, sizeof name, "map/%s/%s/batched", s->what, kind);
    MM_TRY(measure(b, in, s->batched, N_NUMBER, n * 1e9 * batched / N_NUMBER, name));
  }
  return MM_OK;
}

static mm_status measure_all(mm_bench *b, inputs *in) {
  MM_TRY(measure(b, in, expf_scalar, N_SCALAR, NAN, "map/expf/scalar"));
  MM_TRY(measure(b, in, expf_batched, N_NUMBER, NAN, "map/expf/batched"));
  for (int k = 0; k < N_KIND; k++) {
    mm_map *map;
    MM_TRY(mm_map_open(kinds[k][1], &map));
    in->map = map;
    mm_status status = measure_kind(b, in, kinds[k][0]);
    mm_map_destroy(map);
    MM_TRY(status);
  }
  return MM_OK;
}

static void fill(inputs *in) {
  mm_stream numbers = mm_stream_make(0, 0, MM_RNG_BENCH, 0);
  mm_stream rows = mm_stream_make(0, 0, MM_RNG_BENCH, 1);
  for (size_t i = 0; i < N_NUMBER; i++) {
    in->p[i] = mm_uniform_open_d(mm_stream_pair(numbers, i));
    in->p_f[i] = (float)in->p[i];
    in->exponents[i] = (float)(-8 * in->p[i]);
  }
  for (size_t i = 0; i < N_ROW * MOST_ACTIONS; i++) {
    in->scores[i] = 1.5 * mm_normal_d(mm_stream_pair(rows, i));
    in->scores_f[i] = (float)in->scores[i];
  }
}

mm_status mm_bench_map(mm_bench *b) {
  const size_t table = (size_t)N_ROW * MOST_ACTIONS;
  double *wide = mm_alloc_array(2 * N_NUMBER + 2 * table, sizeof *wide);
  float *narrow = mm_alloc_array(3 * N_NUMBER + 2 * table, sizeof *narrow);
  mm_status status = MM_OK;
  if (wide && narrow) {
    inputs in = { .p = wide, .x = wide + N_NUMBER, .scores = wide + 2 * N_NUMBER, .exp = expf };
    in.out = in.scores + table;
    in.p_f = narrow;
    in.x_f = narrow + N_NUMBER;
    in.exponents = narrow + 2 * N_NUMBER;
    in.scores_f = narrow + 3 * N_NUMBER;
    in.out_f = in.scores_f + table;
    fill(&in);
    status = measure_all(b, &in);
  } else {
    status = MM_FAIL(MM_ERR_MEMORY, "benchmark inputs: out of memory");
  }
  mm_free(wide);
  mm_free(narrow);
  return status;
}
