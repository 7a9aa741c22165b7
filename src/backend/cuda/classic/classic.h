// SPDX-License-Identifier: Apache-2.0
// Kernels that train AMPO on classic control: see network.cuh.

#ifndef MM_BACKEND_CUDA_CLASSIC_CLASSIC_H
#define MM_BACKEND_CUDA_CLASSIC_CLASSIC_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/cuda/host/agent.h"
#include "env/classic/list.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of what is seen, as layer 1 reads it.
enum { MM_CUDA_CLASSIC_OBS_SIZE = 32 };

// How a launch is cut to the device: rows at work at a time (128, where a minibatch must not have
// more; 64 or 32), the batch in shared memory or not.
typedef struct mm_cuda_classic_plan {
  mm_classic_env env;
  bool relu, batch_inside;
  int tile;
  size_t shared_size; // bytes of shared memory
  const void *kernel;
} mm_cuda_classic_plan;

// The best plan for agents of n_row rows, at most `largest` of them in a minibatch, on a device
// whose blocks have `shared_limit` bytes of shared memory; tile: 0, or the one to take. False: no
// such environment, or no plan fits.
bool mm_cuda_classic_choose(mm_classic_env env, bool relu, int n_row, int n_env, int largest,
                            int tile, size_t shared_limit, mm_cuda_classic_plan *out);

// Where a block's time goes, in clock cycles of its first thread.
enum {
  MM_CUDA_CLASSIC_ROLLOUT,
  MM_CUDA_CLASSIC_VALUES,  // values of the critic, advantages
  MM_CUDA_CLASSIC_SHUFFLE, // of rows, and means of advantages
  MM_CUDA_CLASSIC_TILE,    // forward, losses and back
  MM_CUDA_CLASSIC_WAIT,    // for the other warps
  MM_CUDA_CLASSIC_GRADIENT,
  MM_CUDA_CLASSIC_ADAM, // norm, clip, step, working copies
  MM_CUDA_CLASSIC_STAGES
};

// Agents [n] in device memory, `span` iterations each. clocks: [n][MM_CUDA_CLASSIC_STAGES] in
// device memory, written over, or NULL.
cudaError_t mm_cuda_classic_launch(const mm_cuda_classic_plan *plan, mm_cuda_agent *agents, int n,
                                   int64_t *clocks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
