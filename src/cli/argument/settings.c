// --preset and --set. The parser keeps the texts of --set; only when the algorithm is known and its
// preset read do they get a meaning.

#include "cli/argument/settings.h"

#include <assert.h>
#include <stddef.h>

#include "base/status.h"
#include "cli/argument/env_argument.h"
#include "cli/core/terminal.h"
#include "study/settings/preset.h"

// All are texts until the preset is read; a search's keys come behind the others.
// clang-format off
#define TEXT_AT(place, key, shown, ...)                                                            \
  OPTION_OF(settings_args, TEXT, key, value[place], shown, __VA_ARGS__)
static const char *defaults_of(const char *key, char out[OPTION_DEFAULTS_SIZE]) {
  return mm_settings_defaults(key, out);
}
static_assert((int)MM_SETTING_DEFAULTS_SIZE <= (int)OPTION_DEFAULTS_SIZE, "room for defaults");

#define KEY(key, shown, text)                                                                      \
  TEXT_AT(MM_KEY_##key, #key, shown, text, .direct = MM_KEY_##key == MM_KEY_physics,               \
          .defaults = defaults_of),
#define NUMBER(key, text) KEY(key, "NUMBER", text)
#define WORD(key, words, pmd, net, whose, text) KEY(key, words, text)
#define KEYS MM_NUMBER_KEYS(NUMBER) MM_WORD_KEYS(WORD)
#define SEARCH_NUMBER(key, value_, least, most, whole, text)                                       \
  TEXT_AT(MM_KEYS + MM_SEARCH_KEY_##key, #key, "NUMBER", text " (default " #value_ ")"),
#define SEARCH_WORD(key, words, shown, text)                                                       \
  TEXT_AT(MM_KEYS + MM_SEARCH_KEY_##key, #key, shown, text),
// clang-format on

const option settings_options[] = { KEYS{ 0 } };

const option search_options[] = {
  MM_SEARCH_NUMBERS(SEARCH_NUMBER) MM_SEARCH_WORDS(SEARCH_WORD)
      TEXT_AT(MM_KEYS + MM_SEARCH_KEY_schedule, "schedule", "GxSTEPS,..",
              "phases of G generations with that many steps a training run, instead of generations "
              "and steps (- for one phase; MinAtar 500x1000000,100x10000000)"),
  KEYS{ 0 },
};
static_assert(sizeof search_options / sizeof *search_options - 1 <= OPTIONS_MAX,
              "a bit of command_args.set for every key");

int settings_resolve(const settings_args *args, mm_algo algo, const char *preset,
                     mm_settings *out) {
  *out = mm_settings_default(algo);
  mm_settings_fit(out, preset);
  mm_status status = MM_OK;
  if (args->preset != NULL) status = mm_preset_apply(args->preset, out);
  TRY(status_code(status));
  const char *key;
  for (size_t i = 0; (key = mm_settings_any_key(i)) != NULL; i++) {
    if (args->value[i] == NULL) continue;
    if (mm_settings_set(out, key, args->value[i]) != MM_OK)
      return fail_usage("%s", mm_last_error());
  }
  return EXIT_DONE;
}

int settings_check_env(const settings_args *args, const char *id) {
  static const int special[] = { MM_KEY_flavour, MM_KEY_physics, MM_KEY_fresh_reset, MM_KEY_rules,
                                 MM_KEY_gymnasium_walls };
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    const char *key = mm_settings_any_key((size_t)special[i]);
    const char *whose = env_setting_owner(key, env_group_of(id), id);
    if (args->value[special[i]] != NULL && whose != NULL)
      return fail_usage("setting '%s' is for %s, not for '%s'", key, whose, id);
  }
  return EXIT_DONE;
}
