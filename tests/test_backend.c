// The pool of threads: the same bits for every number of threads, results in the order of the jobs,
// cancellation, failures that stay where they are, progress.

#define _GNU_SOURCE // affinity, default attributes of threads

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "result_hash.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Jobs of different lengths on different environments

static const char *const env_ids[] = { "GridWorld-small", "GridWorld-sparse", "GridWorld-dense" };
static const char *const map_names[] = { "negentropy", "l2", "random:3" };
enum { ENVS = 3, MAPS = 3, CONFIGS = 3, SEEDS = 2, JOBS = ENVS * MAPS * CONFIGS * SEEDS };

typedef struct fixture {
  mm_env *env[ENVS];
  mm_map *map[MAPS];
  mm_pmd_config config[CONFIGS];
  mm_job job[JOBS];
  uint64_t alone[JOBS]; // hash of each job's result when it is run by itself
} fixture;

// The hash of a job that is run by itself in this thread.
static uint64_t hash_alone(const mm_job *job) {
  mm_result result;
  mm_job_run(job, NULL, &result);
  uint64_t hash = hash_of(&result);
  mm_result_release(&result);
  return hash;
}

static int open_fixture(void **state) {
  fixture *f = calloc(1, sizeof *f);
  for (int i = 0; i < ENVS; i++)
    assert_ok(mm_env_open(env_ids[i], &f->env[i]));
  for (int i = 0; i < MAPS; i++)
    assert_ok(mm_map_open(map_names[i], &f->map[i]));
  for (int i = 0; i < CONFIGS; i++) {
    f->config[i] = mm_pmd_config_default();
    f->config[i].steps = 256 << i;
    f->config[i].envs = 8;
    f->config[i].unroll = 16;
    f->config[i].exact_curve = i == 1;
  }
  for (int i = 0; i < JOBS; i++)
    f->job[i] = (mm_job){ .env = f->env[i % ENVS],
                          .map = f->map[i / ENVS % MAPS],
                          .algo = MM_ALGO_PMD,
                          .config = &f->config[i / ENVS / MAPS % CONFIGS],
                          .seed = (uint64_t)i };
  for (int i = 0; i < JOBS; i++)
    f->alone[i] = hash_alone(&f->job[i]);
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

static void release_all(mm_result *results, size_t n) {
  for (size_t i = 0; i < n; i++)
    mm_result_release(&results[i]);
}

// ---------------------------------------------------------------------------------------------

static void test_same_bits(void **state) {
  const fixture *f = *state;
  // the jobs differ, or equal hashes would say nothing about their order
  for (int i = 1; i < JOBS; i++)
    assert_true(f->alone[i] != f->alone[i - 1]);
  static const int threads[] = { 1, 2, 3, 8, 0 };
  for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
    mm_result results[JOBS];
    mm_backend_config config = { .size = sizeof(mm_backend_config), .threads = threads[k] };
    assert_ok(mm_backend_run(&config, f->job, JOBS, results));
    for (int i = 0; i < JOBS; i++) {
      assert_int_equal(results[i].status, MM_OK);
      const mm_pmd_config *pmd = f->job[i].config;
      assert_true(results[i].env_steps == (uint64_t)pmd->steps);
      assert_true(hash_of(&results[i]) == f->alone[i]);
    }
    release_all(results, JOBS);
  }
}

static void test_report(void **state) {
  const fixture *f = *state;
  mm_result results[JOBS];
  mm_backend_report report;
  mm_backend_config config = { .size = sizeof(mm_backend_config), .threads = 3, .report = &report };
  assert_ok(mm_backend_run(&config, f->job, JOBS, results));
  release_all(results, JOBS);
  assert_int_equal(report.threads, 3);
  assert_int_equal(report.n_done, JOBS);
  assert_int_equal(report.n_numeric, 0);
  assert_int_equal(report.n_failed, 0);
  assert_int_equal(report.trouble, JOBS);
  assert_string_equal(report.error, "");

  // no more threads than jobs
  config.threads = 1000;
  assert_ok(mm_backend_run(&config, f->job, 2, results));
  release_all(results, 2);
  assert_int_equal(report.threads, 2);
}

static void test_failures_stay(void **state) {
  const fixture *f = *state;
  mm_pmd_config bad = f->config[0], worse = f->config[0];
  bad.gamma = 2;
  worse.steps = 1;
  mm_job job[JOBS];
  memcpy(job, f->job, sizeof job);
  for (int i = 5; i < JOBS; i += 7)
    job[i].config = i == 5 ? &bad : &worse;
  static const int threads[] = { 1, 2, 8 };
  for (size_t k = 0; k < 3; k++) {
    mm_result results[JOBS];
    mm_backend_report report;
    mm_backend_config config = { .size = sizeof(mm_backend_config),
                                 .threads = threads[k],
                                 .report = &report };
    assert_ok(mm_backend_run(&config, job, JOBS, results));
    size_t failed = 0;
    for (int i = 0; i < JOBS; i++) {
      bool broken = i % 7 == 5;
      failed += broken;
      assert_int_equal(results[i].status, broken ? MM_ERR_INPUT : MM_OK);
      if (!broken) assert_true(hash_of(&results[i]) == f->alone[i]);
    }
    release_all(results, JOBS);
    // the first in the list is named, whichever thread met its own first
    assert_int_equal(report.n_done, JOBS);
    assert_int_equal(report.n_failed, failed);
    assert_int_equal(report.trouble, 5);
    assert_non_null(strstr(report.error, "gamma"));
  }
}

static void test_bad_config(void **state) {
  const fixture *f = *state;
  mm_result result;
  mm_backend_report report;
  mm_backend_config config = { .size = sizeof(mm_backend_config),
                               .threads = -1,
                               .report = &report };
  assert_fails(mm_backend_run(&config, f->job, 1, &result), MM_ERR_INPUT, "threads = -1");
  assert_int_equal(report.trouble, 1);
  assert_false(report.cuda);
  mm_result_release(&result);
  config =
      (mm_backend_config){ .size = sizeof(mm_backend_config), .threads = 2, .report = &report };
  assert_ok(mm_backend_run(&config, NULL, 0, NULL));
  assert_int_equal(report.n_done, 0);
}

// ---------------------------------------------------------------------------------------------
// Progress and cancellation

typedef struct watcher {
  pthread_t caller;
  size_t calls, done, total;
  uint64_t env_steps;
  bool ordered;     // neither count ever went back
  size_t stop_from; // sets the flag when so many jobs are done
  volatile int stop;
} watcher;

static void watch(size_t done, size_t total, uint64_t env_steps, void *user) {
  watcher *w = user;
  w->ordered = w->ordered && done >= w->done && env_steps >= w->env_steps && done <= total;
  w->ordered = w->ordered && pthread_equal(pthread_self(), w->caller);
  w->calls++;
  w->done = done;
  w->total = total;
  w->env_steps = env_steps;
  if (done >= w->stop_from) __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
}

static watcher watcher_make(size_t stop_from) {
  watcher w = { .caller = pthread_self(), .ordered = true, .stop_from = stop_from };
  return w;
}

static void test_progress(void **state) {
  const fixture *f = *state;
  for (int threads = 1; threads <= 3; threads++) {
    mm_result results[JOBS];
    watcher w = watcher_make(SIZE_MAX);
    mm_backend_config config = {
      .size = sizeof(mm_backend_config), .threads = threads, .progress = watch, .user = &w
    };
    assert_ok(mm_backend_run(&config, f->job, JOBS, results));
    uint64_t steps = 0;
    for (int i = 0; i < JOBS; i++)
      steps += results[i].env_steps;
    release_all(results, JOBS);
    assert_true(w.calls >= 1);
    assert_true(w.ordered);
    assert_int_equal(w.done, JOBS);
    assert_int_equal(w.total, JOBS);
    assert_true(w.env_steps == steps);
  }
}

// Far more jobs than can be done before the first progress call, which stops them.
static void test_cancel(void **state) {
  const fixture *f = *state;
  enum { MANY = 200000 };
  mm_job *job = malloc(MANY * sizeof *job);
  mm_result *results = malloc(MANY * sizeof *results);
  for (size_t i = 0; i < MANY; i++) {
    job[i] = f->job[i % JOBS];
    job[i].seed = i;
  }
  for (int threads = 1; threads <= 3; threads++) {
    mm_backend_report report;
    watcher w = watcher_make(1);
    mm_backend_config config = { .size = sizeof(mm_backend_config),
                                 .threads = threads,
                                 .stop = &w.stop,
                                 .progress = watch,
                                 .user = &w,
                                 .report = &report };
    assert_fails(mm_backend_run(&config, job, MANY, results), MM_ERR_INTERRUPTED, "interrupted");
    size_t complete = 0, last = 0;
    for (size_t i = 0; i < MANY; i++) {
      bool marked = results[i].status == MM_ERR_INTERRUPTED;
      if (!marked) assert_int_equal(results[i].status, MM_OK);
      if (!marked && complete % 16 == 0) assert_true(hash_of(&results[i]) == hash_alone(&job[i]));
      complete += !marked;
      if (!marked) last = i;
    }
    release_all(results, MANY);
    assert_true(complete >= 1 && complete < MANY);
    assert_int_equal(complete, report.n_done);
    assert_int_equal(w.done, complete);
    assert_true(w.ordered);
    // jobs are taken in order: before the last complete one only those in flight can be missing
    assert_true(last < complete + (size_t)threads);
  }
  free(job);
  free(results);
}

static void test_stopped_before(void **state) {
  const fixture *f = *state;
  mm_result results[JOBS];
  watcher w = watcher_make(SIZE_MAX);
  w.stop = 1;
  mm_backend_config config = {
    .size = sizeof(mm_backend_config), .threads = 2, .stop = &w.stop, .progress = watch, .user = &w
  };
  assert_fails(mm_backend_run(&config, f->job, JOBS, results), MM_ERR_INTERRUPTED, "after 0 of");
  for (int i = 0; i < JOBS; i++)
    assert_int_equal(results[i].status, MM_ERR_INTERRUPTED);
  release_all(results, JOBS);
  assert_int_equal(w.calls, 1);
  assert_int_equal(w.done, 0);
}

// ---------------------------------------------------------------------------------------------
// The machine

// Stacks that no address space holds: not one thread can be started, so the caller does the work.
static void test_no_threads(void **state) {
  const fixture *f = *state;
  pthread_attr_t usual, huge;
  assert_int_equal(pthread_getattr_default_np(&usual), 0);
  assert_int_equal(pthread_getattr_default_np(&huge), 0);
  assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
  assert_int_equal(pthread_setattr_default_np(&huge), 0);
  mm_result results[JOBS];
  mm_backend_report report;
  watcher w = watcher_make(SIZE_MAX);
  mm_backend_config config = { .size = sizeof(mm_backend_config),
                               .threads = 4,
                               .progress = watch,
                               .user = &w,
                               .report = &report };
  mm_status status = mm_backend_run(&config, f->job, JOBS, results);
  assert_int_equal(pthread_setattr_default_np(&usual), 0);
  pthread_attr_destroy(&usual);
  pthread_attr_destroy(&huge);
  assert_ok(status);
  for (int i = 0; i < JOBS; i++)
    assert_true(hash_of(&results[i]) == f->alone[i]);
  release_all(results, JOBS);
  assert_int_equal(report.threads, 1);
  assert_int_equal(w.done, JOBS);
  assert_true(w.ordered);
}

static void test_cores(void **state) {
  (void)state;
  int cores = mm_backend_cores();
  assert_true(cores >= 1);
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return; // more processors than fit
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  int alone = mm_backend_cores();
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(alone, 1);
  assert_int_equal(mm_backend_cores(), cores);
}

static void test_names(void **state) {
  (void)state;
  const mm_backend_place cpu = { .kind = MM_BACKEND_CPU }, cuda = { .kind = MM_BACKEND_CUDA };
  assert_string_equal(mm_backend_name(&cpu), "cpu");
  assert_string_equal(mm_backend_name(&cuda), "cuda");
  assert_string_equal(mm_backend_ran_name(0, &cpu), "cpu");
  assert_string_equal(mm_backend_ran_name(0, &cuda), "cuda");
  assert_string_equal(mm_backend_ran_name(MM_BACKEND_ON_CPU, &cuda), "cpu");
  assert_string_equal(mm_backend_ran_name(MM_BACKEND_ON_CUDA, &cpu), "cuda");
  assert_string_equal(mm_backend_ran_name(MM_BACKEND_ON_CPU | MM_BACKEND_ON_CUDA, &cpu),
                      "cpu+cuda");
}

int suite_backend(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_bits),      cmocka_unit_test(test_report),
    cmocka_unit_test(test_failures_stay),  cmocka_unit_test(test_bad_config),
    cmocka_unit_test(test_progress),       cmocka_unit_test(test_cancel),
    cmocka_unit_test(test_stopped_before), cmocka_unit_test(test_no_threads),
    cmocka_unit_test(test_cores),          cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests_name("backend", tests, open_fixture, close_fixture);
}
