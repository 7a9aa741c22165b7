// SPDX-License-Identifier: Apache-2.0
// `train`: the same job for many seeds, and what came out of them; resumable at any moment.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/argument/map_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/study/study_command.h"

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
  OPTION(COUNT, "seeds", seeds, "N", "train this many agents", .low = 1, .high = MM_STUDY_SEEDS_MAX,
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

enum { SPARKS = 48 };

// Each character shows the mean of its share of the curve, from the least to the greatest of these;
// a blank where there is none.
static void put_sparkline(const mm_study_training *o) {
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

static void put_curve(const mm_study_training *o) {
  size_t begin = 0; // where all runs have a value
  while (begin < o->n_curve && isnan(o->curve[begin].value.mean))
    begin++;
  if (begin + 2 > o->n_curve) return;
  fputs("curve        ", stdout);
  put_sparkline(o);
  printf("  from %.4g to %.4g\n", o->curve[begin].value.mean, o->curve[o->n_curve - 1].value.mean);
}

static void put_values(const mm_study_training *o, const mm_settings *settings) {
  char text[MM_SETTING_TEXT_SIZE];
  const char *target = mm_settings_text(settings, "target", text);
  printf("final return %s%s%s%s", terminal_style(stdout, STYLE_BOLD),
         output_estimate(o->final, false), terminal_style(stdout, STYLE_PLAIN),
         isnan(o->final.sem) ? "" : " (standard error)");
  if (o->unfinished > 0) printf(" (%zu of %zu runs finished no episode)", o->unfinished, o->n_done);
  fputc('\n', stdout);
  if (!isnan(o->recent.mean))
    printf("recent       %s over the episodes of the last tenth%s%s%s\n",
           output_rounded(o->recent.mean, output_decimals(o->recent.sem), false),
           target[0] != '\0' ? " (target=" : "", target, target[0] != '\0' ? ")" : "");
  else if (!mm_algo_is_tabular(mm_settings_algo(settings)))
    puts("recent       unknown: an agent ended no episode in the last tenth");
  if (o->optimal > 0) // a share of nothing says nothing
    printf("optimum      %.4g on average: %.1f %% of it reached\n", o->optimal,
           100 * o->final.mean / o->optimal);
  put_curve(o);
}

// What a reader should wonder about is named only where it happened.
static void put_samples(const mm_study_training *o) {
  const double *sum = o->measure;
  if (!isfinite(o->least_ess)) return;
  printf("samples      at least %.3g %% effective", 100 * o->least_ess);
  if (sum[MM_MEASURE_CLAMPED] > 0) printf(", %.0f clamped", sum[MM_MEASURE_CLAMPED]);
  if (sum[MM_MEASURE_CAPPED] > 0) printf(", %.0f capped", sum[MM_MEASURE_CAPPED]);
  if (sum[MM_MEASURE_NONFINITE] > 0) printf(", %.0f not finite", sum[MM_MEASURE_NONFINITE]);
  if (sum[MM_MEASURE_UNSTABLE] > 0)
    printf("; the physics diverged %.0f times", sum[MM_MEASURE_UNSTABLE]);
  fputc('\n', stdout);
}

static void put_speed(const mm_study *study, const mm_study_training *o,
                      const mm_settings *settings) {
  const double all = o->rollout + o->update + o->value;
  char machine[MM_STUDY_MACHINE_TEXT];
  mm_study_progress now;
  mm_study_look(study, &now);
  if (now.env_steps == 0) return; // nothing was left to be done
  printf("speed        %s steps/s: %s on %s\n", output_si((double)now.env_steps / now.seconds),
         format_elapsed(now.seconds), mm_study_machine_text(study, machine));
  if (all > 0 && !study_info(study).on_devices)
    printf("time         %.0f %% rollouts, %.0f %% updates, %.0f %% %s values\n",
           100 * o->rollout / all, 100 * o->update / all, 100 * o->value / all,
           mm_algo_is_tabular(mm_settings_algo(settings)) ? "exact" : "estimated");
}

static void put_text(const mm_study *study, const mm_study_training *o) {
  const mm_study_info info = study_info(study);
  const mm_study_env_info env = study_env_info(study, 0);
  const mm_algo algo = mm_settings_algo(env.settings);
  char map[MAP_LABEL_SIZE], done[32] = "";
  if (o->n_done < info.seeds) snprintf(done, sizeof done, "%zu of ", o->n_done);
  printf("%s, %s", output_plain(env.name), mm_algo_name(algo));
  if (mm_algo_has_map(algo))
    printf(", map %s", output_plain(map_label(study_map_info(study, 0).name, map)));
  printf(": %s%zu run%s of %s steps\n", done, info.seeds, info.seeds == 1 ? "" : "s",
         output_si(mm_settings_steps(env.settings)));
  if (o->n_done > 0) put_values(o, env.settings);
  put_samples(o);
  put_speed(study, o, env.settings);
  if (info.policy[0] != '\0')
    printf("policy       %s\n", output_plain(info.policy));
  else if (mm_study_folder(study) != NULL)
    printf("run          %s\n", output_plain(mm_study_folder(study)));
}

static int train_report(mm_study *study, bool json) {
  mm_study_training all = { .size = sizeof all };
  if (json) return study_json(study);
  TRY(status_code(mm_study_look_training(study, &all)));
  put_text(study, &all);
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// Beginning

// Runs of networks take their time and leave a policy, so they are always stored; those of tables
// take milliseconds.
static int create(const train_args *args, const mm_study_config *config,
                  const mm_settings *settings, mm_study **out) {
  run_folder where = { 0 };
  mm_status status = MM_OK;
  const bool kept = args->out != NULL || mm_algo_has_networks(mm_settings_algo(settings));
  if (!kept && args->max_seconds > 0)
    return fail_usage("option '--max-seconds' needs --out: nothing could be resumed without it");
  if (kept) status = study_folder_for("train", args->env, args->out, &where);
  if (status == MM_OK) status = mm_study_create(where.path, config, out);
  return status == MM_OK ? EXIT_DONE : run_argument_fail(&where, status);
}

static int check_usage(const train_args *args) {
  if (args->env == NULL) return fail_usage("option '--env' is required (or --resume RUN)");
  if (run_argument_map(args->map, args->algo) == NULL)
    return fail_usage("option '--map' is required (or --resume RUN)");
  return run_argument_check_seeds(args->seed, args->seeds);
}

// What is wrong with the arguments is said by their names, then the study is made of the same.
static int begin_with(const train_args *args, mm_settings *settings, mm_env **env, mm_map **map,
                      mm_study **out) {
  const char *const name = run_argument_map(args->map, args->algo);
  name_list set = { 0 };
  TRY(study_env(&args->settings, args->algo, args->env, env, settings));
  TRY(settings_check_env(&args->settings, args->env));
  TRY(backend_check(&args->on.place, *env, settings));
  TRY(run_argument_check_name("env", args->env));
  TRY(run_argument_check_name("map", name));
  env_argument_warn(*env, settings);
  TRY(map_argument_open(name, map));
  study_map_eta(&args->settings, name, *map, settings);
  settings_texts(&args->settings, &set);
  mm_study_config config = mm_study_config_default(MM_STUDY_TRAIN);
  config.env = &args->env, config.n_env = 1;
  config.map = &name, config.n_map = 1;
  config.open_map = (const mm_map *const *)map;
  config.algo = args->algo;
  config.argv = command_argv;
  config.preset = args->settings.preset;
  config.set = (const char *const *)set.name, config.n_set = set.n;
  config.seed = args->seed;
  config.seeds = (size_t)args->seeds;
  const int code = create(args, &config, settings, out);
  name_list_release(&set);
  return code;
}

static int begin(const train_args *args, mm_study **out) {
  mm_settings *settings;
  mm_env *env = NULL;
  mm_map *map = NULL;
  TRY(check_usage(args));
  TRY(status_code(mm_settings_create(MM_ALGO_PMD, &settings)));
  const int code = begin_with(args, settings, &env, &map, out);
  mm_env_destroy(env);
  mm_map_destroy(map);
  mm_settings_destroy(settings);
  return code;
}

// ---------------------------------------------------------------------------------------------
// Resuming

static int resume(const train_args *args, mm_study **out) {
  static const char *const fixed[] = {
    "env", "map", "algo", "seeds", "seed", "out", "preset", NULL
  };
  TRY(run_argument_refuse(&command_train, &args->settings, "run", fixed));
  TRY(study_resume(args->resume, MM_STUDY_TRAIN, out));
  const mm_study_env_info env = study_env_info(*out, 0);
  return backend_check(&args->on.place, env.env, env.settings);
}

static void note_start(const mm_study *study) {
  const mm_study_info info = study_info(study);
  const char *folder = mm_study_folder(study);
  mm_study_progress now;
  mm_study_look(study, &now);
  if (folder == NULL || info.complete) return;
  if (now.done > 0)
    note("%s: resumed, %.0f of %zu runs are done", folder, now.done, info.seeds);
  else
    note("%s: %zu run%s of %s steps, checkpointed", folder, info.seeds, info.seeds == 1 ? "" : "s",
         output_si(mm_settings_steps(study_env_info(study, 0).settings)));
}

// ---------------------------------------------------------------------------------------------
// Training

// Of one run its iterations, of several how many are done.
static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  char detail[96];
  interrupt_check_time();
  study_warn(user);
  const mm_settings *settings = study_env_info(user, 0).settings;
  const double iterations = mm_settings_iterations(settings), steps = mm_settings_steps(settings);
  if (total == 1)
    snprintf(detail, sizeof detail, "iteration %.0f/%.0f",
             floor((double)env_steps / steps * iterations), iterations);
  else
    snprintf(detail, sizeof detail, "run %zu/%zu", done, total);
  progress_update((double)env_steps, detail);
}

static mm_status train(const train_args *args, mm_study *study) {
  mm_study_machine machine = backend_machine(&args->on, show_progress, study);
  machine.save_seconds = args->save_seconds;
  interrupt_after(args->max_seconds);
  progress_begin("train", study_info(study).steps, "steps");
  mm_status status = mm_study_advance(study, &machine);
  progress_end();
  return status;
}

// A single seed's failure names it; what fails for all of them has nothing to do with seeds.
static int report_failure(const train_args *args, const mm_study *study,
                          const mm_study_failures *f) {
  char hint[RUN_HINT_SIZE] = "";
  const char *error = f->error[0] != '\0' ? f->error : mm_status_text(f->status);
  int code = exit_code_of(f->status);
  if (backend_hint(&args->on.place, f->status)[0] != '\0')
    run_argument_hint("train", mm_study_folder(study), &args->on.place, f->status, hint);
  if (f->n_failed == f->n) return fail(code, "%s%s", error, hint);
  return fail(code, "%zu of %zu runs failed; seed %" PRIu64 ": %s%s", f->n_failed, f->n, f->seed,
              error, hint);
}

static int warn_of_runs(mm_study *study, const mm_study_failures *f) {
  const mm_study_info info = study_info(study);
  mm_study_training all = { .size = sizeof all };
  TRY(status_code(mm_study_look_training(study, &all)));
  if (f->n_numeric > 0)
    warn("%zu of %zu runs diverged and count with their last finite policy; seed %" PRIu64 ": %s",
         f->n_numeric, f->n, f->seed,
         f->error[0] != '\0' ? f->error : mm_status_text(MM_ERR_NUMERIC));
  if (all.unfinished > 0)
    warn("%zu of %zu runs finished no episode in %.0f steps: they have no return", all.unfinished,
         f->n, mm_settings_steps(study_env_info(study, 0).settings));
  if (info.no_policy[0] != '\0') warn("no policy.safetensors: %s", info.no_policy);
  return EXIT_DONE;
}

static int finish(const train_args *args, mm_study *study, mm_status status) {
  study_end end;
  mm_study_failures failures = { .size = sizeof failures };
  const bool holes = status == MM_OK && !study_info(study).complete;
  study_finish(&command_train, study, &args->on.place, status, holes ? "failed" : NULL, &end);
  (void)mm_study_count_failures(study, &failures);
  if (status == MM_ERR_INTERRUPTED) {
    int code = study_stopped(&end, "after %zu of %zu runs", failures.n_done, failures.n);
    if (code != EXIT_DONE) return code;
  } else if (status != MM_OK) {
    return study_failed(&end);
  } else if (failures.n_failed > 0) {
    return report_failure(args, study, &failures);
  } else {
    TRY(warn_of_runs(study, &failures));
  }
  return train_report(study, args->settings.common.json);
}

static int run(void *raw) {
  train_args *args = raw;
  mm_study *study = NULL;
  int code = study_begin(&args->on);
  if (code == EXIT_DONE) code = args->resume != NULL ? resume(args, &study) : begin(args, &study);
  if (code == EXIT_DONE) {
    note_start(study);
    code = finish(args, study, train(args, study));
  }
  mm_study_close(study);
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
