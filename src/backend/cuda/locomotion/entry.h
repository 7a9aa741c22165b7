// SPDX-License-Identifier: Apache-2.0
// One body's kernels as the host sees them.

#ifndef MM_BACKEND_CUDA_LOCOMOTION_ENTRY_H
#define MM_BACKEND_CUDA_LOCOMOTION_ENTRY_H

#include "backend/cuda/locomotion/body.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_cuda_body_entry {
  cudaError_t (*step)(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count, int n_most,
                      cudaStream_t stream);
  cudaError_t (*reset)(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                       int n_most, cudaStream_t stream);
  cudaError_t (*bench)(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                       int n_most, uint64_t first, int steps, cudaStream_t stream);
} mm_cuda_body_entry;

// mm_cuda_body_hopper and so on; those of MM_BODY_LIST are there.
#define MM_CUDA_BODY_ENTRIES(NAME, name, id, kernels)                                              \
  extern const mm_cuda_body_entry mm_cuda_body_##name, mm_cuda_body_##name##_all;
MM_BODY_LIST(MM_CUDA_BODY_ENTRIES)

#ifdef __cplusplus
}
#endif

#endif
