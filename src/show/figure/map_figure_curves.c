// phi, phi^-1 and h of several maps as curves. phi(x) and phi(x - c) are the same mirror map, so
// all three are drawn aligned where phi = 1: phi against x - phi^-1(1), phi^-1 less its value at 1,
// and its integral from 1 to p, which is a term of h up to a multiple of p - 1.

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "show/figure/map_figure_bands.h"

enum {
  N_GRID = 601,  // points of a smooth curve
  N_KNOT = 1001, // a piecewise map with more knots than these is drawn as a smooth one
  N_MARK = 24,   // and one with at most these shows them
  CURVE_HEIGHT = 190,
  AXIS_LEFT = 36,   // room for the numbers of an axis
  AXIS_BOTTOM = 42, // for numbers and a label
  STROKE = 34
};

// ---------------------------------------------------------------------------------------------
// Ranges

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The middle one of several values, the lower of two; sorts them.
static double middle_of(double *values, size_t n) {
  qsort(values, n, sizeof *values, by_value);
  return values[(n - 1) / 2];
}

// phi^-1(1) of each map, and the left end of phi's axis: the widest zero of a map, unless a few
// wide maps would leave no room for the others.
static mm_status find_left(const mm_map_picture *picture, double *top, double *left) {
  static const double p[] = { 0, 0.02, 1 };
  double width[MM_PICTURE_MAPS], widest = 6;
  for (size_t i = 0; i < picture->n_map; i++) {
    double at[3];
    MM_TRY(mm_map_phi_inverse(picture->maps[i], p, 3, at));
    top[i] = at[2];
    width[i] = at[2] - at[1];
    if (isfinite(at[0])) widest = fmax(widest, at[2] - at[0]);
  }
  *left = -fmin(widest, fmax(12, 4 * middle_of(width, picture->n_map)));
  return MM_OK;
}

// Upper end of h's axis: the largest value, unless a few maps dwarf the others.
static mm_status find_h_top(const mm_map_picture *picture, const double *top, double *h_top) {
  double at_0[MM_PICTURE_MAPS], zero = 0;
  for (size_t i = 0; i < picture->n_map; i++) {
    MM_TRY(mm_map_h(picture->maps[i], &zero, 1, &at_0[i]));
    at_0[i] += top[i];
    if (!isfinite(at_0[i]) || at_0[i] <= 0) at_0[i] = 1;
  }
  double middle = middle_of(at_0, picture->n_map);
  *h_top = 1.05 * fmin(at_0[picture->n_map - 1], 4 * middle);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Points

// Number of a piecewise map's steps if its knots are to be drawn exactly, else 0.
static size_t steps_of(const mm_map *map) {
  size_t n = 0;
  mm_map_piecewise_psi(map, &n);
  return n < N_KNOT ? n : 0;
}

// Those of the probabilities j / n at which a piecewise map of n steps has knots.
static size_t list_knots(const mm_map *map, double *p) {
  size_t n = steps_of(map);
  for (size_t j = 0; j <= n && n > 0; j++)
    p[j] = (double)j / (double)n;
  return n > 0 ? n + 1 : 0;
}

mm_status mm_map_add_phi(mm_plot *plot, const mm_map *map, double left, double right,
                         mm_series look) {
  static const double one = 1;
  double x[N_GRID + N_KNOT], y[N_GRID + N_KNOT], top;
  MM_TRY(mm_map_phi_inverse(map, &one, 1, &top));
  for (int i = 0; i < N_GRID; i++)
    x[i] = left + (right - left) * i / (N_GRID - 1) + top;
  size_t knots = list_knots(map, y), n = N_GRID + knots;
  if (knots > 0) MM_TRY(mm_map_phi_inverse(map, y, knots, x + N_GRID));
  qsort(x, n, sizeof *x, by_value);
  MM_TRY(mm_map_phi(map, x, n, y));
  mm_plot_series(plot, look);
  for (size_t i = 0; i < n; i++)
    mm_plot_put(plot, x[i] - top, fmax(y[i], 0));
  return MM_OK;
}

// phi^-1 or its integral over [0, 1]; close together towards 0, where phi^-1 may be steep.
static mm_status add_inverse(mm_plot *plot, const mm_map *map, double top, bool integral,
                             mm_series look) {
  double p[N_GRID + N_KNOT], y[N_GRID + N_KNOT];
  for (int i = 0; i < N_GRID; i++)
    p[i] = pow((double)i / (N_GRID - 1), 3);
  size_t n = N_GRID + list_knots(map, p + N_GRID);
  qsort(p, n, sizeof *p, by_value);
  MM_TRY(integral ? mm_map_h(map, p, n, y) : mm_map_phi_inverse(map, p, n, y));
  mm_plot_series(plot, look);
  for (size_t i = 0; i < n; i++)
    mm_plot_put(plot, p[i], y[i] - top * (integral ? p[i] - 1 : 1));
  return MM_OK;
}

// The knots (phi^-1(j/n), j/n) of a short piecewise map, as they lie in the panel.
static mm_status add_knots(mm_plot *plot, const mm_map *map, double top, unsigned panel, int line) {
  double p[N_MARK + 1], at[N_MARK + 1];
  if (steps_of(map) > N_MARK || panel == MM_PANEL_H) return MM_OK;
  size_t n = list_knots(map, p);
  if (n == 0) return MM_OK;
  MM_TRY(mm_map_phi_inverse(map, p, n, at));
  mm_plot_series(plot, (mm_series){ .style = MM_POINTS, .line = line });
  for (size_t j = 0; j < n; j++)
    if (panel == MM_PANEL_PHI)
      mm_plot_put(plot, at[j] - top, p[j]);
    else
      mm_plot_put(plot, p[j], at[j] - top);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Panels

typedef struct curves {
  unsigned panel;
  const char *title, *label;
  mm_range x, y;
} curves;

static mm_status add_panel(mm_map_picture *picture, const curves *c, const double *top, mm_box b) {
  mm_plot *plot = &picture->plot;
  mm_plot_text(plot, b.x + b.w / 2, b.y - 12, MM_CENTRE, MM_INK, "%s", c->title);
  mm_plot_text(plot, b.x + b.w / 2, b.y + b.h + 32, MM_CENTRE, MM_LABEL_INK, "%s", c->label);
  mm_plot_panel(
      plot,
      (mm_panel){ .box = b, .x = { c->x, .tics = 6 }, .y = { c->y, .tics = 6 }, .full = true });
  for (size_t i = 0; i < picture->n_map; i++) {
    const mm_map *map = picture->maps[i];
    mm_series look = { .style = MM_LINE, .line = (int)i + 1, .name = picture->label[i] };
    if (c->panel == MM_PANEL_PHI)
      MM_TRY(mm_map_add_phi(plot, map, c->x.low, c->x.high, look));
    else
      MM_TRY(add_inverse(plot, map, top[i], c->panel == MM_PANEL_H, look));
    MM_TRY(add_knots(plot, map, top[i], c->panel, (int)i + 1));
  }
  return MM_OK;
}

// The maps' names in columns as wide as the longest, but narrow enough for four where there are so
// many; returns the height.
static double put_legend(mm_map_picture *picture, mm_box b) {
  const size_t n = picture->n_map;
  double wanted = 0;
  for (size_t i = 0; i < n; i++)
    wanted = fmax(wanted, (double)strlen(picture->label[i]) * MM_FIGURE_CHARACTER);
  wanted = fmin(wanted + STROKE + 6 + 24, fmax(b.w / 4, 170));
  size_t columns = (size_t)fmin(fmax(floor(b.w / wanted), 1), (double)n);
  size_t rows = (n + columns - 1) / columns;
  columns = (n + rows - 1) / rows; // rows of about equal length
  mm_box first = { b.x + (b.w - (double)columns * wanted) / 2 + 10, b.y + MM_LINE_HEIGHT / 2.0, 0,
                   0 };
  for (size_t i = 0; i < n; i++) {
    mm_box at = mm_plot_cell(first, i, columns, wanted, MM_LINE_HEIGHT);
    mm_map_key(picture, i, at.x, at.y, wanted - 10, STROKE);
  }
  return (double)rows * MM_LINE_HEIGHT + 8;
}

mm_status mm_curve_band_add(mm_map_picture *picture, mm_box b, double *height) {
  double top[MM_PICTURE_MAPS], left, h_top;
  MM_TRY(find_left(picture, top, &left));
  MM_TRY(find_h_top(picture, top, &h_top));
  const curves all[] = {
    { MM_PANEL_PHI, "potential φ", "x − φ^{−1}(1)", { left, 0.5 }, { -0.03, 1.2 } },
    { MM_PANEL_PHI_INVERSE,
      "φ^{−1}(p) − φ^{−1}(1)",
      "probability p",
      { 0, 1 },
      { left, -0.04 * left } },
    { MM_PANEL_H, "mirror map h, one term", "probability p", { 0, 1 }, { -0.025 * h_top, h_top } },
  };
  double y = b.y + put_legend(picture, b) + MM_LINE_HEIGHT, x = b.x;
  double cell = b.w / mm_curve_panels(picture);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!(picture->config.panels & all[i].panel)) continue;
    mm_box panel = { x + AXIS_LEFT, y, cell - AXIS_LEFT - 12, CURVE_HEIGHT };
    MM_TRY(add_panel(picture, &all[i], top, panel));
    x += cell;
  }
  *height = y + CURVE_HEIGHT + AXIS_BOTTOM - b.y;
  return MM_OK;
}
