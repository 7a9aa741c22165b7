// SPDX-License-Identifier: Apache-2.0
// Writing JSON: numbers that keep their bits, and a tree as text.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "base/utf8.h"

// ---------------------------------------------------------------------------------------------
// Numbers

static bool same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

// In the C locale.
static void format_finite(double value, char out[MM_JSON_NUMBER_SIZE]) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(out, MM_JSON_NUMBER_SIZE, "%.*g", digits, value);
    if (digits == 17 || same_bits(strtod(out, NULL), value)) return;
  }
}

// Switches this thread to the C locale, where numbers have a point, and back.
typedef struct c_locale {
  locale_t mine, callers;
} c_locale;

static c_locale enter_c_locale(void) {
  c_locale l = { newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0 };
  if (l.mine) l.callers = uselocale(l.mine);
  return l;
}

static void leave_c_locale(c_locale l) {
  if (!l.mine) return;
  uselocale(l.callers);
  freelocale(l.mine);
}

const char *mm_json_format_number(double value, char out[MM_JSON_NUMBER_SIZE]) {
  if (isnan(value)) return strcpy(out, "nan");
  if (isinf(value)) return strcpy(out, value > 0 ? "inf" : "-inf");
  c_locale l = enter_c_locale();
  format_finite(value, out);
  leave_c_locale(l);
  return out;
}

const char *mm_json_format_float(float value, char out[MM_JSON_NUMBER_SIZE]) {
  if (!isfinite(value)) return mm_json_format_number((double)value, out);
  c_locale l = enter_c_locale();
  int digits = 1;
  for (float power = 10; fabsf(value) < 1e9f && fabsf(value) >= power; power *= 10)
    digits++; // not fewer than those before the point: 500, not 5e+02
  for (; digits <= 9; digits++) {
    snprintf(out, MM_JSON_NUMBER_SIZE, "%.*g", digits, (double)value);
    // by way of a double, as a reader of JSON does it
    float back = (float)strtod(out, NULL);
    if (memcmp(&back, &value, sizeof back) == 0) break;
  }
  leave_c_locale(l);
  return out;
}

cJSON *mm_json_number(double value) {
  char text[MM_JSON_NUMBER_SIZE];
  mm_json_format_number(value, text);
  return isfinite(value) ? cJSON_CreateRaw(text) : cJSON_CreateString(text);
}

cJSON *mm_json_numbers(const double *values, size_t n) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; array && i < n; i++) {
    cJSON *item = mm_json_number(values[i]);
    if (item) {
      cJSON_AddItemToArray(array, item);
    } else {
      cJSON_Delete(array);
      array = NULL;
    }
  }
  return array;
}

cJSON *mm_json_defined(double value) {
  return isnan(value) ? cJSON_CreateNull() : mm_json_number(value);
}

void mm_json_add_defined(cJSON *object, const char *key, double value) {
  cJSON_AddItemToObject(object, key, mm_json_defined(value));
}

void mm_json_add_whole(cJSON *object, const char *key, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, value);
  cJSON_AddRawToObject(object, key, text);
}

static size_t count_digits(const char *s) {
  return strspn(s, "0123456789");
}

// The end of a finite number in decimal notation at s, or NULL.
static const char *scan_number(const char *s) {
  if (*s == '+' || *s == '-') s++;
  size_t whole = count_digits(s), fraction = 0;
  s += whole;
  if (*s == '.') {
    fraction = count_digits(s + 1);
    s += 1 + fraction;
  }
  if (whole + fraction == 0) return NULL;
  if (*s == 'e' || *s == 'E') {
    s++;
    if (*s == '+' || *s == '-') s++;
    size_t exponent = count_digits(s);
    if (exponent == 0) return NULL;
    s += exponent;
  }
  return s;
}

bool mm_json_parse_number(const char *text, double *out) {
  const char *word = text + (*text == '+' || *text == '-');
  if (strcmp(word, "inf") == 0) {
    *out = *text == '-' ? -INFINITY : INFINITY;
    return true;
  }
  if (strcmp(text, "nan") == 0) {
    *out = NAN;
    return true;
  }
  const char *end = scan_number(text);
  if (!end || *end != '\0') return false;
  c_locale l = enter_c_locale();
  double value = strtod(text, NULL);
  leave_c_locale(l);
  if (!isfinite(value)) return false;
  *out = value;
  return true;
}

// ---------------------------------------------------------------------------------------------
// Trees

// Text that grows; after a failed allocation everything put into it is lost quietly.
typedef struct writer {
  char *text;
  size_t used, room;
  size_t line_start; // where the current line begins
  bool pretty, failed;
} writer;

enum { LINE_WIDTH = 100 };

static bool reserve(writer *w, size_t n) {
  if (w->failed) return false;
  if (n < w->room - w->used) return true;
  size_t room = w->room < 256 ? 256 : w->room;
  while (room <= SIZE_MAX / 2 && n >= room - w->used)
    room *= 2;
  char *larger = mm_alloc(room);
  if (larger && w->text) memcpy(larger, w->text, w->used);
  mm_free(w->text);
  w->text = larger;
  w->room = room;
  w->failed = larger == NULL;
  return !w->failed;
}

static void put(writer *w, const char *text, size_t n) {
  if (!reserve(w, n)) return;
  memcpy(w->text + w->used, text, n);
  w->used += n;
}

static void put_text(writer *w, const char *text) {
  put(w, text, strlen(text));
}

static void new_line(writer *w, int indent) {
  put_text(w, "\n");
  w->line_start = w->used;
  for (int i = 0; i < indent; i++)
    put_text(w, "  ");
}

static void put_escape(writer *w, unsigned char c) {
  static const char special[] = "\"\\\b\f\n\r\t", name[] = "\"\\bfnrt";
  const char *found = c ? strchr(special, c) : NULL;
  char text[8];
  if (found)
    snprintf(text, sizeof text, "\\%c", name[found - special]);
  else
    snprintf(text, sizeof text, "\\u%04x", c);
  put_text(w, text);
}

static void put_string(writer *w, const char *string) {
  const unsigned char *s = (const unsigned char *)string;
  size_t left = strlen(string);
  put_text(w, "\"");
  while (left > 0) {
    size_t n = mm_utf8_length(s, left);
    if (n == 0) {
      put_text(w, "\xEF\xBF\xBD"); // U+FFFD, the replacement character
      n = 1;
    } else if (*s < 0x20 || *s == '"' || *s == '\\' || *s == 0x7F)
      put_escape(w, *s);
    else
      put(w, (const char *)s, n);
    s += n;
    left -= n;
  }
  put_text(w, "\"");
}

static void put_number(writer *w, double value) {
  char text[MM_JSON_NUMBER_SIZE];
  if (isfinite(value)) {
    format_finite(value, text);
    put_text(w, text);
  } else
    put_string(w, mm_json_format_number(value, text));
}

static bool is_container(const cJSON *item) {
  return cJSON_IsArray(item) || cJSON_IsObject(item);
}

static void put_scalar(writer *w, const cJSON *item) {
  if (cJSON_IsString(item))
    put_string(w, item->valuestring);
  else if (cJSON_IsNumber(item))
    put_number(w, item->valuedouble);
  else if (cJSON_IsRaw(item))
    put_text(w, item->valuestring);
  else if (cJSON_IsBool(item))
    put_text(w, cJSON_IsTrue(item) ? "true" : "false");
  else
    put_text(w, "null");
}

// An array without arrays or objects in it: as many entries in a line as fit.
static void put_filled(writer *w, const cJSON *array, int indent) {
  writer entry = { 0 };
  put_text(w, "[");
  for (const cJSON *item = array->child; item && !w->failed; item = item->next) {
    entry.used = 0;
    put_scalar(&entry, item);
    bool fits = w->used - w->line_start + entry.used + sizeof ", ," <= LINE_WIDTH;
    if (item != array->child && w->pretty && fits) put_text(w, " ");
    if (item != array->child && w->pretty && !fits) new_line(w, indent + 1);
    if (entry.failed)
      w->failed = true;
    else
      put(w, entry.text, entry.used);
    if (item->next) put_text(w, ",");
  }
  put_text(w, "]");
  mm_free(entry.text);
}

static bool holds_container(const cJSON *item) {
  for (const cJSON *child = item->child; child; child = child->next) {
    if (is_container(child)) return true;
  }
  return false;
}

static void put_item(writer *w, const cJSON *item, int indent) {
  bool object = cJSON_IsObject(item);
  if (!is_container(item)) {
    put_scalar(w, item);
    return;
  }
  if (!object && !holds_container(item)) {
    put_filled(w, item, indent);
    return;
  }
  put_text(w, object ? "{" : "[");
  for (const cJSON *child = item->child; child; child = child->next) {
    if (w->pretty) new_line(w, indent + 1);
    if (object) {
      put_string(w, child->string);
      put_text(w, w->pretty ? ": " : ":");
    }
    put_item(w, child, indent + 1);
    if (child->next) put_text(w, ",");
  }
  if (w->pretty && item->child) new_line(w, indent);
  put_text(w, object ? "}" : "]");
}

char *mm_json_print(const cJSON *item, bool pretty) {
  writer w = { .pretty = pretty };
  c_locale l = enter_c_locale();
  put_item(&w, item, 0);
  leave_c_locale(l);
  put(&w, "", 1);
  if (!w.failed) return w.text;
  mm_free(w.text); // what there is of it has no end
  return NULL;
}
