// Suite `job_store`: results that a run has are not computed again, come out to the bit, and fit
// only the batches that they belong to.

#define _XOPEN_SOURCE 700

#include "study/jobs/job_store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run_fixture.h"
#include "test.h"

enum { SEEDS = 3 };

typedef struct rig {
  mm_env *env;
  mm_map *map;
  mm_settings settings;
  mm_job job[SEEDS];
  mm_job_batch batch;
} rig;

static void rig_open(rig *r) {
  assert_ok(mm_env_open("GridWorld-small", &r->env));
  assert_ok(mm_map_open("l2", &r->map));
  r->settings = mm_settings_default(MM_ALGO_PMD);
  assert_ok(mm_settings_set(&r->settings, "steps", "1024"));
  assert_ok(mm_settings_set(&r->settings, "envs", "8"));
  assert_ok(mm_settings_set(&r->settings, "unroll", "16"));
  for (int i = 0; i < SEEDS; i++) {
    r->job[i] = (mm_job){ .env = r->env, .map = r->map, .seed = 40 + (uint64_t)(i * i) };
    mm_settings_bind(&r->settings, &r->job[i]);
  }
  r->batch = (mm_job_batch){ .jobs = SEEDS,
                             .role = "table",
                             .env = "a\nhostile\x80 <name>",
                             .map = "l2",
                             .settings = &r->settings,
                             .job = r->job };
}

static void rig_close(rig *r) {
  mm_map_destroy(r->map);
  mm_env_destroy(r->env);
}

// Runs two batches in the run `name`; returns how many jobs were found there.
static size_t run_twice(rig *r, const char *name, bool fresh, double final[2 * SEEDS]) {
  mm_run *run;
  mm_job_store *store;
  size_t first;
  if (fresh)
    assert_ok(mm_run_create(fixture_path(name), "transfer", "{}", &run));
  else
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_WRITE, &run));
  assert_ok(mm_job_store_open(run, &store));
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  for (size_t b = 0; b < 2; b++) {
    assert_ok(mm_job_store_batch(store, &r->batch, &first));
    assert_int_equal(first, b * SEEDS);
    assert_ok(mm_job_store_run(store, &backend, first, r->job, SEEDS));
    const mm_result *result = mm_job_store_results(store, first);
    for (size_t i = 0; i < SEEDS; i++) {
      assert_int_equal(result[i].status, MM_OK);
      final[first + i] = result[i].final_value;
    }
  }
  assert_ok(mm_job_store_finish(store));
  size_t found = mm_job_store_work_of(store).found;
  mm_job_store_close(store);
  mm_run_close(run);
  return found;
}

static int see_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  ++*(int *)user;
  assert_string_equal(row->env, "a?hostile? <name>");
  assert_int_equal(row->jobs, SEEDS);
  return 0;
}

static void test_found_again(void **state) {
  (void)state;
  rig r;
  double once[2 * SEEDS], again[2 * SEEDS];
  rig_open(&r);
  assert_int_equal(run_twice(&r, "run", true, once), 0);
  assert_int_equal(run_twice(&r, "run", false, again), 2 * SEEDS);
  assert_memory_equal(once, again, sizeof once);
  for (int i = 0; i < SEEDS; i++) {
    mm_result alone;
    assert_ok(mm_job_run(&r.job[i], NULL, &alone));
    assert_true(alone.final_value == once[i] && once[i] == once[SEEDS + i]);
    mm_result_release(&alone);
  }
  mm_run *run;
  int n = 0;
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_run_each(run, MM_RUN_BATCH, see_batch, &n));
  assert_int_equal(n, 2);
  mm_run_close(run);
  rig_close(&r);
}

// What is in the run belongs to these batches and no others.
static void test_other_batches(void **state) {
  (void)state;
  rig r;
  double final[2 * SEEDS];
  rig_open(&r);
  run_twice(&r, "run", true, final);
  mm_job more[SEEDS + 1], other[SEEDS];
  memcpy(more, r.job, sizeof r.job);
  memcpy(other, r.job, sizeof r.job);
  more[SEEDS] = r.job[0];
  other[1].seed++;
  mm_job_batch map = r.batch, larger = r.batch, seeds = r.batch;
  map.map = "negentropy";
  larger.jobs = SEEDS + 1;
  larger.job = more;
  seeds.job = other;
  const struct {
    const mm_job_batch *batch;
    const char *why;
  } cases[] = { { &map, "expected 3 of 'negentropy'" },
                { &larger, "expected 4 of 'l2'" },
                { &seeds, "training 1: the seed is another one's" } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_run *run;
    mm_job_store *store;
    size_t first;
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
    assert_ok(mm_job_store_open(run, &store));
    assert_fails(mm_job_store_batch(store, cases[i].batch, &first), MM_ERR_INPUT, cases[i].why);
    mm_job_store_close(store);
    mm_run_close(run);
  }
  rig_close(&r);
}

// Fewer batches than the run has: it is said, and nothing is dropped.
static void test_too_few(void **state) {
  (void)state;
  rig r;
  double final[2 * SEEDS];
  mm_run *run;
  mm_job_store *store;
  size_t first;
  rig_open(&r);
  run_twice(&r, "run", true, final);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  assert_ok(mm_job_store_open(run, &store));
  assert_ok(mm_job_store_batch(store, &r.batch, &first));
  assert_fails(mm_job_store_check_end(store), MM_ERR_INPUT, "training 3: there are not so many");
  assert_fails(mm_job_store_finish(store), MM_ERR_INPUT, "not so many");
  mm_job_store_close(store);
  mm_run_close(run);
  assert_int_equal(run_twice(&r, "run", false, final), 2 * SEEDS);
  rig_close(&r);
}

// Progress and report are about all jobs of a call.
typedef struct heard {
  size_t done, total;
} heard;

static void hear(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)env_steps;
  *(heard *)user = (heard){ done, total };
}

static void test_report(void **state) {
  (void)state;
  rig r;
  heard h = { 0 };
  mm_backend_report report;
  mm_run *run;
  mm_job_store *store;
  size_t first;
  const volatile int stop = 1;
  rig_open(&r);
  assert_ok(mm_run_create(fixture_path("run"), "transfer", "{}", &run));
  assert_ok(mm_job_store_open(run, &store));
  assert_ok(mm_job_store_batch(store, &r.batch, &first));
  mm_backend_config backend = {
    .size = sizeof(mm_backend_config), .threads = 1, .report = &report, .progress = hear, .user = &h
  };
  assert_ok(mm_job_store_run(store, &backend, 1, r.job + 1, 1)); // one of three
  assert_int_equal(mm_job_store_results(store, 0)[0].status, MM_ERR_INTERRUPTED);
  backend.stop = &stop;
  assert_int_equal(mm_job_store_run(store, &backend, 0, r.job, SEEDS), MM_ERR_INTERRUPTED);
  assert_int_equal(report.n_done, 1);
  backend.stop = NULL;
  assert_ok(mm_job_store_run(store, &backend, 0, r.job, SEEDS));
  assert_int_equal(report.n_done, SEEDS);
  assert_int_equal(report.trouble, SEEDS);
  assert_int_equal(h.total, SEEDS);
  assert_int_equal(h.done, SEEDS);
  mm_job_store_close(store);
  mm_run_close(run);
  rig_close(&r);
}

// A list that did not come to its end is gone on with, in the same process and in the next one; one
// of another generation or stage begins; nothing is left of it when its generation is stored.
static void test_lists(void **state) {
  (void)state;
  rig r;
  mm_run *run;
  mm_job_store *store;
  size_t first, again;
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  rig_open(&r);
  mm_job bad[SEEDS];
  memcpy(bad, r.job, sizeof bad);
  bad[1].config = NULL; // no algorithm: no result that would be the same every time
  assert_ok(mm_run_create(fixture_path("run"), "learn", "{}", &run));
  assert_ok(mm_job_store_open(run, &store));
  assert_ok(mm_job_store_list(store, 7, 1, bad, SEEDS, &first));
  assert_ok(mm_job_store_run(store, &backend, first, bad, SEEDS));
  assert_int_equal(mm_job_store_results(store, first)[1].status, MM_ERR_INPUT);
  assert_ok(mm_job_store_list(store, 7, 1, bad, SEEDS, &again));
  assert_int_equal(again, first);
  mm_job_store_close(store);

  assert_ok(mm_job_store_open(run, &store));
  assert_ok(mm_job_store_list(store, 7, 2, r.job, SEEDS, &first)); // another stage
  assert_ok(mm_job_store_list(store, 8, 1, r.job, SEEDS, &first)); // another generation
  assert_int_equal(mm_job_store_work_of(store).found, 0);
  assert_ok(mm_job_store_list(store, 7, 1, r.job, SEEDS, &first));
  assert_int_equal(mm_job_store_work_of(store).found, SEEDS - 1);
  assert_ok(mm_job_store_run(store, &backend, first, r.job, SEEDS));
  assert_int_equal(mm_job_store_work_of(store).trained, 1);
  for (size_t i = 0; i < SEEDS; i++) {
    mm_result alone;
    assert_ok(mm_job_run(&r.job[i], NULL, &alone));
    const mm_result *listed = mm_job_store_results(store, first) + i;
    assert_true(listed->final_value == alone.final_value);
    assert_int_equal(listed->env_steps, alone.env_steps);
    mm_result_release(&alone);
  }
  assert_ok(mm_run_begin(run));
  assert_ok(mm_job_store_forget_lists(store));
  assert_ok(mm_run_commit(run));
  mm_job_store_clear_lists(store);
  assert_ok(mm_job_store_list(store, 7, 1, r.job, SEEDS, &first));
  assert_int_equal(mm_job_store_results(store, first)[0].status, MM_ERR_INTERRUPTED);
  mm_job_store_close(store);
  mm_run_summary summary;
  assert_ok(mm_run_summarise(run, &summary));
  assert_int_equal(summary.kept, 0);
  mm_run_close(run);
  rig_close(&r);
}

// Whoever only looks finds the results, stores nothing and does not need the run any more.
static void test_reading(void **state) {
  (void)state;
  rig r;
  double final[2 * SEEDS];
  mm_run *run;
  mm_job_store *store;
  size_t first;
  rig_open(&r);
  run_twice(&r, "run", true, final);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_job_store_read(run, &store));
  mm_run_close(run);
  for (size_t b = 0; b < 3; b++) {
    assert_ok(mm_job_store_batch(store, &r.batch, &first));
    const mm_result *result = mm_job_store_results(store, first);
    for (size_t i = 0; i < SEEDS; i++) {
      assert_int_equal(result[i].status, b < 2 ? MM_OK : MM_ERR_INTERRUPTED);
      if (b < 2) assert_true(result[i].final_value == final[b * SEEDS + i]);
    }
  }
  mm_job_store_close(store);
  rig_close(&r);
}

int suite_job_store(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(test_found_again), TEST(test_other_batches), TEST(test_too_few),
    TEST(test_report),      TEST(test_lists),         TEST(test_reading),
  };
#undef TEST
  return cmocka_run_group_tests_name("job_store", tests, NULL, NULL);
}
