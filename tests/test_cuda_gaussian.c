// Gaussian policies on a CUDA device: first gradients as on the processor, to the rounding of
// halves; the same bits however a list is put together and cut; states that move between processor
// and device; learning as on the processor.

#include <stdio.h>

#include "agent_fixture.h"
#include "test.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>

#include "agent/job_hooks.h"
#include "backend/backend.h"
#include "backend/cuda/host/cuda.h"
#include "base/status.h"

enum { TENSORS = MM_NET_LOG_STD + 1 };

// What a training leaves behind.
typedef struct nets {
  size_t n[TENSORS];
  char name[TENSORS][32];
  float *param[TENSORS], *moment[TENSORS];
} nets;

static void keep_nets(const mm_job *job, mm_net *net, void *user) {
  nets *k = user;
  (void)job;
  for (int i = 0; i < TENSORS; i++) {
    const mm_net_tensor t = mm_net_describe(net, i);
    k->n[i] = (size_t)t.rows * (size_t)t.cols;
    snprintf(k->name[i], sizeof k->name[i], "%s", t.name);
    k->param[i] = malloc(k->n[i] * sizeof(float));
    k->moment[i] = malloc(k->n[i] * sizeof(float));
    mm_net_export(net, MM_NET_PARAM, i, k->param[i]);
    mm_net_export(net, MM_NET_MOMENT1, i, k->moment[i]);
  }
}

static void free_nets(nets *k) {
  for (int i = 0; i < TENSORS; i++) {
    free(k->param[i]);
    free(k->moment[i]);
  }
  memset(k, 0, sizeof *k);
}

static void assert_same_nets(const nets *a, const nets *b) {
  for (int i = 0; i < TENSORS; i++) {
    if (memcmp(a->param[i], b->param[i], a->n[i] * sizeof(float)) != 0)
      fail_msg("%s differs", a->name[i]);
    if (memcmp(a->moment[i], b->moment[i], a->n[i] * sizeof(float)) != 0)
      fail_msg("Adam's moments of %s differ", a->name[i]);
  }
}

static int network_of(int tensor) {
  return tensor == MM_NET_LOG_STD ? 0 : tensor / (MM_NET_TENSORS / 2);
}

// How far tensor i of b's first moments is from a's, by the size of all moments of its network.
static double distance(const nets *a, const nets *b, int i) {
  double difference = 0, size = 0;
  for (size_t k = 0; k < a->n[i]; k++)
    difference += pow((double)b->moment[i][k] - (double)a->moment[i][k], 2);
  for (int t = 0; t < TENSORS; t++)
    for (size_t k = 0; k < a->n[t] && network_of(t) == network_of(i); k++)
      size += pow((double)a->moment[t][k], 2);
  return sqrt(difference / (size > 0 ? size : 1));
}

static mm_status run_on(mm_backend_kind kind, int tile, const mm_job *jobs, size_t n,
                        mm_result *results) {
  mm_backend_config config = { .place = { .kind = kind, .tile = tile } };
  return mm_backend_run(&config, jobs, n, results);
}

// One job with its networks.
static void train(mm_backend_kind kind, int tile, mm_job job, mm_result *result, nets *out) {
  const mm_job_hooks hooks = { .trained = keep_nets, .user = out };
  job.hooks = &hooks;
  assert_ok(run_on(kind, tile, &job, 1, result));
  assert_int_equal(result->status, MM_OK);
}

// ---------------------------------------------------------------------------------------------
// Gradients

typedef struct shape {
  const char *env, *map;
  double envs, unroll, minibatches, hidden;
  int tile;
  bool relu, ppo, raw, plain; // plain: observations and rewards as they are
} shape;

// PPO with what else PMD with Gaussian policies has.
static mm_settings learner_of(bool ppo) {
  const mm_settings gaussian = mm_settings_default(MM_ALGO_GAUSSIAN);
  mm_settings c = mm_settings_default(ppo ? MM_ALGO_PPO : MM_ALGO_GAUSSIAN);
  c.net = gaussian.net;
  return c;
}

static mm_settings config_of(const shape *s) {
  mm_settings c = learner_of(s->ppo);
  c.net.envs = s->envs;
  c.net.unroll = s->unroll;
  c.net.minibatches = s->minibatches;
  if (s->hidden > 0) c.net.hidden = s->hidden;
  c.net.steps = s->envs * s->unroll;
  c.net.epochs = 1;
  c.net.relu = s->relu;
  c.net.normalise_advantage = !s->raw;
  c.net.normalise_observation = c.net.scale_reward = !s->plain;
  return c;
}

// Every operand of a product is rounded to a half, by up to 2^-12 of its size, and the gradient of
// the second layer at last to 8 bits, which a sum over many of them does not feel. Sums over few
// rows do worse, and so does relu, whose slope jumps.
static double tolerance_of(const shape *s) {
  const double rows = s->envs * s->unroll / s->minibatches;
  return (s->relu || rows < 64 ? 4 : 1) * 10 * 0x1p-11;
}

static void check_gradients(const shape *s) {
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open(s->env, &env));
  assert_ok(mm_map_open(s->map, &map));
  const mm_settings config = config_of(s);
  const mm_job job = job_of(env, map, &config, 7);
  mm_result cpu, cuda;
  nets a = { 0 }, b = { 0 };
  double worst = 0;
  train(MM_BACKEND_CPU, 0, job, &cpu, &a);
  train(MM_BACKEND_CUDA, s->tile, job, &cuda, &b);
  assert_int_equal(cpu.n_curve, 1);
  assert_int_equal(cuda.n_curve, 1);
  if (fabs(cuda.curve[0] - cpu.curve[0]) > 1e-3 * (1 + fabs(cpu.curve[0])))
    fail_msg("%s, %s: metric %.17g, on the processor %.17g", s->env, s->map, cuda.curve[0],
             cpu.curve[0]);
  for (int i = 0; i < TENSORS; i++) {
    const double d = distance(&a, &b, i);
    worst = fmax(worst, d);
    if (!(d < tolerance_of(s)))
      fail_msg("%s, %s, tile %d: gradient of %s is off by %.2g of its network's", s->env, s->map,
               s->tile, a.name[i], d);
  }
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
  mm_result_release(&cpu);
  mm_result_release(&cuda);
  free_nets(&a);
  free_nets(&b);
  mm_map_destroy(map);
  mm_env_destroy(env);
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

static void assert_same_curves(const mm_result *a, const mm_result *b) {
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->n_curve, b->n_curve);
  assert_memory_equal(a->curve, b->curve, a->n_curve * sizeof *a->curve);
  for (size_t i = 0; i < a->n_curve * MM_MEASURES; i++)
    assert_true(a->measure[i] == b->measure[i] || (isnan(a->measure[i]) && isnan(b->measure[i])));
}

// Alone, where several blocks share a network, and among many jobs of different lengths and
// environments, more than there are places.
static void test_company(void **state) {
  enum { N = 150 };
  (void)state;
  mm_env *env[ENVS];
  mm_map *map[2];
  for (size_t i = 0; i < ENVS; i++)
    assert_ok(mm_env_open(envs[i], &env[i]));
  assert_ok(mm_map_open("negentropy", &map[0]));
  assert_ok(mm_map_open("neural", &map[1]));
  const mm_settings config[2] = { short_run(30), short_run(47) };
  mm_job *job = calloc(N, sizeof *job);
  mm_result *result = calloc(N, sizeof *result);
  for (size_t i = 0; i < N; i++)
    job[i] = job_of(env[i % ENVS], map[i % 3 == 2], &config[i / 7 % 2], i % 11);
  assert_ok(run_on(MM_BACKEND_CUDA, 0, job, N, result));
  for (size_t i = 0; i < N; i += 23) {
    mm_result alone;
    assert_ok(run_on(MM_BACKEND_CUDA, 0, &job[i], 1, &alone));
    assert_same_curves(&alone, &result[i]);
    mm_result_release(&alone);
  }
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(result[i].status, MM_OK);
    mm_result_release(&result[i]);
  }
  free(job);
  free(result);
  for (size_t i = 0; i < ENVS; i++)
    mm_env_destroy(env[i]);
  mm_map_destroy(map[0]);
  mm_map_destroy(map[1]);
}

// ---------------------------------------------------------------------------------------------
// States

typedef struct saved {
  void *state;
  size_t size;
  volatile int stop;
  nets nets;
} saved;

static void keep_state(const mm_job *job, const void *state, size_t size, void *user) {
  saved *s = user;
  (void)job;
  free(s->state);
  s->state = malloc(size);
  s->size = size;
  memcpy(s->state, state, size);
}

static void keep_trained(const mm_job *job, mm_net *net, void *user) {
  keep_nets(job, net, &((saved *)user)->nets);
}

static void stop_soon(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)done, (void)total;
  if (env_steps > 0) ((saved *)user)->stop = 1;
}

static double mean_between(const mm_result *r, size_t from, size_t to) {
  double sum = 0;
  assert_true(to <= r->n_curve);
  for (size_t i = from; i < to; i++)
    sum += r->curve[i];
  return sum / (double)(to - from);
}

// Interrupts a training on the device, and goes on there to the same bits; then on the processor.
static void check_states(const char *id) {
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_map_open("piecewise", &map));
  mm_settings config = short_run(900);
  config.net.hidden = 16;
  config.net.lr = 1e-4;
  saved s = { 0 };
  const mm_job_hooks hooks = { .save = keep_state, .trained = keep_trained, .user = &s };
  mm_job job = job_of(env, map, &config, 3);
  job.hooks = &hooks;
  mm_result whole, result;
  nets expected = { 0 };
  train(MM_BACKEND_CUDA, 0, job, &whole, &expected);

  mm_backend_config backend = {
    .place.kind = MM_BACKEND_CUDA, .stop = &s.stop, .progress = stop_soon, .user = &s
  };
  assert_int_equal(mm_backend_run(&backend, &job, 1, &result), MM_ERR_INTERRUPTED);
  assert_int_equal(result.status, MM_ERR_INTERRUPTED);
  assert_non_null(s.state);
  const uint64_t done = mm_job_state_done(s.state, s.size);
  assert_in_range(done, 1, whole.n_curve - 1);
  job.state = s.state;
  job.state_size = s.size;
  assert_ok(run_on(MM_BACKEND_CUDA, 0, &job, 1, &result));
  assert_same_curves(&whole, &result);
  assert_same_nets(&expected, &s.nets);
  mm_result_release(&result);
  free_nets(&s.nets);

  assert_ok(run_on(MM_BACKEND_CPU, 0, &job, 1, &result));
  assert_int_equal(result.n_curve, whole.n_curve);
  assert_memory_equal(result.curve, whole.curve, (size_t)done * sizeof *result.curve);
  // it goes on from there: means of 128 environments, some episodes later
  const double there = mean_between(&whole, done + 30, done + 60);
  const double here = mean_between(&result, done + 30, done + 60);
  print_message("%s: moved after %llu of %zu iterations, then %g; on the device %g\n", id,
                (unsigned long long)done, whole.n_curve, here, there);
  if (!(fabs(there - here) < 0.1 * fabs(here)))
    fail_msg("%s: %g on the device, %g after a move to the processor", id, there, here);
  mm_result_release(&result);
  free_nets(&s.nets);
  mm_result_release(&whole);
  free_nets(&expected);
  free(s.state);
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
  mm_env *env;
  mm_map *map;
  (void)state;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  assert_ok(mm_map_open("l2", &map));
  mm_settings wild = short_run(20);
  wild.net.lr = 1e3;
  wild.net.relu = true;
  wild.net.max_grad_norm = 0;
  const mm_settings tame = short_run(20);
  const mm_job job[2] = { job_of(env, map, &wild, 0), job_of(env, map, &tame, 0) };
  mm_result result[2], alone;
  mm_backend_report report;
  const mm_backend_config config = { .place.kind = MM_BACKEND_CUDA, .report = &report };
  assert_ok(mm_backend_run(&config, job, 2, result));
  assert_int_equal(result[0].status, MM_ERR_NUMERIC);
  assert_int_equal(report.trouble, 0);
  assert_non_null(strstr(report.error, "not finite"));
  assert_ok(run_on(MM_BACKEND_CUDA, 0, &job[1], 1, &alone));
  assert_same_curves(&alone, &result[1]);
  mm_result_release(&alone);
  mm_result_release(&result[0]);
  mm_result_release(&result[1]);
  mm_map_destroy(map);
  mm_env_destroy(env);
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

int suite_cuda_gaussian(void) {
  int count;
  if (mm_cuda_find(&count) != MM_OK) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gradients), cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_switches),  cmocka_unit_test(test_company),
    cmocka_unit_test(test_states),    cmocka_unit_test(test_numeric),
    cmocka_unit_test(test_refusals),  cmocka_unit_test(test_no_epochs),
    cmocka_unit_test(test_learning),  cmocka_unit_test(test_unfinished),
  };
  return cmocka_run_group_tests_name("cuda_gaussian", tests, NULL, NULL);
}

#else

int suite_cuda_gaussian(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
