// SPDX-License-Identifier: Apache-2.0
// See oracle.h.

#include "oracle.h"

#include <math.h>

static long double unit(int block, long double z) {
  long double t = z > 0 ? z : 0;
  switch (block) {
  case 0:
    return z * z * z;
  case 1:
    return t * t;
  case 2:
    return sqrtl(t);
  case 3:
    return cbrtl(t);
  case 4:
    return logl(t + 1e-3L);
  default:
    return expl(z);
  }
}

static long double unit_slope(int block, long double z) {
  if (block == 0) return 3 * z * z;
  if (block == 5) return expl(z);
  if (z <= 0) return 0;
  switch (block) {
  case 1:
    return 2 * z;
  case 2:
    return 0.5L / sqrtl(z);
  case 3:
    return 1 / (3 * powl(cbrtl(z), 2));
  default:
    return 1 / (z + 1e-3L);
  }
}

static long double neural_inverse(const mm_map *map, long double p) {
  const double *w, *c, *u;
  double a, b;
  mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
  long double sum = a * p + (b > 0 ? b * logl(p) : 0);
  for (int j = 0; j < MM_NEURAL_UNITS; j++)
    if (u[j] > 0) sum += u[j] * unit(j / 21, w[j] * p + c[j]);
  return sum;
}

static long double piecewise_inverse(const mm_map *map, long double p) {
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  long double sum = 0;
  for (size_t j = 0; j < n; j++) {
    long double t = p * n - j;
    if (t <= 0) break;
    sum += psi[j] * (t < 1 ? t : 1);
  }
  return sum;
}

static long double powers_inverse(const mm_map *map, long double p) {
  const double *w, *a;
  const size_t n = mm_map_powers_terms(map, &w, &a);
  long double sum = 0;
  for (size_t k = 0; k < n; k++)
    sum += w[k] * (a[k] == 0 ? logl(p) : (powl(p, a[k]) - 1) / a[k]);
  return sum;
}

static long double powers_slope(const mm_map *map, long double p) {
  const double *w, *a;
  const size_t n = mm_map_powers_terms(map, &w, &a);
  long double sum = 0;
  for (size_t k = 0; k < n; k++)
    sum += w[k] * powl(p, a[k] - 1.0L);
  return sum;
}

long double oracle_phi_inverse(const mm_map *map, long double p) {
  long double q = mm_map_tsallis_q(map);
  switch (mm_map_get_kind(map)) {
  case MM_MAP_NEGENTROPY:
    return logl(p);
  case MM_MAP_L2:
    return p;
  case MM_MAP_TSALLIS:
    return q * powl(p, q - 1) / (q - 1);
  case MM_MAP_PIECEWISE:
    return piecewise_inverse(map, p);
  case MM_MAP_POWERS:
    return powers_inverse(map, p);
  default:
    return neural_inverse(map, p);
  }
}

long double oracle_phi_inverse_slope(const mm_map *map, long double p) {
  long double q = mm_map_tsallis_q(map);
  switch (mm_map_get_kind(map)) {
  case MM_MAP_NEGENTROPY:
    return 1 / p;
  case MM_MAP_L2:
    return 1;
  case MM_MAP_TSALLIS:
    return q * powl(p, q - 2);
  case MM_MAP_PIECEWISE: {
    size_t n;
    const double *psi = mm_map_piecewise_psi(map, &n);
    size_t j = (size_t)(p * n);
    return (long double)n * psi[j < n ? j : n - 1];
  }
  case MM_MAP_POWERS:
    return powers_slope(map, p);
  default: {
    const double *w, *c, *u;
    double a, b;
    mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
    long double sum = a + b / p;
    for (int j = 0; j < MM_NEURAL_UNITS; j++)
      sum += (long double)u[j] * w[j] * unit_slope(j / 21, w[j] * p + c[j]);
    return sum;
  }
  }
}

static long double piecewise_phi(const mm_map *map, long double x) {
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  long double knot = 0;
  if (x <= 0) return 0;
  for (size_t j = 0; j < n; j++) {
    if (x < knot + psi[j]) return (j + (x - knot) / psi[j]) / n;
    knot += psi[j];
  }
  return 1;
}

// By bisection, for p in [0, 1].
static long double solved_phi(const mm_map *map, long double x) {
  long double low = 0, high = 1;
  if (x >= oracle_phi_inverse(map, 1)) return 1;
  if (x <= oracle_phi_inverse(map, 0)) return 0;
  for (int k = 0; k < 300; k++) {
    // halves in the logarithm while far from the ends, so that small p keep their digits
    long double mid = low > 0 ? sqrtl(low * high) : high * 1e-5L;
    if (high < 2 * low) mid = (low + high) / 2;
    if (mid < 1e-40L) return 0; // adds nothing to a sum of 1
    if (mid <= low || mid >= high) break;
    if (oracle_phi_inverse(map, mid) < x)
      low = mid;
    else
      high = mid;
  }
  return high;
}

long double oracle_phi(const mm_map *map, long double x) {
  long double q = mm_map_tsallis_q(map);
  switch (mm_map_get_kind(map)) {
  case MM_MAP_NEGENTROPY:
    return expl(x);
  case MM_MAP_L2:
    return x > 0 ? x : 0;
  case MM_MAP_TSALLIS: {
    long double base = (q - 1) * x / q;
    if (base <= 0) return q > 1 ? 0 : (long double)INFINITY;
    return powl(base, 1 / (q - 1));
  }
  case MM_MAP_PIECEWISE:
    return piecewise_phi(map, x);
  default:
    return solved_phi(map, x);
  }
}

long double oracle_total(const mm_map *map, const double *x, size_t n, long double lambda) {
  long double total = 0;
  for (size_t a = 0; a < n; a++)
    total += oracle_phi(map, x[a] + lambda);
  return total;
}

static long double difference(const mm_map *map, long double t, long double at_q) {
  return oracle_phi_inverse(map, t) - at_q;
}

static long double simpson(const mm_map *map, long double at_q, long double a, long double b,
                           long double fa, long double fm, long double fb, long double whole,
                           long double tolerance, int depth) {
  long double m = (a + b) / 2;
  long double left_mid = difference(map, (a + m) / 2, at_q);
  long double right_mid = difference(map, (m + b) / 2, at_q);
  long double left = (m - a) / 6 * (fa + 4 * left_mid + fm);
  long double right = (b - m) / 6 * (fm + 4 * right_mid + fb);
  // a few halvings in any case, so that no kink hides between the first points
  if (depth == 0 || (depth < 14 && fabsl(left + right - whole) <= 15 * tolerance))
    return left + right + (left + right - whole) / 15;
  return simpson(map, at_q, a, m, fa, left_mid, fm, left, tolerance, depth - 1) +
         simpson(map, at_q, m, b, fm, right_mid, fb, right, tolerance, depth - 1);
}

// Straight between multiples of 1/n: the trapezoidal rule is exact there.
static long double piecewise_term(const mm_map *map, long double p, long double q) {
  size_t n;
  mm_map_piecewise_psi(map, &n);
  long double at_q = oracle_phi_inverse(map, q), sum = 0, low = fminl(p, q), high = fmaxl(p, q);
  for (size_t j = 0; j < n; j++) {
    long double a = fmaxl(low, (long double)j / n), b = fminl(high, (long double)(j + 1) / n);
    if (b > a) sum += (b - a) * (difference(map, a, at_q) + difference(map, b, at_q)) / 2;
  }
  return p > q ? sum : -sum;
}

long double oracle_bregman_term(const mm_map *map, long double p, long double q) {
  if (mm_map_get_kind(map) == MM_MAP_PIECEWISE) return piecewise_term(map, p, q);
  long double at_q = oracle_phi_inverse(map, q), m = (p + q) / 2;
  long double fa = 0, fm = difference(map, m, at_q), fb = difference(map, p, at_q);
  long double whole = (p - q) / 6 * (fa + 4 * fm + fb);
  bool kinks = mm_map_get_kind(map) == MM_MAP_NEURAL;
  return simpson(map, at_q, q, p, fa, fm, fb, whole, fabsl(whole) * (kinks ? 1e-12L : 1e-14L), 20);
}
