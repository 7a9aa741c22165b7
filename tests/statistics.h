// SPDX-License-Identifier: Apache-2.0
// p-values for tests of random numbers. Seeds are fixed, so a test passes or fails for good; the
// bounds only say how unlikely its numbers may look.

#ifndef MM_TEST_STATISTICS_H
#define MM_TEST_STATISTICS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

// The regularised upper incomplete gamma function Q(a, x): a series below, a continued fraction
// (Lentz's method) above its bend.
static inline double gamma_upper(double a, double x) {
  if (x <= 0) return 1;
  double scale = exp(a * log(x) - x - lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double k = a + 1; fabs(term) > 1e-16 * sum; k++)
      sum += term *= x / k;
    return 1 - scale * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 100000; i++) {
    double numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    h *= d * c;
    if (fabs(d * c - 1) < 1e-15) break;
  }
  return scale * h;
}

static inline double chi_square_p(double chi_square, double degrees) {
  return gamma_upper(degrees / 2, chi_square / 2);
}

// Of counts[n] against one expected count for all.
static inline double chi_square_uniform(const uint32_t *counts, size_t n, double expected) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  return sum;
}

// Kolmogorov's distribution: the chance of a distance of at least d from n numbers.
static inline double kolmogorov_p(double d, double n) {
  double t = d * (sqrt(n) + 0.12 + 0.11 / sqrt(n)), sum = 0;
  for (int k = 1; k < 100; k++)
    sum += (k % 2 ? 2 : -2) * exp(-2.0 * k * k * t * t);
  return t < 0.2 ? 1 : sum;
}

// Both tails: too even is as suspicious as too uneven.
#define assert_plausible(p)                                                                        \
  do {                                                                                             \
    double plausible_p = (p);                                                                      \
    if (!(plausible_p > 1e-6 && plausible_p < 1 - 1e-6)) fail_msg("%s = %g", #p, plausible_p);     \
  } while (0)

// A deviation in units of its standard deviation; 5 has a chance of 6e-7.
#define assert_within_sigmas(z, limit)                                                             \
  do {                                                                                             \
    double within_z = (z);                                                                         \
    if (!(fabs(within_z) < (limit))) fail_msg("%s = %g", #z, within_z);                            \
  } while (0)

#endif
