// SPDX-License-Identifier: Apache-2.0
// The run database: what is put in comes out to the bit, in one piece or not at all; one owner,
// many readers; folders; lack of memory.

#define _XOPEN_SOURCE 700

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_fixture.h"
#include "scarce_memory.h"
#include "study/run/run_table.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Contents

static void test_round_trip(void **state) {
  (void)state;
  mm_run *run = fixture_create("a/b/run");
  assert_string_equal(mm_run_folder_of(run), fixture_path("a/b/run"));
  assert_string_equal(mm_run_command(run), "learn");
  fixture_start(run);
  fixture_fill(run, 0, 23);
  assert_ok(mm_run_session_end(run, "done"));
  mm_run_close(run);
  // one file is the whole run
  assert_int_equal(fixture_entries(fixture_path("a/b/run")), 1);
  fixture_expect("a/b/run", 23);
  fixture_expect("a/b/run/run.db", 23);
  fixture_expect("a/b/run///", 23);
  assert_int_equal(fixture_entries(fixture_path("a/b/run")), 1);
}

static void test_goes_on(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  mm_run_summary summary;
  mm_run_generation row;
  bool found;
  fixture_start(run);
  assert_ok(mm_run_last_generation(run, &row, &found));
  assert_false(found);
  assert_ok(mm_run_summarise(run, &summary));
  assert_true(summary.owned);
  assert_string_equal(summary.outcome, "running");
  fixture_fill(run, 0, 4);
  mm_run_close(run); // without an end of the session
  for (int i = 1; i < 4; i++) {
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
    assert_ok(mm_run_last_generation(run, &row, &found));
    assert_true(found && row.generation == 5 * i - 1);
    fixture_start(run);
    fixture_fill(run, 5 * i, 5 * i + 4);
    assert_ok(mm_run_session_end(run, i == 3 ? "done" : "stopped"));
    mm_run_close(run);
  }
  fixture_expect("run", 19);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_run_summarise(run, &summary));
  assert_false(summary.owned);
  assert_string_equal(summary.outcome, "done");
  assert_int_equal(summary.generations, 19);
  assert_int_equal(summary.env_steps, 19 * 20 / 2 * FIXTURE_JOBS * 128);
  assert_true(fabs(summary.seconds - 19.0) < 1e-9);
  assert_int_equal(strlen(summary.started), strlen("2026-01-31T12:34:56.789Z"));
  assert_true(strcmp(summary.started, summary.last) <= 0);
  mm_run_close(run);
}

// Numbers that a database could change.
static void test_odd_numbers(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  mm_run_generation row = { .sigma = -0.0,
                            .fitness_mean = INFINITY,
                            .fitness_sd = -INFINITY,
                            .fitness_best = 4.9406564584124654e-324,
                            .env_steps = INT64_MAX };
  mm_run_generation back;
  bool found;
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_generation(run, &row));
  assert_ok(mm_run_commit(run));
  assert_ok(mm_run_generation_at(run, 0, &back, &found));
  assert_true(found);
  assert_true(back.sigma == 0 && !signbit(back.sigma)); // SQLite has no -0
  assert_true(back.fitness_mean == INFINITY && back.fitness_sd == -INFINITY);
  assert_true(back.fitness_best == row.fitness_best && back.env_steps == INT64_MAX);
  assert_int_equal(back.state_size, 0);
  assert_ok(mm_run_generation_at(run, 1, &back, &found));
  assert_false(found);
  assert_ok(mm_run_generation_at(run, -1, &back, &found));
  assert_false(found);
  mm_run_close(run);
}

static void test_config(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  assert_ok(mm_run_set_config(run, "{\"a\":\n\t[1, 2]}"));
  assert_string_equal(mm_run_config(run), "{\"a\":\n\t[1, 2]}");
  assert_fails(mm_run_set_config(run, "{\"a\":"), MM_ERR_INPUT, "configuration:1:");
  assert_string_equal(mm_run_config(run), "{\"a\":\n\t[1, 2]}");
  mm_run_close(run);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_string_equal(mm_run_config(run), "{\"a\":\n\t[1, 2]}");
  assert_string_equal(mm_run_command(run), "learn");
  mm_run_close(run);
  assert_fails(mm_run_create(fixture_path("other"), "learn", "no JSON", &run), MM_ERR_INPUT,
               "configuration");
  assert_false(fixture_exists(fixture_path("other")));
}

// The checksum of a row as docs/run-database.md describes it, computed elsewhere (Python's zlib).
static uint32_t crc_of(mm_run_table_id id, const void *row) {
  mm_run_cell cell[MM_RUN_COLUMNS_MAX];
  mm_run_cells_of(&mm_run_tables[id], row, cell);
  return mm_run_crc(&mm_run_tables[id], cell);
}

static void test_checksum(void **state) {
  (void)state;
  const mm_run_job job = { .generation = 3,
                           .member = 2,
                           .task = 1,
                           .seed = UINT64_MAX - 4,
                           .value = 0.5,
                           .status = MM_ERR_NUMERIC,
                           .env_steps = 256 };
  const mm_run_score score = { .generation = 3,
                               .map = "l2",
                               .task = 7,
                               .seed = 9,
                               .value = -1.25,
                               .optimal = NAN,
                               .env_steps = 8 };
  const mm_run_search_state row = { 1, { "\0\1\2\3", 4 } };
  assert_int_equal(crc_of(MM_RUN_JOB, &job), 0x45796b84);
  assert_int_equal(crc_of(MM_RUN_SCORE, &score), 0x149553a0);
  assert_int_equal(crc_of(MM_RUN_STATE, &row), 0x6ac2b0f8);
}

static int stop_at_three(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  ++*(int *)user;
  return row->generation == 3;
}

static void test_walk_stops(void **state) {
  (void)state;
  fixture_make("run", 9);
  mm_run *run;
  int n = 0;
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_run_each(run, MM_RUN_GENERATION, stop_at_three, &n));
  assert_int_equal(n, 4);
  assert_ok(mm_run_verify(run));
  mm_run_close(run);
}

// ---------------------------------------------------------------------------------------------
// Transactions

static void test_drop(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  mm_run_job job = { .generation = 3, .seed = 5 };
  mm_run_generation row = { .generation = 3, .state = "abc", .state_size = 3 };
  fixture_start(run);
  fixture_fill(run, 0, 2);
  for (int i = 0; i < 3; i++) {
    assert_ok(mm_run_begin(run));
    assert_ok(mm_run_put_generation(run, &row));
    assert_ok(mm_run_put_jobs(run, &job, 1));
    assert_ok(mm_run_set_config(run, "{}"));
    mm_run_drop(run);
    mm_run_drop(run); // once too often does not matter
  }
  fixture_fill(run, 3, 4);
  // closing drops as well
  row.generation = 5;
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_generation(run, &row));
  mm_run_close(run);
  fixture_expect("run", 4);
}

static void test_misuse(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  mm_run_job jobs[] = { { .generation = 1 }, { .generation = 2 } };
  mm_run_generation row = { .generation = 1 };
  mm_run_score score = { .map = "a\nb" };
  fixture_start(run);
  fixture_fill(run, 0, 0);

  assert_ok(mm_run_begin(run));
  row.generation = 2;
  assert_fails(mm_run_put_generation(run, &row), MM_ERR_INPUT, "expected generation 1");
  row.generation = 1;
  row.env_steps = UINT64_MAX;
  assert_ok(mm_run_put_generation(run, &row));
  assert_fails(mm_run_commit(run), MM_ERR_INPUT, "column 'env_steps' of table 'generation'");
  row.env_steps = 0;

  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_jobs(run, jobs, 1));
  assert_fails(mm_run_commit(run), MM_ERR_INPUT, "jobs of generation 1 without its row");

  assert_ok(mm_run_begin(run));
  assert_fails(mm_run_put_jobs(run, jobs, 2), MM_ERR_INPUT, "jobs of generations 1 and 2");
  mm_run_drop(run);

  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_generation(run, &row));
  assert_ok(mm_run_put_jobs(run, jobs + 1, 1));
  assert_fails(mm_run_commit(run), MM_ERR_INPUT, "jobs of generation 2 together with");

  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_jobs(run, jobs, 1));
  assert_fails(mm_run_put_jobs(run, jobs, 1), MM_ERR_INPUT, "is there already");
  mm_run_drop(run);

  assert_ok(mm_run_begin(run));
  assert_fails(mm_run_put_scores(run, &score, 1), MM_ERR_INPUT, "column 'map' of table 'score'");
  score.map = "\xff";
  assert_fails(mm_run_put_scores(run, &score, 1), MM_ERR_INPUT, "not UTF-8");
  score.map = "fine";
  score.task = -1;
  assert_fails(mm_run_put_scores(run, &score, 1), MM_ERR_INPUT, "column 'task'");
  mm_run_drop(run);

  assert_fails(mm_run_session_end(run, "finished"), MM_ERR_INPUT, "unknown outcome");
  fixture_fill(run, 1, 3);
  mm_run_close(run);
  fixture_expect("run", 3);
}

static void test_sessions(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  mm_run_summary summary;
  assert_fails(mm_run_session_end(run, "done"), MM_ERR_INPUT, "no session");
  assert_ok(mm_run_summarise(run, &summary));
  assert_string_equal(summary.outcome, "");
  assert_string_equal(summary.started, "");
  assert_ok(mm_run_begin(run));
  fixture_start(run);
  mm_run_drop(run); // takes the session along
  assert_fails(mm_run_session_end(run, "done"), MM_ERR_INPUT, "no session");
  fixture_start(run);
  assert_ok(mm_run_session_end(run, "interrupted"));
  assert_ok(mm_run_summarise(run, &summary));
  assert_string_equal(summary.outcome, "interrupted");
  fixture_start(run);
  mm_run_close(run);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_run_summarise(run, &summary));
  assert_string_equal(summary.outcome, "running");
  assert_false(summary.owned);
  mm_run_close(run);
}

// ---------------------------------------------------------------------------------------------
// Owners and readers

static void test_one_owner(void **state) {
  (void)state;
  mm_run *run = fixture_create("run"), *other = NULL;
  char pid[32];
  snprintf(pid, sizeof pid, "process %ld on '", (long)getpid());
  assert_fails(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &other), MM_ERR_IO, pid);
  assert_null(other);
  assert_fails(mm_run_create(fixture_path("run"), "learn", "{}", &other), MM_ERR_IO, pid);
  mm_run_close(run);
  assert_fails(mm_run_create(fixture_path("run"), "learn", "{}", &other), MM_ERR_INPUT,
               "there is a run in");
  assert_int_equal(fixture_entries(fixture_path("run")), 1);
  // another process
  int ready[2], go[2];
  char byte = 0;
  assert_int_equal(pipe(ready) | pipe(go), 0);
  pid_t child = fork();
  if (child == 0) {
    mm_status status = mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run);
    if (write(ready[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1) _exit((int)status);
    _exit(99);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  snprintf(pid, sizeof pid, "process %ld on '", (long)child);
  assert_fails(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &other), MM_ERR_IO, pid);
  mm_run_summary summary;
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &other));
  assert_ok(mm_run_summarise(other, &summary));
  assert_true(summary.owned);
  mm_run_close(other);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  // it went without closing anything
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &other));
  fixture_start(other);
  fixture_fill(other, 0, 1);
  mm_run_close(other);
  fixture_expect("run", 1);
  for (int i = 0; i < 2; i++) {
    close(ready[i]);
    close(go[i]);
  }
}

static void test_reading_while_writing(void **state) {
  (void)state;
  mm_run *run = fixture_create("run"), *reader, *snapshot;
  mm_status status;
  fixture_start(run);
  fixture_fill(run, 0, 3);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &reader));
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &snapshot));
  assert_ok(mm_run_begin(snapshot));
  assert_int_equal(fixture_read(snapshot, &status), 4);
  for (int64_t g = 4; g < 40; g++) {
    assert_ok(fixture_put(run, g));
    assert_int_equal(fixture_read(reader, &status), g + 1);
    assert_ok(status);
  }
  assert_int_equal(fixture_read(snapshot, &status), 4);
  assert_ok(status);
  mm_run_drop(snapshot);
  assert_int_equal(fixture_read(snapshot, &status), 40);
  // a transaction in flight is not seen
  assert_ok(mm_run_begin(run));
  mm_run_generation row = { .generation = 40 };
  assert_ok(mm_run_put_generation(run, &row));
  assert_int_equal(fixture_read(reader, &status), 40);
  assert_ok(status);
  mm_run_close(run);
  assert_int_equal(fixture_read(reader, &status), 40);
  mm_run_close(reader);
  mm_run_close(snapshot);
  fixture_expect("run", 39);
  // the readers kept the log alive; the next writer tidies up
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  mm_run_close(run);
  assert_int_equal(fixture_entries(fixture_path("run")), 1);
  fixture_expect("run", 39);
}

// ---------------------------------------------------------------------------------------------
// Folders

static void test_folders(void **state) {
  (void)state;
  char path[MM_RUN_PATH_SIZE], expected[1200];
  for (int n = 1; n <= 12; n++) {
    assert_ok(mm_folder_number(fixture_path("x/y"), "learn-GridWorld-all", path));
    snprintf(expected, sizeof expected, "%s-%d", fixture_path("x/y/learn-GridWorld-all"), n);
    assert_string_equal(path, expected);
    assert_true(fixture_exists(path));
  }
  assert_ok(mm_folder_number(fixture_path("x"), "learn-../a b/c.yaml", path));
  assert_string_equal(path, fixture_path("x/learn-..-a-b-c.yaml-1"));
  assert_ok(mm_folder_number(fixture_path("x"), "", path));
  assert_string_equal(path, fixture_path("x/run-1"));
  assert_ok(mm_folder_number(fixture_path("x"), "..", path));
  assert_string_equal(path, fixture_path("x/-.-1"));
  char longest[5000];
  memset(longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_fails(mm_folder_number(longest, "x", path), MM_ERR_INPUT, "too long");
  fixture_store(fixture_path("file"), "", 0);
  assert_fails(mm_folder_number(fixture_path("file"), "x", path), MM_ERR_INPUT, "Not a directory");
  assert_fails(mm_folder_number("", "x", path), MM_ERR_INPUT, "found nothing");
}

static void test_relative_and_links(void **state) {
  (void)state;
  char before[4096];
  mm_run *run;
  assert_non_null(getcwd(before, sizeof before));
  assert_int_equal(chdir(fixture_path("")), 0);
  // a name that SQLite could take for something else
  assert_ok(mm_run_create("file:a?mode=memory%20", "learn", "{}", &run));
  assert_string_equal(mm_run_folder_of(run), "file:a?mode=memory%20");
  fixture_start(run);
  fixture_fill(run, 0, 2);
  mm_run_close(run);
  assert_int_equal(symlink("file:a?mode=memory%20", "link"), 0);
  fixture_expect("link", 2);
  assert_ok(mm_run_open("link", MM_RUN_WRITE, &run));
  mm_run *other;
  assert_fails(mm_run_open("file:a?mode=memory%20/run.db", MM_RUN_WRITE, &other), MM_ERR_IO,
               "belongs to process");
  mm_run_close(run);
  assert_int_equal(chdir("link"), 0);
  assert_ok(mm_run_open("run.db", MM_RUN_READ, &run));
  assert_string_equal(mm_run_folder_of(run), ".");
  mm_run_close(run);
  assert_int_equal(chdir(before), 0);
}

static void test_missing(void **state) {
  (void)state;
  mm_run *run;
  assert_fails(mm_run_open(fixture_path("none"), MM_RUN_READ, &run), MM_ERR_INPUT, "no run '");
  assert_int_equal(mkdir(fixture_path("empty"), 0777), 0);
  assert_fails(mm_run_open(fixture_path("empty"), MM_RUN_READ, &run), MM_ERR_INPUT,
               "there is no run.db in it");
  assert_fails(mm_run_open(fixture_path("empty"), MM_RUN_WRITE, &run), MM_ERR_INPUT,
               "there is no run.db in it");
  assert_int_equal(fixture_entries(fixture_path("empty")), 0);
  assert_fails(mm_run_create("", "learn", "{}", &run), MM_ERR_INPUT, "found nothing");
  // beyond what SQLite can open
  char deep[700];
  memset(deep, 'd', sizeof deep);
  for (int i = 99; i < 600; i += 100)
    deep[i] = '/';
  deep[600] = '\0';
  assert_fails(mm_run_create(fixture_path(deep), "learn", "{}", &run), MM_ERR_INPUT, "too long");
}

// What a process that died during creation, or somebody who removed run.db alone, left behind.
static void test_leftovers(void **state) {
  (void)state;
  fixture_make("old", 6);
  mm_run *run;
  size_t size;
  // a log of the old run that would fit the new one's name
  assert_ok(mm_run_open(fixture_path("old"), MM_RUN_WRITE, &run));
  fixture_start(run);
  fixture_fill(run, 7, 9);
  char *wal = fixture_load(fixture_path("old/run.db-wal"), &size);
  mm_run_close(run);
  assert_true(size > 1000);
  assert_int_equal(mkdir(fixture_path("run"), 0777), 0);
  fixture_store(fixture_path("run/run.db-wal"), wal, size);
  fixture_store(fixture_path("run/run.db-journal"), wal, size);
  fixture_store(fixture_path("run/run.db.new"), wal, size);
  fixture_store(fixture_path("run/run.db.new-journal"), wal, size);
  fixture_store(fixture_path("run/run.lock"), "1 nowhere\n", 10);
  free(wal);
  run = fixture_create("run");
  fixture_start(run);
  fixture_fill(run, 0, 2);
  mm_run_close(run);
  assert_int_equal(fixture_entries(fixture_path("run")), 1);
  fixture_expect("run", 2);
}

// ---------------------------------------------------------------------------------------------
// Lack of memory: ours, and SQLite's

static int64_t seen;

static int see_nothing(const mm_run_row *any, void *user) {
  const mm_run_generation *row = &any->generation;
  (void)user;
  seen = row->generation;
  return 0;
}

// Everything a caller does, ended by the first failure.
static mm_status use(const char *folder) {
  mm_run *run;
  mm_run_generation row;
  mm_run_summary summary;
  mm_run_session session = { .backend = "cpu", .isa = "avx2", .threads = 1 };
  bool found;
  MM_TRY(mm_run_open(folder, MM_RUN_WRITE, &run));
  mm_status status = mm_run_session_start(run, &session);
  if (status == MM_OK) status = mm_run_last_generation(run, &row, &found);
  if (status == MM_OK) status = mm_run_set_config(run, "{\"b\":2}");
  if (status == MM_OK) status = fixture_put(run, found ? row.generation + 1 : 0);
  if (status == MM_OK) status = mm_run_summarise(run, &summary);
  if (status == MM_OK) status = mm_run_each(run, MM_RUN_GENERATION, see_nothing, NULL);
  if (status == MM_OK) status = mm_run_verify(run);
  if (status == MM_OK) status = mm_run_session_end(run, "done");
  mm_run_close(run);
  return status;
}

// What a session says to have worked with, in the order of the sessions.
static int see_backend(const mm_run_row *row, void *user) {
  strcat(user, row->session.backend);
  strcat(user, " ");
  return 0;
}

static void test_session_backend(void **state) {
  (void)state;
  char names[64] = "";
  mm_run *run;
  mm_run_session session = { .backend = "cuda", .isa = "avx2", .threads = 1 };
  fixture_make("run", 1);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  mm_run_session_backend(run, "cpu"); // there is no session yet
  assert_ok(mm_run_session_start(run, &session));
  assert_ok(mm_run_session_end(run, "done"));
  assert_ok(mm_run_session_start(run, &session));
  (void)MM_FAIL(MM_ERR_INPUT, "before");
  mm_run_session_backend(run, "cpu+cuda"); // a process that is killed now has said so
  assert_string_equal(mm_last_error(), "before");
  mm_run_close(run);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  assert_ok(mm_run_each_from(run, MM_RUN_SESSION, 2, INT64_MAX, see_backend, names));
  assert_string_equal(names, "cuda cpu+cuda ");
  assert_ok(mm_run_verify(run));
  mm_run_close(run);
}

static void test_no_memory(void **state) {
  (void)state;
  fixture_make("run", 3);
  mm_status status = MM_ERR_MEMORY;
  size_t n = 0;
  for (; n < 200 && status == MM_ERR_MEMORY; n++) {
    make_memory_scarce();
    allocations_left = n;
    status = use(fixture_path("run"));
    make_memory_usual();
  }
  assert_ok(status);
  assert_in_range(n, 4, 199);
  // creation: nothing is left of a failed one
  for (n = 0; n < 200; n++) {
    mm_run *run = NULL;
    make_memory_scarce();
    allocations_left = n;
    status = mm_run_create(fixture_path("new"), "learn", "{}", &run);
    make_memory_usual();
    mm_run_close(run);
    if (status == MM_OK) break;
    assert_int_equal(status, MM_ERR_MEMORY);
    assert_false(fixture_exists(fixture_path("new")));
  }
  assert_in_range(n, 3, 199);
}

static sqlite3_mem_methods usual;
static int64_t sqlite_left = INT64_MAX;

static void *scarce_malloc(int size) {
  return sqlite_left <= 0 ? NULL : (sqlite_left--, usual.xMalloc(size));
}

static void *scarce_realloc(void *block, int size) {
  return sqlite_left <= 0 ? NULL : (sqlite_left--, usual.xRealloc(block, size));
}

static void test_no_memory_for_sqlite(void **state) {
  (void)state;
  sqlite3_shutdown();
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual), SQLITE_OK);
  sqlite3_mem_methods scarce = usual;
  scarce.xMalloc = scarce_malloc;
  scarce.xRealloc = scarce_realloc;
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &scarce), SQLITE_OK);
  assert_int_equal(sqlite3_initialize(), SQLITE_OK);
  fixture_make("run", 1);
  int64_t n = 0;
  mm_status status = MM_ERR_MEMORY;
  for (; n < 20000 && status != MM_OK; n += 1 + n / 40) {
    sqlite_left = n;
    status = use(fixture_path("run"));
    sqlite_left = INT64_MAX;
    if (status != MM_OK && status != MM_ERR_MEMORY)
      fail_msg("%s: %s", mm_status_text(status), mm_last_error());
  }
  assert_ok(status);
  assert_in_range(n, 100, 20000);
  mm_run *run;
  mm_run_generation row;
  bool found;
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_run_verify(run));
  assert_ok(mm_run_last_generation(run, &row, &found));
  assert_true(found && row.generation >= 2);
  mm_run_close(run);
  fixture_expect("run", row.generation);
  sqlite3_shutdown();
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &usual), SQLITE_OK);
}

int suite_run(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(round_trip),  TEST(goes_on),
    TEST(odd_numbers), TEST(config),
    TEST(checksum),    TEST(walk_stops),
    TEST(drop),        TEST(misuse),
    TEST(sessions),    TEST(session_backend),
    TEST(one_owner),   TEST(reading_while_writing),
    TEST(folders),     TEST(relative_and_links),
    TEST(missing),     TEST(leftovers),
    TEST(no_memory),   TEST(no_memory_for_sqlite),
  };
#undef TEST
  return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
