// SPDX-License-Identifier: Apache-2.0
// Agents with continuous actions: what they refuse, what their first minibatch is, that they learn,
// and that all builds of the kernels train to the same bits.

#include <math.h>
#include <stdlib.h>

#include "agent_fixture.h"
#include "base/isa.h"
#include "run_fixture.h"
#include "study/policy/policy_internal.h"
#include "test.h"

static mm_settings small(bool ppo) {
  mm_settings c = mm_settings_default(ppo ? MM_ALGO_PPO : MM_ALGO_GAUSSIAN);
  c.net.envs = 6;
  c.net.unroll = 20;
  c.net.steps = 6 * 20 * 8;
  c.net.minibatches = 3;
  c.net.epochs = 2;
  c.net.hidden = 24;
  c.net.anneal = false;
  return c;
}

typedef struct stage {
  mm_env *env;
  mm_map *map;
  mm_ampo *agent;
} stage;

static stage open_stage(const char *env, const char *map, const mm_settings *c) {
  stage s;
  assert_ok(mm_env_open(env, &s.env));
  assert_ok(mm_map_open(map, &s.map));
  assert_ok(make_agent_of(s.env, s.map, c, 1, 0, &s.agent));
  return s;
}

static void close_stage(stage *s) {
  mm_ampo_destroy(s->agent);
  mm_map_destroy(s->map);
  mm_env_destroy(s->env);
}

static void refuse(const char *env_id, const char *map_text, mm_settings c, const char *why) {
  mm_env *env;
  mm_map *map;
  mm_ampo *agent;
  assert_ok(mm_env_open(env_id, &env));
  assert_ok(mm_map_open(map_text, &map));
  assert_fails(make_agent_of(env, map, &c, 0, 0, &agent), MM_ERR_INPUT, why);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_refusals(void **state) {
  (void)state;
  mm_settings c = small(false);
  refuse("CartPole-v1", "l2", c, "'CartPole-v1' has 2 discrete actions");
  refuse("Seaquest-MinAtar", "l2", c, "pmd-gaussian takes continuous ones");
  refuse("Pendulum-v1", "l2", mm_settings_default(MM_ALGO_AMPO),
         "has continuous actions: ampo takes");
  refuse("Pendulum-v1", "l2", small(true), "expected negentropy");
  c.gaussian.density_scale = 0;
  refuse("Pendulum-v1", "l2", c, "density_scale");
}

// With one minibatch the policy that learns is the one that acted, to the bit: every ratio is 1.
// With more it moves away.
static void test_first_minibatch(void **state) {
  (void)state;
  static const char *const maps[] = { "negentropy", "l2", "tsallis:0.5", "random:2",
                                      "random-neural:1" };
  for (int i = 0; i < 5; i++) {
    mm_settings c = small(false);
    c.net.epochs = c.net.minibatches = 1;
    stage s = open_stage("Pendulum-v1", maps[i], &c);
    for (int k = 0; k < 3; k++) {
      assert_ok(mm_ampo_iterate(s.agent));
      mm_gaussian_report r = mm_ampo_last(s.agent).policy;
      assert_true(r.samples == 120 && r.ess == 1 && r.max_delta == 0 && r.divergence == 0);
    }
    close_stage(&s);
    c.net.epochs = 4;
    c.net.lr = 0.01;
    s = open_stage("Pendulum-v1", maps[i], &c);
    assert_ok(mm_ampo_iterate(s.agent));
    mm_gaussian_report r = mm_ampo_last(s.agent).policy;
    assert_true(r.samples == 480 && r.ess < 1 && r.ess > 0.3 && r.max_delta > 0);
    assert_true(r.divergence > 0 && r.divergence < 10 && r.nonfinite == 0);
    close_stage(&s);
  }
}

static void test_same_bits(void **state) {
  (void)state;
  static const char *const names[] = { "portable", "avx2", "avx512" };
  for (int i = 0; i < 3; i++) {
    mm_settings c = small(i == 2);
    unsigned char *first = NULL;
    for (int isa = 0; isa < 3; isa++) {
      if (mm_isa_select(names[isa]) == MM_ERR_UNSUPPORTED) continue;
      stage s = open_stage(i == 1 ? "MountainCarContinuous-v0" : "Pendulum-v1",
                           i == 0 ? "random-neural:5" : "negentropy", &c);
      for (int k = 0; k < 4; k++)
        assert_ok(mm_ampo_iterate(s.agent));
      size_t size = mm_ampo_state_size(s.agent);
      unsigned char *bytes = malloc(size);
      assert_non_null(bytes);
      mm_ampo_save(s.agent, bytes);
      if (first) assert_memory_equal(first, bytes, size);
      if (first)
        free(bytes);
      else
        first = bytes;
      close_stage(&s);
    }
    free(first);
  }
  assert_ok(mm_isa_select("auto"));
}

// A pendulum that hangs costs about 1200 an episode, one that is swung up and held under 300.
static void test_learns(void **state) {
  (void)state;
  if (test_is_slowed()) skip(); // a minute there, and what it executes the other tests do too
  for (int ppo = 0; ppo < 2; ppo++) {
    mm_settings c = small(ppo == 1);
    c.net.envs = 64;
    c.net.unroll = 32;
    c.net.steps = 64 * 32 * 100;
    c.net.minibatches = 16;
    c.net.epochs = 10;
    c.net.lr = 0.001;
    c.net.gamma = 0.95;
    c.net.hidden = 64;
    if (ppo == 1) c.ppo.entropy_coef = 0;
    stage s = open_stage("Pendulum-v1", "negentropy", &c);
    double early = 0;
    for (int k = 0; k < 100; k++) {
      assert_ok(mm_ampo_iterate(s.agent));
      if (k == 14) early = mm_ampo_last(s.agent).metric; // every environment has ended once
    }
    assert_true(early < -900);
    assert_true(mm_ampo_last(s.agent).metric > -400);
    close_stage(&s);
  }
}

// However far a step goes, numbers stay finite, or the run says that they do not.
static void test_wild_steps(void **state) {
  (void)state;
  static const char *const maps[] = { "negentropy", "l2", "tsallis:4", "random:2",
                                      "random-neural:1" };
  for (int i = 0; i < 5; i++) {
    mm_settings c = small(false);
    c.net.lr = 10;
    c.net.max_grad_norm = 0;
    c.net.epochs = 4;
    stage s = open_stage("Pendulum-v1", maps[i], &c);
    mm_status status = MM_OK;
    uint64_t acted = 0;
    for (int k = 0; k < 8 && status == MM_OK; k++) {
      status = mm_ampo_iterate(s.agent);
      mm_ampo_report r = mm_ampo_last(s.agent);
      assert_true(isfinite(r.returns.last_sum) && isfinite(r.returns.finished_sum));
      acted += r.policy.clamped + r.policy.capped;
    }
    assert_true(status == MM_OK || status == MM_ERR_NUMERIC);
    assert_true(acted > 0);
    close_stage(&s);
  }
}

// What the environment is sent: clipped, then stretched to its range.
static void test_actions_sent(void **state) {
  (void)state;
  const mm_vec_info info = { .n_real = 1, .low = -2, .high = 2 };
  const mm_vec_info skew = { .n_real = 1, .low = 0, .high = 10 };
  const float drawn[4] = { -3, -0.5f, 0.25f, 1.5f };
  float out[4];
  mm_ampo_real_send(&info, drawn, 4, out);
  assert_true(out[0] == -2 && out[1] == -1 && out[2] == 0.5f && out[3] == 2);
  mm_ampo_real_send(&skew, drawn, 4, out);
  assert_true(out[0] == 0 && out[1] == 2.5f && out[2] == 6.25f && out[3] == 10);
}

static void test_noise(void **state) {
  (void)state;
  enum { D = 6, STEPS = 20000 };
  mm_stream stream = mm_stream_make(3, 0, MM_RNG_ACTION, 9);
  double sum[D] = { 0 }, product[D][D] = { { 0 } };
  for (uint64_t t = 0; t < STEPS; t++) {
    float z[D];
    mm_ampo_real_noise(stream, t, D, z);
    for (int i = 0; i < D; i++) {
      sum[i] += (double)z[i];
      for (int k = 0; k < D; k++)
        product[i][k] += (double)z[i] * (double)z[k];
    }
  }
  for (int i = 0; i < D; i++) {
    assert_true(fabs(sum[i] / STEPS) < 4.5 / sqrt(STEPS));
    for (int k = 0; k < D; k++)
      assert_true(fabs(product[i][k] / STEPS - (i == k)) < 6.5 / sqrt(STEPS));
  }
}

// ---------------------------------------------------------------------------------------------
// Log deviations beyond their ends

static void weigh_all(void *user, size_t n, const float *log_p, const float *log_q,
                      const float *advantage, float *gain, float *weight) {
  (void)log_p, (void)log_q, (void)advantage;
  for (size_t i = 0; i < n; i++) {
    gain[i] = 0;
    weight[i] = *(const float *)user;
  }
}

// With actions at their means d log p / d log sigma is -1: what raises log p lowers sigma.
static void test_log_std(void **state) {
  (void)state;
  enum { ROWS = 8 };
  static const struct {
    float log_std, weight, counts, slope;
  } known[] = { { 0, 1, 0, 1 }, { -6, 1, -5, 0 }, { -6, -1, -5, -1 },
                { 3, 1, 2, 1 }, { 3, -1, 2, 0 },  { -4.5f, 1, -4.5f, 1 } };
  const mm_net_config shape = {
    .n_input = 2, .n_action = 1, .hidden = { 16, 16 }, .gaussian = true
  };
  mm_net *net;
  assert_ok(mm_net_create(&shape, &net));
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    float x[ROWS * 2] = { 0 }, zero[ROWS] = { 0 }, weight = known[k].weight, found;
    const uint32_t row[ROWS] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    assert_ok(mm_net_init(net, 0, 0));
    mm_net_import(net, MM_NET_PARAM, MM_NET_LOG_STD, &known[k].log_std);
    mm_net_log_std(net, &found);
    assert_true(found == known[k].counts);
    mm_net_learn_config c = mm_net_learn_config_default(MM_OBJECTIVE_AMPO);
    c.weigh = weigh_all;
    c.user = &weight;
    c.entropy_coef = 0;
    const mm_net_batch batch = { .obs = { .floats = x }, // 0, so that means are 0
                                 .real = zero,
                                 .policy = zero,
                                 .value = zero,
                                 .target = zero,
                                 .advantage = zero };
    assert_ok(mm_net_learn(net, &c, 1e-3, &batch, row, ROWS, NULL));
    mm_net_export(net, MM_NET_GRADIENT, MM_NET_LOG_STD, &found);
    assert_true(fabs((double)(found - known[k].slope)) < 1e-6);
  }
  mm_net_destroy(net);
}

// ---------------------------------------------------------------------------------------------
// Files

static mm_policy *make_policy(void) {
  mm_settings settings = mm_settings_default(MM_ALGO_GAUSSIAN);
  settings.net.hidden = 16;
  const mm_net_config shape = {
    .n_input = 3, .n_action = 1, .hidden = { 16, 16 }, .gaussian = true
  };
  const float mean[3] = { 1, 2, 3 }, variance[3] = { 0.5f, 0, 4 };
  mm_map *map;
  mm_net *net, *plain;
  mm_policy *policy;
  assert_ok(mm_map_create_l2(&map));
  assert_ok(mm_net_create(&shape, &net));
  assert_ok(mm_net_init(net, 1, 0));
  mm_net_import(net, MM_NET_PARAM, MM_NET_INPUT_MEAN, mean);
  mm_net_import(net, MM_NET_PARAM, MM_NET_INPUT_VARIANCE, variance);
  assert_ok(mm_policy_make("Pendulum-v1", map, &settings, 0, 1, &policy));
  mm_net_config other = shape;
  other.gaussian = false;
  assert_ok(mm_net_create(&other, &plain));
  assert_fails(mm_policy_set(policy, 0, plain), MM_ERR_INPUT, "expected Gaussian ones");
  assert_ok(mm_policy_set(policy, 0, net));
  mm_net_destroy(net);
  mm_net_destroy(plain);
  mm_map_destroy(map);
  return policy;
}

static void test_policy_file(void **state) {
  (void)state;
  const char *path = fixture_path("policy.safetensors");
  mm_policy *policy = make_policy(), *back;
  assert_ok(mm_policy_save(policy, path));
  assert_ok(mm_policy_load(path, &back));
  assert_true(back->net.gaussian && back->net.n_action == 1);
  size_t size = mm_policy_size(&policy->net);
  assert_int_equal(mm_policy_size(&back->net), size);
  assert_memory_equal(back->data, policy->data, size * sizeof *policy->data);
  mm_policy_destroy(back);
  // a variance below 0 is none
  mm_policy_slot t = mm_policy_slot_at(&policy->net, MM_NET_INPUT_VARIANCE);
  mm_policy_place(policy, &t, 0)[2] = -1;
  assert_ok(mm_policy_save(policy, path));
  assert_fails(mm_policy_load(path, &back), MM_ERR_INPUT, "'input.variance': entry 2: expected");
  mm_policy_destroy(policy);
}

int suite_gaussian(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_first_minibatch),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_learns),
    cmocka_unit_test(test_wild_steps),
    cmocka_unit_test(test_actions_sent),
    cmocka_unit_test(test_noise),
    cmocka_unit_test(test_log_std),
    cmocka_unit_test_setup_teardown(test_policy_file, fixture_open, fixture_close),
  };
  return cmocka_run_group_tests_name("gaussian", tests, NULL, NULL);
}
