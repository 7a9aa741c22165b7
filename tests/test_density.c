// SPDX-License-Identifier: Apache-2.0
// Maps on densities: the divergences and gradients of the sheet (continuous-control.md 8.5) by
// quadrature and by samples, differences without cancellation, bounds, and the bits of all builds.

#include <math.h>
#include <stdlib.h>

#include "agent/gaussian_objective.h"
#include "base/isa.h"
#include "map/map_internal.h"
#include "random_map.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// The sheet's example: q = N(0.2, 0.5^2), p = N(0.35, 0.42^2)

typedef struct normal {
  double mean, std;
} normal;

static const normal P = { 0.35, 0.42 }, Q = { 0.2, 0.5 };

static double log_normal(normal n, double x) {
  double z = (x - n.mean) / n.std;
  return -z * z / 2 - log(n.std) - log(2 * acos(-1)) / 2;
}

// phi^-1 = a x + b log x + u s(x) with one unit of kind `block`.
static mm_map *one_unit(int block, double u, double a, double b) {
  double w[MM_NEURAL_UNITS] = { 0 }, c[MM_NEURAL_UNITS] = { 0 }, us[MM_NEURAL_UNITS] = { 0 };
  mm_map *map;
  w[block * MM_BLOCK] = 1;
  us[block * MM_BLOCK] = u;
  assert_ok(mm_map_create_neural(w, c, us, a, b, &map));
  return map;
}

enum { ROWS_OF_TABLE = 4 };

static const struct row {
  double divergence, by_mean, by_log_std;
} table[ROWS_OF_TABLE] = {
  { 0.072153, 0.60000, -0.29440 }, // log x
  { 0.022886, 0.20932, -0.10265 }, // x
  { 0.018302, 0.16750, -0.07483 }, // sqrt x
  { 0.036516, 0.27912, -0.20934 }, // x^3 + 0.2 log x
};

static mm_map *map_of_table(int i) {
  mm_map *map = NULL;
  if (i == 0) assert_ok(mm_map_create_negentropy(&map));
  if (i == 1) assert_ok(mm_map_create_l2(&map));
  return i == 2 ? one_unit(2, 1, 0, 0) : i == 3 ? one_unit(0, 1, 0, 0.2) : map;
}

typedef struct moments {
  double divergence, by_mean, by_log_std;
} moments;

// What a point x adds to the expectations over q.
static moments at_point(const mm_density *f, double x) {
  int64_t acted = 0;
  double lp = log_normal(P, x), lq = log_normal(Q, x), z = (x - P.mean) / P.std;
  double pull = exp(lp - lq) * mm_density_rise_d(&f->d, lp, lq, &acted);
  return (moments){ mm_density_divergence(f, lp, lq), pull * z / P.std, pull * (z * z - 1) };
}

static moments by_quadrature(const mm_density *f) {
  const double low = -6, high = 6.4, n = 20000, h = (high - low) / n;
  moments sum = { 0, 0, 0 };
  for (int i = 0; i <= n; i++) {
    double x = low + i * h, weight = h * exp(log_normal(Q, x)) * (i == 0 || i == n ? 0.5 : 1);
    moments m = at_point(f, x);
    sum.divergence += weight * m.divergence;
    sum.by_mean += weight * m.by_mean;
    sum.by_log_std += weight * m.by_log_std;
  }
  return sum;
}

static void test_table_by_quadrature(void **state) {
  (void)state;
  for (int i = 0; i < ROWS_OF_TABLE; i++) {
    mm_density f;
    mm_map *map = map_of_table(i);
    mm_density_make(map, 1, &f);
    moments m = by_quadrature(&f);
    assert_true(fabs(m.divergence - table[i].divergence) < 6e-7);
    assert_true(fabs(m.by_mean - table[i].by_mean) < 6e-6);
    assert_true(fabs(m.by_log_std - table[i].by_log_std) < 6e-6);
    mm_map_destroy(map);
  }
}

// Within four standard errors, and no sample negative.
static void test_table_by_samples(void **state) {
  (void)state;
  enum { SAMPLES = 400000 };
  mm_stream stream = mm_stream_make(21, 0, MM_RNG_TEST, 0);
  for (int i = 0; i < ROWS_OF_TABLE; i++) {
    mm_density f;
    mm_map *map = map_of_table(i);
    mm_density_make(map, 1, &f);
    double sum[3] = { 0 }, square[3] = { 0 };
    for (uint64_t k = 0; k < SAMPLES; k++) {
      moments m = at_point(&f, Q.mean + Q.std * mm_normal_d(mm_stream_pair(stream, k)));
      const double x[3] = { m.divergence, m.by_mean, m.by_log_std };
      assert_true(x[0] >= 0);
      for (int j = 0; j < 3; j++) {
        sum[j] += x[j];
        square[j] += x[j] * x[j];
      }
    }
    const double expected[3] = { table[i].divergence, table[i].by_mean, table[i].by_log_std };
    for (int j = 0; j < 3; j++) {
      double mean = sum[j] / SAMPLES, variance = square[j] / SAMPLES - mean * mean;
      assert_true(fabs(mean - expected[j]) < 4 * sqrt(variance / SAMPLES) + 6e-6);
    }
    mm_map_destroy(map);
  }
}

static void test_closed_forms(void **state) {
  (void)state;
  const double d = P.mean - Q.mean, s = P.std * P.std, root = 2 * sqrt(acos(-1));
  const double kl = log(Q.std / P.std) + (s + d * d) / (2 * Q.std * Q.std) - 0.5;
  const normal both = { 0, sqrt(s + Q.std * Q.std) };
  const double l2 = 0.5 * (1 / (root * P.std) + 1 / (root * Q.std) - 2 * exp(log_normal(both, d)));
  const double expected[2] = { kl, l2 };
  for (int i = 0; i < 2; i++) {
    mm_density f;
    mm_map *map = map_of_table(i);
    mm_density_make(map, 1, &f);
    assert_true(fabs(by_quadrature(&f).divergence - expected[i]) < 1e-10);
    mm_map_destroy(map);
  }
}

// ---------------------------------------------------------------------------------------------
// Maps of every kind

enum { MAPS = 14 };

static mm_map *some_map(int i) {
  mm_map *map = NULL;
  switch (i) {
  case 0:
    assert_ok(mm_map_create_negentropy(&map));
    return map;
  case 1:
    assert_ok(mm_map_create_l2(&map));
    return map;
  case 2:
    assert_ok(mm_map_create_tsallis(0.5, &map));
    return map;
  case 3:
    assert_ok(mm_map_create_tsallis(1.5, &map));
    return map;
  case 4:
    assert_ok(mm_map_create_tsallis(4, &map));
    return map;
  case 5:
    assert_ok(mm_map_open("piecewise", &map));
    return map;
  case 6:
    assert_ok(mm_map_open("random:7", &map));
    return map;
  case 7:
    assert_ok(mm_map_open("neural", &map));
    return map;
  case 8:
    assert_ok(mm_map_open("random-neural:3", &map));
    return map;
  default:
    return one_unit((i - 9) % 6, 0.7, 0.1, i % 2 ? 0 : 0.5);
  }
}

// phi^-1 itself, beyond 1 too.
static double inverse(const mm_map *map, double p) {
  const mm_potential_d *e = &map->exact;
  double slope;
  if (e->kind != MM_MAP_NEURAL) return mm_phi_inverse_d(e, p);
  return mm_units_d(e, p, &slope) + e->a * p + (e->b > 0 ? e->b * log(p) : 0);
}

// Where p and q are apart, subtraction has its digits.
static void test_against_subtraction(void **state) {
  (void)state;
  for (int i = 0; i < MAPS; i++) {
    mm_map *map = some_map(i);
    mm_density f, scaled;
    mm_density_make(map, 1, &f);
    mm_density_make(map, 8, &scaled);
    for (uint64_t k = 0; k < 400; k++) {
      double lq = random_in(k, 40, 0, -9, 1), lp = lq + random_in(k, 41, 0, -2, 2);
      int64_t acted = 0;
      int32_t acted_f = 0;
      double p = inverse(map, exp(lp)), q = inverse(map, exp(lq)), rise = p - q;
      double size = fmax(fabs(p), fabs(q)) + 1e-3, bound = 1e-9 * size + 1e-7 * fabs(rise);
      double found = mm_density_rise_d(&f.d, lp, lq, &acted);
      if (!(fabs(found - rise) <= bound))
        fail_msg("map %d, log p %g, log q %g: expected %.12g, found %.12g", i, lp, lq, rise, found);
      assert_true((found > 0) == (lp > lq) || found == 0);
      // float: what the logarithms are rounded to moves both
      float single = mm_density_rise_f(&f.f, (float)lp, (float)lq, &acted_f);
      assert_true(fabs((double)single - rise) <= 3e-5 * (fabs(rise) + size));
      found = mm_density_rise_d(&scaled.d, lp - log(8), lq - log(8), &acted);
      assert_true(fabs(found - rise) <= bound);
      assert_int_equal(acted, 0);
      assert_int_equal(acted_f, 0);
    }
    mm_map_destroy(map);
  }
}

// Where they are nearly the same, it is the slope times the distance to nearly all digits.
static void test_no_cancellation(void **state) {
  (void)state;
  for (int i = 0; i < MAPS; i++) {
    mm_map *map = some_map(i);
    mm_density f;
    mm_density_make(map, 1, &f);
    for (uint64_t k = 0; k < 100; k++) {
      double lq = random_in(k, 42, 0, -6, 1.5), q = exp(lq), h = 1e-3 * q;
      int64_t acted = 0;
      // kinks have no slope: a piecewise one is taken within its segment, units away from theirs
      double above = inverse(map, q + h), at = inverse(map, q), below = inverse(map, q - h);
      double slope = (above - below) / (2 * h), bend = fabs(above - 2 * at + below) / h;
      if (bend > 0.1 * slope) continue;
      double d = 1e-9, rise = mm_density_rise_d(&f.d, lq + d, lq, &acted);
      double step = (lq + d) - lq; // what was asked for, exactly
      assert_true(fabs(rise - q * slope * step) <= 0.02 * fabs(q * slope * step));
      double twice = mm_density_rise_d(&f.d, lq + 2 * d, lq, &acted);
      assert_true(fabs(twice - 2 * rise) <= 1e-6 * fabs(twice));
      assert_true(mm_density_rise_d(&f.d, lq, lq, &acted) == 0);
    }
    mm_map_destroy(map);
  }
}

// d/d log p of d(p, q)/q is r (phi^-1(p) - phi^-1(q)); the divergence is 0 at p = q and nowhere
// negative.
static void test_derivative(void **state) {
  (void)state;
  for (int i = 0; i < MAPS; i++) {
    mm_map *map = some_map(i);
    mm_density f;
    mm_density_make(map, 1, &f);
    for (uint64_t k = 0; k < 200; k++) {
      double lq = random_in(k, 43, 0, -7, 1), lp = lq + random_in(k, 44, 0, -2, 2), h = 1e-5;
      int64_t acted = 0;
      double above = mm_density_divergence(&f, lp + h, lq);
      double below = mm_density_divergence(&f, lp - h, lq);
      double slope = exp(lp - lq) * mm_density_rise_d(&f.d, lp, lq, &acted);
      double size = fabs(above) + fabs(slope) + 1e-6;
      if (!(fabs((above - below) / (2 * h) - slope) <= 2e-4 * size))
        fail_msg("map %d, log p %g, log q %g: expected %.12g, found %.12g", i, lp, lq, slope,
                 (above - below) / (2 * h));
      assert_true(above >= 0 && below >= 0);
      assert_true(mm_density_divergence(&f, lq, lq) == 0);
    }
    mm_map_destroy(map);
  }
}

// A unit that depends on nothing adds a constant to phi^-1, and that is nothing.
static void test_constant_is_nothing(void **state) {
  (void)state;
  double w[MM_NEURAL_UNITS], c[MM_NEURAL_UNITS], u[MM_NEURAL_UNITS];
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    w[j] = j % 3 ? 0.5 + j * 0.01 : 0;
    c[j] = -0.5 + j * 0.01;
    u[j] = w[j] > 0 ? 0.01 : 0;
  }
  mm_map *plain, *shifted;
  assert_ok(mm_map_create_neural(w, c, u, 0.2, 0.5, &plain));
  for (int j = 0; j < MM_NEURAL_UNITS; j++)
    if (w[j] == 0) u[j] = 3;
  assert_ok(mm_map_create_neural(w, c, u, 0.2, 0.5, &shifted));
  mm_density a, b;
  mm_density_make(plain, 1, &a);
  mm_density_make(shifted, 1, &b);
  for (uint64_t k = 0; k < 100; k++) {
    double lq = random_in(k, 45, 0, -7, 2), lp = lq + random_in(k, 46, 0, -2, 2);
    int64_t acted = 0;
    assert_true(mm_density_rise_d(&a.d, lp, lq, &acted) == mm_density_rise_d(&b.d, lp, lq, &acted));
    assert_true(mm_density_divergence(&a, lp, lq) == mm_density_divergence(&b, lp, lq));
  }
  mm_map_destroy(plain);
  mm_map_destroy(shifted);
}

static void test_piecewise_beyond_1(void **state) {
  (void)state;
  const double psi[2] = { 0.5, 3 };
  mm_map *map;
  mm_density f;
  int64_t acted = 0;
  assert_ok(mm_map_create_piecewise(psi, 2, &map));
  mm_density_make(map, 1, &f);
  // phi^-1: 0.5 at 1/2, 3.5 at 1, then 3.5 + (p - 1)
  assert_true(fabs(mm_density_rise_d(&f.d, log(3), log(1.5), &acted) - 1.5) < 1e-12);
  assert_true(fabs(mm_density_rise_d(&f.d, log(3), log(0.75), &acted) - 3.5) < 1e-12);
  assert_true(fabs(mm_density_rise_d(&f.d, log(0.25), log(3), &acted) + 5.25) < 1e-12);
  // d(3, 0.5) = int (phi^-1(x) - 0.5) = 0.75 + int_1^3 (2 + x) dx = 0.75 + 8, over 0.5
  assert_true(fabs(mm_density_divergence(&f, log(3), log(0.5)) - 17.5) < 1e-9);
  mm_map_destroy(map);
}

// ---------------------------------------------------------------------------------------------
// Bounds

static void test_extremes_are_finite(void **state) {
  (void)state;
  const double at[] = { -1e30, -1e4, -90, -31, -29, -5, 0, 3, 29, 31, 90, 1e4, 1e30 };
  enum { POINTS = sizeof at / sizeof *at };
  double big[3][MM_NEURAL_UNITS];
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    big[0][j] = 1e250;
    big[1][j] = j % 2 ? 1e200 : -1e200;
    big[2][j] = 1e80;
  }
  size_t acted_at_all = 0;
  for (int i = 0; i <= MAPS; i++) {
    mm_map *map;
    mm_density f;
    if (i < MAPS)
      map = some_map(i);
    else
      assert_ok(mm_map_create_neural(big[0], big[1], big[2], 1e300, 1e300, &map));
    mm_density_make(map, 1, &f);
    for (int p = 0; p < POINTS; p++)
      for (int q = 0; q < POINTS; q++) {
        int64_t acted = 0;
        int32_t acted_f = 0;
        double rise = mm_density_rise_d(&f.d, at[p], at[q], &acted);
        double single = (double)mm_density_rise_f(&f.f, (float)at[p], (float)at[q], &acted_f);
        double gap = mm_density_divergence(&f, at[p], at[q]);
        assert_true(fabs(rise) <= MM_DENSITY_MOST && fabs(single) <= MM_DENSITY_MOST * 1.000001);
        assert_true(gap >= 0 && gap <= MM_DENSITY_MOST);
        assert_true(p > q ? rise >= 0 : p < q ? rise <= 0 : rise == 0);
        assert_true(p > q ? single >= 0 : p < q ? single <= 0 : single == 0);
        bool far = fabs(at[p]) > MM_DENSITY_RANGE || fabs(at[q]) > MM_DENSITY_RANGE;
        if (i > 0) assert_int_equal((acted & MM_DENSITY_CLAMPED) != 0, far);
        acted_at_all += acted != 0;
      }
    mm_map_destroy(map);
  }
  assert_true(acted_at_all > 100);
}

// The logarithm goes on beyond the range in which densities count.
static void test_logarithm_beyond(void **state) {
  (void)state;
  mm_map *map = one_unit(5, 0.5, 1, 2);
  mm_density f;
  int64_t acted = 0;
  mm_density_make(map, 1, &f);
  double rise = mm_density_rise_d(&f.d, -40, -45, &acted);
  assert_true(fabs(rise - 10) < 1e-9);
  assert_int_equal(acted, MM_DENSITY_CLAMPED);
  mm_map_destroy(map);
}

static void test_rows_and_builds(void **state) {
  (void)state;
  enum { N = 203 };
  static const char *const names[] = { "portable", "avx2", "avx512" };
  float lp[N], lq[N], out[3][N];
  uint8_t acted[3][N];
  for (int i = 0; i < MAPS; i++) {
    mm_map *map = some_map(i);
    mm_density f;
    int builds = 0;
    mm_density_make(map, 1, &f);
    for (int k = 0; k < N; k++) {
      lq[k] = (float)random_in((uint64_t)k, 47, 0, -35, 35);
      lp[k] = lq[k] + (float)random_in((uint64_t)k, 48, 0, -0.5, 0.5);
    }
    for (int isa = 0; isa < 3; isa++) {
      if (mm_isa_select(names[isa]) == MM_ERR_UNSUPPORTED) continue;
      mm_density_rows_current()(&f, N, lp, lq, out[builds], acted[builds]);
      if (builds > 0) {
        assert_memory_equal(out[builds], out[0], sizeof out[0]);
        assert_memory_equal(acted[builds], acted[0], sizeof acted[0]);
      }
      builds++;
    }
    for (int k = 0; k < N; k++) {
      int64_t flags = 0;
      int32_t flags_f = 0;
      float wide = (float)mm_density_rise_d(&f.d, (double)lp[k], (double)lq[k], &flags);
      float single = mm_density_rise_f(&f.f, lp[k], lq[k], &flags_f);
      bool neural = mm_map_get_kind(map) == MM_MAP_NEURAL;
      assert_true(out[0][k] == (neural ? wide : single));
      assert_int_equal(acted[0][k], neural ? flags : flags_f);
    }
    mm_map_destroy(map);
  }
  assert_ok(mm_isa_select("auto"));
}

// ---------------------------------------------------------------------------------------------
// The objective

static void test_first_minibatch(void **state) {
  (void)state;
  enum { N = 100 };
  float lq[N], advantage[N], gain[N], weight[N];
  for (int i = 0; i < MAPS; i++) {
    mm_map *map = some_map(i);
    mm_gaussian_objective o;
    mm_gaussian_objective_make(map, 1, false, 0.5, 0.2, &o);
    mm_gaussian_objective_begin(&o);
    for (int k = 0; k < N; k++) {
      lq[k] = (float)random_in((uint64_t)k, 49, 0, -20, 10);
      advantage[k] = (float)random_normal((uint64_t)k, 50, 0);
    }
    mm_gaussian_objective_weigh(&o, N, lq, lq, advantage, gain, weight);
    for (int k = 0; k < N; k++)
      assert_true(weight[k] == 0.5f * advantage[k] && gain[k] == weight[k]);
    mm_gaussian_report r = mm_gaussian_objective_report(&o);
    assert_true(r.samples == N && r.ess == 1 && r.max_delta == 0 && r.nonfinite == 0);
    mm_map_destroy(map);
  }
}

// phi^-1 and eta k times as large: k times the weight.
static void test_scale_of_the_map(void **state) {
  (void)state;
  mm_map *once = one_unit(1, 0.4, 0.1, 0.3), *twice = one_unit(1, 0.8, 0.2, 0.6);
  mm_gaussian_objective a, b;
  mm_gaussian_objective_make(once, 1, false, 0.5, 0.2, &a);
  mm_gaussian_objective_make(twice, 1, false, 1, 0.2, &b);
  for (uint64_t k = 0; k < 50; k++) {
    float lq = (float)random_in(k, 51, 0, -5, 1), lp = lq + (float)random_in(k, 52, 0, -1, 1);
    float advantage = (float)random_normal(k, 53, 0), gain, x, y;
    mm_gaussian_objective_weigh(&a, 1, &lp, &lq, &advantage, &gain, &x);
    mm_gaussian_objective_weigh(&b, 1, &lp, &lq, &advantage, &gain, &y);
    assert_true(fabs((double)(y - 2 * x)) <= 1e-6 * fabs((double)y));
  }
  mm_map_destroy(once);
  mm_map_destroy(twice);
}

// The Kullback-Leibler divergence of negentropy, measured; the effective sample size by hand.
static void test_report(void **state) {
  (void)state;
  mm_map *map;
  assert_ok(mm_map_create_negentropy(&map));
  mm_gaussian_objective o;
  mm_gaussian_objective_make(map, 1, false, 0.5, 0.2, &o);
  mm_gaussian_objective_begin(&o);
  o.measure = true;
  float lq[3] = { 0, 0, 0 }, lp[3] = { 0, 0.5f, -25 }, advantage[3] = { 1, 1, 1 };
  float gain[3], weight[3];
  mm_gaussian_objective_weigh(&o, 3, lp, lq, advantage, gain, weight);
  mm_gaussian_report r = mm_gaussian_objective_report(&o);
  double e = exp(0.5), gap = (0 + (0.5 * e - e + 1) + (1 - 26 * exp(-25))) / 3;
  assert_true(fabs(r.divergence - gap) < 1e-9);
  assert_true(fabs(r.ess - pow(1 + e, 2) / (3 * (1 + e * e))) < 1e-6);
  assert_true(r.max_delta == 25 && r.clamped == 1 && r.capped == 0);
  assert_true(fabs((double)weight[1] - e * (0.5 - 0.5)) < 1e-6);
  mm_map_destroy(map);
}

static void test_ppo(void **state) {
  (void)state;
  mm_map *map;
  assert_ok(mm_map_create_negentropy(&map));
  mm_gaussian_objective o;
  mm_gaussian_objective_make(map, 1, true, 0.5, 0.2, &o);
  mm_gaussian_objective_begin(&o);
  float lq[5] = { 0, 0, 0, 0, 0 }, lp[5] = { 0.1f, 0.3f, 0.3f, -0.3f, -0.3f };
  float advantage[5] = { 2, 2, -2, 2, -2 }, gain[5], weight[5];
  mm_gaussian_objective_weigh(&o, 5, lp, lq, advantage, gain, weight);
  const double expected[5] = { 2 * exp(0.1), 0, -2 * exp(0.3), 2 * exp(-0.3), 0 };
  const double value[5] = { 2 * exp(0.1), 2.4, -2 * exp(0.3), 2 * exp(-0.3), -1.6 };
  for (int i = 0; i < 5; i++) {
    assert_true(fabs((double)weight[i] - expected[i]) < 1e-6);
    assert_true(fabs((double)gain[i] - value[i]) < 1e-6);
  }
  mm_map_destroy(map);
}

// A sample that is not finite counts as nothing; more than one in a thousand are too many.
static void test_not_finite(void **state) {
  (void)state;
  for (int ppo = 0; ppo < 2; ppo++) {
    mm_map *map;
    mm_gaussian_objective o;
    assert_ok(mm_map_create_negentropy(&map));
    mm_gaussian_objective_make(map, 1, ppo == 1, 0.5, 0.2, &o);
    mm_gaussian_objective_begin(&o);
    float one = -1, more = -1.5f, nan = NAN, advantage = 1, gain, weight;
    for (int i = 0; i < 999; i++)
      mm_gaussian_objective_weigh(&o, 1, &one, &more, &advantage, &gain, &weight);
    mm_gaussian_objective_weigh(&o, 1, &nan, &one, &advantage, &gain, &weight);
    assert_true(weight == 0 && gain == 0 && o.report.nonfinite == 1);
    assert_false(mm_gaussian_objective_broken(&o));
    mm_gaussian_objective_weigh(&o, 1, &one, &one, &nan, &gain, &weight);
    assert_true(weight == 0 && o.report.nonfinite == 2);
    assert_true(mm_gaussian_objective_broken(&o));
    mm_map_destroy(map);
  }
}

int suite_density(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_table_by_quadrature),
    cmocka_unit_test(test_table_by_samples),
    cmocka_unit_test(test_closed_forms),
    cmocka_unit_test(test_against_subtraction),
    cmocka_unit_test(test_no_cancellation),
    cmocka_unit_test(test_derivative),
    cmocka_unit_test(test_constant_is_nothing),
    cmocka_unit_test(test_piecewise_beyond_1),
    cmocka_unit_test(test_extremes_are_finite),
    cmocka_unit_test(test_logarithm_beyond),
    cmocka_unit_test(test_rows_and_builds),
    cmocka_unit_test(test_first_minibatch),
    cmocka_unit_test(test_scale_of_the_map),
    cmocka_unit_test(test_report),
    cmocka_unit_test(test_ppo),
    cmocka_unit_test(test_not_finite),
  };
  return cmocka_run_group_tests_name("density", tests, NULL, NULL);
}
