// SPDX-License-Identifier: Apache-2.0
// Settings by name: what presets and texts like `lr=0.001` say, for jobs.
//
//   mm_settings *settings;
//   mm_settings_create(MM_ALGO_AMPO, &settings);
//   mm_settings_fit(settings, "minatar");                    as mm_env_info.preset says
//   mm_preset_apply("my-preset.yaml", settings);
//   mm_settings_set(settings, "lr", "0.001");
//   mm_job job = { .env = env, .map = map };
//   mm_settings_bind(settings, &job);                        its algorithm and config
//   ...
//   mm_settings_destroy(settings);
//
// Beside the keys of an algorithm, which are those of its list in agent.h or of a plug-in, there
// are those of a search (`mirrormap learn --help settings`), for studies and presets.
//
// Threads: settings that do not change may be used by any number of threads, those that do by one.
// Functions that take none may be called from any thread.

#ifndef MIRRORMAP_SETTINGS_H
#define MIRRORMAP_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "mirrormap/agent.h"
#include "mirrormap/base.h"
#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_settings mm_settings;

// The defaults of an algorithm (mm_algo_find), those of a plug-in included.
MM_API mm_status mm_settings_create(mm_algo algo, mm_settings **out);
MM_API void mm_settings_destroy(mm_settings *settings);

// Back to defaults, of this or another algorithm.
MM_API void mm_settings_reset(mm_settings *settings, mm_algo algo);
MM_API mm_algo mm_settings_algo(const mm_settings *settings); // as set last

// Changes them to what an environment's preset (mm_env_info) says; the files of that name in
// presets/ say the same. Names without own values change nothing.
MM_API void mm_settings_fit(mm_settings *settings, const char *preset);

// By the name of a preset that comes with the library ("gridworld") or by the path of a file (text
// with a '/' or ending in .yaml or .yml). What the preset does not mention keeps the value it has;
// a preset for another algorithm is refused. All mistakes are MM_ERR_INPUT and change nothing.
MM_API mm_status mm_preset_apply(const char *text, mm_settings *settings);

// Sets what `key` names to what `text` says. Unknown keys (with the nearest valid spelling), texts
// that are no value of that key and numbers out of range are MM_ERR_INPUT and change nothing.
MM_API mm_status mm_settings_set(mm_settings *settings, const char *key, const char *text);

// The value of one of the algorithm's own keys as the text that mm_settings_set takes; "" for other
// keys. And of a number, or `otherwise` where the algorithm has no such number.
enum { MM_SETTING_TEXT_SIZE = 256 };
MM_API const char *mm_settings_text(const mm_settings *settings, const char *key,
                                    char out[MM_SETTING_TEXT_SIZE]);
MM_API double mm_settings_value(const mm_settings *settings, const char *key, double otherwise);

// The algorithm's keys with their values as the text of a JSON object, and those of a search; each
// is to be released with mm_settings_text_free. Either place may be NULL.
MM_API mm_status mm_settings_format(const mm_settings *settings, char **own, char **search);
MM_API void mm_settings_text_free(char *text);

// The config of the algorithm (mm_job.config), which belongs to the settings, and both for a job;
// the settings must outlive it.
MM_API const void *mm_settings_config(const mm_settings *settings);
MM_API void mm_settings_bind(const mm_settings *settings, mm_job *job);

// The step size that the map was learned with becomes the algorithm's, where both have one. Returns
// whether they do.
MM_API bool mm_settings_take_eta(mm_settings *settings, const mm_map *map);

// Environment steps of a run, in whole iterations, and how many of those there are.
MM_API double mm_settings_steps(const mm_settings *settings);
MM_API double mm_settings_iterations(const mm_settings *settings);

// ---------------------------------------------------------------------------------------------
// Keys

typedef enum mm_setting_type {
  MM_SETTING_NUMBER,  // double
  MM_SETTING_SWITCH,  // bool: one of two words
  MM_SETTING_CHOICE,  // int: the place of one of several words
  MM_SETTING_FACTORS, // double[MM_FACTORS_MAX]: positive, 0 behind the last
  MM_SETTING_TEXT     // char array; only settings of a search have these
} mm_setting_type;

// What can be said of a key; texts belong to the library.
typedef struct mm_setting_info {
  const char *key, *help;
  mm_setting_type type;
  double value, least, most; // of a number: default of the first that has it, and range
  bool whole;                // of a number: 3, not 3.5
  const char *words;         // of a switch or choice: "a|b|c", the default first
  bool search;               // of a search, not of an algorithm
} mm_setting_info;

// The i-th of all algorithms' keys, then of those of a search; false past the end. A key that
// several have comes once, as the first of them has it. There are at most so many.
enum { MM_SETTINGS_MAX = 96 };
MM_API bool mm_setting_at(size_t i, mm_setting_info *out);

// "pmd 40, ampo 0.004, ..": the defaults of those algorithms that have the key.
enum { MM_SETTING_DEFAULTS_SIZE = 256 };
MM_API const char *mm_settings_defaults(const char *key, char out[MM_SETTING_DEFAULTS_SIZE]);

// ---------------------------------------------------------------------------------------------
// Presets

enum { MM_PRESET_NAME_SIZE = 64, MM_PRESET_PATH_SIZE = 4096 };

typedef struct mm_preset_info {
  char name[MM_PRESET_NAME_SIZE], path[MM_PRESET_PATH_SIZE];
  char algo[16];   // "" where the file does not say
  char about[400]; // the first sentence of the file's comment
} mm_preset_info;

// The presets that come with the library, by their names in order: fills at most `most`, returns
// how many.
MM_API size_t mm_preset_list(mm_preset_info *out, size_t most);

// A preset, named as for mm_preset_apply, and the text of its file (mm_settings_text_free).
MM_API mm_status mm_preset_read(const char *text, mm_preset_info *info, char **out);

#ifdef __cplusplus
}
#endif

#endif
