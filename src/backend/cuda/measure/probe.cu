// SPDX-License-Identifier: Apache-2.0
// Chains of arithmetic, enough of them to hide what each one waits for. What they compute is
// written down, so that none of it can be left out, and stays finite.

#include <stdint.h>

#include "backend/cuda/measure/probe_launch.h"

namespace {

constexpr int THREADS = MM_CUDA_PROBE_THREADS;

__global__ void __launch_bounds__(THREADS) fma_chains(int rounds, float *sink) {
  constexpr int CHAINS = MM_CUDA_PROBE_FMA_CHAINS;
  float x[CHAINS], sum = 0;
  const float factor = 1 - 1e-4f * (float)(threadIdx.x + 1);
#pragma unroll
  for (int i = 0; i < CHAINS; i++)
    x[i] = (float)i;
#pragma unroll 8 // else the loop itself takes a sixth of the time
  for (int k = 0; k < rounds; k++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
      x[i] = __fmaf_rn(x[i], factor, 0.25f);
#pragma unroll
  for (int i = 0; i < CHAINS; i++)
    sum += x[i];
  sink[blockIdx.x * THREADS + threadIdx.x] = sum;
}

// Operands are halves in [1, 2): numbers of many bits draw the power that real ones do.
__global__ void __launch_bounds__(THREADS) mma_chains(int rounds, float *sink) {
  constexpr int CHAINS = MM_CUDA_PROBE_MMA_CHAINS;
  const uint32_t bits = (threadIdx.x * 0x9e3779b9u) & 0x03ff03ffu, one = 0x3c003c00u;
  const uint32_t a0 = one | bits, a1 = one | (bits >> 3 & 0x03ff03ffu),
                 a2 = one | (~bits & 0x03ff03ffu);
  const uint32_t a3 = one | ((bits ^ 0x01550155u) & 0x03ff03ffu), b0 = a2, b1 = a1;
  float c[CHAINS][4], sum = 0;
#pragma unroll
  for (int i = 0; i < CHAINS; i++)
    c[i][0] = c[i][1] = c[i][2] = c[i][3] = 0;
#pragma unroll 1
  for (int k = 0; k < rounds; k++)
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                   "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                   : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#pragma unroll
  for (int i = 0; i < CHAINS; i++)
    sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  sink[blockIdx.x * THREADS + threadIdx.x] = sum;
}

} // namespace

cudaError_t mm_cuda_probe_fma(int blocks, int rounds, float *sink, cudaStream_t stream) {
  fma_chains<<<(unsigned)blocks, THREADS, 0, stream>>>(rounds, sink);
  return cudaGetLastError();
}

cudaError_t mm_cuda_probe_mma(int blocks, int rounds, float *sink, cudaStream_t stream) {
  mma_chains<<<(unsigned)blocks, THREADS, 0, stream>>>(rounds, sink);
  return cudaGetLastError();
}
