// SPDX-License-Identifier: Apache-2.0
// Grid search and CMA-ES with median pruning, and successive halving.

#include "study/tune/tune_search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "base/status.h"
#include "mirrormap/stats.h"
#include "study/stats/halving.h"

// Where cma-es begins: in the middle of all ranges, with a spread that reaches their ends.
static const double START = 0.5, SPREAD = 0.3;

enum { LANE_DRAWN = 3 }; // of MM_RNG_TUNE; tune.c has the others

size_t mm_tune_population(size_t n) {
  return 4 + (size_t)floor(3 * mm_log_d((double)n));
}

size_t mm_tune_round_end(size_t round, size_t seeds) {
  size_t end = (size_t)1 << round;
  return end < seeds ? end : seeds;
}

// ---------------------------------------------------------------------------------------------
// Scores

// Of the first n seeds.
static double mean_of(const mm_tune_trial *t, size_t n) {
  double sum = 0;
  if (t->failed) return -INFINITY;
  for (size_t i = 0; i < n; i++)
    sum += t->score[i];
  return sum / (double)n;
}

mm_estimate mm_tune_score(const mm_tune_trial *t) {
  if (t->failed) return (mm_estimate){ -INFINITY, NAN, 0 };
  return mm_estimate_of(t->score, t->n);
}

int mm_tune_compare(const mm_tune_trial *a, const mm_tune_trial *b) {
  if (a->failed || b->failed) return (int)b->failed - (int)a->failed;
  if (a->n != b->n) return a->n > b->n ? 1 : -1;
  double x = mean_of(a, a->n), y = mean_of(b, b->n);
  return (x > y) - (x < y);
}

bool mm_tune_is_near(const mm_tune_search *s, size_t best, size_t trial) {
  const mm_tune_trial *a = &s->trial[best], *b = &s->trial[trial];
  if (trial == best) return true;
  if (a->failed || b->failed) return false;
  const size_t n = a->n < b->n ? a->n : b->n;
  double *gain = mm_alloc_array(n, sizeof *gain);
  if (!gain) return false;
  for (size_t i = 0; i < n; i++)
    gain[i] = a->score[i] - b->score[i];
  const mm_interval of_mean = mm_interval_of_mean(gain, n, s->config.seed);
  mm_free(gain);
  return of_mean.low <= 0 && of_mean.high >= 0;
}

size_t mm_tune_best(const mm_tune_search *s) {
  size_t best = 0;
  for (size_t i = 1; i < s->n; i++) {
    if (s->trial[i].n < s->config.seeds || s->trial[i].pruned) continue;
    if (mm_tune_compare(&s->trial[i], &s->trial[best]) > 0) best = i;
  }
  return best;
}

// ---------------------------------------------------------------------------------------------
// Trials

static bool is_same(const mm_tune_space *space, const double *a, const double *b) {
  for (size_t i = 0; i < space->n; i++)
    if (!(a[i] == b[i])) return false; // NaN is like nothing
  return true;
}

// The trial with these values: an earlier one, since the same seeds would give the same scores, or
// a new one.
static size_t enter(mm_tune_search *s, const double *value, size_t generation) {
  for (size_t i = 0; i < s->n; i++)
    if (is_same(s->config.space, s->trial[i].value, value)) return i;
  assert(s->n < s->room);
  mm_tune_trial *t = &s->trial[s->n];
  memset(t, 0, sizeof *t);
  memcpy(t->value, value, s->config.space->n * sizeof *value);
  t->generation = generation;
  t->score = s->scores + s->n * s->config.seeds;
  return s->n++;
}

// Trials which[n], all with the same number of seeds so far, up to `end` of them.
static mm_status extend(mm_tune_search *s, const size_t *which, size_t n, size_t end,
                        mm_tune_evaluate *evaluate, void *user) {
  size_t first = s->trial[which[0]].n, count = end - first;
  double *score = mm_alloc_array(n, count * sizeof *score);
  if (!score) return MM_FAIL(MM_ERR_MEMORY, "no memory for the scores of %zu trials", n);
  mm_status status = evaluate(s, which, n, first, count, score, user);
  for (size_t i = 0; i < n && status == MM_OK; i++) {
    mm_tune_trial *t = &s->trial[which[i]];
    for (size_t k = 0; k < count; k++) {
      t->score[first + k] = score[i * count + k];
      t->failed = t->failed || isnan(t->score[first + k]);
    }
    t->n = end;
  }
  mm_free(score);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Rounds

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Over all trials that had so many seeds; -inf while there are too few to tell.
static double median_at(mm_tune_search *s, size_t end) {
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++)
    if (s->trial[i].n >= end) s->scratch[n++] = mean_of(&s->trial[i], end);
  if (n < MM_TUNE_PRUNE_LEAST) return -INFINITY;
  qsort(s->scratch, n, sizeof *s->scratch, ascending);
  double low = s->scratch[(n - 1) / 2], high = s->scratch[n / 2];
  return low == high ? low : (low + high) / 2; // of two infinite ones, that
}

// Keeps those of which[n] that go on; returns how many.
static size_t prune(mm_tune_search *s, size_t *which, size_t n, size_t end) {
  double median = s->config.prune ? median_at(s, end) : -INFINITY;
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    mm_tune_trial *t = &s->trial[which[i]];
    t->pruned = !t->failed && mean_of(t, end) < median;
    if (!t->failed && !t->pruned) which[kept++] = which[i];
  }
  return kept;
}

static mm_status check_own(const mm_tune_search *s) {
  if (!s->trial[0].failed) return MM_OK;
  return MM_FAIL(MM_ERR_NUMERIC,
                 "a run with the settings' own values has no return (it broke down, or finished "
                 "no episode): there is nothing to compare trials with");
}

static mm_status evaluate_own(mm_tune_search *s, mm_tune_evaluate *evaluate, void *user) {
  MM_TRY(extend(s, &(size_t){ 0 }, 1, s->config.seeds, evaluate, user));
  return check_own(s);
}

// New trials which[n], round by round.
static mm_status evaluate_rounds(mm_tune_search *s, size_t *which, size_t n,
                                 mm_tune_evaluate *evaluate, void *user) {
  for (size_t round = 0; n > 0; round++) {
    size_t end = s->config.rounds ? mm_tune_round_end(round, s->config.seeds) : s->config.seeds;
    MM_TRY(extend(s, which, n, end, evaluate, user));
    if (end == s->config.seeds) break;
    n = prune(s, which, n, end);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Methods. `which` has room for all trials.

// Enters all points, the last parameter running fastest; which[*n] are those beside trial 0.
static mm_status enter_grid(mm_tune_search *s, size_t *which, size_t *n) {
  const mm_tune_space *space = s->config.space;
  size_t place[MM_TUNE_PARAMETERS] = { 0 }, count[MM_TUNE_PARAMETERS];
  double(*level)[MM_TUNE_POINTS] = mm_alloc_array(space->n, sizeof *level);
  if (!level) return MM_FAIL(MM_ERR_MEMORY, "no memory for a grid");
  for (size_t j = 0; j < space->n; j++)
    count[j] = mm_tune_levels(&space->parameter[j], level[j]);
  for (bool more = true; more;) {
    double value[MM_TUNE_PARAMETERS];
    for (size_t j = 0; j < space->n; j++)
      value[j] = level[j][place[j]];
    size_t i = enter(s, value, 0);
    if (i > 0) which[(*n)++] = i;
    s->n_candidates++;
    more = false;
    for (size_t j = space->n; j-- > 0 && !more;) {
      more = ++place[j] < count[j];
      if (!more) place[j] = 0;
    }
  }
  mm_free(level);
  return MM_OK;
}

static mm_status search_grid(mm_tune_search *s, size_t *which, mm_tune_evaluate *evaluate,
                             void *user) {
  size_t n = 0;
  if (s->config.rounds)
    MM_TRY(evaluate_own(s, evaluate, user));
  else
    which[n++] = 0;
  MM_TRY(enter_grid(s, which, &n));
  MM_TRY(evaluate_rounds(s, which, n, evaluate, user));
  return check_own(s);
}

// The strategy looks at the order alone: the fitness of a member is the number of members that it
// is better than.
static void rank(const mm_tune_search *s, const size_t *trial, size_t n, double *fitness) {
  for (size_t i = 0; i < n; i++) {
    fitness[i] = 0;
    for (size_t k = 0; k < n; k++)
      fitness[i] += mm_tune_compare(&s->trial[trial[i]], &s->trial[trial[k]]) > 0;
  }
}

static mm_status generation(mm_tune_search *s, mm_es *es, double *member, double *fitness,
                            size_t *trial, size_t *which, mm_tune_evaluate *evaluate, void *user) {
  const mm_tune_space *space = s->config.space;
  size_t population = s->config.population, n = 0;
  MM_TRY(mm_es_ask(es, member));
  for (size_t i = 0; i < population; i++) {
    double value[MM_TUNE_PARAMETERS];
    for (size_t j = 0; j < space->n; j++)
      value[j] = mm_tune_value(&space->parameter[j], member[i * space->n + j]);
    size_t before = s->n;
    trial[i] = enter(s, value, s->generations + 1);
    if (s->n > before) which[n++] = trial[i];
    s->n_candidates++;
  }
  MM_TRY(evaluate_rounds(s, which, n, evaluate, user));
  rank(s, trial, population, fitness);
  MM_TRY(mm_es_tell(es, fitness));
  s->generations++;
  return MM_OK;
}

static mm_status search_cma(mm_tune_search *s, size_t *which, mm_tune_evaluate *evaluate,
                            void *user) {
  MM_TRY(evaluate_own(s, evaluate, user));
  size_t n = s->config.space->n, population = s->config.population;
  mm_es_config config = mm_es_config_default(MM_ES_SEP_CMA);
  config.dimension = n;
  config.population = population;
  config.sigma = SPREAD;
  config.seed = s->config.seed;
  double start[MM_TUNE_PARAMETERS];
  for (size_t j = 0; j < n; j++)
    start[j] = START;
  mm_es *es;
  MM_TRY(mm_es_create(&config, start, &es));
  double *member = mm_alloc_array(population, n * sizeof *member);
  double *fitness = mm_alloc_array(population, sizeof *fitness);
  size_t *trial = mm_alloc_array(population, sizeof *trial);
  mm_status status = MM_OK;
  if (!member || !fitness || !trial)
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for %zu candidates", population);
  size_t generations = s->config.trials / population;
  while (s->generations < generations && status == MM_OK)
    status = generation(s, es, member, fitness, trial, which, evaluate, user);
  mm_free(trial);
  mm_free(fitness);
  mm_free(member);
  mm_es_destroy(es);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Successive halving

typedef struct halving {
  mm_tune_search *search;
  mm_tune_evaluate *evaluate;
  void *user;
} halving;

static mm_status halving_extend(const size_t *which, size_t n, size_t end, void *user) {
  const halving *h = user;
  return extend(h->search, which, n, end, h->evaluate, h->user);
}

static double halving_score(size_t trial, void *user) {
  const mm_tune_trial *t = &((halving *)user)->search->trial[trial];
  return t->failed ? NAN : mean_of(t, t->n);
}

static void halving_drop(size_t trial, void *user) {
  ((halving *)user)->search->trial[trial].pruned = true;
}

// Enters trials drawn evenly from the ranges.
static void enter_drawn(mm_tune_search *s, size_t *which, size_t *n) {
  const mm_tune_space *space = s->config.space;
  const mm_stream stream = mm_stream_make(s->config.seed, 0, MM_RNG_TUNE, LANE_DRAWN);
  for (size_t i = 0; i < s->config.trials; i++) {
    double value[MM_TUNE_PARAMETERS];
    for (size_t j = 0; j < space->n; j++)
      value[j] = mm_tune_value(&space->parameter[j],
                               mm_uniform_d(mm_stream_pair(stream, i * MM_TUNE_PARAMETERS + j)));
    size_t before = s->n, trial = enter(s, value, 0);
    if (s->n > before) which[(*n)++] = trial;
    s->n_candidates++;
  }
}

static mm_status search_halving(mm_tune_search *s, size_t *which, mm_tune_evaluate *evaluate,
                                void *user) {
  MM_TRY(evaluate_own(s, evaluate, user));
  halving own = { s, evaluate, user };
  const mm_halving h = { .seeds = s->config.seeds,
                         .extend = halving_extend,
                         .score = halving_score,
                         .drop = halving_drop,
                         .user = &own };
  size_t n = 0;
  if (mm_tune_is_grid(s->config.space))
    MM_TRY(enter_grid(s, which, &n));
  else
    enter_drawn(s, which, &n);
  return mm_halve(&h, which, &n);
}

// ---------------------------------------------------------------------------------------------

mm_status mm_tune_search_check(const mm_tune_search_config *c) {
  size_t population = c->population > 0 ? c->population : mm_tune_population(c->space->n);
  double size = mm_tune_is_grid(c->space) ? mm_tune_grid_size(c->space) : 0;
  if (size > (double)c->trials)
    return MM_FAIL(MM_ERR_INPUT,
                   "the grid has %.0f points, more than the %zu trials asked for: fewer points or "
                   "parameters, or the method cma-es, would do",
                   size, c->trials);
  if (c->space->method == MM_TUNE_CMA && c->trials < population)
    return MM_FAIL(MM_ERR_INPUT, "%zu trials are fewer than one generation of %zu candidates",
                   c->trials, population);
  return MM_OK;
}

size_t mm_tune_search_room(const mm_tune_search_config *c) {
  return 1 + (mm_tune_is_grid(c->space) ? (size_t)mm_tune_grid_size(c->space) : c->trials);
}

static mm_status take(mm_tune_search *s) {
  s->room = mm_tune_search_room(&s->config);
  s->trial = mm_alloc_array(s->room, sizeof *s->trial);
  s->scores = mm_alloc_array(s->room, s->config.seeds * sizeof *s->scores);
  s->scratch = mm_alloc_array(s->room, sizeof *s->scratch);
  if (s->trial && s->scores && s->scratch) return MM_OK;
  return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trials", s->room);
}

typedef mm_status search_method(mm_tune_search *s, size_t *which, mm_tune_evaluate *evaluate,
                                void *user);
static search_method *const methods[MM_TUNE_METHODS] = {
  [MM_TUNE_GRID] = search_grid, [MM_TUNE_CMA] = search_cma, [MM_TUNE_HALVING] = search_halving
};

static mm_status search(mm_tune_search *s, mm_tune_evaluate *evaluate, void *user) {
  enter(s, s->config.own, 0);
  size_t *which = mm_alloc_array(s->room, sizeof *which);
  if (!which) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu trials", s->room);
  mm_status status = methods[s->config.space->method](s, which, evaluate, user);
  s->complete = status == MM_OK;
  mm_free(which);
  return status;
}

mm_status mm_tune_search_run(const mm_tune_search_config *config, mm_tune_evaluate *evaluate,
                             void *user, mm_tune_search *out) {
  *out = (mm_tune_search){ .config = *config };
  if (out->config.population == 0) out->config.population = mm_tune_population(config->space->n);
  MM_TRY(mm_tune_search_check(config));
  MM_TRY(take(out));
  return search(out, evaluate, user);
}

void mm_tune_search_release(mm_tune_search *s) {
  mm_free(s->trial);
  mm_free(s->scores);
  mm_free(s->scratch);
  s->trial = NULL;
  s->scores = s->scratch = NULL;
  s->n = 0;
}
