// SPDX-License-Identifier: Apache-2.0
// Dense products for networks of a few hundred units, whose weights do not fit into the first-level
// cache, in builds for each instruction set that give the same bits.
//
// What each computes is as in net/kernels.h, element by element the same chain of fused
// multiply-adds; but all rows of a minibatch go through at once, and a stretch of the inner index
// is done for all of them before the next one begins, so that its part of the second factor stays
// in the first-level cache. Rows of matrices should be a line further apart than a power of two,
// or they share few sets of it.

#ifndef MM_NET_WIDE_H
#define MM_NET_WIDE_H

#include <stdbool.h>

#include "net/kernels.h"

typedef struct mm_wide_kernels {
  // out[i][c] = activation(bias[c] + sum_k x[i][k] w[k][c]); rows a multiple of MM_NET_ROWS.
  void (*layer)(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix x,
                mm_matrix w, const float *bias, mm_matrix_out out);

  // out[i][c] = activation'(h[i][c]) sum_k d[i][k] w[k][c].
  void (*back)(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix d,
               mm_matrix w, mm_matrix h, mm_matrix_out out);

  // out[k][c] = sum_i a[i][k] b[i][c]; with `add` the chain begins with what is there.
  void (*outer)(bool add, size_t rows, size_t inner, size_t columns, mm_matrix a, mm_matrix b,
                mm_matrix_out out);
} mm_wide_kernels;

// Those of mm_isa_current().
const mm_wide_kernels *mm_wide_kernels_current(void);

#endif
