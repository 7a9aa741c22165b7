// SPDX-License-Identifier: Apache-2.0
// Presets: settings in a YAML file, `key: value` lines and `algo: NAME`.

#ifndef MM_EXPERIMENT_PRESET_H
#define MM_EXPERIMENT_PRESET_H

#include "base/data_folder.h"
#include "study/settings/settings.h"

// By the name of one that comes with the program ("gridworld") or by the path of a file (text with
// a '/' or ending in .yaml or .yml). What the preset does not mention keeps the value it has in
// `settings`; a preset for another algorithm than theirs is refused. All mistakes are MM_ERR_INPUT
// and leave the settings as they were.
mm_status mm_preset_apply(const char *text, mm_settings *settings);

// The presets that come with the program, by their names in order: fills at most `most`, returns
// how many.
typedef struct mm_preset_info {
  char name[MM_DATA_NAME_SIZE], path[MM_DATA_PATH_SIZE];
  char algo[16];   // "" where the file does not say
  char about[400]; // the first sentence of the file's comment
} mm_preset_info;
size_t mm_preset_list(mm_preset_info *out, size_t most);

// A preset, named as for mm_preset_apply, and the text of its file (mm_free).
mm_status mm_preset_read(const char *text, mm_preset_info *info, char **out);

#endif
