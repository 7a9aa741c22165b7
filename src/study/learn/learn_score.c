// SPDX-License-Identifier: Apache-2.0
// Means, differences and merit of a map's values on the validation tasks.

#include <math.h>
#include <stdlib.h>

#include "study/learn/learn_internal.h"

mm_study_score mm_learn_score_of(const mm_learn_controls *controls, const double *value,
                                 int64_t generation) {
  const mm_learn_controls *c = controls;
  return (mm_study_score){
    .known = true,
    .generation = generation,
    .value = mm_estimate_of(value, c->n_task),
    .over_negentropy = mm_estimate_paired(value, c->value[MM_CONTROL_NEGENTROPY], c->n_task),
    .over_l2 = mm_estimate_paired(value, c->value[MM_CONTROL_L2], c->n_task),
  };
}

double mm_learn_merit(const mm_learn_controls *controls, const double *value) {
  size_t n = controls->n_task / controls->n_env;
  if (controls->n_env == 1) return mm_estimate_of(value, n).mean;
  double merit = 0;
  for (size_t e = 0; e < controls->n_env; e++) {
    const double *base = controls->value[MM_CONTROL_NEGENTROPY] + e * n;
    mm_estimate of_base = mm_estimate_of(base, n);
    // without a value of the baseline there is nothing to be above of
    bool known = isfinite(of_base.mean);
    double gain = known ? mm_estimate_paired(value + e * n, base, n).mean
                        : mm_estimate_of(value + e * n, n).mean;
    double spread = known ? of_base.sem * sqrt((double)n) : 1;
    merit += gain / fmax(spread, 1e-9) / (double)controls->n_env;
  }
  return merit;
}

// ---------------------------------------------------------------------------------------------
// Fitness

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double mm_learn_fitness(mm_fitness fitness, double *x, size_t n) {
  qsort(x, n, sizeof *x, ascending);
  return fitness.share > 0 ? mm_worst_of_sorted(x, n, fitness.share)
                           : (x[(n - 1) / 2] + x[n / 2]) / 2;
}

mm_learn_scale mm_learn_scale_of(const mm_learn_controls *controls, size_t env) {
  size_t tasks = controls->n_task / controls->n_env, n = 0;
  double mean = 0, square = 0;
  for (size_t i = 0; i < MM_CONTROL_TUNED * tasks; i++) {
    double x = controls->value[i / tasks][env * tasks + i % tasks];
    if (!isfinite(x)) continue;
    double difference = x - mean;
    mean += difference / (double)++n;
    square += difference * (x - mean);
  }
  return (mm_learn_scale){ mean, square > 0 ? sqrt(square / (double)n) : 1 };
}
