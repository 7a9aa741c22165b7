// SPDX-License-Identifier: Apache-2.0
// `train`: the same job for many seeds, and what came out of them; resumable at any moment.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"
#include "study/train/train.h"

typedef struct train_args {
  settings_args settings;
  const char *env, *map, *resume, *algo, *out;
  backend_args on;
  uint64_t seeds, seed;
  double max_seconds, save_seconds;
} train_args;

#define ARGS train_args
static const option train_options[] = {
  OPTION(TEXT, "env", env, "ID|FILE", "the environment, or a task file"),
  RUN_MAP_OPTION(train_args),
  RUN_RESUME_OPTION(train_args, "run"),
  ENV_ALGO_OPTION(train_args, NULL, "the environment's"),
  OPTION(COUNT, "seeds", seeds, "N", "train this many agents", .low = 1, .high = MM_TRAIN_SEEDS_MAX,
         .fallback = "1"),
  RUN_FIRST_SEED_OPTION(train_args),
  RUN_MAX_SECONDS_OPTION(train_args),
  RUN_SAVE_SECONDS_OPTION(train_args),
  OPTION(TEXT, "out", out, "DIR",
         "folder of the run (default: runs/train-<env>-<n>, for pmd none)"),
  BACKEND_OPTIONS(train_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};
#undef ARGS

// ---------------------------------------------------------------------------------------------
// What it shows

// What follows from the results.
typedef struct outcome {
  const mm_train_view *view;
  size_t n, n_done;         // seeds
  size_t unfinished;        // of the latter, runs without a finished episode
  mm_estimate final_value;  // NaN with such a run
  mm_estimate recent_value; // of the episodes that ended in the last tenth of the runs; or NaN
  double optimal_mean;      // of V* over the instances; NaN where it is not known
  mm_curve_point *curve;    // [n_curve]
  size_t n_curve;
  uint64_t steps;                // of a run
  double rollout, update, value; // seconds of this process, all threads together
} outcome;

static bool is_done(const mm_result *r) {
  return r->status != MM_ERR_INTERRUPTED;
}

static mm_status summarise(const mm_train_view *view, outcome *o) {
  *o = (outcome){ .view = view, .n = view->plan->seeds, .final_value = MM_ESTIMATE_NONE };
  double *final = memory_alloc(o->n, sizeof *final), *recent = memory_alloc(o->n, sizeof *recent);
  for (size_t i = 0; i < o->n; i++) {
    const mm_result *r = &view->result[i];
    if (!is_done(r)) continue;
    recent[o->n_done] = r->recent_value;
    final[o->n_done++] = r->final_value;
    o->unfinished += mm_result_is_unfinished(r);
    if (r->env_steps > o->steps) o->steps = r->env_steps;
    o->rollout += r->seconds_rollout;
    o->update += r->seconds_update;
    o->value += r->seconds_value;
  }
  for (size_t i = 0; i < o->n; i++)
    if (is_done(&view->result[i]))
      o->optimal_mean += view->result[i].optimal_value / (double)o->n_done;
  o->recent_value = mm_estimate_of(recent, o->n_done); // NaN if one run has none
  free(recent);
  if (o->n_done > 0)
    o->final_value = mm_estimate_of(final, o->n_done);
  else
    o->optimal_mean = NAN;
  free(final);
  return mm_estimate_curve(view->result, o->n, &o->curve, &o->n_curve);
}

// ---------------------------------------------------------------------------------------------
// JSON

// Entry i is that of seed i; null for one that is not done or finished no episode.
static void add_finals(cJSON *root, const outcome *o) {
  cJSON *array = cJSON_AddArrayToObject(root, "finals");
  for (size_t i = 0; i < o->n; i++) {
    const mm_result *r = &o->view->result[i];
    cJSON_AddItemToArray(array, is_done(r) ? mm_json_defined(r->final_value) : cJSON_CreateNull());
  }
}

static void add_curve(cJSON *root, const outcome *o) {
  cJSON *array = cJSON_AddArrayToObject(root, "curve");
  for (size_t k = 0; k < o->n_curve; k++) {
    cJSON *object = cJSON_CreateObject();
    output_add_number(object, "step", (double)o->curve[k].step);
    mm_json_add_defined(object, "mean", o->curve[k].value.mean);
    mm_json_add_defined(object, "sem", o->curve[k].value.sem);
    cJSON_AddItemToArray(array, object);
  }
}

// Devices do not tell where their time goes (see bench cuda).
static void add_split(cJSON *root, const outcome *o) {
  if (o->view->machine.ran & MM_BACKEND_ON_CUDA) {
    cJSON_AddNullToObject(root, "thread_seconds");
    return;
  }
  cJSON *seconds = cJSON_AddObjectToObject(root, "thread_seconds");
  output_add_number(seconds, "rollout", o->rollout);
  output_add_number(seconds, "update", o->update);
  output_add_number(seconds, "value", o->value);
}

// Of the Gaussian policies trained by this process: the least effective sample size of an update,
// how many samples came to a bound or were not finite, and steps that the physics diverged in.
typedef struct samples {
  bool any;
  double least, sum[MM_MEASURES];
} samples;

static samples count_samples(const outcome *o) {
  samples s = { .least = INFINITY };
  for (size_t i = 0; i < o->n; i++) {
    const mm_result *r = &o->view->result[i];
    for (size_t k = 0; k < r->n_curve && r->measure != NULL; k++) {
      const double *at = r->measure + k * MM_MEASURES;
      s.any = true;
      s.least = fmin(s.least, at[MM_MEASURE_ESS]);
      for (int m = MM_MEASURE_CLAMPED; m <= MM_MEASURE_NONFINITE; m++)
        s.sum[m] += at[m];
      if (k + 1 == r->n_curve) s.sum[MM_MEASURE_UNSTABLE] += at[MM_MEASURE_UNSTABLE];
    }
  }
  return s;
}

static void add_samples(cJSON *root, const outcome *o) {
  const samples s = count_samples(o);
  if (!s.any) return;
  cJSON *object = cJSON_AddObjectToObject(root, "samples");
  mm_json_add_defined(object, "least_ess", s.least);
  output_add_number(object, "clamped", s.sum[MM_MEASURE_CLAMPED]);
  output_add_number(object, "capped", s.sum[MM_MEASURE_CAPPED]);
  output_add_number(object, "nonfinite", s.sum[MM_MEASURE_NONFINITE]);
  output_add_number(object, "unstable", s.sum[MM_MEASURE_UNSTABLE]);
}

static int put_json(const outcome *o, const char *state) {
  const mm_train_view *view = o->view;
  const mm_train_plan *plan = view->plan;
  cJSON *root = cJSON_CreateObject();
  output_add_text(root, "run", view->folder);
  cJSON_AddStringToObject(root, "state", state);
  cJSON_AddStringToObject(root, "env", plan->env);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(plan->settings.algo));
  output_add_text(root, "map", mm_algo_has_map(plan->settings.algo) ? plan->map : NULL);
  mm_json_add_whole(root, "seed", plan->seed);
  output_add_number(root, "seeds", (double)o->n);
  output_add_number(root, "seeds_done", (double)o->n_done);
  output_add_number(root, "steps", (double)o->steps);
  mm_json_add_defined(root, "final_mean", o->final_value.mean);
  mm_json_add_defined(root, "final_sem", o->final_value.sem);
  output_add_number(root, "unfinished", (double)o->unfinished);
  mm_json_add_defined(root, "recent_mean", o->recent_value.mean);
  mm_json_add_defined(root, "recent_sem", o->recent_value.sem);
  add_finals(root, o);
  mm_json_add_defined(root, "optimal_mean", o->optimal_mean);
  add_curve(root, o);
  output_add_number(root, "numeric_failures", (double)view->n_numeric);
  add_samples(root, o);
  output_add_text(root, "policy", view->policy);
  double rate = view->seconds > 0 ? (double)view->env_steps / view->seconds : NAN;
  mm_json_add_defined(root, "env_steps_per_second", rate);
  output_add_number(root, "wall_seconds", view->seconds);
  add_split(root, o);
  mm_machine_add(root, &view->machine);
  cJSON_AddItemToObject(root, "settings", mm_settings_json(&plan->settings));
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------
// Text

enum { SPARKS = 48 };

// Each character shows the mean of its share of the curve, from the least to the greatest of these;
// a blank where there is none.
static void put_sparkline(const outcome *o) {
  double height[SPARKS], low = INFINITY, high = -INFINITY;
  size_t n = o->n_curve < SPARKS ? o->n_curve : SPARKS;
  for (size_t i = 0; i < n; i++) {
    size_t first = i * o->n_curve / n, end = (i + 1) * o->n_curve / n;
    height[i] = 0;
    for (size_t k = first; k < end; k++)
      height[i] += o->curve[k].value.mean / (double)(end - first);
    low = fmin(low, height[i]);
    high = fmax(high, height[i]);
  }
  for (size_t i = 0; i < n; i++) {
    if (isnan(height[i])) {
      fputc(' ', stdout);
      continue;
    }
    int level = high > low ? (int)lround(7 * (height[i] - low) / (high - low)) : 0;
    if (terminal_unicode())
      printf("\xe2\x96%c", 0x81 + level); // U+2581 .. U+2588: one to eight eighths
    else
      fputc("_.,-=+*#"[level], stdout);
  }
}

static void put_curve(const outcome *o) {
  size_t begin = 0; // where all runs have a value
  while (begin < o->n_curve && isnan(o->curve[begin].value.mean))
    begin++;
  if (begin + 2 > o->n_curve) return;
  fputs("curve        ", stdout);
  put_sparkline(o);
  printf("  from %.4g to %.4g\n", o->curve[begin].value.mean, o->curve[o->n_curve - 1].value.mean);
}

static void put_values(const outcome *o) {
  const mm_settings *settings = &o->view->plan->settings;
  char text[MM_SETTING_TEXT_SIZE];
  const char *target = mm_settings_text(settings, "target", text);
  printf("final return %s%s%s%s", terminal_style(stdout, STYLE_BOLD),
         output_estimate(o->final_value, false), terminal_style(stdout, STYLE_PLAIN),
         isnan(o->final_value.sem) ? "" : " (standard error)");
  if (o->unfinished > 0) printf(" (%zu of %zu runs finished no episode)", o->unfinished, o->n_done);
  fputc('\n', stdout);
  if (!isnan(o->recent_value.mean))
    printf("recent       %s over the episodes of the last tenth%s%s%s\n",
           output_rounded(o->recent_value.mean, output_decimals(o->recent_value.sem), false),
           target[0] != '\0' ? " (target=" : "", target, target[0] != '\0' ? ")" : "");
  else if (!mm_settings_learner(settings)->exact)
    puts("recent       unknown: an agent ended no episode in the last tenth");
  if (o->optimal_mean > 0) // a share of nothing says nothing
    printf("optimum      %.4g on average: %.1f %% of it reached\n", o->optimal_mean,
           100 * o->final_value.mean / o->optimal_mean);
  put_curve(o);
}

// What a reader should wonder about is named only where it happened.
static void put_samples(const outcome *o) {
  const samples s = count_samples(o);
  if (!s.any || !isfinite(s.least)) return;
  printf("samples      at least %.3g %% effective", 100 * s.least);
  if (s.sum[MM_MEASURE_CLAMPED] > 0) printf(", %.0f clamped", s.sum[MM_MEASURE_CLAMPED]);
  if (s.sum[MM_MEASURE_CAPPED] > 0) printf(", %.0f capped", s.sum[MM_MEASURE_CAPPED]);
  if (s.sum[MM_MEASURE_NONFINITE] > 0) printf(", %.0f not finite", s.sum[MM_MEASURE_NONFINITE]);
  if (s.sum[MM_MEASURE_UNSTABLE] > 0)
    printf("; the physics diverged %.0f times", s.sum[MM_MEASURE_UNSTABLE]);
  fputc('\n', stdout);
}

static void put_speed(const outcome *o) {
  const mm_train_view *view = o->view;
  double all = o->rollout + o->update + o->value;
  char machine[MM_MACHINE_TEXT];
  if (view->env_steps == 0) return; // nothing was left to be done
  printf("speed        %s steps/s: %s on %s\n", output_si((double)view->env_steps / view->seconds),
         format_elapsed(view->seconds), mm_machine_text(&view->machine, machine));
  if (all > 0 && (view->machine.ran & MM_BACKEND_ON_CUDA) == 0)
    printf("time         %.0f %% rollouts, %.0f %% updates, %.0f %% %s values\n",
           100 * o->rollout / all, 100 * o->update / all, 100 * o->value / all,
           mm_settings_learner(&view->plan->settings)->exact ? "exact" : "estimated");
}

static void put_text(const outcome *o) {
  const mm_train_plan *plan = o->view->plan;
  char map[MAP_LABEL_SIZE], done[32] = "";
  if (o->n_done < o->n) snprintf(done, sizeof done, "%zu of ", o->n_done);
  printf("%s, %s", output_plain(plan->env), mm_algo_name(plan->settings.algo));
  if (mm_algo_has_map(plan->settings.algo))
    printf(", map %s", output_plain(map_label(plan->map, map)));
  printf(": %s%zu run%s of %s steps\n", done, o->n, o->n == 1 ? "" : "s",
         output_si(mm_settings_steps(&plan->settings)));
  if (o->n_done > 0) put_values(o);
  put_samples(o);
  put_speed(o);
  if (o->view->policy[0] != '\0')
    printf("policy       %s\n", output_plain(o->view->policy));
  else if (o->view->folder != NULL)
    printf("run          %s\n", output_plain(o->view->folder));
}

static int train_report(const mm_train_view *view, const char *state, bool json) {
  outcome o;
  int code = EXIT_DONE;
  mm_status status = summarise(view, &o);
  if (status != MM_OK)
    code = fail_status(status);
  else if (json)
    code = put_json(&o, state);
  else
    put_text(&o);
  mm_curve_release(o.curve);
  return code;
}

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

// Runs of networks take their time and leave a policy, so they are always stored; those of tables
// take milliseconds.
static int create(const train_args *args, const mm_train_plan *plan, const mm_map *map,
                  mm_train **out) {
  run_folder where = { 0 };
  mm_status status = MM_OK;
  const bool kept = args->out != NULL || mm_settings_learner(&plan->settings)->networks;
  if (!kept && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  if (kept) status = study_folder_for("train", plan->env, args->out, &where);
  if (status == MM_OK) status = mm_train_create(where.path, plan, map, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&where, status);
}

static int check_usage(const train_args *args) {
  if (args->env == NULL) return fail_usage("option '--env' is required (or --resume RUN)");
  if (run_argument_map(args->map, args->algo) == NULL)
    return fail_usage("option '--map' is required (or --resume RUN)");
  return run_argument_check_seeds(args->seed, args->seeds);
}

// The map belongs to the caller and must outlive the training runs.
static int begin(const train_args *args, mm_map **map, mm_train **out) {
  mm_env *env = NULL;
  TRY(check_usage(args));
  mm_train_plan *plan = memory_alloc(1, sizeof *plan);
  int code = make_plan(args, &env, plan);
  if (code == EXIT_DONE) code = map_argument_open(run_argument_map(args->map, args->algo), map);
  if (code == EXIT_DONE) study_map_eta(&args->settings, plan->map, *map, &plan->settings);
  if (code == EXIT_DONE) code = create(args, plan, *map, out);
  free(plan);
  mm_env_destroy(env);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Resuming

static int resume(const train_args *args, mm_train **out) {
  static const char *const fixed[] = {
    "env", "map", "algo", "seeds", "seed", "out", "preset", NULL
  };
  TRY(run_argument_refuse(&command_train, &args->settings, "run", fixed));
  TRY(status_code(mm_train_resume(args->resume, out)));
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
    note("%s: resumed, %zu of %zu runs are done", view.folder, view.n_done, n);
  else
    note("%s: %zu run%s of %s steps, checkpointed", view.folder, n, n == 1 ? "" : "s",
         output_si(mm_settings_steps(&view.plan->settings)));
}

// ---------------------------------------------------------------------------------------------
// Training

// Of one run its iterations, of several how many are done.
static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char detail[96];
  mm_train_view view;
  interrupt_check_time();
  study_warn(mm_train_study(user));
  mm_train_look(user, &view);
  const mm_settings *settings = &view.plan->settings;
  const double iterations = mm_settings_iterations(settings), steps = mm_settings_steps(settings);
  if (total == 1)
    snprintf(detail, sizeof detail, "iteration %.0f/%.0f",
             floor((double)env_steps / steps * iterations), iterations);
  else
    snprintf(detail, sizeof detail, "run %zu/%zu", done, total);
  progress_update((double)env_steps, detail);
}

static mm_status train(const train_args *args, mm_train *t) {
  mm_train_view view;
  mm_train_look(t, &view);
  mm_backend_config backend = backend_config(&args->on, show_progress, t);
  interrupt_after(args->max_seconds);
  progress_begin("train", (double)view.plan->seeds * mm_settings_steps(&view.plan->settings),
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
    warn("%zu of %zu runs diverged and count with their last finite policy; seed %" PRIu64 ": %s",
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
  .summary = "train agents and report their final return",
  .about =
      "A seed fixes the instance of the environment and all random numbers of its run, so the same "
      "seeds give the same numbers on any number of threads. The final return is the mean over the "
      "seeds, with its standard error.\n\nRuns of ampo and ppo have a folder (run.db), in which "
      "finished seeds are stored and unfinished ones checkpointed, and at the end the networks "
      "(policy.safetensors). Such a run can be stopped at any moment, also by a crash, and resumes "
      "bit-identically with --resume. Runs of pmd have one only with --out.",
  .examples =
      "mirrormap train --env GridWorld-dense --map l2 --seeds 256\nmirrormap train --env "
      "GridWorld-all --map negentropy --set curve=exact --json\nmirrormap train --env "
      "Asterix-MinAtar --map l2 --seeds 8 --max-seconds 3600\nmirrormap train --resume "
      "runs/train-Asterix-MinAtar-1\nmirrormap train --env CartPole-v1 --algo ppo --seeds 8",
  .options = train_options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .args_size = sizeof(train_args),
  .run = run,
};
