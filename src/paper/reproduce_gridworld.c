// The Grid-World figure: tabular PMD on five held-out configurations and on random tasks, with the
// map of a search, l2, negative entropy and the controls. Exact values, estimation errors and
// policy distances of every iteration come from runs as `theory` makes them, many seeds at once;
// each is stored as it ends, and what the figure shows is read back from the database.

#define _POSIX_C_SOURCE 200809L

#include "paper/reproduce_gridworld.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/pool.h"
#include "paper/reproduction_figure.h"
#include "study/jobs/eta_tuning.h"
#include "study/theory/theory.h"

const char *const mm_grid_figure_env[MM_GRID_FIGURE_ENVS] = {
  "GridWorld-dense",         "GridWorld-sparse",    "GridWorld-long",
  "GridWorld-sixteen_rooms", "GridWorld-labyrinth", "GridWorld-all"
};

const mm_grid_figure_map mm_grid_figure_map_list[MM_GRID_FIGURE_MAPS] = {
  { "learned", false, false },    { "l2", false, false },
  { "negentropy", false, false }, { "initial", true, false },
  { "random", true, false },      { "tsallis:0.5", true, false },
  { "tsallis:1.5", true, false }, { "negentropy:tuned-eta", true, true },
  { "l2:tuned-eta", true, true },
};

const char *const mm_grid_measure_name[MM_GRID_MEASURES] = { "estimation_error",
                                                             "estimation_error_sampled",
                                                             "update_distance" };

bool mm_grid_is_measured(size_t map, mm_grid_measure what) {
  return !mm_grid_figure_map_list[map].control || what == MM_GRID_DISTANCE;
}

static size_t env_of(const mm_grid_figure *f, size_t place) {
  return place / f->n_seed / MM_GRID_FIGURE_MAPS;
}

static size_t map_of(const mm_grid_figure *f, size_t place) {
  return place / f->n_seed % MM_GRID_FIGURE_MAPS;
}

// ---------------------------------------------------------------------------------------------
// Before the runs: maps, environments, step sizes

// Initial and random map are of the family that is searched.
static mm_status open_others(mm_grid_figure *f, const mm_settings *settings) {
  bool neural = mm_search_map_kind(&settings->search) == MM_MAP_NEURAL;
  char initial[32] = "neural";
  if (!neural) snprintf(initial, sizeof initial, "piecewise:%.0f", settings->search.n);
  const char *const text[MM_GRID_FIGURE_MAPS] = {
    NULL,          "l2",          "negentropy", initial, neural ? "random-neural:0" : "random:0",
    "tsallis:0.5", "tsallis:1.5", "negentropy", "l2"
  };
  for (int i = 1; i < MM_GRID_FIGURE_MAPS; i++)
    MM_TRY(mm_map_open(text[i], &f->map[i]));
  return MM_OK;
}

static mm_status open_maps(mm_grid_figure *f) {
  mm_settings settings;
  MM_TRY(mm_reproduce_settings(&f->r->plan, "GridWorld-all", "", &settings));
  MM_TRY(mm_reproduce_keep_settings(f->r, "GridWorld", &settings));
  MM_TRY(mm_reproduce_learn(f->r, "learn-GridWorld-all", "GridWorld-all", &settings, &f->map[0]));
  MM_TRY(open_others(f, &settings));
  for (int e = 0; e < MM_GRID_FIGURE_ENVS; e++) {
    MM_TRY(mm_env_open(mm_grid_figure_env[e], &f->env[e]));
    for (int m = 0; m < MM_GRID_FIGURE_MAPS; m++)
      MM_TRY(mm_reproduce_settings(&f->r->plan, mm_grid_figure_env[e], "", &f->settings[e][m]));
  }
  f->n_step = (size_t)mm_settings_iterations(&settings);
  f->iteration = mm_settings_steps(&settings) / (double)f->n_step;
  return MM_OK;
}

static void show_tuning(size_t done, size_t total, uint64_t env_steps, void *user) {
  (void)env_steps;
  mm_reproduce_tell(user, "tuning eta of the controls", (double)done, (double)total, "runs");
}

static mm_status tune(mm_grid_figure *f) {
  const mm_reproduce_plan *plan = &f->r->plan;
  mm_backend_config backend = { .place = f->r->job->place,
                                .threads = f->r->job->threads,
                                .job_timeout = f->r->job->job_timeout,
                                .stop = f->r->job->stop,
                                .progress = show_tuning,
                                .user = f->r };
  for (int e = 0; e < MM_GRID_FIGURE_ENVS; e++)
    for (int m = 0; m < MM_GRID_FIGURE_MAPS; m++) {
      mm_settings *own = &f->settings[e][m];
      mm_eta_tuning tuning;
      if (!mm_grid_figure_map_list[m].tuned) continue;
      mm_eta_task task = { .env = f->env[e],
                           .map = f->map[m],
                           .env_label = mm_grid_figure_env[e],
                           .map_label = mm_grid_figure_map_list[m].label,
                           .settings = own,
                           .seed = plan->seed,
                           .n_seed = mm_reproduce_tune_seeds(plan, MM_SUITE_GRIDWORLD) };
      MM_TRY(mm_eta_tune(&task, NULL, &backend, &tuning));
      *mm_settings_eta(own) = tuning.eta[tuning.best];
      f->r->result.env_steps += tuning.env_steps;
      mm_reproduce_ran(f->r, tuning.ran);
    }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Batches: what is to be run, in the database before the first run of it

typedef struct found {
  mm_grid_figure *f;
  int64_t n;
  mm_status status;
} found;

static mm_status fail_batch(const found *b, const mm_run_batch *row) {
  return MM_FAIL(MM_ERR_INPUT, "%s/run.db: batch %lld is not one of this figure",
                 mm_reproduce_folder(b->f->r), (long long)row->batch);
}

// Settings of a batch: those of the plan, with an eta of its own where it was tuned.
static mm_status read_batch(const found *b, const mm_run_batch *row, bool tuned,
                            mm_settings *settings) {
  char source[MM_REPRODUCE_PATH + 64];
  cJSON *tree;
  mm_settings stored = *settings, expected = *settings;
  snprintf(source, sizeof source, "%s/run.db: batch %lld", mm_reproduce_folder(b->f->r),
           (long long)row->batch);
  MM_TRY(mm_json_parse(row->settings, strlen(row->settings), source, &tree));
  mm_status status = mm_settings_read(tree, source, 0, mm_settings_own(stored.algo), &stored);
  cJSON_Delete(tree);
  if (status != MM_OK) return status;
  if (tuned) *mm_settings_eta(&expected) = *mm_settings_eta(&stored);
  if (!mm_reproduce_same_settings(&stored, &expected, false)) return fail_batch(b, row);
  *settings = expected;
  return MM_OK;
}

// The step sizes that were tuned before.
static int take_batch(const mm_run_row *any, void *user) {
  const mm_run_batch *row = &any->batch;
  found *b = user;
  size_t e = (size_t)row->batch / MM_GRID_FIGURE_MAPS, m = (size_t)row->batch % MM_GRID_FIGURE_MAPS;
  if (row->batch >= MM_GRID_FIGURE_CELLS || row->jobs != (int64_t)b->f->n_seed ||
      strcmp(row->env, mm_grid_figure_env[e]) != 0 ||
      strcmp(row->map, mm_grid_figure_map_list[m].label) != 0)
    b->status = fail_batch(b, row);
  else
    b->status = read_batch(b, row, mm_grid_figure_map_list[m].tuned, &b->f->settings[e][m]);
  b->n++;
  return b->status != MM_OK;
}

static mm_status put_batch(mm_grid_figure *f, size_t k) {
  const mm_settings *settings = &f->settings[k / MM_GRID_FIGURE_MAPS][k % MM_GRID_FIGURE_MAPS];
  cJSON *tree = mm_settings_json(settings);
  char *text = tree ? mm_json_print(tree, false) : NULL;
  cJSON_Delete(tree);
  if (!text) return MM_FAIL(MM_ERR_MEMORY, "no memory for settings");
  mm_run_batch row = { .batch = (int64_t)k,
                       .first = (int64_t)(k * f->n_seed),
                       .jobs = (int64_t)f->n_seed,
                       .role = "figure",
                       .env = mm_grid_figure_env[k / MM_GRID_FIGURE_MAPS],
                       .map = mm_grid_figure_map_list[k % MM_GRID_FIGURE_MAPS].label,
                       .settings = text };
  mm_status status = mm_run_put_batch(f->r->run, &row);
  mm_free(text);
  return status;
}

static mm_status put_batches(mm_grid_figure *f) {
  MM_TRY(mm_run_begin(f->r->run));
  mm_status status = MM_OK;
  for (size_t k = 0; k < MM_GRID_FIGURE_CELLS && status == MM_OK; k++)
    status = put_batch(f, k);
  if (status == MM_OK) status = mm_run_commit(f->r->run);
  if (status != MM_OK) mm_run_drop(f->r->run);
  return status;
}

// All batches get in together, or none: then nothing was tuned yet.
static mm_status settle_batches(mm_grid_figure *f) {
  found b = { .f = f };
  mm_status walked = mm_run_each(f->r->run, MM_RUN_BATCH, take_batch, &b);
  if (b.status != MM_OK) return b.status;
  if (walked != MM_OK) return walked;
  if (b.n == MM_GRID_FIGURE_CELLS) return MM_OK;
  MM_TRY(tune(f));
  return put_batches(f);
}

// ---------------------------------------------------------------------------------------------
// The runs

static mm_status put_measures(mm_grid_figure *f, size_t place, const mm_theory *t, double *x) {
  for (int what = 0; what < MM_GRID_MEASURES; what++) {
    if (!mm_grid_is_measured(map_of(f, place), (mm_grid_measure)what)) continue;
    for (size_t k = 0; k < t->n_step; k++)
      x[k] = what == MM_GRID_ERROR           ? t->step[k].estimation_error
             : what == MM_GRID_ERROR_SAMPLED ? t->step[k].estimation_error_sampled
                                             : t->step[k].update_distance;
    MM_TRY(mm_run_put_measure(f->r->run, (int64_t)place, mm_grid_measure_name[what], f->step, x,
                              t->n_step));
  }
  return MM_OK;
}

static mm_status put_run(mm_grid_figure *f, size_t place, const mm_theory *t, double *x) {
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
static mm_status store(mm_grid_figure *f, size_t place, const mm_theory *t) {
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
  mm_grid_figure *f = user;
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
  mm_grid_figure *f = user;
  pthread_mutex_lock(&f->lock);
  size_t done = f->done;
  pthread_mutex_unlock(&f->lock);
  mm_reproduce_tell(f->r, "runs of the figure", (double)done, (double)f->n_todo, "runs");
}

// Runs of other seeds would be taken for those of this plan.
static int mark_stored(const mm_run_row *any, void *user) {
  const mm_run_training *row = &any->training;
  mm_grid_figure *f = user;
  if ((uint64_t)row->job < f->n && row->seed == f->r->plan.seed + (uint64_t)row->job % f->n_seed) {
    f->stored[row->job] = 1;
    return 0;
  }
  f->status = MM_FAIL(MM_ERR_INPUT, "%s/run.db: run %lld is not one of this figure",
                      mm_reproduce_folder(f->r), (long long)row->job);
  return 1;
}

static mm_status list_runs(mm_grid_figure *f) {
  f->n = (size_t)MM_GRID_FIGURE_CELLS * f->n_seed;
  f->stored = mm_alloc_array(f->n, sizeof *f->stored);
  f->todo = mm_alloc_array(f->n, sizeof *f->todo);
  f->step = mm_alloc_array(f->n_step + 1, sizeof *f->step);
  if (!f->stored || !f->todo || !f->step)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu runs", f->n);
  memset(f->stored, 0, f->n);
  for (size_t k = 0; k <= f->n_step; k++)
    f->step[k] = (uint64_t)((double)k * f->iteration);
  MM_TRY(mm_run_each(f->r->run, MM_RUN_TRAINING, mark_stored, f));
  MM_TRY(f->status);
  for (size_t i = 0; i < f->n; i++)
    if (!f->stored[i]) f->todo[f->n_todo++] = i;
  return MM_OK;
}

static mm_status run_all(mm_grid_figure *f) {
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
  if (f->n_todo > 0) mm_reproduce_ran(f->r, MM_BACKEND_ON_CPU); // theory.c looks at every iteration
  if (status != MM_OK) return status;
  if (f->trouble < f->n && f->status != MM_ERR_INTERRUPTED)
    return MM_FAIL(f->status, "map %s on %s: %s",
                   mm_grid_figure_map_list[map_of(f, f->trouble)].label,
                   mm_grid_figure_env[env_of(f, f->trouble)], f->error);
  if (f->done < f->n_todo) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The configurations that the figure does not show: final values of its three maps

static mm_status run_others(mm_grid_figure *f) {
  static const char *const others[] = { "GridWorld-longer",          "GridWorld-long_dense",
                                        "GridWorld-sixteen_rooms_2", "GridWorld-labyrinth_flipped",
                                        "GridWorld-labyrinth_2",     "GridWorld-standard_maze",
                                        "GridWorld-standard_maze_2", "GridWorld-standard_maze_3",
                                        "GridWorld-small_corridor" };
  mm_reproduce_entrant row[MM_GRID_FIGURE_SHOWN];
  for (size_t m = 0; m < MM_GRID_FIGURE_SHOWN; m++)
    row[m] = (mm_reproduce_entrant){ .map = f->map[m],
                                     .name = mm_grid_figure_map_list[m].label,
                                     .label = mm_grid_figure_map_list[m].label,
                                     .paper_map = MM_REPRODUCE_NO_PAPER };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    mm_settings settings;
    MM_TRY(mm_reproduce_settings(&f->r->plan, others[i], "", &settings));
    MM_TRY(mm_reproduce_table(f->r, others[i], "", &settings, row, MM_GRID_FIGURE_SHOWN));
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// What the paper says of it

// a's quantity is above b's.
static mm_status claim_above(mm_reproduction *r, const char *env, const char *a, const char *b,
                             mm_quantity quantity, const char *text) {
  const mm_reproduction_cell *x = mm_reproduction_find(r, env, a, ""),
                             *y = mm_reproduction_find(r, env, b, "");
  return mm_reproduction_claim(r, env, "", mm_reproduction_compare(x, y, quantity).gain, text);
}

static mm_status claim(mm_reproduction *r) {
  for (int e = 0; e < MM_GRID_FIGURE_ENVS; e++) {
    const char *env = mm_grid_figure_env[e];
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
    const mm_reproduction_cell *learned = mm_reproduction_find(r, env, "learned", "");
    MM_TRY(mm_reproduction_claim(r, env, "", learned->value[MM_QUANTITY_EARLY],
                                 "more than half of the gain within 50,000 steps (learned)"));
  }
  return MM_OK;
}

static mm_status annotate(mm_grid_figure *f) {
  mm_reproduction *r = &f->r->result;
  MM_TRY(mm_reproduction_note(
      r, "the paper's figure gives no numbers and does not name its five configurations: the first "
         "five are our choice, the last nine are those left over; GridWorld-all are its random "
         "tasks"));
  MM_TRY(mm_reproduction_note(
      r,
      "every run has an instance of its own, the same ones and the same random numbers for every "
      "map; values are exact, errors over all reachable states and actions"));
  mm_settings settings;
  MM_TRY(mm_reproduce_settings(&f->r->plan, "GridWorld-all", "", &settings));
  MM_TRY(mm_reproduce_note_tuning(f->r, &settings,
                                  mm_reproduce_tune_seeds(&f->r->plan, MM_SUITE_GRIDWORLD)));
  return claim(r);
}

static mm_status draw(const mm_reproduction *result, const char *path, void *user) {
  static const char *const titles[MM_GRID_FIGURE_ENVS] = { "dense",     "sparse",
                                                           "long",      "sixteen rooms",
                                                           "labyrinth", "random tasks" };
  static const char *const shown[] = { "learned", "l2", "negentropy" };
  static const mm_reproduction_row rows[] = {
    { "value", "value, exact", false },
    { "estimation_error", "estimation error", true },
    { "update_distance", "policy distance", true },
  };
  mm_reproduction_grid grid = { .row = rows,
                                .n_row = 3,
                                .env = mm_grid_figure_env,
                                .title = titles,
                                .n_env = MM_GRID_FIGURE_ENVS,
                                .map = shown,
                                .n_map = 3,
                                .target = "",
                                .heading = "Tabular PMD on Grid-World" };
  (void)user;
  return mm_reproduction_figure_grid(result, &grid, path);
}

// ---------------------------------------------------------------------------------------------

static void close_figure(mm_grid_figure *f) {
  for (int i = 0; i < MM_GRID_FIGURE_MAPS; i++)
    mm_map_destroy(f->map[i]);
  for (int i = 0; i < MM_GRID_FIGURE_ENVS; i++)
    mm_env_destroy(f->env[i]);
  mm_free(f->stored);
  mm_free(f->todo);
  mm_free(f->step);
  mm_free(f);
}

static mm_status make(mm_grid_figure *f) {
  MM_TRY(open_maps(f));
  MM_TRY(settle_batches(f));
  MM_TRY(list_runs(f));
  MM_TRY(run_all(f));
  MM_TRY(mm_grid_figure_fill(f));
  MM_TRY(run_others(f));
  mm_reproduction_summarise(&f->r->result);
  MM_TRY(annotate(f));
  return mm_reproduce_picture(f->r, "gridworld", draw, NULL);
}

mm_status mm_reproduce_gridworld(mm_reproduce *r) {
  mm_grid_figure *f = mm_alloc(sizeof *f);
  if (!f) return MM_FAIL(MM_ERR_MEMORY, "no memory for a figure");
  memset(f, 0, sizeof *f);
  f->r = r;
  f->n_seed = mm_reproduce_seeds(&r->plan, MM_SUITE_GRIDWORLD);
  mm_status status = make(f);
  close_figure(f);
  return status;
}
