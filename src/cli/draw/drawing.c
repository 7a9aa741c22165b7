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

// the last column that holds anything in character row `line`
static int last_column(const double *y, int line) {
  int column = DRAWING_WIDTH - 1, top, bottom;
  for (; column >= 0; column--) {
    for (int side = 0; side < 2; side++) {
      span(y, 2 * column + side, DOT_ROWS, &top, &bottom);
      if (bottom >= 4 * line && top <= 4 * line + 3) return column;
    }
  }
  return column;
}

static void put_braille(const double *y, int line, int column) {
  static const unsigned char bit[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };
  unsigned dots = 0;
  for (int side = 0; side < 2; side++) {
    int top, bottom;
    span(y, 2 * column + side, DOT_ROWS, &top, &bottom);
    for (int dot = 0; dot < 4; dot++)
      if (4 * line + dot >= top && 4 * line + dot <= bottom) dots |= bit[dot][side];
  }
  // U+2800 + dots in UTF-8
  if (dots == 0)
    fputc(' ', stdout);
  else
    printf("\xe2%c%c", (int)(0xa0 + (dots >> 6)), (int)(0x80 + (dots & 63)));
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
  for (int line = 0; line < DRAWING_HEIGHT; line++) {
    const char *mark = line == 0 ? "1" : line == DRAWING_HEIGHT - 1 ? "0" : "";
    printf("%*s %s", MARGIN, mark, unicode ? "\u2502" : "|");
    int last = last_column(y, line);
    for (int column = 0; column <= last; column++) {
      if (unicode)
        put_braille(y, line, column);
      else
        put_ascii(y, line, column);
    }
    fputc('\n', stdout);
  }
  printf("%*s %s", MARGIN, "", unicode ? "\u2514" : "+");
  for (int i = 0; i < DRAWING_WIDTH; i++)
    fputs(unicode ? "\u2500" : "-", stdout);
  char low[OUTPUT_NUMBER_SIZE], high[OUTPUT_NUMBER_SIZE];
  int used = printf("\n%*s %s", MARGIN, "", output_number(x_low, low)) - 1;
  printf("%*s\n", MARGIN + 2 + DRAWING_WIDTH - used, output_number(x_high, high));
}
