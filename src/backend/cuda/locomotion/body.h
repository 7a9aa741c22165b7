// SPDX-License-Identifier: Apache-2.0
// Bodies on a device: our own engine and the laws of src/env/locomotion, a thread for each
// environment. States, actions and observations are those of an mm_vec, and so are the bits that
// come out of a step: a training may go on here or there.

#ifndef MM_BACKEND_CUDA_LOCOMOTION_BODY_H
#define MM_BACKEND_CUDA_LOCOMOTION_BODY_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "physics/body.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MM_CUDA_BODY_MODEL = 256 }; // numbers of a model, at most

// A body and everything about it that is the same for all its environments; a kernel's argument.
typedef struct mm_cuda_body {
  mm_body body;
  mm_flavour flavour;
  int32_t iterations; // of Newton's method, at most
  int32_t substeps;   // physics steps of an environment step
  float base;         // height of the torso where its coordinate is 0
  float start[MM_BODY_MOST_Q];
  float model[MM_CUDA_BODY_MODEL]; // the engine's: hopper_model and so on
} mm_cuda_body;

// iterations: 0 for the body's own. MM_ERR_UNSUPPORTED for a flavour that our engine does not have.
mm_status mm_cuda_body_open(mm_body body, mm_flavour flavour, int32_t iterations,
                            mm_cuda_body *out);

// Environments of one training. All memory is the device's.
typedef struct mm_cuda_bodies {
  uint64_t seed;
  uint32_t repeat;
  int32_t fresh_reset; // each episode has its own start
  int32_t n;
  void *state;         // as mm_vec_keep leaves it: [n] mm_bodies_lane, then columns
  const float *action; // [n][nu]; those of NaN count as 0
  // what a step leaves behind, as mm_vec_out
  int32_t columns; // obs, final_obs: [n_obs][n], else [n][n_obs]
  float *obs;
  float *final_obs; // or NULL
  float *reward;    // [n]
  uint8_t *end;     // [n]
} mm_cuda_bodies;

// Bytes of the state of n environments.
size_t mm_cuda_body_state_size(const mm_cuda_body *body, size_t n);

// A step of all environments of bodies [count] in device memory, none of which has more than
// `n_most`.
cudaError_t mm_cuda_body_step(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                              int n_most, cudaStream_t stream);

// An episode begins in each environment, as mm_vec_reset: the state's lanes must be zero. Leaves
// obs.
cudaError_t mm_cuda_body_reset(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                               int n_most, cudaStream_t stream);

// `steps` steps from the first-th on with random actions, uniform in [-1, 1]: what is measured.
// `action` is not used.
cudaError_t mm_cuda_body_bench(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                               int n_most, uint64_t first, int steps, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
