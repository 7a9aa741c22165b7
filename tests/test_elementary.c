// SPDX-License-Identifier: Apache-2.0
// Elementary functions against long double, over the whole range and at the special values.

#include <math.h>
#include <stdlib.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "test.h"

// |got - expected| in units of the last place of the expected number.
static double ulps(double got, long double expected) {
  double nearest = (double)expected;
  if (isnan(nearest) || isinf(nearest))
    return (isnan(nearest) && isnan(got)) || got == nearest ? 0 : INFINITY;
  double unit = nextafter(fabs(nearest), INFINITY) - fabs(nearest);
  return (double)fabsl(((long double)got - expected) / unit);
}

static double ulps_f(float got, double expected) {
  float nearest = (float)expected;
  if (isnan(nearest) || isinf(nearest))
    return (isnan(nearest) && isnan(got)) || got == nearest ? 0 : INFINITY;
  float unit = nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest);
  return fabs(((double)got - expected) / (double)unit);
}

// The i-th number of a stream, uniform in [low, high).
static double draw(uint64_t i, uint32_t lane, double low, double high) {
  mm_stream stream = mm_stream_make(7, 0, MM_RNG_TEST, lane);
  return low + (high - low) * mm_uniform_d(mm_stream_pair(stream, i));
}

enum { DRAWS = 300000 };
#define SIN_COS_ULP 1.6

#define WORST(worst, error, x)                                                                     \
  do {                                                                                             \
    double worst_error = (error);                                                                  \
    if (!(worst_error <= (worst)))                                                                 \
      fail_msg("%s: %g ulp at %.17g", #error, worst_error, (double)(x));                           \
  } while (0)

static void test_exp(void **state) {
  (void)state;
  for (uint64_t i = 0; i < DRAWS; i++) {
    double x = draw(i, 0, -746, 710), y = draw(i, 1, -1, 1);
    WORST(1.1, ulps(mm_exp_d(x), expl(x)), x);
    WORST(1.1, ulps(mm_exp_d(y), expl(y)), y);
    WORST(2, ulps(mm_expm1_d(y), expm1l(y)), y);
    WORST(2, ulps(mm_expm1_d(x), expm1l(x)), x);
    double small = y * exp(draw(i, 2, -60, 0));
    WORST(2, ulps(mm_expm1_d(small), expm1l(small)), small);
  }
}

// Made for speed: an absolute error, which at these sizes is a relative one as well.
static void test_tanh(void **state) {
  (void)state;
  for (uint64_t i = 0; i < DRAWS; i++) {
    float x = (float)draw(i, 0, -10, 10), small = x * (float)exp(draw(i, 1, -60, 0));
    double error = fabs((double)mm_tanh_f(x) - tanh((double)x));
    if (!(error <= 5e-7)) fail_msg("tanh: off by %g at %.9g", error, (double)x);
    assert_true(fabsf(mm_tanh_f(x)) <= 1 && mm_tanh_f(-x) == -mm_tanh_f(x));
    WORST(9, ulps_f(mm_tanh_f(small), tanh((double)small)), small);
  }
  assert_true(mm_tanh_f(0) == 0 && mm_tanh_f(INFINITY) == mm_tanh_f(8));
  assert_true(mm_tanh_f(-INFINITY) == mm_tanh_f(-1e30f) && mm_tanh_f(8) > 0.999999f);
  assert_true(isnan(mm_tanh_f(NAN)));
}

static void test_log(void **state) {
  (void)state;
  for (uint64_t i = 0; i < DRAWS; i++) {
    double x = exp(draw(i, 0, -744, 709)), near = draw(i, 1, 0.5, 1.5);
    WORST(1.1, ulps(mm_log_d(x), logl(x)), x);
    WORST(1.1, ulps(mm_log_d(near), logl(near)), near);
    double t = draw(i, 2, -1, 4), small = t * exp(draw(i, 3, -60, 0));
    WORST(2, ulps(mm_log1p_d(t), log1pl(t)), t);
    WORST(2, ulps(mm_log1p_d(small), log1pl(small)), small);
  }
}

static void test_powers(void **state) {
  (void)state;
  for (uint64_t i = 0; i < DRAWS; i++) {
    double x = exp(draw(i, 0, -700, 700)), p = exp(draw(i, 1, -40, 1)), y = draw(i, 2, -3, 3);
    WORST(1.1, ulps(mm_cbrt_d(x), cbrtl(x)), x);
    WORST(2, ulps(mm_pow_d(p, y), powl(p, y)), p);
  }
  WORST(1.1, ulps(mm_cbrt_d(5e-324), cbrtl((long double)5e-324)), 5e-324);
  WORST(1.1, ulps(mm_cbrt_d(1.7e308), cbrtl((long double)1.7e308)), 1.7e308);
}

static void test_float(void **state) {
  (void)state;
  // every 1009th float of each sign; `make check-long` goes through all of them
  unsigned stride = getenv("MM_TEST_ALL_FLOATS") ? 1 : 1009;
  for (uint64_t u = 0; u <= UINT32_MAX; u += stride) {
    float x = mm_from_bits_f((uint32_t)u);
    WORST(1.1, ulps_f(mm_exp_f(x), exp((double)x)), x);
    WORST(1.1, ulps_f(mm_log_f(x), log((double)x)), x);
  }
}

// Sine and cosine of one number: errors, and the two together are what they are apart.
static void check_angle(float x) {
  float sine, cosine;
  mm_sincos_f(x, &sine, &cosine);
  WORST(SIN_COS_ULP, ulps_f(sine, (double)sinl((long double)x)), x);
  WORST(SIN_COS_ULP, ulps_f(cosine, (double)cosl((long double)x)), x);
  assert_true(mm_sin_f(x) == sine && mm_cos_f(x) == cosine);
}

static void test_sin_cos(void **state) {
  (void)state;
  for (uint64_t i = 0; i < DRAWS; i++) {
    check_angle((float)draw(i, 0, -7, 7));
    check_angle((float)draw(i, 1, -5000, 5000));
    check_angle((float)draw(i, 2, -1e5, 1e5));
    check_angle((float)(draw(i, 3, -1, 1) * exp(draw(i, 4, -80, 0))));
  }
  // nearest to the zeros of either, where the reduction cancels most
  for (int k = -63661; k <= 63661; k++) {
    float x = (float)(k * 1.57079632679489661923);
    check_angle(x);
    check_angle(nextafterf(x, INFINITY));
    check_angle(nextafterf(x, -INFINITY));
  }
}

static void test_special_values(void **state) {
  (void)state;
  assert_true(mm_exp_d(0) == 1 && mm_exp_d(-INFINITY) == 0 && isinf(mm_exp_d(INFINITY)));
  assert_true(isnan(mm_exp_d(NAN)) && mm_exp_d(-1e308) == 0 && isinf(mm_exp_d(1e308)));
  assert_true(mm_log_d(1) == 0 && mm_log_d(0) == -INFINITY && isnan(mm_log_d(-1)));
  assert_true(isinf(mm_log_d(INFINITY)) && isnan(mm_log_d(NAN)));
  assert_true(mm_log1p_d(-1) == -INFINITY && isnan(mm_log1p_d(-2)) && isinf(mm_log1p_d(INFINITY)));
  assert_true(mm_expm1_d(-INFINITY) == -1 && isinf(mm_expm1_d(INFINITY)));
  assert_true(mm_pow_d(0, 2) == 0 && isinf(mm_pow_d(0, -2)) && mm_pow_d(0, 0) == 1);
  assert_true(mm_pow_d(1, 1e300) == 1 && mm_pow_d(INFINITY, -1) == 0 && isnan(mm_pow_d(-1, 2)));
  assert_true(mm_pow_d(0.5, 1e300) == 0 && isinf(mm_pow_d(2, 1e300)));
  assert_true(mm_cbrt_d(0) == 0 && mm_cbrt_d(27) == 3 && isinf(mm_cbrt_d(INFINITY)));
  assert_true(mm_exp_f(0) == 1 && mm_log_f(0) == -INFINITY && isnan(mm_log_f(-1)));
  assert_true(mm_cos_f(0) == 1 && mm_sin_f(0) == 0 && mm_sin_f(1e-40f) == 1e-40f);
  assert_true(isnan(mm_sin_f(NAN)) && isnan(mm_cos_f(INFINITY)) && isnan(mm_sin_f(-INFINITY)));
}

int suite_elementary(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_exp),
    cmocka_unit_test(test_tanh),
    cmocka_unit_test(test_log),
    cmocka_unit_test(test_powers),
    cmocka_unit_test(test_float),
    cmocka_unit_test(test_sin_cos),
    cmocka_unit_test(test_special_values),
  };
  return cmocka_run_group_tests_name("elementary", tests, NULL, NULL);
}
