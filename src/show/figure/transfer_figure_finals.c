// Final values as dots with intervals. Values and differences have panels of their own: tasks
// differ so much that standard errors of means overlap where those of paired differences do not.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/figure/transfer_figure.h"
#include "show/plot/sheet.h"

enum {
  WIDTH = 760,
  MARGIN = 14,
  ROW = 17,         // height of a map's row
  AXIS_BOTTOM = 30, // below a block, for the numbers of its axes
  GAP = 34,         // between the panels of a block
  LABEL_MOST = 190  // room for the names of maps
};

// What a panel shows, and the colours of its dots: maps that were asked for stand out from
// controls, and so do differences whose 95 % interval excludes 0.
typedef enum measure { FINAL, DIFFERENCE } measure;
enum { GROUPS = 3 };
static const char *const colours[2][GROUPS] = {
  [FINAL] = { "#7F7F7F", "#0072B2", "" },
  [DIFFERENCE] = { "#7F7F7F", "#009E73", "#D55E00" },
};

typedef struct picture {
  const mm_transfer *t;
  mm_sheet sheet;
  double label;    // width of the names
  size_t baseline; // mm_baseline of the differences, MM_BASELINES for none
  double *row;     // [n_map][3]: x, y, length of the interval's half
} picture;

// ---------------------------------------------------------------------------------------------
// One panel

// With the half length of its interval in place of the standard error.
static mm_estimate number_of(const picture *p, const mm_transfer_cell *cell, measure what) {
  if (what == FINAL) return cell->of.mean;
  mm_estimate d = cell->over[p->baseline].gain;
  return (mm_estimate){ d.mean, mm_estimate_half(d), d.n };
}

static int group_of(const picture *p, size_t map, const mm_transfer_cell *cell, measure what) {
  if (what == FINAL) return p->t->config.map[map].control ? 0 : 1;
  int verdict = mm_transfer_verdict(cell, (mm_baseline)p->baseline);
  return verdict < 0 ? 2 : verdict;
}

// a single run has no standard error
static double half_length(mm_estimate e) {
  return isnan(e.sem) ? 0 : e.sem;
}

typedef struct range {
  double low, high;
} range;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Below minus this a difference is only named at the edge: a random control that fails would leave
// no room for the others. Four times the median one, or as far as differences reach upwards.
static double most_shown(const picture *p, size_t env) {
  double *extent = p->row, most = 0;
  size_t n = 0;
  for (size_t m = 0; m < p->t->config.n_map; m++) {
    mm_estimate e = number_of(p, mm_transfer_at(p->t, m, env), DIFFERENCE);
    if (!isfinite(e.mean) || e.mean == 0) continue;
    extent[n++] = fabs(e.mean) + half_length(e);
    most = fmax(most, e.mean + half_length(e));
  }
  qsort(extent, n, sizeof *extent, ascending);
  return n > 0 ? fmax(most, 4 * extent[n / 2]) : INFINITY;
}

// A little more than the intervals and the baseline's line need.
static range range_of(const picture *p, size_t env, measure what, double line) {
  range r = { INFINITY, -INFINITY };
  double most = what == DIFFERENCE ? most_shown(p, env) : INFINITY;
  for (size_t m = 0; m <= p->t->config.n_map; m++) {
    bool last = m == p->t->config.n_map;
    mm_estimate e =
        last ? (mm_estimate){ line, 0, 0 } : number_of(p, mm_transfer_at(p->t, m, env), what);
    if (!isfinite(e.mean) || e.mean < -most) continue;
    r.low = fmin(r.low, e.mean - half_length(e));
    r.high = fmax(r.high, e.mean + half_length(e));
  }
  if (!(r.low <= r.high)) r.low = r.high = 0;
  double room = r.high - r.low;
  if (!(room > 1e-9 * fmax(fabs(r.high), fabs(r.low)))) room = fmax(fabs(r.high), 1e-3);
  return (range){ r.low - 0.08 * room, r.high + 0.08 * room };
}

// The number of a dot that lies left of the panel.
static void put_beyond(const picture *p, double mean, double y, const char *colour) {
  mm_figure_script(p->sheet.figure,
                   "set label '← −%.3g' at graph 0.01,first %.9g left front tc rgb '%s'\n", -mean,
                   y, colour);
}

// Adds the rows of a group and returns their data, or -1 where there are none. A baseline's
// difference from itself says nothing.
static int add_rows(const picture *p, size_t env, measure what, int group, range r) {
  const mm_transfer_config *c = &p->t->config;
  size_t n = 0;
  for (size_t m = 0; m < c->n_map; m++) {
    const mm_transfer_cell *cell = mm_transfer_at(p->t, m, env);
    mm_estimate e = number_of(p, cell, what);
    bool itself = what == DIFFERENCE && m == p->t->baseline[p->baseline];
    if (itself || !isfinite(e.mean) || group_of(p, m, cell, what) != group) continue;
    double y = (double)(c->n_map - m);
    if (e.mean < r.low) {
      put_beyond(p, e.mean, y, colours[what][group]);
      continue;
    }
    double *row = p->row + 3 * n++;
    row[0] = e.mean;
    row[1] = y;
    row[2] = half_length(e);
  }
  return n > 0 ? mm_figure_data(p->sheet.figure, p->row, n, 3) : -1;
}

// `line`: where an upright line marks the baseline.
static void draw_panel(const picture *p, size_t env, mm_box b, measure what, double line) {
  mm_figure *figure = p->sheet.figure;
  range r = range_of(p, env, what, line);
  int data[GROUPS];
  for (int i = 0; i < GROUPS; i++)
    data[i] = add_rows(p, env, what, i, r);
  mm_sheet_place(&p->sheet, b);
  if (isfinite(line))
    mm_figure_script(figure,
                     "set arrow from %.9g,graph 0 to %.9g,graph 1 nohead lc rgb '#555555' lw 1 "
                     "dt (6,4) back\n",
                     line, line);
  mm_figure_script(figure,
                   "set xrange [%.9g:%.9g]\nset yrange [0.5:%.9g]\nset xtics %.9g\n"
                   "set format x '%%g'\nplot NaN notitle",
                   r.low, r.high, (double)p->t->config.n_map + 0.5,
                   mm_tic_step(r.high - r.low, (int)(b.w / 52)));
  for (int i = 0; i < GROUPS; i++)
    if (data[i] >= 0)
      mm_figure_script(figure,
                       ", $d%d using 1:2:3 with xerrorbars pt 7 ps 0.7 lc rgb '%s' lw 1.6 dt solid "
                       "notitle",
                       data[i], colours[what][i]);
  mm_figure_script(figure, "\n");
  mm_sheet_clear(&p->sheet);
}

// ---------------------------------------------------------------------------------------------
// The sheet

static double block_height(const picture *p) {
  return MM_SHEET_LINE + 4 + ROW * (double)p->t->config.n_map + AXIS_BOTTOM;
}

static void put_names(const picture *p, mm_box b) {
  const mm_transfer_config *c = &p->t->config;
  for (size_t m = 0; m < c->n_map; m++)
    mm_sheet_name(&p->sheet, MARGIN, b.y + ROW * ((double)m + 0.5) + 0.5, p->label - 6,
                  c->map[m].label);
}

// V* in numbers: drawn to scale it would often leave no room for the differences.
static void put_heading(const picture *p, size_t env, mm_box b) {
  double y = b.y - MM_SHEET_LINE / 2.0 - 2;
  char text[80];
  mm_sheet_name(&p->sheet, b.x, y, b.w - 90, p->t->config.env[env].label);
  mm_figure_print(p->sheet.figure, text, sizeof text, "V^{*} = %.4g", p->t->optimal_mean[env]);
  if (isfinite(p->t->optimal_mean[env]))
    mm_sheet_text(&p->sheet, b.x + b.w, y, text, "right tc rgb '#777777'");
}

static void draw_block(const picture *p, size_t env, double y) {
  const double inner = WIDTH - 2 * MARGIN - p->label;
  bool both = p->baseline < MM_BASELINES;
  mm_box b = { MARGIN + p->label, y + MM_SHEET_LINE + 4, both ? (inner - GAP) / 2 : inner,
               ROW * (double)p->t->config.n_map };
  double line = both ? mm_transfer_at(p->t, p->t->baseline[p->baseline], env)->of.mean.mean : NAN;
  put_heading(p, env, b);
  put_names(p, b);
  draw_panel(p, env, b, FINAL, line);
  if (!both) return;
  b.x += b.w + GAP;
  draw_panel(p, env, b, DIFFERENCE, 0);
}

static void put_title(const picture *p, double y) {
  const mm_transfer_config *c = &p->t->config;
  const double inner = WIDTH - 2 * MARGIN - p->label, x = MARGIN + p->label;
  char text[200];
  snprintf(text, sizeof text, "%zu run%s each: mean, standard error", c->n_seed,
           c->n_seed == 1 ? "" : "s");
  mm_sheet_text(&p->sheet, x, y, "{/*1.08 Final value}", "left");
  mm_sheet_text(&p->sheet, x, y + MM_SHEET_LINE, text, "left tc rgb '#777777'");
  if (p->baseline == MM_BASELINES) return;
  double second = x + (inner + GAP) / 2;
  snprintf(text, sizeof text, "{/*1.08 Difference from %s}",
           p->baseline == MM_BASELINES ? "" : c->map[p->t->baseline[p->baseline]].label);
  mm_sheet_text(&p->sheet, second, y, text, "left");
  mm_sheet_text(&p->sheet, second, y + MM_SHEET_LINE, "paired by seed: mean, 95 % interval",
                "left tc rgb '#777777'");
}

static mm_status draw_all(void *user) {
  const picture *p = user;
  mm_figure_script(p->sheet.figure, "unset ytics\nset grid xtics noytics\nset border 1\n"
                                    "set bars 0.5\n");
  double y = MARGIN + 2 * MM_SHEET_LINE + 4;
  put_title(p, MARGIN + MM_SHEET_LINE / 2.0);
  for (size_t e = 0; e < p->t->config.n_env; e++, y += block_height(p))
    draw_block(p, e, y);
  return MM_OK;
}

mm_status mm_transfer_figure_finals(const mm_transfer *t, const char *path) {
  const mm_transfer_config *c = &t->config;
  picture p = { .t = t, .baseline = MM_BASELINES, .sheet.width = WIDTH };
  for (size_t b = MM_BASELINES; b-- > 0;)
    if (t->baseline[b] < c->n_map && c->n_map > 1) p.baseline = b;
  for (size_t m = 0; m < c->n_map; m++)
    p.label = fmax(p.label, (double)strlen(c->map[m].label) * MM_FIGURE_CHARACTER + 14);
  p.label = fmin(p.label, LABEL_MOST);
  p.sheet.height = ceil(MARGIN + 2 * MM_SHEET_LINE + 8 + (double)c->n_env * block_height(&p));
  p.row = mm_alloc_array(c->n_map, 3 * sizeof *p.row);
  if (!p.row) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  mm_status status = mm_sheet_write(&p.sheet, draw_all, &p, path);
  mm_free(p.row);
  return status;
}
