// SPDX-License-Identifier: Apache-2.0
// Maps x environments x seeds. Jobs lie in the order [env][map][seed]: all jobs of an environment
// follow each other, and a cell's results are a slice of the list.

#include "study/transfer/transfer.h"

#include <math.h>
#include <string.h>

#include "study/jobs/eta_tuning.h"
#include "study/theory/theory.h"

// ---------------------------------------------------------------------------------------------
// Places

const mm_transfer_cell *mm_transfer_at(const mm_transfer *t, size_t map, size_t env) {
  return &t->cell[map * t->config.n_env + env];
}

static double *worths_of(const mm_transfer *t, size_t map, size_t env) {
  return t->worth + (map * t->config.n_env + env) * t->config.n_seed;
}

// The row whose map has this kind; of several the one that is called so.
static size_t find_kind(const mm_transfer_config *c, mm_map_kind kind) {
  size_t found = c->n_map;
  for (size_t i = c->n_map; i-- > 0;)
    if (mm_map_get_kind(c->map[i].map) == kind && !c->map[i].tuned) found = i;
  for (size_t i = 0; i < c->n_map; i++)
    if (strcmp(c->map[i].name, mm_map_kind_name(kind)) == 0) found = i;
  return found;
}

size_t mm_transfer_baseline(const mm_transfer_config *c, mm_baseline baseline) {
  return find_kind(c, baseline == MM_BASELINE_L2 ? MM_MAP_L2 : MM_MAP_NEGENTROPY);
}

double mm_transfer_speed(const mm_transfer *t) {
  return t->own_steps > 0 ? (double)t->own_steps / t->wall_seconds : 0;
}

bool mm_transfer_has_curves(const mm_transfer *t) {
  for (size_t i = 0; i < t->config.n_map * t->config.n_env; i++)
    if (t->cell[i].n_curve > 1) return true;
  return false;
}

// ---------------------------------------------------------------------------------------------
// From results to numbers

static mm_status summarise_cell(mm_transfer *t, size_t map, size_t env, const mm_result *runs) {
  mm_transfer_cell *cell = &t->cell[map * t->config.n_env + env];
  double *worth = worths_of(t, map, env);
  for (size_t i = 0; i < t->config.n_seed; i++) {
    bool has_value = mm_result_has_value(&runs[i]);
    worth[i] = mm_result_worth(&runs[i]);
    cell->n_numeric += has_value && runs[i].status != MM_OK;
    cell->n_failed += !has_value;
    cell->n_failure += mm_result_is_failure(&runs[i]);
    t->env_steps += runs[i].env_steps;
    if (runs[i].env_steps > t->steps[env]) t->steps[env] = runs[i].env_steps;
    // V* is the instance's, whichever map found it out
    double *optimal = &t->optimal[env * t->config.n_seed + i];
    if (has_value && isnan(*optimal)) *optimal = runs[i].optimal_value;
  }
  cell->of = mm_estimate_worths(worth, t->config.n_seed, t->config.seed);
  return mm_estimate_curve(runs, t->config.n_seed, &cell->curve, &cell->n_curve);
}

// A baseline is not tested against itself.
static mm_comparison compare_cell(const mm_transfer *t, size_t map, size_t env, size_t from) {
  if (from == t->config.n_map) return MM_COMPARISON_NONE;
  mm_comparison over = mm_comparison_of(worths_of(t, map, env), worths_of(t, from, env),
                                        t->config.n_seed, t->config.seed);
  if (map == from) over.p = NAN;
  return over;
}

void mm_transfer_compare(mm_transfer *t) {
  const size_t n = t->config.n_map * t->config.n_env;
  for (int b = 0; b < MM_BASELINES; b++) {
    for (size_t i = 0; i < n; i++)
      t->cell[i].over[b] =
          compare_cell(t, i / t->config.n_env, i % t->config.n_env, t->baseline[b]);
    t->n_test[b] = mm_comparisons_correct(&t->cell[0].over[b], n, sizeof t->cell[0]);
  }
}

static mm_status summarise(mm_transfer *t, const mm_result *results) {
  const mm_transfer_config *c = &t->config;
  for (size_t i = 0; i < c->n_env * c->n_seed; i++)
    t->optimal[i] = NAN;
  for (size_t e = 0; e < c->n_env; e++) {
    for (size_t m = 0; m < c->n_map; m++)
      MM_TRY(summarise_cell(t, m, e, results + (e * c->n_map + m) * c->n_seed));
    t->optimal_mean[e] = mm_estimate_of(t->optimal + e * c->n_seed, c->n_seed).mean;
  }
  mm_transfer_compare(t);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Running

// The table's numbers, all slices of one block.
static mm_status alloc_table(mm_transfer *t) {
  const mm_transfer_config *c = &t->config;
  size_t cells = c->n_map * c->n_env, runs = c->n_env * c->n_seed;
  mm_arena arena;
  mm_status status = mm_arena_create(mm_arena_size_of(cells * sizeof *t->cell) +
                                         mm_arena_size_of(cells * sizeof *t->settings) +
                                         mm_arena_size_of(cells * c->n_seed * sizeof *t->worth) +
                                         mm_arena_size_of(runs * sizeof *t->optimal) +
                                         mm_arena_size_of(c->n_env * sizeof *t->optimal_mean) +
                                         mm_arena_size_of(c->n_env * sizeof *t->steps),
                                     &arena);
  if (status != MM_OK)
    return MM_FAIL(status, "no memory for a table of %zu maps on %zu environments", c->n_map,
                   c->n_env);
  t->cell = mm_arena_take(&arena, cells * sizeof *t->cell);
  t->settings = mm_arena_take(&arena, cells * sizeof *t->settings);
  t->worth = mm_arena_take(&arena, cells * c->n_seed * sizeof *t->worth);
  t->optimal = mm_arena_take(&arena, runs * sizeof *t->optimal);
  t->optimal_mean = mm_arena_take(&arena, c->n_env * sizeof *t->optimal_mean);
  t->steps = mm_arena_take(&arena, c->n_env * sizeof *t->steps);
  t->arena = arena;
  return MM_OK;
}

// Follows a store while it works: what it could not keep is told.
typedef struct follower {
  const mm_transfer_config *config;
  mm_job_store *store;
  const uint64_t *tune_steps; // done by now
} follower;

static void tell_trouble(const follower *f) {
  char sentence[MM_ERROR_SIZE];
  if (f->config->trouble && mm_job_store_trouble(f->store, sentence))
    f->config->trouble(sentence, f->config->backend.user);
}

static void follow(size_t done, size_t total, uint64_t env_steps, void *user) {
  const follower *f = user;
  tell_trouble(f);
  if (f->config->backend.progress)
    f->config->backend.progress(done, total, *f->tune_steps + env_steps, f->config->backend.user);
}

// Progress counts the runs of the table, of which there are none yet.
static void follow_tuning(size_t done, size_t total, uint64_t env_steps, void *user) {
  const follower *f = user;
  const mm_transfer_config *c = f->config;
  (void)done, (void)total;
  follow(0, c->n_map * c->n_env * c->n_seed, env_steps, user);
}

double mm_transfer_planned_steps(const mm_transfer_config *c) {
  double steps = 0;
  for (size_t i = 0; i < c->n_map * c->n_env; i++) {
    mm_settings settings = c->env[i % c->n_env].settings;
    const mm_transfer_map *map = &c->map[i / c->n_env];
    const double run = mm_settings_steps(&settings);
    steps += (double)c->n_seed * run;
    if (map->tuned && mm_settings_number(&settings, "eta"))
      steps += c->tune_budget > 0 ? c->tune_budget : (double)MM_ETAS * (double)c->n_tune * run;
  }
  return steps;
}

double mm_transfer_least_budget(const mm_transfer_config *c) {
  double least = 0;
  for (size_t i = 0; i < c->n_map * c->n_env; i++) {
    const mm_transfer_map *row = &c->map[i / c->n_env];
    const mm_settings *settings = &c->env[i % c->n_env].settings;
    if (row->tuned) least = fmax(least, mm_eta_least(settings, row->tuned_q));
  }
  return least;
}

// Settings of every cell; where a row wants its own eta, or q, it is found first.
static mm_status tune_etas(mm_transfer *t, mm_job_store *store) {
  const mm_transfer_config *c = &t->config;
  follower f = { c, store, &t->tune_steps };
  mm_backend_config backend = c->backend;
  backend.progress = follow_tuning;
  backend.user = &f;
  for (size_t i = 0; i < c->n_map * c->n_env; i++) {
    size_t m = i / c->n_env, e = i % c->n_env;
    mm_settings *own = &t->settings[i];
    *own = c->env[e].settings;
    double *eta = mm_settings_number(own, "eta");
    t->cell[i].q = NAN;
    if (eta && c->map[m].tuned) {
      mm_eta_choice chosen;
      mm_eta_task task = { .env = c->env[e].env,
                           .map = c->map[m].map,
                           .env_label = c->env[e].label,
                           .map_label = c->map[m].label,
                           .settings = own,
                           .seed = c->seed,
                           .n_seed = c->n_tune,
                           .budget = c->tune_budget,
                           .tunes_q = c->map[m].tuned_q };
      MM_TRY(mm_eta_choose(&task, store, &backend, &chosen));
      *eta = chosen.eta;
      t->cell[i].q = chosen.q;
      t->tune_steps += chosen.env_steps;
      if (c->map[m].tuned_q) MM_TRY(mm_eta_map(chosen.q, &t->cell[i].map));
    } else if (eta && c->map[m].eta > 0) {
      *eta = c->map[m].eta;
    }
    t->cell[i].eta = eta ? *eta : NAN;
  }
  return MM_OK;
}

// One batch per cell; *first is the place of the first.
static mm_status list_jobs(const mm_transfer *t, mm_job_store *store, mm_job *job, size_t *first) {
  const mm_transfer_config *c = &t->config;
  for (size_t i = 0; i < c->n_env * c->n_map; i++, job += c->n_seed) {
    size_t e = i / c->n_map, m = i % c->n_map;
    const mm_job_batch batch = { .jobs = c->n_seed,
                                 .role = "table",
                                 .env = c->env[e].label,
                                 .map = c->map[m].label,
                                 .settings = &t->settings[m * c->n_env + e] };
    const mm_map *own = t->cell[m * c->n_env + e].map;
    MM_TRY(mm_job_store_seeds(store, batch, c->env[e].env, own ? own : c->map[m].map, c->seed, job,
                              i == 0 ? first : NULL));
  }
  return mm_job_store_check_end(store);
}

static mm_status run_jobs(mm_transfer *t, mm_study *study, mm_job *jobs) {
  size_t n = t->config.n_map * t->config.n_env * t->config.n_seed;
  follower f = { &t->config, study->store, &t->tune_steps };
  mm_backend_config backend = t->config.backend;
  backend.progress = follow;
  backend.user = &f;
  MM_TRY(tune_etas(t, study->store));
  MM_TRY(list_jobs(t, study->store, jobs, &t->first));
  if (t->config.exact) mm_job_store_measure(study->store, mm_theory_train, mm_theory_measures);
  mm_status status = mm_study_run_jobs(study, &backend, t->first, jobs, n, &t->report);
  tell_trouble(&f);
  const mm_result *results = mm_job_store_results(study->store, t->first);
  if (t->report.trouble < n) t->trouble = results[t->report.trouble].status;
  if (status == MM_OK) status = mm_job_store_finish(study->store);
  return status == MM_OK ? summarise(t, results) : status;
}

// The run is the caller's, and so is the end of the session; the store stays for those who ask what
// it could not keep.
static mm_status run_stored(mm_transfer *t, mm_study *study, mm_job *jobs) {
  MM_TRY(mm_study_start(study, &t->config.backend));
  mm_job_store_close(study->store);
  study->store = NULL;
  MM_TRY(mm_job_store_open(study->run, &study->store));
  mm_job_store_save_every(study->store, t->config.save_seconds);
  mm_status status = run_jobs(t, study, jobs);
  mm_job_store_work work = mm_job_store_work_of(study->store);
  mm_study_ran(study, &t->config.backend.place, work.ran); // tuning too, if that is all
  t->own_steps = work.env_steps;
  t->wall_seconds = work.seconds;
  t->machine = study->machine;
  t->all_found = study->run && work.trained == 0;
  return status;
}

mm_status mm_transfer_run_in(mm_study *study, const mm_transfer_config *config, mm_transfer *out) {
  *out = (mm_transfer){ .config = *config };
  if (config->n_map == 0 || config->n_env == 0 || config->n_seed == 0)
    return MM_FAIL(MM_ERR_INPUT, "a table needs a map, an environment and a seed");
  if (config->seed > UINT64_MAX - (config->n_seed - 1))
    return MM_FAIL(MM_ERR_INPUT, "no %zu seeds follow that one", config->n_seed);
  for (int b = 0; b < MM_BASELINES; b++)
    out->baseline[b] = mm_transfer_baseline(config, (mm_baseline)b);
  MM_TRY(alloc_table(out));
  size_t n = config->n_map * config->n_env * config->n_seed;
  mm_job *jobs = mm_alloc_array(n, sizeof *jobs);
  if (!jobs) return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of %zu runs", n);
  mm_status status = run_stored(out, study, jobs);
  mm_free(jobs);
  return status;
}

mm_status mm_transfer_run(const mm_transfer_config *config, mm_transfer *out) {
  mm_study study = { .run = config->run };
  mm_status status = mm_transfer_run_in(&study, config, out);
  mm_job_store_close(study.store);
  return status;
}

void mm_transfer_release(mm_transfer *t) {
  for (size_t i = 0; i < t->config.n_map * t->config.n_env && t->cell; i++) {
    mm_free(t->cell[i].curve);
    mm_map_destroy(t->cell[i].map);
  }
  mm_arena_destroy(&t->arena);
  t->cell = NULL;
}
