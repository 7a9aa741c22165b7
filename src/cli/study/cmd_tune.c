// `tune`: search for good settings on some environments, resumable at any moment.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/backend_argument.h"
#include "cli/argument/env_argument.h"
#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "cli/study/tune_report.h"
#include "show/figure/tune_figure.h"
#include "show/plot/gnuplot.h"
#include "study/tune/tune_files.h"

enum { USUAL_TRIALS = 64, USUAL_GRID = 1000 };

typedef struct tune_args {
  settings_args settings;
  const char *env, *map, *space, *resume, *algo, *method, *prune, *out;
  backend_args on;
  uint64_t trials, population, seeds, validate, seed;
  double max_seconds, save_seconds;
} tune_args;

static const char *const method_names[] = { "grid", "cma-es", NULL };
static const char *const prune_names[] = { "on", "off", NULL };

static const option tune_options[] = {
  { .name = "env",
    .type = OPTION_TEXT,
    .offset = offsetof(tune_args, env),
    .metavar = "ID[,ID..]",
    .help = "the environments to tune for; task files too" },
  RUN_MAP_OPTION(tune_args),
  { .name = "space",
    .type = OPTION_TEXT,
    .offset = offsetof(tune_args, space),
    .metavar = "FILE",
    .help = "YAML file with the parameters and their ranges" },
  RUN_RESUME_OPTION(tune_args, "run"),
  ENV_ALGO_OPTION(tune_args, "pmd|ampo|pmd-gaussian|ppo", "the environments'"),
  { .name = "method",
    .type = OPTION_CHOICE,
    .offset = offsetof(tune_args, method),
    .choices = method_names,
    .help = "how to search, instead of the file's method" },
  { .name = "trials",
    .type = OPTION_COUNT,
    .offset = offsetof(tune_args, trials),
    .metavar = "N",
    .help = "cma-es: try this many, in whole generations (default 64); grid: refuse a larger one "
            "(default 1000)",
    .low = 1,
    .high = MM_TUNE_TRIALS_MAX },
  { .name = "population",
    .type = OPTION_COUNT,
    .offset = offsetof(tune_args, population),
    .metavar = "N",
    .help = "trials of a generation of cma-es (default: 4 + 3 ln of the number of parameters)",
    .low = 4,
    .high = MM_TUNE_TRIALS_MAX },
  { .name = "seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(tune_args, seeds),
    .metavar = "N",
    .help = "train this many agents for each trial and environment, fewer for one that is stopped",
    .fallback = "8",
    .low = 1,
    .high = MM_TUNE_SEEDS_MAX },
  { .name = "prune",
    .type = OPTION_CHOICE,
    .offset = offsetof(tune_args, prune),
    .choices = prune_names,
    .fallback = "on",
    .help = "stop trials that lie below the median after 1, 2, 4, .. seeds" },
  { .name = "validate",
    .type = OPTION_COUNT,
    .offset = offsetof(tune_args, validate),
    .metavar = "N",
    .help = "train the winner and the own settings on this many fresh seeds; 0 for none",
    .fallback = "32",
    .low = 0,
    .high = MM_TUNE_VALIDATE_MAX },
  { .name = "seed",
    .type = OPTION_COUNT,
    .offset = offsetof(tune_args, seed),
    .metavar = "S",
    .help = "names all random numbers of the search",
    .fallback = "0" },
  RUN_MAX_SECONDS_OPTION(tune_args),
  RUN_SAVE_SECONDS_OPTION(tune_args),
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(tune_args, out),
    .metavar = "DIR",
    .help = "folder of the run (default: runs/tune-<env>-<n>)" },
  BACKEND_OPTIONS(tune_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Beginning

static int plan_env(const tune_args *args, const char *name, size_t i, mm_tune_plan *plan) {
  mm_env *env;
  mm_algo algo = MM_ALGO_PMD;
  mm_status status = mm_env_open(name, &env);
  if (status != MM_OK) return fail_status(status);
  int code = env_argument_algo(args->algo, env, name, &algo);
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, algo, env_argument_preset(env), &plan->settings[i]);
  if (code == EXIT_DONE) code = run_argument_name("env", name, plan->env[i]);
  if (code == EXIT_DONE) env_argument_warn(env, &plan->settings[i]);
  mm_env_destroy(env);
  return code;
}

static int plan_envs(const tune_args *args, mm_tune_plan *plan) {
  name_list envs;
  int code = name_list_read("env", args->env, &envs);
  if (code == EXIT_DONE && envs.n > MM_TUNE_ENVS)
    code =
        fail_usage("option '--env': %zu environments, expected at most %d", envs.n, MM_TUNE_ENVS);
  plan->n_env = envs.n;
  for (size_t i = 0; i < envs.n && code == EXIT_DONE; i++)
    code = plan_env(args, envs.name[i], i, plan);
  name_list_release(&envs);
  return code;
}

static int plan_search(const tune_args *args, mm_tune_plan *plan) {
  mm_status status = mm_tune_space_load(args->space, plan->settings[0].algo, &plan->space);
  if (status != MM_OK) return fail_status(status);
  if (args->method != NULL) mm_tune_method_find(args->method, &plan->space.method);
  bool grid = plan->space.method == MM_TUNE_GRID;
  plan->trials = (size_t)args->trials;
  if (args->trials == 0) plan->trials = grid ? USUAL_GRID : USUAL_TRIALS;
  plan->population = (size_t)args->population;
  plan->seeds = (size_t)args->seeds;
  plan->validate = (size_t)args->validate;
  plan->prune = strcmp(args->prune, "on") == 0;
  plan->seed = args->seed;
  return run_argument_name("map", run_argument_map(args->map, args->algo), plan->map);
}

// Whether devices can do whatever a trial may ask for: the settings' own values, then the ends of
// every range and all choices, each alone. (A device refuses a training for one setting, not for
// two together.)
static bool takes_space(const mm_env *env, const mm_settings *own, const mm_tune_space *space) {
  double value[MM_TUNE_PARAMETERS];
  for (size_t j = 0; j < space->n; j++)
    value[j] = NAN;
  bool takes = backend_takes(env, own);
  for (size_t j = 0; j < space->n; value[j++] = NAN) {
    const mm_tune_parameter *p = &space->parameter[j];
    const bool choice = p->scale == MM_TUNE_CHOICE;
    for (size_t k = 0; k < (choice ? p->n_choice : 2) && takes; k++) {
      mm_settings settings = *own;
      value[j] = choice ? (double)k : k == 0 ? p->low : p->high;
      // what no training accepts is no trial either
      if (mm_tune_apply(space, value, &settings) == MM_OK) takes = backend_takes(env, &settings);
    }
  }
  return takes;
}

// A search that devices could do in parts only is refused with --backend cuda, and for the
// processor on `auto`: trials are compared with each other.
static int check_devices(tune_args *args, const mm_tune_plan *plan, size_t i, const mm_env *env) {
  if (args->on.place.kind == MM_BACKEND_CPU || takes_space(env, &plan->settings[i], &plan->space))
    return EXIT_DONE;
  if (args->on.place.kind == MM_BACKEND_CUDA) return backend_refuse();
  args->on.place = (mm_backend_place){ .kind = MM_BACKEND_CPU };
  return EXIT_DONE;
}

static int check_plan(tune_args *args, const mm_tune_plan *plan) {
  int code = EXIT_DONE;
  for (size_t i = 0; i < plan->n_env && code == EXIT_DONE; i++) {
    mm_env *env;
    mm_status status = mm_env_open(plan->env[i], &env);
    if (status != MM_OK) return fail_status(status);
    code = check_devices(args, plan, i, env);
    mm_env_destroy(env);
  }
  return code;
}

// What a tuning leaves beside its database; nothing is ever written over.
static const char *const out_files[] = { "preset.yaml", "trials.csv", "tune.json",
                                         "tune.svg",    "tune.png",   NULL };

static int create(const tune_args *args, const mm_tune_plan *plan, const mm_map *map,
                  mm_tune **out) {
  char stem[MM_PLAN_NAME_SIZE + 8];
  run_place place;
  int code = args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  env_argument_stem("tune", plan->env[0], stem, sizeof stem);
  mm_status status = run_argument_place(args->out, stem, &place);
  if (status == MM_OK) status = mm_tune_create(place.folder, plan, map, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&place, status);
}

static int check_usage(const tune_args *args) {
  if (args->env == NULL) return fail_usage("option '--env' is required (or --resume RUN)");
  if (run_argument_map(args->map, args->algo) == NULL)
    return fail_usage("option '--map' is required (or --resume RUN)");
  if (args->space == NULL) return fail_usage("option '--space' is required (or --resume RUN)");
  return EXIT_DONE;
}

// The map belongs to the caller and must outlive the tuning.
static int begin(tune_args *args, mm_map **map, mm_tune **out) {
  int code = check_usage(args);
  if (code != EXIT_DONE) return code;
  mm_tune_plan *plan = memory_take(1, sizeof *plan);
  code = plan_envs(args, plan);
  if (code == EXIT_DONE) code = plan_search(args, plan);
  if (code == EXIT_DONE) code = check_plan(args, plan);
  if (code == EXIT_DONE) code = map_argument_open(run_argument_map(args->map, args->algo), map);
  if (code == EXIT_DONE) code = create(args, plan, *map, out);
  free(plan);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Going on

static int resume(tune_args *args, mm_tune **out) {
  static const char *const fixed[] = { "env",    "map",        "space",  "algo",     "method",
                                       "trials", "population", "seeds",  "validate", "seed",
                                       "prune",  "out",        "preset", NULL };
  int code = run_argument_refuse(&command_tune, &args->settings, fixed);
  if (code != EXIT_DONE) return code;
  mm_status status = mm_tune_resume(args->resume, out);
  if (status != MM_OK) return fail_status(status);
  mm_tune_view view;
  mm_tune_look(*out, &view);
  for (size_t i = 0; i < view.plan->n_env && code == EXIT_DONE; i++)
    code = check_devices(args, view.plan, i, view.env[i]);
  return code;
}

// ---------------------------------------------------------------------------------------------
// The search

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char trouble[MM_ERROR_SIZE], detail[96] = "";
  mm_tune_view v;
  (void)total, (void)env_steps;
  interrupt_check_time();
  if (mm_study_trouble(mm_tune_study(user), trouble)) warn("%s; going on without it", trouble);
  if (!terminal_live()) return;
  mm_tune_look(user, &v);
  if (v.search->n > 1)
    snprintf(detail, sizeof detail, "trial %zu, best %zu: %+.3f", v.search->n - 1, v.best,
             mm_tune_score(&v.search->trial[v.best]).mean);
  progress_update((double)(v.trainings + done), detail);
}

static mm_status search(const tune_args *args, mm_tune *t) {
  mm_backend_config backend = backend_config(&args->on, show_progress, t);
  interrupt_after(args->max_seconds);
  progress_begin("tune", 0, "trainings");
  mm_status status = mm_tune_run(t, &backend, args->save_seconds);
  progress_end();
  return status;
}

// ---------------------------------------------------------------------------------------------
// What it leaves behind

static int draw(const mm_tune *t, const char *folder) {
  static const char *const names[] = { "tune.svg", "tune.png" };
  char program[1024], path[MM_RUN_PATH_SIZE + 16];
  if (mm_gnuplot_find(program, sizeof program) != MM_OK) {
    warn("no figure: %s", mm_last_error());
    return EXIT_DONE;
  }
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    mm_status status = mm_tune_figure(t, path);
    if (status == MM_ERR_INTERRUPTED) return fail(INTERRUPT_EXIT, "%s", mm_last_error());
    if (status != MM_OK) return fail(EXIT_FAILED, "%s", mm_last_error());
  }
  return EXIT_DONE;
}

// The results appear even where a file fails. A preset that is there may have been changed by hand.
static int show(const tune_args *args, const mm_tune *t, const char *folder) {
  char preset[MM_RUN_PATH_SIZE + 16];
  bool written;
  snprintf(preset, sizeof preset, "%s/preset.yaml", folder);
  mm_status status = mm_tune_write(t, folder);
  if (status == MM_OK) status = mm_tune_write_preset(t, folder, &written);
  int kept = status == MM_OK ? draw(t, folder) : fail(EXIT_FAILED, "%s", mm_last_error());
  if (status == MM_OK && !written) note("%s was there already and stays as it is", preset);
  int code = tune_report(t, "done", status == MM_OK ? preset : NULL, args->settings.common.json);
  return kept != EXIT_DONE ? kept : code;
}

static int finish(const tune_args *args, mm_tune *t, mm_status status) {
  char error[MM_ERROR_SIZE], trouble[MM_ERROR_SIZE], hint[RUN_HINT_SIZE];
  mm_tune_view v;
  snprintf(error, sizeof error, "%s", mm_last_error());
  mm_tune_look(t, &v);
  const bool interrupted = status == MM_ERR_INTERRUPTED && !interrupt_timed_out();
  const char *outcome = interrupt_outcome(status);
  run_argument_hint("tune", v.folder, &args->on.place, status, hint);
  mm_study_end(mm_tune_study(t), outcome);
  if (status == MM_ERR_INTERRUPTED && mm_study_trouble(mm_tune_study(t), trouble))
    warn("%s", trouble);
  if (interrupted)
    return fail(INTERRUPT_EXIT, "interrupted in trial %zu%s", v.search->n > 0 ? v.search->n - 1 : 0,
                hint);
  if (status == MM_ERR_INTERRUPTED) {
    note("stopped in trial %zu%s", v.search->n > 0 ? v.search->n - 1 : 0, hint);
    return tune_report(t, outcome, NULL, args->settings.common.json);
  }
  if (status == MM_ERR_INPUT || status == MM_ERR_NUMERIC) // trying again would not help
    return fail(exit_code_of(status), "%s", error);
  if (status != MM_OK) return fail(EXIT_FAILED, "%s%s", error, hint);
  return show(args, t, v.folder);
}

static int run(void *raw) {
  tune_args *args = raw;
  const int chosen = backend_choose(&args->on);
  if (chosen != EXIT_DONE) return chosen;
  interrupt_watch(); // from here on a signal leaves the run in order
  mm_map *map = NULL;
  mm_tune *t = NULL;
  int code = args->resume != NULL ? resume(args, &t) : begin(args, &map, &t);
  if (code == EXIT_DONE) {
    tune_report_start(t);
    code = finish(args, t, search(args, t));
  }
  mm_tune_close(t);
  mm_map_destroy(map);
  return code;
}

const command command_tune = {
  .name = "tune",
  .summary = "search for good hyper-parameters",
  .about =
      "Trials change settings within the ranges of a file, by a grid or by CMA-ES; each trains "
      "agents on all environments with the same seeds. Its score is the difference from the own "
      "settings (those of --preset and --set) in final value, seed by seed, in units of an "
      "environment's own spread. Trials below the median are stopped after a few seeds.\n\n"
      "The file says `method: grid` or `method: cma-es` and has a line for each parameter below "
      "`parameters:`, such as `lr: {log: [1e-4, 1e-2], points: 5}`, `eta: {linear: [0.5, 2]}`, "
      "`epochs: {integer: [1, 16]}` or `activation: {choice: [tanh, relu]}`. Names are those of "
      "--set; points are those of a grid.\n\n"
      "At the end the winner is trained beside the own settings on fresh seeds, and its settings "
      "become preset.yaml in the run's folder, beside run.db, trials.csv, tune.json and tune.svg. "
      "A run can be stopped at any moment, also by a crash, and goes on with --resume to the same "
      "bits.",
  .examples =
      "mirrormap tune --env CartPole-v1 --map negentropy --space examples/tune-bcs.yaml\n"
      "mirrormap tune --env CartPole-v1,Acrobot-v1 --algo ppo --space examples/tune-ppo.yaml\n"
      "mirrormap tune --resume runs/tune-CartPole-v1-1\n"
      "mirrormap train --env CartPole-v1 --map negentropy --preset "
      "runs/tune-CartPole-v1-1/preset.yaml",
  .options = tune_options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(tune_args),
  .run = run,
};
