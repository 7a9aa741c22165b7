// SPDX-License-Identifier: Apache-2.0
// Map files: {"format": "mirrormap/1", "kind": ..., parameters of the kind, "meta": {...}}, read
// strictly and written so that every number reads back to the same bits. Those with "eta" have
// format 2, which programs that do not know the field refuse, and so have maps that move, with
// "stages": [{"kind": ..., parameters}, ...] in place of kind and parameters.

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/spelling.h"
#include "base/status.h"
#include "map/family.h"

#define FORMAT "mirrormap/1"
#define FORMAT_2 "mirrormap/2"

enum { FILE_MOST_BYTES = 64 << 20 };

// ---------------------------------------------------------------------------------------------
// Reading

mm_status mm_map_in_file(mm_status status, const char *source) {
  if (status != MM_ERR_INPUT) return status;
  return MM_FAIL(status, "%s: %s", source, mm_last_error());
}

static mm_status unknown_kind(const char *kind, const char *source) {
  const char *names[MM_MAP_KINDS_MOST];
  char all[MM_MAP_NAMES_SIZE];
  const size_t n = mm_map_kind_count();
  for (size_t i = 0; i < n; i++)
    names[i] = mm_map_kind_name((mm_map_kind)i);
  const char *near = mm_nearest(kind, names, n);
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'kind': '%.40s': expected %s%s%s%s", source, kind,
                 mm_map_kind_names(NULL, all), near ? " (did you mean '" : "", near ? near : "",
                 near ? "'?)" : "");
}

static mm_status read_kind(const cJSON *root, const char *source, mm_map **out) {
  const char *kind;
  MM_TRY(mm_json_get_string(root, source, "kind", &kind));
  for (size_t i = 0; i < mm_map_kind_count(); i++) {
    const mm_map_family *family = mm_map_family_of((mm_map_kind)i);
    if (strcmp(kind, mm_map_kind_name((mm_map_kind)i)) != 0) continue;
    if (family->read) return family->read(root, source, out);
    MM_TRY(MM_JSON_KEYS(root, source, MM_MAP_FILE_KEYS));
    return family->create(out);
  }
  return unknown_kind(kind, source);
}

// An anchor is a map without what belongs to the whole.
static mm_status read_anchor(const cJSON *item, const char *source, size_t i, mm_map **out) {
  static const char *const not_here[] = { "format", "eta", "stages", "meta" };
  char place[512];
  snprintf(place, sizeof place, "%.480s: stages[%zu]", source, i);
  if (!cJSON_IsObject(item))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected an object, found %s", place, mm_json_describe(item));
  for (size_t k = 0; k < sizeof not_here / sizeof *not_here; k++)
    if (mm_json_find(item, not_here[k]))
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': belongs to the map, not to an anchor", place,
                     not_here[k]);
  return read_kind(item, place, out);
}

static mm_status read_stages(const cJSON *root, const char *source, mm_map **out) {
  const cJSON *array;
  mm_map *anchor[MM_STAGES_MAX] = { 0 };
  size_t n, i = 0;
  MM_TRY(MM_JSON_KEYS(root, source, "format", "stages", "eta", "meta"));
  MM_TRY(mm_json_get_array(root, source, "stages", 2, MM_STAGES_MAX, &array, &n));
  mm_status status = MM_OK;
  for (const cJSON *item = array->child; item && status == MM_OK; item = item->next, i++)
    status = read_anchor(item, source, i, &anchor[i]);
  if (status == MM_OK) status = mm_map_in_file(mm_map_take_stages(anchor, n, out), source);
  for (i = 0; i < n; i++)
    mm_map_destroy(anchor[i]);
  return status;
}

// Fields of the second format in a file of the first.
static mm_status refuse(const cJSON *root, const char *source, const char *field) {
  if (!mm_json_find(root, field)) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected in files of format '%s' only", source,
                 field, FORMAT_2);
}

static mm_status read_any(const cJSON *root, const char *source, mm_map **out) {
  const char *format;
  if (!cJSON_IsObject(root))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected an object, found %s", source,
                   mm_json_describe(root));
  MM_TRY(mm_json_get_string(root, source, "format", &format));
  if (strcmp(format, FORMAT) == 0) {
    MM_TRY(refuse(root, source, "eta"));
    MM_TRY(refuse(root, source, "stages"));
  } else if (strcmp(format, FORMAT_2) != 0) {
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'format': '%.40s': expected '%s' or '%s'", source,
                   format, FORMAT, FORMAT_2);
  }
  return mm_json_find(root, "stages") ? read_stages(root, source, out)
                                      : read_kind(root, source, out);
}

static mm_status read_eta(const cJSON *root, const char *source, mm_map *map) {
  double eta;
  if (!mm_json_find(root, "eta")) return MM_OK;
  MM_TRY(mm_json_get_number(root, source, "eta", &eta));
  if (eta > 0) return mm_map_in_file(mm_map_set_eta(map, eta), source);
  return MM_FAIL(MM_ERR_INPUT, "%s: field 'eta': %.17g: expected a number > 0", source, eta);
}

static mm_status read_meta(const cJSON *root, const char *source, mm_map *map) {
  const cJSON *meta = mm_json_find(root, "meta");
  if (!meta) return MM_OK;
  if (!cJSON_IsObject(meta))
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'meta': expected an object, found %s", source,
                   mm_json_describe(meta));
  char *text = mm_json_print(meta, false);
  if (!text) return MM_FAIL(MM_ERR_MEMORY, "no memory for the meta object of %s", source);
  mm_status status = mm_map_set_meta(map, text);
  mm_free(text);
  return status;
}

mm_status mm_map_parse(const char *text, size_t length, const char *source, mm_map **out) {
  *out = NULL;
  cJSON *root;
  MM_TRY(mm_json_parse(text, length, source, &root));
  mm_map *map = NULL;
  mm_status status = read_any(root, source, &map);
  if (status == MM_OK) status = read_eta(root, source, map);
  if (status == MM_OK) status = read_meta(root, source, map);
  cJSON_Delete(root);
  if (status != MM_OK) {
    mm_map_destroy(map);
    return status;
  }
  *out = map;
  return MM_OK;
}

mm_status mm_map_load(const char *path, mm_map **out) {
  *out = NULL;
  char *text;
  size_t length;
  MM_TRY(mm_file_read(path, FILE_MOST_BYTES, &text, &length));
  mm_status status = mm_map_parse(text, length, path, out);
  mm_free(text);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Writing

// cJSON's Add functions refuse NULL items, so one flag tells of any lack of memory.
bool mm_json_put(cJSON *root, const char *key, cJSON *item) {
  if (cJSON_AddItemToObject(root, key, item)) return true;
  cJSON_Delete(item);
  return false;
}

static bool add_parameters(cJSON *root, const mm_potential_d *f) {
  const mm_map_family *family = mm_map_family_of(f->kind);
  return cJSON_AddStringToObject(root, "kind", mm_map_kind_name(f->kind)) &&
         (!family->write || family->write(root, f));
}

static bool add_stages(cJSON *root, const mm_map *map) {
  cJSON *array = cJSON_AddArrayToObject(root, "stages");
  for (size_t i = 0; i < map->n_stage; i++) {
    cJSON *object = cJSON_CreateObject();
    if (!array || !cJSON_AddItemToArray(array, object)) {
      cJSON_Delete(object);
      return false;
    }
    if (!add_parameters(object, &map->stage[i]->exact)) return false;
  }
  return true;
}

static bool add_eta(cJSON *root, double eta) {
  return eta == 0 || mm_json_put(root, "eta", mm_json_number(eta));
}

static mm_status add_meta(cJSON *root, const char *meta) {
  cJSON *item;
  MM_TRY(mm_json_parse(meta, strlen(meta), "meta", &item));
  if (!cJSON_IsObject(item)) {
    mm_status status =
        MM_FAIL(MM_ERR_INPUT, "meta: expected an object, found %s", mm_json_describe(item));
    cJSON_Delete(item);
    return status;
  }
  if (mm_json_put(root, "meta", item)) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "no memory to write a map");
}

mm_status mm_map_format(const mm_map *map, const char *meta, char **out) {
  *out = NULL;
  if (!meta) meta = map->meta;
  cJSON *root = cJSON_CreateObject();
  const char *format = map->eta > 0 || map->n_stage > 0 ? FORMAT_2 : FORMAT;
  bool complete = root && cJSON_AddStringToObject(root, "format", format) &&
                  add_eta(root, map->eta) &&
                  (map->n_stage > 0 ? add_stages(root, map) : add_parameters(root, &map->exact));
  mm_status status = MM_OK;
  if (complete && meta) status = add_meta(root, meta);
  if (status == MM_OK) {
    *out = complete ? mm_json_print(root, true) : NULL;
    if (!*out) status = MM_FAIL(MM_ERR_MEMORY, "no memory to write a map");
  }
  cJSON_Delete(root);
  return status;
}

void mm_map_text_free(char *text) {
  mm_free(text);
}

mm_status mm_map_save(const mm_map *map, const char *meta, const char *path) {
  char *text;
  MM_TRY(mm_map_format(map, meta, &text));
  size_t length = strlen(text);
  text[length] = '\n'; // in place of the final zero, which a file does not need
  mm_status status = mm_file_write_atomic(path, text, length + 1);
  mm_map_text_free(text);
  return status;
}
