// Bars of importance above panels of slices, which share the axis of the score. A slice is a plain
// view of the search: other parameters vary within it.

#include "show/figure/tune_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/plot/sheet.h"

enum {
  WIDTH = 760,
  MARGIN = 14,
  BAR = 17,         // height of a parameter's bar
  NAME = 150,       // width of its name
  PERCENT = 46,     // and of its number
  COLUMNS = 3,      // of panels
  PANEL = 140,      // height of one
  AXIS_LEFT = 46,   // for the numbers of the score
  AXIS_BOTTOM = 34, // for those of a parameter
  BETWEEN = 16,
  TICS = 5
};

// Trials by how they ended, in the order in which they are drawn.
typedef enum group { BELOW, STOPPED, DONE, OWN, BEST, GROUPS } group;
static const char *const colours[GROUPS] = { "#A0A0A0", "#A0A0A0", "#0072B2", "#000000",
                                             "#D55E00" };
static const char *const points[GROUPS] = { "pt 11 ps 0.6", "pt 7 ps 0.45", "pt 7 ps 0.6",
                                            "pt 4 ps 1.1 lw 1.4", "pt 7 ps 1.1" };

typedef struct picture {
  const mm_tune *tune;
  mm_tune_view v;
  mm_tune_importance importance;
  mm_sheet sheet;
  double low, high; // of the score
  double *scratch;  // [n trials][2]
} picture;

// ---------------------------------------------------------------------------------------------
// The score's axis

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Trials that fail by far would leave no room for the others: those more than three times as far
// below the median as the best is above it lie on the lower edge.
static void set_range(picture *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->v.search->n; i++) {
    double mean = mm_tune_score(&p->v.search->trial[i]).mean;
    if (isfinite(mean)) p->scratch[n++] = mean;
  }
  p->low = p->high = 0;
  if (n == 0) return;
  qsort(p->scratch, n, sizeof *p->scratch, ascending);
  double median = p->scratch[n / 2];
  p->high = fmax(p->scratch[n - 1], 0);
  p->low = fmin(fmax(p->scratch[0], median - 3 * (p->high - median)), 0);
  double room = p->high - p->low;
  if (!(room > 1e-9)) room = 1;
  p->low -= 0.08 * room;
  p->high += 0.08 * room;
}

static group group_of(const picture *p, size_t i, double mean) {
  const mm_tune_trial *t = &p->v.search->trial[i];
  if (t->failed || mean < p->low) return BELOW;
  if (i == 0) return OWN;
  if (i == p->v.best) return BEST;
  return t->n == p->v.plan->seeds ? DONE : STOPPED;
}

// ---------------------------------------------------------------------------------------------
// A parameter's axis

// Marks at 1, 2, 5 times powers of ten, or at fewer of them where they are too many.
static void put_log_tics(mm_figure *figure, double low, double high) {
  static const double factors[3][3] = { { 1, 2, 5 }, { 1, 3, 0 }, { 1, 0, 0 } };
  int first = (int)floor(log10(low)), last = (int)ceil(log10(high));
  for (int coarse = 0, step = 1;; coarse++) {
    const double *factor = factors[coarse < 3 ? coarse : 2];
    if (coarse > 2) step++;
    double tic[64];
    int n = 0;
    for (int k = first; k <= last && n < 60; k += step)
      for (int i = 0; i < 3; i++) {
        double at = factor[i] * pow(10, k);
        if (at >= low * 0.999 && at <= high * 1.001) tic[n++] = at;
      }
    if (n > TICS) continue;
    if (n < 2) { // a short range: its ends
      tic[0] = low;
      tic[1] = high;
      n = 2;
    }
    mm_figure_script(figure, "set xtics (");
    for (int i = 0; i < n; i++)
      mm_figure_script(figure, "%s%.9g", i > 0 ? "," : "", tic[i]);
    mm_figure_script(figure, ")\n");
    return;
  }
}

static void put_choice_tics(mm_figure *figure, const mm_tune_parameter *p) {
  mm_figure_script(figure, "set xtics (");
  for (size_t i = 0; i < p->n_choice; i++) {
    char quoted[MM_FIGURE_TEXT];
    mm_figure_quote(p->choice[i], 10, quoted);
    mm_figure_script(figure, "%s%s %zu", i > 0 ? "," : "", quoted, i);
  }
  mm_figure_script(figure, ")\n");
}

static void put_axis(mm_figure *figure, const mm_tune_parameter *p, double width) {
  double room = 0.06 * (p->high - p->low);
  mm_figure_script(figure, "unset logscale x\nset xtics noenhanced\nset format x '%%g'\n");
  if (p->scale == MM_TUNE_CHOICE) {
    mm_figure_script(figure, "set xrange [-0.5:%.9g]\n", p->high + 0.5);
    put_choice_tics(figure, p);
  } else if (p->scale == MM_TUNE_LOG) {
    double factor = pow(p->high / p->low, 0.06);
    mm_figure_script(figure, "set logscale x\nset xrange [%.9g:%.9g]\n", p->low / factor,
                     p->high * factor);
    put_log_tics(figure, p->low, p->high);
  } else {
    double step = mm_tic_step(p->high - p->low, (int)(width / 48));
    mm_figure_script(figure, "set xrange [%.9g:%.9g]\nset xtics %.9g\n", p->low - room,
                     p->high + room, p->whole ? fmax(step, 1) : step);
  }
}

// Trials with the same choice stand side by side.
static double shift_of(const mm_tune_parameter *p, size_t i) {
  double golden = 0.61803398874989485 * (double)i;
  return p->scale == MM_TUNE_CHOICE ? 0.6 * (golden - floor(golden) - 0.5) : 0;
}

// ---------------------------------------------------------------------------------------------
// Panels

// The trials of a group as data, or -1 where there are none.
static int add_group(const picture *p, size_t parameter, group g) {
  const mm_tune_parameter *about = &p->v.plan->space.parameter[parameter];
  size_t n = 0;
  for (size_t i = 0; i < p->v.search->n; i++) {
    const mm_tune_trial *t = &p->v.search->trial[i];
    double x = t->value[parameter], mean = mm_tune_score(t).mean;
    if (isnan(x) || isnan(mean) || group_of(p, i, mean) != g) continue;
    if (x < about->low || x > about->high) continue; // the settings' own value may lie outside
    p->scratch[2 * n] = x + shift_of(about, i);
    p->scratch[2 * n++ + 1] = g == BELOW ? p->low + 0.02 * (p->high - p->low) : mean;
  }
  return n > 0 ? mm_figure_data(p->sheet.figure, p->scratch, n, 2) : -1;
}

static void draw_slice(const picture *p, size_t parameter, mm_box b, bool first) {
  mm_figure *figure = p->sheet.figure;
  const mm_tune_parameter *about = &p->v.plan->space.parameter[parameter];
  int data[GROUPS];
  for (int g = 0; g < GROUPS; g++)
    data[g] = add_group(p, parameter, (group)g);
  mm_sheet_name(&p->sheet, b.x, b.y - MM_SHEET_LINE / 2.0, b.w, about->name);
  mm_sheet_place(&p->sheet, b);
  put_axis(figure, about, b.w);
  mm_figure_script(figure,
                   "set yrange [%.9g:%.9g]\nset ytics %.9g\nset format y '%s'\n"
                   "set arrow from graph 0,first 0 to graph 1,first 0 nohead lc rgb '#555555' lw 1 "
                   "dt (6,4) back\nplot NaN notitle",
                   p->low, p->high, mm_tic_step(p->high - p->low, 5), first ? "%g" : "");
  for (int g = 0; g < GROUPS; g++)
    if (data[g] >= 0)
      mm_figure_script(figure, ", $d%d using 1:2 with points %s lc rgb '%s' notitle", data[g],
                       points[g], colours[g]);
  mm_figure_script(figure, "\n");
  mm_sheet_clear(&p->sheet);
}

static double draw_slices(const picture *p, double y) {
  double width = (WIDTH - 2 * MARGIN - AXIS_LEFT - (COLUMNS - 1) * BETWEEN) / (double)COLUMNS;
  size_t n = p->v.plan->space.n;
  for (size_t j = 0; j < n; j++) {
    double x = MARGIN + AXIS_LEFT + (double)(j % COLUMNS) * (width + BETWEEN);
    double top = y + (double)(j / COLUMNS) * (MM_SHEET_LINE + PANEL + AXIS_BOTTOM) + MM_SHEET_LINE;
    draw_slice(p, j, (mm_box){ x, top, width, PANEL }, j % COLUMNS == 0);
  }
  return y + (double)((n + COLUMNS - 1) / COLUMNS) * (MM_SHEET_LINE + PANEL + AXIS_BOTTOM);
}

// ---------------------------------------------------------------------------------------------
// What stands above them; it belongs to the first panel

static void put_title(const picture *p, double y) {
  const mm_tune_plan *plan = p->v.plan;
  char text[200], names[4 * MM_PLAN_NAME_SIZE];
  size_t used = 0;
  for (size_t e = 0; e < plan->n_env && used < sizeof names; e++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", e > 0 ? ", " : "",
                             plan->env[e]);
  if (used < sizeof names) snprintf(names + used, sizeof names - used, " with %s", plan->map);
  mm_sheet_text(&p->sheet, MARGIN, y, "{/*1.08 Tuning}", "left");
  mm_sheet_name(&p->sheet, MARGIN + 52, y, WIDTH - 2 * MARGIN - 52, names);
  snprintf(text, sizeof text, "%zu trials, up to %zu seeds on %zu environment%s", p->v.search->n,
           plan->seeds, plan->n_env, plan->n_env == 1 ? "" : "s");
  mm_sheet_text(&p->sheet, MARGIN, y + MM_SHEET_LINE, text, "left tc rgb '#777777'");
}

static double put_bars(const picture *p, double y) {
  const mm_tune_space *space = &p->v.plan->space;
  double room = WIDTH - 2 * MARGIN - NAME - PERCENT;
  mm_sheet_text(&p->sheet, MARGIN, y + MM_SHEET_LINE / 2.0,
                p->importance.known ? "{/*1.08 Share of the variation of ranks explained}"
                                    : "{/*1.08 Too few trials to weigh the parameters}",
                "left");
  y += MM_SHEET_LINE + 2;
  for (size_t j = 0; j < space->n && p->importance.known; j++, y += BAR) {
    char text[32];
    double share = p->importance.share[j], middle = y + BAR / 2.0;
    mm_sheet_name(&p->sheet, MARGIN, middle, NAME - 8, space->parameter[j].name);
    mm_sheet_fill(&p->sheet, (mm_box){ MARGIN + NAME, y + 3, fmax(share * room, 1), BAR - 6 },
                  "#56B4E9");
    snprintf(text, sizeof text, "%.0f %%", 100 * share);
    mm_sheet_text(&p->sheet, MARGIN + NAME + share * room + 6, middle, text, "left");
  }
  return y + 8;
}

static void put_legend(const picture *p, double y) {
  static const struct {
    group g;
    const char *text;
    double width;
  } entry[] = { { BEST, "best", 52 },
                { DONE, "with all seeds", 106 },
                { STOPPED, "stopped early", 102 },
                { BELOW, "below the panel, or failed", 170 },
                { OWN, "settings before (line at 0)", 0 } };
  double x = MARGIN + 60;
  mm_sheet_text(&p->sheet, MARGIN, y, "{/*1.08 Score}", "left");
  for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
    mm_figure_script(
        p->sheet.figure, "set label '' at screen %.6f,%.6f point %s lc rgb '%s' front\n",
        x / p->sheet.width, 1 - y / p->sheet.height, points[entry[i].g], colours[entry[i].g]);
    mm_sheet_text(&p->sheet, x + 10, y, entry[i].text, "left tc rgb '#555555'");
    x += 10 + entry[i].width;
  }
}

static double head_height(const picture *p) {
  double bars = p->importance.known ? (double)p->v.plan->space.n * BAR : 0;
  return MARGIN + 2 * MM_SHEET_LINE + 6 + MM_SHEET_LINE + 2 + bars + 8 + MM_SHEET_LINE;
}

static mm_status draw_all(void *user) {
  const picture *p = user;
  mm_figure_script(p->sheet.figure, "set grid xtics ytics\n");
  put_title(p, MARGIN + MM_SHEET_LINE / 2.0);
  double y = put_bars(p, MARGIN + 2 * MM_SHEET_LINE + 6);
  put_legend(p, y + MM_SHEET_LINE / 2.0);
  draw_slices(p, y + MM_SHEET_LINE);
  return MM_OK;
}

mm_status mm_tune_figure(const mm_tune *tune, const char *path) {
  picture p = { .tune = tune, .sheet.width = WIDTH };
  mm_tune_look(tune, &p.v);
  size_t n = p.v.plan->space.n;
  MM_TRY(mm_tune_weigh(p.v.search, &p.importance));
  p.sheet.height = ceil(head_height(&p) + (double)((n + COLUMNS - 1) / COLUMNS) *
                                              (MM_SHEET_LINE + PANEL + AXIS_BOTTOM));
  p.scratch = mm_alloc_array(p.v.search->n + 1, 2 * sizeof *p.scratch);
  if (!p.scratch) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  set_range(&p);
  mm_status status = mm_sheet_write(&p.sheet, draw_all, &p, path);
  mm_free(p.scratch);
  return status;
}
