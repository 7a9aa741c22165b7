// SPDX-License-Identifier: Apache-2.0
// Bodies on a device against those of mm_vec: the same bits in states, observations, rewards and
// ends, from starts, from states in the midst of trouble, and through starts of new episodes.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>

#include "test.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/host/cuda.h"
#include "body_rig.h"
#include "cuda_bodies.h"
#include "env/locomotion/bodies.h"

// Those with kernels.
#define IDS_BRAX(NAME, id) { id, MM_BODY_##NAME, MM_FLAVOUR_BRAX },
#define IDS_BOTH(NAME, id) IDS_BRAX(NAME, id){ id "-v4", MM_BODY_##NAME, MM_FLAVOUR_GYMNASIUM },
#define IDS(NAME, name, id, kernels) IDS_##kernels(NAME, id)
static const body_id bodies[] = { MM_BODY_LIST(IDS) };
enum { BODIES = sizeof bodies / sizeof *bodies };

// Environments on the processor, and everything that both sides are told and say.
typedef struct pair {
  const body_id *id;
  const mm_body_info *info;
  mm_vec_config config;
  rig r;
  size_t n, state_size;
  int steps;
  void *state[2];           // [0]: the processor's
  float *action;            // [steps][n][nu]
  float *obs[2], *final[2]; // [steps][n][n_obs]
  float *reward[2];         // [steps][n]
  uint8_t *end[2];          // [steps][n]
} pair;

static size_t obs_of(const pair *p) {
  return p->n * (size_t)p->info->n_obs;
}

static pair pair_open(const body_id *id, mm_vec_config config, int steps) {
  config.size = sizeof config;
  pair p = { .id = id, .info = mm_body_describe(id->body), .config = config, .steps = steps };
  p.config.physics = MM_ENV_PHYSICS_OWN;
  p.r = rig_open(id->id, p.config);
  p.n = config.n;
  p.state_size = mm_vec_kept_size(p.r.vec);
  const size_t s = (size_t)steps;
  p.action = zeroed(s * p.n * (size_t)p.info->nu, sizeof(float));
  for (int i = 0; i < 2; i++) {
    p.state[i] = zeroed(p.state_size, 1);
    p.obs[i] = zeroed(s * obs_of(&p), sizeof(float));
    p.final[i] = zeroed(s * obs_of(&p), sizeof(float));
    p.reward[i] = zeroed(s * p.n, sizeof(float));
    p.end[i] = zeroed(s * p.n, 1);
  }
  return p;
}

static void pair_close(pair *p) {
  for (int i = 0; i < 2; i++) {
    free(p->state[i]);
    free(p->obs[i]);
    free(p->final[i]);
    free(p->reward[i]);
    free(p->end[i]);
  }
  free(p->action);
  rig_close(&p->r);
}

// Uniform in [-most, most]: above 1 they are clipped.
static void choose_actions(pair *p, float most, uint32_t lane) {
  const mm_stream stream = mm_stream_make(3, 0, MM_RNG_TEST, lane);
  const size_t count = (size_t)p->steps * p->n * (size_t)p->info->nu;
  for (size_t k = 0; k < count; k++)
    p->action[k] = mm_uniform_between_f(mm_stream_block(stream, k).word[0], -most, most);
}

static void run_processor(pair *p) {
  for (size_t k = 0; k < (size_t)p->steps; k++) {
    const mm_vec_out out = { p->obs[0] + k * obs_of(p), p->final[0] + k * obs_of(p),
                             p->reward[0] + k * p->n, p->end[0] + k * p->n };
    assert_ok(mm_vec_step(p->r.vec, p->action + k * p->n * (size_t)p->info->nu, &out));
  }
  mm_vec_keep(p->r.vec, p->state[0]);
}

static cuda_bodies device_side(const pair *p) {
  return (cuda_bodies){ .seed = p->config.seed,
                        .repeat = p->config.repeat,
                        .fresh_reset = p->config.fresh_reset,
                        .columns = p->config.obs == MM_OBS_COLUMNS,
                        .n = (int)p->n,
                        .state = p->state[1],
                        .action = p->action,
                        .obs = p->obs[1],
                        .final_obs = p->final[1],
                        .reward = p->reward[1],
                        .end = p->end[1] };
}

static void run_device(pair *p, bool reset) {
  cuda_bodies side = device_side(p);
  const char *error = cuda_bodies_run(p->id->body, p->id->flavour, &side, 1, p->steps, reset);
  if (error) fail_msg("%s: %s", p->id->id, error);
}

// Both from the beginning.
static void run_both(pair *p) {
  assert_ok(mm_vec_reset(p->r.vec, &p->r.out));
  run_processor(p);
  run_device(p, true);
}

static void check_floats(const pair *p, const char *what, const float *a, const float *b,
                         size_t each) {
  for (size_t i = 0; i < (size_t)p->steps * each; i++)
    if (memcmp(a + i, b + i, sizeof *a) != 0)
      fail_msg("%s, %s: step %zu, number %zu: %.9g, on the device %.9g", p->id->id, what, i / each,
               i % each, (double)a[i], (double)b[i]);
}

static void check_pair(const pair *p) {
  for (size_t i = 0; i < (size_t)p->steps * p->n; i++)
    if (p->end[0][i] != p->end[1][i])
      fail_msg("%s: step %zu, environment %zu: end %d, on the device %d", p->id->id, i / p->n,
               i % p->n, p->end[0][i], p->end[1][i]);
  check_floats(p, "rewards", p->reward[0], p->reward[1], p->n);
  check_floats(p, "observations", p->obs[0], p->obs[1], obs_of(p));
  check_floats(p, "last observations", p->final[0], p->final[1], obs_of(p));
  assert_memory_equal(p->state[0], p->state[1], p->state_size);
}

static size_t count_ends(const pair *p, uint8_t bit) {
  size_t count = 0;
  for (size_t i = 0; i < (size_t)p->steps * p->n; i++)
    count += (p->end[0][i] & bit) != 0;
  return count;
}

// ---------------------------------------------------------------------------------------------

// A hundred steps, falls and contacts included; numbers of environments that fill no block.
static void test_rollouts(void **state) {
  (void)state;
  for (int b = 0; b < BODIES; b++) {
    for (int fresh = 0; fresh < 2; fresh++) {
      pair p = pair_open(&bodies[b],
                         (mm_vec_config){ .n = 1000,
                                          .seed = 0x123456789abu + (uint64_t)b,
                                          .repeat = (uint32_t)fresh,
                                          .fresh_reset = fresh != 0,
                                          .obs = fresh ? MM_OBS_COLUMNS : MM_OBS_FLOATS },
                         100);
      choose_actions(&p, 1.2f, (uint32_t)(2 * b + fresh));
      run_both(&p);
      check_pair(&p);
      if (bodies[b].body == MM_BODY_HOPPER) assert_true(count_ends(&p, MM_END_TERMINATED) > 1000);
      pair_close(&p);
    }
  }
}

// Number k of environment i within a state's columns.
static float *column_of(const pair *p, void *state, int k) {
  return (float *)(void *)((mm_bodies_lane *)state + p->n) + (size_t)k * p->n;
}

// Bodies thrown about: joints beyond their limits, parts below the floor, velocities up to 10, warm
// starts that are wrong, episodes at all their stages.
static void throw_about(const pair *p, void *state) {
  const mm_stream stream = mm_stream_make(4, 0, MM_RNG_TEST, (uint32_t)p->id->body);
  const double *start = p->info->start[p->id->flavour];
  mm_bodies_lane *lane = state;
  for (size_t i = 0; i < p->n; i++) {
    lane[i] = (mm_bodies_lane){ .time = (int32_t)(i % MM_BODIES_LIMIT), .episode = 1 };
    for (int k = 0; k < p->info->nq; k++) {
      const mm_block b = mm_stream_block(stream, i * 32 + (uint64_t)k);
      float *q = column_of(p, state, k) + i;
      *q = (float)start[k] + mm_uniform_between_f(b.word[0], -1.0f, 1.0f);
      if (k == p->info->z_index)
        *q = (float)start[k] + mm_uniform_between_f(b.word[0], -0.6f, 0.1f);
      if (p->info->nq > p->info->nv && k >= 3 && k < 7) // a quaternion needs a direction
        *q = (float)start[k] + mm_uniform_between_f(b.word[0], -0.4f, 0.4f);
      if (k >= p->info->nv) continue;
      column_of(p, state, p->info->nq + k)[i] = mm_uniform_between_f(b.word[1], -10.0f, 10.0f);
      column_of(p, state, p->info->nq + p->info->nv + k)[i] =
          mm_uniform_between_f(b.word[2], -50.0f, 50.0f);
    }
  }
}

static void load_both(pair *p) {
  assert_ok(mm_vec_take_up(p->r.vec, p->state[0], p->state_size));
  memcpy(p->state[1], p->state[0], p->state_size);
}

static void test_thrown(void **state) {
  (void)state;
  for (int b = 0; b < BODIES; b++) {
    pair p = pair_open(&bodies[b], (mm_vec_config){ .n = 5000, .seed = 11 }, 3);
    choose_actions(&p, 1.0f, 20 + (uint32_t)b);
    throw_about(&p, p.state[0]);
    load_both(&p);
    run_processor(&p);
    run_device(&p, false);
    check_pair(&p);
    assert_true(count_ends(&p, MM_END_TRUNCATED) >= 5);
    pair_close(&p);
  }
}

// Here, there and here again is as good as here all the time.
static void test_moves(void **state) {
  (void)state;
  for (int b = 0; b < BODIES; b++) {
    pair p = pair_open(&bodies[b], (mm_vec_config){ .n = 333, .seed = 5 }, 20);
    choose_actions(&p, 1.0f, 30 + (uint32_t)b);
    assert_ok(mm_vec_reset(p.r.vec, &p.r.out));
    run_processor(&p);
    memcpy(p.state[1], p.state[0], p.state_size);
    run_device(&p, false);
    mm_vec *other;
    assert_ok(mm_vec_create(p.r.env, &p.config, &other));
    assert_ok(mm_vec_take_up(other, p.state[1], p.state_size));
    mm_vec *first = p.r.vec;
    memset(p.final[0], 0, (size_t)p.steps * obs_of(&p) * sizeof(float));
    run_processor(&p);
    check_pair(&p);
    p.r.vec = other;
    run_processor(&p);
    memcpy(p.state[1], p.state[0], p.state_size);
    p.r.vec = first;
    run_processor(&p);
    assert_memory_equal(p.state[0], p.state[1], p.state_size);
    mm_vec_destroy(other);
    pair_close(&p);
  }
}

// A state that goes bad is counted and started anew, with a reward of 0; actions that are no
// numbers count as none. The others of the warp notice nothing.
static void test_unstable(void **state) {
  enum { BAD = 37, NO_NUMBER = 40, HUGE_ONE = 41 };
  (void)state;
  for (int b = 0; b < BODIES; b++) {
    pair p = pair_open(&bodies[b], (mm_vec_config){ .n = 200, .seed = 8 }, 2);
    const size_t nu = (size_t)p.info->nu;
    choose_actions(&p, 1.0f, 40 + (uint32_t)b);
    assert_ok(mm_vec_reset(p.r.vec, &p.r.out));
    mm_vec_keep(p.r.vec, p.state[0]);
    for (int k = 0; k < p.info->nv; k++)
      column_of(&p, p.state[0], p.info->nq + k)[BAD] = k % 2 ? 9e9f : -9e9f;
    load_both(&p);
    for (size_t k = 0; k < (size_t)p.steps; k++) {
      p.action[(k * p.n + NO_NUMBER) * nu] = 0;
      p.action[(k * p.n + HUGE_ONE) * nu] = 1;
    }
    run_processor(&p);
    for (size_t k = 0; k < (size_t)p.steps; k++) {
      p.action[(k * p.n + NO_NUMBER) * nu] = NAN;
      p.action[(k * p.n + HUGE_ONE) * nu] = INFINITY;
    }
    run_device(&p, false);
    check_pair(&p);
    assert_int_equal(p.end[1][BAD], MM_END_TERMINATED);
    assert_true(p.reward[1][BAD] == 0);
    assert_int_equal(((mm_bodies_lane *)p.state[1])[BAD].unstable, 1);
    assert_int_equal(mm_vec_unstable(p.r.vec), 1);
    pair_close(&p);
  }
}

// Trainings of different sizes in the same launches are as they would be alone, twice over.
static void test_trainings(void **state) {
  enum { COUNT = 3 };
  static const size_t sizes[COUNT] = { 77, 256, 130 };
  (void)state;
  for (int b = 0; b < BODIES; b++) {
    pair p[COUNT];
    cuda_bodies sides[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
      p[i] = pair_open(&bodies[b], (mm_vec_config){ .n = sizes[i], .seed = 50 + i }, 30);
      choose_actions(&p[i], 1.0f, 50 + (uint32_t)i);
      assert_ok(mm_vec_reset(p[i].r.vec, &p[i].r.out));
      run_processor(&p[i]);
    }
    for (int repeat = 0; repeat < 2; repeat++) {
      for (size_t i = 0; i < COUNT; i++) {
        memset(p[i].state[1], 0, p[i].state_size);
        memset(p[i].final[1], 0, (size_t)p[i].steps * obs_of(&p[i]) * sizeof(float));
        sides[i] = device_side(&p[i]);
      }
      const char *error =
          cuda_bodies_run(bodies[b].body, bodies[b].flavour, sides, COUNT, p[0].steps, true);
      if (error) fail_msg("%s: %s", bodies[b].id, error);
      for (size_t i = 0; i < COUNT; i++)
        check_pair(&p[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
      pair_close(&p[i]);
  }
}

int suite_cuda_physics(void) {
  int count;
  if (mm_cuda_find(&count) != MM_OK) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_rollouts),
                                      cmocka_unit_test(test_thrown), cmocka_unit_test(test_moves),
                                      cmocka_unit_test(test_unstable),
                                      cmocka_unit_test(test_trainings) };
  return cmocka_run_group_tests_name("cuda_physics", tests, NULL, NULL);
}

#else

int suite_cuda_physics(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
