// SPDX-License-Identifier: Apache-2.0
// `preset`: the presets that come with the program.

#include <string.h>

#include "cli/argument/settings.h"
#include "cli/core/command.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

enum { PRESETS_MAX = 64, NAME_WIDTH = 16 };

static int run_list(void *raw) {
  const command_args *args = raw;
  static mm_preset_info preset[PRESETS_MAX];
  const size_t n = mm_preset_list(preset, PRESETS_MAX);
  cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "presets");
  for (size_t i = 0; i < n && args->json; i++) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", preset[i].name);
    output_add_text(object, "algo", preset[i].algo);
    cJSON_AddStringToObject(object, "about", preset[i].about);
    cJSON_AddItemToArray(array, object);
  }
  if (args->json) return output_json(root, EXIT_DONE);
  cJSON_Delete(root);
  if (n == 0) note("no presets found: $MIRRORMAP_DATA can name the folder they are in");
  for (size_t i = 0; i < n; i++) {
    output_text(output_format("%-*s", NAME_WIDTH, preset[i].name));
    help_wrapped(output_format("%s: %s", preset[i].algo, preset[i].about), NAME_WIDTH, NAME_WIDTH,
                 terminal_width(stdout));
  }
  return EXIT_DONE;
}

// What it makes of the settings of its algorithm.
static int put_json(const mm_preset_info *preset) {
  mm_algo algo;
  if (!mm_algo_find(preset->algo, &algo))
    return fail(EXIT_USAGE, "%s: expected algo: NAME", preset->path);
  mm_settings *settings;
  TRY(status_code(mm_settings_create(algo, &settings)));
  const int code = status_code(mm_preset_apply(preset->path, settings));
  if (code != EXIT_DONE) {
    mm_settings_destroy(settings);
    return code;
  }
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "file", preset->path);
  cJSON_AddStringToObject(root, "algo", preset->algo);
  cJSON_AddItemToObject(root, "settings", settings_json(settings));
  cJSON_AddItemToObject(root, "learn", settings_search_json(settings));
  mm_settings_destroy(settings);
  return output_json(root, EXIT_DONE);
}

static int run_show(void *raw) {
  const command_args *args = raw;
  mm_preset_info preset;
  char *text;
  mm_status status = mm_preset_read(args->positional.value[0], &preset, &text);
  if (status != MM_OK) return fail_reading(status, "");
  int code = EXIT_DONE;
  if (args->json)
    code = put_json(&preset);
  else
    output_text(text);
  mm_settings_text_free(text);
  return code;
}

static const command list = {
  .name = "list",
  .summary = "the presets that come with the program",
  .about =
      "A preset is a file of settings, for --preset of train, learn, transfer and tune. A file "
      "of your own, by its path, does as well.",
  .examples = "mirrormap preset list",
  .common = COMMON_JSON,
  .args_size = sizeof(command_args),
  .run = run_list,
};

static const command show = {
  .name = "show",
  .positional = "NAME|FILE",
  .summary = "the file of a preset",
  .about = "With --json: all settings of its algorithm as the preset makes them, those of a search "
           "apart. What a preset does not mention has its default.",
  .examples = "mirrormap preset show bcs-fast\nmirrormap preset show bcs-fast > my.yaml",
  .common = COMMON_JSON,
  .min_positional = 1,
  .max_positional = 1,
  .args_size = sizeof(command_args),
  .run = run_show,
};

static const command *const subcommands[] = { &list, &show, NULL };

const command command_preset = {
  .name = "preset",
  .summary = "list and show presets",
  .about = "A preset is a file of settings for --preset.",
  .examples = "mirrormap preset list\nmirrormap preset show bcs-fast",
  .subcommands = subcommands,
};
