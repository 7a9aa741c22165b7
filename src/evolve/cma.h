// SPDX-License-Identifier: Apache-2.0
// What the two forms of CMA-ES share: cma.c, and cma_lr.c, which adapts its learning rates.

#ifndef MM_EVOLVE_CMA_H
#define MM_EVOLVE_CMA_H

#include <float.h>

#include "evolve/es_internal.h"

enum { MM_CMA_COVARIANCE = 3 };             // among the vectors of the state
enum { MM_CMA_BASIS = 0, MM_CMA_WORK = 1 }; // work space, [dimension][dimension] each

// In the notation of its literature.
typedef struct mm_cma {
  size_t mu; // members of positive weight
  double mueff, c_sigma, d_sigma, c_c, c_1, c_mu, chi;
  double weight_sum; // of all members
} mm_cma;

// The first vectors of the state.
#define MM_CMA_VECTORS                                                                             \
  { "mean", -DBL_MAX, MM_ES_PER_COORDINATE }, { "path of sigma", -DBL_MAX, MM_ES_PER_COORDINATE }, \
      { "path of C", -DBL_MAX, MM_ES_PER_COORDINATE }, {                                           \
    "C", -DBL_MAX, MM_ES_MATRIX                                                                    \
  }

mm_es_config mm_cma_defaults(mm_es_kind kind);
mm_status mm_cma_check(const mm_es_config *config, const char *name);
void mm_cma_prepare(mm_es *es);
void mm_cma_place(mm_es *es, size_t first, size_t end, double *member);
double mm_cma_step(mm_es *es);
double mm_cma_axis_ratio(const mm_es *es);

// The axes of a covariance [dimension][dimension]: B into the work space, D into es->deviation.
void mm_cma_find_axes(const mm_es *es, const double *covariance);

#endif
