// SPDX-License-Identifier: Apache-2.0
// Bregman divergences without cancellation.
//
// One coordinate of D_h(p, q) is int_q^p (phi^-1(x) - phi^-1(q)) dx = int_q^p (p - x) phi^-1'(x)
// dx, a sum of positive things. Where p and q are far apart closed forms are accurate; where they
// are close, the second integral is done by a Gauss rule that is exact to rounding on so short an
// interval. h follows as phi^-1(1) (p - 1) + D(p, 1).

#include <math.h>

#include "map/family.h"

// Gauss-Legendre rule with 12 points on [0, 1]
enum { POINTS = 12 };
static const double node[POINTS] = {
  0.009219682876640375, 0.04794137181476257, 0.11504866290284765, 0.2063410228566913,
  0.3160842505009099,   0.43738329574426554, 0.5626167042557345,  0.6839157494990901,
  0.7936589771433087,   0.8849513370971523,  0.9520586281852375,  0.9907803171233597
};
static const double weight[POINTS] = {
  0.023587668193255914, 0.05346966299765921, 0.08003916427167311, 0.10158371336153296,
  0.1167462682691774,   0.12457352290670139, 0.12457352290670139, 0.1167462682691774,
  0.10158371336153296,  0.08003916427167311, 0.05346966299765921, 0.023587668193255914
};

// p log(p / q) - (p - q): the term of phi^-1 = log.
double mm_log_gap(double p, double q) {
  double d = p - q;
  if (q == 0) return p > 0 ? INFINITY : 0;
  if (p == 0) return q;
  if (fabs(d) >= 0.5 * q) return p * (mm_log_d(p) - mm_log_d(q)) - d;
  double t = d / q, sum = 0;
  for (int i = 0; i < POINTS; i++)
    sum += weight[i] * (1 - node[i]) / (1 + t * node[i]);
  return d * t * sum;
}

// (p^k - q^k - k q^(k-1) (p - q)) / (k - 1), k > 0, k != 1: the term of phi^-1 = k x^(k-1) / (k-1).
double mm_power_gap(double p, double q, double k) {
  double d = p - q;
  if (q == 0) return p == 0 ? 0 : k > 1 ? mm_pow_d(p, k) / (k - 1) : INFINITY;
  if (p == 0) return mm_pow_d(q, k);
  if (fabs(d) < 0.5 * q / fmax(1, fabs(k - 2))) {
    double t = d / q, sum = 0;
    for (int i = 0; i < POINTS; i++)
      sum += weight[i] * (1 - node[i]) * mm_pow_d(1 + t * node[i], k - 2);
    return k * mm_pow_d(q, k) * t * t * sum;
  }
  double q1 = mm_pow_d(q, k - 1);
  // the second form keeps its digits as k nears 1, the first does not overflow far from there
  if (fabs(k - 1) > 0.1) return (p * mm_pow_d(p, k - 1) - k * p * q1) / (k - 1) + q * q1;
  double e = mm_expm1_d((k - 1) * (mm_log_d(p) - mm_log_d(q)));
  return q1 * (p * (e / (k - 1)) - d);
}

// e^v - 1 - v, over v^2: the term of phi^-1 = exp.
static double exp_gap(double v) {
  if (fabs(v) >= 0.5) return (mm_expm1_d(v) - v) / (v * v);
  double sum = 0;
  for (int i = 0; i < POINTS; i++)
    sum += weight[i] * (1 - node[i]) * mm_exp_d(v * node[i]);
  return sum;
}

double mm_slope_gap(double (*slope)(const void *f, double p), const void *f, double p, double q) {
  const double d = p - q;
  double sum = 0;
  for (int i = 0; i < POINTS; i++)
    sum += weight[i] * (1 - node[i]) * slope(f, fma(d, node[i], q));
  return d * d * sum;
}

// ---------------------------------------------------------------------------------------------
// Units of a neural map: int_q^p (s(w x + c) - s(w q + c)) dx

// A unit that is 0 (or constant) left of its kink z = 0 and whose term for z > 0 is gap(zp, zq) /
// w.
static double kinked(int block, double zp, double zq, double d, double w) {
  double offset = block == 4 ? MM_LOG_UNIT_OFFSET : 0, k = block == 1   ? 3
                                                           : block == 2 ? 1.5
                                                                        : 4.0 / 3;
  if (zp <= 0 && zq <= 0) return 0;
  double end = fmax(zp, 0) + offset, start = fmax(zq, 0) + offset;
  if (zp > 0 && zq > 0 && w * fabs(d) < 0.01 * start) {
    // hardly bent: integrate the slope, which needs no division by a small w
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
      double z = fma(w * d, node[i], zq);
      sum += weight[i] * (1 - node[i]) * mm_unit_slope_d(block, z, mm_unit_d(block, z));
    }
    return d * d * w * sum;
  }
  double gap = block == 4 ? mm_log_gap(end, start) : mm_power_gap(end, start, k) * (k - 1) / k;
  // left of the kink the unit is constant: p lies -zp / w further to the left
  double flat = zp < 0 ? (mm_unit_d(block, zq) - mm_unit_d(block, 0)) * -zp : 0;
  return (gap + flat) / w;
}

double mm_bregman_unit(int block, double w, double c, double p, double q) {
  double d = p - q, zq = fma(w, q, c), zp = fma(w, p, c), v = w * d;
  if (w == 0 || d == 0) return 0;
  if (block == 0) return w * d * d * (1.5 * zq * zq + zq * v + 0.25 * v * v);
  // far to the right exp(zq) may vanish while exp(zp) does not
  if (block == 5 && v > 1) return (mm_exp_d(zp) - mm_exp_d(zq) * (1 + v)) / w;
  if (block == 5) return w * d * d * mm_exp_d(zq) * exp_gap(v);
  return kinked(block, zp, zq, d, w);
}

// ---------------------------------------------------------------------------------------------

double mm_bregman_term(const mm_potential_d *f, double p, double q) {
  return mm_map_family_of(f->kind)->gap(f, p, q);
}
