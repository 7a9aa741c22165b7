// SPDX-License-Identifier: Apache-2.0
// Restarts: when they come, what they change, that they help where there are many optima, and that
// a search with them resumes bit-identically.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "evolve/es_internal.h"
#include "test.h"

enum { D = 4, N = 8, RESTARTS = 5, N_MAX = N << RESTARTS };

static mm_es_config config_of(mm_es_kind kind, size_t restarts) {
  mm_es_config config = mm_es_config_default(kind);
  config.dimension = D;
  config.population = N;
  config.sigma = 1;
  config.restarts = restarts;
  return config;
}

static mm_es *create(const mm_es_config *config) {
  static const double start[D] = { 3.3, -2.2, 4.1, 1.7 };
  mm_es *es;
  assert_ok(mm_es_create(config, start, &es));
  return es;
}

// ---------------------------------------------------------------------------------------------
// Many optima

static double rastrigin(const double *x) {
  double sum = 10 * D;
  for (int j = 0; j < D; j++)
    sum += x[j] * x[j] - 10 * cos(2 * 3.14159265358979323846 * x[j]);
  return sum;
}

// One generation; its best value.
static double advance(mm_es *es) {
  static double member[N_MAX * D], fitness[N_MAX];
  const size_t n = mm_es_population(es);
  double best = INFINITY;
  assert_true(n <= N_MAX);
  assert_ok(mm_es_ask(es, member));
  for (size_t i = 0; i < n; i++) {
    double value = rastrigin(member + i * D);
    fitness[i] = -value;
    best = fmin(best, value);
  }
  assert_ok(mm_es_tell(es, fitness));
  return best;
}

// Seeds of 0 to 9 that come below 1e-8 within so many generations.
static int solved(mm_es_kind kind, size_t restarts) {
  int n = 0;
  for (uint64_t seed = 0; seed < 10; seed++) {
    mm_es_config config = config_of(kind, restarts);
    config.seed = seed;
    mm_es *es = create(&config);
    double best = INFINITY;
    for (int g = 0; g < 1000 && best > 1e-8; g++)
      best = advance(es);
    n += best <= 1e-8;
    mm_es_destroy(es);
  }
  return n;
}

static void test_rastrigin(void **state) {
  (void)state;
  static const mm_es_kind kinds[] = { MM_ES_CMA, MM_ES_SEP_CMA };
  for (int k = 0; k < 2; k++) {
    int without = solved(kinds[k], 0), with = solved(kinds[k], RESTARTS);
    if (without > 2 || with < 9)
      fail_msg("%s: %d of 10 seeds without restarts, %d with", mm_es_name(kinds[k]), without, with);
  }
}

// ---------------------------------------------------------------------------------------------
// When

// Generations until a restart is due, where member i of generation g has the fitness f(g, i).
static int generations_until_due(mm_es *es, double (*f)(int g, size_t i), int most) {
  double member[N_MAX * D], fitness[N_MAX];
  int g = 0;
  while (g < most && !mm_es_restarts_next(es)) {
    assert_ok(mm_es_ask(es, member));
    for (size_t i = 0; i < mm_es_population(es); i++)
      fitness[i] = f(g, i);
    assert_ok(mm_es_tell(es, fitness));
    g++;
  }
  return g;
}

static double flat(int g, size_t i) {
  (void)g, (void)i;
  return 0.25;
}

static double falling(int g, size_t i) {
  return -g - 0.01 * (double)(i * 5 % N);
}

static double rising(int g, size_t i) {
  return g - 0.01 * (double)((i * 5 + (size_t)g * 3) % N);
}

static double failing(int g, size_t i) {
  (void)g, (void)i;
  return NAN;
}

// TolFun after 10 + 30 n / lambda generations, stagnation after 120 + 30 n / lambda.
static void test_criteria(void **state) {
  (void)state;
  static const struct {
    double (*f)(int g, size_t i);
    int due;
  } rows[] = { { flat, 10 + 15 }, { falling, 120 + 15 }, { rising, 300 }, { failing, 120 + 15 } };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    // variances stay as they are: nothing but fitness decides
    mm_es_config config = config_of(MM_ES_SEP_CMA_ISOTROPIC, 1);
    mm_es *es = create(&config);
    assert_int_equal(generations_until_due(es, rows[r].f, 300), rows[r].due);
    mm_es_destroy(es);
  }
}

// On a sphere it goes on until sigma is tiny beside the first one, or fitness has no digits left.
static void test_convergence(void **state) {
  (void)state;
  mm_es_config config = config_of(MM_ES_CMA, 1);
  mm_es *es = create(&config);
  double member[N * D], fitness[N];
  while (!mm_es_restarts_next(es)) {
    assert_ok(mm_es_ask(es, member));
    for (size_t i = 0; i < N; i++) {
      fitness[i] = 0;
      for (size_t j = 0; j < D; j++)
        fitness[i] -= member[i * D + j] * member[i * D + j];
    }
    assert_ok(mm_es_tell(es, fitness));
    assert_true(mm_es_generation(es) < 1000);
  }
  assert_true(mm_es_sigma(es) < 1e-5);
  for (size_t j = 0; j < D; j++)
    assert_true(fabs(mm_es_mean(es)[j]) < 1e-5); // what it came to stays until the next `ask`
  mm_es_destroy(es);
}

static void test_what_a_restart_changes(void **state) {
  (void)state;
  mm_es_config config = config_of(MM_ES_CMA, 2);
  mm_es *es = create(&config), *fresh = create(&config);
  double member[4 * N * D], first[N * D];
  assert_ok(mm_es_ask(fresh, first));
  int g = generations_until_due(es, flat, 100);
  assert_int_equal(mm_es_population(es), 2 * N);
  assert_int_equal(mm_es_restarts(es), 0);
  assert_int_equal(mm_es_evaluations(es), (uint64_t)g * N);
  assert_ok(mm_es_ask(es, member));
  assert_int_equal(mm_es_restarts(es), 1);
  assert_int_equal(mm_es_population(es), 2 * N);
  assert_memory_equal(mm_es_mean(es), mm_es_mean(fresh), D * sizeof(double));
  assert_true(mm_es_sigma(es) == config.sigma && mm_es_axis_ratio(es) == 1);
  assert_memory_not_equal(member, first, sizeof first); // other random numbers than the first time
  g += generations_until_due(es, flat, 100);
  assert_int_equal(g, 25 + 18);
  assert_ok(mm_es_ask(es, member));
  assert_int_equal(mm_es_population(es), 4 * N);
  assert_int_equal(generations_until_due(es, flat, 50), 50); // that was the last one
  mm_es_destroy(es);
  mm_es_destroy(fresh);
}

// ---------------------------------------------------------------------------------------------
// Bytes and refusals

// Saved and loaded after every generation, it goes on to the same bits, over several restarts.
static void test_state(void **state) {
  (void)state;
  static const mm_es_kind kinds[] = { MM_ES_CMA, MM_ES_SEP_CMA, MM_ES_SEP_CMA_EVOSAX };
  for (int k = 0; k < 3; k++) {
    mm_es_config config = config_of(kinds[k], RESTARTS);
    mm_es *whole = create(&config), *pieces = create(&config), *next;
    const size_t size = mm_es_state_size(whole);
    unsigned char *a = malloc(size), *b = malloc(size);
    for (int g = 0; g < 500; g++) {
      (void)advance(whole);
      (void)advance(pieces);
      mm_es_save(whole, a);
      mm_es_save(pieces, b);
      assert_memory_equal(a, b, size);
      assert_ok(mm_es_load(&config, b, size, &next));
      mm_es_destroy(pieces);
      pieces = next;
    }
    assert_true(mm_es_restarts(whole) >= 2);
    assert_int_equal(mm_es_evaluations(whole), mm_es_evaluations(pieces));
    // a config without restarts has other states
    config.restarts = 0;
    assert_fails(mm_es_load(&config, a, size, &next), MM_ERR_INPUT, "bytes: expected");
    mm_es_destroy(whole);
    mm_es_destroy(pieces);
    free(a);
    free(b);
  }
}

static void put(unsigned char *state, size_t size, size_t at, uint64_t x) {
  for (size_t i = 0; i < 8; i++)
    state[at + i] = (unsigned char)(x >> 8 * i);
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size - 8; i++)
    hash = (hash ^ state[i]) * 0x100000001b3;
  for (size_t i = 0; i < 8; i++)
    state[size - 8 + i] = (unsigned char)(hash >> 8 * i);
}

static void test_bad_states(void **state) {
  (void)state;
  enum { FIRST = 96 + 8 * (3 * D + D * D) }; // behind the vectors of cma-es
  const struct {
    size_t at;
    uint64_t value;
  } wrong[] = {
    { FIRST, 2 },                           // restarts: more than the config has
    { FIRST, UINT64_MAX },                  //
    { FIRST + 8, 1000 },                    // the generation of the last one is to come
    { FIRST + 24, 2 },                      // neither due nor not
    { FIRST + 32, 1000 },                   // more history than there is room for
    { FIRST + 40, mm_bits_d(INFINITY) },    // start
    { FIRST + 40 + 8 * D, mm_bits_d(NAN) }, // best fitness
    { FIRST + 40 + 8 * D + 8 * 134, 1 },    // behind the history: not 0
  };
  mm_es_config config = config_of(MM_ES_CMA, 1);
  mm_es *es = create(&config), *loaded;
  (void)advance(es);
  const size_t size = mm_es_state_size(es);
  unsigned char *bytes = malloc(size);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mm_es_save(es, bytes);
    put(bytes, size, wrong[i].at, wrong[i].value);
    assert_fails(mm_es_load(&config, bytes, size, &loaded), MM_ERR_INPUT, "of its restarts");
    assert_null(loaded);
  }
  mm_es_destroy(es);
  free(bytes);
}

static void test_refusals(void **state) {
  (void)state;
  const double start[D] = { 0 };
  mm_es *es;
  mm_es_config config = config_of(MM_ES_OPENES, 1);
  assert_fails(mm_es_create(&config, start, &es), MM_ERR_INPUT, "restarts = 1: expected 0");
  config = config_of(MM_ES_CMA, 21);
  assert_fails(mm_es_create(&config, start, &es), MM_ERR_INPUT, "restarts = 21: expected at most");
  config = config_of(MM_ES_SEP_CMA, 20);
  config.population = 32;
  assert_fails(mm_es_create(&config, start, &es), MM_ERR_INPUT, "doubled by 20 restarts");
}

int suite_evolve_restart(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rastrigin),   cmocka_unit_test(test_criteria),
    cmocka_unit_test(test_convergence), cmocka_unit_test(test_what_a_restart_changes),
    cmocka_unit_test(test_state),       cmocka_unit_test(test_bad_states),
    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests_name("evolve_restart", tests, NULL, NULL);
}
