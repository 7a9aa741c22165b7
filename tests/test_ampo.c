// The AMPO loop: what a rollout keeps, the metric, the same bits in every build and on every number
// of threads, that it learns, and what is refused.

#include "agent/ampo.h"

#include <math.h>
#include <stdlib.h>

#include "agent_fixture.h"
#include "backend/backend.h"
#include "base/isa.h"
#include "test.h"

static mm_env *open_env(const char *id) {
  mm_env *env;
  assert_ok(mm_env_open(id, &env));
  return env;
}

static mm_map *open_map(const char *name) {
  mm_map *map;
  assert_ok(mm_map_open(name, &map));
  return map;
}

// A run of some iterations of a few environments.
static mm_settings small(void) {
  mm_settings c = mm_settings_default(MM_ALGO_AMPO);
  c.net.envs = 6;
  c.net.unroll = 32;
  c.net.steps = 6 * 32 * 5;
  c.net.epochs = 2;
  c.net.minibatches = 3;
  return c;
}

static mm_result run(const char *id, const char *map_name, const mm_settings *config, uint64_t seed,
                     uint32_t repeat) {
  mm_env *env = open_env(id);
  mm_map *map = open_map(map_name);
  mm_result result;
  mm_job job = job_of(env, map, config, seed);
  job.repeat = repeat;
  assert_ok(mm_job_run(&job, NULL, &result));
  mm_map_destroy(map);
  mm_env_destroy(env);
  return result;
}

static bool same_curve(const mm_result *a, const mm_result *b) {
  assert_int_equal(a->n_curve, b->n_curve);
  return memcmp(a->curve, b->curve, a->n_curve * sizeof *a->curve) == 0;
}

// ---------------------------------------------------------------------------------------------

static void test_lengths(void **state) {
  (void)state;
  mm_settings c = mm_settings_default(MM_ALGO_AMPO);
  assert_int_equal(mm_ampo_iterations(&c.net), 976);
  c = small();
  mm_result r = run("CartPole-v1", "negentropy", &c, 1, 0);
  assert_int_equal(r.n_curve, 5);
  assert_true(r.env_steps == 6 * 32 * 5);
  for (size_t i = 0; i < r.n_curve; i++)
    assert_true(r.curve_step[i] == (i + 1) * 6 * 32);
  assert_true(r.final_value == r.curve[4]);
  assert_true(isnan(r.optimal_value) && r.recent_value > 0);
  mm_result_release(&r);
}

// With one environment that never ends within a rollout and pays 1 a step, all is known: before the
// first end there is no point, there it is the first length, afterwards the mean over the steps of
// the length of the episode that ended last.
static void test_metric(void **state) {
  (void)state;
  mm_settings c = small();
  c.net.envs = 1;
  c.net.unroll = 8;
  c.net.steps = 8 * 40;
  c.net.minibatches = 1;
  c.net.lr = 0; // the first policy stays: uniform, so some twenty steps an episode
  mm_result r = run("CartPole-v1", "l2", &c, 3, 0);
  size_t first = 0;
  while (isnan(r.curve[first]))
    first++;
  assert_true(first > 0); // no pole falls within eight steps
  assert_true(r.curve[first] == floor(r.curve[first]));
  assert_true(r.curve[first] > 8 * (double)first && r.curve[first] <= 8 * (double)(first + 1));
  int changes = 0;
  for (size_t i = first + 1; i < r.n_curve; i++) {
    double eighths = 8 * r.curve[i];
    assert_true(eighths == floor(eighths)); // a mean of eight whole numbers
    changes += r.curve[i] != r.curve[i - 1];
  }
  assert_true(changes >= 5 && r.curve[r.n_curve - 1] > 8);
  mm_result_release(&r);

  // a run that is too short for any end has no points and no final value
  c.net.steps = 8;
  r = run("CartPole-v1", "l2", &c, 3, 0);
  assert_int_equal(r.n_curve, 1);
  assert_true(isnan(r.curve[0]) && isnan(r.final_value) && isnan(r.recent_value));
  mm_result_release(&r);
}

// Environments that have not finished an episode do not count: no pole falls within eight steps, so
// no mean of lengths is below eight, however many poles still stand.
static void test_unfinished(void **state) {
  (void)state;
  mm_settings c = small();
  c.net.envs = 64;
  c.net.unroll = 8;
  c.net.steps = 64 * 8 * 6;
  c.net.lr = 0;
  mm_result r = run("CartPole-v1", "l2", &c, 3, 0);
  assert_true(isnan(r.curve[0]));
  for (size_t i = 1; i < r.n_curve; i++)
    assert_true(r.curve[i] >= 8 && r.curve[i] <= 8 * (double)(i + 1));
  mm_result_release(&r);
  c.net.steps = 1024; // rewards are -1 a step: 0 would be the best value there is
  r = run("Acrobot-v1", "negentropy", &c, 0, 0);
  assert_true(r.n_curve == 2 && isnan(r.curve[1]) && isnan(r.final_value));
  mm_result_release(&r);
}

static void test_tally(void **state) {
  (void)state;
  mm_tally tally = { 0 };
  float running = 3, last = NAN; // in the middle of the first episode
  mm_tally_step(&tally, &running, &last, 1, 0);
  assert_true(isnan(mm_tally_mean(&tally)) && isnan(last) && tally.counted == 0);
  mm_tally_step(&tally, &running, &last, 2, 1);
  assert_true(running == 0 && last == 6 && tally.finished == 1 && tally.finished_sum == 6);
  mm_tally_step(&tally, &running, &last, -4, 1);
  assert_true(last == -4 && tally.counted == 2 && mm_tally_mean(&tally) == 1);
  mm_tally_step(&tally, &running, &last, 5, 0);
  assert_true(running == 5 && tally.finished == 2 && mm_tally_mean(&tally) == -2.0 / 3);
}

// All parameters after a training, as one array to be freed.
static float *train_parameters(const char *id, const char *map_name, uint64_t seed, size_t *size) {
  mm_settings c = small();
  mm_env *env = open_env(id);
  mm_map *map = open_map(map_name);
  mm_ampo *a;
  assert_ok(make_agent_of(env, map, &c, seed, 0, &a));
  for (int64_t i = mm_ampo_iterations(&c.net); i > 0; i--)
    assert_ok(mm_ampo_iterate(a));
  size_t n = 0;
  float *all = NULL;
  for (int i = 0; i < MM_NET_TENSORS; i++) {
    mm_net_tensor t = mm_net_describe(mm_ampo_net(a), i);
    size_t own = (size_t)t.rows * (size_t)t.cols;
    all = realloc(all, (n + own) * sizeof *all);
    assert_non_null(all);
    mm_net_export(mm_ampo_net(a), MM_NET_PARAM, i, all + n);
    n += own;
  }
  mm_ampo_destroy(a);
  mm_map_destroy(map);
  mm_env_destroy(env);
  *size = n * sizeof *all;
  return all;
}

// The same job gives the same networks again, with every build of the kernels; other seeds give
// others.
static void test_bits(void **state) {
  (void)state;
  static const char *const ids[] = { "CartPole-v1", "Breakout-MinAtar", "GridWorld-dense" };
  static const char *const maps[] = { "negentropy",  "l2",       "piecewise",
                                      "tsallis:0.5", "random:3", "neural" };
  static const char *const isas[] = { "portable", "avx2", "avx512" };
  for (int e = 0; e < 3; e++) {
    for (int m = 0; m < 6; m += test_is_slowed() ? 3 : 1) {
      size_t size, again;
      float *first = train_parameters(ids[e], maps[m], 7, &size);
      float *other = train_parameters(ids[e], maps[m], 8, &again);
      assert_int_equal(size, again);
      assert_true(memcmp(first, other, size) != 0);
      free(other);
      for (int isa = 0; isa < 3; isa++) {
        if (mm_isa_select(isas[isa]) != MM_OK) continue; // not on this machine
        other = train_parameters(ids[e], maps[m], 7, &again);
        assert_memory_equal(first, other, size);
        free(other);
      }
      assert_ok(mm_isa_select("auto"));
      free(first);
    }
  }
}

// Losses of the first `n` iterations, each of a single gradient step.
static void first_losses(const char *map_name, mm_settings c, int n, mm_net_report *out) {
  mm_env *env = open_env("CartPole-v1");
  mm_map *map = open_map(map_name);
  mm_ampo *a;
  c.net.epochs = c.net.minibatches = 1;
  assert_ok(make_agent_of(env, map, &c, 4, 0, &a));
  for (int i = 0; i < n; i++) {
    assert_ok(mm_ampo_iterate(a));
    out[i] = mm_ampo_last(a).learned;
  }
  mm_ampo_destroy(a);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Scores begin near 0, so the first target is Ahat + phi^-1(1/2) / eta, the offset gone if centred;
// Ahat has mean 0 and square 1.
static void test_first_target(void **state) {
  (void)state;
  static const struct {
    const char *map;
    double middle; // phi^-1(1/2)
  } cases[] = { { "negentropy", -0.693147 }, { "l2", 0.5 }, { "tsallis:1.5", 2.12132 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_net_report plain, centred;
    mm_settings c = small();
    double offset = cases[i].middle / c.ampo.eta;
    first_losses(cases[i].map, c, 1, &plain);
    c.ampo.center = true;
    first_losses(cases[i].map, c, 1, &centred);
    assert_true(fabs(plain.policy_loss - (1 + offset * offset)) < 0.05);
    assert_true(fabs(centred.policy_loss - 1) < 0.05);
  }
}

// target=code applies eta twice from the second iteration on, and only then.
static void test_code_target(void **state) {
  (void)state;
  mm_settings c = small();
  mm_net_report paper[2], code[2];
  first_losses("negentropy", c, 2, paper);
  c.ampo.code_target = true;
  first_losses("negentropy", c, 2, code);
  assert_true(paper[0].total_loss == code[0].total_loss);
  assert_true(paper[0].grad_norm == code[0].grad_norm);
  assert_true(paper[1].policy_loss != code[1].policy_loss);
  assert_true(paper[1].value_loss == code[1].value_loss); // the same rollout
}

// With one step per iteration PPO's ratios are 1 when it learns, if the rollout kept the right
// probabilities: the loss is minus the mean of Ahat.
static void test_ppo_ratio(void **state) {
  (void)state;
  mm_settings c = mm_settings_default(MM_ALGO_PPO);
  mm_net_report r[5];
  c.net = small().net;
  c.net.lr = 0.05;
  first_losses("negentropy", c, 5, r);
  assert_true(fabs(r[0].entropy - 0.693147) < 1e-3);
  assert_true(r[4].entropy < r[0].entropy); // it has moved
  for (int i = 0; i < 5; i++)
    assert_true(fabs(r[i].policy_loss) < 1e-5);
}

// Every switch changes what happens, except those that must not.
static void test_switches(void **state) {
  (void)state;
  mm_settings base = small();
  mm_result first = run("CartPole-v1", "l2", &base, 2, 0);
#define CHANGED(statement)                                                                         \
  do {                                                                                             \
    mm_settings c = base;                                                                          \
    statement;                                                                                     \
    mm_result r = run("CartPole-v1", "l2", &c, 2, 0);                                              \
    if (same_curve(&first, &r)) fail_msg("no effect: %s", #statement);                             \
    mm_result_release(&r);                                                                         \
  } while (0)
  CHANGED(c.ampo.eta = 0.5);
  CHANGED(c.net.lr = 0.001);
  CHANGED(c.net.gamma = 0.9);
  CHANGED(c.net.gae_lambda = 0.5);
  CHANGED(c.net.max_grad_norm = 0.01);
  CHANGED(c.net.value_coef = 5);
  CHANGED(c.net.epochs = 3);
  CHANGED(c.net.hidden = 32);
  CHANGED(c.ampo.code_target = true);
  CHANGED(c.ampo.bisect10 = true);
  CHANGED(c.ampo.center = true);
  CHANGED(c.net.relu = true);
  CHANGED(c.net.anneal = false);
  CHANGED(c.net.normalise_advantage = false);
#undef CHANGED
  mm_result_release(&first);
  // a limit within the run: MountainCar's 200 steps
  mm_settings c = small();
  c.net.steps = 6 * 32 * 12;
  mm_env *env = open_env("MountainCar-v0");
  mm_map *map = open_map("negentropy");
  float value[2];
  for (int k = 0; k < 2; k++) {
    mm_ampo *a;
    c.net.bootstrap_on_timeout = k == 1;
    assert_ok(make_agent_of(env, map, &c, 2, 0, &a));
    for (int i = 0; i < 12; i++)
      assert_ok(mm_ampo_iterate(a));
    float obs[2] = { -0.5f, 0 };
    mm_net_values(mm_ampo_net(a), &(mm_net_obs){ .floats = obs }, 1, &value[k]);
    mm_ampo_destroy(a);
  }
  assert_true(value[0] != value[1]);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Sticky actions are another game.
static void test_rules(void **state) {
  (void)state;
  mm_settings c = small(), original = c;
  original.net.rules = MM_RULES_MINATAR;
  mm_result a = run("Breakout-MinAtar", "l2", &c, 1, 0);
  mm_result b = run("Breakout-MinAtar", "l2", &original, 1, 0);
  mm_result by_id = run("MinAtar/Breakout-v1", "l2", &c, 1, 0);
  assert_false(same_curve(&a, &b));
  assert_true(same_curve(&b, &by_id));
  mm_result_release(&a);
  mm_result_release(&b);
  mm_result_release(&by_id);
}

static void test_repeats(void **state) {
  (void)state;
  mm_settings c = small();
  mm_result a = run("GridWorld-all", "l2", &c, 1, 0), b = run("GridWorld-all", "l2", &c, 1, 1);
  assert_false(same_curve(&a, &b));
  mm_result_release(&a);
  mm_result_release(&b);
}

static void assert_same_agent(const mm_ampo *a, const mm_ampo *b) {
  const size_t size = mm_ampo_state_size(a);
  assert_int_equal(mm_ampo_state_size(b), size);
  unsigned char *x = calloc(2, size), *y = x + size;
  mm_ampo_save(a, x);
  mm_ampo_save(b, y);
  assert_memory_equal(x, y, size);
  free(x);
}

// An agent made like another is the one it would have been without it, whatever the two have in
// common: the networks, or the seed alone, or nothing.
static void test_like_another(void **state) {
  (void)state;
  static const struct other {
    const char *env;
    uint64_t seed;
    uint32_t repeat;
    double hidden;
    bool relu, iterated;
  } others[] = {
    { "CartPole-v1", 3, 1, 64, false, false }, { "CartPole-v1", 3, 1, 64, true, false },
    { "CartPole-v1", 3, 1, 64, false, true },  { "CartPole-v1", 4, 1, 64, false, false },
    { "CartPole-v1", 3, 0, 64, false, false }, { "CartPole-v1", 3, 1, 32, false, false },
    { "Acrobot-v1", 3, 1, 64, false, false },  { "Asterix-MinAtar", 3, 1, 64, false, false },
  };
  mm_env *env = open_env("CartPole-v1");
  mm_map *l2 = open_map("l2"), *entropy = open_map("negentropy");
  const mm_settings c = small();
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const struct other *o = &others[i];
    mm_settings changed = c;
    mm_ampo *like, *copied, *alone;
    mm_env *other = open_env(o->env);
    changed.net.hidden = o->hidden;
    changed.net.relu = o->relu;
    changed.ampo.eta = 0.5;
    changed.net.envs = 5;
    assert_ok(make_agent_of(other, l2, &changed, o->seed, o->repeat, &like));
    if (o->iterated) assert_ok(mm_ampo_iterate(like));
    mm_job job = job_of(env, entropy, &c, 3);
    job.repeat = 1;
    assert_ok(mm_ampo_create(&job, entropy, like, &copied));
    mm_ampo_destroy(like);
    assert_ok(make_agent_of(env, entropy, &c, 3, 1, &alone));
    assert_same_agent(copied, alone);
    assert_ok(mm_ampo_iterate(copied));
    assert_ok(mm_ampo_iterate(alone));
    assert_same_agent(copied, alone);
    mm_ampo_destroy(copied);
    mm_ampo_destroy(alone);
    mm_env_destroy(other);
  }
  mm_map_destroy(l2);
  mm_map_destroy(entropy);
  mm_env_destroy(env);
}

// A short training on CartPole ends far above chance (22), for every kind of map and for PPO.
static void test_learns(void **state) {
  (void)state;
  if (test_is_slowed()) skip(); // minutes there, and what it executes the other tests do too
  static const char *const maps[] = { "negentropy", "l2", "piecewise", "negentropy" };
  mm_settings c[4];
  mm_job job[16];
  mm_result result[16];
  mm_env *env = open_env("CartPole-v1");
  mm_map *map[4];
  for (int k = 0; k < 4; k++) {
    c[k] = k == 3 ? mm_settings_default(MM_ALGO_PPO) : mm_settings_default(MM_ALGO_AMPO);
    c[k].net.steps = 60000;
    map[k] = open_map(maps[k]);
    for (int i = 0; i < 4; i++)
      job[4 * k + i] = job_of(env, map[k], &c[k], (uint64_t)(10 + i));
  }
  mm_backend_config backend = { .size = sizeof(mm_backend_config) };
  assert_ok(mm_backend_run(&backend, job, 16, result));
  for (int k = 0; k < 4; k++) {
    double mean = 0;
    for (int i = 0; i < 4; i++)
      mean += result[4 * k + i].final_value / 4;
    assert_true(mean > 100);
  }
  // and a single thread gives the same bits
  backend.threads = 1;
  mm_result again[2];
  assert_ok(mm_backend_run(&backend, job, 2, again));
  for (int i = 0; i < 2; i++) {
    assert_true(same_curve(&again[i], &result[i]));
    mm_result_release(&again[i]);
  }
  for (int i = 0; i < 16; i++)
    mm_result_release(&result[i]);
  for (int k = 0; k < 4; k++)
    mm_map_destroy(map[k]);
  mm_env_destroy(env);
}

// A rate that blows everything up is a numerical failure, not a crash.
static void test_breakdown(void **state) {
  (void)state;
  mm_settings c = small();
  c.net.lr = 1000;
  c.net.max_grad_norm = 0;
  c.net.epochs = 50;
  c.net.steps = 6 * 32 * 200;
  c.net.relu = true;
  mm_env *env = open_env("Acrobot-v1");
  mm_map *map = open_map("negentropy");
  mm_result result;
  mm_job job = job_of(env, map, &c, 0);
  assert_int_equal(mm_job_run(&job, NULL, &result), MM_ERR_NUMERIC);
  assert_true(result.n_curve == 0 || isfinite(result.final_value));
  mm_result_release(&result);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void refuse(const char *id, const char *map_name, mm_settings c, const char *why) {
  mm_env *env = open_env(id);
  mm_map *map = open_map(map_name);
  mm_result result;
  mm_job job = job_of(env, map, &c, 0);
  assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, why);
  mm_result_release(&result);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_refused(void **state) {
  (void)state;
  mm_settings c = small(), ppo = mm_settings_default(MM_ALGO_PPO);
  refuse("Pendulum-v1", "l2", c, "continuous actions");
  refuse("CartPole-v1", "l2", ppo, "negentropy");
#define WITH(field, value, why)                                                                    \
  do {                                                                                             \
    mm_settings bad = c;                                                                           \
    bad.field = value;                                                                             \
    refuse("CartPole-v1", "l2", bad, why);                                                         \
  } while (0)
  WITH(ampo.eta, 0, "eta");
  WITH(net.gamma, 1.5, "gamma");
  WITH(net.lr, NAN, "lr");
  WITH(net.minibatches, 6 * 32 + 1, "minibatches");
  WITH(net.steps, 100, "less than one iteration");
  WITH(net.steps, 960.5, "'steps': 960.5 is not a whole number");
  WITH(net.envs, 4.5, "'envs': 4.5 is not a whole number");
  WITH(net.unroll, 32.25, "'unroll'");
  WITH(net.minibatches, 1.5, "'minibatches'");
  WITH(net.epochs, 0.5, "'epochs'");
  WITH(net.hidden, 63.9, "'hidden': 63.9 is not a whole number");
#undef WITH
}

static void test_no_algorithm(void **state) {
  (void)state;
  mm_env *env = open_env("CartPole-v1");
  mm_map *map = open_map("l2");
  mm_result result;
  mm_job job = { .env = env, .map = map };
  assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, "a job without an algorithm");
  mm_result_release(&result);
  mm_result_release(NULL);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_interrupted(void **state) {
  (void)state;
  mm_settings c = small();
  const volatile int stop = 1;
  mm_env *env = open_env("CartPole-v1");
  mm_map *map = open_map("l2");
  mm_result result;
  mm_job job = job_of(env, map, &c, 0);
  assert_int_equal(mm_job_run(&job, &stop, &result), MM_ERR_INTERRUPTED);
  mm_result_release(&result);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

int suite_ampo(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lengths),      cmocka_unit_test(test_metric),
    cmocka_unit_test(test_bits),         cmocka_unit_test(test_first_target),
    cmocka_unit_test(test_code_target),  cmocka_unit_test(test_ppo_ratio),
    cmocka_unit_test(test_switches),     cmocka_unit_test(test_rules),
    cmocka_unit_test(test_repeats),      cmocka_unit_test(test_learns),
    cmocka_unit_test(test_breakdown),    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_interrupted),  cmocka_unit_test(test_like_another),
    cmocka_unit_test(test_no_algorithm), cmocka_unit_test(test_unfinished),
    cmocka_unit_test(test_tally),
  };
  return cmocka_run_group_tests_name("ampo", tests, NULL, NULL);
}
