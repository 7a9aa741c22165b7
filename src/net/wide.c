// SPDX-License-Identifier: Apache-2.0
// Dense products of wide networks. Compiled once per instruction set with MM_ISA set to its name;
// net/wide.h says what each computes and in which order.

#include "net/wide.h"

#include "base/isa.h"
#include "net/lanes.h"
#include "net/tile.h"

// The longest stretch of the inner index: with 64 columns 32 kB of the second factor.
enum { STRETCH = 128 };

// What becomes of a tile's sums when its stretch is done.
typedef enum fate { KEEP_SUMS, ACTIVATE, SLOPE } fate;

// Length of the next stretch: all as equal as can be.
static size_t next_stretch(size_t left) {
  const size_t stretches = (left + STRETCH - 1) / STRETCH;
  return stretches > 1 ? (left + stretches - 1) / stretches : left;
}

MM_INLINE void continue_tile(int rows, int vecs, mm_matrix_out out, tile *t) {
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < vecs; j++) t->c[i][j] =
        load(out.at + (size_t)i * out.ld + (size_t)(LANES * j));
  }
}

// One tile through one stretch: rows of the first factor lie `row` apart, its inner index `step`.
// Sums begin with the bias (NULL: 0), or go on from what `out` holds.
MM_INLINE void wide_tile(int rows, int vecs, fate then, mm_activation activation, bool begin,
                         size_t inner, const float *a, size_t row, size_t step, mm_matrix b,
                         const float *bias, mm_matrix h, mm_matrix_out out) {
  tile t;
  if (begin)
    start_tile(rows, vecs, bias, &t);
  else
    continue_tile(rows, vecs, out, &t);
  multiply_tile(rows, vecs, inner, a, row, step, b, &t);
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < vecs; j++) {
      const size_t at = LANES * (size_t)j;
      vec x = t.c[i][j];
      if (then == ACTIVATE) x = activated(activation, x);
      if (then == SLOPE) x = with_slope(activation, load(h.at + (size_t)i * h.ld + at), x);
      store(out.at + (size_t)i * out.ld + at, x);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Forward

MM_INLINE void layer_stretch(fate then, mm_activation activation, bool begin, size_t groups,
                             size_t rows, size_t inner, mm_matrix x, mm_matrix w, const float *bias,
                             mm_matrix_out out) {
  for (size_t i = 0, n; i < rows; i += n) {
    n = next_rows(rows - i);
    WITH_TILE(n, groups, wide_tile, then, activation, begin, inner, x.at + i * x.ld, x.ld, 1, w,
              bias, x, matrix_out_at(out, i, 0));
  }
}

MM_INLINE void layer_of(mm_activation activation, size_t rows, size_t inner, size_t columns,
                        mm_matrix x, mm_matrix w, const float *bias, mm_matrix_out out) {
  for (size_t c = 0, groups; c < columns; c += groups * GROUP) {
    groups = next_groups((columns - c) / GROUP);
    const mm_matrix_out to = matrix_out_at(out, 0, c);
    for (size_t k = 0, n; k < inner; k += n) {
      n = next_stretch(inner - k);
      const mm_matrix xk = matrix_at(x, 0, k), wk = matrix_at(w, k, c);
      if (FUSED && k + n == inner)
        layer_stretch(ACTIVATE, activation, k == 0, groups, rows, n, xk, wk, bias + c, to);
      else
        layer_stretch(KEEP_SUMS, activation, k == 0, groups, rows, n, xk, wk, bias + c, to);
    }
    if (!FUSED) activate(activation, rows, groups * GROUP, to);
  }
}

static void layer(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix x,
                  mm_matrix w, const float *bias, mm_matrix_out out) {
  WITH_ACTIVATION(activation, layer_of, rows, inner, columns, x, w, bias, out);
}

// ---------------------------------------------------------------------------------------------
// Backward

MM_INLINE void back_stretch(fate then, mm_activation activation, bool begin, size_t groups,
                            size_t rows, size_t inner, mm_matrix d, mm_matrix w, mm_matrix h,
                            mm_matrix_out out) {
  for (size_t i = 0, n; i < rows; i += n) {
    n = next_rows(rows - i);
    WITH_TILE(n, groups, wide_tile, then, activation, begin, inner, d.at + i * d.ld, d.ld, 1, w,
              NULL, matrix_at(h, i, 0), matrix_out_at(out, i, 0));
  }
}

MM_INLINE void back_of(mm_activation activation, size_t rows, size_t inner, size_t columns,
                       mm_matrix d, mm_matrix w, mm_matrix h, mm_matrix_out out) {
  for (size_t c = 0, groups; c < columns; c += groups * GROUP) {
    groups = next_groups((columns - c) / GROUP);
    const mm_matrix hc = matrix_at(h, 0, c);
    const mm_matrix_out to = matrix_out_at(out, 0, c);
    for (size_t k = 0, n; k < inner; k += n) {
      n = next_stretch(inner - k);
      const mm_matrix dk = matrix_at(d, 0, k), wk = matrix_at(w, k, c);
      if (k + n == inner)
        back_stretch(SLOPE, activation, k == 0, groups, rows, n, dk, wk, hc, to);
      else
        back_stretch(KEEP_SUMS, activation, k == 0, groups, rows, n, dk, wk, hc, to);
    }
  }
}

static void back(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix d,
                 mm_matrix w, mm_matrix h, mm_matrix_out out) {
  WITH_ACTIVATION(activation, back_of, rows, inner, columns, d, w, h, out);
}

// ---------------------------------------------------------------------------------------------
// Gradients

#define OUTER_TILE(rows)                                                                           \
  WITH_VECS(groups, wide_tile, rows, KEEP_SUMS, MM_ACTIVATION_TANH, begin, inner, a.at + k, 1,     \
            a.ld, b, NULL, b, matrix_out_at(out, k, 0))

// `columns` of a through `inner` of its rows.
MM_INLINE void outer_stretch(bool begin, size_t groups, size_t columns, size_t inner, mm_matrix a,
                             mm_matrix b, mm_matrix_out out) {
  for (size_t k = 0, n; k < columns; k += n) {
    // as even as possible: a tile of one row waits for its own sums
    const size_t left = columns - k, tiles = (left + TILE_ROWS - 1) / TILE_ROWS;
    n = (left + tiles - 1) / tiles;
    switch (n) {
    case 6:
      OUTER_TILE(6);
      break;
    case 5:
      OUTER_TILE(5);
      break;
    case 4:
      OUTER_TILE(4);
      break;
    case 3:
      OUTER_TILE(3);
      break;
    case 2:
      OUTER_TILE(2);
      break;
    default:
      OUTER_TILE(1);
      break;
    }
  }
}

static void outer(bool add, size_t rows, size_t inner, size_t columns, mm_matrix a, mm_matrix b,
                  mm_matrix_out out) {
  for (size_t c = 0, groups; c < columns; c += groups * GROUP) {
    groups = next_groups((columns - c) / GROUP);
    for (size_t i = 0, n; i < rows; i += n) {
      n = next_stretch(rows - i);
      outer_stretch(i == 0 && !add, groups, inner, n, matrix_at(a, i, 0), matrix_at(b, i, c),
                    matrix_out_at(out, 0, c));
    }
  }
}

const mm_wide_kernels
    MM_ISA_NAME(mm_wide_kernels) = { .layer = layer, .back = back, .outer = outer };
