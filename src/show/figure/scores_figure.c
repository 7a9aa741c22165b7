// SPDX-License-Identifier: Apache-2.0
#include "show/figure/scores_figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/plot/plot.h"

enum {
  WIDTH = 620,
  MARGIN = 14,
  ROW = 20,         // height of a map's row
  AXIS_BOTTOM = 30, // for the numbers of an axis
  AXIS_LEFT = 40,
  LABEL_MOST = 260, // room for the names of maps
  PANEL = 260,      // height of the profiles
  CELL = 36,        // of the matrix
  WINS_MOST = 64    // maps of it
};

// All figures take the line types from here. Those behind the last type share them.
static void choose_lines(const mm_score_table *t, int line[MM_SCORE_NAMES]) {
  const size_t n = t->n_map < MM_FIGURE_STYLES ? t->n_map : MM_FIGURE_STYLES;
  mm_map_lines((const char *const *)t->map, n, line);
  for (size_t m = n; m < t->n_map; m++)
    line[m] = line[m % n];
}

static double label_width(const mm_score_table *t) {
  double width = 0;
  for (size_t m = 0; m < t->n_map; m++)
    width = fmax(width, (double)strlen(t->map[m]) * MM_FIGURE_CHARACTER + 14);
  return fmin(width, LABEL_MOST);
}

// `shown`: how many of the maps.
static void put_title(mm_plot *plot, double x, const char *title, const mm_scores *s,
                      size_t shown) {
  const mm_score_table *t = s->table;
  char part[64] = "";
  if (shown < t->n_map) snprintf(part, sizeof part, "; %zu of %zu maps shown", shown, t->n_map);
  mm_plot_text(plot, x, MARGIN + MM_LINE_HEIGHT / 2.0, MM_LEFT, MM_INK, "{/*1.08 %s}", title);
  mm_plot_text(plot, x, MARGIN + 1.5 * MM_LINE_HEIGHT, MM_LEFT, MM_QUIET_INK,
               "%zu environment%s, %zu seed%s%s", t->n_env, t->n_env == 1 ? "" : "s", t->n_seed,
               t->n_seed == 1 ? "" : "s", part);
}

// ---------------------------------------------------------------------------------------------
// Intervals

mm_status mm_scores_figure_intervals(const mm_scores *s, const char *path) {
  const mm_score_table *t = s->table;
  const double label = label_width(t), from = s->map[s->baselines.row[0]].iqm.iqm;
  const mm_box b = { MARGIN + label, MARGIN + 2 * MM_LINE_HEIGHT + 6, WIDTH - 2 * MARGIN - label,
                     ROW * (double)t->n_map };
  mm_plot plot = { .width = WIDTH, .height = b.y + b.h + AXIS_BOTTOM + MM_LINE_HEIGHT };
  int line[MM_SCORE_NAMES];
  choose_lines(t, line);
  put_title(&plot, b.x, "Interquartile mean of scores, 95 % interval", s, t->n_map);
  for (size_t m = 0; m < t->n_map; m++)
    mm_plot_name(&plot, MARGIN, b.y + ROW * ((double)m + 0.5), label - 8, t->map[m]);
  mm_plot_text(&plot, b.x + b.w / 2, plot.height - MM_LINE_HEIGHT / 2.0 - 2, MM_CENTRE,
               MM_LABEL_INK, "normalised score");
  if (isfinite(from)) mm_plot_upright(&plot, from, "(6,4)");
  mm_plot_panel(&plot, (mm_panel){ .box = b,
                                   .x = { .pad = 0.08, .tics = (int)(b.w / 60) },
                                   .y = { .range = { 0.5, (double)t->n_map + 0.5 } } });
  for (size_t m = 0; m < t->n_map; m++) {
    const mm_iqm *q = &s->map[m].iqm;
    if (isnan(q->iqm)) continue;
    mm_plot_series(&plot, (mm_series){ .style = MM_X_INTERVALS,
                                       .colour = mm_line_colour(line[m]),
                                       .width = 2,
                                       .solid = true,
                                       .point = 7,
                                       .size = 0.8 });
    mm_plot_put(&plot, q->iqm, (double)(t->n_map - m), isnan(q->low) ? q->iqm : q->low,
                isnan(q->high) ? q->iqm : q->high);
  }
  return mm_plot_write(&plot, MM_OK, path);
}

// ---------------------------------------------------------------------------------------------
// Profiles

// Bands of many maps are fainter, so that their curves can still be seen.
static mm_status add_profile(mm_plot *plot, const mm_scores *s, size_t map, int line, size_t n) {
  double share[MM_PROFILE_POINTS];
  mm_interval band[MM_PROFILE_POINTS];
  MM_TRY(mm_scores_profile(s, map, s->tau, MM_PROFILE_POINTS, share, band));
  mm_plot_series(plot, (mm_series){ .style = MM_BAND,
                                    .colour = mm_line_colour(line),
                                    .opacity = fmin(0.15, 0.6 / (double)n) });
  for (size_t k = 0; k < MM_PROFILE_POINTS; k++)
    mm_plot_put(plot, s->tau[k], band[k].low, band[k].high);
  mm_plot_series(plot, (mm_series){ .style = MM_LINE, .line = line, .name = s->table->map[map] });
  for (size_t k = 0; k < MM_PROFILE_POINTS; k++)
    mm_plot_put(plot, s->tau[k], share[k]);
  return MM_OK;
}

mm_status mm_scores_figure_profiles(const mm_scores *s, const char *path) {
  const mm_score_table *t = s->table;
  const size_t n = t->n_map < MM_FIGURE_STYLES ? t->n_map : MM_FIGURE_STYLES;
  int line[MM_SCORE_NAMES];
  mm_plot plot = { .width = WIDTH };
  mm_box b = { MARGIN + 18 + AXIS_LEFT, MARGIN + 2 * MM_LINE_HEIGHT + 4, 0, PANEL };
  b.w = WIDTH - MARGIN - b.x;
  choose_lines(t, line);
  put_title(&plot, b.x, "Performance profiles, bands of 95 %", s, n);
  b.y += mm_plot_legend(&plot, b, (const char *const *)t->map, n) + 8;
  plot.height = b.y + b.h + AXIS_BOTTOM + MM_LINE_HEIGHT;
  mm_plot_text(&plot, b.x + b.w / 2, plot.height - MM_LINE_HEIGHT / 2.0 - 2, MM_CENTRE,
               MM_LABEL_INK, "normalised score τ");
  mm_plot_side(&plot, MARGIN + 6, b, "share of runs with a score above τ");
  mm_plot_panel(&plot, (mm_panel){ .box = b,
                                   .x = { { s->tau[0], s->tau[MM_PROFILE_POINTS - 1] },
                                          .tics = (int)(b.w / 60) },
                                   .y = { { 0, 1 }, .tics = 5 } });
  mm_status status = MM_OK;
  for (size_t m = 0; m < n && status == MM_OK; m++)
    status = add_profile(&plot, s, m, line[m], n);
  return mm_plot_write(&plot, status, path);
}

// ---------------------------------------------------------------------------------------------
// Win rates

// A number in each cell, in white where the cell is dark, and the columns' numbers above.
static void put_cells(mm_plot *plot, const mm_scores *s, size_t n, mm_box b) {
  for (size_t i = 0; i < n; i++) {
    mm_plot_text(plot, b.x + CELL * ((double)i + 0.5), b.y - MM_LINE_HEIGHT / 2.0, MM_CENTRE,
                 MM_LABEL_INK, "%zu", i + 1);
    for (size_t k = 0; k < n; k++) {
      double wins = s->match[i * s->table->n_map + k].wins;
      if (isnan(wins)) continue;
      mm_plot_text(plot, b.x + CELL * ((double)k + 0.5), b.y + CELL * ((double)i + 0.5), MM_CENTRE,
                   mm_is_dark(mm_ramp_colour(wins)) ? 0xFFFFFF : MM_INK, "%.0f", 100 * wins);
    }
  }
}

static void put_rows(mm_plot *plot, const mm_score_table *t, size_t n, mm_box b) {
  for (size_t i = 0; i < n; i++) {
    double y = b.y + CELL * ((double)i + 0.5);
    mm_plot_name(plot, MARGIN, y, b.x - MARGIN - 30, t->map[i]);
    mm_plot_text(plot, b.x - 8, y, MM_RIGHT, MM_LABEL_INK, "%zu", i + 1);
  }
}

mm_status mm_scores_figure_wins(const mm_scores *s, const char *path) {
  const mm_score_table *t = s->table;
  const size_t n = t->n_map < WINS_MOST ? t->n_map : WINS_MOST;
  const mm_box b = { MARGIN + label_width(t) + 30, MARGIN + 3 * MM_LINE_HEIGHT + 6,
                     CELL * (double)n, CELL * (double)n };
  const double size = (double)n;
  mm_plot plot = { .width = fmax(b.x + b.w + MARGIN, 380), .height = b.y + b.h + MARGIN };
  put_title(&plot, MARGIN, "Win rate, row against column, in %", s, n);
  put_rows(&plot, t, n, b);
  put_cells(&plot, s, n, b);
  mm_plot_panel(&plot, (mm_panel){ .box = b,
                                   .x = { .range = { 0, size } },
                                   .y = { .range = { 0, size } },
                                   .no_grid = true,
                                   .full = true });
  mm_plot_series(
      &plot, (mm_series){ .style = MM_IMAGE, .columns = n, .x = { 0, size }, .y = { 0, size } });
  for (size_t i = n; i-- > 0;)
    for (size_t k = 0; k < n; k++)
      mm_plot_put(&plot, s->match[i * t->n_map + k].wins);
  return mm_plot_write(&plot, MM_OK, path);
}
