// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "mirrormap/stats.h"

#include <string.h>

#define LEVEL 0.05

static bool is_known(const double *x, const double *y, size_t i) {
  return !isnan(x[i]) && !(y && isnan(y[i]));
}

// Two unfinished runs are equal, though infinities have no difference.
static double gain_at(const double *x, const double *y, size_t i) {
  return y ? x[i] - y[i] : x[i];
}

mm_comparison mm_comparison_of(const double *x, const double *y, size_t n_all, uint64_t seed) {
  mm_comparison c = MM_COMPARISON_NONE;
  double wins = 0, *gain = mm_alloc_array(n_all, sizeof *gain);
  size_t n = 0;
  bool finite = true;
  if (!gain) return c;
  for (size_t i = 0; i < n_all; i++) {
    if (!is_known(x, y, i)) continue;
    double other = y ? y[i] : 0;
    wins += x[i] > other ? 1 : x[i] == other ? 0.5 : 0;
    gain[n] = gain_at(x, y, i);
    finite = finite && isfinite(gain[n]);
    n++;
  }
  c.gain.n = n;
  c.wins = n > 0 ? wins / (double)n : NAN;
  c.win_interval = mm_interval_of_share(c.wins, n);
  if (finite && n > 0) {
    c.gain = mm_estimate_of(gain, n);
    c.interval = mm_interval_of_mean(gain, n, seed);
    c.iqm = mm_estimate_iqm(gain, n, seed);
    c.p = n > 1 ? mm_sign_flip_test(gain, n, seed) : NAN;
  }
  mm_free(gain);
  return c;
}

int mm_comparison_sign(const mm_comparison *c) {
  return c->interval.low > 0 ? 1 : c->interval.high < 0 ? -1 : 0;
}

static mm_comparison *at(mm_comparison *first, size_t i, size_t stride) {
  return (mm_comparison *)(void *)((char *)first + i * stride);
}

size_t mm_comparisons_correct(mm_comparison *first, size_t n, size_t stride) {
  double *p = mm_alloc_array(n, sizeof *p);
  size_t known = 0;
  for (size_t i = 0; i < n && p; i++) {
    p[i] = at(first, i, stride)->p;
    if (!isnan(p[i])) known++;
  }
  if (p) mm_holm(p, n);
  for (size_t i = 0; i < n; i++)
    at(first, i, stride)->p_holm = p ? p[i] : NAN;
  mm_free(p);
  return known;
}

int mm_comparison_verdict(const mm_comparison *c) {
  return !(c->p_holm <= LEVEL) ? 0 : c->gain.mean > 0 ? 1 : -1;
}

// The normal distribution's number of pairs, and half a squared quantile for Student's.
double mm_comparison_pairs_needed(const mm_comparison *c) {
  const double z = 1.959963985, power = 0.841621234;
  double ratio = c->gain.sem * sqrt((double)c->gain.n) / fabs(c->gain.mean);
  if (isnan(ratio)) return c->gain.mean == 0 && c->gain.sem == 0 ? INFINITY : NAN;
  return fmax(2, ceil((z + power) * (z + power) * ratio * ratio + z * z / 2));
}

// ---------------------------------------------------------------------------------------------
// Conclusions

enum { INCONCLUSIVE, BETTER, WORSE, NO_MEAN, N_GROUP };

static int group_of(const mm_comparison *c) {
  int verdict = mm_comparison_verdict(c);
  if (isnan(c->p_holm)) return NO_MEAN;
  return verdict > 0 ? BETTER : verdict < 0 ? WORSE : INCONCLUSIVE;
}

void mm_conclude(FILE *f, const char *env, const char *baseline, const mm_judged *row, size_t n) {
  static const char *const word[N_GROUP] = { [BETTER] = "better than ",
                                             [WORSE] = "worse than ",
                                             [INCONCLUSIVE] = "inconclusive",
                                             [NO_MEAN] = "without a mean difference" };
  static const int order[N_GROUP] = { BETTER, WORSE, INCONCLUSIVE, NO_MEAN };
  size_t count[N_GROUP] = { 0 }, pairs = 0;
  for (size_t i = 0; i < n; i++) {
    count[group_of(row[i].over)]++;
    if (row[i].over->gain.n > pairs) pairs = row[i].over->gain.n;
  }
  fprintf(f, "%s: ", env);
  if (count[BETTER] + count[WORSE] == 0)
    fprintf(f, "nothing can be concluded against %s", baseline);
  for (int k = 0, parts = 0; k < N_GROUP && count[BETTER] + count[WORSE] > 0; k++) {
    int group = order[k];
    if (count[group] == 0) continue;
    fprintf(f, "%s%s%s: ", parts++ > 0 ? "; " : "", word[group],
            group == BETTER || group == WORSE ? baseline : "");
    for (size_t i = 0, said = 0; i < n; i++)
      if (group_of(row[i].over) == group) fprintf(f, "%s%s", said++ > 0 ? ", " : "", row[i].map);
  }
  fprintf(f, " (%zu paired run%s)", pairs, pairs == 1 ? "" : "s");
}
