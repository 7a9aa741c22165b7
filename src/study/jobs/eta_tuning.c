// SPDX-License-Identifier: Apache-2.0
#include "study/jobs/eta_tuning.h"

#include <math.h>
#include <stdio.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "study/stats/halving.h"

// Grids, each with twice the density of the one before, and seeds for the last round: those that
// a finer grid must leave, and those beyond which more would not help.
enum { GRIDS = 5, LEAST_SEEDS = 32, MOST_SEEDS = 10000, LABEL = 160 };
enum { ETAS = 4, QS = 6 }; // parts of the coarsest: eta by factors of 4, q by sqrt(2)
enum { NINE = 1 };         // the grid with MM_ETAS values of eta

mm_status mm_eta_map(double q, mm_map **out) {
  return q == 1 ? mm_map_create_negentropy(out) : mm_map_create_tsallis(q, out);
}

static size_t values(size_t parts, size_t grid) {
  return (parts << grid) + 1;
}

static size_t candidates(bool tunes_q, size_t grid) {
  return values(ETAS, grid) * (tunes_q ? values(QS, grid) : 1);
}

double mm_eta_least(const mm_settings *settings, bool tunes_q) {
  return (double)candidates(tunes_q, 0) * mm_settings_steps(settings);
}

// From the middle outwards: of equals the one nearest to the settings' stays. n is odd.
static size_t outwards(size_t i, size_t n) {
  return n / 2 + (i % 2 ? (i + 1) / 2 : 0) - (i % 2 ? 0 : i / 2);
}

// 2^x, exact for whole numbers.
static double power_of_two(double x) {
  return ldexp(mm_exp_d((x - floor(x)) * mm_log_d(2)), (int)floor(x));
}

// The i-th of n values from 2^low to 2^high.
static double value_at(size_t i, size_t n, double low, double high) {
  return power_of_two(low + (high - low) * (double)i / (double)(n - 1));
}

static double *eta_of(mm_settings *settings) {
  return mm_settings_number(settings, "eta");
}

// ---------------------------------------------------------------------------------------------
// Candidates

typedef struct candidate {
  double q; // NaN: the task's map
  mm_settings with;
  mm_map *map; // of q
  char label[LABEL];
  double sum; // of the worths so far
  size_t n;
} candidate;

typedef struct contest {
  const mm_eta_task *task;
  mm_job_store *store;
  const mm_backend_config *backend;
  candidate *all; // [n]
  size_t n;
  int round;
  uint64_t env_steps;
} contest;

// In the order in which equals are preferred: from the middle of the grid outwards.
static mm_status fill(contest *c, size_t grid) {
  const size_t etas = values(ETAS, grid), qs = c->task->tunes_q ? values(QS, grid) : 1;
  for (; c->n < etas * qs; c->n++) {
    candidate *a = &c->all[c->n];
    *a = (candidate){ .q = NAN, .with = *c->task->settings };
    *eta_of(&a->with) *= value_at(outwards(c->n / qs, etas), etas, -4, 4);
    if (!c->task->tunes_q) continue;
    a->q = value_at(outwards(c->n % qs, qs), qs, -1, 2);
    snprintf(a->label, LABEL, "%.120s q=%.6g", c->task->map_label, a->q);
    MM_TRY(mm_eta_map(a->q, &a->map));
  }
  return MM_OK;
}

// A run that diverged without a value spoils a candidate: eta must be safe. One that finished no
// episode makes it worse than any other that is. (A store of lists keeps no curves, so that
// mm_result_worth would not know the last value of one that diverged.)
static double worth_of(const mm_result *run) {
  if (isfinite(run->final_value)) return run->final_value;
  return run->status == MM_OK ? -INFINITY : NAN;
}

static void take_worths(contest *c, candidate *a, const mm_result *result, size_t n) {
  for (size_t i = 0; i < n; i++) {
    a->sum += worth_of(&result[i]);
    c->env_steps += result[i].env_steps;
  }
  a->n += n;
}

static double score(size_t which, void *user) {
  const candidate *a = &((contest *)user)->all[which];
  return a->sum / (double)a->n;
}

// ---------------------------------------------------------------------------------------------
// Rounds

// The next `count` seeds of a candidate, in a store of batches as one of these.
static mm_status announce(const contest *c, const candidate *a, size_t count, mm_job *job,
                          size_t *first) {
  const mm_eta_task *task = c->task;
  mm_stream seeds = mm_stream_make(task->seed, 0, MM_RNG_TUNE, 0);
  for (size_t i = 0; i < count; i++) {
    job[i] = (mm_job){ .env = task->env,
                       .map = a->map ? a->map : task->map,
                       .seed = mm_stream_pair(seeds, a->n + i) };
    mm_settings_bind(&a->with, &job[i]);
  }
  const mm_job_batch batch = { .jobs = count,
                               .role = "tuning",
                               .env = task->env_label,
                               .map = a->map ? a->label : task->map_label,
                               .settings = &a->with,
                               .job = job };
  return task->list > 0 ? MM_OK : mm_job_store_batch(c->store, &batch, first);
}

static mm_status run(const contest *c, size_t first, const mm_job *job, size_t n) {
  mm_backend_report report = { 0 };
  mm_backend_config config = *c->backend;
  config.report = &report;
  MM_TRY(mm_job_store_run(c->store, &config, first, job, n));
  const mm_result *result = mm_job_store_results(c->store, first);
  for (size_t i = 0; i < n; i++) {
    mm_status status = result[i].status;
    if (status != MM_OK && status != MM_ERR_NUMERIC) return MM_FAIL(status, "%s", report.error);
  }
  return MM_OK;
}

static mm_status run_round(contest *c, const size_t *which, size_t n, size_t count, mm_job *job) {
  const mm_eta_task *task = c->task;
  size_t first = 0, place = 0;
  for (size_t i = 0; i < n; i++) {
    MM_TRY(announce(c, &c->all[which[i]], count, job + i * count, &place));
    if (i == 0) first = place;
  }
  if (task->list > 0)
    MM_TRY(mm_job_store_list(c->store, task->generation, task->list + c->round++, job, n * count,
                             &first));
  MM_TRY(run(c, first, job, n * count));
  for (size_t i = 0; i < n; i++)
    take_worths(c, &c->all[which[i]], mm_job_store_results(c->store, first + i * count), count);
  return MM_OK;
}

static mm_status extend(const size_t *which, size_t n, size_t end, void *user) {
  contest *c = user;
  const size_t count = end - c->all[which[0]].n;
  mm_job *job = mm_alloc_array(n * count, sizeof *job);
  if (!job) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", n * count);
  mm_status status = run_round(c, which, n, count, job);
  mm_free(job);
  return status;
}

// Without a budget and q there is no halving.
static bool is_nine(const mm_eta_task *task) {
  return !(task->budget > 0) && !task->tunes_q;
}

// Nine values of eta get all seeds at once. They are announced from the least on, as ever.
static mm_status try_nine(contest *c, size_t seeds, size_t *which) {
  for (size_t i = 0; i < c->n; i++)
    which[outwards(i, c->n)] = i;
  return extend(which, c->n, seeds, c);
}

static mm_status contend(contest *c, size_t grid, size_t seeds, size_t *which, mm_eta_choice *out) {
  const mm_halving h = { .seeds = seeds, .extend = extend, .score = score, .user = c };
  const bool nine = is_nine(c->task);
  MM_TRY(fill(c, grid));
  if (nine) MM_TRY(try_nine(c, seeds, which));
  size_t n = c->n;
  for (size_t i = 0; i < n; i++)
    which[i] = i;
  if (!nine) MM_TRY(mm_halve(&h, which, &n));
  candidate *best = NULL;
  double most = NAN;
  for (size_t i = 0; i < n; i++) {
    const double x = score(which[i], c);
    if (isnan(x) || (best && x <= most)) continue;
    best = &c->all[which[i]];
    most = x;
  }
  if (!best)
    return MM_FAIL(MM_ERR_NUMERIC, "no step size eta trains on '%s' without breaking down",
                   mm_env_id(c->task->env));
  *out = (mm_eta_choice){ .eta = *eta_of(&best->with),
                          .q = best->q,
                          .n = c->n,
                          .seeds = seeds,
                          .env_steps = c->env_steps,
                          .ran = mm_job_store_work_of(c->store).ran };
  return MM_OK;
}

// The finest grid that the runs are enough for, and the seeds of its last round.
static size_t choose_grid(const mm_eta_task *task, size_t *seeds) {
  const double nine = (double)MM_ETAS * (double)task->n_seed;
  const double runs = task->budget > 0 ? task->budget / mm_settings_steps(task->settings) : nine;
  size_t grid = 0;
  *seeds = task->n_seed;
  if (is_nine(task)) return NINE;
  *seeds = mm_halving_seeds(candidates(task->tunes_q, 0), runs, MOST_SEEDS);
  if (*seeds == 0) *seeds = 1;
  for (size_t next = 1; next < GRIDS; next++) {
    size_t finer = mm_halving_seeds(candidates(task->tunes_q, next), runs, MOST_SEEDS);
    if (finer < LEAST_SEEDS) break;
    grid = next;
    *seeds = finer;
  }
  return grid;
}

mm_status mm_eta_choose(const mm_eta_task *task, mm_job_store *store,
                        const mm_backend_config *backend, mm_eta_choice *out) {
  size_t seeds;
  const size_t grid = choose_grid(task, &seeds), n = candidates(task->tunes_q, grid);
  contest c = {
    .task = task, .store = store, .backend = backend, .all = mm_alloc_array(n, sizeof *c.all)
  };
  size_t *which = mm_alloc_array(n, sizeof *which);
  mm_status status = MM_OK;
  *out = (mm_eta_choice){ .eta = NAN, .q = NAN };
  if (!c.all || !which) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu candidates", n);
  if (status == MM_OK && !store) status = mm_job_store_open(NULL, &c.store);
  if (status == MM_OK) status = contend(&c, grid, seeds, which, out);
  if (!store) mm_job_store_close(c.store);
  for (size_t i = 0; i < c.n; i++)
    mm_map_destroy(c.all[i].map);
  mm_free(which);
  mm_free(c.all);
  return status;
}
