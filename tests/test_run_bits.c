// SPDX-License-Identifier: Apache-2.0
// One bit of a run database is another one: every reader gives the right numbers, or says what is
// damaged. All bits of a small file with MM_TEST_LONG=1; otherwise those of the headers of the file
// and of all pages, which say how many rows there are and where, and a sample of the others.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "run_fixture.h"
#include "show/report/report_data.h"
#include "study/run/run_internal.h"
#include "test.h"

enum { PAGE = 512, FILE_HEADER = 100, LEAF_HEADER = 8, INNER_HEADER = 12 };

// ---------------------------------------------------------------------------------------------
// A run with rows in every table

static void put_trainings(mm_run *run) {
  static const uint64_t step[] = { 0, 64 };
  const double value[] = { 1.0 / 3, NAN };
  const mm_run_batch batch = { 0, 0, 2, "train", "CartPole-v1", "negentropy", "{}" };
  assert_ok(mm_run_put_batch(run, &batch));
  assert_ok(mm_run_begin(run));
  for (int64_t job = 0; job < 2; job++) {
    mm_run_training row = { job, (uint64_t)job + 7, MM_OK, 0.25 * (double)job, NAN, 3, 64, 2 };
    assert_ok(mm_run_put_training(run, &row, step, value));
    assert_ok(mm_run_put_measure(run, job, "entropy", step, value, 2));
  }
  assert_ok(mm_run_keep(run, 1, "state", 5));
  assert_ok(mm_run_commit(run));
}

static void put_generation(mm_run *run, int64_t g) {
  const mm_run_generation row = { .generation = g,
                                  .sigma = 0.5,
                                  .fitness_mean = 1 / (1.0 + (double)g),
                                  .fitness_sd = (double)g,
                                  .fitness_best = g == 0 ? NAN : 0.75,
                                  .env_steps = 128 * (uint64_t)g,
                                  .state = "the state of a search",
                                  .state_size = 21 };
  const mm_run_timing timing = { .generation = g, .seconds = 0.5, .seconds_jobs = 0.25 };
  assert_ok(mm_run_begin(run));
  assert_ok(mm_run_put_generation(run, &row));
  for (int32_t i = 0; i < 4 && g > 0; i++) {
    const mm_run_job job = {
      g, i / 2, i % 2, 0, UINT64_MAX / (uint64_t)(i + 1), 0.1 * i, MM_OK, 32
    };
    assert_ok(mm_run_put_jobs(run, &job, 1));
  }
  for (int32_t i = 0; i < 4; i++) {
    const mm_run_score score = { g,     0, i < 2 ? "l2" : "learned", i % 2,
                                 0,     5, 0.3 * i + (double)g,      1,
                                 MM_OK, 16 };
    assert_ok(mm_run_put_scores(run, &score, 1));
  }
  assert_ok(mm_run_put_timing(run, &timing));
  assert_ok(mm_run_commit(run));
}

// With pages as small as they get, so that trees have inner pages too.
static void make_run(void) {
  mm_run *run = fixture_create("run");
  fixture_start(run);
  for (int64_t g = 0; g < 5; g++)
    put_generation(run, g);
  put_trainings(run);
  assert_ok(mm_run_session_end(run, "stopped"));
  mm_run_close(run);
  fixture_sql("run", "PRAGMA page_size=512; VACUUM");
}

// ---------------------------------------------------------------------------------------------
// What readers get

static void add(uint64_t *hash, const void *data, size_t size) {
  const unsigned char *byte = data;
  for (size_t i = 0; i < size; i++)
    *hash = (*hash ^ byte[i]) * 0x100000001b3;
}

typedef struct digest {
  const mm_run_table *table; // whose rows are coming
  uint64_t hash;
} digest;

static int add_row(const mm_run_row *row, void *user) {
  digest *d = user;
  uint64_t *s = &d->hash;
  mm_run_cell cell[MM_RUN_COLUMNS_MAX];
  mm_run_cells_of(d->table, row, cell);
  add(s, d->table->name, strlen(d->table->name));
  for (int i = 0; i < d->table->n; i++) {
    add(s, &cell[i].null, sizeof cell[i].null);
    add(s, &cell[i].integer, sizeof cell[i].integer);
    add(s, &cell[i].real, sizeof cell[i].real);
    if (cell[i].data) add(s, cell[i].data, cell[i].size);
  }
  return 0;
}

// Of all rows; the status is that of the walks.
static mm_status read_rows(mm_run *run, uint64_t *out) {
  digest d = { .hash = 0xcbf29ce484222325 };
  mm_status worst = MM_OK;
  add(&d.hash, mm_run_command(run), strlen(mm_run_command(run)));
  add(&d.hash, mm_run_config(run), strlen(mm_run_config(run)));
  for (int i = 0; i < MM_RUN_TABLES; i++) {
    d.table = &mm_run_tables[i];
    mm_status status = mm_run_each(run, (mm_run_table_id)i, add_row, &d);
    if (status != MM_OK) worst = status;
  }
  *out = d.hash;
  return worst;
}

// The document of a report without the moment at which it was made; NULL where there is none, or it
// says that something is damaged.
static char *read_report(void) {
  const char *folder = fixture_path("run");
  mm_report *report;
  if (mm_report_read(&folder, 1, &report) != MM_OK) return NULL;
  char *text = NULL;
  if (!mm_report_damage(report, 0)) {
    cJSON *document = mm_report_json(report, false);
    cJSON_DeleteItemFromObjectCaseSensitive(document, "generated");
    text = mm_json_print(document, false);
    assert_non_null(text);
    // damage that only making the document found
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(document, "runs")->child;
    if (!cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(run, "damage"))) {
      mm_free(text);
      text = NULL;
    }
    cJSON_Delete(document);
  }
  mm_report_release(report);
  return text;
}

typedef struct truth {
  char *bytes;
  size_t size;
  uint64_t rows;
  char *report;
} truth;

static void expect_refusal(mm_status status) {
  if (status != MM_ERR_INPUT && status != MM_ERR_IO)
    fail_msg("%s: %s", mm_status_text(status), mm_last_error());
  assert_non_null(strstr(mm_last_error(), "run.db"));
}

// True where all rows came out, which must be right then.
static bool try_open(const truth *t, mm_run_access access) {
  mm_run *run;
  uint64_t rows;
  mm_status status = mm_run_open(fixture_path("run"), access, &run);
  if (status != MM_OK) {
    expect_refusal(status);
    return false;
  }
  status = read_rows(run, &rows);
  bool whole = status == MM_OK && !mm_run_damage(run);
  if (whole) assert_true(rows == t->rows);
  if (access != MM_RUN_SALVAGE && status != MM_OK) expect_refusal(status);
  if (access == MM_RUN_WRITE) assert_true(whole);
  mm_run_close(run);
  return whole;
}

static void try_report(const truth *t) {
  char *text = read_report();
  if (text) assert_string_equal(text, t->report);
  mm_free(text);
}

static void store(const char *bytes, size_t size) {
  unlink(fixture_path("run/run.db-wal"));
  unlink(fixture_path("run/run.db-shm"));
  unlink(fixture_path("run/run.db-journal"));
  fixture_store(fixture_path("run/run.db"), bytes, size);
}

// ---------------------------------------------------------------------------------------------

// Pages begin with their kind: inner ones are 2 and 5.
static bool is_header(const truth *t, size_t at) {
  char kind = t->bytes[at / PAGE * PAGE];
  if (at < PAGE) return at < FILE_HEADER + INNER_HEADER;
  return at % PAGE < (kind == 2 || kind == 5 ? INNER_HEADER : LEAF_HEADER);
}

// A writer looks at all that a reader does, so what the reader refused it need not see each time.
static bool try_bit(const truth *t, char *bytes, size_t at, int bit, bool everything) {
  bytes[at] = (char)(bytes[at] ^ (1 << bit));
  store(bytes, t->size);
  bool whole = try_open(t, MM_RUN_READ);
  if (whole || everything) {
    assert_int_equal(try_open(t, MM_RUN_SALVAGE), whole);
    try_report(t);
    // whoever writes changes the file
    bool taken = try_open(t, MM_RUN_WRITE);
    assert_true(whole || !taken);
  }
  bytes[at] = t->bytes[at];
  return whole;
}

static void test_every_bit(void **state) {
  (void)state;
  enum { STRIDE = 509, EVERY = 23 };
  bool all = getenv("MM_TEST_LONG") != NULL;
  truth t = { 0 };
  size_t tried = 0, whole = 0;
  mm_run *run;
  make_run();
  t.bytes = fixture_load(fixture_path("run/run.db"), &t.size);
  assert_int_equal(t.size % PAGE, 0);
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(read_rows(run, &t.rows));
  mm_run_close(run);
  t.report = read_report();
  assert_non_null(t.report);
  char *bytes = malloc(t.size);
  assert_non_null(bytes);
  memcpy(bytes, t.bytes, t.size);
  for (size_t i = 0; i < 8 * t.size; i++) {
    if (!all && !is_header(&t, i / 8) && i % STRIDE != 0) continue;
    whole += try_bit(&t, bytes, i / 8, (int)(i % 8), all || i % EVERY == 0);
    tried++;
  }
  print_message("  %zu bits of %zu bytes: %zu of no consequence\n", tried, t.size, whole);
  assert_in_range(whole, tried / 50, tried / 4 * 3); // pages have room left
  mm_free(t.report);
  free(t.bytes);
  free(bytes);
}

int suite_run_bits(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_every_bit, fixture_open, fixture_close),
  };
  return cmocka_run_group_tests_name("run_bits", tests, NULL, NULL);
}
