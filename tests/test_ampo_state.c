// SPDX-License-Identifier: Apache-2.0
// States of AMPO and PPO: a training that was put down and taken up again, in any build of the
// kernels, ends with the same bits; bytes that are no such state are refused.

#include <math.h>
#include <stdlib.h>

#include "agent/ampo.h"
#include "agent/job_hooks.h"
#include "agent/state_bytes.h"
#include "agent_fixture.h"
#include "base/isa.h"
#include "base/rng.h"
#include "test.h"

typedef struct setting {
  const char *env, *map;
  mm_settings config;
} setting;

// All algorithms, numbers and lists, limits, rules, continuous actions, bodies.
enum { N_SETTING = 10, ITERATIONS = 12 };

static setting make_setting(int k) {
  static const char *const envs[N_SETTING] = { "CartPole-v1",
                                               "Seaquest-MinAtar",
                                               "CartPole-v1",
                                               "MinAtar/Breakout-v1",
                                               "GridWorld-all",
                                               "Pendulum-v1",
                                               "MountainCarContinuous-v0",
                                               "Hopper",
                                               "Ant-v4",
                                               "HalfCheetah" };
  static const char *const maps[N_SETTING] = { "l2",         "random:3",    "negentropy",
                                               "negentropy", "tsallis:0.5", "random-neural:2",
                                               "negentropy", "piecewise",   "l2",
                                               "negentropy" };
  bool ppo = k == 2 || k == 3 || k == 6 || k == 9;
  bool gaussian = k == 5 || k == 7 || k == 8;
  mm_algo algo = ppo ? MM_ALGO_PPO : gaussian ? MM_ALGO_GAUSSIAN : MM_ALGO_AMPO;
  setting s = { envs[k], maps[k], mm_settings_default(algo) };
  s.config.net.envs = 5;
  s.config.net.unroll = 24;
  s.config.net.steps = 5 * 24 * ITERATIONS;
  s.config.net.epochs = 2;
  s.config.net.minibatches = 3;
  s.config.net.hidden = 20;
  s.config.net.bootstrap_on_timeout = k == 0 || k == 5;
  s.config.net.fresh_reset = k == 8;
  if (k == 1 || k == 2 || k == 5 || k == 6) assert_ok(mm_settings_set(&s.config, "log", "on"));
  return s;
}

typedef struct stage {
  mm_env *env;
  mm_map *map;
  setting s;
} stage;

static stage stage_open(int k) {
  stage g = { .s = make_setting(k) };
  assert_ok(mm_env_open(g.s.env, &g.env));
  assert_ok(mm_map_open(g.s.map, &g.map));
  return g;
}

static void stage_close(stage *g) {
  mm_env_destroy(g->env);
  mm_map_destroy(g->map);
}

// ---------------------------------------------------------------------------------------------
// The agent

static mm_ampo *make_agent(const stage *g, uint64_t seed) {
  mm_ampo *a;
  assert_ok(make_agent_of(g->env, g->map, &g->s.config, seed, 1, &a));
  return a;
}

static unsigned char *state_of(const mm_ampo *a, size_t *size) {
  *size = mm_ampo_state_size(a);
  unsigned char *state = malloc(*size);
  assert_non_null(state);
  mm_ampo_save(a, state);
  return state;
}

static void same_state(const mm_ampo *a, const mm_ampo *b) {
  size_t m, n;
  unsigned char *x = state_of(a, &m), *y = state_of(b, &n);
  assert_int_equal(m, n);
  assert_memory_equal(x, y, m);
  free(x);
  free(y);
}

// From every iteration on, the first one included.
static void test_agent_goes_on(void **state) {
  (void)state;
  for (int k = 0; k < N_SETTING; k++) {
    stage g = stage_open(k);
    mm_ampo *a = make_agent(&g, 3), *b = make_agent(&g, 3);
    for (int i = 0; i < ITERATIONS; i++) {
      size_t size;
      unsigned char *bytes = state_of(a, &size);
      assert_ok(mm_ampo_load(b, bytes, size));
      assert_int_equal(mm_ampo_done(b), i);
      same_state(a, b);
      assert_ok(mm_ampo_iterate(a));
      assert_ok(mm_ampo_iterate(b));
      same_state(a, b);
      mm_ampo_report x = mm_ampo_last(a), y = mm_ampo_last(b);
      assert_memory_equal(&x.returns, &y.returns, sizeof x.returns);
      if (i % 3 == 2) { // and from a fresh one
        mm_ampo_destroy(b);
        b = make_agent(&g, 3);
      }
      free(bytes);
    }
    mm_ampo_destroy(a);
    mm_ampo_destroy(b);
    stage_close(&g);
  }
}

static void test_agent_refuses(void **state) {
  (void)state;
  stage g = stage_open(0), other = stage_open(2);
  mm_ampo *a = make_agent(&g, 3), *b = make_agent(&g, 4), *c = make_agent(&other, 3);
  assert_ok(mm_ampo_iterate(a));
  size_t size;
  unsigned char *bytes = state_of(a, &size);
  assert_fails(mm_ampo_load(b, bytes, size), MM_ERR_INPUT, "seed = 3: expected 4");
  assert_fails(mm_ampo_load(c, bytes, size), MM_ERR_INPUT, "ppo = 0: expected 1");
  other.s.config = g.s.config;
  other.s.config.net.hidden = 21;
  mm_ampo_destroy(c);
  c = make_agent(&other, 3);
  assert_fails(mm_ampo_load(c, bytes, size), MM_ERR_INPUT, "hidden = 20: expected 21");
  free(bytes);
  mm_ampo_destroy(a);
  mm_ampo_destroy(b);
  mm_ampo_destroy(c);
  stage_close(&g);
  stage_close(&other);
}

// With a checksum that fits, bytes may still be anything: refused, or they run without harm.
static void test_agent_survives(void **state) {
  (void)state;
  for (int k = 0; k < N_SETTING; k++) {
    stage g = stage_open(k);
    mm_ampo *a = make_agent(&g, 3);
    for (int i = 0; i < 4; i++)
      assert_ok(mm_ampo_iterate(a));
    size_t size;
    unsigned char *bytes = state_of(a, &size);
    unsigned char *bad = malloc(size);
    assert_non_null(bad);
    mm_stream stream = mm_stream_make((uint64_t)k, 0, MM_RNG_SHUFFLE, 0);
    int taken = 0, refused = 0;
    for (uint64_t i = 0; i < (k < 7 ? 300 : 100); i++) {
      memcpy(bad, bytes, size);
      // the head, the environments and their observations: most of the rest are parameters
      uint32_t reach = i % 5 == 0 ? (uint32_t)size - MM_STATE_CHECKSUM
                                  : (uint32_t)(size < 6000 ? size - MM_STATE_CHECKSUM : 6000);
      uint64_t word = mm_stream_pair(stream, i);
      bad[mm_uniform_int(word, reach)] ^= (unsigned char)(1 + (word & 127));
      mm_state_seal(bad, bad + size - MM_STATE_CHECKSUM);
      mm_ampo *b = make_agent(&g, 3);
      if (mm_ampo_load(b, bad, size) == MM_OK) {
        taken++;
        mm_status status = MM_OK;
        for (int t = 0; t < 2 && status == MM_OK; t++)
          status = mm_ampo_iterate(b);
        assert_true(status == MM_OK || status == MM_ERR_NUMERIC);
      } else {
        refused++;
      }
      mm_ampo_destroy(b);
    }
    assert_true(taken > 0 && refused > 0);
    free(bytes);
    free(bad);
    mm_ampo_destroy(a);
    stage_close(&g);
  }
}

// ---------------------------------------------------------------------------------------------
// The job

typedef struct keeper {
  unsigned char *state;
  size_t size;
  int saves, trained, ended;
  int stop_after; // saves, then `stop` is set; 0: never
  volatile int stop;
  float bias; // of the networks at the end
} keeper;

static void keep(const mm_job *job, const void *state, size_t size, void *user) {
  keeper *k = user;
  (void)job;
  k->state = realloc(k->state, size);
  assert_non_null(k->state);
  memcpy(k->state, state, size);
  k->size = size;
  if (++k->saves == k->stop_after) k->stop = 1;
}

static void note_trained(const mm_job *job, mm_net *net, void *user) {
  keeper *k = user;
  float critic[1];
  (void)job;
  mm_net_export(net, MM_NET_PARAM, MM_NET_TENSORS - 1, critic);
  k->bias = critic[0];
  k->trained++;
}

static void note_ended(const mm_job *job, const mm_result *result, void *user) {
  (void)job;
  (void)result;
  ((keeper *)user)->ended++;
}

static mm_status run(const stage *g, keeper *k, double save_seconds, mm_result *result) {
  mm_job_hooks hooks = { .save = keep,
                         .save_seconds = save_seconds,
                         .trained = note_trained,
                         .ended = note_ended,
                         .user = k };
  mm_job job = job_of(g->env, g->map, &g->s.config, 5);
  job.hooks = &hooks;
  job.state = k->state;
  job.state_size = k->size;
  unsigned char *before = k->state; // the hook puts another in its place
  k->state = NULL;
  mm_status status = mm_job_run(&job, &k->stop, result);
  if (k->state)
    free(before);
  else
    k->state = before;
  return status;
}

static void same_double(double a, double b) {
  assert_memory_equal(&a, &b, sizeof a);
}

static void same_result(const mm_result *a, const mm_result *b) {
  assert_int_equal(a->n_curve, b->n_curve);
  assert_memory_equal(a->curve, b->curve, a->n_curve * sizeof *a->curve);
  assert_memory_equal(a->curve_step, b->curve_step, a->n_curve * sizeof *a->curve_step);
  assert_int_equal(!a->measure, !b->measure);
  if (a->measure) // of Gaussian policies, and with log=on
    assert_memory_equal(a->measure, b->measure, a->n_curve * MM_MEASURES * sizeof *a->measure);
  same_double(a->final_value, b->final_value);
  same_double(a->recent_value, b->recent_value);
  assert_true(a->env_steps == b->env_steps);
}

// Stopped again and again, each time in another build. The stop comes while a state is saved, so
// that one more iteration is saved on leaving.
static void test_job_goes_on(void **state) {
  (void)state;
  static const char *const isas[] = { "portable", "avx2", "avx512" };
  for (int i = 0; i < N_SETTING; i++) {
    stage g = stage_open(i);
    keeper calm = { 0 }, k = { 0 };
    mm_result undisturbed, result;
    assert_ok(run(&g, &calm, 0, &undisturbed));
    assert_int_equal(calm.saves, 0);
    assert_int_equal(calm.trained, 1);
    mm_status status = MM_ERR_INTERRUPTED;
    int runs = 0;
    for (; status == MM_ERR_INTERRUPTED && runs < ITERATIONS; runs++) {
      (void)mm_isa_select(isas[runs % 3]); // or what there is
      k.stop = 0;
      k.stop_after = k.saves + 1;
      status = run(&g, &k, 1e-9, &result);
    }
    assert_ok(mm_isa_select("auto"));
    assert_ok(status);
    assert_int_equal(runs, ITERATIONS / 2);
    assert_int_equal(k.saves, ITERATIONS - 1);
    assert_int_equal(k.trained, 1);
    assert_int_equal(k.ended, runs);
    same_result(&undisturbed, &result);
    assert_true(k.bias == calm.bias && calm.bias != 0);
    free(k.state);
    mm_result_release(&undisturbed);
    mm_result_release(&result);
    stage_close(&g);
  }
}

// Interrupted without a clock: what was done is kept, and nothing where nothing was done.
static void test_interrupted(void **state) {
  (void)state;
  stage g = stage_open(0);
  keeper k = { .stop = 1 };
  mm_result result;
  assert_int_equal(run(&g, &k, 0, &result), MM_ERR_INTERRUPTED);
  assert_int_equal(k.saves, 0);
  k = (keeper){ .stop_after = 1 };
  assert_int_equal(run(&g, &k, 1e-9, &result), MM_ERR_INTERRUPTED);
  assert_int_equal(k.saves, 2);
  k.stop = 1;
  assert_int_equal(run(&g, &k, 0, &result), MM_ERR_INTERRUPTED); // no step further: nothing to save
  assert_int_equal(k.saves, 2);
  assert_int_equal(k.trained, 0);
  free(k.state);
  stage_close(&g);
}

// Any byte changed, any byte missing; where that takes long, some.
static void test_job_refuses(void **state) {
  (void)state;
  const size_t near = test_is_slowed() ? 7 : 1, far = test_is_slowed() ? 9973 : 997;
  stage g = stage_open(1);
  keeper k = { .stop_after = 3 };
  mm_result result;
  assert_int_equal(run(&g, &k, 1e-9, &result), MM_ERR_INTERRUPTED);
  size_t size = k.size;
  mm_job job = job_of(g.env, g.map, &g.s.config, 5);
  job.state = k.state;
  const volatile int stop = 1;
  job.state_size = size;
  assert_int_equal(mm_job_run(&job, &stop, &result), MM_ERR_INTERRUPTED);
  for (size_t i = 0; i < size; i += i < 300 ? near : far) {
    k.state[i] ^= 1;
    assert_int_equal(mm_job_run(&job, &stop, &result), MM_ERR_INPUT);
    k.state[i] ^= 1;
    job.state_size = i;
    assert_int_equal(mm_job_run(&job, &stop, &result), MM_ERR_INPUT);
    job.state_size = size;
  }
  job.seed = 6;
  assert_fails(mm_job_run(&job, &stop, &result), MM_ERR_INPUT, "seed = 5");
  free(k.state);
  stage_close(&g);
}

int suite_ampo_state(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_agent_goes_on),  cmocka_unit_test(test_agent_refuses),
    cmocka_unit_test(test_agent_survives), cmocka_unit_test(test_job_goes_on),
    cmocka_unit_test(test_interrupted),    cmocka_unit_test(test_job_refuses),
  };
  return cmocka_run_group_tests_name("ampo_state", tests, NULL, NULL);
}
