// SPDX-License-Identifier: Apache-2.0
// A cell for every pair of values. The axes count the values of the grid, which are even by ratios
// where a range is logarithmic and by differences where it is linear, and name them.

#include "show/figure/tune_heat.h"

#include <math.h>
#include <stdio.h>

enum {
  LEFT = 96,      // names of the values of y
  BELOW = 44,     // those of x, and what x is
  CELL = 40,      // usual height of a cell
  LEAST = 120,    // height of all of them
  MOST = 440,     //
  NAMES = 14,     // at most so many on an axis
  BAR = 12,       // colours
  BAR_STEPS = 96, //
  TWO_WIDE = 50,
  TWO_HIGH = 34 // room for two lines
};
#define SIZE_LEAST 0.6 // of numbers
#define FRAME 0xD55E00u
#define FAILED 0xE0E0E0u

typedef struct side {
  const mm_tune_parameter *of;
  double level[MM_TUNE_POINTS];
  size_t n;
} side;

typedef struct heat {
  mm_plot *plot;
  const mm_tune_view *v;
  mm_range score;
  mm_box box;
  side x, y;
  struct cell {
    size_t trial;
    bool near; // not shown to be worse than the best
  } * cell;    // [y.n][x.n]
  size_t best; // cell; NONE: all failed
} heat;

bool mm_tune_has_heat(const mm_tune_view *v) {
  return v->plan->space.n == 2 && mm_tune_is_grid(&v->plan->space);
}

// ---------------------------------------------------------------------------------------------
// Cells

static const size_t NONE = (size_t)-1;

// The trial with a cell's values; NONE while there is none.
static size_t find_trial(const heat *h, size_t c) {
  const mm_tune_search *s = h->v->search;
  const double x = h->x.level[c % h->x.n], y = h->y.level[c / h->x.n];
  for (size_t t = 0; t < s->n; t++)
    if (s->trial[t].value[0] == x && s->trial[t].value[1] == y && s->trial[t].n > 0) return t;
  return NONE;
}

static void find_cells(heat *h) {
  const mm_tune_trial *all = h->v->search->trial;
  size_t best = NONE;
  for (size_t c = 0; c < h->x.n * h->y.n; c++) {
    const size_t t = h->cell[c].trial = find_trial(h, c);
    if (t == NONE || all[t].failed) continue;
    if (best == NONE || mm_tune_compare(&all[t], &all[best]) > 0) best = t;
  }
  for (size_t c = 0; c < h->x.n * h->y.n; c++) {
    const size_t t = h->cell[c].trial;
    h->cell[c].near = t != NONE && best != NONE && mm_tune_is_near(h->v->search, best, t);
    if (t != NONE && t == best) h->best = c;
  }
}

// Beside the grid nothing is near.
static bool is_near(const heat *h, size_t i, size_t k) {
  return i < h->x.n && k < h->y.n && h->cell[k * h->x.n + i].near;
}

static uint32_t colour_of(const heat *h, const mm_tune_trial *t) {
  if (t->failed) return FAILED;
  return mm_ramp_colour((mm_tune_score(t).mean - h->score.low) / (h->score.high - h->score.low));
}

// Size of the numbers in the cells: 1 where there is room, 0 where they could not be read.
static double size_of_numbers(const heat *h) {
  const double w = h->box.w / (double)h->x.n, high = h->box.h / (double)h->y.n;
  const double size = fmin(1, fmin(w / TWO_WIDE, high / TWO_HIGH));
  return size < SIZE_LEAST ? 0 : size;
}

// Mean and error.
static void put_numbers(const heat *h, size_t i, size_t k, const mm_tune_trial *t, double size) {
  const double w = h->box.w / (double)h->x.n, high = h->box.h / (double)h->y.n;
  const double x = h->box.x + ((double)i + 0.5) * w;
  const double y = h->box.y + h->box.h - ((double)k + 0.5) * high;
  const uint32_t ink = mm_is_dark(colour_of(h, t)) ? 0xFFFFFFu : MM_INK;
  const mm_estimate e = mm_tune_score(t);
  const double up = isnan(e.sem) ? 0 : 8 * size;
  if (t->failed) {
    mm_plot_text(h->plot, x, y, MM_CENTRE, MM_QUIET_INK, "{/*%.2f failed}", size);
    return;
  }
  mm_plot_text(h->plot, x, y - up, MM_CENTRE, ink, "{/*%.2f %+.2f}", size, e.mean);
  if (up > 0) mm_plot_text(h->plot, x, y + up, MM_CENTRE, ink, "{/*%.2f ± %.2f}", size, e.sem);
}

static void add_cells(const heat *h) {
  mm_plot_series(h->plot, (mm_series){ .style = MM_BOXES });
  for (size_t c = 0; c < h->x.n * h->y.n; c++) {
    const double x = (double)(c % h->x.n), y = (double)(c / h->x.n);
    const size_t t = h->cell[c].trial;
    if (t == NONE) continue;
    mm_plot_put(h->plot, x, y, x - 0.5, x + 0.5, y - 0.5, y + 0.5,
                (double)colour_of(h, &h->v->search->trial[t]));
  }
}

// ---------------------------------------------------------------------------------------------
// Outlines

// Where a cell of the region meets one that is not: edges, longer by half the width for corners.
static void put_region(const heat *h, uint32_t colour, double width) {
  const double w = 0.5 * width * (double)h->x.n / h->box.w;
  const double high = 0.5 * width * (double)h->y.n / h->box.h;
  mm_plot_series(h->plot, (mm_series){ .style = MM_SEGMENTS, .width = width, .solid = true });
  for (size_t k = 0; k <= h->y.n; k++)
    for (size_t i = 0; i <= h->x.n; i++) {
      const bool here = is_near(h, i, k);
      const double x = (double)i - 0.5, y = (double)k - 0.5, c = (double)colour;
      if (here != (i > 0 && is_near(h, i - 1, k)))
        mm_plot_put(h->plot, x, y - high, 0, 1 + 2 * high, c);
      if (here != (k > 0 && is_near(h, i, k - 1))) mm_plot_put(h->plot, x - w, y, 1 + 2 * w, 0, c);
    }
}

// Black in white, which stands out from light and dark cells.
static void add_region(const heat *h) {
  put_region(h, 0xFFFFFF, 5);
  put_region(h, MM_INK, 2.4);
}

// Within its cell, so that the outline of the region stays to be seen.
static void add_frame(const heat *h) {
  const double w = 3.0 * (double)h->x.n / h->box.w, high = 3.0 * (double)h->y.n / h->box.h;
  mm_plot_series(h->plot,
                 (mm_series){ .style = MM_LINE, .colour = FRAME, .width = 2.4, .solid = true });
  if (h->best == NONE) return;
  const double left = (double)(h->best % h->x.n) - 0.5 + w, right = left + 1 - 2 * w;
  const double low = (double)(h->best / h->x.n) - 0.5 + high, top = low + 1 - 2 * high;
  mm_plot_put(h->plot, left, low);
  mm_plot_put(h->plot, right, low);
  mm_plot_put(h->plot, right, top);
  mm_plot_put(h->plot, left, top);
  mm_plot_put(h->plot, left, low);
}

// ---------------------------------------------------------------------------------------------
// Axes

static void name_of(const side *s, char out[MM_SETTING_TEXT_SIZE + 8]) {
  snprintf(out, MM_SETTING_TEXT_SIZE + 8, "%s%s", s->of->name,
           s->of->scale == MM_TUNE_LOG ? " (log)" : "");
}

static size_t stride_of(const side *s) {
  return (s->n + NAMES - 1) / NAMES;
}

static void put_axes(const heat *h) {
  char text[MM_SETTING_TEXT_SIZE + 8];
  const double bottom = h->box.y + h->box.h, high = h->box.h / (double)h->y.n;
  for (size_t i = 0; i < h->x.n; i += stride_of(&h->x))
    mm_plot_tic(h->plot, (double)i, mm_tune_text(h->x.of, h->x.level[i], text));
  for (size_t k = 0; k < h->y.n; k += stride_of(&h->y))
    mm_plot_label(h->plot, h->box.x - 8, bottom - ((double)k + 0.5) * high, MM_RIGHT, MM_LABEL_INK,
                  false, mm_tune_text(h->y.of, h->y.level[k], text));
  name_of(&h->x, text);
  mm_plot_label(h->plot, h->box.x + h->box.w / 2, bottom + 32, MM_CENTRE, MM_LABEL_INK, false,
                text);
  name_of(&h->y, text);
  mm_plot_label(h->plot, h->box.x - 8, h->box.y - 12, MM_RIGHT, MM_LABEL_INK, false, text);
}

// The colours with their scores, and what the lines mean.
static void add_legend(const heat *h, double x, double y, double width) {
  const mm_box bar = { x + width - 190, y + 4, 180, BAR };
  const double step = (h->score.high - h->score.low) / BAR_STEPS;
  mm_plot_text(h->plot, x, y + 10, MM_LEFT, MM_INK,
               "{/*1.08 Score}%s; 0 is that of the baseline settings",
               size_of_numbers(h) > 0 ? " with its standard error" : "");
  mm_plot_text(h->plot, x, y + 30, MM_LEFT, 0x555555,
               "orange frame: best; black outline: not shown to be worse (the 95 %% interval");
  mm_plot_text(h->plot, x, y + 47, MM_LEFT, 0x555555,
               "of the paired difference from the best includes 0)");
  mm_plot_panel(h->plot, (mm_panel){ .box = bar,
                                     .x = { .range = h->score, .tics = 4 },
                                     .y = { .range = { 0, 1 } },
                                     .no_grid = true });
  mm_plot_series(h->plot, (mm_series){ .style = MM_BOXES });
  for (int i = 0; i < BAR_STEPS; i++) {
    const double left = h->score.low + i * step;
    mm_plot_put(h->plot, left + step / 2, 0.5, left, left + step, 0, 1,
                (double)mm_ramp_colour((i + 0.5) / BAR_STEPS));
  }
}

// Room for the cells, of which the axes say how many there are.
static heat *make(mm_plot *plot, const mm_tune_view *v, mm_range score) {
  heat *h = mm_alloc(sizeof *h);
  if (!h) return NULL;
  *h = (heat){ .plot = plot, .v = v, .score = score, .best = NONE };
  h->x.of = &v->plan->space.parameter[0];
  h->y.of = &v->plan->space.parameter[1];
  h->x.n = mm_tune_levels(h->x.of, h->x.level);
  h->y.n = mm_tune_levels(h->y.of, h->y.level);
  h->cell = mm_alloc_array(h->x.n * h->y.n, sizeof *h->cell);
  if (h->cell) return h;
  mm_free(h);
  return NULL;
}

static void add_panel(const heat *h) {
  const double size = size_of_numbers(h);
  for (size_t c = 0; c < h->x.n * h->y.n && size > 0; c++)
    if (h->cell[c].trial != NONE)
      put_numbers(h, c % h->x.n, c / h->x.n, &h->v->search->trial[h->cell[c].trial], size);
  put_axes(h);
  mm_plot_panel(h->plot,
                (mm_panel){ .box = h->box,
                            .x = { .range = { -0.5, (double)h->x.n - 0.5 }, .plain = true },
                            .y = { .range = { -0.5, (double)h->y.n - 0.5 } },
                            .no_grid = true });
  add_cells(h);
  add_region(h);
  add_frame(h);
}

double mm_tune_heat(mm_plot *plot, const mm_tune_view *v, mm_range score, double x, double y,
                    double width) {
  const double legend = 60 + MM_LINE_HEIGHT;
  heat *h = make(plot, v, score);
  plot->no_memory |= !h;
  if (!h) return 0;
  h->box = (mm_box){ x + LEFT, y + legend, width - LEFT,
                     fmin(fmax((double)h->y.n * CELL, LEAST), MOST) };
  find_cells(h);
  add_legend(h, x, y, width);
  add_panel(h);
  const double height = legend + h->box.h + BELOW;
  mm_free(h->cell);
  mm_free(h);
  return height;
}
