// SPDX-License-Identifier: Apache-2.0
// Four panels above each other with one axis of generations. The mean of the search and the
// controls are drawn in the line types of their maps and named at the right end of their lines.

#include "show/figure/search_figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/plot/plot.h"
#include "study/learn/search_curve.h"

enum {
  WIDTH = 700,
  MARGIN = 12,
  AXIS_LEFT = 46,   // room for the numbers of an axis
  AXIS_RIGHT = 168, // for the names of lines, "negentropy:tuned-eta" among them
  AXIS_BOTTOM = 42, // for numbers and a label
  NAME_PITCH = 14,  // least distance of names
  N_MARKED = 41,    // a curve of fewer points shows them
  N_SMOOTH = 41,    // generations from which single ones are thin below a running mean
  N_MEAN = 9,       // of these
  LINES = MM_SEARCH_CONTROLS + 1
};

typedef struct picture {
  mm_search_curve curve;
  int line[LINES]; // types: of the controls, then of the mean of the search
  mm_plot plot;
} picture;

static void choose_lines(picture *p) {
  const char *name[LINES];
  const size_t n = p->curve.n_control;
  for (size_t i = 0; i < n; i++)
    name[i] = p->curve.control[i].name;
  name[n] = "learned";
  mm_map_lines(name, n + 1, p->line);
}

static int learned_line(const picture *p) {
  return p->line[p->curve.n_control];
}

// ---------------------------------------------------------------------------------------------
// What panels have in common

static void put_excuse(picture *p, mm_box b, const char *text) {
  mm_plot_text(&p->plot, b.x + b.w / 2, b.y + 0.3 * b.h, MM_CENTRE, MM_QUIET_INK, "%s", text);
}

// A panel with uprights where phases begin, and a line at the level, unless that is NaN.
static void begin_panel(picture *p, mm_box b, mm_axis y, double level, bool last) {
  const mm_search_curve *c = &p->curve;
  for (size_t i = 1; i < c->n_phase; i++)
    if (isfinite(c->phase_start[i])) mm_plot_upright(&p->plot, c->phase_start[i], "(2,3)");
  if (!isnan(level)) mm_plot_level(&p->plot, level, "(6,4)", NULL);
  const mm_axis x = { { 0, c->end }, .tics = 8, .whole = true, .quiet = !last };
  mm_plot_panel(&p->plot, (mm_panel){ .box = b, .x = x, .y = y });
}

static mm_style style_of(size_t n_point) {
  return n_point < N_MARKED ? MM_MARKED_LINE : MM_LINE;
}

typedef struct mark {
  double y; // on the page
  const char *name;
  int line_type;
} mark;

// Names at the right of a panel, pushed apart where they would cover each other.
static void put_marks(mm_plot *plot, mm_box b, mark *m, size_t n) {
  for (size_t i = 1; i < n; i++) // by height
    for (size_t k = i; k > 0 && m[k].y < m[k - 1].y; k--) {
      mark swap = m[k];
      m[k] = m[k - 1];
      m[k - 1] = swap;
    }
  for (size_t i = 1; i < n; i++)
    m[i].y = fmax(m[i].y, m[i - 1].y + NAME_PITCH);
  double most = b.y + b.h; // what was pushed below the panel comes up again
  for (size_t i = n; i-- > 0; most -= NAME_PITCH)
    m[i].y = fmin(m[i].y, most);
  for (size_t i = 0; i < n; i++) {
    mm_plot_stroke(plot, b.x + b.w + 5, m[i].y, 18, m[i].line_type);
    mm_plot_name(plot, b.x + b.w + 27, m[i].y, AXIS_RIGHT - 24, m[i].name);
  }
}

// ---------------------------------------------------------------------------------------------
// Validation

// Score or difference, with half the length of what is drawn around it in place of the standard
// error: a single number has none.
static mm_estimate number_of(const mm_search_point *point, bool difference) {
  mm_estimate e = difference ? point->difference : point->value;
  if (difference) e.sem = mm_estimate_half(e);
  if (isnan(e.sem)) e.sem = 0;
  return e;
}

// The points of a phase as a series.
static void add_points(picture *p, size_t phase, bool difference, mm_series look) {
  const mm_search_curve *c = &p->curve;
  mm_plot_series(&p->plot, look);
  for (size_t i = 0; i < c->n_point; i++) {
    mm_estimate e = number_of(&c->point[i], difference);
    if (c->point[i].phase == (int32_t)phase && isfinite(e.mean))
      mm_plot_mean(&p->plot, c->point[i].generation, e.mean, e.sem);
  }
}

// Bands of the mean of the search, then its lines: a curve per phase, since validations of
// different phases may train for different lengths.
static void add_phases(picture *p, bool difference) {
  const mm_search_curve *c = &p->curve;
  const int line = learned_line(p);
  size_t n[MM_SEARCH_PHASES] = { 0 };
  for (size_t i = 0; i < c->n_point; i++)
    if (isfinite(number_of(&c->point[i], difference).mean)) n[(size_t)c->point[i].phase]++;
  for (size_t k = 0; k < c->n_phase; k++)
    if (n[k] > 1)
      add_points(p, k, difference, (mm_series){ .style = MM_BAND, .line = line, .opacity = 0.2 });
  for (size_t k = 0; k < c->n_phase; k++) {
    add_points(p, k, difference, (mm_series){ .style = style_of(n[k]), .line = line });
    if (n[k] == 1) // no band to show its standard error
      add_points(p, k, difference, (mm_series){ .style = MM_Y_INTERVALS, .line = line });
  }
}

static void include_estimate(mm_range *r, mm_estimate e) {
  double half = isnan(e.sem) ? 0 : e.sem;
  mm_range_include(r, e.mean - half);
  mm_range_include(r, e.mean + half);
}

// Random maps often fail by far; they get room only where that costs the others little.
static mm_range score_range(const mm_search_curve *c) {
  mm_range core = MM_RANGE_NONE;
  for (size_t i = 0; i < c->n_point; i++)
    include_estimate(&core, c->point[i].value);
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase && strncmp(c->control[i].name, "random", 6) != 0; k++)
      include_estimate(&core, c->control[i].value[k]);
  mm_range all = core;
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase; k++)
      include_estimate(&all, c->control[i].value[k]);
  bool room = !(core.low <= core.high) || all.high - all.low <= 1.6 * (core.high - core.low);
  return mm_range_pad(room ? all : core, 0.06);
}

// A control's level over a phase and its band.
static void add_level(picture *p, size_t control, size_t phase) {
  const mm_search_curve *c = &p->curve;
  mm_estimate e = c->control[control].value[phase];
  double end = phase + 1 < c->n_phase ? c->phase_start[phase + 1] : c->end;
  const double x[2] = { c->phase_start[phase], isfinite(end) ? end : c->end };
  const mm_series look[2] = { { .style = MM_BAND, .line = p->line[control], .opacity = 0.1 },
                              { .style = MM_LINE, .line = p->line[control], .width = 1.3 } };
  for (int i = 0; i < 2 && isfinite(e.mean); i++) {
    mm_plot_series(&p->plot, look[i]);
    for (int k = 0; k < 2; k++)
      mm_plot_mean(&p->plot, x[k], e.mean, isnan(e.sem) ? 0 : e.sem);
  }
}

// Names of all lines at their last level; what lies off the panel is named at its edge.
static void name_scores(picture *p, mm_box b, mm_range y) {
  const mm_search_curve *c = &p->curve;
  mark marks[LINES];
  char beyond[LINES][MM_SEARCH_NAME_SIZE + 16];
  size_t n = 0;
  for (size_t i = 0; i <= c->n_control; i++) {
    bool learned = i == c->n_control;
    double last = NAN;
    for (size_t k = 0; k < c->n_phase && !learned; k++)
      if (isfinite(c->control[i].value[k].mean)) last = c->control[i].value[k].mean;
    if (learned && c->n_point > 0) last = c->point[c->n_point - 1].value.mean;
    if (!isfinite(last)) continue;
    const char *name = learned ? "learned" : c->control[i].name;
    if (last < y.low || last > y.high) {
      mm_figure_print(beyond[n], sizeof beyond[n], "%s %.3g", name, last);
      name = beyond[n];
    }
    double at = b.y + b.h * (1 - (last - y.low) / (y.high - y.low));
    marks[n++] = (mark){ fmin(fmax(at, b.y), b.y + b.h), name, p->line[i] };
  }
  put_marks(&p->plot, b, marks, n);
}

static void add_scores(picture *p, mm_box b) {
  const mm_search_curve *c = &p->curve;
  mm_range y = score_range(c);
  mm_plot_heading(&p->plot, b, "validation score", "mean over the tasks, one standard error");
  if (c->n_point == 0) put_excuse(p, b, "no validation yet");
  name_scores(p, b, y);
  begin_panel(p, b, (mm_axis){ y, .tics = (int)(b.h / 24) }, NAN, false);
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase; k++)
      add_level(p, i, k);
  add_phases(p, false);
}

// Difference from the reference: tasks differ more than maps do, which pairing takes out.
static void add_difference(picture *p, mm_box b) {
  const mm_search_curve *c = &p->curve;
  mm_estimate last = c->n_point > 0 ? c->point[c->n_point - 1].difference : MM_ESTIMATE_NONE;
  char title[MM_SEARCH_NAME_SIZE + 32], about[160] = "task by task, 95 % interval";
  bool known = false;
  for (size_t i = 0; i < c->n_point; i++)
    known |= isfinite(c->point[i].difference.mean);
  // the reference is l2 or negentropy, so its name is harmless
  const char *from = c->reference < c->n_control ? c->control[c->reference].name : "l2";
  snprintf(title, sizeof title, "learned − %s", from);
  if (isfinite(last.mean) && isfinite(last.sem))
    mm_figure_print(about, sizeof about, "task by task, 95 %% interval; last %s%.3g ± %.2g",
                    last.mean < 0 ? "−" : "+", fabs(last.mean), mm_estimate_half(last));
  mm_plot_heading(&p->plot, b, title, about);
  if (!known) put_excuse(p, b, "nothing to compare yet");
  begin_panel(p, b, (mm_axis){ .pad = 0.06, .tics = (int)(b.h / 24) }, 0, false);
  add_phases(p, true);
}

// ---------------------------------------------------------------------------------------------
// Generations

// Mean of the known fitnesses around generation i, within its phase.
static double smooth(const mm_search_curve *c, size_t i) {
  double sum = 0;
  size_t n = 0;
  for (size_t k = i >= N_MEAN / 2 ? i - N_MEAN / 2 : 0; k <= i + N_MEAN / 2 && k < c->n_generation;
       k++) {
    if (c->generation[k].phase != c->generation[i].phase) continue;
    if (!isfinite(c->generation[k].fitness_mean)) continue;
    sum += c->generation[k].fitness_mean;
    n++;
  }
  return n > 0 ? sum / (double)n : NAN;
}

typedef enum measure { SINGLE, SMOOTH, SIGMA } measure;

// Fitness of single generations, its running mean, or sigma as a series.
static void add_generations(picture *p, measure what, mm_series look) {
  const mm_search_curve *c = &p->curve;
  mm_plot_series(&p->plot, look);
  for (size_t i = 0; i < c->n_generation; i++) {
    const mm_run_generation *g = &c->generation[i];
    double y = what == SIGMA ? g->sigma : g->fitness_mean;
    if (!isfinite(y) || (what == SIGMA && y <= 0)) continue;
    mm_plot_mean(&p->plot, (double)g->generation, what == SMOOTH ? smooth(c, i) : y,
                 isfinite(g->fitness_sd) ? g->fitness_sd : 0);
  }
}

static void add_fitness(picture *p, mm_box b) {
  size_t n = 0;
  for (size_t i = 0; i < p->curve.n_generation; i++)
    n += isfinite(p->curve.generation[i].fitness_mean) ? 1 : 0;
  bool smoothed = n >= N_SMOOTH;
  mm_plot_heading(&p->plot, b, "fitness of the population",
                  smoothed ? "mean (bold: running mean), standard deviation"
                           : "mean, standard deviation");
  if (n == 0) put_excuse(p, b, "no generation yet");
  begin_panel(p, b, (mm_axis){ .pad = 0.06, .tics = (int)(b.h / 24) }, NAN, false);
  const int line = learned_line(p);
  add_generations(p, SINGLE, (mm_series){ .style = MM_BAND, .line = line, .opacity = 0.13 });
  add_generations(p, SINGLE,
                  (mm_series){ .style = style_of(n), .line = line, .width = smoothed ? 0.6 : 0 });
  if (n == 1) // no band to show the deviation
    add_generations(p, SINGLE, (mm_series){ .style = MM_Y_INTERVALS, .line = line });
  if (smoothed) add_generations(p, SMOOTH, (mm_series){ .style = MM_LINE, .line = line });
}

static void add_sigma(picture *p, mm_box b) {
  mm_plot_heading(&p->plot, b, "sigma", "spread of the candidates, logarithmic");
  begin_panel(p, b, (mm_axis){ .pad = 0.08, .log = true, .tics = (int)(b.h / 14) }, NAN, true);
  add_generations(p, SIGMA,
                  (mm_series){ .style = style_of(p->curve.n_generation), .line = learned_line(p) });
}

// ---------------------------------------------------------------------------------------------
// The page

// "Search gridworld-1 after 64 generations"
static void put_title(picture *p, mm_box b, const char *folder) {
  const char *slash = strrchr(folder, '/'), *name = slash && slash[1] ? slash + 1 : folder;
  char title[160];
  int64_t done = 0;
  for (size_t i = 0; i < p->curve.n_generation; i++)
    if (p->curve.generation[i].generation > done) done = p->curve.generation[i].generation;
  snprintf(title, sizeof title, "Search %.100s after %" PRId64 " generation%s", name, done,
           done == 1 ? "" : "s");
  mm_plot_name(&p->plot, b.x, b.y + MM_LINE_HEIGHT / 2.0, b.w, title);
}

// what a reader looks at first gets the most room
static const struct {
  void (*add)(picture *p, mm_box b);
  double height;
} panels[] = {
  { add_scores, 190 }, { add_difference, 120 }, { add_fitness, 100 }, { add_sigma, 70 }
};
enum { N_PANEL = sizeof panels / sizeof *panels, BETWEEN = 12 };

mm_status mm_search_figure(mm_run *run, const char *path) {
  picture p = { .plot = { .width = WIDTH, .lettered = true } };
  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, WIDTH - 2 * MARGIN - AXIS_LEFT - AXIS_RIGHT, 0 };
  mm_status status = mm_search_curve_read(run, &p.curve);
  if (status == MM_OK) {
    choose_lines(&p);
    put_title(&p, b, mm_run_folder_of(run));
    p.plot.height = MARGIN + MM_LINE_HEIGHT + 4 - BETWEEN + AXIS_BOTTOM;
    for (int i = 0; i < N_PANEL; i++)
      p.plot.height += MM_LINE_HEIGHT + panels[i].height + BETWEEN;
    mm_plot_text(&p.plot, b.x + b.w / 2, p.plot.height - 14, MM_CENTRE, MM_LABEL_INK, "generation");
    b.y += MM_LINE_HEIGHT + 4;
    for (int i = 0; i < N_PANEL; i++, b.y += b.h + BETWEEN) {
      b.y += MM_LINE_HEIGHT;
      b.h = panels[i].height;
      panels[i].add(&p, b);
    }
  }
  mm_search_curve_release(&p.curve);
  return mm_plot_write(&p.plot, status, path);
}
