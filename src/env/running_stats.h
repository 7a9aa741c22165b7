// SPDX-License-Identifier: Apache-2.0
// Running statistics: mean and variance of k numbers, over everything that was ever seen.
//
// They start as a guess of weight 1e-4: mean 0, variance 1. A batch is merged by its own mean and
// population variance. Sums are taken in double about the old mean, in blocks of MM_RUNNING_BLOCK
// rows that are added up in order: whoever sums the blocks, the bits are the same.

#ifndef MM_ENV_RUNNING_STATS_H
#define MM_ENV_RUNNING_STATS_H

#include <stdbool.h>
#include <stddef.h>

enum { MM_RUNNING_BLOCK = 64 };

#define MM_RUNNING_FIRST 1e-4 // weight of the guess
#define MM_RUNNING_LEAST 1e-8 // added to a variance before its root is taken

typedef struct mm_running_stats {
  size_t k;
  double count;
  double *mean; // [k]
  double *var;  // [k]
} mm_running_stats;

// The guess. `mean` and `var` are the caller's.
void mm_running_stats_start(mm_running_stats *r);

// Sums of the differences to the mean and of their squares of rows[n][k], to sum[2][k].
void mm_running_stats_sum(const mm_running_stats *r, const float *rows, size_t n, double *sum);

// Merges n rows whose blocks have the sums sum[n_block][2][k].
void mm_running_stats_merge(mm_running_stats *r, const double *sum, size_t n_block, size_t n);

// 1 / sqrt(var + 1e-8) of component j.
double mm_running_stats_scale(const mm_running_stats *r, size_t j);

// (row - mean) / sqrt(var + 1e-8) of n rows in place; scale[k] as above.
void mm_running_stats_apply(const mm_running_stats *r, const double *scale, float *rows, size_t n);

// Can these be the numbers of anything that was seen?
bool mm_running_stats_are_valid(const mm_running_stats *r);

#endif
