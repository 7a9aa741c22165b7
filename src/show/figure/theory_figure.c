// SPDX-License-Identifier: Apache-2.0
// Three panels above each other with one axis of environment steps; each run in the line type of
// its map. The first shows V^t, t = 0 .. T, under the value of an optimal policy; the others E_t
// and U_t, t < T.

#include "show/figure/theory_figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "show/plot/plot.h"

enum {
  MOST_RUNS = MM_FIGURE_LINES,
  WIDTH = 620,
  MARGIN = 12,
  AXIS_LEFT = 40,   // room for the numbers of an axis
  AXIS_RIGHT = 30,  // for the mark of the optimum
  AXIS_BOTTOM = 42, // for numbers and a label
  BETWEEN = 12,
  N_MARKED = 33, // a curve of fewer points shows them
  N_MEAN = 9     // iterations of a running mean
};

typedef enum measure { VALUE, ERROR, DISTANCE, MEASURES } measure;

// what a reader looks at first gets the most room
static const struct {
  const char *title, *about;
  double height;
} panels[MEASURES] = {
  [VALUE] = { "value V^{t}", "exact, from the start state", 190 },
  [ERROR] = { "estimation error E_{t}", "largest error of a Q estimate, all reachable states",
              130 },
  [DISTANCE] = { "update distance U_{t}", "largest change of a state’s policy", 130 },
};

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

// Mean of the `width` numbers around t, of those there are towards the ends.
static double mean_around(const mm_theory *run, measure what, size_t t, size_t width) {
  size_t half = width / 2, n = length_of(run, what);
  size_t first = t > half ? t - half : 0, end = t + half + 1 < n ? t + half + 1 : n;
  double sum = 0;
  for (size_t k = first; k < end; k++)
    sum += number_at(run, what, k);
  return sum / (double)(end - first);
}

typedef struct picture {
  const mm_theory *runs;
  size_t n_run, longest; // runs, iterations of the longest
  int line[MOST_RUNS];   // types
  double steps, end;     // of an iteration and of the axis, in its units
  mm_plot plot;
} picture;

// The curves of all runs, as running means over `width` iterations.
static void add_curves(picture *p, measure what, size_t width, mm_series look) {
  for (size_t i = 0; i < p->n_run; i++) {
    look.line = p->line[i];
    mm_plot_series(&p->plot, look);
    for (size_t t = 0; t < length_of(&p->runs[i], what); t++)
      mm_plot_put(&p->plot, (double)t * p->steps, mean_around(&p->runs[i], what, t, width));
  }
}

// One iteration's distance says little: single ones are thin lines, their running mean is bold.
// Short runs show their points instead.
static void add_panel(picture *p, measure what, mm_box b) {
  bool marked = p->longest < N_MARKED, smooth = what == DISTANCE && !marked;
  char about[120], mean[32];
  snprintf(mean, sizeof mean, " (bold: mean of %d)", N_MEAN);
  snprintf(about, sizeof about, "%s%s", panels[what].about, smooth ? mean : "");
  mm_plot_heading(&p->plot, b, panels[what].title, about);
  if (what == VALUE) mm_plot_level(&p->plot, p->runs[0].v_star, "(14,9)", "V^{*}");
  const mm_axis x = { { 0, p->end }, .tics = 7, .quiet = what + 1 < MEASURES };
  const mm_axis y = { .pad = 0.06, .from_zero = what != VALUE, .tics = (int)(b.h / 26) };
  mm_plot_panel(&p->plot, (mm_panel){ .box = b, .x = x, .y = y });
  if (smooth) add_curves(p, what, 1, (mm_series){ .style = MM_LINE, .width = 0.5, .solid = true });
  add_curves(p, what, smooth ? N_MEAN : 1,
             (mm_series){ .style = marked ? MM_MARKED_LINE : MM_LINE });
}

mm_status mm_theory_figure_write(const mm_theory *runs, const char *const *names, size_t n_run,
                                 const char *title, double steps, const char *path) {
  if (n_run < 1 || n_run > MOST_RUNS)
    return MM_FAIL(MM_ERR_INPUT, "a picture shows 1 to %d runs, not %zu", MOST_RUNS, n_run);
  picture p = { .runs = runs, .n_run = n_run, .plot = { .width = WIDTH, .lettered = true } };
  for (size_t i = 0; i < n_run; i++)
    if (runs[i].n_step > p.longest) p.longest = runs[i].n_step;
  double unit, total = (double)p.longest * steps;
  const char *axis = mm_steps_label(total, &unit);
  if (!(total > 0)) return MM_FAIL(MM_ERR_INPUT, "a picture needs at least one iteration");
  mm_map_lines(names, n_run, p.line);
  p.steps = steps / unit;
  p.end = total / unit;

  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, WIDTH - 2 * MARGIN - AXIS_LEFT - AXIS_RIGHT, 0 };
  mm_plot_name(&p.plot, b.x, b.y + MM_LINE_HEIGHT / 2.0, b.w, title);
  b.y += MM_LINE_HEIGHT + 4;
  b.y += mm_plot_legend(&p.plot, b, names, n_run);
  for (measure what = VALUE; what < MEASURES; what++) {
    b.y += BETWEEN + MM_LINE_HEIGHT;
    b.h = panels[what].height;
    if (what + 1 == MEASURES)
      mm_plot_text(&p.plot, b.x + b.w / 2, b.y + b.h + 32, MM_CENTRE, MM_LABEL_INK, "%s", axis);
    add_panel(&p, what, b);
    b.y += b.h;
  }
  p.plot.height = ceil(b.y + AXIS_BOTTOM + MARGIN / 2.0);
  return mm_plot_write(&p.plot, MM_OK, path);
}
