// SPDX-License-Identifier: Apache-2.0
// Fields of JSON objects, with errors that say which field, what was expected and what was found.

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/spelling.h"
#include "base/status.h"

const char *mm_json_describe(const cJSON *item) {
  if (!item) return "nothing";
  if (cJSON_IsObject(item)) return "an object";
  if (cJSON_IsArray(item)) return "an array";
  if (cJSON_IsString(item)) return "a string";
  if (cJSON_IsNumber(item)) return "a number";
  if (cJSON_IsBool(item)) return cJSON_IsTrue(item) ? "true" : "false";
  return "null";
}

// The value's text where that is short and says more than its type.
static const char *describe_value(const cJSON *item, char out[MM_JSON_NUMBER_SIZE]) {
  if (!cJSON_IsNumber(item)) return mm_json_describe(item);
  return mm_json_format_number(item->valuedouble, out);
}

mm_status mm_json_check_keys(const cJSON *item, const char *source, const char *const *allowed) {
  if (!cJSON_IsObject(item))
    return MM_FAIL(MM_ERR_INPUT, "%s: expected an object, found %s", source,
                   mm_json_describe(item));
  size_t n = 0;
  while (allowed[n])
    n++;
  for (const cJSON *field = item->child; field; field = field->next) {
    size_t i = 0;
    while (i < n && strcmp(field->string, allowed[i]) != 0)
      i++;
    if (i < n) continue;
    const char *nearest = mm_nearest(field->string, allowed, n);
    if (nearest)
      return MM_FAIL(MM_ERR_INPUT, "%s: unknown field '%.60s'; did you mean '%s'?", source,
                     field->string, nearest);
    return MM_FAIL(MM_ERR_INPUT, "%s: unknown field '%.60s'", source, field->string);
  }
  return MM_OK;
}

const cJSON *mm_json_find(const cJSON *object, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(object, key);
}

// ---------------------------------------------------------------------------------------------
// Single values

static mm_status fail_type(const char *source, const char *key, const char *expected,
                           const cJSON *found) {
  if (!found)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s' is missing: expected %s", source, key, expected);
  return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected %s, found %s", source, key, expected,
                 mm_json_describe(found));
}

mm_status mm_json_get_string(const cJSON *object, const char *source, const char *key,
                             const char **out) {
  const cJSON *item = mm_json_find(object, key);
  if (!cJSON_IsString(item)) return fail_type(source, key, "a string", item);
  *out = item->valuestring;
  return MM_OK;
}

mm_status mm_json_get_bool(const cJSON *object, const char *source, const char *key, bool *out) {
  const cJSON *item = mm_json_find(object, key);
  if (!cJSON_IsBool(item)) return fail_type(source, key, "true or false", item);
  *out = cJSON_IsTrue(item);
  return MM_OK;
}

mm_status mm_json_get_number(const cJSON *object, const char *source, const char *key,
                             double *out) {
  const cJSON *item = mm_json_find(object, key);
  if (!cJSON_IsNumber(item)) return fail_type(source, key, "a number", item);
  *out = item->valuedouble;
  return MM_OK;
}

mm_status mm_json_get_integer(const cJSON *object, const char *source, const char *key, int64_t min,
                              int64_t max, int64_t *out) {
  const double exact = 9007199254740992.0; // 2^53: beyond, a double skips integers
  char found[MM_JSON_NUMBER_SIZE];
  const cJSON *item = mm_json_find(object, key);
  if (!item) return fail_type(source, key, "a whole number", item);
  double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
  bool whole = value >= -exact && value <= exact && value == trunc(value);
  if (!whole || (int64_t)value < min || (int64_t)value > max)
    return MM_FAIL(MM_ERR_INPUT,
                   "%s: field '%s': expected a whole number from %jd to %jd, found %s", source, key,
                   (intmax_t)min, (intmax_t)max, describe_value(item, found));
  *out = (int64_t)value;
  return MM_OK;
}

mm_status mm_json_get_object(const cJSON *object, const char *source, const char *key,
                             const cJSON **out) {
  const cJSON *item = mm_json_find(object, key);
  if (!cJSON_IsObject(item)) return fail_type(source, key, "an object", item);
  *out = item;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Arrays

// "exactly 126", "at least 1", "from 2 to 18"
static mm_status fail_length(const char *source, const char *key, size_t min, size_t max,
                             size_t n) {
  if (min == max)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected %zu entries, found %zu", source, key,
                   min, n);
  if (n < min)
    return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected at least %zu %s, found %zu", source, key,
                   min, min == 1 ? "entry" : "entries", n);
  return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': expected at most %zu entries, found %zu", source,
                 key, max, n);
}

mm_status mm_json_get_array(const cJSON *object, const char *source, const char *key, size_t min,
                            size_t max, const cJSON **out, size_t *n) {
  const cJSON *item = mm_json_find(object, key);
  size_t length = 0;
  if (!item || !cJSON_IsArray(item)) return fail_type(source, key, "an array", item);
  for (const cJSON *entry = item->child; entry; entry = entry->next)
    length++;
  if (length < min || length > max) return fail_length(source, key, min, max, length);
  *out = item;
  *n = length;
  return MM_OK;
}

mm_status mm_json_read_numbers(const cJSON *array, const char *source, const char *name, size_t n,
                               double *out) {
  const cJSON *entry = array ? array->child : NULL;
  for (size_t i = 0; i < n; i++, entry = entry->next) {
    if (!entry || !cJSON_IsNumber(entry))
      return MM_FAIL(MM_ERR_INPUT, "%s: field '%s': entry %zu: expected a number, found %s", source,
                     name, i, mm_json_describe(entry));
    out[i] = entry->valuedouble;
  }
  return MM_OK;
}

mm_status mm_json_get_numbers(const cJSON *object, const char *source, const char *key, size_t n,
                              double *out) {
  const cJSON *array = NULL;
  size_t length = 0;
  MM_TRY(mm_json_get_array(object, source, key, n, n, &array, &length));
  return mm_json_read_numbers(array, source, key, n, out);
}
