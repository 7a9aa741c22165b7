// SPDX-License-Identifier: Apache-2.0
// Batched classic control: the bits of single environments, for every instruction set, number of
// environments and division of the batch.

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/isa.h"
#include "env/classic/classic_batch.h"
#include "env/classic/classics.h"
#include "test.h"

enum { MOST = 2100, ROOM = MOST + 5 }; // two chunks and a rest; rows are longer than needed

static const char *const isa_names[] = { "portable", "avx2", "avx512" };
static const float untouched = -12345;

// A batch, what it gives, and the same environments one by one.
typedef struct world {
  const mm_classic *env;
  const mm_classic_kernels *kernels;
  size_t n;
  mm_classic_batch batch;
  mm_classic_out out;
  float state[MM_CLASSIC_STATE_MAX * ROOM], obs[MM_CLASSIC_OBS_MAX * ROOM];
  float final_obs[MM_CLASSIC_OBS_MAX * ROOM], reward[ROOM], real[ROOM];
  int32_t time[ROOM], action[ROOM];
  uint32_t episode[ROOM];
  uint8_t end[ROOM];
  mm_single alone[ROOM];
  uint32_t alone_episode[ROOM];
  int ended; // episodes, counted
} world;

static mm_stream reset_stream(const world *w, size_t i) {
  return mm_stream_make(w->batch.seed, w->batch.job, MM_RNG_ENV_RESET, w->batch.lane + (uint32_t)i);
}

// Resets all; then every environment is set to its own time, some just before the limit.
static void begin(world *w, mm_classic_env which, size_t n, bool keep_final) {
  memset(w, 0, sizeof *w);
  w->env = &mm_classics[which];
  w->kernels = mm_classic_kernels_current();
  w->n = n;
  w->batch = (mm_classic_batch){ .env = which,
                                 .stride = ROOM,
                                 .state = w->state,
                                 .time = w->time,
                                 .episode = w->episode,
                                 .seed = 3,
                                 .job = 9,
                                 .lane = 1000 };
  w->out = (mm_classic_out){ w->obs, keep_final ? w->final_obs : NULL, w->reward, w->end };
  w->kernels->reset(&w->batch, 0, n, &w->out);
  for (size_t i = 0; i < n; i++) {
    w->alone[i] = w->env->start(reset_stream(w, i), 0);
    assert_int_equal(w->time[i], 0);
    w->time[i] = w->alone[i].time = w->env->limit - 1 - (int32_t)(i * 37 % 101);
  }
}

static void draw_actions(world *w, uint64_t t) {
  mm_stream stream = mm_stream_make(4, 0, MM_RNG_ACTION, 0);
  for (size_t i = 0; i < w->n; i++) {
    w->real[i] = mm_classic_action(w->env, stream, t * ROOM + i);
    w->action[i] = (int32_t)w->real[i];
  }
}

static const void *actions(const world *w) {
  return w->env->n_action > 0 ? (const void *)w->action : (const void *)w->real;
}

static void check_row(const char *what, const world *w, size_t i, const float *got, int n,
                      const float *expected) {
  for (int k = 0; k < n; k++) {
    float value = got[(size_t)k * ROOM + i];
    if (memcmp(&value, &expected[k], sizeof value) != 0)
      fail_msg("%s %s, isa %s: row %d of environment %zu: expected %a, found %a", w->env->name,
               what, mm_isa_name(), k, i, (double)expected[k], (double)value);
  }
}

// Steps environment i alone, with automatic reset, and compares everything.
static void check_one(world *w, size_t i) {
  float obs[MM_CLASSIC_OBS_MAX], reward;
  int end = w->env->step(&w->alone[i], w->real[i], &reward);
  w->env->observe(&w->alone[i], obs);
  if (w->out.final_obs && end)
    check_row("last observation", w, i, w->final_obs, w->env->n_obs, obs);
  if (w->out.final_obs && !end) assert_true(w->final_obs[i] == untouched);
  if (end) {
    w->alone[i] = w->env->start(reset_stream(w, i), ++w->alone_episode[i]);
    w->env->observe(&w->alone[i], obs);
    w->ended++;
  }
  check_row("observation", w, i, w->obs, w->env->n_obs, obs);
  check_row("state", w, i, w->state, w->env->n_state, w->alone[i].f);
  assert_memory_equal(&w->reward[i], &reward, sizeof reward);
  assert_int_equal(w->end[i], end);
  assert_int_equal(w->time[i], w->alone[i].time);
  assert_int_equal(w->episode[i], w->alone_episode[i]);
}

static void run(mm_classic_env which, size_t n, int steps, bool keep_final) {
  world *w = malloc(sizeof *w);
  assert_non_null(w);
  begin(w, which, n, keep_final);
  for (int t = 0; t < steps; t++) {
    size_t cut = n > 0 ? (size_t)t * 61 % (n + 1) : 0; // two parts, as two threads would
    draw_actions(w, (uint64_t)t);
    for (size_t k = 0; k < MM_CLASSIC_OBS_MAX * ROOM; k++)
      w->final_obs[k] = untouched;
    w->kernels->step(&w->batch, cut, n, actions(w), &w->out);
    w->kernels->step(&w->batch, 0, cut, actions(w), &w->out);
    for (size_t i = 0; i < n; i++)
      check_one(w, i);
  }
  // nothing beyond the n environments was touched
  assert_true(w->state[n] == 0 && w->obs[n] == 0 && w->time[n] == 0 && w->end[n] == 0);
  assert_true(w->reward[n] == 0 && w->episode[n] == 0);
  assert_true(n == 0 || w->ended > 0);
  free(w);
}

static void test_same_bits(void **state) {
  (void)state;
  static const size_t sizes[] = { 0, 1, 7, 64, 1003, MOST };
  for (size_t isa = 0; isa < sizeof isa_names / sizeof *isa_names; isa++) {
    if (mm_isa_select(isa_names[isa]) == MM_ERR_UNSUPPORTED) continue;
    for (int e = 0; e < MM_CLASSIC_COUNT; e++) {
      for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        run((mm_classic_env)e, sizes[k], sizes[k] < 1000 ? 300 : 50, k % 2 == 0);
    }
  }
  assert_ok(mm_isa_select("auto"));
}

// What the headers say of actions out of range holds for batches too.
static void test_odd_actions(void **state) {
  (void)state;
  static const int32_t whole[] = { INT32_MIN, -1, 0, 1, 2, 3, INT32_MAX };
  static const float real[] = { NAN, -INFINITY, -1e30f, 0, 0.5f, 1e30f, INFINITY };
  enum { N = sizeof whole / sizeof *whole };
  world *w = malloc(sizeof *w);
  assert_non_null(w);
  for (int e = 0; e < MM_CLASSIC_COUNT; e++) {
    begin(w, (mm_classic_env)e, N, true);
    memcpy(w->action, whole, sizeof whole);
    memcpy(w->real, real, sizeof real);
    w->kernels->step(&w->batch, 0, N, actions(w), &w->out);
    for (size_t i = 0; i < N; i++) {
      int last = w->env->n_action - 1, nearest = whole[i] < 0      ? 0
                                                 : whole[i] < last ? whole[i]
                                                                   : last;
      if (w->env->n_action > 0) w->real[i] = (float)nearest;
      for (size_t k = 0; !w->end[i] && k < MM_CLASSIC_OBS_MAX; k++)
        w->final_obs[k * ROOM + i] = untouched;
      check_one(w, i);
    }
  }
  free(w);
}

int suite_classic_batch(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_odd_actions),
  };
  return cmocka_run_group_tests_name("classic_batch", tests, NULL, NULL);
}
