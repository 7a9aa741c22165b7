// SPDX-License-Identifier: Apache-2.0
// The kernels of actor and critic. Compiled once per instruction set with MM_ISA set to its name;
// net/kernels.h says what each computes and why the bits do not depend on the build.

#include "net/kernels.h"

#include "base/isa.h"
#include "net/lanes.h"
#include "net/tile.h"
#include "net/transpose.h"

// ---------------------------------------------------------------------------------------------
// Dense layers, forward

MM_INLINE void layer_tile(int rows, int vecs, mm_activation activation, size_t inner, mm_matrix x,
                          mm_matrix w, const float *bias, mm_matrix_out out) {
  tile t;
  start_tile(rows, vecs, bias, &t);
  multiply_tile(rows, vecs, inner, x.at, x.ld, 1, w, &t);
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < vecs; j++)
        store(out.at + (size_t)i * out.ld + (size_t)(LANES * j),
              FUSED ? activated(activation, t.c[i][j]) : t.c[i][j]);
  }
}

MM_INLINE void layer_of(mm_activation activation, size_t rows, size_t inner, size_t columns,
                        mm_matrix x, mm_matrix w, const float *bias, mm_matrix_out out) {
  for (size_t c = 0, groups; c < columns; c += groups * GROUP) {
    groups = next_groups((columns - c) / GROUP);
    for (size_t i = 0, n; i < rows; i += n) {
      n = next_rows(rows - i);
      WITH_TILE(n, groups, layer_tile, activation, inner, matrix_at(x, i, 0), matrix_at(w, 0, c),
                bias + c, matrix_out_at(out, i, c));
    }
  }
  if (!FUSED) activate(activation, rows, columns, out);
}

static void layer(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix x,
                  mm_matrix w, const float *bias, mm_matrix_out out) {
  WITH_ACTIVATION(activation, layer_of, rows, inner, columns, x, w, bias, out);
}

// ---------------------------------------------------------------------------------------------
// Sums of rows, for inputs that are 0 or 1

enum { SUM_VECS = 8 }; // side by side

// Start plus the rows w[index[0]], w[index[1]], ... in this order.
#define ADD_ROWS(vecs, sum, n, index, w)                                                           \
  for (size_t entry = 0; entry < (size_t)(n); entry++) {                                           \
    const float *from = (w).at + (size_t)(index)[entry] * (w).ld;                                  \
    KEEP(from);                                                                                    \
    UNROLL for (int j = 0; j < (vecs); j++) sum[j] = add(sum[j], load(from + LANES * j));          \
  }

// Columns from `column` on, as many as `vecs` vectors hold.
MM_INLINE void lists_columns(int vecs, mm_activation activation, size_t rows, mm_net_lists x,
                             mm_matrix w, const float *bias, size_t column, size_t width,
                             size_t plane, float *out) {
  size_t to[SUM_VECS];
  UNROLL for (int j = 0; j < vecs; j++) {
    const size_t c = column + (size_t)(LANES * j);
    to[j] = c / width * plane + c % width;
  }
  for (size_t i = 0; i < rows; i++) {
    vec sum[SUM_VECS];
    UNROLL for (int j = 0; j < vecs; j++) sum[j] = load(bias + LANES * j);
    ADD_ROWS(vecs, sum, x.count[i], x.list[i], w)
    UNROLL for (int j = 0; j < vecs; j++)
        store(out + i * width + to[j], activated(activation, sum[j]));
  }
}

MM_INLINE void layer_lists_of(mm_activation activation, size_t rows, size_t columns, mm_net_lists x,
                              mm_matrix w, const float *bias, size_t width, size_t plane,
                              float *out) {
  size_t c = 0;
  for (; c + SUM_VECS * LANES <= columns; c += SUM_VECS * LANES)
    lists_columns(SUM_VECS, activation, rows, x, matrix_at(w, 0, c), bias + c, c, width, plane,
                  out);
  for (; c + SUM_VECS / 2 * LANES <= columns; c += SUM_VECS / 2 * LANES)
    lists_columns(SUM_VECS / 2, activation, rows, x, matrix_at(w, 0, c), bias + c, c, width, plane,
                  out);
  for (; c < columns; c += GROUP)
    lists_columns(PARTS, activation, rows, x, matrix_at(w, 0, c), bias + c, c, width, plane, out);
}

static void layer_lists(mm_activation activation, size_t rows, size_t columns, mm_net_lists x,
                        mm_matrix w, const float *bias, size_t width, size_t plane, float *out) {
  WITH_ACTIVATION(activation, layer_lists_of, rows, columns, x, w, bias, width, plane, out);
}

// 64 columns at a time: so much of 128 rows stays in the first-level cache.
enum { USE_VECS = 64 / LANES };

// The gradient's rows come in any order from the second-level cache: asked for this far ahead.
enum { AHEAD = 3 };

// Sums of rows of b, added to all uses that have the same ones.
MM_INLINE void uses_columns(int vecs, size_t n, const mm_net_use *use, mm_matrix b,
                            mm_matrix_out out) {
  const mm_net_use *last = use + n - 1;
  while (use <= last) {
    vec sum[USE_VECS];
    UNROLL for (int j = 0; j < vecs; j++) sum[j] = all_of(0.0f);
    ADD_ROWS(vecs, sum, use->count, use->row, b)
    do {
      const float *next = out.at + (last - use > AHEAD ? use + AHEAD : last)->input * out.ld;
      float *to = out.at + use->input * out.ld;
      UNROLL for (int j = 0; j < vecs; j++) {
        if (j % PARTS == 0) __builtin_prefetch(next + LANES * j, 1);
        store(to + LANES * j, add(load(to + LANES * j), sum[j]));
      }
      use++;
    } while (use <= last && use->same);
  }
}

static void outer_uses(size_t n, const mm_net_use *use, size_t columns, mm_matrix b,
                       mm_matrix_out out) {
  size_t c = 0;
  for (; c + 64 <= columns; c += 64)
    uses_columns(USE_VECS, n, use, matrix_at(b, 0, c), matrix_out_at(out, 0, c));
  for (; c < columns; c += GROUP)
    uses_columns(PARTS, n, use, matrix_at(b, 0, c), matrix_out_at(out, 0, c));
}

// ---------------------------------------------------------------------------------------------
// Output layers

MM_INLINE group dot(size_t columns, const float *h, const float *w) {
  group s;
  UNROLL for (int p = 0; p < PARTS; p++) s.part[p] = all_of(0.0f);
  for (size_t c = 0; c < columns; c += GROUP) {
    UNROLL for (int p = 0; p < PARTS; p++) s.part[p] =
        fused(load(h + c + LANES * p), load(w + c + LANES * p), s.part[p]);
  }
  return s;
}

static void dots(size_t n, size_t columns, mm_matrix h, const uint16_t *row, mm_matrix w,
                 const uint16_t *column, float *out) {
  for (size_t q = 0; q < n; q += 8) {
    group s[8];
    UNROLL for (int i = 0; i < 8; i++) s[i] =
        dot(columns, h.at + row[q + (size_t)i] * h.ld, w.at + column[q + (size_t)i] * w.ld);
    sums_of_8(s, out + q);
  }
}

// A stretch of columns of one output and its rows: sums of `vecs` vectors in registers. Returns the
// sum of the errors, in every lane.
MM_INLINE vec back_stretch(int vecs, mm_activation activation, const uint16_t *order, size_t n,
                           const float *error, const float *w, mm_matrix_out h, float *dw,
                           vec *dbias) {
  vec weight[TILE_VECS], dweight[TILE_VECS], errors = all_of(0.0f);
  UNROLL for (int j = 0; j < vecs; j++) {
    weight[j] = load(w + LANES * j);
    dweight[j] = all_of(0.0f);
  }
  for (size_t k = 0; k < n; k++) {
    float *row = h.at + order[k] * h.ld;
    vec e = all_of(error[order[k]]);
    errors = add(errors, e);
    UNROLL for (int j = 0; j < vecs; j++) {
      vec x = load(row + LANES * j);
      vec d = with_slope(activation, x, multiply(e, weight[j]));
      dweight[j] = fused(e, x, dweight[j]);
      dbias[j] = add(dbias[j], d);
      store(row + LANES * j, d);
    }
  }
  UNROLL for (int j = 0; j < vecs; j++)
      store(dw + LANES * j, add(load(dw + LANES * j), dweight[j]));
  return errors;
}

// derror may be NULL.
MM_INLINE void back_columns(int vecs, mm_activation activation, size_t outputs,
                            const uint16_t *start, const uint16_t *order, const float *error,
                            mm_matrix w, mm_matrix_out h, mm_matrix_out dw, float *derror,
                            float *dbias) {
  vec sum[TILE_VECS];
  UNROLL for (int j = 0; j < vecs; j++) sum[j] = all_of(0.0f);
  for (size_t a = 0; a < outputs; a++) {
    float errors[LANES];
    store(errors,
          back_stretch(vecs, activation, order + start[a], (size_t)(start[a + 1] - start[a]), error,
                       w.at + a * w.ld, h, dw.at + a * dw.ld, sum));
    if (derror) derror[a] += errors[0];
  }
  UNROLL for (int j = 0; j < vecs; j++)
      store(dbias + LANES * j, add(load(dbias + LANES * j), sum[j]));
}

MM_INLINE void back_chosen_of(mm_activation activation, size_t outputs, size_t columns,
                              const uint16_t *start, const uint16_t *order, const float *error,
                              mm_matrix w, mm_matrix_out h, mm_matrix_out dw, float *derror,
                              float *dbias) {
  size_t c = 0;
  for (; c + TILE_VECS * LANES <= columns; c += TILE_VECS * LANES)
    back_columns(TILE_VECS, activation, outputs, start, order, error, matrix_at(w, 0, c),
                 matrix_out_at(h, 0, c), matrix_out_at(dw, 0, c), c == 0 ? derror : NULL,
                 dbias + c);
  for (; c < columns; c += GROUP)
    back_columns(PARTS, activation, outputs, start, order, error, matrix_at(w, 0, c),
                 matrix_out_at(h, 0, c), matrix_out_at(dw, 0, c), c == 0 ? derror : NULL,
                 dbias + c);
}

static void back_chosen(mm_activation activation, size_t outputs, size_t columns,
                        const uint16_t *start, const uint16_t *order, const float *error,
                        mm_matrix w, mm_matrix_out h, mm_matrix_out dw, float *derror,
                        float *dbias) {
  WITH_ACTIVATION(activation, back_chosen_of, outputs, columns, start, order, error, w, h, dw,
                  derror, dbias);
}

// ---------------------------------------------------------------------------------------------
// Dense layers, backward

MM_INLINE void back_tile(int rows, int vecs, mm_activation activation, size_t inner, mm_matrix d,
                         mm_matrix w, mm_matrix h, mm_matrix_out out) {
  tile t;
  start_tile(rows, vecs, NULL, &t);
  multiply_tile(rows, vecs, inner, d.at, d.ld, 1, w, &t);
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < vecs; j++) {
      vec x = load(h.at + (size_t)i * h.ld + (size_t)(LANES * j));
      store(out.at + (size_t)i * out.ld + (size_t)(LANES * j),
            with_slope(activation, x, t.c[i][j]));
    }
  }
}

MM_INLINE void back_of(mm_activation activation, size_t rows, size_t inner, size_t columns,
                       mm_matrix d, mm_matrix w, mm_matrix h, mm_matrix_out out) {
  for (size_t c = 0, groups; c < columns; c += groups * GROUP) {
    groups = next_groups((columns - c) / GROUP);
    for (size_t i = 0, n; i < rows; i += n) {
      n = next_rows(rows - i);
      WITH_TILE(n, groups, back_tile, activation, inner, matrix_at(d, i, 0), matrix_at(w, 0, c),
                matrix_at(h, i, c), matrix_out_at(out, i, c));
    }
  }
}

static void back(mm_activation activation, size_t rows, size_t inner, size_t columns, mm_matrix d,
                 mm_matrix w, mm_matrix h, mm_matrix_out out) {
  WITH_ACTIVATION(activation, back_of, rows, inner, columns, d, w, h, out);
}

MM_INLINE void outer_tile(int rows, int vecs, size_t inner, mm_matrix a, mm_matrix b,
                          mm_matrix_out out) {
  tile t;
  start_tile(rows, vecs, NULL, &t);
  multiply_tile(rows, vecs, inner, a.at, 1, a.ld, b, &t);
  UNROLL for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < vecs; j++) {
      float *to = out.at + (size_t)i * out.ld + (size_t)(LANES * j);
      store(to, add(load(to), t.c[i][j]));
    }
  }
}

static void outer(size_t rows, size_t inner, size_t columns, mm_matrix a, mm_matrix b,
                  mm_matrix_out out) {
  for (size_t c = 0, groups; c < columns; c += groups * GROUP) {
    groups = next_groups((columns - c) / GROUP);
    for (size_t k = 0, n; k < inner; k += n) {
      // as even as possible: a tile of one row waits for its own sums
      size_t left = inner - k, tiles = (left + TILE_ROWS - 1) / TILE_ROWS;
      n = (left + tiles - 1) / tiles;
      mm_matrix ak = matrix_at(a, 0, k), bc = matrix_at(b, 0, c);
      mm_matrix_out to = matrix_out_at(out, k, c);
      switch (n) {
      case 6:
        WITH_VECS(groups, outer_tile, 6, rows, ak, bc, to);
        break;
      case 5:
        WITH_VECS(groups, outer_tile, 5, rows, ak, bc, to);
        break;
      case 4:
        WITH_VECS(groups, outer_tile, 4, rows, ak, bc, to);
        break;
      case 3:
        WITH_VECS(groups, outer_tile, 3, rows, ak, bc, to);
        break;
      case 2:
        WITH_VECS(groups, outer_tile, 2, rows, ak, bc, to);
        break;
      default:
        WITH_VECS(groups, outer_tile, 1, rows, ak, bc, to);
        break;
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------
// The optimiser

static float sum_squares(size_t n, const float *g) {
  group sum[8];
  UNROLL for (int k = 0; k < 8; k++) {
    UNROLL for (int p = 0; p < PARTS; p++) sum[k].part[p] = all_of(0.0f);
  }
  for (size_t i = 0; i < n; i += 4 * GROUP) {
    UNROLL for (int k = 0; k < 4; k++) {
      UNROLL for (int p = 0; p < PARTS; p++) {
        vec x = load(g + i + GROUP * k + LANES * p);
        sum[k].part[p] = fused(x, x, sum[k].part[p]);
      }
    }
  }
  float total[8];
  sums_of_8(sum, total);
  return (total[0] + total[1]) + (total[2] + total[3]);
}

// Moments that have faded to less than this are 0: they move no parameter, and numbers below the
// normal range would slow everything down.
#define FADED 0x1p-100f

// Every other root goes without the divider, which has enough to do with the quotients.
static void adam(const mm_adam *a, size_t n, const float *g, float *m, float *v, float *p) {
  const vec scale = all_of(a->scale), beta1 = all_of(a->beta1), rest1 = all_of(a->rest1);
  const vec beta2 = all_of(a->beta2), rest2 = all_of(a->rest2),
            correction2 = all_of(a->correction2);
  const vec step = all_of(a->step), epsilon = all_of(a->epsilon), faded = all_of(FADED);
  for (size_t i = 0; i < n; i += 2 * LANES) {
    UNROLL for (size_t k = 0; k < 2; k++) {
      const size_t at = i + k * LANES;
      vec x = multiply(scale, load(g + at));
      vec first = fused(rest1, x, multiply(beta1, load(m + at)));
      vec second = fused(multiply(rest2, x), x, multiply(beta2, load(v + at)));
      first = where_large(first, faded, first);
      second = where_large(second, faded, second);
      store(m + at, first);
      store(v + at, second);
      vec square = multiply(second, correction2);
      vec size = add(k ? root_by_steps(square) : root(square), epsilon);
      store(p + at, subtract(load(p + at), divide(multiply(step, first), size)));
    }
  }
}

// ---------------------------------------------------------------------------------------------
// The limit

// Twice as many chains as hide the latency of two units.
enum { CHAINS = LANES == 16 ? 24 : 12 };

static double peak(size_t rounds, float *sink) {
  vec c[CHAINS], half = all_of(0.5f), one = all_of(1.0f);
  UNROLL for (int i = 0; i < CHAINS; i++) c[i] = all_of((float)i);
  for (size_t r = 0; r < rounds; r++) {
    UNROLL for (int i = 0; i < CHAINS; i++) c[i] = fused(c[i], half, one);
  }
  UNROLL for (int i = 1; i < CHAINS; i++) c[0] = add(c[0], c[i]);
  store(sink, c[0]);
  return 2.0 * CHAINS * LANES * (double)rounds;
}

const mm_net_kernels MM_ISA_NAME(mm_net_kernels) = {
  .layer = layer,
  .layer_lists = layer_lists,
  .dots = dots,
  .back = back,
  .back_chosen = back_chosen,
  .outer = outer,
  .outer_uses = outer_uses,
  .transpose = transpose,
  .sum_squares = sum_squares,
  .adam = adam,
  .peak = peak,
};
