// SPDX-License-Identifier: Apache-2.0
// Results on stdout. Widths count characters, not bytes, so names in UTF-8 keep columns straight.

#include "cli/core/output.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/utf8.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"

static void *take(size_t size) {
  return memory_alloc(1, size);
}

void output_start(void) {
  cJSON_Hooks hooks = { .malloc_fn = take, .free_fn = free };
  cJSON_InitHooks(&hooks);
}

// the reason of the first failed write: a later flush may have nothing left to fail on
static int write_error;

static void remember_error(void) {
  if (ferror(stdout) && write_error == 0) write_error = errno;
}

void output_flush(void) {
  errno = 0;
  fflush(stdout);
  remember_error();
}

int output_end(int exit_code) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return exit_code;
  remember_error();
  if (write_error == EPIPE) return exit_code;
  const char *reason = write_error != 0 ? strerror(write_error) : "writing failed";
  return fail(EXIT_FAILED, "standard output: %s", reason);
}

int output_json(cJSON *root, int exit_code) {
  char *text = root != NULL ? mm_json_print(root, false) : NULL;
  cJSON_Delete(root);
  if (text == NULL) return fail(EXIT_FAILED, "%s", mm_status_text(MM_ERR_MEMORY));
  output_text(text);
  output_text("\n");
  mm_free(text);
  return exit_code;
}

void output_text(const char *text) {
  fputs(text, stdout);
  remember_error();
}

// Texts for the next few calls.
static const char *keep(char *text) {
  static char *kept[32];
  static size_t next;
  next = (next + 1) % (sizeof kept / sizeof *kept);
  free(kept[next]);
  return kept[next] = text;
}

const char *output_plain(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  char *copy = memory_alloc(4 * strlen(text) + 1, 1), *to = copy;
  for (size_t left = strlen(text), n; left > 0; c += n, left -= n) {
    n = mm_utf8_plain(c, left);
    if (n > 0)
      memcpy(to, c, n), to += n;
    else
      n = 1, to += sprintf(to, "\\x%02x", *c);
  }
  return keep(copy);
}

const char *output_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = memory_print_list(format, arguments);
  va_end(arguments);
  return keep(text);
}

const char *output_styled(style look, const char *text) {
  return output_format("%s%s%s", terminal_style(stdout, look), text,
                       terminal_style(stdout, STYLE_PLAIN));
}

cJSON *output_json_rows(const double *values, size_t rows, size_t columns) {
  cJSON *array = cJSON_CreateArray();
  for (size_t i = 0; i < rows; i++)
    cJSON_AddItemToArray(array, mm_json_numbers(values + i * columns, columns));
  return array;
}

void output_add_number(cJSON *object, const char *key, double value) {
  cJSON_AddItemToObject(object, key, mm_json_number(value));
}

void output_add_text(cJSON *object, const char *key, const char *text) {
  const bool empty = text == NULL || text[0] == '\0';
  cJSON_AddItemToObject(object, key, empty ? cJSON_CreateNull() : cJSON_CreateString(text));
}

void output_add_numbers(cJSON *object, const char *key, const double *values, size_t n) {
  cJSON_AddItemToObject(object, key, mm_json_numbers(values, n));
}

const char *output_number(double value) {
  return output_format("%.6g", value == 0 ? 0.0 : value); // no "-0"
}

const char *output_si(double value) {
  static const char *const prefix[] = { "", " k", " M", " G", " T", " P", " E" };
  size_t i = 0;
  for (; fabs(value) >= 999.5 && i + 1 < sizeof prefix / sizeof *prefix; i++)
    value /= 1000;
  return output_format("%.3g%s", value == 0 ? 0.0 : value, prefix[i]);
}

const char *output_plus_minus(void) {
  return terminal_unicode() ? "\u00b1" : "+-";
}

int output_decimals(double error) {
  if (!(error > 0) || isinf(error)) return 2;
  int decimals = 1 - (int)floor(log10(error));
  if (round(error * pow(10, decimals)) >= 100) decimals--; // 0.0996 is 0.10
  return decimals;
}

// As a power of ten where the number alone would fill a cell.
const char *output_rounded(double value, int decimals, bool sign) {
  const double unit = pow(10, -decimals);
  if (fabs(value) >= 1e9) return output_format(sign ? "%+.4g" : "%.4g", value);
  if (decimals > 6) return output_format(sign ? "%+.2g" : "%.2g", value + 0.0);
  if (decimals < 0) value = round(value / unit) * unit;
  if (fabs(value) < 0.5 * unit) value = 0; // no "-0.00"
  return output_format(sign ? "%+.*f" : "%.*f", decimals < 0 ? 0 : decimals, value);
}

const char *output_estimate(mm_estimate e, bool difference) {
  if (isnan(e.mean) || isinf(e.mean)) return isnan(e.mean) ? "-" : "failed";
  if (!(e.sem > 0)) {
    const char *mean = output_format(difference ? "%+.4g" : "%.4g", e.mean + 0.0);
    return isnan(e.sem) ? mean : output_format("%s %s 0", mean, output_plus_minus());
  }
  const int decimals = output_decimals(e.sem);
  return output_format("%s %s %s", output_rounded(e.mean, decimals, difference),
                       output_plus_minus(), output_rounded(e.sem, decimals, false));
}

const char *output_interval(double mean, mm_interval interval, bool difference) {
  if (!isfinite(mean) || isnan(interval.low))
    return output_estimate((mm_estimate){ mean, NAN, 0 }, difference);
  double half = (interval.high - interval.low) / 2;
  if (isinf(half)) half = fmin(interval.high - mean, mean - interval.low); // a bound may be -inf
  const int decimals = output_decimals(half);
  return output_format("%s [%s, %s]", output_rounded(mean, decimals, difference),
                       output_rounded(interval.low, decimals, difference),
                       output_rounded(interval.high, decimals, difference));
}

// characters that are seen: neither continuation bytes nor escape sequences
int output_width(const char *text) {
  int width = 0;
  for (; *text != '\0'; text++) {
    if (*text == '\033')
      text += strcspn(text, "m");
    else
      width += ((unsigned char)*text & 0xc0) != 0x80;
    if (*text == '\0') break;
  }
  return width;
}

// ---------------------------------------------------------------------------------------------
// Tables

enum { BETWEEN = 2 }; // blanks between two columns

typedef struct cell {
  char *text;
  style look;
} cell;

struct table {
  size_t columns;
  size_t n;       // cells, the header's among them
  cell *cells;    // [rows][columns]
  bool *left;     // [columns]
  bool *optional; // [columns]
};

static void release(table *t) {
  for (size_t i = 0; i < t->n; i++)
    free(t->cells[i].text);
  free(t->cells);
  free(t->left);
  free(t->optional);
  free(t);
}

// In place, so that a cell is as wide as its text: question marks for what output_plain changes.
static char *make_visible(char *text) {
  unsigned char *c = (unsigned char *)text;
  for (size_t left = strlen(text), n; left > 0; c += n, left -= n) {
    n = mm_utf8_plain(c, left);
    if (n == 0) n = 1, *c = '?';
  }
  return text;
}

table *table_of_columns(size_t columns) {
  table *t = memory_alloc(1, sizeof *t);
  t->columns = columns;
  t->left = memory_alloc(columns, sizeof *t->left);
  t->optional = memory_alloc(columns, sizeof *t->optional);
  return t;
}

table *table_create(const char *header) {
  size_t columns = 1;
  for (const char *c = header; *c != '\0'; c++)
    columns += *c == '|';
  table *t = table_of_columns(columns);
  for (size_t i = 0, length; i < columns; i++, header += length + 1) {
    length = strcspn(header, "|");
    table_format(t, "%.*s", (int)length, header);
  }
  return t;
}

void table_text(table *t, const char *text) {
  for (; t->n < t->columns && (text[0] == '<' || text[0] == '~'); text++)
    (text[0] == '<' ? t->left : t->optional)[t->n] = true;
  t->cells = memory_grow(t->cells, t->n, sizeof *t->cells);
  t->cells[t->n++] = (cell){ make_visible(memory_text(text, strlen(text))), STYLE_PLAIN };
}

void table_format(table *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = memory_print_list(format, arguments);
  va_end(arguments);
  table_text(t, text);
  free(text);
}

void table_number(table *t, double value) {
  table_text(t, output_number(value));
}

void table_defined(table *t, double value) {
  if (isnan(value))
    table_text(t, "-");
  else
    table_number(t, value);
}

void table_mark(table *t, bool good) {
  t->cells[t->n - 1].look = good ? STYLE_GOOD : STYLE_BAD;
}

static int column_width(const table *t, size_t column) {
  int width = 0;
  for (size_t i = column; i < t->n; i += t->columns) {
    int needed = output_width(t->cells[i].text);
    if (needed > width) width = needed;
  }
  return width;
}

static void print_cell(const table *t, size_t index, int width, bool first, bool last) {
  const cell *c = &t->cells[index];
  size_t column = index % t->columns;
  int pad = width - output_width(c->text);
  style look = index < t->columns ? STYLE_BOLD : c->look;
  if (!first) fputs("  ", stdout);
  if (!t->left[column]) printf("%*s", pad, "");
  if (look != STYLE_PLAIN) fputs(terminal_style(stdout, look), stdout);
  fputs(c->text, stdout);
  if (look != STYLE_PLAIN) fputs(terminal_style(stdout, STYLE_PLAIN), stdout);
  if (t->left[column] && !last) printf("%*s", pad, "");
  if (last) fputc('\n', stdout);
}

// Leaves out, by the width 0, columns that may be missing until the others fit.
static void drop_columns(const table *t, int *width, int room) {
  int total = -BETWEEN;
  for (size_t i = 0; i < t->columns; i++)
    total += BETWEEN + width[i];
  for (size_t i = t->columns; i-- > 0 && total > room;) {
    if (!t->optional[i]) continue;
    total -= BETWEEN + width[i];
    width[i] = 0;
  }
}

// The first column, then those from `begin` up to `end`.
static void print_block(const table *t, const int *width, size_t begin, size_t end) {
  for (size_t row = 0; row < t->n; row += t->columns) {
    print_cell(t, row, width[0], true, begin == end);
    for (size_t i = begin; i < end; i++)
      if (width[i] > 0) print_cell(t, row + i, width[i], false, i + 1 == end);
  }
}

// The end of the block that begins there: as many columns as fit beside the first, at least one.
static size_t block_end(const table *t, const int *width, size_t begin, int room) {
  size_t end = begin, shown = begin;
  for (int used = width[0]; end < t->columns; end++) {
    if (width[end] == 0) continue;
    used += BETWEEN + width[end];
    if (used > room && shown > begin) break;
    shown = end + 1;
  }
  return shown;
}

void table_print(table *t) {
  assert(t->columns > 0);
  const int room = terminal_width(stdout);
  int *width = memory_alloc(t->columns, sizeof *width);
  for (size_t i = 0; i < t->columns; i++)
    width[i] = column_width(t, i);
  drop_columns(t, width, room);
  if (t->n > t->columns) {
    size_t begin = 1, end;
    do {
      end = block_end(t, width, begin, room);
      if (begin > 1) fputc('\n', stdout);
      print_block(t, width, begin, end);
      begin = end;
    } while (block_end(t, width, begin, room) > begin);
  }
  remember_error();
  free(width);
  release(t);
}
