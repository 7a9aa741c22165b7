// SPDX-License-Identifier: Apache-2.0
// Suite `disk_faults`: a search on a disk that fails. Whatever write or synchronisation fails, and
// whatever of the unsynchronised bytes a power failure takes, the search says so or goes on, keeps
// what it said was stored, and when resumed ends with the same numbers. MM_TEST_LONG=1: at every
// single write instead of some.

#define _XOPEN_SOURCE 700

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fault_vfs.h"
#include "run_fixture.h"
#include "study/learn/learn_internal.h"
#include "study/run/run_table.h"
#include "test.h"

static mm_learn_plan *plan;
static uint64_t whole; // what the search comes to when nothing fails
static size_t changes; // that it makes to the disk

// Every strideth of what may fail.
static size_t stride(size_t usual) {
  const char *text = getenv("MM_TEST_LONG");
  return text && atoi(text) > 0 ? 1 : usual;
}

// ---------------------------------------------------------------------------------------------
// A search that takes no time

static void make_plan(void) {
  plan = calloc(1, sizeof *plan);
  assert_non_null(plan);
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "GridWorld-small");
  plan->settings = mm_settings_default(MM_ALGO_PMD);
  plan->settings.pmd.steps = plan->settings.pmd.envs = plan->settings.pmd.unroll = 1;
  assert_ok(mm_settings_set(&plan->settings, "kind", "piecewise"));
  mm_search *search = &plan->settings.search;
  search->n = 4;
  search->population = 4;
  search->generations = 4;
  search->validation_every = 2;
  search->validation_tasks = 2;
  plan->seed = 7;
}

// Goes on until it is done or something fails; *stored: the generations that it said it has.
static mm_status go_on(mm_learn *l, int64_t *stored) {
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  mm_study_search view;
  mm_status status = MM_OK;
  while (status == MM_OK && !mm_learn_done(l)) {
    status = mm_learn_advance(l, &backend);
    mm_learn_look(l, &view);
    *stored = view.generation;
  }
  mm_learn_close(l);
  return status;
}

// Begins the search at fixture_path(name), or resumes it where there is one.
static mm_status search(const char *name, int64_t *stored) {
  mm_learn *l;
  char file[64];
  snprintf(file, sizeof file, "%s/run.db", name);
  if (fixture_exists(fixture_path(file)))
    MM_TRY(mm_learn_resume(fixture_path(name), 0, &l));
  else
    MM_TRY(mm_learn_create(fixture_path(name), plan, &l));
  return go_on(l, stored);
}

// Everything that the run holds but its times.
static uint64_t digest(const char *name) {
  static const char *const queries[] = { "SELECT * FROM meta ORDER BY 1",
                                         "SELECT * FROM generation ORDER BY 1",
                                         "SELECT * FROM state ORDER BY 1",
                                         "SELECT * FROM job ORDER BY 1, 2, 3, 4",
                                         "SELECT * FROM score ORDER BY 1, 2, 3" };
  char file[64];
  uint64_t hash = 0xcbf29ce484222325;
  sqlite3 *db;
  sqlite3_stmt *s;
  snprintf(file, sizeof file, "%s/run.db", name);
  assert_int_equal(sqlite3_open(fixture_path(file), &db), SQLITE_OK);
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    assert_int_equal(sqlite3_prepare_v2(db, queries[i], -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
      for (int column = 0; column < sqlite3_column_count(s); column++) {
        const unsigned char *byte = sqlite3_column_blob(s, column);
        for (int k = 0; k < sqlite3_column_bytes(s, column); k++)
          hash = (hash ^ byte[k]) * 0x100000001b3;
        hash = (hash ^ 0x100) * 0x100000001b3;
      }
    assert_int_equal(sqlite3_finalize(s), SQLITE_OK);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  return hash;
}

// With a good disk again: nothing that was stored is missing, and the search ends as it should.
static void expect_whole(const char *name, int64_t stored, size_t n) {
  mm_run *run;
  mm_run_generation row;
  bool found;
  int64_t end = -1;
  if (stored >= 0) {
    assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
    assert_ok(mm_run_verify(run));
    assert_ok(mm_run_last_generation(run, &row, &found));
    if (!found || row.generation < stored)
      fail_msg("fault %zu: generation %d was stored and is gone", n, (int)stored);
    mm_run_close(run);
  }
  mm_status status = search(name, &end);
  if (status != MM_OK) fail_msg("fault %zu: not resumed: %s", n, mm_last_error());
  if (digest(name) != whole) fail_msg("fault %zu: other numbers", n);
}

static void remove_run(const char *name) {
  char command[1200];
  snprintf(command, sizeof command, "rm -rf '%s'", fixture_path(name));
  assert_int_equal(system(command), 0);
}

// ---------------------------------------------------------------------------------------------

static int open_disk(void **state) {
  if (fixture_open(state) != 0) return -1;
  fault_vfs_open();
  make_plan();
  int64_t stored = -1;
  assert_ok(search("whole", &stored));
  changes = fault_vfs_count();
  whole = digest("whole");
  return 0;
}

static int close_disk(void **state) {
  fault_vfs_close();
  free(plan);
  return fixture_close(state);
}

// One write, truncation, deletion or synchronisation fails. How many there are depends a little on
// how long things take.
static void test_one_fails(void **state) {
  (void)state;
  size_t said = 0, tried = 0;
  for (size_t n = 1; n <= changes; n += stride(5)) {
    int64_t stored = -1;
    fault_vfs_plan(FAULT_ONCE, n);
    mm_status status = search("run", &stored);
    tried += fault_vfs_struck();
    if (status != MM_OK && status != MM_ERR_IO)
      fail_msg("fault %zu: %s: %s", n, mm_status_text(status), mm_last_error());
    said += status != MM_OK;
    fault_vfs_plan(FAULT_NONE, 0);
    expect_whole("run", stored, n);
    remove_run("run");
  }
  print_message("  %zu of %zu faults were reported, the others did no harm\n", said, tried);
  assert_true(tried > changes / stride(5) / 2 && said > tried / 2);
}

// One in n fails, also while the run is resumed.
static void test_every_nth_fails(void **state) {
  (void)state;
  for (size_t n = 2; n < 60; n += n / 3 + stride(4)) {
    int64_t stored = -1;
    fault_vfs_plan(FAULT_EVERY, n);
    for (int attempt = 0; attempt < 30 && search("run", &stored) != MM_OK; attempt++) {
    }
    assert_true(fault_vfs_struck());
    fault_vfs_plan(FAULT_NONE, 0);
    expect_whole("run", stored, n);
    remove_run("run");
  }
}

// The power goes at any moment, and once more while the run is resumed.
static void test_power_loss(void **state) {
  (void)state;
  size_t tried = 0;
  for (int loss = 0; loss < LOSSES; loss++)
    for (size_t n = 1 + (size_t)loss; n <= changes; n += stride(9)) {
      int64_t stored = -1;
      fault_vfs_plan(FAULT_POWER, n);
      mm_status status = search("run", &stored);
      tried += fault_vfs_struck();
      if (status != MM_OK && status != MM_ERR_IO)
        fail_msg("power %zu: %s: %s", n, mm_status_text(status), mm_last_error());
      fault_vfs_restart((fault_loss)loss, n);
      if (n % 2) {
        fault_vfs_plan(FAULT_POWER, 1 + n % 13);
        search("run", &stored);
        fault_vfs_restart((fault_loss)loss, n + 1);
      }
      expect_whole("run", stored, n);
      remove_run("run");
    }
  assert_true(tried > 2 * changes / stride(9));
}

int suite_disk_faults(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_one_fails, open_disk, close_disk),
    cmocka_unit_test_setup_teardown(test_every_nth_fails, open_disk, close_disk),
    cmocka_unit_test_setup_teardown(test_power_loss, open_disk, close_disk),
  };
  return cmocka_run_group_tests_name("disk_faults", tests, NULL, NULL);
}
