// Four panels above each other with one axis of generations. Line type 1 is the mean of the search,
// the others are controls, named at the right end of their lines.

#include "show/figure/search_figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show/plot/sheet.h"
#include "study/learn/search_curve.h"

enum {
  WIDTH = 700,
  MARGIN = 12,
  AXIS_LEFT = 46,   // room for the numbers of an axis
  AXIS_RIGHT = 118, // for the names of lines
  AXIS_BOTTOM = 42, // for numbers and a label
  NAME_PITCH = 14,  // least distance of names
  N_MARKED = 41,    // a curve of fewer points shows them
  N_SMOOTH = 41,    // generations from which single ones are thin below a running mean
  N_MEAN = 9,       // of these
  LINES = MM_SEARCH_CONTROLS + 1
};

typedef struct picture {
  mm_search_curve curve;
  char title[160];
  mm_sheet sheet;
  double *points; // [generations or validations + 1][3]
} picture;

typedef struct range {
  double low, high;
} range;

static void include(range *r, double x) {
  if (!isfinite(x)) return;
  r->low = fmin(r->low, x);
  r->high = fmax(r->high, x);
}

// Half the length of what is drawn around a mean: NaN for a single number, which has none.
typedef double half_of(mm_estimate e);

static double sem_of(mm_estimate e) {
  return e.sem;
}

static double half_or_none(half_of *half, mm_estimate e) {
  return isnan(half(e)) ? 0 : half(e);
}

static void include_estimate(range *r, mm_estimate e, half_of *half) {
  include(r, e.mean - half_or_none(half, e));
  include(r, e.mean + half_or_none(half, e));
}

static const range nothing = { INFINITY, -INFINITY };

static range padded(range r) {
  if (!(r.low <= r.high)) return (range){ 0, 1 };
  double room = r.high - r.low;
  if (!(room > 1e-9 * fmax(fabs(r.high), fabs(r.low)))) room = fmax(fabs(r.high), 1e-3);
  return (range){ r.low - 0.06 * room, r.high + 0.06 * room };
}

// ---------------------------------------------------------------------------------------------
// What panels have in common

static void begin_panel(const picture *p, mm_box b, range y, bool last) {
  const mm_search_curve *c = &p->curve;
  mm_sheet_place(&p->sheet, b);
  for (size_t i = 1; i < c->n_phase; i++)
    if (isfinite(c->phase_start[i]))
      mm_figure_script(p->sheet.figure,
                       "set arrow from %.9g,graph 0 to %.9g,graph 1 nohead lc rgb '#555555' lw 1 "
                       "dt (2,3) back\n",
                       c->phase_start[i], c->phase_start[i]);
  mm_figure_script(p->sheet.figure,
                   "set xrange [0:%.9g]\nset yrange [%.9g:%.9g]\nset xtics %.9g\nset ytics %.9g\n"
                   "set format x '%s'\nset format y '%%g'\n",
                   c->end, y.low, y.high, fmax(mm_tic_step(c->end, 8), 1),
                   mm_tic_step(y.high - y.low, (int)(b.h / 24)), last ? "%g" : "");
}

static void put_heading(const picture *p, mm_box b, const char *title, const char *about) {
  mm_sheet_text(&p->sheet, b.x, b.y - 11, title, "left");
  mm_sheet_text(&p->sheet, b.x + b.w, b.y - 11, about, "right tc rgb '#777777'");
}

static void put_excuse(const picture *p, mm_box b, const char *text) {
  mm_sheet_text(&p->sheet, b.x + b.w / 2, b.y + 0.3 * b.h, text, "center tc rgb '#777777'");
}

typedef struct mark {
  double y; // in the sheet's units
  const char *name;
  int line_type;
} mark;

// Names at the right of a panel, pushed apart where they would cover each other.
static void put_marks(const picture *p, mm_box b, mark *m, size_t n) {
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
    mm_sheet_stroke(&p->sheet, b.x + b.w + 5, m[i].y, 18, m[i].line_type);
    mm_sheet_name(&p->sheet, b.x + b.w + 27, m[i].y, AXIS_RIGHT - 24, m[i].name);
  }
}

static double height_of(mm_box b, range y, double value) {
  return b.y + b.h * (1 - (value - y.low) / (y.high - y.low));
}

// ---------------------------------------------------------------------------------------------
// Validation

// The phase's end on the axis.
static double phase_end(const mm_search_curve *c, size_t phase) {
  return phase + 1 < c->n_phase && isfinite(c->phase_start[phase + 1]) ? c->phase_start[phase + 1]
                                                                       : c->end;
}

static range core_range(const picture *p) {
  const mm_search_curve *c = &p->curve;
  range r = nothing;
  for (size_t i = 0; i < c->n_point; i++)
    include_estimate(&r, c->point[i].value, sem_of);
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase && strncmp(c->control[i].name, "random", 6) != 0; k++)
      include_estimate(&r, c->control[i].value[k], sem_of);
  return r;
}

// Random maps often fail by far; they get room only where that costs the others little.
static range score_range(const picture *p) {
  const mm_search_curve *c = &p->curve;
  range core = core_range(p), all = core;
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase; k++)
      include_estimate(&all, c->control[i].value[k], sem_of);
  bool room = !(core.low <= core.high) || all.high - all.low <= 1.6 * (core.high - core.low);
  return padded(room ? all : core);
}

// A control's level over a phase, and its band; returns the data of the first, the other follows.
static int add_level(const picture *p, mm_estimate e, double from, double to) {
  double half = isnan(e.sem) ? 0 : e.sem;
  const double line[2][2] = { { from, e.mean }, { to, e.mean } };
  const double band[2][3] = { { from, e.mean - half, e.mean + half },
                              { to, e.mean - half, e.mean + half } };
  int data = mm_figure_data(p->sheet.figure, &line[0][0], 2, 2);
  mm_figure_data(p->sheet.figure, &band[0][0], 2, 3);
  return data;
}

typedef mm_estimate estimate_of(const mm_search_point *point);

static mm_estimate value_of(const mm_search_point *point) {
  return point->value;
}
static mm_estimate difference_of(const mm_search_point *point) {
  return point->difference;
}

// The points of a phase, with the limits of their band: x, y, low, high.
static int add_points(const picture *p, size_t phase, estimate_of *number, half_of *half,
                      size_t *n) {
  const mm_search_curve *c = &p->curve;
  *n = 0;
  for (size_t i = 0; i < c->n_point; i++) {
    mm_estimate e = number(&c->point[i]);
    if (c->point[i].phase != (int32_t)phase || !isfinite(e.mean)) continue;
    double *row = p->points + 4 * (*n)++, length = half_or_none(half, e);
    row[0] = c->point[i].generation;
    row[1] = e.mean;
    row[2] = e.mean - length;
    row[3] = e.mean + length;
  }
  return *n > 0 ? mm_figure_data(p->sheet.figure, p->points, *n, 4) : -1;
}

typedef struct phase_data {
  int data[MM_SEARCH_PHASES];
  size_t n[MM_SEARCH_PHASES];
} phase_data;

static phase_data add_phases(const picture *p, estimate_of *number, half_of *half) {
  phase_data d;
  for (size_t k = 0; k < p->curve.n_phase; k++)
    d.data[k] = add_points(p, k, number, half, &d.n[k]);
  return d;
}

// Bands of the mean of the search, then its lines: a curve per phase, since validations of
// different phases may train for different lengths.
static void plot_phases(const picture *p, const phase_data *d) {
  mm_figure *figure = p->sheet.figure;
  for (size_t k = 0; k < p->curve.n_phase; k++)
    if (d->n[k] > 1)
      mm_figure_script(figure,
                       ", $d%d using 1:3:4 with filledcurves lt 1 fs transparent solid 0.2 "
                       "noborder notitle",
                       d->data[k]);
  for (size_t k = 0; k < p->curve.n_phase; k++) {
    if (d->n[k] == 0) continue;
    mm_figure_script(figure, ", $d%d using 1:2 with %s lt 1 notitle", d->data[k],
                     d->n[k] < N_MARKED ? "linespoints" : "lines");
    if (d->n[k] == 1) // no band to show its standard error
      mm_figure_script(figure, ", $d%d using 1:2:3:4 with yerrorbars lt 1 notitle", d->data[k]);
  }
}

static void plot_scores(const picture *p) {
  const mm_search_curve *c = &p->curve;
  int level[MM_SEARCH_CONTROLS][MM_SEARCH_PHASES] = { 0 };
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase; k++)
      level[i][k] = add_level(p, c->control[i].value[k], c->phase_start[k], phase_end(c, k));
  phase_data learned = add_phases(p, value_of, sem_of);
  mm_figure_script(p->sheet.figure, "plot NaN notitle");
  for (size_t i = 0; i < c->n_control; i++)
    for (size_t k = 0; k < c->n_phase; k++)
      if (isfinite(c->control[i].value[k].mean))
        mm_figure_script(p->sheet.figure,
                         ", $d%d using 1:2:3 with filledcurves lt %zu fs transparent solid 0.1 "
                         "noborder notitle, $d%d with lines lt %zu lw 1.3 notitle",
                         level[i][k] + 1, i + 2, level[i][k], i + 2);
  plot_phases(p, &learned);
  mm_figure_script(p->sheet.figure, "\n");
}

// Names of all lines at their last level; what lies off the panel is named at its edge.
static void name_scores(const picture *p, mm_box b, range y) {
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
      mm_figure_print(p->sheet.figure, beyond[n], sizeof beyond[n], "%s %.3g", name, last);
      name = beyond[n];
    }
    double at = fmin(fmax(height_of(b, y, last), b.y), b.y + b.h);
    marks[n++] = (mark){ at, name, learned ? 1 : (int)i + 2 };
  }
  put_marks(p, b, marks, n);
}

static void draw_scores(const picture *p, mm_box b) {
  range y = score_range(p);
  put_heading(p, b, "validation score", "mean over the tasks, one standard error");
  if (p->curve.n_point == 0) put_excuse(p, b, "no validation yet");
  name_scores(p, b, y);
  begin_panel(p, b, y, false);
  plot_scores(p);
  mm_sheet_clear(&p->sheet);
}

// ---------------------------------------------------------------------------------------------
// Difference from the reference: tasks differ more than maps do, which pairing takes out

static void draw_difference(const picture *p, mm_box b) {
  const mm_search_curve *c = &p->curve;
  const mm_search_point *last = c->n_point > 0 ? &c->point[c->n_point - 1] : NULL;
  char title[MM_SEARCH_NAME_SIZE + 32], about[160] = "task by task, 95 % interval";
  range r = nothing;
  include(&r, 0);
  for (size_t i = 0; i < c->n_point; i++)
    include_estimate(&r, c->point[i].difference, mm_estimate_half);
  // the reference is l2 or negentropy, so its name is harmless
  const char *from = c->reference < c->n_control ? c->control[c->reference].name : "l2";
  snprintf(title, sizeof title, "learned − %s", from);
  if (last && isfinite(last->difference.mean) && isfinite(last->difference.sem))
    mm_figure_print(p->sheet.figure, about, sizeof about,
                    "task by task, 95 %% interval; last %s%.3g ± %.2g",
                    last->difference.mean < 0 ? "−" : "+", fabs(last->difference.mean),
                    mm_estimate_half(last->difference));
  put_heading(p, b, title, about);
  bool known = r.low < r.high;
  if (!known) put_excuse(p, b, "nothing to compare yet");
  begin_panel(p, b, known ? padded(r) : (range){ -1, 1 }, false);
  phase_data d = add_phases(p, difference_of, mm_estimate_half);
  mm_figure_script(p->sheet.figure,
                   "set arrow from 0,0 to %.9g,0 nohead lc rgb '#555555' lw 1 dt (6,4) back\n"
                   "plot NaN notitle",
                   c->end);
  plot_phases(p, &d);
  mm_figure_script(p->sheet.figure, "\n");
  mm_sheet_clear(&p->sheet);
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

static void draw_fitness(const picture *p, mm_box b) {
  const mm_search_curve *c = &p->curve;
  range r = nothing;
  size_t n = 0;
  for (size_t i = 0; i < c->n_generation; i++) {
    const mm_run_generation *g = &c->generation[i];
    if (!isfinite(g->fitness_mean)) continue;
    double sd = isfinite(g->fitness_sd) ? g->fitness_sd : 0, *row = p->points + 5 * n++;
    row[0] = (double)g->generation;
    row[1] = g->fitness_mean;
    row[2] = g->fitness_mean - sd;
    row[3] = g->fitness_mean + sd;
    row[4] = smooth(c, i);
    include(&r, row[2]);
    include(&r, row[3]);
  }
  bool smoothed = n >= N_SMOOTH;
  put_heading(p, b, "fitness of the population",
              smoothed ? "mean (bold: running mean), standard deviation"
                       : "mean, standard deviation");
  if (n == 0) put_excuse(p, b, "no generation yet");
  begin_panel(p, b, padded(r), false);
  int data = n > 0 ? mm_figure_data(p->sheet.figure, p->points, n, 5) : -1;
  mm_figure_script(p->sheet.figure, "plot NaN notitle");
  if (n > 0)
    mm_figure_script(p->sheet.figure,
                     ", $d%d using 1:3:4 with filledcurves lt 1 fs transparent solid 0.13 noborder "
                     "notitle, $d%d using 1:2 with %s lt 1 %s notitle",
                     data, data, n < N_MARKED ? "linespoints" : "lines", smoothed ? "lw 0.6" : "");
  if (n == 1) // no band to show the deviation
    mm_figure_script(p->sheet.figure, ", $d%d using 1:2:3:4 with yerrorbars lt 1 notitle", data);
  if (smoothed) mm_figure_script(p->sheet.figure, ", $d%d using 1:5 with lines lt 1 notitle", data);
  mm_figure_script(p->sheet.figure, "\n");
  mm_sheet_clear(&p->sheet);
}

// Tics of a logarithmic axis: 1, 2, 5 times powers of ten where at least two of them are in the
// range, else equal steps.
static void set_log_tics(const picture *p, range y, double height) {
  static const double factor[] = { 1, 2, 5 };
  double tic[64];
  size_t n = 0;
  int first = (int)floor(log10(y.low)), last = (int)ceil(log10(y.high));
  bool sparse = 3 * 18 * log10(y.high / y.low) > height; // then powers of ten alone
  for (int e = first; e <= last; e++)
    for (int k = 0; k < (sparse ? 1 : 3) && n < 60; k++) {
      tic[n] = factor[k] * pow(10, e);
      n += tic[n] >= y.low && tic[n] <= y.high;
    }
  if (n < 2) {
    double step = mm_tic_step(y.high - y.low, 5);
    n = 0;
    for (double k = ceil(y.low / step); k * step <= y.high && n < 60; k++)
      tic[n++] = k * step;
  }
  mm_figure_script(p->sheet.figure, "set ytics (");
  for (size_t i = 0; i < n; i++)
    mm_figure_script(p->sheet.figure, "%s%.6g", i ? ", " : "", tic[i]);
  mm_figure_script(p->sheet.figure, ")\n");
}

static void draw_sigma(const picture *p, mm_box b) {
  const mm_search_curve *c = &p->curve;
  range r = nothing;
  size_t n = 0;
  for (size_t i = 0; i < c->n_generation; i++) {
    const mm_run_generation *g = &c->generation[i];
    if (!(g->sigma > 0 && isfinite(g->sigma))) continue;
    p->points[2 * n] = (double)g->generation;
    p->points[2 * n++ + 1] = g->sigma;
    include(&r, g->sigma);
  }
  range y = { 0.1, 1 };
  if (n > 0) {
    double room = fmax(pow(r.high / r.low, 0.08), 1.03); // on a logarithmic axis
    y = (range){ r.low / room, r.high * room };
  }
  put_heading(p, b, "sigma", "spread of the candidates, logarithmic");
  begin_panel(p, b, y, true);
  set_log_tics(p, y, b.h);
  int data = n > 0 ? mm_figure_data(p->sheet.figure, p->points, n, 2) : -1;
  mm_figure_script(p->sheet.figure, "set logscale y\nplot NaN notitle");
  if (n > 0)
    mm_figure_script(p->sheet.figure, ", $d%d with %s lt 1 notitle", data,
                     n < N_MARKED ? "linespoints" : "lines");
  mm_figure_script(p->sheet.figure, "\nunset logscale y\n");
  mm_sheet_clear(&p->sheet);
}

// ---------------------------------------------------------------------------------------------
// The sheet

typedef struct panel {
  void (*draw)(const picture *p, mm_box b);
  double height;
} panel;

// what a reader looks at first gets the most room
static const panel panels[] = {
  { draw_scores, 190 },
  { draw_difference, 120 },
  { draw_fitness, 100 },
  { draw_sigma, 70 },
};
enum { N_PANEL = sizeof panels / sizeof *panels, BETWEEN = 12 };

static double total_height(void) {
  double y = MARGIN + MM_SHEET_LINE + 4;
  for (int i = 0; i < N_PANEL; i++)
    y += MM_SHEET_LINE + panels[i].height + (i + 1 == N_PANEL ? AXIS_BOTTOM : BETWEEN);
  return y;
}

static mm_status draw_all(void *user) {
  const picture *p = user;
  mm_box b = { MARGIN + AXIS_LEFT, MARGIN, WIDTH - 2 * MARGIN - AXIS_LEFT - AXIS_RIGHT, 0 };
  mm_sheet_name(&p->sheet, b.x, b.y + MM_SHEET_LINE / 2.0, b.w, p->title);
  mm_sheet_text(&p->sheet, b.x + b.w / 2, p->sheet.height - 14, "generation",
                "center tc rgb '#333333'");
  b.y += MM_SHEET_LINE + 4;
  for (int i = 0; i < N_PANEL; i++) {
    b.y += MM_SHEET_LINE;
    b.h = panels[i].height;
    panels[i].draw(p, b);
    b.y += b.h + BETWEEN;
  }
  return MM_OK;
}

static mm_status draw(picture *p, const char *path) {
  size_t rows = p->curve.n_generation > p->curve.n_point ? p->curve.n_generation : p->curve.n_point;
  p->points = mm_alloc_array(rows + 1, 5 * sizeof *p->points);
  if (!p->points) return MM_FAIL(MM_ERR_MEMORY, "'%s': out of memory", path);
  p->sheet.width = WIDTH;
  p->sheet.height = total_height();
  mm_status status = mm_sheet_write(&p->sheet, draw_all, p, path);
  mm_free(p->points);
  return status;
}

// "Search gridworld-1 after 64 generations"
static void set_title(picture *p, const char *folder) {
  const char *slash = strrchr(folder, '/'), *name = slash && slash[1] ? slash + 1 : folder;
  int64_t done = 0;
  for (size_t i = 0; i < p->curve.n_generation; i++)
    if (p->curve.generation[i].generation > done) done = p->curve.generation[i].generation;
  snprintf(p->title, sizeof p->title, "Search %.100s after %" PRId64 " generation%s", name, done,
           done == 1 ? "" : "s");
}

mm_status mm_search_figure(mm_run *run, const char *path) {
  picture p = { 0 };
  mm_status status = mm_search_curve_read(run, &p.curve);
  if (status == MM_OK) {
    set_title(&p, mm_run_folder_of(run));
    status = draw(&p, path);
  }
  mm_search_curve_release(&p.curve);
  return status;
}
