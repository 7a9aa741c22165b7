// SPDX-License-Identifier: Apache-2.0
// `bench`: speed of the parts against the limits of the machine.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/host/cuda.h"
#include "base/isa.h"
#include "base/json.h"
#include "bench/bench.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

typedef struct bench_args {
  command_args common;
  bool quick;
  const char *backend; // NULL: the CPU, and a device where it is named or all are wanted
  const char *figure;
} bench_args;

static const char *const backend_choices[] = { "cpu", "cuda", NULL };

#define ARGS bench_args

static const option bench_options[] = {
  OPTION(CHOICE, "backend", backend, NULL,
         "what to measure (default: cpu); without either and a NAME also the first CUDA device",
         .choices = backend_choices),
  OPTION(FLAG, "quick", quick, NULL,
         "a short look: fewer rounds of the training runs, a search of 16 candidates; figures are "
         "rougher"),
  OPTION(TEXT, "figure", figure, "FILE", "of mpi: draw how it would scale (.svg, .pdf or .png)"),
  { 0 },
};

// Nearness to the limit, 1 at it. For times the limit is the least, for rates the most.
static double fraction(const mm_bench_result *result) {
  bool rate = strstr(result->unit, "/s") != NULL;
  return rate ? result->value / result->limit : result->limit / result->value;
}

// The name of the device that was measured.
static const char *device_name(mm_cuda_device *facts) {
  return mm_cuda_describe(0, facts) == MM_OK ? facts->name : "unknown";
}

static int put_json(const mm_bench *results, bool cuda) {
  mm_cuda_device facts;
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "results");
  for (size_t i = 0; i < results->n; i++) {
    const mm_bench_result *entry = &results->entry[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", entry->name);
    output_add_number(object, "value", entry->value);
    cJSON_AddStringToObject(object, "unit", entry->unit);
    mm_json_add_defined(object, "limit", entry->limit);
    mm_json_add_defined(object, "fraction", fraction(entry));
    if (!isnan(entry->reference)) output_add_number(object, "reference", entry->reference);
    cJSON_AddItemToArray(array, object);
  }
  cJSON_AddStringToObject(root, "isa", mm_isa_name());
  if (cuda) cJSON_AddStringToObject(root, "device", device_name(&facts));
  cJSON_AddStringToObject(root, "version", mm_version());
  return output_json(root, EXIT_DONE);
}

// Large numbers are those of steps; small ones have units with prefixes of their own.
static void put_measured(table *t, double value) {
  if (isnan(value))
    table_text(t, "");
  else
    table_text(t, fabs(value) < 1e4 ? output_format("%.4g", value) : output_si(value));
}

static int put_table(const mm_bench *results, bool cuda) {
  mm_cuda_device facts;
  table *t = table_create("<what|value|<unit|limit|fraction|reference");
  for (size_t i = 0; i < results->n; i++) {
    const mm_bench_result *entry = &results->entry[i];
    table_text(t, entry->name);
    put_measured(t, entry->value);
    table_text(t, entry->unit);
    put_measured(t, entry->limit);
    table_text(t, isnan(fraction(entry)) ? "" : output_format("%.3g", fraction(entry)));
    put_measured(t, entry->reference);
  }
  table_print(t);
  printf("instruction set: %s\n", mm_isa_name());
  if (cuda) printf("CUDA device: %s\n", device_name(&facts));
  return EXIT_DONE;
}

// ---------------------------------------------------------------------------------------------
// What is to be measured

enum { NAMES_MOST = 16 };

static bool among(const char *const *names, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

static bool named(const bench_args *args, const char *name) {
  return among(args->common.positional.value, args->common.positional.n, name);
}

static bool on_cuda(const bench_args *args) {
  return args->backend != NULL && strcmp(args->backend, "cuda") == 0;
}

// Those of the cases; `cuda` among them stands for --backend cuda.
static size_t list_names(const char *names[NAMES_MOST]) {
  size_t n = 0;
  for (const mm_bench_case *c = mm_bench_cases; c->name != NULL && n < NAMES_MOST - 1; c++)
    if (!among(names, n, c->name)) names[n++] = c->name;
  names[n++] = "cuda";
  return n;
}

// Whether a benchmark has a case for the backend that was asked for.
static bool is_offered(const bench_args *args, const char *name) {
  if (strcmp(name, "cuda") == 0) return args->backend == NULL || on_cuda(args);
  for (const mm_bench_case *c = mm_bench_cases; c->name != NULL; c++)
    if (strcmp(c->name, name) == 0 && (c->place == MM_BENCH_CUDA) == on_cuda(args)) return true;
  return false;
}

static int check_names(const bench_args *args) {
  const char *names[NAMES_MOST];
  const size_t n = list_names(names);
  const option_texts *given = &args->common.positional;
  for (size_t i = 0; i < given->n; i++)
    if (!among(names, n, given->value[i]))
      return fail_usage("unknown benchmark '%s'%s", given->value[i],
                        options_suggestion_or_list(given->value[i], names, n));
  for (size_t i = 0; i < n; i++)
    if (named(args, names[i]) && !is_offered(args, names[i]))
      return fail_usage("benchmark '%s' has nothing to measure with --backend %s", names[i],
                        args->backend);
  return EXIT_DONE;
}

// Ranks are measured only when they are named, a device also where there is one and nothing is.
static bool is_wanted(const bench_args *args, const mm_bench_case *c) {
  const bool cuda = c->place == MM_BENCH_CUDA;
  int count;
  if (args->common.positional.n > 0)
    return (cuda && named(args, "cuda")) || (named(args, c->name) && cuda == on_cuda(args));
  if (!cuda) return !on_cuda(args) && c->place != MM_BENCH_RANKS;
  return args->backend == NULL ? mm_cuda_find(&count) == MM_OK : on_cuda(args);
}

// ---------------------------------------------------------------------------------------------

static void show_progress(const char *name, void *user) {
  double *done = user;
  progress_update(++*done, name);
}

static mm_status measure(const bench_args *args, mm_bench *results, bool *cuda) {
  mm_status status = MM_OK;
  int count;
  *cuda = false;
  for (const mm_bench_case *c = mm_bench_cases; c->name != NULL; c++)
    *cuda = *cuda || (c->place == MM_BENCH_CUDA && is_wanted(args, c));
  if (*cuda) status = mm_cuda_find(&count); // before anything else takes its time
  progress_begin("bench", 0, "measured");
  for (const mm_bench_case *c = mm_bench_cases; c->name != NULL && status == MM_OK; c++)
    if (is_wanted(args, c)) status = mm_bench_run(c, results);
  progress_end();
  return status;
}

static int run(void *raw) {
  const bench_args *args = raw;
  int code = check_names(args);
  if (code != EXIT_DONE) return code;
  if (args->figure != NULL && !named(args, "mpi"))
    return fail_usage("option '--figure': only the benchmark 'mpi' makes one");
  double done = 0;
  bool cuda;
  mm_bench results = {
    .quick = args->quick, .figure = args->figure, .progress = show_progress, .user = &done
  };
  mm_status status = measure(args, &results, &cuda);
  if (status != MM_OK)
    code = fail_status(status);
  else
    code = args->common.json ? put_json(&results, cuda) : put_table(&results, cuda);
  mm_bench_free(&results);
  return code;
}

const command command_bench = {
  .name = "bench",
  .summary = "speed of the parts against the limits of the machine",
  .positional = "[NAME...]",
  .about =
      "NAME is map, gridworld, env, physics, learn, ampo or gaussian; all without one; or mpi. "
      "Each line gives a figure, the machine's own limit for it where there is one, measured in "
      "the same run, and how near the two are. The reference of env is gymnax on an A100 with 2000 "
      "environments, as published (for MinAtar the fastest game); that of physics is the MuJoCo "
      "library on the same core in the same run.\n\nWith --backend cuda, or the NAME cuda, "
      "gridworld, learn, ampo, gaussian and physics are measured on the first CUDA device "
      "(CUDA_VISIBLE_DEVICES chooses another): whole training runs by environment and population, "
      "held against its rates of fused multiply-adds and of tensor cores, with the paper's own "
      "stack (JAX) on an H200 and a population of 128 as their reference; physics by the number of "
      "environments, after the figures of the CPU and of the library.\n\nmpi is for several ranks "
      "(mpirun): what dealing jobs out costs beside the jobs, and, from what was measured, at how "
      "many threads a model of many ranks falls below 90 % efficiency.",
  .examples = "mirrormap bench map\nmirrormap bench map --isa avx2 --json\nmirrormap bench "
              "gridworld learn\nmirrormap bench cuda --json\nmirrormap bench ampo --backend "
              "cuda\nmpirun -n 2 mirrormap bench mpi --figure scaling.svg",
  .options = bench_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(bench_args),
  .run = run,
};
