// SPDX-License-Identifier: Apache-2.0
// Grid-World written straight from its laws, slowly: the step by row and column, its outcomes
// listed one by one, matrices spelt out, dense elimination.

#ifndef MM_TEST_GRID_ORACLE_H
#define MM_TEST_GRID_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "env/grid/gridworld.h"

enum { ORACLE_OUTCOMES = 1 << MM_GRID_OBJECTS };

// What may follow (state, action). Probabilities sum to 1 - the chance of an absorbing end.
typedef struct oracle_outcomes {
  int n;
  int32_t state[ORACLE_OUTCOMES + 1];
  double probability[ORACLE_OUTCOMES + 1];
  double reward, ends; // ends: the chance that the episode ends
} oracle_outcomes;

// `state` must not lie in a wall.
void oracle_step(const mm_grid *g, int32_t state, int action, bool restart, oracle_outcomes *out);

// Dense P and r of a policy [5][n]: p[n][n], r[n]. Rows of walls are zero.
void oracle_matrix(const mm_grid *g, const double *policy, bool restart, double *p, double *r);

// LU with partial pivoting: a[n][n] is replaced by its factors, pivot[n] by the row exchanges.
void oracle_factor(double *a, int n, int *pivot);
// Solves a x = b in place, or the transposed system.
void oracle_solve(const double *a, int n, const int *pivot, double *b);
void oracle_solve_transposed(const double *a, int n, const int *pivot, double *b);

// |V - (r + gamma P V)|_inf over free cells, from the outcomes one by one.
double oracle_residual(const mm_grid *g, const double *policy, double gamma, bool restart,
                       const double *value);

bool oracle_is_wall(const mm_grid *g, int32_t state);

#endif
