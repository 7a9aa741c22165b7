// `bench`: speed of the parts beside what the machine allows.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "experiment/bench.h"

typedef struct bench {
  const char *name;
  mm_status (*run)(mm_bench_results *results, mm_bench_progress *progress, void *user);
} bench;

// Gradient steps by themselves, then whole trainings.
static mm_status bench_ampo(mm_bench_results *results, mm_bench_progress *progress, void *user) {
  mm_status status = mm_bench_ampo(results, progress, user);
  return status == MM_OK ? mm_bench_training(results, progress, user) : status;
}

static const bench benches[] = {
  { "map", mm_bench_map }, { "gridworld", mm_bench_gridworld },
  { "env", mm_bench_env }, { "learn", mm_bench_learn },
  { "ampo", bench_ampo },
};
enum { BENCH_COUNT = sizeof benches / sizeof benches[0] };

// Nearness to the limit, 1 at it. For times the limit is the least, for rates the most.
static double fraction(const mm_bench_result *result) {
  bool rate = strstr(result->unit, "/s") != NULL;
  return rate ? result->value / result->limit : result->limit / result->value;
}

static void show_progress(const char *name, void *user) {
  double *done = user;
  progress_update(++*done, name);
}

static int put_json(const mm_bench_results *results) {
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
  cJSON_AddStringToObject(root, "version", mm_version());
  return output_json(root, EXIT_DONE);
}

static void put_table(const mm_bench_results *results) {
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
}

static bool wanted(const option_texts *names, const char *name) {
  for (size_t i = 0; i < names->n; i++)
    if (strcmp(names->value[i], name) == 0) return true;
  return names->n == 0;
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

static int run(void *raw) {
  const command_args *args = raw;
  int code = check_names(&args->positional);
  if (code != EXIT_DONE) return code;
  mm_bench_results results = { 0 };
  mm_status status = MM_OK;
  double done = 0;
  progress_begin("bench", 0, "measured");
  for (size_t i = 0; i < BENCH_COUNT && status == MM_OK; i++)
    if (wanted(&args->positional, benches[i].name))
      status = benches[i].run(&results, show_progress, &done);
  progress_end();
  if (status != MM_OK)
    code = fail_status(status);
  else if (args->json)
    code = put_json(&results);
  else
    put_table(&results);
  mm_bench_free(&results);
  return code;
}

const command command_bench = {
  .name = "bench",
  .summary = "speed of the parts beside the machine's own limit",
  .positional = "[NAME...]",
  .about =
      "NAME is map, gridworld, env, learn or ampo; all without one. Each line gives a figure, the "
      "machine's own limit for it where there is one, measured in the same run, and how near "
      "the two are. The reference of env is gymnax on an A100 with 2000 environments, as "
      "published (for MinAtar the fastest game).",
  .examples = "mirrormap bench map\n"
              "mirrormap bench map --isa avx2 --json\n"
              "mirrormap bench gridworld learn",
  .common = COMMON_JSON | COMMON_ISA,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(command_args),
  .run = run,
};
