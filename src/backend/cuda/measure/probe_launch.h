// SPDX-License-Identifier: Apache-2.0
// The door between the probe's host side (probe.c) and its kernels (probe.cu).

#ifndef MM_BACKEND_CUDA_MEASURE_PROBE_LAUNCH_H
#define MM_BACKEND_CUDA_MEASURE_PROBE_LAUNCH_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MM_CUDA_PROBE_THREADS = 512,   // of a block
  MM_CUDA_PROBE_FMA_CHAINS = 16, // independent ones of a thread
  MM_CUDA_PROBE_MMA_CHAINS = 8,  // of a warp
  MM_CUDA_PROBE_MMA_WORK = 2 * 16 * 8 * 16
};

// Every chain `rounds` times; sink: [blocks][MM_CUDA_PROBE_THREADS] in device memory.
cudaError_t mm_cuda_probe_fma(int blocks, int rounds, float *sink, cudaStream_t stream);
cudaError_t mm_cuda_probe_mma(int blocks, int rounds, float *sink, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
