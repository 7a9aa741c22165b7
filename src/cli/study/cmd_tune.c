// SPDX-License-Identifier: Apache-2.0
// `tune`: search for good settings on some environments, resumable at any moment.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"

typedef struct tune_args {
  settings_args settings;
  const char *env, *map, *space, *resume, *algo, *method, *prune, *out;
  backend_args on;
  uint64_t trials, population, seeds, validate, seed;
  double max_seconds, save_seconds;
} tune_args;

static const char *const method_names[] = { "grid", "cma-es", "halving", NULL };
static const char *const prune_names[] = { "on", "off", NULL };

#define ARGS tune_args
static const option tune_options[] = {
  OPTION(TEXT, "env", env, "ID[,ID..]", "the environments to tune for; task files too"),
  OPTION(TEXT, "map", map, "MAP[,MAP..]",
         "the mirror maps; a trial is judged by the mean over them; not needed for ppo"),
  OPTION(TEXT, "space", space, "FILE", "YAML file with the parameters and their ranges"),
  RUN_RESUME_OPTION(tune_args, "run"),
  ENV_ALGO_OPTION(tune_args, NULL, "the environments'"),
  OPTION(CHOICE, "method", method, NULL, "how to search, instead of the file's method",
         .choices = method_names),
  OPTION(COUNT, "trials", trials, "N",
         "how many to try; cma-es: in whole generations (64); halving: draw this many where a "
         "range has "
         "no points (64); grid: refuse a larger one (1000)",
         .low = 1, .high = MM_STUDY_TRIALS_MAX),
  OPTION(COUNT, "population", population, "N",
         "trials of a generation of cma-es (default: 4 + 3 ln of the number of parameters)",
         .low = 4, .high = MM_STUDY_TRIALS_MAX, .rare = true),
  OPTION(COUNT, "seeds", seeds, "N",
         "runs for each trial and environment; fewer for a trial that is stopped", .low = 1,
         .high = MM_STUDY_TRIAL_SEEDS_MAX, .fallback = "8"),
  OPTION(CHOICE, "prune", prune, NULL,
         "stop trials that lie below the median after 1, 2, 4, .. seeds; halving has its own rule",
         .choices = prune_names, .fallback = "on", .rare = true),
  OPTION(COUNT, "validate", validate, "N",
         "train the winner and the baseline settings on this many fresh seeds; 0 for none",
         .low = 0, .high = MM_STUDY_VALIDATE_MAX, .fallback = "32", .rare = true),
  OPTION(COUNT, "seed", seed, "S", "random seed of the search", .fallback = "0"),
  RUN_MAX_SECONDS_OPTION(tune_args),
  RUN_SAVE_SECONDS_OPTION(tune_args),
  OPTION(TEXT, "out", out, "DIR", "folder of the run (default: runs/tune-<env>-<n>)"),
  BACKEND_OPTIONS(tune_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// What it shows

enum { SHOWN = 10 };

static mm_study_tuning tuning_of(const mm_study *study) {
  mm_study_tuning tuning = { .size = sizeof tuning };
  (void)mm_study_look_tuning(study, &tuning);
  return tuning;
}

static mm_study_trial trial_of(const mm_study *study, size_t i) {
  mm_study_trial trial = { .size = sizeof trial };
  (void)mm_study_trial_at(study, i, &trial);
  return trial;
}

static bool is_method(const mm_study_tuning *t, const char *name) {
  return strcmp(t->method, name) == 0;
}

static void put_start(const mm_study *study, bool trials_given) {
  const mm_study_info info = study_info(study);
  const mm_study_tuning t = tuning_of(study);
  const char *plural = info.n_env == 1 ? "" : "s", *folder = mm_study_folder(study);
  const bool cma = is_method(&t, "cma-es");
  if (cma)
    note("%s: cma-es, %zu generations of %zu trials, up to %zu seeds each on %zu environment%s",
         folder, t.asked / t.population, t.population, info.seeds, info.n_env, plural);
  else
    note("%s: %s%s of %.0f trials, up to %zu seeds each on %zu environment%s", folder,
         is_method(&t, "halving") ? "halving, " : "", t.grid ? "a grid" : "a sample", t.candidates,
         info.seeds, info.n_env, plural);
  size_t whole = t.asked / t.population * t.population;
  if (trials_given && cma && whole != t.asked)
    note("--trials %zu: cma-es tries whole generations of %zu, so %zu trials", t.asked,
         t.population, whole);
}

// ---------------------------------------------------------------------------------------------
// Trials. A map on an environment is a cell: those of the first environment, then the next.

static const char *cell_name(const mm_study *study, size_t cell) {
  const size_t n_map = study_info(study).n_map;
  const char *env = study_env_info(study, cell / n_map).label;
  return n_map == 1 ? env : output_format("%s %s", env, study_map_info(study, cell % n_map).label);
}

static size_t count_cells(const mm_study *study) {
  const mm_study_info info = study_info(study);
  return info.n_env * info.n_map;
}

static void put_trial(table *t, const mm_study *study, const mm_study_tuning *tuning, size_t i) {
  const mm_study_trial trial = trial_of(study, i);
  const size_t n_map = study_info(study).n_map;
  char text[MM_STUDY_SETTING_SIZE];
  if (i == 0)
    table_text(t, "baseline");
  else
    table_format(t, "%zu", i);
  for (size_t j = 0; j < tuning->n_parameter; j++)
    table_text(t, mm_study_trial_value(study, i, j, text));
  table_text(t, output_estimate(trial.score, true));
  table_number(t, (double)trial.n);
  if (trial.stopped && is_method(tuning, "halving"))
    table_format(t, "%s after %zu seed%s", trial.state, trial.n, trial.n == 1 ? "" : "s");
  else
    table_text(t, trial.state);
  for (size_t c = 0; c < count_cells(study); c++)
    table_defined(t, mm_study_trial_mean(study, i, c / n_map, c % n_map));
}

static table *make_table(const mm_study *study, const mm_study_tuning *tuning) {
  table *t = table_of_columns(4 + tuning->n_parameter + count_cells(study));
  table_text(t, "trial");
  for (size_t j = 0; j < tuning->n_parameter; j++)
    table_text(t, mm_study_parameter(study, j));
  table_text(t, "score");
  table_text(t, "seeds");
  table_text(t, "<state");
  for (size_t c = 0; c < count_cells(study); c++)
    table_text(t, cell_name(study, c));
  return t;
}

// The best of them and the settings' own values, wherever these stand.
static int put_trials(const mm_study *study, const mm_study_tuning *tuning) {
  size_t *order = memory_alloc(tuning->n_trial, sizeof *order);
  const mm_status status = mm_study_rank_trials(study, order);
  bool baseline_shown = false;
  if (status == MM_OK) {
    table *t = make_table(study, tuning);
    for (size_t k = 0; k < tuning->n_trial && k < SHOWN; k++) {
      put_trial(t, study, tuning, order[k]);
      baseline_shown = baseline_shown || order[k] == 0;
    }
    if (!baseline_shown) put_trial(t, study, tuning, 0);
    table_print(t);
  }
  free(order);
  return status_code(status);
}

static void put_counts(const mm_study *study, const mm_study_tuning *t) {
  const mm_study_info info = study_info(study);
  size_t stopped = 0, failed = 0;
  for (size_t i = 0; i < t->n_trial; i++) {
    const mm_study_trial trial = trial_of(study, i);
    stopped += trial.stopped;
    failed += trial.failed;
  }
  printf("%zu trials (%s), %zu %s, %zu failed; %zu training runs, %s steps\n", t->n_trial,
         t->method, stopped, is_method(t, "halving") ? "dropped" : "stopped early", failed,
         t->trainings, output_si((double)t->env_steps));
  printf("score: difference from the baseline settings in final return, paired by seed, in units "
         "of\n");
  for (size_t e = 0; e < info.n_env; e++) {
    const mm_study_env_info env = study_env_info(study, e);
    printf("%s%.4g (%s)", e > 0 ? ", " : "  ", env.unit, output_plain(env.name));
  }
  printf("; mean over %senvironments\n", info.n_map > 1 ? "maps and " : "");
  if (t->n_same > 0 && t->complete && !t->grid)
    printf("%zu candidates had the values of an earlier trial\n", t->n_same);
}

// ---------------------------------------------------------------------------------------------
// The winner

// Of each cell the baseline settings, and behind them the winner unless it is these.
static void put_checks(const mm_study *study, const mm_study_tuning *tuning) {
  const size_t arms = tuning->best > 0 ? 2 : 1, n = mm_study_cells(study);
  table *t = table_create("<environment|baseline|tuned|difference");
  for (size_t i = 0; i < n; i += arms) {
    mm_study_detail own = { .size = sizeof own }, best = { .size = sizeof best };
    (void)mm_study_detail_at(study, i, &own);
    (void)mm_study_detail_at(study, i + arms - 1, &best);
    table_text(t, cell_name(study, i / arms));
    table_text(t, output_estimate(own.of.mean, false));
    table_text(t, arms > 1 ? output_estimate(best.of.mean, false) : "-");
    table_text(t, output_estimate(best.over_own.gain, true));
    int sign = mm_comparison_sign(&best.over_own);
    if (sign != 0) table_mark(t, sign > 0);
  }
  printf("\non %zu fresh seeds, %s standard error:\n", tuning->validate, output_plus_minus());
  table_print(t);
  for (size_t i = 0; i < n; i += arms) {
    mm_study_cell cell;
    (void)mm_study_cell_at(study, i, &cell);
    if (cell.n_failed > 0)
      printf("%s: runs of %zu seeds have no value, so there are no means\n",
             output_plain(cell_name(study, i / arms)), cell.n_failed);
  }
}

static void put_verdict(const mm_study_tuning *t) {
  if (t->best == 0) {
    puts("No trial was better than the baseline settings.");
    return;
  }
  if (!t->validated) return;
  printf("score of trial %zu on these: %s", t->best, output_estimate(t->gain.gain, true));
  int sign = mm_comparison_sign(&t->gain);
  puts(sign == 0  ? " (its 95 % interval includes 0: not shown to be better)"
       : sign > 0 ? ""
                  : " (worse: its score in the search was luck)");
}

static void put_importance(const mm_study *study, const mm_study_tuning *t) {
  double *share = memory_alloc(t->n_parameter, sizeof *share);
  bool known;
  if (mm_study_importance(study, share, &known) != MM_OK || !known) {
    puts("importance: too few trials to tell");
  } else {
    printf("importance:");
    for (size_t j = 0; j < t->n_parameter; j++)
      printf("%s %s %.0f %%", j > 0 ? "," : "", mm_study_parameter(study, j), 100 * share[j]);
    puts(" of the variation of ranks; the rest is interactions and noise");
  }
  free(share);
}

static int put_text(const mm_study *study, const mm_study_tuning *t, const char *preset) {
  mm_study_progress now;
  mm_study_look(study, &now);
  put_counts(study, t);
  TRY(put_trials(study, t));
  if (t->validated) put_checks(study, t);
  if (t->complete) put_verdict(t);
  put_importance(study, t);
  char machine[MM_STUDY_MACHINE_TEXT];
  if (now.env_steps > 0)
    printf("speed: %s steps/s on %s\n", output_si((double)now.env_steps / now.seconds),
           mm_study_machine_text(study, machine));
  if (preset != NULL)
    printf("preset: %s (for --preset of train, learn and transfer)\n", output_plain(preset));
  return EXIT_DONE;
}

static int tune_report(mm_study *study, const char *preset, bool json) {
  if (json) return study_json(study);
  const mm_study_tuning t = tuning_of(study);
  return t.n_trial > 0 ? put_text(study, &t, preset) : EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Beginning

typedef struct tune_plan {
  name_list envs, maps, set;
  mm_map *map[MM_STUDY_TUNE_MAPS];
} tune_plan;

static void plan_release(tune_plan *p) {
  for (size_t i = 0; i < MM_STUDY_TUNE_MAPS; i++)
    mm_map_destroy(p->map[i]);
  name_list_release(&p->envs);
  name_list_release(&p->maps);
  name_list_release(&p->set);
}

static int plan_env(const tune_args *args, const char *name, mm_settings *settings) {
  mm_env *env = NULL;
  int code = study_env(&args->settings, args->algo, name, &env, settings);
  if (code == EXIT_DONE) code = run_argument_check_name("env", name);
  if (code == EXIT_DONE) env_argument_warn(env, settings);
  mm_env_destroy(env);
  return code;
}

static int plan_envs(const tune_args *args, name_list *envs) {
  mm_settings *settings;
  TRY(name_list_read("env", args->env, envs));
  if (envs->n > MM_STUDY_TUNE_ENVS)
    return fail_usage("option '--env': %zu environments, expected at most %d", envs->n,
                      MM_STUDY_TUNE_ENVS);
  int code = status_code(mm_settings_create(MM_ALGO_PMD, &settings));
  for (size_t i = 0; i < envs->n && code == EXIT_DONE; i++)
    code = plan_env(args, envs->name[i], settings);
  mm_settings_destroy(settings);
  return code;
}

static int plan_maps(const tune_args *args, tune_plan *p) {
  TRY(name_list_read("map", run_argument_map(args->map, args->algo), &p->maps));
  if (p->maps.n > MM_STUDY_TUNE_MAPS)
    return fail_usage("option '--map': %zu maps, expected at most %d", p->maps.n,
                      MM_STUDY_TUNE_MAPS);
  for (size_t i = 0; i < p->maps.n; i++) {
    TRY(run_argument_check_name("map", p->maps.name[i]));
    TRY(map_argument_open(p->maps.name[i], &p->map[i]));
  }
  return EXIT_DONE;
}

// A search that devices could do in parts only is refused with --backend cuda, and for the
// CPU on `auto`: trials are compared with each other.
static int check_devices(tune_args *args, const mm_study_config *config, const mm_study *study) {
  if (args->on.place.kind == MM_BACKEND_CPU) return EXIT_DONE;
  const mm_status status = mm_study_check_devices(config, study);
  if (status != MM_ERR_UNSUPPORTED) return status_code(status);
  if (args->on.place.kind == MM_BACKEND_CUDA) return backend_refuse();
  args->on.place = (mm_backend_place){ .kind = MM_BACKEND_CPU };
  return EXIT_DONE;
}

// What a tuning leaves beside its database; nothing is ever written over.
static const char *const out_files[] = { "preset.yaml", "trials.csv", "tune.json", "tune.svg",
                                         "tune.png",    "map.json",   NULL };

static int create(const tune_args *args, const mm_study_config *config, mm_study **out) {
  run_folder where;
  TRY(args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE);
  mm_status status = study_folder_for("tune", config->env[0], args->out, &where);
  if (status == MM_OK) status = mm_study_create(where.path, config, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&where, status);
}

static int check_usage(const tune_args *args) {
  if (args->env == NULL) return fail_usage("option '--env' is required (or --resume RUN)");
  if (run_argument_map(args->map, args->algo) == NULL)
    return fail_usage("option '--map' is required (or --resume RUN)");
  if (args->space == NULL) return fail_usage("option '--space' is required (or --resume RUN)");
  return EXIT_DONE;
}

static int begin_with(tune_args *args, tune_plan *p, mm_study **out) {
  TRY(plan_envs(args, &p->envs));
  TRY(plan_maps(args, p));
  settings_texts(&args->settings, &p->set);
  mm_study_config config = mm_study_config_default(MM_STUDY_TUNE);
  config.env = (const char *const *)p->envs.name, config.n_env = p->envs.n;
  config.map = (const char *const *)p->maps.name, config.n_map = p->maps.n;
  config.set = (const char *const *)p->set.name, config.n_set = p->set.n;
  config.open_map = (const mm_map *const *)p->map;
  config.algo = args->algo;
  config.argv = command_argv;
  config.preset = args->settings.preset;
  config.space = args->space;
  config.method = args->method;
  config.trials = (size_t)args->trials;
  config.population = (size_t)args->population;
  config.seeds = (size_t)args->seeds;
  config.validate = (size_t)args->validate;
  config.prune = strcmp(args->prune, "on") == 0;
  config.seed = args->seed;
  TRY(check_devices(args, &config, NULL));
  return create(args, &config, out);
}

static int begin(tune_args *args, mm_study **out) {
  tune_plan plan = { 0 };
  TRY(check_usage(args));
  const int code = begin_with(args, &plan, out);
  plan_release(&plan);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Resuming

static int resume(tune_args *args, mm_study **out) {
  static const char *const fixed[] = { "env",    "map",        "space",  "algo",     "method",
                                       "trials", "population", "seeds",  "validate", "seed",
                                       "prune",  "out",        "preset", NULL };
  TRY(run_argument_refuse(&command_tune, &args->settings, "run", fixed));
  TRY(study_resume(args->resume, MM_STUDY_TUNE, out));
  return check_devices(args, NULL, *out);
}

// ---------------------------------------------------------------------------------------------
// The search

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char detail[96] = "";
  (void)total, (void)env_steps;
  interrupt_check_time();
  study_warn(user);
  const mm_study_tuning t = tuning_of(user);
  if (t.n_trial > 1)
    snprintf(detail, sizeof detail, "trial %zu/%zu, best %zu: %+.3f", t.n_trial - 1, t.asked,
             t.best, trial_of(user, t.best).score.mean);
  progress_update((double)(t.trainings + done), detail);
}

static mm_status search(const tune_args *args, mm_study *study) {
  mm_study_machine machine = backend_machine(&args->on, show_progress, study);
  machine.save_seconds = args->save_seconds;
  interrupt_after(args->max_seconds);
  progress_begin("tune", 0, "training runs");
  mm_status status = mm_study_advance(study, &machine);
  progress_end();
  return status;
}

// ---------------------------------------------------------------------------------------------
// What it leaves behind

// The results appear even where a file fails. A preset that is there may have been changed by hand.
static int show(const tune_args *args, mm_study *study) {
  char *preset = memory_print("%s/preset.yaml", mm_study_folder(study));
  const bool was_there = access(preset, F_OK) == 0;
  mm_status status = mm_study_write(study);
  int kept = status == MM_OK ? study_figures(mm_study_draw(study), "figure")
                             : fail(EXIT_FAILED, "%s", mm_last_error());
  if (status == MM_OK && was_there) note("%s was there already and stays as it is", preset);
  int code = tune_report(study, status == MM_OK ? preset : NULL, args->settings.common.json);
  free(preset);
  return kept != EXIT_DONE ? kept : code;
}

static int finish(const tune_args *args, mm_study *study, mm_status status) {
  study_end end;
  study_finish(&command_tune, study, &args->on.place, status, NULL, &end);
  if (status == MM_OK) return show(args, study);
  if (status != MM_ERR_INTERRUPTED) return study_failed(&end);
  const size_t n = tuning_of(study).n_trial;
  TRY(study_stopped(&end, "in trial %zu", n > 0 ? n - 1 : 0));
  return tune_report(study, NULL, args->settings.common.json);
}

static int run(void *raw) {
  tune_args *args = raw;
  mm_study *study = NULL;
  int code = study_begin(&args->on);
  if (code == EXIT_DONE) code = args->resume != NULL ? resume(args, &study) : begin(args, &study);
  if (code == EXIT_DONE) {
    put_start(study, options_given(&command_tune, &args->settings.common, "trials"));
    code = finish(args, study, search(args, study));
  }
  mm_study_close(study);
  return code;
}

const command command_tune = {
  .name = "tune",
  .summary = "search for good hyper-parameters",
  .about =
      "Trials change settings within the ranges of a file. The score of one is its gain in final "
      "return over the baseline settings (those of --preset and --set), paired by seed, in units "
      "of each environment's spread.\n\nTrials below the median are stopped after a few "
      "seeds; halving gives all of them few, and twice as many to the better half, until the rest "
      "has all seeds.\n\nThe file says `method: grid`, `cma-es` or `halving` and has a line for "
      "each "
      "parameter below `parameters:`, such as `lr: {log: [1e-4, 1e-2], points: 5}`, `eta: {linear: "
      "[0.5, 2]}`, `epochs: {integer: [1, 16]}` or `activation: {choice: [tanh, relu]}`. Names are "
      "those of --set, and of maps `map.q` (tsallis) and `map.scale` (a factor on phi^-1); points "
      "are those of a grid. Halving tries a grid where all ranges have points or choices, else "
      "trials drawn at random.\n\nAt the end the winner and the baseline "
      "settings are trained on fresh seeds, and its settings become preset.yaml in the run's "
      "folder, beside run.db, trials.csv, tune.json and tune.svg. A run can be stopped at any "
      "moment, also by a crash, and resumes bit-identically with --resume.",
  .examples =
      "mirrormap tune --env CartPole-v1 --map negentropy --space examples/tune-bcs.yaml\nmirrormap "
      "tune --env CartPole-v1 --map negentropy,l2 --space examples/tune-bcs.yaml\nmirrormap tune "
      "--env CartPole-v1,Acrobot-v1 --algo ppo --space examples/tune-ppo.yaml\nmirrormap tune "
      "--resume runs/tune-CartPole-v1-1\nmirrormap train --env CartPole-v1 --map negentropy "
      "--preset runs/tune-CartPole-v1-1/preset.yaml",
  .options = tune_options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(tune_args),
  .run = run,
};
