// SPDX-License-Identifier: Apache-2.0
// Intervals cover what they say, tests hold their level, and closed cases come out exactly.

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "mirrormap/stats.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Coverage at n = 64

enum { N = 64 };

typedef double draw_function(mm_stream stream, size_t i);

static double normal(mm_stream stream, size_t i) {
  return mm_normal_d(mm_stream_pair(stream, i));
}

// Like returns of CartPole: at most 500, most of them near it, some far below.
static double bounded(mm_stream stream, size_t i) {
  double u = mm_uniform_d(mm_stream_pair(stream, i));
  return 500 - fmin(400, -60 * log(1 - u));
}

// Runs that learn, and three in ten that never do.
static double bimodal(mm_stream stream, size_t i) {
  bool fails = mm_uniform_d(mm_stream_pair(stream, 2 * i)) < 0.3;
  return (fails ? 100 : 500) + 10 * mm_normal_d(mm_stream_pair(stream, 2 * i + 1));
}

static double coverage(draw_function *draw, double mean, int trials) {
  int covered = 0;
  for (int k = 0; k < trials; k++) {
    mm_stream stream = mm_stream_make(3, (uint32_t)k, MM_RNG_TEST, 0);
    double x[N];
    for (size_t i = 0; i < N; i++)
      x[i] = draw(stream, i);
    mm_interval interval = mm_interval_of_mean(x, N, (uint64_t)k);
    assert_true(interval.low < interval.high);
    covered += interval.low <= mean && mean <= interval.high;
  }
  return (double)covered / trials;
}

static void test_coverage(void **state) {
  (void)state;
  static const struct {
    const char *name;
    draw_function *draw;
    double mean;
  } sample[] = {
    { "normal", normal, 0 },
    { "bounded", bounded, 440.0763580 }, // 500 - 60 (1 - exp(-400 / 60))
    { "bimodal", bimodal, 380 },
  };
  int trials = test_is_slowed() ? 60 : 1000;
  double allowed = test_is_slowed() ? 0.07 : 0.02;
  for (size_t i = 0; i < sizeof sample / sizeof *sample; i++) {
    double share = coverage(sample[i].draw, sample[i].mean, trials);
    if (fabs(share - 0.95) > allowed)
      fail_msg("%s: 95 %% intervals cover the mean in %.1f %% of %d samples", sample[i].name,
               100 * share, trials);
  }
}

// ---------------------------------------------------------------------------------------------
// Closed cases

static void test_intervals(void **state) {
  (void)state;
  const double few[3] = { 1, 2, 4 }, equal[4] = { 5, 5, 5, 5 }, bad[3] = { 1, 2, -INFINITY };
  mm_interval i = mm_interval_of_mean(few, 1, 0);
  assert_true(isnan(i.low) && isnan(i.high));
  i = mm_interval_of_mean(bad, 3, 0);
  assert_true(isnan(i.low) && isnan(i.high));
  // no spread anywhere: Student's t, of length 0
  i = mm_interval_of_mean(equal, 4, 0);
  assert_true(i.low == 5 && i.high == 5);
  // a ninth of the resamples of three numbers are one number thrice: Student's t
  mm_estimate e = mm_estimate_of(few, 3);
  i = mm_interval_of_mean(few, 3, 0);
  assert_true(i.low == e.mean - mm_estimate_half(e) && i.high == e.mean + mm_estimate_half(e));
  // the same numbers, the same interval
  double x[N];
  for (size_t k = 0; k < N; k++)
    x[k] = bounded(mm_stream_make(1, 0, MM_RNG_TEST, 0), k);
  mm_interval one = mm_interval_of_mean(x, N, 9), same = mm_interval_of_mean(x, N, 9),
              other = mm_interval_of_mean(x, N, 10);
  assert_true(one.low == same.low && one.high == same.high && one.low != other.low);
  // a long tail to the left: the lower half is the longer one
  double mean = mm_estimate_of(x, N).mean;
  assert_true(mean - one.low > one.high - mean);
}

static void test_share(void **state) {
  (void)state;
  mm_interval i = mm_interval_of_share(0.8, 10); // Wilson's score, as in tables
  assert_true(fabs(i.low - 0.490162) < 1e-6 && fabs(i.high - 0.943318) < 1e-6);
  i = mm_interval_of_share(1, 64);
  assert_true(fabs(i.high - 1) < 1e-15 && i.low > 0.94);
  assert_true(isnan(mm_interval_of_share(0.5, 0).low));
}

static void test_worst(void **state) {
  (void)state;
  const double x[6] = { 7, -3, NAN, 2, 9, 1 };
  assert_true(mm_worst_mean(x, 6, 0.25) == -1); // two of five
  assert_true(mm_worst_mean(x, 6, 1) == 16.0 / 5);
  double many[25]; // 0.28 of 25 are seven, though the product of the two numbers is more
  for (int i = 0; i < 25; i++)
    many[i] = i;
  assert_true(mm_worst_mean(many, 25, 0.28) == 3);
  assert_true(mm_worst_mean((const double[2]){ 1, -INFINITY }, 2, 0.25) == -INFINITY);
  assert_true(isnan(mm_worst_mean(x + 2, 1, 0.25)));
}

// Against all 2^12 signs.
static void test_sign_flips(void **state) {
  (void)state;
  enum { M = 12 };
  const double d[M] = { 1.5, -0.5, 2, 0.25, -1, 3, 0.75, 1, -0.125, 0.5, 2.5, -2 };
  double sum = 0;
  for (int i = 0; i < M; i++)
    sum += d[i];
  int as_far = 0;
  for (unsigned signs = 0; signs < 1u << M; signs++) {
    double flipped = 0;
    for (int i = 0; i < M; i++)
      flipped += signs >> i & 1 ? d[i] : -d[i];
    as_far += fabs(flipped) >= sum;
  }
  double exact = as_far / (double)(1 << M), found = mm_sign_flip_test(d, M, 4);
  assert_true(fabs(found - exact) < 4 * sqrt(exact * (1 - exact) / MM_SIGN_FLIPS));
  assert_true(mm_sign_flip_test(d, M, 4) == found);
  const double zero[4] = { 0 };
  double clear[40];
  for (int i = 0; i < 40; i++)
    clear[i] = 1;
  assert_true(mm_sign_flip_test(zero, 4, 0) == 1);
  assert_true(mm_sign_flip_test(clear, 40, 0) == 1.0 / (MM_SIGN_FLIPS + 1));
  assert_true(isnan(mm_sign_flip_test((const double[2]){ 1, -INFINITY }, 2, 0)));
  assert_true(isnan(mm_sign_flip_test(zero, 0, 0)));
}

// Under the null hypothesis a p-value below 0.05 is as rare as it says.
static void test_level(void **state) {
  (void)state;
  int trials = test_is_slowed() ? 20 : 400, rejected = 0;
  for (int k = 0; k < trials; k++) {
    mm_stream stream = mm_stream_make(8, (uint32_t)k, MM_RNG_TEST, 0);
    double d[30];
    for (size_t i = 0; i < 30; i++)
      d[i] = normal(stream, i);
    rejected += mm_sign_flip_test(d, 30, (uint64_t)k) <= 0.05;
  }
  assert_true(rejected <= 5 + trials * 0.08 && (trials < 100 || rejected >= trials * 0.02));
}

static void test_holm(void **state) {
  (void)state;
  double p[6] = { 0.01, NAN, 0.04, 0.03, 0.005, 0.5 };
  const double expected[6] = { 0.04, NAN, 0.09, 0.09, 0.025, 0.5 };
  mm_holm(p, 6);
  for (int i = 0; i < 6; i++)
    assert_true(i == 1 ? isnan(p[i]) : fabs(p[i] - expected[i]) < 1e-15);
  double large[2] = { 0.7, 0.9 };
  mm_holm(large, 2);
  assert_true(large[0] == 1 && large[1] == 1);
  mm_holm(NULL, 0);
}

// Failures are the lowest numbers there are: an interval that they reach has no lower end.
static void test_failures(void **state) {
  (void)state;
  const double x[] = { -INFINITY, 1, 2, 3, 4, 5, 6, 7, -INFINITY, 8 };
  const size_t n[] = { 5, 5 }, all = 10;
  mm_iqm e = mm_estimate_iqm(x, all, 1);
  assert_true(e.iqm == 3.5 && e.low == -INFINITY && e.high > 3.5 && e.high <= 8);
  e = mm_stratified_iqm(x, n, 2, 1);
  assert_true(e.iqm == 3.5 && e.low == -INFINITY && e.high > 3.5 && e.high <= 8);
  // one failure is never reached by 97.5 % of the resamples of so many
  double many[64] = { -INFINITY };
  for (int i = 1; i < 64; i++)
    many[i] = i;
  e = mm_estimate_iqm(many, 64, 1);
  assert_true(isfinite(e.low) && e.low < e.iqm);
  // more than a quarter: neither mean nor interval
  const double lost[] = { -INFINITY, -INFINITY, 3, 4, 5, 6 };
  const size_t six = 6;
  e = mm_stratified_iqm(lost, &six, 1, 1);
  assert_true(isnan(e.iqm) && isnan(e.low) && isnan(e.high));
}

// A single run of an environment says nothing about the spread there.
static void test_single_runs(void **state) {
  (void)state;
  const double x[] = { 1, 2, 3, 4 }, tau = 2.5;
  const size_t one_each[] = { 1, 1, 1, 1 }, one_of_two[] = { 3, 1 }, two_each[] = { 2, 2 };
  double share;
  mm_interval band;
  mm_iqm e = mm_stratified_iqm(x, one_each, 4, 1);
  assert_true(e.iqm == 2.5 && isnan(e.low) && isnan(e.high));
  e = mm_stratified_iqm(x, one_of_two, 2, 1);
  assert_true(e.iqm == 2.5 && isnan(e.low) && isnan(e.high));
  e = mm_stratified_iqm(x, two_each, 2, 1);
  assert_true(e.iqm == 2.5 && e.low < 2.5 && e.high > 2.5);
  mm_performance_profile(x, one_of_two, 2, &tau, 1, 1, &share, &band);
  assert_true(share == 0.5 && isnan(band.low) && isnan(band.high));
  mm_performance_profile(x, two_each, 2, &tau, 1, 1, &share, &band);
  assert_true(share == 0.5 && band.low <= 0.5 && band.high >= 0.5);
}

int suite_inference(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_coverage),    cmocka_unit_test(test_intervals),
    cmocka_unit_test(test_share),       cmocka_unit_test(test_worst),
    cmocka_unit_test(test_sign_flips),  cmocka_unit_test(test_level),
    cmocka_unit_test(test_holm),        cmocka_unit_test(test_failures),
    cmocka_unit_test(test_single_runs),
  };
  return cmocka_run_group_tests_name("inference", tests, NULL, NULL);
}
