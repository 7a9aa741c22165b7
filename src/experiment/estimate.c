#include "experiment/estimate.h"

#include <math.h>

static double term(const double *x, const double *y, size_t i) {
  return y ? x[i] - y[i] : x[i];
}

static mm_estimate estimate(const double *x, const double *y, size_t n) {
  mm_estimate e = { 0, NAN };
  double square = 0;
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
// Curves

bool mm_result_has_value(const mm_result *r) {
  return r->status == MM_OK || (r->status == MM_ERR_NUMERIC && r->n_curve > 0);
}

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
