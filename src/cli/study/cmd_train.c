// `train`: the same job for many seeds, and what came out of them; resumable at any moment.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "cli/study/train_report.h"

typedef struct train_args {
  settings_args settings;
  const char *env, *map, *resume, *algo, *out;
  backend_args on;
  uint64_t seeds, seed;
  double max_seconds, save_seconds;
} train_args;

#define ARGS train_args
static const option train_options[] = {
  STUDY_TEXT(env, "ID|FILE", "the environment, or a task file"),
  RUN_MAP_OPTION(train_args),
  RUN_RESUME_OPTION(train_args, "run"),
  ENV_ALGO_OPTION(train_args, NULL, "the environment's"),
  STUDY_COUNT(seeds, 1, MM_TRAIN_SEEDS_MAX, "1", "N", "train this many agents"),
  RUN_FIRST_SEED_OPTION(train_args),
  RUN_MAX_SECONDS_OPTION(train_args),
  RUN_SAVE_SECONDS_OPTION(train_args),
  STUDY_TEXT(out, "DIR", "folder of the run (default: runs/train-<env>-<n>; for pmd none)"),
  BACKEND_OPTIONS(train_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// Beginning

static int make_plan(const train_args *args, mm_env **env, mm_train_plan *plan) {
  plan->seed = args->seed;
  plan->seeds = (size_t)args->seeds;
  int code = study_env(&args->settings, args->algo, args->env, env, &plan->settings);
  if (code == EXIT_DONE) code = settings_check_env(&args->settings, args->env);
  if (code == EXIT_DONE) code = backend_check(&args->on.place, *env, &plan->settings);
  if (code == EXIT_DONE) code = run_argument_name("env", args->env, plan->env);
  if (code == EXIT_DONE)
    code = run_argument_name("map", run_argument_map(args->map, args->algo), plan->map);
  if (code == EXIT_DONE) env_argument_warn(*env, &plan->settings);
  return code;
}

// Runs of networks take their time and leave a policy, so they are always kept; those of tables
// take milliseconds.
static int create(const train_args *args, const mm_train_plan *plan, const mm_map *map,
                  mm_train **out) {
  run_place place = { 0 };
  mm_status status = MM_OK;
  const bool kept = args->out != NULL || mm_settings_learner(&plan->settings)->networks;
  if (!kept && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  if (kept) status = study_place("train", plan->env, args->out, &place);
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
  mm_train_plan *plan = memory_take(1, sizeof *plan);
  code = make_plan(args, &env, plan);
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
  (void)done, (void)total;
  interrupt_check_time();
  study_warn(mm_train_study(user));
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
  study_end end;
  mm_train_view view;
  mm_train_look(t, &view);
  study_finish(&command_train, mm_train_study(t), &args->on.place, status,
               status == MM_OK && !view.complete ? "failed" : NULL, &end);
  if (status == MM_ERR_INTERRUPTED) {
    int code = study_stopped(&end, "after %zu of %zu runs", view.n_done, view.plan->seeds);
    if (code != EXIT_DONE) return code;
  } else if (status != MM_OK) {
    return study_failed(&end);
  } else if (view.n_failed > 0) {
    return report_failure(args, &view);
  } else {
    warn_of_runs(&view);
  }
  return train_report(&view, end.outcome, args->settings.common.json);
}

static int run(void *raw) {
  train_args *args = raw;
  mm_map *map = NULL;
  mm_train *t = NULL;
  int code = study_begin(&args->on);
  if (code == EXIT_DONE) code = args->resume != NULL ? resume(args, &t) : begin(args, &map, &t);
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
