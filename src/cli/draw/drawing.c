// SPDX-License-Identifier: Apache-2.0
// A curve as text. A character holds 2 x 4 braille dots; in ASCII it holds one of three heights.

#include "cli/draw/drawing.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"

enum { MARGIN = 4, DOT_ROWS = 4 * DRAWING_HEIGHT, ASCII_ROWS = 3 * DRAWING_HEIGHT };

// the row of height y, counted from the top
static int row_of(double y, int rows) {
  int row = (int)lround((1 - y) * (rows - 1));
  return row < 0 ? 0 : row >= rows ? rows - 1 : row;
}

// the rows that sample i covers: from its own halfway to its neighbours', so that steep parts hold
// together
static void span(const double *y, int i, int rows, int *top, int *bottom) {
  int here = row_of(y[i], rows);
  int before = i > 0 ? (row_of(y[i - 1], rows) + here) / 2 : here;
  int after = i + 1 < DRAWING_SAMPLES ? (row_of(y[i + 1], rows) + here) / 2 : here;
  *top = here, *bottom = here;
  if (before < *top) *top = before;
  if (before > *bottom) *bottom = before;
  if (after < *top) *top = after;
  if (after > *bottom) *bottom = after;
}

// dots[DRAWING_HEIGHT][DRAWING_WIDTH]: braille's bits of each character
static void set_dots(const double *y, unsigned char (*dots)[DRAWING_WIDTH]) {
  static const unsigned char bit[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };
  for (int i = 0; i < DRAWING_SAMPLES; i++) {
    int top, bottom;
    span(y, i, DOT_ROWS, &top, &bottom);
    for (int row = top; row <= bottom; row++)
      dots[row / 4][i / 2] |= bit[row % 4][i % 2];
  }
}

static void put_braille(unsigned dots) {
  if (dots == 0)
    fputc(' ', stdout);
  else
    printf("\xe2%c%c", (int)(0xa0 + (dots >> 6)), (int)(0x80 + (dots & 63))); // U+2800 + dots
}

// gentle slopes as one of three heights, steep ones as an upright
static void put_ascii(const double *y, int line, int column) {
  int top, bottom, first = 3 * line;
  span(y, 2 * column, ASCII_ROWS, &top, &bottom);
  if (bottom - top <= 1) top = bottom = row_of(y[2 * column], ASCII_ROWS);
  if (bottom < first || top > first + 2)
    fputc(' ', stdout);
  else if (bottom > top)
    fputc('|', stdout);
  else
    fputc("'-."[top - first], stdout);
}

void drawing_curve(const double *y, double x_low, double x_high) {
  bool unicode = terminal_unicode();
  unsigned char dots[DRAWING_HEIGHT][DRAWING_WIDTH] = { 0 };
  set_dots(y, dots);
  for (int line = 0; line < DRAWING_HEIGHT; line++) {
    const char *mark = line == 0 ? "1" : line == DRAWING_HEIGHT - 1 ? "0" : "";
    printf("%*s %s", MARGIN, mark, unicode ? "\u2502" : "|");
    int last = DRAWING_WIDTH - 1;
    while (last >= 0 && dots[line][last] == 0)
      last--;
    for (int column = 0; column <= last; column++) {
      if (unicode)
        put_braille(dots[line][column]);
      else
        put_ascii(y, line, column);
    }
    fputc('\n', stdout);
  }
  printf("%*s %s", MARGIN, "", unicode ? "\u2514" : "+");
  for (int i = 0; i < DRAWING_WIDTH; i++)
    fputs(unicode ? "\u2500" : "-", stdout);
  int used = printf("\n%*s %s", MARGIN, "", output_number(x_low)) - 1;
  printf("%*s\n", MARGIN + 2 + DRAWING_WIDTH - used, output_number(x_high));
}
