// SPDX-License-Identifier: Apache-2.0
// `env`: look at environments, play them, check them against recorded traces. Here: `env list`.

#include <stdio.h>
#include <string.h>

#include "cli/argument/env_argument.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "mirrormap/env.h"

static int list_json(void) {
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "environments");
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "id", info.id);
    cJSON_AddStringToObject(object, "algo", info.algo);
    cJSON_AddStringToObject(object, "preset", info.preset);
    cJSON_AddStringToObject(object, "summary", info.summary);
    cJSON_AddItemToArray(array, object);
  }
  return output_json(root, EXIT_DONE);
}

enum { SUMMARY_LEAST = 30 };

static int id_width(void) {
  mm_env_info info;
  int width = 0;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    int needed = (int)strlen(info.id);
    if (needed > width) width = needed;
  }
  return width;
}

// Environments that are alike and trained alike stand together: a heading for each such group.
static bool same_group(const mm_env_info *a, const mm_env_info *b) {
  return env_group_of(a->id) == env_group_of(b->id) && strcmp(a->algo, b->algo) == 0 &&
         strcmp(a->preset, b->preset) == 0;
}

static int run_list(void *raw) {
  const command_args *args = raw;
  if (args->json) return list_json();
  mm_env_info info, before;
  int width = id_width(), room = terminal_width(stdout) - width - 2;
  if (room < SUMMARY_LEAST) room = SUMMARY_LEAST;
  for (size_t i = 0; mm_env_list(i, &info); before = info, i++) {
    if (i > 0 && !same_group(&info, &before)) fputc('\n', stdout);
    if (i == 0 || !same_group(&info, &before)) {
      const char *group = output_format("%-*s", width, env_group_names[env_group_of(info.id)]);
      const char *trained = output_format("trained by %s, preset %s", info.algo, info.preset);
      printf("%s  %s\n", output_styled(STYLE_BOLD, group), output_styled(STYLE_BOLD, trained));
    }
    help_wrapped(info.summary, width + 2, printf("%-*s  ", width, info.id), width + 2 + room);
  }
  return EXIT_DONE;
}

const command command_env_list = {
  .name = "list",
  .summary = "all environments, with their default algorithm and preset",
  .about = "A Grid-World task file can be given wherever an ID is.",
  .common = COMMON_JSON,
  .args_size = sizeof(command_args),
  .run = run_list,
};

static const command *const subcommands[] = { ENV_COMMAND_LIST(COMMAND_POINTER) NULL };

const command command_env = {
  .name = "env",
  .summary = "look at environments, play them, check recorded traces",
  .about = "An ID is one of `env list`, or the path of a Grid-World task file (YAML). "
           "GridWorld-<configuration> is a family: each seed and index names one instance of it.",
  .examples = "mirrormap env list\n"
              "mirrormap env show Breakout-MinAtar\n"
              "mirrormap env play CartPole-v1\n"
              "mirrormap env show GridWorld-labyrinth --optimal\n"
              "mirrormap env play GridWorld-dense --seed 3",
  .subcommands = subcommands,
};
