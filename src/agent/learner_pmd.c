// SPDX-License-Identifier: Apache-2.0
// The learner pmd. A job draws the instance that the seed names, trains, evaluates exactly.

#include <string.h>

#include "agent/job_internal.h"
#include "agent/learner.h"
#include "agent/pmd.h"
#include "agent/pmd_values.h"
#include "base/status.h"
#include "env/grid/grid_task.h"

// What a run works with.
typedef struct run {
  mm_grid *grid;
  mm_pmd *pmd;
  mm_pmd_values values;
  int64_t per_iteration;
} run;

static void run_close(run *r) {
  mm_pmd_destroy(r->pmd);
  mm_pmd_values_close(&r->values);
  mm_grid_destroy(r->grid);
}

static mm_status run_open(const mm_job *job, const mm_map *map, run *r, mm_result *result) {
  memset(r, 0, sizeof *r);
  MM_TRY(mm_grid_draw(job->env, job->seed, 0, &r->grid));
  const mm_pmd_config *c = job->config;
  mm_pmd_config own = *c;
  own.eta = mm_job_eta(job, c->eta);
  MM_TRY(mm_pmd_create(r->grid, map, &own, job->seed, job->repeat, &r->pmd));
  r->per_iteration = (int64_t)(c->envs * c->unroll);
  return mm_pmd_values_open(r->grid, c, &r->values, result);
}

static mm_status measure(run *r, mm_result *result) {
  mm_pmd_policy(r->pmd, r->values.policy);
  return mm_pmd_values_point(&r->values, result);
}

static mm_status train(const mm_job *job, const volatile int *stop, run *r, mm_result *result) {
  const mm_pmd_config *c = job->config;
  int64_t iterations = mm_pmd_iterations(c);
  mm_status trouble = MM_OK;
  if (c->exact_curve) MM_TRY(measure(r, result));
  for (int64_t t = 0; t < iterations && trouble == MM_OK; t++) {
    if (mm_job_stopped(stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    trouble = mm_pmd_iterate(r->pmd);
    if (trouble != MM_OK && trouble != MM_ERR_NUMERIC) return trouble;
    mm_job_advance(result, (uint64_t)r->per_iteration);
    if (c->exact_curve) MM_TRY(measure(r, result));
  }
  if (!c->exact_curve) MM_TRY(measure(r, result));
  MM_TRY(mm_pmd_values_optimum(&r->values, result));
  return trouble;
}

static mm_status run_job(const mm_job *job, const mm_map *map, const volatile int *stop,
                         mm_result *result) {
  run r;
  mm_status status = run_open(job, map, &r, result);
  if (status == MM_OK) {
    status = train(job, stop, &r, result);
    mm_pmd_seconds(r.pmd, &result->seconds_rollout, &result->seconds_update);
  }
  run_close(&r);
  return status;
}

// ---------------------------------------------------------------------------------------------

#define NUMBER(...) MM_NUMBER_OF(mm_pmd_config, __VA_ARGS__)
#define SWITCH(...) MM_SWITCH_OF(mm_pmd_config, __VA_ARGS__)
#define FACTORS(...) MM_FACTORS_OF(mm_pmd_config, __VA_ARGS__)
static const mm_setting settings[] = { MM_PMD_SETTINGS(NUMBER, SWITCH) MM_ETA_SETTINGS(FACTORS) };

extern const mm_learner mm_learner_pmd;

const mm_learner mm_learner_pmd = { .setting = settings,
                                    .n_setting = sizeof settings / sizeof *settings,
                                    .config_size = sizeof(mm_pmd_config),
                                    .config_name = "mm_pmd_config",
                                    .suits = MM_SUITS_TABLES,
                                    .on_device = MM_SUITS_TABLES,
                                    .exact = true,
                                    .run = run_job };
