// SPDX-License-Identifier: Apache-2.0
// The run database against the world: processes killed at any moment, full disks, read-only media,
// locks, files of other versions, damaged and hostile files. Whatever happens, what was committed
// is there or the call says what is wrong; no number is ever different from what was put in.

#define _GNU_SOURCE // mount, namespaces

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_fixture.h"
#include "study/run/run_internal.h"
#include "test.h"

static uint64_t random_word(void) {
  static uint64_t x = 88172645463325252;
  x ^= x << 13;
  x ^= x >> 7;
  return x ^= x << 17;
}

// A child's verdict, in its exit code: cmocka's assertions must not run twice.
static int wait_for(pid_t child) {
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void sleep_us(long us) {
  struct timespec t = { 0, us * 1000 };
  nanosleep(&t, NULL);
}

// ---------------------------------------------------------------------------------------------
// Killed

// Commits generations for ever and says after each that it is in.
static void commit_for_ever(const char *folder, int out) {
  mm_run *run;
  mm_run_generation row;
  mm_run_session session = { .backend = "cpu", .isa = "avx2", .threads = 1 };
  bool found;
  if (mm_run_open(folder, MM_RUN_WRITE, &run) != MM_OK) _exit(1);
  if (mm_run_last_generation(run, &row, &found) != MM_OK) _exit(2);
  if (mm_run_session_start(run, &session) != MM_OK) _exit(3);
  for (int64_t g = found ? row.generation + 1 : 0;; g++) {
    if (fixture_put(run, g) != MM_OK) _exit(4);
    if (write(out, &g, sizeof g) != sizeof g) _exit(5);
    // sometimes in the middle of closing
    if (g % 17 == 3) {
      mm_run_close(run);
      if (mm_run_open(folder, MM_RUN_WRITE, &run) != MM_OK) _exit(6);
      if (mm_run_session_start(run, &session) != MM_OK) _exit(7);
    }
  }
}

static void test_killed_while_committing(void **state) {
  (void)state;
  enum { KILLS = 25 };
  mm_run *run = fixture_create("run");
  mm_run_close(run);
  int64_t last = -1;
  for (int i = 0; i < KILLS; i++) {
    int64_t said = last, g;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) commit_for_ever(fixture_path("run"), pipes[1]);
    close(pipes[1]);
    // at least one more, so that the test gets somewhere; then any moment
    assert_int_equal(read(pipes[0], &said, sizeof said), sizeof said);
    sleep_us((long)(random_word() % 20000));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(wait_for(child), 1000 + SIGKILL);
    while (read(pipes[0], &g, sizeof g) == sizeof g)
      said = g;
    close(pipes[0]);
    // all it said is there, at most one more, and nothing half
    mm_run_generation row;
    mm_run_summary summary;
    bool found;
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
    assert_ok(mm_run_verify(run));
    assert_ok(mm_run_last_generation(run, &row, &found));
    assert_true(found && row.generation >= said && row.generation <= said + 1);
    assert_ok(mm_run_summarise(run, &summary));
    assert_false(summary.owned);
    assert_string_equal(summary.outcome, "running");
    mm_run_close(run);
    last = row.generation;
  }
  fixture_expect("run", last);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  mm_run_close(run);
  assert_int_equal(fixture_entries(fixture_path("run")), 1);
  fixture_expect("run", last);
}

static void test_killed_while_creating(void **state) {
  (void)state;
  int made = 0, none = 0;
  for (int i = 0; i < 40; i++) {
    char name[32];
    mm_run *run;
    snprintf(name, sizeof name, "run-%d", i);
    pid_t child = fork();
    if (child == 0) {
      if (mm_run_create(fixture_path(name), "learn", "{}", &run) != MM_OK) _exit(1);
      mm_run_close(run);
      for (;;)
        pause();
    }
    sleep_us((long)(random_word() % 12000));
    assert_int_equal(kill(child, SIGKILL), 0);
    wait_for(child);
    if (fixture_exists(fixture_path(name)) &&
        mm_run_open(fixture_path(name), MM_RUN_READ, &run) == MM_OK) {
      assert_string_equal(mm_run_config(run), "{}");
      assert_ok(mm_run_verify(run));
      mm_run_close(run);
      assert_ok(mm_run_open(fixture_path(name), MM_RUN_WRITE, &run));
      made++;
    } else {
      assert_ok(mm_run_create(fixture_path(name), "learn", "{}", &run));
      none++;
    }
    fixture_start(run);
    fixture_fill(run, 0, 1);
    mm_run_close(run);
    fixture_expect(name, 1);
    assert_int_equal(fixture_entries(fixture_path(name)), 1);
  }
  assert_int_equal(made + none, 40);
}

// ---------------------------------------------------------------------------------------------
// Full disks and read-only media, for real where mounting is allowed

static bool can_mount(const char *what) {
  const char *place = fixture_path("probe");
  assert_int_equal(mkdir(place, 0777), 0);
  bool can = mount("none", place, "tmpfs", 0, "size=64k") == 0;
  if (can) assert_int_equal(umount(place), 0);
  assert_int_equal(rmdir(place), 0);
  if (!can) print_message("  %s: not run: no right to mount here\n", what);
  return can;
}

// Puts generations until something fails; returns the last one that is in.
static int64_t fill_up(mm_run *run, int64_t first, mm_status *status) {
  int64_t g = first;
  while ((*status = fixture_put(run, g)) == MM_OK)
    g++;
  return g - 1;
}

static void test_full_disk(void **state) {
  (void)state;
  if (!can_mount("full disk")) skip();
  char place[1024], filler[1100];
  snprintf(place, sizeof place, "%s", fixture_path("small"));
  snprintf(filler, sizeof filler, "%s/filler", place);
  assert_int_equal(mkdir(place, 0777), 0);
  assert_int_equal(mount("none", place, "tmpfs", 0, "size=1m"), 0);
  char *block = calloc(1, 400000);
  assert_non_null(block);
  mm_run *run;
  int64_t last = -1;
  mm_status status;
  // nothing fits at all
  fixture_store(filler, block, 400000);
  for (int i = 0; i < 3; i++) {
    int fd = open(filler, O_WRONLY | O_APPEND);
    while (write(fd, block, 4096) > 0) {
    }
    close(fd);
    assert_fails(mm_run_create(fixture_path("small/run"), "learn", "{}", &run), MM_ERR_IO,
                 "o space left");
    assert_int_equal(fixture_entries(place), 1);
    assert_int_equal(truncate(filler, 400000), 0);
  }
  run = fixture_create("small/run");
  fixture_start(run);
  for (int i = 0; i < 4; i++) {
    last = fill_up(run, last + 1, &status);
    assert_int_equal(status, MM_ERR_IO);
    assert_non_null(strstr(mm_last_error(), "no space left"));
    assert_non_null(strstr(mm_last_error(), "run.db"));
    assert_true(last > 3 * i);
    // once more is no better, and no harm
    assert_fails(fixture_put(run, last + 1), MM_ERR_IO, "no space left");
    if (i < 2) {
      mm_run_close(run); // the log cannot be merged without space, but is not lost either
      fixture_expect("small/run", last);
    }
    assert_int_equal(truncate(filler, 400000 - 100000 * (i + 1)), 0);
    if (i < 2) {
      assert_ok(mm_run_open(fixture_path("small/run"), MM_RUN_WRITE, &run));
      fixture_start(run);
    }
  }
  assert_ok(fixture_put(run, last + 1));
  mm_run_close(run);
  fixture_expect("small/run", last + 1);
  // with room for both, the log is merged at last
  assert_int_equal(mount("none", place, "tmpfs", MS_REMOUNT, "size=4m"), 0);
  assert_ok(mm_run_open(fixture_path("small/run"), MM_RUN_WRITE, &run));
  mm_run_close(run);
  assert_int_equal(fixture_entries(fixture_path("small/run")), 1);
  fixture_expect("small/run", last + 1);
  free(block);
  assert_int_equal(umount(place), 0);
}

// The same by a limit on the size of files, which everybody may set.
static void test_file_size_limit(void **state) {
  (void)state;
  fixture_make("run", 3);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit limit = { 200000, 200000 };
    mm_run *run;
    mm_status status;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(101);
    if (mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run) != MM_OK) _exit(102);
    int64_t last = fill_up(run, 4, &status);
    bool clear = status == MM_ERR_IO && strstr(mm_last_error(), "run.db' may not become larger") &&
                 strstr(mm_last_error(), "is safe");
    mm_run_close(run);
    _exit(clear ? (int)last : 103);
  }
  int last = wait_for(child);
  assert_in_range(last, 5, 100);
  fixture_expect("run", last);
  mm_run *run;
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
  fixture_start(run);
  fixture_fill(run, last + 1, last + 2);
  mm_run_close(run);
  fixture_expect("run", last + 2);
}

// Read-only media: by a mount, which binds root too.
static void test_read_only_medium(void **state) {
  (void)state;
  if (!can_mount("read-only medium")) skip();
  mm_run *run;
  char place[1024];
  fixture_make("place/closed", 5);
  // a run whose process was killed: the log is still there
  pid_t child = fork();
  if (child == 0) {
    run = fixture_create("place/killed");
    fixture_fill(run, 0, 5);
    kill(getpid(), SIGKILL);
  }
  assert_int_equal(wait_for(child), 1000 + SIGKILL);
  assert_true(fixture_exists(fixture_path("place/killed/run.db-wal")));
  // WAL mode without a log, as when run.db alone was copied
  fixture_make("place/copied", 5);
  fixture_sql("place/copied", "PRAGMA journal_mode=WAL");
  unlink(fixture_path("place/copied/run.db-wal"));
  unlink(fixture_path("place/copied/run.db-shm"));
  fixture_make("place/odd # %41?name", 5);
  fixture_sql("place/odd # %41?name", "PRAGMA journal_mode=WAL");

  snprintf(place, sizeof place, "%s", fixture_path("place"));
  assert_int_equal(mount(place, place, "none", MS_BIND, NULL), 0);
  assert_int_equal(mount("none", place, "none", MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
  fixture_expect("place/closed", 5);
  fixture_expect("place/copied", 5);
  fixture_expect("place/odd # %41?name", 5);
  // the log and its index are both there: SQLite manages that; without the index it cannot
  mm_status status = mm_run_open(fixture_path("place/killed"), MM_RUN_READ, &run);
  if (status == MM_OK) {
    assert_int_equal(fixture_read(run, &status), 6);
    assert_ok(status);
    mm_run_close(run);
  }
  assert_fails(mm_run_open(fixture_path("place/closed"), MM_RUN_WRITE, &run), MM_ERR_IO,
               "may not be written");
  assert_fails(mm_run_create(fixture_path("place/new"), "learn", "{}", &run), MM_ERR_IO,
               "choose a folder that can be written");
  assert_int_equal(umount(place), 0);

  unlink(fixture_path("place/killed/run.db-shm"));
  assert_int_equal(mount(place, place, "none", MS_BIND, NULL), 0);
  assert_int_equal(mount("none", place, "none", MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
  assert_fails(mm_run_open(fixture_path("place/killed"), MM_RUN_READ, &run), MM_ERR_IO,
               "copy the whole folder");
  assert_int_equal(umount(place), 0);
  fixture_expect("place/killed", 5);
}

// Permission bits, which bind everybody but root.
static void test_permissions(void **state) {
  (void)state;
  fixture_make("run", 3);
  fixture_make("file", 3);
  assert_int_equal(chmod(fixture_path(""), 0755), 0);
  assert_int_equal(chmod(fixture_path("run"), 0555), 0);
  assert_int_equal(chmod(fixture_path("file/run.db"), 0444), 0);
  pid_t child = fork();
  if (child == 0) {
    mm_run *run;
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    if (mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run) != MM_ERR_IO) _exit(1);
    if (!strstr(mm_last_error(), "may not be written")) _exit(2);
    if (mm_run_open(fixture_path("file"), MM_RUN_WRITE, &run) != MM_ERR_IO) _exit(3);
    if (!strstr(mm_last_error(), "may not be written")) _exit(4);
    if (mm_run_open(fixture_path("run"), MM_RUN_READ, &run) != MM_OK) _exit(5);
    mm_run_close(run);
    if (mm_run_open(fixture_path("file"), MM_RUN_READ, &run) != MM_OK) _exit(6);
    mm_run_close(run);
    if (mm_run_create(fixture_path("run/new"), "learn", "{}", &run) != MM_ERR_IO) _exit(7);
    _exit(0);
  }
  int code = wait_for(child);
  assert_int_equal(chmod(fixture_path("run"), 0755), 0);
  if (code == 77) print_message("  permissions: not run: cannot become another user\n");
  if (code == 77) skip();
  assert_int_equal(code, 0);
  fixture_expect("run", 3);
}

// ---------------------------------------------------------------------------------------------
// Others at the same files

// A process that holds the database in a way that ours never do.
static void test_locked(void **state) {
  (void)state;
  fixture_make("run", 3);
  char path[1100], byte;
  int pipes[2];
  snprintf(path, sizeof path, "%s/run.db", fixture_path("run"));
  assert_int_equal(pipe(pipes), 0);
  pid_t holder = fork();
  if (holder == 0) {
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK) _exit(1);
    if (sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) != SQLITE_OK) _exit(2);
    if (write(pipes[1], "x", 1) != 1) _exit(3);
    for (;;)
      pause();
  }
  assert_int_equal(read(pipes[0], &byte, 1), 1);
  // reader and writer wait at the same time
  pid_t reader = fork();
  if (reader == 0) {
    mm_run *run;
    mm_status status = mm_run_open(path, MM_RUN_READ, &run);
    _exit(status == MM_ERR_IO && strstr(mm_last_error(), "locked by another process") ? 0 : 1);
  }
  mm_run *run;
  assert_fails(mm_run_open(path, MM_RUN_WRITE, &run), MM_ERR_IO, "locked by another process");
  assert_int_equal(wait_for(reader), 0);
  assert_int_equal(kill(holder, SIGKILL), 0);
  wait_for(holder);
  fixture_expect("run", 3);
  assert_ok(mm_run_open(path, MM_RUN_WRITE, &run));
  mm_run_close(run);
  close(pipes[0]);
  close(pipes[1]);
}

static void test_removed_while_running(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  fixture_start(run);
  fixture_fill(run, 0, 3);
  assert_int_equal(unlink(fixture_path("run/run.db")), 0);
  assert_fails(fixture_put(run, 4), MM_ERR_IO, "was removed, moved or replaced");
  mm_run_close(run);
  assert_false(fixture_exists(fixture_path("run/run.db")));
  run = fixture_create("run"); // what is left there is no obstacle
  mm_run_close(run);
  fixture_expect("run", -1);

  run = fixture_create("moved");
  fixture_start(run);
  fixture_fill(run, 0, 3);
  assert_int_equal(rename(fixture_path("moved"), fixture_path("there")), 0);
  assert_fails(fixture_put(run, 4), MM_ERR_IO, "resume it from its new place");
  mm_run_close(run);
  fixture_expect("there", 3);

  run = fixture_create("replaced");
  fixture_start(run);
  fixture_fill(run, 0, 3);
  assert_int_equal(rename(fixture_path("there/run.db"), fixture_path("replaced/run.db")), 0);
  assert_fails(fixture_put(run, 4), MM_ERR_IO, "was removed, moved or replaced");
  mm_run_close(run);

  run = fixture_create("log");
  fixture_start(run);
  fixture_fill(run, 0, 3);
  assert_int_equal(unlink(fixture_path("log/run.db-wal")), 0);
  assert_fails(fixture_put(run, 4), MM_ERR_IO, "run.db-wal' was removed");
  mm_run_close(run);
  fixture_expect("log", 3);
}

// ---------------------------------------------------------------------------------------------
// Files of another kind

// Refused with this sentence for reading and writing, and left as they are.
static void expect_refusal(const char *name, const char *sentence) {
  char path[1100];
  size_t before, after;
  mm_run *run;
  snprintf(path, sizeof path, "%s/run.db", fixture_path(name));
  char *bytes = fixture_load(path, &before);
  assert_fails(mm_run_open(fixture_path(name), MM_RUN_READ, &run), MM_ERR_INPUT, sentence);
  assert_non_null(strstr(mm_last_error(), path));
  assert_null(run);
  assert_fails(mm_run_open(fixture_path(name), MM_RUN_WRITE, &run), MM_ERR_INPUT, sentence);
  assert_null(run);
  char *again = fixture_load(path, &after);
  assert_int_equal(before, after);
  assert_memory_equal(bytes, again, before);
  assert_int_equal(fixture_entries(fixture_path(name)), 1);
  free(bytes);
  free(again);
}

static void test_other_versions(void **state) {
  (void)state;
  static const struct {
    const char *sql, *sentence;
  } cases[] = {
    { "PRAGMA user_version=4", "has version 4 of the run format, this program reads versions 1 to "
                               "3: use the newer program" },
    { "PRAGMA user_version=0", "has version 0 of the run format, this program reads versions 1 to "
                               "3: use the older program" },
    { "PRAGMA user_version=1", "'training' in it" }, // version 1 had no such table,
    { "PRAGMA user_version=2", "'batch' in it" },    // nor version 2 this one
    { "DROP TABLE kept", "tables are missing" },
    { "PRAGMA user_version=-7", "has version -7" },
    { "PRAGMA application_id=5", "not the database of a run" },
    { "CREATE TABLE more(x)", "'more' in it" },
    { "CREATE INDEX faster ON job(seed)", "'faster' in it" },
    { "CREATE VIEW all_jobs AS SELECT * FROM job", "'all_jobs' in it" },
    { "CREATE TRIGGER t AFTER INSERT ON job BEGIN DELETE FROM state; END", "'t' in it" },
    { "DROP TABLE job; CREATE VIEW job AS SELECT 1 AS generation", "'job' in it" },
    { "DROP TABLE timing", "tables are missing" },
    { "ALTER TABLE score ADD COLUMN more INTEGER", "'score' in it" },
    { "ANALYZE", "'sqlite_stat1' in it" },
    { "DROP TABLE meta; CREATE TABLE meta(key TEXT, value TEXT AS (hex(zeroblob(100000000))))",
      "'meta' in it" },
    { "DROP TABLE job; CREATE VIRTUAL TABLE job USING fts5(generation)", "job" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32];
    snprintf(name, sizeof name, "run-%zu", i);
    fixture_make(name, 2);
    fixture_sql(name, cases[i].sql);
    expect_refusal(name, cases[i].sentence);
  }
}

static void test_not_a_database(void **state) {
  (void)state;
  mm_run *run;
  char zeros[8192] = "";
  assert_int_equal(mkdir(fixture_path("run"), 0777), 0);
  fixture_store(fixture_path("run/run.db"), "", 0);
  expect_refusal("run", "it is empty");
  fixture_store(fixture_path("run/run.db"), "hello\n", 6);
  expect_refusal("run", "expected an SQLite file");
  fixture_store(fixture_path("run/run.db"), zeros, sizeof zeros);
  expect_refusal("run", "expected an SQLite file");
  memcpy(zeros, "SQLite format 3", 16);
  fixture_store(fixture_path("run/run.db"), zeros, sizeof zeros);
  expect_refusal("run", "expected an SQLite file");
  assert_int_equal(unlink(fixture_path("run/run.db")), 0);
  assert_int_equal(mkfifo(fixture_path("run/run.db"), 0666), 0);
  assert_fails(mm_run_open(fixture_path("run"), MM_RUN_READ, &run), MM_ERR_INPUT,
               "expected a file");
  assert_fails(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run), MM_ERR_INPUT,
               "expected a file");
  assert_fails(mm_run_open("/dev/null", MM_RUN_READ, &run), MM_ERR_INPUT, "expected a file");
  // a lock that is no file
  fixture_make("odd", 1);
  assert_int_equal(symlink("/dev/null", fixture_path("odd/run.lock")), 0);
  assert_fails(mm_run_open(fixture_path("odd"), MM_RUN_WRITE, &run), MM_ERR_IO, "run.lock");
  fixture_expect("odd", 1);
}

static mm_run_cell cell_integer(int64_t value) {
  return (mm_run_cell){ .integer = value };
}

static mm_run_cell cell_real(double value) {
  return (mm_run_cell){ .real = value };
}

static mm_run_cell cell_text(const char *text) {
  return (mm_run_cell){ .data = text, .size = strlen(text) };
}

// Values that no run has, under our own tables and with fitting checksums where there are any.
static void put_hostile(const char *name, mm_run_table_id id, const mm_run_cell *cell) {
  char path[1100], sql[MM_RUN_SQL_SIZE];
  sqlite3 *db;
  sqlite3_stmt *s;
  const mm_run_table *t = &mm_run_tables[id];
  snprintf(path, sizeof path, "%s/run.db", fixture_path(name));
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  mm_run_sql_insert(t, true, sql);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
  for (int i = 0; i < t->n; i++) {
    mm_run_kind kind = t->column[i].kind;
    if (cell[i].null)
      continue;
    else if (kind == MM_RUN_INTEGER || kind == MM_RUN_UNSIGNED)
      sqlite3_bind_int64(s, i + 1, cell[i].integer);
    else if (kind == MM_RUN_REAL)
      sqlite3_bind_double(s, i + 1, cell[i].real);
    else
      sqlite3_bind_text(s, i + 1, cell[i].data, (int)cell[i].size, SQLITE_STATIC);
  }
  sqlite3_bind_int(s, t->n + 1, (int32_t)mm_run_crc(t, cell));
  assert_int_equal(sqlite3_step(s), SQLITE_DONE);
  sqlite3_finalize(s);
  sqlite3_close(db);
}

// Read as damaged; generations 0 .. 4 are delivered but for `less` of them.
static void expect_damage(const char *name, int less) {
  mm_run *run;
  mm_status status;
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run));
  assert_int_equal(fixture_read(run, &status), 5 - less);
  assert_fails(mm_run_verify(run), MM_ERR_INPUT, "is damaged (");
  assert_non_null(mm_run_damage(run));
  mm_run_close(run);
}

static void test_hostile_values(void **state) {
  (void)state;
  const mm_run_cell zero = cell_integer(0), half = cell_real(0.5);
  const mm_run_cell generation[][9] = {
    { cell_integer(-1), zero, half, half, half, half, zero, zero, zero },
    { cell_integer(INT64_MIN), zero, half, half, half, half, zero, zero, zero },
    { cell_integer(INT64_MAX), zero, half, half, half, half, zero, zero, zero },
    { cell_integer(5), cell_integer(INT64_MAX), half, half, half, half, zero, zero, zero },
    { cell_integer(5), zero, half, half, half, half, zero, cell_integer(-1), zero },
    { cell_integer(5), zero, half, half, half, half, zero, zero, cell_integer(INT64_MAX) },
  };
  const mm_run_cell job[][8] = {
    { cell_integer(1), cell_integer(-1), zero, zero, zero, half, zero, zero },
    { cell_integer(1), cell_integer(99), zero, zero, zero, half, cell_integer(7), zero },
    { cell_integer(1), cell_integer(99), zero, zero, zero, half, zero, zero }, // one too many
    { cell_integer(77), zero, zero, zero, zero, half, zero, zero },
  };
  const mm_run_cell score[][10] = {
    { zero, zero, cell_text("\033[2J"), zero, zero, zero, half, half, zero, zero },
    { zero, zero, cell_text("\xc0\xaf"), zero, zero, zero, half, half, zero, zero },
    { zero, zero, { .data = "a\0b", .size = 3 }, zero, zero, zero, half, half, zero, zero },
  };
  int n = 0;
  char name[32];
  for (size_t i = 0; i < sizeof generation / sizeof *generation; i++) {
    snprintf(name, sizeof name, "run-%d", n++);
    fixture_make(name, 4);
    put_hostile(name, MM_RUN_GENERATION, generation[i]);
    mm_run *run;
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run));
    assert_fails(mm_run_verify(run), MM_ERR_INPUT, "is damaged (");
    mm_run_generation row;
    bool found;
    assert_ok(mm_run_last_generation(run, &row, &found));
    assert_true(found && row.generation == 4);
    mm_run_close(run);
  }
  for (size_t i = 0; i < sizeof job / sizeof *job; i++) {
    snprintf(name, sizeof name, "run-%d", n++);
    fixture_make(name, 4);
    put_hostile(name, MM_RUN_JOB, job[i]);
    expect_damage(name, 0);
  }
  for (size_t i = 0; i < sizeof score / sizeof *score; i++) {
    snprintf(name, sizeof name, "run-%d", n++);
    fixture_make(name, 4);
    put_hostile(name, MM_RUN_SCORE, score[i]);
    expect_damage(name, 0);
  }
}

// The text of the schema is ours, the rows are not what it says.
static void test_hostile_types(void **state) {
  (void)state;
  static const char *const cases[] = {
    "UPDATE loose SET sigma='many'",       "UPDATE loose SET phase=0.5",
    "UPDATE loose SET env_steps=NULL",     "UPDATE loose SET nonfinite=zeroblob(70000000)",
    "UPDATE loose SET sigma=x'00ff'",      "UPDATE loose SET crc='x'",
    "UPDATE loose SET crc=crc+4294967296", "UPDATE loose SET fitness_mean=fitness_mean+1",
  };
  char sql[MM_RUN_SQL_SIZE], script[4 * MM_RUN_SQL_SIZE];
  mm_run_sql_create(&mm_run_tables[MM_RUN_GENERATION], sql);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32];
    snprintf(name, sizeof name, "run-%zu", i);
    fixture_make(name, 4);
    snprintf(script, sizeof script,
             "CREATE TABLE loose(generation INTEGER PRIMARY KEY, phase, sigma, fitness_mean, "
             "fitness_sd, fitness_best, nonfinite, env_steps, jobs, crc);"
             "INSERT INTO loose SELECT * FROM generation;"
             "%s WHERE generation=2;"
             "DROP TABLE generation; PRAGMA writable_schema=ON;"
             "UPDATE sqlite_schema SET name='generation', tbl_name='generation', sql='%s' "
             "WHERE name='loose'",
             cases[i], sql);
    fixture_sql(name, script);
    expect_damage(name, 1);
    mm_run *run;
    assert_fails(mm_run_open(fixture_path(name), MM_RUN_WRITE, &run), MM_ERR_INPUT, "is damaged");
  }
}

static void test_missing_rows(void **state) {
  (void)state;
  static const struct {
    const char *sql, *sentence;
    int less;
  } cases[] = {
    { "DELETE FROM generation WHERE generation=2", "generation 2 is missing", 1 },
    { "DELETE FROM state WHERE generation=3", "generation 3 has no state", 1 },
    { "DELETE FROM job WHERE generation=1 AND member=2", "generation 1 lacks 2 of its jobs", 0 },
    { "DELETE FROM meta WHERE key='config'", "configuration is missing", 0 },
    { "UPDATE meta SET value='{}' WHERE key='config'", "table 'meta' has a wrong checksum", 0 },
    { "UPDATE session SET outcome='stopped'", "table 'session' has a wrong checksum", 0 },
    { "UPDATE timing SET seconds=seconds+1 WHERE generation=3", "table 'timing'", 0 },
    { "UPDATE score SET seed=seed+1 WHERE generation=4", "table 'score'", 0 },
    { "UPDATE state SET state=zeroblob(10) WHERE generation=1", "table 'state'", 1 },
    // what is left has valid checksums and no gap
    { "DELETE FROM generation WHERE generation=4; DELETE FROM state WHERE generation=4;"
      "DELETE FROM job WHERE generation=4; DELETE FROM score WHERE generation=4;"
      "DELETE FROM timing WHERE generation=4",
      "table 'generation' lacks 1 of its 5 rows", 1 },
    { "DELETE FROM score WHERE generation=4", "table 'score' lacks 12 of its 24 rows", 0 },
    { "DELETE FROM score WHERE generation=0 AND map='l2'", "table 'score' lacks 3", 0 },
    // and without counts, as before there were any
    { "DELETE FROM meta WHERE key='rows'; DELETE FROM score WHERE map='l2' AND task=1",
      "scores of 'l2' after generation 0 are missing", 0 },
    { "DELETE FROM meta WHERE key='rows'; DELETE FROM score WHERE map='l2' AND task=2",
      "scores of 'l2' after generation 0 are missing", 0 },
    { "DELETE FROM meta WHERE key='rows'; DELETE FROM timing WHERE generation=2",
      "the timing of generation 2 is missing", 0 },
    { "DELETE FROM meta WHERE key='rows'; DELETE FROM generation WHERE generation=4;"
      "DELETE FROM state WHERE generation=4; DELETE FROM job WHERE generation=4",
      "the timing of generation 3 is missing", 1 },
    { "DELETE FROM meta WHERE key='rows'; DELETE FROM generation WHERE generation>2;"
      "DELETE FROM state WHERE generation>2; DELETE FROM job WHERE generation>2;"
      "DELETE FROM timing WHERE generation>2",
      "generation 4, which has scores, is missing", 2 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32];
    mm_run *run;
    mm_status status;
    snprintf(name, sizeof name, "run-%zu", i);
    fixture_make(name, 4);
    fixture_sql(name, cases[i].sql);
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run));
    assert_int_equal(fixture_read(run, &status), 5 - cases[i].less);
    assert_fails(mm_run_verify(run), MM_ERR_INPUT, "is damaged (");
    if (!strstr(mm_run_damage(run), cases[i].sentence))
      fail_msg("expected '%s', found '%s'", cases[i].sentence, mm_run_damage(run));
    mm_run_close(run);
  }
}

// A program that does not count rows has added some: they are whole, and counted from then on.
static void test_uncounted_rows(void **state) {
  (void)state;
  mm_run *run;
  fixture_make("run", 4);
  for (int i = 0; i < 2; i++) {
    // none at all, or those of generation 0
    const mm_run_cell stale[] = { cell_text("rows"), cell_text("{\"generation\":1}") };
    if (i == 0) fixture_sql("run", "DELETE FROM meta WHERE key='rows'");
    if (i == 1) put_hostile("run", MM_RUN_META, stale);
    fixture_expect("run", 4 + i);
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
    fixture_fill(run, 5 + i, 5 + i);
    mm_run_close(run);
    fixture_expect("run", 5 + i);
  }
  fixture_sql("run", "DELETE FROM score WHERE generation=4");
  assert_fails(mm_run_open(fixture_path("run"), MM_RUN_READ, &run), MM_ERR_INPUT,
               "table 'score' lacks 12 of its 24 rows");
}

// ---------------------------------------------------------------------------------------------
// Damaged files

// Whatever a reader gets out is right; a writer refuses what is not whole. Returns the number of
// generations that were readable, or -1 when the file was refused.
static int64_t try_damaged(const char *name, int64_t last) {
  mm_run *run;
  mm_status status = mm_run_open(fixture_path(name), MM_RUN_SALVAGE, &run);
  int64_t intact = -1;
  if (status == MM_OK) {
    intact = fixture_read(run, &status); // no wrong number
    assert_true(intact <= last + 1);
    mm_status verified = mm_run_verify(run);
    assert_true(verified == MM_OK || verified == MM_ERR_INPUT);
    if (verified == MM_OK) assert_int_equal(intact, last + 1);
    mm_run_close(run);
  } else if (status != MM_ERR_INPUT && status != MM_ERR_IO) {
    fail_msg("%s: %s", mm_status_text(status), mm_last_error());
  }
  status = mm_run_open(fixture_path(name), MM_RUN_WRITE, &run);
  if (status == MM_OK) {
    mm_run_generation row;
    bool found;
    assert_ok(mm_run_last_generation(run, &row, &found));
    assert_true(found && row.generation == last);
    mm_run_close(run);
  }
  return intact;
}

static void remove_logs(const char *name) {
  static const char *const ending[] = { "-wal", "-shm", "-journal" };
  char path[1100];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/run.db%s", fixture_path(name), ending[i]);
    unlink(path);
  }
}

static void test_flipped_bytes(void **state) {
  (void)state;
  enum { LAST = 12, FLIPS = 500 };
  size_t size;
  fixture_make("run", LAST);
  char *good = fixture_load(fixture_path("run/run.db"), &size), *bad = malloc(size);
  assert_non_null(bad);
  int refused = 0, partial = 0, whole = 0;
  for (int i = 0; i < FLIPS; i++) {
    memcpy(bad, good, size);
    // every place of the header, then any; single bits, whole bytes, whole sectors
    size_t at = i < 100 ? (size_t)i : (size_t)(random_word() % size);
    unsigned char flip = (unsigned char)(i % 2 ? 1u << (random_word() % 8) : random_word() | 1);
    size_t n = i % 5 == 4 && i >= 100 ? 512 : 1;
    for (size_t j = at; j < at + n && j < size; j++)
      bad[j] = (char)(bad[j] ^ flip);
    remove_logs("run");
    fixture_store(fixture_path("run/run.db"), bad, size);
    int64_t intact = try_damaged("run", LAST);
    refused += intact < 0;
    partial += intact >= 0 && intact <= LAST;
    whole += intact > LAST;
  }
  print_message("  %d refused, %d read in part, %d whole\n", refused, partial, whole);
  assert_true(refused > 10 && partial > 50 && whole > 50);
  free(good);
  free(bad);
}

static void test_truncated(void **state) {
  (void)state;
  enum { LAST = 12 };
  size_t size;
  fixture_make("run", LAST);
  char *good = fixture_load(fixture_path("run/run.db"), &size);
  int readable = 0;
  for (size_t cut = 1; cut < size; cut += cut < 200 ? 37 : 1 + size / 60) {
    remove_logs("run");
    fixture_store(fixture_path("run/run.db"), good, cut);
    int64_t intact = try_damaged("run", LAST);
    readable += intact > 0;
  }
  assert_true(readable > 5);
  free(good);
}

// A log that is damaged or cut holds the commits before the damage.
static void test_damaged_log(void **state) {
  (void)state;
  enum { LAST = 9 };
  size_t size, wal_size;
  pid_t child = fork();
  if (child == 0) {
    mm_run *run = fixture_create("run");
    fixture_start(run);
    fixture_fill(run, 0, LAST);
    kill(getpid(), SIGKILL);
  }
  assert_int_equal(wait_for(child), 1000 + SIGKILL);
  char *db = fixture_load(fixture_path("run/run.db"), &size);
  char *wal = fixture_load(fixture_path("run/run.db-wal"), &wal_size);
  char *bad = malloc(wal_size);
  assert_non_null(bad);
  for (int i = 0; i < 60; i++) {
    mm_run *run;
    mm_status status;
    size_t length = i < 30 ? (size_t)(random_word() % wal_size) : wal_size;
    memcpy(bad, wal, wal_size);
    if (i >= 30) bad[random_word() % wal_size] ^= 0x40;
    remove_logs("run");
    fixture_store(fixture_path("run/run.db"), db, size);
    fixture_store(fixture_path("run/run.db-wal"), bad, length);
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_WRITE, &run));
    int64_t n = fixture_read(run, &status);
    assert_ok(status);
    assert_in_range(n, 0, LAST + 1);
    assert_ok(mm_run_verify(run));
    fixture_start(run);
    fixture_fill(run, n, n + 1);
    mm_run_close(run);
    fixture_expect("run", n + 1);
  }
  free(db);
  free(wal);
  free(bad);
}

// A tree in which every branch leads to the same leaf has more rows than anybody can read.
static void test_endless_tree(void **state) {
  (void)state;
  mm_run *run = fixture_create("run");
  fixture_start(run);
  fixture_fill(run, 0, 400);
  mm_run_close(run);
  size_t size;
  char *bytes = fixture_load(fixture_path("run/run.db"), &size);
  // all child pointers of every inner page become the first one
  int changed = 0;
  for (size_t page = 4096; page + 4096 <= size; page += 4096) {
    unsigned char *p = (unsigned char *)bytes + page;
    if (p[0] != 2 && p[0] != 5) continue;
    size_t n = (size_t)p[3] << 8 | p[4];
    size_t first = (size_t)p[12] << 8 | p[13];
    for (size_t i = 1; i < n && first + 4 <= 4096; i++) {
      size_t cell = (size_t)p[12 + 2 * i] << 8 | p[13 + 2 * i];
      if (cell + 4 <= 4096) memcpy(p + cell, p + first, 4);
      changed++;
    }
  }
  assert_true(changed > 10);
  fixture_store(fixture_path("run/run.db"), bytes, size);
  int64_t intact = try_damaged("run", 400);
  assert_in_range(intact, 1, 400);
  free(bytes);
}

int suite_run_faults(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(killed_while_committing),
    TEST(killed_while_creating),
    TEST(full_disk),
    TEST(file_size_limit),
    TEST(read_only_medium),
    TEST(permissions),
    TEST(locked),
    TEST(removed_while_running),
    TEST(other_versions),
    TEST(not_a_database),
    TEST(hostile_values),
    TEST(hostile_types),
    TEST(missing_rows),
    TEST(uncounted_rows),
    TEST(flipped_bytes),
    TEST(truncated),
    TEST(damaged_log),
    TEST(endless_tree),
  };
#undef TEST
  return cmocka_run_group_tests_name("run_faults", tests, NULL, NULL);
}
