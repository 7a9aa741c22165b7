// Map files: {"format": "mirrormap/1", "kind": ..., parameters of the kind, "meta": {...}}, read
// strictly and written so that every number reads back to the same bits.

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/spelling.h"
#include "base/status.h"
#include "map/map_internal.h"

#define FORMAT "mirrormap/1"

enum { FILE_MOST_BYTES = 64 << 20 };

// ---------------------------------------------------------------------------------------------
// Reading

// Puts the file's name before the sentence of a constructor.
static mm_status in_file(mm_status status, const char *source) {
  if (status != MM_ERR_INPUT) return status;
  return MM_FAIL(status, "%s: %s", source, mm_last_error());
}

static mm_status read_tsallis(const cJSON *root, const char *source, mm_map **out) {
  double q;
  MM_TRY(MM_JSON_KEYS(root, source, "format", "kind", "q", "meta"));
  MM_TRY(mm_json_get_number(root, source, "q", &q));
  return in_file(mm_map_create_tsallis(q, out), source);
}

static mm_status read_piecewise(const cJSON *root, const char *source, mm_map **out) {
  const cJSON *array;
  size_t n;
  MM_TRY(MM_JSON_KEYS(root, source, "format", "kind", "psi", "meta"));
  MM_TRY(mm_json_get_array(root, source, "psi", 1, MM_PIECEWISE_MAX, &array, &n));
  double *psi = mm_alloc_array(n, sizeof *psi);
  if (!psi) return MM_FAIL(MM_ERR_MEMORY, "no memory for the map in %s", source);
  mm_status status = mm_json_read_numbers(array, source, "psi", n, psi);
  if (status == MM_OK) status = in_file(mm_map_create_piecewise(psi, n, out), source);
  mm_free(psi);
  return status;
}

static mm_status read_neural(const cJSON *root, const char *source, mm_map **out) {
  double w[MM_NEURAL_UNITS], c[MM_NEURAL_UNITS], u[MM_NEURAL_UNITS], a, b;
  MM_TRY(MM_JSON_KEYS(root, source, "format", "kind", "w", "c", "u", "a", "b", "meta"));
  MM_TRY(mm_json_get_numbers(root, source, "w", MM_NEURAL_UNITS, w));
  MM_TRY(mm_json_get_numbers(root, source, "c", MM_NEURAL_UNITS, c));
  MM_TRY(mm_json_get_numbers(root, source, "u", MM_NEURAL_UNITS, u));
  MM_TRY(mm_json_get_number(root, source, "a", &a));
  MM_TRY(mm_json_get_number(root, source, "b", &b));
  return in_file(mm_map_create_neural(w, c, u, a, b, out), source);
}

static mm_status unknown_kind(const char *kind, const char *source) {
  const char *names[MM_MAP_KINDS];
  for (int i = 0; i < MM_MAP_KINDS; i++)
    names[i] = mm_map_kind_name((mm_map_kind)i);
  const char *near = mm_nearest(kind, names, MM_MAP_KINDS);
  return MM_FAIL(MM_ERR_INPUT,
                 "%s: field 'kind': '%.40s': expected negentropy, l2, tsallis, piecewise or "
                 "neural%s%s%s",
                 source, kind, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static mm_status read_kind(const cJSON *root, const char *source, mm_map **out) {
  const char *format, *kind;
  if (!cJSON_IsObject(root))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected an object, found %s", source,
                   mm_json_describe(root));
  MM_TRY(mm_json_get_string(root, source, "format", &format));
  if (strcmp(format, FORMAT) != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'format': '%.40s': expected '%s'", source, format,
                   FORMAT);
  MM_TRY(mm_json_get_string(root, source, "kind", &kind));
  if (strcmp(kind, "tsallis") == 0) return read_tsallis(root, source, out);
  if (strcmp(kind, "piecewise") == 0) return read_piecewise(root, source, out);
  if (strcmp(kind, "neural") == 0) return read_neural(root, source, out);
  bool negentropy = strcmp(kind, "negentropy") == 0;
  if (!negentropy && strcmp(kind, "l2") != 0) return unknown_kind(kind, source);
  MM_TRY(MM_JSON_KEYS(root, source, "format", "kind", "meta"));
  return negentropy ? mm_map_create_negentropy(out) : mm_map_create_l2(out);
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
  mm_status status = read_kind(root, source, &map);
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
static bool add_numbers(cJSON *root, const char *key, const double *values, size_t n) {
  cJSON *item = mm_json_numbers(values, n);
  if (cJSON_AddItemToObject(root, key, item)) return true;
  cJSON_Delete(item);
  return false;
}

static bool add_number(cJSON *root, const char *key, double value) {
  cJSON *item = mm_json_number(value);
  if (cJSON_AddItemToObject(root, key, item)) return true;
  cJSON_Delete(item);
  return false;
}

static bool add_parameters(cJSON *root, const mm_potential_d *f) {
  switch (f->kind) {
  case MM_MAP_TSALLIS:
    return add_number(root, "q", f->q);
  case MM_MAP_PIECEWISE:
    return add_numbers(root, "psi", f->psi, (size_t)f->n);
  case MM_MAP_NEURAL:
    return add_numbers(root, "w", f->w, MM_NEURAL_UNITS) &&
           add_numbers(root, "c", f->c, MM_NEURAL_UNITS) &&
           add_numbers(root, "u", f->u, MM_NEURAL_UNITS) && add_number(root, "a", f->a) &&
           add_number(root, "b", f->b);
  default:
    return true;
  }
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
  if (cJSON_AddItemToObject(root, "meta", item)) return MM_OK;
  cJSON_Delete(item);
  return MM_FAIL(MM_ERR_MEMORY, "no memory to write a map");
}

mm_status mm_map_format(const mm_map *map, const char *meta, char **out) {
  *out = NULL;
  if (!meta) meta = map->meta;
  cJSON *root = cJSON_CreateObject();
  bool complete = root && cJSON_AddStringToObject(root, "format", FORMAT) &&
                  cJSON_AddStringToObject(root, "kind", mm_map_kind_name(map->exact.kind)) &&
                  add_parameters(root, &map->exact);
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
