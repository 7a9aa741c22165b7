// SPDX-License-Identifier: Apache-2.0
// The strategies call by call: names and settings, draws, shaping, one step against the formulas
// written down once more, fitnesses that are not finite, and failures that change nothing.

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "es_rig.h"
#include "evolve/constants.h"
#include "evolve/es_large.h"
#include "statistics.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Names and settings

static void test_names(void **state) {
  (void)state;
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es_kind kind;
    assert_ok(mm_es_find(mm_es_name((mm_es_kind)k), &kind));
    assert_int_equal(kind, k);
  }
  assert_string_equal(mm_es_name(MM_ES_OPENES_EVOSAX), "openes:evosax-0.3");
  assert_string_equal(mm_es_name(MM_ES_KINDS), "unknown");
  mm_es_kind kind;
  assert_fails(mm_es_find("opnes", &kind), MM_ERR_INPUT, "did you mean 'openes'?");
  assert_fails(mm_es_find("sep-cmaes", &kind), MM_ERR_INPUT, "did you mean 'sep-cma-es'?");
  assert_fails(mm_es_find("Sep-CMA-ES", &kind), MM_ERR_INPUT, "did you mean 'sep-cma-es'?");
  assert_fails(mm_es_find("sep-cma-es:isotrop", &kind), MM_ERR_INPUT, "'sep-cma-es:isotropic'?");
  assert_fails(mm_es_find("gradient", &kind), MM_ERR_INPUT, "one of openes openes:evosax-0.3 sep-");
  assert_true(mm_es_is_paired(MM_ES_OPENES) && mm_es_is_paired(MM_ES_OPENES_EVOSAX));
  assert_false(mm_es_is_paired(MM_ES_SEP_CMA) || mm_es_is_paired(MM_ES_SEP_CMA_EVOSAX));
}

static void test_defaults(void **state) {
  (void)state;
  mm_es_config c = mm_es_config_default(MM_ES_OPENES);
  assert_true(c.kind == MM_ES_OPENES && c.population == 512 && c.sigma == 0.5 && c.lr == 0.01);
  assert_true(c.sigma_decay == 0.995 && c.sigma_min == 0.01 && c.shaping == MM_SHAPING_PAIR);
  assert_int_equal(mm_es_config_default(MM_ES_OPENES_EVOSAX).shaping, MM_SHAPING_RANK);
  c = mm_es_config_default(MM_ES_SEP_CMA_ISOTROPIC);
  assert_true(c.kind == MM_ES_SEP_CMA_ISOTROPIC && c.population == 128 && c.sigma == 2);
}

static void check_refused(mm_es_config config, const char *part) {
  static const double mean[2];
  mm_es *es = (mm_es *)&config; // any pointer: it must become NULL
  assert_fails(mm_es_create(&config, mean, &es), MM_ERR_INPUT, part);
  assert_null(es);
}

static void test_bad_settings(void **state) {
  (void)state;
  mm_es_config good = mm_es_config_default(MM_ES_OPENES);
  good.dimension = 2;
#define REFUSED(field, value, part)                                                                \
  do {                                                                                             \
    mm_es_config bad = good;                                                                       \
    bad.field = (value);                                                                           \
    check_refused(bad, part);                                                                      \
  } while (0)
  REFUSED(kind, MM_ES_KINDS, "kind = 7");
  REFUSED(kind, (mm_es_kind)-1, "kind = -1");
  REFUSED(dimension, 0, "openes: dimension = 0: expected 1 to 10000000");
  REFUSED(dimension, 10000001, "dimension = 10000001");
  REFUSED(dimension, SIZE_MAX, "dimension = 18446744073709551615");
  REFUSED(population, 2, "population = 2: expected 4 to 16777216");
  REFUSED(population, 16777218, "population = 16777218");
  REFUSED(population, 7, "population = 7: expected an even number");
  REFUSED(sigma, 0, "sigma = 0: expected a finite number > 0");
  REFUSED(sigma, -1, "sigma = -1");
  REFUSED(sigma, NAN, "sigma = ");
  REFUSED(sigma, INFINITY, "sigma = inf");
  REFUSED(shaping, MM_SHAPINGS, "shaping = 3");
  REFUSED(lr, 0, "lr = 0: expected a finite number > 0");
  REFUSED(lr, NAN, "lr = ");
  REFUSED(lr, INFINITY, "lr = inf");
  REFUSED(sigma_decay, 0, "sigma_decay = 0: expected a number > 0 and <= 1");
  REFUSED(sigma_decay, 1.5, "sigma_decay = 1.5");
  REFUSED(sigma_decay, NAN, "sigma_decay = ");
  REFUSED(sigma_min, -0.5, "sigma_min = -0.5: expected a finite number >= 0");
  REFUSED(sigma_min, NAN, "sigma_min = ");
  REFUSED(sigma_min, INFINITY, "sigma_min = inf");
  good.kind = MM_ES_SEP_CMA;
  REFUSED(population, 3, "sep-cma-es: population = 3");
  REFUSED(sigma, 0, "sep-cma-es: sigma = 0");
  REFUSED(size, 0, "mm_es_config: size = 0: expected");
#undef REFUSED

  mm_es *es;
  const double mean[2] = { 1, NAN };
  assert_fails(mm_es_create(&good, mean, &es), MM_ERR_INPUT, "entry 1 of the mean");
  assert_null(es);
  // what only openes reads does not matter here, and members are no pairs
  good.lr = good.sigma_decay = NAN;
  good.population = 5;
  assert_ok(mm_es_create(&good, (const double[]){ 1, 2 }, &es));
  assert_true(mm_es_mean(es)[1] == 2 && mm_es_sigma(es) == 0.5 && mm_es_generation(es) == 0);
  assert_int_equal(mm_es_get_config(es)->population, 5);
  mm_es_destroy(es);
  mm_es_destroy(NULL);
}

// ---------------------------------------------------------------------------------------------
// Draws

static double draw_of(uint64_t seed, uint32_t generation, uint32_t lane, size_t j) {
  return mm_normal_d(mm_stream_pair(mm_stream_make(seed, generation, MM_RNG_EVOLVE_ASK, lane), j));
}

// Members are what the formula says of the named draws; asking again repeats them.
static void test_members(void **state) {
  (void)state;
  enum { D = 7, N = 6 };
  double member[N * D], again[N * D], fitness[N] = { 1, 2, 3, 4, 5, 7 };
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es *es = create_shaped((mm_es_kind)k, D, N, MM_SHAPING_RANK);
    for (uint32_t g = 0; g < 3; g++) {
      assert_ok(mm_es_ask(es, member));
      for (uint32_t i = 0; i < N && k < MM_ES_CMA; i++) // those have an oracle of their own
        for (size_t j = 0; j < D; j++) {
          bool paired = mm_es_is_paired((mm_es_kind)k);
          double z = draw_of(11, g, paired ? i / 2 : i, j), mean = mm_es_mean(es)[j];
          double deviation = paired ? 1 : sqrt(mm_sep_cma_variance(es, j));
          double expected = mean + (paired && i % 2 ? -1 : 1) * (mm_es_sigma(es) * (deviation * z));
          assert_true(member[i * D + j] == expected);
        }
      assert_ok(mm_es_ask(es, again));
      assert_memory_equal(member, again, sizeof member);
      // the draws given from outside may be the same ones
      double z[N * D];
      memcpy(z, es->z, mm_es_draws(es) * D * sizeof *z);
      assert_ok(mm_es_ask_with(es, z, again));
      assert_memory_equal(member, again, sizeof member);
      const double *mean = mm_es_mean(es);
      assert_ok(mm_es_tell(es, fitness));
      assert_ptr_equal(mean, mm_es_mean(es));
      assert_true(mm_es_generation(es) == g + 1);
      assert_ok(mm_es_ask(es, again));
      assert_memory_not_equal(member, again, sizeof member);
    }
    mm_es_destroy(es);
  }
}

typedef struct patience {
  int calls, most;
} patience;

static bool have_patience(void *user) {
  patience *p = user;
  return ++p->calls <= p->most;
}

// Members of many draws come in parts, the same ones; who does not go on has asked for nothing.
static void test_watched(void **state) {
  (void)state;
  enum { D = 100000, N = 16 };
  const size_t size = sizeof(double) * N * D;
  double *member = malloc(size), *again = malloc(size), *z = malloc(size);
  const double fitness[N] = { 0 };
  for (int k = 0; k < MM_ES_CMA; k++) { // which takes too few coordinates for this
    mm_es *es = create_shaped((mm_es_kind)k, D, N, MM_SHAPING_RANK);
    patience all = { .most = 1000 }, some = { .most = 1 };
    assert_ok(mm_es_ask_watched(es, member, have_patience, &all));
    assert_true(all.calls > 2 && all.calls < 20);
    assert_int_equal(mm_es_ask_watched(es, again, have_patience, &some), MM_ERR_INTERRUPTED);
    assert_int_equal(some.calls, 2);
    assert_fails(mm_es_tell(es, fitness), MM_ERR_INPUT, "before members were asked for");
    memcpy(z, es->z, mm_es_draws(es) * D * sizeof *z);
    assert_ok(mm_es_ask_with(es, z, again));
    assert_memory_equal(member, again, size);
    assert_true(mm_es_bytes(&es->config) > 0.9 * (double)es->arena.size);
    assert_true(mm_es_bytes(&es->config) < 2 * (double)es->arena.size);
    mm_es_destroy(es);
  }
  free(member);
  free(again);
  free(z);
}

// Mean, variance and fourth moment of the draws; no correlation between neighbours in any
// direction: coordinates, lanes, generations, seeds.
static void test_draw_moments(void **state) {
  (void)state;
  enum { D = 101, N = 64, GENERATIONS = 40 };
  static double member[N * D], fitness[N], z[GENERATIONS][N][D];
  mm_es *es = create_shaped(MM_ES_SEP_CMA, D, N, MM_SHAPING_RANK);
  for (int g = 0; g < GENERATIONS; g++) {
    assert_ok(mm_es_ask(es, member));
    memcpy(z[g], es->z, sizeof z[g]);
    assert_ok(mm_es_tell(es, fitness));
  }
  mm_es_destroy(es);
  double n = GENERATIONS * N * D, sum[4] = { 0 }, coordinate = 0, lane = 0, generation = 0,
         seed = 0;
  for (uint32_t g = 0; g < GENERATIONS; g++)
    for (uint32_t i = 0; i < N; i++)
      for (size_t j = 0; j < D; j++) {
        double x = z[g][i][j];
        sum[0] += x;
        sum[1] += x * x - 1;
        sum[2] += x * x * x;
        sum[3] += x * x * x * x - 3;
        coordinate += x * z[g][i][(j + 1) % D];
        lane += x * z[g][(i + 1) % N][j];
        generation += x * z[(g + 1) % GENERATIONS][i][j];
        seed += x * draw_of(12, g, i, j);
      }
  assert_within_sigmas(sum[0] / sqrt(n), 5);
  assert_within_sigmas(sum[1] / sqrt(2 * n), 5);
  assert_within_sigmas(sum[2] / sqrt(15 * n), 5);
  assert_within_sigmas(sum[3] / sqrt(96 * n), 5);
  assert_within_sigmas(coordinate / sqrt(n), 5);
  assert_within_sigmas(lane / sqrt(n), 5);
  assert_within_sigmas(generation / sqrt(n), 5);
  assert_within_sigmas(seed / sqrt(n), 5);
}

// ---------------------------------------------------------------------------------------------
// Ranking and shaping

// Against counting, with many ties.
static void test_ranking(void **state) {
  (void)state;
  enum { N_MAX = 70 };
  mm_ranked ranked[N_MAX];
  double fitness[N_MAX], by_rank[N_MAX], weight[N_MAX];
  for (uint32_t n = 1; n <= N_MAX; n++) {
    mm_stream stream = mm_stream_make(1, n, MM_RNG_TEST, 0);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t value = mm_uniform_int(mm_stream_pair(stream, i), n / 2 + 3);
      fitness[i] = value == 0 ? NAN : value == 1 ? INFINITY : (double)value;
      by_rank[i] = mm_uniform_d(mm_stream_pair(stream, 1000 + i));
    }
    size_t nonfinite = mm_es_rank(fitness, n, ranked), counted = 0;
    mm_es_share(ranked, n, by_rank, weight);
    for (uint32_t i = 0; i < n; i++) {
      double own = isfinite(fitness[i]) ? fitness[i] : -INFINITY, sum = 0;
      size_t better = 0, equal = 0;
      for (uint32_t k = 0; k < n; k++) {
        double other = isfinite(fitness[k]) ? fitness[k] : -INFINITY;
        better += other > own;
        equal += other == own;
      }
      for (size_t r = better; r < better + equal; r++)
        sum += by_rank[r];
      assert_true(fabs(weight[i] - sum / (double)equal) < 1e-15);
      if (!isfinite(fitness[i])) counted++;
    }
    assert_int_equal(nonfinite, counted);
  }
}

static void check_weights(mm_shaping shaping, const double *fitness, const double *expected) {
  enum { D = 3, N = 8 };
  mm_es *es = create_shaped(MM_ES_OPENES, D, N, shaping);
  double member[N * D];
  assert_ok(mm_es_ask(es, member));
  assert_ok(mm_es_tell(es, fitness));
  for (int i = 0; i < N; i++)
    if (!(fabs(es->weight[i] - expected[i]) < 1e-15))
      fail_msg("member %d: expected %g, found %g", i, expected[i], es->weight[i]);
  mm_es_destroy(es);
}

static void test_shaping(void **state) {
  (void)state;
  const double inf = INFINITY, nan = NAN;
  // pairs: (1, 2), (4, 4), (nan, -9), (inf, nan)
  const double fitness[8] = { 1, 2, 4, 4, nan, -9, inf, nan };
  check_weights(MM_SHAPING_PAIR, fitness, (const double[8]){ 0, 1, 0.5, 0.5, 0, 1, 0.5, 0.5 });
  // best first: 4 4 2 1 -9 and three equals
  check_weights(MM_SHAPING_RANK, fitness,
                (const double[8]){ 0.5 - 3.0 / 7, 0.5 - 2.0 / 7, 0.5 - 0.5 / 7, 0.5 - 0.5 / 7,
                                   0.5 - 6.0 / 7, 0.5 - 4.0 / 7, 0.5 - 6.0 / 7, 0.5 - 6.0 / 7 });
  check_weights(MM_SHAPING_RAW, fitness,
                (const double[8]){ 1, 2, 4, 4, -12.25, -9, -12.25, -12.25 });
  const double none[8] = { nan, inf, -inf, nan, nan, nan, -inf, inf };
  check_weights(MM_SHAPING_PAIR, none, (const double[8]){ 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 });
  check_weights(MM_SHAPING_RANK, none, (const double[8]){ 0 });
  check_weights(MM_SHAPING_RAW, none, (const double[8]){ 0 });
  const double all[8] = { 3, 1, 4, 1.5, 9, 2, 6, 5 };
  check_weights(MM_SHAPING_PAIR, all, (const double[8]){ 1, 0, 1, 0, 1, 0, 1, 0 });
  check_weights(MM_SHAPING_RANK, all,
                (const double[8]){ 0.5 - 4.0 / 7, 0.5 - 7.0 / 7, 0.5 - 3.0 / 7, 0.5 - 6.0 / 7, 0.5,
                                   0.5 - 5.0 / 7, 0.5 - 1.0 / 7, 0.5 - 2.0 / 7 });
  check_weights(MM_SHAPING_RAW, all, all);
}

// Fitnesses that are not finite are counted, in every strategy, and the search goes on.
static void test_nonfinite_count(void **state) {
  (void)state;
  enum { D = 3, N = 8 };
  for (int k = 0; k < MM_ES_KINDS; k++)
    for (int shaping = 0; shaping < MM_SHAPINGS; shaping++) {
      mm_es *es = create_shaped((mm_es_kind)k, D, N, (mm_shaping)shaping);
      double member[N * D], fitness[N] = { 0, NAN, 2, INFINITY, -INFINITY, 5, 6, 7 };
      for (uint64_t g = 1; g <= 4; g++) {
        assert_ok(mm_es_ask(es, member));
        assert_ok(mm_es_tell(es, fitness));
        assert_true(mm_es_nonfinite(es) == 3 * g);
      }
      for (int i = 0; i < N; i++)
        fitness[i] = NAN;
      assert_ok(mm_es_ask(es, member));
      assert_ok(mm_es_tell(es, fitness));
      assert_true(mm_es_nonfinite(es) == 12 + N);
      mm_es_destroy(es);
    }
}

// ---------------------------------------------------------------------------------------------
// openes: a step

// The gradient of the paper, from the members themselves: 1/N sum_i f_i (x_i - mean) / sigma^2.
static void test_gradient(void **state) {
  (void)state;
  enum { D = 20, N = 32 };
  for (int shaping = 0; shaping < MM_SHAPINGS; shaping++) {
    mm_es *es = create_shaped(MM_ES_OPENES, D, N, (mm_shaping)shaping);
    double member[N * D], fitness[N], start[D];
    memcpy(start, mm_es_mean(es), sizeof start);
    assert_ok(mm_es_ask(es, member));
    for (uint32_t i = 0; i < N; i++)
      fitness[i] = mm_normal_d(mm_stream_pair(mm_stream_make(2, 0, MM_RNG_TEST, 0), i));
    assert_ok(mm_es_tell(es, fitness));
    long double largest = 0;
    for (int j = 0; j < D; j++) {
      long double sum = 0;
      for (int i = 0; i < N; i++)
        sum += (long double)es->weight[i] * ((long double)member[i * D + j] - start[j]);
      sum /= N * 0.5L * 0.5L;
      largest = fmaxl(largest, fabsl(sum));
      assert_true(fabsl(es->sum[j] - sum) < 1e-12L);
      // Adam's first step is the rate times the sign
      double step = mm_es_mean(es)[j] - start[j];
      assert_true(fabs(step - copysign(0.01, es->sum[j])) < 0.01 * 1e-8 / fabs(es->sum[j]) + 1e-15);
      assert_true(fabs(es->now[1][j] - 0.01 * es->sum[j]) < 1e-16);
      assert_true(fabs(es->now[2][j] - 0.001 * es->sum[j] * es->sum[j]) < 1e-16);
    }
    assert_true(largest > 0.01L);
    mm_es_destroy(es);
  }
}

static void test_all_tied(void **state) {
  (void)state;
  enum { D = 5, N = 16 };
  for (int k = MM_ES_OPENES; k <= MM_ES_OPENES_EVOSAX; k++)
    for (int shaping = 0; shaping < MM_SHAPINGS; shaping++) {
      mm_es *es = create_shaped((mm_es_kind)k, D, N, (mm_shaping)shaping);
      double member[N * D], fitness[N], start[D];
      memcpy(start, mm_es_mean(es), sizeof start);
      for (int g = 0; g < 5; g++) {
        for (int pair = 0; pair < N / 2; pair++) // ranks and values differ between pairs
          fitness[2 * pair] = fitness[2 * pair + 1] = g % 2 ? 0.1 : pair;
        assert_ok(mm_es_ask(es, member));
        assert_ok(mm_es_tell(es, fitness));
        assert_memory_equal(start, mm_es_mean(es), sizeof start);
      }
      mm_es_destroy(es);
    }
}

// sigma decays down to its floor; the later version is one generation late.
static void test_sigma_schedule(void **state) {
  (void)state;
  enum { D = 2, N = 4 };
  for (int late = 0; late < 2; late++) {
    mm_es_config config = mm_es_config_default(late ? MM_ES_OPENES_EVOSAX : MM_ES_OPENES);
    config.dimension = D;
    config.population = N;
    config.sigma_decay = 0.9;
    config.sigma_min = 0.3;
    mm_es *es;
    double member[N * D];
    assert_ok(mm_es_create(&config, (const double[D]){ 0 }, &es));
    for (int g = 1; g <= 10; g++) {
      assert_ok(mm_es_ask(es, member));
      assert_ok(mm_es_tell(es, (const double[N]){ 1, 2, 3, 4 }));
      assert_true(fabs(mm_es_sigma(es) - fmax(0.5 * pow(0.9, g - late), 0.3)) < 1e-15);
    }
    mm_es_destroy(es);
  }
}

// ---------------------------------------------------------------------------------------------
// Failures

// `tell` fails and leaves every bit as it was; told what is right, the search goes on.
static void check_numeric_failure(mm_es *es, const double *bad, const double *good,
                                  const char *part) {
  size_t size = mm_es_state_size(es);
  unsigned char *before = malloc(size), *after = malloc(size);
  mm_es_save(es, before);
  assert_fails(mm_es_tell(es, bad), MM_ERR_NUMERIC, part);
  mm_es_save(es, after);
  assert_memory_equal(before, after, size);
  if (good) assert_ok(mm_es_tell(es, good));
  free(before);
  free(after);
}

static void test_numeric_failures(void **state) {
  (void)state;
  enum { D = 3, N = 4 };
  double member[N * D], z[N * D];
  const double good[N] = { 1, 2, 3, 4 };
  mm_es *es = create_shaped(MM_ES_OPENES, D, N, MM_SHAPING_RAW);
  assert_ok(mm_es_ask(es, member));
  check_numeric_failure(es, (const double[N]){ 1e200, -1e200, NAN, 0 }, good, "second moment");
  assert_true(mm_es_generation(es) == 1 && mm_es_nonfinite(es) == 0);
  assert_ok(mm_es_ask(es, member));
  check_numeric_failure(es, (const double[N]){ 1.7e308, -1.7e308, 0, 0 }, good, "generation 1");
  mm_es_destroy(es);

  // sigma to 0
  mm_es_config config = mm_es_config_default(MM_ES_OPENES);
  config.dimension = D;
  config.population = N;
  config.sigma_min = 0;
  config.sigma_decay = 1e-300;
  assert_ok(mm_es_create(&config, (const double[D]){ 0 }, &es));
  assert_ok(mm_es_ask(es, member));
  assert_ok(mm_es_tell(es, good));
  assert_ok(mm_es_ask(es, member));
  check_numeric_failure(es, good, NULL, "sigma would be 0");
  mm_es_destroy(es);

  // sigma to infinity, and members that overflow
  config = mm_es_config_default(MM_ES_SEP_CMA);
  config.dimension = D;
  config.population = N;
  config.sigma = 1e300;
  assert_ok(mm_es_create(&config, (const double[D]){ 0 }, &es));
  for (int i = 0; i < N * D; i++)
    z[i] = i < D ? 1e7 : 0;
  assert_ok(mm_es_ask_with(es, z, member));
  check_numeric_failure(es, (const double[N]){ 4, 3, 2, 1 }, NULL, "sigma would be inf");
  z[4] = 1e10;
  assert_fails(mm_es_ask_with(es, z, member), MM_ERR_NUMERIC, "coordinate 1 of member 1");
  assert_fails(mm_es_tell(es, good), MM_ERR_INPUT, "asked for");
  memset(z, 0, sizeof z);
  assert_ok(mm_es_ask_with(es, z, member));
  es->sigma = DBL_MAX;
  assert_fails(mm_es_ask(es, member), MM_ERR_NUMERIC, "is not finite");
  assert_fails(mm_es_tell(es, good), MM_ERR_INPUT, "asked for");
  mm_es_destroy(es);
}

static void test_wrong_order(void **state) {
  (void)state;
  enum { D = 2, N = 4 };
  double member[N * D], z[N * D] = { 0, 0, 0, NAN };
  const double fitness[N] = { 1, 2, 3, 4 };
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es *es = create_shaped((mm_es_kind)k, D, N, MM_SHAPING_PAIR);
    assert_fails(mm_es_tell(es, fitness), MM_ERR_INPUT, "generation 0: told before");
    assert_ok(mm_es_ask(es, member));
    assert_ok(mm_es_tell(es, fitness));
    assert_fails(mm_es_tell(es, fitness), MM_ERR_INPUT, "generation 1: told before");
    assert_ok(mm_es_ask(es, member));
    assert_fails(mm_es_ask_with(es, z, member), MM_ERR_INPUT, "draw 3");
    assert_fails(mm_es_tell(es, fitness), MM_ERR_INPUT, "asked for");
    assert_true(mm_es_generation(es) == 1);
    mm_es_destroy(es);
  }
}

// ---------------------------------------------------------------------------------------------
// Memory

static size_t allocations_left, allocations;

static void *scarce(size_t size, void *user) {
  (void)user;
  if (allocations_left == 0 || size > (size_t)1 << 40) return NULL;
  allocations_left--;
  allocations++;
  return malloc(size);
}

static void give_back(void *block, void *user) {
  (void)user;
  free(block);
}

// One allocation per object, which may fail; none in a generation.
static void test_memory(void **state) {
  (void)state;
  enum { D = 9, N = 8 };
  const double mean[D] = { 0 }, fitness[N] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  double member[N * D];
  mm_set_allocator(scarce, give_back, NULL);
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es_config config = mm_es_config_default((mm_es_kind)k);
    config.dimension = D;
    config.population = N;
    mm_es *es, *copy;
    unsigned char bytes[2048];
    allocations_left = allocations = 0;
    assert_fails(mm_es_create(&config, mean, &es), MM_ERR_MEMORY, "out of memory");
    assert_null(es);
    allocations_left = 1;
    assert_ok(mm_es_create(&config, mean, &es));
    for (int g = 0; g < 3; g++) {
      assert_ok(mm_es_ask(es, member));
      assert_ok(mm_es_tell(es, fitness));
    }
    assert_true(mm_es_state_size(es) <= sizeof bytes);
    mm_es_save(es, bytes);
    assert_fails(mm_es_load(&config, bytes, mm_es_state_size(es), &copy), MM_ERR_MEMORY, "memory");
    assert_null(copy);
    allocations_left = 1;
    assert_ok(mm_es_load(&config, bytes, mm_es_state_size(es), &copy));
    assert_int_equal(allocations, 2);
    mm_es_destroy(es);
    mm_es_destroy(copy);
  }
  // more than any machine has
  mm_es_config config = mm_es_config_default(MM_ES_SEP_CMA);
  config.dimension = 10000000;
  config.population = 16777216;
  mm_es *es;
  allocations_left = 1;
  assert_fails(mm_es_create(&config, mean, &es), MM_ERR_MEMORY, "out of memory");
  mm_set_allocator(NULL, NULL, NULL);
}

int suite_evolve(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_defaults),
    cmocka_unit_test(test_bad_settings),
    cmocka_unit_test(test_members),
    cmocka_unit_test(test_watched),
    cmocka_unit_test(test_draw_moments),
    cmocka_unit_test(test_ranking),
    cmocka_unit_test(test_shaping),
    cmocka_unit_test(test_nonfinite_count),
    cmocka_unit_test(test_gradient),
    cmocka_unit_test(test_all_tied),
    cmocka_unit_test(test_sigma_schedule),

    cmocka_unit_test(test_numeric_failures),
    cmocka_unit_test(test_wrong_order),
    cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests_name("evolve", tests, NULL, NULL);
}
