// `env`: look at environments, play them, check them against recorded traces. Here: `env list`.

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
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

static const char *const list_header[] = { "<environment", "<algo", "<preset", "<summary" };

static int widest(int width, const char *text) {
  int own = (int)strlen(text);
  return own > width ? own : width;
}

// what the columns before the summary leave of the terminal's width
static int summary_room(void) {
  int width[3];
  mm_env_info info;
  for (int i = 0; i < 3; i++)
    width[i] = (int)strlen(list_header[i]) - 1;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    width[0] = widest(width[0], info.id);
    width[1] = widest(width[1], info.algo);
    width[2] = widest(width[2], info.preset);
  }
  int room = terminal_width(stdout) - width[0] - width[1] - width[2] - 6;
  return room > SUMMARY_LEAST ? room : SUMMARY_LEAST;
}

// takes from *rest what fits into `room` characters without breaking a word
static void take_line(const char **rest, int room, char out[200]) {
  int length = (int)strlen(*rest), cut = length;
  if (room > 199) room = 199;
  if (length > room)
    for (cut = room; cut > 0 && (*rest)[cut] != ' '; cut--) {
    }
  if (cut == 0) cut = room; // one long word
  snprintf(out, 200, "%.*s", cut, *rest);
  *rest += cut + ((*rest)[cut] == ' ');
}

static int run_list(void *raw) {
  const command_args *args = raw;
  if (args->json) return list_json();
  table *t = table_create(list_header, 4);
  mm_env_info info;
  char line[200];
  int room = summary_room();
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    const char *rest = info.summary;
    take_line(&rest, room, line);
    table_text(t, info.id);
    table_text(t, info.algo);
    table_text(t, info.preset);
    table_text(t, line);
    while (*rest != '\0') {
      take_line(&rest, room, line);
      for (int empty = 0; empty < 3; empty++)
        table_text(t, "");
      table_text(t, line);
    }
  }
  table_print(t);
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
              "mirrormap env show GridWorld-labyrinth --optimal\n"
              "mirrormap env play GridWorld-dense --seed 3",
  .subcommands = subcommands,
};
