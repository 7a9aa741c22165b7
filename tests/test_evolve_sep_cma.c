// SPDX-License-Identifier: Apache-2.0
// sep-cma-es call by call: its constants, and steps against the formulas written down once more.

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "es_rig.h"
#include "evolve/constants.h"
#include "test.h"

static void test_constants(void **state) {
  (void)state;
  mm_es *es = create(MM_ES_SEP_CMA, 100, 128);
  const mm_sep_cma *c = es->constants;
  assert_int_equal(c->mu, 64);
  assert_true(fabs(c->mueff - 34.433468) < 5e-7);
  assert_true(fabs(es->by_rank[0] - 0.067337) < 5e-7);
  assert_true(fabs(es->by_rank[63] - 0.00025010) < 5e-9);
  assert_true(es->by_rank[64] == 0 && es->by_rank[127] == 0);
  assert_true(fabs(c->chi - 9.9750) < 5e-5 && fabs(c->c_sigma - 0.2651) < 5e-5);
  assert_true(fabs(c->d_sigma - 1.2651) < 5e-5 && fabs(c->c_c - 0.0385) < 5e-5);
  mm_es_destroy(es);
  static const struct {
    size_t n;
    double c_1, c_mu;
  } known[] = {
    { 20, .0041, .933 }, { 32, .0018, .628 }, { 64, .00047, .330 }, { 100, .00019, .215 }
  };
  for (size_t k = 0; k < 4; k++) {
    es = create(MM_ES_SEP_CMA, known[k].n, 128);
    assert_true(fabs(((const mm_sep_cma *)es->constants)->c_1 / known[k].c_1 - 1) < 0.03);
    assert_true(fabs(((const mm_sep_cma *)es->constants)->c_mu - known[k].c_mu) < 5.1e-4);
    mm_es_destroy(es);
  }
  // below 19 coordinates the rates would exceed 1 together
  for (size_t n = 1; n <= 19; n++) {
    es = create(MM_ES_SEP_CMA, n, 128);
    double both =
        ((const mm_sep_cma *)es->constants)->c_1 + ((const mm_sep_cma *)es->constants)->c_mu;
    assert_true(n <= 18 ? fabs(both - 1) < 1e-15 : both < 0.99);
    mm_es_destroy(es);
  }
  es = create(MM_ES_SEP_CMA_EVOSAX, 100, 128);
  assert_true(fabs(((const mm_sep_cma *)es->constants)->mueff - 34.18) < 5e-3);
  mm_es_destroy(es);
}

// The update written down once more, in long double, from members and not from draws.
typedef struct oracle {
  long double mean[10], sigma, p_s[10], p_c[10], C[10];
  int stalled; // generations with h = 0
} oracle;

static void oracle_step(oracle *o, const mm_es *es, const double *member, int g) {
  const mm_sep_cma *c = es->constants;
  bool evosax = es->config.kind == MM_ES_SEP_CMA_EVOSAX;
  size_t n = es->config.dimension;
  long double length = 0, y_w[10], y_2[10], C[10];
  for (size_t j = 0; j < n; j++) {
    C[j] = o->C[j] + (evosax ? 1e-8L : 0);
    y_w[j] = y_2[j] = 0;
    for (size_t i = 0; i < es->population; i++) {
      long double y = (member[i * n + j] - o->mean[j]) / o->sigma;
      y_w[j] += es->weight[i] * y;
      y_2[j] += es->weight[i] * y * y;
    }
    o->mean[j] += o->sigma * y_w[j];
    o->p_s[j] = (1 - c->c_sigma) * o->p_s[j] +
                sqrtl(c->c_sigma * (2 - c->c_sigma) * c->mueff) * y_w[j] / sqrtl(C[j]);
    length += o->p_s[j] * o->p_s[j];
  }
  length = sqrtl(length);
  long double grown = sqrtl(1 - powl(1 - c->c_sigma, 2 * (g + (evosax ? 2 : 1))));
  int h = length / grown < (1.4L + 2.0L / (long double)(n + 1)) * c->chi;
  o->stalled += !h;
  for (size_t j = 0; j < n; j++) {
    o->p_c[j] = (1 - c->c_c) * o->p_c[j] + h * sqrtl(c->c_c * (2 - c->c_c) * c->mueff) * y_w[j];
    o->C[j] = (1 - c->c_1 - c->c_mu + (1 - h) * c->c_1 * c->c_c * (2 - c->c_c)) * C[j] +
              c->c_1 * o->p_c[j] * o->p_c[j] + c->c_mu * y_2[j];
    if (es->config.kind == MM_ES_SEP_CMA_ISOTROPIC) o->C[j] = 1;
  }
  o->sigma *= expl(c->c_sigma / c->d_sigma * (length / c->chi - 1));
}

// A slope, on which the path grows too long, with some equals among the members.
static void test_steps(void **state) {
  (void)state;
  enum { D = 10, N = 24, GENERATIONS = 40 };
  for (int k = MM_ES_SEP_CMA; k <= MM_ES_SEP_CMA_EVOSAX; k++) {
    mm_es *es = create((mm_es_kind)k, D, N);
    oracle o = { .sigma = 2 };
    for (int j = 0; j < D; j++) {
      o.mean[j] = mm_es_mean(es)[j];
      o.C[j] = 1;
    }
    for (int g = 0; g < GENERATIONS; g++) {
      double member[N * D], fitness[N];
      assert_ok(mm_es_ask(es, member));
      for (int i = 0; i < N; i++)
        fitness[i] = i % 8 == 3 ? member[3 * D] : member[i * D];
      assert_ok(mm_es_tell(es, fitness));
      oracle_step(&o, es, member, g);
      const long double *expected[4] = { o.mean, o.p_s, o.p_c, o.C };
      for (int v = 0; v < 4; v++)
        for (int j = 0; j < D; j++)
          assert_true(fabsl(es->now[v][j] - expected[v][j]) <=
                      1e-11L * (1 + fabsl(expected[v][j])));
      assert_true(fabsl(es->sigma / o.sigma - 1) < 1e-11L);
    }
    assert_true(o.stalled > 0 && o.stalled < GENERATIONS);
    long double least = o.C[0], greatest = o.C[0];
    for (int j = 1; j < D; j++) {
      least = fminl(least, o.C[j]);
      greatest = fmaxl(greatest, o.C[j]);
    }
    assert_true(fabsl(mm_es_axis_ratio(es) - sqrtl(greatest / least)) < 1e-6L);
    assert_true((k == MM_ES_SEP_CMA_ISOTROPIC) == (mm_es_axis_ratio(es) == 1));
    mm_es_destroy(es);
  }
}

// In the first generation, all draws alike: the path is too long from a known length on, in either
// version by its own exponent.
static void test_stall(void **state) {
  (void)state;
  enum { D = 10, N = 16 };
  for (int k = MM_ES_SEP_CMA; k <= MM_ES_SEP_CMA_EVOSAX; k++)
    for (int beyond = 0; beyond < 2; beyond++) {
      mm_es *es = create((mm_es_kind)k, D, N);
      const mm_sep_cma *c = es->constants;
      double keep = 1 - c->c_sigma, limit = (1.4 + 2.0 / (D + 1)) * c->chi;
      double add = sqrt(c->c_sigma * (2 - c->c_sigma) * c->mueff);
      double grown = sqrt(1 - pow(keep, k == MM_ES_SEP_CMA_EVOSAX ? 4 : 2));
      double z[N * D], member[N * D], length = limit * grown / add * (beyond ? 1.001 : 0.999);
      for (int i = 0; i < N * D; i++)
        z[i] = length / sqrt(D);
      assert_ok(mm_es_ask_with(es, z, member));
      assert_ok(mm_es_tell(es, (const double[N]){ 1 }));
      assert_true((es->now[MM_SEP_CMA_PATH_C][0] == 0) == beyond);
      mm_es_destroy(es);
    }
}

// The later version's bound on sigma.
static void test_sigma_max(void **state) {
  (void)state;
  enum { D = 2, N = 4 };
  for (int k = MM_ES_SEP_CMA; k <= MM_ES_SEP_CMA_EVOSAX; k++) {
    mm_es *es = create((mm_es_kind)k, D, N);
    double z[N * D], member[N * D];
    for (int i = 0; i < N * D; i++)
      z[i] = 10;
    es->sigma = 9.9e7;
    assert_ok(mm_es_ask_with(es, z, member));
    assert_ok(mm_es_tell(es, (const double[N]){ 1 }));
    assert_true(k == MM_ES_SEP_CMA_EVOSAX ? es->sigma == 1e8 : es->sigma > 1.1e8);
    mm_es_destroy(es);
  }
}

// When all are equal, nothing moves; some equals get the weights of their ranks by lot.
static void test_ties(void **state) {
  (void)state;
  enum { D = 4, N = 10, ROUNDS = 4000 };
  mm_es *es = create(MM_ES_SEP_CMA, D, N);
  double member[N * D], start[D], sum[N] = { 0 };
  memcpy(start, mm_es_mean(es), sizeof start);
  for (int g = 0; g < 50; g++) {
    assert_ok(mm_es_ask(es, member));
    assert_ok(mm_es_tell(es, (const double[N]){ 0 }));
  }
  assert_memory_equal(start, mm_es_mean(es), sizeof start);
  assert_true(mm_es_sigma(es) == 2 && mm_es_generation(es) == 50);
  // one best, then equals across the border of those that count, and two that are not finite
  const double mixed[N] = { NAN, 1, 1, 5, 1, 1, 1, 1, 1, -INFINITY };
  double mean = (1 - es->by_rank[0]) / 7, squares = 0;
  for (int r = 1; r <= 7; r++)
    squares += (es->by_rank[r] - mean) * (es->by_rank[r] - mean) / 7;
  for (int g = 0; g < ROUNDS; g++) {
    es->sigma = 2;
    assert_ok(mm_es_ask(es, member));
    assert_ok(mm_es_tell(es, mixed));
    assert_true(es->weight[3] == es->by_rank[0]);
    assert_true(es->weight[0] == 0 && es->weight[9] == 0);
    double total = 0;
    for (int i = 0; i < N; i++) {
      total += es->weight[i];
      sum[i] += es->weight[i];
    }
    assert_true(fabs(total - 1) < 1e-14);
  }
  for (int i = 0; i < N; i++)
    if (mixed[i] == 1) assert_true(fabs(sum[i] / ROUNDS - mean) < 5 * sqrt(squares / ROUNDS));
  mm_es_destroy(es);
}

// Where fitness says nothing but has many equals, sigma goes nowhere.
static void test_flat_fitness(void **state) {
  (void)state;
  enum { D = 100, N = 128, GENERATIONS = 200 };
  mm_es *es = create(MM_ES_SEP_CMA, D, N);
  static double member[N * D];
  double fitness[N];
  for (uint32_t g = 0; g < GENERATIONS; g++) {
    mm_stream stream = mm_stream_make(3, g, MM_RNG_TEST, 0);
    for (uint32_t i = 0; i < N; i++)
      fitness[i] = mm_uniform_int(mm_stream_pair(stream, i), 2);
    assert_ok(mm_es_ask(es, member));
    assert_ok(mm_es_tell(es, fitness));
  }
  if (!(mm_es_sigma(es) > 2 / 3.0 && mm_es_sigma(es) < 6)) fail_msg("sigma %g", mm_es_sigma(es));
  mm_es_destroy(es);
}

// C stays within its bounds.
static void test_clamp(void **state) {
  (void)state;
  enum { D = 2, N = 8 };
  double z[N * D] = { 0 }, member[N * D];
  const double fitness[N] = { 8, 7, 6, 5, 4, 3, 2, 1 };
  mm_es *es = create(MM_ES_SEP_CMA, D, N);
  for (int i = 0; i < N; i++)
    z[2 * i] = i % 2 ? 5 : -5;
  es->now[MM_SEP_CMA_VARIANCE][0] = 9e7;
  assert_ok(mm_es_ask_with(es, z, member));
  assert_ok(mm_es_tell(es, fitness));
  assert_true(es->now[MM_SEP_CMA_VARIANCE][0] == 1e8);
  memset(z, 0, sizeof z);
  for (int g = 0; g < 400; g++) {
    es->sigma = 1; // no draws, no length: it would run to 0
    assert_ok(mm_es_ask_with(es, z, member));
    assert_ok(mm_es_tell(es, fitness));
  }
  assert_true(es->now[MM_SEP_CMA_VARIANCE][1] == 1e-20);
  mm_es_destroy(es);
}

int suite_evolve_sep_cma(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_constants), cmocka_unit_test(test_steps),
    cmocka_unit_test(test_stall),     cmocka_unit_test(test_sigma_max),
    cmocka_unit_test(test_ties),      cmocka_unit_test(test_flat_fitness),
    cmocka_unit_test(test_clamp),
  };
  return cmocka_run_group_tests_name("evolve_sep_cma", tests, NULL, NULL);
}
