// SPDX-License-Identifier: Apache-2.0
// Values of policies by the exact model of the task, into the result of a job.

#include "agent/pmd_values.h"

#include <math.h>
#include <string.h>

#include "agent/pmd.h"
#include "base/clock.h"
#include "base/status.h"

enum { OPTIMUM_MOST_STATES = 100000 };

static mm_status take_memory(const mm_pmd_config *config, mm_pmd_values *v, mm_result *result) {
  size_t states = (size_t)v->grid->n_state;
  size_t points = config->exact_curve ? (size_t)mm_pmd_iterations(config) + 1 : 1;
  v->policy = mm_alloc_array(states * MM_GRID_ACTIONS, sizeof *v->policy);
  v->value = mm_alloc_array(states, sizeof *v->value);
  result->curve = mm_alloc_array(points, sizeof *result->curve);
  result->curve_step = mm_alloc_array(points, sizeof *result->curve_step);
  if (!v->policy || !v->value || !result->curve || !result->curve_step)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a run on %zu states", states);
  memset(v->value, 0, states * sizeof *v->value);
  return MM_OK;
}

mm_status mm_pmd_values_open(const mm_grid *grid, const mm_pmd_config *config, mm_pmd_values *v,
                             mm_result *result) {
  memset(v, 0, sizeof *v);
  v->grid = grid;
  mm_status status = mm_grid_model_create(grid, config->gamma, config->restart, &v->model);
  if (status == MM_OK) status = take_memory(config, v, result);
  if (status != MM_OK) mm_pmd_values_close(v);
  return status;
}

void mm_pmd_values_close(mm_pmd_values *v) {
  mm_grid_model_destroy(v->model);
  mm_free(v->policy);
  mm_free(v->value);
  memset(v, 0, sizeof *v);
}

static double value_of_start(const mm_pmd_values *v) {
  return v->value[mm_grid_index(v->grid, mm_grid_start(v->grid))];
}

mm_status mm_pmd_values_point(mm_pmd_values *v, mm_result *result) {
  const double start = mm_clock_seconds();
  MM_TRY(mm_grid_value(v->model, v->policy, v->value, NULL));
  result->seconds_value += mm_clock_seconds() - start;
  result->final_value = value_of_start(v);
  result->curve[result->n_curve] = result->final_value;
  result->curve_step[result->n_curve++] = result->env_steps;
  return MM_OK;
}

mm_status mm_pmd_values_optimum(mm_pmd_values *v, mm_result *result) {
  result->optimal_value = NAN;
  if (v->grid->n_state > OPTIMUM_MOST_STATES) return MM_OK;
  uint8_t *action = mm_alloc((size_t)v->grid->n_state);
  if (!action) return MM_FAIL(MM_ERR_MEMORY, "no memory for an optimal policy");
  if (mm_grid_optimal(v->model, v->value, action) == MM_OK)
    result->optimal_value = value_of_start(v);
  mm_free(action);
  return MM_OK;
}
