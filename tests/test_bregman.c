// SPDX-License-Identifier: Apache-2.0
// h and its divergence: the specification's numbers, the oracle's quadrature, and what must hold
// for any mirror map.

#include <float.h>
#include <stdlib.h>

#include "map/map_internal.h"
#include "oracle.h"
#include "random_map.h"

static void check_number(double got, double expected) {
  if (fabs(got - expected) > 5.1e-11) fail_msg("%.12g, not %.12g", got, expected);
}

// spec/pmd.md, sections 3 and 3.1
static void test_tables(void **state) {
  (void)state;
  double one_hot[5] = { 1 }, uniform[5] = { .2, .2, .2, .2, .2 }, d;
  mm_map *map;
  assert_ok(mm_map_create_negentropy(&map));
  assert_ok(mm_map_bregman(map, one_hot, uniform, 5, &d));
  check_number(d, 1.6094379124);
  mm_map_destroy(map);
  assert_ok(mm_map_create_l2(&map));
  assert_ok(mm_map_bregman(map, one_hot, uniform, 5, &d));
  check_number(d, 0.4);
  mm_map_destroy(map);

  double w[MM_NEURAL_UNITS], c[MM_NEURAL_UNITS], u[MM_NEURAL_UNITS];
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    w[j] = 1;
    c[j] = -.25;
    u[j] = j % 21 ? 0 : .05;
  }
  assert_ok(mm_map_create_neural(w, c, u, .1, .8, &map));
  double p[4] = { .1, .2, .5, 1 }, x[4], q[3] = { 0, .2, .5 }, h[3];
  static const double inverse[4] = { -2.1345891895, -1.5653828727, -0.4490273144, 0.3294805545 };
  static const double terms[3] = { 0.7592026266, 0.2831876899, 0.0141885017 };
  assert_ok(mm_map_phi_inverse(map, p, 4, x));
  for (int k = 0; k < 4; k++)
    check_number(x[k], inverse[k]);
  assert_ok(mm_map_h(map, q, 3, h));
  for (int k = 0; k < 3; k++)
    check_number(h[k], terms[k]);
  // D(one-hot, uniform) = H(1) + 4 H(0) - 5 H(.2)
  assert_ok(mm_map_bregman(map, one_hot, uniform, 5, &d));
  check_number(d, 4 * h[0] - 5 * h[1]);
  mm_map_destroy(map);
}

static double term(const mm_map *map, double p, double q) {
  double d;
  assert_ok(mm_map_bregman(map, &p, &q, 1, &d));
  return d;
}

static void test_matches_quadrature(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(1600); i++) {
    mm_map *map = random_mild(i);
    double q = random_in(i, 50, 0, 0.05, 1), p = random_in(i, 50, 1, 0.05, 1);
    if (i % 2) p = q + (p - q) * exp(random_in(i, 50, 2, -12, 0)); // near-equal arguments
    long double expected = oracle_bregman_term(map, p, q);
    double got = term(map, p, q);
    // Simpson's rule is less good across kinks than what it checks
    bool kinks = mm_map_get_kind(map) == MM_MAP_NEURAL;
    // p - q is exact; phi^-1 in long double leaves this much of their difference
    long double noise =
        fabsl((long double)p - q) * 1e-18L * (fabsl(oracle_phi_inverse(map, q)) + 1);
    if (fabsl(got - expected) > (kinks ? 1e-7L : 1e-11L) * expected + noise)
      fail_msg("case %zu (%s q %g): D(%.17g, %.17g) = %.17g, not %.17Lg", (size_t)i,
               mm_map_kind_name(mm_map_get_kind(map)), mm_map_tsallis_q(map), p, q, got, expected);
    mm_map_destroy(map);
  }
}

// Arguments a rounding error apart: D is phi^-1'(q) (p - q)^2 / 2 to first order, no digits lost.
static void test_no_cancellation(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(2000); i++) {
    mm_map *map = random_mild(i);
    double q = random_in(i, 51, 0, 0.1, 0.9), p = q + q * exp(random_in(i, 51, 1, -34, -14));
    long double slope = oracle_phi_inverse_slope(map, q), later = oracle_phi_inverse_slope(map, p);
    long double d = (long double)p - q, least = fminl(slope, later), most = fmaxl(slope, later);
    double got = term(map, p, q);
    // between the two ends' slopes, up to rounding; at a kink of a root the slope runs away
    if (later < 1.001L * slope && slope < 1.001L * later &&
        (got < 0.9999L * least * d * d / 2 || got > 1.0001L * most * d * d / 2))
      fail_msg("case %zu (%s): D = %.17g, not %.17Lg", (size_t)i,
               mm_map_kind_name(mm_map_get_kind(map)), got, slope * d * d / 2);
    mm_map_destroy(map);
  }
}

static void random_policy(uint64_t i, uint32_t what, size_t n, double *p) {
  double sum = 0;
  for (uint32_t a = 0; a < n; a++)
    sum += p[a] = exp(random_in(i, what, a, -6, 0));
  for (size_t a = 0; a < n; a++)
    p[a] /= sum;
}

// D >= 0, 0 at equal arguments and only there; the three-point identity
// D(a, b) + D(b, c) - D(a, c) = <grad h(c) - grad h(b), a - b>.
static void test_divergence_properties(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(4000); i++) {
    mm_map *map = random_mild(i);
    size_t n = 2 + i % 17;
    double a[18], b[18], c[18], at_b[18], at_c[18], ab, bc, ac, aa;
    random_policy(i, 60, n, a);
    random_policy(i, 61, n, b);
    random_policy(i, 62, n, c);
    assert_ok(mm_map_bregman(map, a, b, n, &ab));
    assert_ok(mm_map_bregman(map, b, c, n, &bc));
    assert_ok(mm_map_bregman(map, a, c, n, &ac));
    assert_ok(mm_map_bregman(map, a, a, n, &aa));
    mm_map_report report;
    mm_map_check(map, &report);
    assert_true(ab >= 0 && bc >= 0 && ac >= 0 && aa == 0);
    if (report.strictly_increasing) assert_true(ab > 0 && bc > 0 && ac > 0);
    assert_ok(mm_map_phi_inverse(map, b, n, at_b));
    assert_ok(mm_map_phi_inverse(map, c, n, at_c));
    double product = 0, size = ab + bc + ac;
    for (size_t k = 0; k < n; k++) {
      product += (at_c[k] - at_b[k]) * (a[k] - b[k]);
      size += (fabs(at_c[k]) + fabs(at_b[k])) * fabs(a[k] - b[k]);
    }
    if (fabs(ab + bc - ac - product) > 64 * DBL_EPSILON * size)
      fail_msg("case %zu (%s): three points: %g of %g", (size_t)i,
               mm_map_kind_name(mm_map_get_kind(map)), ab + bc - ac - product, size);
    mm_map_destroy(map);
  }
}

// The gradient of h is phi^-1, the gradient of D(., q) is phi^-1(p) - phi^-1(q).
static void test_gradients(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(3000); i++) {
    mm_map *map = random_mild(i);
    double q = random_in(i, 70, 0, 0.05, 0.95), p = random_in(i, 70, 1, 0.05, 0.95), step = 1e-5;
    double points[2] = { p - step, p + step }, h[2], at[2], pq[2] = { p, q };
    assert_ok(mm_map_h(map, points, 2, h));
    assert_ok(mm_map_phi_inverse(map, pq, 2, at));
    // the difference quotient is the mean of phi^-1 over the step; monotone, so within its ends
    double ends[2];
    assert_ok(mm_map_phi_inverse(map, points, 2, ends));
    double quotient = (h[1] - h[0]) / (2 * step), noise = 1e-9 * (fabs(at[0]) + fabs(h[0]) + 1);
    assert_true(quotient >= ends[0] - noise && quotient <= ends[1] + noise);
    double d = (term(map, points[1], q) - term(map, points[0], q)) / (2 * step);
    noise = 1e-9 * (fabs(at[0]) + fabs(at[1]) + term(map, p, q) + 1);
    assert_true(d >= ends[0] - at[1] - noise && d <= ends[1] - at[1] + noise);
    mm_map_destroy(map);
  }
}

// At the corners of the simplex.
static void test_edges(void **state) {
  (void)state;
  mm_map *map;
  assert_ok(mm_map_create_negentropy(&map));
  assert_true(term(map, 0, 0) == 0 && term(map, 1, 1) == 0 && isinf(term(map, 0.5, 0)));
  assert_true(term(map, 0, 0.25) == 0.25);
  mm_map_destroy(map);
  assert_ok(mm_map_create_tsallis(0.5, &map));
  assert_true(term(map, 0, 0) == 0 && isinf(term(map, 1e-300, 0)) && term(map, 0, 0.25) == 0.5);
  mm_map_destroy(map);
  assert_ok(mm_map_create_tsallis(3, &map));
  assert_true(fabs(term(map, 0.5, 0) - 0.0625) < 1e-16 && isfinite(term(map, 1, 1e-300)));
  mm_map_destroy(map);
  assert_ok(mm_map_open("piecewise", &map));
  assert_true(term(map, 0, 0) == 0 && term(map, 1, 0) > 0 && term(map, 0, 1) > 0);
  // h(0) + D(1, 0) = h(1) - phi^-1(0): both ends, whole range
  double ends[2] = { 0, 1 }, h[2];
  assert_ok(mm_map_h(map, ends, 2, h));
  assert_true(h[1] == 0 && fabs(h[0] + term(map, 1, 0)) < 1e-13);
  mm_map_destroy(map);
  for (uint64_t i = 0; i < 60; i++) {
    map = random_neural(i, 0.5);
    double d = term(map, 1, 0);
    assert_true(map->exact.b > 0 ? isinf(d) : d > 0 && isfinite(d));
    assert_true(term(map, 0, 1) > 0 && term(map, 0, 0) == 0);
    mm_map_destroy(map);
  }
  // neighbouring numbers around a knot are still apart
  assert_ok(mm_map_open("piecewise:6", &map));
  assert_true(term(map, nextafter(5.0 / 6, 0), 5.0 / 6) > 0);
  assert_true(term(map, 5.0 / 6, nextafter(5.0 / 6, 0)) > 0);
  mm_map_destroy(map);
  // a steep exponential unit: exp(zq) vanishes, exp(zp) does not
  double w[MM_NEURAL_UNITS] = { 0 }, c[MM_NEURAL_UNITS] = { 0 }, u[MM_NEURAL_UNITS] = { 0 };
  w[110] = 712, c[110] = -712, u[110] = 1;
  assert_ok(mm_map_create_neural(w, c, u, 0, 0, &map));
  assert_true(fabs(term(map, 1, 0) * 712 - 1) < 1e-12);
  mm_map_destroy(map);
  double bad = 1.5, good = 0.5, d;
  assert_ok(mm_map_create_l2(&map));
  assert_fails(mm_map_bregman(map, &bad, &good, 1, &d), MM_ERR_INPUT, "p[0] = 1.5");
  assert_fails(mm_map_bregman(map, &good, &bad, 1, &d), MM_ERR_INPUT, "q[0] = 1.5");
  mm_map_destroy(map);
}

// The sum over all segments between p and q, one by one.
static long double sum_of_segments(const double *psi, size_t n, double p, double q) {
  long double low = fmin(p, q), high = fmax(p, q), sum = 0;
  for (size_t j = 0; j < n; j++) {
    long double left = fmaxl(low, (long double)j / (long double)n);
    long double right = fminl(high, (long double)(j + 1) / (long double)n);
    if (right > left) sum += psi[j] * (right - left) * (fabsl(p - left) + fabsl(p - right));
  }
  return sum * (long double)n / 2;
}

// Maps of many segments are summed by runs of them: the same numbers to rounding, also where psi
// spans many orders of magnitude and where p and q are close.
static void test_many_segments(void **state) {
  (void)state;
  static const size_t length[] = { 1, 63, 64, 65, 127, 128, 129, 1000, 4096, 20011, 1000000 };
  double *psi = malloc(1000000 * sizeof *psi);
  assert_non_null(psi);
  for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
    size_t n = length[k];
    mm_map *map;
    for (size_t j = 0; j < n; j++)
      psi[j] = exp(random_in(k, 80, (uint32_t)j, -15, 10));
    assert_ok(mm_map_create_piecewise(psi, n, &map));
    for (uint32_t i = 0; i < (n > 100000 ? 8 : 100); i++) {
      double q = random_in(k, 81, i, 0, 1), p = random_in(k, 82, i, 0, 1);
      if (i % 4 == 1) p = q + (p - q) * exp(random_in(k, 83, i, -12, 0));
      if (i % 4 == 2) q = floor(q * (double)n) / (double)n, p = floor(p * (double)n) / (double)n;
      if (i % 8 == 3) q = i % 16 == 3 ? 0 : 1;
      long double expected = sum_of_segments(psi, n, p, q);
      double got = term(map, p, q);
      // j/n in double moves the end of a segment by a part of what is between p and q
      long double noise = 1e-13L + 4e-16L * ((long double)n + 1 / fabsl((long double)p - q));
      if (p == q ? got != 0 : !(fabsl(got - expected) <= noise * expected))
        fail_msg("n = %zu: D(%.17g, %.17g) = %.17g, not %.17Lg", n, p, q, got, expected);
    }
    mm_map_destroy(map);
  }
  free(psi);
}

int suite_bregman(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tables),          cmocka_unit_test(test_matches_quadrature),
    cmocka_unit_test(test_no_cancellation), cmocka_unit_test(test_divergence_properties),
    cmocka_unit_test(test_gradients),       cmocka_unit_test(test_edges),
    cmocka_unit_test(test_many_segments),
  };
  return cmocka_run_group_tests_name("bregman", tests, NULL, NULL);
}
