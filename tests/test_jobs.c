// Suite `jobs`: lists of jobs as other programs run them, through the public headers: the same
// bits as one by one, cancelled and taken up again from what the hooks kept, with the networks of
// each, from several threads at once.

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "mirrormap/mirrormap.h"
#include "scarce_memory.h"

enum { JOBS = 5 };

typedef struct rig {
  mm_env *env;
  mm_map *map;
  mm_ampo_config config;
} rig;

static void open_rig(rig *r, double steps) {
  assert_ok(mm_env_open("CartPole-v1", &r->env));
  assert_ok(mm_map_open("l2", &r->map));
  r->config = mm_ampo_config_default();
  r->config.net.steps = steps;
  r->config.net.envs = 4;
  r->config.net.unroll = 32;
  r->config.net.epochs = 2;
  r->config.net.hidden = 8;
}

static void close_rig(rig *r) {
  mm_map_destroy(r->map);
  mm_env_destroy(r->env);
}

static void make_jobs(const rig *r, mm_job job[JOBS]) {
  for (size_t i = 0; i < JOBS; i++)
    job[i] = (mm_job){
      .env = r->env, .map = r->map, .algo = MM_ALGO_AMPO, .config = &r->config, .seed = 20 + i
    };
}

static void release(mm_result result[JOBS]) {
  for (size_t i = 0; i < JOBS; i++)
    mm_result_release(&result[i]);
}

static void assert_same_results(const mm_result a[JOBS], const mm_result b[JOBS]) {
  for (size_t i = 0; i < JOBS; i++) {
    assert_int_equal(a[i].status, b[i].status);
    assert_int_equal(a[i].n_curve, b[i].n_curve);
    assert_memory_equal(a[i].curve, b[i].curve, a[i].n_curve * sizeof *a[i].curve);
    assert_true(a[i].final_value == b[i].final_value && a[i].env_steps == b[i].env_steps);
  }
}

// One by one, in this thread.
static void run_alone(const rig *r, mm_result result[JOBS]) {
  mm_job job[JOBS];
  make_jobs(r, job);
  for (size_t i = 0; i < JOBS; i++)
    assert_ok(mm_job_run(&job[i], NULL, &result[i]));
}

static void see(size_t done, size_t total, uint64_t env_steps, void *user) {
  size_t *last = user;
  assert_true(total == JOBS && done <= total && done >= *last && (done == 0 || env_steps > 0));
  *last = done;
}

static mm_backend_config on_cpu(int threads) {
  mm_backend_config config = mm_backend_config_default();
  assert_int_equal(config.place.kind, MM_BACKEND_AUTO);
  config.place.kind = MM_BACKEND_CPU;
  config.threads = threads;
  return config;
}

// On any number of threads the results are those of single jobs, and so are the policies.
static void test_list(void **state) {
  (void)state;
  rig r;
  mm_job job[JOBS];
  mm_result expected[JOBS], result[JOBS];
  open_rig(&r, 2048);
  run_alone(&r, expected);
  make_jobs(&r, job);
  mm_policy *policy[2];
  for (int threads = 1; threads < 4; threads += 2) {
    mm_policy **own = &policy[threads / 2];
    mm_backend_report report;
    mm_backend_config config = on_cpu(threads);
    size_t done = 0;
    config.progress = see;
    config.user = &done;
    config.report = &report;
    assert_ok(mm_policy_create(job, JOBS, own));
    for (size_t i = 0; i < JOBS; i++)
      job[i].hooks = mm_policy_hooks(*own);
    assert_ok(mm_backend_run(&config, job, JOBS, result));
    assert_same_results(result, expected);
    assert_true(done == JOBS && !report.cuda && report.threads == threads && report.ranks == 1);
    assert_true(report.n_done == JOBS && report.n_failed == 0 && report.trouble == JOBS);
    release(result);
  }
  for (size_t i = 0; i < mm_policy_tensors(policy[0]); i++) {
    mm_policy_tensor a, b;
    assert_ok(mm_policy_tensor_at(policy[0], i, &a));
    assert_ok(mm_policy_tensor_at(policy[1], i, &b));
    assert_memory_equal(a.data, b.data, a.shape[0] * a.shape[1] * a.shape[2] * sizeof *a.data);
  }
  mm_policy_info info;
  mm_policy_describe(policy[0], &info);
  for (size_t i = 0; i < JOBS; i++)
    assert_true(info.final_value[i] == expected[i].final_value);
  mm_policy_destroy(policy[0]);
  mm_policy_destroy(policy[1]);
  release(expected);
  close_rig(&r);
}

// ---------------------------------------------------------------------------------------------
// Cancelled, and taken up again

typedef struct keeper {
  const mm_job *job; // the list
  void *state[JOBS];
  size_t size[JOBS];
  volatile int stop;
} keeper;

// Called by several threads; each job has its own place.
static void keep(const mm_job *job, const void *state, size_t size, void *user) {
  keeper *k = user;
  const size_t i = (size_t)(job - k->job);
  assert_true(i < JOBS);
  free(k->state[i]);
  k->state[i] = malloc(size);
  k->size[i] = size;
  memcpy(k->state[i], state, size);
  __atomic_store_n(&k->stop, 1, __ATOMIC_RELAXED); // one that has begun ends the list
}

static void test_resume(void **state) {
  (void)state;
  rig r;
  mm_job job[JOBS];
  mm_result expected[JOBS], result[JOBS];
  open_rig(&r, 8192);
  run_alone(&r, expected);
  make_jobs(&r, job);
  keeper k = { .job = job };
  const mm_job_hooks hooks = { .save = keep, .save_seconds = 1e-6, .user = &k };
  mm_backend_config config = on_cpu(2);
  config.stop = &k.stop;
  for (size_t i = 0; i < JOBS; i++)
    job[i].hooks = &hooks;
  assert_fails(mm_backend_run(&config, job, JOBS, result), MM_ERR_INTERRUPTED, "of 5 jobs");
  size_t begun = 0;
  for (size_t i = 0; i < JOBS; i++) {
    begun += k.state[i] != NULL;
    job[i].hooks = NULL;
    job[i].state = k.state[i];
    job[i].state_size = k.size[i];
  }
  assert_true(begun > 0 && begun < JOBS);
  release(result);
  config.stop = NULL;
  assert_ok(mm_backend_run(&config, job, JOBS, result));
  assert_same_results(result, expected);
  release(result);
  release(expected);
  for (size_t i = 0; i < JOBS; i++)
    free(k.state[i]);
  close_rig(&r);
}

// ---------------------------------------------------------------------------------------------

typedef struct user {
  const rig *r;
  mm_result result[JOBS];
  mm_status status;
} user;

static void *run_list(void *argument) {
  user *u = argument;
  const mm_backend_config config = on_cpu(2);
  mm_job job[JOBS];
  make_jobs(u->r, job);
  u->status = mm_backend_run(&config, job, JOBS, u->result);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { USERS = 3 };
  rig r;
  mm_result expected[JOBS];
  user each[USERS];
  pthread_t thread[USERS];
  open_rig(&r, 1024);
  run_alone(&r, expected);
  for (int i = 0; i < USERS; i++) {
    each[i] = (user){ .r = &r };
    assert_int_equal(pthread_create(&thread[i], NULL, run_list, &each[i]), 0);
  }
  for (int i = 0; i < USERS; i++) {
    pthread_join(thread[i], NULL);
    assert_ok(each[i].status);
    assert_same_results(each[i].result, expected);
    release(each[i].result);
  }
  release(expected);
  close_rig(&r);
}

static void test_refused(void **state) {
  (void)state;
  rig r;
  mm_job job[JOBS];
  mm_result result[JOBS];
  open_rig(&r, 256);
  make_jobs(&r, job);
  mm_backend_config config = on_cpu(1);
  config.size = 0;
  assert_fails(mm_backend_run(&config, job, JOBS, result), MM_ERR_INPUT,
               "mm_backend_config: size = 0: expected");
  config = on_cpu(-1);
  assert_fails(mm_backend_run(&config, job, JOBS, result), MM_ERR_INPUT, "threads = -1");
  // a job of the list that is wrong is its own failure
  mm_backend_report report;
  mm_ampo_config wrong = r.config;
  wrong.net.unroll = 0;
  job[3].config = &wrong;
  config = on_cpu(1);
  config.report = &report;
  assert_ok(mm_backend_run(&config, job, JOBS, result));
  assert_true(report.n_failed == 1 && report.trouble == 3 && result[3].status == MM_ERR_INPUT);
  assert_non_null(strstr(report.error, "'unroll'"));
  release(result);
  close_rig(&r);
}

// A process that no launcher started is the first of one.
static void test_ranks(void **state) {
  (void)state;
  bool first = false;
  int code = 7;
  if (getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") || getenv("PMIX_RANK")) skip();
  assert_ok(mm_ranks_join(NULL, &first, &code));
  assert_true(first && code == 7 && mm_ranks_count() == 1 && mm_ranks_rank() == 0);
  mm_ranks_end(0);
  assert_true(mm_backend_cores() >= 1);
}

static void test_no_memory(void **state) {
  (void)state;
  rig r;
  mm_job job[JOBS];
  mm_result result[JOBS];
  open_rig(&r, 128);
  make_jobs(&r, job);
  const mm_backend_config config = on_cpu(1);
  bool whole = false;
  size_t n = 0;
  for (; !whole; n++) {
    assert_true(n < 1000);
    allocations_left = n;
    make_memory_scarce();
    mm_status status = mm_backend_run(&config, job, JOBS, result);
    make_memory_usual();
    assert_true(status == MM_OK || status == MM_ERR_MEMORY);
    whole = status == MM_OK;
    for (size_t i = 0; i < JOBS && status == MM_OK; i++) {
      assert_true(result[i].status == MM_OK || result[i].status == MM_ERR_MEMORY);
      whole = whole && result[i].status == MM_OK;
    }
    release(result);
  }
  assert_true(n > 20);
  close_rig(&r);
}

int suite_jobs(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_list),    cmocka_unit_test(test_resume), cmocka_unit_test(test_threads),
    cmocka_unit_test(test_refused), cmocka_unit_test(test_ranks),  cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
