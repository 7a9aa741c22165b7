// SPDX-License-Identifier: Apache-2.0
// CMA-ES with learning rates that follow the noise (Nomura, Akimoto and Ono, "CMA-ES with learning
// rate adaptation", 2023). Where fitness is noisy, most of a generation's step is luck. Here the
// step of cma.c, from (m, S = sigma^2 C) to (m + dm, S + dS), is only proposed; the search goes
//
//   m <- m + eta_m dm,   S <- S + eta_S dS
//
// and each eta is chosen by the signal to noise of its steps. They are looked at in the coordinates
// of the search distribution, u = S^-1/2 dm and u = S^-1/2 dS S^-1/2 / sqrt(2), and averaged:
//
//   E <- (1 - beta) E + beta u,   V <- (1 - beta) V + beta |u|^2,
//   SNR = (|E|^2 - beta / (2 - beta) V) / (V - |E|^2),
//   eta <- min(1, eta exp(min(gamma eta, beta) clip(SNR / (alpha eta) - 1, -1, 1)))
//
// S is split into sigma and C by det C = 1, and sigma grows by as much as eta_m fell, since a mean
// that moves less wants members that lie further apart.

#include <math.h>

#include "base/elementary.h"
#include "evolve/cma.h"

#define ALPHA 1.4
#define GAMMA 0.1
#define SQRT_HALF 0.70710678118654752440

// Vectors of the state: E of the mean and of S, then eta and V of the mean and of S.
enum { AVERAGE = 4, RATES = 6, OF_MEAN = 0, OF_S = 1 };
enum { ROOT = 2 }; // work space behind that of cma.c

static void prepare(mm_es *es) {
  mm_cma_prepare(es);
  es->now[RATES][2 * OF_MEAN] = es->now[RATES][2 * OF_S] = 1;
}

// out [n][columns] = a [n][n] b [n][columns].
static void multiply(const double *a, const double *b, size_t n, size_t columns, double *out) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < columns; j++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * columns + j];
      out[i * columns + j] = sum;
    }
}

// S^-1/2 of the distribution that the members were drawn from: its axes are in the work space.
static void find_inverse_root(const mm_es *es, double *out) {
  size_t n = es->config.dimension;
  const double *basis = es->square[MM_CMA_BASIS];
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++)
        sum += basis[i * n + k] * basis[j * n + k] / (es->sigma * es->deviation[k]);
      out[i * n + j] = sum;
    }
}

// Takes a step u of the mean or of S into its averages; the next eta.
static double follow(const mm_es *es, size_t of, const double *u) {
  static const double betas[] = { [OF_MEAN] = 0.1, [OF_S] = 0.03 };
  const size_t v = AVERAGE + of, n = mm_es_vector_length(es, v);
  const double beta = betas[of], *now = es->now[v], *was = es->now[RATES] + 2 * of;
  double *next = es->next[v], *rate = es->next[RATES] + 2 * of;
  double squares = 0, signal = 0;
  for (size_t j = 0; j < n; j++) {
    next[j] = (1 - beta) * now[j] + beta * u[j];
    squares += u[j] * u[j];
    signal += next[j] * next[j];
  }
  rate[0] = was[0];
  rate[1] = (1 - beta) * was[1] + beta * squares;
  if (!(rate[1] > signal)) return rate[0]; // nothing has moved yet
  double ratio = (signal - beta / (2 - beta) * rate[1]) / (rate[1] - signal);
  double relative = fmax(-1, fmin(1, ratio / (ALPHA * rate[0]) - 1));
  return rate[0] = fmin(1, rate[0] * mm_exp_d(fmin(GAMMA * rate[0], beta) * relative));
}

static double follow_mean(const mm_es *es, const double *step) {
  multiply(es->square[ROOT], step, es->config.dimension, 1, es->sum);
  return follow(es, OF_MEAN, es->sum);
}

static double follow_covariance(const mm_es *es, const double *step) {
  const size_t n = es->config.dimension;
  double *half = es->square[MM_CMA_BASIS], *u = es->square[MM_CMA_WORK];
  multiply(es->square[ROOT], step, n, n, half);
  multiply(half, es->square[ROOT], n, n, u);
  for (size_t i = 0; i < n * n; i++)
    u[i] *= SQRT_HALF;
  return follow(es, OF_S, u);
}

// Splits S into C, in its place, and the returned sigma.
static double split(const mm_es *es, double *s) {
  size_t n = es->config.dimension;
  double logs = 0;
  mm_cma_find_axes(es, s);
  for (size_t j = 0; j < n; j++)
    logs += mm_log_d(es->deviation[j]);
  double sigma = mm_exp_d(logs / (double)n);
  for (size_t i = 0; i < n * n; i++)
    s[i] /= sigma * sigma;
  return sigma;
}

static double step(mm_es *es) {
  const size_t n = es->config.dimension;
  const double *m = es->now[MM_ES_MEAN], *c = es->now[MM_CMA_COVARIANCE];
  double *mean = es->next[MM_ES_MEAN], *s = es->next[MM_CMA_COVARIANCE];
  double was = es->sigma * es->sigma, sigma = mm_cma_step(es);
  find_inverse_root(es, es->square[ROOT]);
  for (size_t j = 0; j < n; j++)
    mean[j] -= m[j];
  for (size_t i = 0; i < n * n; i++)
    s[i] = sigma * sigma * s[i] - was * c[i];
  double eta_mean = follow_mean(es, mean), eta_s = follow_covariance(es, s);
  for (size_t j = 0; j < n; j++)
    mean[j] = m[j] + eta_mean * mean[j];
  for (size_t i = 0; i < n * n; i++)
    s[i] = was * c[i] + eta_s * s[i];
  return split(es, s) * (es->now[RATES][2 * OF_MEAN] / eta_mean);
}

extern const mm_es_method mm_cma_lr_method;

const mm_es_method mm_cma_lr_method = {
  .covariant = true,
  .defaults = mm_cma_defaults,
  .check = mm_cma_check,
  .constants_size = sizeof(mm_cma),
  .n_vectors = 7,
  .n_squares = 3,
  .vector = { MM_CMA_VECTORS,
              { "average step of the mean", -DBL_MAX, MM_ES_PER_COORDINATE },
              { "average step of C", -DBL_MAX, MM_ES_MATRIX },
              { "learning rates", 0, MM_ES_FOUR } },
  .prepare = prepare,
  .place = mm_cma_place,
  .step = step,
  .axis_ratio = mm_cma_axis_ratio,
};
