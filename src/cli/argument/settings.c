// --preset and --set. The parser keeps the texts of --set; only when the algorithm is known and its
// preset read do they get a meaning.

#include "cli/argument/settings.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"
#include "cli/argument/env_facts.h"
#include "cli/core/terminal.h"
#include "study/settings/preset.h"

#define PLACE(key) offsetof(settings_args, value) + MM_KEY_##key * sizeof(const char *)
#define SEARCH_PLACE(key)                                                                          \
  offsetof(settings_args, value) + (MM_KEYS + MM_SEARCH_KEY_##key) * sizeof(const char *)

#define KEY(key, shown, text, defaults)                                                            \
  { .name = #key,                                                                                  \
    .type = OPTION_TEXT,                                                                           \
    .offset = PLACE(key),                                                                          \
    .metavar = shown,                                                                              \
    .direct = MM_KEY_##key == MM_KEY_physics,                                                      \
    .help = text " (" defaults ")" },
#define SEARCH_NUMBER(key, value_, least, most, whole, text)                                       \
  { .name = #key,                                                                                  \
    .type = OPTION_TEXT,                                                                           \
    .offset = SEARCH_PLACE(key),                                                                   \
    .metavar = "NUMBER",                                                                           \
    .help = text " (default " #value_ ")" },
#define SEARCH_WORD(key, words, shown, text)                                                       \
  {                                                                                                \
    .name = #key, .type = OPTION_TEXT, .offset = SEARCH_PLACE(key), .metavar = shown, .help = text \
  },

const option settings_options[] = { MM_KEYS_LIST(KEY){ 0 } };

const option search_options[] = {
  MM_SEARCH_NUMBERS(SEARCH_NUMBER) MM_SEARCH_WORDS(SEARCH_WORD){
      .name = "schedule",
      .type = OPTION_TEXT,
      .offset = SEARCH_PLACE(schedule),
      .metavar = "GxSTEPS,..",
      .help = "phases of G generations with that many steps a training, instead of generations and "
              "steps (- for one phase; MinAtar 500x1000000,100x10000000)" },
  MM_KEYS_LIST(KEY){ 0 },
};
static_assert(sizeof search_options / sizeof *search_options - 1 <= OPTIONS_MAX,
              "a bit of command_args.set for every key");

int settings_resolve(const settings_args *args, mm_algo algo, const char *preset,
                     mm_settings *out) {
  *out = mm_settings_default(algo);
  mm_settings_fit(out, preset);
  mm_status status = MM_OK;
  if (args->preset != NULL) status = mm_preset_apply(args->preset, out);
  if (status != MM_OK) return fail_status(status);
  const char *key;
  for (size_t i = 0; (key = mm_settings_any_key(i)) != NULL; i++) {
    if (args->value[i] == NULL) continue;
    if (mm_settings_set(out, key, args->value[i]) != MM_OK)
      return fail_usage("%s", mm_last_error());
  }
  return EXIT_DONE;
}

int settings_check_env(const settings_args *args, const char *id) {
  const bool body = env_group_of(id) == GROUP_BODY;
  const struct {
    int key;
    bool heeded;
    const char *whose;
  } special[] = { { MM_KEY_flavour, body, env_body_names() },
                  { MM_KEY_physics, body, env_body_names() },
                  { MM_KEY_fresh_reset, body, env_body_names() },
                  { MM_KEY_rules, env_group_of(id) == GROUP_MINATAR, "MinAtar" },
                  { MM_KEY_gymnasium_walls, strcmp(id, "MountainCarContinuous-v0") == 0,
                    "MountainCarContinuous-v0" } };
  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (args->value[special[i].key] != NULL && !special[i].heeded)
      return fail_usage("setting '%s' is for %s, not for '%s'",
                        mm_settings_any_key((size_t)special[i].key), special[i].whose, id);
  return EXIT_DONE;
}
