// SPDX-License-Identifier: Apache-2.0
// What the networks' arithmetic is made of, in builds for each instruction set that give the same
// bits.
//
// Matrices are row-major with a leading dimension; their columns come in groups of 16, so widths
// and leading dimensions of weights and activations are multiples of 16. An output element is one
// chain of fused multiply-adds in the order of its inner index, whatever tile of the matrix is
// worked on at a time; sums over 16 lanes are made by one fixed tree. Buffers never overlap unless
// it says so.

#ifndef MM_NET_KERNELS_H
#define MM_NET_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

// Rows of activations come in fours; those that stand for nothing have zero error.
enum { MM_NET_ROWS = 4 };

typedef struct mm_matrix {
  const float *at;
  size_t ld;
} mm_matrix;

typedef struct mm_matrix_out {
  float *at;
  size_t ld;
} mm_matrix_out;

// Rows of inputs that are 1: row i has inputs list[i][0 .. count[i] - 1].
typedef struct mm_net_lists {
  const uint16_t *const *list;
  const int32_t *count;
} mm_net_lists;

// The same the other way round: an input is on in the rows row[0], ..., row[count - 1].
typedef struct mm_net_use {
  const uint8_t *row;
  uint16_t input, count;
  uint8_t same; // 1: in the same rows as the use before
} mm_net_use;

// One step of Adam for parameters that lie side by side.
typedef struct mm_adam {
  float scale;        // of the gradient: clipping
  float beta1, rest1; // rest = 1 - beta
  float beta2, rest2;
  float correction2; // 1 / (1 - beta2^count)
  float step;        // learning rate / (1 - beta1^count)
  float epsilon;
} mm_adam;

typedef struct mm_net_kernels {
  // out[i][c] = activation(bias[c] + sum_k x[i][k] w[k][c]); rows a multiple of MM_NET_ROWS.
  void (*layer)(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix x,
                mm_matrix w, const float *bias, mm_matrix_out out);

  // The same for inputs that are 0 or 1. Columns c of w beyond `width` go to the next plane:
  // out[c / width][i][c % width] with planes `plane` numbers apart.
  void (*layer_lists)(mm_activation activation, size_t rows, size_t columns, mm_net_lists x,
                      mm_matrix w, const float *bias, size_t width, size_t plane, float *out);

  // out[q] = sum_c h[row[q]][c] w[column[q]][c] for q < n; n a multiple of 8.
  void (*dots)(size_t n, size_t columns, mm_matrix h, const uint16_t *row, mm_matrix w,
               const uint16_t *column, float *out);

  // out[i][c] = activation'(h[i][c]) sum_k d[i][k] w[k][c]; `out` may be h.
  void (*back)(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix d,
               mm_matrix w, mm_matrix h, mm_matrix_out out);

  // Backward through an output layer where each row has one error: error[i] at the output to whose
  // stretch order[start[a]] .. order[start[a + 1] - 1] it belongs. Turns h into the errors of the
  // layer before it, and adds to dw [outputs][columns], to derror [outputs], the sums of errors,
  // and to dbias [columns], the sum of what h becomes.
  void (*back_chosen)(mm_activation activation, size_t outputs, size_t columns,
                      const uint16_t *start, const uint16_t *order, const float *error, mm_matrix w,
                      mm_matrix_out h, mm_matrix_out dw, float *derror, float *dbias);

  // out[k][c] += sum_i a[i][k] b[i][c].
  void (*outer)(size_t rows, size_t inner, size_t columns, mm_matrix a, mm_matrix b,
                mm_matrix_out out);

  // The same where a is given by the uses of its columns, n of them in any order.
  void (*outer_uses)(size_t n, const mm_net_use *use, size_t columns, mm_matrix b,
                     mm_matrix_out out);

  // out[c][r] = in[r][c]; both sizes multiples of 16.
  void (*transpose)(size_t rows, size_t columns, mm_matrix in, mm_matrix_out out);

  // sum of g[i]^2; n a multiple of 64.
  float (*sum_squares)(size_t n, const float *g);

  // n a multiple of 32.
  void (*adam)(const mm_adam *a, size_t n, const float *g, float *m, float *v, float *p);

  // Nothing but independent fused multiply-adds in registers, for benchmarks: the machine's limit.
  // Returns the floating-point operations done, two each; `sink` [16] takes what came out.
  double (*peak)(size_t rounds, float *sink);
} mm_net_kernels;

// Those of mm_isa_current().
const mm_net_kernels *mm_net_kernels_current(void);

#endif
