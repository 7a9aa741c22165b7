// SPDX-License-Identifier: Apache-2.0
// `map check`: is a map a valid potential, and if not, what fails?

#include <stdio.h>

#include "base/json.h"
#include "cli/argument/map_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

static cJSON *lines(const char text[][200], int n) {
  cJSON *array = cJSON_CreateArray();
  for (int i = 0; i < n; i++)
    cJSON_AddItemToArray(array, cJSON_CreateString(text[i]));
  return array;
}

static cJSON *describe(const char *name, const mm_map_report *report) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "map", name);
  cJSON_AddBoolToObject(object, "valid", report->valid);
  cJSON_AddItemToObject(object, "failures", lines(report->failure, report->n_failure));
  cJSON_AddItemToObject(object, "warnings", lines(report->warning, report->n_warning));
  return object;
}

static int check_json(const map_list *maps) {
  mm_map_report report;
  if (maps->n == 1) {
    mm_map_check(maps->map[0], &report);
    return output_json(describe(maps->name[0], &report), report.valid ? EXIT_DONE : EXIT_FAILED);
  }
  bool valid = true;
  cJSON *array = cJSON_CreateArray(), *failures = cJSON_CreateArray();
  for (size_t i = 0; i < maps->n; i++) {
    mm_map_check(maps->map[i], &report);
    valid = valid && report.valid;
    cJSON_AddItemToArray(array, describe(maps->name[i], &report));
    for (int j = 0; j < report.n_failure; j++) {
      char line[400];
      snprintf(line, sizeof line, "%.190s: %s", maps->name[i], report.failure[j]);
      cJSON_AddItemToArray(failures, cJSON_CreateString(line));
    }
  }
  cJSON *root = cJSON_CreateObject();
  cJSON_AddBoolToObject(root, "valid", valid);
  cJSON_AddItemToObject(root, "failures", failures);
  cJSON_AddItemToObject(root, "maps", array);
  return output_json(root, valid ? EXIT_DONE : EXIT_FAILED);
}

static bool check(const char *name, const mm_map *map) {
  mm_map_report report;
  mm_map_check(map, &report);
  printf("%s: %s\n", output_plain(name),
         report.valid ? output_styled(STYLE_GOOD, "valid")
                      : output_styled(STYLE_BAD, "not a valid potential"));
  for (int i = 0; i < report.n_failure; i++)
    printf("  fails: %s\n", report.failure[i]);
  for (int i = 0; i < report.n_warning; i++)
    printf("  note: %s\n", report.warning[i]);
  return report.valid;
}

static int run(void *raw) {
  const command_args *args = raw;
  map_list maps;
  int code = map_list_open(&args->positional, &maps);
  if (code == EXIT_DONE && args->json) {
    code = check_json(&maps);
  } else if (code == EXIT_DONE) {
    for (size_t i = 0; i < maps.n; i++)
      if (!check(maps.name[i], maps.map[i])) code = EXIT_FAILED;
  }
  map_list_release(&maps);
  return code;
}

const command command_map_check = {
  .name = "check",
  .summary = "is it a valid potential, and if not, why",
  .positional = "MAP...",
  .about =
      "Checks that phi is non-decreasing, that phi^-1 is finite and integrable on (0, 1] and has "
      "its limits. A piecewise map is judged through its continuation phi(x) = 1 + (x - W) beyond "
      "its last knot W. Exit code: 0 valid, 1 not valid, 2 unreadable.",
  .examples = "mirrormap map check learned.json",
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = SIZE_MAX,
  .args_size = sizeof(command_args),
  .run = run,
};
