// SPDX-License-Identifier: Apache-2.0
// Random numbers: known answers, uniformity, independence of streams, accuracy of the normal
// quantile, and shuffles.

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "statistics.h"
#include "test.h"

static mm_stream test_stream(uint32_t job) {
  return mm_stream_make(20250101, job, MM_RNG_TEST, 0);
}

static void *zeroed(size_t count, size_t size) {
  void *block = calloc(count, size);
  assert_non_null(block);
  return block;
}

// ---------------------------------------------------------------------------------------------
// Known answers

// The vectors published with Random123 (kat_vectors, philox4x32 with 10 rounds), through our
// naming: counter words 0, 1 are the index, 2 the job, 3 purpose and lane.
static void philox_gives_the_published_answers(void **state) {
  (void)state;
  static const uint32_t vectors[3][10] = {
    // counter, key, result
    { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
    { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
      0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
    { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
      0x94fdcceb, 0x5001e420, 0x24126ea1 },
  };
  for (int i = 0; i < 3; i++) {
    const uint32_t *v = vectors[i];
    uint64_t seed = (uint64_t)v[5] << 32 | v[4], index = (uint64_t)v[1] << 32 | v[0];
    mm_stream s = mm_stream_make(seed, v[2], (mm_rng_purpose)(v[3] >> 24), v[3] & 0xffffff);
    mm_block b = mm_stream_block(s, index);
    assert_memory_equal(b.word, v + 6, sizeof b.word);
    assert_int_equal(mm_block_pair(b, 0), (uint64_t)v[7] << 32 | v[6]);
    assert_int_equal(mm_block_pair(b, 1), (uint64_t)v[9] << 32 | v[8]);
  }
}

static void streams_of_different_names_differ(void **state) {
  (void)state;
  mm_block base = mm_stream_block(mm_stream_make(1, 2, MM_RNG_TEST, 3), 4);
  mm_block other[] = {
    mm_stream_block(mm_stream_make(0, 2, MM_RNG_TEST, 3), 4),
    mm_stream_block(mm_stream_make(1ull << 32 | 1, 2, MM_RNG_TEST, 3), 4),
    mm_stream_block(mm_stream_make(1, 0, MM_RNG_TEST, 3), 4),
    mm_stream_block(mm_stream_make(1, 2, MM_RNG_ACTION, 3), 4),
    mm_stream_block(mm_stream_make(1, 2, MM_RNG_TEST, 0), 4),
    mm_stream_block(mm_stream_make(1, 2, MM_RNG_TEST, 3), 5),
    mm_stream_block(mm_stream_make(1, 2, MM_RNG_TEST, 3), 1ull << 32 | 4),
  };
  for (size_t i = 0; i < sizeof other / sizeof *other; i++)
    assert_memory_not_equal(base.word, other[i].word, sizeof base.word);
}

static void purposes_have_numbers_of_their_own(void **state) {
  (void)state;
#define NUMBER(name, number) number,
  static const int numbers[] = { MM_RNG_PURPOSE_LIST(NUMBER) };
#undef NUMBER
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    assert_in_range(numbers[i], 0, 255);
    for (size_t j = 0; j < i; j++)
      assert_int_not_equal(numbers[i], numbers[j]);
  }
}

// One line of golden/rng.txt: "name input ... = output ...", all unsigned, hexadecimal with 0x.
enum { GOLDEN_MOST = 32 };

typedef struct golden {
  char name[24];
  int n_in, n_out;
  uint64_t in[GOLDEN_MOST], out[GOLDEN_MOST];
} golden;

static bool read_golden(const char *line, golden *g) {
  int at = 0, step = 0;
  memset(g, 0, sizeof *g);
  if (sscanf(line, "%23s%n", g->name, &at) != 1 || g->name[0] == '#') return false;
  bool outputs = false;
  for (char word[40]; sscanf(line + at, "%39s%n", word, &step) == 1; at += step) {
    if (strcmp(word, "=") == 0) {
      outputs = true;
      continue;
    }
    int *n = outputs ? &g->n_out : &g->n_in;
    assert_true(*n < GOLDEN_MOST);
    char *end = NULL;
    (outputs ? g->out : g->in)[(*n)++] = strtoull(word, &end, 0);
    assert_true(end != word && *end == '\0');
  }
  assert_true(g->n_in > 0 && g->n_out > 0);
  return true;
}

static mm_stream golden_stream(const golden *g) {
  return mm_stream_make(g->in[0], (uint32_t)g->in[1], (mm_rng_purpose)g->in[2], (uint32_t)g->in[3]);
}

// What we make of a line's inputs, into out[GOLDEN_MOST].
static void compute_golden(const golden *g, uint64_t *out) {
  const char *name = g->name;
  uint64_t x = g->in[0];
  if (strcmp(name, "block") == 0) {
    for (int i = 0; i < 4; i++)
      out[i] = mm_stream_block(golden_stream(g), g->in[4]).word[i];
  } else if (strcmp(name, "pair") == 0)
    out[0] = mm_stream_pair(golden_stream(g), g->in[4]);
  else if (strcmp(name, "uniform_f") == 0)
    out[0] = mm_bits_f(mm_uniform_f((uint32_t)x));
  else if (strcmp(name, "uniform_d") == 0)
    out[0] = mm_bits_d(mm_uniform_d(x));
  else if (strcmp(name, "uniform_open_d") == 0)
    out[0] = mm_bits_d(mm_uniform_open_d(x));
  else if (strcmp(name, "uniform_int") == 0)
    out[0] = mm_uniform_int(x, (uint32_t)g->in[1]);
  else if (strcmp(name, "normal_d") == 0)
    out[0] = mm_bits_d(mm_normal_d(x));
  else if (strcmp(name, "normal_f") == 0)
    out[0] = mm_bits_f(mm_normal_f((uint32_t)x));
  else if (strcmp(name, "categorical_d") == 0 || strcmp(name, "categorical_f") == 0) {
    // inputs: pair, then the row in units of 1/64
    double row_d[GOLDEN_MOST] = { 0 };
    float row_f[GOLDEN_MOST] = { 0 };
    for (int i = 1; i < g->n_in; i++)
      row_f[i - 1] = (float)(row_d[i - 1] = (double)g->in[i] / 64);
    double u = mm_uniform_d(x);
    bool is_float = name[strlen(name) - 1] == 'f';
    out[0] = (uint64_t)(is_float ? mm_categorical_f(u, row_f, g->n_in - 1)
                                 : mm_categorical_d(u, row_d, g->n_in - 1));
  } else if (strcmp(name, "shuffle") == 0) {
    // inputs: stream, number, n; outputs: where the entries 0, n/20, 2n/20, ... go
    uint32_t n = (uint32_t)g->in[5];
    mm_shuffle s = mm_shuffle_make(golden_stream(g), g->in[4], n);
    for (int i = 0; i < g->n_out; i++)
      out[i] = mm_shuffle_at(&s, (uint32_t)((uint64_t)n * (uint64_t)i / (uint64_t)g->n_out));
  } else
    fail_msg("golden/rng.txt: unknown name '%s'", name);
}

static void golden_answers_have_not_changed(void **state) {
  (void)state;
  FILE *file = fopen(MM_TEST_DATA "/golden/rng.txt", "r");
  char line[1024];
  int lines = 0;
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    golden g;
    uint64_t out[GOLDEN_MOST] = { 0 };
    if (!read_golden(line, &g)) continue;
    compute_golden(&g, out);
    for (int i = 0; i < g.n_out; i++) {
      if (out[i] != g.out[i])
        fail_msg("output %d is 0x%llx in the line: %s", i, (unsigned long long)out[i], line);
    }
    lines++;
  }
  fclose(file);
  assert_in_range(lines, 80, 10000);
}

// ---------------------------------------------------------------------------------------------
// Uniform numbers

static void uniform_numbers_stay_in_their_interval(void **state) {
  (void)state;
  assert_true(mm_uniform_f(0) == 0.0f && mm_uniform_f(UINT32_MAX) == 1.0f - 0x1p-24f);
  assert_true(mm_uniform_d(0) == 0.0 && mm_uniform_d(UINT64_MAX) == 1.0 - 0x1p-53);
  assert_true(mm_uniform_open_d(0) == 0x1p-53 && mm_uniform_open_d(UINT64_MAX) == 1.0 - 0x1p-53);
  mm_stream s = test_stream(0);
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t pair = mm_stream_pair(s, i);
    assert_true(mm_uniform_open_d(pair) == 1.0 - mm_uniform_open_d(~pair));
  }
}

static void uniform_numbers_are_uniform(void **state) {
  (void)state;
  enum { BINS = 1000, N = 400000 };
  const double expected = (double)N / BINS;
  static uint32_t count_f[4][BINS], count_d[2][BINS], count_low[BINS];
  mm_stream s = test_stream(1);
  memset(count_f, 0, sizeof count_f);
  memset(count_d, 0, sizeof count_d);
  memset(count_low, 0, sizeof count_low);
  for (uint64_t i = 0; i < N; i++) {
    mm_block b = mm_stream_block(s, i);
    for (int j = 0; j < 4; j++)
      count_f[j][(int)(mm_uniform_f(b.word[j]) * BINS)]++;
    for (int j = 0; j < 2; j++)
      count_d[j][(int)(mm_uniform_d(mm_block_pair(b, j)) * BINS)]++;
    // the lower half of a double's digits
    double scaled = mm_uniform_d(mm_block_pair(b, 0)) * 0x1p26;
    count_low[(int)((scaled - floor(scaled)) * BINS)]++;
  }
  for (int j = 0; j < 4; j++)
    assert_plausible(chi_square_p(chi_square_uniform(count_f[j], BINS, expected), BINS - 1));
  for (int j = 0; j < 2; j++)
    assert_plausible(chi_square_p(chi_square_uniform(count_d[j], BINS, expected), BINS - 1));
  assert_plausible(chi_square_p(chi_square_uniform(count_low, BINS, expected), BINS - 1));
}

static void every_bit_is_fair(void **state) {
  (void)state;
  enum { N = 200000 };
  uint32_t ones[128] = { 0 };
  mm_stream s = test_stream(2);
  for (uint64_t i = 0; i < N; i++) {
    mm_block b = mm_stream_block(s, i);
    for (int j = 0; j < 128; j++)
      ones[j] += b.word[j / 32] >> (j % 32) & 1;
  }
  for (int j = 0; j < 128; j++)
    assert_within_sigmas((ones[j] - N / 2.0) / sqrt(N / 4.0), 5);
}

static void integers_are_the_high_half_of_a_product(void **state) {
  (void)state;
  mm_stream s = test_stream(3);
  static const uint32_t fixed[] = { 1, 2, 3, 1u << 31, UINT32_MAX };
  for (uint64_t i = 0; i < 1000; i++) {
    mm_block b = mm_stream_block(s, i);
    uint64_t pair = mm_block_pair(b, 0);
    uint32_t n = i < 5 ? fixed[i] : b.word[2] >> (i % 32);
    if (n == 0) continue;
    // the same in four products of 32 bits, carried by hand as on paper
    uint64_t low = (uint64_t)(uint32_t)pair * n, high = (pair >> 32) * n;
    uint64_t middle = (low >> 32) + (uint32_t)high;
    uint64_t expected = (high >> 32) + (middle >> 32);
    assert_int_equal(mm_uniform_int(pair, n), expected);
    assert_int_equal(mm_uniform_int(0, n), 0);
    assert_int_equal(mm_uniform_int(UINT64_MAX, n), n - 1);
  }
}

static void integers_are_uniform(void **state) {
  (void)state;
  static const uint32_t sizes[] = { 2, 3, 5, 6, 7, 10, 18, 100, 1000 };
  enum { N = 300000 };
  uint32_t count[1000];
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint32_t n = sizes[k];
    mm_stream s = test_stream(100 + n);
    memset(count, 0, sizeof count);
    for (uint64_t i = 0; i < N; i++)
      count[mm_uniform_int(mm_stream_pair(s, i), n)]++;
    assert_plausible(chi_square_p(chi_square_uniform(count, n, N / (double)n), n - 1));
  }
}

// ---------------------------------------------------------------------------------------------
// Independence of neighbours

// Whether uniform numbers x(i), y(i) are independent: a 32 x 32 table and their correlation.
typedef struct dependence {
  uint32_t count[32 * 32];
  double n, x, y, xx, yy, xy;
} dependence;

static void add_pair(dependence *d, double x, double y) {
  d->count[(int)(x * 32) * 32 + (int)(y * 32)]++;
  d->n++;
  d->x += x;
  d->y += y;
  d->xx += x * x;
  d->yy += y * y;
  d->xy += x * y;
}

static void assert_independent(const dependence *d) {
  double covariance = d->xy / d->n - d->x / d->n * (d->y / d->n);
  double variance_x = d->xx / d->n - d->x / d->n * (d->x / d->n);
  double variance_y = d->yy / d->n - d->y / d->n * (d->y / d->n);
  assert_within_sigmas(covariance / sqrt(variance_x * variance_y) * sqrt(d->n), 5);
  assert_plausible(chi_square_p(chi_square_uniform(d->count, 1024, d->n / 1024), 1023));
}

static double uniform_of(uint64_t seed, uint32_t job, mm_rng_purpose purpose, uint32_t lane,
                         uint64_t index) {
  return mm_uniform_d(
      mm_block_pair(mm_stream_block(mm_stream_make(seed, job, purpose, lane), index), 0));
}

// Each kind of neighbour: the next index, lane, job, seed, purpose, and the other half of a block.
static void neighbouring_streams_are_independent(void **state) {
  (void)state;
  enum { N = 100000, KINDS = 6 };
  dependence *d = zeroed(KINDS, sizeof *d);
  for (uint32_t i = 0; i < N; i++) {
    mm_block b = mm_stream_block(mm_stream_make(9, 9, MM_RNG_TEST, 9), i);
    add_pair(&d[0], mm_uniform_d(mm_block_pair(b, 0)), mm_uniform_d(mm_block_pair(b, 1)));
    add_pair(&d[1], uniform_of(9, 9, MM_RNG_TEST, 9, 2 * (uint64_t)i),
             uniform_of(9, 9, MM_RNG_TEST, 9, 2 * (uint64_t)i + 1));
    add_pair(&d[2], uniform_of(9, 9, MM_RNG_TEST, 2 * i, 0),
             uniform_of(9, 9, MM_RNG_TEST, 2 * i + 1, 0));
    add_pair(&d[3], uniform_of(9, 2 * i, MM_RNG_TEST, 9, 0),
             uniform_of(9, 2 * i + 1, MM_RNG_TEST, 9, 0));
    add_pair(&d[4], uniform_of(2 * (uint64_t)i, 9, MM_RNG_TEST, 9, 0),
             uniform_of(2 * (uint64_t)i + 1, 9, MM_RNG_TEST, 9, 0));
    add_pair(&d[5], uniform_of(9, 9, MM_RNG_ACTION, 9, i), uniform_of(9, 9, MM_RNG_SHUFFLE, 9, i));
  }
  for (int k = 0; k < KINDS; k++)
    assert_independent(&d[k]);
  free(d);
}

// ---------------------------------------------------------------------------------------------
// Normal numbers

// The relative error of x as the p-quantile, from the distribution function in long double. Near
// p = 1/2 the difference to 1/2 is compared, elsewhere the nearer tail.
static double quantile_error(double p, double x) {
  const long double root_half = 0.70710678118654752440084436210484904L;
  const long double root_2pi = 2.50662827463100050241576528481104525L;
  long double z = x, q = (long double)p - 0.5L, off;
  if (q == 0) return x == 0 ? 0 : INFINITY;
  if (fabsl(q) < 0.3L)
    off = erfl(z * root_half) / 2 - q;
  else if (q < 0)
    off = erfcl(-z * root_half) / 2 - (long double)p;
  else
    off = (1 - (long double)p) - erfcl(z * root_half) / 2;
  return (double)fabsl(off * root_2pi * expl(z * z / 2) / z);
}

static void the_normal_quantile_is_accurate(void **state) {
  (void)state;
  volatile long double one = 1;
  if (one + 0x1p-60L == one) skip(); // no more digits here than in a double (or under valgrind)
  double worst = 0;
  mm_stream s = test_stream(4);
  for (uint64_t i = 0; i < 200000; i++) {
    mm_block b = mm_stream_block(s, i);
    double p = mm_uniform_open_d(mm_block_pair(b, 0));
    // every third far in a tail, every third close to 1/2
    if (i % 3 == 1) p = ldexp(p, -(int)(b.word[2] % 60));
    if (i % 3 == 2) p = 0.5 + ldexp(p - 0.5, -(int)(b.word[2] % 40));
    worst = fmax(worst, quantile_error(p, mm_normal_quantile_d(p)));
  }
  // the joints of the three pieces, and the ends
  static const double special[] = { 0.075,  0.925, 1.388794386496402e-11, 0x1p-53, 1 - 0x1p-53,
                                    1e-300, 0.5 };
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    for (int j = -2; j <= 2; j++) {
      double p = special[i] * (1 + j * 0x1p-52);
      if (p < 1) worst = fmax(worst, quantile_error(p, mm_normal_quantile_d(p)));
    }
  }
  print_message("normal quantile: largest relative error %.2g\n", worst);
  assert_true(worst < 1e-15);
}

static void the_single_precision_normal_is_accurate(void **state) {
  (void)state;
  double worst = 0;
  mm_stream s = test_stream(5);
  for (uint64_t i = 0; i < 200000; i++) {
    mm_block b = mm_stream_block(s, i);
    uint32_t word = b.word[0];
    if (i % 2) word >>= b.word[1] % 32; // far tails
    if (i % 4 == 3) word = ~word;
    float x = mm_normal_f(word);
    double exact = mm_normal_quantile_d((word + 0.5) * 0x1p-32);
    worst = fmax(worst, fabs((double)x - exact) / fabs(exact));
    assert_true(mm_normal_f(~word) == -x);
  }
  print_message("single precision normal: largest relative error %.2g\n", worst);
  assert_true(worst < 5e-7);
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Moments up to the fourth, Kolmogorov-Smirnov, and counts beyond 1 to 4.5 standard deviations.
static void assert_normal(double *x, size_t n) {
  double sum[5] = { 0 }, distance = 0;
  for (size_t i = 0; i < n; i++) {
    for (int k = 1; k <= 4; k++)
      sum[k] += pow(x[i], k);
  }
  double root_n = sqrt((double)n);
  assert_within_sigmas(sum[1] / (double)n * root_n, 5);
  assert_within_sigmas((sum[2] / (double)n - 1) * root_n / sqrt(2.0), 5);
  assert_within_sigmas(sum[3] / (double)n * root_n / sqrt(15.0), 5);
  assert_within_sigmas((sum[4] / (double)n - 3) * root_n / sqrt(96.0), 5);
  qsort(x, n, sizeof *x, compare_doubles);
  for (size_t i = 0; i < n; i++) {
    double f = erfc(-x[i] / sqrt(2.0)) / 2;
    distance = fmax(distance, fmax((double)(i + 1) / (double)n - f, f - (double)i / (double)n));
  }
  assert_plausible(kolmogorov_p(distance, (double)n));
  for (int halves = 2; halves <= 9; halves++) {
    double t = halves / 2.0, below = 0, above = 0, p = erfc(t / sqrt(2.0)) / 2,
           expected = p * (double)n;
    for (size_t i = 0; i < n; i++) {
      below += x[i] < -t;
      above += x[i] > t;
    }
    // Poisson tails are longer than the normal's where few are expected
    double limit = expected > 100 ? 5 : 7;
    assert_within_sigmas((below - expected) / sqrt(expected * (1 - p)), limit);
    assert_within_sigmas((above - expected) / sqrt(expected * (1 - p)), limit);
  }
}

static void normal_numbers_are_normal(void **state) {
  (void)state;
  enum { N = 600000 };
  double *x = zeroed(N, sizeof *x);
  mm_stream s = test_stream(6);
  for (uint64_t i = 0; i < N; i++)
    x[i] = mm_normal_d(mm_stream_pair(s, i));
  assert_normal(x, N);
  for (uint64_t i = 0; i < N; i++)
    x[i] = (double)mm_normal_f(mm_stream_block(s, N + i / 4).word[i % 4]);
  assert_normal(x, N);
  free(x);
  assert_true(mm_normal_d(0) < -8.2 && mm_normal_d(0) > -8.3);
  assert_true(mm_normal_d(UINT64_MAX) == -mm_normal_d(0));
  assert_true(mm_normal_f(0) < -6.2f && mm_normal_f(0) > -6.4f);
}

// ---------------------------------------------------------------------------------------------
// Categories

static void categories_follow_their_probabilities(void **state) {
  (void)state;
  static const double row[] = { 0, 0.1, 0.25, 0, 0.05, 0.4, 1e-3, 0.199, 0 };
  enum { K = sizeof row / sizeof *row, N = 400000 };
  float row_f[K];
  uint32_t count[2][K] = { { 0 } };
  mm_stream s = test_stream(7);
  for (int k = 0; k < K; k++)
    row_f[k] = (float)row[k];
  for (uint64_t i = 0; i < N; i++) {
    mm_block b = mm_stream_block(s, i);
    count[0][mm_categorical_d(mm_uniform_d(mm_block_pair(b, 0)), row, K)]++;
    count[1][mm_categorical_f(mm_uniform_d(mm_block_pair(b, 1)), row_f, K)]++;
  }
  for (int form = 0; form < 2; form++) {
    double chi_square = 0;
    for (int k = 0; k < K; k++) {
      double expected = row[k] * N, off = count[form][k] - expected;
      if (row[k] > 0) chi_square += off * off / expected;
      if (row[k] <= 0) assert_int_equal(count[form][k], 0);
    }
    assert_plausible(chi_square_p(chi_square, 5));
  }
}

static void categories_at_the_edges(void **state) {
  (void)state;
  static const double half[] = { 0, 0.5, 0, 0.5, 0 }, short_sum[] = { 0.3, 0.3, 0, 0 };
  static const double one[] = { 1 }, none[] = { 0, 0 }, odd[] = { (double)NAN, -1, 0.5, 0.5 };
  static const float tiny[] = { 1e-30f, 1.0f, 0 };
  const double last = 1.0 - 0x1p-53;
  assert_int_equal(mm_categorical_d(0.0, half, 5), 1);
  assert_int_equal(mm_categorical_d(0.5 - 0x1p-53, half, 5), 1);
  assert_int_equal(mm_categorical_d(0.5, half, 5), 3);
  assert_int_equal(mm_categorical_d(last, half, 5), 3);
  assert_int_equal(mm_categorical_d(last, short_sum, 4), 1); // the remainder
  assert_int_equal(mm_categorical_d(last, one, 1), 0);
  assert_int_equal(mm_categorical_d(0.5, none, 2), 0);
  assert_int_equal(mm_categorical_d(0.0, odd, 4), 2);
  assert_int_equal(mm_categorical_f(0.0, tiny, 3), 0);
  assert_int_equal(mm_categorical_f(0x1p-53, tiny, 3), 1);
  assert_int_equal(mm_categorical_f(last, tiny, 3), 1);
}

// ---------------------------------------------------------------------------------------------
// Shuffles

static void assert_bijection(uint64_t index, uint32_t n) {
  bool *seen = zeroed(n, sizeof *seen);
  mm_shuffle s = mm_shuffle_make(test_stream(8), index, n);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t j = mm_shuffle_at(&s, i);
    assert_true(j < n && !seen[j]);
    seen[j] = true;
  }
  free(seen);
}

static void shuffles_are_bijections(void **state) {
  (void)state;
  static const uint32_t sizes[] = { 512,  1000, 1023, 1024,  1025,  4093,   4095,
                                    4096, 4097, 5003, 32768, 65521, 131071, 1000003 };
  for (uint32_t n = 1; n <= 300; n++) {
    for (uint64_t index = 0; index < 5; index++)
      assert_bijection(index, n);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    assert_bijection(i, sizes[i]);
}

static int compare_words(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

// The largest sizes: a sample of entries goes to different places within the range.
static void all_entries_go_where_each_does(void **state) {
  (void)state;
  static const uint32_t sizes[] = { 1,   2,    16,   17,    18,    31,    64,    100,   511,
                                    512, 1000, 4097, 32767, 32768, 65535, 65536, 65537, 100000 };
  for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint32_t n = sizes[k], *to = malloc(n * sizeof *to);
    assert_non_null(to);
    mm_shuffle s = mm_shuffle_make(test_stream(7), k, n);
    mm_shuffle_all(&s, to);
    for (uint32_t i = 0; i < n; i++)
      if (to[i] != mm_shuffle_at(&s, i)) fail_msg("%u entries: number %u", n, i);
    free(to);
  }
}

static void the_largest_shuffles_hold(void **state) {
  (void)state;
  static const uint32_t sizes[] = { 1u << 31, (1u << 31) - 1, (1u << 30) + 1, 2000000011 };
  enum { N = 200000 };
  uint32_t *to = zeroed(N, sizeof *to), bins[64];
  for (int k = 0; k < 4; k++) {
    uint32_t n = sizes[k];
    mm_shuffle s = mm_shuffle_make(test_stream(9), (uint64_t)k, n);
    memset(bins, 0, sizeof bins);
    for (uint32_t i = 0; i < N; i++) {
      to[i] = mm_shuffle_at(&s, i % 2 ? n - 1 - i / 2 : i / 2);
      assert_true(to[i] < n);
      bins[(uint64_t)to[i] * 64 / n]++;
    }
    qsort(to, N, sizeof *to, compare_words);
    for (uint32_t i = 1; i < N; i++)
      assert_true(to[i - 1] != to[i]);
    assert_plausible(chi_square_p(chi_square_uniform(bins, 64, N / 64.0), 63));
  }
  free(to);
}

// The place of a permutation of n <= 6 entries in [0, n!).
static uint32_t rank_of(const mm_shuffle *s, uint32_t n) {
  uint32_t rank = 0, to[6];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t smaller = 0;
    to[i] = mm_shuffle_at(s, i);
    for (uint32_t j = 0; j < i; j++)
      smaller += to[j] < to[i];
    rank = rank * (i + 1) + smaller;
  }
  return rank;
}

static void all_small_permutations_are_equally_likely(void **state) {
  (void)state;
  uint32_t factorial = 1, count[720];
  for (uint32_t n = 2; n <= 6; n++) {
    factorial *= n;
    uint32_t draws = 200 * factorial + 20000;
    memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < draws; i++) {
      mm_shuffle s = mm_shuffle_make(test_stream(10 + n), i, n);
      count[rank_of(&s, n)]++;
    }
    double chi_square = chi_square_uniform(count, factorial, draws / (double)factorial);
    assert_plausible(chi_square_p(chi_square, factorial - 1));
  }
}

// Where each entry goes, over many shuffles: n (n - 1) of the n^2 counts are free in rows that each
// sum to the number of shuffles, and the columns do too.
static void every_entry_goes_everywhere(void **state) {
  (void)state;
  static const uint32_t sizes[] = { 9, 16, 17, 20, 33, 100, 512 };
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint32_t n = sizes[k], draws = 4000;
    uint32_t *count = zeroed((size_t)n * n, sizeof *count);
    for (uint32_t d = 0; d < draws; d++) {
      mm_shuffle s = mm_shuffle_make(test_stream(20), d, n);
      for (uint32_t i = 0; i < n; i++)
        count[i * n + mm_shuffle_at(&s, i)]++;
    }
    double chi_square = chi_square_uniform(count, (size_t)n * n, draws / (double)n);
    // the sum over a random permutation matrix exceeds that of independent cells by n / (n - 1)
    chi_square *= (n - 1) / (double)n;
    assert_plausible(chi_square_p(chi_square, (n - 1.0) * (n - 1.0)));
    free(count);
  }
}

// The joint places of two entries, for pairs that the network treats alike at first: neighbours,
// and the same place in neighbouring or distant rows of the a x b grid.
static void assert_pair_uniform(uint32_t n, uint32_t i, uint32_t j, uint32_t draws) {
  uint32_t cells = n < 64 ? n : 16; // of equal width
  uint32_t *count = zeroed((size_t)cells * cells, sizeof *count);
  for (uint32_t d = 0; d < draws; d++) {
    mm_shuffle s = mm_shuffle_make(test_stream(21 + n), d, n);
    uint32_t x = mm_shuffle_at(&s, i) * cells / n, y = mm_shuffle_at(&s, j) * cells / n;
    count[x * cells + y]++;
  }
  double chi_square = 0, width = n / (double)cells, per_cell = draws / ((double)n * (n - 1));
  size_t used = 0;
  for (uint32_t x = 0; x < cells; x++) {
    for (uint32_t y = 0; y < cells; y++) {
      double expected = per_cell * (x == y ? width * (width - 1) : width * width);
      double off = count[x * cells + y] - expected;
      if (expected <= 0) assert_int_equal(count[x * cells + y], 0);
      if (expected <= 0) continue;
      chi_square += off * off / expected;
      used++;
    }
  }
  free(count);
  assert_plausible(chi_square_p(chi_square, (double)used - 1));
}

static void pairs_of_entries_are_independent(void **state) {
  (void)state;
  static const uint32_t sizes[] = { 17, 20, 32, 512, 32768 };
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint32_t n = sizes[k];
    mm_shuffle s = mm_shuffle_make(test_stream(0), 0, n);
    uint32_t b = 1u << s.shift;
    assert_pair_uniform(n, 0, 1, 40000);
    assert_pair_uniform(n, 0, b, 40000);
    assert_pair_uniform(n, 0, (n - 1) / b * b, 40000);
    assert_pair_uniform(n, n / 2, n - 1, 40000);
  }
  // the hardest case: the smallest network, the same r. Half the rounds would fail here.
  assert_pair_uniform(17, 0, 16, 1000000);
}

// One shuffle by itself: neighbouring entries of each must not stay related for any key.
static void single_shuffles_are_mixed(void **state) {
  (void)state;
  enum { N = 32768, CELLS = 16 };
  uint32_t *to = zeroed(N, sizeof *to), count[CELLS * CELLS];
  for (uint64_t key = 0; key < 40; key++) {
    mm_shuffle s = mm_shuffle_make(test_stream(22), key, N);
    for (uint32_t i = 0; i < N; i++)
      to[i] = mm_shuffle_at(&s, i);
    const uint32_t lags[] = { 1, 2, 1u << s.shift, 2u << s.shift };
    for (int k = 0; k < 4; k++) {
      memset(count, 0, sizeof count);
      for (uint32_t i = 0; i < N; i++)
        count[to[i] * CELLS / N * CELLS + to[(i + lags[k]) % N] * CELLS / N]++;
      // rows and columns have fixed sums
      double chi_square = chi_square_uniform(count, CELLS * CELLS, N / (double)(CELLS * CELLS));
      assert_plausible(chi_square_p(chi_square, (CELLS - 1) * (CELLS - 1)));
    }
  }
  free(to);
}

int suite_rng(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_gives_the_published_answers),
    cmocka_unit_test(streams_of_different_names_differ),
    cmocka_unit_test(purposes_have_numbers_of_their_own),
    cmocka_unit_test(golden_answers_have_not_changed),
    cmocka_unit_test(uniform_numbers_stay_in_their_interval),
    cmocka_unit_test(uniform_numbers_are_uniform),
    cmocka_unit_test(every_bit_is_fair),
    cmocka_unit_test(integers_are_the_high_half_of_a_product),
    cmocka_unit_test(integers_are_uniform),
    cmocka_unit_test(neighbouring_streams_are_independent),
    cmocka_unit_test(the_normal_quantile_is_accurate),
    cmocka_unit_test(the_single_precision_normal_is_accurate),
    cmocka_unit_test(normal_numbers_are_normal),
    cmocka_unit_test(categories_follow_their_probabilities),
    cmocka_unit_test(categories_at_the_edges),
    cmocka_unit_test(shuffles_are_bijections),
    cmocka_unit_test(all_entries_go_where_each_does),
    cmocka_unit_test(the_largest_shuffles_hold),
    cmocka_unit_test(all_small_permutations_are_equally_likely),
    cmocka_unit_test(every_entry_goes_everywhere),
    cmocka_unit_test(pairs_of_entries_are_independent),
    cmocka_unit_test(single_shuffles_are_mixed),
  };
  return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
