// SPDX-License-Identifier: Apache-2.0
// Suite `result`: what studies of all four kinds are about and what they came to, by the public
// headers alone; studies that store nothing; their files, pictures and JSON; a reproduction.

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "mirrormap/mirrormap.h"
#include "run_fixture.h"
#include "scarce_memory.h"

static const char *const grid_set[] = { "steps=2048", "envs=8", "unroll=16", "curve=exact" };
static const char *const search_set[] = { "steps=1024",    "envs=8",       "unroll=16",
                                          "generations=2", "population=4", "validation_tasks=3" };
static const char *const tuned_set[] = { "steps=1024", "envs=8", "unroll=16" };
static const char *const grid[] = { "GridWorld-small" };
static const char *const maps[] = { "tsallis:3", "negentropy", "l2:tuned-eta" };

#define LIST(field, array) config.field = array, config.n_##field = sizeof(array) / sizeof *(array)

static mm_study_config config_of(mm_study_kind kind) {
  mm_study_config config = mm_study_config_default(kind);
  LIST(env, grid);
  LIST(set, grid_set);
  if (kind == MM_STUDY_LEARN) LIST(set, search_set);
  if (kind == MM_STUDY_TUNE) LIST(set, tuned_set);
  if (kind != MM_STUDY_LEARN) config.map = maps, config.n_map = 1;
  if (kind == MM_STUDY_TRANSFER) LIST(map, maps);
  config.seed = 5;
  config.seeds = 4;
  config.tune_seeds = 1;
  config.trials = 6;
  config.validate = 3;
  return config;
}

static const char *write_space(const char *text) {
  static char path[400];
  snprintf(path, sizeof path, "%s", fixture_path("space.yaml"));
  fixture_store(path, text, strlen(text));
  return path;
}

static mm_status advance_on(mm_study *study, int threads) {
  mm_study_machine machine = mm_study_machine_default();
  machine.backend = "cpu";
  machine.threads = threads;
  mm_status status = MM_OK;
  while (status == MM_OK && !mm_study_done(study))
    status = mm_study_advance(study, &machine);
  return status;
}

static mm_status advance(mm_study *study) {
  return advance_on(study, 2);
}

static mm_study *run(const char *folder, const mm_study_config *config) {
  mm_study *study;
  assert_ok(mm_study_create(folder, config, &study));
  assert_ok(advance(study));
  return study;
}

static bool same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static mm_study_info info_of(const mm_study *study) {
  mm_study_info info = { .size = sizeof info };
  assert_ok(mm_study_describe(study, &info));
  return info;
}

static mm_study_detail detail_of(const mm_study *study, size_t i) {
  mm_study_detail detail = { .size = sizeof detail };
  assert_ok(mm_study_detail_at(study, i, &detail));
  return detail;
}

static mm_study_cell cell_of(const mm_study *study, size_t i) {
  mm_study_cell cell;
  assert_ok(mm_study_cell_at(study, i, &cell));
  return cell;
}

static void assert_has(mm_study *study, const char *part) {
  char *text;
  assert_ok(mm_study_format(study, &text));
  if (!strstr(text, part)) fail_msg("expected '%s' in %s", part, text);
  mm_study_text_free(text);
}

static void assert_file(const char *folder, const char *name, bool there) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (fixture_exists(path) != there) fail_msg("%s: expected %d", path, there);
}

// What belongs to other kinds is refused.
static void assert_alien(mm_study *study) {
  const mm_study_kind kind = mm_study_get_kind(study);
  mm_study_training training = { .size = sizeof training };
  mm_study_search search = { .size = sizeof search };
  mm_study_table table = { .size = sizeof table };
  mm_study_tuning tuning = { .size = sizeof tuning };
  mm_study_failures failures = { .size = sizeof failures };
  const bool runs = kind == MM_STUDY_TRAIN || kind == MM_STUDY_TRANSFER;
  size_t n, order[1];
  if (kind != MM_STUDY_TRAIN)
    assert_fails(mm_study_look_training(study, &training), MM_ERR_INPUT, "expected train");
  if (kind != MM_STUDY_LEARN) {
    assert_fails(mm_study_look_search(study, &search), MM_ERR_INPUT, "expected learn");
    assert_fails(mm_study_lengthen(study, 9), MM_ERR_INPUT, "expected learn");
  }
  if (kind != MM_STUDY_TRANSFER) {
    assert_fails(mm_study_look_table(study, &table), MM_ERR_INPUT, "expected transfer");
    assert_fails(mm_study_conclude(study, MM_BASELINE_L2, 0, stderr), MM_ERR_INPUT, "transfer");
  }
  if (kind != MM_STUDY_TUNE) {
    assert_fails(mm_study_look_tuning(study, &tuning), MM_ERR_INPUT, "expected tune");
    assert_fails(mm_study_rank_trials(study, order), MM_ERR_INPUT, "expected tune");
    assert_null(mm_study_parameter(study, 0));
    assert_true(isnan(mm_study_trial_mean(study, 0, 0, 0)));
  }
  assert_int_equal(mm_study_count_failures(study, &failures), runs ? MM_OK : MM_ERR_INPUT);
  assert_int_equal(mm_study_results(study, &n) != NULL, kind == MM_STUDY_TRAIN);
}

// ---------------------------------------------------------------------------------------------
// Structs

// A program of before knows fewer fields, a later one more; a size that was not set is refused.
static void test_sizes(void **state) {
  (void)state;
  const mm_study_config config = config_of(MM_STUDY_TRAIN);
  mm_study *study = run(NULL, &config);
  struct {
    mm_study_info info;
    double more;
  } longer = { .info.size = sizeof longer, .more = 7 };
  mm_study_info shorter = { .size = offsetof(mm_study_info, seeds), .seeds = 99 };
  mm_study_info none = { 0 };
  mm_study_env_info env = { .size = sizeof env };
  mm_study_map_info map = { .size = sizeof map };
  mm_study_detail detail = { .size = sizeof detail };
  assert_ok(mm_study_describe(study, &longer.info));
  assert_true(longer.info.size == sizeof longer && longer.info.seeds == 4 && longer.more == 0);
  assert_ok(mm_study_describe(study, &shorter));
  assert_true(shorter.seed == 5 && shorter.seeds == 99);
  assert_fails(mm_study_describe(study, &none), MM_ERR_INPUT, "sizeof");
  none.size = sizeof none - 1;
  assert_fails(mm_study_describe(study, &none), MM_ERR_INPUT, "sizeof");
  assert_fails(mm_study_env_at(study, 1, &env), MM_ERR_INPUT, "environment 1");
  assert_fails(mm_study_map_at(study, 1, &map), MM_ERR_INPUT, "map 1");
  assert_fails(mm_study_detail_at(study, 1, &detail), MM_ERR_INPUT, "cell 1");
  mm_study_close(study);
}

// ---------------------------------------------------------------------------------------------
// Training

// The study says what it was made by, if that is known; nothing else of the process is.
static void test_argv(void **state) {
  (void)state;
  static char name[] = "./program", word[] = "two words";
  char *const argv[] = { name, word, NULL };
  static const char *const folders[] = { "known", "unknown" };
  for (int i = 0; i < 2; i++) {
    mm_study_config config = config_of(MM_STUDY_TRAIN);
    mm_study *study;
    mm_run *database;
    config.argv = i == 0 ? argv : NULL;
    assert_ok(mm_study_create(fixture_path(folders[i]), &config, &study));
    mm_study_close(study);
    assert_ok(mm_run_open(fixture_path(folders[i]), MM_RUN_READ, &database));
    const char *line = mm_run_command_line(database);
    assert_int_equal(line != NULL, i == 0);
    if (line) assert_string_equal(line, "mirrormap 'two words'");
    mm_run_close(database);
  }
}

static void test_train(void **state) {
  (void)state;
  mm_study_config config = config_of(MM_STUDY_TRAIN);
  mm_study *stored = run(fixture_path("train"), &config);
  mm_map *map;
  assert_ok(mm_map_open("tsallis:3", &map));
  const mm_map *const open[] = { map };
  config.open_map = open;
  mm_study *study = run(NULL, &config);
  mm_map_destroy(map); // the study has its own
  assert_null(mm_study_folder(study));
  size_t n, m;
  const mm_result *a = mm_study_results(stored, &n), *b = mm_study_results(study, &m);
  assert_true(n == 4 && m == 4);
  mm_study_training all = { .size = sizeof all };
  assert_ok(mm_study_look_training(study, &all));
  double mean = 0;
  for (size_t i = 0; i < n; i++) {
    assert_true(a[i].status == MM_OK && b[i].status == MM_OK);
    assert_true(same(a[i].final_value, b[i].final_value) && a[i].n_curve == b[i].n_curve);
    mean += b[i].final_value / (double)n;
  }
  assert_true(all.n_done == 4 && all.unfinished == 0 && all.run_steps == 2048);
  assert_true(fabs(all.final.mean - mean) < 1e-12 && all.final.sem > 0 && isnan(all.recent.mean));
  assert_true(all.optimal > all.final.mean && isnan(all.least_ess));
  assert_true(all.n_curve == b[0].n_curve && all.curve[all.n_curve - 1].step == 2048);
  assert_true(fabs(all.curve[all.n_curve - 1].value.mean - mean) < 1e-12);
  const mm_study_detail detail = detail_of(study, 0);
  assert_true(same(detail.of.mean.mean, cell_of(study, 0).mean) && detail.of.n == 4);
  assert_true(fabs(detail.of.mean.mean - all.final.mean) < 1e-12);
  assert_true(isnan(detail.over[0].gain.mean));

  const mm_study_info info = info_of(study);
  mm_study_env_info env = { .size = sizeof env };
  mm_study_map_info row = { .size = sizeof row };
  assert_true(info.kind == MM_STUDY_TRAIN && info.complete && info.n_env == 1 && info.n_map == 1);
  assert_true(info.seed == 5 && info.steps == 4 * 2048 && !info.on_devices && !info.policy[0]);
  assert_ok(mm_study_env_at(study, 0, &env));
  assert_string_equal(env.name, "GridWorld-small");
  assert_true(mm_settings_steps(env.settings) == 2048);
  assert_ok(mm_study_map_at(study, 0, &row));
  assert_string_equal(row.label, "tsallis:3");
  assert_true(mm_map_tsallis_q(row.map) == 3);
  mm_study_failures failures = { .size = sizeof failures };
  assert_ok(mm_study_count_failures(study, &failures));
  assert_true(failures.n == 4 && failures.n_done == 4 && failures.status == MM_OK);
  char machine[MM_STUDY_MACHINE_TEXT];
  assert_non_null(strstr(mm_study_machine_text(study, machine), mm_isa_name()));

  assert_alien(study);
  assert_fails(mm_study_write(study), MM_ERR_INPUT, "no folder");
  assert_fails(mm_study_draw(study), MM_ERR_INPUT, "no folder");
  assert_ok(mm_study_write(stored));
  assert_has(study, "\"run\":null,\"state\":\"running\"");
  mm_study_end(study, "done");
  assert_has(study, "\"state\":\"done\"");
  assert_has(stored, "\"seeds_done\":4");
  mm_study_close(study);
  mm_study_close(stored);
}

// A run that fails is named with its seed; it is open to whoever resumes the study.
static void test_failures(void **state) {
  (void)state;
  static const char *const cart[] = { "CartPole-v1" }, *const endless[] = { "steps=1e8" };
  mm_study_config config = config_of(MM_STUDY_TRAIN);
  mm_study_machine machine = mm_study_machine_default();
  LIST(env, cart);
  LIST(set, endless);
  config.seeds = 2;
  machine.backend = "cpu";
  machine.threads = 2;
  machine.job_timeout = 1e-9;
  for (int i = 0; i < 2; i++) {
    mm_study_failures failures = { .size = sizeof failures };
    mm_study *study;
    assert_ok(mm_study_create(i == 0 ? fixture_path("late") : NULL, &config, &study));
    assert_ok(mm_study_advance(study, &machine));
    assert_ok(mm_study_count_failures(study, &failures));
    assert_true(failures.n == 2 && failures.n_done == 2 && failures.n_failed == 2);
    assert_true(failures.status == MM_ERR_TIMEOUT && failures.seed == 5);
    assert_non_null(strstr(failures.error, "1e-09"));
    assert_true(mm_study_done(study) && !info_of(study).complete);
    mm_study_close(study);
  }
  mm_study *study;
  assert_ok(mm_study_open(fixture_path("late"), &study));
  assert_false(mm_study_done(study));
  mm_study_close(study);
}

// A learner with networks says where they are.
static void test_policy(void **state) {
  (void)state;
  static const char *const cart[] = { "CartPole-v1" }, *const quick[] = { "steps=1024",
                                                                          "epochs=1" };
  mm_study_config config = config_of(MM_STUDY_TRAIN);
  LIST(env, cart);
  LIST(set, quick);
  config.seeds = 2;
  mm_study *study = run(fixture_path("nets"), &config);
  const mm_study_info info = info_of(study);
  mm_policy *policy;
  assert_true(info.complete && !info.no_policy[0]);
  assert_ok(mm_policy_load(info.policy, &policy));
  mm_policy_destroy(policy);
  mm_study_close(study);
}

// ---------------------------------------------------------------------------------------------
// Tables

static void check_table(mm_study *study) {
  mm_study_table table = { .size = sizeof table };
  mm_study_env_info env = { .size = sizeof env };
  mm_study_map_info map = { .size = sizeof map };
  assert_ok(mm_study_look_table(study, &table));
  assert_true(table.baseline[MM_BASELINE_NEGENTROPY] == 1 && table.baseline[MM_BASELINE_L2] == 3);
  assert_true(table.n_test[MM_BASELINE_NEGENTROPY] == 2 && table.tune_seeds == 1);
  assert_true(table.env_steps == 3 * 4 * 2048 && table.tune_steps == 9 * 2048);
  assert_ok(mm_study_env_at(study, 0, &env));
  assert_string_equal(env.label, "small");
  assert_true(env.optimal > 0);
  assert_ok(mm_study_map_at(study, 2, &map));
  assert_true(map.tuned && map.control && !map.tuned_q);
  assert_string_equal(map.name, "l2:tuned-eta");
  assert_string_equal(map.label, "tuned");
  const mm_study_cell one = cell_of(study, 0), base = cell_of(study, 1);
  const mm_study_detail detail = detail_of(study, 0);
  const mm_comparison over = mm_comparison_of(one.final, base.final, 4, one.seed);
  assert_true(same(over.gain.mean, detail.over[MM_BASELINE_NEGENTROPY].gain.mean));
  assert_true(same(over.interval.low, detail.over[MM_BASELINE_NEGENTROPY].interval.low));
  assert_true(!isnan(detail.over[MM_BASELINE_NEGENTROPY].p_holm));
  assert_true(isnan(detail.over[MM_BASELINE_L2].gain.mean) && isnan(detail.q));
  assert_true(detail.env == 0 && detail.map == 0 && detail_of(study, 2).map == 2);
  assert_true(detail.n_curve > 2 && same(detail.curve[detail.n_curve - 1].value.mean, one.mean));
  char *text = NULL;
  size_t length = 0;
  FILE *f = open_memstream(&text, &length);
  assert_ok(mm_study_conclude(study, MM_BASELINE_NEGENTROPY, 0, f));
  assert_fails(mm_study_conclude(study, MM_BASELINE_L2, 0, f), MM_ERR_INPUT, "baseline");
  assert_fails(mm_study_conclude(study, MM_BASELINE_NEGENTROPY, 1, f), MM_ERR_INPUT, "baseline");
  fclose(f);
  assert_non_null(strstr(text, "small"));
  free(text);
}

static void test_transfer(void **state) {
  (void)state;
  static const char *const row[] = { "cubic", "entropy", "tuned" }, *const column[] = { "small" };
  mm_study_config config = config_of(MM_STUDY_TRANSFER);
  double least;
  config.map_label = row;
  config.env_label = column;
  config.n_control = 2;
  assert_ok(mm_study_least_budget(&config, &least));
  assert_true(least == 5 * 2048); // the coarsest grid has five step sizes
  mm_study *stored = run(fixture_path("table"), &config), *study = run(NULL, &config);
  assert_int_equal(mm_study_cells(study), 3);
  for (size_t i = 0; i < 3; i++) {
    const mm_study_cell a = cell_of(stored, i), b = cell_of(study, i);
    assert_string_equal(a.map, row[i]);
    for (size_t k = 0; k < 4; k++)
      assert_true(same(a.final[k], b.final[k]));
  }
  check_table(study);
  check_table(stored);
  assert_alien(study);
  assert_fails(mm_study_write(study), MM_ERR_INPUT, "no folder");
  assert_ok(mm_study_write(stored));
  static const char *const files[] = { "table.csv", "runs.csv", "curves.csv", "table.json" };
  for (size_t i = 0; i < 4; i++)
    assert_file(fixture_path("table"), files[i], true);
  assert_has(study, "\"controls\":[\"negentropy\",\"l2:tuned-eta\"]");
  const mm_status drawn = mm_study_draw(stored);
  assert_true(drawn == MM_OK || drawn == MM_ERR_UNSUPPORTED);
  assert_file(fixture_path("table"), "curves.png", drawn == MM_OK);
  mm_study_close(study);
  mm_study_close(stored);

  // one that has not been run in this process has no table yet
  assert_ok(mm_study_open(fixture_path("table"), &study));
  assert_int_equal(mm_study_cells(study), 0);
  assert_fails(mm_study_write(study), MM_ERR_INPUT, "not complete");
  assert_fails(mm_study_draw(study), MM_ERR_INPUT, "nothing can be drawn");
  assert_has(study, "\"runs\":12,\"runs_done\":0");
  assert_ok(advance(study));
  mm_study_table table = { .size = sizeof table };
  assert_ok(mm_study_look_table(study, &table));
  assert_true(table.all_found);
  mm_study_close(study);
}

static void test_base_map(void **state) {
  (void)state;
  char base[MM_STUDY_NAME_SIZE];
  assert_ok(mm_study_base_map("l2:tuned-eta", base));
  assert_string_equal(base, "l2");
  assert_ok(mm_study_base_map("random:3", base));
  assert_string_equal(base, "random:3");
}

// ---------------------------------------------------------------------------------------------
// Searches

static void test_learn(void **state) {
  (void)state;
  mm_study_config config = config_of(MM_STUDY_LEARN);
  mm_study_search s = { .size = sizeof s };
  mm_study *study;
  assert_fails(mm_study_create(NULL, &config, &study), MM_ERR_INPUT, "expected a folder");
  assert_ok(mm_study_create(fixture_path("search"), &config, &study));
  assert_ok(mm_study_look_search(study, &s));
  assert_true(s.generation == 0 && s.generations == 2 && !s.best.known && s.steps_left == s.steps);
  assert_true(info_of(study).n_map == 0 && info_of(study).steps == s.steps);
  assert_ok(advance(study));
  assert_fails(mm_study_lengthen(study, 1), MM_ERR_INPUT, "2 generations already");
  assert_ok(mm_study_lengthen(study, 3));
  assert_false(mm_study_done(study));
  assert_ok(advance(study));
  assert_ok(mm_study_look_search(study, &s));
  assert_true(s.generation == 3 && s.generations == 3 && s.steps_left == 0 && s.last.known);
  assert_true(s.evaluations == 3 * 4 && s.jobs_per_generation == 4 && s.session_generations == 3);
  assert_true(s.last.generation == 3 && s.best.generation <= 3 && s.last_steps == 1024);
  assert_true(s.validation_tasks == 3 && s.n_control == 4);
  assert_int_equal(mm_study_cells(study), 5);
  assert_true(same(detail_of(study, 0).of.mean.mean, s.best.value.mean));
  assert_true(same(detail_of(study, 2).over[MM_BASELINE_NEGENTROPY].gain.mean,
                   s.control[1].over_negentropy.mean));
  assert_true(detail_of(study, 2).over[MM_BASELINE_L2].gain.mean == 0); // l2 itself
  assert_string_equal(s.control_name[1], "l2");
  assert_alien(study);
  remove(fixture_path("search/mean.json"));
  assert_ok(mm_study_write(study));
  assert_file(fixture_path("search"), "mean.json", true);
  assert_has(study, "\"generations\":3,\"generations_planned\":3");
  const mm_status drawn = mm_study_draw(study);
  assert_true(drawn == MM_OK || drawn == MM_ERR_UNSUPPORTED);
  assert_file(fixture_path("search"), "search.svg", drawn == MM_OK);
  mm_study_close(study);

  // a schedule has its own number of generations
  static const char *const phases[] = { "envs=8", "unroll=16", "schedule=1x512,2x1024",
                                        "validation_tasks=2", "population=4" };
  LIST(set, phases);
  assert_ok(mm_study_create(fixture_path("phases"), &config, &study));
  assert_ok(mm_study_look_search(study, &s));
  assert_true(s.generations == 3 && s.phases == 2 && s.last_steps == 1024);
  assert_has(study, "\"generations\":3,");
  assert_fails(mm_study_lengthen(study, 9), MM_ERR_INPUT, "schedule");
  mm_study_close(study);
}

// ---------------------------------------------------------------------------------------------
// Tuning

static void check_trials(const mm_study *study, const mm_study_tuning *t) {
  size_t order[16];
  double last = INFINITY, share[2] = { -1, -1 };
  char text[MM_STUDY_SETTING_SIZE];
  bool known;
  assert_true(t->n_trial <= 16);
  assert_ok(mm_study_rank_trials(study, order));
  for (size_t k = 0; k < t->n_trial; k++) {
    mm_study_trial trial = { .size = sizeof trial };
    assert_ok(mm_study_trial_at(study, order[k], &trial));
    assert_false(trial.failed);
    if (!trial.stopped) {
      assert_true(trial.n == 4 && trial.score.mean <= last);
      assert_string_equal(trial.state, "done");
      last = trial.score.mean;
    }
    assert_true(isfinite(mm_study_trial_mean(study, order[k], 0, 0)));
    assert_non_null(mm_study_trial_value(study, order[k], 0, text));
    assert_true(atof(text) > 0);
  }
  assert_null(mm_study_trial_value(study, t->n_trial, 0, text));
  assert_null(mm_study_trial_value(study, 0, t->n_parameter, text));
  assert_string_equal(mm_study_parameter(study, 0), "eta");
  assert_null(mm_study_parameter(study, 1));
  assert_ok(mm_study_importance(study, share, &known));
  assert_true(!known || (share[0] >= 0 && share[0] <= 1));
}

static void test_tune(void **state) {
  (void)state;
  mm_study_config config = config_of(MM_STUDY_TUNE);
  mm_study_tuning t = { .size = sizeof t };
  mm_study_trial trial = { .size = sizeof trial };
  mm_study *study;
  config.space = write_space("method: cma-es\nparameters:\n  eta: {log: [0.05, 0.4]}\n");
  assert_fails(mm_study_create(NULL, &config, &study), MM_ERR_INPUT, "expected a folder");
  config.method = "bisection";
  assert_fails(mm_study_create(fixture_path("tune"), &config, &study), MM_ERR_INPUT, "halving");
  config.method = "halving";
  assert_ok(mm_study_create(fixture_path("tune"), &config, &study));
  assert_ok(mm_study_look_tuning(study, &t));
  assert_string_equal(t.method, "halving");
  assert_true(t.n_trial == 0 && t.candidates == 6 && t.asked == 6 && !t.grid && !t.complete);
  assert_fails(mm_study_trial_at(study, 0, &trial), MM_ERR_INPUT, "trial 0");
  assert_fails(mm_study_write(study), MM_ERR_INPUT, "not complete");
  assert_ok(advance(study));
  assert_ok(mm_study_look_tuning(study, &t));
  assert_true(t.complete && t.validated && t.validate == 3 && t.n_trial >= 2 && t.trainings > 0);
  check_trials(study, &t);
  const size_t arms = t.best > 0 ? 2 : 1;
  assert_int_equal(mm_study_cells(study), arms);
  assert_true(fabs(detail_of(study, 0).of.mean.mean - cell_of(study, 0).mean) < 1e-12);
  assert_true(isnan(detail_of(study, 0).over_own.gain.mean));
  if (arms > 1) {
    const double gain = cell_of(study, 1).mean - cell_of(study, 0).mean;
    assert_true(fabs(detail_of(study, 1).over_own.gain.mean - gain) < 1e-12);
  }
  mm_study_env_info env = { .size = sizeof env };
  assert_ok(mm_study_env_at(study, 0, &env));
  assert_true(env.unit > 0);
  assert_alien(study);
  assert_has(study, "\"preset\":null");
  assert_ok(mm_study_write(study));
  assert_file(fixture_path("tune"), "tune.json", true);
  assert_file(fixture_path("tune"), "preset.yaml", true);
  assert_has(study, "preset.yaml\"");
  const mm_status drawn = mm_study_draw(study);
  assert_true(drawn == MM_OK || drawn == MM_ERR_UNSUPPORTED);
  mm_study_close(study);
}

// ---------------------------------------------------------------------------------------------

// Where there are no devices, or they cannot do what the config asks for, the reason is said.
static void test_devices(void **state) {
  (void)state;
  mm_study_config config = config_of(MM_STUDY_TUNE);
  config.space = write_space("parameters:\n  eta: {log: [0.05, 0.4]}\n");
  const mm_status table = mm_study_check_devices(&config, NULL);
  assert_true(table == MM_OK || table == MM_ERR_UNSUPPORTED);
  config.space = write_space("parameters:\n  nothing: {log: [0.05, 0.4]}\n");
  if (table == MM_OK) assert_fails(mm_study_check_devices(&config, NULL), MM_ERR_INPUT, "nothing");
  mm_study *study;
  config = config_of(MM_STUDY_TRAIN);
  assert_ok(mm_study_create(NULL, &config, &study));
  assert_int_equal(mm_study_check_devices(NULL, study), mm_study_check_devices(&config, NULL));
  if (table == MM_ERR_UNSUPPORTED) assert_true(mm_last_error()[0] != '\0');
  mm_study_close(study);
  config.n_env = 0;
  assert_fails(mm_study_check_devices(&config, NULL), MM_ERR_INPUT, "0 environments");
}

// Different studies at the same time in different threads, with threads of their own, come to what
// each comes to alone.
typedef struct study_thread {
  pthread_t thread;
  mm_study_kind kind;
  double mean[3];
  mm_status status;
} study_thread;

static void *work(void *raw) {
  study_thread *w = raw;
  const mm_study_config config = config_of(w->kind);
  mm_study *study = NULL;
  w->status = mm_study_create(NULL, &config, &study);
  if (w->status == MM_OK) w->status = advance(study);
  for (size_t i = 0; w->status == MM_OK && i < mm_study_cells(study); i++) {
    mm_study_cell cell;
    w->status = mm_study_cell_at(study, i, &cell);
    w->mean[i] = cell.mean;
  }
  mm_study_close(study);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  study_thread worker[4], alone[2];
  for (int i = 0; i < 4; i++) {
    worker[i].kind = i % 2 == 0 ? MM_STUDY_TRAIN : MM_STUDY_TRANSFER;
    assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
  }
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
  for (int i = 0; i < 4; i++) {
    if (i < 2) {
      alone[i].kind = worker[i].kind;
      work(&alone[i]);
    }
    assert_true(worker[i].status == MM_OK && alone[i % 2].status == MM_OK);
    for (int k = 0; k < (i % 2 == 0 ? 1 : 3); k++)
      assert_true(same(worker[i].mean[k], alone[i % 2].mean[k]));
  }
}

// Every allocation fails once: of studies that store nothing, from their making to their JSON.
static mm_status live(mm_study_kind kind) {
  static const char *const quick[] = { "steps=128", "envs=8", "unroll=16" };
  mm_study_config config = config_of(kind);
  mm_study_detail detail = { .size = sizeof detail };
  mm_study *study = NULL;
  char *text;
  LIST(set, quick);
  config.n_map = 1;
  config.seeds = 1;
  mm_status status = mm_study_create(NULL, &config, &study);
  if (status == MM_OK) status = advance_on(study, 1);
  for (size_t i = 0; status == MM_OK && i < mm_study_cells(study); i++)
    status = mm_study_detail_at(study, i, &detail);
  if (status == MM_OK) {
    status = mm_study_format(study, &text);
    mm_study_text_free(text);
  }
  // a run without memory is a run without a value
  mm_study_failures failures = { .size = sizeof failures };
  if (status == MM_OK && mm_study_count_failures(study, &failures) == MM_OK &&
      failures.n_failed > 0)
    status = failures.status;
  mm_study_close(study);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  static const mm_study_kind kinds[] = { MM_STUDY_TRAIN, MM_STUDY_TRANSFER };
  for (size_t k = 0; k < 2; k++) {
    mm_status status = MM_ERR_MEMORY;
    for (size_t needed = 0; status != MM_OK; needed++) {
      make_memory_scarce();
      allocations_left = needed;
      status = live(kinds[k]);
      make_memory_usual();
      assert_true(status == MM_OK || status == MM_ERR_MEMORY);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Reproductions

typedef struct seen {
  size_t n, cells, claims, notes;
  bool has_final;
  char text[64];
} seen;

static void see_artefact(const mm_artefact *a, void *user) {
  seen *s = user;
  mm_artefact_info info = { .size = sizeof info };
  char machine[MM_STUDY_MACHINE_TEXT], *text;
  assert_ok(mm_artefact_describe(a, &info));
  s->n++;
  s->cells = info.n_cell;
  s->claims = info.n_claim;
  s->notes = info.n_note;
  snprintf(s->text, sizeof s->text, "%s %s", info.artefact, info.scale);
  for (size_t i = 0; i < info.n_cell; i++)
    s->has_final = isfinite(mm_artefact_cell_at(a, i)->value[MM_QUANTITY_FINAL].mean);
  assert_null(mm_artefact_cell_at(a, info.n_cell));
  assert_null(mm_artefact_claim_at(a, info.n_claim));
  assert_null(mm_artefact_note_at(a, info.n_note));
  assert_true(mm_artefact_machine_text(a, machine)[0] != '\0');
  assert_ok(mm_artefact_format(a, &text));
  assert_non_null(strstr(text, info.label));
  mm_study_text_free(text);
}

static void test_reproduce(void **state) {
  (void)state;
  static const char *const set[] = { "population=4", "generations=1", "steps=2048" };
  static const char *const no_pair[] = { "population" }, *const nowhere[] = { "nowhere" };
  mm_paper_config config = mm_paper_config_default();
  mm_paper_job job = mm_paper_job_default();
  mm_paper *paper;
  const char *why, *folder = fixture_path("paper");
  seen s = { 0 };
  assert_string_equal(config.scale, "laptop");
  assert_string_equal(mm_paper_artefact_name(0), "phi");
  assert_string_equal(mm_paper_scale_name(2), "paper");
  assert_null(mm_paper_artefact_name(7));
  assert_null(mm_paper_scale_name(3));
  assert_fails(mm_paper_create(folder, &config, &paper), MM_ERR_INPUT, "artefact");
  config.artefact = "gridworld";
  config.scale = "pocket";
  assert_fails(mm_paper_create(folder, &config, &paper), MM_ERR_INPUT, "pocket");
  config.scale = "smoke";
  LIST(set, no_pair);
  assert_fails(mm_paper_create(folder, &config, &paper), MM_ERR_INPUT, "key=value");
  LIST(set, set);
  LIST(from, nowhere);
  assert_fails(mm_paper_create(folder, &config, &paper), MM_ERR_INPUT, "cannot read folder");
  config.n_from = 0;
  config.seeds = 2;
  assert_false(fixture_exists(folder));
  const mm_status devices = mm_paper_check_devices(&config, NULL);
  assert_true(devices == MM_OK || devices == MM_ERR_UNSUPPORTED);
  assert_ok(mm_paper_create(folder, &config, &paper));
  assert_int_equal(mm_paper_check_devices(NULL, paper), devices);
  assert_string_equal(mm_paper_artefact(paper), "gridworld");
  assert_string_equal(mm_paper_scale(paper), "smoke");
  job.place.kind = MM_BACKEND_CPU;
  job.threads = 2;
  job.finished = see_artefact;
  job.user = &s;
  assert_ok(mm_paper_run(paper, &job));
  assert_int_equal(mm_paper_failures(paper, &why), 0);
  mm_paper_end(paper, "done");
  mm_paper_close(paper);
  assert_true(s.n == 1 && s.cells > 0 && s.claims > 0 && s.notes > 0 && s.has_final);
  assert_string_equal(s.text, "gridworld smoke");
  assert_file(folder, "summary.json", true);
  job.size = 3;
  assert_ok(mm_paper_open(folder, &paper));
  assert_fails(mm_paper_run(paper, &job), MM_ERR_INPUT, "mm_paper_job: size");
  mm_paper_close(paper);
}

int suite_result(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sizes),
    cmocka_unit_test_setup_teardown(test_argv, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_train, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_failures, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_policy, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_transfer, fixture_open, fixture_close),
    cmocka_unit_test(test_base_map),
    cmocka_unit_test_setup_teardown(test_learn, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_tune, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_devices, fixture_open, fixture_close),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_memory),
    cmocka_unit_test_setup_teardown(test_reproduce, fixture_open, fixture_close),
  };
  return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}
