// SPDX-License-Identifier: Apache-2.0
// `tune`: search for good settings on some environments, resumable at any moment.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "show/figure/tune_figure.h"
#include "study/tune/tune.h"
#include "study/tune/tune_files.h"

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
         .low = 1, .high = MM_TUNE_TRIALS_MAX),
  OPTION(COUNT, "population", population, "N",
         "trials of a generation of cma-es (default: 4 + 3 ln of the number of parameters)",
         .low = 4, .high = MM_TUNE_TRIALS_MAX, .rare = true),
  OPTION(COUNT, "seeds", seeds, "N",
         "runs for each trial and environment; fewer for a trial that is stopped", .low = 1,
         .high = MM_TUNE_SEEDS_MAX, .fallback = "8"),
  OPTION(CHOICE, "prune", prune, NULL,
         "stop trials that lie below the median after 1, 2, 4, .. seeds; halving has its own rule",
         .choices = prune_names, .fallback = "on", .rare = true),
  OPTION(COUNT, "validate", validate, "N",
         "train the winner and the baseline settings on this many fresh seeds; 0 for none",
         .low = 0, .high = MM_TUNE_VALIDATE_MAX, .fallback = "32", .rare = true),
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

static void put_start(const mm_tune *tune, bool trials_given) {
  mm_tune_view v;
  mm_tune_look(tune, &v);
  const mm_tune_plan *p = v.plan;
  size_t population = p->population > 0 ? p->population : mm_tune_population(p->space.n);
  const char *plural = p->n_env == 1 ? "" : "s";
  if (p->space.method == MM_TUNE_CMA)
    note("%s: cma-es, %zu generations of %zu trials, up to %zu seeds each on %zu environment%s",
         v.folder, p->trials / population, population, p->seeds, p->n_env, plural);
  else
    note("%s: %s%s of %.0f trials, up to %zu seeds each on %zu environment%s", v.folder,
         p->space.method == MM_TUNE_HALVING ? "halving, " : "",
         mm_tune_is_grid(&p->space) ? "a grid" : "a sample",
         mm_tune_is_grid(&p->space) ? mm_tune_grid_size(&p->space) : (double)p->trials, p->seeds,
         p->n_env, plural);
  size_t whole = p->trials / population * population;
  if (trials_given && p->space.method == MM_TUNE_CMA && whole != p->trials)
    note("--trials %zu: cma-es tries whole generations of %zu, so %zu trials", p->trials,
         population, whole);
}

// ---------------------------------------------------------------------------------------------
// JSON

static int put_json(const mm_tune *tune, const mm_tune_view *v, const char *state,
                    const char *preset) {
  cJSON *root = mm_tune_json(tune);
  if (root == NULL) return fail(EXIT_FAILED, "out of memory");
  cJSON_AddStringToObject(root, "run", v->folder);
  cJSON_AddStringToObject(root, "state", state);
  output_add_text(root, "preset", preset);
  output_add_number(root, "wall_seconds", v->seconds);
  double rate = v->seconds > 0 ? (double)v->session_env_steps / v->seconds : NAN;
  mm_json_add_defined(root, "env_steps_per_second", rate);
  mm_machine_add(root, &v->machine);
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// Trials

typedef struct ranked {
  const mm_tune_search *search;
  size_t trial;
} ranked;

static int best_first(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  int order = mm_tune_compare(&b->search->trial[b->trial], &a->search->trial[a->trial]);
  if (order != 0) return order;
  return a->trial < b->trial ? -1 : 1;
}

static const char *state_text(const mm_tune_view *v, size_t i) {
  const mm_tune_trial *trial = &v->search->trial[i];
  const char *state = mm_tune_state(v->search, i);
  if (!trial->pruned || v->plan->space.method != MM_TUNE_HALVING) return state;
  return output_format("%s after %zu seed%s", state, trial->n, trial->n == 1 ? "" : "s");
}

static void put_trial(table *t, const mm_tune *tune, const mm_tune_view *v, size_t i) {
  const mm_tune_space *space = &v->plan->space;
  const mm_tune_trial *trial = &v->search->trial[i];
  char text[MM_SETTING_TEXT_SIZE];
  snprintf(text, sizeof text, i == 0 ? "baseline" : "%zu", i);
  table_text(t, text);
  for (size_t j = 0; j < space->n; j++)
    table_text(t, mm_tune_text(&space->parameter[j], trial->value[j], text));
  table_text(t, output_estimate(mm_tune_score(trial), true));
  table_number(t, (double)trial->n);
  table_text(t, state_text(v, i));
  for (size_t c = 0; c < mm_tune_cells(v->plan); c++)
    table_defined(t, mm_tune_mean(tune, i, c));
}

static table *make_table(const mm_tune_view *v) {
  const mm_tune_plan *p = v->plan;
  table *t = table_of_columns(4 + p->space.n + mm_tune_cells(p));
  char name[MM_TUNE_CELL_NAME];
  table_text(t, "trial");
  for (size_t j = 0; j < p->space.n; j++)
    table_text(t, p->space.parameter[j].name);
  table_text(t, "score");
  table_text(t, "seeds");
  table_text(t, "<state");
  for (size_t c = 0; c < mm_tune_cells(p); c++)
    table_text(t, mm_tune_cell_name(p, c, name));
  return t;
}

// The best of them and the settings' own values, wherever these stand.
static void put_trials(const mm_tune *tune, const mm_tune_view *v) {
  size_t n = v->search->n;
  ranked *order = memory_alloc(n, sizeof *order);
  for (size_t i = 0; i < n; i++)
    order[i] = (ranked){ v->search, i };
  qsort(order, n, sizeof *order, best_first);
  table *t = make_table(v);
  bool baseline_shown = false;
  for (size_t k = 0; k < n && k < SHOWN; k++) {
    put_trial(t, tune, v, order[k].trial);
    baseline_shown = baseline_shown || order[k].trial == 0;
  }
  if (!baseline_shown) put_trial(t, tune, v, 0);
  table_print(t);
  free(order);
}

static void put_counts(const mm_tune_view *v) {
  size_t stopped = 0, failed = 0, n = v->search->n;
  for (size_t i = 0; i < n; i++) {
    stopped += v->search->trial[i].pruned;
    failed += v->search->trial[i].failed;
  }
  printf("%zu trials (%s), %zu %s, %zu failed; %zu training runs, %s steps\n", n,
         mm_tune_method_name(v->plan->space.method), stopped,
         v->plan->space.method == MM_TUNE_HALVING ? "dropped" : "stopped early", failed,
         v->trainings, output_si((double)v->env_steps));
  printf("score: difference from the baseline settings in final return, paired by seed, in units "
         "of\n");
  for (size_t e = 0; e < v->plan->n_env; e++)
    printf("%s%.4g (%s)", e > 0 ? ", " : "  ", v->scale[e], output_plain(v->plan->env[e]));
  printf("; mean over %senvironments\n", v->plan->n_map > 1 ? "maps and " : "");
  size_t same = v->search->n_candidates + 1 - n;
  if (same > 0 && v->search->complete && !mm_tune_is_grid(&v->plan->space))
    printf("%zu candidates had the values of an earlier trial\n", same);
}

// ---------------------------------------------------------------------------------------------
// The winner

static void put_checks(const mm_tune_view *v) {
  table *t = table_create("<environment|baseline|tuned|difference");
  char name[MM_TUNE_CELL_NAME];
  for (size_t i = 0; i < mm_tune_cells(v->plan); i++) {
    const mm_tune_check *c = &v->check[i];
    table_text(t, mm_tune_cell_name(v->plan, i, name));
    table_text(t, output_estimate(c->own, false));
    table_text(t, v->best > 0 ? output_estimate(c->best, false) : "-");
    table_text(t, output_estimate(c->difference.gain, true));
    int sign = mm_comparison_sign(&c->difference);
    if (sign != 0) table_mark(t, sign > 0);
  }
  printf("\non %zu fresh seeds, %s standard error:\n", v->plan->validate, output_plus_minus());
  table_print(t);
  for (size_t c = 0; c < mm_tune_cells(v->plan); c++)
    if (v->check[c].n_failed > 0)
      printf("%s: runs of %zu seeds have no value, so there are no means\n",
             output_plain(mm_tune_cell_name(v->plan, c, name)), v->check[c].n_failed);
}

static void put_verdict(const mm_tune_view *v) {
  if (v->best == 0) {
    puts("No trial was better than the baseline settings.");
    return;
  }
  if (!v->validated) return;
  printf("score of trial %zu on these: %s", v->best, output_estimate(v->gain.gain, true));
  int sign = mm_comparison_sign(&v->gain);
  puts(sign == 0  ? " (its 95 % interval includes 0: not shown to be better)"
       : sign > 0 ? ""
                  : " (worse: its score in the search was luck)");
}

static void put_importance(const mm_tune_view *v) {
  mm_tune_importance importance;
  if (mm_tune_weigh(v->search, &importance) != MM_OK || !importance.known) {
    puts("importance: too few trials to tell");
    return;
  }
  printf("importance:");
  for (size_t j = 0; j < v->plan->space.n; j++)
    printf("%s %s %.0f %%", j > 0 ? "," : "", v->plan->space.parameter[j].name,
           100 * importance.share[j]);
  puts(" of the variation of ranks; the rest is interactions and noise");
}

static void put_text(const mm_tune *tune, const mm_tune_view *v, const char *preset) {
  put_counts(v);
  put_trials(tune, v);
  if (v->validated) put_checks(v);
  if (v->search->complete) put_verdict(v);
  put_importance(v);
  char machine[MM_MACHINE_TEXT];
  if (v->session_env_steps > 0)
    printf("speed: %s steps/s on %s\n", output_si((double)v->session_env_steps / v->seconds),
           mm_machine_text(&v->machine, machine));
  if (preset != NULL)
    printf("preset: %s (for --preset of train, learn and transfer)\n", output_plain(preset));
}

static int tune_report(const mm_tune *tune, const char *state, const char *preset, bool json) {
  mm_tune_view v;
  mm_tune_look(tune, &v);
  if (json) return put_json(tune, &v, state, preset);
  if (v.search->n > 0) put_text(tune, &v, preset);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Beginning

static int plan_env(const tune_args *args, const char *name, mm_env **env, mm_settings *settings,
                    char out[MM_PLAN_NAME_SIZE]) {
  int code = study_env(&args->settings, args->algo, name, env, settings);
  if (code == EXIT_DONE) code = run_argument_name("env", name, out);
  if (code == EXIT_DONE) env_argument_warn(*env, settings);
  return code;
}

static int plan_envs(const tune_args *args, mm_env *env[MM_TUNE_ENVS], mm_tune_plan *plan) {
  name_list envs;
  int code = name_list_read("env", args->env, &envs);
  if (code == EXIT_DONE && envs.n > MM_TUNE_ENVS)
    code =
        fail_usage("option '--env': %zu environments, expected at most %d", envs.n, MM_TUNE_ENVS);
  plan->n_env = envs.n;
  for (size_t i = 0; i < envs.n && code == EXIT_DONE; i++)
    code = plan_env(args, envs.name[i], &env[i], &plan->settings[i], plan->env[i]);
  name_list_release(&envs);
  return code;
}

static int plan_search(const tune_args *args, mm_tune_plan *plan) {
  TRY(status_code(mm_tune_space_load(args->space, plan->settings[0].algo, &plan->space)));
  if (args->method != NULL) mm_tune_method_find(args->method, &plan->space.method);
  plan->trials = (size_t)args->trials;
  if (args->trials == 0) plan->trials = mm_tune_usual_trials(&plan->space);
  plan->population = (size_t)args->population;
  plan->seeds = (size_t)args->seeds;
  plan->validate = (size_t)args->validate;
  plan->prune = strcmp(args->prune, "on") == 0;
  plan->seed = args->seed;
  return EXIT_DONE;
}

static int plan_maps(const tune_args *args, mm_map *map[MM_TUNE_MAPS], mm_tune_plan *plan) {
  name_list maps;
  int code = name_list_read("map", run_argument_map(args->map, args->algo), &maps);
  if (code == EXIT_DONE && maps.n > MM_TUNE_MAPS)
    code = fail_usage("option '--map': %zu maps, expected at most %d", maps.n, MM_TUNE_MAPS);
  plan->n_map = maps.n;
  for (size_t i = 0; i < maps.n && code == EXIT_DONE; i++) {
    code = run_argument_name("map", maps.name[i], plan->map[i]);
    if (code == EXIT_DONE) code = map_argument_open(maps.name[i], &map[i]);
  }
  name_list_release(&maps);
  return code;
}

// Whether devices can do whatever a trial may ask for: the settings' own values, then the ends of
// every range and all choices, each alone. (A device refuses a training run for one setting, not
// for two together.)
static bool takes_space(const mm_env *env, const mm_settings *baseline,
                        const mm_tune_space *space) {
  double value[MM_TUNE_PARAMETERS];
  for (size_t j = 0; j < space->n; j++)
    value[j] = NAN;
  bool takes = backend_takes(env, baseline);
  for (size_t j = 0; j < space->n; value[j++] = NAN) {
    const mm_tune_parameter *p = &space->parameter[j];
    const bool choice = p->scale == MM_TUNE_CHOICE;
    for (size_t k = 0; k < (choice ? p->n_choice : 2) && takes; k++) {
      mm_settings settings = *baseline;
      value[j] = choice ? (double)k : k == 0 ? p->low : p->high;
      // what no training run accepts is no trial either
      if (mm_tune_apply(space, value, &settings) == MM_OK) takes = backend_takes(env, &settings);
    }
  }
  return takes;
}

// A search that devices could do in parts only is refused with --backend cuda, and for the
// CPU on `auto`: trials are compared with each other.
static int check_devices(tune_args *args, const mm_tune_plan *plan, mm_env *const *env) {
  for (size_t i = 0; i < plan->n_env; i++) {
    if (args->on.place.kind == MM_BACKEND_CPU ||
        takes_space(env[i], &plan->settings[i], &plan->space))
      continue;
    if (args->on.place.kind == MM_BACKEND_CUDA) return backend_refuse();
    args->on.place = (mm_backend_place){ .kind = MM_BACKEND_CPU };
  }
  return EXIT_DONE;
}

// What a tuning leaves beside its database; nothing is ever written over.
static const char *const out_files[] = { "preset.yaml", "trials.csv", "tune.json", "tune.svg",
                                         "tune.png",    "map.json",   NULL };

static int create(const tune_args *args, const mm_tune_plan *plan, const mm_map *const *map,
                  mm_tune **out) {
  run_folder where;
  TRY(args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE);
  mm_status status = study_folder_for("tune", plan->env[0], args->out, &where);
  if (status == MM_OK) status = mm_tune_create(where.path, plan, map, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&where, status);
}

static int check_usage(const tune_args *args) {
  if (args->env == NULL) return fail_usage("option '--env' is required (or --resume RUN)");
  if (run_argument_map(args->map, args->algo) == NULL)
    return fail_usage("option '--map' is required (or --resume RUN)");
  if (args->space == NULL) return fail_usage("option '--space' is required (or --resume RUN)");
  return EXIT_DONE;
}

// The maps belong to the caller and must outlive the tuning.
static int begin(tune_args *args, mm_map *map[MM_TUNE_MAPS], mm_tune **out) {
  TRY(check_usage(args));
  mm_tune_plan *plan = memory_alloc(1, sizeof *plan);
  mm_env *env[MM_TUNE_ENVS] = { 0 };
  int code = plan_envs(args, env, plan);
  if (code == EXIT_DONE) code = plan_search(args, plan);
  if (code == EXIT_DONE) code = check_devices(args, plan, env);
  if (code == EXIT_DONE) code = plan_maps(args, map, plan);
  if (code == EXIT_DONE) code = create(args, plan, (const mm_map *const *)map, out);
  for (size_t i = 0; i < MM_TUNE_ENVS; i++)
    mm_env_destroy(env[i]);
  free(plan);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Resuming

static int resume(tune_args *args, mm_tune **out) {
  static const char *const fixed[] = { "env",    "map",        "space",  "algo",     "method",
                                       "trials", "population", "seeds",  "validate", "seed",
                                       "prune",  "out",        "preset", NULL };
  TRY(run_argument_refuse(&command_tune, &args->settings, "run", fixed));
  TRY(status_code(mm_tune_resume(args->resume, out)));
  mm_tune_view view;
  mm_tune_look(*out, &view);
  return check_devices(args, view.plan, view.env);
}

// ---------------------------------------------------------------------------------------------
// The search

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char detail[96] = "";
  mm_tune_view v;
  (void)total, (void)env_steps;
  interrupt_check_time();
  study_warn(mm_tune_study(user));
  mm_tune_look(user, &v);
  if (v.search->n > 1)
    snprintf(detail, sizeof detail, "trial %zu/%zu, best %zu: %+.3f", v.search->n - 1,
             v.plan->trials, v.best, mm_tune_score(&v.search->trial[v.best]).mean);
  progress_update((double)(v.trainings + done), detail);
}

static mm_status search(const tune_args *args, mm_tune *t) {
  mm_backend_config backend = backend_config(&args->on, show_progress, t);
  interrupt_after(args->max_seconds);
  progress_begin("tune", 0, "training runs");
  mm_status status = mm_tune_run(t, &backend, args->save_seconds);
  progress_end();
  return status;
}

// ---------------------------------------------------------------------------------------------
// What it leaves behind

static mm_status draw(const void *tune, const char *path) {
  return mm_tune_figure(tune, path);
}

// The results appear even where a file fails. A preset that is there may have been changed by hand.
static int show(const tune_args *args, const mm_tune *t, const char *folder) {
  char preset[MM_RUN_PATH_SIZE + 16];
  bool written;
  snprintf(preset, sizeof preset, "%s/preset.yaml", folder);
  mm_status status = mm_tune_write(t, folder);
  if (status == MM_OK) status = mm_tune_write_preset(t, folder, &written);
  static const study_figure figures[] = { { "tune.svg", draw }, { "tune.png", draw } };
  int kept = status == MM_OK ? study_figures(folder, figures, 2, t, "figure")
                             : fail(EXIT_FAILED, "%s", mm_last_error());
  if (status == MM_OK && !written) note("%s was there already and stays as it is", preset);
  int code = tune_report(t, "done", status == MM_OK ? preset : NULL, args->settings.common.json);
  return kept != EXIT_DONE ? kept : code;
}

static int finish(const tune_args *args, mm_tune *t, mm_status status) {
  study_end end;
  mm_tune_view v;
  mm_tune_look(t, &v);
  study_finish(&command_tune, mm_tune_study(t), &args->on.place, status, NULL, &end);
  if (status == MM_OK) return show(args, t, v.folder);
  if (status != MM_ERR_INTERRUPTED) return study_failed(&end);
  TRY(study_stopped(&end, "in trial %zu", v.search->n > 0 ? v.search->n - 1 : 0));
  return tune_report(t, end.outcome, NULL, args->settings.common.json);
}

static int run(void *raw) {
  tune_args *args = raw;
  mm_map *map[MM_TUNE_MAPS] = { 0 };
  mm_tune *t = NULL;
  int code = study_begin(&args->on);
  if (code == EXIT_DONE) code = args->resume != NULL ? resume(args, &t) : begin(args, map, &t);
  if (code == EXIT_DONE) {
    put_start(t, options_given(&command_tune, &args->settings.common, "trials"));
    code = finish(args, t, search(args, t));
  }
  mm_tune_close(t);
  for (size_t i = 0; i < MM_TUNE_MAPS; i++)
    mm_map_destroy(map[i]);
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
