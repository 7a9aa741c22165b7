// SPDX-License-Identifier: Apache-2.0
// The trials of a search as trainings, and the winner on fresh seeds.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "study/tune/tune_internal.h"

// Seeds of trials and fresh ones: streams of their own, apart from those of other tunings
// (eta_tuning.h), so that seeds that anybody counts from 0 are neither.
enum { LANE_TRIALS = 1, LANE_FRESH = 2 };

static uint64_t first_seed(const mm_tune *t, uint32_t lane) {
  return mm_stream_pair(mm_stream_make(t->plan.seed, 0, MM_RNG_TUNE, lane), 0);
}

// ---------------------------------------------------------------------------------------------
// Trainings

// Seeds of one trial in one cell.
typedef struct request {
  size_t env;
  const mm_map *map;
  mm_map *own_map; // where a trial has changed it
  const char *role;
  char label[MM_PLAN_NAME_SIZE + MM_TUNE_MAP_LABEL];
  mm_settings settings;
  uint64_t seed;
  size_t count;
  double *value; // [count] out: final returns, NaN where there is none
} request;

static size_t count_jobs(const request *r, size_t n) {
  size_t jobs = 0;
  for (size_t i = 0; i < n; i++)
    jobs += r[i].count;
  return jobs;
}

// Lists the jobs and announces them, request by request.
static mm_status list_jobs(mm_tune *t, const request *r, size_t n, mm_job *job, size_t *first) {
  for (size_t i = 0; i < n; job += r[i++].count) {
    const mm_job_batch batch = { .jobs = r[i].count,
                                 .role = r[i].role,
                                 .env = t->plan.env[r[i].env],
                                 .map = r[i].label,
                                 .settings = &r[i].settings };
    MM_TRY(mm_job_store_seeds(t->study.store, batch, t->envs.env[r[i].env], r[i].map, r[i].seed,
                              job, i == 0 ? first : NULL));
  }
  return MM_OK;
}

// Only breakdowns belong to a trial; whatever else goes wrong ends the search.
static mm_status take_results(mm_tune *t, request *r, size_t n, const mm_result *result,
                              const mm_backend_report *report) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < r[i].count; k++, result++) {
      if (result->status != MM_OK && result->status != MM_ERR_NUMERIC)
        return MM_FAIL(result->status, "%s", report->error);
      r[i].value[k] = mm_worth_shown(mm_result_worth(result));
      t->env_steps += result->env_steps;
      t->trainings++;
    }
  return MM_OK;
}

static mm_status perform(mm_tune *t, request *r, size_t n) {
  if (n == 0) return MM_OK;
  size_t jobs = count_jobs(r, n), first = 0;
  mm_backend_report report = { .error = "the run has no more" };
  mm_job *job = mm_alloc_array(jobs, sizeof *job);
  if (!job) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", jobs);
  mm_status status = list_jobs(t, r, n, job, &first);
  if (status == MM_OK && t->backend)
    status = mm_study_run_jobs(&t->study, t->backend, first, job, jobs, &report);
  mm_free(job);
  if (status == MM_OK)
    status = take_results(t, r, n, mm_job_store_results(t->study.store, first), &report);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Scores

static double *values_of(const mm_tune *t, size_t trial, size_t cell) {
  return t->value + (trial * mm_tune_cells(&t->plan) + cell) * t->plan.seeds;
}

const double *mm_tune_values(const mm_tune *t, size_t trial, size_t cell) {
  return values_of(t, trial, cell);
}

double mm_tune_mean(const mm_tune *t, size_t trial, size_t cell) {
  size_t n = t->search.trial[trial].n;
  return n > 0 ? mm_estimate_of(values_of(t, trial, cell), n).mean : NAN;
}

// The mean over the maps.
static double value_at(const mm_tune *t, size_t trial, size_t env, size_t seed) {
  const size_t n = t->plan.n_map;
  double sum = 0;
  for (size_t m = 0; m < n; m++)
    sum += values_of(t, trial, env * n + m)[seed];
  return sum / (double)n;
}

// The standard deviation of the own values' runs over the seeds; at least a twentieth of their
// mean, since runs may all end alike. x: room for [n]
static void set_scales(mm_tune *t, double *x, size_t n) {
  for (size_t e = 0; e < t->plan.n_env; e++) {
    for (size_t i = 0; i < n; i++)
      x[i] = value_at(t, 0, e, i);
    mm_estimate own = mm_estimate_of(x, n);
    double deviation = isnan(own.sem) ? 0 : own.sem * sqrt((double)n);
    t->scale[e] = fmax(deviation, fabs(own.mean) / 20);
    if (!(t->scale[e] > 0)) t->scale[e] = 1;
  }
}

static double score_of(const mm_tune *t, size_t trial, size_t seed) {
  double sum = 0;
  for (size_t e = 0; e < t->plan.n_env; e++)
    sum += (value_at(t, trial, e, seed) - value_at(t, 0, e, seed)) / t->scale[e];
  return sum / (double)t->plan.n_env;
}

// ---------------------------------------------------------------------------------------------
// Evaluating trials

static mm_status settings_of(const mm_tune *t, const double *value, size_t env, mm_settings *out) {
  *out = t->plan.settings[env];
  return mm_tune_apply(&t->plan.space, value, out);
}

// What a cell trains with these values. MM_ERR_INPUT for values that do not go together.
static mm_status request_cell(const mm_tune *t, size_t cell, const double *value, const char *role,
                              uint64_t seed, size_t count, double *out, request *r) {
  const mm_tune_space *space = &t->plan.space;
  const size_t env = cell / t->plan.n_map, map = cell % t->plan.n_map;
  *r = (request){ .env = env, .role = role, .seed = seed, .count = count, .value = out };
  MM_TRY(settings_of(t, value, env, &r->settings));
  MM_TRY(mm_tune_map_make(space, value, t->map[map], &r->own_map));
  r->map = r->own_map ? r->own_map : t->map[map];
  if (r->own_map)
    mm_tune_map_label(space, value, t->plan.map[map], r->label);
  else
    snprintf(r->label, sizeof r->label, "%s", t->plan.map[map]);
  return MM_OK;
}

static void release_requests(request *r, size_t n) {
  for (size_t i = 0; i < n; i++)
    mm_map_destroy(r[i].own_map);
}

// Adds a trial's requests, one per cell; none for values that do not go together.
static mm_status request_trial(mm_tune *t, size_t trial, size_t first, size_t count, request *r,
                               size_t *n) {
  const size_t before = *n, cells = mm_tune_cells(&t->plan);
  for (size_t c = 0; c < cells; c++) {
    request *own = &r[(*n)++];
    mm_status status = request_cell(t, c, t->search.trial[trial].value, "trial",
                                    first_seed(t, LANE_TRIALS) + first, count,
                                    values_of(t, trial, c) + first, own);
    if (status == MM_OK && first == 0)
      status = mm_study_rehearse(t->envs.env[own->env], own->map, &own->settings, t->plan.seed);
    if (status == MM_ERR_INPUT) {
      release_requests(r + before, *n - before);
      *n = before;
      return MM_OK;
    }
    MM_TRY(status);
  }
  return MM_OK;
}

static mm_status request_all(mm_tune *t, const size_t *which, size_t n, size_t first, size_t count,
                             request *r, size_t *n_request) {
  for (size_t i = 0; i < n; i++) {
    for (size_t c = 0; c < mm_tune_cells(&t->plan); c++)
      for (size_t k = 0; k < count; k++)
        values_of(t, which[i], c)[first + k] = NAN;
    MM_TRY(request_trial(t, which[i], first, count, r, n_request));
  }
  return MM_OK;
}

static mm_status evaluate(const mm_tune_search *search, const size_t *which, size_t n, size_t first,
                          size_t count, double *score, void *user) {
  mm_tune *t = user;
  size_t n_request = 0;
  (void)search; // is ours
  request *r = mm_alloc_array(n, mm_tune_cells(&t->plan) * sizeof *r);
  if (!r) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trials", n);
  mm_status status = request_all(t, which, n, first, count, r, &n_request);
  if (status == MM_OK) status = perform(t, r, n_request);
  release_requests(r, n_request);
  mm_free(r);
  MM_TRY(status);
  if (which[0] == 0 && first == 0) set_scales(t, score, count);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < count; k++)
      score[i * count + k] = score_of(t, which[i], first + k);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Fresh seeds

static double *fresh_of(const mm_tune *t, size_t arm, size_t cell) {
  return t->fresh + (arm * mm_tune_cells(&t->plan) + cell) * t->plan.validate;
}

// One run without a value leaves no mean: one over the others would flatter.
static void check_cell(mm_tune *t, size_t cell, bool both) {
  const double *own = fresh_of(t, 0, cell), *best = fresh_of(t, both, cell);
  const size_t n = t->plan.validate;
  mm_tune_check *check = &t->check[cell];
  *check = (mm_tune_check){ .own = mm_estimate_of(own, n),
                            .best = mm_estimate_of(best, n),
                            .difference = MM_COMPARISON_NONE };
  for (size_t i = 0; i < n; i++)
    check->n_failed += isnan(own[i]) || isnan(best[i]);
  if (both && check->n_failed == 0)
    check->difference = mm_comparison_of(best, own, n, t->plan.seed);
}

// x: room for [validate]
static mm_comparison gain_of(const mm_tune *t, double *x) {
  bool known = true;
  for (size_t i = 0; i < t->plan.validate; i++) {
    x[i] = 0;
    for (size_t c = 0; c < mm_tune_cells(&t->plan); c++)
      x[i] += (fresh_of(t, 1, c)[i] - fresh_of(t, 0, c)[i]) / t->scale[c / t->plan.n_map];
    x[i] /= (double)mm_tune_cells(&t->plan);
    known = known && !isnan(x[i]);
  }
  return known ? mm_comparison_of(x, NULL, t->plan.validate, t->plan.seed) : MM_COMPARISON_NONE;
}

static mm_status request_fresh(mm_tune *t, size_t arms, size_t best, request *r, size_t *n) {
  for (size_t c = 0; c < mm_tune_cells(&t->plan); c++)
    for (size_t arm = 0; arm < arms; arm++) {
      request *own = &r[(*n)++];
      MM_TRY(request_cell(t, c, t->search.trial[arm == 0 ? 0 : best].value, "validation",
                          first_seed(t, LANE_FRESH), t->plan.validate, fresh_of(t, arm, c), own));
      const size_t m = c % t->plan.n_map;
      snprintf(own->label, sizeof own->label, "%s", arm == 0 ? t->plan.map[m] : t->tuned[m]);
    }
  return MM_OK;
}

static mm_status run_fresh(mm_tune *t, size_t arms, size_t best) {
  size_t n = 0;
  for (size_t m = 0; m < t->plan.n_map; m++)
    snprintf(t->tuned[m], sizeof t->tuned[m], "tuned:%s", t->plan.map[m]);
  request *r = mm_alloc_array(arms, mm_tune_cells(&t->plan) * sizeof *r);
  if (!r) return MM_FAIL(MM_ERR_MEMORY, "no memory for the validation");
  mm_status status = request_fresh(t, arms, best, r, &n);
  if (status == MM_OK) status = perform(t, r, n);
  release_requests(r, n);
  mm_free(r);
  return status;
}

static mm_status validate(mm_tune *t) {
  size_t best = mm_tune_best(&t->search), n = t->plan.validate;
  if (n == 0) return MM_OK;
  mm_free(t->fresh);
  t->fresh = mm_alloc_array(2 * mm_tune_cells(&t->plan), n * sizeof *t->fresh);
  double *x = mm_alloc_array(n, sizeof *x);
  mm_status status = MM_OK;
  if (!t->fresh || !x) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu training runs", n);
  if (status == MM_OK) status = run_fresh(t, best > 0 ? 2 : 1, best);
  for (size_t c = 0; c < mm_tune_cells(&t->plan) && status == MM_OK; c++)
    check_cell(t, c, best > 0);
  if (status == MM_OK) {
    t->gain = best > 0 ? gain_of(t, x) : MM_COMPARISON_NONE;
    t->validated = true;
  }
  mm_free(x);
  return status;
}

// ---------------------------------------------------------------------------------------------
// All of it

// What all of them have in common: of the settings over environments, or of the maps.
static double own_value(const mm_tune *t, const mm_tune_parameter *p) {
  const mm_tune_plan *plan = &t->plan;
  const size_t n = p->of_map ? plan->n_map : plan->n_env;
  double common = NAN;
  for (size_t i = 0; i < n; i++) {
    double own = p->of_map ? mm_tune_map_own(p, t->map[i]) : mm_tune_own(p, &plan->settings[i]);
    if (i == 0) common = own;
    if (own != common) return NAN;
  }
  return common;
}

mm_tune_search_config mm_tune_config_of(const mm_tune *t) {
  const mm_tune_plan *p = &t->plan;
  mm_tune_search_config config = { .space = &p->space,
                                   .trials = p->trials,
                                   .population = p->population,
                                   .seeds = p->seeds,
                                   .seed = p->seed,
                                   .prune = p->prune,
                                   .rounds = p->rounds };
  for (size_t j = 0; j < p->space.n; j++)
    config.own[j] = own_value(t, &p->space.parameter[j]);
  return config;
}

mm_status mm_tune_search_all(mm_tune *t) {
  mm_tune_search_config config = mm_tune_config_of(t);
  const size_t room = mm_tune_search_room(&config);
  mm_tune_search_release(&t->search);
  mm_free(t->value);
  t->trainings = 0;
  t->env_steps = 0;
  t->validated = false;
  t->value = mm_alloc_array(room, mm_tune_cells(&t->plan) * t->plan.seeds * sizeof *t->value);
  if (!t->value) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trials", room);
  MM_TRY(mm_tune_search_run(&config, evaluate, t, &t->search));
  return validate(t);
}

// A store that has been walked through cannot be walked through again.
static mm_status open_store(mm_tune *t, double save_seconds) {
  mm_job_store_close(t->study.store);
  t->study.store = NULL;
  MM_TRY(mm_job_store_open(t->study.run, &t->study.store));
  mm_job_store_save_every(t->study.store, save_seconds);
  return MM_OK;
}

mm_status mm_tune_run(mm_tune *t, const mm_backend_config *backend, double save_seconds) {
  MM_TRY(mm_study_start(&t->study, backend));
  MM_TRY(open_store(t, save_seconds));
  t->backend = backend;
  mm_status status = mm_tune_search_all(t);
  t->backend = NULL;
  if (status == MM_OK) status = mm_job_store_finish(t->study.store);
  t->complete = status == MM_OK;
  return status;
}

size_t mm_tune_usual_trials(const mm_tune_space *space) {
  return mm_tune_is_grid(space) ? 1000 : 64;
}

void mm_tune_look(const mm_tune *t, mm_tune_view *out) {
  mm_job_store_work work = { 0 };
  if (t->study.store) work = mm_job_store_work_of(t->study.store);
  *out = (mm_tune_view){ .plan = &t->plan,
                         .env = t->envs.env,
                         .map = t->map,
                         .folder = t->folder[0] ? t->folder : NULL,
                         .search = &t->search,
                         .best = t->search.n > 0 ? mm_tune_best(&t->search) : 0,
                         .scale = t->scale,
                         .complete = t->complete,
                         .validated = t->validated,
                         .check = t->check,
                         .gain = t->gain,
                         .fresh_seed = first_seed(t, LANE_FRESH),
                         .first_seed = first_seed(t, LANE_TRIALS),
                         .trainings = t->trainings,
                         .env_steps = t->env_steps,
                         .machine = t->study.machine,
                         .seconds = work.seconds,
                         .session_env_steps = work.env_steps };
}
