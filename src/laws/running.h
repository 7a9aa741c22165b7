// SPDX-License-Identifier: Apache-2.0
// Running mean and variance. [host/device]

#ifndef MM_LAWS_RUNNING_H
#define MM_LAWS_RUNNING_H

#include <math.h>

#include "base/hostdev.h"

// The running mean and variance of `seen` numbers takes in n more, of whose differences to the mean
// `first` is the sum and `second` the sum of squares.
MM_HD MM_INLINE void mm_running_take(double *mean, double *var, double seen, double n, double first,
                                     double second) {
  const double total = seen + n, delta = first / n, own = fmax(second / n - delta * delta, 0.0);
  const double square = *var * seen + own * n + delta * delta * seen * n / total;
  *mean += delta * n / total;
  *var = square / total;
}

#endif
