// SPDX-License-Identifier: Apache-2.0
// Policies as safetensors files:
//
//   8 bytes   length of the header, little-endian
//   header    a JSON object, spaces up to a multiple of 8: "__metadata__" with texts, and for each
//             tensor {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}
//   data      the tensors without gaps; offsets count from here
//
// Sizes that a header claims are held against the bytes that are there before they are used.

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "study/jobs/plan.h"
#include "study/policy/policy_internal.h"

#define FORMAT "mirrormap/policy-1"
#define METADATA "__metadata__"

static_assert(sizeof(float) == 4, "F32");

enum { LENGTH_SIZE = 8, HEADER_MOST = 100 << 20, SOURCE_SIZE = MM_ERROR_SIZE };

// ---------------------------------------------------------------------------------------------
// Writing

// cJSON's Add functions refuse NULL items, so one flag tells of any lack of memory.
static bool add(cJSON *object, const char *key, cJSON *item) {
  if (cJSON_AddItemToObject(object, key, item)) return true;
  cJSON_Delete(item);
  return false;
}

// A tree as the text of a field; releases it.
static bool add_text_of(cJSON *object, const char *key, cJSON *tree) {
  char *text = tree ? mm_json_print(tree, false) : NULL;
  bool added = text && cJSON_AddStringToObject(object, key, text);
  mm_free(text);
  cJSON_Delete(tree);
  return added;
}

static cJSON *finals_tree(const mm_policy *p) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < p->n && array; i++) {
    cJSON *item = mm_json_defined(p->final_value[i]);
    if (cJSON_AddItemToArray(array, item)) continue;
    cJSON_Delete(item);
    cJSON_Delete(array);
    array = NULL;
  }
  return array;
}

// NULL when a field got lost for lack of memory.
static cJSON *settings_tree(const mm_policy *p) {
  cJSON *tree = mm_settings_json(&p->settings);
  if (tree && (size_t)cJSON_GetArraySize(tree) == mm_settings_own(p->settings.algo)) return tree;
  cJSON_Delete(tree);
  return NULL;
}

static mm_status add_metadata(cJSON *root, const mm_policy *p) {
  char seed[24], *map;
  snprintf(seed, sizeof seed, "%" PRIu64, p->seed);
  MM_TRY(mm_map_format(p->map, NULL, &map));
  cJSON *object = cJSON_AddObjectToObject(root, METADATA);
  bool complete = object && cJSON_AddStringToObject(object, "format", FORMAT) &&
                  cJSON_AddStringToObject(object, "env", p->env_id) &&
                  cJSON_AddStringToObject(object, "algo", mm_algo_name(p->settings.algo)) &&
                  cJSON_AddStringToObject(object, "map", map) &&
                  add_text_of(object, "settings", settings_tree(p)) &&
                  cJSON_AddStringToObject(object, "seed", seed) &&
                  add_text_of(object, "finals", finals_tree(p));
  mm_map_text_free(map);
  return complete ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory to write a policy");
}

static bool add_tensor(cJSON *root, const mm_policy *p, int i) {
  mm_policy_slot t = mm_policy_slot_at(&p->net, i);
  const double begin = (double)(p->n * t.first * sizeof(float));
  const double end = begin + (double)(p->n * t.size * sizeof(float));
  const double shape[3] = { (double)p->n, (double)(t.bias ? t.cols : t.rows), (double)t.cols };
  const double offsets[2] = { begin, end };
  const size_t dims = t.bias ? 2 : 3;
  cJSON *object = cJSON_AddObjectToObject(root, t.name);
  return object && cJSON_AddStringToObject(object, "dtype", "F32") &&
         add(object, "shape", mm_json_numbers(shape, dims)) &&
         add(object, "data_offsets", mm_json_numbers(offsets, 2));
}

static mm_status fill_header(cJSON *root, const mm_policy *p, char **out) {
  MM_TRY(add_metadata(root, p));
  bool complete = true;
  for (int i = 0; i < mm_net_tensors_of(&p->net) && complete; i++)
    complete = add_tensor(root, p, i);
  if (complete) *out = mm_json_print(root, false);
  return *out ? MM_OK : MM_FAIL(MM_ERR_MEMORY, "no memory to write a policy");
}

static mm_status write_header(const mm_policy *p, char **out) {
  *out = NULL;
  cJSON *root = cJSON_CreateObject();
  if (!root) return MM_FAIL(MM_ERR_MEMORY, "no memory to write a policy");
  mm_status status = fill_header(root, p, out);
  cJSON_Delete(root);
  return status;
}

// Byte by byte, so that the machine's own order does not matter.
static void put_floats(const float *x, size_t n, unsigned char *out) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    for (int b = 0; b < 4; b++)
      out[4 * i + (size_t)b] = (unsigned char)(bits >> 8 * b);
  }
}

static void get_floats(const unsigned char *from, size_t n, float *out) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = 0;
    for (int b = 0; b < 4; b++)
      bits |= (uint32_t)from[4 * i + (size_t)b] << 8 * b;
    memcpy(&out[i], &bits, sizeof bits);
  }
}

// The file itself, where `path` is the folder of a run.
static mm_status file_path(const char *path, char **out) {
  struct stat found;
  const char *more = stat(path, &found) == 0 && S_ISDIR(found.st_mode) ? "/policy.safetensors" : "";
  const size_t size = strlen(path) + strlen(more) + 1;
  *out = mm_alloc(size);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a path");
  snprintf(*out, size, "%s%s", path, more);
  return MM_OK;
}

static mm_status write_file(const mm_policy *p, const char *header, const char *path) {
  const size_t length = strlen(header), padded = (length + 7) / 8 * 8;
  const size_t numbers = p->n * mm_policy_size(&p->net);
  const size_t size = LENGTH_SIZE + padded + numbers * sizeof(float);
  unsigned char *bytes = mm_alloc(size);
  if (!bytes) return MM_FAIL(MM_ERR_MEMORY, "%s: no memory for %zu bytes", path, size);
  for (int b = 0; b < LENGTH_SIZE; b++)
    bytes[b] = (unsigned char)((uint64_t)padded >> 8 * b);
  memcpy(bytes + LENGTH_SIZE, header, length);
  memset(bytes + LENGTH_SIZE + length, ' ', padded - length);
  put_floats(p->data, numbers, bytes + LENGTH_SIZE + padded);
  mm_status status = mm_file_write_atomic(path, (const char *)bytes, size);
  mm_free(bytes);
  return status;
}

mm_status mm_policy_save(const mm_policy *p, const char *path) {
  char *file, *header;
  for (size_t i = 0; i < p->n; i++)
    if (!p->is_set[i])
      return MM_FAIL(MM_ERR_INPUT, "%s: agent %zu has no networks to save", path, i);
  MM_TRY(file_path(path, &file));
  mm_status status = write_header(p, &header);
  if (status == MM_OK) status = write_file(p, header, file);
  mm_free(header);
  mm_free(file);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Reading: metadata

// Puts the source before the sentence of a constructor.
static mm_status in_source(mm_status status, const char *source) {
  if (status != MM_ERR_INPUT) return status;
  return MM_FAIL(status, "%s: %s", source, mm_last_error());
}

static mm_status read_settings_text(const char *text, const char *source, const char *algo,
                                    mm_settings *out) {
  mm_algo which;
  cJSON *object;
  char inner[SOURCE_SIZE];
  if (!mm_algo_find(algo, &which))
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field 'algo': expected ampo, pmd-gaussian or ppo, found '%.40s'", source,
                   algo);
  *out = mm_settings_default(which);
  snprintf(inner, sizeof inner, "%.900s: settings", source);
  MM_TRY(mm_json_parse(text, strlen(text), inner, &object));
  mm_status status = mm_settings_read(object, inner, 0, mm_settings_own(which), out);
  cJSON_Delete(object);
  return status;
}

static mm_status read_final(const cJSON *item, const char *source, size_t i, double *out) {
  if (cJSON_IsNull(item))
    *out = NAN;
  else if (cJSON_IsNumber(item))
    *out = item->valuedouble;
  else if (cJSON_IsString(item) && strcmp(item->valuestring, "inf") == 0)
    *out = INFINITY;
  else if (cJSON_IsString(item) && strcmp(item->valuestring, "-inf") == 0)
    *out = -INFINITY;
  else
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'finals': entry %zu: expected a number, found %s",
                   source, i, mm_json_describe(item));
  return MM_OK;
}

static mm_status read_finals(const char *text, const char *source, mm_policy *p) {
  cJSON *array;
  char inner[SOURCE_SIZE];
  snprintf(inner, sizeof inner, "%.900s: finals", source);
  MM_TRY(mm_json_parse(text, strlen(text), inner, &array));
  mm_status status = MM_OK;
  size_t n = 0;
  const bool list = cJSON_IsArray(array);
  for (const cJSON *item = list ? array->child : NULL; item; item = item->next, n++)
    if (n < p->n && status == MM_OK) status = read_final(item, source, n, &p->final_value[n]);
  if (status == MM_OK && !list)
    status = MM_FAIL(MM_ERR_INPUT, "%s: field 'finals': expected an array, found %s", source,
                     mm_json_describe(array));
  else if (status == MM_OK && n != p->n)
    status = MM_FAIL(MM_ERR_INPUT, "%s: field 'finals': expected %zu entries, found %zu", source,
                     p->n, n);
  cJSON_Delete(array);
  return status;
}

static mm_status read_metadata(const cJSON *root, const char *source, size_t n, mm_policy **out) {
  static const char *const keys[] = { "format",   "env",  "algo",   "map",
                                      "settings", "seed", "finals", NULL };
  const char *text[7];
  const cJSON *object;
  char inner[SOURCE_SIZE];
  MM_TRY(mm_json_get_object(root, source, METADATA, &object));
  snprintf(inner, sizeof inner, "%.900s: " METADATA, source);
  MM_TRY(mm_json_check_keys(object, inner, keys));
  for (int i = 0; keys[i]; i++)
    MM_TRY(mm_json_get_string(object, inner, keys[i], &text[i]));
  if (strcmp(text[0], FORMAT) != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'format': expected '" FORMAT "', found '%.40s'", inner,
                   text[0]);
  mm_settings settings;
  uint64_t seed;
  mm_map *map;
  char map_source[SOURCE_SIZE];
  MM_TRY(read_settings_text(text[4], inner, text[2], &settings));
  MM_TRY(mm_plan_read_seed(object, inner, &seed));
  snprintf(map_source, sizeof map_source, "%.900s: map", inner);
  MM_TRY(mm_map_parse(text[3], strlen(text[3]), map_source, &map));
  mm_status status = in_source(mm_policy_make(text[1], map, &settings, seed, n, out), inner);
  mm_map_destroy(map);
  return status == MM_OK ? read_finals(text[6], inner, *out) : status;
}

// ---------------------------------------------------------------------------------------------
// Reading: tensors

// Where a tensor lies in the data.
typedef struct span {
  const char *name;
  size_t begin, end;
} span;

static mm_status read_whole(const cJSON *item, const char *source, const char *name,
                            const char *field, size_t least, size_t most, size_t *out) {
  const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
  if (!(value >= (double)least && value <= (double)most) || value != floor(value))
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: tensor '%s': field '%s': expected whole numbers from %zu to %zu", source,
                   name, field, least, most);
  *out = (size_t)value;
  return MM_OK;
}

static mm_status read_list(const cJSON *tensor, const char *source, const char *name,
                           const char *field, size_t n, size_t least, size_t most, size_t *out) {
  const cJSON *array = mm_json_find(tensor, field);
  const cJSON *item = cJSON_IsArray(array) ? array->child : NULL;
  for (size_t i = 0; i < n && item; i++, item = item->next)
    MM_TRY(read_whole(item, source, name, field, least, most, &out[i]));
  if (cJSON_IsArray(array) && (size_t)cJSON_GetArraySize(array) == n) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: tensor '%s': field '%s': expected %zu numbers", source, name,
                 field, n);
}

static mm_status read_shape(const cJSON *root, const char *source, const char *name, size_t n,
                            size_t *out) {
  const cJSON *tensor;
  MM_TRY(mm_json_get_object(root, source, name, &tensor));
  return read_list(tensor, source, name, "shape", n, 1, MM_POLICY_AGENTS_MAX, out);
}

// Sizes of the networks, from the first and the last tensor of the actor; the others must follow.
static mm_status read_sizes(const cJSON *root, const char *source, mm_net_config *config,
                            size_t *n_agent) {
  size_t first[3] = { 0 }, last[3] = { 0 };
  MM_TRY(read_shape(root, source, "actor.0.weight", 3, first));
  MM_TRY(read_shape(root, source, "actor.2.weight", 3, last));
  *config = (mm_net_config){ .n_input = (int32_t)first[1],
                             .n_action = (int32_t)last[2],
                             .hidden = { (int32_t)first[2], (int32_t)last[1] },
                             .gaussian = mm_json_find(root, "actor.log_std") != NULL };
  *n_agent = first[0];
  return MM_OK;
}

static mm_status read_tensor(const cJSON *root, const char *source, const mm_policy_slot *t,
                             size_t n, size_t data_size, span *out) {
  const cJSON *tensor;
  const char *dtype;
  char inner[SOURCE_SIZE];
  size_t shape[3] = { 0, 1, 1 }, offsets[2] = { 0, 0 };
  const size_t dims = t->bias ? 2 : 3, bytes = n * t->size * sizeof(float);
  MM_TRY(mm_json_get_object(root, source, t->name, &tensor));
  snprintf(inner, sizeof inner, "%.900s: tensor '%.23s'", source, t->name);
  MM_TRY(MM_JSON_KEYS(tensor, inner, "dtype", "shape", "data_offsets"));
  MM_TRY(mm_json_get_string(tensor, inner, "dtype", &dtype));
  if (strcmp(dtype, "F32") != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: field 'dtype': expected F32, found '%.20s'", inner, dtype);
  MM_TRY(read_list(tensor, source, t->name, "shape", dims, 1, MM_POLICY_AGENTS_MAX, shape));
  MM_TRY(read_list(tensor, source, t->name, "data_offsets", 2, 0, data_size, offsets));
  const size_t rows = t->bias ? t->cols : t->rows;
  if (shape[0] != n || shape[1] != rows || (!t->bias && shape[2] != t->cols)) {
    if (t->bias)
      return MM_FAIL(MM_ERR_INPUT, "%s: field 'shape': expected [%zu, %zu], found [%zu, %zu]",
                     inner, n, t->cols, shape[0], shape[1]);
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field 'shape': expected [%zu, %zu, %zu], found [%zu, %zu, %zu]", inner, n,
                   t->rows, t->cols, shape[0], shape[1], shape[2]);
  }
  if (offsets[1] < offsets[0] || offsets[1] - offsets[0] != bytes)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field 'data_offsets': expected %zu bytes for this shape, found %zu to %zu",
                   inner, bytes, offsets[0], offsets[1]);
  *out = (span){ t->name, offsets[0], offsets[1] };
  return MM_OK;
}

static int by_begin(const void *a, const void *b) {
  const span *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

// The tensors, in any order, make up the data without gaps and without sharing a byte.
static mm_status check_cover(const span *spans, size_t n, const char *source, size_t data_size) {
  span sorted[MM_NET_TENSORS_MAX];
  size_t at = 0;
  memcpy(sorted, spans, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, by_begin);
  for (size_t i = 0; i < n; i++) {
    if (sorted[i].begin != at)
      return MM_FAIL(MM_ERR_INPUT,
                     "%s: tensor '%s': field 'data_offsets': expected to begin at %zu, where the "
                     "one before ends, found %zu",
                     source, sorted[i].name, at, sorted[i].begin);
    at = sorted[i].end;
  }
  if (at == data_size) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: expected %zu bytes of data, found %zu", source, at, data_size);
}

static mm_status read_data(const unsigned char *data, const char *source, const span *spans,
                           mm_policy *p) {
  for (int i = 0; i < mm_net_tensors_of(&p->net); i++) {
    mm_policy_slot t = mm_policy_slot_at(&p->net, i);
    float *to = mm_policy_place(p, &t, 0);
    size_t at;
    get_floats(data + spans[i].begin, p->n * t.size, to);
    if (!mm_policy_finite(to, p->n * t.size, &at))
      return MM_FAIL(MM_ERR_INPUT, "%s: tensor '%s': entry %zu: expected a finite number", source,
                     t.name, at);
    for (at = 0; i == MM_NET_INPUT_VARIANCE && at < p->n * t.size; at++)
      if (to[at] < 0)
        return MM_FAIL(MM_ERR_INPUT, "%s: tensor '%s': entry %zu: expected a number >= 0", source,
                       t.name, at);
  }
  memset(p->is_set, 1, p->n);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Reading: the file

static mm_status check_names(const cJSON *root, const char *source) {
  const char *keys[MM_NET_TENSORS_MAX + 2] = { METADATA };
  mm_net_config any = mm_net_config_default(1, 1);
  any.gaussian = mm_json_find(root, "actor.log_std") != NULL;
  for (int i = 0; i < mm_net_tensors_of(&any); i++)
    keys[i + 1] = mm_net_tensor_of(&any, i).name;
  return mm_json_check_keys(root, source, keys);
}

static mm_status read_root(const cJSON *root, const unsigned char *data, size_t data_size,
                           const char *source, mm_policy **out) {
  mm_net_config config;
  mm_policy_slot tensor[MM_NET_TENSORS_MAX];
  span spans[MM_NET_TENSORS_MAX] = { 0 };
  size_t n;
  MM_TRY(check_names(root, source));
  MM_TRY(read_sizes(root, source, &config, &n));
  const int tensors = mm_net_tensors_of(&config);
  for (int i = 0; i < tensors; i++) {
    tensor[i] = mm_policy_slot_at(&config, i);
    MM_TRY(read_tensor(root, source, &tensor[i], n, data_size, &spans[i]));
  }
  MM_TRY(check_cover(spans, (size_t)tensors, source, data_size));
  MM_TRY(read_metadata(root, source, n, out));
  config.activation = (*out)->settings.net.relu ? MM_ACTIVATION_RELU : MM_ACTIVATION_TANH;
  MM_TRY(in_source(mm_policy_shape(*out, &config), source));
  return read_data(data, source, spans, *out);
}

mm_status mm_policy_parse(const void *bytes, size_t length, const char *source, mm_policy **out) {
  const unsigned char *file = bytes;
  *out = NULL;
  uint64_t header = 0;
  if (length < LENGTH_SIZE)
    return MM_FAIL(MM_ERR_INPUT, "%s: expected a safetensors file, found %zu bytes", source,
                   length);
  for (int b = 0; b < LENGTH_SIZE; b++)
    header |= (uint64_t)file[b] << 8 * b;
  const size_t room = length - LENGTH_SIZE;
  if (header > room || header > HEADER_MOST)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: expected a safetensors file with a header of at most %zu bytes, found a "
                   "length of %" PRIu64,
                   source, room < HEADER_MOST ? room : (size_t)HEADER_MOST, header);
  const char *text = (const char *)file + LENGTH_SIZE;
  if (header == 0 || text[0] != '{')
    return MM_FAIL(MM_ERR_INPUT, "%s: expected a header that begins with '{'", source);
  cJSON *root;
  char inner[SOURCE_SIZE];
  snprintf(inner, sizeof inner, "%.900s: header", source);
  MM_TRY(mm_json_parse(text, (size_t)header, inner, &root));
  mm_policy *policy = NULL;
  mm_status status =
      read_root(root, file + LENGTH_SIZE + header, room - (size_t)header, source, &policy);
  cJSON_Delete(root);
  if (status == MM_OK)
    *out = policy;
  else
    mm_policy_destroy(policy);
  return status;
}

mm_status mm_policy_load(const char *path, mm_policy **out) {
  char *file, *bytes;
  size_t length;
  *out = NULL;
  MM_TRY(file_path(path, &file));
  mm_status status =
      mm_file_read(file, MM_POLICY_BYTES_MAX + HEADER_MOST + LENGTH_SIZE, &bytes, &length);
  if (status == MM_OK) status = mm_policy_parse(bytes, length, file, out);
  mm_free(bytes);
  mm_free(file);
  return status;
}
