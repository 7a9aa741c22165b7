// Presets: settings in a YAML file, `key: value` lines and `algo: NAME`.

#ifndef MM_EXPERIMENT_PRESET_H
#define MM_EXPERIMENT_PRESET_H

#include "study/settings/settings.h"

// By the name of one that comes with the program ("gridworld") or by the path of a file (text with
// a '/' or ending in .yaml or .yml). What the preset does not mention keeps the value it has in
// `settings`; a preset for another algorithm than theirs is refused. All mistakes are MM_ERR_INPUT
// and leave the settings as they were.
mm_status mm_preset_apply(const char *text, mm_settings *settings);

#endif
