// SPDX-License-Identifier: Apache-2.0
// Trainings in the run database: what is put in comes out to the bit, states come and go, missing
// points are noticed; batches and measures; and databases of versions 1 and 2.

#define _XOPEN_SOURCE 700

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_fixture.h"
#include "study/run/run_internal.h"
#include "test.h"

enum { JOBS = 7, POINTS = 40 };

static mm_run_training training_row(int64_t job) {
  return (mm_run_training){ .job = job,
                            .seed = UINT64_MAX - (uint64_t)job,
                            .status = job == 3 ? MM_ERR_NUMERIC : MM_OK,
                            .final = job == 3 ? NAN : 0.1 * (double)job,
                            .recent = job % 2 ? NAN : -1.0 / (double)(job + 3),
                            .optimal = job == 5 ? INFINITY : NAN,
                            .env_steps = 1000 * (uint64_t)job,
                            .points = job == 3 ? 0 : POINTS - job };
}

static double point_at(int64_t job, uint64_t step) {
  return sin((double)job + 1e-3 * (double)step);
}

static mm_status put(mm_run *run, int64_t job) {
  mm_run_training row = training_row(job);
  uint64_t step[POINTS];
  double value[POINTS];
  for (int k = 0; k < POINTS; k++) {
    step[k] = 512 * (uint64_t)k;
    value[k] = k == 2 ? NAN : point_at(job, step[k]);
  }
  MM_TRY(mm_run_begin(run));
  mm_status status = mm_run_put_training(run, &row, step, value);
  if (status == MM_OK) status = mm_run_forget(run, job);
  if (status == MM_OK) return mm_run_commit(run);
  mm_run_drop(run);
  return status;
}

static mm_run *create(const char *name) {
  mm_run *run;
  assert_ok(mm_run_create(fixture_path(name), "train", "{\"env\":\"CartPole-v1\"}", &run));
  return run;
}

// ---------------------------------------------------------------------------------------------

static void same_real(double a, double b) {
  assert_true((isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0);
}

static int see_training(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  int *n = user;
  mm_run_training expected = training_row(row->job);
  assert_true(row->seed == expected.seed && row->status == expected.status);
  same_real(row->final, expected.final);
  same_real(row->recent, expected.recent);
  same_real(row->optimal, expected.optimal);
  assert_true(row->env_steps == expected.env_steps && row->points == expected.points);
  ++*n;
  return 0;
}

static int see_point(const mm_run_row *any, void *user) {
  const mm_run_point *row = &any->curve;
  int *n = user;
  same_real(row->value, row->step == 1024 ? NAN : point_at(row->job, row->step));
  ++*n;
  return 0;
}

static int see_kept(const mm_run_row *any, void *user) {
  const mm_run_kept *row = &any->kept;
  int *n = user;
  const unsigned char *byte = row->state.data;
  for (size_t i = 0; i < row->state.size; i++)
    assert_int_equal(byte[i], (unsigned char)(row->job + (int64_t)row->state.size));
  ++*n;
  return 0;
}

static void keep(mm_run *run, int64_t job, size_t size) {
  unsigned char *state = malloc(size + 1);
  assert_non_null(state);
  memset(state, (int)((size_t)job + size) & 255, size);
  assert_ok(mm_run_keep(run, job, state, size));
  free(state);
}

static void expect_rows(const char *name, int trainings, int kept) {
  mm_run *run;
  mm_run_summary summary;
  int n[3] = { 0 }, points = 0;
  uint64_t steps = 0;
  for (int64_t job = 0; job < trainings; job++) {
    points += (int)training_row(job).points;
    steps += training_row(job).env_steps;
  }
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
  assert_ok(mm_run_each(run, MM_RUN_TRAINING, see_training, &n[0]));
  assert_ok(mm_run_each(run, MM_RUN_CURVE, see_point, &n[1]));
  assert_ok(mm_run_each(run, MM_RUN_KEPT, see_kept, &n[2]));
  assert_int_equal(n[0], trainings);
  assert_int_equal(n[1], points);
  assert_int_equal(n[2], kept);
  assert_ok(mm_run_summarise(run, &summary));
  assert_int_equal(summary.trainings, trainings);
  assert_int_equal(summary.kept, kept);
  assert_true(summary.env_steps == steps);
  assert_ok(mm_run_verify(run));
  mm_run_close(run);
}

static int see_status(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  assert_int_equal(row->status, row->job);
  ++*(int *)user;
  return 0;
}

// Of the whole list: a status that may not be stored would end a run that meets it.
static void test_every_status(void **state) {
  (void)state;
  static const mm_status all[] = {
#define STATUS(name, meaning) MM_##name,
    MM_STATUS_LIST(STATUS)
#undef STATUS
  };
  const int n = (int)(sizeof all / sizeof *all);
  mm_run *run = create("run");
  int seen = 0;
  assert_ok(mm_run_begin(run));
  for (int i = 0; i < n; i++) {
    const mm_run_training row = { .job = i, .status = all[i], .final = NAN };
    assert_ok(mm_run_put_training(run, &row, NULL, NULL));
  }
  assert_ok(mm_run_commit(run));
  assert_ok(mm_run_each(run, MM_RUN_TRAINING, see_status, &seen));
  assert_int_equal(seen, n);
  assert_ok(mm_run_verify(run));
  mm_run_close(run);
}

static void test_round_trip(void **state) {
  (void)state;
  mm_run *run = create("run");
  for (int64_t job = 0; job < JOBS; job++) {
    keep(run, job, 100000);
    keep(run, job, 0);
    keep(run, job, 70000 + (size_t)job); // the newest counts
    keep(run, job + 1, 50000);
    assert_ok(put(run, job));
    expect_rows("run", (int)job + 1, 1);
  }
  assert_fails(put(run, 2), MM_ERR_INPUT, "is there already");
  mm_run_close(run);
  expect_rows("run", JOBS, 1);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  keep(run, 99, 3000000);
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_forget(run, -1));
  assert_ok(mm_run_commit(run));
  assert_ok(mm_run_trim(run));
  mm_run_close(run);
  expect_rows("run", JOBS, 0);
  struct stat about;
  assert_int_equal(stat(fixture_path("run/run.db"), &about), 0);
  assert_true(about.st_size < 200000); // the three megabytes are given back
}

static void test_too_large(void **state) {
  (void)state;
  mm_run *run = create("run");
  void *state_ = calloc(MM_RUN_KEPT_MAX + 1, 1);
  assert_non_null(state_);
  assert_fails(mm_run_keep(run, 0, state_, MM_RUN_KEPT_MAX + 1), MM_ERR_INPUT, "too long");
  mm_run_close(run);
  expect_rows("run", 0, 0);
  free(state_);
}

// ---------------------------------------------------------------------------------------------
// Batches and measures

static mm_run_batch batch_row(int64_t k) {
  static const char *const role[] = { "table", "tuning", "trial" };
  return (mm_run_batch){ .batch = k,
                         .first = 4 * k,
                         .jobs = 4,
                         .role = role[k % 3],
                         .env = "GridWorld-small",
                         .map = "it's \"<map>\"",
                         .settings = "{\"eta\":0.5}" };
}

static int see_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  int *n = user;
  mm_run_batch expected = batch_row((*n)++);
  assert_int_equal(row->batch, expected.batch);
  assert_int_equal(row->first, expected.first);
  assert_int_equal(row->jobs, expected.jobs);
  assert_string_equal(row->role, expected.role);
  assert_string_equal(row->env, expected.env);
  assert_string_equal(row->map, expected.map);
  assert_string_equal(row->settings, expected.settings);
  return 0;
}

static int see_measure(const mm_run_row *any, void *user) {
  const mm_run_measure *row = &any->measure;
  int k = (*(int *)user)++;
  assert_int_equal(row->job, 5);
  assert_string_equal(row->name, k < 3 ? "distance" : "error"); // by name
  assert_int_equal(row->step, k % 3);
  same_real(row->value, k < 3 ? (k == 1 ? NAN : 0.5 * k) : k == 5 ? INFINITY : 1.0 / k);
  return 0;
}

static void make_batches(const char *name) {
  mm_run *run = create(name);
  for (int64_t k = 0; k < 5; k++) {
    mm_run_batch row = batch_row(k);
    assert_ok(mm_run_put_batch(run, &row));
  }
  static const uint64_t step[] = { 0, 1, 2 };
  const double error[] = { 1.0 / 3, 1.0 / 4, INFINITY }, distance[] = { 0, NAN, 1 };
  mm_run_training row = { .job = 5, .seed = 5 };
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_training(run, &row, NULL, NULL));
  assert_ok(mm_run_put_measure(run, 5, "error", step, error, 3));
  assert_ok(mm_run_put_measure(run, 5, "distance", step, distance, 3));
  assert_ok(mm_run_commit(run));
  mm_run_close(run);
}

static void test_batches(void **state) {
  (void)state;
  mm_run *run;
  int batches = 0, measures = 0;
  make_batches("run");
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_run_each(run, MM_RUN_BATCH, see_batch, &batches));
  assert_ok(mm_run_each(run, MM_RUN_MEASURE, see_measure, &measures));
  assert_int_equal(batches, 5);
  assert_int_equal(measures, 6);
  assert_ok(mm_run_verify(run));
  mm_run_close(run);
}

static void test_missing_batch(void **state) {
  (void)state;
  static const struct {
    const char *sql, *sentence;
  } cases[] = {
    { "DELETE FROM batch WHERE batch = 2", "batch 2 is missing" },
    { "UPDATE batch SET map = 'l2' WHERE batch = 4", "wrong checksum" },
    { "UPDATE measure SET value = 3 WHERE step = 2", "wrong checksum" },
    { "DELETE FROM batch", "table 'batch' lacks 5 of its 5 rows" },
    { "DELETE FROM batch WHERE batch > 0; DELETE FROM meta WHERE key = 'rows'",
      "the batch of training 5 is missing" },
    { "DELETE FROM measure WHERE name = 'error'", "table 'measure' lacks 3 of its 6 rows" },
    { "DELETE FROM training; DELETE FROM meta WHERE key = 'rows'",
      "training 5, which has measures, is missing" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32];
    mm_run *run;
    snprintf(name, sizeof name, "run-%zu", i);
    make_batches(name);
    fixture_sql(name, cases[i].sql);
    assert_fails(mm_run_open(fixture_path(name), MM_RUN_READ, &run), MM_ERR_INPUT,
                 cases[i].sentence);
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run));
    assert_fails(mm_run_verify(run), MM_ERR_INPUT, cases[i].sentence);
    mm_run_close(run);
  }
}

// A row more or less is damage.
static void test_missing(void **state) {
  (void)state;
  static const struct {
    const char *sql, *sentence;
  } cases[] = {
    { "DELETE FROM curve WHERE job = 1 AND step = 512", "training 1 lacks 1" },
    { "DELETE FROM curve WHERE job = 4", "training 4 lacks 36" },
    { "DELETE FROM training WHERE job = 2", "training 2 has more points" },
    { "UPDATE training SET final = 3 WHERE job = 2", "wrong checksum" },
    { "UPDATE kept SET state = x'01'", "wrong checksum" },
    { "UPDATE curve SET value = value + 1 WHERE step = 1536 AND job = 6", "wrong checksum" },
    { "DELETE FROM training WHERE job = 2; DELETE FROM curve WHERE job = 2",
      "table 'training' lacks 1" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32];
    snprintf(name, sizeof name, "run-%zu", i);
    mm_run *run = create(name);
    for (int64_t job = 0; job < JOBS; job++)
      assert_ok(put(run, job));
    keep(run, 9, 1000);
    mm_run_close(run);
    fixture_sql(name, cases[i].sql);
    assert_fails(mm_run_open(fixture_path(name), MM_RUN_READ, &run), MM_ERR_INPUT,
                 cases[i].sentence);
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run));
    assert_fails(mm_run_verify(run), MM_ERR_INPUT, cases[i].sentence);
    mm_run_close(run);
  }
}

// Killed at any moment while states are kept and trainings come in: what was said is there.
static void test_killed(void **state) {
  (void)state;
  enum { KILLS = 15 };
  mm_run *run = create("run");
  mm_run_close(run);
  for (int i = 0; i < KILLS; i++) {
    pid_t child = fork();
    if (child == 0) {
      if (mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run) != MM_OK) _exit(1);
      unsigned char bytes[30000];
      for (size_t k = 0;; k++) {
        size_t size = 1000 + k % 29000;
        memset(bytes, (int)(k % 5 + size) & 255, size);
        if (mm_run_keep(run, (int64_t)(k % 5), bytes, size) != MM_OK) _exit(2);
      }
    }
    struct timespec moment = { 0, 1000000 + 1777777 * i };
    nanosleep(&moment, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    int n = 0;
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
    assert_ok(mm_run_each(run, MM_RUN_KEPT, see_kept, &n));
    assert_true(n <= 5);
    assert_ok(mm_run_verify(run));
    mm_run_close(run);
  }
}

// ---------------------------------------------------------------------------------------------
// Version 1

static void copy_old(const char *file, const char *name) {
  char path[1100];
  size_t size;
  snprintf(path, sizeof path, "%s/%s", MM_TEST_DATA, file);
  char *bytes = fixture_load(path, &size);
  assert_int_equal(mkdir(fixture_path(name), 0777), 0);
  snprintf(path, sizeof path, "%s/run.db", fixture_path(name));
  fixture_store(path, bytes, size);
  free(bytes);
}

static void copy_version_1(const char *name) {
  copy_old("golden/run_version_1.db", name);
}

static int count_row(const mm_run_row *row, void *user) {
  (void)row;
  ++*(int *)user;
  return 0;
}

static void expect_version_1(mm_run *run) {
  mm_run_summary summary;
  mm_run_generation row;
  bool found;
  int n[MM_RUN_TABLES] = { 0 };
  for (int i = 0; i < MM_RUN_TABLES; i++)
    assert_ok(mm_run_each(run, (mm_run_table_id)i, count_row, &n[i]));
  assert_int_equal(n[MM_RUN_GENERATION], 4);
  assert_int_equal(n[MM_RUN_JOB], 24);
  assert_int_equal(n[MM_RUN_TRAINING] + n[MM_RUN_CURVE] + n[MM_RUN_KEPT], 0);
  assert_ok(mm_run_last_generation(run, &row, &found));
  assert_true(found && row.generation == 3 && row.state_size > 0);
  assert_ok(mm_run_summarise(run, &summary));
  assert_int_equal(summary.generations, 3);
  assert_ok(mm_run_verify(run));
}

static void test_version_1(void **state) {
  (void)state;
  mm_run *run;
  size_t before, after;
  char path[1100];
  copy_version_1("run");
  snprintf(path, sizeof path, "%s", fixture_path("run/run.db"));
  char *bytes = fixture_load(path, &before);
  assert_ok(mm_run_open(path, MM_RUN_READ, &run));
  expect_version_1(run);
  mm_run_close(run);
  char *again = fixture_load(path, &after); // a reader changes nothing
  assert_int_equal(before, after);
  assert_memory_equal(bytes, again, before);
  free(bytes);
  free(again);
  for (int i = 0; i < 2; i++) { // the first time it is brought up, the second it is as any other
    assert_ok(mm_run_open(path, MM_RUN_WRITE, &run));
    expect_version_1(run);
    mm_run_close(run);
    assert_ok(mm_run_open(path, MM_RUN_READ, &run));
    expect_version_1(run);
    mm_run_close(run);
  }
  assert_ok(mm_run_open(path, MM_RUN_WRITE, &run));
  int64_t version;
  assert_ok(mm_run_query(run, "PRAGMA user_version", &version));
  assert_int_equal(version, MM_RUN_SCHEMA);
  keep(run, 5, 100);
  assert_ok(mm_run_trim(run)); // of a file without room for that: nothing happens
  mm_run_close(run);
}

// Refused: version 1 with a table too many or too few.
static void test_version_1_is_checked(void **state) {
  (void)state;
  mm_run *run;
  copy_version_1("more");
  fixture_sql("more", "CREATE TABLE kept(job INTEGER PRIMARY KEY, state BLOB)");
  copy_version_1("less");
  fixture_sql("less", "DROP TABLE timing");
  for (int i = 0; i < 2; i++) {
    mm_run_access access = i == 0 ? MM_RUN_READ : MM_RUN_WRITE;
    assert_fails(mm_run_open(fixture_path("more"), access, &run), MM_ERR_INPUT, "'kept' in it");
    assert_fails(mm_run_open(fixture_path("less"), access, &run), MM_ERR_INPUT, "missing");
  }
}

// ---------------------------------------------------------------------------------------------
// Version 2: a training of three seeds of which two are done

static void test_version_2(void **state) {
  (void)state;
  mm_run *run;
  mm_run_summary summary;
  copy_old("golden/run_version_2.db", "run");
  for (int i = 0; i < 3; i++) { // as it is; brought up; as any other
    assert_ok(mm_run_open(fixture_path("run"), i == 1 ? MM_RUN_WRITE : MM_RUN_READ, &run));
    int n[MM_RUN_TABLES] = { 0 };
    for (int k = 0; k < MM_RUN_TABLES; k++)
      assert_ok(mm_run_each(run, (mm_run_table_id)k, count_row, &n[k]));
    assert_int_equal(n[MM_RUN_TRAINING], 2);
    assert_int_equal(n[MM_RUN_CURVE], 100);
    assert_int_equal(n[MM_RUN_KEPT], 3);
    assert_int_equal(n[MM_RUN_BATCH] + n[MM_RUN_MEASURE], 0);
    assert_ok(mm_run_summarise(run, &summary));
    assert_int_equal(summary.trainings, 2);
    assert_ok(mm_run_verify(run));
    mm_run_close(run);
  }
}

int suite_run_training(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(test_round_trip),   TEST(test_too_large),     TEST(test_missing),
    TEST(test_killed),       TEST(test_version_1),     TEST(test_version_1_is_checked),
    TEST(test_batches),      TEST(test_missing_batch), TEST(test_version_2),
    TEST(test_every_status),
  };
#undef TEST
  return cmocka_run_group_tests_name("run_training", tests, NULL, NULL);
}
