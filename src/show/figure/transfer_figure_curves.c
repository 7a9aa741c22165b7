// Learning curves: a panel per environment, a line type per map.

#include <math.h>
#include <stdio.h>

#include "show/figure/transfer_figure.h"
#include "show/plot/sheet.h"

enum {
  MARGIN = 12,
  COLUMNS = 3, // panels side by side, at most
  PANEL_WIDTH = 236,
  PANEL_HEIGHT = 150,
  ONE_WIDTH = 480, // of a single panel
  ONE_HEIGHT = 260,
  AXIS_LEFT = 40,   // room for the numbers of an axis
  AXIS_RIGHT = 22,  // for the mark of the optimum
  AXIS_BOTTOM = 20, // for numbers
  LABEL = 22,       // for the label of the axis, below the last row
  BAND_POINTS = 250 // more cannot be seen
};

typedef struct picture {
  const mm_transfer *t;
  mm_sheet sheet;
  size_t shown[MM_FIGURE_LINES]; // rows of the table
  const char *name[MM_FIGURE_LINES];
  size_t n;
  size_t columns, rows;
  double width, height; // of a panel's axes
  const char *axis;
  double unit;    // steps of one on the axis
  double *points; // [longest curve][3]
} picture;

// ---------------------------------------------------------------------------------------------
// One panel

static void include(double x, double *low, double *high) {
  if (!isfinite(x)) return;
  *low = fmin(*low, x);
  *high = fmax(*high, x);
}

// A little more than all bands need; the optimum is in where it leaves them half the panel.
static bool range_of(const picture *p, size_t env, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < p->n; i++) {
    const mm_transfer_cell *cell = mm_transfer_at(p->t, p->shown[i], env);
    for (size_t k = 0; k < cell->n_curve; k++) {
      mm_estimate e = cell->curve[k].value;
      double half = isnan(e.sem) ? 0 : e.sem;
      include(e.mean - half, low, high);
      include(e.mean + half, low, high);
    }
  }
  if (!(*low <= *high)) *low = *high = 0;
  double optimum = p->t->optimal_mean[env], room = *high - *low;
  bool with_optimum = isfinite(optimum) && optimum - *high <= room;
  if (with_optimum) include(optimum, low, high);
  room = *high - *low;
  if (!(room > 1e-9 * fmax(fabs(*high), fabs(*low)))) room = fmax(fabs(*high), 1e-3);
  *low -= 0.05 * room;
  *high += 0.05 * room;
  return with_optimum;
}

static int add_band(const picture *p, const mm_transfer_cell *cell) {
  size_t n = 0, last = cell->n_curve - 1, stride = last / BAND_POINTS + 1;
  for (size_t k = 0;; k = k + stride < last ? k + stride : last) {
    const mm_curve_point *point = &cell->curve[k];
    if (!isnan(point->value.sem)) {
      p->points[3 * n] = (double)point->step / p->unit;
      p->points[3 * n + 1] = point->value.mean - point->value.sem;
      p->points[3 * n + 2] = point->value.mean + point->value.sem;
      n++;
    }
    if (k == last) break;
  }
  return n > 1 ? mm_figure_data(p->sheet.figure, p->points, n, 3) : -1;
}

static int add_line(const picture *p, const mm_transfer_cell *cell, double dx, double dy) {
  for (size_t k = 0; k < cell->n_curve; k++) {
    p->points[2 * k] = (double)cell->curve[k].step / p->unit;
    p->points[2 * k + 1] = cell->curve[k].value.mean;
  }
  size_t n = mm_figure_thin(p->points, cell->n_curve, dx, dy);
  return mm_figure_data(p->sheet.figure, p->points, n, 2);
}

// Bands below all lines; a map without a curve here has neither.
static void plot_curves(const picture *p, size_t env, double dx, double dy) {
  int band[MM_FIGURE_LINES], line[MM_FIGURE_LINES];
  for (size_t i = 0; i < p->n; i++) {
    const mm_transfer_cell *cell = mm_transfer_at(p->t, p->shown[i], env);
    band[i] = cell->n_curve > 1 ? add_band(p, cell) : -1;
    line[i] = cell->n_curve > 1 ? add_line(p, cell, dx, dy) : -1;
  }
  mm_figure_script(p->sheet.figure, "plot NaN notitle");
  for (size_t i = 0; i < p->n; i++)
    if (band[i] >= 0)
      mm_figure_script(p->sheet.figure,
                       ", $d%d using 1:2:3 with filledcurves lt %zu fs transparent solid 0.18 "
                       "noborder notitle",
                       band[i], i + 1);
  for (size_t i = 0; i < p->n; i++)
    if (line[i] >= 0)
      mm_figure_script(p->sheet.figure, ", $d%d with lines lt %zu notitle", line[i], i + 1);
  mm_figure_script(p->sheet.figure, "\n");
}

// The level of the optimum named at its right end, or its number where it lies above the panel.
static void mark_optimum(const picture *p, size_t env, mm_box b, double x_end, bool inside) {
  double optimum = p->t->optimal_mean[env];
  if (inside) {
    mm_figure_script(
        p->sheet.figure,
        "set arrow from 0,%.9g to %.9g,%.9g nohead lc rgb '#555555' lw 1 dt (14,9) back\n"
        "set label 'V^{*}' at %.9g,%.9g left offset 0.5,0 front tc rgb '#333333'\n",
        optimum, x_end, optimum, x_end, optimum);
  } else if (isfinite(optimum)) {
    char text[64];
    mm_figure_print(p->sheet.figure, text, sizeof text, "V^{*} = %.4g", optimum);
    mm_sheet_text(&p->sheet, b.x + b.w, b.y - 11, text, "right tc rgb '#777777'");
  }
}

static void draw_panel(const picture *p, size_t env, mm_box b) {
  double low, high, x_end = (double)p->t->steps[env] / p->unit;
  if (!(x_end > 0)) x_end = 1;
  bool inside = range_of(p, env, &low, &high);
  mm_sheet_place(&p->sheet, b);
  mm_sheet_name(&p->sheet, b.x, b.y - 11, b.w - (inside ? 0 : 80), p->t->config.env[env].label);
  mark_optimum(p, env, b, x_end, inside);
  mm_figure_script(p->sheet.figure,
                   "set xrange [0:%.9g]\nset yrange [%.9g:%.9g]\nset xtics %.9g\nset ytics %.9g\n"
                   "set format '%%g'\n",
                   x_end, low, high, mm_tic_step(x_end, (int)(b.w / 44)),
                   mm_tic_step(high - low, (int)(b.h / 22)));
  plot_curves(p, env, 0.08 * x_end / b.w, 0.08 * (high - low) / b.h);
  mm_sheet_clear(&p->sheet);
}

// ---------------------------------------------------------------------------------------------
// The sheet

// Without room for all maps the first ones are shown, but both baselines in any case.
static void choose_maps(picture *p) {
  const mm_transfer_config *c = &p->t->config;
  size_t kept = 0;
  for (int b = 0; b < MM_BASELINES; b++)
    kept += p->t->baseline[b] < c->n_map;
  for (size_t m = 0; m < c->n_map && p->n < MM_FIGURE_LINES; m++) {
    bool baseline = false;
    for (int b = 0; b < MM_BASELINES; b++)
      baseline = baseline || p->t->baseline[b] == m;
    if (!baseline && p->n + kept >= MM_FIGURE_LINES) continue;
    kept -= baseline;
    p->name[p->n] = c->map[m].label;
    p->shown[p->n++] = m;
  }
}

// "mean of 4 runs, one standard error", or "of 3 to 4" where cells have different numbers of them.
static int write_heading(const mm_transfer *t, char *out, size_t size) {
  size_t least = SIZE_MAX, most = 0;
  for (size_t i = 0; i < t->config.n_map * t->config.n_env; i++) {
    if (t->cell[i].n_curve == 0) continue;
    size_t n = t->cell[i].of.n;
    least = n < least ? n : least;
    most = n > most ? n : most;
  }
  int used = snprintf(out, size, "Value: mean of ");
  if (least < most) used += snprintf(out + used, size - (size_t)used, "%zu to ", least);
  return used + snprintf(out + used, size - (size_t)used, "%zu run%s%s", most, most == 1 ? "" : "s",
                         most == 1 ? "" : ", one standard error");
}

// Draws everything from the top down; with `measure` only finds the height that this needs.
static void lay_out(picture *p, bool measure) {
  const mm_transfer_config *c = &p->t->config;
  const double pitch = AXIS_LEFT + p->width + AXIS_RIGHT;
  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, p->sheet.width - 2 * MARGIN - AXIS_LEFT, 0 };
  char text[160];
  int used = write_heading(p->t, text, sizeof text);
  if (p->n < c->n_map)
    snprintf(text + used, sizeof text - (size_t)used, "; %zu of %zu shown", p->n, c->n_map);
  if (!measure) mm_sheet_text(&p->sheet, b.x, b.y + MM_SHEET_LINE / 2.0, text, "left");
  b.y += MM_SHEET_LINE + 2;
  b.y += mm_sheet_legend(&p->sheet, b, p->name, p->n, measure) + 8;
  double bottom = b.y + (double)p->rows * (MM_SHEET_LINE + 4 + p->height + AXIS_BOTTOM);
  if (!measure)
    mm_sheet_text(&p->sheet, b.x + ((double)p->columns * pitch - AXIS_LEFT - AXIS_RIGHT) / 2,
                  bottom + LABEL / 2.0, p->axis, "center tc rgb '#333333'");
  for (size_t e = 0; e < c->n_env && !measure; e++) {
    size_t row = e / p->columns, column = e % p->columns;
    draw_panel(p, e,
               (mm_box){ b.x + (double)column * pitch,
                         b.y + (double)row * (MM_SHEET_LINE + 4 + p->height + AXIS_BOTTOM) +
                             MM_SHEET_LINE + 4,
                         p->width, p->height });
  }
  if (measure) p->sheet.height = ceil(bottom + LABEL + MARGIN / 2.0);
}

static mm_status draw_all(void *user) {
  lay_out(user, false);
  return MM_OK;
}

static mm_status draw(picture *p, const char *path) {
  lay_out(p, true);
  return mm_sheet_write(&p->sheet, draw_all, p, path);
}

static void set_sizes(picture *p) {
  size_t n = p->t->config.n_env;
  uint64_t most = 0;
  for (size_t e = 0; e < n; e++)
    if (p->t->steps[e] > most) most = p->t->steps[e];
  p->axis = mm_steps_label((double)most, &p->unit);
  p->columns = n <= 1 ? 1 : n == 2 || n == 4 ? 2 : COLUMNS;
  p->rows = (n + p->columns - 1) / p->columns;
  p->width = n == 1 ? ONE_WIDTH : p->columns == 2 ? 1.2 * PANEL_WIDTH : PANEL_WIDTH;
  p->height = n == 1 ? ONE_HEIGHT : PANEL_HEIGHT;
  p->sheet.width = 2 * MARGIN + (double)p->columns * (AXIS_LEFT + p->width + AXIS_RIGHT);
}

mm_status mm_transfer_figure_curves(const mm_transfer *t, const char *path) {
  if (!mm_transfer_has_curves(t))
    return MM_FAIL(MM_ERR_INPUT, "'%s': there are no curves to draw (curve=exact gives them)",
                   path);
  picture p = { .t = t };
  size_t longest = 0;
  for (size_t i = 0; i < t->config.n_map * t->config.n_env; i++)
    if (t->cell[i].n_curve > longest) longest = t->cell[i].n_curve;
  choose_maps(&p);
  set_sizes(&p);
  p.points = mm_alloc_array(longest, 3 * sizeof *p.points);
  if (!p.points) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  mm_status status = draw(&p, path);
  mm_free(p.points);
  return status;
}
