// SPDX-License-Identifier: Apache-2.0
// What studies ask of mirrormap/theory.h besides: the same as a job's result.

#ifndef MM_EXPERIMENT_THEORY_H
#define MM_EXPERIMENT_THEORY_H

#include "mirrormap/theory.h"

// A measured run for a job store (mm_job_store_measure). Its curve has the exact value
// before every iteration and at the end; what an iteration was measured by stands in the first
// columns of `measure`, NaN at the end, under these names.
enum { MM_THEORY_ERROR, MM_THEORY_ERROR_SAMPLED, MM_THEORY_DISTANCE, MM_THEORY_MEASURES };
extern const char *const mm_theory_measures[MM_MEASURES];
mm_status mm_theory_train(const mm_job *job, const volatile int *stop, mm_result *result,
                          void *user);

#endif
