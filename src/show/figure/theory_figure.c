// Three panels above each other with one axis of environment steps; one line type per run. The
// first shows V^t, t = 0 .. T, under the value of an optimal policy; the others E_t and U_t, t < T.

#include "show/figure/theory_figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"
#include "show/plot/sheet.h"

enum { MOST_RUNS = MM_FIGURE_LINES };

enum {
  WIDTH = 620,
  MARGIN = 12,
  AXIS_LEFT = 40,   // room for the numbers of an axis
  AXIS_RIGHT = 30,  // for the mark of the optimum
  AXIS_BOTTOM = 42, // for numbers and a label
  N_MARKED = 33,    // a curve of fewer points shows them
  N_MEAN = 9        // iterations of a running mean
};

typedef struct picture {
  const mm_theory *runs;
  const char *const *names;
  const char *title;
  size_t n_run, longest; // runs, iterations of the longest
  const char *axis;      // what it counts
  double steps;          // of an iteration, in its units
  double x_end;          // its right end
  double *points;        // [T + 1][2]
  mm_sheet sheet;
} picture;

typedef enum measure { VALUE, ERROR, DISTANCE } measure;

typedef struct panel {
  measure what;
  const char *title, *about;
  double height;
} panel;

// what a reader looks at first gets the most room
static const panel panels[] = {
  { VALUE, "value V^{t}", "exact, from the start state", 190 },
  { ERROR, "estimation error E_{t}", "largest error of a Q estimate, all reachable states", 130 },
  { DISTANCE, "update distance U_{t}", "largest change of a state’s policy", 130 },
};
enum { N_PANEL = sizeof panels / sizeof *panels };

// ---------------------------------------------------------------------------------------------
// Numbers

// V^t is also known after the last iteration.
static size_t length_of(const mm_theory *run, measure what) {
  return run->n_step + (what == VALUE);
}

static double number_at(const mm_theory *run, measure what, size_t t) {
  if (t == run->n_step) return run->final_value;
  const mm_theory_step *step = run->step + t;
  return what == VALUE   ? step->value
         : what == ERROR ? step->estimation_error
                         : step->update_distance;
}

// A little more than all curves need: errors and distances start at 0, values where the least is.
static void range_of(const picture *p, measure what, double *low, double *high) {
  *low = what == VALUE ? p->runs[0].v_star : 0;
  *high = *low;
  for (size_t i = 0; i < p->n_run; i++)
    for (size_t t = 0; t < length_of(&p->runs[i], what); t++) {
      double y = number_at(&p->runs[i], what, t);
      if (!isfinite(y)) continue;
      *low = fmin(*low, y);
      *high = fmax(*high, y);
    }
  double room = *high - *low;
  if (!(room > 1e-9 * fmax(fabs(*high), fabs(*low)))) room = fmax(fabs(*high), 1);
  *high += 0.06 * room;
  if (what == VALUE) *low -= 0.06 * room;
}

// Mean of the `width` numbers around t, of those there are towards the ends.
static double mean_around(const mm_theory *run, measure what, size_t t, size_t width) {
  size_t half = width / 2, n = length_of(run, what);
  size_t first = t > half ? t - half : 0, end = t + half + 1 < n ? t + half + 1 : n;
  double sum = 0;
  for (size_t k = first; k < end; k++)
    sum += number_at(run, what, k);
  return sum / (double)(end - first);
}

// Curve of one run, thinned to what can be seen, as a table of the figure.
static int add_curve(const picture *p, const mm_theory *run, measure what, size_t width, double dx,
                     double dy) {
  size_t n = length_of(run, what);
  for (size_t t = 0; t < n; t++) {
    p->points[2 * t] = (double)t * p->steps;
    p->points[2 * t + 1] = mean_around(run, what, t, width);
  }
  if (n > N_MARKED) n = mm_figure_thin(p->points, n, dx, dy);
  return mm_figure_data(p->sheet.figure, p->points, n, 2);
}

// ---------------------------------------------------------------------------------------------
// Panels

// The level of the optimum, named at its right end.
static void mark_optimum(const picture *p, double optimum) {
  mm_figure_script(
      p->sheet.figure,
      "set arrow from 0,%.9g to %.9g,%.9g nohead lc rgb '#555555' lw 1 dt (14,9) back\n"
      "set label 'V^{*}' at %.9g,%.9g left offset 0.6,0 front tc rgb '#333333'\n",
      optimum, p->x_end, optimum, p->x_end, optimum);
}

// One iteration's distance says little: single ones are thin lines, their running mean is bold.
// Short runs show their points instead.
static bool is_smoothed(const picture *p, measure what) {
  return what == DISTANCE && p->longest >= N_MARKED;
}

static void plot_curves(const picture *p, measure what, double dx, double dy) {
  bool marked = p->longest < N_MARKED, smooth = is_smoothed(p, what);
  mm_figure *figure = p->sheet.figure;
  int single[MOST_RUNS], bold[MOST_RUNS];
  for (size_t i = 0; i < p->n_run; i++) {
    if (smooth) single[i] = add_curve(p, &p->runs[i], what, 1, dx, dy);
    bold[i] = add_curve(p, &p->runs[i], what, smooth ? N_MEAN : 1, dx, dy);
  }
  mm_figure_script(figure, "plot ");
  for (size_t i = 0; i < p->n_run && smooth; i++)
    mm_figure_script(figure, "$d%d with lines lt %zu lw 0.5 dt solid, ", single[i], i + 1);
  for (size_t i = 0; i < p->n_run; i++)
    mm_figure_script(figure, "%s$d%d with %s lt %zu", i ? ", " : "", bold[i],
                     marked ? "linespoints" : "lines", i + 1);
  mm_figure_script(figure, "\n");
}

static void draw_panel(const picture *p, const panel *shown, mm_box b, bool last) {
  const mm_sheet *s = &p->sheet;
  char about[120];
  double low, high;
  range_of(p, shown->what, &low, &high);
  mm_sheet_place(s, b);
  mm_sheet_text(s, b.x, b.y - 12, shown->title, "left");
  int used = snprintf(about, sizeof about, "%s", shown->about);
  if (is_smoothed(p, shown->what))
    snprintf(about + used, sizeof about - (size_t)used, " (bold: mean of %d)", N_MEAN);
  mm_sheet_text(s, b.x + b.w, b.y - 12, about, "right tc rgb '#777777'");
  if (shown->what == VALUE) mark_optimum(p, p->runs[0].v_star);
  mm_figure_script(s->figure,
                   "set xrange [0:%.9g]\nset yrange [%.9g:%.9g]\nset xtics %.9g\nset ytics %.9g\n"
                   "set format x '%s'\nset format y '%%g'\n",
                   p->x_end, low, high, mm_tic_step(p->x_end, 7),
                   mm_tic_step(high - low, (int)(b.h / 26)), last ? "%g" : "");
  plot_curves(p, shown->what, 0.08 * p->x_end / b.w, 0.08 * (high - low) / b.h);
  mm_sheet_clear(s);
}

// ---------------------------------------------------------------------------------------------
// The sheet

// Draws everything from the top down; with `measure_only` finds the height that this needs.
static void lay_out(picture *p, bool measure_only) {
  const double between = 12, w = WIDTH - 2 * MARGIN - AXIS_LEFT - AXIS_RIGHT;
  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, w, 0 };
  if (!measure_only) mm_sheet_name(&p->sheet, b.x, b.y + MM_SHEET_LINE / 2.0, w, p->title);
  b.y += MM_SHEET_LINE + 4;
  b.y += mm_sheet_legend(&p->sheet, b, p->names, p->n_run, measure_only) + between;
  for (int i = 0; i < N_PANEL; i++) {
    bool last = i + 1 == N_PANEL;
    b.y += MM_SHEET_LINE;
    b.h = panels[i].height;
    if (!measure_only) {
      if (last)
        mm_sheet_text(&p->sheet, b.x + w / 2, b.y + b.h + 32, p->axis, "center tc rgb '#333333'");
      draw_panel(p, &panels[i], b, last);
    }
    b.y += b.h + (last ? AXIS_BOTTOM : between);
  }
  if (measure_only) p->sheet.height = ceil(b.y + MARGIN / 2.0);
}

static void set_axis(picture *p, double steps) {
  for (size_t i = 0; i < p->n_run; i++)
    if (p->runs[i].n_step > p->longest) p->longest = p->runs[i].n_step;
  double total = (double)p->longest * steps, unit;
  p->axis = mm_steps_label(total, &unit);
  p->steps = steps / unit;
  p->x_end = total / unit;
}

static mm_status draw_all(void *user) {
  lay_out(user, false);
  return MM_OK;
}

static mm_status draw(picture *p, const char *path) {
  p->sheet.width = WIDTH;
  lay_out(p, true);
  return mm_sheet_write(&p->sheet, draw_all, p, path);
}

mm_status mm_theory_figure_write(const mm_theory *runs, const char *const *names, size_t n_run,
                                 const char *title, double steps, const char *path) {
  if (n_run < 1 || n_run > MOST_RUNS)
    return MM_FAIL(MM_ERR_INPUT, "a picture shows 1 to %d runs, not %zu", MOST_RUNS, n_run);
  picture p = { .runs = runs, .names = names, .title = title, .n_run = n_run };
  set_axis(&p, steps);
  if (!(p.x_end > 0)) return MM_FAIL(MM_ERR_INPUT, "a picture needs at least one iteration");
  p.points = mm_alloc_array(p.longest + 1, 2 * sizeof(double));
  if (!p.points) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  mm_status status = draw(&p, path);
  mm_free(p.points);
  return status;
}
