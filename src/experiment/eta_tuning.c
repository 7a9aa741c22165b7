#include "experiment/eta_tuning.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

double *mm_settings_eta(mm_settings *settings) {
  if (settings->algo == MM_ALGO_PMD) return &settings->pmd.eta;
  return settings->algo == MM_ALGO_AMPO ? &settings->ampo.eta : NULL;
}

// What is measured of one eta. A run without a value spoils it: eta must be safe.
static void summarise(const mm_result *runs, size_t n, double *x, mm_eta_tuning *out, size_t k) {
  bool all = true;
  for (size_t i = 0; i < n; i++) {
    all = all && mm_result_has_value(&runs[i]);
    x[i] = runs[i].final_value;
    out->env_steps += runs[i].env_steps;
  }
  out->value[k] = all ? mm_estimate_of(x, n) : (mm_estimate){ NAN, NAN };
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

static mm_status run(const mm_backend_config *backend, const mm_job *job, size_t n,
                     mm_result *result) {
  mm_backend_report report = { 0 };
  mm_backend_config config = *backend;
  config.report = &report;
  MM_TRY(mm_backend_run(&config, job, n, result));
  for (size_t i = 0; i < n; i++) {
    mm_status status = result[i].status;
    if (status != MM_OK && status != MM_ERR_NUMERIC) return MM_FAIL(status, "%s", report.error);
  }
  return MM_OK;
}

mm_status mm_eta_tune(const mm_env *env, const mm_map *map, const mm_settings *settings,
                      uint64_t seed, size_t n_seed, const mm_backend_config *backend,
                      mm_eta_tuning *out) {
  memset(out, 0, sizeof *out);
  mm_settings with[MM_ETAS];
  size_t n = MM_ETAS * n_seed;
  mm_job *job = mm_alloc_array(n, sizeof *job);
  mm_result *result = mm_alloc_array(n, sizeof *result);
  double *x = mm_alloc_array(n_seed, sizeof *x);
  mm_status status = MM_OK;
  if (!job || !result || !x) status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trainings", n);
  if (result) memset(result, 0, n * sizeof *result);
  for (size_t i = 0; i < n && status == MM_OK; i++) {
    size_t k = i / n_seed;
    with[k] = *settings;
    out->eta[k] = *mm_settings_eta(&with[k]) *= ldexp(1, (int)k - MM_ETAS / 2);
    mm_stream seeds = mm_stream_make(seed, 0, MM_RNG_TUNE, 0);
    job[i] = (mm_job){ .env = env, .map = map, .seed = mm_stream_pair(seeds, i % n_seed) };
    mm_settings_bind(&with[k], &job[i]);
  }
  if (status == MM_OK) status = run(backend, job, n, result);
  for (size_t k = 0; k < MM_ETAS && status == MM_OK; k++)
    summarise(result + k * n_seed, n_seed, x, out, k);
  if (status == MM_OK) status = choose(out, env);
  for (size_t i = 0; i < n && result; i++)
    mm_result_release(&result[i]);
  mm_free(x);
  mm_free(result);
  mm_free(job);
  return status;
}
