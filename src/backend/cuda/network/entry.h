// SPDX-License-Identifier: Apache-2.0
// One environment's kernels as the host sees them: those of classic control and of MinAtar. Each
// environment has a source of its own, which CMake makes, since compiling one takes long.

#ifndef MM_BACKEND_CUDA_NETWORK_ENTRY_H
#define MM_BACKEND_CUDA_NETWORK_ENTRY_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

enum { MM_CUDA_ENTRY_TILES = 3 };

typedef struct mm_cuda_entry {
  size_t obs_size;                  // bytes of an observation
  size_t (*scratch)(int32_t n_env); // bytes of the kernel's own memory; NULL: none
  // by size, largest first
  struct {
    int rows;
    size_t shared;         // bytes, without the batch
    const void *kernel[2]; // with tanh, with relu
  } tile[MM_CUDA_ENTRY_TILES];
} mm_cuda_entry;

// `blocks` blocks of so many threads, each with `shared` bytes of shared memory.
static inline cudaError_t mm_cuda_launch_blocks(const void *kernel, int blocks, int threads,
                                                size_t shared, void **arguments,
                                                cudaStream_t stream) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (error != cudaSuccess) return error;
  return cudaLaunchKernel(kernel, dim3((unsigned)blocks), dim3((unsigned)threads), arguments,
                          shared, stream);
}

#endif
