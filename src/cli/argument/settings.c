// SPDX-License-Identifier: Apache-2.0
// --preset and --set. The parser keeps the texts of --set; only when the algorithm is known and its
// preset read do they get a meaning.

#include "cli/argument/settings.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/argument/env_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"

static const char *defaults_of(const char *key, char out[OPTION_DEFAULTS_SIZE]) {
  return mm_settings_defaults(key, out);
}
static_assert((int)MM_SETTING_DEFAULTS_SIZE <= (int)OPTION_DEFAULTS_SIZE, "room for defaults");

// Of a number of the search: one for all, where its help does not name others.
static const char *search_default(const char *key, char out[OPTION_DEFAULTS_SIZE]) {
  mm_setting_info s;
  char number[MM_JSON_NUMBER_SIZE];
  for (size_t i = 0; mm_setting_at(i, &s); i++)
    if (strcmp(s.key, key) == 0)
      snprintf(out, OPTION_DEFAULTS_SIZE, "default %s", mm_json_format_number(s.value, number));
  return out;
}

// How help calls the values of a setting.
static const char *shown_as(const mm_setting_info *s) {
  if (strcmp(s->key, "es") == 0) return "ES"; // many long words, which --es lists
  if (strcmp(s->key, "init") == 0) return "MAP";
  if (strcmp(s->key, "fitness") == 0) return "mean|median|cvar:A";
  if (s->type == MM_SETTING_TEXT) return "GxSTEPS,..";
  if (s->type == MM_SETTING_FACTORS) return "A,B,..";
  return s->words != NULL ? s->words : "NUMBER";
}

// Adds the keys of algorithms, or those of a search, to a table. All are texts until the preset is
// read, each kept at the place of its key.
static option *add_keys(option *to, bool search) {
  mm_setting_info s;
  for (size_t i = 0; mm_setting_at(i, &s); i++) {
    if (s.search != search) continue;
    *to++ = (option){ .name = s.key,
                      .type = OPTION_TEXT,
                      .offset = offsetof(settings_args, value) + i * sizeof(const char *),
                      .metavar = shown_as(&s),
                      .help = s.help,
                      .defaults = !search                       ? defaults_of
                                  : s.type == MM_SETTING_NUMBER ? search_default
                                                                : NULL,
                      .direct = strcmp(s.key, "physics") == 0 };
  }
  *to = (option){ 0 };
  return to;
}

// The tables are filled when they are first asked for, by the one thread that parses. A command has
// a place of command_args.set for each of its keys.
static_assert((int)MM_SETTINGS_MAX <= (int)SETTINGS_MOST, "room for all keys");

const option *settings_options(void) {
  static option keys[SETTINGS_MOST + 1];
  if (keys[0].name == NULL) add_keys(keys, false);
  return keys;
}

const option *search_options(void) {
  static option keys[SETTINGS_MOST + 1];
  if (keys[0].name == NULL) add_keys(add_keys(keys, true), false);
  return keys;
}

const char *settings_given(const settings_args *args, const char *key) {
  mm_setting_info s;
  for (size_t i = 0; mm_setting_at(i, &s); i++)
    if (strcmp(s.key, key) == 0) return args->value[i];
  return NULL;
}

int settings_resolve(const settings_args *args, mm_algo algo, const char *preset,
                     mm_settings *out) {
  mm_settings_reset(out, algo);
  mm_settings_fit(out, preset);
  mm_status status = MM_OK;
  if (args->preset != NULL) status = mm_preset_apply(args->preset, out);
  TRY(status_code(status));
  mm_setting_info s;
  for (size_t i = 0; mm_setting_at(i, &s); i++) {
    if (args->value[i] == NULL) continue;
    if (mm_settings_set(out, s.key, args->value[i]) != MM_OK)
      return fail_usage("%s", mm_last_error());
  }
  return EXIT_DONE;
}

static cJSON *json_of(const mm_settings *settings, bool search) {
  char *text;
  const mm_status status =
      mm_settings_format(settings, search ? NULL : &text, search ? &text : NULL);
  cJSON *object = status == MM_OK ? cJSON_CreateRaw(text) : NULL;
  if (status == MM_OK) mm_settings_text_free(text);
  return object;
}

cJSON *settings_json(const mm_settings *settings) {
  return json_of(settings, false);
}

cJSON *settings_search_json(const mm_settings *settings) {
  return json_of(settings, true);
}

const char *settings_search_text(const mm_settings *settings, const char *key) {
  char *text;
  if (mm_settings_format(settings, NULL, &text) != MM_OK) return "";
  cJSON *root = cJSON_Parse(text);
  const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(root, key));
  const char *kept = output_plain(value != NULL ? value : "");
  cJSON_Delete(root);
  mm_settings_text_free(text);
  return kept;
}

void settings_texts(const settings_args *args, name_list *out) {
  mm_setting_info s;
  for (size_t i = 0; mm_setting_at(i, &s); i++)
    if (args->value[i] != NULL) name_list_add(out, output_format("%s=%s", s.key, args->value[i]));
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
