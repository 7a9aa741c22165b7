// SPDX-License-Identifier: Apache-2.0
// --preset and --set. The parser keeps the texts of --set; only when the algorithm is known and its
// preset read do they get a meaning.

#include "cli/argument/settings.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cli/argument/env_argument.h"
#include "cli/core/terminal.h"
#include "study/settings/preset.h"

static const char *defaults_of(const char *key, char out[OPTION_DEFAULTS_SIZE]) {
  return mm_settings_defaults(key, out);
}
static_assert((int)MM_SETTING_DEFAULTS_SIZE <= (int)OPTION_DEFAULTS_SIZE, "room for defaults");

// Of a number of the search: one for all, where its help does not name others.
static const char *search_default(const char *key, char out[OPTION_DEFAULTS_SIZE]) {
  const mm_setting *s;
  char number[MM_JSON_NUMBER_SIZE];
  for (size_t i = 0; (s = mm_settings_any(i)) != NULL; i++)
    if (strcmp(s->key, key) == 0)
      snprintf(out, OPTION_DEFAULTS_SIZE, "default %s", mm_json_format_number(s->value, number));
  return out;
}

// How help calls the values of a setting.
static const char *shown_as(const mm_setting *s) {
  if (strcmp(s->key, "es") == 0) return "ES"; // many long words, which --es lists
  if (strcmp(s->key, "init") == 0) return "MAP";
  if (strcmp(s->key, "fitness") == 0) return "mean|median|cvar:A";
  if (s->type == MM_SETTING_TEXT) return "GxSTEPS,..";
  if (s->type == MM_SETTING_FACTORS) return "A,B,..";
  return s->words != NULL ? s->words : "NUMBER";
}

// Adds the keys number first .. end - 1 of all (mm_settings_any) to a table. All are texts until
// the preset is read, each kept at the place of its key.
static option *add_keys(option *to, size_t first, size_t end) {
  const size_t own = mm_settings_any_own();
  for (size_t i = first; i < end; i++) {
    const mm_setting *s = mm_settings_any(i);
    const bool number = s->type == MM_SETTING_NUMBER;
    *to++ = (option){ .name = s->key,
                      .type = OPTION_TEXT,
                      .offset = offsetof(settings_args, value) + i * sizeof(const char *),
                      .metavar = shown_as(s),
                      .help = s->help,
                      .defaults = i < own  ? defaults_of
                                  : number ? search_default
                                           : NULL,
                      .direct = strcmp(s->key, "physics") == 0 };
  }
  *to = (option){ 0 };
  return to;
}

// The tables are filled when they are first asked for, by the one thread that parses. A command has
// a place of command_args.set for each of its keys.
const option *settings_options(void) {
  static option keys[SETTINGS_MOST + 1];
  const size_t own = mm_settings_any_own();
  assert(own <= SETTINGS_MOST);
  if (keys[0].name == NULL) add_keys(keys, 0, own);
  return keys;
}

const option *search_options(void) {
  static option keys[SETTINGS_MOST + 1];
  const size_t own = mm_settings_any_own(), all = own + MM_SEARCH_KEYS;
  assert(all <= SETTINGS_MOST);
  if (keys[0].name == NULL) add_keys(add_keys(keys, own, all), 0, own);
  return keys;
}

const char *settings_given(const settings_args *args, const char *key) {
  const char *name;
  for (size_t i = 0; (name = mm_settings_any_key(i)) != NULL; i++)
    if (strcmp(name, key) == 0) return args->value[i];
  return NULL;
}

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
  static const char *const special[] = { "flavour", "physics", "fresh_reset", "rules",
                                         "gymnasium_walls" };
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    const char *whose = env_setting_owner(special[i], env_group_of(id), id);
    if (settings_given(args, special[i]) != NULL && whose != NULL)
      return fail_usage("setting '%s' is for %s, not for '%s'", special[i], whose, id);
  }
  return EXIT_DONE;
}
