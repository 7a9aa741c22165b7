// SPDX-License-Identifier: Apache-2.0
// Random maps and scores for the property tests, each a function of its number alone.

#ifndef MM_TEST_RANDOM_MAP_H
#define MM_TEST_RANDOM_MAP_H

#include <math.h>

#include "base/elementary.h"
#include "base/rng.h"
#include "mirrormap/map.h"
#include "test.h"

// Uniform in [low, high); `what` tells the draws for one i apart.
static inline double random_in(uint64_t i, uint32_t what, uint32_t k, double low, double high) {
  mm_stream stream = mm_stream_make(11, what, MM_RNG_TEST, k);
  return low + (high - low) * mm_uniform_d(mm_stream_pair(stream, i));
}

static inline double random_normal(uint64_t i, uint32_t what, uint32_t k) {
  return mm_normal_d(mm_stream_pair(mm_stream_make(12, what, MM_RNG_TEST, k), i));
}

// Piecewise map i. Rough ones have psi spread evenly over the whole range in the logarithm; the
// others are the initial map times a lognormal factor.
static inline mm_map *random_piecewise(uint64_t i, bool rough) {
  static const size_t sizes[] = { 1, 2, 3, 10, 100, 257 };
  size_t n = sizes[i % 6];
  double psi[257];
  assert_ok(mm_map_search_initial(MM_MAP_PIECEWISE, n, psi));
  for (size_t j = 0; j < n; j++) {
    double z = rough ? random_in(i, 1, (uint32_t)j, log(MM_PSI_MIN), log(MM_PSI_MAX))
                     : psi[j] + random_normal(i, 2, (uint32_t)j);
    psi[j] = fmin(fmax(exp(z), MM_PSI_MIN), MM_PSI_MAX);
  }
  mm_map *map;
  assert_ok(mm_map_create_piecewise(psi, n, &map));
  return map;
}

static inline mm_map *random_tsallis(uint64_t i) {
  mm_map *map;
  double q = random_in(i, 3, 0, 0.05, 5);
  if (i % 5 == 0)
    q = 1 + (random_in(i, 3, 1, -1, 1) > 0 ? 1 : -1) * exp(random_in(i, 3, 2, -12, -1));
  if (i % 7 == 0) q = i % 2 ? 0.5 : 1.5;
  assert_ok(mm_map_create_tsallis(q, &map));
  return map;
}

// Neural map i: search coordinates around the start. Every third has exact zeros for b, every ninth
// for a too (the cubic and exponential units still rise then).
static inline mm_map *random_neural(uint64_t i, double spread) {
  double z[MM_NEURAL_SEARCH];
  assert_ok(mm_map_search_initial(MM_MAP_NEURAL, 0, z));
  for (uint32_t j = 0; j < MM_NEURAL_SEARCH; j++)
    z[j] += spread * random_normal(i, 4, j);
  mm_map *map, *changed;
  assert_ok(mm_map_from_search(MM_MAP_NEURAL, 0, z, &map));
  if (i % 3 != 2) return map;
  const double *w, *c, *u;
  double a, b;
  mm_map_neural_parameters(map, &w, &c, &u, &a, &b);
  assert_ok(mm_map_create_neural(w, c, u, i % 9 == 8 ? 0 : a, 0, &changed));
  mm_map_destroy(map);
  return changed;
}

// One to eight terms; every fourth with all exponents above 0, so that phi^-1(0) is finite.
static inline mm_map *random_powers(uint64_t i) {
  double w[MM_POWERS_MAX], a[MM_POWERS_MAX];
  const size_t n = 1 + i % MM_POWERS_MAX;
  for (uint32_t k = 0; k < n; k++) {
    w[k] = exp(random_in(i, 7, k, -4, 3));
    a[k] = random_in(i, 8, k, i % 4 == 0 ? 0.1 : -0.9, 2.5);
  }
  if (i % 5 == 0) a[0] = 0;
  mm_map *map;
  assert_ok(mm_map_create_powers(w, a, n, &map));
  return map;
}

// Any kind, smooth enough for direct comparison with the oracle.
static inline mm_map *random_mild(uint64_t i) {
  mm_map *map;
  if (i % 16 == 15) return random_powers(i / 16);
  switch (i % 8) {
  case 0:
    assert_ok(mm_map_create_negentropy(&map));
    return map;
  case 1:
    assert_ok(mm_map_create_l2(&map));
    return map;
  case 2:
    return random_neural(i / 8, 0.5);
  case 3:
  case 4:
    return random_tsallis(i / 8);
  default:
    return random_piecewise(i / 8, false);
  }
}

// Number of actions, 2 to 18, and scores; their spread goes from 1e-3 to 1e4. Some have ties.
static inline size_t random_scores(uint64_t i, double scores[18]) {
  size_t n = 2 + (size_t)random_in(i, 5, 0, 0, 17);
  memset(scores, 0, 18 * sizeof *scores);
  double spread = exp(random_in(i, 5, 1, log(1e-3), log(1e4)));
  for (uint32_t a = 0; a < n; a++)
    scores[a] = spread * random_in(i, 6, a, -0.5, 0.5);
  if (i % 4 == 0) scores[n - 1] = scores[0];
  if (i % 16 == 1)
    for (size_t a = 0; a < n; a++)
      scores[a] = spread;
  return n;
}

#endif
