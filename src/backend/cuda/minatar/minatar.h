// SPDX-License-Identifier: Apache-2.0
// AMPO on environments whose observations are bits (MinAtar), on the device: one block of threads
// trains one job for many iterations in one launch.
//
// Of an mm_cuda_agent's arrays these are the kernel's own in form:
//
//   obs      [n_row + n_env] bit sets of mm_cuda_minatar_obs_size bytes; written by the kernel
//   alone env      [n_env] as mm_vec_keep leaves them scratch  mm_cuda_minatar_scratch bytes, of no
//   meaning between launches
//
// Arrays start at multiples of 16 bytes. `bootstrap_on_timeout` is not known here.

#ifndef MM_BACKEND_CUDA_MINATAR_MINATAR_H
#define MM_BACKEND_CUDA_MINATAR_MINATAR_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/cuda/host/agent.h"
#include "env/minatar/list.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MM_CUDA_MINATAR_THREADS = 512 }; // of a block

size_t mm_cuda_minatar_obs_size(mm_minatar_game game);
size_t mm_cuda_minatar_scratch(mm_minatar_game game, int32_t n_env);

// Rows that go through the networks at a time: 128, 64 or 32, the more the faster. Bytes of shared
// memory that a block needs for them.
size_t mm_cuda_minatar_shared(mm_minatar_game game, int rows);

// Where a block's time goes, in clock cycles of its first thread.
enum {
  MM_CUDA_MINATAR_ROLLOUT,   // environments and projections
  MM_CUDA_MINATAR_VALUES,    // both networks on new observations; advantages
  MM_CUDA_MINATAR_GATHER,    // shuffles and rows of a minibatch
  MM_CUDA_MINATAR_LAYER1,    // forward
  MM_CUDA_MINATAR_TRANSPOSE, // of the observations
  MM_CUDA_MINATAR_LAYER2,    // forward, losses, back
  MM_CUDA_MINATAR_GRAD2,     // gradient of the second layer and the output
  MM_CUDA_MINATAR_GRAD1,     // of the first
  MM_CUDA_MINATAR_ADAM,      // norm, clip, step, working copies
  MM_CUDA_MINATAR_STAGES
};

// agents: [n] in device memory; each does its `span` iterations. clocks:
// [n][MM_CUDA_MINATAR_STAGES] in device memory, written over, or NULL.
cudaError_t mm_cuda_minatar_launch(mm_minatar_game game, bool relu, int rows, mm_cuda_agent *agents,
                                   int n, int64_t *clocks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
