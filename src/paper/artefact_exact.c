// The Grid-World figure: exact values, estimation errors and policy distances of every iteration of
// tabular PMD, from runs as `theory` makes them, many seeds at once. Each is stored as it ends, and
// what the figure shows is read back from the database.
//
// The job store is not for these: a training's result has no place for what `theory` measures of an
// iteration.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backend/pool.h"
#include "paper/paper_internal.h"
#include "study/jobs/eta_tuning.h"
#include "study/theory/theory.h"

enum { EARLY_STEPS = 50000, LATE = 10 };

// Curves of a run. Controls have value and policy distance alone: a figure does not show them.
enum { VALUE, ERROR, ERROR_SAMPLED, DISTANCE, CURVES };
static const struct {
  const char *name;
  size_t offset; // in mm_theory_step
} curves[CURVES] = {
  { "value", offsetof(mm_theory_step, value) },
  { "estimation_error", offsetof(mm_theory_step, estimation_error) },
  { "estimation_error_sampled", offsetof(mm_theory_step, estimation_error_sampled) },
  { "update_distance", offsetof(mm_theory_step, update_distance) },
};

typedef struct figure {
  mm_paper *r;
  const mm_artefact_spec *spec;
  mm_env *env[MM_ARTEFACT_ENVS];
  mm_transfer_map row[MM_ARTEFACT_ROWS];
  mm_settings settings[MM_ARTEFACT_ENVS * MM_ARTEFACT_ROWS]; // of cells, with the eta of the row
  size_t n_cell;         // [env][row]; a batch of the database is one
  size_t n_seed, n_step; // iterations of a run
  double iteration;      // environment steps of one
  size_t n;              // runs: [cell][seed]
  uint64_t *step;        // [n_step + 1]
  mm_result *run;        // [n] status, final and optimal value as the database has them
  uint8_t *stored;       // [n]
  size_t *todo;          // [n_todo] places
  size_t n_todo;
  double *curve[CURVES]; // [n][n_step + 1], NaN where there is nothing

  // while they run
  pthread_mutex_t lock; // for the rest, and the database
  size_t done;
  uint64_t env_steps;
  size_t trouble;
  mm_status status;
  char error[MM_ERROR_SIZE];
} figure;

static const char *env_of(const figure *f, size_t cell) {
  return f->spec->env[cell / f->spec->n_row];
}

static const mm_transfer_map *row_of(const figure *f, size_t cell) {
  return &f->row[cell % f->spec->n_row];
}

static bool is_measured(const figure *f, size_t cell, int what) {
  return !row_of(f, cell)->control || what == VALUE || what == DISTANCE;
}

// ---------------------------------------------------------------------------------------------
// Batches: what is to be run, in the database before the first run of it

static void show_tuning(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)env_steps;
  mm_paper_tell(user, (double)done, (double)total, "runs");
}

static mm_status tune(figure *f, size_t cell) {
  mm_paper *r = f->r;
  mm_backend_config backend = mm_paper_backend(r, show_tuning);
  mm_eta_tuning tuning;
  mm_eta_task task = { .env = f->env[cell / f->spec->n_row],
                       .map = row_of(f, cell)->map,
                       .env_label = env_of(f, cell),
                       .map_label = row_of(f, cell)->label,
                       .settings = &f->settings[cell],
                       .seed = r->plan.seed,
                       .n_seed = r->tune_seeds };
  snprintf(r->stage, sizeof r->stage, "tuning eta of the controls");
  MM_TRY(mm_eta_tune(&task, NULL, &backend, &tuning));
  *mm_settings_eta(&f->settings[cell]) = tuning.eta[tuning.best];
  r->result.env_steps += tuning.env_steps;
  mm_paper_ran(r, tuning.ran);
  return MM_OK;
}

static mm_status fail_batch(const figure *f, const mm_run_batch *row) {
  return MM_FAIL(MM_ERR_INPUT, "%s/run.db: batch %lld is not one of this figure",
                 mm_paper_folder(f->r), (long long)row->batch);
}

// Settings of a batch: those of the plan, with an eta of its own where it was tuned.
static mm_status read_batch(const figure *f, const mm_run_batch *row, bool tuned,
                            mm_settings *settings) {
  char source[MM_PAPER_PATH + 64];
  cJSON *tree;
  mm_settings stored = *settings, expected = *settings;
  snprintf(source, sizeof source, "%s/run.db: batch %lld", mm_paper_folder(f->r),
           (long long)row->batch);
  MM_TRY(mm_json_parse(row->settings, strlen(row->settings), source, &tree));
  mm_status status = mm_settings_read(tree, source, 0, mm_settings_own(stored.algo), &stored);
  cJSON_Delete(tree);
  if (status != MM_OK) return status;
  if (tuned) *mm_settings_eta(&expected) = *mm_settings_eta(&stored);
  if (!mm_paper_same_settings(&stored, &expected, false, NULL)) return fail_batch(f, row);
  *settings = expected;
  return MM_OK;
}

// The step sizes that were tuned before. Counts the batches in `done`.
static int on_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  figure *f = user;
  size_t cell = (size_t)row->batch;
  if (cell >= f->n_cell || row->jobs != (int64_t)f->n_seed ||
      strcmp(row->env, env_of(f, cell)) != 0 || strcmp(row->map, row_of(f, cell)->label) != 0)
    f->status = fail_batch(f, row);
  else
    f->status = read_batch(f, row, row_of(f, cell)->tuned, &f->settings[cell]);
  f->done++;
  return f->status != MM_OK;
}

static mm_status put_batch(figure *f, size_t cell) {
  cJSON *tree = mm_settings_json(&f->settings[cell]);
  char *text = tree ? mm_json_print(tree, false) : NULL;
  cJSON_Delete(tree);
  if (!text) return MM_FAIL(MM_ERR_MEMORY, "no memory for settings");
  mm_run_batch row = { .batch = (int64_t)cell,
                       .first = (int64_t)(cell * f->n_seed),
                       .jobs = (int64_t)f->n_seed,
                       .role = "figure",
                       .env = env_of(f, cell),
                       .map = row_of(f, cell)->label,
                       .settings = text };
  mm_status status = mm_run_put_batch(f->r->run, &row);
  mm_free(text);
  return status;
}

// One after the other: a tuning that was interrupted goes on behind the last that is there.
static mm_status announce_batches(figure *f) {
  mm_status walked = mm_run_each(f->r->run, MM_RUN_BATCH, on_batch, f);
  if (f->status != MM_OK) return f->status;
  if (walked != MM_OK) return walked;
  for (size_t cell = f->done; cell < f->n_cell; cell++) {
    if (row_of(f, cell)->tuned) MM_TRY(tune(f, cell));
    MM_TRY(put_batch(f, cell));
  }
  f->done = 0;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The runs

static void copy_curve(const mm_theory *t, int what, double *x) {
  for (size_t k = 0; k < t->n_step; k++)
    memcpy(&x[k], (const char *)&t->step[k] + curves[what].offset, sizeof *x);
}

// x: room for a curve.
static mm_status put_run(figure *f, size_t place, const mm_theory *t, double *x) {
  mm_run_training row = { .job = (int64_t)place,
                          .seed = f->r->plan.seed + place % f->n_seed,
                          .status = t->broke_down ? MM_ERR_NUMERIC : MM_OK,
                          .final = t->final_value,
                          .recent = NAN,
                          .optimal = t->v_star,
                          .env_steps = (uint64_t)((double)t->n_step * f->iteration),
                          .points = (int64_t)t->n_step + 1 };
  copy_curve(t, VALUE, x);
  x[t->n_step] = t->final_value;
  MM_TRY(mm_run_put_training(f->r->run, &row, f->step, x));
  for (int what = VALUE + 1; what < CURVES; what++) {
    if (!is_measured(f, place / f->n_seed, what)) continue;
    copy_curve(t, what, x);
    MM_TRY(mm_run_put_measure(f->r->run, row.job, curves[what].name, f->step, x, t->n_step));
  }
  return MM_OK;
}

// The lock is held.
static mm_status store(figure *f, size_t place, const mm_theory *t) {
  double *x = mm_alloc_array(t->n_step + 1, sizeof *x);
  if (!x) return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve");
  mm_status status = mm_run_begin(f->r->run);
  if (status == MM_OK) {
    status = put_run(f, place, t, x);
    if (status == MM_OK) status = mm_run_commit(f->r->run);
    if (status != MM_OK) mm_run_drop(f->r->run);
  }
  mm_free(x);
  return status;
}

static bool run_unit(size_t unit, size_t worker, void *user) {
  figure *f = user;
  size_t place = f->todo[unit], cell = place / f->n_seed;
  mm_job job = { .env = f->env[cell / f->spec->n_row],
                 .map = row_of(f, cell)->map,
                 .seed = f->r->plan.seed + place % f->n_seed };
  mm_theory theory;
  (void)worker;
  mm_settings_bind(&f->settings[cell], &job);
  mm_status status = mm_theory_run(&job, f->r->job->stop, NULL, NULL, &theory);
  pthread_mutex_lock(&f->lock);
  if (status == MM_OK) status = store(f, place, &theory);
  if (status == MM_OK) {
    f->done++;
    f->env_steps += (uint64_t)((double)theory.n_step * f->iteration);
  } else if (place < f->trouble) {
    f->trouble = place;
    f->status = status;
    snprintf(f->error, sizeof f->error, "%s", mm_last_error());
  }
  pthread_mutex_unlock(&f->lock);
  mm_theory_release(&theory);
  return status == MM_OK;
}

static void show_runs(void *user) {
  figure *f = user;
  pthread_mutex_lock(&f->lock);
  size_t done = f->done;
  pthread_mutex_unlock(&f->lock);
  mm_paper_tell(f->r, (double)done, (double)f->n_todo, "runs");
}

static mm_status run_all(figure *f) {
  mm_paper *r = f->r;
  int wanted = r->job->threads > 0 ? r->job->threads : mm_pool_cores(), threads;
  mm_pool_config pool = { .n = f->n_todo,
                          .threads = wanted,
                          .stop = r->job->stop,
                          .work = run_unit,
                          .watch = show_runs,
                          .user = f };
  f->trouble = f->n;
  snprintf(r->stage, sizeof r->stage, "runs of the figure");
  if (pthread_mutex_init(&f->lock, NULL) != 0)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  mm_status status = mm_pool_run(&pool, &threads);
  if (status == MM_OK) show_runs(f);
  pthread_mutex_destroy(&f->lock);
  r->result.env_steps += f->env_steps;
  if (f->n_todo > 0) mm_paper_ran(r, MM_BACKEND_ON_CPU); // theory.c looks at every iteration
  if (status != MM_OK) return status;
  if (f->trouble < f->n && f->status != MM_ERR_INTERRUPTED)
    return MM_FAIL(f->status, "map %s on %s: %s", row_of(f, f->trouble / f->n_seed)->label,
                   env_of(f, f->trouble / f->n_seed), f->error);
  if (f->done < f->n_todo) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Reading them back

// Runs of other seeds would be taken for those of this plan.
static int on_run(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  figure *f = user;
  if ((uint64_t)row->job >= f->n || row->seed != f->r->plan.seed + (uint64_t)row->job % f->n_seed) {
    f->status = MM_FAIL(MM_ERR_INPUT, "%s/run.db: run %lld is not one of this figure",
                        mm_paper_folder(f->r), (long long)row->job);
    return 1;
  }
  f->stored[row->job] = 1;
  f->run[row->job] = (mm_result){ .status = row->status,
                                  .final_value = row->final,
                                  .optimal_value = row->optimal,
                                  .env_steps = row->env_steps };
  return 0;
}

static mm_status read_runs(figure *f) {
  MM_TRY(mm_run_each(f->r->run, MM_RUN_TRAINING, on_run, f));
  return f->status;
}

static mm_status list_runs(figure *f) {
  f->n = f->n_cell * f->n_seed;
  f->run = mm_alloc_array(f->n, sizeof *f->run);
  f->stored = mm_alloc_array(f->n, sizeof *f->stored);
  f->todo = mm_alloc_array(f->n, sizeof *f->todo);
  f->step = mm_alloc_array(f->n_step + 1, sizeof *f->step);
  if (!f->run || !f->stored || !f->todo || !f->step)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", f->n);
  memset(f->stored, 0, f->n);
  for (size_t k = 0; k <= f->n_step; k++)
    f->step[k] = (uint64_t)((double)k * f->iteration);
  MM_TRY(read_runs(f));
  for (size_t i = 0; i < f->n; i++)
    if (!f->stored[i]) f->todo[f->n_todo++] = i;
  return MM_OK;
}

static double *curve_of(const figure *f, int what, size_t place) {
  return f->curve[what] + place * (f->n_step + 1);
}

// A row that is none of the figure's is left out.
static void put_point(const figure *f, const char *name, int64_t job, uint64_t step, double value) {
  uint64_t t = step / (uint64_t)f->iteration;
  for (int what = 0; what < CURVES; what++)
    if (strcmp(name, curves[what].name) == 0 && (uint64_t)job < f->n && t <= f->n_step)
      curve_of(f, what, (size_t)job)[t] = value;
}

static int on_measure(const mm_run_row *any, void *user) {
  const mm_run_measure *row = &any->measure;
  put_point(user, row->name, row->job, row->step, row->value);
  return 0;
}

static int on_point(const mm_run_row *any, void *user) {
  const mm_run_point *row = &any->curve;
  put_point(user, curves[VALUE].name, row->job, row->step, row->value);
  return 0;
}

static mm_status read_curves(figure *f) {
  size_t points = f->n * (f->n_step + 1);
  for (int what = 0; what < CURVES; what++) {
    double *curve = f->curve[what] = mm_alloc_array(points, sizeof *curve);
    if (!curve) return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of %zu runs", f->n);
    for (size_t k = 0; k < points; k++)
      curve[k] = NAN;
  }
  MM_TRY(read_runs(f));
  MM_TRY(mm_run_each(f->r->run, MM_RUN_CURVE, on_point, f));
  MM_TRY(mm_run_each(f->r->run, MM_RUN_MEASURE, on_measure, f));
  // a run that broke down keeps the value it had
  for (size_t k = 0; k < points; k++)
    if (isnan(f->curve[VALUE][k])) f->curve[VALUE][k] = f->run[k / (f->n_step + 1)].final_value;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// From curves to cells

// Mean and standard error over the seeds at every iteration; the value has one more, the last. x:
// room for the seeds.
static mm_status add_curve(const figure *f, int what, size_t cell_place, double *x,
                           mm_artefact_cell *cell) {
  size_t n_point = f->n_step + (what == VALUE);
  mm_curve_point *point = mm_alloc_array(n_point, sizeof *point);
  if (!point) return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve");
  for (size_t t = 0; t < n_point; t++) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_seed; i++) {
      double y = curve_of(f, what, cell_place * f->n_seed + i)[t];
      if (!isnan(y)) x[n++] = y;
    }
    point[t] = (mm_curve_point){ f->step[t], mm_estimate_of(x, n) };
  }
  cell->curve[cell->n_curve++] = (mm_artefact_curve){ curves[what].name, point, n_point };
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

static void measure_run(const figure *f, size_t place, size_t i, mm_artefact_cell *cell) {
  const size_t T = f->n_step, early = mm_artefact_early(f->iteration, T),
               late = T < LATE ? T : LATE;
  const double *v = curve_of(f, VALUE, place);
  // the range is the task's, the same for every map; where every policy is optimal it is nothing
  // but rounding, of either sign
  double range = fmax(f->run[place].optimal_value - v[0], 0), drops = 0;
  for (size_t t = 0; t < T; t++)
    drops += v[t + 1] - v[t] < -fmax(0.01 * range, 1e-9);
  cell->run[MM_QUANTITY_FINAL][i] = f->run[place].final_value;
  cell->run[MM_QUANTITY_LATE][i] = mean_of(v, T + 1 - late, T + 1);
  cell->run[MM_QUANTITY_DROPS][i] = drops;
  cell->run[MM_QUANTITY_EARLY][i] = early > 0 ? v[early] - v[0] - (v[T] - v[0]) / 2 : NAN;
  cell->run[MM_QUANTITY_DISTANCE][i] = mean_of(curve_of(f, DISTANCE, place), 0, early);
  if (cell->run[MM_QUANTITY_ERROR])
    cell->run[MM_QUANTITY_ERROR][i] = mean_of(curve_of(f, ERROR, place), 0, T);
}

static mm_status fill_cell(figure *f, size_t place, double *x) {
  mm_artefact *result = &f->r->result;
  mm_artefact_cell *cell;
  MM_TRY(mm_artefact_add(result, env_of(f, place), row_of(f, place)->label, "", f->n_seed, &cell));
  cell->control = row_of(f, place)->control;
  cell->eta = f->settings[place].pmd.eta;
  for (int q = 0; q < MM_QUANTITIES; q++)
    if (q != MM_QUANTITY_ERROR || is_measured(f, place, ERROR))
      MM_TRY(mm_artefact_add_quantity(cell, (mm_quantity)q));
  cell->optimal = 0;
  for (size_t i = 0; i < f->n_seed; i++) {
    const mm_result *run = &f->run[place * f->n_seed + i];
    measure_run(f, place * f->n_seed + i, i, cell);
    cell->n_numeric += run->status != MM_OK;
    result->result_steps += run->env_steps;
    cell->optimal += run->optimal_value / (double)f->n_seed;
  }
  for (int what = 0; what < CURVES; what++)
    if (is_measured(f, place, what)) MM_TRY(add_curve(f, what, place, x, cell));
  return MM_OK;
}

static mm_status fill_cells(figure *f) {
  double *x = mm_alloc_array(f->n_seed, sizeof *x);
  if (!x) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", f->n_seed);
  mm_status status = read_curves(f);
  for (size_t cell = 0; cell < f->n_cell && status == MM_OK; cell++)
    status = fill_cell(f, cell, x);
  mm_artefact_summarise(&f->r->result);
  mm_free(x);
  return status;
}

// ---------------------------------------------------------------------------------------------

static mm_status prepare(figure *f, mm_artefact_work *w) {
  const mm_artefact_spec *spec = f->spec;
  const mm_paper_plan *plan = &f->r->plan;
  MM_TRY(mm_artefact_rows(w, 0, spec->env[0], spec->n_row, f->row));
  f->n_cell = spec->n_env * spec->n_row;
  for (size_t e = 0; e < spec->n_env; e++)
    MM_TRY(mm_env_open(spec->env[e], &f->env[e]));
  for (size_t cell = 0; cell < f->n_cell; cell++)
    MM_TRY(mm_paper_settings(plan, env_of(f, cell), "", &f->settings[cell]));
  f->n_seed = mm_paper_seeds(plan, MM_SUITE_GRIDWORLD);
  f->n_step = (size_t)mm_settings_iterations(&f->settings[0]);
  f->iteration = mm_settings_steps(&f->settings[0]) / (double)f->n_step;
  f->r->tune_seeds = mm_paper_tune_seeds(plan, MM_SUITE_GRIDWORLD);
  return MM_OK;
}

static mm_status make(figure *f, mm_artefact_work *w) {
  MM_TRY(prepare(f, w));
  MM_TRY(announce_batches(f));
  MM_TRY(list_runs(f));
  MM_TRY(run_all(f));
  return fill_cells(f);
}

mm_status mm_artefact_exact(mm_artefact_work *w) {
  figure *f = mm_alloc(sizeof *f);
  if (!f) return MM_FAIL(MM_ERR_MEMORY, "no memory for a figure");
  memset(f, 0, sizeof *f);
  f->r = w->paper;
  f->spec = w->spec;
  mm_status status = make(f, w);
  for (int i = 0; i < MM_ARTEFACT_ENVS; i++)
    mm_env_destroy(f->env[i]);
  mm_free(f->step);
  mm_free(f->run);
  mm_free(f->stored);
  mm_free(f->todo);
  for (int what = 0; what < CURVES; what++)
    mm_free(f->curve[what]);
  mm_free(f);
  return status;
}
