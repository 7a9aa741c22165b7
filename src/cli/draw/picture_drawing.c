// SPDX-License-Identifier: Apache-2.0
// Pictures of environments as text.

#include "cli/draw/picture_drawing.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/terminal.h"

// A line that is put together piece by piece.
typedef struct text_line {
  char text[4096];
  size_t used;
} text_line;

static void append(text_line *line, const char *text) {
  size_t length = strlen(text);
  if (line->used + length >= sizeof line->text) return;
  memcpy(line->text + line->used, text, length + 1);
  line->used += length;
}

// ---------------------------------------------------------------------------------------------
// Boards

static void add_edge(const mm_scene *scene, bool lower, text_panel *out) {
  bool unicode = terminal_unicode();
  const char *across = unicode ? "\u2500" : "-";
  text_line line = { .used = 0 };
  append(&line, unicode ? (lower ? "\u2514" : "\u250c") : "+");
  for (int i = 0; i < 2 * scene->columns + 1; i++)
    append(&line, across);
  append(&line, unicode ? (lower ? "\u2518" : "\u2510") : "+");
  panel_add(out, "%s", line.text);
}

static void add_letters(const mm_scene *scene, const uint8_t *cell, text_panel *out) {
  const char *upright = terminal_unicode() ? "\u2502" : "|";
  text_line line = { .used = 0 };
  append(&line, upright);
  for (int i = 0; i < scene->columns; i++) {
    char pair[3] = { ' ', cell[i] > 0 ? scene->mark[cell[i] - 1].letter : '.', '\0' };
    append(&line, pair);
  }
  append(&line, " ");
  append(&line, upright);
  panel_add(out, "%s", line.text);
}

// a cell is 2 `scale` columns wide and `scale` lines high, which is about square
static void add_blocks(const mm_scene *scene, const uint8_t *cell, int scale, text_panel *out) {
  text_line line = { .used = 0 };
  char colour[TERMINAL_COLOUR_SIZE];
  for (int i = 0; i < scene->columns; i++) {
    unsigned rgb = cell[i] > 0 ? scene->mark[cell[i] - 1].colour : MM_BOARD_COLOUR;
    if (i == 0 || cell[i] != cell[i - 1]) append(&line, terminal_colour(stdout, rgb, true, colour));
    for (int k = 0; k < scale; k++)
      append(&line, "  ");
  }
  append(&line, terminal_style(stdout, STYLE_PLAIN));
  for (int k = 0; k < scale; k++)
    panel_add(out, "%s", line.text);
}

static int board_scale(const mm_scene *scene, int columns, int lines) {
  enum { SCALE_MOST = 4 };
  int wide = columns / (2 * scene->columns), high = lines / scene->rows;
  int scale = wide < high ? wide : high;
  return scale < 1 ? 1 : scale > SCALE_MOST ? SCALE_MOST : scale;
}

static void draw_board(const mm_scene *scene, const float *obs, int scale, text_panel *out) {
  uint8_t *cell = memory_alloc((size_t)scene->rows * (size_t)scene->columns, 1);
  bool blocks = terminal_colourful(stdout);
  mm_scene_cells(scene, obs, cell);
  if (!blocks) add_edge(scene, false, out);
  for (int row = 0; row < scene->rows; row++) {
    if (blocks)
      add_blocks(scene, cell + row * scene->columns, scale, out);
    else
      add_letters(scene, cell + row * scene->columns, out);
  }
  if (!blocks) add_edge(scene, true, out);
  free(cell);
}

// ---------------------------------------------------------------------------------------------
// Shapes: a canvas of dots, 2 x 4 of them a character, which are about square

typedef struct canvas {
  int columns, lines; // in characters
  uint8_t *dots;      // [lines][columns] braille's bits
  uint8_t *mark;      // [lines][columns] 1 + the last one drawn there
  double unit;        // dots per unit of the scene
} canvas;

static const uint8_t braille_bit[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };

static void set_dot(canvas *c, int x, int y, int mark) {
  if (x < 0 || y < 0 || x >= 2 * c->columns || y >= 4 * c->lines) return;
  int at = y / 4 * c->columns + x / 2;
  c->dots[at] |= braille_bit[y % 4][x % 2];
  c->mark[at] = (uint8_t)(mark + 1);
}

// all dots within `radius` of a point, the nearest one at least
static void dab(canvas *c, double x, double y, double radius, int mark) {
  set_dot(c, (int)floor(x), (int)floor(y), mark);
  int reach = (int)ceil(radius);
  for (int dy = -reach; dy <= reach; dy++) {
    for (int dx = -reach; dx <= reach; dx++) {
      double at_x = floor(x) + dx, at_y = floor(y) + dy;
      if (hypot(at_x + 0.5 - x, at_y + 0.5 - y) < radius) set_dot(c, (int)at_x, (int)at_y, mark);
    }
  }
}

static void draw_line(canvas *c, double x, double y, double x2, double y2, double width, int mark) {
  int steps = (int)ceil(2 * fmax(fabs(x2 - x), fabs(y2 - y))) + 1;
  for (int i = 0; i <= steps; i++) {
    double t = (double)i / steps;
    dab(c, x + t * (x2 - x), y + t * (y2 - y), width / 2, mark);
  }
}

static void draw_box(canvas *c, double x, double y, double x2, double y2, int mark) {
  for (int j = (int)floor(fmin(y, y2)); j < (int)ceil(fmax(y, y2)); j++)
    for (int i = (int)floor(fmin(x, x2)); i < (int)ceil(fmax(x, x2)); i++)
      set_dot(c, i, j, mark);
}

static void draw_shape(canvas *c, const mm_scene *scene, const mm_shape *h) {
  double x = (h->x - scene->box.left) * c->unit, y = (scene->box.top - h->y) * c->unit;
  double x2 = (h->x2 - scene->box.left) * c->unit, y2 = (scene->box.top - h->y2) * c->unit;
  if (h->kind == MM_SHAPE_LINE)
    draw_line(c, x, y, x2, y2, h->size * c->unit, h->mark);
  else if (h->kind == MM_SHAPE_BOX)
    draw_box(c, x, y, x2, y2, h->mark);
  else
    dab(c, x, y, h->size * c->unit, h->mark);
}

// The ASCII character most like 2 x 4 dots: by which half they are in, and how they lean.
static char ascii_of(unsigned dots) {
  int n[2] = { 0, 0 }, right[2] = { 0, 0 }, rows = 0; // of the upper and the lower half
  for (int y = 0; y < 4; y++) {
    int left_dot = (dots & braille_bit[y][0]) != 0, right_dot = (dots & braille_bit[y][1]) != 0;
    n[y / 2] += left_dot + right_dot;
    right[y / 2] += right_dot;
    rows += left_dot || right_dot;
  }
  if (n[0] + n[1] == 0) return ' ';
  if (n[0] + n[1] >= 7) return '#';
  if (n[1] == 0) return rows == 1 && (dots & braille_bit[0][0]) == 0 ? '-' : '\'';
  if (n[0] == 0) return rows == 1 && (dots & braille_bit[2][0]) != 0 ? '-' : '.';
  int lean = right[0] * n[1] - right[1] * n[0]; // of the mean columns, times n[0] n[1]
  if (2 * lean >= n[0] * n[1]) return '/';
  if (2 * lean <= -n[0] * n[1]) return '\\';
  return rows >= 3 ? '|' : '-';
}

static void append_dots(text_line *line, unsigned dots) {
  char text[4] = { ' ', '\0' };
  if (!terminal_unicode())
    text[0] = ascii_of(dots);
  else if (dots != 0) // U+2800 + dots in UTF-8
    snprintf(text, sizeof text, "\xe2%c%c", (int)(0xa0 + (dots >> 6)), (int)(0x80 + (dots & 63)));
  append(line, text);
}

static void add_canvas_line(const canvas *c, const mm_scene *scene, int row, text_panel *out) {
  const uint8_t *dots = c->dots + row * c->columns, *mark = c->mark + row * c->columns;
  text_line line = { .used = 0 };
  char colour[TERMINAL_COLOUR_SIZE];
  int now = 0, last = c->columns;
  while (last > 0 && dots[last - 1] == 0)
    last--;
  for (int i = 0; i < last; i++) {
    if (dots[i] != 0 && mark[i] != now) {
      now = mark[i];
      append(&line, terminal_colour(stdout, scene->mark[now - 1].colour, false, colour));
    }
    append_dots(&line, dots[i]);
  }
  if (now > 0) append(&line, terminal_style(stdout, STYLE_PLAIN));
  panel_add(out, "%s", line.text);
}

static void draw_shapes(const mm_scene *scene, const float *obs, int columns, int lines,
                        text_panel *out) {
  enum { COLUMNS_MOST = 100, LINES_MOST = 40 };
  double width = scene->box.right - scene->box.left, height = scene->box.top - scene->box.bottom;
  if (columns > COLUMNS_MOST) columns = COLUMNS_MOST;
  if (lines > LINES_MOST) lines = LINES_MOST;
  canvas c = { .unit = fmin(2 * columns / width, 4 * lines / height) };
  c.columns = (int)ceil(width * c.unit / 2 - 1e-9);
  c.lines = (int)ceil(height * c.unit / 4 - 1e-9);
  c.dots = memory_alloc((size_t)c.columns * (size_t)c.lines, 1);
  c.mark = memory_alloc((size_t)c.columns * (size_t)c.lines, 1);
  mm_shape shape[MM_SHAPES_MOST];
  int n = mm_scene_shapes(scene, obs, shape);
  for (int i = 0; i < n; i++)
    draw_shape(&c, scene, &shape[i]);
  for (int row = 0; row < c.lines; row++)
    add_canvas_line(&c, scene, row, out);
  out->width = c.columns; // what stands beside must not move with the picture
  free(c.dots);
  free(c.mark);
}

// ---------------------------------------------------------------------------------------------

void picture_draw(const mm_scene *scene, const float *obs, int columns, int lines,
                  text_panel *out) {
  if (scene->rows > 0)
    draw_board(scene, obs, board_scale(scene, columns, lines), out);
  else
    draw_shapes(scene, obs, columns < 20 ? 20 : columns, lines < 5 ? 5 : lines, out);
}

void picture_legend(const mm_scene *scene, text_panel *out) {
  bool board = scene->rows > 0, colours = terminal_colourful(stdout);
  if (!board && !colours) return; // braille and ASCII lines speak for themselves
  for (int i = 0; i < scene->n_mark; i++) {
    const mm_mark *mark = &scene->mark[i];
    char colour[TERMINAL_COLOUR_SIZE], letter[3] = { mark->letter, ' ', '\0' };
    panel_add(out, "%s%s%s %s", terminal_colour(stdout, mark->colour, true, colour),
              colours ? "  " : letter, terminal_style(stdout, STYLE_PLAIN), mark->name);
  }
}
