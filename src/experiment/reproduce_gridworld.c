// The Grid-World figure: tabular PMD on five held-out configurations and on random tasks, with the
// map of a search, l2, negative entropy and the controls. Exact values, estimation errors and
// policy distances of every iteration come from runs as `theory` makes them, many seeds at once;
// each is stored as it ends, and what the figure shows is read back from the database.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "backend/pool.h"
#include "experiment/eta_tuning.h"
#include "experiment/reproduce_internal.h"
#include "experiment/reproduction_figure.h"
#include "experiment/theory.h"

enum { N_ENV = 6, N_MAP = 9, N_SHOWN = 3, EARLY = 24, LATE = 10 };

static const char *const envs[N_ENV] = { "GridWorld-dense",     "GridWorld-sparse",
                                         "GridWorld-long",      "GridWorld-sixteen_rooms",
                                         "GridWorld-labyrinth", "GridWorld-all" };

// The first three are the paper's.
typedef struct entrant {
  const char *label, *text; // text NULL: the learned one
  bool control, tuned;
} entrant;

static const entrant entrants[N_MAP] = {
  { "learned", NULL, false, false },
  { "l2", "l2", false, false },
  { "negentropy", "negentropy", false, false },
  { "initial", "neural", true, false },
  { "random-neural:0", "random-neural:0", true, false },
  { "tsallis:0.5", "tsallis:0.5", true, false },
  { "tsallis:1.5", "tsallis:1.5", true, false },
  { "negentropy:tuned-eta", "negentropy", true, true },
  { "l2:tuned-eta", "l2", true, true },
};

// Curves beside the value. Controls have the policy distance alone: a figure does not show them.
typedef enum measure { ERROR, ERROR_SAMPLED, DISTANCE, MEASURES } measure;
static const char *const measure_names[MEASURES] = { "estimation_error", "estimation_error_sampled",
                                                     "update_distance" };

static bool is_measured(size_t map, measure what) {
  return !entrants[map].control || what == DISTANCE;
}

typedef struct figure {
  mm_reproduce *r;
  mm_env *env[N_ENV];
  mm_map *map[N_MAP];
  mm_settings settings[N_ENV][N_MAP]; // with the eta of the row
  size_t n_seed, n_step;              // iterations of a run
  double iteration;                   // environment steps of one
  size_t n;                           // runs: [env][map][seed]

  // while they run
  uint8_t *stored; // [n]
  size_t *todo;    // [n_todo] places
  size_t n_todo;
  uint64_t *step;       // [n_step + 1]
  pthread_mutex_t lock; // for the rest, and the database
  size_t done;
  uint64_t env_steps;
  size_t trouble;
  mm_status status;
  char error[MM_ERROR_SIZE];
} figure;

static size_t env_of(const figure *f, size_t place) {
  return place / f->n_seed / N_MAP;
}

static size_t map_of(const figure *f, size_t place) {
  return place / f->n_seed % N_MAP;
}

// ---------------------------------------------------------------------------------------------
// Before the runs: maps, environments, step sizes

static mm_status open_maps(figure *f) {
  mm_settings settings;
  MM_TRY(mm_reproduce_settings(&f->r->plan, "GridWorld-all", "", &settings));
  MM_TRY(mm_reproduce_keep_settings(f->r, "GridWorld", &settings));
  MM_TRY(mm_reproduce_learn(f->r, "learn-GridWorld-all", "GridWorld-all", &settings, &f->map[0]));
  for (int i = 1; i < N_MAP; i++)
    MM_TRY(mm_map_open(entrants[i].text, &f->map[i]));
  for (int e = 0; e < N_ENV; e++) {
    MM_TRY(mm_env_open(envs[e], &f->env[e]));
    for (int m = 0; m < N_MAP; m++)
      MM_TRY(mm_reproduce_settings(&f->r->plan, envs[e], "", &f->settings[e][m]));
  }
  f->n_step = (size_t)mm_settings_iterations(&settings);
  f->iteration = mm_settings_steps(&settings) / (double)f->n_step;
  return MM_OK;
}

static void show_tuning(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)env_steps;
  mm_reproduce_tell(user, "tuning eta of the controls", (double)done, (double)total, "runs");
}

static mm_status tune(figure *f) {
  const mm_reproduce_plan *plan = &f->r->plan;
  mm_backend_config backend = {
    .threads = f->r->job->threads, .stop = f->r->job->stop, .progress = show_tuning, .user = f->r
  };
  for (int e = 0; e < N_ENV; e++)
    for (int m = 0; m < N_MAP; m++) {
      mm_settings *own = &f->settings[e][m];
      mm_eta_tuning tuning;
      if (!entrants[m].tuned) continue;
      mm_eta_task task = { .env = f->env[e],
                           .map = f->map[m],
                           .env_label = envs[e],
                           .map_label = entrants[m].label,
                           .settings = own,
                           .seed = plan->seed,
                           .n_seed = mm_reproduce_tune_seeds(plan, MM_SUITE_GRIDWORLD) };
      MM_TRY(mm_eta_tune(&task, NULL, &backend, &tuning));
      *mm_settings_eta(own) = tuning.eta[tuning.best];
      f->r->result.env_steps += tuning.env_steps;
    }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Batches: what is to be run, in the database before the first run of it

typedef struct found {
  figure *f;
  int64_t n;
  mm_status status;
} found;

// The step sizes that were tuned before.
static int take_batch(const mm_run_batch *row, void *user) {
  found *b = user;
  size_t e = (size_t)row->batch / N_MAP, m = (size_t)row->batch % N_MAP;
  cJSON *tree = NULL;
  double eta;
  if (row->batch >= N_ENV * N_MAP || row->jobs != (int64_t)b->f->n_seed ||
      strcmp(row->env, envs[e]) != 0 || strcmp(row->map, entrants[m].label) != 0) {
    b->status = MM_FAIL(MM_ERR_INPUT, "%s/run.db: batch %lld is not one of this figure",
                        mm_reproduce_folder(b->f->r), (long long)row->batch);
    return 1;
  }
  b->status = mm_json_parse(row->settings, strlen(row->settings), "run.db: batch", &tree);
  if (b->status == MM_OK) b->status = mm_json_get_number(tree, "run.db: batch", "eta", &eta);
  cJSON_Delete(tree);
  if (b->status != MM_OK) return 1;
  *mm_settings_eta(&b->f->settings[e][m]) = eta;
  b->n++;
  return 0;
}

static mm_status put_batch(figure *f, size_t k) {
  const mm_settings *settings = &f->settings[k / N_MAP][k % N_MAP];
  cJSON *tree = mm_settings_json(settings);
  char *text = tree ? mm_json_print(tree, false) : NULL;
  cJSON_Delete(tree);
  if (!text) return MM_FAIL(MM_ERR_MEMORY, "no memory for settings");
  mm_run_batch row = { .batch = (int64_t)k,
                       .first = (int64_t)(k * f->n_seed),
                       .jobs = (int64_t)f->n_seed,
                       .role = "figure",
                       .env = envs[k / N_MAP],
                       .map = entrants[k % N_MAP].label,
                       .settings = text };
  mm_status status = mm_run_put_batch(f->r->run, &row);
  mm_free(text);
  return status;
}

static mm_status put_batches(figure *f) {
  MM_TRY(mm_run_begin(f->r->run));
  mm_status status = MM_OK;
  for (size_t k = 0; k < N_ENV * N_MAP && status == MM_OK; k++)
    status = put_batch(f, k);
  if (status == MM_OK) status = mm_run_commit(f->r->run);
  if (status != MM_OK) mm_run_drop(f->r->run);
  return status;
}

// All batches get in together, or none: then nothing was tuned yet.
static mm_status settle_batches(figure *f) {
  found b = { .f = f };
  mm_status walked = mm_run_each_batch(f->r->run, take_batch, &b);
  if (b.status != MM_OK) return b.status;
  if (walked != MM_OK) return walked;
  if (b.n == N_ENV * N_MAP) return MM_OK;
  MM_TRY(tune(f));
  return put_batches(f);
}

// ---------------------------------------------------------------------------------------------
// The runs

static mm_status put_measures(figure *f, size_t place, const mm_theory *t, double *x) {
  for (int what = 0; what < MEASURES; what++) {
    if (!is_measured(map_of(f, place), (measure)what)) continue;
    for (size_t k = 0; k < t->n_step; k++)
      x[k] = what == ERROR           ? t->step[k].estimation_error
             : what == ERROR_SAMPLED ? t->step[k].estimation_error_sampled
                                     : t->step[k].update_distance;
    MM_TRY(
        mm_run_put_measure(f->r->run, (int64_t)place, measure_names[what], f->step, x, t->n_step));
  }
  return MM_OK;
}

static mm_status put_run(figure *f, size_t place, const mm_theory *t, double *x) {
  mm_run_training row = { .job = (int64_t)place,
                          .seed = f->r->plan.seed + place % f->n_seed,
                          .status = t->broke_down ? MM_ERR_NUMERIC : MM_OK,
                          .final = t->final_value,
                          .recent = NAN,
                          .optimal = t->v_star,
                          .env_steps = (uint64_t)((double)t->n_step * f->iteration),
                          .points = (int64_t)t->n_step + 1 };
  for (size_t k = 0; k < t->n_step; k++)
    x[k] = t->step[k].value;
  x[t->n_step] = t->final_value;
  MM_TRY(mm_run_put_training(f->r->run, &row, f->step, x));
  return put_measures(f, place, t, x);
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
  size_t place = f->todo[unit];
  mm_settings *own = &f->settings[env_of(f, place)][map_of(f, place)];
  mm_job job = { .env = f->env[env_of(f, place)],
                 .map = f->map[map_of(f, place)],
                 .seed = f->r->plan.seed + place % f->n_seed };
  mm_theory theory;
  (void)worker;
  mm_settings_bind(own, &job);
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
  mm_reproduce_tell(f->r, "runs of the figure", (double)done, (double)f->n_todo, "runs");
}

static int mark_stored(const mm_run_training *row, void *user) {
  figure *f = user;
  if ((uint64_t)row->job < f->n) f->stored[row->job] = 1;
  return 0;
}

static mm_status list_runs(figure *f) {
  f->n = (size_t)N_ENV * N_MAP * f->n_seed;
  f->stored = mm_alloc_array(f->n, sizeof *f->stored);
  f->todo = mm_alloc_array(f->n, sizeof *f->todo);
  f->step = mm_alloc_array(f->n_step + 1, sizeof *f->step);
  if (!f->stored || !f->todo || !f->step)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", f->n);
  memset(f->stored, 0, f->n);
  for (size_t k = 0; k <= f->n_step; k++)
    f->step[k] = (uint64_t)((double)k * f->iteration);
  MM_TRY(mm_run_each_training(f->r->run, mark_stored, f));
  for (size_t i = 0; i < f->n; i++)
    if (!f->stored[i]) f->todo[f->n_todo++] = i;
  return MM_OK;
}

static mm_status run_all(figure *f) {
  int wanted = f->r->job->threads > 0 ? f->r->job->threads : mm_pool_cores(), threads;
  mm_pool_config pool = { .n = f->n_todo,
                          .threads = wanted,
                          .stop = f->r->job->stop,
                          .work = run_unit,
                          .watch = show_runs,
                          .user = f };
  f->trouble = f->n;
  if (pthread_mutex_init(&f->lock, NULL) != 0)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  mm_status status = mm_pool_run(&pool, &threads);
  if (status == MM_OK) show_runs(f);
  pthread_mutex_destroy(&f->lock);
  f->r->result.env_steps += f->env_steps;
  if (status != MM_OK) return status;
  if (f->trouble < f->n && f->status != MM_ERR_INTERRUPTED)
    return MM_FAIL(f->status, "map %s on %s: %s", entrants[map_of(f, f->trouble)].label,
                   envs[env_of(f, f->trouble)], f->error);
  if (f->done < f->n_todo) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// From the database to the result

// Curves of all runs: [n][n_step + 1], NaN where there is nothing.
typedef struct curves {
  const figure *f;
  double *value, *measure[MEASURES];
  mm_result *run; // [n] final and optimal value, status
  mm_status status;
} curves;

static void release_curves(curves *c) {
  mm_free(c->value);
  for (int what = 0; what < MEASURES; what++)
    mm_free(c->measure[what]);
  mm_free(c->run);
}

static mm_status take_curves(const figure *f, curves *c) {
  size_t n = f->n * (f->n_step + 1);
  *c = (curves){ .f = f, .value = mm_alloc_array(n, sizeof(double)) };
  c->run = mm_alloc_array(f->n, sizeof *c->run);
  bool all = c->value && c->run;
  for (int what = 0; what < MEASURES; what++) {
    c->measure[what] = mm_alloc_array(n, sizeof(double));
    all = all && c->measure[what];
  }
  if (!all) return MM_FAIL(MM_ERR_MEMORY, "no memory for the curves of %zu runs", f->n);
  for (size_t i = 0; i < n; i++) {
    c->value[i] = NAN;
    for (int what = 0; what < MEASURES; what++)
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

static int take_run(const mm_run_training *row, void *user) {
  curves *c = user;
  if ((uint64_t)row->job >= c->f->n) return 0;
  c->run[row->job] = (mm_result){ .status = row->status,
                                  .final_value = row->final,
                                  .optimal_value = row->optimal,
                                  .env_steps = row->env_steps };
  return 0;
}

static int take_point(int64_t job, uint64_t step, double value, void *user) {
  curves *c = user;
  double *at = point_at(c, c->value, job, step);
  if (at) *at = value;
  return 0;
}

static int take_measure(int64_t job, const char *name, uint64_t step, double value, void *user) {
  curves *c = user;
  for (int what = 0; what < MEASURES; what++) {
    double *at =
        strcmp(name, measure_names[what]) == 0 ? point_at(c, c->measure[what], job, step) : NULL;
    if (at) *at = value;
  }
  return 0;
}

static mm_status read_curves(curves *c) {
  mm_run *run = c->f->r->run;
  MM_TRY(mm_run_each_training(run, take_run, c));
  MM_TRY(mm_run_each_point(run, take_point, c));
  MM_TRY(mm_run_each_measure(run, take_measure, c));
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
  const figure *f = c->f;
  mm_curve_point *point = mm_alloc_array(n_point, sizeof *point);
  if (!point) return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve");
  for (size_t t = 0; t < n_point; t++) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_seed; i++) {
      double y = of[(cell_place * f->n_seed + i) * (f->n_step + 1) + t];
      if (!isnan(y)) x[n++] = y;
    }
    mm_estimate e = n > 0 ? mm_estimate_of(x, n) : (mm_estimate){ NAN, NAN };
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

static void measure_run(const curves *c, size_t place, size_t i, mm_reproduction_cell *cell) {
  const size_t T = c->f->n_step, early = T < EARLY ? T : EARLY, late = T < LATE ? T : LATE;
  const double *v = c->value + place * (T + 1);
  // the range is the task's, the same for every map
  double range = c->run[place].optimal_value - v[0], drops = 0;
  for (size_t t = 0; t < T; t++)
    drops += v[t + 1] - v[t] < -0.01 * range;
  cell->run[MM_QUANTITY_FINAL][i] = c->run[place].final_value;
  cell->run[MM_QUANTITY_LATE][i] = mean_of(v, T + 1 - late, T + 1);
  cell->run[MM_QUANTITY_DROPS][i] = drops;
  cell->run[MM_QUANTITY_EARLY][i] = v[early] - v[0] - (v[T] - v[0]) / 2;
  cell->run[MM_QUANTITY_DISTANCE][i] = mean_of(c->measure[DISTANCE] + place * (T + 1), 0, early);
  if (cell->run[MM_QUANTITY_ERROR])
    cell->run[MM_QUANTITY_ERROR][i] = mean_of(c->measure[ERROR] + place * (T + 1), 0, T);
}

static mm_status fill_cell(const curves *c, size_t e, size_t m, double *x) {
  const figure *f = c->f;
  mm_reproduction *result = &f->r->result;
  mm_reproduction_cell *cell;
  size_t place = e * N_MAP + m;
  double optimal = 0;
  MM_TRY(mm_reproduction_add(result, envs[e], entrants[m].label, "", f->n_seed, &cell));
  cell->control = entrants[m].control;
  cell->eta = f->settings[e][m].pmd.eta;
  for (int q = 0; q < MM_QUANTITIES; q++)
    if (q != MM_QUANTITY_ERROR || is_measured(m, ERROR))
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
  for (int what = 0; what < MEASURES; what++)
    if (is_measured(m, (measure)what))
      MM_TRY(add_curve(c, c->measure[what], measure_names[what], place, f->n_step, x, cell));
  return MM_OK;
}

static mm_status fill(figure *f) {
  curves c;
  double *x = mm_alloc_array(f->n_seed, sizeof *x);
  mm_status status = take_curves(f, &c);
  if (!x) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", f->n_seed);
  if (status == MM_OK) status = read_curves(&c);
  for (size_t k = 0; k < N_ENV * N_MAP && status == MM_OK; k++)
    status = fill_cell(&c, k / N_MAP, k % N_MAP, x);
  release_curves(&c);
  mm_free(x);
  return status;
}

// ---------------------------------------------------------------------------------------------
// The configurations that the figure does not show: final values of its three maps

static mm_status run_others(figure *f) {
  static const char *const others[] = { "GridWorld-longer",          "GridWorld-long_dense",
                                        "GridWorld-sixteen_rooms_2", "GridWorld-labyrinth_flipped",
                                        "GridWorld-labyrinth_2",     "GridWorld-standard_maze",
                                        "GridWorld-standard_maze_2", "GridWorld-standard_maze_3",
                                        "GridWorld-small_corridor" };
  mm_reproduce_entrant row[N_SHOWN];
  for (size_t m = 0; m < N_SHOWN; m++)
    row[m] = (mm_reproduce_entrant){ .map = f->map[m],
                                     .name = entrants[m].label,
                                     .label = entrants[m].label,
                                     .paper_map = MM_REPRODUCE_NO_PAPER };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    mm_settings settings;
    MM_TRY(mm_reproduce_settings(&f->r->plan, others[i], "", &settings));
    MM_TRY(mm_reproduce_table(f->r, others[i], "", &settings, row, N_SHOWN));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// What the paper says of it

// a's quantity is above b's.
static mm_status claim_above(mm_reproduction *r, const char *env, const char *a, const char *b,
                             mm_quantity quantity, const char *text) {
  mm_estimate gain = mm_reproduction_difference(
      mm_reproduction_find(r, env, a, ""), mm_reproduction_find(r, env, b, ""), quantity, NULL);
  return mm_reproduction_claim(r, env, "", gain, text);
}

static mm_status claim(mm_reproduction *r) {
  for (int e = 0; e < N_ENV; e++) {
    const char *env = envs[e];
    MM_TRY(claim_above(r, env, "learned", "l2", MM_QUANTITY_FINAL, "final value: learned > l2"));
    MM_TRY(
        claim_above(r, env, "l2", "negentropy", MM_QUANTITY_FINAL, "final value: l2 > negentropy"));
    MM_TRY(
        claim_above(r, env, "learned", "l2", MM_QUANTITY_ERROR, "estimation error: learned > l2"));
    MM_TRY(claim_above(r, env, "l2", "negentropy", MM_QUANTITY_ERROR,
                       "estimation error: l2 > negentropy"));
    MM_TRY(claim_above(r, env, "l2", "learned", MM_QUANTITY_DISTANCE,
                       "early policy distance: learned < l2"));
    MM_TRY(claim_above(r, env, "negentropy", "learned", MM_QUANTITY_DISTANCE,
                       "early policy distance: learned < negentropy"));
    MM_TRY(claim_above(r, env, "l2", "learned", MM_QUANTITY_DROPS,
                       "drops in value: learned fewer than l2"));
    MM_TRY(claim_above(r, env, "negentropy", "learned", MM_QUANTITY_DROPS,
                       "drops in value: learned fewer than negentropy"));
    MM_TRY(mm_reproduction_claim(
        r, env, "", mm_reproduction_find(r, env, "learned", "")->value[MM_QUANTITY_EARLY],
        "more than half of the gain within 50,000 steps (learned)"));
  }
  return MM_OK;
}

static mm_status annotate(figure *f) {
  mm_reproduction *r = &f->r->result;
  MM_TRY(mm_reproduction_note(
      r, "the paper's figure gives no numbers and does not name its five configurations: the first "
         "five are our choice, the last nine are those left over; GridWorld-all are its random "
         "tasks"));
  MM_TRY(mm_reproduction_note(
      r,
      "every run has an instance of its own, the same ones and the same random numbers for every "
      "map; values are exact, errors over all reachable states and actions"));
  MM_TRY(mm_reproduction_note(r, "tuned-eta: the best of nine values, 2^-4 to 2^4 times 0.1, on "
                                 "seeds of their own, for each column"));
  return claim(r);
}

static mm_status draw(const mm_reproduction *result, const char *path, void *user) {
  static const char *const titles[N_ENV] = { "dense",         "sparse",    "long",
                                             "sixteen rooms", "labyrinth", "random tasks" };
  static const char *const shown[] = { "learned", "l2", "negentropy" };
  static const mm_reproduction_row rows[] = {
    { "value", "value, exact", false },
    { "estimation_error", "estimation error", true },
    { "update_distance", "policy distance", true },
  };
  mm_reproduction_grid grid = { .row = rows,
                                .n_row = 3,
                                .env = envs,
                                .title = titles,
                                .n_env = N_ENV,
                                .map = shown,
                                .n_map = 3,
                                .target = "",
                                .heading = "Tabular PMD on Grid-World" };
  (void)user;
  return mm_reproduction_figure_grid(result, &grid, path);
}

// ---------------------------------------------------------------------------------------------

static void close_figure(figure *f) {
  for (int i = 0; i < N_MAP; i++)
    mm_map_destroy(f->map[i]);
  for (int i = 0; i < N_ENV; i++)
    mm_env_destroy(f->env[i]);
  mm_free(f->stored);
  mm_free(f->todo);
  mm_free(f->step);
  mm_free(f);
}

static mm_status make(figure *f) {
  MM_TRY(open_maps(f));
  MM_TRY(settle_batches(f));
  MM_TRY(list_runs(f));
  MM_TRY(run_all(f));
  MM_TRY(fill(f));
  MM_TRY(run_others(f));
  MM_TRY(mm_reproduction_summarise(&f->r->result));
  MM_TRY(annotate(f));
  return mm_reproduce_picture(f->r, "gridworld", draw, NULL);
}

mm_status mm_reproduce_gridworld(mm_reproduce *r) {
  figure *f = mm_alloc(sizeof *f);
  if (!f) return MM_FAIL(MM_ERR_MEMORY, "no memory for a figure");
  memset(f, 0, sizeof *f);
  f->r = r;
  f->n_seed = mm_reproduce_seeds(&r->plan, MM_SUITE_GRIDWORLD);
  mm_status status = make(f);
  close_figure(f);
  return status;
}
