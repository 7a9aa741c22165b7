// SPDX-License-Identifier: Apache-2.0
#include "mirrormap/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/status.h"

static const mm_interval no_interval = { NAN, NAN };

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// Of sorted numbers, between two of them along a straight line; -INFINITY stays what it is.
static double percentile(const double *x, size_t n, double share) {
  double place = share * (double)(n - 1);
  size_t i = (size_t)place;
  if (i + 1 >= n || isinf(x[i])) return x[i];
  return x[i] + (place - (double)i) * (x[i + 1] - x[i]);
}

// Between percentiles of statistics of resamples, which are sorted.
static mm_interval middle_part(double *x) {
  qsort(x, MM_RESAMPLES, sizeof *x, ascending);
  return (mm_interval){ percentile(x, MM_RESAMPLES, 0.025), percentile(x, MM_RESAMPLES, 0.975) };
}

// ---------------------------------------------------------------------------------------------
// Means

// The mean of a resample of deviations d[n] from their mean, in standard errors of that resample;
// NaN where it has no spread.
static double studentised(const double *d, size_t n, uint64_t seed, uint32_t lane) {
  mm_stream stream = mm_stream_make(seed, 0, MM_RNG_BOOTSTRAP, lane);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    double x = d[mm_uniform_int(mm_stream_pair(stream, i), (uint32_t)n)];
    sum += x;
    squares += x * x;
  }
  double mean = sum / (double)n, variance = squares / (double)n - mean * mean;
  // a spread of nothing but rounding is none
  if (!(variance > 1e-12 * squares / (double)n)) return NAN;
  return mean / sqrt(variance / (double)(n - 1));
}

// A resample of fewer numbers is often one number many times over: its standard error is next to
// nothing, and the bounds are far away.
enum { BOOTSTRAP_FROM = 10 };

static mm_interval by_bootstrap(const double *d, mm_estimate e, uint64_t seed) {
  double t[MM_RESAMPLES];
  size_t known = 0;
  for (uint32_t k = 0; k < MM_RESAMPLES; k++) {
    t[known] = studentised(d, e.n, seed, k);
    if (!isnan(t[known])) known++;
  }
  if (e.n < BOOTSTRAP_FROM || known < MM_RESAMPLES * 9 / 10) { // few numbers, or most of them equal
    double half = mm_estimate_half(e);
    return (mm_interval){ e.mean - half, e.mean + half };
  }
  qsort(t, known, sizeof *t, ascending);
  return (mm_interval){ e.mean - percentile(t, known, 0.975) * e.sem,
                        e.mean - percentile(t, known, 0.025) * e.sem };
}

mm_interval mm_interval_of_mean(const double *x, size_t n, uint64_t seed) {
  mm_estimate e = mm_estimate_of(x, n);
  if (n < 2 || n > UINT32_MAX || !isfinite(e.sem)) return no_interval;
  double *d = mm_alloc_array(n, sizeof *d);
  if (!d) return no_interval;
  for (size_t i = 0; i < n; i++)
    d[i] = x[i] - e.mean;
  mm_interval interval = by_bootstrap(d, e, seed);
  mm_free(d);
  return interval;
}

mm_interval mm_interval_of_share(double share, size_t n) {
  if (n == 0 || isnan(share)) return no_interval;
  const double z = 1.959963985, r = z * z / (double)n;
  double middle = (share + r / 2) / (1 + r);
  double half = z * sqrt(share * (1 - share) / (double)n + r / (4 * (double)n)) / (1 + r);
  return (mm_interval){ middle - half, middle + half };
}

double mm_worst_of_sorted(const double *sorted, size_t n, double share) {
  // 0.28 x 25 is 7, not the 8 that its rounding error would give
  size_t worst = (size_t)ceil(share * (double)n * (1 - 1e-12));
  double sum = 0;
  for (size_t i = 0; i < worst; i++)
    sum += sorted[i];
  return sum / (double)worst;
}

double mm_worst_mean(const double *x, size_t n, double share) {
  double *sorted = mm_alloc_array(n, sizeof *sorted);
  size_t known = 0;
  if (!sorted) return NAN;
  for (size_t i = 0; i < n; i++)
    if (!isnan(x[i])) sorted[known++] = x[i];
  if (known > 0) qsort(sorted, known, sizeof *sorted, ascending);
  double worst = mm_worst_of_sorted(sorted, known, share);
  mm_free(sorted);
  return worst;
}

// ---------------------------------------------------------------------------------------------
// Interquartile means

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

mm_iqm mm_estimate_iqm(const double *x, size_t n_all, uint64_t seed) {
  mm_iqm result = { NAN, NAN, NAN };
  double means[MM_RESAMPLES];
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
    for (uint32_t k = 0; k < MM_RESAMPLES; k++) {
      resample(count, n, seed, k);
      means[k] = middle_mean(sorted, count, n);
    }
    mm_interval interval = middle_part(means);
    result.low = interval.low;
    result.high = interval.high;
  }
  mm_free(sorted);
  mm_free(count);
  return result;
}

// ---------------------------------------------------------------------------------------------
// Several environments

typedef struct pool {
  size_t n, n_env, least; // scores in all, environments, and the fewest scores of one
  const size_t *of;       // [n_env] scores of each
  double *sorted;         // [n]
  size_t *rank;           // [n] place of a score among the sorted
  uint32_t *count;        // [n] how often a resample has it
  double *statistic;      // [n_statistic][MM_RESAMPLES]
} pool;

typedef struct ranked {
  double x;
  size_t place;
} ranked;

static int by_score(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  int order = ascending(&a->x, &b->x);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

static void close_pool(pool *p) {
  mm_free(p->sorted);
  mm_free(p->rank);
  mm_free(p->count);
  mm_free(p->statistic);
}

// False without scores or memory; close in either case.
static bool open_pool(pool *p, const double *x, const size_t *n, size_t n_env, size_t statistics) {
  *p = (pool){ .of = n, .n_env = n_env, .least = SIZE_MAX };
  for (size_t e = 0; e < n_env; e++) {
    p->n += n[e];
    if (n[e] < p->least) p->least = n[e];
  }
  if (p->n == 0 || p->n > UINT32_MAX) return false;
  p->sorted = mm_alloc_array(p->n, sizeof *p->sorted);
  p->rank = mm_alloc_array(p->n, sizeof *p->rank);
  p->count = mm_alloc_array(p->n, sizeof *p->count);
  p->statistic = mm_alloc_array(statistics, MM_RESAMPLES * sizeof *p->statistic);
  ranked *order = mm_alloc_array(p->n, sizeof *order);
  bool able = p->sorted && p->rank && p->count && p->statistic && order;
  for (size_t i = 0; i < p->n && able; i++)
    order[i] = (ranked){ x[i], i };
  if (able) qsort(order, p->n, sizeof *order, by_score);
  for (size_t i = 0; i < p->n && able; i++) {
    p->sorted[i] = order[i].x;
    p->rank[order[i].place] = i;
    p->count[i] = 1;
  }
  mm_free(order);
  return able;
}

static void resample_strata(pool *p, uint64_t seed, uint32_t lane) {
  size_t first = 0;
  memset(p->count, 0, p->n * sizeof *p->count);
  for (size_t e = 0; e < p->n_env; first += p->of[e++]) {
    mm_stream stream = mm_stream_make(seed, 2 + (uint32_t)e, MM_RNG_BOOTSTRAP, lane);
    for (size_t i = 0; i < p->of[e]; i++)
      p->count[p->rank[first + mm_uniform_int(mm_stream_pair(stream, i), (uint32_t)p->of[e])]]++;
  }
}

mm_iqm mm_stratified_iqm(const double *x, const size_t *n, size_t n_env, uint64_t seed) {
  mm_iqm result = { NAN, NAN, NAN };
  pool p;
  if (open_pool(&p, x, n, n_env, 1)) {
    result.iqm = mm_worth_shown(middle_mean(p.sorted, p.count, p.n));
    for (uint32_t k = 0; k < MM_RESAMPLES; k++) {
      resample_strata(&p, seed, k);
      p.statistic[k] = middle_mean(p.sorted, p.count, p.n);
    }
    const bool known = p.least > 1 && !isnan(result.iqm);
    mm_interval interval = known ? middle_part(p.statistic) : no_interval;
    result.low = interval.low;
    result.high = interval.high;
  }
  close_pool(&p);
  return result;
}

// The share of scores above each tau, `pitch` numbers apart.
static void shares_above(const pool *p, const double *tau, size_t n_tau, double *share,
                         size_t pitch) {
  size_t above = 0, i = p->n;
  for (size_t k = n_tau; k-- > 0;) {
    for (; i > 0 && p->sorted[i - 1] > tau[k]; i--)
      above += p->count[i - 1];
    share[k * pitch] = (double)above / (double)p->n;
  }
}

void mm_performance_profile(const double *x, const size_t *n, size_t n_env, const double *tau,
                            size_t n_tau, uint64_t seed, double *share, mm_interval *band) {
  pool p;
  bool able = open_pool(&p, x, n, n_env, n_tau);
  for (size_t k = 0; k < n_tau && !able; k++) {
    share[k] = NAN;
    band[k] = no_interval;
  }
  if (able) shares_above(&p, tau, n_tau, share, 1);
  for (uint32_t r = 0; r < MM_RESAMPLES && able; r++) {
    resample_strata(&p, seed, r);
    shares_above(&p, tau, n_tau, p.statistic + r, MM_RESAMPLES);
  }
  for (size_t k = 0; k < n_tau && able; k++)
    band[k] = p.least > 1 ? middle_part(p.statistic + k * MM_RESAMPLES) : no_interval;
  close_pool(&p);
}

// ---------------------------------------------------------------------------------------------
// Tests

// The sum of d[n] with signs drawn at random, 128 of them from a block.
static double flipped_sum(const double *d, size_t n, uint64_t seed, uint32_t lane) {
  mm_stream stream = mm_stream_make(seed, 1, MM_RNG_BOOTSTRAP, lane);
  mm_block block = { { 0 } };
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    if (i % 128 == 0) block = mm_stream_block(stream, i / 128);
    sum += block.word[i / 32 % 4] >> i % 32 & 1 ? d[i] : -d[i];
  }
  return sum;
}

double mm_sign_flip_test(const double *d, size_t n, uint64_t seed) {
  double sum = 0, size = 0;
  for (size_t i = 0; i < n; i++) {
    sum += d[i];
    size += fabs(d[i]);
  }
  if (n == 0 || !isfinite(size)) return NAN;
  // sums that differ by rounding alone are equal
  double bound = fabs(sum) - 1e-12 * size;
  size_t as_far = 1;
  for (uint32_t k = 0; k < MM_SIGN_FLIPS; k++)
    as_far += fabs(flipped_sum(d, n, seed, k)) >= bound;
  return (double)as_far / (MM_SIGN_FLIPS + 1);
}

static int by_p(const void *left, const void *right) {
  return ascending(*(const double *const *)left, *(const double *const *)right);
}

void mm_holm(double *p, size_t n) {
  double **order = mm_alloc_array(n, sizeof *order), least = 0;
  size_t known = 0;
  for (size_t i = 0; i < n; i++)
    if (!order)
      p[i] = NAN;
    else if (!isnan(p[i]))
      order[known++] = &p[i];
  if (known > 0) qsort(order, known, sizeof *order, by_p);
  for (size_t r = 0; r < known; r++) {
    least = fmax(least, fmin(1, (double)(known - r) * *order[r]));
    *order[r] = least;
  }
  mm_free(order);
}
