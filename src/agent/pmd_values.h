// SPDX-License-Identifier: Apache-2.0
// The exact values of a run of tabular PMD: the points of its curve, and the optimum of its task.

#ifndef MM_AGENT_PMD_VALUES_H
#define MM_AGENT_PMD_VALUES_H

#include "env/grid/grid_model.h"
#include "mirrormap/agent.h"

typedef struct mm_pmd_values {
  const mm_grid *grid;
  mm_grid_model *model;
  double *policy; // [5 * n_state], action-major: the policy that is valued next
  double *value;  // [n_state] of the policy valued last: the next one's first guess
} mm_pmd_values;

// Also makes room for the result's curve: a point per iteration and one more where the exact curve
// is wanted, else one. The config must be a checked one, the task must outlive the values.
mm_status mm_pmd_values_open(const mm_grid *grid, const mm_pmd_config *config, mm_pmd_values *v,
                             mm_result *result);
void mm_pmd_values_close(mm_pmd_values *v);

// The exact value of v->policy becomes the final value and a point of the curve, at the result's
// env_steps.
mm_status mm_pmd_values_point(mm_pmd_values *v, mm_result *result);

// V* of the instance. On ordinary tasks it costs less than a hundredth of a run; on very large ones
// it is not looked for.
mm_status mm_pmd_values_optimum(mm_pmd_values *v, mm_result *result);

#endif
