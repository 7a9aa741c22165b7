// SPDX-License-Identifier: Apache-2.0
// OpenAI-ES with antithetic pairs: members 2k and 2k + 1 are mean + sigma eps_k and mean - sigma
// eps_k. The ascent gradient over N members with shaped fitness f,
//
//   ghat = 1 / (N sigma) sum_k (f_2k - f_2k+1) eps_k ,
//
// goes through Adam. The beta1 of 0.99 is the default of the library that the paper used, at the
// paper's time; from its version 0.2 on it is 0.9, and sigma is set from the count of generations
// before that count goes up.

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/status.h"
#include "evolve/constants.h"

enum { M1 = 1, M2 = 2 }; // Adam's moments

static mm_es_config defaults(mm_es_kind kind) {
  return (mm_es_config){
    .kind = kind,
    .population = 512,
    .sigma = 0.5,
    .shaping = kind == MM_ES_OPENES ? MM_SHAPING_PAIR : MM_SHAPING_RANK,
    .lr = 0.01,
    .sigma_decay = 0.995,
    .sigma_min = 0.01,
  };
}

static mm_status check(const mm_es_config *c, const char *name) {
  if (c->population % 2 != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: population = %zu: expected an even number, members are pairs",
                   name, c->population);
  if ((unsigned)c->shaping >= MM_SHAPINGS)
    return MM_FAIL(MM_ERR_INPUT, "%s: shaping = %d: no such shaping", name, (int)c->shaping);
  if (!mm_es_is_positive(c->lr))
    return MM_FAIL(MM_ERR_INPUT, "%s: lr = %.17g: expected a finite number > 0", name, c->lr);
  if (!(c->sigma_decay > 0 && c->sigma_decay <= 1))
    return MM_FAIL(MM_ERR_INPUT, "%s: sigma_decay = %.17g: expected a number > 0 and <= 1", name,
                   c->sigma_decay);
  if (!(c->sigma_min >= 0 && c->sigma_min < (double)INFINITY))
    return MM_FAIL(MM_ERR_INPUT, "%s: sigma_min = %.17g: expected a finite number >= 0", name,
                   c->sigma_min);
  return MM_OK;
}

static void prepare(mm_es *es) {
  bool later_version = es->config.kind == MM_ES_OPENES_EVOSAX;
  *(mm_openes *)es->constants = (mm_openes){
    .beta1 = later_version ? 0.9 : 0.99, .beta2 = 0.999, .epsilon = 1e-8, .late = later_version
  };
  size_t n = es->population;
  for (size_t r = 0; r < n; r++)
    es->by_rank[r] = 0.5 - (double)r / (double)(n - 1);
}

static void place(mm_es *es, size_t first, size_t end, double *member) {
  size_t n = es->config.dimension;
  for (size_t k = first; k < end; k++) {
    const double *eps = es->z + k * n;
    double *plus = member + 2 * k * n, *minus = plus + n;
    for (size_t j = 0; j < n; j++) {
      double offset = es->sigma * eps[j];
      plus[j] = es->now[MM_ES_MEAN][j] + offset;
      minus[j] = es->now[MM_ES_MEAN][j] - offset;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Shaping

static double worst_if_not_finite(double fitness, double worst) {
  return isfinite(fitness) ? fitness : worst;
}

static void weigh_pairs(mm_es *es, const double *fitness) {
  for (size_t i = 0; i < es->population; i += 2) {
    double plus = worst_if_not_finite(fitness[i], -(double)INFINITY);
    double minus = worst_if_not_finite(fitness[i + 1], -(double)INFINITY);
    es->weight[i] = plus > minus ? 1 : plus < minus ? 0 : 0.5;
    es->weight[i + 1] = 1 - es->weight[i];
  }
}

// What is not finite loses against the worst finite fitness, by the mean distance between two
// neighbours in the ranking (by 1 where all are equal). Without a finite one, all are equals.
static void weigh_raw(mm_es *es, const double *fitness, size_t nonfinite) {
  size_t n = es->population, finite = n - nonfinite;
  double worst = 0;
  if (finite > 0) {
    double least = es->ranked[finite - 1].fitness, span = es->ranked[0].fitness - least;
    worst = least - (span > 0 ? span / (double)(finite - 1) : 1);
  }
  for (size_t i = 0; i < n; i++)
    es->weight[i] = worst_if_not_finite(fitness[i], worst);
}

static size_t weigh(mm_es *es, const double *fitness) {
  size_t n = es->population, nonfinite = mm_es_rank(fitness, n, es->ranked);
  switch (es->config.shaping) {
  case MM_SHAPING_RANK:
    mm_es_share(es->ranked, n, es->by_rank, es->weight);
    break;
  case MM_SHAPING_RAW:
    weigh_raw(es, fitness, nonfinite);
    break;
  default:
    weigh_pairs(es, fitness);
  }
  return nonfinite;
}

// ---------------------------------------------------------------------------------------------
// The step

// ghat into es->sum, pair after pair.
static void estimate_gradient(mm_es *es) {
  size_t n = es->config.dimension, population = es->population;
  memset(es->sum, 0, n * sizeof *es->sum);
  for (size_t k = 0; k < population / 2; k++) {
    double difference = es->weight[2 * k] - es->weight[2 * k + 1];
    if (difference == 0) continue;
    const double *eps = es->z + k * n;
    for (size_t j = 0; j < n; j++)
      es->sum[j] += difference * eps[j];
  }
  double scale = (double)population * es->sigma;
  for (size_t j = 0; j < n; j++)
    es->sum[j] /= scale;
}

static double next_sigma(const mm_es *es) {
  if (((const mm_openes *)es->constants)->late && es->generation == 0) return es->sigma;
  return fmax(es->config.sigma_decay * es->sigma, es->config.sigma_min);
}

static double step(mm_es *es) {
  estimate_gradient(es);
  const mm_openes *c = es->constants;
  double count = (double)(es->generation + 1);
  double bias1 = 1 - mm_pow_d(c->beta1, count), bias2 = 1 - mm_pow_d(c->beta2, count);
  for (size_t j = 0; j < es->config.dimension; j++) {
    double g = es->sum[j];
    double m1 = c->beta1 * es->now[M1][j] + (1 - c->beta1) * g;
    double m2 = c->beta2 * es->now[M2][j] + (1 - c->beta2) * (g * g);
    es->next[M1][j] = m1;
    es->next[M2][j] = m2;
    es->next[MM_ES_MEAN][j] =
        es->now[MM_ES_MEAN][j] + es->config.lr * (m1 / bias1) / (sqrt(m2 / bias2) + c->epsilon);
  }
  return next_sigma(es);
}

extern const mm_es_method mm_openes_method;

const mm_es_method mm_openes_method = {
  .paired = true,
  .defaults = defaults,
  .check = check,
  .constants_size = sizeof(mm_openes),
  .n_vectors = 3,
  .vector = { { "mean", -DBL_MAX, MM_ES_PER_COORDINATE },
              { "first moment", -DBL_MAX, MM_ES_PER_COORDINATE },
              { "second moment", 0, MM_ES_PER_COORDINATE } },
  .prepare = prepare,
  .place = place,
  .weigh = weigh,
  .step = step,
};
