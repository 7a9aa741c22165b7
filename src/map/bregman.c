// Bregman divergences without cancellation.
//
// One coordinate of D_h(p, q) is int_q^p (phi^-1(x) - phi^-1(q)) dx = int_q^p (p - x) phi^-1'(x)
// dx, a sum of positive things. Where p and q are far apart closed forms are accurate; where they
// are close, the second integral is done by a Gauss rule that is exact to rounding on so short an
// interval. h follows as phi^-1(1) (p - 1) + D(p, 1).

#include <math.h>

#include "map/map_internal.h"

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
static double log_gap(double p, double q) {
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
static double power_gap(double p, double q, double k) {
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
  double gap = block == 4 ? log_gap(end, start) : power_gap(end, start, k) * (k - 1) / k;
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

static double neural_gap(const mm_potential_d *f, double p, double q) {
  double d = p - q, sum = f->b > 0 ? f->b * log_gap(p, q) : 0;
  for (int j = 0; j < MM_NEURAL_UNITS; j++)
    if (f->u[j] > 0) sum += f->u[j] * mm_bregman_unit(j / MM_BLOCK, f->w[j], f->c[j], p, q);
  return fma(0.5 * f->a * d, d, sum);
}

// ---------------------------------------------------------------------------------------------
// Piecewise: phi^-1 has slope n psi_j on [j/n, (j+1)/n], and 1 beyond 1
//
// Segments that lie between p and q as a whole are summed by runs: RUN of them, or twice, four
// times as many, beginning at a multiple of their number. A run knows the sum of psi and its
// moments about both of its ends, so that its share is again a sum of positive things.

enum { RUN = 64 };

typedef struct mm_bregman_run {
  double weight;      // sum of psi
  double left, right; // of psi times the distance of a segment's middle from this end, in segments
} run_sums;

size_t mm_bregman_runs_size(size_t n) {
  size_t count = 0;
  for (size_t length = RUN; length <= n; length *= 2)
    count += n / length;
  return count * sizeof(run_sums);
}

static run_sums run_of_segments(const double *psi) {
  run_sums sums = { 0, 0, 0 };
  for (int j = 0; j < RUN; j++) {
    sums.weight += psi[j];
    sums.left += psi[j] * (j + 0.5);
    sums.right += psi[j] * (RUN - j - 0.5);
  }
  return sums;
}

static run_sums run_of_two(run_sums a, run_sums b, double length) {
  return (run_sums){ a.weight + b.weight, a.left + (b.left + length * b.weight),
                     b.right + (a.right + length * a.weight) };
}

void mm_bregman_runs_fill(const double *psi, size_t n, run_sums *out) {
  run_sums *run = out, *below = out;
  for (size_t i = 0; i < n / RUN; i++)
    *run++ = run_of_segments(psi + i * RUN);
  for (size_t length = 2 * RUN; length <= n; length *= 2) {
    run_sums *start = run;
    for (size_t i = 0; i < n / length; i++)
      *run++ = run_of_two(below[2 * i], below[2 * i + 1], (double)(length / 2));
    below = start;
  }
}

// The longest run of segments that begins at `first` and ends at `end` or before; its length, or 0.
static int32_t find_run(const mm_potential_d *f, int32_t first, int32_t end, const run_sums **out) {
  const run_sums *level = f->run;
  int32_t length = 0;
  for (int32_t next = RUN; first % next == 0 && next <= end - first; next *= 2) {
    *out = level + first / next;
    level += f->n / next;
    length = next;
  }
  return length;
}

// int |p - x| psi over a run that does not hold p, times 2.
static double run_gap(const run_sums *run, double start, double end, double n, double p) {
  if (p >= end) return 2 * (run->weight * (p - end) + run->right / n) / n;
  return 2 * (run->weight * fmax(start - p, 0) + run->left / n) / n;
}

static double piecewise_gap(const mm_potential_d *f, double p, double q) {
  double low = fmin(p, q), high = fmax(p, q), n = f->n, sum = 0;
  if (low == high) return 0;
  int32_t j = low < 1 ? (int32_t)(low * n) : f->n;
  if (j > 0 && j / n > low) j--; // the product was rounded up
  int32_t end = high < 1 ? (int32_t)(high * n) : f->n;
  if (end > 0 && end / n > high) end--;
  while (j < f->n && j / n < high) {
    const run_sums *run;
    int32_t length = j / n >= low ? find_run(f, j, end, &run) : 0;
    if (length > 0) {
      sum += run_gap(run, j / n, (j + length) / n, n, p);
      j += length;
      continue;
    }
    // the part of [low, high] in this segment; the weight |p - x| is a straight line
    double left = fmax(low, j / n), right = fmin(high, (j + 1) / n);
    if (right > left) sum += f->psi[j] * (right - left) * (fabs(p - left) + fabs(p - right));
    j++;
  }
  const double left = fmax(low, 1);
  const double beyond = high > left ? (high - left) * (fabs(p - left) + fabs(p - high)) : 0;
  return 0.5 * (n * sum + beyond);
}

double mm_bregman_term(const mm_potential_d *f, double p, double q) {
  switch (f->kind) {
  case MM_MAP_NEGENTROPY:
    return log_gap(p, q);
  case MM_MAP_L2:
    return 0.5 * (p - q) * (p - q);
  case MM_MAP_TSALLIS:
    return power_gap(p, q, f->q);
  case MM_MAP_PIECEWISE:
    return piecewise_gap(f, p, q);
  default:
    return neural_gap(f, p, q);
  }
}
