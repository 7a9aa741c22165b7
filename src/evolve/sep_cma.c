// SPDX-License-Identifier: Apache-2.0
// Sep-CMA-ES: a normal distribution whose covariance is sigma^2 diag(C). With y_i = sqrt(C) z_i,
// weights w_i by rank and the sums over members
//
//   y_w = sum_i w_i y_i,   y_2 = sum_i w_i y_i^2   (coordinate by coordinate)
//
// a generation is
//
//   mean    <- mean + sigma y_w
//   p_sigma <- (1 - c_sigma) p_sigma + sqrt(c_sigma (2 - c_sigma) mueff) y_w / sqrt(C)
//   h       <- 1 unless the path p_sigma is too long
//   p_c     <- (1 - c_c) p_c + h sqrt(c_c (2 - c_c) mueff) y_w
//   C       <- (1 - c_1 - c_mu + (1 - h) c_1 c_c (2 - c_c)) C + c_1 p_c^2 + c_mu y_2
//   sigma   <- sigma exp(c_sigma / d_sigma (|p_sigma| / chi - 1))
//
// The constants are those of Ros and Hansen (2008) in the form of the library that the paper used,
// at the paper's time. Its c_1 + c_mu exceeds 1 in few dimensions with many members (n <= 18 for
// 128), which would make C negative: c_mu is capped. The later version of that library has other
// constants, and guards C in another way.

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "evolve/constants.h"

// C is kept between these.
#define VARIANCE_MIN 1e-20
#define VARIANCE_MAX 1e8

// In the later version of the library.
#define SIGMA_MAX 1e8

static mm_es_config defaults(mm_es_kind kind) {
  return (mm_es_config){ .kind = kind, .population = 128, .sigma = 2 };
}

static bool is_later_version(const mm_es *es) {
  return es->config.kind == MM_ES_SEP_CMA_EVOSAX;
}

// ---------------------------------------------------------------------------------------------
// Constants

// w_r for r < mu, summing to 1, and zero beyond; mueff.
static void prepare_weights(mm_es *es) {
  mm_sep_cma *c = es->constants;
  size_t population = es->population;
  c->mu = population / 2;
  double first = is_later_version(es) ? (double)(population + 1) / 2 : (double)(c->mu + 1);
  double sum = 0, squares = 0;
  for (size_t r = 0; r < c->mu; r++) {
    es->by_rank[r] = mm_log_d(first) - mm_log_d((double)(r + 1));
    sum += es->by_rank[r];
  }
  for (size_t r = 0; r < c->mu; r++) {
    es->by_rank[r] /= sum;
    squares += es->by_rank[r] * es->by_rank[r];
  }
  c->mueff = 1 / squares;
}

static void prepare_rates(mm_sep_cma *c, double n, bool later_version) {
  double mueff = c->mueff;
  c->chi = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  c->c_1 = 2 / ((n + 1.3) * (n + 1.3) + mueff);
  if (later_version) {
    c->c_sigma = (mueff + 2) / (n + mueff + 5);
    c->c_c = (4 + mueff / n) / (n + 4 + 2 * mueff / n);
    c->c_mu = 2 * (mueff - 2 + 1 / mueff) / ((n + 2) * (n + 2) + mueff);
    c->lag = 2;
  } else {
    double root = n + sqrt(2), rank_mu = (2 * mueff - 1) / ((n + 2) * (n + 2) + mueff);
    c->c_sigma = (mueff + 2) / (n + mueff + 3);
    c->c_c = 4 / (n + 4);
    c->c_mu = (n + 2) / 3 * (2 / mueff / (root * root) + (1 - 1 / mueff) * fmin(1, rank_mu));
    c->lag = 1;
  }
  c->c_mu = fmin(c->c_mu, 1 - c->c_1);
  c->d_sigma = 1 + 2 * fmax(0, sqrt((mueff - 1) / (n + 1)) - 1) + c->c_sigma;
}

static void prepare(mm_es *es) {
  prepare_weights(es);
  prepare_rates(es->constants, (double)es->config.dimension, is_later_version(es));
  for (size_t j = 0; j < es->config.dimension; j++)
    es->now[MM_SEP_CMA_VARIANCE][j] = 1;
}

// ---------------------------------------------------------------------------------------------
// Candidates

// The later version of the library adds a little to C, before sampling and before the next step.
double mm_sep_cma_variance(const mm_es *es, size_t j) {
  return es->now[MM_SEP_CMA_VARIANCE][j] + (is_later_version(es) ? 1e-8 : 0);
}

static void place(mm_es *es, size_t first, size_t end, double *member) {
  size_t n = es->config.dimension;
  for (size_t j = 0; j < n && first == 0; j++)
    es->deviation[j] = sqrt(mm_sep_cma_variance(es, j));
  for (size_t i = first; i < end; i++)
    for (size_t j = 0; j < n; j++)
      member[i * n + j] =
          es->now[MM_ES_MEAN][j] + es->sigma * (es->deviation[j] * es->z[i * n + j]);
}

// ---------------------------------------------------------------------------------------------
// The step

// y_w into es->sum and y_2 into es->sum_squares, member after member.
static void sum_members(mm_es *es) {
  size_t n = es->config.dimension;
  memset(es->sum, 0, n * sizeof *es->sum);
  memset(es->sum_squares, 0, n * sizeof *es->sum_squares);
  for (size_t i = 0; i < es->population; i++) {
    double w = es->weight[i];
    if (w == 0) continue;
    for (size_t j = 0; j < n; j++) {
      double y = es->deviation[j] * es->z[i * n + j];
      es->sum[j] += w * y;
      es->sum_squares[j] += w * (y * y);
    }
  }
}

// Moves the mean and the path of sigma; the length of that path.
static double step_mean(mm_es *es) {
  const mm_sep_cma *c = es->constants;
  double keep = 1 - c->c_sigma, add = sqrt(c->c_sigma * (2 - c->c_sigma) * c->mueff), squares = 0;
  for (size_t j = 0; j < es->config.dimension; j++) {
    es->next[MM_ES_MEAN][j] = es->now[MM_ES_MEAN][j] + es->sigma * es->sum[j];
    double p = keep * es->now[MM_SEP_CMA_PATH_SIGMA][j] + add * (es->sum[j] / es->deviation[j]);
    es->next[MM_SEP_CMA_PATH_SIGMA][j] = p;
    squares += p * p;
  }
  return sqrt(squares);
}

// Passes NaN on.
static double clamped(double c) {
  return c < VARIANCE_MIN ? VARIANCE_MIN : c > VARIANCE_MAX ? VARIANCE_MAX : c;
}

static void step_variance(mm_es *es, double h) {
  const mm_sep_cma *c = es->constants;
  double add = h * sqrt(c->c_c * (2 - c->c_c) * c->mueff);
  double keep = 1 - c->c_1 - c->c_mu + (1 - h) * c->c_1 * c->c_c * (2 - c->c_c);
  for (size_t j = 0; j < es->config.dimension; j++) {
    double p = (1 - c->c_c) * es->now[MM_SEP_CMA_PATH_C][j] + add * es->sum[j];
    es->next[MM_SEP_CMA_PATH_C][j] = p;
    double variance =
        keep * mm_sep_cma_variance(es, j) + c->c_1 * (p * p) + c->c_mu * es->sum_squares[j];
    es->next[MM_SEP_CMA_VARIANCE][j] =
        es->config.kind == MM_ES_SEP_CMA_ISOTROPIC ? 1 : clamped(variance);
  }
}

static double step(mm_es *es) {
  const mm_sep_cma *c = es->constants;
  sum_members(es);
  double length = step_mean(es), n = (double)es->config.dimension;
  // a path that has only just begun is shorter by nature
  double grown = sqrt(
      1 - mm_pow_d(1 - c->c_sigma, 2 * ((double)(es->generation - es->restart.began) + c->lag)));
  step_variance(es, length / grown < (1.4 + 2 / (n + 1)) * c->chi ? 1 : 0);
  double sigma = es->sigma * mm_exp_d(c->c_sigma / c->d_sigma * (length / c->chi - 1));
  return is_later_version(es) && sigma > SIGMA_MAX ? SIGMA_MAX : sigma;
}

static double axis_ratio(const mm_es *es) {
  double least = mm_sep_cma_variance(es, 0), greatest = least;
  for (size_t j = 1; j < es->config.dimension; j++) {
    double variance = mm_sep_cma_variance(es, j);
    least = fmin(least, variance);
    greatest = fmax(greatest, variance);
  }
  return sqrt(greatest / least);
}

extern const mm_es_method mm_sep_cma_method;

const mm_es_method mm_sep_cma_method = {
  .covariant = true,
  .defaults = defaults,
  .constants_size = sizeof(mm_sep_cma),
  .n_vectors = 4,
  .vector = { { "mean", -DBL_MAX, MM_ES_PER_COORDINATE },
              { "path of sigma", -DBL_MAX, MM_ES_PER_COORDINATE },
              { "path of C", -DBL_MAX, MM_ES_PER_COORDINATE },
              { "C", VARIANCE_MIN, MM_ES_PER_COORDINATE } },
  .prepare = prepare,
  .place = place,
  .step = step,
  .axis_ratio = axis_ratio,
};
