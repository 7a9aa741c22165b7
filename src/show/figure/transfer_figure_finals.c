// SPDX-License-Identifier: Apache-2.0
// Final returns as dots with intervals, each map in its colour. Returns and differences have panels
// of their own: tasks differ so much that standard errors of means overlap where those of paired
// differences do not. Differences whose 95 % interval excludes 0 have filled dots.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/figure/transfer_figure.h"
#include "show/plot/plot.h"

enum {
  WIDTH = 760, // with names of up to 190
  MARGIN = 14,
  ROW = 17,         // height of a map's row
  AXIS_BOTTOM = 30, // below a block, for the numbers of its axes
  GAP = 34,         // between the panels of a block
  LABEL = 190,      // room for the names of maps before the page gets wider for them
  LABEL_MOST = 420
};

typedef enum measure { FINAL, DIFFERENCE } measure; // what a panel shows

typedef struct picture {
  const mm_transfer *t;
  mm_plot plot;
  double label;    // width of the names
  size_t baseline; // mm_baseline of the differences, MM_BASELINES for none
  double *extent;  // [n_map], while a range is looked for
  int *line;       // [n_map] types
} picture;

// ---------------------------------------------------------------------------------------------
// One panel

// A number of a map with its interval: a single run has none.
typedef struct number {
  double mean, low, high;
} number;

static number number_of(const picture *p, size_t map, size_t env, measure what) {
  const mm_transfer_cell *cell = mm_transfer_at(p->t, map, env);
  const mm_comparison *over = &cell->over[what == DIFFERENCE ? p->baseline : 0];
  mm_estimate of = cell->of.mean;
  number e = what == DIFFERENCE
                 ? (number){ over->gain.mean, over->interval.low, over->interval.high }
                 : (number){ of.mean, of.mean - of.sem, of.mean + of.sem };
  if (isnan(e.low)) e.low = e.high = e.mean;
  return e;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Below minus this a difference is only named at the edge: a random control that fails would leave
// no room for the others. Four times the median one, or as far as differences reach upwards.
static double most_shown(const picture *p, size_t env) {
  double most = 0;
  size_t n = 0;
  for (size_t m = 0; m < p->t->config.n_map; m++) {
    number e = number_of(p, m, env, DIFFERENCE);
    if (!isfinite(e.mean) || e.mean == 0) continue;
    p->extent[n++] = fmax(-e.low, e.high);
    most = fmax(most, e.high);
  }
  qsort(p->extent, n, sizeof *p->extent, ascending);
  return n > 0 ? fmax(most, 4 * p->extent[n / 2]) : INFINITY;
}

// What the intervals and the baseline's line need.
static mm_range range_of(const picture *p, size_t env, measure what, double line) {
  mm_range r = MM_RANGE_NONE;
  double most = what == DIFFERENCE ? most_shown(p, env) : INFINITY;
  mm_range_include(&r, line);
  for (size_t m = 0; m < p->t->config.n_map; m++) {
    number e = number_of(p, m, env, what);
    if (e.mean < -most) continue;
    mm_range_include(&r, e.low);
    mm_range_include(&r, e.high);
  }
  return mm_range_pad(r, 0.08);
}

// A baseline's difference from itself says nothing.
static void add_row(picture *p, size_t map, size_t env, measure what) {
  enum { OPEN = 6, FILLED = 7 };
  const mm_transfer_cell *cell = mm_transfer_at(p->t, map, env);
  number e = number_of(p, map, env, what);
  if (!isfinite(e.mean) || (what == DIFFERENCE && map == p->t->baseline[p->baseline])) return;
  bool open = what == DIFFERENCE && mm_comparison_sign(&cell->over[p->baseline]) == 0;
  mm_plot_series(&p->plot, (mm_series){ .style = MM_X_INTERVALS,
                                        .colour = mm_line_colour(p->line[map]),
                                        .width = 1.6,
                                        .solid = true,
                                        .point = open ? OPEN : FILLED,
                                        .size = 0.7 });
  mm_plot_put(&p->plot, e.mean, (double)(p->t->config.n_map - map), e.low, e.high);
}

// `line`: where an upright line marks the baseline.
static void add_panel(picture *p, size_t env, mm_box b, measure what, double line) {
  mm_range x = range_of(p, env, what, line);
  if (isfinite(line)) mm_plot_upright(&p->plot, line, "(6,4)");
  mm_plot_panel(&p->plot,
                (mm_panel){ .box = b,
                            .x = { x, .tics = (int)(b.w / 52) },
                            .y = { .range = { 0.5, (double)p->t->config.n_map + 0.5 } } });
  for (size_t m = 0; m < p->t->config.n_map; m++)
    add_row(p, m, env, what);
}

// ---------------------------------------------------------------------------------------------
// The page

// An environment's name, and V* in numbers: drawn to scale it would often leave no room for the
// differences. Then the maps' names and the panels.
static void add_block(picture *p, size_t env, double y) {
  const mm_transfer_config *c = &p->t->config;
  const double inner = p->plot.width - 2 * MARGIN - p->label, optimum = p->t->optimal_mean[env];
  const bool both = p->baseline < MM_BASELINES;
  mm_box b = { MARGIN + p->label, y + MM_LINE_HEIGHT + 4, both ? (inner - GAP) / 2 : inner,
               ROW * (double)c->n_map };
  mm_plot_name(&p->plot, b.x, b.y - 11, b.w - 90, c->env[env].label);
  if (isfinite(optimum))
    mm_plot_text(&p->plot, b.x + b.w, b.y - 11, MM_RIGHT, MM_QUIET_INK, "V^{*} = %.4g", optimum);
  for (size_t m = 0; m < c->n_map; m++)
    mm_plot_name(&p->plot, MARGIN, b.y + ROW * ((double)m + 0.5) + 0.5, p->label - 6,
                 c->map[m].label);
  add_panel(p, env, b, FINAL,
            both ? number_of(p, p->t->baseline[p->baseline], env, FINAL).mean : NAN);
  b.x += b.w + GAP;
  if (both) add_panel(p, env, b, DIFFERENCE, 0);
}

static void put_title(picture *p, double y) {
  const mm_transfer_config *c = &p->t->config;
  const double inner = p->plot.width - 2 * MARGIN - p->label, x = MARGIN + p->label;
  mm_plot_text(&p->plot, x, y, MM_LEFT, MM_INK, "{/*1.08 Final return}");
  mm_plot_text(&p->plot, x, y + MM_LINE_HEIGHT, MM_LEFT, MM_QUIET_INK,
               "%zu run%s each: mean, standard error", c->n_seed, c->n_seed == 1 ? "" : "s");
  if (p->baseline == MM_BASELINES) return;
  double second = x + (inner + GAP) / 2;
  mm_plot_text(&p->plot, second, y, MM_LEFT, MM_INK, "{/*1.08 Paired difference from %s}",
               c->map[p->t->baseline[p->baseline]].label);
  mm_plot_text(&p->plot, second, y + MM_LINE_HEIGHT, MM_LEFT, MM_QUIET_INK,
               "mean, 95 %% interval (filled: excludes 0)");
}

static void choose_lines(picture *p, const char **name) {
  const mm_transfer_config *c = &p->t->config;
  for (size_t m = 0; m < c->n_map; m++)
    name[m] = c->map[m].label;
  mm_map_lines(name, c->n_map, p->line);
}

mm_status mm_transfer_figure_finals(const mm_transfer *t, const char *path) {
  const mm_transfer_config *c = &t->config;
  const double top = MARGIN + 2 * MM_LINE_HEIGHT + 4;
  const double block = MM_LINE_HEIGHT + 4 + ROW * (double)c->n_map + AXIS_BOTTOM;
  picture p = { .t = t, .baseline = MM_BASELINES };
  for (size_t b = MM_BASELINES; b-- > 0;)
    if (t->baseline[b] < c->n_map && c->n_map > 1) p.baseline = b;
  for (size_t m = 0; m < c->n_map; m++)
    p.label = fmax(p.label, (double)strlen(c->map[m].label) * MM_FIGURE_CHARACTER + 14);
  p.label = fmin(p.label, LABEL_MOST);
  p.plot = (mm_plot){ .width = WIDTH + fmax(p.label - LABEL, 0),
                      .height = ceil(top + 4 + (double)c->n_env * block),
                      .lettered = true };
  p.extent = mm_alloc_array(c->n_map, sizeof *p.extent);
  p.line = mm_alloc_array(c->n_map, sizeof *p.line);
  const char **name = mm_alloc_array(c->n_map, sizeof *name);
  mm_status status = MM_OK;
  if (p.extent && p.line && name) {
    choose_lines(&p, name);
    put_title(&p, MARGIN + MM_LINE_HEIGHT / 2.0);
    for (size_t e = 0; e < c->n_env; e++)
      add_block(&p, e, top + (double)e * block);
  } else {
    status = MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  }
  mm_free(p.extent);
  mm_free(p.line);
  mm_free(name);
  return mm_plot_write(&p.plot, status, path);
}
