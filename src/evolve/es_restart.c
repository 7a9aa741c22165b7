// SPDX-License-Identifier: Apache-2.0
// Restarts with a doubled population (IPOP, Auger and Hansen 2005). After each generation the
// strategy asks whether it still gets anywhere, by the criteria of Hansen's tutorial (2016, B.3):
//
//   TolX        sigma sqrt(C_jj) and sigma |p_c,j| are below 1e-12 of the first sigma in all j
//   TolFun      the best of the last 10 + 30 n / lambda generations and all members of the last one
//               lie within 1e-12
//   condition   that of C has come to 1e14
//   stagnation  over 120 + 30 n / lambda generations neither best nor median fitness got better:
//               the median of the last 30 % is not above that of the first 30 %
//
// That window is the tutorial's shortest, with the first population's lambda; its longest, a fifth
// of the search, would not fit into a state. If so, the next `ask` begins again at the start.

#include <math.h>
#include <string.h>

#include "evolve/es_internal.h"

enum { PATH_C = 2, COVARIANCE = 3 }; // vectors of all strategies with a covariance

static const double tol_x = 1e-12, tol_fun = 1e-12, axis_ratio_max = 0.999e7;

// 30 n / lambda, rounded up.
static size_t per_member(const mm_es_config *c, size_t population) {
  return (30 * c->dimension + population - 1) / population;
}

size_t mm_es_history(const mm_es_config *c) {
  const size_t wanted = 120 + per_member(c, c->population);
  return c->restarts == 0 ? 0 : wanted < MM_ES_HISTORY_MAX ? wanted : MM_ES_HISTORY_MAX;
}

size_t mm_es_population_max(const mm_es_config *c) {
  return c->population << c->restarts;
}

// ---------------------------------------------------------------------------------------------
// Is it over?

static bool is_tiny(const mm_es *es) {
  const size_t n = es->config.dimension;
  const size_t row = es->method->vector[COVARIANCE].shape == MM_ES_MATRIX ? n + 1 : 1;
  const double least = tol_x * es->config.sigma;
  for (size_t j = 0; j < n; j++)
    if (es->sigma * sqrt(es->now[COVARIANCE][j * row]) >= least ||
        es->sigma * fabs(es->now[PATH_C][j]) >= least)
      return false;
  return true;
}

static bool is_flat(const mm_es *es) {
  const mm_es_restart *r = &es->restart;
  const size_t span = 10 + per_member(&es->config, es->population);
  double least = es->ranked[es->population - 1].fitness, greatest = es->ranked[0].fitness;
  if (r->n_history < span || r->n_history == 0) return false;
  for (size_t i = r->n_history - span; i < r->n_history; i++) {
    least = fmin(least, r->best[i]);
    greatest = fmax(greatest, r->best[i]);
  }
  return greatest - least < tol_fun;
}

// Of the last `ask`: those of C as it was then.
static bool is_thin(const mm_es *es) {
  double least = es->deviation[0], greatest = least;
  for (size_t j = 1; j < es->config.dimension; j++) {
    least = fmin(least, es->deviation[j]);
    greatest = fmax(greatest, es->deviation[j]);
  }
  return greatest >= axis_ratio_max * least;
}

static double median(const mm_es *es, const double *x, size_t n) {
  mm_es_rank(x, n, es->restart.sorted);
  return es->restart.sorted[n / 2].fitness;
}

static bool got_better(const mm_es *es, const double *history) {
  const size_t n = es->restart.n_history, part = (3 * n + 9) / 10;
  return median(es, history + n - part, part) > median(es, history, part);
}

static bool stagnates(const mm_es *es) {
  const mm_es_restart *r = &es->restart;
  return r->n_history == mm_es_history(&es->config) && !got_better(es, r->best) &&
         !got_better(es, r->median);
}

static void push(double *history, size_t *n, size_t room, double x) {
  if (*n == room) memmove(history, history + 1, (room - 1) * sizeof *history);
  history[*n == room ? room - 1 : *n] = x;
}

void mm_es_watch(mm_es *es) {
  mm_es_restart *r = &es->restart;
  const size_t room = mm_es_history(&es->config);
  r->evaluations += es->population;
  if (r->done == es->config.restarts) return;
  push(r->best, &r->n_history, room, es->ranked[0].fitness);
  push(r->median, &r->n_history, room, es->ranked[es->population / 2].fitness);
  if (r->n_history < room) r->n_history++;
  r->due = is_tiny(es) || is_flat(es) || is_thin(es) || stagnates(es);
}

// ---------------------------------------------------------------------------------------------
// Beginning again

void mm_es_repopulate(mm_es *es, uint64_t restarts) {
  es->restart.done = restarts;
  es->population = es->config.population << restarts;
  memset(es->constants, 0, es->method->constants_size);
  for (size_t v = 0; v < es->method->n_vectors; v++)
    memset(es->now[v], 0, mm_es_vector_length(es, v) * sizeof(double));
  es->method->prepare(es);
}

void mm_es_begin(mm_es *es) {
  mm_es_restart *r = &es->restart;
  if (!r->due) return;
  mm_es_repopulate(es, r->done + 1);
  memcpy(es->now[MM_ES_MEAN], r->start, es->config.dimension * sizeof(double));
  es->sigma = es->config.sigma;
  r->began = es->generation;
  r->n_history = 0;
  r->due = false;
}

// ---------------------------------------------------------------------------------------------
// How it stands

size_t mm_es_population(const mm_es *es) {
  return es->restart.due ? 2 * es->population : es->population;
}

bool mm_es_restarts_next(const mm_es *es) {
  return es->restart.due;
}

uint64_t mm_es_restarts(const mm_es *es) {
  return es->restart.done;
}

uint64_t mm_es_evaluations(const mm_es *es) {
  return es->config.restarts > 0 ? es->restart.evaluations : es->generation * es->population;
}
