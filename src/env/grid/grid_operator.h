// SPDX-License-Identifier: Apache-2.0
// The Bellman operator of a policy on a Grid-World task, and its transpose, without a matrix.
//
// A step factors into a move and what follows from the new cell and the old mask (the afterstate):
//
//   B(c', m) = r_i + gamma (1 - q_i) (R_-i V)(o_i, m \ i)   where object i lies at c' and is in m
//            = gamma (R V)(c', m)                            elsewhere
//   (T V)(c, m) = sum_a pi(a | c, m) B(next(c, a), m)
//
// R averages over the respawns of absent objects, one butterfly over masks per object; R_-i leaves
// object i out. Under restart, gamma q_i V(start) is added to the first line. Moves are a stencil:
// the probability of a blocked move is added to staying.
//
// Vectors have n_state entries and are surrounded by zeros: `lead` of them in front and behind, the
// tail rounded up to whole groups of 16, so that the stencil and the reductions need no edges.

#ifndef MM_ENV_GRID_OPERATOR_H
#define MM_ENV_GRID_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "env/grid/gridworld.h"

enum { MM_GRID_MOVES = 4 };

typedef struct mm_grid_operator {
  const mm_grid *grid;
  double gamma;
  bool restart;
  size_t n, padded, lead;          // states; rounded up to 16; zeros around a vector
  ptrdiff_t shift[MM_GRID_MOVES];  // what a move adds to a cell
  double *open[MM_GRID_MOVES];     // [cells] 1 where the move succeeds, else 0
  double *inside;                  // [cells] 1 on free cells, 0 on walls
  double *weight[MM_GRID_ACTIONS]; // [n] the policy with blocked moves counted as staying
  double *after;                   // [n] B
  double *column;                  // [2^n_object] one cell over all masks
} mm_grid_operator;

// The bytes that a vector and the whole operator take from an arena. Sizes that overflow become
// SIZE_MAX.
size_t mm_grid_vector_bytes(const mm_grid *grid);
size_t mm_grid_operator_bytes(const mm_grid *grid);

// Takes both from the arena.
double *mm_grid_vector_take(const mm_grid *grid, mm_arena *arena);
void mm_grid_operator_make(const mm_grid *grid, double gamma, bool restart, mm_arena *arena,
                           mm_grid_operator *out);

// The policy: probabilities [5][n_state], or one action per state.
void mm_grid_operator_policy(mm_grid_operator *op, const double *policy);
void mm_grid_operator_actions(mm_grid_operator *op, const uint8_t *action);

// op->after = B of `value` [n_state]; without rewards its linear part.
void mm_grid_operator_after(mm_grid_operator *op, const double *value, bool rewards);

// out = T value, or T's linear part gamma P value.
void mm_grid_operator_apply(mm_grid_operator *op, const double *value, bool rewards, double *out);

// out = gamma P^T y; y is a padded vector.
void mm_grid_operator_transposed(mm_grid_operator *op, const double *y, double *out);

// out = max_a B(next(c, a), m): one sweep of value iteration.
void mm_grid_operator_best(mm_grid_operator *op, const double *value, double *out);

#endif
