// `tune`: search for good settings on some environments, resumable at any moment.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/argument/name_list.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "cli/study/tune_report.h"
#include "show/figure/tune_figure.h"
#include "study/tune/tune_files.h"

typedef struct tune_args {
  settings_args settings;
  const char *env, *map, *space, *resume, *algo, *method, *prune, *out;
  backend_args on;
  uint64_t trials, population, seeds, validate, seed;
  double max_seconds, save_seconds;
} tune_args;

static const char *const method_names[] = { "grid", "cma-es", NULL };
static const char *const prune_names[] = { "on", "off", NULL };

#define ARGS tune_args
static const option tune_options[] = {
  STUDY_TEXT(env, "ID[,ID..]", "the environments to tune for; task files too"),
  RUN_MAP_OPTION(tune_args),
  STUDY_TEXT(space, "FILE", "YAML file with the parameters and their ranges"),
  RUN_RESUME_OPTION(tune_args, "run"),
  ENV_ALGO_OPTION(tune_args, "pmd|ampo|pmd-gaussian|ppo", "the environments'"),
  STUDY_CHOICE(method, method_names, NULL, "how to search, instead of the file's method"),
  STUDY_COUNT(trials, 1, MM_TUNE_TRIALS_MAX, NULL, "N",
              "cma-es: try this many, in whole generations (default 64); grid: refuse a larger "
              "one (default 1000)"),
  STUDY_COUNT(population, 4, MM_TUNE_TRIALS_MAX, NULL, "N",
              "trials of a generation of cma-es (default: 4 + 3 ln of the number of parameters)"),
  STUDY_COUNT(seeds, 1, MM_TUNE_SEEDS_MAX, "8", "N",
              "train this many agents for each trial and environment, fewer for one that is "
              "stopped"),
  STUDY_CHOICE(prune, prune_names, "on",
               "stop trials that lie below the median after 1, 2, 4, .. seeds"),
  STUDY_COUNT(validate, 0, MM_TUNE_VALIDATE_MAX, "32", "N",
              "train the winner and the own settings on this many fresh seeds; 0 for none"),
  STUDY_COUNT(seed, 0, 0, "0", "S", "names all random numbers of the search"),
  RUN_MAX_SECONDS_OPTION(tune_args),
  RUN_SAVE_SECONDS_OPTION(tune_args),
  STUDY_TEXT(out, "DIR", "folder of the run (default: runs/tune-<env>-<n>)"),
  BACKEND_OPTIONS(tune_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

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
  mm_status status = mm_tune_space_load(args->space, plan->settings[0].algo, &plan->space);
  if (status != MM_OK) return fail_status(status);
  if (args->method != NULL) mm_tune_method_find(args->method, &plan->space.method);
  plan->trials = (size_t)args->trials;
  if (args->trials == 0) plan->trials = mm_tune_usual_trials(plan->space.method);
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
static const char *const out_files[] = { "preset.yaml", "trials.csv", "tune.json",
                                         "tune.svg",    "tune.png",   NULL };

static int create(const tune_args *args, const mm_tune_plan *plan, const mm_map *map,
                  mm_tune **out) {
  run_place place;
  int code = args->out != NULL ? run_argument_check_out(args->out, out_files) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  mm_status status = study_place("tune", plan->env[0], args->out, &place);
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
  mm_env *env[MM_TUNE_ENVS] = { 0 };
  code = plan_envs(args, env, plan);
  if (code == EXIT_DONE) code = plan_search(args, plan);
  if (code == EXIT_DONE) code = check_devices(args, plan, env);
  if (code == EXIT_DONE) code = map_argument_open(run_argument_map(args->map, args->algo), map);
  if (code == EXIT_DONE) code = create(args, plan, *map, out);
  for (size_t i = 0; i < MM_TUNE_ENVS; i++)
    mm_env_destroy(env[i]);
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
  int code = study_stopped(&end, "in trial %zu", v.search->n > 0 ? v.search->n - 1 : 0);
  if (code != EXIT_DONE) return code;
  return tune_report(t, end.outcome, NULL, args->settings.common.json);
}

static int run(void *raw) {
  tune_args *args = raw;
  mm_map *map = NULL;
  mm_tune *t = NULL;
  int code = study_begin(&args->on);
  if (code == EXIT_DONE) code = args->resume != NULL ? resume(args, &t) : begin(args, &map, &t);
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
