// SPDX-License-Identifier: Apache-2.0
// Contact sheets: a title, frames in rows, the legend.

#include "show/picture/frame_sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/picture/page.h"

enum {
  MARGIN = 14,
  TITLE = 26,  // height of the title's line
  LINE = 18,   // of a line of the legend
  LABEL = 16,  // below a frame
  GAP = 10,    // between frames
  PAGE = 1180, // the width that rows of frames fill, if there are enough
  BOARD = 120,
  CELL_LEAST = 4,
  CELL_MOST = 24,
  DRAWING = 180 // width of a frame of shapes
};

#define INK 0x333333u
#define FRAME 0xd0d0d0u

typedef struct sheet {
  mm_page page;
  const mm_scene *scene;
  double w, h;   // of a frame
  double unit;   // of the scene, in units of the page
  size_t across; // frames in a row
} sheet;

// Black or white, whichever stands out.
static uint32_t ink_on(uint32_t colour) {
  return mm_is_dark(colour) ? 0xffffffu : 0x000000u;
}

// ---------------------------------------------------------------------------------------------
// Frames

static void add_cell(sheet *s, int mark, int n, double x, double y) {
  const mm_mark *m = &s->scene->mark[mark];
  const double edge = s->scene->lettered ? 0 : 0.5; // shows where one cell ends
  mm_page_fill(&s->page, x + edge, y + edge, n * s->unit - 2 * edge, s->unit - 2 * edge, m->colour);
  char letter[2] = { m->letter, '\0' };
  if (s->scene->lettered && letter[0] > ' ' && s->unit >= 12)
    mm_page_put(&s->page, x + s->unit / 2, y + s->unit / 2, MM_CENTRE, false, ink_on(m->colour),
                letter);
}

// Where letters tell the cells apart, neighbours of the same mark (walls) become one box.
static void add_board(sheet *s, const uint8_t *cell, double left, double top) {
  const mm_scene *scene = s->scene;
  mm_page_fill(&s->page, left, top, s->w, s->h, MM_BOARD_COLOUR);
  for (int row = 0; row < scene->rows; row++) {
    const uint8_t *at = cell + row * scene->columns;
    for (int column = 0, end; column < scene->columns; column = end) {
      end = column + 1;
      while (scene->lettered && end < scene->columns && at[end] == at[column])
        end++;
      if (at[column] > 0)
        add_cell(s, at[column] - 1, end - column, left + column * s->unit, top + row * s->unit);
    }
  }
}

static void add_drawing(sheet *s, const mm_shape *shape, int n, double left, double top) {
  const mm_scene *scene = s->scene;
  mm_page_fill(&s->page, left - 1, top - 1, s->w + 2, s->h + 2, FRAME);
  mm_page_fill(&s->page, left, top, s->w, s->h, MM_PAPER_COLOUR);
  for (int i = 0; i < n; i++) {
    mm_shape h = shape[i];
    double y = top + (scene->box.top - h.y) * s->unit, y2 = top + (scene->box.top - h.y2) * s->unit;
    h.x = left + (h.x - scene->box.left) * s->unit;
    h.x2 = left + (h.x2 - scene->box.left) * s->unit;
    h.y = h.kind == MM_SHAPE_BOX ? fmin(y, y2) : y; // a box goes downwards from its corner
    h.y2 = h.kind == MM_SHAPE_BOX ? fmax(y, y2) : y2;
    h.size = fmax(h.size * s->unit, 1);
    mm_page_add(&s->page, h, scene->mark[h.mark].colour);
  }
}

static void add_frames(sheet *s, const mm_frame *frame, size_t n, double top) {
  for (size_t i = 0; i < n; i++) {
    double left = MARGIN + (double)(i % s->across) * (s->w + GAP);
    double y = top + (double)(i / s->across) * (s->h + LABEL + GAP);
    if (frame[i].cell)
      add_board(s, frame[i].cell, left, y);
    else
      add_drawing(s, frame[i].shape, frame[i].n_shape, left, y);
    mm_page_put(&s->page, left + s->w / 2, y + s->h + LABEL / 2 + 2, MM_CENTRE, false, INK,
                frame[i].label);
  }
}

// ---------------------------------------------------------------------------------------------
// The legend: in lines from left to right; returns its height. Draws unless `top` is negative.

static double add_legend(sheet *s, double top) {
  const double swatch = 12, width = s->page.width - MARGIN;
  double x = MARGIN, y = 0;
  for (int i = 0; i < s->scene->n_mark; i++) {
    const mm_mark *mark = &s->scene->mark[i];
    double room = swatch + 6 + (double)strlen(mark->name) * MM_FIGURE_CHARACTER + 16;
    if (x > MARGIN && x + room > width) {
      x = MARGIN;
      y += LINE;
    }
    if (top >= 0) {
      double at = top + y + LINE / 2;
      // white ones need an edge on white paper
      mm_page_fill(&s->page, x - 1, at - 7, swatch + 2, swatch + 2, MM_BOARD_COLOUR);
      mm_page_fill(&s->page, x, at - 6, swatch, swatch, mark->colour);
      char letter[2] = { mark->letter, '\0' };
      if (s->scene->lettered && letter[0] > ' ')
        mm_page_put(&s->page, x + swatch / 2, at, MM_CENTRE, false, ink_on(mark->colour), letter);
      mm_page_put(&s->page, x + swatch + 6, at, MM_LEFT, false, INK, mark->name);
    }
    x += room;
  }
  return y + LINE;
}

// ---------------------------------------------------------------------------------------------

static void choose_sizes(sheet *s, size_t n, const char *title) {
  const mm_scene *scene = s->scene;
  if (scene->rows > 0) {
    s->unit = fmin(fmax(floor(BOARD / (double)scene->columns), CELL_LEAST), CELL_MOST);
    if (scene->lettered && s->unit < 14 && scene->columns <= 24) s->unit = 14; // to be readable
    s->w = s->unit * scene->columns;
    s->h = s->unit * scene->rows;
  } else {
    s->unit = DRAWING / (scene->box.right - scene->box.left);
    s->w = DRAWING;
    s->h = ceil((scene->box.top - scene->box.bottom) * s->unit);
  }
  size_t most = (size_t)fmax(floor((PAGE + GAP) / (s->w + GAP)), 1);
  size_t rows = (n + most - 1) / most;
  s->across = (n + rows - 1) / rows; // rows of about the same length
  double titled = (double)strlen(title) * MM_FIGURE_CHARACTER * 1.1, legend = 360;
  double frames = (double)s->across * (s->w + GAP) - GAP;
  s->page.width = 2 * MARGIN + fmax(frames, fmax(fmin(titled, PAGE), legend));
  double body = (double)rows * (s->h + LABEL + GAP);
  s->page.height = MARGIN + TITLE + body + add_legend(s, -1) + MARGIN;
}

mm_status mm_frame_sheet_write(const mm_scene *scene, const char *title, const mm_frame *frame,
                               size_t n, const char *path) {
  sheet s = { .scene = scene };
  if (n == 0) return MM_FAIL(MM_ERR_INPUT, "'%s': a sheet without frames", path);
  size_t cells = (size_t)scene->rows * (size_t)scene->columns;
  size_t shapes = (cells > MM_SHAPES_MOST ? cells : MM_SHAPES_MOST) + 2;
  size_t texts = 1 + (scene->lettered ? cells : 0);
  size_t legend = 2 * (size_t)scene->n_mark;
  MM_TRY(mm_page_create(n * shapes + legend, n * texts + legend + 1, &s.page));
  choose_sizes(&s, n, title);
  mm_page_put(&s.page, MARGIN, MARGIN + 6, MM_LEFT, true, INK, title);
  add_frames(&s, frame, n, MARGIN + TITLE);
  add_legend(&s, s.page.height - MARGIN - add_legend(&s, -1));
  mm_status status = mm_page_write(&s.page, path);
  mm_page_release(&s.page);
  return status;
}
