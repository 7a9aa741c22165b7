// SPDX-License-Identifier: Apache-2.0
// What a sample of runs says about the map behind it: intervals, interquartile means, win rates,
// the worst quarter, and tests of paired differences. Everything is a function of the numbers and a
// seed, which names the draws: the same numbers have the same interval.

#ifndef MM_STUDY_INFERENCE_H
#define MM_STUDY_INFERENCE_H

#include <stddef.h>
#include <stdint.h>

enum { MM_RESAMPLES = 2000, MM_SIGN_FLIPS = 10000 };

typedef struct mm_interval {
  double low, high; // of 95 %; NaN where there is none
} mm_interval;

// Of the mean of x[n], by the studentised bootstrap: resampled means are measured in their own
// standard errors. Returns of runs are bounded and skewed, and the plain percentiles of resampled
// means are too narrow for them; the suite `inference` measures how often these intervals cover.
// Student's t below ten numbers, or where resamples have no spread. NaN below two numbers, where
// one is not finite, or without memory.
mm_interval mm_interval_of_mean(const double *x, size_t n, uint64_t seed);

// Of a share of n comparisons that were won, equals counting half: Wilson's score interval.
mm_interval mm_interval_of_share(double share, size_t n);

// The interquartile mean (IQM): of n numbers in order, floor(n / 4) are left out at either end. Its
// interval lies between percentiles of the IQMs of resamples. NaN are left out.
//
// -INFINITY is a number like others, the lowest: an IQM that it reaches is NaN, an interval that it
// reaches has it as its lower bound.
typedef struct mm_iqm {
  double iqm, low, high; // NaN: all three without a number, or memory; the bounds of a single one
} mm_iqm;
mm_iqm mm_estimate_iqm(const double *x, size_t n, uint64_t seed); // x[n] in any order

// Scores of one map in several environments, those of an environment after each other: x holds n[e]
// of each of n_env, none NaN. Resamples are drawn within environments (stratified bootstrap). The
// IQM is that of all scores together; a performance profile is the share of scores above each tau
// (ascending), with its band. As rliable has them. NaN without scores or memory; no interval and no
// band where an environment has a single score, whose spread nobody knows.
mm_iqm mm_stratified_iqm(const double *x, const size_t *n, size_t n_env, uint64_t seed);
void mm_performance_profile(const double *x, const size_t *n, size_t n_env, const double *tau,
                            size_t n_tau, uint64_t seed, double *share, mm_interval *band);

// CVaR: the mean of the worst ceil(share n) numbers that are not NaN. NaN without any, or memory.
double mm_worst_mean(const double *x, size_t n, double share);
double mm_worst_of_sorted(const double *x, size_t n, double share); // n numbers, the worst first

// The two-sided p-value of paired differences d[n]: how often a mean of the same differences with
// signs drawn at random lies as far from 0 (MM_SIGN_FLIPS draws, and the sample itself). NaN where
// one is not finite.
double mm_sign_flip_test(const double *d, size_t n, uint64_t seed);

// p-values of n tests corrected for their number by Holm's method, in place. NaN stay and do not
// count. Without memory all become NaN.
void mm_holm(double *p, size_t n);

#endif
