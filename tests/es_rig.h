// SPDX-License-Identifier: Apache-2.0
// A strategy as the tests of single calls begin with it: mean j / 4 - 1 in coordinate j, seed 11.

#ifndef MM_TEST_ES_RIG_H
#define MM_TEST_ES_RIG_H

#include <stdlib.h>

#include "mirrormap/evolve.h"
#include "test.h"

static inline mm_es *create_shaped(mm_es_kind kind, size_t dimension, size_t population,
                                   mm_shaping shaping) {
  mm_es_config config = mm_es_config_default(kind);
  config.dimension = dimension;
  config.population = population;
  config.shaping = shaping;
  config.seed = 11;
  double *mean = calloc(dimension, sizeof *mean);
  for (size_t j = 0; j < dimension; j++)
    mean[j] = 0.25 * (double)j - 1;
  mm_es *es;
  assert_ok(mm_es_create(&config, mean, &es));
  free(mean);
  return es;
}

// With the kind's own shaping.
static inline mm_es *create(mm_es_kind kind, size_t dimension, size_t population) {
  return create_shaped(kind, dimension, population, mm_es_config_default(kind).shaping);
}

#endif
