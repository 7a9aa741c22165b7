// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "mirrormap/stats.h"

#include <string.h>

static double term(const double *x, const double *y, size_t i) {
  return y ? x[i] - y[i] : x[i];
}

static mm_estimate estimate(const double *x, const double *y, size_t n) {
  mm_estimate e = { 0, NAN, n };
  double square = 0;
  if (n == 0) return MM_ESTIMATE_NONE;
  for (size_t i = 0; i < n; i++)
    e.mean += term(x, y, i);
  e.mean /= (double)n;
  for (size_t i = 0; i < n; i++)
    square += (term(x, y, i) - e.mean) * (term(x, y, i) - e.mean);
  if (n > 1) e.sem = sqrt(square / (double)(n - 1) / (double)n);
  return e;
}

mm_estimate mm_estimate_of(const double *x, size_t n) {
  return estimate(x, NULL, n);
}

mm_estimate mm_estimate_paired(const double *x, const double *y, size_t n) {
  return estimate(x, y, n);
}

// ---------------------------------------------------------------------------------------------
// Intervals

// Beyond the table, the expansion in 1 / degrees around the normal distribution's quantile
// (Abramowitz and Stegun 26.7.5).
double mm_student_quantile(size_t degrees) {
  static const double table[] = {
    12.70620474, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851,
    2.364624252, 2.306004135, 2.262157163, 2.228138852, 2.200985160, 2.178812830,
    2.160368656, 2.144786688, 2.131449546, 2.119905299, 2.109815578, 2.100922040,
    2.093024054, 2.085963447, 2.079613845, 2.073873068, 2.068657610, 2.063898562,
    2.059538553, 2.055529439, 2.051830516, 2.048407142, 2.045229642, 2.042272456,
  };
  if (degrees == 0) return NAN;
  if (degrees <= sizeof table / sizeof *table) return table[degrees - 1];
  const double z = 1.959963985, y = z * z, r = 1 / (double)degrees;
  const double g1 = z * (y + 1) / 4, g2 = z * ((5 * y + 16) * y + 3) / 96;
  const double g3 = z * (((3 * y + 19) * y + 17) * y - 15) / 384;
  return z + r * (g1 + r * (g2 + r * g3));
}

double mm_estimate_half(mm_estimate e) {
  return e.n > 1 ? mm_student_quantile(e.n - 1) * e.sem : NAN;
}

int mm_estimate_sign(mm_estimate e) {
  if (!(fabs(e.mean) > mm_estimate_half(e))) return 0;
  return e.mean > 0 ? 1 : -1;
}

// ---------------------------------------------------------------------------------------------
// Worths

bool mm_result_has_value(const mm_result *r) {
  return r->status == MM_OK || (r->status == MM_ERR_NUMERIC && r->n_curve > 0);
}

bool mm_result_is_unfinished(const mm_result *r) {
  return mm_result_has_value(r) && isnan(r->final_value);
}

bool mm_result_is_failure(const mm_result *r) {
  return r->status != MM_OK || isnan(r->final_value);
}

double mm_result_worth(const mm_result *r) {
  if (mm_result_has_value(r) && !isnan(r->final_value)) return r->final_value;
  return r->status == MM_OK || r->status == MM_ERR_NUMERIC ? -INFINITY : NAN;
}

double mm_worth_shown(double worth) {
  return isfinite(worth) ? worth : NAN;
}

// As estimate(), over the places that are known; NaN where one of these is infinite.
mm_estimate mm_estimate_known(const double *x, size_t n) {
  mm_estimate e = { 0, NAN, 0 };
  double square = 0;
  for (size_t i = 0; i < n; i++) {
    if (isnan(x[i])) continue;
    e.mean += x[i];
    e.n++;
  }
  e.mean = mm_worth_shown(e.mean / (double)e.n);
  for (size_t i = 0; i < n; i++)
    if (!isnan(x[i])) square += (x[i] - e.mean) * (x[i] - e.mean);
  if (e.n > 1) e.sem = sqrt(square / (double)(e.n - 1) / (double)e.n);
  return e;
}

mm_worths mm_estimate_worths(const double *worth, size_t n, uint64_t seed) {
  mm_worths w = { .mean = mm_estimate_known(worth, n), .iqm = mm_estimate_iqm(worth, n, seed) };
  for (size_t i = 0; i < n; i++)
    w.unfinished += worth[i] == -INFINITY;
  w.n = w.mean.n - w.unfinished;
  w.worst = mm_worth_shown(mm_worst_mean(worth, n, 0.25));
  return w;
}

// ---------------------------------------------------------------------------------------------
// Curves

// The value of a run at the k-th point of the longest.
static double value_at(const mm_result *r, size_t k) {
  return k < r->n_curve ? r->curve[k] : r->final_value;
}

mm_status mm_estimate_curve(const mm_result *runs, size_t n, mm_curve_point **out,
                            size_t *n_point) {
  const mm_result *longest = NULL;
  *out = NULL;
  *n_point = 0;
  for (size_t i = 0; i < n; i++)
    if (mm_result_has_value(&runs[i]) && (!longest || runs[i].n_curve > longest->n_curve))
      longest = &runs[i];
  if (!longest) return MM_OK;
  mm_curve_point *point = mm_alloc_array(longest->n_curve, sizeof *point);
  double *x = mm_alloc_array(n, sizeof *x);
  for (size_t k = 0; k < longest->n_curve && point && x; k++) {
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
      if (mm_result_has_value(&runs[i])) x[used++] = value_at(&runs[i], k);
    point[k] = (mm_curve_point){ longest->curve_step[k], mm_estimate_of(x, used) };
  }
  mm_free(x);
  if (!point || !x) {
    mm_free(point);
    return MM_FAIL(MM_ERR_MEMORY, "no memory for a curve of %zu points", longest->n_curve);
  }
  *out = point;
  *n_point = longest->n_curve;
  return MM_OK;
}

void mm_curve_release(mm_curve_point *curve) {
  mm_free(curve);
}
