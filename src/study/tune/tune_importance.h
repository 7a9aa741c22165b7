// SPDX-License-Identifier: Apache-2.0
// How much each parameter mattered, by a regression over the trials of a search.
//
// The ranks of the trials' scores (so that one disaster is not everything) are fitted by a sum of
// functions of one parameter each: a parabola in its place, or a number per choice. A parameter's
// share is that part of the ranks' variance which its function explains, less what as many
// functions of pure chance would (epsilon squared). The rest is interactions and noise.

#ifndef MM_EXPERIMENT_TUNE_IMPORTANCE_H
#define MM_EXPERIMENT_TUNE_IMPORTANCE_H

#include "study/tune/tune_search.h"

typedef struct mm_tune_importance {
  bool known;                       // false: too few trials for so many parameters, or all alike
  size_t n;                         // trials that it is from
  double share[MM_TUNE_PARAMETERS]; // in [0, 1]
} mm_tune_importance;

// Trial 0 counts where its values lie in the ranges.
mm_status mm_tune_weigh(const mm_tune_search *search, mm_tune_importance *out);

#endif
