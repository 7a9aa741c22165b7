// SPDX-License-Identifier: Apache-2.0
// Gaussian policies with a deviation for each action. [host/device]

#ifndef MM_LAWS_GAUSSIAN_H
#define MM_LAWS_GAUSSIAN_H

#include <math.h>

#include "base/hostdev.h"

// What a log deviation counts as: within these bounds.
#define MM_LOG_STD_LEAST (-5.0f)
#define MM_LOG_STD_MOST 2.0f

MM_HD MM_INLINE float mm_log_std(float x) {
  return x < MM_LOG_STD_LEAST ? MM_LOG_STD_LEAST : x > MM_LOG_STD_MOST ? MM_LOG_STD_MOST : x;
}

// Its derivative: beyond the bounds it does not count, but it may come back.
MM_HD MM_INLINE float mm_log_std_slope(float x, float slope) {
  return (x < MM_LOG_STD_LEAST && slope > 0) || (x > MM_LOG_STD_MOST && slope < 0) ? 0 : slope;
}

// The part of log p that depends on no action: sum_k log sigma_k + d log(2 pi) / 2.
MM_HD MM_INLINE float mm_log_density_scale(int d, const float *log_std) {
  double sum = 0;
  for (int k = 0; k < d; k++)
    sum += (double)mm_log_std(log_std[k]) + 0.918938533204672741780329736406;
  return (float)sum;
}

// The entropy, from that part.
MM_HD MM_INLINE double mm_gaussian_entropy(int d, float scale) {
  return (double)scale + 0.5 * (double)d;
}

// log p = - sum_k z_k^2 / 2 - scale, z = (a - mu) / sigma, where `inverse` is 1 / sigma.
MM_HD MM_INLINE float mm_log_density(int d, const float *mean, const float *action,
                                     const float *inverse, float scale) {
  float sum = 0;
  for (int k = 0; k < d; k++) {
    const float z = (action[k] - mean[k]) * inverse[k];
    sum = fmaf(0.5f * z, z, sum);
  }
  return -sum - scale;
}

#endif
