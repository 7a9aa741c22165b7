// SPDX-License-Identifier: Apache-2.0
// Functions of the kernels on a device, called one by one.

#ifndef MM_TEST_CUDA_FUNCTIONS_H
#define MM_TEST_CUDA_FUNCTIONS_H

#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

// Projects rows of scores x[rows][n_action] onto a piecewise map, by `lanes` lanes (4, 8, 16 or 32)
// each; n_action: 2, 3 or 6. 0 if the device did it.
int cuda_project(const mm_map *map, int n_action, int lanes, int rows, const float *x, float *p,
                 float *lambda);

#ifdef __cplusplus
}
#endif

#endif
