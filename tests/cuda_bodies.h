// SPDX-License-Identifier: Apache-2.0
// Environments of bodies on a device, taken through steps and brought back.

#ifndef MM_TEST_CUDA_BODIES_H
#define MM_TEST_CUDA_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "physics/body.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_BODIES_MOST = 4 }; // trainings of a call

// One training's environments. Everything is the host's memory.
typedef struct cuda_bodies {
  uint64_t seed;
  uint32_t repeat;
  bool fresh_reset, columns;
  int n;
  void *state;         // as mm_vec_keep leaves it: before and, in its place, after
  const float *action; // [steps][n][nu]
  float *obs;          // [steps][n][n_obs], or with columns [steps][n_obs][n]
  float *final_obs;    // the same; what is not written stays what it was; or NULL
  float *reward;       // [steps][n]
  uint8_t *end;        // [steps][n]
} cuda_bodies;

// `steps` steps of all trainings side by side, after a reset where `reset` says so (of lanes that
// are zero). NULL if the device did it, else its sentence.
const char *cuda_bodies_run(mm_body body, mm_flavour flavour, cuda_bodies *trainings, int count,
                            int steps, bool reset);

#ifdef __cplusplus
}
#endif

#endif
