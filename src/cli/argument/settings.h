// SPDX-License-Identifier: Apache-2.0
// --preset and --set for the commands that train.
//
// Such a command's arguments begin with settings_args, its options have SETTINGS_PRESET_OPTION, and
// its table of settings is settings_options; with the keys of a search, search_options.

#ifndef MM_CLI_SETTINGS_H
#define MM_CLI_SETTINGS_H

#include "base/json.h"
#include "cli/argument/name_list.h"
#include "cli/core/command.h"
#include "mirrormap/settings.h"

typedef struct settings_args {
  command_args common;
  const char *preset;
  const char *value[MM_SETTINGS_MAX]; // as given, by the place of the key; NULL where not
} settings_args;

const option *settings_options(void);
const option *search_options(void);

// What --set says of a key, as given; NULL where it does not.
const char *settings_given(const settings_args *args, const char *key);

// clang-format off
#define SETTINGS_PRESET_OPTION                                                                     \
  OPTION_OF(settings_args, TEXT, "preset", preset, "PRESET|FILE",                                  \
            "start from the settings of a preset")
// clang-format on

// The algorithm's own values for environments of that preset, changed by --preset, changed by
// --set. Returns EXIT_DONE, or reports what is wrong and returns its exit code.
int settings_resolve(const settings_args *args, mm_algo algo, const char *preset, mm_settings *out);

// All of --set as "key=value", added to `out` in the order in which settings_resolve sets them.
void settings_texts(const settings_args *args, name_list *out);

// The algorithm's settings, and those of a search, as they stand in JSON.
cJSON *settings_json(const mm_settings *settings);
cJSON *settings_search_json(const mm_settings *settings);

// What the settings of a search say of a key that is no number, fit to be printed; "" for others.
const char *settings_search_text(const mm_settings *settings, const char *key);

// Refuses what --set says of locomotion tasks, of MinAtar or of one environment where this is
// another, and returns the exit code. For one environment: of several, some may heed what others do
// not have.
int settings_check_env(const settings_args *args, const char *id);

#endif
