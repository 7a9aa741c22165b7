// SPDX-License-Identifier: Apache-2.0
// Numbers that change in the course of a training run: anchors at equal fractions of it, the first
// at the first iteration, the last at the last. [host/device]

#ifndef MM_LAWS_SCHEDULE_H
#define MM_LAWS_SCHEDULE_H

#include <stdint.h>

#include "base/elementary.h"
#include "base/hostdev.h"

// Where a run stands: `share` of the way from anchor number `anchor` to the next.
typedef struct mm_moment {
  int32_t anchor;
  double share; // in [0, 1); 0 at the last anchor
} mm_moment;

// Iteration t of a run of `iterations`, among n anchors. Whole numbers, so that an anchor is met
// exactly where there is an iteration for it. A run of one iteration is at its first anchor.
MM_INLINE MM_HD mm_moment mm_moment_of(int64_t t, int64_t iterations, int32_t n) {
  const int64_t last = iterations - 1;
  mm_moment m = { 0, 0 };
  if (last < 1 || n < 2) return m;
  const int64_t at = (t < last ? t : last) * (n - 1);
  m.anchor = (int32_t)(at / last);
  m.share = (double)(at % last) / (double)last;
  return m;
}

// Factors of a schedule: positive, and 0 behind the last of them.
enum { MM_SCHEDULE_FACTORS = 8 };

MM_INLINE MM_HD int32_t mm_factors_count(const double *factor) {
  int32_t n = 0;
  while (n < MM_SCHEDULE_FACTORS && factor[n] > 0)
    n++;
  return n;
}

// The factor of iteration t: geometric between anchors, 1 without any.
MM_INLINE MM_HD double mm_factor_at(const double *factor, int64_t t, int64_t iterations) {
  const int32_t n = mm_factors_count(factor);
  const mm_moment m = mm_moment_of(t, iterations, n);
  if (n == 0) return 1;
  const double from = factor[m.anchor];
  return m.share > 0 ? from * mm_exp_d(m.share * mm_log_d(factor[m.anchor + 1] / from)) : from;
}

// AMPO's iteration t: step sizes, and what the target has of the iteration's map. Scores were
// regressed with the step size of the iteration before, so policies are projections of them times
// that one; the target takes the next step.
typedef struct mm_eta_step {
  float act;    // of the scores, for the policy
  float factor; // of these in z: `act` once more for target=code from the second iteration on
  float eta;    // of the target
  float center; // taken off the target
  float floor;  // of z in the target: phi^-1 of what stands for 0
} mm_eta_step;

#endif
