// SPDX-License-Identifier: Apache-2.0
// Gaussian policies on a CUDA device: first gradients as on the processor, to the rounding of
// halves; the same bits however a list is put together and cut; states that move between processor
// and device; learning as on the processor.

#include <stdio.h>

#include "test.h"

#if HAVE_CUDA

#include "net/net.h"

enum { TENSORS = MM_NET_LOG_STD + 1 };

#include "cuda_rig.h"

// ---------------------------------------------------------------------------------------------
// Gradients

// PPO with what else PMD with Gaussian policies has.
static mm_settings learner_of(bool ppo) {
  const mm_settings gaussian = mm_settings_default(MM_ALGO_GAUSSIAN);
  mm_settings c = mm_settings_default(ppo ? MM_ALGO_PPO : MM_ALGO_GAUSSIAN);
  const size_t size = c.net.size; // of the learner's own struct
  c.net = gaussian.net;
  c.net.size = size;
  return c;
}

static mm_settings config_of(const shape *s) {
  mm_settings c = learner_of(s->ppo);
  set_shape(&c.net, s);
  c.net.normalise_observation = c.net.scale_reward = !s->plain;
  return c;
}

static void check_gradients(const shape *s) {
  const mm_settings config = config_of(s);
  char label[200];
  twins t;
  snprintf(label, sizeof label, "%s, %s, tile %d", s->env, s->map, s->tile);
  open_twins(s->env, s->map, &t);
  train_twins(&t, &config, s->tile, 7);
  const double worst = compare_epoch(&t, label, 1e-3, tolerance_of(s));
  const mm_result cpu = t.cpu, cuda = t.cuda;
  for (int i = MM_MEASURE_ESS; i < MM_MEASURES; i++)
    if (i != MM_MEASURE_DIVERGENCE &&
        fabs(cuda.measure[i] - cpu.measure[i]) > 1e-3 * (1 + fabs(cpu.measure[i])))
      fail_msg("%s, %s: measure %d is %g, on the processor %g", s->env, s->map, i, cuda.measure[i],
               cpu.measure[i]);
  const double gap = cuda.measure[MM_MEASURE_DIVERGENCE], own = cpu.measure[MM_MEASURE_DIVERGENCE];
  print_message("%s, %s, %g rows, tile %d: off by %.2g at most; divergence %.3g and %.3g\n", s->env,
                s->map, s->envs * s->unroll / s->minibatches, s->tile, worst, gap, own);
  if (isnan(gap) != isnan(own) || fabs(gap - own) > 0.05 * own + 1e-7)
    fail_msg("%s, %s: divergence %g, on the processor %g", s->env, s->map, gap, own);
  close_twins(&t);
}

static const char *const envs[] = { "Pendulum-v1", "MountainCarContinuous-v0", "Hopper",
                                    "HalfCheetah", "Ant" };
enum { ENVS = sizeof envs / sizeof *envs };

static void test_gradients(void **state) {
  (void)state;
  for (size_t i = 0; i < ENVS; i++)
    for (int tile = 64; tile <= 160; tile += 96)
      check_gradients(&(shape){ .env = envs[i],
                                .map = "negentropy",
                                .envs = 64,
                                .unroll = 10,
                                .minibatches = 4,
                                .tile = tile });
}

// Sizes that fill no tile, minibatches of different sizes, of several tiles, of a row or two.
static void test_sizes(void **state) {
  (void)state;
  static const double sizes[][3] = { { 1, 7, 1 },   { 3, 33, 7 },  { 9, 50, 5 },
                                     { 100, 6, 1 }, { 65, 10, 4 }, { 40, 30, 3 } };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    check_gradients(&(shape){ .env = "Pendulum-v1",
                              .map = "l2",
                              .envs = sizes[i][0],
                              .unroll = sizes[i][1],
                              .minibatches = sizes[i][2] });
}

static void test_switches(void **state) {
  static const char *const maps[] = { "negentropy", "l2",       "tsallis:0.5", "tsallis:1.5",
                                      "piecewise",  "random:4", "neural",      "random-neural:3" };
  (void)state;
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    check_gradients(&(shape){ .env = envs[i % ENVS],
                              .map = maps[i],
                              .envs = 64,
                              .unroll = 10,
                              .minibatches = 4,
                              .relu = i % 2 == 1,
                              .hidden = i % 3 == 1 ? 100 : 0,
                              .raw = i % 3 == 2,
                              .plain = i % 4 == 3 });
  check_gradients(&(shape){ .env = "Pendulum-v1",
                            .map = "negentropy",
                            .envs = 64,
                            .unroll = 10,
                            .minibatches = 4,
                            .ppo = true });
}

// Three iterations with the same networks, each with a step size of its own.
static void test_eta_schedule(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    const shape s = {
      .env = envs[i], .map = "negentropy", .envs = 64, .unroll = 10, .minibatches = 1
    };
    mm_settings config = config_of(&s);
    config.net.lr = 0;
    config.net.steps *= 3;
    assert_ok(mm_settings_set(&config, "eta_schedule", "1,8,0.25"));
    twins t;
    open_twins(s.env, s.map, &t);
    train_twins(&t, &config, 0, 7);
    compare_epoch(&t, s.env, 1e-3, tolerance_of(&s));
    close_twins(&t);
  }
}

// ---------------------------------------------------------------------------------------------
// Bits

static mm_settings short_run(double iterations) {
  mm_settings c = mm_settings_default(MM_ALGO_GAUSSIAN);
  c.net.envs = 128;
  c.net.unroll = 10;
  c.net.minibatches = 8;
  c.net.epochs = 2;
  c.net.lr = 1e-3;
  c.net.steps = c.net.envs * c.net.unroll * iterations;
  return c;
}

static void test_moving(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    mm_env *env;
    assert_ok(mm_env_open(i ? "Hopper" : "Pendulum-v1", &env));
    const mm_settings config = short_run(3);
    const mm_job job = job_of(env, NULL, &config, 5);
    check_moving(MM_BACKEND_CUDA, &job);
    mm_env_destroy(env);
  }
}

static void test_gap(void **state) {
  mm_env *env;
  mm_map *map;
  (void)state;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  assert_ok(mm_map_open("negentropy", &map));
  mm_settings config = short_run(60);
  config.net.unroll = 200; // until episodes end
  config.net.hidden = 16;
  const mm_job job = job_of(env, map, &config, 5);
  check_gap(MM_BACKEND_CUDA, &job);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Alone, where several blocks share a network, and among many jobs of different lengths and
// environments, more than there are places.
static void test_company(void **state) {
  enum { N = 150 };
  (void)state;
  mm_env *env[ENVS];
  mm_map *map[2];
  moving m;
  open_moving(MM_MAP_NEURAL, &m);
  for (size_t i = 0; i < ENVS; i++)
    assert_ok(mm_env_open(envs[i], &env[i]));
  assert_ok(mm_map_open("negentropy", &map[0]));
  assert_ok(mm_map_open("neural", &map[1]));
  const mm_settings config[2] = { short_run(30), short_run(47) };
  mm_job *job = calloc(N, sizeof *job);
  for (size_t i = 0; i < N; i++)
    job[i] =
        job_of(env[i % ENVS], i % 8 == 7 ? m.map : map[i % 3 == 2], &config[i / 7 % 2], i % 11);
  check_company(job, N);
  free(job);
  for (size_t i = 0; i < ENVS; i++)
    mm_env_destroy(env[i]);
  mm_map_destroy(map[0]);
  mm_map_destroy(map[1]);
  close_moving(&m);
}

// ---------------------------------------------------------------------------------------------
// States

static double mean_between(const mm_result *r, size_t from, size_t to) {
  double sum = 0;
  assert_true(to <= r->n_curve);
  for (size_t i = from; i < to; i++)
    sum += r->curve[i];
  return sum / (double)(to - from);
}

static void check_states(const char *id) {
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_map_open("piecewise", &map));
  mm_settings config = short_run(900);
  config.net.hidden = 16;
  config.net.lr = 1e-4;
  mm_result whole, result;
  const mm_job job = job_of(env, map, &config, 3);
  const uint64_t done = interrupt_and_move(job, &whole, &result);
  // it goes on from there: means of 128 environments, some episodes later
  const double there = mean_between(&whole, done + 30, done + 60);
  const double here = mean_between(&result, done + 30, done + 60);
  print_message("%s: moved after %llu of %zu iterations, then %g; on the device %g\n", id,
                (unsigned long long)done, whole.n_curve, here, there);
  if (!(fabs(there - here) < 0.1 * fabs(here)))
    fail_msg("%s: %g on the device, %g after a move to the processor", id, there, here);
  mm_result_release(&result);
  mm_result_release(&whole);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_states(void **state) {
  (void)state;
  check_states("Pendulum-v1");
  check_states("Hopper");
}

// An episode of Pendulum has 200 steps, each of a negative reward: before their end there is no
// return, not one of 0.
static void test_unfinished(void **state) {
  mm_env *env;
  mm_map *map;
  (void)state;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  assert_ok(mm_map_open("negentropy", &map));
  mm_settings c = short_run(3);
  c.net.unroll = 90;
  c.net.steps = 3 * c.net.unroll * c.net.envs;
  mm_job job = job_of(env, map, &c, 0);
  mm_result r;
  assert_ok(run_on(MM_BACKEND_CUDA, 0, &job, 1, &r));
  assert_int_equal(r.n_curve, 3);
  assert_true(isnan(r.curve[0]) && isnan(r.curve[1]) && r.curve[2] < -100);
  mm_result_release(&r);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------
// Trouble

static void test_numeric(void **state) {
  (void)state;
  const mm_settings tame = short_run(20);
  mm_settings wild = tame;
  wild.net.lr = 1e3;
  wild.net.relu = true;
  wild.net.max_grad_norm = 0;
  check_numeric("Pendulum-v1", &wild, &tame);
}

static void test_refusals(void **state) {
  mm_env *env;
  mm_map *map;
  (void)state;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  assert_ok(mm_map_open("negentropy", &map));
  mm_settings wide = short_run(1);
  wide.net.hidden = 257;
  mm_job job = job_of(env, map, &wide, 0);
  mm_result result;
  assert_fails(run_on(MM_BACKEND_CUDA, 0, &job, 1, &result), MM_ERR_INPUT, "256 hidden units");
  assert_ok(run_on(MM_BACKEND_AUTO, 0, &job, 1, &result)); // by the processor
  mm_result_release(&result);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Rollouts alone: networks stay as they began, and nothing is left of measures from another job.
static void test_no_epochs(void **state) {
  mm_env *env;
  mm_map *map;
  (void)state;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  assert_ok(mm_map_open("l2", &map));
  mm_settings config = short_run(5);
  mm_job job = job_of(env, map, &config, 2);
  mm_result learned, cpu, cuda;
  nets a = { 0 }, b = { 0 };
  assert_ok(run_on(MM_BACKEND_CUDA, 0, &job, 1, &learned));
  config.net.epochs = 0;
  train(MM_BACKEND_CPU, 0, job, &cpu, &a);
  train(MM_BACKEND_CUDA, 0, job, &cuda, &b);
  assert_same_nets(&a, &b);
  assert_int_equal(cuda.n_curve, 5);
  for (size_t i = 0; i < 5 * MM_MEASURES; i++)
    if (isnan(cpu.measure[i]) != isnan(cuda.measure[i]) || cpu.measure[i] < cuda.measure[i] ||
        cpu.measure[i] > cuda.measure[i])
      fail_msg("measure %zu is %g, on the processor %g", i, cuda.measure[i], cpu.measure[i]);
  mm_result_release(&learned);
  mm_result_release(&cpu);
  mm_result_release(&cuda);
  free_nets(&a);
  free_nets(&b);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------
// Learning: final means over seeds on both sides.

static void mean_of(mm_backend_kind kind, const mm_job *job, size_t n, double *mean, double *sem) {
  mm_result *result = calloc(n, sizeof *result);
  double sum = 0, square = 0;
  assert_ok(run_on(kind, 0, job, n, result));
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(result[i].status, MM_OK);
    sum += result[i].final_value;
    square += result[i].final_value * result[i].final_value;
    mm_result_release(&result[i]);
  }
  *mean = sum / (double)n;
  *sem = sqrt((square / (double)n - *mean * *mean) / (double)(n - 1));
  free(result);
}

static void check_learning(const char *map_name, bool ppo) {
  enum { SEEDS = 32 };
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  assert_ok(mm_map_open(map_name, &map));
  mm_settings config = learner_of(ppo);
  if (ppo) config.ppo.entropy_coef = 0;
  config.net.envs = 32;
  config.net.unroll = 64;
  config.net.minibatches = 16;
  config.net.epochs = 8;
  config.net.gamma = 0.9;
  config.net.hidden = 32;
  config.net.lr = 1e-3;
  config.net.steps = 200000;
  mm_job job[SEEDS];
  for (size_t i = 0; i < SEEDS; i++)
    job[i] = job_of(env, map, &config, i);
  double cpu, cpu_sem, cuda, cuda_sem;
  mean_of(MM_BACKEND_CUDA, job, SEEDS, &cuda, &cuda_sem);
  mean_of(MM_BACKEND_CPU, job, SEEDS, &cpu, &cpu_sem);
  print_message("Pendulum-v1, %s: %.1f (%.1f), on the processor %.1f (%.1f)\n",
                ppo ? "ppo" : map_name, cuda, cuda_sem, cpu, cpu_sem);
  assert_true(fabs(cuda - cpu) <= 3 * sqrt(cuda_sem * cuda_sem + cpu_sem * cpu_sem));
  assert_true(cuda > -500); // an agent that has learned nothing has -1200
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_learning(void **state) {
  (void)state;
  check_learning("negentropy", false);
  check_learning("l2", false);
  check_learning("negentropy", true);
}

static void test_profile(void **state) {
  const mm_settings config = learner_of(false);
  (void)state;
  check_profile("Hopper", &config);
}

int suite_cuda_gaussian(void) {
  int count;
  if (mm_cuda_find(&count) != MM_OK) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gradients),    cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_switches),     cmocka_unit_test(test_company),
    cmocka_unit_test(test_states),       cmocka_unit_test(test_numeric),
    cmocka_unit_test(test_refusals),     cmocka_unit_test(test_no_epochs),
    cmocka_unit_test(test_learning),     cmocka_unit_test(test_unfinished),
    cmocka_unit_test(test_eta_schedule), cmocka_unit_test(test_profile),
    cmocka_unit_test(test_moving),       cmocka_unit_test(test_gap),
  };
  return cmocka_run_group_tests_name("cuda_gaussian", tests, NULL, NULL);
}

#else

int suite_cuda_gaussian(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
