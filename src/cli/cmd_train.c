// `train`: the same job for many seeds, and what came out of them.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/backend.h"
#include "base/isa.h"
#include "cli/backend_argument.h"
#include "cli/env_argument.h"
#include "cli/interrupt.h"
#include "cli/map_argument.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "experiment/estimate.h"

enum { SEEDS_MAX = 1000000 };

typedef struct train_args {
  settings_args settings;
  const char *env, *map, *algo, *backend;
  uint64_t seeds, seed, threads;
} train_args;

static const char *const algo_names[] = { "pmd", "ampo", "ppo", NULL };

static const option train_options[] = {
  { .name = "env",
    .type = OPTION_TEXT,
    .offset = offsetof(train_args, env),
    .metavar = "ID|FILE",
    .help = "the environment, or a task file",
    .required = true },
  { .name = "map",
    .type = OPTION_TEXT,
    .offset = offsetof(train_args, map),
    .metavar = "MAP",
    .help = "the mirror map",
    .required = true },
  { .name = "algo",
    .type = OPTION_CHOICE,
    .offset = offsetof(train_args, algo),
    .choices = algo_names,
    .help = "the algorithm, instead of the environment's own" },
  { .name = "seeds",
    .type = OPTION_COUNT,
    .offset = offsetof(train_args, seeds),
    .metavar = "N",
    .help = "train this many agents",
    .fallback = "1",
    .low = 1,
    .high = SEEDS_MAX },
  { .name = "seed",
    .type = OPTION_COUNT,
    .offset = offsetof(train_args, seed),
    .metavar = "S",
    .help = "seed of the first; the others follow it",
    .fallback = "0" },
  BACKEND_OPTIONS(train_args),
  SETTINGS_PRESET_OPTION,
  { 0 },
};

// ---------------------------------------------------------------------------------------------
// What is known after training

typedef struct outcome {
  size_t n;
  mm_result *result; // [n] in the order of the seeds
  mm_backend_report report;
  double wall_seconds;
  // from the results
  double *final; // [n]
  mm_estimate final_value;
  double optimal_mean;   // of V* over the instances; NaN where it is not known
  mm_curve_point *curve; // [n_curve]
  size_t n_curve;
  uint64_t steps;                // of a run
  uint64_t env_steps;            // of all
  double rollout, update, value; // seconds, all threads together
} outcome;

static mm_status summarise(outcome *o) {
  o->final = memory_take(o->n, sizeof *o->final);
  for (size_t i = 0; i < o->n; i++) {
    const mm_result *r = &o->result[i];
    o->final[i] = r->final_value;
    o->optimal_mean += r->optimal_value / (double)o->n;
    o->env_steps += r->env_steps;
    if (r->env_steps > o->steps) o->steps = r->env_steps;
    o->rollout += r->seconds_rollout;
    o->update += r->seconds_update;
    o->value += r->seconds_value;
  }
  o->final_value = mm_estimate_of(o->final, o->n);
  return mm_estimate_curve(o->result, o->n, &o->curve, &o->n_curve);
}

static void release(outcome *o) {
  for (size_t i = 0; i < o->n; i++)
    mm_result_release(&o->result[i]);
  free(o->result);
  free(o->final);
  mm_free(o->curve);
}

// ---------------------------------------------------------------------------------------------
// Showing it

static void add_curve(cJSON *root, const outcome *o) {
  cJSON *array = cJSON_AddArrayToObject(root, "curve");
  for (size_t k = 0; k < o->n_curve; k++) {
    cJSON *object = cJSON_CreateObject();
    output_add_number(object, "step", (double)o->curve[k].step);
    output_add_number(object, "mean", o->curve[k].value.mean);
    output_add_defined(object, "sem", o->curve[k].value.sem);
    cJSON_AddItemToArray(array, object);
  }
}

static int put_json(const train_args *args, const mm_settings *settings, const outcome *o) {
  cJSON *root = cJSON_CreateObject();
  char seed[24];
  snprintf(seed, sizeof seed, "%" PRIu64, args->seed); // a double would round large ones
  cJSON_AddStringToObject(root, "env", args->env);
  cJSON_AddStringToObject(root, "algo", mm_algo_name(settings->algo));
  cJSON_AddStringToObject(root, "map", args->map);
  cJSON_AddRawToObject(root, "seed", seed);
  output_add_number(root, "seeds", (double)o->n);
  output_add_number(root, "steps", (double)o->steps);
  output_add_number(root, "final_mean", o->final_value.mean);
  output_add_defined(root, "final_sem", o->final_value.sem);
  output_add_numbers(root, "finals", o->final, o->n);
  output_add_defined(root, "optimal_mean", o->optimal_mean);
  add_curve(root, o);
  output_add_number(root, "numeric_failures", (double)o->report.n_numeric);
  output_add_number(root, "env_steps_per_second", (double)o->env_steps / o->wall_seconds);
  output_add_number(root, "wall_seconds", o->wall_seconds);
  cJSON *seconds = cJSON_AddObjectToObject(root, "thread_seconds");
  output_add_number(seconds, "rollout", o->rollout);
  output_add_number(seconds, "update", o->update);
  output_add_number(seconds, "value", o->value);
  cJSON_AddStringToObject(root, "backend", "cpu");
  output_add_number(root, "threads", o->report.threads);
  cJSON_AddStringToObject(root, "isa", mm_isa_name());
  cJSON_AddItemToObject(root, "settings", mm_settings_json(settings));
  return output_json(root, EXIT_DONE);
}

enum { SPARKS = 48 };

// Each character shows the mean of its share of the curve, from the least to the greatest of these.
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
    int level = high > low ? (int)lround(7 * (height[i] - low) / (high - low)) : 0;
    if (terminal_unicode())
      printf("\xe2\x96%c", 0x81 + level); // U+2581 .. U+2588: one to eight eighths
    else
      fputc("_.,-=+*#"[level], stdout);
  }
}

static void put_curve(const outcome *o) {
  char first[OUTPUT_NUMBER_SIZE], last[OUTPUT_NUMBER_SIZE];
  if (o->n_curve < 2) return;
  fputs("curve        ", stdout);
  put_sparkline(o);
  printf("  from %s to %s\n", output_number(o->curve[0].value.mean, first),
         output_number(o->curve[o->n_curve - 1].value.mean, last));
}

static void put_text(const train_args *args, const mm_settings *settings, const outcome *o) {
  char number[OUTPUT_NUMBER_SIZE], map[MAP_LABEL_SIZE];
  const char *plural = o->n == 1 ? "" : "s";
  printf("%s, %s, map %s: %zu run%s of %" PRIu64 " steps\n", args->env,
         mm_algo_name(settings->algo), map_label(args->map, map), o->n, plural, o->steps);
  printf("final value  %s%s%s", terminal_style(stdout, STYLE_BOLD),
         output_number(o->final_value.mean, number), terminal_style(stdout, STYLE_PLAIN));
  if (!isnan(o->final_value.sem))
    printf(" %s %s (standard error)", terminal_unicode() ? "\u00b1" : "+-",
           output_number(o->final_value.sem, number));
  fputc('\n', stdout);
  if (o->optimal_mean > 0) // a share of nothing says nothing
    printf("optimum      %s on average: %.1f %% of it reached\n",
           output_number(o->optimal_mean, number), 100 * o->final_value.mean / o->optimal_mean);
  put_curve(o);
  printf("speed        %.3g million steps/s: %.3g s on %d thread%s, %s\n",
         1e-6 * (double)o->env_steps / o->wall_seconds, o->wall_seconds, o->report.threads,
         o->report.threads == 1 ? "" : "s", mm_isa_name());
  double all = o->rollout + o->update + o->value;
  if (all > 0)
    printf("time         %.0f %% rollouts, %.0f %% updates, %.0f %% %s values\n",
           100 * o->rollout / all, 100 * o->update / all, 100 * o->value / all,
           settings->algo == MM_ALGO_PMD ? "exact" : "estimated");
}

// ---------------------------------------------------------------------------------------------
// Training

static void show_progress(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)done, (void)total, (void)user;
  progress_update((double)env_steps, NULL);
}

// A single seed's failure names it; what fails for all of them has nothing to do with seeds.
static int report_failure(const train_args *args, const outcome *o) {
  const mm_backend_report *r = &o->report;
  mm_status status = o->result[r->trouble].status;
  int code = status == MM_ERR_INPUT ? EXIT_USAGE : EXIT_FAILED;
  if (r->n_failed == o->n) return fail(code, "%s", r->error);
  return fail(code, "%zu of %zu runs failed; seed %" PRIu64 ": %s", r->n_failed, o->n,
              args->seed + r->trouble, r->error);
}

static int train(const train_args *args, const mm_env *env, const mm_map *map,
                 const mm_settings *settings, outcome *o) {
  mm_job *jobs = memory_take(o->n, sizeof *jobs);
  for (size_t i = 0; i < o->n; i++) {
    jobs[i] = (mm_job){ .env = env, .map = map, .seed = args->seed + i };
    mm_settings_bind(settings, &jobs[i]);
  }
  mm_backend_config config = { .threads = (int)args->threads,
                               .stop = interrupt_watch(),
                               .progress = show_progress,
                               .report = &o->report };
  struct timespec start, end;
  progress_begin("train", (double)o->n * mm_settings_steps(settings), "steps");
  clock_gettime(CLOCK_MONOTONIC, &start);
  mm_status status = mm_backend_run(&config, jobs, o->n, o->result);
  clock_gettime(CLOCK_MONOTONIC, &end);
  progress_end();
  free(jobs);
  o->wall_seconds =
      (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  if (status == MM_ERR_INTERRUPTED)
    return fail(INTERRUPT_EXIT, "interrupted after %zu of %zu runs", o->report.n_done, o->n);
  if (status != MM_OK) return fail_status(status);
  if (o->report.n_failed > 0) return report_failure(args, o);
  if (o->report.n_numeric > 0)
    warn("%zu of %zu runs broke down and count with their last finite policy; seed %" PRIu64 ": %s",
         o->report.n_numeric, o->n, args->seed + o->report.trouble, o->report.error);
  return EXIT_DONE;
}

static int train_and_show(const train_args *args, const mm_env *env, const mm_map *map,
                          const mm_settings *settings) {
  outcome o = { .n = (size_t)args->seeds };
  o.result = memory_take(o.n, sizeof *o.result);
  int code = train(args, env, map, settings, &o);
  if (code == EXIT_DONE) {
    mm_status status = summarise(&o);
    if (status != MM_OK)
      code = fail_status(status);
    else if (args->settings.common.json)
      code = put_json(args, settings, &o);
    else
      put_text(args, settings, &o);
  }
  release(&o);
  return code;
}

static int run(void *raw) {
  const train_args *args = raw;
  if (backend_check(args->backend) != EXIT_DONE) return EXIT_FAILED;
  if (args->seed > UINT64_MAX - (args->seeds - 1))
    return fail_usage("option '--seed': %" PRIu64 " leaves no room for %" PRIu64 " seeds",
                      args->seed, args->seeds);
  mm_env *env = NULL;
  mm_map *map = NULL;
  mm_algo algo = MM_ALGO_PMD;
  mm_settings settings;
  mm_status status = mm_env_open(args->env, &env);
  if (status != MM_OK) return fail_status(status);
  int code = env_argument_algo(args->algo, env, args->env, &algo);
  if (code == EXIT_DONE)
    code = settings_resolve(&args->settings, algo, env_argument_preset(env), &settings);
  if (code == EXIT_DONE) code = map_argument_open(args->map, &map);
  if (code == EXIT_DONE) code = train_and_show(args, env, map, &settings);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return code;
}

const command command_train = {
  .name = "train",
  .summary = "train agents and report their final value",
  .about = "Every seed names an instance of the environment and all random numbers of its run, so "
           "the same seeds give the same numbers on any number of threads. The final value is the "
           "mean over the seeds, with its standard error.",
  .examples = "mirrormap train --env GridWorld-dense --map l2 --seeds 256\n"
              "mirrormap train --env GridWorld-all --map negentropy --set curve=exact --json",
  .options = train_options,
  .settings = settings_options,
  .common = COMMON_JSON | COMMON_ISA,
  .args_size = sizeof(train_args),
  .run = run,
};
