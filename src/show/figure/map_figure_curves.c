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

int mm_curve_panels(const mm_map_picture *picture) {
  unsigned p = picture->config.panels;
  return !!(p & MM_PANEL_PHI) + !!(p & MM_PANEL_PHI_INVERSE) + !!(p & MM_PANEL_H);
}

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

// Left end of phi's axis: the widest zero of a map, unless a few wide maps would leave no room for
// the others.
mm_status mm_curve_ranges(mm_map_picture *picture) {
  static const double p[] = { 0, 0.02, 1 };
  double width[MM_PICTURE_MAPS], widest = 6;
  for (size_t i = 0; i < picture->n_map; i++) {
    double at[3];
    MM_TRY(mm_map_phi_inverse(picture->maps[i], p, 3, at));
    picture->top[i] = at[2];
    width[i] = at[2] - at[1];
    if (isfinite(at[0])) widest = fmax(widest, at[2] - at[0]);
  }
  picture->left = -fmin(widest, fmax(12, 4 * middle_of(width, picture->n_map)));
  return MM_OK;
}

// Upper end of h's axis: the largest value, unless a few maps dwarf the others.
static mm_status range_of_h(const mm_map_picture *picture, double *top) {
  double at_0[MM_PICTURE_MAPS], zero = 0;
  for (size_t i = 0; i < picture->n_map; i++) {
    MM_TRY(mm_map_h(picture->maps[i], &zero, 1, &at_0[i]));
    at_0[i] += picture->top[i];
    if (!isfinite(at_0[i]) || at_0[i] <= 0) at_0[i] = 1;
  }
  double middle = middle_of(at_0, picture->n_map);
  *top = 1.05 * fmin(at_0[picture->n_map - 1], 4 * middle);
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

// phi over [left, 0.5], clipped at 0 as in a policy, into points [n][2].
static mm_status sample_phi(const mm_map_picture *picture, size_t which, size_t *n) {
  const mm_map *map = picture->maps[which];
  double *x = picture->x, *y = picture->y, top = picture->top[which];
  size_t count = 0, steps = steps_of(map);
  for (int i = 0; i < N_GRID; i++)
    x[count++] = picture->left + (0.5 - picture->left) * i / (N_GRID - 1) + top;
  for (size_t j = 0; j <= steps && steps > 0; j++)
    y[j] = (double)j / (double)steps;
  if (steps > 0) {
    MM_TRY(mm_map_phi_inverse(map, y, steps + 1, x + count));
    count += steps + 1;
  }
  qsort(x, count, sizeof *x, by_value);
  MM_TRY(mm_map_phi(map, x, count, y));
  for (size_t i = 0; i < count; i++) {
    picture->points[2 * i] = x[i] - top;
    picture->points[2 * i + 1] = fmax(y[i], 0);
  }
  *n = count;
  return MM_OK;
}

// phi^-1 or its integral over [0, 1], into points [n][2]; close together towards 0, where phi^-1
// may be steep.
static mm_status sample_inverse(const mm_map_picture *picture, size_t which, bool integral,
                                size_t *n) {
  const mm_map *map = picture->maps[which];
  double *p = picture->x, *y = picture->y, top = picture->top[which];
  size_t count = 0, steps = steps_of(map);
  for (int i = 0; i < N_GRID; i++)
    p[count++] = pow((double)i / (N_GRID - 1), 3);
  for (size_t j = 1; j < steps; j++)
    p[count++] = (double)j / (double)steps;
  qsort(p, count, sizeof *p, by_value);
  if (integral)
    MM_TRY(mm_map_h(map, p, count, y));
  else
    MM_TRY(mm_map_phi_inverse(map, p, count, y));
  for (size_t i = 0; i < count; i++) {
    picture->points[2 * i] = p[i];
    picture->points[2 * i + 1] = y[i] - top * (integral ? p[i] - 1 : 1);
  }
  *n = count;
  return MM_OK;
}

// The knots (phi^-1(j/n), j/n) of a short piecewise map, as they lie in the panel; *data: the
// number of the table, or -1 where there is nothing to show.
static mm_status add_knots(const mm_map_picture *picture, unsigned panel, size_t which, int *data) {
  size_t steps = steps_of(picture->maps[which]);
  *data = -1;
  if (steps == 0 || steps > N_MARK || panel == MM_PANEL_H) return MM_OK;
  double *p = picture->x, *at = picture->y;
  for (size_t j = 0; j <= steps; j++)
    p[j] = (double)j / (double)steps;
  MM_TRY(mm_map_phi_inverse(picture->maps[which], p, steps + 1, at));
  int across = panel == MM_PANEL_PHI ? 1 : 0; // column of p
  for (size_t j = 0; j <= steps; j++) {
    picture->points[2 * j + (size_t)across] = p[j];
    picture->points[2 * j + (size_t)(1 - across)] = at[j] - picture->top[which];
  }
  *data = mm_figure_data(picture->sheet.figure, picture->points, steps + 1, 2);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Panels

typedef struct axes {
  unsigned panel;
  const char *title, *label;
  double x0, x1, y0, y1;
} axes;

static mm_status draw_panel(const mm_map_picture *picture, const axes *a, mm_box b) {
  const mm_sheet *s = &picture->sheet;
  const double dx = 0.08 * (a->x1 - a->x0) / b.w, dy = 0.08 * (a->y1 - a->y0) / b.h;
  int curve[MM_PICTURE_MAPS], knots[MM_PICTURE_MAPS];
  for (size_t i = 0; i < picture->n_map; i++) {
    size_t n;
    if (a->panel == MM_PANEL_PHI)
      MM_TRY(sample_phi(picture, i, &n));
    else
      MM_TRY(sample_inverse(picture, i, a->panel == MM_PANEL_H, &n));
    n = mm_figure_thin(picture->points, n, dx, dy);
    curve[i] = mm_figure_data(s->figure, picture->points, n, 2);
    MM_TRY(add_knots(picture, a->panel, i, &knots[i]));
  }
  mm_sheet_place(s, b);
  mm_sheet_text(s, b.x + b.w / 2, b.y - 12, a->title, "center");
  mm_sheet_text(s, b.x + b.w / 2, b.y + b.h + 32, a->label, "center tc rgb '#333333'");
  mm_figure_script(s->figure,
                   "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xtics %.9g\n"
                   "set ytics %.9g\nset format '%%g'\nplot ",
                   a->x0, a->x1, a->y0, a->y1, mm_tic_step(a->x1 - a->x0, 6),
                   mm_tic_step(a->y1 - a->y0, 6));
  for (size_t i = 0; i < picture->n_map; i++) {
    char name[MM_FIGURE_TEXT];
    mm_figure_quote(picture->label[i], 60, name);
    mm_figure_script(s->figure, "%s$d%d with lines lt %zu title %s noenhanced", i ? ", " : "",
                     curve[i], i + 1, name);
    if (knots[i] >= 0)
      mm_figure_script(s->figure, ", $d%d with points lt %zu notitle", knots[i], i + 1);
  }
  mm_figure_script(s->figure, "\n");
  mm_sheet_clear(s);
  return MM_OK;
}

// Columns as wide as the longest name, but narrow enough for four where there are so many.
static mm_panel_grid legend_grid(const mm_map_picture *picture, double width) {
  int n = (int)picture->n_map;
  double wanted = 0;
  for (int i = 0; i < n; i++)
    wanted = fmax(wanted, (double)strlen(picture->label[i]) * MM_FIGURE_CHARACTER);
  wanted = fmin(wanted + STROKE + 6 + 24, fmax(width / 4, 170));
  mm_panel_grid g = { .columns = (int)(width / wanted) };
  if (g.columns > n) g.columns = n;
  if (g.columns < 1) g.columns = 1;
  g.rows = n > g.columns ? (n + g.columns - 1) / g.columns : 1;
  g.columns = (n + g.rows - 1) / g.rows; // rows of about equal length
  g.cell = wanted;
  return g;
}

static double legend_height(const mm_map_picture *picture, double width) {
  return legend_grid(picture, width).rows * MM_SHEET_LINE + 8;
}

static void put_legend(const mm_map_picture *picture, mm_box b) {
  mm_panel_grid g = legend_grid(picture, b.w);
  double start = b.x + (b.w - g.columns * g.cell) / 2 + 10;
  for (size_t i = 0; i < picture->n_map; i++) {
    size_t column = i % (size_t)g.columns, row = i / (size_t)g.columns;
    mm_map_key(picture, i, start + (double)column * g.cell,
               b.y + MM_SHEET_LINE * ((double)row + 0.5), g.cell - 10, STROKE);
  }
}

double mm_curve_band_height(const mm_map_picture *picture, double width) {
  return legend_height(picture, width) + MM_SHEET_LINE + CURVE_HEIGHT + AXIS_BOTTOM;
}

mm_status mm_curve_band_draw(const mm_map_picture *picture, mm_box b) {
  double left = picture->left, h_top;
  MM_TRY(range_of_h(picture, &h_top));
  const axes all[] = {
    { MM_PANEL_PHI, "potential φ", "x − φ^{−1}(1)", left, 0.5, -0.03, 1.2 },
    { MM_PANEL_PHI_INVERSE, "φ^{−1}(p) − φ^{−1}(1)", "probability p", 0, 1, left, -0.04 * left },
    { MM_PANEL_H, "mirror map h, one term", "probability p", 0, 1, -0.025 * h_top, h_top },
  };
  put_legend(picture, b);
  double y = b.y + legend_height(picture, b.w) + MM_SHEET_LINE, x = b.x;
  double cell = b.w / mm_curve_panels(picture);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!(picture->config.panels & all[i].panel)) continue;
    mm_box panel = { x + AXIS_LEFT, y, cell - AXIS_LEFT - 12, CURVE_HEIGHT };
    MM_TRY(draw_panel(picture, &all[i], panel));
    x += cell;
  }
  return MM_OK;
}
