// SPDX-License-Identifier: Apache-2.0
// Returns of episodes, counted step by step: the same for every learner with networks, on CPU and
// CUDA. [host/device]

#ifndef MM_LAWS_TALLY_H
#define MM_LAWS_TALLY_H

#include <math.h>
#include <stdint.h>

#include "base/hostdev.h"

// What the steps of one iteration add up to.
typedef struct mm_tally {
  double last_sum;     // over steps and environments: return of the last finished episode
  double finished_sum; // returns of the episodes that ended in the iteration
  int32_t counted;     // terms of last_sum: environments without a finished episode add none
  int32_t finished;    // terms of finished_sum
} mm_tally;

// One step of one environment. `running` is the return of its episode so far; `last` that of the
// episode it finished last, NaN before the first end: no return is not a return of 0.
MM_HD MM_INLINE void mm_tally_step(mm_tally *tally, float *running, float *last, float reward,
                                   int end) {
  *running += reward;
  if (end) {
    *last = *running;
    *running = 0;
    tally->finished_sum += (double)*last;
    tally->finished++;
  }
  if (*last == *last) { // not NaN
    tally->last_sum += (double)*last;
    tally->counted++;
  }
}

// The point of the learning curve: the mean over steps and environments that have finished an
// episode; NaN where none has.
MM_INLINE double mm_tally_mean(const mm_tally *tally) {
  return tally->counted > 0 ? tally->last_sum / (double)tally->counted : NAN;
}

#endif
