// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as the space of a tuning, for every algorithm. Refused with one line that
// names it, or a space all of whose values the algorithm takes.

#define _XOPEN_SOURCE 700 // mkstemp

#include <math.h>

#include "fuzz.h"
#include "study/tune/tune_space.h"

static bool in_range(const mm_tune_parameter *p, double value) {
  if (p->scale == MM_TUNE_CHOICE) return value >= 0 && value < (double)p->n_choice;
  return value >= p->low && value <= p->high && (!p->whole || value == floor(value));
}

static void require_parameter(const mm_tune_parameter *p) {
  static double level[MM_TUNE_POINTS];
  static const double places[] = { 0, 1e-12, 0.3, 0.5, 0.75, 1 - 1e-12, 1, -0.4, 7.3 };
  size_t n = mm_tune_levels(p, level);
  require(n >= 1 && n <= MM_TUNE_POINTS, "a grid of some points");
  for (size_t i = 0; i < n; i++) {
    require(in_range(p, level[i]), "levels lie in the range");
    require(i == 0 || level[i] > level[i - 1], "levels ascend");
    double place = mm_tune_place(p, level[i]);
    require(place >= 0 && place <= 1, "a level has a place");
  }
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    require(in_range(p, mm_tune_value(p, places[i])), "every place has a value of the range");
}

// Every corner of the space, and its middle, are settings.
static void require_settings(const mm_tune_space *space, mm_algo algo) {
  static const double places[] = { 0, 0.5, 1 };
  for (int k = 0; k < 3; k++) {
    mm_settings settings = mm_settings_default(algo);
    double value[MM_TUNE_PARAMETERS];
    for (size_t i = 0; i < space->n; i++)
      value[i] = mm_tune_value(&space->parameter[i], places[k]);
    require(mm_tune_apply(space, value, &settings) == MM_OK, "values are settings");
    for (size_t i = 0; i < space->n; i++)
      require(mm_tune_own(&space->parameter[i], &settings) == value[i], "which have them");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mm_tune_space space;
  const char *path = fuzz_file(data, size);
  for (int algo = 0; algo < MM_ALGO_COUNT; algo++) {
    mm_status status = mm_tune_space_load(path, (mm_algo)algo, &space);
    if (status != MM_OK) {
      require_refusal(status, path);
      continue;
    }
    require(space.n >= 1 && space.n <= MM_TUNE_PARAMETERS, "some parameters");
    require(mm_tune_grid_size(&space) >= 1, "a grid of some points");
    for (size_t i = 0; i < space.n; i++)
      require_parameter(&space.parameter[i]);
    require_settings(&space, (mm_algo)algo);
  }
  return 0;
}
