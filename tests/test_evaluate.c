// SPDX-License-Identifier: Apache-2.0
// Trained policies at play: their probabilities, returns against a replay by hand, the same numbers
// however the work is cut, and what is refused.

#include "study/policy/evaluate.h"

#include <math.h>
#include <stdlib.h>

#include "agent_fixture.h"
#include "base/isa.h"
#include "base/rng.h"
#include "test.h"

static mm_env *open_env(const char *id) {
  mm_env *env;
  assert_ok(mm_env_open(id, &env));
  return env;
}

// Policies with networks as they are before training, but with larger scores.
static mm_policy *make_policy(const mm_env *env, const char *map_name, const mm_settings *settings,
                              uint64_t seed, size_t n, float scale) {
  mm_map *map;
  mm_policy *policy;
  assert_ok(mm_map_open(map_name, &map));
  assert_ok(mm_policy_make(mm_env_id(env), map, settings, seed, n, &policy));
  for (size_t i = 0; i < n; i++) {
    mm_ampo *ampo;
    assert_ok(make_agent_of(env, map, settings, seed + i, 0, &ampo));
    mm_net *net = mm_ampo_net(ampo);
    mm_net_tensor last = mm_net_describe(net, 4);
    const size_t size = (size_t)last.rows * (size_t)last.cols;
    float *w = malloc(size * sizeof *w);
    mm_net_export(net, MM_NET_PARAM, 4, w);
    for (size_t k = 0; k < size; k++)
      w[k] *= scale;
    mm_net_import(net, MM_NET_PARAM, 4, w);
    assert_ok(mm_policy_set(policy, i, net));
    free(w);
    mm_ampo_destroy(ampo);
  }
  mm_map_destroy(map);
  return policy;
}

static mm_settings small(mm_algo algo) {
  mm_settings s = mm_settings_default(algo);
  s.net.hidden = 16;
  s.net.envs = 2;
  s.net.unroll = 4;
  s.net.minibatches = 1;
  return s;
}

static mm_evaluate_config config_of(const mm_policy *policy, const mm_env *env) {
  mm_evaluate_config config = mm_evaluate_config_default();
  config.policy = policy;
  config.env = env;
  config.threads = 1;
  return config;
}

static mm_policy_info describe(const mm_policy *policy) {
  mm_policy_info info;
  mm_policy_describe(policy, &info);
  return info;
}

static void assert_same(const mm_evaluation *a, const mm_evaluation *b) {
  const size_t n = a->n_agent * a->n_episode;
  assert_int_equal(n, b->n_agent * b->n_episode);
  assert_memory_equal(a->value, b->value, n * sizeof *a->value);
  assert_memory_equal(a->length, b->length, n * sizeof *a->length);
  assert_memory_equal(a->end, b->end, n);
}

// ---------------------------------------------------------------------------------------------
// One agent

// The policy is the projection of eta f, for PPO softmax of f, computed in double.
static void test_probabilities(void **state) {
  (void)state;
  static const char *const maps[] = { "negentropy", "l2", "random:3", "negentropy" };
  const float obs[4] = { 0.02f, -0.3f, 0.01f, 0.4f };
  mm_env *env = open_env("CartPole-v1");
  for (int k = 0; k < 4; k++) {
    mm_settings settings = small(k < 3 ? MM_ALGO_AMPO : MM_ALGO_PPO);
    if (k < 3) settings.ampo.eta = 0.7;
    mm_policy *policy = make_policy(env, maps[k], &settings, 5, 2, 300);
    mm_player *player;
    mm_net *net;
    float scores[2];
    double x[2], expected[2], lambda;
    assert_ok(mm_player_create(policy, 1, &player));
    assert_ok(mm_player_look(player, &(mm_net_obs){ .floats = obs }, 1));
    assert_ok(mm_policy_net(policy, 1, &net));
    mm_net_scores(net, &(mm_net_obs){ .floats = obs }, 1, scores);
    for (int a = 0; a < 2; a++)
      x[a] = (k < 3 ? 0.7 : 1) * (double)scores[a];
    assert_ok(mm_map_project(describe(policy).map, MM_PROJECTION_EXACT, x, 2, expected, &lambda));
    const float *probs = mm_player_row(player, 0);
    assert_true(fabs(expected[0] - 0.5) > 0.01); // not trivial
    for (int a = 0; a < 2; a++)
      assert_true(fabs((double)probs[a] - expected[a]) < 1e-5);
    const int32_t best = expected[1] > expected[0];
    assert_int_equal(mm_player_greedy(player, 0), best);
    assert_int_equal(mm_player_sample(player, 0, 0), 0);
    assert_int_equal(mm_player_sample(player, 0, (double)probs[0] + 1e-6), 1);
    mm_net_destroy(net);
    mm_player_destroy(player);
    mm_policy_destroy(policy);
  }
  mm_env_destroy(env);
}

// Of equals the first: networks of zeros are indifferent.
static void test_indifferent(void **state) {
  (void)state;
  mm_env *env = open_env("CartPole-v1");
  mm_settings settings = small(MM_ALGO_AMPO);
  mm_policy *policy = make_policy(env, "l2", &settings, 0, 1, 0);
  mm_evaluate_config config = config_of(policy, env);
  mm_evaluation sampled, greedy;
  config.episodes = 1000;
  assert_ok(mm_evaluate_run(&config, &sampled));
  config.greedy = true;
  assert_ok(mm_evaluate_run(&config, &greedy));
  // a uniform policy's return has mean 22.36 and standard deviation 11.9: within 4 standard errors
  assert_true(fabs(sampled.all.mean - 22.36) < 4 * 11.9 / sqrt(1000));
  // always to the left: 8 to 10 steps until the pole is down
  assert_true(greedy.all.min >= 8 && greedy.all.max <= 11 && greedy.all.terminated == 1000);
  mm_evaluation_release(&sampled);
  mm_evaluation_release(&greedy);
  mm_policy_destroy(policy);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------
// Returns

// Episode k of an agent, alone and with dense observations: the streams are those that evaluate.h
// promises.
static double replay(const mm_policy *policy, const mm_env *env, size_t agent, uint64_t seed,
                     size_t k, bool greedy, uint32_t *length) {
  const uint64_t agent_seed = describe(policy).seed + agent;
  mm_block base = mm_stream_block(mm_stream_make(seed, 0, MM_RNG_EVALUATION, 0), 0);
  const uint32_t repeat = 0x80000000u | ((base.word[0] + (uint32_t)(k / 64)) & 0x7fffffffu);
  const size_t lane = k % 64;
  mm_vec_config config = {
    .size = sizeof(mm_vec_config), .n = lane + 1, .seed = agent_seed, .repeat = repeat
  };
  mm_vec_info info;
  mm_vec *vec;
  mm_player *player;
  assert_ok(mm_vec_create(env, &config, &vec));
  mm_vec_describe(vec, &info);
  assert_ok(mm_player_create(policy, agent, &player));
  float *obs = malloc(info.obs_size), *reward = malloc(config.n * sizeof *reward);
  uint8_t *end = calloc(config.n, 1);
  int32_t *action = calloc(config.n, sizeof *action);
  double sum = 0;
  assert_ok(mm_vec_reset(vec, &(mm_vec_out){ .obs = obs }));
  mm_stream stream = mm_stream_make(agent_seed, repeat, MM_RNG_ACTION, (uint32_t)lane);
  for (*length = 0; !end[lane];) {
    mm_net_obs seen = { .floats = obs + lane * (size_t)info.n_input };
    const mm_block block = mm_stream_block(stream, *length / 4);
    double u = block.word[*length % 4] * 0x1p-32;
    assert_ok(mm_player_look(player, &seen, 1));
    action[lane] = greedy ? mm_player_greedy(player, 0) : mm_player_sample(player, 0, u);
    assert_ok(mm_vec_step_part(vec, lane, lane + 1, action,
                               &(mm_vec_out){ .obs = obs, .reward = reward, .end = end }));
    sum += (double)reward[lane];
    ++*length;
  }
  free(obs);
  free(reward);
  free(end);
  free(action);
  mm_player_destroy(player);
  mm_vec_destroy(vec);
  return sum;
}

static void test_replay(void **state) {
  (void)state;
  static const char *const ids[] = { "CartPole-v1", "Asterix-MinAtar", "MinAtar/Breakout-v1" };
  for (int k = 0; k < 3; k++) {
    mm_env *env = open_env(ids[k]);
    mm_settings settings = small(MM_ALGO_AMPO);
    mm_policy *policy = make_policy(env, "l2", &settings, 11, 2, 100);
    for (int greedy = 0; greedy < 2 - (k == 2); greedy++) { // that one might never end
      mm_evaluate_config config = config_of(policy, env);
      mm_evaluation e;
      config.seed = 3;
      config.episodes = 70;
      config.greedy = greedy;
      assert_ok(mm_evaluate_run(&config, &e));
      for (size_t agent = 0; agent < 2; agent++) {
        for (size_t i = 0; i < 70; i += 23) {
          uint32_t length;
          double value = replay(policy, env, agent, 3, i, greedy, &length);
          assert_int_equal(e.length[agent * 70 + i], length);
          assert_true(e.value[agent * 70 + i] == value);
        }
      }
      mm_evaluation_release(&e);
    }
    mm_policy_destroy(policy);
    mm_env_destroy(env);
  }
}

static double sum_of(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

static void test_summary(void **state) {
  (void)state;
  mm_env *env = open_env("CartPole-v1");
  mm_settings settings = small(MM_ALGO_AMPO);
  mm_policy *policy = make_policy(env, "negentropy", &settings, 0, 3, 100);
  mm_evaluate_config config = config_of(policy, env);
  mm_evaluation e;
  config.episodes = 4;
  assert_ok(mm_evaluate_run(&config, &e));
  assert_true(e.n_agent == 3 && e.n_episode == 4 && e.first == 0);
  double means[3], all = 0, lengths = 0, least = INFINITY, most = -INFINITY;
  for (size_t i = 0; i < 3; i++) {
    const double *x = e.value + 4 * i;
    double square = 0, low = INFINITY, high = -INFINITY;
    means[i] = sum_of(x, 4) / 4;
    for (size_t k = 0; k < 4; k++) {
      square += (x[k] - means[i]) * (x[k] - means[i]);
      low = fmin(low, x[k]);
      high = fmax(high, x[k]);
      lengths += (double)e.length[4 * i + k] / 12;
    }
    const mm_returns *r = &e.agent[i];
    assert_true(fabs(r->mean - means[i]) < 1e-9);
    assert_true(fabs(r->sem - sqrt(square / 3 / 4)) < 1e-9);
    assert_true(r->min == low && r->max == high);
    // of four numbers the mean of the two in the middle
    assert_true(fabs(r->median - (sum_of(x, 4) - low - high) / 2) < 1e-9);
    assert_int_equal(r->terminated + r->truncated + r->cut, 4);
    all += means[i] / 3;
    least = fmin(least, low);
    most = fmax(most, high);
  }
  double square = 0;
  for (size_t i = 0; i < 3; i++)
    square += (means[i] - all) * (means[i] - all);
  assert_true(fabs(e.all.mean - all) < 1e-9);
  assert_true(fabs(e.all.sem - sqrt(square / 2 / 3)) < 1e-9); // of the agents' means
  assert_true(e.all.min == least && e.all.max == most);
  assert_true(fabs(e.all.mean_length - lengths) < 1e-9);
  assert_true(e.env_steps == (uint64_t)llround(lengths * 12));
  mm_evaluation_release(&e);
  mm_policy_destroy(policy);
  mm_env_destroy(env);
}

static void count(size_t done, size_t total, uint64_t env_steps, void *user) {
  size_t *seen = user;
  assert_true(done <= total && total == 300);
  assert_true(env_steps > 0);
  *seen = done;
}

// However the work is cut, each episode is what it is.
static void test_same(void **state) {
  (void)state;
  static const char *const ids[] = { "CartPole-v1", "Asterix-MinAtar" };
  static const char *const isas[] = { "portable", "avx2", "avx512" };
  for (int k = 0; k < 2; k++) {
    mm_env *env = open_env(ids[k]);
    mm_settings settings = small(MM_ALGO_AMPO);
    mm_policy *policy = make_policy(env, "random:2", &settings, 0, 3, 100);
    mm_evaluate_config config = config_of(policy, env);
    mm_evaluation one, other;
    config.max_steps = 300;
    assert_ok(mm_evaluate_run(&config, &one));
    for (int threads = 2; threads <= 5; threads += 3) {
      size_t seen = 0;
      config.threads = threads;
      config.progress = count;
      config.user = &seen;
      assert_ok(mm_evaluate_run(&config, &other));
      assert_same(&one, &other);
      assert_true(one.env_steps == other.env_steps && other.threads == threads && seen == 300);
      mm_evaluation_release(&other);
    }
    config.progress = NULL;
    for (int i = 0; i < 3; i++) {
      if (mm_isa_select(isas[i]) != MM_OK) continue; // this machine lacks it
      assert_ok(mm_evaluate_run(&config, &other));
      assert_same(&one, &other);
      mm_evaluation_release(&other);
    }
    assert_ok(mm_isa_select("auto"));
    // fewer episodes are the first of them, one agent is the same alone
    config.episodes = 70;
    config.agent = 2;
    assert_ok(mm_evaluate_run(&config, &other));
    assert_true(other.first == 2 && other.n_agent == 1);
    assert_memory_equal(one.value + 200, other.value, 70 * sizeof *one.value);
    assert_memory_equal(one.length + 200, other.length, 70 * sizeof *one.length);
    mm_evaluation_release(&other);
    // another seed has other episodes
    config = config_of(policy, env);
    config.max_steps = 300;
    config.seed = 1;
    assert_ok(mm_evaluate_run(&config, &other));
    assert_memory_not_equal(one.value, other.value, 300 * sizeof *one.value);
    mm_evaluation_release(&other);
    mm_evaluation_release(&one);
    mm_policy_destroy(policy);
    mm_env_destroy(env);
  }
}

// A family's instance is the one that the agent was trained on; a task without a limit is cut off.
static void test_gridworld(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-dense");
  mm_settings settings = small(MM_ALGO_AMPO);
  mm_policy *policy = make_policy(env, "l2", &settings, 7, 2, 0);
  mm_evaluate_config config = config_of(policy, env);
  mm_evaluation e;
  config.max_steps = 20;
  config.greedy = true; // up, and up again
  assert_ok(mm_evaluate_run(&config, &e));
  assert_int_equal(e.all.terminated + e.all.cut, 200);
  assert_true(e.all.cut > 0 && e.all.truncated == 0 && e.all.mean_length <= 20);
  for (size_t i = 0; i < 200; i++)
    assert_true(e.length[i] == 20 || e.end[i] == MM_END_TERMINATED);
  mm_evaluation_release(&e);
  mm_policy_destroy(policy);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------

// A short training shows in episodes that it never saw.
static void test_trained(void **state) {
  (void)state;
  if (test_is_slowed()) skip(); // a quarter of an hour under valgrind; other suites train
  mm_env *env = open_env("CartPole-v1");
  mm_settings settings = mm_settings_default(MM_ALGO_AMPO);
  settings.net.steps = 40000;
  mm_map *map;
  mm_ampo *ampo;
  mm_policy *policy;
  assert_ok(mm_map_open("l2", &map));
  assert_ok(mm_policy_make("CartPole-v1", map, &settings, 1, 1, &policy));
  assert_ok(make_agent_of(env, map, &settings, 1, 0, &ampo));
  for (int64_t t = mm_ampo_iterations(&settings.net); t > 0; t--)
    assert_ok(mm_ampo_iterate(ampo));
  assert_ok(mm_policy_set(policy, 0, mm_ampo_net(ampo)));
  mm_evaluate_config config = config_of(policy, env);
  mm_evaluation e;
  assert_ok(mm_evaluate_run(&config, &e));
  assert_true(e.all.mean > 100); // chance: 22
  assert_true(!e.physics && !e.flavour);
  mm_evaluation_release(&e);
  mm_ampo_destroy(ampo);
  mm_policy_destroy(policy);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// A policy trained with the MuJoCo library plays on our own engine, also where there is none; the
// flavour is the training's at home, else the ID's.
static void test_body(void **state) {
  (void)state;
  static const struct {
    const char *id, *flavour;
    mm_env_flavour asked;
  } cases[] = { { "Hopper", "gymnasium", MM_ENV_FLAVOUR_BY_ID },
                { "Hopper", "brax", MM_ENV_FLAVOUR_BRAX },
                { "Hopper-v4", "gymnasium", MM_ENV_FLAVOUR_BY_ID },
                { "Hopper-v4", "brax", MM_ENV_FLAVOUR_BRAX } };
  mm_settings settings = small(MM_ALGO_GAUSSIAN);
  const mm_net_config shape = {
    .n_input = 11, .n_action = 3, .hidden = { 16, 16 }, .gaussian = true
  };
  mm_map *map;
  mm_net *net;
  mm_policy *policy;
  settings.net.physics = MM_ENV_PHYSICS_MUJOCO;
  settings.net.flavour = MM_ENV_FLAVOUR_GYMNASIUM;
  assert_ok(mm_map_open("l2", &map));
  assert_ok(mm_net_create(&shape, &net));
  assert_ok(mm_net_init(net, 1, 0));
  assert_ok(mm_policy_make("Hopper", map, &settings, 0, 1, &policy));
  assert_ok(mm_policy_set(policy, 0, net));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_env *env = open_env(cases[i].id);
    mm_evaluate_config config = config_of(policy, env);
    mm_evaluation e;
    config.episodes = 3;
    config.physics = MM_ENV_PHYSICS_OWN;
    config.flavour = cases[i].asked;
    assert_ok(mm_evaluate_run(&config, &e));
    assert_string_equal(e.physics, "own");
    assert_string_equal(e.flavour, cases[i].flavour);
    assert_int_equal(e.unstable, 0);
    mm_evaluation_release(&e);
    mm_env_destroy(env);
  }
  mm_policy_destroy(policy);
  mm_net_destroy(net);
  mm_map_destroy(map);
}

static void test_refused(void **state) {
  (void)state;
  mm_env *env = open_env("CartPole-v1"), *acrobot = open_env("Acrobot-v1");
  mm_env *pendulum = open_env("Pendulum-v1");
  mm_settings settings = small(MM_ALGO_AMPO);
  mm_policy *policy = make_policy(env, "l2", &settings, 0, 2, 1);
  mm_evaluate_config good = config_of(policy, env), bad = good;
  mm_evaluation e;
  bad.env = acrobot;
  assert_fails(
      mm_evaluate_run(&bad, &e), MM_ERR_INPUT,
      "'Acrobot-v1' has 6 inputs and 3 actions; the policy, of 'CartPole-v1', has 4 and 2");
  bad.env = pendulum;
  assert_fails(mm_evaluate_run(&bad, &e), MM_ERR_INPUT, "'Pendulum-v1' has continuous actions");
  bad = good;
  bad.episodes = 0;
  assert_fails(mm_evaluate_run(&bad, &e), MM_ERR_INPUT, "episodes");
  bad = good;
  bad.agent = 2;
  assert_fails(mm_evaluate_run(&bad, &e), MM_ERR_INPUT, "agents 0 to 1");
  bad.agent = -2;
  assert_fails(mm_evaluate_run(&bad, &e), MM_ERR_INPUT, "agents 0 to 1");
  bad = good;
  bad.threads = -1;
  assert_fails(mm_evaluate_run(&bad, &e), MM_ERR_INPUT, "threads");
  volatile int stop = 1;
  bad = good;
  bad.threads = 2;
  bad.stop = &stop;
  assert_fails(mm_evaluate_run(&bad, &e), MM_ERR_INTERRUPTED, "interrupted");
  assert_null(e.value);
  mm_policy_destroy(policy);
  mm_env_destroy(env);
  mm_env_destroy(acrobot);
  mm_env_destroy(pendulum);
}

// Finite weights whose scores are not: the agent is named, on any number of threads.
static void test_overflow(void **state) {
  (void)state;
  mm_env *env = open_env("CartPole-v1");
  mm_settings settings = small(MM_ALGO_AMPO);
  mm_map *map;
  mm_policy *policy;
  assert_ok(mm_map_open("l2", &map));
  assert_ok(mm_policy_make("CartPole-v1", map, &settings, 0, 4, &policy));
  mm_net_config shape = mm_net_config_default(4, 2);
  shape.hidden[0] = shape.hidden[1] = 16;
  for (size_t i = 0; i < 4; i++) {
    mm_net *net;
    float w[16 * 16], bias[16];
    assert_ok(mm_net_create(&shape, &net));
    for (int k = 0; k < 16 * 16; k++)
      w[k] = 3e38f;
    for (int k = 0; k < 16; k++)
      bias[k] = 1;
    if (i >= 2) mm_net_import(net, MM_NET_PARAM, 3, bias);
    if (i >= 2) mm_net_import(net, MM_NET_PARAM, 4, w);
    assert_ok(mm_policy_set(policy, i, net));
    mm_net_destroy(net);
  }
  mm_evaluate_config config = config_of(policy, env);
  mm_evaluation e;
  for (config.threads = 1; config.threads < 4; config.threads++)
    assert_fails(mm_evaluate_run(&config, &e), MM_ERR_NUMERIC, "agent 2: a score is not finite");
  mm_policy_destroy(policy);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

int suite_evaluate(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_probabilities), cmocka_unit_test(test_indifferent),
    cmocka_unit_test(test_replay),        cmocka_unit_test(test_summary),
    cmocka_unit_test(test_same),          cmocka_unit_test(test_gridworld),
    cmocka_unit_test(test_trained),       cmocka_unit_test(test_refused),
    cmocka_unit_test(test_overflow),      cmocka_unit_test(test_body),
  };
  return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
