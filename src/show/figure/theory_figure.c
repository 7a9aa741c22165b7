// Three panels above each other with one axis of environment steps; one line type per run. The
// first shows V^t, t = 0 .. T, under the value of an optimal policy; the others E_t and U_t, t < T.

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

// The curves of all runs, as running means over `width` iterations.
static void add_curves(mm_plot *plot, const mm_theory *runs, size_t n_run, measure what,
                       size_t width, double steps, mm_series look) {
  for (size_t i = 0; i < n_run; i++) {
    look.line = (int)i + 1;
    mm_plot_series(plot, look);
    for (size_t t = 0; t < length_of(&runs[i], what); t++)
      mm_plot_put(plot, (double)t * steps, mean_around(&runs[i], what, t, width));
  }
}

mm_status mm_theory_figure_write(const mm_theory *runs, const char *const *names, size_t n_run,
                                 const char *title, double steps, const char *path) {
  if (n_run < 1 || n_run > MOST_RUNS)
    return MM_FAIL(MM_ERR_INPUT, "a picture shows 1 to %d runs, not %zu", MOST_RUNS, n_run);
  size_t longest = 0;
  for (size_t i = 0; i < n_run; i++)
    if (runs[i].n_step > longest) longest = runs[i].n_step;
  double unit, total = (double)longest * steps;
  const char *axis = mm_steps_label(total, &unit);
  if (!(total > 0)) return MM_FAIL(MM_ERR_INPUT, "a picture needs at least one iteration");

  mm_plot plot = { .width = WIDTH };
  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, WIDTH - 2 * MARGIN - AXIS_LEFT - AXIS_RIGHT, 0 };
  mm_plot_name(&plot, b.x, b.y + MM_LINE_HEIGHT / 2.0, b.w, title);
  b.y += MM_LINE_HEIGHT + 4;
  b.y += mm_plot_legend(&plot, b, names, n_run) + BETWEEN;
  for (measure what = VALUE; what < MEASURES; what++) {
    // One iteration's distance says little: single ones are thin lines, their running mean is bold.
    // Short runs show their points instead.
    bool last = what + 1 == MEASURES, marked = longest < N_MARKED;
    bool smooth = what == DISTANCE && !marked;
    b.y += MM_LINE_HEIGHT;
    b.h = panels[what].height;
    if (last)
      mm_plot_text(&plot, b.x + b.w / 2, b.y + b.h + 32, MM_CENTRE, MM_LABEL_INK, "%s", axis);
    mm_plot_text(&plot, b.x, b.y - 12, MM_LEFT, MM_INK, "%s", panels[what].title);
    char mean[32] = "";
    if (smooth) snprintf(mean, sizeof mean, " (bold: mean of %d)", N_MEAN);
    mm_plot_text(&plot, b.x + b.w, b.y - 12, MM_RIGHT, MM_QUIET_INK, "%s%s", panels[what].about,
                 mean);
    if (what == VALUE) mm_plot_level(&plot, runs[0].v_star, "(14,9)", "V^{*}");
    mm_plot_panel(
        &plot,
        (mm_panel){ .box = b,
                    .x = { { 0, total / unit }, .tics = 7, .quiet = !last },
                    .y = { .pad = 0.06, .from_zero = what != VALUE, .tics = (int)(b.h / 26) } });
    if (smooth)
      add_curves(&plot, runs, n_run, what, 1, steps / unit,
                 (mm_series){ .style = MM_LINE, .width = 0.5, .solid = true });
    add_curves(&plot, runs, n_run, what, smooth ? N_MEAN : 1, steps / unit,
               (mm_series){ .style = marked ? MM_MARKED_LINE : MM_LINE });
    b.y += b.h + (last ? AXIS_BOTTOM : BETWEEN);
  }
  plot.height = ceil(b.y + MARGIN / 2.0);
  return mm_plot_write(&plot, MM_OK, path);
}
