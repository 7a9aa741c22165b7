// SPDX-License-Identifier: Apache-2.0
// JSON in and out, on cJSON's tree.
//
// Reading is strict: RFC 8259 to the letter, UTF-8, one document, no repeated keys, no number
// beyond the range of a double, nesting up to MM_JSON_DEPTH. Numbers keep every bit on the way out
// and back, whatever the process's locale. Field errors read "SOURCE: field 'psi': expected ...,
// found
// ...". Trees are released with cJSON_Delete.

#ifndef MM_BASE_JSON_H
#define MM_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

enum {
  MM_JSON_DEPTH = 64,      // arrays and objects within each other
  MM_JSON_NUMBER_SIZE = 32 // room for the text of any double
};

// ---------------------------------------------------------------------------------------------
// Text to tree and back

// Reads text[length]; a zero at the end is not needed. Errors are MM_ERR_INPUT and read
// "SOURCE:LINE:COLUMN: expected ..., found ..." with both counted from 1, columns in characters.
mm_status mm_json_parse(const char *text, size_t length, const char *source, cJSON **out);

// The tree as text, to be released with mm_free; NULL when out of memory. `pretty` indents by two
// and fills lines with the numbers of an array; otherwise there is no white space at all. Strings
// that are not UTF-8 get U+FFFD for each bad byte.
char *mm_json_print(const cJSON *item, bool pretty);

// ---------------------------------------------------------------------------------------------
// Numbers

// The shortest of 15, 16 or 17 digits that reads back to the same bits, with a decimal point in any
// locale; inf, -inf or nan for what is not finite. Returns `out`.
const char *mm_json_format_number(double value, char out[MM_JSON_NUMBER_SIZE]);

// The same with up to 9 digits, as few as read back to the same float.
const char *mm_json_format_float(float value, char out[MM_JSON_NUMBER_SIZE]);

// A tree item with that text, and the strings "inf", "-inf", "nan" for what is not finite. NULL
// when out of memory, which cJSON's Add functions pass on.
cJSON *mm_json_number(double value);

// The same for a whole array.
cJSON *mm_json_numbers(const double *values, size_t n);

// The same, and null for what is undefined (NaN); as a field of an object.
cJSON *mm_json_defined(double value);
void mm_json_add_defined(cJSON *object, const char *key, double value);

// A field with 64 bits to the last digit, which a double would round.
void mm_json_add_whole(cJSON *object, const char *key, uint64_t value);

// Reads a number that fills the whole text, as JSON writes numbers but also with a leading plus, a
// bare leading or trailing point, and inf, -inf, nan. For the command line. A finite text beyond
// the range of a double is refused. Leaves no error text: the caller knows what the number is for.
bool mm_json_parse_number(const char *text, double *out);

// ---------------------------------------------------------------------------------------------
// Fields of an object. `source` begins each error. Everything is MM_ERR_INPUT; outputs that point
// into the tree live as long as it does.

// Fails unless `item` is an object whose keys are all in the list, ended by NULL; a stranger's
// error suggests the nearest of them.
mm_status mm_json_check_keys(const cJSON *item, const char *source, const char *const *allowed);

// The same with the keys written out: MM_JSON_KEYS(root, source, "format", "kind", "meta").
#define MM_JSON_KEYS(item, source, ...)                                                            \
  mm_json_check_keys((item), (source), (const char *const[]){ __VA_ARGS__, NULL })

// The value of an optional field, or NULL.
const cJSON *mm_json_find(const cJSON *object, const char *key);

// Required fields of one type. Integers must be whole and lie in [min, max].
mm_status mm_json_get_string(const cJSON *object, const char *source, const char *key,
                             const char **out);
mm_status mm_json_get_bool(const cJSON *object, const char *source, const char *key, bool *out);
mm_status mm_json_get_number(const cJSON *object, const char *source, const char *key, double *out);
mm_status mm_json_get_integer(const cJSON *object, const char *source, const char *key, int64_t min,
                              int64_t max, int64_t *out);
mm_status mm_json_get_object(const cJSON *object, const char *source, const char *key,
                             const cJSON **out);

// An array with between min and max entries, and how many; its items are `child`, `next`, ...
mm_status mm_json_get_array(const cJSON *object, const char *source, const char *key, size_t min,
                            size_t max, const cJSON **out, size_t *n);

// All numbers of such an array into out[n], with the n that mm_json_get_array gave. `name` is the
// field's in errors: "SOURCE: field 'psi': entry 3: expected a number, found null" (counted from
// 0).
mm_status mm_json_read_numbers(const cJSON *array, const char *source, const char *name, size_t n,
                               double *out);

// Both in one for a known length: exactly n numbers into out[n].
mm_status mm_json_get_numbers(const cJSON *object, const char *source, const char *key, size_t n,
                              double *out);

// What an item is, in words with an article: "an object", "a number", "null", "nothing" for NULL.
const char *mm_json_describe(const cJSON *item);

#endif
