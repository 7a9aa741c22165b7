#include "study/jobs/eta_tuning.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

double *mm_settings_eta(mm_settings *settings) {
  return mm_settings_number(settings, "eta");
}

// What is measured of one eta. A run without a value spoils it: eta must be safe. One that finished
// no episode makes it worse than any other that is.
static void summarise(const mm_result *runs, size_t n, double *x, mm_eta_tuning *out, size_t k) {
  for (size_t i = 0; i < n; i++) {
    x[i] = mm_result_worth(&runs[i]);
    out->env_steps += runs[i].env_steps;
  }
  out->value[k] = mm_estimate_of(x, n);
}

// From the middle outwards: of equals the one nearest to the settings' stays.
static mm_status choose(mm_eta_tuning *out, const mm_env *env) {
  size_t best = MM_ETAS;
  for (size_t i = 0; i < MM_ETAS; i++) {
    size_t k = MM_ETAS / 2 + (i % 2 ? (i + 1) / 2 : 0) - (i % 2 ? 0 : i / 2);
    if (isnan(out->value[k].mean)) continue;
    if (best == MM_ETAS || out->value[k].mean > out->value[best].mean) best = k;
  }
  out->best = best;
  if (best < MM_ETAS) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC, "no step size eta trains on '%s' without breaking down",
                 mm_env_id(env));
}

// Runs of the eta number k: a batch of its own.
static mm_status announce(const mm_eta_task *task, mm_job_store *store, mm_settings *with,
                          mm_job *job, size_t *first) {
  mm_stream seeds = mm_stream_make(task->seed, 0, MM_RNG_TUNE, 0);
  for (size_t i = 0; i < task->n_seed; i++) {
    job[i] = (mm_job){ .env = task->env, .map = task->map, .seed = mm_stream_pair(seeds, i) };
    mm_settings_bind(with, &job[i]);
  }
  mm_job_batch batch = { .jobs = task->n_seed,
                         .role = "tuning",
                         .env = task->env_label,
                         .map = task->map_label,
                         .settings = with,
                         .job = job };
  return mm_job_store_batch(store, &batch, first);
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
    MM_TRY(announce(task, store, &with[k], job + k * n, &place));
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
