// SPDX-License-Identifier: Apache-2.0
// The register tile under every dense product: a few rows times a few vectors of columns, each
// element one chain of fused multiply-adds over the inner index.
//
// How large a tile may be depends on the registers: 6 x 4 vectors of 16 with AVX-512 (24 of 32), 6
// x 2 of 8 with AVX2 (12 of 16). Its size changes nothing but the speed.

#ifndef MM_NET_TILE_H
#define MM_NET_TILE_H

#include "net/kernels.h"
#include "net/lanes.h"

enum { TILE_ROWS = 6, TILE_VECS = 4 };

// Groups of 16 columns in the widest tile.
#if defined(__AVX512F__)
enum { TILE_GROUPS = 4 };
#else
enum { TILE_GROUPS = 1 };
#endif

MM_INLINE mm_matrix matrix_at(mm_matrix a, size_t row, size_t column) {
  return (mm_matrix){ a.at + row * a.ld + column, a.ld };
}

MM_INLINE mm_matrix_out matrix_out_at(mm_matrix_out a, size_t row, size_t column) {
  return (mm_matrix_out){ a.at + row * a.ld + column, a.ld };
}

typedef struct tile {
  vec c[TILE_ROWS][TILE_VECS];
} tile;

// c[i][j] += sum_k a[i row + k step] b[k][j]; `rows` and `vecs` are constants after inlining.
MM_INLINE void multiply_tile(int rows, int vecs, size_t inner, const float *a, size_t row,
                             size_t step, mm_matrix b, tile *t) {
  for (size_t k = 0; k < inner; k++) {
    vec bk[TILE_VECS];
    UNROLL for (int j = 0; j < vecs; j++) bk[j] = load(b.at + k * b.ld + (size_t)(LANES * j));
    UNROLL for (int i = 0; i < rows; i++) {
      vec ai = all_of(a[(size_t)i * row + k * step]);
      UNROLL for (int j = 0; j < vecs; j++) t->c[i][j] = fused(ai, bk[j], t->c[i][j]);
    }
  }
}

// Every row of the tile starts with the same numbers.
MM_INLINE void start_tile(int rows, int vecs, const float *bias, tile *t) {
  UNROLL for (int j = 0; j < vecs; j++) {
    vec b = bias ? load(bias + LANES * j) : all_of(0.0f);
    UNROLL for (int i = 0; i < rows; i++) t->c[i][j] = b;
  }
}

MM_INLINE vec activated(mm_activation activation, vec x) {
  return activation == MM_ACTIVATION_TANH ? tanh_of(x) : greatest(all_of(0.0f), x);
}

// With few registers the activation is left to a pass of its own: its constants would drive sums
// out of the tile.
enum { FUSED = LANES == 16 };

MM_INLINE void activate(mm_activation activation, size_t rows, size_t columns, mm_matrix_out out) {
  for (size_t i = 0; i < rows; i++) {
    for (size_t c = 0; c < columns; c += LANES) {
      float *at = out.at + i * out.ld + c;
      store(at, activated(activation, load(at)));
    }
  }
}

// x times the derivative of the activation, as a function of its result h.
MM_INLINE vec with_slope(mm_activation activation, vec h, vec x) {
  return activation == MM_ACTIVATION_TANH ? multiply(x, fused_minus(h, h, all_of(1.0f)))
                                          : where_above(h, all_of(0.0f), x);
}

// Rows of the next tile when `left` of them remain: sixes, unless that would leave less than four.
MM_INLINE size_t next_rows(size_t left) {
  return left >= 6 && left != 8 ? 6 : 4;
}

// Groups of columns of the next tile.
MM_INLINE size_t next_groups(size_t left) {
  return TILE_GROUPS >= 4 && left >= 4 ? 4 : TILE_GROUPS >= 4 && left >= 2 ? 2 : 1;
}

// Calls function(rows, vecs, ...) with constants for what the two numbers happen to be.
#if defined(__AVX512F__)
#define WITH_VECS(groups, function, rows, ...)                                                     \
  ((groups) == 4   ? function(rows, 4, __VA_ARGS__)                                                \
   : (groups) == 2 ? function(rows, 2, __VA_ARGS__)                                                \
                   : function(rows, 1, __VA_ARGS__))
#else
#define WITH_VECS(groups, function, rows, ...) ((void)(groups), function(rows, PARTS, __VA_ARGS__))
#endif
#define WITH_TILE(rows, groups, function, ...)                                                     \
  ((rows) == 6 ? WITH_VECS(groups, function, 6, __VA_ARGS__)                                       \
               : WITH_VECS(groups, function, 4, __VA_ARGS__))

// The two activations as constants for everything inlined into the function.
#define WITH_ACTIVATION(activation, function, ...)                                                 \
  ((activation) == MM_ACTIVATION_TANH ? function(MM_ACTIVATION_TANH, __VA_ARGS__)                  \
                                      : function(MM_ACTIVATION_RELU, __VA_ARGS__))

#endif
