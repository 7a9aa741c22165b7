// SPDX-License-Identifier: Apache-2.0
// Constants of the strategies that tests look at.

#ifndef MM_EVOLVE_CONSTANTS_H
#define MM_EVOLVE_CONSTANTS_H

#include "evolve/es_internal.h"

typedef struct mm_openes {
  double beta1, beta2, epsilon; // Adam's
  bool late;                    // sigma lags one generation behind its schedule
} mm_openes;

enum { MM_SEP_CMA_PATH_SIGMA = 1, MM_SEP_CMA_PATH_C = 2, MM_SEP_CMA_VARIANCE = 3 }; // vectors

// In the notation of its literature.
typedef struct mm_sep_cma {
  size_t mu;
  double mueff, c_sigma, d_sigma, c_c, c_1, c_mu, chi;
  double lag; // the exponent in the test of the path's length is 2 (generation + lag)
} mm_sep_cma;

// C of coordinate j as sampling takes it.
double mm_sep_cma_variance(const mm_es *es, size_t j);

#endif
