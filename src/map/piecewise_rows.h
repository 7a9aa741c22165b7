// The projection of simplex.h for piecewise maps, rows of scores side by side: one row per vector
// lane, and no branch depends on a single row. A row's bits do not depend on its neighbours.
//
// Everything is in units of segments: n phi(y) = j + t inside segment j, with t in [0, 1], so the
// sum over the actions, which is to be n, has an exact part. The bracket around the root shrinks by
// the secant rule in the top action's n phi, a coordinate in which even a rough phi is smooth on
// the whole. What is known at a point holds as far as phi is straight for all actions: the secant
// goes through the values there, and the search ends when the root itself is that near. Rows which
// that does not settle (knots closer than floats resolve) are left to simplex.h.

#ifndef MM_MAP_PIECEWISE_ROWS_H
#define MM_MAP_PIECEWISE_ROWS_H

#include <float.h>

#include "map/lanes.h"
#include "map/simplex.h"

enum {
  ROWS_ACTIONS = 32, // the most actions of a row
  ROWS_ROUNDS = 40   // the most evaluations of the sum; 2 to 3 are usual, up to 25 on rough maps
};

typedef struct rows_block {
  float tolerance;            // of the sum
  mm_lanes_f top;             // the row's highest score
  mm_lanes_f d[ROWS_ACTIONS]; // scores minus that
  // the actions' values at u
  mm_lanes_f whole[ROWS_ACTIONS], part[ROWS_ACTIONS], slope[ROWS_ACTIONS];
  mm_lanes_f u, offset; // the root is u + offset in the solved lanes
  mm_lanes_where open, solved;
} rows_block;

// What a point u tells: the sum minus n, its slope, how far to the left (<= 0) and to the right it
// is straight, and the top action's n phi with its slope.
typedef struct rows_point {
  mm_lanes_f excess, slope, left, right, share, share_slope;
} rows_point;

// Points on both sides of the root; share and excess are those at the next knot towards it.
typedef struct rows_bracket {
  mm_lanes_f low, low_share, low_excess;
  mm_lanes_f high, high_share, high_excess;
  mm_lanes_where above, below; // the last point was above the root, or below; neither at first
} rows_bracket;

static void rows_load(const mm_potential_f *f, const float *scores, size_t count, size_t n,
                      rows_block *b) {
  for (size_t i = 0; i < MM_LANES; i++) {
    const float *x = scores + (i < count ? i : count - 1) * n; // unused lanes repeat the last row
    for (size_t a = 0; a < n; a++)
      b->d[a][i] = x[a];
  }
  mm_lanes_f top = b->d[0];
  for (size_t a = 1; a < n; a++)
    top = mm_lanes_max(top, b->d[a]);
  // twice the width below the top phi is 0 whatever u is; the limit keeps infinity out, and lets
  // NaN pass, which is never solved
  mm_lanes_f least = mm_lanes_all(2 * f->depth[0]);
  for (size_t a = 0; a < n; a++)
    b->d[a] = mm_lanes_max(least, b->d[a] - top);
  b->top = top;
  b->tolerance = (float)f->n * 0x1p-23f * (n > 8 ? (float)n / 4 : 2); // as in mm_solve
}

// How many knots are at or below y, modulo 2^levels after adding that; and the knots around y.
MM_INLINE mm_lanes_i rows_search(const mm_potential_f *f, int levels, mm_lanes_f y,
                                 mm_lanes_f *left, mm_lanes_f *right) {
  mm_lanes_i k = (mm_lanes_i){ 0 } + 1;
  *left = mm_lanes_all(-FLT_MAX);
  *right = mm_lanes_all(FLT_MAX);
  for (int level = 0; level < levels; level++) {
    mm_lanes_f node = level < MM_LANES_BITS ? mm_lanes_take(f->tree, MM_LANES_BITS, k)
                                            : mm_lanes_take(f->tree + (1 << level), level, k);
    mm_lanes_where reached = mm_lanes_at_most(node, y);
    *left = mm_lanes_select(reached, node, *left);
    *right = mm_lanes_select(reached, *right, node);
    k = mm_lanes_child(k, reached);
  }
  return k;
}

MM_INLINE void rows_evaluate(const mm_potential_f *f, int levels, size_t n, rows_block *b,
                             rows_point *at) {
  mm_lanes_f zero = { 0 }, whole = mm_lanes_all((float)-f->n), part = zero;
  rows_point sum = { zero, zero, mm_lanes_all(-FLT_MAX), mm_lanes_all(FLT_MAX), zero - 1, zero };
  for (size_t a = 0; a < n; a++) {
    mm_lanes_f y = b->u + b->d[a], left, right;
    mm_lanes_i knots = rows_search(f, levels, y, &left, &right);
    // before the first knot the index wraps around to the table's end: slope 0, as after the last
    mm_lanes_f slope = mm_lanes_take(f->inverse_psi, levels, knots - 1);
    mm_lanes_f j = __builtin_convertvector(knots, mm_lanes_f) - (float)((1 << levels) + 1);
    j = mm_lanes_max(j, zero);
    mm_lanes_f t = mm_lanes_min(zero + 1, (y - left) * slope), share = j + t;
    b->whole[a] = j;
    b->part[a] = t;
    b->slope[a] = slope;
    whole += j;
    part += t;
    sum.slope += slope;
    sum.left = mm_lanes_max(sum.left, left - y);
    sum.right = mm_lanes_min(sum.right, right - y);
    sum.share_slope = mm_lanes_select(mm_lanes_less(sum.share, share), slope, sum.share_slope);
    sum.share = mm_lanes_max(sum.share, share);
  }
  sum.excess = whole + part;
  *at = sum;
}

// Closes the lanes whose root is known.
MM_INLINE void rows_settle(const rows_point *at, rows_block *b) {
  mm_lanes_f step = -at->excess / at->slope, zero = { 0 }, limit = mm_lanes_all(b->tolerance);
  mm_lanes_where straight = mm_lanes_at_most(at->left, step) & mm_lanes_at_most(step, at->right);
  mm_lanes_where near = mm_lanes_at_most(at->excess, limit) & mm_lanes_at_most(-limit, at->excess);
  mm_lanes_where now = b->open & (straight | near);
  b->offset = mm_lanes_select(now, mm_lanes_select(straight, step, zero), b->offset);
  b->solved |= now;
  b->open ^= now;
}

// Takes the point into the bracket.
MM_INLINE void rows_narrow(const rows_point *at, mm_lanes_f u, rows_bracket *k) {
  mm_lanes_f zero = { 0 }, one = zero + 1, half = zero + 0.5f;
  mm_lanes_where above = mm_lanes_less(zero, at->excess);
  mm_lanes_f move = mm_lanes_select(above, at->left, at->right);
  mm_lanes_f share = at->share + move * at->share_slope, excess = at->excess + move * at->slope;
  // the second point in a row on the same side: the other end counts half (the Illinois rule)
  mm_lanes_f low = k->low_excess * mm_lanes_select(k->above, half, one);
  mm_lanes_f high = k->high_excess * mm_lanes_select(k->below, half, one);
  k->low_excess = mm_lanes_select(above, low, excess);
  k->high_excess = mm_lanes_select(above, excess, high);
  k->low_share = mm_lanes_select(above, k->low_share, share);
  k->high_share = mm_lanes_select(above, share, k->high_share);
  k->low = mm_lanes_select(above, k->low, u);
  k->high = mm_lanes_select(above, u, k->high);
  k->above = above;
  k->below = mm_lanes_at_most(at->excess, zero);
}

// The open lanes' next points: the secant's, or the middle where that is no progress. Lanes without
// a number between the ends are closed unsolved.
MM_INLINE void rows_next(const mm_potential_f *f, int levels, const rows_bracket *k,
                         rows_block *b) {
  mm_lanes_f weight = k->low_excess / (k->low_excess - k->high_excess);
  mm_lanes_f share = k->low_share + (k->high_share - k->low_share) * weight;
  share = mm_lanes_max(share, mm_lanes_all(0)); // 0 for NaN
  share = mm_lanes_min(share, mm_lanes_all((float)f->n));
  mm_lanes_i j = __builtin_convertvector(share, mm_lanes_i);
  mm_lanes_f t = share - __builtin_convertvector(j, mm_lanes_f);
  mm_lanes_f next = mm_lanes_take(f->depth, levels, j) + t * mm_lanes_take(f->psi, levels, j);
  mm_lanes_f middle = k->low + 0.5f * (k->high - k->low);
  next = mm_lanes_select(mm_lanes_less(k->low, next) & mm_lanes_less(next, k->high), next, middle);
  b->open &= mm_lanes_less(k->low, next) & mm_lanes_less(next, k->high);
  b->u = mm_lanes_select(b->open, next, b->u);
}

// Starts at u = 0, where the top action's share is n. The other end of the first secant is that of
// phi, share and sum 0: it divides the top action's share by the sum, which is exact for exp.
MM_INLINE void rows_solve(const mm_potential_f *f, int levels, size_t n, rows_block *b) {
  mm_lanes_f zero = { 0 };
  mm_lanes_where none = mm_lanes_less(zero, zero);
  rows_bracket k = {
    mm_lanes_all(f->depth[0]), zero, mm_lanes_all((float)-f->n), zero, zero, zero, none, none
  };
  b->u = b->offset = zero;
  b->open = mm_lanes_at_most(zero, zero);
  b->solved = none;
  for (int round = 0; round < ROWS_ROUNDS; round++) {
    rows_point at;
    rows_evaluate(f, levels, n, b, &at);
    rows_settle(&at, b);
    if (!mm_lanes_any(b->open)) return;
    rows_narrow(&at, b->u, &k);
    rows_next(f, levels, &k, b);
  }
}

// From the values at u to those at the root, divided by their sum. They are kept within their
// segments, so that higher scores never get less; where that matters, a segment is narrower than
// floats resolve, and the row is not solved.
static void rows_finish(const mm_potential_f *f, size_t n, rows_block *b) {
  mm_lanes_f zero = { 0 }, total = zero, limit = mm_lanes_all(4 * b->tolerance);
  for (size_t a = 0; a < n; a++) {
    mm_lanes_f t = b->part[a] + b->slope[a] * b->offset;
    b->part[a] = b->whole[a] + mm_lanes_min(mm_lanes_max(t, zero), zero + 1);
    total += b->part[a];
  }
  for (size_t a = 0; a < n; a++)
    b->part[a] /= total;
  mm_lanes_f excess = total - (float)f->n;
  b->solved &= mm_lanes_at_most(excess, limit) & mm_lanes_at_most(-limit, excess);
}

static void rows_store(const mm_potential_f *f, const float *scores, size_t count, size_t n,
                       const rows_block *b, float *probs, float *lambda) {
  mm_lanes_f shift = (f->anchor + (b->u + b->offset)) - b->top;
  for (size_t i = 0; i < count; i++) {
    if (!mm_lanes_holds(b->solved, i)) {
      mm_project_solved_f(f, scores + i * n, n, probs + i * n, lambda + i);
      continue;
    }
    for (size_t a = 0; a < n; a++)
      probs[i * n + a] = b->part[a][i];
    lambda[i] = shift[i];
  }
}

// scores, probs: [rows][n]; lambda: [rows]. The map has a tree, and n is at most ROWS_ACTIONS.
static void project_rows(const mm_potential_f *f, const float *scores, size_t rows, size_t n,
                         float *probs, float *lambda) {
  rows_block b;
  for (size_t first = 0; first < rows; first += MM_LANES) {
    size_t count = rows - first < MM_LANES ? rows - first : MM_LANES;
    const float *x = scores + first * n;
    rows_load(f, x, count, n, &b);
    if (f->levels == MM_TREE_LEAST)
      rows_solve(f, MM_TREE_LEAST, n, &b); // all its loops and tables are of known size
    else
      rows_solve(f, f->levels, n, &b);
    rows_finish(f, n, &b);
    rows_store(f, x, count, n, &b, probs + first * n, lambda + first);
  }
}

#endif
