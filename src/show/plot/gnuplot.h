// SPDX-License-Identifier: Apache-2.0
// Figures drawn by gnuplot.
//
//   mm_figure *figure;
//   MM_TRY(mm_figure_create("curve.svg", 480, 320, &figure));
//   int data = mm_figure_data(figure, &table[0][0], rows, 2);          // table: [rows][2]
//   mm_figure_script(figure, "plot $d%d with lines lt 1\n", data);
//   mm_status status = mm_figure_write(figure);
//   mm_figure_destroy(figure);
//
// A figure collects a gnuplot script and its data; writing it runs gnuplot once. No shell is
// involved and no file name enters the script. A picture appears under its name only when complete.

#ifndef MM_SHOW_GNUPLOT_H
#define MM_SHOW_GNUPLOT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mm_figure mm_figure;

enum {
  MM_FIGURE_LINES = 8,   // of a figure, at most
  MM_FIGURE_STYLES = 12, // line types 1..12, told apart by their dashes as well; see mm_map_lines
  MM_FIGURE_TEXT = 400   // room for a text quoted by mm_figure_quote
};

// Width of a character of the figures' 12-unit type, on average; for fitting text.
#define MM_FIGURE_CHARACTER 6.6

// A figure of width x height units (1/96 inch; PNG has two pixels a unit) for `path`, whose ending
// .svg, .pdf or .png chooses the format. Starts the script with the terminal, a white page, 12-unit
// type, the line types, and quiet axes. MM_ERR_INPUT for another ending, MM_ERR_UNSUPPORTED where
// gnuplot is missing.
mm_status mm_figure_create(const char *path, double width, double height, mm_figure **out);

// The colour 0xrrggbb of a line type.
uint32_t mm_line_colour(int line);

// Adds to the script; numbers come out in the C locale whatever the program's is.
void mm_figure_script(mm_figure *figure, const char *format, ...) MM_CHECK_FORMAT(2, 3);

// The same into out[size], for texts with numbers in them.
void mm_figure_print(char *out, size_t size, const char *format, ...) MM_CHECK_FORMAT(3, 4);
void mm_figure_vprint(char *out, size_t size, const char *format, va_list arguments)
    MM_CHECK_FORMAT(3, 0);

// Adds table [rows][columns] and returns its number k: the script calls it $dk. A non-finite number
// becomes a gap.
int mm_figure_data(mm_figure *figure, const double *table, size_t rows, size_t columns);

// Any text as a gnuplot string with its quotes, to be used with `noenhanced`: harmless whatever it
// holds, and shortened in its middle to `width` characters. Bytes that are no printable UTF-8
// become a replacement mark, apostrophes become typographic ones.
void mm_figure_quote(const char *text, size_t width, char out[MM_FIGURE_TEXT]);

// Thins a curve points[n][2] in place to those needed to draw it within dx and dy; returns how
// many. Curves of many points make large files for no visible gain.
size_t mm_figure_thin(double *points, size_t n, double dx, double dy);

// Runs gnuplot and puts the picture in its place; on failure what was there stays. gnuplot has 60
// seconds, or as many as were set for all figures to come.
mm_status mm_figure_write(mm_figure *figure);
void mm_gnuplot_limit(double seconds);
void mm_figure_destroy(mm_figure *figure);

// The program that will be run, into path[size]; MM_ERR_UNSUPPORTED where there is none on PATH.
mm_status mm_gnuplot_find(char *path, size_t size);

#endif
