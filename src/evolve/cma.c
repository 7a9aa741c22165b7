// SPDX-License-Identifier: Apache-2.0
// CMA-ES: a normal distribution whose covariance is sigma^2 C, for at most 64 coordinates. With
// C = B diag(D^2) B' and y_i = B D z_i, weights w_i by rank (the lower half negative, "active") and
//
//   y_w = sum over the better half of w_i y_i,   z_w likewise,
//
// a generation is (Hansen, "The CMA evolution strategy: a tutorial", 2016)
//
//   mean    <- mean + sigma y_w
//   p_sigma <- (1 - c_sigma) p_sigma + sqrt(c_sigma (2 - c_sigma) mueff) B z_w
//   h       <- 1 unless the path p_sigma is too long
//   p_c     <- (1 - c_c) p_c + h sqrt(c_c (2 - c_c) mueff) y_w
//   C       <- (1 - c_1 - c_mu sum w_i + (1 - h) c_1 c_c (2 - c_c)) C + c_1 p_c p_c'
//              + c_mu sum over all i of v_i y_i y_i',  v_i = w_i, or w_i n / |z_i|^2 if negative
//   sigma   <- sigma exp(min(1, c_sigma / d_sigma (|p_sigma| / chi - 1)))
//
// The state has C alone. B and D follow from it by Jacobi's rotations in a fixed order, so a search
// that was saved and loaded draws the same members to the bit; a library's routine would not
// promise that across machines.

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/status.h"
#include "evolve/cma.h"

enum { DIMENSION_MAX = 64, SWEEPS_MAX = 60 };
enum { PATH_SIGMA = 1, PATH_C = 2, COVARIANCE = MM_CMA_COVARIANCE }; // vectors of the state
enum { BASIS = MM_CMA_BASIS, WORK = MM_CMA_WORK };

// The longest axis is at most so many times the shortest one: beyond that C has no digits left.
#define AXIS_RATIO_MAX 1e7

mm_es_config mm_cma_defaults(mm_es_kind kind) {
  return (mm_es_config){ .kind = kind, .population = 128, .sigma = 0.5 };
}

mm_status mm_cma_check(const mm_es_config *c, const char *name) {
  if (c->dimension > DIMENSION_MAX)
    return MM_FAIL(MM_ERR_INPUT, "%s: dimension = %zu: expected 1 to %d (sep-cma-es takes more)",
                   name, c->dimension, DIMENSION_MAX);
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Constants

// Effective number of the members of ranks first .. end - 1.
static double effective(const double *weight, size_t first, size_t end) {
  double sum = 0, squares = 0;
  for (size_t r = first; r < end; r++) {
    sum += weight[r];
    squares += weight[r] * weight[r];
  }
  return squares > 0 ? sum * sum / squares : 0;
}

// Multiplies the weights of ranks first .. end - 1 so that their sizes add up to `total`.
static void scale_to(double *weight, size_t first, size_t end, double total) {
  double sum = 0;
  for (size_t r = first; r < end; r++)
    sum += fabs(weight[r]);
  for (size_t r = first; r < end && sum > 0; r++)
    weight[r] *= total / sum;
}

void mm_cma_prepare(mm_es *es) {
  mm_cma *c = es->constants;
  const size_t population = es->population, dimension = es->config.dimension;
  const double n = (double)dimension;
  double *w = es->by_rank;
  for (size_t r = 0; r < population; r++)
    w[r] = mm_log_d((double)(population + 1) / 2) - mm_log_d((double)(r + 1));
  c->mu = population / 2;
  double mueff = c->mueff = effective(w, 0, c->mu);
  double mueff_negative = effective(w, c->mu, population);

  c->chi = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  c->c_sigma = (mueff + 2) / (n + mueff + 5);
  // many members for few coordinates: the tutorial's damping lets sigma fall too fast there, above
  // all under noise; pycma, from its version 4.4 on, multiplies the root by up to 3
  double inner = fmax(1, 3 * (1 - mm_pow_d(0.5, n / 9)));
  c->d_sigma = 1 + 2 * fmax(0, inner * sqrt((mueff - 1) / (n + 1)) - 1) + c->c_sigma;
  c->c_c = (4 + mueff / n) / (n + 4 + 2 * mueff / n);
  c->c_1 = 2 / ((n + 1.3) * (n + 1.3) + mueff);
  c->c_mu = fmin(1 - c->c_1, 2 * (0.25 + mueff + 1 / mueff - 2) / ((n + 2) * (n + 2) + mueff));

  // negative weights: no more than keeps C positive definite
  double most = fmin(1 + c->c_1 / c->c_mu, 1 + 2 * mueff_negative / (mueff + 2));
  most = fmin(most, (1 - c->c_1 - c->c_mu) / (n * c->c_mu));
  scale_to(w, 0, c->mu, 1);
  scale_to(w, c->mu, population, fmax(most, 0));
  for (size_t r = 0; r < population; r++)
    c->weight_sum += w[r];

  for (size_t j = 0; j < dimension; j++)
    es->now[COVARIANCE][j * dimension + j] = 1;
}

// ---------------------------------------------------------------------------------------------
// The axes of C

// Turns coordinates p and q of the symmetric a [n][n] so that a[p][q] becomes 0, and the columns p
// and q of the basis with them.
static void rotate(double *a, double *basis, size_t n, size_t p, size_t q) {
  double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
  double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
  double c = 1 / sqrt(t * t + 1), s = t * c;
  for (size_t k = 0; k < n; k++) {
    double x = a[k * n + p], y = a[k * n + q];
    a[k * n + p] = c * x - s * y;
    a[k * n + q] = s * x + c * y;
  }
  for (size_t k = 0; k < n; k++) {
    double x = a[p * n + k], y = a[q * n + k];
    a[p * n + k] = c * x - s * y;
    a[q * n + k] = s * x + c * y;
    x = basis[k * n + p], y = basis[k * n + q];
    basis[k * n + p] = c * x - s * y;
    basis[k * n + q] = s * x + c * y;
  }
}

// One sweep over all pairs; false when nothing was left to turn.
static bool sweep(double *a, double *basis, size_t n) {
  bool turned = false;
  for (size_t p = 0; p + 1 < n; p++)
    for (size_t q = p + 1; q < n; q++) {
      double size = sqrt(fabs(a[p * n + p] * a[q * n + q]));
      if (fabs(a[p * n + q]) <= DBL_EPSILON * size || a[p * n + q] == 0) continue;
      rotate(a, basis, n, p, q);
      turned = true;
    }
  return turned;
}

void mm_cma_find_axes(const mm_es *es, const double *covariance) {
  size_t n = es->config.dimension;
  double *basis = es->square[BASIS], *a = es->square[WORK], longest = 0;
  memcpy(a, covariance, n * n * sizeof *a);
  memset(basis, 0, n * n * sizeof *basis);
  for (size_t j = 0; j < n; j++)
    basis[j * n + j] = 1;
  for (int i = 0; i < SWEEPS_MAX && sweep(a, basis, n); i++) {
  }
  for (size_t j = 0; j < n; j++)
    longest = fmax(longest, a[j * n + j]);
  double least = longest / (AXIS_RATIO_MAX * AXIS_RATIO_MAX);
  for (size_t j = 0; j < n; j++)
    es->deviation[j] = sqrt(fmax(a[j * n + j], least));
}

// y = B (d z), or B z without d.
static void turn(const mm_es *es, const double *d, const double *z, double *y) {
  size_t n = es->config.dimension;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
      sum += es->square[BASIS][i * n + j] * (d ? d[j] * z[j] : z[j]);
    y[i] = sum;
  }
}

void mm_cma_place(mm_es *es, size_t first, size_t end, double *member) {
  size_t n = es->config.dimension;
  if (first == 0) mm_cma_find_axes(es, es->now[COVARIANCE]);
  for (size_t i = first; i < end; i++) {
    turn(es, es->deviation, es->z + i * n, es->sum);
    for (size_t j = 0; j < n; j++)
      member[i * n + j] = es->now[MM_ES_MEAN][j] + es->sigma * es->sum[j];
  }
}

// ---------------------------------------------------------------------------------------------
// The step

// z_w into `out`: the draws of the members of positive weight.
static void sum_draws(const mm_es *es, double *out) {
  size_t n = es->config.dimension;
  memset(out, 0, n * sizeof *out);
  for (size_t i = 0; i < es->population; i++)
    for (size_t j = 0; j < n && es->weight[i] > 0; j++)
      out[j] += es->weight[i] * es->z[i * n + j];
}

// Moves the mean and the path of sigma; the length of that path. y_w stays in es->sum.
static double step_mean(mm_es *es) {
  const mm_cma *c = es->constants;
  double keep = 1 - c->c_sigma, add = sqrt(c->c_sigma * (2 - c->c_sigma) * c->mueff), squares = 0;
  double *z = es->sum_squares, *path = es->next[PATH_SIGMA];
  sum_draws(es, z);
  turn(es, NULL, z, path);
  turn(es, es->deviation, z, es->sum);
  for (size_t j = 0; j < es->config.dimension; j++) {
    es->next[MM_ES_MEAN][j] = es->now[MM_ES_MEAN][j] + es->sigma * es->sum[j];
    path[j] = keep * es->now[PATH_SIGMA][j] + add * path[j];
    squares += path[j] * path[j];
  }
  return sqrt(squares);
}

// Adds weight y y' to the lower triangle of `to`.
static void add_outer(double *to, size_t n, double weight, const double *y) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      to[i * n + j] += weight * (y[i] * y[j]);
}

// A bad member counts by its direction alone, however far out it was.
static double weight_of(const mm_es *es, size_t member) {
  size_t n = es->config.dimension;
  double squares = 0, w = es->weight[member];
  if (w >= 0) return w;
  for (size_t j = 0; j < n; j++)
    squares += es->z[member * n + j] * es->z[member * n + j];
  return squares > 0 ? w * (double)n / squares : 0;
}

static void step_covariance(mm_es *es, double h) {
  const mm_cma *c = es->constants;
  size_t n = es->config.dimension;
  double add = h * sqrt(c->c_c * (2 - c->c_c) * c->mueff), *next = es->next[COVARIANCE];
  double keep = 1 - c->c_1 - c->c_mu * c->weight_sum + (1 - h) * c->c_1 * c->c_c * (2 - c->c_c);
  for (size_t j = 0; j < n; j++)
    es->next[PATH_C][j] = (1 - c->c_c) * es->now[PATH_C][j] + add * es->sum[j];
  for (size_t i = 0; i < n * n; i++)
    next[i] = keep * es->now[COVARIANCE][i];
  add_outer(next, n, c->c_1, es->next[PATH_C]);
  for (size_t i = 0; i < es->population; i++) {
    turn(es, es->deviation, es->z + i * n, es->sum_squares);
    add_outer(next, n, c->c_mu * weight_of(es, i), es->sum_squares);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < i; j++)
      next[j * n + i] = next[i * n + j];
}

double mm_cma_step(mm_es *es) {
  const mm_cma *c = es->constants;
  double length = step_mean(es), n = (double)es->config.dimension;
  // a path that has only just begun is shorter by nature
  double grown =
      sqrt(1 - mm_pow_d(1 - c->c_sigma, 2 * ((double)(es->generation - es->restart.began) + 1)));
  step_covariance(es, length / grown < (1.4 + 2 / (n + 1)) * c->chi ? 1 : 0);
  return es->sigma * mm_exp_d(fmin(1, c->c_sigma / c->d_sigma * (length / c->chi - 1)));
}

// Of the axes of C, not of the coordinates.
double mm_cma_axis_ratio(const mm_es *es) {
  mm_cma_find_axes(es, es->now[COVARIANCE]);
  double least = es->deviation[0], greatest = least;
  for (size_t j = 1; j < es->config.dimension; j++) {
    least = fmin(least, es->deviation[j]);
    greatest = fmax(greatest, es->deviation[j]);
  }
  return greatest / least;
}

extern const mm_es_method mm_cma_method;

const mm_es_method mm_cma_method = {
  .covariant = true,
  .defaults = mm_cma_defaults,
  .check = mm_cma_check,
  .constants_size = sizeof(mm_cma),
  .n_vectors = 4,
  .n_squares = 2,
  .vector = { MM_CMA_VECTORS },
  .prepare = mm_cma_prepare,
  .place = mm_cma_place,
  .step = mm_cma_step,
  .axis_ratio = mm_cma_axis_ratio,
};
