// SPDX-License-Identifier: Apache-2.0
// States as bytes: a search that is saved and loaded after every generation goes on to the same
// bits, and nothing but an intact state of the right strategy is taken.

#include <math.h>
#include <stdlib.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "evolve/es_internal.h"
#include "test.h"

enum { D = 5, N = 8, GENERATIONS = 12, SIZE_MAX_HERE = 1024 };

// Places of the fields.
enum { VERSION = 16, NAME = 24, DIMENSION = 56, POPULATION = 64, GENERATION = 72, SIGMA = 88 };
enum { VECTORS = 96 };

static mm_es_config config_of(int kind) {
  mm_es_config config = mm_es_config_default((mm_es_kind)kind);
  config.dimension = D;
  config.population = N;
  config.seed = 0x123456789abcdef;
  return config;
}

static mm_es *create(int kind) {
  mm_es_config config = config_of(kind);
  const double mean[D] = { 1, -0.0, 1e-310, -4, 5e5 };
  mm_es *es;
  assert_ok(mm_es_create(&config, mean, &es));
  return es;
}

// One generation on a function that gives ties and NaN now and then.
static void advance(mm_es *es) {
  double member[N * D], fitness[N];
  assert_ok(mm_es_ask(es, member));
  for (int i = 0; i < N; i++) {
    fitness[i] = floor(4 * member[i * D]) - fabs(member[i * D + 3]);
    if (member[i * D + 1] > 1) fitness[i] = NAN;
  }
  assert_ok(mm_es_tell(es, fitness));
}

static uint64_t checksum(const unsigned char *byte, size_t n) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ byte[i]) * 0x100000001b3;
  return hash;
}

static void put(unsigned char *state, size_t at, uint64_t x) {
  for (size_t i = 0; i < 8; i++)
    state[at + i] = (unsigned char)(x >> 8 * i);
}

static uint64_t get(const unsigned char *state, size_t at) {
  uint64_t x = 0;
  for (size_t i = 0; i < 8; i++)
    x |= (uint64_t)state[at + i] << 8 * i;
  return x;
}

// ---------------------------------------------------------------------------------------------

static void test_round_trip(void **state) {
  (void)state;
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es_config config = config_of(k);
    mm_es *straight = create(k), *resumed = create(k);
    size_t size = mm_es_state_size(straight);
    assert_true(size <= SIZE_MAX_HERE);
    for (int g = 0; g < GENERATIONS; g++) {
      unsigned char a[SIZE_MAX_HERE], b[SIZE_MAX_HERE];
      mm_es_save(straight, a);
      mm_es_save(resumed, b);
      assert_memory_equal(a, b, size);
      mm_es_destroy(resumed);
      assert_ok(mm_es_load(&config, b, size, &resumed));
      mm_es_save(resumed, b);
      assert_memory_equal(a, b, size);
      assert_memory_equal(mm_es_mean(straight), mm_es_mean(resumed), D * sizeof(double));
      assert_true(mm_es_sigma(straight) == mm_es_sigma(resumed));
      assert_true(mm_es_generation(resumed) == (uint64_t)g);
      assert_true(mm_es_nonfinite(straight) == mm_es_nonfinite(resumed));
      // a state between ask and tell is the one before ask
      double member[N * D];
      assert_ok(mm_es_ask(resumed, member));
      mm_es_save(resumed, b);
      assert_memory_equal(a, b, size);
      mm_es_destroy(resumed);
      assert_ok(mm_es_load(&config, b, size, &resumed));
      double fitness[N] = { 0 };
      assert_fails(mm_es_tell(resumed, fitness), MM_ERR_INPUT, "asked for");
      advance(straight);
      advance(resumed);
    }
    assert_true(mm_es_nonfinite(straight) > 0);
    mm_es_destroy(straight);
    mm_es_destroy(resumed);
  }
}

// The bits of a search are for good, whatever compiler and C library: checksums after 100
// generations of a strategy on a function of sums and products alone.
static void test_same_bits(void **state) {
  (void)state;
  static const uint64_t known[MM_ES_KINDS] = { 0xb0cc53139b778114, 0x3d3358f5e6ff9183,
                                               0xdc82a2a89e92b329, 0xb35c306c0a869c38,
                                               0x9d32ab99ef1877b4, 0x376bf63ca8aaed1d,
                                               0x57d105fec1a406a1 };
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es *es = create(k);
    for (int g = 0; g < 100; g++) {
      double member[N * D], fitness[N] = { 0 };
      assert_ok(mm_es_ask(es, member));
      for (int i = 0; i < N; i++)
        for (int j = 0; j < D; j++)
          fitness[i] -= (j + 1) * member[i * D + j] * member[i * D + j];
      assert_ok(mm_es_tell(es, fitness));
    }
    unsigned char bytes[SIZE_MAX_HERE];
    mm_es_save(es, bytes);
    uint64_t found = get(bytes, mm_es_state_size(es) - 8);
    if (found != known[k])
      fail_msg("%s: expected %#llx, found %#llx", mm_es_name((mm_es_kind)k),
               (unsigned long long)known[k], (unsigned long long)found);
    mm_es_destroy(es);
  }
}

// The format is for good: bytes of a known state.
static void test_format(void **state) {
  (void)state;
  mm_es *es = create(MM_ES_SEP_CMA_ISOTROPIC);
  unsigned char bytes[SIZE_MAX_HERE];
  mm_es_save(es, bytes);
  size_t size = mm_es_state_size(es);
  mm_es_destroy(es);
  assert_int_equal(size, VECTORS + 4 * D * 8 + 8);
  assert_memory_equal(bytes, "mirrormap/es\0\0\0\0\1\0\0\0\0\0\0\0sep-cma-es:isotropic\0\0\0", 47);
  const uint64_t numbers[5] = { D, N, 0, 0, 0x4000000000000000 };
  for (size_t i = 0; i < 5; i++)
    assert_true(get(bytes, DIMENSION + 8 * i) == numbers[i]);
  assert_true(get(bytes, VECTORS) == 0x3ff0000000000000);
  assert_true(get(bytes, VECTORS + 8) == 0x8000000000000000);
  assert_true(get(bytes, VECTORS + 3 * D * 8) == 0x3ff0000000000000);
  assert_true(get(bytes, size - 8) == checksum(bytes, size - 8));
}

static void test_damage(void **state) {
  (void)state;
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es_config config = config_of(k);
    mm_es *es = create(k), *loaded;
    advance(es);
    unsigned char bytes[SIZE_MAX_HERE + 1];
    size_t size = mm_es_state_size(es);
    mm_es_save(es, bytes);
    mm_es_destroy(es);
    bytes[size] = 0;
    for (size_t i = 0; i < size; i++)
      for (int bit = 0; bit < 9; bit++) {
        unsigned char change = (unsigned char)(bit < 8 ? 1 << bit : 0xff);
        bytes[i] ^= change;
        loaded = (mm_es *)bytes;
        assert_int_equal(mm_es_load(&config, bytes, size, &loaded), MM_ERR_INPUT);
        assert_null(loaded);
        bytes[i] ^= change;
      }
    for (size_t cut = 0; cut < size; cut++)
      assert_int_equal(mm_es_load(&config, bytes, cut, &loaded), MM_ERR_INPUT);
    assert_int_equal(mm_es_load(&config, bytes, size + 1, &loaded), MM_ERR_INPUT);
    assert_ok(mm_es_load(&config, bytes, size, &loaded));
    mm_es_destroy(loaded);
  }
}

// Loads a state of `kind` in which one number was replaced, with a checksum that fits.
static mm_status load_changed(int kind, size_t at, uint64_t number, mm_es **out) {
  mm_es_config config = config_of(kind);
  mm_es *es = create(kind);
  advance(es);
  unsigned char bytes[SIZE_MAX_HERE];
  size_t size = mm_es_state_size(es);
  mm_es_save(es, bytes);
  mm_es_destroy(es);
  put(bytes, at, number);
  put(bytes, size - 8, checksum(bytes, size - 8));
  return mm_es_load(&config, bytes, size, out);
}

static void test_wrong_contents(void **state) {
  (void)state;
  const uint64_t nan = mm_bits_d(NAN), inf = mm_bits_d(INFINITY);
  const size_t vector = D * 8;
  mm_es *es;
#define REFUSED(kind, at, number, part)                                                            \
  assert_fails(load_changed(kind, at, number, &es), MM_ERR_INPUT, part);                           \
  assert_null(es)
  REFUSED(MM_ES_OPENES, 0, 0, "these 224 bytes are none");
  REFUSED(MM_ES_OPENES, VERSION, 7, "version 7: expected 1");
  REFUSED(MM_ES_OPENES, NAME, 0x6f6c6c6568, "of 'hello': expected 'openes'");
  REFUSED(MM_ES_OPENES, DIMENSION, 6, "state of openes: dimension = 6: expected 5");
  REFUSED(MM_ES_OPENES, POPULATION, 10, "state of openes: population = 10: expected 8");
  REFUSED(MM_ES_OPENES, SIGMA, nan, "sigma = ");
  REFUSED(MM_ES_OPENES, SIGMA, inf, "sigma = inf");
  REFUSED(MM_ES_OPENES, SIGMA, 0, "sigma = 0: expected a finite number > 0");
  REFUSED(MM_ES_OPENES, SIGMA, mm_bits_d(-1), "sigma = -1");
  REFUSED(MM_ES_OPENES, VECTORS + 16, nan, "coordinate 2 of the mean is");
  REFUSED(MM_ES_OPENES, VECTORS + vector, inf, "coordinate 0 of the first moment is inf");
  REFUSED(MM_ES_OPENES, VECTORS + 2 * vector, mm_bits_d(-1e-9), "second moment is -1e-09");
  REFUSED(MM_ES_SEP_CMA, VECTORS, mm_bits_d(-INFINITY), "coordinate 0 of the mean is -inf");
  REFUSED(MM_ES_SEP_CMA, VECTORS + vector, nan, "path of sigma");
  REFUSED(MM_ES_SEP_CMA, VECTORS + 2 * vector, nan, "path of C");
  REFUSED(MM_ES_SEP_CMA, VECTORS + 3 * vector + 8, 0, "coordinate 1 of the C is 0");
  REFUSED(MM_ES_SEP_CMA, VECTORS + 3 * vector, mm_bits_d(-1), "expected a finite number >= 1e-20");
#undef REFUSED

  // a coordinate too many or too few
  mm_es_config config = config_of(MM_ES_SEP_CMA);
  unsigned char bytes[SIZE_MAX_HERE] = { 0 };
  es = create(MM_ES_SEP_CMA);
  size_t size = mm_es_state_size(es);
  mm_es_save(es, bytes);
  mm_es_destroy(es);
  put(bytes, size, checksum(bytes, size));
  assert_fails(mm_es_load(&config, bytes, size + 8, &es), MM_ERR_INPUT, "272 bytes: expected 264");
  put(bytes, size - 16, checksum(bytes, size - 16));
  assert_fails(mm_es_load(&config, bytes, size - 8, &es), MM_ERR_INPUT, "256 bytes: expected 264");

  // the last generation whose draws have a name of their own, and the one after it
  double member[N * D];
  const double fitness[N] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  assert_ok(load_changed(MM_ES_OPENES, GENERATION, 0xffffffff, &es));
  assert_ok(mm_es_ask(es, member));
  assert_ok(mm_es_tell(es, fitness));
  assert_fails(mm_es_ask(es, member), MM_ERR_UNSUPPORTED, "2^32 generations");
  assert_fails(mm_es_tell(es, fitness), MM_ERR_INPUT, "asked for");
  mm_es_destroy(es);
}

static void test_other_strategy(void **state) {
  (void)state;
  for (int k = 0; k < MM_ES_KINDS; k++) {
    mm_es *es = create(k), *loaded;
    unsigned char bytes[SIZE_MAX_HERE];
    size_t size = mm_es_state_size(es);
    mm_es_save(es, bytes);
    mm_es_destroy(es);
    for (int other = 0; other < MM_ES_KINDS; other++) {
      if (other == k) continue;
      mm_es_config config = config_of(other);
      assert_fails(mm_es_load(&config, bytes, size, &loaded), MM_ERR_INPUT, "expected '");
    }
    mm_es_config config = config_of(k);
    config.sigma = -1;
    assert_fails(mm_es_load(&config, bytes, size, &loaded), MM_ERR_INPUT, "sigma = -1");
    assert_fails(mm_es_load(&config, "", 0, &loaded), MM_ERR_INPUT, "these 0 bytes are none");
  }
}

int suite_evolve_state(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_format),         cmocka_unit_test(test_damage),
    cmocka_unit_test(test_wrong_contents), cmocka_unit_test(test_other_strategy),
  };
  return cmocka_run_group_tests_name("evolve_state", tests, NULL, NULL);
}
