// SPDX-License-Identifier: Apache-2.0
// Suite `tune_run`: scores against trainings run one by one, runs that are stopped and taken up
// again, read by others, their plans, files and figures.

#define _XOPEN_SOURCE 700

#include "scarce_memory.h"
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "mirrormap/settings.h"
#include "run_fixture.h"
#include "show/figure/tune_figure.h"
#include "show/plot/gnuplot.h"
#include "study/tune/tune_files.h"
#include "study/tune/tune_internal.h"

static mm_tune_plan *plan_of(const char *const *env, size_t n_env, mm_algo algo,
                             const char *space) {
  mm_tune_plan *plan = calloc(1, sizeof *plan);
  const char *path = fixture_path("space.yaml");
  plan->n_env = n_env;
  plan->trials = 64;
  plan->seeds = 4;
  plan->validate = 3;
  plan->prune = true;
  plan->seed = 7;
  for (size_t e = 0; e < n_env; e++) {
    mm_settings *s = &plan->settings[e];
    snprintf(plan->env[e], sizeof plan->env[e], "%s", env[e]);
    *s = mm_settings_default(algo);
    if (algo == MM_ALGO_PMD) {
      s->pmd.envs = 8;
      s->pmd.unroll = 8;
      s->pmd.steps = 256;
      continue;
    }
    s->net.envs = 4;
    s->net.unroll = 16;
    s->net.steps = 256;
    s->net.hidden = 16;
  }
  plan->n_map = 1;
  snprintf(plan->map[0], sizeof plan->map[0], "l2");
  fixture_store(path, space, strlen(space));
  assert_ok(mm_tune_space_load(path, algo, &plan->space));
  return plan;
}

static const char *const grids[] = { "GridWorld-small", "GridWorld-dense" };

static mm_tune_plan *grid_plan(void) {
  return plan_of(grids, 2, MM_ALGO_PMD,
                 "method: grid\nparameters:\n  lr: {log: [4, 400], points: 3}\n"
                 "  eta: {log: [0.01, 1], points: 3}\n");
}

static mm_tune *begin(const char *name, const mm_tune_plan *plan, mm_map **map) {
  mm_tune *t;
  assert_ok(mm_map_open("l2", map));
  assert_ok(mm_tune_create(name ? fixture_path(name) : NULL, plan, (const mm_map *const *)map, &t));
  return t;
}

static char *text_of(const mm_tune *t) {
  cJSON *json = mm_tune_json(t);
  assert_non_null(json);
  char *text = mm_json_print(json, false);
  cJSON_Delete(json);
  assert_non_null(text);
  return text;
}

static char *run_calmly(const char *name, const mm_tune_plan *plan, int threads) {
  mm_map *map;
  mm_tune *t = begin(name, plan, &map);
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = threads };
  mm_tune_view v;
  assert_ok(mm_tune_run(t, &backend, 60));
  mm_tune_look(t, &v);
  assert_true(v.complete && v.validated && v.search->complete);
  mm_study_end(mm_tune_study(t), "done");
  char *text = text_of(t);
  mm_tune_close(t);
  mm_map_destroy(map);
  return text;
}

// ---------------------------------------------------------------------------------------------
// Numbers

static double run_alone(const mm_tune_plan *plan, size_t env, const double *value,
                        const mm_map *map, uint64_t seed) {
  mm_settings settings = plan->settings[env];
  mm_env *e;
  mm_result result;
  assert_ok(mm_tune_apply(&plan->space, value, &settings));
  assert_ok(mm_env_open(plan->env[env], &e));
  mm_job job = { .env = e, .map = map, .seed = seed };
  mm_settings_bind(&settings, &job);
  assert_ok(mm_job_run(&job, NULL, &result));
  double final = result.final_value;
  mm_result_release(&result);
  mm_env_destroy(e);
  return final;
}

static void test_scores(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  mm_map *map;
  mm_tune *t = begin(NULL, plan, &map);
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  mm_tune_view v;
  assert_ok(mm_tune_run(t, &backend, 60));
  mm_tune_look(t, &v);
  assert_int_equal(v.search->n, 9); // lr 40, eta 0.1 are the own values
  size_t trainings = 0;
  for (size_t i = 0; i < v.search->n; i++) {
    const mm_tune_trial *trial = &v.search->trial[i];
    trainings += 2 * trial->n;
    for (size_t k = 0; k < trial->n; k++) {
      double score = 0;
      for (size_t e = 0; e < 2; e++) {
        double own = run_alone(plan, e, v.search->trial[0].value, map, v.first_seed + k);
        double value = run_alone(plan, e, trial->value, map, v.first_seed + k);
        assert_true(mm_tune_values(t, i, e)[k] == value);
        score += (value - own) / v.scale[e] / 2;
      }
      assert_true(fabs(trial->score[k] - score) < 1e-12);
    }
  }
  assert_true(v.first_seed != v.fresh_seed);
  for (size_t e = 0; e < 2; e++) {
    mm_estimate own = mm_estimate_of(mm_tune_values(t, 0, e), 4);
    assert_true(v.scale[e] == fmax(own.sem * 2, fabs(own.mean) / 20));
    double sum[2] = { 0 };
    for (uint64_t k = 0; k < 3; k++) {
      sum[0] += run_alone(plan, e, v.search->trial[0].value, map, v.fresh_seed + k) / 3;
      sum[1] += run_alone(plan, e, v.search->trial[v.best].value, map, v.fresh_seed + k) / 3;
    }
    assert_true(fabs(v.check[e].own.mean - sum[0]) < 1e-12);
    assert_true(fabs(v.check[e].best.mean - sum[1]) < 1e-12);
    if (v.best > 0) assert_true(fabs(v.check[e].difference.gain.mean - (sum[1] - sum[0])) < 1e-12);
  }
  assert_int_equal(v.trainings, trainings + (v.best > 0 ? 12 : 6));
  mm_tune_close(t);
  mm_map_destroy(map);
  free(plan);
}

static void test_threads(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  char *one = run_calmly("one", plan, 1), *two = run_calmly("two", plan, 2);
  assert_string_equal(one, two);
  mm_free(one);
  mm_free(two);
  plan->seed = 8;
  char *other = run_calmly("other", plan, 2);
  plan->seed = 7;
  char *memory = run_calmly(NULL, plan, 2);
  assert_string_not_equal(other, memory);
  mm_free(other);
  mm_free(memory);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Stopped and taken up again

static volatile int stop;
static int reports_left;

// Comes once in every round at least.
static void count_down(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)total, (void)env_steps, (void)user;
  if (done == 0) return;
  if (reports_left-- == 0) stop = 1;
}

// The trials that somebody sees who only looks.
static size_t look_from_outside(const char *name) {
  mm_run *run;
  mm_tune *t;
  mm_tune_view v;
  assert_ok(mm_run_open(fixture_path(name), MM_RUN_READ, &run));
  assert_ok(mm_tune_read(run, &t));
  mm_run_close(run);
  mm_tune_look(t, &v);
  size_t n = v.search->n;
  mm_tune_close(t);
  return n;
}

static void expect_in_pieces(const mm_tune_plan *plan) {
  char *calm = run_calmly("calm", plan, 2);
  bool done = false;
  int pieces = 0;
  size_t seen = 0;
  for (; !done && pieces < 100; pieces++) {
    mm_map *map = NULL;
    mm_tune *t;
    mm_backend_config backend = { .size = sizeof(mm_backend_config),
                                  .threads = 1 + pieces % 2,
                                  .stop = &stop,
                                  .progress = count_down };
    if (pieces == 0)
      t = begin("wild", plan, &map);
    else
      assert_ok(mm_tune_resume(fixture_path("wild"), &t));
    stop = 0;
    reports_left = pieces;
    mm_status status = mm_tune_run(t, &backend, 60);
    done = status == MM_OK;
    assert_true(done || status == MM_ERR_INTERRUPTED);
    if (done) {
      char *wild = text_of(t);
      assert_string_equal(calm, wild);
      mm_free(wild);
    }
    mm_study_end(mm_tune_study(t), done ? "done" : "interrupted");
    mm_tune_close(t);
    mm_map_destroy(map);
    size_t now = look_from_outside("wild");
    assert_true(now >= seen);
    seen = now;
  }
  assert_true(done && pieces > (plan->prune ? 3 : 1));
  mm_free(calm);
}

static void test_pieces_grid(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  expect_in_pieces(plan);
  free(plan);
}

static void test_pieces_one_list(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  plan->prune = false;
  expect_in_pieces(plan);
  free(plan);
}

static void test_pieces_cma(void **state) {
  (void)state;
  static const char *const envs[] = { "CartPole-v1" };
  mm_tune_plan *plan = plan_of(envs, 1, MM_ALGO_AMPO,
                               "parameters:\n  lr: {log: [1e-4, 1e-1]}\n"
                               "  activation: {choice: [tanh, relu]}\n");
  plan->trials = 18;
  expect_in_pieces(plan);
  free(plan);
}

// A task file's copy that is gone stays away: somebody who only looks changes nothing.
static void test_reading_writes_nothing(void **state) {
  (void)state;
  static const char task[] = "grid: 3\nstart: [0, 0]\nobjects:\n"
                             "  - {cell: [2, 2], reward: 1, terminate: 1, respawn: 0}\n";
  fixture_store(fixture_path("task.yaml"), task, sizeof task - 1);
  const char *const envs[] = { fixture_path("task.yaml") };
  mm_tune_plan *plan = plan_of(envs, 1, MM_ALGO_PMD, "parameters:\n  eta: {choice: [0.1, 0.2]}\n");
  mm_map *map = NULL;
  mm_tune *t = begin("run", plan, &map);
  mm_tune_close(t);
  mm_map_destroy(map);
  assert_int_equal(remove(fixture_path("run/env-0.yaml")), 0);
  assert_int_equal(look_from_outside("run"), 1); // the baseline, not yet trained
  assert_false(fixture_exists(fixture_path("run/env-0.yaml")));
  assert_ok(mm_tune_resume(fixture_path("run"), &t)); // who goes on needs it
  assert_true(fixture_exists(fixture_path("run/env-0.yaml")));
  mm_tune_close(t);
  free(plan);
}

// What a reader sees is what the run itself says, without its database in hand.
static void test_reading(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  char *calm = run_calmly("run", plan, 2);
  mm_run *run;
  mm_tune *t;
  mm_tune_view v;
  assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
  assert_ok(mm_tune_read(run, &t));
  mm_run_close(run);
  mm_tune_look(t, &v);
  assert_true(v.complete && v.validated);
  char *read = text_of(t);
  assert_string_equal(calm, read);
  mm_free(read);
  mm_free(calm);
  mm_tune_close(t);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Trials that cannot be trained

static void test_impossible(void **state) {
  (void)state;
  static const char *const envs[] = { "CartPole-v1" };
  // 256 steps are less than an iteration of 32 environments; a rate of 1000 breaks down or not
  mm_tune_plan *plan = plan_of(envs, 1, MM_ALGO_AMPO,
                               "method: grid\nparameters:\n  envs: {choice: [2, 4, 32]}\n"
                               "  lr: {choice: [0.004, 1000]}\n");
  mm_map *map;
  mm_tune *t = begin("run", plan, &map);
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  mm_tune_view v;
  assert_ok(mm_tune_run(t, &backend, 60));
  mm_tune_look(t, &v);
  assert_int_equal(v.search->n, 6);
  for (size_t i = 0; i < v.search->n; i++) {
    bool impossible = v.search->trial[i].value[0] == 2; // the third choice
    if (impossible) assert_true(v.search->trial[i].failed);
    if (impossible) assert_string_equal(mm_tune_state(v.search, i), "failed");
    if (impossible) assert_true(isnan(mm_tune_mean(t, i, 0)));
  }
  assert_false(v.search->trial[v.best].failed);
  char *text = text_of(t);
  assert_non_null(strstr(text, "\"state\":\"failed\""));
  mm_free(text);
  mm_tune_close(t);

  // own values that do not go together are refused before there is a folder
  plan->settings[0].net.envs = 32;
  assert_fails(mm_tune_create(fixture_path("never"), plan, (const mm_map *const *)&map, &t),
               MM_ERR_INPUT, "less than one iteration");
  assert_false(fixture_exists(fixture_path("never")));
  mm_map_destroy(map);
  free(plan);
}

static void test_refused(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  mm_map *map;
  mm_tune *t;
  assert_ok(mm_map_open("l2", &map));
  plan->trials = 8;
  assert_fails(mm_tune_create(fixture_path("never"), plan, (const mm_map *const *)&map, &t),
               MM_ERR_INPUT, "9 points");
  plan->trials = 9;
  plan->settings[1] = mm_settings_default(MM_ALGO_AMPO);
  assert_fails(mm_tune_create(fixture_path("never"), plan, (const mm_map *const *)&map, &t),
               MM_ERR_INPUT, "tuned for one algorithm");
  assert_false(fixture_exists(fixture_path("never")));
  fixture_make("search", 1);
  assert_fails(mm_tune_resume(fixture_path("search"), &t), MM_ERR_INPUT, "");
  assert_fails(mm_tune_resume(fixture_path("nowhere"), &t), MM_ERR_INPUT, "nowhere");
  mm_map_destroy(map);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Plans

// As it comes out of a database.
static mm_status read_plan(const char *text, mm_tune_plan *plan, mm_map **map, mm_plan_envs *envs) {
  cJSON *root;
  mm_map *maps[MM_TUNE_MAPS] = { 0 };
  *map = NULL;
  *envs = (mm_plan_envs){ 0 };
  memset(plan, 0, sizeof *plan);
  MM_TRY(mm_json_parse(text, strlen(text), "here", &root));
  mm_status status = mm_tune_plan_read(root, "here", plan, maps, envs);
  *map = maps[0];
  cJSON_Delete(root);
  return status;
}

static char *plan_text(const mm_tune_plan *plan, const mm_map *map, const mm_plan_envs *envs) {
  cJSON *root;
  assert_ok(mm_tune_plan_json(plan, &map, envs, &root));
  char *text = mm_json_print(root, false);
  cJSON_Delete(root);
  return text;
}

static void test_plans(void **state) {
  (void)state;
  mm_tune_plan *plan = plan_of(grids, 2, MM_ALGO_PMD,
                               "parameters:\n  lr: {log: [4, 400], points: 3}\n"
                               "  eta: {linear: [0.01, 1]}\n  epochs: {integer: [1, 5]}\n"
                               "  normalise_advantage: {choice: [off, on]}\n"),
               *back = calloc(1, sizeof *back);
  mm_plan_envs envs = { .n = 2, .task = { NULL, (char *)"grid: 4\n" } }, read;
  mm_map *map, *same;
  plan->seed = UINT64_MAX;
  plan->rounds = true;
  plan->population = 12;
  assert_ok(mm_map_open("random:3", &map));
  char *text = plan_text(plan, map, &envs);
  assert_ok(read_plan(text, back, &same, &read));
  assert_null(read.task[0]);
  assert_string_equal(read.task[1], "grid: 4\n");
  assert_true(back->seed == plan->seed && back->population == 12);
  plan->space.sampled = false; // what only halving asks for is not stored
  assert_memory_equal(&plan->space, &back->space, sizeof plan->space);
  char *again = plan_text(back, same, &read);
  assert_string_equal(text, again);
  mm_free(again);
  assert_true(back->prune && back->rounds);
  mm_plan_release_envs(&read);
  mm_map_destroy(same);

  // without any one of its characters it is no plan, or another one
  size_t length = strlen(text);
  char *bad = malloc(length + 1);
  assert_non_null(bad);
  for (size_t i = 0; i < length; i += 1 + i / 600) {
    memcpy(bad, text, i);
    memcpy(bad + i, text + i + 1, length - i);
    (void)read_plan(bad, back, &same, &read);
    mm_plan_release_envs(&read);
    mm_map_destroy(same);
  }
  // runs of before `rounds` had them without pruning too
  for (int i = 0; i < 2; i++) {
    plan->prune = false;
    plan->rounds = i;
    char *other = plan_text(plan, map, &envs);
    assert_int_equal(strstr(other, "rounds") == NULL, i);
    assert_ok(read_plan(other, back, &same, &read));
    assert_true(!back->prune && back->rounds == i);
    mm_plan_release_envs(&read);
    mm_map_destroy(same);
    mm_free(other);
  }
  assert_fails(read_plan("{\"command\":\"learn\"}", back, &same, &read), MM_ERR_INPUT,
               "a run of 'learn', not of 'tune'");
  free(bad);
  mm_free(text);
  mm_map_destroy(map);
  free(back);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Files

static void expect_number(const char *text, const char *key, double expected) {
  char line[64];
  snprintf(line, sizeof line, "\n%s: ", key);
  const char *at = strstr(text, line);
  assert_non_null(at);
  assert_true(strtod(at + strlen(line), NULL) == expected);
}

static void test_files(void **state) {
  (void)state;
  // a map's name that would end a comment, a command of gnuplot, or a statement of SQL
  static const char hostile[] = "x'; DROP TABLE training; --`touch gone`\"\nlr: 1000\n\xe2\x80\xa8"
                                "eta: 3\xc2\x85steps: 1";
  mm_tune_plan *plan = grid_plan();
  plan->settings[1].pmd.critic_lr = 2; // not in common
  snprintf(plan->map[0], sizeof plan->map[0], "%s", hostile);
  snprintf(plan->env[0], sizeof plan->env[0], "GridWorld-small");
  mm_map *map;
  mm_tune *t = begin(NULL, plan, &map); // a database has no control characters
  mm_backend_config backend = { .size = sizeof(mm_backend_config), .threads = 2 };
  mm_tune_view v;
  bool written;
  size_t size;
  assert_int_equal(mkdir(fixture_path("run"), 0777), 0);
  assert_ok(mm_tune_run(t, &backend, 60));
  mm_tune_look(t, &v);
  char folder[1024], path[1100];
  snprintf(folder, sizeof folder, "%s", fixture_path("run"));
  assert_ok(mm_tune_write(t, folder));
  assert_ok(mm_tune_write_preset(t, folder, &written));
  assert_true(written);
  snprintf(path, sizeof path, "%s/preset.yaml", folder);
  char *text = fixture_load(path, &size);
  text = realloc(text, size + 1);
  text[size] = '\0';
  const double *best = v.search->trial[v.best].value;
  expect_number(text, "lr", best[0]);
  expect_number(text, "eta", best[1]);
  expect_number(text, "steps", 256);
  assert_null(strstr(text, "\ncritic_lr"));
  mm_settings settings = mm_settings_default(MM_ALGO_PMD);
  assert_ok(mm_preset_apply(path, &settings));
  assert_true(settings.pmd.lr == best[0] && settings.pmd.eta == best[1]);
  assert_true(settings.pmd.steps == 256 && settings.pmd.envs == 8 && settings.pmd.critic_lr == 4);
  free(text);

  // one that is there stays
  fixture_store(path, "mine", 4);
  assert_ok(mm_tune_write_preset(t, folder, &written));
  assert_false(written);
  text = fixture_load(path, &size);
  assert_true(size == 4 && memcmp(text, "mine", 4) == 0);
  free(text);
  assert_int_equal(fixture_entries(folder), 3); // trials.csv, tune.json, preset.yaml

  // a line per trial
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  text = fixture_load(path, &size);
  size_t lines = 0;
  for (size_t i = 0; i < size; i++)
    lines += text[i] == '\n';
  assert_int_equal(lines, 3 + v.search->n);
  free(text);

  char program[1024];
  if (mm_gnuplot_find(program, sizeof program) == MM_OK) {
    snprintf(path, sizeof path, "%s/tune.svg", folder);
    assert_ok(mm_tune_figure(t, path));
    text = fixture_load(path, &size);
    text = realloc(text, size + 1);
    text[size] = '\0';
    assert_true(size > 4000 && strstr(text + size - 20, "</svg>"));
    free(text);
  }
  mm_tune_close(t);
  mm_map_destroy(map);
  free(plan);
}

// ---------------------------------------------------------------------------------------------
// Lack of memory

static void test_no_memory(void **state) {
  (void)state;
  mm_tune_plan *plan = grid_plan();
  plan->n_env = 1;
  plan->seeds = plan->validate = 1;
  char *calm = run_calmly("run", plan, 1);
  mm_status status = MM_ERR_MEMORY;
  size_t n = 0;
  for (; n < 5000 && status == MM_ERR_MEMORY; n += 1 + n / 20) {
    mm_run *run;
    mm_tune *t = NULL;
    mm_tune_importance importance;
    assert_ok(mm_run_open(fixture_path("run"), MM_RUN_READ, &run));
    make_memory_scarce();
    allocations_left = n;
    status = mm_tune_read(run, &t);
    mm_tune_view v;
    if (t) mm_tune_look(t, &v);
    if (t && v.search->n > 0 && mm_tune_weigh(v.search, &importance) != MM_OK)
      status = MM_ERR_MEMORY;
    make_memory_usual();
    mm_tune_close(t);
    mm_run_close(run);
  }
  assert_ok(status);
  assert_true(n > 10);
  mm_free(calm);
  free(plan);
}

// phi^-1 rises by `factor` times as much from 1/4 to 3/4 as that of `of`.
static void assert_scaled(const mm_map *map, const mm_map *of, double factor) {
  const double p[2] = { 0.25, 0.75 };
  double x[2], y[2];
  assert_ok(mm_map_phi_inverse(map, p, 2, x));
  assert_ok(mm_map_phi_inverse(of, p, 2, y));
  assert_true(fabs((x[1] - x[0]) / (y[1] - y[0]) - factor) < 1e-9);
}

// Parameters of maps: a factor on phi^-1 for every kind, q, and q = 1 as its limit.
static void test_map_parameters(void **state) {
  (void)state;
  static const char *const names[] = { "negentropy", "l2", "tsallis:2.5", "piecewise:20",
                                       "neural" };
  mm_tune_space space = { .n = 1 };
  const double end[2] = { 0.5, 4 };
  mm_tune_range range = { .name = "map.scale", .scale = MM_TUNE_LOG, .end = { end[0], end[1] } };
  mm_map *map, *made;
  assert_ok(mm_tune_parameter_make("here", MM_ALGO_PMD, &range, &space.parameter[0]));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    assert_ok(mm_map_open(names[i], &map));
    assert_ok(mm_tune_map_check(&space, map, names[i]));
    for (size_t k = 0; k < 2; k++) {
      assert_ok(mm_tune_map_make(&space, &end[k], map, &made));
      assert_scaled(made, map, end[k]);
      mm_map_destroy(made);
    }
    assert_ok(mm_tune_map_make(&space, (const double[]){ 1 }, map, &made));
    assert_null(made); // the map itself, to the bit
    mm_map_destroy(map);
  }
  range = (mm_tune_range){ .name = "map.q", .scale = MM_TUNE_LINEAR, .end = { 1, 3 } };
  assert_ok(mm_tune_parameter_make("here", MM_ALGO_PMD, &range, &space.parameter[0]));
  assert_ok(mm_map_open("tsallis:2", &map));
  assert_ok(mm_tune_map_make(&space, (const double[]){ 3 }, map, &made));
  assert_true(mm_map_tsallis_q(made) == 3);
  mm_map_destroy(made);
  assert_ok(mm_tune_map_make(&space, (const double[]){ 1 }, map, &made));
  assert_int_equal(mm_map_get_kind(made), MM_MAP_NEGENTROPY);
  mm_map_destroy(made);
  mm_map_destroy(map);
  assert_ok(mm_map_open("l2", &map));
  assert_fails(mm_tune_map_check(&space, map, "l2"), MM_ERR_INPUT, "has no parameter q");
  mm_map_destroy(map);
  assert_fails(mm_tune_parameter_make("here", MM_ALGO_PPO, &range, &space.parameter[0]),
               MM_ERR_INPUT, "without a map");
}

int suite_tune_run(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
  const struct CMUnitTest tests[] = {
    TEST(test_scores),
    TEST(test_threads),
    TEST(test_pieces_grid),
    TEST(test_pieces_one_list),
    TEST(test_pieces_cma),
    TEST(test_reading),
    TEST(test_reading_writes_nothing),
    TEST(test_impossible),
    TEST(test_refused),
    TEST(test_plans),
    TEST(test_files),
    TEST(test_no_memory),
    TEST(test_map_parameters),
  };
#undef TEST
  return cmocka_run_group_tests_name("tune_run", tests, NULL, NULL);
}
