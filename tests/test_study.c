// SPDX-License-Identifier: Apache-2.0
// Suite `study`: the four kinds of study through the public header alone. Each is stopped in the
// middle, closed, opened again, and ends with the same bits as one that nobody disturbed.

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "mirrormap/mirrormap.h"
#include "run_fixture.h"
#include "scarce_memory.h"

static const char *const grid_set[] = { "steps=2048", "envs=8", "unroll=16" };
static const char *const search_set[] = { "steps=2048",    "envs=8",       "unroll=16",
                                          "generations=3", "population=4", "validation_tasks=2" };
// long enough for a run to be seen, and stopped, before the last has begun
static const char *const net_set[] = { "steps=131072", "epochs=1" };
static const char *const slow_set[] = { "steps=8192", "epochs=1" };
static const char *const grid[] = { "GridWorld-small" }, *const cart[] = { "CartPole-v1" };
static const char *const maps[] = { "tsallis:3", "negentropy", "l2:tuned-eta" };

#define LIST(field, array) config.field = array, config.n_##field = sizeof(array) / sizeof *(array)

static mm_study_config config_of(mm_study_kind kind, const char *space) {
  mm_study_config config = mm_study_config_default(kind);
  LIST(env, grid);
  LIST(set, grid_set);
  config.seed = 5;
  config.seeds = 3;
  if (kind == MM_STUDY_LEARN) LIST(set, search_set);
  if (kind == MM_STUDY_TRAIN) {
    LIST(env, cart);
    LIST(set, net_set);
    if (test_under_valgrind()) config.set = slow_set;
  }
  if (kind != MM_STUDY_LEARN) config.map = maps, config.n_map = 1;
  if (kind == MM_STUDY_TRANSFER) LIST(map, maps);
  config.tune_seeds = 2;
  config.space = space;
  config.trials = 8;
  config.validate = 2;
  return config;
}

static const char *write_space(void) {
  static const char text[] = "parameters:\n  eta: {log: [0.05, 0.4]}\n";
  const char *path = fixture_path("space.yaml");
  fixture_store(path, text, sizeof text - 1);
  return path;
}

// ---------------------------------------------------------------------------------------------

typedef struct watch {
  volatile int stop;
  int calls; // until it is stopped; 0: never
} watch;

static void see_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  watch *w = user;
  (void)env_steps;
  assert_true(done <= total);
  if (w->calls > 0 && --w->calls == 0) w->stop = 1;
}

static mm_status advance(mm_study *study, watch *w, int threads) {
  mm_study_machine machine = mm_study_machine_default();
  machine.backend = "cpu";
  machine.threads = threads;
  machine.stop = &w->stop;
  machine.progress = see_progress;
  machine.user = w;
  mm_status status = MM_OK;
  while (status == MM_OK && !mm_study_done(study))
    status = mm_study_advance(study, &machine);
  return status;
}

static void finish(mm_study *study, int threads) {
  watch w = { 0 };
  mm_study_progress p;
  char trouble[MM_STUDY_TROUBLE_SIZE];
  assert_ok(advance(study, &w, threads));
  mm_study_look(study, &p);
  assert_true(p.done > 0 && p.n_failed == 0);
  assert_false(mm_study_trouble(study, trouble));
}

// All bits of the rows of a table, but for the keys of `meta` that say when and where.
static int add_row(const mm_study_value *value, size_t n, void *user) {
  uint64_t *sum = user;
  for (size_t i = 0; i < n; i++) {
    const unsigned char *byte = value[i].data;
    uint64_t bits = (uint64_t)value[i].integer;
    if (value[i].type == MM_VALUE_REAL) memcpy(&bits, &value[i].real, sizeof bits);
    *sum = (*sum ^ bits ^ (uint64_t)value[i].type) * 0x100000001b3;
    for (size_t k = 0; k < value[i].bytes && value[i].type >= MM_VALUE_TEXT; k++)
      *sum = (*sum ^ byte[k]) * 0x100000001b3;
  }
  sum[1]++;
  return 0;
}

static void assert_same_rows(const char *one, const char *two, mm_study_kind kind) {
  static const char *const tables[] = { "generation", "state",    "job",   "score",
                                        "batch",      "training", "curve", "measure" };
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    uint64_t a[2] = { 0 }, b[2] = { 0 };
    assert_ok(mm_study_rows(one, tables[i], add_row, a));
    assert_ok(mm_study_rows(two, tables[i], add_row, b));
    assert_int_equal(a[1], b[1]);
    assert_true(a[0] == b[0]);
    bool searched = i<4, full = a[1]> 0;
    if (strcmp(tables[i], "measure") != 0)
      assert_int_equal(full, searched == (kind == MM_STUDY_LEARN));
  }
}

static bool same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void assert_same_cells(const mm_study *a, const mm_study *b) {
  assert_true(mm_study_cells(a) > 0);
  assert_int_equal(mm_study_cells(a), mm_study_cells(b));
  for (size_t i = 0; i < mm_study_cells(a); i++) {
    mm_study_cell x, y;
    assert_ok(mm_study_cell_at(a, i, &x));
    assert_ok(mm_study_cell_at(b, i, &y));
    assert_string_equal(x.env, y.env);
    assert_string_equal(x.map, y.map);
    assert_true(same(x.mean, y.mean) && same(x.sem, y.sem) && same(x.eta, y.eta));
    assert_true(x.n == y.n && x.n > 0 && x.n_seed == y.n_seed && x.seed == y.seed);
    for (size_t k = 0; k < x.n_seed; k++)
      assert_true(same(x.final[k], y.final[k]));
  }
}

// ---------------------------------------------------------------------------------------------

static void check_kind(mm_study_kind kind, int calls) {
  char whole[300], parts[300], space[300];
  snprintf(whole, sizeof whole, "%s", fixture_path("whole"));
  snprintf(parts, sizeof parts, "%s", fixture_path("parts"));
  snprintf(space, sizeof space, "%s", write_space());
  const mm_study_config config = config_of(kind, space);
  mm_study *a, *b;
  watch stopped = { .calls = calls };
  assert_ok(mm_study_create(whole, &config, &a));
  assert_int_equal(mm_study_get_kind(a), kind);
  assert_string_equal(mm_study_folder(a), whole);
  assert_fails(mm_study_create(whole, &config, &b), MM_ERR_IO, "whole");
  assert_fails(mm_study_open(whole, &b), MM_ERR_IO, "whole");
  finish(a, 2);

  assert_ok(mm_study_create(parts, &config, &b));
  assert_int_equal(advance(b, &stopped, 1), MM_ERR_INTERRUPTED);
  assert_false(mm_study_done(b));
  mm_study_end(b, "interrupted");
  mm_study_close(b);
  assert_ok(mm_study_open(parts, &b));
  finish(b, 2);
  assert_same_cells(a, b);
  assert_same_rows(whole, parts, kind);
  mm_study_close(a);
  mm_study_close(b);
  assert_fails(mm_study_create(whole, &config, &b), MM_ERR_INPUT, "whole");

  // complete: nothing is trained again
  mm_study_progress p;
  assert_ok(mm_study_open(parts, &b));
  finish(b, 1);
  mm_study_look(b, &p);
  assert_int_equal(p.env_steps, 0);
  mm_study_close(b);
}

static void test_train(void **state) {
  (void)state;
  check_kind(MM_STUDY_TRAIN, 1);
}

static void test_transfer(void **state) {
  (void)state;
  check_kind(MM_STUDY_TRANSFER, 1);
}

static void test_learn(void **state) {
  (void)state;
  check_kind(MM_STUDY_LEARN, 3);
  mm_study *study;
  mm_map *map;
  char text[MM_STUDY_SETTING_SIZE];
  assert_ok(mm_study_open(fixture_path("whole"), &study));
  assert_ok(mm_study_map(study, &map));
  assert_non_null(strstr(mm_map_meta(map), "generation"));
  mm_map_destroy(map);
  assert_fails(mm_study_setting(study, "eta", text), MM_ERR_INPUT, "learn");
  mm_study_close(study);
}

static void test_tune(void **state) {
  (void)state;
  check_kind(MM_STUDY_TUNE, 2);
  mm_study *study;
  mm_map *map;
  char text[MM_STUDY_SETTING_SIZE];
  assert_ok(mm_study_open(fixture_path("whole"), &study));
  assert_fails(mm_study_setting(study, "eta", text), MM_ERR_INPUT, "nothing was tried");
  finish(study, 1);
  assert_ok(mm_study_setting(study, "eta", text));
  assert_true(atof(text) >= 0.05 && atof(text) <= 0.4);
  assert_fails(mm_study_setting(study, "gamma", text), MM_ERR_INPUT, "not tuned");
  assert_fails(mm_study_map(study, &map), MM_ERR_INPUT, "tune");
  mm_study_close(study);
}

// A map's own step size counts unless the caller sets another.
static void check_eta(mm_study_kind kind, const char *folder, const char *map, double expected) {
  static const char *const quick[] = { "steps=64", "envs=8", "unroll=8" };
  static const char *const with[] = { "steps=64", "envs=8", "unroll=8", "eta=0.2" };
  const char *const one[] = { map };
  mm_study_config config = mm_study_config_default(kind);
  mm_study_cell cell;
  mm_study *study;
  LIST(env, grid);
  LIST(map, one);
  LIST(set, quick);
  if (expected == 0.2) LIST(set, with);
  config.seeds = 1;
  assert_ok(mm_study_create(folder, &config, &study));
  finish(study, 1);
  assert_ok(mm_study_cell_at(study, 0, &cell));
  assert_true(cell.eta == expected);
  mm_study_close(study);
}

static void test_eta(void **state) {
  (void)state;
  mm_map *map;
  assert_ok(mm_map_open("l2", &map));
  assert_ok(mm_map_set_eta(map, 0.45));
  char path[300];
  snprintf(path, sizeof path, "%s", fixture_path("eta.json"));
  assert_ok(mm_map_save(map, NULL, path));
  mm_map_destroy(map);
  check_eta(MM_STUDY_TRAIN, fixture_path("train"), path, 0.45);
  check_eta(MM_STUDY_TRAIN, fixture_path("train-set"), path, 0.2);
  check_eta(MM_STUDY_TRANSFER, fixture_path("table"), path, 0.45);
  check_eta(MM_STUDY_TRANSFER, fixture_path("table-set"), path, 0.2);
}

// A program that was built when the config had no tune_budget: what lies behind its end is not
// read.
static void test_older(void **state) {
  (void)state;
  mm_study_config config = config_of(MM_STUDY_TRANSFER, NULL);
  mm_study *study;
  config.size = offsetof(mm_study_config, tune_budget);
  config.tune_budget = -1;
  assert_ok(mm_study_create(fixture_path("older"), &config, &study));
  mm_study_machine machine = mm_study_machine_default();
  machine.size--;
  assert_fails(mm_study_advance(study, &machine), MM_ERR_INPUT, "mm_study_machine: size");
  mm_study_close(study);
}

// The rows beside a table of maps: a learned one brings controls of its own family.
static void test_controls(void **state) {
  (void)state;
  char name[MM_STUDY_CONTROLS_MAX][MM_STUDY_NAME_SIZE];
  mm_map *map[2];
  assert_ok(mm_map_open("tsallis:3", &map[0]));
  assert_ok(mm_map_open("piecewise:5", &map[1]));
  const mm_map *const maps_of[] = { map[0], map[1] };
  assert_int_equal(mm_study_controls(maps_of, 1, false, name), 2);
  assert_int_equal(mm_study_controls(maps_of, 1, true, name), 7);
  assert_int_equal(mm_study_controls(maps_of, 2, false, name), 3);
  assert_string_equal(name[2], "random:0");
  assert_int_equal(mm_study_controls(maps_of, 2, true, name), MM_STUDY_CONTROLS_MAX);
  assert_string_equal(name[5], "piecewise");
  assert_string_equal(name[8], "tsallis:tuned-q-eta");
  mm_map_destroy(map[0]);
  mm_map_destroy(map[1]);
}

// ---------------------------------------------------------------------------------------------
// Databases

typedef struct seen_rows {
  const mm_run_column_info *column;
  size_t n_column, rows;
} seen_rows;

static int see_typed(const mm_study_value *value, size_t n, void *user) {
  seen_rows *s = user;
  assert_int_equal(n, s->n_column);
  for (size_t i = 0; i < n; i++) {
    const mm_value_type type = s->column[i].type;
    assert_string_equal(value[i].name, s->column[i].name);
    assert_true(value[i].type == MM_VALUE_NULL || value[i].type == type ||
                (type == MM_VALUE_UNSIGNED && value[i].type == MM_VALUE_INTEGER));
  }
  s->rows++;
  return 0;
}

static mm_status read_returns(mm_run *run) {
  char *text;
  const mm_status status = mm_run_rliable(run, false, &text);
  if (status == MM_OK) assert_non_null(strstr(text, "\"tsallis:3\":[["));
  mm_run_text_free(text);
  return status;
}

// Of a table: what is in the database, to a reader that does not own it.
static void test_database(void **state) {
  (void)state;
  static const char *const tables[] = { "meta",    "generation", "job",   "score", "timing",
                                        "session", "training",   "curve", "batch", "measure" };
  mm_study_config config = config_of(MM_STUDY_TRANSFER, NULL);
  mm_run_column_info column[16];
  mm_run_summary summary;
  mm_run_plan plan;
  mm_study *study;
  mm_run *run;
  mm_map *map;
  int64_t last;
  bool found = true;
  assert_ok(mm_study_create(fixture_path("read"), &config, &study));
  finish(study, 2);
  assert_ok(mm_run_open(fixture_path("read"), MM_RUN_READ, &run)); // while the study is open
  assert_ok(mm_run_begin(run));
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    seen_rows s = { .column = column, .n_column = mm_run_columns(tables[i], column, 16) };
    assert_true(s.n_column > 0 && s.n_column <= 16);
    assert_ok(mm_run_rows(run, tables[i], see_typed, &s));
    if (strcmp(tables[i], "training") == 0) assert_true(s.rows >= 9);
  }
  assert_int_equal(mm_run_columns("tables", column, 16), 0);
  assert_fails(mm_run_rows(run, "tables", see_typed, NULL), MM_ERR_INPUT, "no table 'tables'");
  assert_string_equal(mm_run_command(run), "transfer");
  assert_non_null(strstr(mm_run_config(run), "GridWorld-small"));
  assert_ok(mm_run_summarise(run, &summary));
  assert_ok(mm_run_planned(run, &plan));
  assert_true(summary.trainings >= 9 && summary.env_steps > 0 && plan.trainings >= 9);
  assert_ok(mm_run_last(run, &last, &found));
  assert_false(found);
  assert_fails(mm_run_map_at(run, 0, &map), MM_ERR_INPUT, "");
  assert_ok(mm_run_verify(run));
  assert_null(mm_run_damage(run));
  mm_status status = MM_ERR_MEMORY;
  for (size_t needed = 0; status != MM_OK; needed++) {
    make_memory_scarce();
    allocations_left = needed;
    status = read_returns(run);
    make_memory_usual();
    assert_true(status == MM_OK || status == MM_ERR_MEMORY);
  }
  mm_run_drop(run);
  mm_run_close(run);
  mm_study_close(study);
}

// A tuned row of a file: its path may be long, and the eta in the file is not tuned.
static void test_tuned_file(void **state) {
  (void)state;
  static const char *const quick[] = { "steps=64", "envs=8", "unroll=8" };
  char path[400], name[600];
  const char *const one[] = { name };
  mm_study_config config = mm_study_config_default(MM_STUDY_TRANSFER);
  mm_study_cell cell;
  mm_study *study;
  mm_map *map;
  snprintf(path, sizeof path, "%s",
           fixture_path("a-folder-with-a-name-of-sixty-letters-which-are-not-so-many"));
  assert_int_equal(mkdir(path, 0777), 0);
  strcat(path, "/eta.json");
  assert_ok(mm_map_open("l2", &map));
  assert_ok(mm_map_set_eta(map, 0.45));
  assert_ok(mm_map_save(map, NULL, path));
  mm_map_destroy(map);
  snprintf(name, sizeof name, "%s:tuned-eta", path);
  LIST(env, grid);
  LIST(map, one);
  LIST(set, quick);
  config.seeds = config.tune_seeds = 1;
  assert_ok(mm_study_create(fixture_path("tuned"), &config, &study));
  finish(study, 1);
  assert_ok(mm_study_cell_at(study, 0, &cell));
  const double power = log2(cell.eta / 0.1);
  assert_true(fabs(power) <= 4 && power == rint(power));
  mm_study_close(study);
  memset(name, 'x', sizeof name);
  snprintf(name + 512, sizeof name - 512, ":tuned-eta");
  assert_fails(mm_study_create(fixture_path("long"), &config, &study), MM_ERR_INPUT, "fewer than");
}

// What is wrong shows before there is a folder.
static void test_refused(void **state) {
  (void)state;
  static const char *const bad[] = { "stepps=4" }, *const no_pair[] = { "steps" };
  static const char *const twice[] = { "l2", "negentropy", "l2" };
  mm_study_config config = config_of(MM_STUDY_TRAIN, NULL);
  mm_study *study;
  const char *folder = fixture_path("none");
  config.size = 0;
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "mm_study_config_default");
  config.size = sizeof config + 8;
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "mm_study_config: size");
  config = config_of(MM_STUDY_TRANSFER, NULL);
  config.tune_budget = -1;
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "tune_budget = -1");
  config = config_of(MM_STUDY_TRAIN, NULL);
  LIST(set, bad);
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "stepps");
  LIST(set, no_pair);
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "key=value");
  config = config_of(MM_STUDY_TRAIN, NULL);
  config.algo = "pmd";
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "not a Grid-World");
  config.algo = "sarsa";
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "sarsa");
  config = config_of(MM_STUDY_TRAIN, NULL);
  config.n_map = 2;
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "2 maps");
  config = config_of(MM_STUDY_TRAIN, NULL);
  config.seed = UINT64_MAX;
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "room for them");
  config = config_of(MM_STUDY_TRANSFER, NULL);
  config.map = twice;
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "named twice");
  config = config_of(MM_STUDY_TRANSFER, NULL);
  config.env = cart;
  config.algo = "ppo";
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "takes no map");
  config = config_of(MM_STUDY_TUNE, NULL);
  assert_fails(mm_study_create(folder, &config, &study), MM_ERR_INPUT, "space");
  assert_false(fixture_exists(folder));
  assert_fails(mm_study_open(folder, &study), MM_ERR_INPUT, "none");
  uint64_t sum[2] = { 0 };
  assert_fails(mm_study_rows(folder, "jobs", add_row, sum), MM_ERR_INPUT, "no table 'jobs'");
}

int suite_study(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_train, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_transfer, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_eta, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_tuned_file, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_learn, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_tune, fixture_open, fixture_close),
    cmocka_unit_test(test_controls),
    cmocka_unit_test_setup_teardown(test_database, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_older, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_refused, fixture_open, fixture_close),
  };
  return cmocka_run_group_tests_name("study", tests, NULL, NULL);
}
