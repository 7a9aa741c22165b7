// SPDX-License-Identifier: Apache-2.0
// Presets. Values are read as text, so that mistakes get the same words here as after --set.

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data_folder.h"
#include "base/file.h"
#include "base/spelling.h"
#include "base/status.h"
#include "base/yaml.h"
#include "study/settings/settings.h"

enum { FILE_MAX = 1 << 20, NAMES_MAX = 64 };

static_assert((int)MM_PRESET_NAME_SIZE == (int)MM_DATA_NAME_SIZE &&
                  (int)MM_PRESET_PATH_SIZE == (int)MM_DATA_PATH_SIZE,
              "of settings.h and of what it is made from");

typedef struct preset {
  char *algo;
  char *value[MM_SETTINGS_MAX]; // by the list of all keys; NULL where not mentioned
} preset;

static cyaml_schema_field_t text_field(const char *key, size_t offset, enum cyaml_flag flags) {
  cyaml_schema_field_t field = {
    .key = key,
    .data_offset = (uint32_t)offset,
    .value = { .type = CYAML_STRING,
               .flags = CYAML_FLAG_POINTER | flags,
               .data_size = sizeof(char),
               .string = { .min = 0, .max = CYAML_UNLIMITED } },
  };
  return field;
}

// `fields`: room for all keys, `algo` and the end mark. The schema points there. It has the keys of
// every algorithm: a preset for another one is told from a misspelt key.
static cyaml_schema_value_t schema_of(cyaml_schema_field_t *fields) {
  size_t n = 0;
  fields[n++] = text_field("algo", offsetof(preset, algo), CYAML_FLAG_DEFAULT);
  for (size_t i = 0; mm_settings_any_key(i); i++)
    fields[n++] = text_field(mm_settings_any_key(i), offsetof(preset, value) + i * sizeof(char *),
                             CYAML_FLAG_OPTIONAL);
  fields[n] = (cyaml_schema_field_t){ .key = NULL };
  cyaml_schema_value_t schema = { .type = CYAML_MAPPING,
                                  .flags = CYAML_FLAG_POINTER,
                                  .data_size = sizeof(preset),
                                  .mapping = { .fields = fields } };
  return schema;
}

static mm_status apply(const char *path, const preset *p, mm_settings *settings) {
  mm_settings changed = *settings;
  const char *own = mm_algo_name(settings->algo);
  if (strcmp(p->algo, own) != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: preset for the algorithm '%s', not for '%s'", path, p->algo,
                   own);
  for (size_t i = 0; mm_settings_any_key(i); i++) {
    if (!p->value[i]) continue;
    mm_status status = mm_settings_set(&changed, mm_settings_any_key(i), p->value[i]);
    if (status != MM_OK) return MM_FAIL(status, "%s: %s", path, mm_last_error());
  }
  *settings = changed;
  return MM_OK;
}

static mm_status apply_file(const char *path, mm_settings *settings) {
  cyaml_schema_field_t fields[MM_SETTINGS_MAX + 2];
  cyaml_schema_value_t schema = schema_of(fields);
  void *data;
  MM_TRY(mm_yaml_load(path, FILE_MAX, &schema, &data));
  mm_status status = apply(path, data, settings);
  mm_yaml_release(&schema, data);
  return status;
}

static int by_name(const void *left, const void *right) {
  return strcmp(left, right);
}

static mm_status unknown_name(const char *text) {
  char names[NAMES_MAX][MM_DATA_NAME_SIZE];
  const char *list[NAMES_MAX];
  size_t n = mm_data_names("presets", ".yaml", names, NAMES_MAX);
  qsort(names, n, sizeof *names, by_name);
  for (size_t i = 0; i < n; i++)
    list[i] = names[i];
  const char *near = mm_nearest(text, list, n);
  if (near)
    return MM_FAIL(MM_ERR_INPUT, "preset '%s': no such name or file (did you mean '%s'?)", text,
                   near);
  char all[400] = "";
  for (size_t i = 0, used = 0; i < n && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s, ", names[i]);
  return MM_FAIL(MM_ERR_INPUT, "preset '%s': no such name or file: expected %sor a YAML file", text,
                 all);
}

static bool ends_in(const char *text, const char *ending) {
  size_t length = strlen(text), tail = strlen(ending);
  return length > tail && strcmp(text + length - tail, ending) == 0;
}

// The file that `text` names.
static mm_status find_file(const char *text, char path[MM_DATA_PATH_SIZE]) {
  const bool is_path = strchr(text, '/') || ends_in(text, ".yaml") || ends_in(text, ".yml");
  if (!is_path && mm_data_find("presets", text, ".yaml", path)) return MM_OK;
  if (!is_path && access(text, F_OK) != 0) return unknown_name(text);
  if (snprintf(path, MM_DATA_PATH_SIZE, "%s", text) < MM_DATA_PATH_SIZE) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "preset '%.40s..': a path of at most %d bytes is expected", text,
                 MM_DATA_PATH_SIZE - 1);
}

mm_status mm_preset_apply(const char *text, mm_settings *settings) {
  char path[MM_DATA_PATH_SIZE];
  MM_TRY(find_file(text, path));
  return apply_file(path, settings);
}

// ---------------------------------------------------------------------------------------------
// Lists

// The words of the comment that a file begins with, up to the end of a sentence.
static void first_sentence(const char *text, char *out, size_t size) {
  size_t used = 0;
  for (; *text == '#'; text += strcspn(text, "\n"), text += *text != '\0') {
    size_t length = strcspn(++text, "\n"), blank = strspn(text, " ");
    blank = blank < length ? blank : length;
    used += (size_t)snprintf(out + used, size - used, "%s%.*s", used > 0 ? " " : "",
                             (int)(length - blank), text + blank);
    if (used >= size) used = size - 1;
  }
  char *end = strstr(out, ". ");
  if (end) end[1] = '\0';
}

mm_status mm_preset_read(const char *text, mm_preset_info *info, char **out) {
  size_t length;
  *info = (mm_preset_info){ 0 };
  snprintf(info->name, sizeof info->name, "%s", text);
  MM_TRY(find_file(text, info->path));
  MM_TRY(mm_file_read(info->path, FILE_MAX, out, &length));
  first_sentence(*out, info->about, sizeof info->about);
  const char *algo = strncmp(*out, "algo:", 5) == 0 ? *out : strstr(*out, "\nalgo:");
  if (algo) sscanf(algo + (*algo == '\n'), "algo: %15[a-z-]", info->algo);
  return MM_OK;
}

size_t mm_preset_list(mm_preset_info *out, size_t most) {
  char names[NAMES_MAX][MM_DATA_NAME_SIZE], *text;
  size_t n = mm_data_names("presets", ".yaml", names, most < NAMES_MAX ? most : NAMES_MAX);
  qsort(names, n, sizeof *names, by_name);
  for (size_t i = 0; i < n; i++)
    if (mm_preset_read(names[i], &out[i], &text) == MM_OK) mm_free(text);
  return n;
}
