// SPDX-License-Identifier: Apache-2.0
// The door between the host's side of tabular PMD (jobs.c) and its kernel (pmd.cu).

#ifndef MM_BACKEND_CUDA_TABULAR_LAUNCH_H
#define MM_BACKEND_CUDA_TABULAR_LAUNCH_H

#include <cuda_runtime_api.h>

#include "backend/cuda/tabular/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

// The most memory of its own that a block asks for: what every device has without being asked.
enum { MM_CUDA_PMD_BLOCK_MOST = 48 * 1024 };

// What a block needs for a job with batches of so many samples, the batch included where it fits.
size_t mm_cuda_pmd_block_bytes(int32_t n_batch);

// Takes agents[n], in device memory, up to `span` iterations further. `bytes`: the most that one of
// them needs.
cudaError_t mm_cuda_pmd_launch(const mm_cuda_pmd *agents, size_t n, int64_t span, size_t bytes,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
