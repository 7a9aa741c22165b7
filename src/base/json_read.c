// SPDX-License-Identifier: Apache-2.0
// Reading JSON: a recursive descent over the grammar of RFC 8259 that builds cJSON's tree as it
// goes. cJSON's own reader takes text that is not JSON, cuts strings at \u0000 and numbers at 63
// characters, and cannot say where a mistake is.

#define _POSIX_C_SOURCE 200809L

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/status.h"
#include "base/utf8.h"

typedef struct key {
  const char *text; // belongs to the tree
  size_t at;
} key;

typedef struct reader {
  const char *source;
  const unsigned char *text; // [length]
  size_t length, at;
  int depth;
  char *scratch; // [length + 1], decoded strings; a string is shorter than its text in quotes
  size_t scratch_used;
  key *keys; // [keys_room], those of all open objects, outermost first
  size_t keys_used, keys_room;
} reader;

// ---------------------------------------------------------------------------------------------
// Errors

static mm_status out_of_memory(const reader *r) {
  return MM_FAIL(MM_ERR_MEMORY, "%s: out of memory", r->source);
}

static bool is_word(int c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

// What stands at a position, for the end of an error's sentence.
static void describe(const reader *r, size_t at, char *out, size_t size) {
  const unsigned char *s = r->text + at;
  size_t left = r->length - at;
  if (left == 0) {
    snprintf(out, size, "the end of the text");
    return;
  }
  size_t n = mm_utf8_length(s, left);
  if (n == 0)
    snprintf(out, size, "the byte 0x%02x, which is not UTF-8", s[0]);
  else if (n == 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0)
    snprintf(out, size, "a byte order mark");
  else if (s[0] < 0x20 || s[0] == 0x7F)
    snprintf(out, size, "a control character (0x%02x)", s[0]);
  else {
    while (n < 24 && n < left && is_word(s[0]) && is_word(s[n]))
      n++; // a whole word says more than its first letter
    snprintf(out, size, "'%.*s'", (int)n, (const char *)s);
  }
}

static mm_status fail_found(const reader *r, size_t at, const char *expected, const char *found) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < at; i++) {
    if (r->text[i] == '\n') {
      line++;
      column = 1;
    } else if ((r->text[i] & 0xC0) != 0x80)
      column++;
  }
  return MM_FAIL(MM_ERR_INPUT, "%s:%zu:%zu: expected %s, found %s", r->source, line, column,
                 expected, found);
}

static mm_status fail_at(const reader *r, size_t at, const char *expected) {
  char found[64];
  describe(r, at, found, sizeof found);
  return fail_found(r, at, expected, found);
}

static mm_status fail_here(const reader *r, const char *expected) {
  return fail_at(r, r->at, expected);
}

// ---------------------------------------------------------------------------------------------
// Characters

// The character at the reading position, or -1 at the end.
static int peek(const reader *r) {
  return r->at < r->length ? r->text[r->at] : -1;
}

static bool accept(reader *r, int c) {
  if (peek(r) != c) return false;
  r->at++;
  return true;
}

static void skip_space(reader *r) {
  while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r')
    r->at++;
}

// ---------------------------------------------------------------------------------------------
// Strings

static int hex_value(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static mm_status read_hex4(reader *r, unsigned *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    int digit = hex_value(peek(r));
    if (digit < 0) return fail_here(r, "four hexadecimal digits after \\u");
    *out = *out * 16 + (unsigned)digit;
  }
  return MM_OK;
}

// The rest of an escape \uXXXX, or of a pair of them, after its 'u'. `start` is the backslash.
static mm_status read_unicode(reader *r, size_t start, unsigned *out) {
  unsigned low = 0;
  MM_TRY(read_hex4(r, out));
  if (*out == 0) return fail_found(r, start, "a character other than the zero byte", "'\\u0000'");
  if (*out >= 0xDC00 && *out <= 0xDFFF)
    return fail_found(r, start, "a high surrogate first", "a low surrogate");
  if (*out < 0xD800 || *out > 0xDBFF) return MM_OK;
  size_t second = r->at;
  if (!accept(r, '\\') || !accept(r, 'u'))
    return fail_at(r, second, "the escape of a low surrogate after a high one");
  MM_TRY(read_hex4(r, &low));
  if (low < 0xDC00 || low > 0xDFFF)
    return fail_at(r, second, "the escape of a low surrogate after a high one");
  *out = 0x10000 + ((*out - 0xD800) << 10) + (low - 0xDC00);
  return MM_OK;
}

static void put(reader *r, unsigned byte) {
  r->scratch[r->scratch_used++] = (char)(unsigned char)byte;
}

static void put_character(reader *r, unsigned c) {
  if (c < 0x80)
    put(r, c);
  else if (c < 0x800) {
    put(r, 0xC0 | c >> 6);
    put(r, 0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(r, 0xE0 | c >> 12);
    put(r, 0x80 | (c >> 6 & 0x3F));
    put(r, 0x80 | (c & 0x3F));
  } else {
    put(r, 0xF0 | c >> 18);
    put(r, 0x80 | (c >> 12 & 0x3F));
    put(r, 0x80 | (c >> 6 & 0x3F));
    put(r, 0x80 | (c & 0x3F));
  }
}

static mm_status read_escape(reader *r) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  size_t start = r->at - 1; // the backslash
  int c = peek(r);
  if (c == 'u') {
    unsigned character = 0;
    r->at++;
    MM_TRY(read_unicode(r, start, &character));
    put_character(r, character);
    return MM_OK;
  }
  const char *name = c > 0 ? strchr(names, c) : NULL;
  if (!name) return fail_here(r, "one of \" \\ / b f n r t u after a backslash");
  put(r, (unsigned char)values[name - names]);
  r->at++;
  return MM_OK;
}

// Reads a string from its opening quote on. *out lies in the scratch memory, from the mark on that
// was scratch_used before; the caller gives it back by restoring the mark.
static mm_status read_string(reader *r, const char **out) {
  size_t mark = r->scratch_used;
  r->at++;
  while (!accept(r, '"')) {
    int c = peek(r);
    if (c < 0) return fail_here(r, "a closing '\"'");
    if (c < 0x20) return fail_here(r, "a closing '\"' or an escape such as \\n");
    if (accept(r, '\\')) {
      MM_TRY(read_escape(r));
      continue;
    }
    size_t n = mm_utf8_length(r->text + r->at, r->length - r->at);
    if (n == 0) return fail_here(r, "UTF-8");
    memcpy(r->scratch + r->scratch_used, r->text + r->at, n);
    r->scratch_used += n;
    r->at += n;
  }
  put(r, 0);
  *out = r->scratch + mark;
  return MM_OK;
}

static mm_status read_string_item(reader *r, cJSON **out) {
  size_t mark = r->scratch_used;
  const char *text = NULL;
  MM_TRY(read_string(r, &text));
  *out = cJSON_CreateString(text);
  r->scratch_used = mark;
  return *out ? MM_OK : out_of_memory(r);
}

// ---------------------------------------------------------------------------------------------
// Numbers

static bool at_digit(const reader *r) {
  return peek(r) >= '0' && peek(r) <= '9';
}

static mm_status read_digits(reader *r) {
  if (!at_digit(r)) return fail_here(r, "a digit");
  while (at_digit(r))
    r->at++;
  return MM_OK;
}

// Moves over a number of the grammar.
static mm_status scan_number(reader *r) {
  accept(r, '-');
  if (accept(r, '0')) {
    if (at_digit(r)) return fail_here(r, "no digit after a leading 0");
  } else
    MM_TRY(read_digits(r));
  if (accept(r, '.')) MM_TRY(read_digits(r));
  if (accept(r, 'e') || accept(r, 'E')) {
    if (!accept(r, '+')) accept(r, '-');
    MM_TRY(read_digits(r));
  }
  return MM_OK;
}

// strtod wants a zero after the digits; most numbers are short enough for the stack.
static mm_status read_number(reader *r, cJSON **out) {
  size_t start = r->at;
  MM_TRY(scan_number(r));
  size_t n = r->at - start;
  char small[64], *digits = n < sizeof small ? small : mm_alloc(n + 1);
  if (!digits) return out_of_memory(r);
  memcpy(digits, r->text + start, n);
  digits[n] = '\0';
  double value = strtod(digits, NULL);
  mm_status status = MM_OK;
  if (!isfinite(value)) {
    if (n > 40) memcpy(digits + 37, "...", sizeof "...");
    status = fail_found(r, start, "a number within the range of a double", digits);
  }
  if (digits != small) mm_free(digits);
  MM_TRY(status);
  *out = cJSON_CreateNumber(value);
  return *out ? MM_OK : out_of_memory(r);
}

// ---------------------------------------------------------------------------------------------
// Arrays and objects

static mm_status read_value(reader *r, cJSON **out);

static mm_status read_array(reader *r, cJSON *array) {
  r->at++;
  skip_space(r);
  if (accept(r, ']')) return MM_OK;
  for (;;) {
    cJSON *item = NULL;
    MM_TRY(read_value(r, &item));
    cJSON_AddItemToArray(array, item);
    skip_space(r);
    if (accept(r, ']')) return MM_OK;
    if (!accept(r, ',')) return fail_here(r, "',' or ']'");
  }
}

static mm_status remember_key(reader *r, const char *text, size_t at) {
  if (r->keys_used == r->keys_room) {
    size_t room = r->keys_room ? r->keys_room * 2 : 64;
    key *larger = mm_alloc_array(room, sizeof *larger);
    if (!larger) return out_of_memory(r);
    if (r->keys) memcpy(larger, r->keys, r->keys_used * sizeof *larger);
    mm_free(r->keys);
    r->keys = larger;
    r->keys_room = room;
  }
  r->keys[r->keys_used].text = text;
  r->keys[r->keys_used++].at = at;
  return MM_OK;
}

static int compare_keys(const void *left, const void *right) {
  const key *a = left, *b = right;
  int order = strcmp(a->text, b->text);
  return order ? order : (a->at > b->at) - (a->at < b->at);
}

// Sorted, because a hostile object with very many keys must not take a quadratic time.
static mm_status check_keys_differ(reader *r, size_t first) {
  key *keys = r->keys + first;
  size_t n = r->keys_used - first;
  const key *again = NULL; // the first in the text that was there before
  if (n < 2) return MM_OK;
  qsort(keys, n, sizeof *keys, compare_keys);
  for (size_t i = 1; i < n; i++) {
    bool same = strcmp(keys[i - 1].text, keys[i].text) == 0;
    if (same && (!again || keys[i].at < again->at)) again = &keys[i];
  }
  if (!again) return MM_OK;
  char found[96];
  snprintf(found, sizeof found, "'%.60s' again", again->text);
  return fail_found(r, again->at, "each key once", found);
}

static mm_status read_member(reader *r, cJSON *object) {
  size_t at = r->at, mark = r->scratch_used;
  const char *name = NULL;
  cJSON *item = NULL;
  if (peek(r) != '"') return fail_here(r, "a key in double quotes");
  MM_TRY(read_string(r, &name));
  skip_space(r);
  if (!accept(r, ':')) return fail_here(r, "':'");
  MM_TRY(read_value(r, &item));
  if (!item || !cJSON_AddItemToObject(object, name, item)) {
    cJSON_Delete(item);
    return out_of_memory(r);
  }
  r->scratch_used = mark;
  return remember_key(r, item->string, at);
}

static mm_status read_object(reader *r, cJSON *object) {
  size_t first = r->keys_used;
  r->at++;
  skip_space(r);
  if (accept(r, '}')) return MM_OK;
  for (;;) {
    MM_TRY(read_member(r, object));
    skip_space(r);
    if (accept(r, '}')) break;
    if (!accept(r, ',')) return fail_here(r, "',' or '}'");
    skip_space(r);
  }
  MM_TRY(check_keys_differ(r, first));
  r->keys_used = first;
  return MM_OK;
}

static mm_status read_container(reader *r, cJSON **out) {
  bool is_object = peek(r) == '{';
  if (r->depth == MM_JSON_DEPTH) {
    char expected[64];
    snprintf(expected, sizeof expected, "at most %d levels of nesting", MM_JSON_DEPTH);
    return fail_found(r, r->at, expected, "one more");
  }
  cJSON *container = is_object ? cJSON_CreateObject() : cJSON_CreateArray();
  if (!container) return out_of_memory(r);
  r->depth++;
  mm_status status = is_object ? read_object(r, container) : read_array(r, container);
  r->depth--;
  if (status != MM_OK)
    cJSON_Delete(container);
  else
    *out = container;
  return status;
}

static bool accept_word(reader *r, const char *word) {
  size_t n = strlen(word);
  if (r->length - r->at < n || memcmp(r->text + r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

// Reads one value, whatever it is, into *out; on failure nothing is left to release.
static mm_status read_value(reader *r, cJSON **out) {
  skip_space(r);
  int c = peek(r);
  if (c == '{' || c == '[') return read_container(r, out);
  if (c == '"') return read_string_item(r, out);
  if (c == '-' || at_digit(r)) return read_number(r, out);
  if (accept_word(r, "true"))
    *out = cJSON_CreateTrue();
  else if (accept_word(r, "false"))
    *out = cJSON_CreateFalse();
  else if (accept_word(r, "null"))
    *out = cJSON_CreateNull();
  else
    return fail_here(r, "a value");
  return *out ? MM_OK : out_of_memory(r);
}

static mm_status read_document(reader *r, cJSON **out) {
  MM_TRY(read_value(r, out));
  skip_space(r);
  if (r->at == r->length) return MM_OK;
  cJSON_Delete(*out);
  *out = NULL;
  return fail_here(r, "nothing after the document");
}

mm_status mm_json_parse(const char *text, size_t length, const char *source, cJSON **out) {
  reader r = { .source = source, .text = (const unsigned char *)text, .length = length };
  *out = NULL;
  r.scratch = length < SIZE_MAX ? mm_alloc(length + 1) : NULL;
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); // strtod reads a point in it
  mm_status status = MM_OK;
  if (!r.scratch || !c_locale)
    status = out_of_memory(&r);
  else {
    locale_t callers = uselocale(c_locale);
    status = read_document(&r, out);
    uselocale(callers);
  }
  if (c_locale) freelocale(c_locale);
  mm_free(r.keys);
  mm_free(r.scratch);
  return status;
}
