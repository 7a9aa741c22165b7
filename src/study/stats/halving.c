// SPDX-License-Identifier: Apache-2.0
#include "study/stats/halving.h"

#include <math.h>
#include <stdlib.h>

// Halvings until one of n is left, but no more than the seeds can be halved.
static size_t halvings(size_t n, size_t seeds) {
  size_t h = 0;
  while (((size_t)1 << h) < n && ((size_t)2 << h) <= seeds)
    h++;
  return h;
}

static size_t shift_up(size_t x, size_t by) {
  return (x + ((size_t)1 << by) - 1) >> by;
}

size_t mm_halving_rounds(size_t n, size_t seeds) {
  return halvings(n, seeds) + 1;
}

size_t mm_halving_end(size_t r, size_t n, size_t seeds) {
  return shift_up(seeds, halvings(n, seeds) - r);
}

size_t mm_halving_reach(size_t r, size_t n) {
  return shift_up(n, r);
}

double mm_halving_runs(size_t n, size_t seeds) {
  double runs = 0;
  for (size_t r = 0, before = 0; r < mm_halving_rounds(n, seeds); r++) {
    size_t end = mm_halving_end(r, n, seeds);
    runs += (double)mm_halving_reach(r, n) * (double)(end - before);
    before = end;
  }
  return runs;
}

// A step to twice the seeds adds a round and may cost less than the one before: all are looked at.
size_t mm_halving_seeds(size_t n, double runs, size_t limit) {
  size_t most = 0;
  for (size_t s = 1; s <= limit && (double)s <= runs; s++)
    if (mm_halving_runs(n, s) <= runs) most = s;
  return most;
}

// ---------------------------------------------------------------------------------------------

typedef struct ranked {
  size_t candidate, place;
  double score;
} ranked;

static int best_first(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->place < b->place ? -1 : 1;
}

static int in_order(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  return a->place < b->place ? -1 : 1;
}

// Of which[n] those that do not fail, at most `keep`.
static size_t select_best(const mm_halving *h, size_t *which, size_t n, size_t keep, ranked *x) {
  size_t fit = 0;
  for (size_t i = 0; i < n; i++) {
    x[fit] = (ranked){ which[i], i, h->score(which[i], h->user) };
    if (!isnan(x[fit].score)) fit++;
  }
  qsort(x, fit, sizeof *x, best_first);
  for (size_t i = keep; i < fit && h->drop; i++)
    h->drop(x[i].candidate, h->user);
  if (keep > fit) keep = fit;
  qsort(x, keep, sizeof *x, in_order);
  for (size_t i = 0; i < keep; i++)
    which[i] = x[i].candidate;
  return keep;
}

mm_status mm_halve(const mm_halving *h, size_t *which, size_t *n) {
  const size_t all = *n, rounds = mm_halving_rounds(all, h->seeds);
  mm_status status = MM_OK;
  ranked *x = mm_alloc_array(all + 1, sizeof *x);
  if (!x) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu candidates", all);
  for (size_t r = 0; r<rounds && * n> 0 && status == MM_OK; r++) {
    status = h->extend(which, *n, mm_halving_end(r, all, h->seeds), h->user);
    size_t keep = r + 1 < rounds ? mm_halving_reach(r + 1, all) : all;
    if (status == MM_OK) *n = select_best(h, which, *n, keep, x);
  }
  mm_free(x);
  return status;
}
