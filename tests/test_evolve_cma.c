// SPDX-License-Identifier: Apache-2.0
// cma-es and cma-es:lr-adapt call by call: steps against the formulas written down once more, in
// long double and with another way to the root of C; whole searches where the covariance and the
// learning rates matter; the state as bytes.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "es_rig.h"
#include "evolve/es_internal.h"
#include "test.h"

enum { D = 6, N = 64 };

// ---------------------------------------------------------------------------------------------
// The oracle

typedef long double matrix[D][D];

static void invert(matrix a, matrix out) {
  matrix m;
  memcpy(m, a, sizeof m);
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++)
      out[i][j] = i == j;
  for (int p = 0; p < D; p++) { // positive definite: no pivoting
    long double scale = 1 / m[p][p];
    for (int j = 0; j < D; j++) {
      m[p][j] *= scale;
      out[p][j] *= scale;
    }
    for (int i = 0; i < D; i++) {
      if (i == p) continue;
      long double factor = m[i][p];
      for (int j = 0; j < D; j++) {
        m[i][j] -= factor * m[p][j];
        out[i][j] -= factor * out[p][j];
      }
    }
  }
}

// C^-1/2 by the iteration of Denman and Beavers.
static void inverse_root(matrix c, matrix out) {
  matrix y, z = { { 0 } }, yi, zi;
  memcpy(y, c, sizeof y);
  for (int i = 0; i < D; i++)
    z[i][i] = 1;
  for (int round = 0; round < 60; round++) {
    invert(y, yi);
    invert(z, zi);
    for (int i = 0; i < D; i++)
      for (int j = 0; j < D; j++) {
        y[i][j] = (y[i][j] + zi[i][j]) / 2;
        z[i][j] = (z[i][j] + yi[i][j]) / 2;
      }
  }
  memcpy(out, z, sizeof z);
}

typedef struct oracle {
  long double mean[D], p_s[D], p_c[D], sigma;
  matrix C;
  int stalled;
  // of the learning rates: of the mean, and of sigma^2 C
  long double eta[2], V[2], E_mean[D];
  matrix E_S;
} oracle;

// The constants of the tutorial for 6 coordinates and 64 members, from its formulas, and pycma's
// damping.
typedef struct constants {
  long double w[N], mueff, c_s, d_s, c_c, c_1, c_mu, chi;
} constants;

static constants constants_of_tutorial(void) {
  constants c;
  long double n = D, up = 0, up2 = 0, down = 0, down2 = 0;
  for (int i = 0; i < N; i++) {
    c.w[i] = logl((N + 1) / 2.0L) - logl(i + 1);
    *(i < N / 2 ? &up : &down) += c.w[i];
    *(i < N / 2 ? &up2 : &down2) += c.w[i] * c.w[i];
  }
  c.mueff = up * up / up2;
  long double mueff_down = down * down / down2;
  c.c_s = (c.mueff + 2) / (n + c.mueff + 5);
  long double inner = fmaxl(1, 3 * (1 - powl(0.5L, n / 9)));
  c.d_s = 1 + 2 * fmaxl(0, inner * sqrtl((c.mueff - 1) / (n + 1)) - 1) + c.c_s;
  c.c_c = (4 + c.mueff / n) / (n + 4 + 2 * c.mueff / n);
  c.c_1 = 2 / ((n + 1.3L) * (n + 1.3L) + c.mueff);
  c.c_mu =
      fminl(1 - c.c_1, 2 * (0.25L + c.mueff + 1 / c.mueff - 2) / ((n + 2) * (n + 2) + c.mueff));
  c.chi = sqrtl(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  long double a_mu = 1 + c.c_1 / c.c_mu, a_eff = 1 + 2 * mueff_down / (c.mueff + 2);
  long double a_pos = (1 - c.c_1 - c.c_mu) / (n * c.c_mu);
  for (int i = 0; i < N; i++)
    c.w[i] *= i < N / 2 ? 1 / up : fminl(a_mu, fminl(a_eff, a_pos)) / -down;
  return c;
}

static void oracle_step(oracle *o, const mm_es *es, const double *member, int generation) {
  constants c = constants_of_tutorial();
  matrix root;
  inverse_root(o->C, root);
  long double y[N][D], y_w[D] = { 0 }, length = 0, sum = 0;
  for (int r = 0; r < N; r++) {
    sum += c.w[r];
    for (int j = 0; j < D; j++) {
      y[r][j] = (member[es->ranked[r].member * D + (size_t)j] - o->mean[j]) / o->sigma;
      if (r < N / 2) y_w[j] += c.w[r] * y[r][j];
    }
  }
  for (int j = 0; j < D; j++) {
    long double white = 0;
    for (int k = 0; k < D; k++)
      white += root[j][k] * y_w[k];
    o->p_s[j] = (1 - c.c_s) * o->p_s[j] + sqrtl(c.c_s * (2 - c.c_s) * c.mueff) * white;
    length += o->p_s[j] * o->p_s[j];
  }
  length = sqrtl(length);
  long double grown = sqrtl(1 - powl(1 - c.c_s, 2 * (generation + 1)));
  int h = length / grown < (1.4L + 2 / (D + 1.0L)) * c.chi;
  o->stalled += !h;
  for (int j = 0; j < D; j++)
    o->p_c[j] = (1 - c.c_c) * o->p_c[j] + h * sqrtl(c.c_c * (2 - c.c_c) * c.mueff) * y_w[j];
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++)
      o->C[i][j] = (1 - c.c_1 - c.c_mu * sum + (1 - h) * c.c_1 * c.c_c * (2 - c.c_c)) * o->C[i][j] +
                   c.c_1 * o->p_c[i] * o->p_c[j];
  for (int r = 0; r < N; r++) {
    long double squares = 0;
    for (int j = 0; j < D; j++) {
      long double white = 0;
      for (int k = 0; k < D; k++)
        white += root[j][k] * y[r][k];
      squares += white * white;
    }
    long double w = c.w[r] >= 0 ? c.w[r] : c.w[r] * D / squares;
    for (int i = 0; i < D; i++)
      for (int j = 0; j < D; j++)
        o->C[i][j] += c.c_mu * w * y[r][i] * y[r][j];
  }
  for (int j = 0; j < D; j++)
    o->mean[j] += o->sigma * y_w[j];
  o->sigma *= expl(fminl(1, c.c_s / c.d_s * (length / c.chi - 1)));
}

static long double next_eta(oracle *o, int which, long double beta, long double step,
                            long double followed) {
  o->V[which] = (1 - beta) * o->V[which] + beta * step;
  long double snr = (followed - beta / (2 - beta) * o->V[which]) / (o->V[which] - followed);
  long double relative = fminl(1, fmaxl(-1, snr / 1.4L / o->eta[which] - 1));
  o->eta[which] *= expl(fminl(0.1L * o->eta[which], beta) * relative);
  return o->eta[which] = fminl(1, o->eta[which]);
}

// sqrt of the determinant, by Gauss without pivoting.
static long double root_of_determinant(matrix a) {
  matrix m;
  memcpy(m, a, sizeof m);
  long double product = 1;
  for (int p = 0; p < D; p++) {
    product *= m[p][p];
    for (int i = p + 1; i < D; i++)
      for (int j = D; j-- > p;)
        m[i][j] -= m[i][p] / m[p][p] * m[p][j];
  }
  return sqrtl(product);
}

// The step that is proposed is that of oracle_step, from `was` to `o`.
static void oracle_adapt(oracle *o, oracle *was) {
  matrix root, change, half, u;
  inverse_root(was->C, root);
  long double step = 0, followed = 0, old_eta = o->eta[0];
  for (int i = 0; i < D; i++) {
    long double local = 0;
    for (int j = 0; j < D; j++) {
      local += root[i][j] / was->sigma * (o->mean[j] - was->mean[j]);
      change[i][j] = o->sigma * o->sigma * o->C[i][j] - was->sigma * was->sigma * was->C[i][j];
    }
    o->E_mean[i] = 0.9L * o->E_mean[i] + 0.1L * local;
    step += local * local;
    followed += o->E_mean[i] * o->E_mean[i];
  }
  long double eta = next_eta(o, 0, 0.1L, step, followed);
  step = followed = 0;
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++) {
      half[i][j] = 0;
      for (int k = 0; k < D; k++)
        half[i][j] += root[i][k] * change[k][j];
    }
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++) {
      u[i][j] = 0;
      for (int k = 0; k < D; k++)
        u[i][j] += half[i][k] * root[k][j] / (sqrtl(2) * was->sigma * was->sigma);
      o->E_S[i][j] = 0.97L * o->E_S[i][j] + 0.03L * u[i][j];
      step += u[i][j] * u[i][j];
      followed += o->E_S[i][j] * o->E_S[i][j];
    }
  long double eta_S = next_eta(o, 1, 0.03L, step, followed);
  for (int i = 0; i < D; i++) {
    o->mean[i] = was->mean[i] + eta * (o->mean[i] - was->mean[i]);
    for (int j = 0; j < D; j++)
      o->C[i][j] = was->sigma * was->sigma * was->C[i][j] + eta_S * change[i][j];
  }
  o->sigma = powl(root_of_determinant(o->C), 1.0L / D);
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++)
      o->C[i][j] /= o->sigma * o->sigma;
  o->sigma *= old_eta / eta;
}

// A tilted valley, which turns the axes, then a slope, on which the path grows too long, then noise
// alone, in which learning rates fall.
static double fitness_of(const double *x, int generation) {
  if (generation >= 24) return sin(1e4 * x[0]);
  if (generation >= 12) return x[0] + 0.1 * x[1];
  double sum = 0;
  for (int j = 0; j + 1 < D; j++)
    sum -= (x[j] - 2 * x[j + 1]) * (x[j] - 2 * x[j + 1]) * (j + 1);
  return sum - 0.01 * x[0] * x[0];
}

static void check_steps(mm_es_kind kind) {
  mm_es *es = create(kind, D, N);
  oracle o = { .sigma = 0.5L, .eta = { 1, 1 } }, was;
  for (int j = 0; j < D; j++) {
    o.mean[j] = mm_es_mean(es)[j];
    o.C[j][j] = 1;
  }
  for (int g = 0; g < 40; g++) {
    double member[N * D], fitness[N];
    assert_ok(mm_es_ask(es, member));
    for (int i = 0; i < N; i++)
      fitness[i] = fitness_of(member + i * D, g);
    assert_ok(mm_es_tell(es, fitness));
    was = o;
    oracle_step(&o, es, member, g);
    if (kind == MM_ES_CMA_LR) oracle_adapt(&o, &was);
    assert_true(fabsl(es->sigma / o.sigma - 1) < 1e-9L);
    for (int i = 0; i < D; i++) {
      assert_true(fabsl(es->now[0][i] - o.mean[i]) <= 1e-9L * (1 + fabsl(o.mean[i])));
      assert_true(fabsl(es->now[1][i] - o.p_s[i]) <= 1e-9L * (1 + fabsl(o.p_s[i])));
      assert_true(fabsl(es->now[2][i] - o.p_c[i]) <= 1e-9L * (1 + fabsl(o.p_c[i])));
      for (int j = 0; j < D; j++) {
        assert_true(fabsl(es->now[3][i * D + j] - o.C[i][j]) <= 1e-9L * (1 + fabsl(o.C[i][j])));
        assert_true(es->now[3][i * D + j] == es->now[3][j * D + i]);
      }
    }
  }
  assert_true(o.stalled > 0 && o.stalled < 40);
  assert_true(mm_es_axis_ratio(es) > 2);
  if (kind == MM_ES_CMA_LR) {
    for (int i = 0; i < 2; i++)
      assert_true(o.eta[i] < 0.9L && fabsl(es->now[6][2 * i] / o.eta[i] - 1) <= 1e-9L);
  }
  mm_es_destroy(es);
}

static void test_steps(void **state) {
  (void)state;
  check_steps(MM_ES_CMA);
}

static void test_steps_of_learning_rates(void **state) {
  (void)state;
  check_steps(MM_ES_CMA_LR);
}

// ---------------------------------------------------------------------------------------------
// Whole searches

// An ellipsoid of condition 1e6 whose axes lie across the coordinates: neighbours are added up.
static double tilted(const double *x, size_t n) {
  double sum = 0, before = 0;
  for (size_t j = 0; j < n; j++) {
    double u = x[j] + before;
    before = x[j];
    sum += mm_pow_d(10, 6 * (double)j / (double)(n - 1)) * u * u;
  }
  return sum;
}

static int generations_until(mm_es_kind kind, double goal, int most) {
  enum { n = 10, population = 20 };
  mm_es_config config = mm_es_config_default(kind);
  config.dimension = n;
  config.population = population;
  config.sigma = 1;
  double start[n], member[n * population], fitness[population];
  for (size_t j = 0; j < n; j++)
    start[j] = 3;
  mm_es *es;
  assert_ok(mm_es_create(&config, start, &es));
  int g = 0;
  for (double best = INFINITY; g < most && best > goal; g++) {
    assert_ok(mm_es_ask(es, member));
    for (size_t i = 0; i < population; i++) {
      fitness[i] = -tilted(member + i * n, n);
      best = fmin(best, -fitness[i]);
    }
    assert_ok(mm_es_tell(es, fitness));
  }
  mm_es_destroy(es);
  return g;
}

static void test_tilted_ellipsoid(void **state) {
  (void)state;
  int full = generations_until(MM_ES_CMA, 1e-8, 1000);
  int diagonal = generations_until(MM_ES_SEP_CMA, 1e-8, 2000);
  if (full > 400 || diagonal < 3 * full)
    fail_msg("generations to 1e-8: cma-es %d, sep-cma-es %d", full, diagonal);
}

// f = |x|^2 at the mean over its start, when members see as much noise as f varies at the start.
static double left_under_noise(mm_es_kind kind, uint64_t seed) {
  enum { n = 20, population = 64, generations = 150 };
  mm_es_config config = mm_es_config_default(kind);
  config.dimension = n, config.population = population, config.sigma = 0.5, config.seed = seed;
  double start[n], member[n * population], fitness[population], left = 0;
  for (size_t j = 0; j < n; j++)
    start[j] = 1;
  mm_es *es;
  assert_ok(mm_es_create(&config, start, &es));
  for (uint32_t g = 0; g < generations; g++) {
    assert_ok(mm_es_ask(es, member));
    for (size_t i = 0; i < population; i++) {
      mm_stream stream = mm_stream_make(seed, g, MM_RNG_TEST, (uint32_t)i);
      fitness[i] = -10 * mm_normal_d(mm_block_pair(mm_stream_block(stream, 0), 0));
      for (size_t j = 0; j < n; j++)
        fitness[i] -= member[i * n + j] * member[i * n + j];
    }
    assert_ok(mm_es_tell(es, fitness));
  }
  for (size_t j = 0; j < n; j++)
    left += mm_es_mean(es)[j] * mm_es_mean(es)[j] / n;
  mm_es_destroy(es);
  return left;
}

// Each search comes nearer with learning rates that adapt.
static void test_noise(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 5; seed++) {
    double fixed = left_under_noise(MM_ES_CMA, seed),
           adapted = left_under_noise(MM_ES_CMA_LR, seed);
    if (!(adapted < fixed / 2)) fail_msg("left: %g, with learning rates %g", fixed, adapted);
  }
}

// ---------------------------------------------------------------------------------------------
// Bounds and bytes

static void test_dimensions(void **state) {
  (void)state;
  mm_es_config config = mm_es_config_default(MM_ES_CMA);
  double mean[65] = { 0 };
  mm_es *es;
  config.dimension = 65;
  assert_int_equal(mm_es_create(&config, mean, &es), MM_ERR_INPUT);
  assert_string_equal(mm_last_error(),
                      "cma-es: dimension = 65: expected 1 to 64 (sep-cma-es takes more)");
  for (config.dimension = 1; config.dimension <= 64; config.dimension += 63) {
    double member[64 * 128], fitness[128];
    assert_ok(mm_es_create(&config, mean, &es));
    for (int g = 0; g < 3; g++) {
      assert_ok(mm_es_ask(es, member));
      for (size_t i = 0; i < 128; i++)
        fitness[i] = -member[i * config.dimension];
      assert_ok(mm_es_tell(es, fitness));
    }
    mm_es_destroy(es);
  }
}

static void advance(mm_es *es, int generations) {
  double member[N * D], fitness[N];
  for (int g = 0; g < generations; g++) {
    assert_ok(mm_es_ask(es, member));
    for (int i = 0; i < N; i++)
      fitness[i] = fitness_of(member + i * D, 0);
    assert_ok(mm_es_tell(es, fitness));
  }
}

static void check_state(mm_es_kind kind) {
  mm_es *es = create(kind, D, N), *other;
  advance(es, 7);
  size_t size = mm_es_state_size(es);
  unsigned char *bytes = malloc(size), *expected = malloc(size);
  mm_es_save(es, bytes);
  assert_ok(mm_es_load(mm_es_get_config(es), bytes, size, &other));
  advance(es, 5);
  advance(other, 5);
  mm_es_save(es, expected);
  mm_es_save(other, bytes);
  assert_memory_equal(bytes, expected, size);
  free(bytes);
  free(expected);
  mm_es_destroy(es);
  mm_es_destroy(other);
}

static void test_state(void **state) {
  (void)state;
  check_state(MM_ES_CMA);
  check_state(MM_ES_CMA_LR);
}

// When all are equal, nothing moves.
static void test_flat(void **state) {
  (void)state;
  mm_es *es = create(MM_ES_CMA, D, N);
  advance(es, 3);
  double member[N * D], mean[D], fitness[N] = { 0 }, sigma = mm_es_sigma(es);
  memcpy(mean, mm_es_mean(es), sizeof mean);
  assert_ok(mm_es_ask(es, member));
  assert_ok(mm_es_tell(es, fitness));
  assert_memory_equal(mean, mm_es_mean(es), sizeof mean);
  assert_true(mm_es_sigma(es) == sigma && mm_es_generation(es) == 4);
  mm_es_destroy(es);
}

int suite_evolve_cma(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_steps),
    cmocka_unit_test(test_steps_of_learning_rates),
    cmocka_unit_test(test_tilted_ellipsoid),
    cmocka_unit_test(test_noise),
    cmocka_unit_test(test_dimensions),
    cmocka_unit_test(test_state),
    cmocka_unit_test(test_flat),
  };
  return cmocka_run_group_tests_name("evolve_cma", tests, NULL, NULL);
}
