// SPDX-License-Identifier: Apache-2.0
// Least squares on a few centred columns per parameter. The normal equations are solved with a
// trace of ridge, which settles columns that say the same.

#include "study/tune/tune_importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

enum { COLUMNS_MAX = MM_TUNE_PARAMETERS * (MM_TUNE_CHOICES - 1) };
static const double RIDGE = 1e-9;

typedef struct regression {
  size_t n, columns;
  size_t first[MM_TUNE_PARAMETERS + 1]; // columns of parameter j: first[j] .. first[j + 1] - 1
  double *x;                            // [columns][n], centred
  double *y;                            // [n] ranks, centred
  double *matrix;                       // [columns][columns + 1]
  const mm_tune_trial **trial;          // [n]
} regression;

// ---------------------------------------------------------------------------------------------
// Rows and columns

static bool is_inside(const mm_tune_space *space, const mm_tune_trial *t) {
  for (size_t j = 0; j < space->n; j++)
    if (!(t->value[j] >= space->parameter[j].low && t->value[j] <= space->parameter[j].high))
      return false;
  return true;
}

static size_t columns_of(const mm_tune_parameter *p) {
  return p->scale == MM_TUNE_CHOICE ? p->n_choice - 1 : 2;
}

// Equals share the mean of their ranks.
static void rank_all(regression *r) {
  for (size_t i = 0; i < r->n; i++) {
    double mean = mm_tune_score(r->trial[i]).mean, below = 0, equal = 0;
    for (size_t k = 0; k < r->n; k++) {
      double other = mm_tune_score(r->trial[k]).mean;
      below += other < mean;
      equal += other == mean;
    }
    r->y[i] = below + (equal - 1) / 2 - ((double)r->n - 1) / 2;
  }
}

static void centre(double *x, size_t n) {
  double mean = 0;
  for (size_t i = 0; i < n; i++)
    mean += x[i] / (double)n;
  for (size_t i = 0; i < n; i++)
    x[i] -= mean;
}

static double dot(const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

static void fill_columns(regression *r, const mm_tune_space *space) {
  for (size_t j = 0; j < space->n; j++) {
    const mm_tune_parameter *p = &space->parameter[j];
    for (size_t c = r->first[j]; c < r->first[j + 1]; c++) {
      double *x = r->x + c * r->n;
      size_t k = c - r->first[j];
      for (size_t i = 0; i < r->n; i++) {
        double value = r->trial[i]->value[j], place = mm_tune_place(p, value) - 0.5;
        x[i] = p->scale == MM_TUNE_CHOICE ? value == (double)(k + 1)
               : k == 0                   ? place
                                          : place * place;
      }
      centre(x, r->n);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Solving

// Gaussian elimination with pivots; the ridge keeps them from 0.
static void solve(regression *r, double *coefficient) {
  size_t m = r->columns, wide = m + 1;
  double *a = r->matrix;
  for (size_t i = 0; i < m; i++) {
    for (size_t k = 0; k < m; k++)
      a[i * wide + k] = dot(r->x + i * r->n, r->x + k * r->n, r->n);
    a[i * wide + m] = dot(r->x + i * r->n, r->y, r->n);
    a[i * wide + i] += RIDGE * (double)r->n;
  }
  for (size_t i = 0; i < m; i++) {
    size_t best = i;
    for (size_t k = i + 1; k < m; k++)
      if (fabs(a[k * wide + i]) > fabs(a[best * wide + i])) best = k;
    for (size_t k = 0; k < wide; k++) {
      double swap = a[i * wide + k];
      a[i * wide + k] = a[best * wide + k];
      a[best * wide + k] = swap;
    }
    for (size_t k = i + 1; k < m; k++) {
      double factor = a[k * wide + i] / a[i * wide + i];
      for (size_t c = i; c < wide; c++)
        a[k * wide + c] -= factor * a[i * wide + c];
    }
  }
  for (size_t i = m; i-- > 0;) {
    double sum = a[i * wide + m];
    for (size_t k = i + 1; k < m; k++)
      sum -= a[i * wide + k] * coefficient[k];
    coefficient[i] = sum / a[i * wide + i];
  }
}

// The covariance of a parameter's function with the ranks: these add up to what the fit explains.
static void share_out(const regression *r, size_t n_parameter, const double *coefficient,
                      mm_tune_importance *out) {
  double total = dot(r->y, r->y, r->n), explained = 0, part[MM_TUNE_PARAMETERS];
  for (size_t j = 0; j < n_parameter; j++) {
    part[j] = 0;
    for (size_t c = r->first[j]; c < r->first[j + 1]; c++)
      part[j] += coefficient[c] * dot(r->x + c * r->n, r->y, r->n);
    explained += part[j];
  }
  double noise = fmax(total - explained, 0) / (double)(r->n - 1 - r->columns);
  for (size_t j = 0; j < n_parameter; j++) {
    double columns = (double)(r->first[j + 1] - r->first[j]);
    out->share[j] = fmin(fmax((part[j] - columns * noise) / total, 0), 1);
  }
}

static void release(regression *r) {
  mm_free(r->x);
  mm_free(r->y);
  mm_free(r->matrix);
  mm_free(r->trial);
}

static mm_status take(regression *r, const mm_tune_search *s) {
  r->trial = mm_alloc_array(s->n, sizeof *r->trial);
  r->y = mm_alloc_array(s->n, sizeof *r->y);
  r->x = mm_alloc_array(r->columns, s->n * sizeof *r->x);
  r->matrix = mm_alloc_array(r->columns, (r->columns + 1) * sizeof *r->matrix);
  if (r->trial && r->y && r->x && r->matrix) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "no memory to weigh %zu trials", s->n);
}

mm_status mm_tune_weigh(const mm_tune_search *s, mm_tune_importance *out) {
  const mm_tune_space *space = s->config.space;
  regression r = { 0 };
  double coefficient[COLUMNS_MAX];
  *out = (mm_tune_importance){ 0 };
  for (size_t j = 0; j < space->n; j++)
    r.first[j + 1] = r.first[j] + columns_of(&space->parameter[j]);
  r.columns = r.first[space->n];
  mm_status status = take(&r, s);
  for (size_t i = 0; i < s->n && status == MM_OK; i++)
    if ((s->trial[i].n > 0 || s->trial[i].failed) && is_inside(space, &s->trial[i]))
      r.trial[r.n++] = &s->trial[i];
  out->n = r.n;
  if (status == MM_OK && r.n > r.columns + 1) {
    rank_all(&r);
    out->known = dot(r.y, r.y, r.n) > 0;
  }
  if (out->known) {
    fill_columns(&r, space);
    solve(&r, coefficient);
    share_out(&r, space->n, coefficient, out);
  }
  release(&r);
  return status;
}
