// SPDX-License-Identifier: Apache-2.0
// Successive halving: all candidates are tried with few seeds, and the better half of them goes on
// to twice as many, until a round has all seeds. The first round takes about twice as many training
// runs as each of the others, where a candidate has half of its seeds already. `tune` searches by
// it, and the controls of `learn` and `transfer` are tuned by it.

#ifndef MM_STUDY_HALVING_H
#define MM_STUDY_HALVING_H

#include "base/status.h"

typedef struct mm_halving {
  size_t seeds; // of the last round, at least 1
  // Gives candidates which[n], all with as many seeds so far, `end` of them.
  mm_status (*extend)(const size_t *which, size_t n, size_t end, void *user);
  // Of the seeds so far, greater is better. NaN: the candidate failed and is out.
  double (*score)(size_t candidate, void *user);
  // A candidate that did not fail goes no further. May be NULL.
  void (*drop)(size_t candidate, void *user);
  void *user;
} mm_halving;

// Rounds of n candidates; the seeds that one has after a round, and how many reach it, r from 0 on.
size_t mm_halving_rounds(size_t n, size_t seeds);
size_t mm_halving_end(size_t r, size_t n, size_t seeds);
size_t mm_halving_reach(size_t r, size_t n);

// Training runs that it takes if nothing fails.
double mm_halving_runs(size_t n, size_t seeds);

// The most seeds, at most `limit`, for which that is no more than `runs`; 0: not even one each.
size_t mm_halving_seeds(size_t n, double runs, size_t limit);

// Of equals the earlier one in `which` goes on. Leaves those with all seeds, in their order, at the
// beginning, and their number in *n; that may be 0.
mm_status mm_halve(const mm_halving *halving, size_t *which, size_t *n);

#endif
