#include "study/jobs/eta_tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "study/stats/halving.h"

double *mm_settings_eta(mm_settings *settings) {
  return mm_settings_number(settings, "eta");
}

// A run without a value spoils an eta, which must be safe; one that finished no episode makes it
// worse than any other that is.
static double worth_of(const mm_result *run) {
  return mm_result_has_value(run) ? mm_result_worth(run) : NAN;
}

// What is measured of one eta.
static void summarise(const mm_result *runs, size_t n, double *x, mm_eta_tuning *out, size_t k) {
  for (size_t i = 0; i < n; i++) {
    x[i] = worth_of(&runs[i]);
    out->env_steps += runs[i].env_steps;
  }
  out->value[k] = mm_estimate_of(x, n);
}

// From the middle outwards: of equals the one nearest to the settings' stays. n is odd.
static size_t outwards(size_t i, size_t n) {
  return n / 2 + (i % 2 ? (i + 1) / 2 : 0) - (i % 2 ? 0 : i / 2);
}

static mm_status nothing_trains(const mm_env *env) {
  return MM_FAIL(MM_ERR_NUMERIC, "no step size eta trains on '%s' without breaking down",
                 mm_env_id(env));
}

static mm_status choose(mm_eta_tuning *out, const mm_env *env) {
  size_t best = MM_ETAS;
  for (size_t i = 0; i < MM_ETAS; i++) {
    size_t k = outwards(i, MM_ETAS);
    if (isnan(out->value[k].mean)) continue;
    if (best == MM_ETAS || out->value[k].mean > out->value[best].mean) best = k;
  }
  out->best = best;
  return best < MM_ETAS ? MM_OK : nothing_trains(env);
}

// Runs `first` .. `first + n` of a map with settings: a batch of its own.
typedef struct slice {
  const mm_map *map;
  const char *label;
  const mm_settings *with;
  size_t first, n;
} slice;

static mm_status announce(const mm_eta_task *task, mm_job_store *store, const slice *r, mm_job *job,
                          size_t *place) {
  mm_stream seeds = mm_stream_make(task->seed, 0, MM_RNG_TUNE, 0);
  for (size_t i = 0; i < r->n; i++) {
    job[i] =
        (mm_job){ .env = task->env, .map = r->map, .seed = mm_stream_pair(seeds, r->first + i) };
    mm_settings_bind(r->with, &job[i]);
  }
  mm_job_batch batch = { .jobs = r->n,
                         .role = "tuning",
                         .env = task->env_label,
                         .map = r->label,
                         .settings = r->with,
                         .job = job };
  return mm_job_store_batch(store, &batch, place);
}

static mm_status run(mm_job_store *store, const mm_backend_config *backend, size_t first,
                     const mm_job *job, size_t n) {
  mm_backend_report report = { 0 };
  mm_backend_config config = *backend;
  config.report = &report;
  MM_TRY(mm_job_store_run(store, &config, first, job, n));
  const mm_result *result = mm_job_store_results(store, first);
  for (size_t i = 0; i < n; i++) {
    mm_status status = result[i].status;
    if (status != MM_OK && status != MM_ERR_NUMERIC) return MM_FAIL(status, "%s", report.error);
  }
  return MM_OK;
}

static mm_status tune(const mm_eta_task *task, mm_job_store *store,
                      const mm_backend_config *backend, mm_job *job, double *x,
                      mm_eta_tuning *out) {
  mm_settings with[MM_ETAS];
  size_t n = task->n_seed, first = 0, place;
  for (size_t k = 0; k < MM_ETAS; k++) {
    with[k] = *task->settings;
    out->eta[k] = *mm_settings_eta(&with[k]) *= ldexp(1, (int)k - MM_ETAS / 2);
    const slice of = { task->map, task->map_label, &with[k], 0, n };
    MM_TRY(announce(task, store, &of, job + k * n, &place));
    if (k == 0) first = place;
  }
  MM_TRY(run(store, backend, first, job, MM_ETAS * n));
  out->ran = mm_job_store_work_of(store).ran;
  for (size_t k = 0; k < MM_ETAS; k++)
    summarise(mm_job_store_results(store, first + k * n), n, x, out, k);
  return choose(out, task->env);
}

mm_status mm_eta_tune(const mm_eta_task *task, mm_job_store *store,
                      const mm_backend_config *backend, mm_eta_tuning *out) {
  memset(out, 0, sizeof *out);
  mm_job_store *own = NULL;
  mm_job *job = mm_alloc_array(MM_ETAS * task->n_seed, sizeof *job);
  double *x = mm_alloc_array(task->n_seed, sizeof *x);
  mm_status status = MM_OK;
  if (!job || !x)
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", MM_ETAS * task->n_seed);
  if (status == MM_OK && !store) status = mm_job_store_open(NULL, &own);
  if (status == MM_OK) status = tune(task, store ? store : own, backend, job, x, out);
  mm_job_store_close(own);
  mm_free(x);
  mm_free(job);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Successive halving

// Grids, each with twice the density of the one before, and seeds for the last round: those that
// a finer grid must leave, and those beyond which more would not help.
enum { GRIDS = 5, LEAST_SEEDS = 32, MOST_SEEDS = 10000, LABEL = 160 };
enum { ETAS = 4, QS = 6 }; // parts of the coarsest: eta by factors of 4, q by sqrt(2)

mm_status mm_eta_map(double q, mm_map **out) {
  return q == 1 ? mm_map_create_negentropy(out) : mm_map_create_tsallis(q, out);
}

static size_t values(size_t parts, size_t grid) {
  return (parts << grid) + 1;
}

static size_t candidates(bool tunes_q, size_t grid) {
  return values(ETAS, grid) * (tunes_q ? values(QS, grid) : 1);
}

size_t mm_eta_candidates(bool tunes_q) {
  return candidates(tunes_q, 0);
}

// 2^x, exact for whole numbers.
static double power_of_two(double x) {
  return ldexp(mm_exp_d((x - floor(x)) * mm_log_d(2)), (int)floor(x));
}

// The i-th of n values from 2^low to 2^high.
static double value_at(size_t i, size_t n, double low, double high) {
  return power_of_two(low + (high - low) * (double)i / (double)(n - 1));
}

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
  uint64_t env_steps;
} contest;

// In the order in which equals are preferred: from the middle of the grid outwards.
static mm_status fill(contest *c, size_t grid) {
  const size_t etas = values(ETAS, grid), qs = c->task->tunes_q ? values(QS, grid) : 1;
  for (; c->n < etas * qs; c->n++) {
    candidate *a = &c->all[c->n];
    *a = (candidate){ .q = NAN, .with = *c->task->settings };
    *mm_settings_eta(&a->with) *= value_at(outwards(c->n / qs, etas), etas, -4, 4);
    snprintf(a->label, LABEL, "%s", c->task->map_label);
    if (!c->task->tunes_q) continue;
    a->q = value_at(outwards(c->n % qs, qs), qs, -1, 2);
    snprintf(a->label, LABEL, "%.120s q=%.6g", c->task->map_label, a->q);
    MM_TRY(mm_eta_map(a->q, &a->map));
  }
  return MM_OK;
}

// One run without a value spoils a candidate for good.
static void take_worths(contest *c, candidate *a, const mm_result *result, size_t n) {
  for (size_t i = 0; i < n; i++) {
    a->sum += worth_of(&result[i]);
    c->env_steps += result[i].env_steps;
  }
  a->n += n;
}

static mm_status run_round(contest *c, const size_t *which, size_t n, size_t count, mm_job *job) {
  size_t first = 0, place;
  for (size_t i = 0; i < n; i++) {
    const candidate *a = &c->all[which[i]];
    const slice of = { a->map ? a->map : c->task->map, a->label, &a->with, a->n, count };
    MM_TRY(announce(c->task, c->store, &of, job + i * count, &place));
    if (i == 0) first = place;
  }
  MM_TRY(run(c->store, c->backend, first, job, n * count));
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

static double score(size_t which, void *user) {
  const candidate *a = &((contest *)user)->all[which];
  return a->sum / (double)a->n;
}

static mm_status contend(contest *c, size_t grid, size_t seeds, size_t *which, mm_eta_choice *out) {
  const mm_halving h = { .seeds = seeds, .extend = extend, .score = score, .user = c };
  MM_TRY(fill(c, grid));
  size_t n = c->n, best = 0;
  for (size_t i = 0; i < n; i++)
    which[i] = i;
  MM_TRY(mm_halve(&h, which, &n));
  if (n == 0) return nothing_trains(c->task->env);
  for (size_t i = 1; i < n; i++)
    if (score(which[i], c) > score(which[best], c)) best = i;
  candidate *a = &c->all[which[best]];
  *out = (mm_eta_choice){ .eta = *mm_settings_eta(&a->with),
                          .q = a->q,
                          .n = c->n,
                          .seeds = seeds,
                          .env_steps = c->env_steps,
                          .ran = mm_job_store_work_of(c->store).ran };
  return MM_OK;
}

// The finest grid that the runs are enough for, and the seeds of its last round.
static size_t choose_grid(bool tunes_q, double runs, size_t *seeds) {
  size_t grid = 0;
  *seeds = mm_halving_seeds(candidates(tunes_q, 0), runs, MOST_SEEDS);
  if (*seeds == 0) *seeds = 1;
  for (size_t next = 1; next < GRIDS; next++) {
    size_t finer = mm_halving_seeds(candidates(tunes_q, next), runs, MOST_SEEDS);
    if (finer < LEAST_SEEDS) break;
    grid = next;
    *seeds = finer;
  }
  return grid;
}

static mm_status halve(const mm_eta_task *task, mm_job_store *store,
                       const mm_backend_config *backend, mm_eta_choice *out) {
  size_t seeds;
  const double nine = (double)MM_ETAS * (double)task->n_seed;
  const double runs = task->budget > 0 ? task->budget / mm_settings_steps(task->settings) : nine;
  const size_t grid = choose_grid(task->tunes_q, runs, &seeds);
  const size_t n = candidates(task->tunes_q, grid);
  contest c = {
    .task = task, .store = store, .backend = backend, .all = mm_alloc_array(n, sizeof *c.all)
  };
  size_t *which = mm_alloc_array(n, sizeof *which);
  mm_status status = MM_OK;
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

mm_status mm_eta_choose(const mm_eta_task *task, mm_job_store *store,
                        const mm_backend_config *backend, mm_eta_choice *out) {
  mm_eta_tuning nine;
  *out = (mm_eta_choice){ .eta = NAN, .q = NAN };
  if (task->budget > 0 || task->tunes_q) return halve(task, store, backend, out);
  MM_TRY(mm_eta_tune(task, store, backend, &nine));
  *out = (mm_eta_choice){ .eta = nine.eta[nine.best],
                          .q = NAN,
                          .n = MM_ETAS,
                          .seeds = task->n_seed,
                          .env_steps = nine.env_steps,
                          .ran = nine.ran };
  return MM_OK;
}
