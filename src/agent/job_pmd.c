// A job of tabular PMD: draws the instance that the seed names, trains, evaluates exactly.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <string.h>
#include <time.h>

#include "agent/job_internal.h"
#include "agent/pmd.h"
#include "base/status.h"
#include "env/grid_model.h"
#include "env/grid_task.h"

enum { OPTIMUM_MOST_STATES = 100000 };

// What a run works with.
typedef struct run {
  mm_grid *grid;
  mm_grid_model *model;
  mm_pmd *pmd;
  double *policy; // [5 * n_state]
  double *value;  // [n_state] of the policy measured last: the next one's first guess
  int64_t per_iteration;
} run;

static void run_close(run *r) {
  mm_pmd_destroy(r->pmd);
  mm_grid_model_destroy(r->model);
  mm_grid_destroy(r->grid);
  mm_free(r->policy);
  mm_free(r->value);
}

static mm_status run_open(const mm_job *job, const mm_map *map, run *r, mm_result *result) {
  memset(r, 0, sizeof *r);
  MM_TRY(mm_grid_draw(job->env, job->seed, 0, &r->grid));
  MM_TRY(mm_grid_model_create(r->grid, job->pmd->gamma, job->pmd->restart, &r->model));
  MM_TRY(mm_pmd_create(r->grid, map, job->pmd, job->seed, job->repeat, &r->pmd));
  size_t states = (size_t)r->grid->n_state;
  size_t points = job->pmd->exact_curve ? (size_t)mm_pmd_iterations(job->pmd) + 1 : 1;
  r->per_iteration = (int64_t)(job->pmd->envs * job->pmd->unroll);
  r->policy = mm_alloc_array(states * MM_GRID_ACTIONS, sizeof *r->policy);
  r->value = mm_alloc_array(states, sizeof *r->value);
  result->curve = mm_alloc_array(points, sizeof *result->curve);
  result->curve_step = mm_alloc_array(points, sizeof *result->curve_step);
  if (!r->policy || !r->value || !result->curve || !result->curve_step)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a run on %zu states", states);
  memset(r->value, 0, states * sizeof *r->value);
  return MM_OK;
}

// The exact value of the current policy becomes a point of the curve.
static mm_status measure(run *r, mm_result *result) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  mm_pmd_policy(r->pmd, r->policy);
  MM_TRY(mm_grid_value(r->model, r->policy, r->value, NULL));
  clock_gettime(CLOCK_MONOTONIC, &end);
  result->seconds_value +=
      (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  result->final_value = r->value[mm_grid_index(r->grid, mm_grid_start(r->grid))];
  result->curve[result->n_curve] = result->final_value;
  result->curve_step[result->n_curve++] = result->env_steps;
  return MM_OK;
}

// V* of the instance. On ordinary tasks it costs less than a hundredth of a run.
static mm_status measure_optimum(run *r, mm_result *result) {
  result->optimal_value = NAN;
  if (r->grid->n_state > OPTIMUM_MOST_STATES) return MM_OK;
  uint8_t *action = mm_alloc((size_t)r->grid->n_state);
  if (!action) return MM_FAIL(MM_ERR_MEMORY, "no memory for an optimal policy");
  if (mm_grid_optimal(r->model, r->value, action) == MM_OK)
    result->optimal_value = r->value[mm_grid_index(r->grid, mm_grid_start(r->grid))];
  mm_free(action);
  return MM_OK;
}

static mm_status train(const mm_job *job, const volatile int *stop, run *r, mm_result *result) {
  int64_t iterations = mm_pmd_iterations(job->pmd);
  mm_status trouble = MM_OK;
  if (job->pmd->exact_curve) MM_TRY(measure(r, result));
  for (int64_t t = 0; t < iterations && trouble == MM_OK; t++) {
    if (mm_job_stopped(stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    trouble = mm_pmd_iterate(r->pmd);
    if (trouble != MM_OK && trouble != MM_ERR_NUMERIC) return trouble;
    result->env_steps += (uint64_t)r->per_iteration;
    if (job->pmd->exact_curve) MM_TRY(measure(r, result));
  }
  if (!job->pmd->exact_curve) MM_TRY(measure(r, result));
  MM_TRY(measure_optimum(r, result));
  return trouble;
}

mm_status mm_job_run_pmd(const mm_job *job, const mm_map *map, const volatile int *stop,
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
