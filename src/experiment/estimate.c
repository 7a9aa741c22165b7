#include "experiment/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

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
// Worths

bool mm_result_has_value(const mm_result *r) {
  return r->status == MM_OK || (r->status == MM_ERR_NUMERIC && r->n_curve > 0);
}

bool mm_result_is_unfinished(const mm_result *r) {
  return mm_result_has_value(r) && isnan(r->final_value);
}

double mm_result_worth(const mm_result *r) {
  return mm_result_is_unfinished(r) ? -INFINITY : mm_result_has_value(r) ? r->final_value : NAN;
}

double mm_worth_shown(double worth) {
  return isfinite(worth) ? worth : NAN;
}

static bool is_known(const double *x, const double *y, size_t i) {
  return !isnan(x[i]) && !(y && isnan(y[i]));
}

// As estimate(), over the places that are known; NaN where one of these is infinite.
static mm_estimate estimate_known(const double *x, const double *y, size_t n, size_t *known) {
  mm_estimate e = { 0, NAN };
  double square = 0;
  *known = 0;
  for (size_t i = 0; i < n; i++) {
    if (!is_known(x, y, i)) continue;
    e.mean += term(x, y, i);
    ++*known;
  }
  e.mean /= (double)*known;
  if (!isfinite(e.mean)) return (mm_estimate){ NAN, NAN };
  for (size_t i = 0; i < n; i++)
    if (is_known(x, y, i)) square += (term(x, y, i) - e.mean) * (term(x, y, i) - e.mean);
  if (*known > 1) e.sem = sqrt(square / (double)(*known - 1) / (double)*known);
  return e;
}

mm_estimate mm_estimate_known(const double *x, size_t n) {
  size_t known;
  return estimate_known(x, NULL, n, &known);
}

mm_worths mm_estimate_worths(const double *worth, size_t n, uint64_t seed) {
  mm_worths w = { .mean = { NAN, NAN } };
  size_t known;
  w.mean = estimate_known(worth, NULL, n, &known);
  for (size_t i = 0; i < n; i++)
    w.unfinished += worth[i] == -INFINITY;
  w.n = known - w.unfinished;
  w.iqm = mm_estimate_iqm(worth, n, seed);
  return w;
}

mm_comparison mm_estimate_comparison(const double *x, const double *y, size_t n) {
  mm_comparison c = { .wins = NAN };
  double wins = 0;
  c.gain = estimate_known(x, y, n, &c.n);
  for (size_t i = 0; i < n; i++)
    if (is_known(x, y, i)) wins += x[i] > y[i] ? 1 : x[i] == y[i] ? 0.5 : 0;
  if (c.n > 0) c.wins = wins / (double)c.n;
  return c;
}

// ---------------------------------------------------------------------------------------------
// Interquartile means

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// Of sorted numbers x[n], of which x[i] is there count[i] times: n in all.
static double middle_mean(const double *x, const uint32_t *count, size_t n) {
  size_t first = n / 4, end = n - first, place = 0;
  double sum = 0;
  for (size_t i = 0; i < n && place < end; place += count[i++]) {
    size_t from = place > first ? place : first,
           to = place + count[i] < end ? place + count[i] : end;
    if (to > from) sum += (double)(to - from) * x[i];
  }
  return sum / (double)(end - first);
}

// Sorted numbers x[n] drawn n times with replacement.
static void resample(uint32_t *count, size_t n, uint64_t seed, uint32_t lane) {
  mm_stream stream = mm_stream_make(seed, 0, MM_RNG_BOOTSTRAP, lane);
  memset(count, 0, n * sizeof *count);
  for (size_t i = 0; i < n; i++)
    count[mm_uniform_int(mm_stream_pair(stream, i), (uint32_t)n)]++;
}

// Of sorted numbers, between two of them along a straight line.
static double percentile(const double *x, size_t n, double share) {
  double place = share * (double)(n - 1);
  size_t i = (size_t)place;
  return i + 1 < n ? x[i] + (place - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

mm_iqm mm_estimate_iqm(const double *x, size_t n_all, uint64_t seed) {
  mm_iqm result = { NAN, NAN, NAN };
  double means[MM_ESTIMATE_RESAMPLES];
  double *sorted = mm_alloc_array(n_all, sizeof *sorted);
  uint32_t *count = mm_alloc_array(n_all, sizeof *count);
  size_t n = 0;
  for (size_t i = 0; i < n_all && sorted; i++)
    if (!isnan(x[i])) sorted[n++] = x[i];
  const bool able = sorted && count && n > 0 && n <= UINT32_MAX;
  if (able) {
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < n; i++)
      count[i] = 1;
    result.iqm = mm_worth_shown(middle_mean(sorted, count, n));
  }
  if (able && n > 1 && !isnan(result.iqm)) {
    for (uint32_t k = 0; k < MM_ESTIMATE_RESAMPLES; k++) {
      resample(count, n, seed, k);
      means[k] = middle_mean(sorted, count, n);
    }
    qsort(means, MM_ESTIMATE_RESAMPLES, sizeof *means, ascending);
    result.low = mm_worth_shown(percentile(means, MM_ESTIMATE_RESAMPLES, 0.025));
    result.high = mm_worth_shown(percentile(means, MM_ESTIMATE_RESAMPLES, 0.975));
  }
  mm_free(sorted);
  mm_free(count);
  return result;
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
