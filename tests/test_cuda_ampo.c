// SPDX-License-Identifier: Apache-2.0
// AMPO on a CUDA device: first gradients as on the processor, to the rounding of halves; the same
// bits however a list is put together and cut; states that move between processor and device;
// learning as the reference's own runs.

#include <stdio.h>

#include "test.h"

#if HAVE_CUDA

#include "net/net.h"

enum { TENSORS = MM_NET_TENSORS };

#include "cuda_rig.h"

// ---------------------------------------------------------------------------------------------
// Gradients

static mm_settings config_of(const shape *s) {
  mm_settings c = mm_settings_default(MM_ALGO_AMPO);
  set_shape(&c.net, s);
  c.net.lr = 1e-4;
  c.ampo.code_target = s->code;
  c.ampo.bisect10 = s->bisect;
  c.ampo.center = s->center;
  return c;
}

static void check_gradients(const shape *s) {
  const mm_settings config = config_of(s);
  char label[200];
  twins t;
  snprintf(label, sizeof label, "%s, %s, tile %d", s->env, s->map, s->tile);
  open_twins(s->env, s->map, &t);
  train_twins(&t, &config, s->tile, 7);
  compare_epoch(&t, label, 1e-9, tolerance_of(s));
  close_twins(&t);
}

static void test_gradients(void **state) {
  static const char *const envs[] = { "CartPole-v1",      "Acrobot-v1",           "MountainCar-v0",
                                      "Asterix-MinAtar",  "Breakout-MinAtar",     "Freeway-MinAtar",
                                      "Seaquest-MinAtar", "SpaceInvaders-MinAtar" };
  (void)state;
  for (size_t i = 0; i < sizeof envs / sizeof *envs; i++) {
    const bool bits = i >= 3;
    for (int tile = 32; tile <= 128; tile *= 2)
      check_gradients(&(shape){ .env = envs[i],
                                .map = "negentropy",
                                .envs = bits ? 64 : 4,
                                .unroll = bits ? 16 : 128,
                                .minibatches = bits ? 2 : 4,
                                .tile = tile });
  }
}

// Sizes that fill no tile, many environments, minibatches of different sizes, a batch that does not
// fit into a block's memory.
static void test_sizes(void **state) {
  (void)state;
  static const double sizes[][3] = { { 1, 7, 1 },   { 3, 33, 7 },    { 9, 50, 5 },  { 40, 30, 3 },
                                     { 300, 4, 2 }, { 17, 129, 64 }, { 16, 512, 4 } };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    shape s = {
      .map = "l2", .envs = sizes[i][0], .unroll = sizes[i][1], .minibatches = sizes[i][2]
    };
    s.env = "Acrobot-v1";
    check_gradients(&s);
    s.env = "Freeway-MinAtar";
    check_gradients(&s);
  }
}

static void test_switches(void **state) {
  static const char *const maps[] = { "negentropy", "l2",       "tsallis:0.5", "tsallis:1.5",
                                      "piecewise",  "random:4", "neural" };
  (void)state;
  for (int i = 0; i < 7; i++) {
    shape s = { .map = maps[i], .envs = 4, .unroll = 128, .minibatches = 4 };
    s.relu = i % 2 == 1;
    s.code = i % 3 == 1;
    s.raw = i % 4 == 2;
    s.center = i % 5 == 3;
    s.bisect = i == 4;
    s.env = i % 2 ? "CartPole-v1" : "Acrobot-v1";
    check_gradients(&s);
    s.env = i % 2 ? "Asterix-MinAtar" : "MinAtar/Breakout-v1";
    s.envs = 32;
    s.unroll = 24;
    s.minibatches = 3;
    check_gradients(&s);
  }
}

static mm_settings short_run(double iterations) {
  mm_settings c = mm_settings_default(MM_ALGO_AMPO);
  c.net.steps = c.net.envs * c.net.unroll * iterations;
  return c;
}

static mm_settings short_minatar(double iterations) {
  mm_settings c = mm_settings_default(MM_ALGO_AMPO);
  c.net.envs = 64;
  c.net.unroll = 32;
  c.net.minibatches = 4;
  c.net.epochs = 2;
  c.net.lr = 7e-4;
  c.net.steps = c.net.envs * c.net.unroll * iterations;
  return c;
}

// ---------------------------------------------------------------------------------------------
// Scales: targets are as large as phi^-1(1) / eta, far beyond halves and far below them

// phi^-1(p) = width p
static mm_map *straight_map(double width) {
  double psi[MM_PIECEWISE_N];
  mm_map *map;
  for (int i = 0; i < MM_PIECEWISE_N; i++)
    psi[i] = width / MM_PIECEWISE_N;
  assert_ok(mm_map_create_piecewise(psi, MM_PIECEWISE_N, &map));
  return map;
}

// The largest difference of the first moments of networks, by the largest moment of its network.
static double worst_entry(const nets *a, const nets *b) {
  double worst = 0;
  for (int first = 0; first < MM_NET_TENSORS; first += MM_NET_TENSORS / 2) {
    double difference = 0, size = 0;
    for (int i = first; i < first + MM_NET_TENSORS / 2; i++)
      for (size_t k = 0; k < a->n[i]; k++) {
        const double d = fabs((double)b->moment[i][k] - (double)a->moment[i][k]);
        if (!(d <= difference)) difference = d;
        size = fmax(size, fabs((double)a->moment[i][k]));
      }
    if (!(difference / size <= worst)) worst = difference / size;
  }
  return worst;
}

// The first gradient, of one minibatch, on both; how far apart.
static double gap(const mm_env *env, const mm_map *map, const mm_settings *config, int tile,
                  uint64_t seed) {
  const mm_job job = job_of(env, map, config, seed);
  mm_result cpu, cuda;
  nets a = { 0 }, b = { 0 };
  train(MM_BACKEND_CPU, 0, job, &cpu, &a);
  train(MM_BACKEND_CUDA, tile, job, &cuda, &b);
  const double worst = worst_entry(&a, &b);
  mm_result_release(&cpu);
  mm_result_release(&cuda);
  free_nets(&a);
  free_nets(&b);
  return worst;
}

// Where scores are large beside the map a policy is all but deterministic, and its choice between
// two that are nearly alike may fall differently: then one of three seeds at least is much the
// same.
static void check_scale(const char *id, double width, mm_settings config, int tile) {
  mm_env *env;
  mm_map *map = straight_map(width);
  assert_ok(mm_env_open(id, &env));
  const bool sharp = config.ampo.eta > 10 * width;
  const double most = sharp ? 0.1 : 0.01;
  double worst = INFINITY;
  for (uint64_t seed = 7; seed < (sharp ? 10 : 8); seed++)
    worst = fmin(worst, gap(env, map, &config, tile, seed));
  if (!(worst < most))
    fail_msg("%s, tile %d, phi^-1(1) = %g, eta = %g, value_coef = %g: a gradient is off by %.2g of "
             "the largest",
             id, tile, width, config.ampo.eta, config.net.value_coef, worst);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_scales(void **state) {
  static const struct {
    const char *env;
    double envs, unroll;
    int tile;
  } shapes[] = { { "CartPole-v1", 4, 32, 128 },      { "CartPole-v1", 4, 32, 32 },
                 { "Acrobot-v1", 4, 32, 128 },       { "Acrobot-v1", 8, 128, 64 },
                 { "Asterix-MinAtar", 64, 16, 128 }, { "Asterix-MinAtar", 64, 16, 32 },
                 { "Freeway-MinAtar", 64, 8, 128 } };
  static const double etas[] = { 1e-6, 1e-3, 1, 1e3 }, widths[] = { 1e-6, 1, 1e6 };
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    mm_settings config =
        config_of(&(shape){ .envs = shapes[i].envs, .unroll = shapes[i].unroll, .minibatches = 1 });
    for (int k = 0; k < 12; k++) {
      config.ampo.eta = etas[k % 4];
      check_scale(shapes[i].env, widths[k / 4], config, shapes[i].tile);
    }
    config.ampo.eta = 1;
    config.net.value_coef = 1e-6;
    check_scale(shapes[i].env, 1, config, shapes[i].tile);
    config.net.value_coef = 1e6;
    config.net.max_grad_norm = 0;
    check_scale(shapes[i].env, 1, config, shapes[i].tile);
    config.ampo.code_target = true;
    check_scale(shapes[i].env, 1e6, config, shapes[i].tile);
  }
}

// What the processor trains the device trains.
static void test_far_targets(void **state) {
  static const struct {
    double width, eta;
    bool relu;
  } rows[] = { { 1, 1e-5, false }, { 1e6, 0.9, false }, { 1e6, 1e-6, false }, { 1e6, 0.9, true } };
  (void)state;
  for (int i = 0; i < 8; i++) {
    mm_env *env;
    mm_map *map = straight_map(rows[i / 2].width);
    assert_ok(mm_env_open(i % 2 ? "Asterix-MinAtar" : "CartPole-v1", &env));
    mm_settings config = i % 2 ? short_minatar(8) : short_run(60);
    config.ampo.eta = rows[i / 2].eta;
    config.net.relu = rows[i / 2].relu;
    const mm_job job = job_of(env, map, &config, 1);
    mm_result result[2];
    for (int on = 0; on < 2; on++)
      assert_ok(run_on(on ? MM_BACKEND_CUDA : MM_BACKEND_CPU, 0, &job, 1, &result[on]));
    assert_int_equal(result[0].status, MM_OK);
    assert_int_equal(result[1].status, MM_OK);
    mm_result_release(&result[0]);
    mm_result_release(&result[1]);
    mm_map_destroy(map);
    mm_env_destroy(env);
  }
}

// Three iterations with the same networks: rollouts and targets by the step sizes of each.
static void test_eta_schedule(void **state) {
  static const char *const envs[] = { "CartPole-v1", "Acrobot-v1", "Asterix-MinAtar" };
  (void)state;
  for (int i = 0; i < 6; i++) {
    const bool bits = i % 3 == 2;
    shape s = { .env = envs[i % 3], .map = i < 3 ? "negentropy" : "l2", .code = i >= 3 };
    s.envs = bits ? 64 : 4;
    s.unroll = bits ? 16 : 128;
    s.minibatches = 1;
    mm_settings config = config_of(&s);
    config.net.lr = 0;
    config.net.steps *= 3;
    assert_ok(mm_settings_set(&config, "eta_schedule", "1,3,0.5"));
    twins t, plain;
    open_twins(s.env, s.map, &t);
    train_twins(&t, &config, 0, 7);
    compare_epoch(&t, s.env, 1e-9, tolerance_of(&s));
    assert_ok(mm_settings_set(&config, "eta_schedule", "none"));
    open_twins(s.env, s.map, &plain);
    train_twins(&plain, &config, 0, 7);
    assert_true(worst_entry(&t.b, &plain.b) > 0.01); // it is felt
    assert_ok(mm_settings_set(&config, "eta_schedule", "1,1"));
    mm_result constant;
    const mm_job job = job_of(t.env, t.map, &config, 7);
    assert_ok(run_on(MM_BACKEND_CUDA, 0, &job, 1, &constant));
    assert_same_curves(&plain.cuda, &constant);
    mm_result_release(&constant);
    close_twins(&t);
    close_twins(&plain);
  }
}

// ---------------------------------------------------------------------------------------------
// Maps that move

// The same with the maps of each, beside the CPU.
static void test_moving_gradients(void **state) {
  static const char *const envs[] = { "CartPole-v1", "Acrobot-v1", "Asterix-MinAtar" };
  (void)state;
  for (int i = 0; i < 3 * MOVING_KINDS; i++) {
    const bool bits = i % 3 == 2;
    shape s = { .env = envs[i % 3], .center = i % 2, .code = i % 4 == 3 };
    s.envs = bits ? 64 : 4;
    s.unroll = bits ? 16 : 128;
    s.minibatches = 1;
    mm_settings config = config_of(&s);
    config.net.lr = 0;
    config.net.steps *= 3;
    moving m;
    twins t = { 0 };
    char label[100];
    snprintf(label, sizeof label, "%s, %s", s.env, mm_map_kind_name(moving_kinds[i / 3]));
    open_moving(moving_kinds[i / 3], &m);
    assert_ok(mm_env_open(s.env, &t.env));
    t.map = m.map;
    train_twins(&t, &config, 0, 7);
    compare_epoch(&t, label, 1e-9, tolerance_of(&s));
    t.map = NULL;
    close_twins(&t);
    close_moving(&m);
  }
}

static void test_moving(void **state) {
  static const char *const envs[] = { "CartPole-v1", "Acrobot-v1", "Asterix-MinAtar",
                                      "Freeway-MinAtar" };
  (void)state;
  for (int i = 0; i < 4; i++) {
    mm_env *env;
    assert_ok(mm_env_open(envs[i], &env));
    mm_settings config = i < 2 ? short_run(3) : short_minatar(3);
    config.ampo.center = i % 2;
    const mm_job job = job_of(env, NULL, &config, 5);
    check_moving(MM_BACKEND_CUDA, &job);
    mm_env_destroy(env);
  }
}

// Targets are beyond all floats there: nothing is learned.
static void test_gap(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    mm_env *env;
    mm_map *map;
    assert_ok(mm_env_open(i ? "Asterix-MinAtar" : "CartPole-v1", &env));
    assert_ok(mm_map_open("l2", &map));
    mm_settings config = i ? short_minatar(3) : short_run(3);
    config.net.epochs = 0;
    config.net.steps *= i ? 4 : 1; // until episodes end
    config.net.unroll *= i ? 4 : 1;
    const mm_job job = job_of(env, map, &config, 5);
    check_gap(MM_BACKEND_CUDA, &job);
    mm_map_destroy(map);
    mm_env_destroy(env);
  }
}

// ---------------------------------------------------------------------------------------------
// Bits

// Alone, and among many jobs of different lengths and environments, more than there are places.
static void test_company(void **state) {
  enum { N = 300 };
  static const char *const ids[] = { "CartPole-v1", "Acrobot-v1", "Asterix-MinAtar" };
  (void)state;
  mm_env *env[3];
  mm_map *map;
  moving m;
  open_moving(MM_MAP_PIECEWISE, &m);
  for (int i = 0; i < 3; i++)
    assert_ok(mm_env_open(ids[i], &env[i]));
  assert_ok(mm_map_open("piecewise", &map));
  const mm_settings config[4] = { short_run(20), short_run(33), short_minatar(5),
                                  short_minatar(3) };
  mm_job *job = calloc(N, sizeof *job);
  for (size_t i = 0; i < N; i++) {
    const size_t e = i % 5 == 4 ? 2 : i % 2;
    job[i] =
        job_of(env[e], i % 4 == 3 ? m.map : map, &config[(e == 2 ? 2 : 0) + i / 7 % 2], i % 11);
  }
  check_company(job, N);
  free(job);
  mm_map_destroy(map);
  close_moving(&m);
  for (int i = 0; i < 3; i++)
    mm_env_destroy(env[i]);
}

// ---------------------------------------------------------------------------------------------
// States

static void check_states(const char *id, const mm_map *map, const mm_settings *config) {
  mm_env *env;
  mm_result whole, result;
  assert_ok(mm_env_open(id, &env));
  const mm_job job = job_of(env, map, config, 3);
  interrupt_and_move(job, &whole, &result);
  mm_result_release(&result);
  mm_result_release(&whole);
  mm_env_destroy(env);
}

static void test_states(void **state) {
  (void)state;
  mm_settings classic = short_run(900), minatar = short_minatar(400);
  mm_settings brief = short_run(200); // powers take a device 80 ms an iteration
  assert_ok(mm_settings_set(&classic, "eta_schedule", "1,2,0.5"));
  assert_ok(mm_settings_set(&brief, "eta_schedule", "1,2,0.5"));
  assert_ok(mm_settings_set(&minatar, "eta_schedule", "1,2,0.5"));
  mm_map *map;
  moving m;
  assert_ok(mm_map_open("piecewise", &map));
  open_moving(MM_MAP_POWERS, &m);
  check_states("CartPole-v1", map, &classic);
  check_states("Acrobot-v1", map, &classic);
  check_states("Acrobot-v1", m.map, &brief);
  check_states("Seaquest-MinAtar", map, &minatar);
  mm_map_destroy(map);
  close_moving(&m);
}

// Environments that have not finished an episode do not count, and a run without any has no value;
// see test_unfinished of the suite ampo. By teams of warps and, with four environments,
// speculatively.
static void test_unfinished(void **state) {
  static const struct {
    const char *env;
    double envs;
  } kind[] = {
    { "CartPole-v1", 64 }, { "CartPole-v1", 4 }, { "Acrobot-v1", 4 }, { "Asterix-MinAtar", 64 }
  };
  (void)state;
  for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
    mm_env *env;
    mm_map *map;
    assert_ok(mm_env_open(kind[k].env, &env));
    assert_ok(mm_map_open("l2", &map));
    mm_settings c = mm_settings_default(MM_ALGO_AMPO);
    c.net.envs = kind[k].envs;
    c.net.unroll = 8;
    c.net.steps = c.net.envs * c.net.unroll * (k < 2 ? 30 : 1);
    c.net.lr = 0;
    mm_job job = job_of(env, map, &c, 0);
    mm_result r;
    assert_ok(run_on(MM_BACKEND_CUDA, 0, &job, 1, &r));
    assert_true(isnan(r.curve[0]) && (k < 2) == !isnan(r.final_value));
    for (size_t i = 1; i < r.n_curve; i++)
      assert_true(isnan(r.curve[i]) || r.curve[i] >= 8);
    mm_result_release(&r);
    mm_map_destroy(map);
    mm_env_destroy(env);
  }
}

// ---------------------------------------------------------------------------------------------
// Trouble

static void test_numeric(void **state) {
  (void)state;
  const mm_settings tame = short_run(40);
  mm_settings wild = tame;
  wild.net.lr = 1e3;
  wild.net.relu = true;
  wild.net.anneal = false;
  wild.net.max_grad_norm = 0;
  check_numeric("CartPole-v1", &wild, &tame);
}

static void test_refusals(void **state) {
  mm_env *env;
  mm_map *map;
  (void)state;
  assert_ok(mm_env_open("CartPole-v1", &env));
  assert_ok(mm_map_open("negentropy", &map));
  mm_settings wide = short_run(1), ppo = mm_settings_default(MM_ALGO_PPO);
  wide.net.hidden = 65;
  mm_job job = job_of(env, map, &wide, 0);
  mm_result result;
  assert_fails(run_on(MM_BACKEND_CUDA, 0, &job, 1, &result), MM_ERR_INPUT, "64 hidden units");
  ppo.net.steps = 1024;
  mm_settings_bind(&ppo, &job);
  assert_fails(run_on(MM_BACKEND_CUDA, 0, &job, 1, &result), MM_ERR_INPUT, "ppo");
  assert_ok(run_on(MM_BACKEND_AUTO, 0, &job, 1, &result)); // by the processor
  mm_result_release(&result);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Fewer hidden units are padded.
static void test_narrow(void **state) {
  (void)state;
  check_gradients(&(shape){ .env = "CartPole-v1",
                            .map = "negentropy",
                            .envs = 4,
                            .unroll = 128,
                            .minibatches = 4,
                            .hidden = 24 });
}

// Rollouts alone: networks stay as they began.
static void test_no_epochs(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    mm_env *env;
    mm_map *map;
    assert_ok(mm_env_open(i ? "Asterix-MinAtar" : "CartPole-v1", &env));
    assert_ok(mm_map_open("l2", &map));
    mm_settings config = i ? short_minatar(3) : short_run(9);
    config.net.epochs = 0;
    const mm_job job = job_of(env, map, &config, 2);
    mm_result cpu, cuda;
    nets a = { 0 }, b = { 0 };
    train(MM_BACKEND_CPU, 0, job, &cpu, &a);
    train(MM_BACKEND_CUDA, 0, job, &cuda, &b);
    assert_same_nets(&a, &b);
    assert_int_equal(cpu.n_curve, cuda.n_curve);
    assert_int_equal(cpu.env_steps, cuda.env_steps);
    mm_result_release(&cpu);
    mm_result_release(&cuda);
    free_nets(&a);
    free_nets(&b);
    mm_map_destroy(map);
    mm_env_destroy(env);
  }
}

// ---------------------------------------------------------------------------------------------
// Learning: the reference implementation's own final means over 64 seeds, with standard errors.

static void test_learning(void **state) {
  enum { SEEDS = 128 };
  static const struct {
    const char *env, *map;
    bool code;
    double mean, sem;
  } rows[] = {
    { "CartPole-v1", "negentropy", false, 479.3, 6.1 },
    { "Acrobot-v1", "negentropy", false, -86.8, 2.2 },
    { "CartPole-v1", "negentropy", true, 385.4, 11.5 },
    { "Acrobot-v1", "negentropy", true, -106.0, 1.9 },
    { "CartPole-v1", "l2", false, 458.3, 13.5 },
    { "Acrobot-v1", "l2", false, -77.5, 0.8 },
  };
  (void)state;
  mm_job job[SEEDS];
  mm_result result[SEEDS];
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    mm_env *env;
    mm_map *map;
    assert_ok(mm_env_open(rows[k].env, &env));
    assert_ok(mm_map_open(rows[k].map, &map));
    mm_settings config = mm_settings_default(MM_ALGO_AMPO);
    config.ampo.code_target = rows[k].code;
    for (size_t i = 0; i < SEEDS; i++)
      job[i] = job_of(env, map, &config, i);
    assert_ok(run_on(MM_BACKEND_CUDA, 0, job, SEEDS, result));
    double sum = 0, square = 0;
    for (size_t i = 0; i < SEEDS; i++) {
      sum += result[i].final_value;
      square += result[i].final_value * result[i].final_value;
      mm_result_release(&result[i]);
    }
    const double mean = sum / SEEDS, variance = square / SEEDS - mean * mean;
    const double own = variance / (SEEDS - 1), sem = sqrt(own + rows[k].sem * rows[k].sem);
    print_message("%s, %s, target=%s: %.1f (%.1f), reference %.1f (%.1f)\n", rows[k].env,
                  rows[k].map, rows[k].code ? "code" : "paper", mean, sqrt(own), rows[k].mean,
                  rows[k].sem);
    assert_true(fabs(mean - rows[k].mean) <= 3 * sem);
    mm_map_destroy(map);
    mm_env_destroy(env);
  }
}

static void test_profile(void **state) {
  static const char *const envs[][2] = { { "CartPole-v1", "bcs" },
                                         { "Asterix-MinAtar", "minatar" } };
  (void)state;
  for (int i = 0; i < 2; i++) {
    mm_settings config = mm_settings_default(MM_ALGO_AMPO);
    mm_settings_fit(&config, envs[i][1]);
    check_profile(envs[i][0], &config);
  }
}

int suite_cuda_ampo(void) {
  int count;
  if (mm_cuda_find(&count) != MM_OK) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gradients),   cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_switches),    cmocka_unit_test(test_scales),
    cmocka_unit_test(test_far_targets), cmocka_unit_test(test_company),
    cmocka_unit_test(test_states),      cmocka_unit_test(test_numeric),
    cmocka_unit_test(test_refusals),    cmocka_unit_test(test_narrow),
    cmocka_unit_test(test_no_epochs),   cmocka_unit_test(test_learning),
    cmocka_unit_test(test_unfinished),  cmocka_unit_test(test_eta_schedule),
    cmocka_unit_test(test_profile),     cmocka_unit_test(test_moving_gradients),
    cmocka_unit_test(test_moving),      cmocka_unit_test(test_gap),
  };
  return cmocka_run_group_tests_name("cuda_ampo", tests, NULL, NULL);
}

#else

int suite_cuda_ampo(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
