// SPDX-License-Identifier: Apache-2.0
// Suite `report`: the document of runs of every command against what the runs have in them, while
// they go on, damaged and of every version; names that try to break out; the page and its file.

#define _XOPEN_SOURCE 700

#include "scarce_memory.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status.h"
#include "mirrormap/stats.h"
#include "run_fixture.h"
#include "show/plot/gnuplot.h"
#include "show/report/report_data.h"
#include "show/report/report_figure.h"
#include "show/report/report_internal.h"
#include "show/report/report_page.h"
#include "study/learn/learn.h"
#include "study/run/run.h"
#include "study/train/train.h"

// ---------------------------------------------------------------------------------------------
// Documents as a reader gets them

static cJSON *parse(const char *text, size_t length) {
  cJSON *root;
  assert_ok(mm_json_parse(text, length, "document", &root));
  return root;
}

static cJSON *document_of_all(const char *const *path, size_t n) {
  mm_report *report;
  assert_ok(mm_report_read(path, n, &report));
  cJSON *document = mm_report_json(report, false);
  char *text = mm_json_print(document, false);
  assert_non_null(text);
  cJSON *again = parse(text, strlen(text));
  mm_free(text);
  cJSON_Delete(document);
  mm_report_release(report);
  return again;
}

static cJSON *document_of(const char *path) {
  return document_of_all(&path, 1);
}

static const cJSON *get(const cJSON *object, const char *key) {
  const cJSON *item = mm_json_find(object, key);
  if (!item) fail_msg("no field '%s'", key);
  return item;
}

static const cJSON *entry(const cJSON *array, int i) {
  const cJSON *item = cJSON_GetArrayItem(array, i);
  if (!item) fail_msg("no entry %d", i);
  return item;
}

static const cJSON *run_of(const cJSON *document, int i) {
  return entry(get(document, "runs"), i);
}

static void expect_text(const cJSON *object, const char *key, const char *expected) {
  const cJSON *item = get(object, key);
  assert_true(cJSON_IsString(item));
  assert_string_equal(item->valuestring, expected);
}

static void expect_null(const cJSON *object, const char *key) {
  assert_true(cJSON_IsNull(get(object, key)));
}

// NaN: null.
static void expect_number(const cJSON *object, const char *key, double expected) {
  const cJSON *item = get(object, key);
  if (isnan(expected)) {
    assert_true(cJSON_IsNull(item));
    return;
  }
  if (!cJSON_IsNumber(item)) fail_msg("field '%s' is %s", key, mm_json_describe(item));
  if (!(fabs(item->valuedouble - expected) <= 1e-14 * fabs(expected)))
    fail_msg("field '%s': expected %.17g, found %.17g", key, expected, item->valuedouble);
}

static const cJSON *find_map(const cJSON *document, const char *label) {
  const cJSON *maps = get(document, "maps");
  for (const cJSON *map = maps->child; map; map = map->next)
    if (strcmp(get(map, "label")->valuestring, label) == 0) return map;
  fail_msg("no map '%s'", label);
  return NULL;
}

// The contents of a map are those of its file.
static void expect_same_map(const cJSON *entry_of_map, const char *path) {
  mm_map *map, *loaded;
  char *text = mm_json_print(get(entry_of_map, "map"), false), *a, *b;
  assert_ok(mm_map_parse(text, strlen(text), "map", &map));
  assert_ok(mm_map_open(path, &loaded));
  assert_ok(mm_map_format(map, NULL, &a));
  assert_ok(mm_map_format(loaded, NULL, &b));
  assert_string_equal(a, b);
  mm_free(text);
  mm_map_text_free(a);
  mm_map_text_free(b);
  mm_map_destroy(map);
  mm_map_destroy(loaded);
}

// ---------------------------------------------------------------------------------------------
// A training

enum { SEEDS = 5 };

static mm_train_plan train_plan(void) {
  mm_train_plan plan = { .settings = mm_settings_default(MM_ALGO_PMD), .seed = 3, .seeds = SEEDS };
  snprintf(plan.env, sizeof plan.env, "GridWorld-small");
  snprintf(plan.map, sizeof plan.map, "tsallis:0.5");
  plan.settings.pmd.steps = 512;
  plan.settings.pmd.envs = 8;
  plan.settings.pmd.unroll = 8;
  plan.settings.pmd.exact_curve = true;
  return plan;
}

static void expect_curve(const cJSON *curve, const mm_result *result, size_t n) {
  mm_curve_point *point;
  size_t n_point;
  double final[SEEDS];
  assert_ok(mm_estimate_curve(result, n, &point, &n_point));
  assert_int_equal(cJSON_GetArraySize(get(curve, "step")), n_point);
  for (size_t k = 0; k < n_point; k++) {
    assert_true(entry(get(curve, "step"), (int)k)->valuedouble == (double)point[k].step);
    assert_true(entry(get(curve, "mean"), (int)k)->valuedouble == point[k].value.mean);
    assert_true(entry(get(curve, "sem"), (int)k)->valuedouble == point[k].value.sem);
  }
  mm_free(point);
  for (size_t i = 0; i < n; i++)
    final[i] = result[i].final_value;
  mm_estimate mean = mm_estimate_of(final, n);
  mm_iqm middle = mm_estimate_iqm(final, n, 3); // the seed of the plan
  const cJSON *last = get(curve, "final");
  expect_number(last, "mean", mean.mean);
  expect_number(last, "sem", mean.sem);
  expect_number(last, "n", (double)n);
  expect_number(last, "iqm", middle.iqm);
  expect_number(last, "low", middle.low);
  expect_number(last, "high", middle.high);
}

static void test_training(void **state) {
  (void)state;
  mm_train_plan plan = train_plan();
  mm_train *t;
  mm_map *map;
  mm_train_view view;
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  assert_ok(mm_map_open(plan.map, &map));
  assert_ok(mm_train_create(fixture_path("train"), &plan, map, &t));
  cJSON *document = document_of(fixture_path("train"));
  expect_text(run_of(document, 0), "state", "going on");
  assert_int_equal(cJSON_GetArraySize(get(run_of(document, 0), "curves")), 0);
  cJSON_Delete(document);
  assert_ok(mm_train_run(t, &backend, 0));
  mm_train_look(t, &view);
  document = document_of(fixture_path("train"));
  const cJSON *run = run_of(document, 0), *curve = entry(get(run, "curves"), 0);
  expect_text(document, "format", MM_REPORT_FORMAT);
  expect_text(document, "title", "train");
  expect_text(run, "name", "train");
  expect_text(run, "command", "train");
  expect_number(run, "env_steps", 512 * SEEDS);
  expect_null(run, "damage");
  expect_null(run, "search");
  expect_null(run, "table");
  expect_text(curve, "env", "GridWorld-small");
  expect_text(curve, "map", "tsallis:0.5");
  expect_text(curve, "role", "train");
  expect_curve(curve, view.result, SEEDS);
  expect_same_map(find_map(document, "tsallis:0.5"), "tsallis:0.5");
  expect_same_map(find_map(document, "l2"), "l2");
  cJSON_Delete(document);
  mm_study_end(mm_train_study(t), "done");
  mm_train_close(t);
  mm_map_destroy(map);
  document = document_of(fixture_path("train"));
  expect_text(run_of(document, 0), "state", "done");
  const cJSON *session = entry(get(run_of(document, 0), "sessions"), 0);
  expect_text(session, "outcome", "done");
  expect_text(session, "version", mm_version());
  cJSON_Delete(document);
}

// ---------------------------------------------------------------------------------------------
// A search

static mm_learn *search(const char *name, int steps) {
  mm_learn_plan *plan = calloc(1, sizeof *plan);
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  mm_learn *l;
  plan->n_env = 1;
  snprintf(plan->env[0], sizeof plan->env[0], "GridWorld-small");
  plan->settings = mm_settings_default(MM_ALGO_PMD);
  plan->settings.pmd.steps = 64;
  plan->settings.pmd.envs = 4;
  plan->settings.pmd.unroll = 8;
  plan->settings.search.population = 4;
  plan->settings.search.generations = 4;
  plan->settings.search.validation_every = 2;
  plan->settings.search.validation_tasks = 3;
  assert_ok(mm_learn_create(fixture_path(name), plan, &l));
  for (int i = 0; i < steps && !mm_learn_done(l); i++)
    assert_ok(mm_learn_advance(l, &backend));
  free(plan);
  return l;
}

static void expect_validation(const cJSON *search_of_run, const char *map, bool control, size_t n,
                              mm_study_score last) {
  const cJSON *maps = get(search_of_run, "validation");
  for (const cJSON *item = maps->child; item; item = item->next) {
    if (strcmp(get(item, "map")->valuestring, map) != 0) continue;
    const cJSON *points = get(item, "points");
    assert_true(cJSON_IsTrue(get(item, "control")) == control);
    assert_int_equal(cJSON_GetArraySize(points), n);
    const cJSON *point = entry(points, (int)n - 1);
    expect_number(point, "generation", (double)last.generation);
    expect_number(point, "mean", last.value.mean);
    expect_number(point, "sem", last.value.sem);
    expect_number(point, "n", 3);
    if (!control) expect_number(point, "difference", last.over_l2.mean);
    return;
  }
  fail_msg("no validation of '%s'", map);
}

// Differences from both, task by task, are those that `learn` tells.
static void expect_minus(const cJSON *search_of_run, mm_study_score last) {
  const cJSON *points = get(entry(get(search_of_run, "validation"), 0), "points");
  const cJSON *minus = get(entry(points, cJSON_GetArraySize(points) - 1), "minus");
  int found = 0;
  for (const cJSON *item = minus->child; item; item = item->next) {
    const char *map = get(item, "map")->valuestring;
    bool l2 = strcmp(map, "l2") == 0;
    if (!l2 && strcmp(map, "negentropy") != 0) continue;
    mm_estimate expected = l2 ? last.over_l2 : last.over_negentropy;
    assert_true(isfinite(expected.mean) && isfinite(expected.sem));
    expect_number(item, "mean", expected.mean);
    expect_number(item, "sem", expected.sem);
    found++;
  }
  assert_int_equal(found, 2);
}

static void test_search(void **state) {
  (void)state;
  mm_study_search view;
  mm_learn *l = search("learn", 100);
  char path[1100];
  mm_learn_look(l, &view);
  cJSON *document = document_of(fixture_path("learn"));
  const cJSON *run = run_of(document, 0), *curve = get(run, "search");
  expect_text(run, "command", "learn");
  assert_int_equal(cJSON_GetArraySize(get(curve, "generation")), 5);
  assert_int_equal(cJSON_GetArraySize(get(curve, "sigma")), 5);
  assert_true(cJSON_IsNull(entry(get(curve, "mean"), 0))); // row 0 is the start
  assert_true(entry(get(curve, "mean"), 4)->valuedouble == view.fitness_mean);
  assert_true(entry(get(curve, "sigma"), 4)->valuedouble == view.sigma);
  expect_validation(curve, "learned", false, 3, view.last);
  expect_validation(curve, "negentropy", true, 1, view.control[0]);
  expect_validation(curve, "l2", true, 1, view.control[1]);
  expect_minus(curve, view.last);
  snprintf(path, sizeof path, "%s/best.json", fixture_path("learn"));
  expect_same_map(find_map(document, "learned"), path);
  expect_text(find_map(document, "learned"), "role", "learned");
  expect_text(find_map(document, "initial"), "role", "initial");
  cJSON_Delete(document);
  // without its files: from the database
  snprintf(path, sizeof path, "%s/best.json", fixture_path("learn"));
  assert_int_equal(unlink(path), 0);
  snprintf(path, sizeof path, "%s/mean.json", fixture_path("learn"));
  assert_int_equal(rename(path, fixture_path("kept.json")), 0);
  document = document_of(fixture_path("learn"));
  mm_map *mean, *stored;
  char *text = mm_json_print(get(find_map(document, "learned"), "map"), false);
  assert_ok(mm_map_parse(text, strlen(text), "map", &mean));
  assert_ok(mm_map_load(fixture_path("kept.json"), &stored));
  const double *w[2], *c, *u;
  double a, b;
  mm_map_neural_parameters(mean, &w[0], &c, &u, &a, &b);
  mm_map_neural_parameters(stored, &w[1], &c, &u, &a, &b);
  assert_memory_equal(w[0], w[1], MM_NEURAL_UNITS * sizeof **w);
  mm_map_destroy(mean);
  mm_map_destroy(stored);
  mm_free(text);
  cJSON_Delete(document);
  mm_learn_close(l);
}

// Before its first generation, and after two of four.
static void test_search_going_on(void **state) {
  (void)state;
  mm_learn *l = search("young", 0);
  cJSON *document = document_of(fixture_path("young"));
  const cJSON *run = run_of(document, 0);
  expect_text(run, "state", "going on");
  assert_int_equal(cJSON_GetArraySize(get(get(run, "search"), "generation")), 1);
  assert_int_equal(cJSON_GetArraySize(get(get(run, "search"), "validation")), 0);
  assert_string_equal(entry(get(run, "notes"), 0)->valuestring, "0 of 4 generations are done.");
  cJSON_Delete(document);
  mm_learn_close(l);
  document = document_of(fixture_path("young"));
  expect_text(run_of(document, 0), "state", "new");
  cJSON_Delete(document);
  l = search("older", 3); // the controls and two generations
  document = document_of(fixture_path("older"));
  run = run_of(document, 0);
  expect_text(run, "state", "going on");
  assert_int_equal(cJSON_GetArraySize(get(get(run, "search"), "generation")), 3);
  cJSON_Delete(document);
  mm_study_end(mm_learn_study(l), "interrupted");
  mm_learn_close(l);
  document = document_of(fixture_path("older"));
  expect_text(run_of(document, 0), "state", "interrupted");
  cJSON_Delete(document);
}

// ---------------------------------------------------------------------------------------------
// A table, made by hand

// value[job]; NaN: the training is not done.
static void put_batch(mm_run *run, int64_t batch, int64_t first, const char *role, const char *env,
                      const char *map, const double *value, int64_t n) {
  mm_run_batch row = { .batch = batch,
                       .first = first,
                       .jobs = n,
                       .role = role,
                       .env = env,
                       .map = map,
                       .settings = "{}" };
  assert_ok(mm_run_put_batch(run, &row));
  for (int64_t i = 0; i < n; i++) {
    const uint64_t step[] = { 0, 100 };
    const double points[] = { 0, value[i] };
    mm_run_training training = { .job = first + i,
                                 .seed = (uint64_t)i,
                                 .final = value[i],
                                 .recent = NAN,
                                 .optimal = NAN,
                                 .env_steps = 100,
                                 .points = 2 };
    if (isnan(value[i])) continue;
    assert_ok(mm_run_begin(run));
    assert_ok(mm_run_put_training(run, &training, step, points));
    assert_ok(mm_run_commit(run));
  }
}

static mm_run *make_table(const char *name, const char *learned, const char *env) {
  const double x[] = { 5, 7, 9, 4 }, y[] = { 4, 5, 6, NAN }, z[] = { 1, 1, 1, 2 };
  mm_run *run;
  assert_ok(mm_run_create(fixture_path(name), "transfer", "{\"seeds\": 4}", &run));
  fixture_start(run);
  put_batch(run, 0, 0, "tuning", env, "l2:tuned-eta", z, 4);
  put_batch(run, 1, 4, "table", env, learned, x, 4);
  put_batch(run, 2, 8, "table", env, "negentropy", y, 4);
  return run;
}

static void test_table(void **state) {
  (void)state;
  mm_run *run = make_table("table", "mine", "CartPole-v1");
  cJSON *document = document_of(fixture_path("table"));
  const cJSON *object = run_of(document, 0), *table = get(object, "table");
  expect_text(object, "state", "going on");
  assert_string_equal(entry(get(object, "notes"), 0)->valuestring,
                      "11 of 12 training runs begun so far are done.");
  expect_text(table, "baseline", "negentropy");
  assert_int_equal(cJSON_GetArraySize(get(table, "envs")), 1);
  assert_int_equal(cJSON_GetArraySize(get(table, "maps")), 2);
  assert_true(cJSON_IsFalse(get(entry(get(table, "maps"), 0), "control")));
  assert_true(cJSON_IsTrue(get(entry(get(table, "maps"), 1), "control")));
  const cJSON *cell = entry(entry(get(table, "cells"), 0), 0);
  expect_number(cell, "mean", 6.25);
  expect_number(cell, "n", 4);
  expect_number(cell, "iqm", 6);        // 5 and 7
  expect_number(cell, "difference", 2); // 1, 2, 3
  expect_number(cell, "difference_sem", 1 / sqrt(3));
  expect_number(cell, "wins", 1);
  expect_number(cell, "verdict", 0); // of three runs 4.3 standard errors would be needed
  assert_true(cJSON_IsTrue(get(cell, "better")));
  expect_null(cell, "paper");
  cell = entry(entry(get(table, "cells"), 1), 0);
  expect_number(cell, "mean", 5);
  expect_number(cell, "n", 3);
  expect_number(cell, "difference", 0);
  expect_number(cell, "verdict", 0);
  assert_int_equal(cJSON_GetArraySize(get(object, "curves")), 2); // none of tuning
  cJSON_Delete(document);
  mm_run_close(run);
  document = document_of(fixture_path("table"));
  expect_text(run_of(document, 0), "state", "killed");
  cJSON_Delete(document);
}

// PPO has no map: its rows go by its name, and one is the baseline of the other.
static void test_without_map(void **state) {
  (void)state;
  const double own[] = { 1, 2, 3, 4 }, tuned[] = { 3, 4, 5, 7 };
  mm_run *run;
  assert_ok(mm_run_create(fixture_path("ppo"), "tune",
                          "{\"algo\": \"ppo\", \"map\": \"negentropy\", \"seeds\": 4}", &run));
  fixture_start(run);
  put_batch(run, 0, 0, "validation", "CartPole-v1", "negentropy", own, 4);
  put_batch(run, 1, 4, "validation", "CartPole-v1", "tuned:negentropy", tuned, 4);
  mm_run_close(run);
  cJSON *document = document_of(fixture_path("ppo"));
  const cJSON *object = run_of(document, 0), *table = get(object, "table");
  expect_text(entry(get(object, "curves"), 0), "map", "ppo");
  expect_text(entry(get(object, "curves"), 1), "map", "tuned:ppo");
  expect_text(table, "baseline", "ppo");
  expect_number(entry(entry(get(table, "cells"), 1), 0), "difference", 2.25);
  cJSON_Delete(document);
}

// ---------------------------------------------------------------------------------------------
// Names that try to break out

#define SCRIPT "</script><script>alert(1)</script>"
static const char hostile[] = SCRIPT "<!-- \"'` & $(touch hurt) ; \xe2\x80\xa8 \\ %s";

static size_t count(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)); text += strlen(part))
    n++;
  return n;
}

static char *page_of(const char *path, cJSON **document) {
  mm_report *report;
  char *page;
  size_t length;
  assert_ok(mm_report_read(&path, 1, &report));
  *document = mm_report_json(report, false);
  assert_ok(mm_report_page(*document, &page, &length));
  assert_int_equal(strlen(page), length);
  mm_report_release(report);
  return page;
}

// The data of the page are the document, to the letter.
static void expect_data(const char *page, const cJSON *document) {
  const char *begin = strstr(page, "id=\"report-data\">"), *end;
  assert_non_null(begin);
  begin = strchr(begin, '>') + 1;
  end = strstr(begin, "</script>");
  cJSON *data = parse(begin, (size_t)(end - begin));
  char *a = mm_json_print(data, false), *b = mm_json_print(document, false);
  assert_string_equal(a, b);
  mm_free(a);
  mm_free(b);
  cJSON_Delete(data);
}

static mm_run *make_hostile(const char *folder) {
  char *config;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "command", hostile);
  cJSON_AddStringToObject(root, hostile, "new\nline\ttab");
  cJSON_AddStringToObject(root, "env", hostile);
  cJSON *maps = cJSON_AddArrayToObject(root, "maps"), *map = cJSON_CreateObject();
  cJSON_AddStringToObject(map, "label", hostile);
  cJSON_AddStringToObject(map, "name", hostile);
  cJSON_AddBoolToObject(map, "control", false);
  cJSON *file = cJSON_CreateObject();
  cJSON_AddStringToObject(file, "format", "mirrormap/1");
  cJSON_AddStringToObject(file, "kind", "tsallis");
  cJSON_AddNumberToObject(file, "q", 0.5);
  cJSON_AddStringToObject(cJSON_AddObjectToObject(file, "meta"), hostile, hostile);
  char *file_text = mm_json_print(file, false);
  cJSON_AddStringToObject(map, "map_file", file_text);
  cJSON_AddItemToArray(maps, map);
  config = mm_json_print(root, false);
  mm_run *run;
  assert_ok(mm_run_create(folder, "transfer", config, &run));
  mm_free(config);
  mm_free(file_text);
  cJSON_Delete(root);
  cJSON_Delete(file);
  return run;
}

static void test_hostile_names(void **state) {
  (void)state;
  const double x[] = { 1, 2, 3, 5 }, y[] = { 4, 5, 6, 7 };
  mm_run *calm = make_table("calm", "mine", "CartPole-v1");
  cJSON *document;
  char *page = page_of(fixture_path("calm"), &document);
  size_t scripts = count(page, "<script"), ends = count(page, "</script"),
         comments = count(page, "<!--");
  expect_data(page, document);
  mm_free(page);
  cJSON_Delete(document);
  mm_run_close(calm);

  // a folder's name can hold everything but '/', also what is no UTF-8
  char folder[700];
  snprintf(folder, sizeof folder, "%s/<script>alert(2)<\\script>\n\"'$(touch hurt)\xff",
           fixture_path(""));
  mm_run *run = make_hostile(folder);
  put_batch(run, 0, 0, "table", hostile, hostile, x, 4);
  put_batch(run, 1, 4, "table", hostile, "negentropy", y, 4);
  page = page_of(folder, &document);
  assert_int_equal(count(page, "<script"), scripts);
  assert_int_equal(count(page, "</script"), ends);
  assert_int_equal(count(page, "<!--"), comments);
  assert_null(strstr(page, "\xe2\x80\xa8"));
  assert_null(strstr(page, "\xff"));
  expect_data(page, document);
  char *text = mm_json_print(document, false);
  cJSON *read = parse(text, strlen(text));
  mm_free(text);
  const cJSON *table = get(run_of(read, 0), "table");
  assert_string_equal(entry(get(table, "envs"), 0)->valuestring, hostile);
  expect_text(entry(get(table, "maps"), 0), "label", hostile);
  expect_text(find_map(read, hostile), "role", "control");
  expect_text(get(get(find_map(read, hostile), "map"), "meta"), hostile, hostile);
  cJSON_Delete(read);
  cJSON_Delete(document);
  mm_free(page);
  mm_run_close(run);
}

// gnuplot sees no more of them than their letters.
static void test_hostile_figures(void **state) {
  (void)state;
  char gnuplot[1024], here[1024];
  if (mm_gnuplot_find(gnuplot, sizeof gnuplot) != MM_OK) skip();
  const double x[] = { 1, 2, 3, 5 }, y[] = { 4, 5, 6, 7 };
  mm_run *run = make_hostile(fixture_path("bad"));
  put_batch(run, 0, 0, "table", "`touch hurt`", hostile, x, 4);
  put_batch(run, 1, 4, "table", "`touch hurt`", "negentropy", y, 4);
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(fixture_path("")), 0);
  const char *path = fixture_path("bad");
  mm_report *report;
  mm_report_figure figure[MM_REPORT_FIGURES];
  assert_ok(mm_report_read(&path, 1, &report));
  size_t n = mm_report_figures(report, figure);
  assert_int_equal(n, 4); // curves, transfer, phi, policy
  for (size_t i = 0; i < n; i++) {
    char file[64], *text;
    size_t length;
    snprintf(file, sizeof file, "%s.svg", figure[i].name);
    assert_ok(mm_report_draw(report, &figure[i], file));
    assert_ok(mm_file_read(file, 1 << 24, &text, &length));
    assert_null(strstr(text, "<script"));
    mm_free(text);
  }
  mm_report_release(report);
  assert_false(fixture_exists("hurt"));
  assert_int_equal(chdir(here), 0);
  mm_run_close(run);
}

// ---------------------------------------------------------------------------------------------
// Damage and other versions

static void test_damage(void **state) {
  (void)state;
  mm_run_close(make_table("hurt", "mine", "CartPole-v1"));
  fixture_sql("hurt", "UPDATE training SET final = 1000 WHERE job = 4");
  mm_report *report;
  const char *path = fixture_path("hurt");
  assert_ok(mm_report_read(&path, 1, &report));
  assert_non_null(mm_report_damage(report, 0));
  mm_report_release(report);
  cJSON *document = document_of(path);
  const cJSON *object = run_of(document, 0);
  assert_true(cJSON_IsString(get(object, "damage")));
  const cJSON *cell = entry(entry(get(get(object, "table"), "cells"), 0), 0);
  expect_number(cell, "n", 3); // without the damaged one
  expect_number(cell, "difference", 2.5);
  cJSON_Delete(document);
  // a search: the other generations are there
  fixture_make("search", 8);
  fixture_sql("search", "UPDATE generation SET sigma = 7 WHERE generation = 3");
  document = document_of(fixture_path("search"));
  assert_int_equal(cJSON_GetArraySize(get(get(run_of(document, 0), "search"), "generation")), 8);
  assert_true(cJSON_IsString(get(run_of(document, 0), "damage")));
  const double steps = get(run_of(document, 0), "env_steps")->valuedouble;
  cJSON_Delete(document);
  // what is intact of one table does not hang on the others
  static const char *const hurt[] = { "UPDATE session SET started = 'x'",
                                      "UPDATE timing SET seconds = 7 WHERE generation = 3" };
  for (size_t i = 0; i < sizeof hurt / sizeof *hurt; i++) {
    fixture_sql("search", hurt[i]);
    document = document_of(fixture_path("search"));
    expect_number(run_of(document, 0), "env_steps", steps);
    cJSON_Delete(document);
  }
}

static void test_no_run(void **state) {
  (void)state;
  mm_report *report;
  const char *path[] = { fixture_path("nowhere"), fixture_path("plain") };
  assert_fails(mm_report_read(path, 1, &report), MM_ERR_INPUT, "nowhere");
  assert_null(report);
  assert_int_equal(mkdir(fixture_path("plain"), 0777), 0);
  assert_fails(mm_report_read(path + 1, 1, &report), MM_ERR_INPUT, "plain");
  assert_fails(mm_report_read(path, 0, &report), MM_ERR_INPUT, "1 to 64");
}

// Runs written by earlier versions of the program.
static void test_versions(void **state) {
  (void)state;
  for (int version = 1; version <= 2; version++) {
    char name[64], golden[600], target[1100];
    size_t size;
    snprintf(name, sizeof name, "version-%d", version);
    snprintf(golden, sizeof golden, "%s/golden/run_version_%d.db", MM_TEST_DATA, version);
    assert_int_equal(mkdir(fixture_path(name), 0777), 0);
    snprintf(target, sizeof target, "%s/run.db", fixture_path(name));
    char *bytes = fixture_load(golden, &size);
    fixture_store(target, bytes, size);
    free(bytes);
    cJSON *document = document_of(fixture_path(name));
    expect_null(run_of(document, 0), "damage");
    if (version == 1) {
      assert_true(cJSON_GetArraySize(get(get(run_of(document, 0), "search"), "generation")) > 1);
    } else {
      const cJSON *curve = entry(get(run_of(document, 0), "curves"), 0);
      expect_text(curve, "role", "train");
      assert_true(cJSON_GetArraySize(get(curve, "step")) > 0);
    }
    cJSON_Delete(document);
  }
}

// ---------------------------------------------------------------------------------------------
// Several runs, and the file

static void test_several(void **state) {
  (void)state;
  mm_run_close(make_table("a", "mine", "CartPole-v1"));
  mm_run_close(make_table("b", "mine", "Acrobot-v1"));
  const char *path[] = { fixture_path("a"), fixture_path("b") };
  cJSON *document = document_of_all(path, 2);
  expect_text(document, "title", "a and 1 more");
  expect_text(run_of(document, 1), "name", "b");
  cJSON_Delete(document);
  mm_report *report;
  mm_report_figure figure[MM_REPORT_FIGURES];
  assert_ok(mm_report_read(path, 2, &report));
  assert_int_equal(mm_report_figures(report, figure), 6);
  assert_string_equal(figure[0].name, "curves-1");
  assert_string_equal(figure[3].name, "transfer-2");
  assert_string_equal(figure[5].name, "policy");
  mm_report_release(report);
}

static mm_status run_train_at(const char *folder) {
  mm_train_plan plan = train_plan();
  mm_train *t;
  mm_map *map;
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 1 };
  plan.seeds = 2;
  MM_TRY(mm_map_open(plan.map, &map));
  mm_status status = mm_train_create(folder, &plan, map, &t);
  if (status == MM_OK) status = mm_train_run(t, &backend, 0);
  mm_train_close(t);
  mm_map_destroy(map);
  return status;
}

// Runs that agree in all but where they lie stay two, and one that is named twice, too.
static void test_same_names(void **state) {
  (void)state;
  assert_int_equal(mkdir(fixture_path("a"), 0777), 0);
  assert_int_equal(mkdir(fixture_path("b"), 0777), 0);
  const char *path[] = { fixture_path("a/train-1"), fixture_path("b/train-1"),
                         fixture_path("a/train-1") };
  assert_ok(run_train_at(path[0]));
  assert_ok(run_train_at(path[1]));
  for (size_t n = 2; n <= 3; n++) {
    mm_report *report;
    mm_report_comparison compared;
    assert_ok(mm_report_read(path, n, &report));
    assert_ok(mm_report_compare(report, &compared));
    assert_int_equal(compared.all.n_batch, n);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++)
        assert_string_not_equal(compared.all.batch[i].map, compared.all.batch[j].map);
    if (n == 2) assert_string_equal(compared.all.batch[1].map, path[1]);
    assert_int_equal(compared.table.transfer.config.n_map, n);
    mm_report_release_comparison(&compared);
    mm_report_release(report);
  }
}

// Behind a reproduction come the runs in its folder, in the order of their names.
static void test_parts(void **state) {
  (void)state;
  mm_run *run;
  assert_ok(
      mm_run_create(fixture_path("whole"), "reproduce",
                    "{\"command\": \"reproduce\", \"artefact\": \"control\", \"scale\": "
                    "\"smoke\", \"seed\": \"7\", \"seeds\": 2, \"set\": {\"steps\": \"1 2\"}, "
                    "\"from\": [\"a b\", \"c\"]}",
                    &run));
  fixture_start(run);
  mm_run_close(make_table("whole/b", "mine", "CartPole-v1"));
  mm_run_close(make_table("whole/a", "mine", "Acrobot-v1"));
  mm_run_close(make_table("whole/a/inside", "mine", "Acrobot-v1")); // of no reproduction
  assert_int_equal(mkdir(fixture_path("whole/figures"), 0777), 0);
  cJSON *document = document_of(fixture_path("whole"));
  assert_int_equal(cJSON_GetArraySize(get(document, "runs")), 3);
  expect_text(document, "title", "whole");
  expect_text(run_of(document, 1), "name", "a");
  expect_text(run_of(document, 2), "name", "b");
  assert_string_equal(entry(get(run_of(document, 0), "notes"), 0)->valuestring,
                      "Reduced: smoke scale, not the paper's sizes.");
  expect_number(run_of(document, 0), "env_steps", 2200); // of its parts
  expect_null(run_of(document, 0), "env_steps_per_second");
  expect_number(run_of(document, 1), "env_steps", 1100);
  cJSON_Delete(document);
  mm_run_close(run);
}

// Nothing of phi is smaller than in the paper.
static void test_scale(void **state) {
  (void)state;
  mm_run *run;
  assert_ok(mm_run_create(fixture_path("phi"), "reproduce",
                          "{\"artefact\": \"phi\", \"scale\": \"laptop\"}", &run));
  cJSON *document = document_of(fixture_path("phi"));
  assert_int_equal(cJSON_GetArraySize(get(run_of(document, 0), "notes")), 0);
  cJSON_Delete(document);
  mm_run_close(run);
}

// ---------------------------------------------------------------------------------------------
// Maps of several runs

// A transfer of random:FIRST, random:FIRST+1 .. with files of these names and labels. No path leads
// to them.
static void make_maps(const char *folder, int first, int n, const char *label) {
  cJSON *root = cJSON_CreateObject(), *maps = cJSON_AddArrayToObject(root, "maps");
  cJSON *env = cJSON_CreateObject(), *envs = cJSON_AddArrayToObject(root, "envs");
  for (int i = 0; i < n; i++) {
    char name[64], *text;
    mm_map *map;
    snprintf(name, sizeof name, "random:%d", first + i);
    assert_ok(mm_map_open(name, &map));
    assert_ok(mm_map_format(map, NULL, &text));
    cJSON *object = cJSON_CreateObject();
    snprintf(name, sizeof name, "%s%d", label, i);
    cJSON_AddStringToObject(object, "name", name);
    cJSON_AddStringToObject(object, "label", name);
    cJSON_AddBoolToObject(object, "control", false);
    cJSON_AddStringToObject(object, "map_file", text);
    cJSON_AddItemToArray(maps, object);
    mm_map_text_free(text);
    mm_map_destroy(map);
  }
  cJSON_AddStringToObject(env, "name", "CartPole-v1");
  cJSON_AddStringToObject(env, "algo", "ampo");
  cJSON_AddItemToArray(envs, env);
  char *config = mm_json_print(root, false);
  mm_run *run;
  assert_ok(mm_run_create(folder, "transfer", config, &run));
  mm_run_close(run);
  mm_free(config);
  cJSON_Delete(root);
}

// A map that several runs have is there once; another of the same label is another.
static void test_same_maps(void **state) {
  (void)state;
  make_maps(fixture_path("a"), 0, 2, "mine");
  make_maps(fixture_path("b"), 0, 2, "mine");
  make_maps(fixture_path("c"), 7, 1, "mine");
  make_maps(fixture_path("d"), 0, 1, "other");
  char path[4][700];
  const char *runs[4];
  for (int i = 0; i < 4; i++)
    runs[i] = strcpy(path[i], fixture_path((const char *[]){ "a", "b", "c", "d" }[i]));
  cJSON *document = document_of_all(runs, 4);
  const cJSON *maps = get(document, "maps");
  static const char *const label[] = { "mine0", "mine1", "mine0", "other0", "negentropy", "l2" };
  assert_int_equal(cJSON_GetArraySize(maps), 6);
  for (int i = 0; i < 6; i++)
    expect_text(entry(maps, i), "label", label[i]);
  expect_number(entry(maps, 2), "run", 2);
  cJSON_Delete(document);
}

// The named maps are in the picture, however many were learned.
static void test_many_maps(void **state) {
  (void)state;
  char gnuplot[1024], *text;
  size_t length;
  if (mm_gnuplot_find(gnuplot, sizeof gnuplot) != MM_OK) skip();
  make_maps(fixture_path("many"), 0, 30, "mine");
  const char *path = fixture_path("many");
  mm_report *report;
  mm_report_figure figure[MM_REPORT_FIGURES];
  assert_ok(mm_report_read(&path, 1, &report));
  size_t n = mm_report_figures(report, figure);
  assert_string_equal(figure[n - 2].name, "phi");
  assert_ok(mm_report_draw(report, &figure[n - 2], fixture_path("phi.svg")));
  assert_ok(mm_file_read(fixture_path("phi.svg"), 1 << 24, &text, &length));
  assert_non_null(strstr(text, "mine0"));
  assert_non_null(strstr(text, "negentropy"));
  assert_non_null(strstr(text, "l2"));
  assert_null(strstr(text, "mine29"));
  mm_free(text);
  mm_report_release(report);
}

// Runs say how they were made where the program knows; words are quoted for a shell.
static void test_again(void **state) {
  (void)state;
  static char name[] = "./mirrormap", command[] = "transfer", empty[] = "", odd[] = "a 'b'";
  static char bad[] = "\xff'\\\033";
  char *argv[] = { name, command, empty, odd, bad, NULL };
  make_maps(fixture_path("unknown"), 0, 1, "mine");
  char *const *before = mm_run_made_by(argv);
  make_maps(fixture_path("known"), 0, 1, "mine");
  mm_run_made_by(before);
  cJSON *document = document_of(fixture_path("unknown"));
  assert_int_equal(cJSON_GetArraySize(get(run_of(document, 0), "again")), 0);
  cJSON_Delete(document);
  document = document_of(fixture_path("known"));
  assert_int_equal(cJSON_GetArraySize(get(run_of(document, 0), "again")), 1);
  assert_string_equal(entry(get(run_of(document, 0), "again"), 0)->valuestring,
                      "mirrormap transfer '' 'a '\\''b'\\''' $'\\xff\\'\\\\\\x1b'");
  cJSON_Delete(document);
}

static void test_file(void **state) {
  (void)state;
  mm_run_close(make_table("run", "mine", "CartPole-v1"));
  cJSON *document = document_of(fixture_path("run"));
  const char *path = fixture_path("page.html");
  assert_ok(mm_report_page_write(document, path));
  size_t size;
  char *first = fixture_load(path, &size);
  assert_true(size > 1000);
  free(first);
  assert_ok(mm_report_page_write(document, path)); // ours
  fixture_store(path, "<!DOCTYPE html>\n<p>precious</p>\n", 33);
  assert_fails(mm_report_page_write(document, path), MM_ERR_INPUT, "will not be overwritten");
  fixture_store(path, "", 0);
  assert_fails(mm_report_page_write(document, path), MM_ERR_INPUT, "will not be overwritten");
  fixture_store(path, "x", 1);
  assert_fails(mm_report_page_write(document, path), MM_ERR_INPUT, "will not be overwritten");
  assert_int_equal(mkdir(fixture_path("folder"), 0777), 0);
  assert_true(mm_report_page_write(document, fixture_path("folder")) != MM_OK);
  cJSON_Delete(document);
}

// ---------------------------------------------------------------------------------------------
// Memory that runs out at every single place

static void test_memory(void **state) {
  (void)state;
  mm_run_close(make_table("run", "mine", "CartPole-v1"));
  mm_learn_close(search("learn", 100));
  const char *path[] = { fixture_path("run"), fixture_path("learn") };
  bool complete = false;
  for (long n = 0; !complete; n += test_under_valgrind() ? 7 : 1) {
    mm_report *report;
    allocations_left = (size_t)n;
    make_memory_scarce();
    mm_status status = mm_report_read(path, 2, &report);
    if (status == MM_OK) mm_report_release(report);
    complete = allocations_left > 0;
    make_memory_usual();
    assert_true(n < 100000);
    if (complete) assert_int_equal(status, MM_OK);
  }
}

int suite_report(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(test_training),  TEST(test_search),        TEST(test_search_going_on),
    TEST(test_table),     TEST(test_hostile_names), TEST(test_hostile_figures),
    TEST(test_damage),    TEST(test_no_run),        TEST(test_versions),
    TEST(test_several),   TEST(test_same_names),    TEST(test_without_map),
    TEST(test_parts),     TEST(test_scale),         TEST(test_same_maps),
    TEST(test_many_maps), TEST(test_again),         TEST(test_file),
    TEST(test_memory),
  };
  return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
