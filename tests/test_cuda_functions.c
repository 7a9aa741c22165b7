// SPDX-License-Identifier: Apache-2.0
// Functions of the kernels against the processor's: projections onto piecewise maps.

#include <stdio.h>

#include "test.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>

#include "backend/cuda/host/cuda.h"
#include "base/rng.h"
#include "cuda_functions.h"

enum { ROWS = 4001, ACTIONS_MOST = 6 };

// Scores of the size that matters to the map: from all alike to one far above the others.
static void draw_scores(const mm_map *map, int n_action, uint32_t lane, float *x) {
  const mm_stream stream = mm_stream_make(5, 0, MM_RNG_TEST, lane);
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  double width = 0;
  for (size_t j = 0; j < n; j++)
    width += psi[j];
  for (int i = 0; i < ROWS; i++) {
    const double size = width * exp(-8.0 * (i % 17) / 16);
    for (int a = 0; a < n_action; a++) {
      const uint64_t k = (uint64_t)(i * n_action + a);
      x[i * n_action + a] = (float)(size * mm_normal_d(mm_stream_pair(stream, k)));
    }
    if (i % 10 == 9) x[i * n_action + 1] = x[i * n_action]; // equal scores
  }
}

static void check_map(const mm_map *map, const char *name, int n_action, int lanes) {
  static float x[ROWS * ACTIONS_MOST], p[ROWS * ACTIONS_MOST], lambda[ROWS];
  draw_scores(map, n_action, (uint32_t)(n_action * 16 + lanes), x);
  assert_int_equal(cuda_project(map, n_action, lanes, ROWS, x, p, lambda), 0);
  double worst = 0, worst_lambda = 0;
  for (int i = 0; i < ROWS; i++) {
    double scores[ACTIONS_MOST], expected[ACTIONS_MOST], shift;
    for (int a = 0; a < n_action; a++)
      scores[a] = (double)x[i * n_action + a];
    assert_ok(mm_map_project(map, MM_PROJECTION_EXACT, scores, (size_t)n_action, expected, &shift));
    for (int a = 0; a < n_action; a++)
      worst = fmax(worst, fabs((double)p[i * n_action + a] - expected[a]));
    // where one action has all the weight lambda is not unique
    double most = 0;
    for (int a = 0; a < n_action; a++)
      most = fmax(most, expected[a]);
    if (most < 1)
      worst_lambda = fmax(worst_lambda, fabs((double)lambda[i] - shift) / (1 + fabs(shift)));
  }
  if (!(worst < 2e-5) || !(worst_lambda < 1e-4))
    fail_msg("%s, %d actions, %d lanes: off by %.2g, lambda by %.2g", name, n_action, lanes, worst,
             worst_lambda);
}

static void test_projection(void **state) {
  static const char *const names[] = { "piecewise", "random:1", "random:2", "random:3",
                                       "random:4" };
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mm_map *map;
    assert_ok(mm_map_open(names[i], &map));
    for (int lanes = 4; lanes <= 32; lanes *= 2) {
      check_map(map, names[i], 2, lanes);
      check_map(map, names[i], 3, lanes);
      check_map(map, names[i], 6, lanes);
    }
    mm_map_destroy(map);
  }
}

// Few segments, an odd number of them, and as many as there is room for.
static void test_sizes(void **state) {
  static const size_t sizes[] = { 1, 2, 3, 7, 31, 32, 33, 125, 126 };
  double psi[126];
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    mm_map *map;
    char name[32];
    for (size_t j = 0; j < sizes[i]; j++)
      psi[j] = 0.05 + (double)(j * 37 % 11) / 10;
    assert_ok(mm_map_create_piecewise(psi, sizes[i], &map));
    snprintf(name, sizeof name, "%zu segments", sizes[i]);
    for (int n_action = 2; n_action <= 3; n_action++)
      for (int lanes = 4; lanes <= 32; lanes *= 8)
        check_map(map, name, n_action, lanes);
    mm_map_destroy(map);
  }
}

// Maps with knots that are one number in floats: a policy may then change altogether when a score
// changes by its last bit. What is found has to be right for scores that differ by no more than
// that, and add up to 1.
static void check_steep(const mm_map *map, const char *name, int lanes) {
  enum { ACTIONS = 3 };
  static float x[ROWS * ACTIONS], p[ROWS * ACTIONS], lambda[ROWS];
  size_t n;
  const double *psi = mm_map_piecewise_psi(map, &n);
  double width = 0;
  for (size_t j = 0; j < n; j++)
    width += psi[j];
  draw_scores(map, ACTIONS, (uint32_t)lanes, x);
  for (int i = 0; i < ROWS; i += 16) // all alike, where phi rises
    for (int a = 0; a < ACTIONS; a++)
      x[i * ACTIONS + a] = -(float)width;
  assert_int_equal(cuda_project(map, ACTIONS, lanes, ROWS, x, p, lambda), 0);
  for (int i = 0; i < ROWS; i++) {
    double sum = 0, size = width;
    for (int a = 0; a < ACTIONS; a++) {
      sum += (double)p[i * ACTIONS + a];
      size = fmax(size, fabs((double)x[i * ACTIONS + a]));
    }
    if (!(fabs(sum - 1) < 1e-6)) fail_msg("%s, %d lanes: policy adds up to %.9g", name, lanes, sum);
    for (int a = 0; a < ACTIONS; a++) {
      const double y = (double)x[i * ACTIONS + a] + (double)lambda[i], off = 0x1p-21 * size;
      const double around[2] = { y - off, y + off }, own = (double)p[i * ACTIONS + a];
      double phi[2];
      assert_ok(mm_map_phi(map, around, 2, phi));
      // lambda is not unique where an action has all the weight
      if (!(own > phi[0] - 1e-5 && (own < phi[1] + 1e-5 || phi[0] >= 1)))
        fail_msg("%s, %d lanes, row %d: probability %.9g is not from %.9g to %.9g", name, lanes, i,
                 own, phi[0], phi[1]);
    }
  }
}

static void test_steep(void **state) {
  enum { N = 100, KINDS = 4 };
  double psi[N];
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    mm_map *map;
    char name[32];
    for (int j = 0; j < N; j++)
      psi[j] = kind == 0   ? (j < N / 2 ? 1e-8 : 1)
               : kind == 1 ? (j % 10 ? 1e-8 : 1)
               : kind == 2 ? (j % 2 ? 1e-8 : 1e6)
                           : (j < N / 4   ? 1
                              : j < N / 2 ? 1e-8
                                          : 1);
    assert_ok(mm_map_create_piecewise(psi, N, &map));
    snprintf(name, sizeof name, "steep map %d", kind);
    for (int lanes = 4; lanes <= 32; lanes *= 2)
      check_steep(map, name, lanes);
    mm_map_destroy(map);
  }
}

int suite_cuda_functions(void) {
  int count;
  if (mm_cuda_find(&count) != MM_OK) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_projection),
                                      cmocka_unit_test(test_sizes), cmocka_unit_test(test_steep) };
  return cmocka_run_group_tests_name("cuda_functions", tests, NULL, NULL);
}

#else

int suite_cuda_functions(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
