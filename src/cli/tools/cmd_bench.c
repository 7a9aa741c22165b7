// `bench`: speed of the parts beside what the machine allows.

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

typedef mm_status bench_function(mm_bench_results *results, mm_bench_progress *progress,
                                 void *user);

// On the processor, and on a device where there is something to measure.
typedef struct bench {
  const char *name;
  bench_function *cpu, *cuda;
} bench;

// Gradient steps by themselves, then whole trainings.
static mm_status bench_ampo(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_status status = mm_bench_ampo(results, progress, user);
  return status == MM_OK ? mm_bench_training(results, progress, user) : status;
}

// Where --figure says, if it does; only the benchmark that makes one looks at it.
static const char *figure;

static mm_status bench_mpi(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  return mm_bench_mpi(results, progress, user, figure);
}

// `cuda` among the names stands for --backend cuda; `mpi` is measured only when it is named.
static const bench benches[] = {
  { "map", mm_bench_map, NULL },
  { "gridworld", mm_bench_gridworld, mm_bench_cuda_gridworld },
  { "env", mm_bench_env, NULL },
  { "physics", mm_bench_physics, mm_bench_cuda_physics },
  { "learn", mm_bench_learn, mm_bench_cuda_learn },
  { "ampo", bench_ampo, mm_bench_cuda_ampo },
  { "gaussian", mm_bench_gaussian, NULL },
  { "mpi", bench_mpi, NULL },
  { "cuda", NULL, NULL },
};
enum { BENCH_COUNT = sizeof benches / sizeof benches[0], BENCH_MPI = BENCH_COUNT - 2 };

typedef struct bench_args {
  command_args common;
  bool quick;
  const char *backend; // NULL: the processor, and a device where it is named or all are wanted
  const char *figure;
} bench_args;

static const char *const backend_choices[] = { "cpu", "cuda", NULL };

#define ARGS bench_args

static const option bench_options[] = {
  OPTION(CHOICE, "backend", backend, NULL,
         "what to measure (default: the processor; without a NAME also the first CUDA device, "
         "if there is one)",
         .choices = backend_choices),
  OPTION(FLAG, "quick", quick, NULL,
         "a short look: fewer rounds of the trainings, a search of 16 candidates; figures are "
         "rougher"),
  OPTION(TEXT, "figure", figure, "FILE", "of mpi: draw how it would scale (.svg, .pdf or .png)"),
  { 0 },
};

// Nearness to the limit, 1 at it. For times the limit is the least, for rates the most.
static double fraction(const mm_bench_result *result) {
  bool rate = strstr(result->unit, "/s") != NULL;
  return rate ? result->value / result->limit : result->limit / result->value;
}

static void show_progress(const char *name, void *user) {
  double *done = user;
  progress_update(++*done, name);
}

// The name of the device that was measured.
static const char *device_name(mm_cuda_device *facts) {
  return mm_cuda_describe(0, facts) == MM_OK ? facts->name : "unknown";
}

static int put_json(const mm_bench_results *results, bool cuda) {
  mm_cuda_device facts;
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "results");
  for (size_t i = 0; i < results->n; i++) {
    const mm_bench_result *entry = &results->entry[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", entry->name);
    output_add_number(object, "value", entry->value);
    cJSON_AddStringToObject(object, "unit", entry->unit);
    if (isnan(entry->limit)) {
      cJSON_AddNullToObject(object, "limit");
      cJSON_AddNullToObject(object, "fraction");
    } else {
      output_add_number(object, "limit", entry->limit);
      output_add_number(object, "fraction", fraction(entry));
    }
    if (!isnan(entry->reference)) output_add_number(object, "reference", entry->reference);
    cJSON_AddItemToArray(array, object);
  }
  cJSON_AddStringToObject(root, "isa", mm_isa_name());
  if (cuda) cJSON_AddStringToObject(root, "device", device_name(&facts));
  cJSON_AddStringToObject(root, "version", mm_version());
  return output_json(root, EXIT_DONE);
}

static void put_table(const mm_bench_results *results, bool cuda) {
  mm_cuda_device facts;
  table *t = table_create(
      (const char *const[]){ "<what", "value", "<unit", "limit", "fraction", "reference" }, 6);
  for (size_t i = 0; i < results->n; i++) {
    const mm_bench_result *entry = &results->entry[i];
    char text[32];
    table_text(t, entry->name);
    snprintf(text, sizeof text, "%.4g", entry->value);
    table_text(t, text);
    table_text(t, entry->unit);
    snprintf(text, sizeof text, "%.4g", entry->limit);
    table_text(t, isnan(entry->limit) ? "" : text);
    snprintf(text, sizeof text, "%.3g", fraction(entry));
    table_text(t, isnan(entry->limit) ? "" : text);
    snprintf(text, sizeof text, "%.4g", entry->reference);
    table_text(t, isnan(entry->reference) ? "" : text);
  }
  table_print(t);
  printf("instruction set: %s\n", mm_isa_name());
  if (cuda) printf("CUDA device: %s\n", device_name(&facts));
}

static bool named(const option_texts *names, const char *name) {
  for (size_t i = 0; i < names->n; i++)
    if (strcmp(names->value[i], name) == 0) return true;
  return false;
}

static int check_names(const option_texts *given) {
  const char *names[BENCH_COUNT];
  for (size_t i = 0; i < BENCH_COUNT; i++)
    names[i] = benches[i].name;
  for (size_t i = 0; i < given->n; i++) {
    size_t j = 0;
    while (j < BENCH_COUNT && strcmp(names[j], given->value[i]) != 0)
      j++;
    char near[SUGGESTION_SIZE];
    if (j == BENCH_COUNT)
      return fail_usage("unknown benchmark '%s'%s", given->value[i],
                        options_suggestion(given->value[i], names, BENCH_COUNT, "", near));
  }
  return EXIT_DONE;
}

// What is to be measured where; bit i stands for benches[i].
typedef struct choice {
  unsigned cpu, cuda;
} choice;

static int refuse_backend(const char *name, const char *backend) {
  return fail_usage("benchmark '%s' has nothing to measure with --backend %s", name, backend);
}

static int choose_named(const option_texts *names, const char *backend, choice *out) {
  const bool cuda = backend != NULL && strcmp(backend, "cuda") == 0;
  for (unsigned i = 0; i < BENCH_COUNT; i++) {
    const bench *b = &benches[i];
    if (!named(names, b->name)) continue;
    if (b->cpu == NULL && backend != NULL && !cuda) return refuse_backend(b->name, backend);
    if (cuda && b->cpu != NULL && b->cuda == NULL) return refuse_backend(b->name, backend);
    if (b->cpu == NULL)
      out->cuda = ~0u;
    else if (cuda)
      out->cuda |= 1u << i;
    else
      out->cpu |= 1u << i;
  }
  return EXIT_DONE;
}

static int choose(const bench_args *args, choice *out) {
  const option_texts *names = &args->common.positional;
  int count, code = check_names(names);
  *out = (choice){ 0 };
  if (code != EXIT_DONE) return code;
  if (names->n > 0) return choose_named(names, args->backend, out);
  if (args->backend == NULL || strcmp(args->backend, "cpu") == 0) out->cpu = ~(1u << BENCH_MPI);
  if (args->backend == NULL ? mm_cuda_find(&count) == MM_OK : strcmp(args->backend, "cuda") == 0)
    out->cuda = ~0u;
  return EXIT_DONE;
}

static mm_status measure(const choice *c, mm_bench_results *results) {
  mm_status status = MM_OK;
  double done = 0;
  int count;
  if (c->cuda != 0) status = mm_cuda_find(&count); // before anything else takes its time
  progress_begin("bench", 0, "measured");
  for (unsigned i = 0; i < BENCH_COUNT && status == MM_OK; i++)
    if (benches[i].cpu != NULL && c->cpu >> i & 1)
      status = benches[i].cpu(results, show_progress, &done);
  for (unsigned i = 0; i < BENCH_COUNT && status == MM_OK; i++)
    if (benches[i].cuda != NULL && c->cuda >> i & 1)
      status = benches[i].cuda(results, show_progress, &done);
  progress_end();
  return status;
}

static int run(void *raw) {
  const bench_args *args = raw;
  choice c;
  int code = choose(args, &c);
  if (code != EXIT_DONE) return code;
  figure = args->figure;
  if (figure != NULL && !named(&args->common.positional, "mpi"))
    return fail_usage("option '--figure': only the benchmark 'mpi' makes one");
  mm_bench_results results = { .quick = args->quick };
  mm_status status = measure(&c, &results);
  if (status != MM_OK)
    code = fail_status(status);
  else if (args->common.json)
    code = put_json(&results, c.cuda != 0);
  else
    put_table(&results, c.cuda != 0);
  mm_bench_free(&results);
  return code;
}

const command command_bench = {
  .name = "bench",
  .summary = "speed of the parts beside the machine's own limit",
  .positional = "[NAME...]",
  .about =
      "NAME is map, gridworld, env, physics, learn, ampo or gaussian; all without one; or mpi. "
      "Each line "
      "gives a "
      "figure, the "
      "machine's own limit for it where there is one, measured in the same run, and how near "
      "the two are. The reference of env is gymnax on an A100 with 2000 environments, as "
      "published (for MinAtar the fastest game); that of physics is the MuJoCo library on the same "
      "core in the same run.\n\n"
      "With --backend cuda, or the NAME cuda, gridworld, learn, ampo and physics are measured on "
      "the first CUDA device (CUDA_VISIBLE_DEVICES chooses another): whole trainings by "
      "environment and population, held against its rates of fused multiply-adds and of tensor "
      "cores, with the paper's own stack (JAX) on an H200 and a population of 128 as their "
      "reference; bodies by their number, after the processor's and the library's figures.\n\n"
      "mpi is for several ranks (mpirun): what dealing jobs out costs beside the jobs, and, from "
      "what was measured, at how many threads a model of many ranks falls below 90 % efficiency.",
  .examples = "mirrormap bench map\n"
              "mirrormap bench map --isa avx2 --json\n"
              "mirrormap bench gridworld learn\n"
              "mirrormap bench cuda --json\n"
              "mirrormap bench ampo --backend cuda\n"
              "mpirun -n 2 mirrormap bench mpi --figure scaling.svg",
  .options = bench_options,
  .common = COMMON_JSON | COMMON_ISA,
  .ranks = true,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(bench_args),
  .run = run,
};
