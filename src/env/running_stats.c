// SPDX-License-Identifier: Apache-2.0
// Running mean and variance.

#include "env/running_stats.h"

#include <math.h>

#include "laws/running.h"

void mm_running_stats_start(mm_running_stats *r) {
  r->count = MM_RUNNING_FIRST;
  for (size_t j = 0; j < r->k; j++) {
    r->mean[j] = 0;
    r->var[j] = 1;
  }
}

void mm_running_stats_sum(const mm_running_stats *r, const float *rows, size_t n, double *sum) {
  const size_t k = r->k;
  const double *restrict mean = r->mean;
  double *restrict first = sum, *restrict second = sum + k;
  for (size_t j = 0; j < 2 * k; j++)
    sum[j] = 0;
  for (size_t i = 0; i < n; i++) {
    const float *row = rows + i * k;
    for (size_t j = 0; j < k; j++) {
      double d = (double)row[j] - mean[j];
      first[j] += d;
      second[j] += d * d;
    }
  }
}

void mm_running_stats_merge(mm_running_stats *r, const double *sum, size_t n_block, size_t n) {
  const size_t k = r->k;
  if (n == 0) return;
  for (size_t j = 0; j < k; j++) {
    double first = 0, second = 0;
    for (size_t block = 0; block < n_block; block++) {
      first += sum[2 * k * block + j];
      second += sum[2 * k * block + k + j];
    }
    mm_running_take(&r->mean[j], &r->var[j], r->count, (double)n, first, second);
  }
  r->count += (double)n;
}

double mm_running_stats_scale(const mm_running_stats *r, size_t j) {
  return 1 / sqrt(r->var[j] + MM_RUNNING_LEAST);
}

void mm_running_stats_apply(const mm_running_stats *r, const double *scale, float *rows, size_t n) {
  const size_t k = r->k;
  const double *restrict mean = r->mean;
  for (size_t i = 0; i < n; i++) {
    float *restrict row = rows + i * k;
    for (size_t j = 0; j < k; j++)
      row[j] = (float)(((double)row[j] - mean[j]) * scale[j]);
  }
}

bool mm_running_stats_are_valid(const mm_running_stats *r) {
  bool valid = r->count >= MM_RUNNING_FIRST && r->count < INFINITY;
  for (size_t j = 0; j < r->k; j++)
    valid &= fabs(r->mean[j]) < INFINITY && r->var[j] >= 0 && r->var[j] < INFINITY;
  return valid;
}
