// SPDX-License-Identifier: Apache-2.0
// The map of a family that comes near one of another: phi^-1 as a sum of functions with weights of
// at least 0, by least squares over equal steps of p and up to a constant, which no policy sees.

#include <string.h>

#include "map/family.h"

enum { POINTS = 256, SWEEPS = 4000 };

// min |y - sum_j x_j f_j| for x >= 0 by its normal equations, one weight after the other.
struct mm_map_fit {
  size_t m;
  double y[POINTS], f[MM_MAP_FIT_MOST][POINTS];
  double gram[MM_MAP_FIT_MOST][MM_MAP_FIT_MOST], right[MM_MAP_FIT_MOST];
};

static void centre(double *x) {
  double mean = 0;
  for (size_t i = 0; i < POINTS; i++)
    mean += x[i] / POINTS;
  for (size_t i = 0; i < POINTS; i++)
    x[i] -= mean;
}

static double product(const double *x, const double *y) {
  double sum = 0;
  for (size_t i = 0; i < POINTS; i++)
    sum += x[i] * y[i];
  return sum;
}

static double point(size_t i) {
  return ((double)i + 0.5) / POINTS;
}

mm_status mm_map_fit_open(const mm_map *source, mm_map_fit **out) {
  double p[POINTS];
  for (size_t i = 0; i < POINTS; i++)
    p[i] = point(i);
  *out = mm_alloc(sizeof **out);
  if (!*out) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map");
  (*out)->m = 0;
  const mm_status status = mm_map_phi_inverse(source, p, POINTS, (*out)->y);
  centre((*out)->y);
  if (status != MM_OK) mm_map_fit_close(*out);
  return status;
}

void mm_map_fit_close(mm_map_fit *q) {
  mm_free(q);
}

void mm_map_fit_put(mm_map_fit *q, size_t j, double (*f)(const void *of, double p),
                    const void *of) {
  for (size_t i = 0; i < POINTS; i++)
    q->f[j][i] = f(of, point(i));
  centre(q->f[j]);
  q->m = j + 1;
  for (size_t k = 0; k < q->m; k++)
    q->gram[j][k] = q->gram[k][j] = product(q->f[j], q->f[k]);
  q->right[j] = product(q->f[j], q->y);
}

double mm_map_fit_solve(const mm_map_fit *q, double *x) {
  double rest[POINTS];
  memset(x, 0, q->m * sizeof *x);
  for (int sweep = 0; sweep < SWEEPS; sweep++)
    for (size_t j = 0; j < q->m; j++) {
      double slope = q->right[j];
      for (size_t k = 0; k < q->m; k++)
        slope -= q->gram[j][k] * x[k];
      if (q->gram[j][j] > 0) x[j] = fmax(x[j] + slope / q->gram[j][j], 0);
    }
  memcpy(rest, q->y, sizeof rest);
  for (size_t j = 0; j < q->m; j++)
    for (size_t i = 0; i < POINTS; i++)
      rest[i] -= x[j] * q->f[j][i];
  return sqrt(product(rest, rest) / product(q->y, q->y));
}

void mm_map_fit_note(const mm_map *source, mm_map_kind kind, double misfit) {
  mm_log(
      "the nearest map of kind %s to one of kind %s: its phi^-1 differs by %.2g %% of the spread",
      mm_map_kind_name(kind), mm_map_kind_name(source->exact.kind), 100 * misfit);
}

// ---------------------------------------------------------------------------------------------
// Powers

static double power(const void *of, double p) {
  const double a = *(const double *)of;
  return a == 0 ? mm_log_d(p) : (mm_pow_d(p, a) - 1) / a;
}

// One exponent after the other, each the best beside those before.
mm_status mm_map_fit_powers(const mm_map *source, size_t n, double first, double step, size_t count,
                            double *w, double *a, double *misfit) {
  mm_map_fit *q;
  MM_TRY(mm_map_fit_open(source, &q));
  for (size_t k = 0; k < n; k++) {
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
      const double exponent = first + (double)i * step;
      mm_map_fit_put(q, k, power, &exponent);
      const double found = mm_map_fit_solve(q, w);
      if (!(found < least)) continue;
      least = found;
      a[k] = exponent;
    }
    mm_map_fit_put(q, k, power, &a[k]);
  }
  *misfit = mm_map_fit_solve(q, w);
  mm_map_fit_close(q);
  return MM_OK;
}
