// Functions of the kernels against the processor's: projections onto piecewise maps.

#include <stdio.h>

#include "test.h"

#if HAVE_CUDA

#include <math.h>
#include <stdlib.h>

#include "backend/cuda.h"
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

int suite_cuda_functions(void) {
  int count;
  if (mm_cuda_find(&count) != MM_OK) {
    printf("skipped: %s\n", mm_last_error());
    return MM_SUITE_SKIPPED;
  }
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_projection),
                                      cmocka_unit_test(test_sizes) };
  return cmocka_run_group_tests_name("cuda_functions", tests, NULL, NULL);
}

#else

int suite_cuda_functions(void) {
  printf("skipped: built without CUDA\n");
  return MM_SUITE_SKIPPED;
}

#endif
