// SPDX-License-Identifier: Apache-2.0
// Exact quantities of a Grid-World task without any stored matrix.
//
// Policies are action-major: policy[a * n_state + s]. Values are indexed by state; wall cells and
// states that cannot be reached keep harmless numbers. A model is a workspace: one thread at a
// time.

#ifndef MM_ENV_GRID_MODEL_H
#define MM_ENV_GRID_MODEL_H

#include <stdbool.h>

#include "env/grid/gridworld.h"
#include "mirrormap/base.h"

typedef struct mm_grid_model mm_grid_model;

// `restart`: termination leads back to the start state instead of an absorbing one. The task must
// outlive the model.
mm_status mm_grid_model_create(const mm_grid *grid, double gamma, bool restart,
                               mm_grid_model **out);
void mm_grid_model_destroy(mm_grid_model *model);

// V of the policy: value[n_state] holds a warm start on entry (zeros are fine) and the solution on
// return. *residual (may be NULL) is |V - T V|_inf; the error of V is below residual / (1 - gamma).
// Never returns a value that is not verified by its residual: MM_ERR_NUMERIC if none was found.
mm_status mm_grid_value(mm_grid_model *model, const double *policy, double *value,
                        double *residual);

// Q(s, a) = B(next(c, a), m) from V, action-major q[5 * n_state].
void mm_grid_q(mm_grid_model *model, const double *value, double *q);

// V* and an optimal policy: the lowest action among those within 1e-9 of the best.
mm_status mm_grid_optimal(mm_grid_model *model, double *value, uint8_t *action);

// d = (1 - gamma) (I - gamma P^T)^-1 mu for the policy, mu the point mass on the start state.
mm_status mm_grid_visitation(mm_grid_model *model, const double *policy, double *d);

// reachable[s] = 1 for states that some policy reaches from the start.
void mm_grid_reachable(mm_grid_model *model, uint8_t *reachable);

#endif
