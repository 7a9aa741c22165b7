// Kernels that train AMPO on classic control: see cuda_dense.cuh.

#ifndef MM_BACKEND_CUDA_DENSE_H
#define MM_BACKEND_CUDA_DENSE_H

#include <cuda_runtime.h>

#include "backend/cuda_agent.h"
#include "env/classic_batch.h"

// How a launch is cut to the device: rows at work at a time (128, 64 or 32), one tile per minibatch
// or several, the batch in shared memory or not.
typedef struct mm_cuda_dense_plan {
  mm_classic_env env;
  bool relu, one_tile, batch_inside;
  int tile;
  size_t shared_size; // bytes of shared memory
  const void *kernel;
} mm_cuda_dense_plan;

// The best plan for agents of n_row rows, at most `largest` of them in a minibatch, on a device
// whose blocks have `shared_limit` bytes of shared memory; tile: 0, or the one to take. False: no
// such environment, or no plan fits.
bool mm_cuda_dense_choose(mm_classic_env env, bool relu, int n_row, int n_env, int largest, int tile,
                          size_t shared_limit, mm_cuda_dense_plan *out);

// Before the first launch on a device.
cudaError_t mm_cuda_dense_prepare(const mm_cuda_dense_plan *plan);

// Agents [n] in device memory, `span` iterations each.
cudaError_t mm_cuda_dense_launch(const mm_cuda_dense_plan *plan, mm_cuda_agent *agents, int n,
                                 cudaStream_t stream);

#endif
