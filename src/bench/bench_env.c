// SPDX-License-Identifier: Apache-2.0
// Steps per second of the environments on one core, with random actions and resets included: one at
// a time and 1024 side by side, in the two fastest forms of observation.
//
// The floor is what remains when nothing is computed: the same actions are drawn, and the bytes of
// a step (state in and out, observation, reward and end) are moved in a working set of the same
// size. For one environment at a time the calls themselves are all there is to save, so no floor is
// given there.

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "bench/bench.h"
#include "env/vec_internal.h"

enum { BATCH = 1024, WARM_UP = 2000 }; // a multiple of eight

typedef struct subject {
  const char *id;
  double reference; // gymnax, steps per second on an A100 with 2000 environments; NaN: not known
} subject;

// MinAtar: the fastest of the published range 1.1 .. 5.3 M, for each game.
static const subject subjects[] = {
  { "CartPole-v1", 20e6 },
  { "Acrobot-v1", 14e6 },
  { "MountainCar-v0", NAN },
  { "MountainCarContinuous-v0", NAN },
  { "Pendulum-v1", NAN },
  { "Asterix-MinAtar", 5.3e6 },
  { "Breakout-MinAtar", 5.3e6 },
  { "Freeway-MinAtar", 5.3e6 },
  { "SpaceInvaders-MinAtar", 5.3e6 },
  { "Seaquest-MinAtar", NAN },
  { "GridWorld-dense", NAN },
};

typedef struct work {
  mm_vec *vec;
  mm_vec_info info;
  mm_vec_out out;
  void *action;
  char *copy; // of the states, for the floor
  size_t state_bytes;
  uint64_t t;
} work;

// ---------------------------------------------------------------------------------------------
// What is timed

// Half words of n blocks, eight to a block; a loop that the compiler vectorises.
static void draw_halves(mm_stream stream, uint64_t first, size_t n, uint16_t *restrict out) {
  for (size_t i = 0; i < n; i++) {
    mm_block b = mm_stream_block(stream, first + i);
    for (size_t k = 0; k < 4; k++) {
      out[k * n + i] = (uint16_t)b.word[k];
      out[(k + 4) * n + i] = (uint16_t)(b.word[k] >> 16);
    }
  }
}

static void draw_actions(work *w) {
  mm_stream stream = mm_stream_make(0, 0, MM_RNG_BENCH, 1);
  uint16_t half[BATCH];
  size_t n = w->info.n, n_block = (n + 7) / 8;
  draw_halves(stream, w->t++ * n_block, n_block, half);
  int32_t *discrete = w->action, n_action = w->info.n_action;
  float *real = w->action, low = w->info.low, width = w->info.high - w->info.low;
  for (size_t i = 0; i < n; i++) {
    if (n_action > 0)
      discrete[i] = half[i] * n_action >> 16;
    else
      real[i] = low + width * 0x1p-16f * (float)half[i];
  }
}

static mm_status step(void *context) {
  work *w = context;
  draw_actions(w);
  return mm_vec_step(w->vec, w->action, &w->out);
}

static mm_status move_bytes(void *context) {
  work *w = context;
  draw_actions(w);
  // as in a step, something depends on each action; both have four bytes
  memcpy(w->out.reward, w->action, w->info.n * sizeof *w->out.reward);
  memcpy(w->copy, w->vec->state, w->state_bytes);
  memset(w->out.obs, (int)(w->t & 1), w->info.obs_size);
  memset(w->out.end, (int)(w->t & 1), w->info.n);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

static void work_close(work *w) {
  mm_vec_destroy(w->vec);
  mm_free(w->out.obs);
  mm_free(w->out.reward);
  mm_free(w->out.end);
  mm_free(w->action);
  mm_free(w->copy);
}

static mm_status work_open(const mm_env *env, size_t n, mm_obs_form form, work *w) {
  *w = (work){ 0 };
  mm_vec_config config = { .size = sizeof(mm_vec_config), .n = n, .obs = form };
  MM_TRY(mm_vec_create(env, &config, &w->vec));
  mm_vec_describe(w->vec, &w->info);
  w->state_bytes = n * w->vec->law->state_size(w->vec);
  w->out.obs = mm_alloc(w->info.obs_size);
  w->out.reward = mm_alloc_array(n, sizeof *w->out.reward);
  w->out.end = mm_alloc(n);
  w->action = mm_alloc_array(n, sizeof(int32_t));
  w->copy = mm_alloc(w->state_bytes);
  if (!w->out.obs || !w->out.reward || !w->out.end || !w->action || !w->copy)
    return MM_FAIL(MM_ERR_MEMORY, "benchmark of environments: out of memory");
  MM_TRY(mm_vec_reset(w->vec, &w->out));
  for (int i = 0; i < WARM_UP; i++) // so that episodes are in all their stages
    MM_TRY(step(w));
  return MM_OK;
}

typedef struct form {
  const char *name;
  size_t n;
  mm_obs_form obs;
} form;

static const form number_forms[] = { { "single", 1, MM_OBS_FLOATS },
                                     { "batched-floats", BATCH, MM_OBS_FLOATS },
                                     { "batched-columns", BATCH, MM_OBS_COLUMNS } };
static const form switch_forms[] = { { "single", 1, MM_OBS_BITS },
                                     { "batched-bits", BATCH, MM_OBS_BITS },
                                     { "batched-list", BATCH, MM_OBS_LIST } };
enum { FORMS = 3 };

static mm_status measure_form(mm_bench *b, const subject *s, const mm_env *env, const form *f) {
  double seconds = 0, floor_seconds = NAN;
  work w;
  mm_status status = work_open(env, f->n, f->obs, &w);
  if (status == MM_OK) status = mm_bench_seconds(step, &w, &seconds);
  if (status == MM_OK && f->n > 1) status = mm_bench_seconds(move_bytes, &w, &floor_seconds);
  work_close(&w);
  MM_TRY(status);
  double n = (double)f->n;
  mm_bench_add(b, n / seconds, "steps/s", n / floor_seconds, "env/%s/%s", s->id, f->name);
  mm_bench_refer(b, f->n > 1 ? s->reference : NAN);
  return MM_OK;
}

static mm_status measure(mm_bench *b, const subject *s) {
  mm_env *env;
  MM_TRY(mm_env_open(s->id, &env));
  bool numbers = !mm_env_has_switches(env);
  mm_status status = MM_OK;
  for (int i = 0; i < FORMS && status == MM_OK; i++)
    status = measure_form(b, s, env, &(numbers ? number_forms : switch_forms)[i]);
  mm_env_destroy(env);
  return status;
}

mm_status mm_bench_env(mm_bench *b) {
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    mm_bench_begin(b, "%s", subjects[i].id);
    MM_TRY(measure(b, &subjects[i]));
  }
  return MM_OK;
}
