// SPDX-License-Identifier: Apache-2.0
// Maps as objects: names, search coordinates, parameters, checks, and running out of memory at
// every single allocation.

#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "map/map_internal.h"
#include "oracle.h"
#include "random_map.h"
#include "scarce_memory.h"

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *text;
    mm_map_kind kind;
  } good[] = {
    { "negentropy", MM_MAP_NEGENTROPY },  { "l2", MM_MAP_L2 },
    { "tsallis:0.5", MM_MAP_TSALLIS },    { "tsallis:1.0000001", MM_MAP_TSALLIS },
    { "piecewise", MM_MAP_PIECEWISE },    { "piecewise:1", MM_MAP_PIECEWISE },
    { "neural", MM_MAP_NEURAL },          { "random:18446744073709551615", MM_MAP_PIECEWISE },
    { "random-neural:0", MM_MAP_NEURAL },
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    mm_map *map;
    assert_ok(mm_map_open(good[i].text, &map));
    assert_int_equal(mm_map_get_kind(map), good[i].kind);
    mm_map_destroy(map);
  }
  static const char *const bad[][2] = {
    { "negentrpy", "did you mean 'negentropy'" },
    { "tsallis", "tsallis:Q" },
    { "tsallis:1", "other than 1" },
    { "tsallis:-2", "> 0" },
    { "tsallis:x", "tsallis:Q" },
    { "tsallis:nan", "> 0" },
    { "piecewise:0", "1 to 1000000" },
    { "piecewise:1000001", "1 to 1000000" },
    { "random", "random:SEED" },
    { "random:-1", "random:SEED" },
    { "random:99999999999999999999", "random:SEED" },
    { "l2:3", "no such name" },
    { "", "no such name" },
    { "no/such/file.json", "no/such/file.json" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mm_map *map;
    assert_fails(mm_map_open(bad[i][0], &map), MM_ERR_INPUT, bad[i][1]);
    assert_null(map);
  }
}

// The start of a search is close to the negative entropy: design.md, spec/ampo.md section 7.
static void test_initial(void **state) {
  (void)state;
  mm_map *map;
  assert_ok(mm_map_open("piecewise", &map));
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  assert_int_equal(n, MM_PIECEWISE_N);
  double sum = 0;
  for (size_t j = 0; j < n; j++) {
    double expected = j == 0 ? 3 * log(10) : log((double)(j + 1) / (double)j);
    assert_true(fabs(psi[j] - expected) < 8 * DBL_EPSILON); // log(j+1/j) itself is rounded
    sum += psi[j];
    double x = sum, phi;
    assert_ok(mm_map_phi(map, &x, 1, &phi));
    assert_true(fabs(phi - (double)(j + 1) / 100) < 1e-13);
  }
  assert_true(fabs(sum - log(1000.0 * 100)) < 1e-12);
  mm_map_destroy(map);

  assert_ok(mm_map_open("neural", &map));
  const double *w, *c, *u;
  double a, b;
  mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
  for (int j = 0; j < MM_NEURAL_UNITS; j++) {
    assert_true(fabs(w[j] - 1) < 1e-15 && fabs(u[j] * 126 - 0.0485873515737420589) < 1e-15);
    assert_true(c[j] == -(j % 21) / 21.0);
  }
  assert_true(fabs(a - 0.0485873515737420589) < 1e-15 && fabs(b - 1) < 1e-15);
  mm_map_destroy(map);
}

// One term is a map that has a name, up to a constant, which no policy and no divergence sees.
static void test_powers_of_one_term(void **state) {
  (void)state;
  const struct {
    const char *name;
    double w, a;
  } known[] = { { "negentropy", 1, 0 },      { "l2", 1, 1 },        { "tsallis:3", 3, 2 },
                { "tsallis:1.5", 1.5, 0.5 }, { "tsallis:5", 5, 4 }, { "tsallis:0.5", 0.5, -0.5 } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    mm_map *map, *named;
    assert_ok(mm_map_create_powers(&known[k].w, &known[k].a, 1, &map));
    assert_ok(mm_map_open(known[k].name, &named));
    for (uint64_t i = 0; i < 500; i++) {
      double scores[18], p[18], q[18], d[2];
      const size_t n = random_scores(i, scores);
      assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, scores, n, p, NULL));
      assert_ok(mm_map_project(named, MM_PROJECTION_EXACT, scores, n, q, NULL));
      for (size_t a = 0; a < n; a++)
        if (!(fabs(p[a] - q[a]) <= 2e-4 * (k == 4) + 1e-9))
          fail_msg("%s, case %d: %.17g, not %.17g", known[k].name, (int)i, p[a], q[a]);
      for (size_t a = 0; a < n; a++)
        q[a] = 1 / (double)n;
      assert_ok(mm_map_bregman(map, p, q, n, &d[0]));
      assert_ok(mm_map_bregman(named, p, q, n, &d[1]));
      assert_true(fabs(d[0] - d[1]) <= 1e-13 * fabs(d[1]));
    }
    mm_map_destroy(map);
    mm_map_destroy(named);
  }
  const double w[] = { 1, 0 }, bad_w[] = { 0, 0 }, a[] = { 0, 9 };
  mm_map *map;
  assert_fails(mm_map_create_powers(w, a, 2, &map), MM_ERR_INPUT, "a[1] = 9");
  assert_fails(mm_map_create_powers(bad_w, a, 1, &map), MM_ERR_INPUT, "at least 1e-8");
  assert_fails(mm_map_create_powers(w, a, 9, &map), MM_ERR_INPUT, "1 to 8");
}

static void test_search_round_trip(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 200; i++) {
    double z[MM_NEURAL_SEARCH], back[MM_NEURAL_SEARCH];
    mm_map_kind kind = i % 2 ? MM_MAP_NEURAL : MM_MAP_PIECEWISE;
    size_t n = mm_map_search_size(kind, 100);
    assert_int_equal(n, i % 2 ? 380 : 100);
    assert_ok(mm_map_search_initial(kind, n, z));
    for (uint32_t j = 0; j < n; j++)
      z[j] += 2 * random_normal(i, 80, j);
    mm_map *map;
    assert_ok(mm_map_from_search(kind, n, z, &map));
    assert_ok(mm_map_to_search(map, back));
    for (size_t j = 0; j < n; j++) {
      double to = kind == MM_MAP_NEURAL ? z[j] : fmin(fmax(z[j], MM_SEARCH_MIN), MM_SEARCH_MAX);
      assert_true(fabs(back[j] - to) <= 64 * DBL_EPSILON * (1 + fabs(to)));
    }
    mm_map_destroy(map);
  }
  // z is clipped however far the search wanders; exact zeros get a coordinate
  double far[2] = { -1000, 1000 }, w[MM_NEURAL_UNITS] = { 0 }, z[MM_NEURAL_SEARCH];
  mm_map *map;
  size_t n;
  assert_ok(mm_map_from_search(MM_MAP_PIECEWISE, 2, far, &map));
  const double *psi = mm_map_piecewise_psi(map, &n);
  assert_true(fabs(psi[0] / exp(-13.8) - 1) < 1e-14 && fabs(psi[1] / exp(6) - 1) < 1e-14);
  mm_map_destroy(map);
  assert_ok(mm_map_create_neural(w, w, w, 0, 1, &map));
  assert_ok(mm_map_to_search(map, z));
  assert_true(z[0] == -40 && z[378] == -40);
  mm_map_destroy(map);
  far[1] = NAN;
  assert_fails(mm_map_from_search(MM_MAP_PIECEWISE, 2, far, &map), MM_ERR_INPUT, "coordinate 1");
  assert_fails(mm_map_from_search(MM_MAP_PIECEWISE, 0, far, &map), MM_ERR_INPUT, "n = 0");
  assert_fails(mm_map_from_search(MM_MAP_PIECEWISE, SIZE_MAX, far, &map), MM_ERR_INPUT,
               "expected 1 to 1000000");
  assert_fails(mm_map_from_search(MM_MAP_L2, 2, far, &map), MM_ERR_INPUT, "no search coordinates");
}

// Random controls are named by their seed: same seed same bits, another seed another map, and the
// moments of design.md section 4.
static void test_random_controls(void **state) {
  (void)state;
  double initial[100], sum = 0, squares = 0;
  assert_ok(mm_map_search_initial(MM_MAP_PIECEWISE, 100, initial));
  double first[100] = { 0 };
  for (int seed = 0; seed < 200; seed++) {
    char text[32];
    snprintf(text, sizeof text, "random:%d", seed);
    mm_map *map;
    double z[100];
    assert_ok(mm_map_open(text, &map));
    assert_ok(mm_map_to_search(map, z));
    mm_map_destroy(map);
    assert_true(memcmp(z, first, sizeof z) != 0);
    if (seed == 0) memcpy(first, z, sizeof z);
    for (int j = 0; j < 100; j++) {
      double d = z[j] - initial[j];
      sum += d;
      squares += d * d;
    }
  }
  // 20000 draws of variance 4: standard errors 0.014 and 0.04
  assert_true(fabs(sum / 20000) < 0.06 && fabs(squares / 20000 - 4) < 0.2);
  mm_map *map;
  double z[100];
  assert_ok(mm_map_open("random:0", &map));
  assert_ok(mm_map_to_search(map, z));
  assert_memory_equal(z, first, sizeof z);
  mm_map_destroy(map);
}

static void test_check(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool smooth;
    double integral;
  } expected[] = {
    { "negentropy", true, -1 },
    { "l2", false, 0.5 },
    { "tsallis:0.5", true, -2 },
    { "tsallis:1.5", false, 2 },
    { "piecewise", false, 10.4875844072 },
  };
  for (size_t i = 0; i < 5; i++) {
    mm_map *map;
    mm_map_report report;
    assert_ok(mm_map_open(expected[i].text, &map));
    mm_map_check(map, &report);
    assert_true(report.valid && report.strictly_increasing && report.n_failure == 0);
    assert_int_equal(report.essentially_smooth, expected[i].smooth);
    assert_true(fabs(report.integral - expected[i].integral) < 1e-9);
    mm_map_destroy(map);
  }
  // steps that the sum of the others swallows are worth a warning, no more
  double psi[3] = { 1e6, 1e-8, 1e6 };
  mm_map *map;
  mm_map_report report;
  assert_ok(mm_map_create_piecewise(psi, 3, &map));
  mm_map_check(map, &report);
  assert_true(report.valid && report.n_warning > 0);
  mm_map_destroy(map);
}

static void test_bad_parameters(void **state) {
  (void)state;
  mm_map *map;
  double psi[2] = { 1, 1e-9 }, w[MM_NEURAL_UNITS] = { 0 }, bad[MM_NEURAL_UNITS] = { 0 };
  assert_fails(mm_map_create_piecewise(psi, 2, &map), MM_ERR_INPUT, "psi[1]");
  assert_fails(mm_map_create_piecewise(psi, 0, &map), MM_ERR_INPUT, "n = 0");
  psi[1] = NAN;
  assert_fails(mm_map_create_piecewise(psi, 2, &map), MM_ERR_INPUT, "psi[1]");
  bad[3] = -1;
  assert_fails(mm_map_create_neural(bad, w, w, 0, 0, &map), MM_ERR_INPUT, "w[3]");
  assert_fails(mm_map_create_neural(w, w, bad, 0, 0, &map), MM_ERR_INPUT, "u[3]");
  assert_fails(mm_map_create_neural(w, w, w, -1, 0, &map), MM_ERR_INPUT, "a = -1");
  assert_fails(mm_map_create_neural(w, w, w, 0, INFINITY, &map), MM_ERR_INPUT, "b = inf");
  bad[3] = INFINITY;
  assert_fails(mm_map_create_neural(w, bad, w, 0, 0, &map), MM_ERR_INPUT, "c[3]");
  assert_null(map);
  mm_map_destroy(NULL);
}

// ---------------------------------------------------------------------------------------------
// Memory

// Every allocation of every kind of map fails once; each time the call says so and leaks nothing
// (which the sanitizer build and valgrind watch).
static void test_out_of_memory(void **state) {
  (void)state;
  static const char *const names[] = { "l2", "tsallis:2", "piecewise:7", "random:1", "neural" };
  make_memory_scarce();
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    size_t needed = 0;
    for (;; needed++) {
      mm_map *map;
      char *text = NULL;
      allocations_left = needed;
      mm_status status = mm_map_open(names[k], &map);
      if (status == MM_OK) status = mm_map_format(map, NULL, &text);
      mm_map_text_free(text);
      mm_map_destroy(map);
      if (status == MM_OK) break;
      assert_int_equal(status, MM_ERR_MEMORY);
      assert_true(needed < 1000);
    }
    assert_true(needed >= 2);
  }
  make_memory_usual();
}

// ---------------------------------------------------------------------------------------------
// Conversion

// phi^-1(p) - phi^-1(1/2) of both, scaled, agree at some p to `allowed`.
static void check_alike(const char *name, mm_map_kind kind, size_t n, double scale,
                        double allowed) {
  mm_map *source, *map;
  assert_ok(mm_map_open(name, &source));
  assert_ok(mm_map_convert(source, kind, n, &map));
  assert_int_equal(mm_map_get_kind(map), kind);
  const double p[5] = { 0.5, 0.05, 0.25, 0.75, 1 };
  double x[5], y[5];
  assert_ok(mm_map_phi_inverse(source, p, 5, x));
  assert_ok(mm_map_phi_inverse(map, p, 5, y));
  for (int i = 1; i < 5; i++)
    if (!(fabs((y[i] - y[0]) - scale * (x[i] - x[0])) <= allowed))
      fail_msg("%s as %s: at p = %g %g instead of %g", name, mm_map_kind_name(kind), p[i],
               y[i] - y[0], scale * (x[i] - x[0]));
  mm_map_destroy(source);
  mm_map_destroy(map);
}

static void test_convert(void **state) {
  (void)state;
  static const char *const closed[] = { "negentropy", "l2", "tsallis:3", "tsallis:0.5" };
  for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
    check_alike(closed[i], MM_MAP_PIECEWISE, 20, 1, 1e-12);
    check_alike(closed[i], MM_MAP_POWERS, 1, 1, 1e-12);
    check_alike(closed[i], MM_MAP_POWERS, 3, 1, 1e-5);
  }
  check_alike("random:1", MM_MAP_PIECEWISE, 100, 1, 0);
  check_alike("random:1", MM_MAP_PIECEWISE, 20, 1, 1e-12);
  check_alike("powers", MM_MAP_POWERS, 0, 1, 0);
  check_alike("negentropy", MM_MAP_NEURAL, 0, 1, 1e-12);
  check_alike("l2", MM_MAP_NEURAL, 0, 1, 1e-12);
  check_alike("random-neural:2", MM_MAP_NEURAL, 0, 1, 0);
  check_alike("l2", MM_MAP_TSALLIS, 0, 2, 1e-12);
  check_alike("tsallis:3", MM_MAP_TSALLIS, 0, 1, 0);

  mm_map *map, *out;
  assert_ok(mm_map_open("random:1", &map));
  assert_fails(mm_map_convert(map, MM_MAP_L2, 0, &out), MM_ERR_INPUT,
               "a map of kind piecewise cannot be turned into one of kind l2");
  assert_null(out);
  mm_map_destroy(map);
}

// Of a map that the family does not have the nearest one, which is that map where it has it after
// all.
static void test_nearest(void **state) {
  (void)state;
  check_alike("tsallis:4", MM_MAP_NEURAL, 0, 1, 0.01); // p^3 is a unit
  check_alike("tsallis:1.5", MM_MAP_NEURAL, 0, 1, 0.02);
  check_alike("random-powers:3", MM_MAP_NEURAL, 0, 1, 0.05);
  check_alike("random-neural:2", MM_MAP_POWERS, 3, 1, 0.1);
  mm_map *map, *powers;
  const double w[2] = { 0.5, 2 }, a[2] = { -0.5, 2 };
  assert_ok(mm_map_create_powers(w, a + 1, 1, &powers)); // at any scale
  assert_ok(mm_map_convert(powers, MM_MAP_TSALLIS, 0, &map));
  assert_true(fabs(mm_map_tsallis_q(map) - 3) < 1e-9);
  mm_map_destroy(map);
  mm_map_destroy(powers);
  // of the sum of two powers both are found
  const double *weight, *exponent;
  mm_map *pieces;
  assert_ok(mm_map_create_powers(w, a, 2, &powers));
  assert_ok(mm_map_convert(powers, MM_MAP_PIECEWISE, 4096, &pieces));
  assert_ok(mm_map_convert(pieces, MM_MAP_POWERS, 2, &map));
  assert_int_equal(mm_map_powers_terms(map, &weight, &exponent), 2);
  for (int k = 0; k < 2; k++) {
    const int i = exponent[k] > 0;
    assert_true(exponent[k] == a[i] && fabs(weight[k] - w[i]) < 0.01);
  }
  mm_map_destroy(map);
  mm_map_destroy(pieces);
  mm_map_destroy(powers);
}

static void test_nearest_out_of_memory(void **state) {
  (void)state;
  static const mm_map_kind kinds[] = { MM_MAP_TSALLIS, MM_MAP_POWERS, MM_MAP_NEURAL };
  make_memory_scarce();
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (size_t needed = 0;; needed++) {
      mm_map *source, *map = NULL;
      allocations_left = needed;
      mm_status status = mm_map_open("random:1", &source);
      if (status == MM_OK) status = mm_map_convert(source, kinds[k], 2, &map);
      mm_map_destroy(source);
      mm_map_destroy(map);
      if (status == MM_OK) break;
      assert_int_equal(status, MM_ERR_MEMORY);
      assert_true(needed < 1000);
    }
  }
  make_memory_usual();
}

// q = 1 + exp z, within 1.01 and 8.
static void test_tsallis_coordinate(void **state) {
  (void)state;
  static const double known[][2] = {
    { 0, 2 }, { 0.6931471805599453, 3 }, { -50, 1.01 }, { 50, 8 }
  };
  assert_int_equal(mm_map_search_size(MM_MAP_TSALLIS, 0), 1);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    mm_map *map;
    double z;
    assert_ok(mm_map_from_search(MM_MAP_TSALLIS, 0, &known[i][0], &map));
    assert_true(fabs(mm_map_tsallis_q(map) - known[i][1]) < 1e-14);
    assert_ok(mm_map_to_search(map, &z));
    assert_true(fabs(1 + exp(z) - known[i][1]) < 1e-13);
    mm_map_destroy(map);
  }
}

// ---------------------------------------------------------------------------------------------
// Maps that move

// Those that are exact have phi^-1 between those of their neighbours, the others their parameters;
// at anchors, and between equal ones, the map is the anchor to the bit.
static void check_moving(const char *first, const char *second, bool exact) {
  enum { N = 9, ITERATIONS = 5 };
  mm_map *anchor[3], *map;
  mm_map_now now = { 0 };
  const double p[N] = { 1e-3, 0.01, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 1 };
  double x[3][N], y[N];
  assert_ok(mm_map_open(first, &anchor[0]));
  assert_ok(mm_map_open(second, &anchor[1]));
  assert_ok(mm_map_open(second, &anchor[2]));
  for (int k = 0; k < 3; k++)
    assert_ok(mm_map_phi_inverse(anchor[k], p, N, x[k]));
  assert_ok(mm_map_create_stages((const mm_map *const *)anchor, 3, &map));
  for (int t = 0; t < ITERATIONS; t++) {
    assert_ok(mm_map_now_at(map, t, ITERATIONS, &now));
    assert_ok(mm_map_phi_inverse(now.map, p, N, y));
    const double share = t < 2 ? t / 2.0 : 1; // of the second, which the third is the same as
    for (int i = 0; i < N; i++) {
      const double expected = x[0][i] + share * (x[1][i] - x[0][i]);
      const double least = fmin(x[0][i], x[1][i]), most = fmax(x[0][i], x[1][i]);
      if (t == 0 || t >= 2) assert_true(y[i] == x[t > 0][i]);
      if (exact) assert_true(fabs(y[i] - expected) <= 1e-12 * (1 + fabs(expected)));
      if (!exact && first[0] != 'r') assert_true(y[i] >= least && y[i] <= most);
    }
  }
  assert_ok(mm_map_now_at(anchor[0], 3, ITERATIONS, &now));
  assert_ptr_equal(now.map, anchor[0]);
  mm_map_now_release(&now);
  mm_map_destroy(map);
  for (int k = 0; k < 3; k++)
    mm_map_destroy(anchor[k]);
}

static void test_moving(void **state) {
  (void)state;
  check_moving("random:1", "random:2", true);
  check_moving("piecewise:7", "piecewise:7", true);
  check_moving("powers", "random-powers:4", true);
  check_moving("tsallis:1.5", "tsallis:3", false);
  check_moving("neural", "random-neural:3", false);
  check_moving("l2", "l2", true);

  mm_map *one, *many, *out;
  const double w[5] = { 1, 1, 1, 1, 1 }, a[5] = { 0.1, 0.2, 0.3, 0.4, 0.5 };
  const double b[5] = { 1.1, 1.2, 1.3, 1.4, 0.5 };
  assert_ok(mm_map_create_powers(w, a, 5, &one));
  assert_ok(mm_map_create_powers(w, b, 5, &many));
  const mm_map *both[5] = { one, many, one, many, one };
  assert_fails(mm_map_create_stages(both, 2, &out), MM_ERR_INPUT, "9 exponents together");
  assert_fails(mm_map_create_stages(both, 1, &out), MM_ERR_INPUT, "1 anchors: expected 2 to 4");
  assert_fails(mm_map_create_stages(both, 5, &out), MM_ERR_INPUT, "5 anchors: expected 2 to 4");
  both[1] = one;
  mm_map *moving;
  assert_ok(mm_map_create_stages(both, 2, &moving));
  both[1] = moving;
  assert_fails(mm_map_create_stages(both, 2, &out), MM_ERR_INPUT, "that does not move");
  assert_fails(mm_map_convert(moving, MM_MAP_POWERS, 0, &out), MM_ERR_INPUT, "with stages");
  mm_map_destroy(moving);
  mm_map_destroy(one);
  mm_map_destroy(many);
}

// The scale of search coordinates is that of the map they make.
static void test_search_scale(void **state) {
  (void)state;
  static const struct {
    mm_map_kind kind;
    size_t n;
  } cases[] = { { MM_MAP_PIECEWISE, 7 },
                { MM_MAP_PIECEWISE, 1 },
                { MM_MAP_PIECEWISE, 10 },
                { MM_MAP_POWERS, 3 },
                { MM_MAP_NEURAL, 0 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mm_map_kind kind = cases[i].kind;
    const size_t n = cases[i].n, size = mm_map_search_size(kind, n);
    double z[MM_NEURAL_SEARCH], x[2][3];
    const double p[3] = { 0.1, 0.5, 1 };
    mm_map *map;
    assert_true(mm_map_search_has_scale(kind));
    assert_ok(mm_map_search_initial(kind, n, z));
    for (size_t k = 0; k < size; k++)
      z[k] += 0.3 * sin((double)k);
    for (int turn = 0; turn < 2; turn++) {
      assert_ok(mm_map_from_search(kind, n, z, &map));
      assert_ok(mm_map_phi_inverse(map, p, 3, x[turn]));
      mm_map_destroy(map);
      const double span = exp(mm_map_search_log_span(kind, n, z, 0.5));
      assert_true(fabs(span - (x[turn][2] - x[turn][1])) < 1e-12 * (1 + fabs(x[turn][2])));
      mm_map_search_rescale(kind, n, log(3), z);
    }
    for (int k = 0; k < 2; k++)
      assert_true(fabs((x[1][2] - x[1][k]) / (x[0][2] - x[0][k]) - 3) < 1e-11);
  }
  assert_false(mm_map_search_has_scale(MM_MAP_TSALLIS));
}

int suite_map(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_initial),
    cmocka_unit_test(test_powers_of_one_term),
    cmocka_unit_test(test_search_round_trip),
    cmocka_unit_test(test_random_controls),
    cmocka_unit_test(test_check),
    cmocka_unit_test(test_bad_parameters),
    cmocka_unit_test(test_out_of_memory),
    cmocka_unit_test(test_convert),
    cmocka_unit_test(test_nearest),
    cmocka_unit_test(test_nearest_out_of_memory),
    cmocka_unit_test(test_tsallis_coordinate),
    cmocka_unit_test(test_moving),
    cmocka_unit_test(test_search_scale),
  };
  return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
