// The runs of the Grid-World figure, from the database to cells: mean curves over the seeds, and
// what single runs are measured by.

#include <math.h>
#include <string.h>

#include "paper/reproduce_gridworld.h"

enum { EARLY_STEPS = 50000, LATE = 10 };

// Curves of all runs: [n][n_step + 1], NaN where there is nothing.
typedef struct curves {
  const mm_grid_figure *f;
  double *value, *measure[MM_GRID_MEASURES];
  mm_result *run; // [n] final and optimal value, status
  mm_status status;
} curves;

static void release_curves(curves *c) {
  mm_free(c->value);
  for (int what = 0; what < MM_GRID_MEASURES; what++)
    mm_free(c->measure[what]);
  mm_free(c->run);
}

static mm_status take_curves(const mm_grid_figure *f, curves *c) {
  size_t n = f->n * (f->n_step + 1);
  *c = (curves){ .f = f, .value = mm_alloc_array(n, sizeof(double)) };
  c->run = mm_alloc_array(f->n, sizeof *c->run);
  bool all = c->value && c->run;
  for (int what = 0; what < MM_GRID_MEASURES; what++) {
    c->measure[what] = mm_alloc_array(n, sizeof(double));
    all = all && c->measure[what];
  }
  if (!all) return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of %zu runs", f->n);
  for (size_t i = 0; i < n; i++) {
    c->value[i] = NAN;
    for (int what = 0; what < MM_GRID_MEASURES; what++)
      c->measure[what][i] = NAN;
  }
  memset(c->run, 0, f->n * sizeof *c->run);
  return MM_OK;
}

// NULL where the row is none of the figure's.
static double *point_at(const curves *c, double *of, int64_t job, uint64_t step) {
  uint64_t t = step / (uint64_t)c->f->iteration;
  if ((uint64_t)job >= c->f->n || t > c->f->n_step) return NULL;
  return of + (size_t)job * (c->f->n_step + 1) + t;
}

static int take_run(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  curves *c = user;
  if ((uint64_t)row->job >= c->f->n) return 0;
  c->run[row->job] = (mm_result){ .status = row->status,
                                  .final_value = row->final,
                                  .optimal_value = row->optimal,
                                  .env_steps = row->env_steps };
  return 0;
}

static int take_point(const mm_run_row *any, void *user) {
  const mm_run_point *row = &any->curve;
  curves *c = user;
  double *at = point_at(c, c->value, row->job, row->step);
  if (at) *at = row->value;
  return 0;
}

static int take_measure(const mm_run_row *any, void *user) {
  const mm_run_measure *row = &any->measure;
  curves *c = user;
  for (int what = 0; what < MM_GRID_MEASURES; what++) {
    double *at = strcmp(row->name, mm_grid_measure_name[what]) == 0
                     ? point_at(c, c->measure[what], row->job, row->step)
                     : NULL;
    if (at) *at = row->value;
  }
  return 0;
}

static mm_status read_curves(curves *c) {
  mm_run *run = c->f->r->run;
  MM_TRY(mm_run_each(run, MM_RUN_TRAINING, take_run, c));
  MM_TRY(mm_run_each(run, MM_RUN_CURVE, take_point, c));
  MM_TRY(mm_run_each(run, MM_RUN_MEASURE, take_measure, c));
  // a run that broke down keeps the value it had
  for (size_t i = 0; i < c->f->n; i++)
    for (size_t t = 0; t <= c->f->n_step; t++) {
      double *at = &c->value[i * (c->f->n_step + 1) + t];
      if (isnan(*at)) *at = c->run[i].final_value;
    }
  return MM_OK;
}

// Mean and standard error over the seeds at every iteration; x: room for the seeds.
static mm_status add_curve(const curves *c, const double *of, const char *name, size_t cell_place,
                           size_t n_point, double *x, mm_reproduction_cell *cell) {
  const mm_grid_figure *f = c->f;
  mm_curve_point *point = mm_alloc_array(n_point, sizeof *point);
  if (!point) return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve");
  for (size_t t = 0; t < n_point; t++) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_seed; i++) {
      double y = of[(cell_place * f->n_seed + i) * (f->n_step + 1) + t];
      if (!isnan(y)) x[n++] = y;
    }
    mm_estimate e = mm_estimate_of(x, n);
    point[t] = (mm_curve_point){ f->step[t], e };
  }
  cell->curve[cell->n_curve++] = (mm_reproduction_curve){ name, point, n_point };
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

size_t mm_grid_figure_early(const mm_grid_figure *f) {
  size_t n = (size_t)(EARLY_STEPS / f->iteration);
  return n < f->n_step ? n : 0;
}

static void measure_run(const curves *c, size_t place, size_t i, mm_reproduction_cell *cell) {
  const size_t T = c->f->n_step, early = mm_grid_figure_early(c->f), late = T < LATE ? T : LATE;
  const double *v = c->value + place * (T + 1);
  // the range is the task's, the same for every map; where every policy is optimal it is nothing
  // but rounding, of either sign
  double range = fmax(c->run[place].optimal_value - v[0], 0), drops = 0;
  for (size_t t = 0; t < T; t++)
    drops += v[t + 1] - v[t] < -fmax(0.01 * range, 1e-9);
  cell->run[MM_QUANTITY_FINAL][i] = c->run[place].final_value;
  cell->run[MM_QUANTITY_LATE][i] = mean_of(v, T + 1 - late, T + 1);
  cell->run[MM_QUANTITY_DROPS][i] = drops;
  cell->run[MM_QUANTITY_EARLY][i] = early > 0 ? v[early] - v[0] - (v[T] - v[0]) / 2 : NAN;
  cell->run[MM_QUANTITY_DISTANCE][i] =
      mean_of(c->measure[MM_GRID_DISTANCE] + place * (T + 1), 0, early);
  if (cell->run[MM_QUANTITY_ERROR])
    cell->run[MM_QUANTITY_ERROR][i] = mean_of(c->measure[MM_GRID_ERROR] + place * (T + 1), 0, T);
}

static mm_status fill_cell(const curves *c, size_t e, size_t m, double *x) {
  const mm_grid_figure *f = c->f;
  mm_reproduction *result = &f->r->result;
  mm_reproduction_cell *cell;
  size_t place = e * MM_GRID_FIGURE_MAPS + m;
  double optimal = 0;
  MM_TRY(mm_reproduction_add(result, mm_grid_figure_env[e], mm_grid_figure_map_list[m].label, "",
                             f->n_seed, &cell));
  cell->control = mm_grid_figure_map_list[m].control;
  cell->eta = f->settings[e][m].pmd.eta;
  for (int q = 0; q < MM_QUANTITIES; q++)
    if (q != MM_QUANTITY_ERROR || mm_grid_is_measured(m, MM_GRID_ERROR))
      MM_TRY(mm_reproduction_add_quantity(cell, (mm_quantity)q));
  for (size_t i = 0; i < f->n_seed; i++) {
    const mm_result *run = &c->run[place * f->n_seed + i];
    measure_run(c, place * f->n_seed + i, i, cell);
    cell->n_numeric += run->status != MM_OK;
    result->result_steps += run->env_steps;
    optimal += run->optimal_value / (double)f->n_seed;
  }
  cell->optimal = optimal;
  MM_TRY(add_curve(c, c->value, "value", place, f->n_step + 1, x, cell));
  for (int what = 0; what < MM_GRID_MEASURES; what++)
    if (mm_grid_is_measured(m, (mm_grid_measure)what))
      MM_TRY(add_curve(c, c->measure[what], mm_grid_measure_name[what], place, f->n_step, x, cell));
  return MM_OK;
}

mm_status mm_grid_figure_fill(mm_grid_figure *f) {
  curves c;
  double *x = mm_alloc_array(f->n_seed, sizeof *x);
  mm_status status = take_curves(f, &c);
  if (!x) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", f->n_seed);
  if (status == MM_OK) status = read_curves(&c);
  for (size_t k = 0; k < MM_GRID_FIGURE_CELLS && status == MM_OK; k++)
    status = fill_cell(&c, k / MM_GRID_FIGURE_MAPS, k % MM_GRID_FIGURE_MAPS, x);
  release_curves(&c);
  mm_free(x);
  return status;
}
