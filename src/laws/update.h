// SPDX-License-Identifier: Apache-2.0
// How far an update moved a policy, and how good its critic was: what a training run logs beside
// its losses (docs/ampo.md). [host/device]

#ifndef MM_LAWS_UPDATE_H
#define MM_LAWS_UPDATE_H

#include <math.h>

#include "base/elementary.h"
#include "base/hostdev.h"

// Bound on |log r| of a ratio of probabilities or densities: against overflow, and for an action
// whose probability fell to 0.
#define MM_LOG_RATIO_MOST 20

MM_HD MM_INLINE double mm_log_ratio_within(double x) {
  const double most = MM_LOG_RATIO_MOST;
  return x < -most ? -most : x > most ? most : x;
}

// log p/q of an action that q drew.
MM_HD MM_INLINE double mm_log_ratio(double p, double q) {
  if (!(p > 0)) return -MM_LOG_RATIO_MOST;
  return mm_log_ratio_within(mm_log_d(p) - mm_log_d(q));
}

// A sample of KL(q, p) with r = p/q at an action that q drew: (r - 1) - log r >= 0, whose mean over
// the actions of q is the divergence.
MM_HD MM_INLINE double mm_kl_sample(double log_ratio) {
  return mm_expm1_d(log_ratio) - log_ratio;
}

// Is |r - 1| beyond PPO's clip range?
MM_HD MM_INLINE int mm_ratio_is_clipped(double log_ratio, double clip) {
  return fabs(mm_expm1_d(log_ratio)) > clip;
}

// The term of an action in the entropy of a policy.
MM_HD MM_INLINE double mm_entropy_term(double p) {
  return p > 0 ? -p * mm_log_d(p) : 0;
}

// 1 - Var(returns - values) / Var(returns); NaN where all returns are the same.
MM_HD MM_INLINE double mm_explained_variance(double errors, double returns) {
  return returns > 0 ? 1 - errors / returns : NAN;
}

#endif
