// SPDX-License-Identifier: Apache-2.0
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
  float tolerance;     // of the sum
  vec top;             // the row's highest score
  vec d[ROWS_ACTIONS]; // scores minus that
  // the actions' values at u
  vec whole[ROWS_ACTIONS], part[ROWS_ACTIONS], slope[ROWS_ACTIONS];
  vec u, offset; // the root is u + offset in the solved lanes
  mask open, solved;
} rows_block;

// What a point u tells: the sum minus n, its slope, how far to the left (<= 0) and to the right it
// is straight, and the top action's n phi with its slope.
typedef struct rows_point {
  vec excess, slope, left, right, share, share_slope;
} rows_point;

// Points on both sides of the root; share and excess are those at the next knot towards it.
typedef struct rows_bracket {
  vec low, low_share, low_excess;
  vec high, high_share, high_excess;
  mask above, below; // the last point was above the root, or below; neither at first
} rows_bracket;

static void rows_load(const mm_potential_f *f, const float *scores, size_t count, size_t n,
                      rows_block *b) {
  for (size_t i = 0; i < LANES; i++) {
    const float *x = scores + (i < count ? i : count - 1) * n; // unused lanes repeat the last row
    for (size_t a = 0; a < n; a++)
      b->d[a][i] = x[a];
  }
  vec top = b->d[0];
  for (size_t a = 1; a < n; a++)
    top = greatest(top, b->d[a]);
  // twice the width below the top phi is 0 whatever u is; the limit keeps infinity out, and lets
  // NaN pass, which is never solved
  vec lowest = all_of(2 * f->depth[0]);
  for (size_t a = 0; a < n; a++)
    b->d[a] = greatest(lowest, b->d[a] - top);
  b->top = top;
  b->tolerance = (float)f->n * 0x1p-23f * (n > 8 ? (float)n / 4 : 2); // as in mm_solve
}

// How many knots are at or below y, modulo 2^levels after adding that; and the knots around y.
MM_INLINE ints rows_search(const mm_potential_f *f, int levels, vec y, vec *left, vec *right) {
  ints k = (ints){ 0 } + 1;
  *left = all_of(-FLT_MAX);
  *right = all_of(FLT_MAX);
  for (int level = 0; level < levels; level++) {
    vec node =
        level < LANES_BITS ? take(f->tree, LANES_BITS, k) : take(f->tree + (1 << level), level, k);
    mask reached = at_most(node, y);
    *left = choose(reached, node, *left);
    *right = choose(reached, *right, node);
    k = child(k, reached);
  }
  return k;
}

MM_INLINE void rows_evaluate(const mm_potential_f *f, int levels, size_t n, rows_block *b,
                             rows_point *at) {
  vec zero = { 0 }, whole = all_of((float)-f->n), part = zero;
  rows_point sum = { zero, zero, all_of(-FLT_MAX), all_of(FLT_MAX), zero - 1, zero };
  for (size_t a = 0; a < n; a++) {
    vec y = b->u + b->d[a], left, right;
    ints knots = rows_search(f, levels, y, &left, &right);
    // before the first knot the index wraps around to the table's end: slope 0, as after the last
    vec slope = take(f->inverse_psi, levels, knots - 1);
    vec j = __builtin_convertvector(knots, vec) - (float)((1 << levels) + 1);
    j = greatest(j, zero);
    vec t = least(zero + 1, (y - left) * slope), share = j + t;
    b->whole[a] = j;
    b->part[a] = t;
    b->slope[a] = slope;
    whole += j;
    part += t;
    sum.slope += slope;
    sum.left = greatest(sum.left, left - y);
    sum.right = least(sum.right, right - y);
    sum.share_slope = choose(below(sum.share, share), slope, sum.share_slope);
    sum.share = greatest(sum.share, share);
  }
  sum.excess = whole + part;
  *at = sum;
}

// Closes the lanes whose root is known.
MM_INLINE void rows_settle(const rows_point *at, rows_block *b) {
  vec step = -at->excess / at->slope, zero = { 0 }, limit = all_of(b->tolerance);
  mask straight = at_most(at->left, step) & at_most(step, at->right);
  mask near = at_most(at->excess, limit) & at_most(-limit, at->excess);
  mask now = b->open & (straight | near);
  b->offset = choose(now, choose(straight, step, zero), b->offset);
  b->solved |= now;
  b->open ^= now;
}

// Takes the point into the bracket.
MM_INLINE void rows_narrow(const rows_point *at, vec u, rows_bracket *k) {
  vec zero = { 0 }, one = zero + 1, half = zero + 0.5f;
  mask above = below(zero, at->excess);
  vec move = choose(above, at->left, at->right);
  vec share = at->share + move * at->share_slope, excess = at->excess + move * at->slope;
  // the second point in a row on the same side: the other end counts half (the Illinois rule)
  vec low = k->low_excess * choose(k->above, half, one);
  vec high = k->high_excess * choose(k->below, half, one);
  k->low_excess = choose(above, low, excess);
  k->high_excess = choose(above, excess, high);
  k->low_share = choose(above, k->low_share, share);
  k->high_share = choose(above, share, k->high_share);
  k->low = choose(above, k->low, u);
  k->high = choose(above, u, k->high);
  k->above = above;
  k->below = at_most(at->excess, zero);
}

// The open lanes' next points: the secant's, or the middle where that is no progress. Lanes without
// a number between the ends are closed unsolved.
MM_INLINE void rows_next(const mm_potential_f *f, int levels, const rows_bracket *k,
                         rows_block *b) {
  vec weight = k->low_excess / (k->low_excess - k->high_excess);
  vec share = k->low_share + (k->high_share - k->low_share) * weight;
  share = greatest(share, all_of(0)); // 0 for NaN
  share = least(share, all_of((float)f->n));
  ints j = __builtin_convertvector(share, ints);
  vec t = share - __builtin_convertvector(j, vec);
  vec next = take(f->depth, levels, j) + t * take(f->psi, levels, j);
  vec middle = k->low + 0.5f * (k->high - k->low);
  next = choose(below(k->low, next) & below(next, k->high), next, middle);
  b->open &= below(k->low, next) & below(next, k->high);
  b->u = choose(b->open, next, b->u);
}

// Starts at u = 0, where the top action's share is n. The other end of the first secant is that of
// phi, share and sum 0: it divides the top action's share by the sum, which is exact for exp.
MM_INLINE void rows_solve(const mm_potential_f *f, int levels, size_t n, rows_block *b) {
  vec zero = { 0 };
  mask none = below(zero, zero);
  rows_bracket k = {
    all_of(f->depth[0]), zero, all_of((float)-f->n), zero, zero, zero, none, none
  };
  b->u = b->offset = zero;
  b->open = at_most(zero, zero);
  b->solved = none;
  for (int round = 0; round < ROWS_ROUNDS; round++) {
    rows_point at;
    rows_evaluate(f, levels, n, b, &at);
    rows_settle(&at, b);
    if (!some(b->open)) return;
    rows_narrow(&at, b->u, &k);
    rows_next(f, levels, &k, b);
  }
}

// From the values at u to those at the root, divided by their sum. They are kept within their
// segments, so that higher scores never get less; where that matters, a segment is narrower than
// floats resolve, and the row is not solved.
static void rows_finish(const mm_potential_f *f, size_t n, rows_block *b) {
  vec zero = { 0 }, total = zero, limit = all_of(4 * b->tolerance);
  for (size_t a = 0; a < n; a++) {
    vec t = b->part[a] + b->slope[a] * b->offset;
    b->part[a] = b->whole[a] + least(greatest(t, zero), zero + 1);
    total += b->part[a];
  }
  for (size_t a = 0; a < n; a++)
    b->part[a] /= total;
  vec excess = total - (float)f->n;
  b->solved &= at_most(excess, limit) & at_most(-limit, excess);
}

static void rows_store(const mm_potential_f *f, const float *scores, size_t count, size_t n,
                       const rows_block *b, float *probs, float *lambda) {
  vec shift = (f->anchor + (b->u + b->offset)) - b->top;
  for (size_t i = 0; i < count; i++) {
    if (!holds(b->solved, i)) {
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
  for (size_t first = 0; first < rows; first += LANES) {
    size_t count = rows - first < LANES ? rows - first : LANES;
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
