// SPDX-License-Identifier: Apache-2.0
// Maps against each other: runs paired by seed, a table's p-values corrected together, and what can
// be concluded. `transfer`, `compare`, `report`, `reproduce` and `tune` all judge by these.

#ifndef MM_STUDY_COMPARISON_H
#define MM_STUDY_COMPARISON_H

#include <stdio.h>

#include "study/stats/estimate.h"

// Over the pairs of which both runs say something. One unfinished run leaves nothing but the win
// rate.
typedef struct mm_comparison {
  mm_estimate gain;     // of x - y over so many pairs; NaN without any
  mm_interval interval; // of the mean gain, 95 %
  mm_iqm iqm;           // of the gains
  double wins;          // win rate: share of pairs with x > y, equals counting half
  mm_interval win_interval;
  double p;      // of no difference, by paired sign flips
  double p_holm; // corrected by mm_comparisons_correct; NaN before that
} mm_comparison;

#define MM_NO_INTERVAL ((mm_interval){ NAN, NAN })
#define MM_COMPARISON_NONE                                                                         \
  ((mm_comparison){                                                                                \
      MM_ESTIMATE_NONE, MM_NO_INTERVAL, { NAN, NAN, NAN }, NAN, MM_NO_INTERVAL, NAN, NAN })

// x[n] against y[n] (NULL: zeros), run by run. The seed names the resamples.
mm_comparison mm_comparison_of(const double *x, const double *y, size_t n, uint64_t seed);

// 1 or -1 where the interval of the mean gain lies above or below 0, else 0: the mark of a cell.
int mm_comparison_sign(const mm_comparison *comparison);

// Corrects the p-values of n comparisons, `stride` bytes apart, by Holm's method; returns how many
// there were, those that are NaN not counted.
size_t mm_comparisons_correct(mm_comparison *first, size_t n, size_t stride);

// After that: 1 or -1 where the map is better or worse at a level of 5 %, else 0.
int mm_comparison_verdict(const mm_comparison *comparison);

// How many pairs a gain of this size needs for a power of 80 % at 5 %, by the spread of the gains;
// NaN where there is none, infinite for a gain of 0.
double mm_comparison_pairs_needed(const mm_comparison *comparison);

// One sentence without a line's end: which maps are better or worse than the baseline in that
// environment, or that nothing can be concluded. Rows without a comparison are left out.
typedef struct mm_judged {
  const char *map;
  const mm_comparison *over;
} mm_judged;
void mm_conclude(FILE *f, const char *env, const char *baseline, const mm_judged *row, size_t n);

#endif
