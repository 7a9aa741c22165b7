// SPDX-License-Identifier: Apache-2.0
// Whole arrays through a map, in builds for each instruction set that give the same bits.

#ifndef MM_MAP_BATCH_H
#define MM_MAP_BATCH_H

#include <stddef.h>

#include "map/potential.h"

// Arrays x, p, out: [n]; scores, probs: [rows][n_action]; lambda: [rows]. Inputs and outputs of one
// call may be the same array.
typedef struct mm_map_kernels {
  void (*phi_d)(const mm_potential_d *f, const double *x, size_t n, double *out);
  void (*phi_f)(const mm_potential_f *f, const float *x, size_t n, float *out);
  void (*phi_inverse_d)(const mm_potential_d *f, const double *p, size_t n, double *out);
  void (*phi_inverse_f)(const mm_potential_f *f, const float *p, size_t n, float *out);
  void (*project_d)(const mm_potential_d *f, mm_projection method, const double *scores,
                    size_t rows, size_t n_action, double *probs, double *lambda);
  void (*project_f)(const mm_potential_f *f, mm_projection method, const float *scores, size_t rows,
                    size_t n_action, float *probs, float *lambda);

  // For cells [left, left + width] of a neural map's table: the units' sum at each left end, and a
  // bound on how far the units stray from the straight line over the cell.
  void (*cell_bounds)(const mm_potential_d *f, const double *left, double width, size_t n,
                      double *value, double *bound);
} mm_map_kernels;

// Those of mm_isa_current().
const mm_map_kernels *mm_map_kernels_current(void);

#endif
