// SPDX-License-Identifier: Apache-2.0
// Results on stdout: JSON objects, aligned tables, numbers in a form for people.

#ifndef MM_CLI_OUTPUT_H
#define MM_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"
#include "cli/core/terminal.h"
#include "mirrormap/stats.h"

// Makes lack of memory while building JSON the end of the program, so no field can go missing. Call
// once, before anything else here.
void output_start(void);

// Hands on what was written so far.
void output_flush(void);

// Flushes stdout and reports a failed write (a full disk, say) as EXIT_FAILED. A reader that went
// away (`| head`) is no failure. Otherwise returns `exit_code`.
int output_end(int exit_code);

// Writes `root` as one line and releases it; `exit_code` is returned on success.
int output_json(cJSON *root, int exit_code);

// Text of any length as it is.
void output_text(const char *text);

// A name or text from a file or a command line, fit to be printed: bytes of control characters and
// others that could act on the terminal, and what is no UTF-8, as \xNN. Valid for the next few
// calls of these functions.
const char *output_plain(const char *text);

// Text as printf makes it; and `text` in a style, where stdout has any. Valid as long.
const char *output_format(const char *format, ...) MM_CHECK_FORMAT(1, 2);
const char *output_styled(style look, const char *text);

// values [rows][columns] as an array of arrays.
cJSON *output_json_rows(const double *values, size_t rows, size_t columns);

// Adds fields to an object; short forms of cJSON's calls with our numbers.
void output_add_number(cJSON *object, const char *key, double value);
void output_add_text(cJSON *object, const char *key, const char *text); // null for NULL and ""
void output_add_numbers(cJSON *object, const char *key, const double *values, size_t n);

// Columns that UTF-8 text with escape sequences takes on a terminal.
int output_width(const char *text);

// Six significant digits: enough to compare, short enough to read. Valid for the next few calls,
// like the texts above.
const char *output_number(double value);

// Three significant digits with a prefix: "512", "51.3 k", "1.07 G". A unit may follow, after a
// blank.
const char *output_si(double value);

// The sign of an error, or "+-" where the locale has no such character.
const char *output_plus_minus(void);

// Numbers with an error are rounded to its first two digits. Valid as long.

// Decimals that show these digits; below 0 for tens and more.
int output_decimals(double error);
const char *output_rounded(double value, int decimals, bool sign);

// "0.512 ± 0.031", with a sign where it is a difference; "-" for NaN, "failed" for infinity.
const char *output_estimate(mm_estimate e, bool difference);

// "+12.3 [+3.1, +21.5]": a mean, or a mean difference, with its interval, likewise.
const char *output_interval(double mean, mm_interval interval, bool difference);

// ---------------------------------------------------------------------------------------------
// A table with one header row. Cells are copied; numbers align right, text left. Rows are filled
// from left to right and wrap to the next row at the last column.

typedef struct table table;

// The header's cells, separated by '|'; a leading '<' makes the column text (left aligned), a '~'
// one that is left out where there is no room.
table *table_create(const char *header);
// The first cells that are added are the header's, with '<' and '~' as above.
table *table_of_columns(size_t columns);
void table_text(table *t, const char *text);
void table_format(table *t, const char *format, ...) MM_CHECK_FORMAT(2, 3);
void table_number(table *t, double value);
void table_defined(table *t, double value); // "-" for NaN

// A style for the last cell added.
void table_mark(table *t, bool good);

// Prints with two spaces between columns and releases; prints nothing for no rows. A table wider
// than the terminal (than 80 columns, where there is none) continues below, its first column again.
void table_print(table *t);

#endif
