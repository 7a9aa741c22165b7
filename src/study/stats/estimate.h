// SPDX-License-Identifier: Apache-2.0
// Means with their standard errors, and runs against each other.

#ifndef MM_EXPERIMENT_ESTIMATE_H
#define MM_EXPERIMENT_ESTIMATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "mirrormap/agent.h"
#include "study/stats/inference.h"

typedef struct mm_estimate {
  double mean, sem; // sample standard deviation / sqrt(n); NaN for a single number
  size_t n;
} mm_estimate;

#define MM_ESTIMATE_NONE ((mm_estimate){ NAN, NAN, 0 })

mm_estimate mm_estimate_of(const double *x, size_t n); // of no numbers: MM_ESTIMATE_NONE

// Of x[i] - y[i]: what common random numbers are for.
mm_estimate mm_estimate_paired(const double *x, const double *y, size_t n);

// The 97.5 % quantile of Student's t distribution: 95 % lie within +- this. Six digits.
double mm_student_quantile(size_t degrees_of_freedom);

// Half the length of the mean's 95 % interval, by Student's t: a standard error of few numbers is
// itself uncertain. NaN below two numbers.
double mm_estimate_half(mm_estimate e);

// 1 or -1 where that interval lies above or below 0, else 0: the mark of a difference.
int mm_estimate_sign(mm_estimate e);

// ---------------------------------------------------------------------------------------------
// Runs against each other

// Whether a run says something about its map: complete, or broken down after some iterations.
bool mm_result_has_value(const mm_result *result);

// Whether such a run ended before any of its episodes did: it has no return.
bool mm_result_is_unfinished(const mm_result *result);

// What a run is worth in comparisons: its final return; -INFINITY, less than any, if it has none:
// it finished no episode, or broke down before; NaN if it failed for reasons that are not its map's
// (out of memory or time), and another attempt may not. Shown, the latter two are NaN.
double mm_result_worth(const mm_result *result);
double mm_worth_shown(double worth);

// Whether a run failed: it says nothing, diverged, or finished no episode.
bool mm_result_is_failure(const mm_result *result);

// The mean of what is not NaN; NaN without any, or where one is infinite.
mm_estimate mm_estimate_known(const double *x, size_t n);

// Runs of one map. One unfinished run among them leaves no mean, since one over the others would
// flatter the map; it is the worst for the interquartile mean.
typedef struct mm_worths {
  size_t n;          // runs with a return
  size_t unfinished; // runs without a return
  mm_estimate mean;
  mm_iqm iqm;
  double worst; // CVaR 0.25: the mean of the worst quarter; NaN with an unfinished run
} mm_worths;
mm_worths mm_estimate_worths(const double *worth, size_t n, uint64_t seed);

typedef struct mm_curve_point {
  uint64_t step;
  mm_estimate value;
} mm_curve_point;

// The mean curve of runs with the same settings, those with a value, into (*out)[*n_point], which
// is released with mm_free. Runs that broke down have fewer points: from there on they count with
// their final value.
mm_status mm_estimate_curve(const mm_result *runs, size_t n, mm_curve_point **out, size_t *n_point);

#endif
