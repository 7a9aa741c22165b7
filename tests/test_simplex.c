// SPDX-License-Identifier: Apache-2.0
// The projection: golden data, the tables of the specification, and its properties over thousands
// of random maps and scores.

#include <cjson/cJSON.h>
#include <float.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/isa.h"
#include "base/json.h"
#include "base/status.h"
#include "map/batch.h"
#include "map/map_internal.h"
#include "oracle.h"
#include "random_map.h"

// ---------------------------------------------------------------------------------------------
// Golden data

static cJSON *read_golden(void) {
  const char *path = MM_TEST_DATA "/golden/ampo_projection.json";
  char *text;
  size_t length;
  cJSON *root;
  assert_ok(mm_file_read(path, 1 << 20, &text, &length));
  assert_ok(mm_json_parse(text, length, path, &root));
  mm_free(text);
  return root;
}

// Numbers written as float32: read as such and widened.
static size_t read_row(const cJSON *array, bool single, double *out) {
  size_t n = 0;
  for (const cJSON *item = array->child; item; item = item->next)
    out[n++] = single ? (double)(float)item->valuedouble : item->valuedouble;
  return n;
}

static mm_map *golden_map(const cJSON *root, const char *phi) {
  mm_map *map;
  if (strcmp(phi, "exp") == 0) {
    assert_ok(mm_map_create_negentropy(&map));
  } else if (strcmp(phi, "identity") == 0) {
    assert_ok(mm_map_create_l2(&map));
  } else if (strcmp(phi, "piecewise") == 0) {
    double psi[100];
    assert_int_equal(read_row(mm_json_find(root, "psi"), true, psi), 100);
    assert_ok(mm_map_create_piecewise(psi, 100, &map));
  } else {
    assert_ok(mm_map_create_tsallis(strcmp(phi, "tsallis_0.5") == 0 ? 0.5 : 1.5, &map));
  }
  return map;
}

static void check_row(const mm_map *map, const double *x, size_t n, const double *exact,
                      const double *reference) {
  double p[8], lambda;
  float x_f[8], p_f[8], lambda_f;
  for (size_t a = 0; a < n; a++)
    x_f[a] = (float)x[a];
  assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, x, n, p, &lambda));
  for (size_t a = 0; a < n; a++)
    assert_true(fabs(p[a] - exact[a]) <= 1e-12);
  assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x_f, 1, n, p_f, &lambda_f));
  for (size_t a = 0; a < n; a++)
    assert_true(fabs((double)p_f[a] - exact[a]) <= 1e-6);
  // the reference's ten bisections, in both precisions
  assert_ok(mm_map_project(map, MM_PROJECTION_BISECT10, x, n, p, &lambda));
  assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_BISECT10, x_f, 1, n, p_f, &lambda_f));
  for (size_t a = 0; a < n; a++) {
    assert_true(fabs(p[a] - reference[a]) <= 1e-5);
    assert_true(fabs((double)p_f[a] - reference[a]) <= 1e-5);
  }
}

static void test_golden(void **state) {
  (void)state;
  cJSON *root = read_golden();
  size_t rows = 0;
  for (const cJSON *c = mm_json_find(root, "cases")->child; c; c = c->next) {
    mm_map *map = golden_map(root, mm_json_find(c, "phi")->valuestring);
    const cJSON *x = mm_json_find(c, "x")->child, *exact = mm_json_find(c, "probs_exact")->child;
    const cJSON *reference = mm_json_find(c, "probs")->child;
    for (; x; x = x->next, exact = exact->next, reference = reference->next, rows++) {
      double scores[8] = { 0 }, p_exact[8] = { 0 }, p_reference[8] = { 0 };
      size_t n = read_row(x, true, scores);
      read_row(exact, false, p_exact);
      read_row(reference, true, p_reference);
      check_row(map, scores, n, p_exact, p_reference);
    }
    mm_map_destroy(map);
  }
  assert_int_equal(rows, 315);
  cJSON_Delete(root);
}

// ---------------------------------------------------------------------------------------------
// Properties

// p >= 0, sum 1 within 4 units in the last place of 1, higher scores never get less.
static void check_policy(const double *x, const double *p, size_t n, double epsilon, uint64_t i) {
  long double sum = 0;
  for (size_t a = 0; a < n; a++) {
    if (!(p[a] >= 0)) fail_msg("case %zu: p[%zu] = %g", (size_t)i, a, p[a]);
    sum += p[a];
    for (size_t b = 0; b < n; b++)
      if (x[a] >= x[b] && p[a] < p[b])
        fail_msg("case %zu: scores %.17g >= %.17g, but %.17g < %.17g", (size_t)i, x[a], x[b], p[a],
                 p[b]);
  }
  if (fabsl(sum - 1) > 4 * epsilon) fail_msg("case %zu: sum - 1 = %Lg", (size_t)i, sum - 1);
}

// lambda a few units in the last place lower leaves the sum at or below 1, higher at or above: the
// sum crosses 1 within its backward error. Units are those of the numbers that lambda is made of.
static void check_lambda(const mm_map *map, const double *x, size_t n, double lambda, uint64_t i) {
  mm_map_report report;
  mm_map_check(map, &report);
  double size = fabs(report.phi_inverse_at_1) + fabs(lambda);
  for (size_t a = 0; a < n; a++)
    size = fmax(size, fabs(x[a]));
  long double step = 8 * DBL_EPSILON * (long double)size;
  long double below = oracle_total(map, x, n, lambda - step);
  long double above = oracle_total(map, x, n, lambda + step);
  // the oracle itself is good to about this
  if (below > 1 + 1e-15L || above < 1 - 1e-15L)
    fail_msg("case %zu (%s, %zu actions): lambda %.17g, sums %.17Lg .. %.17Lg", (size_t)i,
             mm_map_kind_name(mm_map_get_kind(map)), n, lambda, below, above);
}

// The oracle inverts a neural map by bisection over 126 units: a sample of those must do.
static bool oracle_is_cheap(const mm_map *map, uint64_t i) {
  return mm_map_get_kind(map) != MM_MAP_NEURAL || (i / 8) % 8 == 0;
}

static void check_projection(const mm_map *map, uint64_t i) {
  double x[18], p[18], lambda, widened[18];
  float x_f[18], p_f[18], lambda_f;
  size_t n = random_scores(i, x);
  assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, x, n, p, &lambda));
  check_policy(x, p, n, DBL_EPSILON, i);
  if (oracle_is_cheap(map, i)) check_lambda(map, x, n, lambda, i);
  for (size_t a = 0; a < n; a++)
    x_f[a] = (float)x[a];
  assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x_f, 1, n, p_f, &lambda_f));
  for (size_t a = 0; a < n; a++) {
    x[a] = (double)x_f[a];
    widened[a] = (double)p_f[a];
  }
  check_policy(x, widened, n, FLT_EPSILON, i);
}

static void test_properties_mild(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(6000); i++) {
    mm_map *map = random_mild(i);
    check_projection(map, i);
    mm_map_destroy(map);
  }
}

static void test_properties_rough(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(6000); i++) {
    mm_map *map = random_piecewise(i, true);
    check_projection(map, i);
    mm_map_destroy(map);
  }
}

// The single-precision policy is the exact one of scores that differ by a few units in the last
// place of the numbers involved (and by the table's error).
static void check_float(const mm_map *map, const float *x_f, const float *p_f, size_t n,
                        uint64_t i) {
  double x[18], p[18], lambda, size = 1;
  size_t steps;
  const double *psi = mm_map_piecewise_psi(map, &steps);
  for (size_t j = 0; j < steps; j++)
    size += psi[j];
  for (size_t a = 0; a < n; a++) {
    x[a] = (double)x_f[a];
    size = fmax(size, fabs(x[a]));
  }
  assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, x, n, p, &lambda));
  double shift = 6 * FLT_EPSILON * size + 2 * mm_map_table_error(map, NULL, NULL);
  for (size_t a = 0; a < n; a++) {
    long double least = oracle_phi(map, x[a] + (long double)lambda - shift);
    long double most = oracle_phi(map, x[a] + (long double)lambda + shift);
    if (p_f[a] < least * (1 - 4e-6L) - 1e-37L || p_f[a] > most * (1 + 4e-6L) + 1e-37L)
      fail_msg("case %zu (%s q %g): %.9g, not %.9g", (size_t)i,
               mm_map_kind_name(mm_map_get_kind(map)), mm_map_tsallis_q(map), (double)p_f[a], p[a]);
  }
}

static void test_float_agrees(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(4000); i++) {
    mm_map *map = random_mild(i);
    double x[18];
    float x_f[18], p_f[18];
    size_t n = random_scores(i, x);
    for (size_t a = 0; a < n; a++)
      x_f[a] = (float)x[a];
    assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x_f, 1, n, p_f, NULL));
    if (oracle_is_cheap(map, i)) check_float(map, x_f, p_f, n, i);
    mm_map_destroy(map);
  }
}

// The paper's appendix: continuing phi beyond W with slope 1 changes no policy.
static long double continued_total(const mm_map *map, const double *x, size_t n, double w,
                                   long double lambda) {
  long double total = 0;
  for (size_t a = 0; a < n; a++) {
    long double y = x[a] + lambda;
    total += y > w ? 1 + (y - w) : oracle_phi(map, y);
  }
  return total;
}

static void test_continuation(void **state) {
  (void)state;
  for (uint64_t i = 0; i < test_repeat(2000); i++) {
    mm_map *map = random_piecewise(i, i % 2);
    mm_map_report report;
    mm_map_check(map, &report);
    double x[18], p[18], w = report.phi_inverse_at_1, top = -INFINITY;
    size_t n = random_scores(i, x);
    assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, x, n, p, NULL));
    for (size_t a = 0; a < n; a++)
      top = fmax(top, x[a]);
    // the root of the continued function by bisection, over a bracket that reaches beyond W
    long double low = -w - fabs(top) - 2, high = w + fabs(top) + 2;
    for (size_t a = 0; a < n; a++)
      low = fminl(low, -x[a] - 1), high = fmaxl(high, w - x[a] + 1);
    for (int k = 0; k < 200; k++) {
      long double mid = (low + high) / 2;
      if (continued_total(map, x, n, w, mid) < 1)
        low = mid;
      else
        high = mid;
    }
    // same policy wherever phi is not so steep that the last bit of lambda decides
    for (size_t a = 0; a < n; a++) {
      long double least = oracle_phi(map, x[a] + low - 1e-14L * (w + fabs(x[a])));
      long double most = oracle_phi(map, x[a] + high + 1e-14L * (w + fabs(x[a])));
      if (p[a] < (double)least - 1e-12 || p[a] > (double)most + 1e-12)
        fail_msg("case %zu action %zu: %.17g outside [%.17Lg, %.17Lg]", (size_t)i, a, p[a], least,
                 most);
    }
    mm_map_destroy(map);
  }
}

// All builds of the kernels give the same bits, batched or row by row.
static void test_same_bits(void **state) {
  (void)state;
  static const char *const isa[] = { "portable", "avx2", "avx512" };
  enum { ROWS = 37 };
  for (uint64_t i = 0; i < test_repeat(400); i++) {
    mm_map *map = random_mild(i);
    size_t n = 2 + i % 17;
    static double x[ROWS * 18], p[3][ROWS * 18], lambda[3][ROWS], row[18];
    static float x_f[ROWS * 18], p_f[3][ROWS * 18], lambda_f[3][ROWS], inverse[3][ROWS * 18];
    for (uint32_t k = 0; k < ROWS * n; k++) {
      x[k] = random_in(i, 8, k, -3, 3);
      x_f[k] = (float)x[k];
    }
    int first = -1;
    for (int v = 0; v < 3; v++) {
      if (mm_isa_select(isa[v]) != MM_OK) continue; // this CPU does not have it
      assert_ok(mm_map_project_batch(map, MM_PROJECTION_EXACT, x, ROWS, n, p[v], lambda[v]));
      assert_ok(
          mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x_f, ROWS, n, p_f[v], lambda_f[v]));
      assert_ok(mm_map_phi_inverse_f(map, p_f[v], ROWS * n, inverse[v]));
      if (first < 0) first = v;
      assert_memory_equal(p[v], p[first], ROWS * n * sizeof **p);
      assert_memory_equal(lambda[v], lambda[first], ROWS * sizeof **lambda);
      assert_memory_equal(p_f[v], p_f[first], ROWS * n * sizeof **p_f);
      assert_memory_equal(lambda_f[v], lambda_f[first], ROWS * sizeof **lambda_f);
      assert_memory_equal(inverse[v], inverse[first], ROWS * n * sizeof **inverse);
    }
    assert_ok(mm_isa_select("auto"));
    for (size_t r = 0; r < ROWS; r++) {
      double l;
      assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, x + r * n, n, row, &l));
      assert_memory_equal(row, p[0] + r * n, n * sizeof *row);
      assert_true(l == lambda[0][r]);
    }
    mm_map_destroy(map);
  }
}

// Piecewise maps for rows side by side: sizes on both sides of every limit of the search tree, from
// the initial map to the random ones of the controls and, every tenth, steps beyond resolution.
static mm_map *rows_map(uint64_t i) {
  static const size_t sizes[] = { 1, 2, 100, 126, 127, 300, 1022, 1023 };
  if (i % 10 == 9) return random_piecewise(i, true);
  size_t n = sizes[i % 8];
  double z[1023];
  assert_ok(mm_map_search_initial(MM_MAP_PIECEWISE, n, z));
  for (size_t j = 0; j < n; j++)
    z[j] += (double)(i % 3) * random_normal(i, 13, (uint32_t)j);
  mm_map *map;
  assert_ok(mm_map_from_search(MM_MAP_PIECEWISE, n, z, &map));
  return map;
}

// Score k of row r: rows of several sizes, with ties, all equal, and as far apart as floats get.
static float rows_score(uint64_t i, size_t r, size_t k) {
  static const double sizes[] = { 0.1, 1.5, 1.5, 10, 1e6 };
  double x = sizes[(i + r) % 5] * random_normal(i, 14, (uint32_t)(r * 64 + k));
  if (r % 7 == 3) x = floor(x);
  if (r % 11 == 5) x = 0.25;
  if (r % 13 == 7) x = k % 2 ? -(double)FLT_MAX : (double)FLT_MAX;
  return (float)x;
}

// A row gets the same bits alone, beside other rows, in place, and with each instruction set.
static void test_rows(void **state) {
  (void)state;
  static const char *const isa[] = { "portable", "avx2", "avx512" };
  enum { ROWS = 37, ACTIONS = 34 };
  static float x[ROWS * ACTIONS], p[ROWS * ACTIONS], other[ROWS * ACTIONS];
  float lambda[ROWS], other_lambda[ROWS], alone;
  for (uint64_t i = 0; i < test_repeat(600); i++) {
    mm_map *map = rows_map(i);
    size_t rows = 1 + i % ROWS, n = 1 + i / 3 % ACTIONS;
    for (size_t r = 0; r < rows; r++)
      for (size_t a = 0; a < n; a++)
        x[r * n + a] = rows_score(i, r, a);
    assert_ok(mm_isa_select("portable"));
    assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x, rows, n, p, lambda));
    for (int v = 0; v < 3; v++) {
      if (mm_isa_select(isa[v]) != MM_OK) continue; // this CPU does not have it
      memcpy(other, x, sizeof other);
      assert_ok(
          mm_map_project_batch_f(map, MM_PROJECTION_EXACT, other, rows, n, other, other_lambda));
      assert_memory_equal(other, p, rows * n * sizeof *p);
      assert_memory_equal(other_lambda, lambda, rows * sizeof *lambda);
      for (size_t r = 0; r < rows; r++) {
        assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x + r * n, 1, n, other, &alone));
        assert_memory_equal(other, p + r * n, n * sizeof *p);
        assert_true(alone == lambda[r]);
      }
    }
    assert_ok(mm_isa_select("auto"));
    for (size_t r = 0; r < rows && n <= 18; r++) {
      double wide_x[18], wide_p[18];
      for (size_t a = 0; a < n; a++) {
        wide_x[a] = (double)x[r * n + a];
        wide_p[a] = (double)p[r * n + a];
      }
      check_policy(wide_x, wide_p, n, FLT_EPSILON, i);
      if (i % 10 != 9) check_float(map, x + r * n, p + r * n, n, i);
    }
    mm_map_destroy(map);
  }
}

// Engines call the kernels without a look at the scores: what is not a number must not come out as
// a policy, nor spoil the rows beside it.
static void test_rows_nan(void **state) {
  (void)state;
  const float bad[] = { NAN, INFINITY, -INFINITY };
  mm_map *map;
  assert_ok(mm_map_open("piecewise", &map));
  for (size_t k = 0; k < 20 * 3 * 3; k++) {
    float x[20 * 3], good[20 * 3], p[20 * 3], lambda[20];
    for (size_t i = 0; i < 20 * 3; i++)
      x[i] = (float)random_normal(k, 15, (uint32_t)i);
    assert_ok(mm_map_project_batch_f(map, MM_PROJECTION_EXACT, x, 20, 3, good, NULL));
    size_t at = k / 3, row = at / 3;
    x[at] = bad[k % 3];
    mm_map_kernels_current()->project_f(&map->engine_f, MM_PROJECTION_EXACT, x, 20, 3, p, lambda);
    for (size_t i = 0; i < 20 * 3; i++)
      if (i / 3 != row) assert_true(p[i] == good[i]);
    // minus infinity is as good as a very low score
    if (k % 3 < 2)
      assert_true(!isfinite(p[3 * row] + p[3 * row + 1] + p[3 * row + 2]));
    else
      assert_true(p[at] == 0 && isfinite(lambda[row]));
  }
  mm_map_destroy(map);
}

static void test_extremes(void **state) {
  (void)state;
  // an action within rounding of l2's threshold: dropping it and taking it back must not alternate
  mm_map *l2;
  double edge[4] = { 0, -0.10269477992576075, -0.097593117970942597, -0.40009596596556773 }, q[4];
  assert_ok(mm_map_create_l2(&l2));
  assert_ok(mm_map_project(l2, MM_PROJECTION_EXACT, edge, 4, q, NULL));
  assert_true(fabs(q[0] + q[1] + q[2] + q[3] - 1) < 1e-15);
  for (uint64_t i = 0; i < test_repeat(20000); i++) {
    // the threshold of three random scores, and a fourth a few ulp beside it
    double x[4] = { 0, random_in(i, 9, 0, -0.3, 0), random_in(i, 9, 1, -0.3, 0), 0 };
    double threshold = (x[1] + x[2] - 1) / 3;
    x[3] = threshold * (1 + random_in(i, 9, 2, -4, 4) * DBL_EPSILON);
    assert_ok(mm_map_project(l2, MM_PROJECTION_EXACT, x, 4, q, NULL));
    check_policy(x, q, 4, DBL_EPSILON, i);
  }
  mm_map_destroy(l2);
  static const char *const names[] = { "negentropy", "l2",          "tsallis:0.5", "tsallis:1.5",
                                       "piecewise",  "piecewise:1", "neural",      "random:3" };
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    mm_map *map;
    double p[3], lambda, one = 5, wide[3] = { 1e300, -1e300, 0 };
    assert_ok(mm_map_open(names[k], &map));
    // a single action has it all
    assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, &one, 1, p, &lambda));
    assert_true(p[0] == 1);
    // scores far beyond any width: deterministic
    assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, wide, 3, p, &lambda));
    assert_true(p[0] == 1 && p[1] <= 1e-100 && p[2] <= 1e-100);
    // bad scores are refused
    wide[1] = NAN;
    assert_fails(mm_map_project(map, MM_PROJECTION_EXACT, wide, 3, p, &lambda), MM_ERR_INPUT,
                 "action 1");
    assert_fails(mm_map_project(map, MM_PROJECTION_EXACT, wide, 0, p, &lambda), MM_ERR_INPUT,
                 "at least one");
    mm_map_destroy(map);
  }
}

int suite_simplex(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),
    cmocka_unit_test(test_properties_mild),
    cmocka_unit_test(test_properties_rough),
    cmocka_unit_test(test_float_agrees),
    cmocka_unit_test(test_continuation),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_rows_nan),
    cmocka_unit_test(test_extremes),
  };
  return cmocka_run_group_tests_name("simplex", tests, NULL, NULL);
}
