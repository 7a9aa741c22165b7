// SPDX-License-Identifier: Apache-2.0
// JSON: what is accepted, what is refused and how it is said, numbers to the bit, printing, fields.

#define _XOPEN_SOURCE 700

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/status.h"
#include "test.h"

static cJSON *parse(const char *text) {
  cJSON *root = NULL;
  assert_ok(mm_json_parse(text, strlen(text), "text", &root));
  assert_non_null(root);
  return root;
}

// Parses text that is not ended by a zero, so that a read beyond it shows under a sanitizer.
static mm_status parse_exact(const char *text, size_t length, cJSON **out) {
  char *copy = malloc(length + 1);
  assert_non_null(copy);
  memmove(copy + 1, text, length);
  mm_status status = mm_json_parse(copy + 1, length, "f", out);
  free(copy);
  return status;
}

static bool same_bits(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

// ---------------------------------------------------------------------------------------------
// Reading

static void json_is_accepted(void **state) {
  (void)state;
  static const char *const texts[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1.5e+10",
    "1E-2",
    "1e05",
    "\"\"",
    "[]",
    "{}",
    " \t\r\n[ 1 , 2 ]\r\n ",
    "{\"a\":{\"a\":[{},[]]}}",
    "[[],[[]],{\"\":0}]",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
    "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf \xef\xbb\xbf\"",
    "\"\x7f\"",
    "{\"a\":1,\"A\":2,\"a \":3}",
    "1e-999",
    "-1e-999",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    cJSON *root = NULL;
    assert_ok(parse_exact(texts[i], strlen(texts[i]), &root));
    cJSON_Delete(root);
  }
}

typedef struct refusal {
  const char *text;
  const char *error; // all of it
} refusal;

static void what_is_not_json_is_refused(void **state) {
  (void)state;
  static const refusal cases[] = {
    { "", "f:1:1: expected a value, found the end of the text" },
    { " \n ", "f:2:2: expected a value, found the end of the text" },
    { "\xef\xbb\xbf{}", "f:1:1: expected a value, found a byte order mark" },
    { "NaN", "f:1:1: expected a value, found 'NaN'" },
    { "[1, Infinity]", "f:1:5: expected a value, found 'Infinity'" },
    { "-Infinity", "f:1:2: expected a digit, found 'Infinity'" },
    { "True", "f:1:1: expected a value, found 'True'" },
    { "nul", "f:1:1: expected a value, found 'nul'" },
    { "nulll", "f:1:5: expected nothing after the document, found 'l'" },
    { "'a'", "f:1:1: expected a value, found '''" },
    { "+1", "f:1:1: expected a value, found '+'" },
    { "01", "f:1:2: expected no digit after a leading 0, found '1'" },
    { "-01", "f:1:3: expected no digit after a leading 0, found '1'" },
    { "-", "f:1:2: expected a digit, found the end of the text" },
    { ".5", "f:1:1: expected a value, found '.'" },
    { "5.", "f:1:3: expected a digit, found the end of the text" },
    { "5.e1", "f:1:3: expected a digit, found 'e1'" },
    { "1e", "f:1:3: expected a digit, found the end of the text" },
    { "1e+", "f:1:4: expected a digit, found the end of the text" },
    { "1e1.5", "f:1:4: expected nothing after the document, found '.'" },
    { "0x10", "f:1:2: expected nothing after the document, found 'x10'" },
    { "1_000", "f:1:2: expected nothing after the document, found '_000'" },
    { "1e400", "f:1:1: expected a number within the range of a double, found 1e400" },
    { "[1,\n -1e309]", "f:2:2: expected a number within the range of a double, found -1e309" },
    { "[", "f:1:2: expected a value, found the end of the text" },
    { "[1", "f:1:3: expected ',' or ']', found the end of the text" },
    { "[1,]", "f:1:4: expected a value, found ']'" },
    { "[,1]", "f:1:2: expected a value, found ','" },
    { "[1 2]", "f:1:4: expected ',' or ']', found '2'" },
    { "[1}", "f:1:3: expected ',' or ']', found '}'" },
    { "]", "f:1:1: expected a value, found ']'" },
    { "{", "f:1:2: expected a key in double quotes, found the end of the text" },
    { "{\"a\"}", "f:1:5: expected ':', found '}'" },
    { "{\"a\":}", "f:1:6: expected a value, found '}'" },
    { "{\"a\":1", "f:1:7: expected ',' or '}', found the end of the text" },
    { "{\"a\":1,}", "f:1:8: expected a key in double quotes, found '}'" },
    { "{a:1}", "f:1:2: expected a key in double quotes, found 'a'" },
    { "{1:1}", "f:1:2: expected a key in double quotes, found '1'" },
    { "{\"a\":1 \"b\":2}", "f:1:8: expected ',' or '}', found '\"'" },
    { "{} {}", "f:1:4: expected nothing after the document, found '{'" },
    { "{}x", "f:1:3: expected nothing after the document, found 'x'" },
    { "[] // note", "f:1:4: expected nothing after the document, found '/'" },
    { "/* */ []", "f:1:1: expected a value, found '/'" },
    { "\"a", "f:1:3: expected a closing '\"', found the end of the text" },
    { "\"a\nb\"",
      "f:1:3: expected a closing '\"' or an escape such as \\n, found a control character (0x0a)" },
    { "\"a\tb\"",
      "f:1:3: expected a closing '\"' or an escape such as \\n, found a control character (0x09)" },
    { "[\v1]", "f:1:2: expected a value, found a control character (0x0b)" },
    { "\"\\x\"", "f:1:3: expected one of \" \\ / b f n r t u after a backslash, found 'x'" },
    { "\"\\", "f:1:3: expected one of \" \\ / b f n r t u after a backslash, found the end of the "
              "text" },
    { "\"\\u12g4\"", "f:1:6: expected four hexadecimal digits after \\u, found 'g4'" },
    { "\"\\u12", "f:1:6: expected four hexadecimal digits after \\u, found the end of the text" },
    { "\"\\u0000\"", "f:1:2: expected a character other than the zero byte, found '\\u0000'" },
    { "{\"a\\u0000b\":1}",
      "f:1:4: expected a character other than the zero byte, found '\\u0000'" },
    { "\"\\ude00\"", "f:1:2: expected a high surrogate first, found a low surrogate" },
    { "\"\\ud83d\"", "f:1:8: expected the escape of a low surrogate after a high one, found '\"'" },
    { "\"\\ud83d\\n\"",
      "f:1:8: expected the escape of a low surrogate after a high one, found '\\'" },
    { "\"\\ud83d\\ud83d\"",
      "f:1:8: expected the escape of a low surrogate after a high one, found '\\'" },
    { "\"\xff\"", "f:1:2: expected UTF-8, found the byte 0xff, which is not UTF-8" },
    { "\"\x80\"", "f:1:2: expected UTF-8, found the byte 0x80, which is not UTF-8" },
    { "\"\xc0\xaf\"", "f:1:2: expected UTF-8, found the byte 0xc0, which is not UTF-8" },
    { "\"\xc1\xbf\"", "f:1:2: expected UTF-8, found the byte 0xc1, which is not UTF-8" },
    { "\"\xe0\x9f\xbf\"", "f:1:2: expected UTF-8, found the byte 0xe0, which is not UTF-8" },
    { "\"\xed\xa0\x80\"", "f:1:2: expected UTF-8, found the byte 0xed, which is not UTF-8" },
    { "\"\xf0\x8f\xbf\xbf\"", "f:1:2: expected UTF-8, found the byte 0xf0, which is not UTF-8" },
    { "\"\xf4\x90\x80\x80\"", "f:1:2: expected UTF-8, found the byte 0xf4, which is not UTF-8" },
    { "\"\xf5\x80\x80\x80\"", "f:1:2: expected UTF-8, found the byte 0xf5, which is not UTF-8" },
    { "\"\xe2\x82\"", "f:1:2: expected UTF-8, found the byte 0xe2, which is not UTF-8" },
    { "\"\xe2\x82", "f:1:2: expected UTF-8, found the byte 0xe2, which is not UTF-8" },
    { "\"a\xc3\xa9\xff\"", "f:1:4: expected UTF-8, found the byte 0xff, which is not UTF-8" },
    { "\xff", "f:1:1: expected a value, found the byte 0xff, which is not UTF-8" },
    { "{\"a\":1,\n\"b\":2,\n \"a\":3, \"b\":4}", "f:3:2: expected each key once, found 'a' again" },
    { "{\"a\":1,\"\\u0061\":3}", "f:1:8: expected each key once, found 'a' again" },
    { "[{\"x\":{\"k\":0,\"k\":0}}]", "f:1:14: expected each key once, found 'k' again" },
    { "{\"a\":{\"a\":1},\"\":0,\"\":0}", "f:1:19: expected each key once, found '' again" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cJSON *root = (cJSON *)1;
    assert_int_equal(parse_exact(cases[i].text, strlen(cases[i].text), &root), MM_ERR_INPUT);
    assert_string_equal(mm_last_error(), cases[i].error);
    assert_null(root);
  }
}

static void zero_bytes_are_refused(void **state) {
  (void)state;
  cJSON *root = NULL;
  assert_fails(parse_exact("[1]\0", 4, &root), MM_ERR_INPUT, "a control character (0x00)");
  assert_fails(parse_exact("\"a\0b\"", 5, &root), MM_ERR_INPUT, "f:1:3:");
  assert_fails(parse_exact("\"\\\0\"", 4, &root), MM_ERR_INPUT, "after a backslash");
}

// Every cut of a document is an error, and no cut reads beyond its end.
static void every_truncation_is_refused(void **state) {
  (void)state;
  static const char text[] = "{\"a\": [1.5e-3, true, null, \"\\u00e9\\ud83d\\ude00\xe2\x82\xac\"], "
                             "\"b\": {\"c\": false}}";
  cJSON *root = NULL;
  for (size_t length = 0; length < sizeof text - 1; length++) {
    assert_fails(parse_exact(text, length, &root), MM_ERR_INPUT, "f:1:");
    assert_null(root);
  }
  assert_ok(parse_exact(text, sizeof text - 1, &root));
  cJSON_Delete(root);
}

static void nest(char *out, int depth, char open, char close) {
  memset(out, open, (size_t)depth);
  memset(out + depth, close, (size_t)depth);
  out[2 * depth] = '\0';
}

static void nesting_has_a_limit(void **state) {
  (void)state;
  char text[300];
  cJSON *root = NULL;
  nest(text, MM_JSON_DEPTH, '[', ']');
  cJSON_Delete(parse(text));
  nest(text, MM_JSON_DEPTH + 1, '[', ']');
  assert_fails(mm_json_parse(text, strlen(text), "f", &root), MM_ERR_INPUT,
               "f:1:65: expected at most 64 levels of nesting");
  // a hostile depth must fail the same way, not exhaust the stack
  size_t length = 10000000;
  char *deep = malloc(length);
  assert_non_null(deep);
  memset(deep, '[', length);
  assert_fails(mm_json_parse(deep, length, "f", &root), MM_ERR_INPUT, "64 levels");
  for (size_t i = 0; i + 5 <= length; i += 5)
    memcpy(deep + i, "{\"a\":", 5);
  assert_fails(mm_json_parse(deep, length, "f", &root), MM_ERR_INPUT, "64 levels");
  free(deep);
}

// A quadratic search for repeated keys would take minutes here.
static void many_keys_are_no_trouble(void **state) {
  (void)state;
  size_t n = 300000, used = 0, room = n * 16 + 16;
  char *text = malloc(room);
  cJSON *root = NULL;
  assert_non_null(text);
  text[used++] = '{';
  for (size_t i = 0; i < n; i++)
    used += (size_t)snprintf(text + used, room - used, "\"k%zu\":0,", i * 7919 % n);
  size_t end = used + (size_t)snprintf(text + used, room - used, "\"x\":0}");
  assert_ok(mm_json_parse(text, end, "f", &root));
  cJSON_Delete(root);
  end = used + (size_t)snprintf(text + used, room - used, "\"k17\":0}");
  assert_fails(mm_json_parse(text, end, "f", &root), MM_ERR_INPUT, "found 'k17' again");
  free(text);
}

static void strings_are_decoded(void **state) {
  (void)state;
  cJSON *root =
      parse("{\"k\\u0065y\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20AC\\uD83D\\uDE00z\"}");
  assert_string_equal(root->child->string, "key");
  assert_string_equal(root->child->valuestring,
                      "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  cJSON_Delete(root);
}

// The sentence stays one line of bounded length whatever is quoted in it.
static void errors_quote_hostile_text_safely(void **state) {
  (void)state;
  cJSON *root = NULL;
  char text[6000], source[3000];
  memset(source, 's', sizeof source - 1);
  source[sizeof source - 1] = '\0';
  assert_fails(mm_json_parse("x", 1, source, &root), MM_ERR_INPUT, "...");
  memset(text, 'k', sizeof text);
  static const char key[] = "\"a\\u001b[2J\\n";
  text[0] = '{';
  memcpy(text + 1, key, sizeof key - 1);
  memcpy(text + 500, "\":1,", 4);
  memcpy(text + 504, key, sizeof key - 1);
  memcpy(text + 504 + 499, "\":1}", 4);
  size_t at = 504 + 499 + 4;
  assert_fails(mm_json_parse(text, at, "f", &root), MM_ERR_INPUT, "found 'a\\x1b[2J\\x0akkk");
  assert_true(strlen(mm_last_error()) < 200);
}

// ---------------------------------------------------------------------------------------------
// Numbers

static const double hard_numbers[] = {
  0.0,
  -0.0,
  1.0,
  0.1,
  0.3,
  1.0 / 3,
  2.0 / 3,
  5e-324,
  -5e-324,
  2.2250738585072014e-308, // the least normal number and the one before
  2.2250738585072011e-308,
  1.7976931348623157e308,
  9007199254740993.0,
  123456789012345678.0,
  1e21,
  1e22,
  1e23,
  6.02214076e23,
  1e-7,
  1e-5,
  3.141592653589793,
  2.718281828459045,
  0.1 + 0.2,
  1e15,
  1e16,
  1e17,
  4.35,
  1e-8,
  1e6,
};

static void assert_round_trip(double value) {
  char text[MM_JSON_NUMBER_SIZE];
  double back = 7;
  cJSON *root = NULL;
  mm_json_format_number(value, text);
  assert_true(mm_json_parse_number(text, &back));
  assert_true(same_bits(back, value));
  assert_ok(mm_json_parse(text, strlen(text), "number", &root));
  assert_true(same_bits(root->valuedouble, value));
  cJSON_Delete(root);
}

static void numbers_keep_their_bits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof hard_numbers / sizeof *hard_numbers; i++)
    assert_round_trip(hard_numbers[i]);
  // all bit patterns alike, then numbers of usual size
  mm_stream s = mm_stream_make(1, 0, MM_RNG_TEST, 0);
  for (uint64_t i = 0; i < 20000; i++) {
    double value = mm_from_bits_d(mm_stream_pair(s, i));
    if (isfinite(value)) assert_round_trip(value);
    assert_round_trip(mm_uniform_d(mm_stream_pair(s, i)));
  }
}

static void numbers_are_short(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {
    { 0.0, "0" },
    { -0.0, "-0" },
    { 0.1, "0.1" },
    { 100, "100" },
    { -2.5, "-2.5" },
    { 1e300, "1e+300" },
    { 1e-8, "1e-08" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 1.0 / 3, "0.3333333333333333" },
    { 123456789012345680.0, "1.2345678901234568e+17" },
    { INFINITY, "inf" },
    { -INFINITY, "-inf" },
    { NAN, "nan" },
  };
  char text[MM_JSON_NUMBER_SIZE];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(mm_json_format_number(cases[i].value, text), cases[i].text);
}

// cJSON's own reader keeps 63 characters of a number.
static void long_numbers_are_read_whole(void **state) {
  (void)state;
  char text[3001];
  memset(text, '0', sizeof text);
  memcpy(text, "[0.", 3);
  memcpy(text + 2990, "1e2988]", 8); // 0.00..01 with 2987 zeros, times 10^2988
  cJSON *root = parse(text);
  assert_true(root->child->valuedouble == 1.0);
  cJSON_Delete(root);
  memset(text, '9', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  assert_fails(mm_json_parse(text, strlen(text), "f", &root), MM_ERR_INPUT,
               "found 9999999999999999999999999999999999999...");
  assert_true(strlen(mm_last_error()) < 200);
  // a decimal half way between two doubles, and just above
  root = parse("[9007199254740993, 9007199254740993."
               "0000000000000000000000000000000000000000000000000000000000000000000000001]");
  assert_true(root->child->valuedouble == 9007199254740992.0);
  assert_true(root->child->next->valuedouble == 9007199254740994.0);
  cJSON_Delete(root);
}

static void numbers_of_the_command_line(void **state) {
  (void)state;
  static const char *const good[] = { "1", "-1.5", "+2", ".5", "5.", "1e3", "-.5E-2", "007" };
  static const double values[] = { 1, -1.5, 2, 0.5, 5, 1000, -0.005, 7 };
  static const char *const bad[] = { "",     " 1",  "1 ",  "1x",  "0x10", "1,5",      ".",
                                     "e5",   "1e",  "--1", "+-1", "1e5.", "infinity", "1e999",
                                     "+nan", "Inf", "NaN", "1\n", "-",    "nan(1)",   "\xc2\xbd" };
  double value = 0;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(mm_json_parse_number(good[i], &value));
    assert_true(value == values[i]);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(mm_json_parse_number(bad[i], &value));
  assert_true(mm_json_parse_number("inf", &value) && value == INFINITY);
  assert_true(mm_json_parse_number("-inf", &value) && value == -INFINITY);
  assert_true(mm_json_parse_number("nan", &value) && isnan(value));
  assert_true(mm_json_parse_number("-0", &value) && same_bits(value, -0.0));
}

// A program that uses the library may have set a locale whose numbers have a comma.
static void a_comma_locale_changes_nothing(void **state) {
  (void)state;
  static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE",     "fr_FR.UTF-8",
                                       "fr_FR.utf8",  "nl_NL.utf8", "ru_RU.utf8" };
  bool found = false;
  for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
    found = setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0;
  if (!found) {
    setlocale(LC_ALL, "C");
    skip();
  }
  char text[MM_JSON_NUMBER_SIZE], after[16];
  double value = 0, both[2] = { 0.25, 1e-3 };
  mm_json_format_number(1.5, text);
  bool parsed = mm_json_parse_number("2.5", &value), comma = mm_json_parse_number("2,5", &value);
  cJSON *root = NULL, *made = mm_json_numbers(both, 2), *plain = cJSON_CreateNumber(0.75);
  mm_status status = mm_json_parse("[0.5]", 5, "f", &root);
  char *printed = mm_json_print(made, false), *printed_plain = mm_json_print(plain, false);
  snprintf(after, sizeof after, "%.1f", 0.5); // the caller's locale is back
  setlocale(LC_ALL, "C");
  assert_string_equal(text, "1.5");
  assert_true(parsed && !comma && value == 2.5);
  assert_int_equal(status, MM_OK);
  assert_true(root->child->valuedouble == 0.5);
  assert_string_equal(printed, "[0.25,0.001]");
  assert_string_equal(printed_plain, "0.75");
  assert_string_equal(after, "0,5");
  cJSON_Delete(root);
  cJSON_Delete(made);
  cJSON_Delete(plain);
  mm_free(printed);
  mm_free(printed_plain);
}

// ---------------------------------------------------------------------------------------------
// Printing

static void assert_prints(cJSON *item, bool pretty, const char *expected) {
  char *text = mm_json_print(item, pretty);
  assert_non_null(text);
  assert_string_equal(text, expected);
  mm_free(text);
}

static void trees_are_printed(void **state) {
  (void)state;
  cJSON *root = parse("{\"a\": [1, 2.5, null, true], \"b\": {}, \"c\": [], \"d\": [[1], {\"e\": "
                      "false}], \"f\\n\": \"\\u0001\\\"\\\\\\t\xc3\xa9\"}");
  assert_prints(root, false,
                "{\"a\":[1,2.5,null,true],\"b\":{},\"c\":[],\"d\":[[1],{\"e\":false}],"
                "\"f\\n\":\"\\u0001\\\"\\\\\\t\xc3\xa9\"}");
  assert_prints(root, true,
                "{\n"
                "  \"a\": [1, 2.5, null, true],\n"
                "  \"b\": {},\n"
                "  \"c\": [],\n"
                "  \"d\": [\n"
                "    [1],\n"
                "    {\n"
                "      \"e\": false\n"
                "    }\n"
                "  ],\n"
                "  \"f\\n\": \"\\u0001\\\"\\\\\\t\xc3\xa9\"\n"
                "}");
  cJSON_Delete(root);
}

static void numbers_are_printed_exactly(void **state) {
  (void)state;
  static const double odd[] = { 0.1 + 0.2, -0.0, INFINITY, -INFINITY, NAN, 5e-324 };
  cJSON *ours = mm_json_numbers(odd, 6), *plain = cJSON_CreateDoubleArray(odd, 6);
  const char *expected = "[0.30000000000000004,-0,\"inf\",\"-inf\",\"nan\",4.94065645841247e-324]";
  assert_prints(ours, false, expected);
  assert_prints(plain, false, expected);
  cJSON_Delete(ours);
  cJSON_Delete(plain);
}

static void fields_of_every_number(void **state) {
  (void)state;
  cJSON *root = cJSON_CreateObject();
  mm_json_add_whole(root, "seed", UINT64_MAX);
  mm_json_add_defined(root, "half", 0.5);
  mm_json_add_defined(root, "undefined", NAN);
  mm_json_add_defined(root, "beyond", -INFINITY);
  assert_prints(root, false,
                "{\"seed\":18446744073709551615,\"half\":0.5,\"undefined\":null,"
                "\"beyond\":\"-inf\"}");
  cJSON_Delete(root);
}

static void bad_utf8_is_replaced(void **state) {
  (void)state;
  cJSON *item = cJSON_CreateString("a\xff\xe2\x82z\xed\xa0\x80");
  assert_prints(item, false,
                "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  cJSON_Delete(item);
}

// Long arrays of numbers fill lines of at most 100 characters and survive the round trip.
static void long_arrays_are_filled(void **state) {
  (void)state;
  enum { N = 1000 };
  double values[N], back[N];
  mm_stream s = mm_stream_make(2, 0, MM_RNG_TEST, 0);
  for (int i = 0; i < N; i++)
    values[i] = mm_normal_d(mm_stream_pair(s, (uint64_t)i));
  cJSON *root = cJSON_CreateObject();
  cJSON_AddItemToObject(root, "psi", mm_json_numbers(values, N));
  char *text = mm_json_print(root, true);
  cJSON_Delete(root);
  assert_non_null(text);
  size_t lines = 0;
  for (char *line = text, *end; *line; line = end + (*end == '\n'), lines++) {
    end = line + strcspn(line, "\n");
    assert_true(end - line <= 100);
  }
  assert_in_range(lines, N / 5, N / 3);
  root = parse(text);
  assert_ok(mm_json_get_numbers(root, "text", "psi", N, back));
  assert_memory_equal(values, back, sizeof values);
  cJSON_Delete(root);
  mm_free(text);
}

// ---------------------------------------------------------------------------------------------
// Memory: every allocation of ours may fail, and nothing may leak or crash

typedef struct rationed {
  int left;
} rationed;

static void *ration(size_t size, void *user) {
  rationed *r = user;
  return r->left-- > 0 ? malloc(size) : NULL;
}

static void release(void *block, void *user) {
  (void)user;
  free(block);
}

static void running_out_of_memory_is_reported(void **state) {
  (void)state;
  char text[2000] = "{\"long\":0.", *end = text + strlen(text);
  memset(end, '1', 500);
  end += 500;
  for (int i = 0; i < 100; i++) // more keys than the first room for them
    end += snprintf(end, 16, ",\"k%d\":0", i);
  snprintf(end, 2, "}");
  bool parsed = false, printed = false;
  for (int budget = 0; !parsed || !printed; budget++) {
    assert_true(budget < 50);
    cJSON *root = NULL;
    rationed r = { budget };
    mm_set_allocator(ration, release, &r);
    mm_status status = mm_json_parse(text, strlen(text), "f", &root);
    mm_set_allocator(NULL, NULL, NULL);
    if (status != MM_OK) {
      assert_int_equal(status, MM_ERR_MEMORY);
      assert_null(root);
      continue;
    }
    parsed = true;
    r.left = budget - 4;
    mm_set_allocator(ration, release, &r);
    char *out = mm_json_print(root, true);
    mm_set_allocator(NULL, NULL, NULL);
    printed = out != NULL;
    mm_free(out);
    cJSON_Delete(root);
  }
}

// ---------------------------------------------------------------------------------------------
// Fields

static void keys_are_checked(void **state) {
  (void)state;
  cJSON *root = parse("{\"format\":1,\"knid\":2}"), *array = parse("[]");
  assert_ok(MM_JSON_KEYS(root, "f", "knid", "format", "other"));
  assert_fails(MM_JSON_KEYS(root, "f", "format", "kind"), MM_ERR_INPUT,
               "f: unknown field 'knid'; did you mean 'kind'?");
  assert_fails(MM_JSON_KEYS(root, "f", "format", "psi"), MM_ERR_INPUT, "f: unknown field 'knid'");
  assert_null(strstr(mm_last_error(), "did you mean"));
  assert_fails(MM_JSON_KEYS(array, "f", "format"), MM_ERR_INPUT,
               "f: expected an object, found an array");
  cJSON_Delete(root);
  cJSON_Delete(array);
}

static void fields_are_read(void **state) {
  (void)state;
  cJSON *root = parse("{\"s\":\"x\",\"n\":2.5,\"i\":-3,\"t\":true,\"o\":{\"z\":null},"
                      "\"a\":[1,2,3]}");
  const char *text = NULL;
  double number = 0, numbers[3];
  int64_t integer = 0;
  bool flag = false;
  const cJSON *item = NULL;
  size_t n = 0;
  assert_ok(mm_json_get_string(root, "f", "s", &text));
  assert_string_equal(text, "x");
  assert_ok(mm_json_get_number(root, "f", "n", &number));
  assert_true(number == 2.5);
  assert_ok(mm_json_get_integer(root, "f", "i", -3, 0, &integer));
  assert_int_equal(integer, -3);
  assert_ok(mm_json_get_bool(root, "f", "t", &flag));
  assert_true(flag);
  assert_ok(mm_json_get_object(root, "f", "o", &item));
  assert_true(cJSON_IsNull(mm_json_find(item, "z")));
  assert_ok(mm_json_get_array(root, "f", "a", 1, 5, &item, &n));
  assert_int_equal(n, 3);
  assert_ok(mm_json_get_numbers(root, "f", "a", 3, numbers));
  assert_true(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3);
  assert_null(mm_json_find(root, "S")); // letter case counts
  cJSON_Delete(root);
}

static void field_errors_name_the_field(void **state) {
  (void)state;
  cJSON *root = parse("{\"s\":\"x\",\"n\":2.5,\"big\":1e300,\"t\":true,\"a\":[1,null,3],\"e\":[]}");
  const char *text = NULL;
  double number = 0, numbers[4];
  int64_t integer = 0;
  bool flag = false;
  const cJSON *item = NULL;
  size_t n = 0;
  assert_fails(mm_json_get_string(root, "f", "q", &text), MM_ERR_INPUT,
               "f: field 'q' is missing: expected a string");
  assert_fails(mm_json_get_string(root, "f", "n", &text), MM_ERR_INPUT,
               "f: field 'n': expected a string, found a number");
  assert_fails(mm_json_get_number(root, "f", "s", &number), MM_ERR_INPUT,
               "f: field 's': expected a number, found a string");
  assert_fails(mm_json_get_bool(root, "f", "a", &flag), MM_ERR_INPUT,
               "f: field 'a': expected true or false, found an array");
  assert_fails(mm_json_get_object(root, "f", "t", &item), MM_ERR_INPUT,
               "f: field 't': expected an object, found true");
  assert_fails(mm_json_get_integer(root, "f", "n", 0, 9, &integer), MM_ERR_INPUT,
               "f: field 'n': expected a whole number from 0 to 9, found 2.5");
  assert_fails(mm_json_get_integer(root, "f", "big", 0, INT64_MAX, &integer), MM_ERR_INPUT,
               "found 1e+300");
  assert_fails(mm_json_get_integer(root, "f", "s", 0, 9, &integer), MM_ERR_INPUT, "found a string");
  assert_fails(mm_json_get_integer(root, "f", "q", 0, 9, &integer), MM_ERR_INPUT, "is missing");
  assert_fails(mm_json_get_array(root, "f", "s", 1, 5, &item, &n), MM_ERR_INPUT,
               "f: field 's': expected an array, found a string");
  assert_fails(mm_json_get_array(root, "f", "e", 1, 5, &item, &n), MM_ERR_INPUT,
               "f: field 'e': expected at least 1 entry, found 0");
  assert_fails(mm_json_get_array(root, "f", "a", 1, 2, &item, &n), MM_ERR_INPUT,
               "f: field 'a': expected at most 2 entries, found 3");
  assert_fails(mm_json_get_numbers(root, "f", "a", 4, numbers), MM_ERR_INPUT,
               "f: field 'a': expected 4 entries, found 3");
  assert_fails(mm_json_get_numbers(root, "f", "a", 3, numbers), MM_ERR_INPUT,
               "f: field 'a': entry 1: expected a number, found null");
  cJSON_Delete(root);
}

int suite_json(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(json_is_accepted),
    cmocka_unit_test(what_is_not_json_is_refused),
    cmocka_unit_test(zero_bytes_are_refused),
    cmocka_unit_test(every_truncation_is_refused),
    cmocka_unit_test(nesting_has_a_limit),
    cmocka_unit_test(many_keys_are_no_trouble),
    cmocka_unit_test(strings_are_decoded),
    cmocka_unit_test(errors_quote_hostile_text_safely),
    cmocka_unit_test(numbers_keep_their_bits),
    cmocka_unit_test(numbers_are_short),
    cmocka_unit_test(long_numbers_are_read_whole),
    cmocka_unit_test(numbers_of_the_command_line),
    cmocka_unit_test(a_comma_locale_changes_nothing),
    cmocka_unit_test(trees_are_printed),
    cmocka_unit_test(numbers_are_printed_exactly),
    cmocka_unit_test(fields_of_every_number),
    cmocka_unit_test(bad_utf8_is_replaced),
    cmocka_unit_test(long_arrays_are_filled),
    cmocka_unit_test(running_out_of_memory_is_reported),
    cmocka_unit_test(keys_are_checked),
    cmocka_unit_test(fields_are_read),
    cmocka_unit_test(field_errors_name_the_field),
  };
  return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
