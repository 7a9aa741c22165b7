// SPDX-License-Identifier: Apache-2.0
// phi and phi^-1: inverse to each other, right against the oracle, and the neural map's table
// within its own bound.

#include <float.h>
#include <stdlib.h>

#include "map/map_internal.h"
#include "oracle.h"
#include "random_map.h"

static void test_inverse_matches_oracle(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(4000); i++) {
    mm_map *map = random_mild(i);
    double p[4] = { random_in(i, 20, 0, 0, 1), exp(random_in(i, 20, 1, -20, 0)), 1, 0.5 }, got[4];
    assert_ok(mm_map_phi_inverse(map, p, 4, got));
    for (int k = 0; k < 4; k++) {
      long double expected = oracle_phi_inverse(map, p[k]);
      // a few ulp of the largest term that is summed
      long double size = fabsl(expected) + fabsl(oracle_phi_inverse(map, 1)) + 1;
      if (fabsl(got[k] - expected) > 8 * DBL_EPSILON * size)
        fail_msg("case %zu (%s) p %g: %.17g, not %.17Lg", (size_t)i,
                 mm_map_kind_name(mm_map_get_kind(map)), p[k], got[k], expected);
    }
    mm_map_destroy(map);
  }
}

static void test_phi_inverts(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(3000); i++) {
    mm_map *map = random_mild(i);
    double p = exp(random_in(i, 21, 0, -12, 0)), x, back;
    assert_ok(mm_map_phi_inverse(map, &p, 1, &x));
    assert_ok(mm_map_phi(map, &x, 1, &back));
    // x is known to an ulp; phi' = 1 / phi^-1' turns that into an error of p
    long double slope = oracle_phi_inverse_slope(map, p);
    long double room = 8 * DBL_EPSILON * ((fabs(x) + 4) / slope + p);
    if (fabsl((long double)back - p) > room)
      fail_msg("case %zu (%s): phi(phi^-1(%.17g)) = %.17g", (size_t)i,
               mm_map_kind_name(mm_map_get_kind(map)), p, back);
    mm_map_destroy(map);
  }
}

// Outside [phi^-1(0), phi^-1(1)].
static void test_phi_beyond(void **state) {
  (void)state;
  mm_map *map;
  double x[4] = { -2, 0, 12, 1000 }, out[4];
  assert_ok(mm_map_create_l2(&map));
  assert_ok(mm_map_phi(map, x, 4, out));
  assert_memory_equal(out, x, sizeof x); // raw: negative values too
  mm_map_destroy(map);
  assert_ok(mm_map_open("piecewise", &map));
  assert_ok(mm_map_phi(map, x, 4, out));
  assert_true(out[0] == 0 && out[1] == 0 && out[2] == 1 && out[3] == 1);
  mm_map_destroy(map);
  assert_ok(mm_map_create_tsallis(1.5, &map));
  assert_ok(mm_map_phi(map, x, 4, out));
  assert_true(out[0] == 0 && out[1] == 0 && fabs(out[2] - 16) < 1e-13);
  mm_map_destroy(map);

  // a neural map that is l2: linear all the way, also below 0 and beyond 1
  double w[MM_NEURAL_UNITS] = { 0 }, c[MM_NEURAL_UNITS] = { 0 }, u[MM_NEURAL_UNITS] = { 0 };
  assert_ok(mm_map_create_neural(w, c, u, 1, 0, &map));
  assert_ok(mm_map_phi(map, x, 4, out));
  for (int k = 0; k < 4; k++)
    assert_true(fabs(out[k] - x[k]) <= 4 * DBL_EPSILON * fabs(x[k]));
  mm_map_destroy(map);
  // and one that is the negative entropy
  assert_ok(mm_map_create_neural(w, c, u, 0, 1, &map));
  assert_ok(mm_map_phi(map, x, 4, out));
  assert_true(fabs(out[0] - exp(-2)) < 1e-15 && fabs(out[2] / exp(12) - 1) < 1e-14);
  mm_map_destroy(map);
}

// Table against direct evaluation: 1e6 points over many maps, a third of them close to kinks.
static void test_table(void **state) {
  (void)state;
  enum { MAPS = 100, POINTS = 10000 };
  static double p[POINTS], exact[POINTS], table[POINTS];
  for (uint64_t i = 0; i < MAPS; i++) {
    mm_map *map = random_neural(i, i % 2 ? 0.5 : 2);
    const double *w, *c, *u;
    double a, b, range;
    size_t cells;
    double bound = mm_map_table_error(map, &range, &cells);
    mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
    assert_true(bound > 0 && bound < 1e-5 * range);
    for (uint32_t k = 0; k < POINTS; k++) {
      mm_stream stream = mm_stream_make(i, 0, MM_RNG_TEST, 40);
      mm_block block = mm_stream_block(stream, k);
      double t = mm_uniform_d(mm_block_pair(block, 0)), s = mm_uniform_d(mm_block_pair(block, 1));
      uint32_t j = k % MM_NEURAL_UNITS;
      double kink = w[j] > 0 ? -c[j] / w[j] : 0;
      p[k] = k % 3 ? t : kink + exp(-40 * s) * (t - 0.5);
      if (!(p[k] > 0 && p[k] <= 1)) p[k] = 1 - t;
    }
    assert_ok(mm_map_phi_inverse(map, p, POINTS, exact));
    assert_ok(mm_map_phi_inverse_tabulated(map, p, POINTS, table));
    for (uint32_t k = 0; k < POINTS; k++) {
      double rounding = 4 * DBL_EPSILON * (fabs(exact[k]) + range);
      if (fabs(table[k] - exact[k]) > bound + rounding)
        fail_msg("map %zu, p = %.17g: off by %g, bound %g", (size_t)i, p[k], table[k] - exact[k],
                 bound);
    }
    mm_map_destroy(map);
  }
}

// The table never decreases, and its inverse finds the way back.
static void test_table_monotone(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 30; i++) {
    mm_map *map = random_neural(i, 1);
    double last = -INFINITY;
    for (int k = 0; k <= 20000; k++) {
      double p = k / 20000.0, y = mm_phi_inverse_at_d(&map->engine, p);
      assert_true(y >= last - 4 * DBL_EPSILON * (fabs(y) + 1));
      last = y;
      if (k == 0 || k % 7) continue;
      double back = mm_phi_at_d(&map->engine, y).p;
      double slope = (mm_phi_inverse_at_d(&map->engine, fmin(p + 1e-9, 1)) - y) / 1e-9;
      if (k < 20000 && slope > 1e-3 && fabs(back - p) > 1e-8)
        fail_msg("map %zu: phi(phi^-1(%.17g)) = %.17g", (size_t)i, p, back);
    }
    mm_map_destroy(map);
  }
}

// Zero maps, constant maps, huge numbers: nothing crashes, and the check says what is wrong.
static void test_degenerate_neural(void **state) {
  (void)state;
  double w[MM_NEURAL_UNITS] = { 0 }, c[MM_NEURAL_UNITS] = { 0 }, u[MM_NEURAL_UNITS] = { 0 };
  double x[3] = { 1, 2, 3 }, p[3], lambda;
  mm_map *map;
  mm_map_report report;
  assert_ok(mm_map_create_neural(w, c, u, 0, 0, &map));
  mm_map_check(map, &report);
  assert_false(report.valid);
  assert_non_null(strstr(report.failure[0], "constant on (0, 1]"));
  assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, x, 3, p, &lambda));
  assert_true(fabs(p[0] + p[1] + p[2] - 1) < 1e-15);
  mm_map_destroy(map);

  u[30] = w[30] = 1; // a square that starts at 0.4: flat before
  c[30] = -0.4;
  assert_ok(mm_map_create_neural(w, c, u, 0, 0, &map));
  mm_map_check(map, &report);
  assert_false(report.valid);
  assert_non_null(strstr(report.failure[0], "constant on (0, 0.4]"));
  mm_map_destroy(map);

  u[0] = 1, w[0] = 1e200; // overflows when cubed
  assert_ok(mm_map_create_neural(w, c, u, 0, 1, &map));
  mm_map_check(map, &report);
  assert_false(report.valid);
  assert_non_null(strstr(report.failure[0], "overflows"));
  assert_fails(mm_map_project(map, MM_PROJECTION_EXACT, x, 3, p, &lambda), MM_ERR_NUMERIC,
               "not finite");
  mm_map_destroy(map);
}

int suite_potential(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_inverse_matches_oracle),
    cmocka_unit_test(test_phi_inverts),
    cmocka_unit_test(test_phi_beyond),
    cmocka_unit_test(test_table),
    cmocka_unit_test(test_table_monotone),
    cmocka_unit_test(test_degenerate_neural),
  };
  return cmocka_run_group_tests_name("potential", tests, NULL, NULL);
}
