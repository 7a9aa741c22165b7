// SPDX-License-Identifier: Apache-2.0
// The Grid-World figure: exact values, estimation errors and policy distances of every iteration of
// tabular PMD. Its tables are exact (mm_transfer_config): what `theory` measured of their runs is
// in their databases, and comes from there to the cells.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paper/paper_internal.h"
#include "study/theory/theory.h"

enum { EARLY_STEPS = 50000, LATE = 10 };

// Curves of a run: its values, then what theory measures.
enum { VALUE, MEASURES, CURVES = MEASURES + MM_THEORY_MEASURES };
enum { ERROR = MEASURES + MM_THEORY_ERROR, DISTANCE = MEASURES + MM_THEORY_DISTANCE };

// The runs of a table on one environment, [map][seed].
typedef struct runs {
  const mm_transfer *x;
  size_t n, n_step;      // runs, iterations of each
  double iteration;      // environment steps of one
  double *curve[CURVES]; // [n][n_step + 1], NaN where there is nothing
} runs;

static double *curve_of(const runs *s, int what, size_t run) {
  return s->curve[what] + run * (s->n_step + 1);
}

// Controls have value and policy distance alone: a figure does not show them.
static bool is_shown(const mm_artefact_cell *cell, int what) {
  return !cell->control || what == VALUE || what == DISTANCE;
}

// ---------------------------------------------------------------------------------------------
// From the database

static void put_point(const runs *s, int what, int64_t job, uint64_t step, double value) {
  uint64_t run = (uint64_t)job - s->x->first, t = step / (uint64_t)s->iteration;
  if (run < s->n && t <= s->n_step) curve_of(s, what, (size_t)run)[t] = value;
}

static int on_point(const mm_run_row *row, void *user) {
  put_point(user, VALUE, row->curve.job, row->curve.step, row->curve.value);
  return 0;
}

static int on_measure(const mm_run_row *row, void *user) {
  for (int m = 0; m < MM_THEORY_MEASURES; m++)
    if (strcmp(row->measure.name, mm_theory_measures[m]) == 0)
      put_point(user, MEASURES + m, row->measure.job, row->measure.step, row->measure.value);
  return 0;
}

static mm_status read_curves(runs *s) {
  const mm_transfer_config *c = &s->x->config;
  const int64_t first = (int64_t)s->x->first, last = first + (int64_t)s->n - 1;
  size_t points = s->n * (s->n_step + 1);
  for (int what = 0; what < CURVES; what++) {
    double *curve = s->curve[what] = mm_alloc_array(points, sizeof *curve);
    if (!curve) return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of %zu runs", s->n);
    for (size_t k = 0; k < points; k++)
      curve[k] = NAN;
  }
  MM_TRY(mm_run_each_from(c->run, MM_RUN_CURVE, first, last, on_point, s));
  MM_TRY(mm_run_each_from(c->run, MM_RUN_MEASURE, first, last, on_measure, s));
  // a run that broke down keeps the value it had
  for (size_t k = 0; k < points; k++)
    if (isnan(s->curve[VALUE][k])) s->curve[VALUE][k] = s->x->worth[k / (s->n_step + 1)];
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// From curves to cells

// Mean and standard error over the seeds at every iteration. x: room for the seeds.
static mm_status add_curve(const runs *s, int what, size_t map, double *x, mm_artefact_cell *cell) {
  size_t n_seed = s->x->config.n_seed;
  mm_curve_point *point = mm_alloc_array(s->n_step, sizeof *point);
  if (!point) return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve");
  for (size_t t = 0; t < s->n_step; t++) {
    size_t n = 0;
    for (size_t i = 0; i < n_seed; i++) {
      double y = curve_of(s, what, map * n_seed + i)[t];
      if (!isnan(y)) x[n++] = y;
    }
    point[t] = (mm_curve_point){ (uint64_t)((double)t * s->iteration), mm_estimate_of(x, n) };
  }
  cell->curve[cell->n_curve++] =
      (mm_artefact_curve){ mm_theory_measures[what - MEASURES], point, s->n_step };
  return MM_OK;
}

// Mean of what is defined of y[first .. end - 1].
static double mean_of(const double *y, size_t first, size_t end) {
  double sum = 0;
  size_t n = 0;
  for (size_t t = first; t < end; t++) {
    if (isnan(y[t])) continue;
    sum += y[t];
    n++;
  }
  return n > 0 ? sum / (double)n : NAN;
}

size_t mm_artefact_early(double steps_per_iteration, size_t iterations) {
  size_t n = (size_t)(EARLY_STEPS / steps_per_iteration);
  return n < iterations ? n : 0;
}

static void measure_run(const runs *s, size_t run, size_t i, mm_artefact_cell *cell) {
  const size_t T = s->n_step, early = mm_artefact_early(s->iteration, T),
               late = T < LATE ? T : LATE;
  const double *v = curve_of(s, VALUE, run);
  // the range is the task's, the same for every map; where every policy is optimal it is nothing
  // but rounding, of either sign
  double range = fmax(s->x->optimal[i] - v[0], 0), drops = 0;
  for (size_t t = 0; t < T; t++)
    drops += v[t + 1] - v[t] < -fmax(0.01 * range, 1e-9);
  cell->run[MM_QUANTITY_LATE][i] = mean_of(v, T + 1 - late, T + 1);
  cell->run[MM_QUANTITY_DROPS][i] = drops;
  cell->run[MM_QUANTITY_EARLY][i] = early > 0 ? v[early] - v[0] - (v[T] - v[0]) / 2 : NAN;
  cell->run[MM_QUANTITY_DISTANCE][i] = mean_of(curve_of(s, DISTANCE, run), 0, early);
  if (cell->run[MM_QUANTITY_ERROR])
    cell->run[MM_QUANTITY_ERROR][i] = mean_of(curve_of(s, ERROR, run), 0, T);
}

static mm_status measure_cell(const runs *s, size_t map, double *x, mm_artefact_cell *cell) {
  const size_t n_seed = s->x->config.n_seed;
  for (int q = 0; q < MM_QUANTITIES; q++)
    if (q != MM_QUANTITY_ERROR || is_shown(cell, ERROR))
      MM_TRY(mm_artefact_add_quantity(cell, (mm_quantity)q));
  cell->optimal = 0;
  for (size_t i = 0; i < n_seed; i++) {
    // a run without any value has nothing to measure
    if (!isnan(s->x->worth[map * n_seed + i])) measure_run(s, map * n_seed + i, i, cell);
    cell->optimal += s->x->optimal[i] / (double)n_seed;
  }
  for (int what = MEASURES; what < CURVES; what++)
    if (is_shown(cell, what)) MM_TRY(add_curve(s, what, map, x, cell));
  return MM_OK;
}

mm_status mm_artefact_measure(const mm_transfer *x, mm_artefact_cell *cell) {
  const mm_transfer_config *c = &x->config;
  const mm_settings *settings = &c->env[0].settings;
  runs s = { .x = x, .n = c->n_map * c->n_seed };
  s.n_step = (size_t)mm_settings_iterations(settings);
  s.iteration = mm_settings_steps(settings) / (double)s.n_step;
  double *seeds = mm_alloc_array(c->n_seed, sizeof *seeds);
  mm_status status = MM_OK;
  if (!seeds) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", c->n_seed);
  if (status == MM_OK) status = read_curves(&s);
  for (size_t m = 0; m < c->n_map && status == MM_OK; m++)
    status = measure_cell(&s, m, seeds, &cell[m]);
  for (int what = 0; what < CURVES; what++)
    mm_free(s.curve[what]);
  mm_free(seeds);
  return status;
}
