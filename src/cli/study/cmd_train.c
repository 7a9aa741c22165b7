// `train`: the same job for many seeds, and what came out of them; resumable at any moment.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/backend_argument.h"
#include "cli/argument/env_argument.h"
#include "cli/argument/map_argument.h"
#include "cli/argument/run_argument.h"
#include "cli/argument/settings.h"
#include "cli/core/interrupt.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "cli/study/train_report.h"
#include "study/stats/estimate.h"

typedef struct train_args {
  settings_args settings;
  const char *env, *map, *resume, *algo, *out;
  backend_args on;
  uint64_t seeds, seed;
  double max_seconds, save_seconds;
} train_args;

static const option train_options[] = {
  { .name = "env",
    .type = OPTION_TEXT,
    .offset = offsetof(train_args, env),
    .metavar = "ID|FILE",
    .help = "the environment, or a task file" },
  RUN_MAP_OPTION(train_args),
  RUN_RESUME_OPTION(train_args, "run"),
  ENV_ALGO_OPTION(train_args, "pmd|ampo|pmd-gaussian|ppo", "the environment's"),
  { .name = "seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(train_args, seeds),
    .metavar = "N",
    .help = "train this many agents",
    .fallback = "1",
    .low = 1,
    .high = MM_TRAIN_SEEDS_MAX },
  RUN_FIRST_SEED_OPTION(train_args),
  RUN_MAX_SECONDS_OPTION(train_args),
  RUN_SAVE_SECONDS_OPTION(train_args),
  { .name = "out",
    .type = OPTION_TEXT,
    .offset = offsetof(train_args, out),
    .metavar = "DIR",
    .help = "folder of the run (default: runs/train-<env>-<n>; for pmd none)" },
  BACKEND_OPTIONS(train_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// Beginning

static int make_plan(const train_args *args, const mm_env *env, mm_train_plan *plan) {
  mm_algo algo = MM_ALGO_PMD;
  plan->seed = args->seed;
  plan->seeds = (size_t)args->seeds;
  int code = env_argument_algo(args->algo, env, args->env, &algo);
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, algo, env_argument_preset(env), &plan->settings);
  if (code == EXIT_DONE) code = settings_check_env(&args->settings, args->env);
  if (code == EXIT_DONE) code = backend_check(&args->on.place, env, &plan->settings);
  if (code == EXIT_DONE) code = run_argument_name("env", args->env, plan->env);
  if (code == EXIT_DONE)
    code = run_argument_name("map", run_argument_map(args->map, args->algo), plan->map);
  if (code == EXIT_DONE) env_argument_warn(env, &plan->settings);
  return code;
}

// Runs of networks take their time and leave a policy, so they are always kept; those of tables
// take milliseconds.
static int create(const train_args *args, const mm_train_plan *plan, const mm_map *map,
                  mm_train **out) {
  char stem[MM_PLAN_NAME_SIZE + 8];
  run_place place = { 0 };
  mm_status status = MM_OK;
  const bool kept = args->out != NULL || plan->settings.algo != MM_ALGO_PMD;
  if (!kept && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  env_argument_stem("train", plan->env, stem, sizeof stem);
  if (kept) status = run_argument_place(args->out, stem, &place);
  if (status == MM_OK) status = mm_train_create(place.folder, plan, map, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&place, status);
}

static int check_usage(const train_args *args) {
  if (args->env == NULL) return fail_usage("option '--env' is required (or --resume RUN)");
  if (run_argument_map(args->map, args->algo) == NULL)
    return fail_usage("option '--map' is required (or --resume RUN)");
  return run_argument_check_seeds(args->seed, args->seeds);
}

// The map belongs to the caller and must outlive the training.
static int begin(const train_args *args, mm_map **map, mm_train **out) {
  mm_env *env = NULL;
  int code = check_usage(args);
  if (code != EXIT_DONE) return code;
  mm_status status = mm_env_open(args->env, &env);
  if (status != MM_OK) return fail_status(status);
  mm_train_plan *plan = memory_take(1, sizeof *plan);
  code = make_plan(args, env, plan);
  if (code == EXIT_DONE) code = map_argument_open(run_argument_map(args->map, args->algo), map);
  if (code == EXIT_DONE) code = create(args, plan, *map, out);
  free(plan);
  mm_env_destroy(env);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Going on

static int resume(const train_args *args, mm_train **out) {
  static const char *const fixed[] = {
    "env", "map", "algo", "seeds", "seed", "out", "preset", NULL
  };
  int code = run_argument_refuse(&command_train, &args->settings, fixed);
  if (code != EXIT_DONE) return code;
  mm_status status = mm_train_resume(args->resume, out);
  if (status != MM_OK) return fail_status(status);
  mm_train_view view;
  mm_train_look(*out, &view);
  return backend_check(&args->on.place, view.env, &view.plan->settings);
}

static void note_start(const mm_train *train) {
  mm_train_view view;
  mm_train_look(train, &view);
  size_t n = view.plan->seeds;
  if (view.folder == NULL || view.complete) return;
  if (view.n_done > 0)
    note("%s: going on, %zu of %zu runs are done", view.folder, view.n_done, n);
  else
    note("%s: %zu run%s of %.0f steps, kept to be resumed", view.folder, n, n == 1 ? "" : "s",
         mm_settings_steps(&view.plan->settings));
}

// ---------------------------------------------------------------------------------------------
// Training

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char trouble[MM_ERROR_SIZE];
  (void)done, (void)total;
  interrupt_check_time();
  if (mm_study_trouble(mm_train_study(user), trouble)) warn("%s; going on without it", trouble);
  progress_update((double)env_steps, NULL);
}

static mm_status train(const train_args *args, mm_train *t) {
  mm_train_view view;
  mm_train_look(t, &view);
  mm_backend_config backend = backend_config(&args->on, show_progress, t);
  interrupt_after(args->max_seconds);
  progress_begin("train",
                 (double)(view.plan->seeds - view.n_done) * mm_settings_steps(&view.plan->settings),
                 "steps");
  mm_status status = mm_train_run(t, &backend, args->save_seconds);
  progress_end();
  return status;
}

// A single seed's failure names it; what fails for all of them has nothing to do with seeds.
static int report_failure(const train_args *args, const mm_train_view *view) {
  const mm_result *r = &view->result[view->trouble];
  char hint[RUN_HINT_SIZE] = "";
  size_t n = view->plan->seeds;
  const char *error = view->error[0] != '\0' ? view->error : mm_status_text(r->status);
  int code = exit_code_of(r->status);
  if (backend_hint(&args->on.place, r->status)[0] != '\0')
    run_argument_hint("train", view->folder, &args->on.place, r->status, hint);
  if (view->n_failed == n) return fail(code, "%s%s", error, hint);
  return fail(code, "%zu of %zu runs failed; seed %" PRIu64 ": %s%s", view->n_failed, n,
              view->plan->seed + view->trouble, error, hint);
}

static void warn_of_runs(const mm_train_view *view) {
  if (view->n_numeric > 0)
    warn("%zu of %zu runs broke down and count with their last finite policy; seed %" PRIu64 ": %s",
         view->n_numeric, view->plan->seeds, view->plan->seed + view->trouble,
         view->error[0] != '\0' ? view->error : mm_status_text(MM_ERR_NUMERIC));
  size_t unfinished = 0;
  for (size_t i = 0; i < view->plan->seeds; i++)
    unfinished += mm_result_is_unfinished(&view->result[i]);
  if (unfinished > 0)
    warn("%zu of %zu runs finished no episode in %.0f steps: they have no return", unfinished,
         view->plan->seeds, (double)mm_settings_steps(&view->plan->settings));
  if (view->no_policy[0] != '\0') warn("no policy.safetensors: %s", view->no_policy);
}

static int finish(const train_args *args, mm_train *t, mm_status status) {
  char error[MM_ERROR_SIZE], hint[RUN_HINT_SIZE], trouble[MM_ERROR_SIZE];
  mm_train_view view;
  snprintf(error, sizeof error, "%s", mm_last_error());
  mm_train_look(t, &view);
  const bool open = status == MM_OK && !view.complete; // runs have failed
  const char *outcome = open ? "failed" : interrupt_outcome(status);
  run_argument_hint("train", view.folder, &args->on.place, status, hint);
  mm_study_end(mm_train_study(t), outcome);
  if (status == MM_ERR_INTERRUPTED && mm_study_trouble(mm_train_study(t), trouble))
    warn("%s", trouble);
  if (strcmp(outcome, "interrupted") == 0)
    return fail(INTERRUPT_EXIT, "interrupted after %zu of %zu runs%s", view.n_done,
                view.plan->seeds, hint);
  if (strcmp(outcome, "stopped") == 0) {
    note("stopped after %zu of %zu runs%s", view.n_done, view.plan->seeds, hint);
    return train_report(&view, outcome, args->settings.common.json);
  }
  if (status != MM_OK) return fail(exit_code_of(status), "%s%s", error, hint);
  if (view.n_failed > 0) return report_failure(args, &view);
  warn_of_runs(&view);
  return train_report(&view, outcome, args->settings.common.json);
}

static int run(void *raw) {
  train_args *args = raw;
  const int chosen = backend_choose(&args->on);
  if (chosen != EXIT_DONE) return chosen;
  interrupt_watch(); // from here on a signal leaves the run in order
  mm_map *map = NULL;
  mm_train *t = NULL;
  int code = args->resume != NULL ? resume(args, &t) : begin(args, &map, &t);
  if (code == EXIT_DONE) {
    note_start(t);
    code = finish(args, t, train(args, t));
  }
  mm_train_close(t);
  mm_map_destroy(map);
  return code;
}

const command command_train = {
  .name = "train",
  .summary = "train agents and report their final value",
  .about =
      "Every seed names an instance of the environment and all random numbers of its run, so "
      "the same seeds give the same numbers on any number of threads. The final value is the "
      "mean over the seeds, with its standard error.\n\n"
      "Runs of ampo and ppo have a folder (run.db), in which finished seeds and the states of "
      "unfinished ones are kept, and at the end the networks (policy.safetensors). Such a run can "
      "be stopped at any moment, also by a crash, and goes on with --resume to the same bits. "
      "Runs of pmd have one only with --out.",
  .examples = "mirrormap train --env GridWorld-dense --map l2 --seeds 256\n"
              "mirrormap train --env GridWorld-all --map negentropy --set curve=exact --json\n"
              "mirrormap train --env Asterix-MinAtar --map l2 --seeds 8 --max-seconds 3600\n"
              "mirrormap train --resume runs/train-Asterix-MinAtar-1\n"
              "mirrormap train --env CartPole-v1 --algo ppo --seeds 8",
  .options = train_options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(train_args),
  .run = run,
};
