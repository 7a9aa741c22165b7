// SPDX-License-Identifier: Apache-2.0
// Learning curves: a panel per environment, each map in its line type.

#include <math.h>
#include <stdio.h>

#include "show/figure/curves.h"
#include "show/figure/transfer_figure.h"

enum {
  MARGIN = 12,
  COLUMNS = 3, // panels side by side, at most
  PANEL_WIDTH = 236,
  PANEL_HEIGHT = 150,
  ONE_WIDTH = 480, // of a single panel
  ONE_HEIGHT = 260,
  SIDE = 16,        // for the label of the axes of y, left of the first column
  AXIS_LEFT = 40,   // room for the numbers of an axis
  AXIS_RIGHT = 22,  // for the mark of the optimum
  AXIS_BOTTOM = 20, // for numbers
  LABEL = 22        // for the label of the axis, below the last row
};

typedef struct choice {
  size_t shown[MM_FIGURE_LINES]; // rows of the table
  const char *name[MM_FIGURE_LINES];
  int line[MM_FIGURE_LINES]; // types
  size_t n;
} choice;

// Without room for all maps the first ones are shown, but both baselines in any case.
static choice choose_maps(const mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  choice maps = { .n = 0 };
  size_t kept = 0;
  for (int b = 0; b < MM_BASELINES; b++)
    kept += t->baseline[b] < c->n_map;
  for (size_t m = 0; m < c->n_map && maps.n < MM_FIGURE_LINES; m++) {
    bool baseline = false;
    for (int b = 0; b < MM_BASELINES; b++)
      baseline = baseline || t->baseline[b] == m;
    if (!baseline && maps.n + kept >= MM_FIGURE_LINES) continue;
    kept -= baseline;
    maps.name[maps.n] = c->map[m].label;
    maps.shown[maps.n++] = m;
  }
  mm_map_lines(maps.name, maps.n, maps.line);
  return maps;
}

// "mean of 4 runs, one standard error", or "of 3 to 4" where cells have different numbers of them.
static void put_heading(mm_plot *plot, const mm_transfer *t, size_t n_shown, mm_box b) {
  size_t least = SIZE_MAX, most = 0;
  for (size_t i = 0; i < t->config.n_map * t->config.n_env; i++) {
    if (t->cell[i].n_curve == 0) continue;
    size_t n = t->cell[i].of.n;
    least = n < least ? n : least;
    most = n > most ? n : most;
  }
  char from[32] = "", shown[64] = "";
  if (least < most) snprintf(from, sizeof from, "%zu to ", least);
  if (n_shown < t->config.n_map)
    snprintf(shown, sizeof shown, "; %zu of %zu shown", n_shown, t->config.n_map);
  mm_plot_text(plot, b.x, b.y + MM_LINE_HEIGHT / 2.0, MM_LEFT, MM_INK,
               "Return: mean of %s%zu run%s%s", from, most,
               most == 1 ? "" : "s, one standard error", shown);
}

// The optimum is in where it leaves the curves half the panel; otherwise its number stands above.
static void add_panel(mm_plot *plot, const mm_transfer *t, const choice *maps, size_t env, mm_box b,
                      double unit) {
  mm_curve curve[MM_FIGURE_LINES];
  for (size_t i = 0; i < maps->n; i++) {
    const mm_transfer_cell *cell = mm_transfer_at(t, maps->shown[i], env);
    curve[i] = (mm_curve){ cell->curve, cell->n_curve, maps->line[i], maps->name[i] };
  }
  mm_range covered = mm_curves_range(curve, maps->n);
  double optimum = t->optimal_mean[env], end = (double)t->steps[env] / unit;
  bool inside = optimum - covered.high <= covered.high - covered.low;
  mm_plot_name(plot, b.x, b.y - 11, b.w - (inside ? 0 : 80), t->config.env[env].label);
  if (inside) {
    mm_range_include(&covered, optimum);
    mm_plot_level(plot, optimum, "(14,9)", "V^{*}");
  } else if (isfinite(optimum)) {
    mm_plot_text(plot, b.x + b.w, b.y - 11, MM_RIGHT, MM_QUIET_INK, "V^{*} = %.4g", optimum);
  }
  mm_plot_panel(plot, (mm_panel){ .box = b,
                                  .x = { { 0, end > 0 ? end : 1 }, .tics = (int)(b.w / 44) },
                                  .y = { covered, .pad = 0.05, .tics = (int)(b.h / 22) } });
  mm_curves_add(plot, curve, maps->n, unit);
}

mm_status mm_transfer_figure_curves(const mm_transfer *t, const char *path) {
  if (!mm_transfer_has_curves(t))
    return MM_FAIL(MM_ERR_INPUT, "'%s': there are no curves to draw (curve=exact gives them)",
                   path);
  const size_t n = t->config.n_env, columns = n <= 1 ? 1 : n == 2 || n == 4 ? 2 : COLUMNS;
  const size_t rows = (n + columns - 1) / columns;
  const double w = n == 1 ? ONE_WIDTH : columns == 2 ? 1.2 * PANEL_WIDTH : PANEL_WIDTH;
  const double h = n == 1 ? ONE_HEIGHT : PANEL_HEIGHT;
  const double pitch_x = AXIS_LEFT + w + AXIS_RIGHT, pitch_y = MM_LINE_HEIGHT + 4 + h + AXIS_BOTTOM;
  double unit, longest = 0;
  for (size_t e = 0; e < n; e++)
    longest = fmax(longest, (double)t->steps[e]);
  const char *axis = mm_steps_label(longest, &unit);

  choice maps = choose_maps(t);
  mm_plot plot = { .width = 2 * MARGIN + SIDE + (double)columns * pitch_x, .lettered = true };
  mm_box b = { MARGIN + SIDE + AXIS_LEFT, MARGIN, 0, 0 };
  b.w = plot.width - MARGIN - b.x;
  put_heading(&plot, t, maps.n, b);
  b.y += MM_LINE_HEIGHT + 2;
  b.y += mm_plot_legend(&plot, b, maps.name, maps.n) + 8;
  double bottom = b.y + (double)rows * pitch_y;
  mm_plot_text(&plot, b.x + ((double)columns * pitch_x - AXIS_LEFT - AXIS_RIGHT) / 2,
               bottom + LABEL / 2.0, MM_CENTRE, MM_LABEL_INK, "%s", axis);
  const mm_box first = { b.x, b.y + MM_LINE_HEIGHT + 4, w, h };
  for (size_t e = 0; e < n; e++) {
    mm_box panel = mm_plot_cell(first, e, columns, pitch_x, pitch_y);
    if (e % columns == 0) mm_plot_side(&plot, MARGIN + SIDE / 2.0, panel, "return");
    add_panel(&plot, t, &maps, e, panel, unit);
  }
  plot.height = ceil(bottom + LABEL + MARGIN / 2.0);
  return mm_plot_write(&plot, MM_OK, path);
}
