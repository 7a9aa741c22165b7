// SPDX-License-Identifier: Apache-2.0
// Tabular PMD on a CUDA device: the results of mm_job_run to the bit, whatever the sizes, the map,
// the switches and the company; failures, numerical trouble and interruption as on the CPU.

#define _GNU_SOURCE // mkdtemp

#include <stdio.h>
#include <unistd.h>

#include "test.h"

#if HAVE_CUDA

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "agent/job_hooks.h"
#include "backend/cuda/tabular/pmd.h"
#include "base/status.h"

static const char *const env_ids[] = { "GridWorld-all", "GridWorld-dense", "GridWorld-long_dense",
                                       "GridWorld-small" };
static const char *const map_names[] = {
  "negentropy", "l2",       "tsallis:0.5", "tsallis:1.5",
  "piecewise",  "random:4", "neural",      "random-neural:2"
};
// Between these maps move.
static const char *const anchor_names[][3] = { { "tsallis:3", "tsallis:2", "tsallis:1.5" },
                                               { "piecewise", "random:4", "random:5" },
                                               { "random-powers:1", "powers", "random-powers:2" },
                                               { "neural", "random-neural:2", "neural" } };
enum { ENVS = 4, PLAIN = 8, MOVING = 4, MAPS = PLAIN + MOVING, CONFIGS = 7, JOBS = 96 };

typedef struct fixture {
  mm_env *env[ENVS];
  mm_map *map[MAPS];
  mm_pmd_config config[CONFIGS];
  double z[2 * MM_NEURAL_SEARCH]; // two anchors
  mm_job job[JOBS];
  size_t which[JOBS];
} fixture;

// Sizes below, at and beyond those of a warp, a block of threads and its memory.
static void set_configs(fixture *f) {
  static const double sizes[CONFIGS][4] = {
    // environments, unroll, epochs, iterations
    { 64, 32, 32, 12 }, { 1, 50, 8, 6 },  { 33, 7, 3, 10 },   { 200, 40, 4, 5 },
    { 5, 1, 2, 20 },    { 64, 32, 0, 3 }, { 130, 30, 32, 4 },
  };
  for (int i = 0; i < CONFIGS; i++) {
    mm_pmd_config *c = &f->config[i];
    *c = mm_pmd_config_default();
    c->envs = sizes[i][0];
    c->unroll = sizes[i][1];
    c->epochs = sizes[i][2];
    c->steps = sizes[i][0] * sizes[i][1] * sizes[i][3] + 1;
    c->restart = i % 2 == 1;
    c->normalise_advantage = i % 3 != 2;
    c->exact_curve = i % 4 == 2;
    if (i % 2 == 0) memcpy(c->eta_schedule, (double[3]){ 1, 4, 0.5 }, 3 * sizeof(double));
  }
}

static mm_map *open_stages(const char *const names[], size_t n) {
  mm_map *anchor[MM_STAGES_MAX], *map;
  for (size_t i = 0; i < n; i++)
    assert_ok(mm_map_open(names[i], &anchor[i]));
  assert_ok(mm_map_create_stages((const mm_map *const *)anchor, n, &map));
  for (size_t i = 0; i < n; i++)
    mm_map_destroy(anchor[i]);
  return map;
}

static int open_fixture(void **state) {
  fixture *f = calloc(1, sizeof *f);
  for (int i = 0; i < ENVS; i++)
    assert_ok(mm_env_open(env_ids[i], &f->env[i]));
  for (int i = 0; i < PLAIN; i++)
    assert_ok(mm_map_open(map_names[i], &f->map[i]));
  for (int i = 0; i < MOVING; i++)
    f->map[PLAIN + i] = open_stages(anchor_names[i], 3);
  set_configs(f);
  for (int i = 0; i < 2; i++)
    assert_ok(mm_map_search_initial(MM_MAP_NEURAL, 0, f->z + i * MM_NEURAL_SEARCH));
  f->z[3] += 0.5;
  f->z[MM_NEURAL_SEARCH + 300] += 2;
  for (int i = 0; i < JOBS; i++) {
    f->which[i] = (size_t)i;
    f->job[i] = (mm_job){ .env = f->env[i % ENVS],
                          .map = f->map[i / ENVS % MAPS],
                          .algo = MM_ALGO_PMD,
                          .config = &f->config[i % CONFIGS],
                          .seed = (uint64_t)(i / 3),
                          .repeat = (uint32_t)(i % 2) };
    if (i % 9 != 8) continue;
    f->job[i].map = NULL;
    f->job[i].point.kind = MM_MAP_NEURAL;
    f->job[i].point.z = f->z;
    f->job[i].point.stages = i % 2 ? 2 : 1;
  }
  *state = f;
  return 0;
}

static int close_fixture(void **state) {
  fixture *f = *state;
  for (int i = 0; i < ENVS; i++)
    mm_env_destroy(f->env[i]);
  for (int i = 0; i < MAPS; i++)
    mm_map_destroy(f->map[i]);
  free(f);
  return 0;
}

static mm_status run(const mm_job *jobs, const size_t *which, size_t n, mm_result *results) {
  const mm_cuda_pmd_config config = { .threads = 2 };
  int threads;
  mm_status status = mm_cuda_pmd_run(&config, jobs, which, n, results, &threads);
  assert_true(threads <= 2);
  return status;
}

// Everything but the times.
static void assert_same(const mm_result *a, const mm_result *b, size_t job) {
  if (a->status != b->status || a->n_curve != b->n_curve || a->env_steps != b->env_steps)
    fail_msg("job %zu: status %d and %d, %zu and %zu points, %llu and %llu steps", job,
             (int)a->status, (int)b->status, a->n_curve, b->n_curve,
             (unsigned long long)a->env_steps, (unsigned long long)b->env_steps);
  if (memcmp(&a->final_value, &b->final_value, sizeof a->final_value) != 0)
    fail_msg("job %zu: final value %.17g and %.17g", job, a->final_value, b->final_value);
  if (memcmp(&a->optimal_value, &b->optimal_value, sizeof a->optimal_value) != 0)
    fail_msg("job %zu: optimum %.17g and %.17g", job, a->optimal_value, b->optimal_value);
  for (size_t i = 0; i < a->n_curve; i++)
    if (a->curve[i] != b->curve[i] || a->curve_step[i] != b->curve_step[i])
      fail_msg("job %zu, point %zu: %.17g at %llu and %.17g at %llu", job, i, a->curve[i],
               (unsigned long long)a->curve_step[i], b->curve[i],
               (unsigned long long)b->curve_step[i]);
}

// ---------------------------------------------------------------------------------------------

static void test_same_as_cpu(void **state) {
  const fixture *f = *state;
  mm_result results[JOBS];
  assert_ok(run(f->job, f->which, JOBS, results));
  for (size_t i = 0; i < JOBS; i++) {
    mm_result expected;
    mm_job_run(&f->job[i], NULL, &expected);
    assert_same(&results[i], &expected, i);
    assert_int_equal(results[i].status, MM_OK);
    assert_true(results[i].seconds_rollout > 0 && results[i].seconds_update > 0);
    mm_result_release(&expected);
    mm_result_release(&results[i]);
  }
}

// A whole run with the paper's settings, and some of them among others, in another order.
static void test_company(void **state) {
  const fixture *f = *state;
  mm_pmd_config config = mm_pmd_config_default();
  mm_job job[6];
  for (size_t i = 0; i < 6; i++)
    job[i] = (mm_job){
      .env = f->env[0], .map = f->map[i], .algo = MM_ALGO_PMD, .config = &config, .seed = 10 + i / 2
    };
  static const size_t some[] = { 4, 1, 5 };
  mm_result all[6], few[6];
  assert_ok(run(job, f->which, 6, all));
  assert_ok(run(job, some, 3, few));
  for (size_t i = 0; i < 3; i++)
    assert_same(&all[some[i]], &few[some[i]], some[i]);
  mm_result expected;
  assert_ok(mm_job_run(&job[4], NULL, &expected));
  assert_same(&all[4], &expected, 4);
  assert_int_equal(all[4].env_steps, 262144);
  mm_result_release(&expected);
  for (size_t i = 0; i < 6; i++)
    mm_result_release(&all[i]);
  for (size_t i = 0; i < 3; i++)
    mm_result_release(&few[some[i]]);
}

// Maps that move, for more iterations than a launch has: those of the CPU; of equal anchors as the
// plain map; of others not.
static void test_moving(void **state) {
  static const char *const equal_names[MOVING] = { "tsallis:1.5", "random:4", "powers", "neural" };
  const fixture *f = *state;
  mm_pmd_config config = f->config[4];
  config.steps = config.envs * config.unroll * 300;
  for (int i = 0; i < MOVING; i++) {
    const char *const names[3] = { equal_names[i], equal_names[i], equal_names[i] };
    mm_map *plain, *equal = open_stages(names, 3);
    assert_ok(mm_map_open(equal_names[i], &plain));
    const mm_map *maps[3] = { f->map[PLAIN + i], equal, plain };
    mm_job job[3];
    mm_result results[3], expected;
    for (size_t k = 0; k < 3; k++)
      job[k] = (mm_job){
        .env = f->env[0], .map = maps[k], .algo = MM_ALGO_PMD, .config = &config, .seed = 4
      };
    assert_ok(run(job, f->which, 3, results));
    mm_job_run(&job[0], NULL, &expected);
    assert_same(&results[0], &expected, 0);
    assert_same(&results[1], &results[2], 1);
    assert_true(results[0].final_value < results[1].final_value ||
                results[0].final_value > results[1].final_value);
    mm_result_release(&expected);
    for (size_t k = 0; k < 3; k++)
      mm_result_release(&results[k]);
    mm_map_destroy(equal);
    mm_map_destroy(plain);
  }
}

// All kinks lie outside [0, 1] at both anchors and inside between them, where those of the
// logarithms are sharp and the table is larger than the room that was made for those of the
// anchors: as on the CPU.
static void test_growing(void **state) {
  const fixture *f = *state;
  double w[MM_NEURAL_UNITS], c[MM_NEURAL_UNITS], u[MM_NEURAL_UNITS];
  mm_map *anchor[2], *map;
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < MM_NEURAL_UNITS; j++) {
      u[j] = 1;
      w[j] = j * 6 / MM_NEURAL_UNITS == 4 ? 1e6 : 1;
      c[j] = w[j] * ((i ? 1.2 : -1.2) - 0.007 * j);
    }
    assert_ok(mm_map_create_neural(w, c, u, 1, 0, &anchor[i]));
  }
  assert_ok(mm_map_create_stages((const mm_map *const *)anchor, 2, &map));
  mm_job job[3];
  mm_result results[3], expected;
  for (size_t i = 0; i < 3; i++)
    job[i] = (mm_job){ .env = f->env[0],
                       .map = i == 1 ? f->map[0] : map,
                       .algo = MM_ALGO_PMD,
                       .config = &f->config[i],
                       .seed = i };
  assert_ok(run(job, f->which, 3, results));
  for (size_t i = 0; i < 3; i++) {
    mm_job_run(&job[i], NULL, &expected);
    assert_same(&results[i], &expected, i);
    mm_result_release(&expected);
    mm_result_release(&results[i]);
  }
  mm_map_destroy(map);
  for (int i = 0; i < 2; i++)
    mm_map_destroy(anchor[i]);
}

// phi^-1 is finite at both anchors and not between them: as on the CPU.
static void test_gap(void **state) {
  const fixture *f = *state;
  double none[MM_NEURAL_UNITS] = { 0 }, c[MM_NEURAL_UNITS] = { 0 }, u[MM_NEURAL_UNITS] = { 0 };
  mm_map *anchor[2], *map;
  for (int i = 0; i < 2; i++) {
    c[MM_NEURAL_UNITS - 1] = i ? 700 : -620;
    u[MM_NEURAL_UNITS - 1] = i ? 1e-274 : 1e300;
    assert_ok(mm_map_create_neural(none, c, u, 0, 1, &anchor[i]));
  }
  assert_ok(mm_map_create_stages((const mm_map *const *)anchor, 2, &map));
  mm_job job[3];
  mm_result results[3];
  for (size_t i = 0; i < 3; i++)
    job[i] = (mm_job){ .env = f->env[0],
                       .map = i == 1 ? f->map[0] : map,
                       .algo = MM_ALGO_PMD,
                       .config = &f->config[i],
                       .seed = i };
  assert_ok(run(job, f->which, 3, results));
  for (size_t i = 0; i < 3; i++) {
    mm_result expected;
    mm_job_run(&job[i], NULL, &expected);
    assert_same(&results[i], &expected, i);
    assert_int_equal(results[i].status, i == 1 ? MM_OK : MM_ERR_NUMERIC);
    assert_true(results[i].n_curve > 0);
    mm_result_release(&expected);
    mm_result_release(&results[i]);
  }
  mm_map_destroy(map);
  for (int i = 0; i < 2; i++)
    mm_map_destroy(anchor[i]);
}

// ---------------------------------------------------------------------------------------------
// Trouble

typedef struct diary {
  pthread_mutex_t lock;
  size_t ended;  // told by the call
  size_t hooked; // told by the job's hooks
  bool sentence; // a failed one had a sentence that fits
  uint64_t env_steps;
  size_t progress;
  volatile int stop;
} diary;

static void note_hook(const mm_job *job, const mm_result *result, void *user) {
  diary *d = user;
  (void)job;
  (void)result;
  pthread_mutex_lock(&d->lock);
  d->hooked++;
  pthread_mutex_unlock(&d->lock);
}

static void note_end(size_t job, void *user) {
  diary *d = user;
  pthread_mutex_lock(&d->lock);
  d->ended++;
  if (job == 1) d->sentence = strstr(mm_last_error(), "gamma") != NULL;
  pthread_mutex_unlock(&d->lock);
}

static void note_progress(uint64_t env_steps, void *user) {
  diary *d = user;
  if (env_steps < d->env_steps) fail_msg("progress went back");
  d->env_steps = env_steps;
  d->progress++;
  if (env_steps >= 2048) d->stop = 1;
}

// A job that fails keeps its status; the others are as they are alone.
static void test_failures_stay(void **state) {
  const fixture *f = *state;
  diary d = { .sentence = false };
  pthread_mutex_init(&d.lock, NULL);
  mm_job_hooks hooks = { .ended = note_hook, .user = &d };
  mm_pmd_config bad = f->config[0];
  bad.gamma = 2;
  double z[MM_NEURAL_SEARCH];
  memcpy(z, f->z, sizeof z);
  z[7] = NAN;
  mm_job job[8];
  for (size_t i = 0; i < 8; i++) {
    job[i] = f->job[i];
    job[i].hooks = &hooks;
  }
  job[1].config = &bad;
  job[2].map = NULL;
  job[2].point.kind = MM_MAP_NEURAL;
  job[2].point.z = z;
  mm_result results[8];
  const mm_cuda_pmd_config config = { .threads = 3, .ended = note_end, .user = &d };
  int threads;
  assert_ok(mm_cuda_pmd_run(&config, job, f->which, 8, results, &threads));
  assert_int_equal(d.ended, 8);
  assert_int_equal(d.hooked, 8);
  assert_true(d.sentence);
  assert_int_equal(results[1].status, MM_ERR_INPUT);
  assert_int_equal(results[2].status, MM_ERR_NUMERIC);
  for (size_t i = 0; i < 8; i++) {
    mm_result expected;
    mm_job_run(&job[i], NULL, &expected);
    assert_same(&results[i], &expected, i);
    mm_result_release(&expected);
    mm_result_release(&results[i]);
  }
  pthread_mutex_destroy(&d.lock);
}

// Rewards so large that the logits overflow: the value is that of the last finite policy.
static void test_numeric_trouble(void **state) {
  const fixture *f = *state;
  char folder[] = "/tmp/mirrormap-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/task.yaml", folder);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("grid: 5\nstart: [0, 0]\nobjects: [{cell: [2, 2], reward: 1e300, terminate: 0.5, "
        "respawn: 0.1}]\n",
        file);
  assert_int_equal(fclose(file), 0);
  mm_env *env;
  assert_ok(mm_env_open(path, &env));
  mm_pmd_config config[2] = { f->config[0], f->config[0] };
  config[0].normalise_advantage = config[1].normalise_advantage = false;
  config[0].lr = config[1].lr = config[0].eta = config[1].eta = 1e6;
  config[1].exact_curve = true;
  mm_job job[MAPS];
  for (size_t i = 0; i < MAPS; i++)
    job[i] = (mm_job){
      .env = env, .map = f->map[i], .algo = MM_ALGO_PMD, .config = &config[i % 2], .seed = i
    };
  mm_result results[MAPS];
  assert_ok(run(job, f->which, MAPS, results));
  for (size_t i = 0; i < MAPS; i++) {
    mm_result expected;
    mm_job_run(&job[i], NULL, &expected);
    assert_same(&results[i], &expected, i);
    assert_int_equal(results[i].status, MM_ERR_NUMERIC);
    assert_true(results[i].n_curve > 0);
    mm_result_release(&expected);
    mm_result_release(&results[i]);
  }
  mm_env_destroy(env);
  unlink(path);
  rmdir(folder);
}

static void test_stop(void **state) {
  const fixture *f = *state;
  diary d = { .stop = 1 };
  mm_pmd_config endless = mm_pmd_config_default();
  endless.steps = 1e12;
  const mm_cuda_pmd_config config = {
    .threads = 1, .stop = &d.stop, .progress = note_progress, .user = &d
  };
  int threads;
  mm_job job[3];
  for (size_t i = 0; i < 3; i++)
    job[i] = (mm_job){
      .env = f->env[0], .map = f->map[0], .algo = MM_ALGO_PMD, .config = &endless, .seed = i
    };
  for (int round = 0; round < 2; round++) {
    mm_result results[3];
    assert_fails(mm_cuda_pmd_run(&config, job, f->which, 3, results, &threads), MM_ERR_INTERRUPTED,
                 "interrupted");
    for (size_t i = 0; i < 3; i++) {
      assert_int_equal(results[i].status, MM_ERR_INTERRUPTED);
      assert_null(results[i].curve);
    }
    assert_true(round == 0 ? d.progress == 0 : d.progress > 0);
    d.stop = 0;
  }
}

static void test_no_such_device(void **state) {
  const fixture *f = *state;
  mm_result result;
  const mm_cuda_pmd_config config = { .device = 1000, .threads = 1 };
  int threads;
  assert_fails(mm_cuda_pmd_run(&config, f->job, f->which, 1, &result, &threads), MM_ERR_UNSUPPORTED,
               "CUDA device 1000");
  assert_int_equal(result.status, MM_ERR_UNSUPPORTED);
  assert_ok(run(f->job, f->which, 0, NULL));
}

int suite_cuda_pmd(void) {
  if (run(NULL, NULL, 0, NULL) == MM_ERR_UNSUPPORTED) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_as_cpu),   cmocka_unit_test(test_company),
    cmocka_unit_test(test_failures_stay), cmocka_unit_test(test_numeric_trouble),
    cmocka_unit_test(test_stop),          cmocka_unit_test(test_no_such_device),
    cmocka_unit_test(test_moving),        cmocka_unit_test(test_gap),
    cmocka_unit_test(test_growing),
  };
  return cmocka_run_group_tests_name("cuda_pmd", tests, open_fixture, close_fixture);
}

#else

int suite_cuda_pmd(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
