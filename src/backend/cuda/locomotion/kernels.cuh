// SPDX-License-Identifier: Apache-2.0
// A body's kernels and how they are launched: included once for each body and flavour.

#include "backend/cuda/locomotion/body.cuh"
#include "backend/cuda/locomotion/entry.h"

namespace mm {
namespace {

constexpr int THREADS = 128; // of a block

template <class Body>
__global__ void __launch_bounds__(THREADS, Body::BLOCKS)
    step_all(const __grid_constant__ mm_cuda_body law, const mm_cuda_bodies *bodies) {
  const mm_cuda_bodies &e = bodies[blockIdx.y];
  const int i = (int)blockIdx.x * THREADS + (int)threadIdx.x;
  if (i >= e.n) return;
  float action[Body::NU];
#pragma unroll
  for (int k = 0; k < Body::NU; k++)
    action[k] = e.action[(size_t)i * Body::NU + (size_t)k];
  step_body<Body>(law, e, i, action);
}

template <class Body>
__global__ void __launch_bounds__(THREADS, Body::BLOCKS)
    bench_all(const __grid_constant__ mm_cuda_body law, const mm_cuda_bodies *bodies,
              uint64_t first, int steps) {
  const mm_cuda_bodies &e = bodies[blockIdx.y];
  const int i = (int)blockIdx.x * THREADS + (int)threadIdx.x;
  if (i >= e.n) return;
  const mm_stream stream = mm_stream_make(e.seed, e.repeat, MM_RNG_BENCH, (uint32_t)i);
#pragma unroll 1
  for (int t = 0; t < steps; t++) {
    float action[Body::NU];
#pragma unroll
    for (int k = 0; k < Body::NU; k += 4) {
      const mm_block b = mm_stream_block(stream, 2 * (first + (uint64_t)t) + (uint64_t)(k / 4));
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (k + j < Body::NU) action[k + j] = 2.0f * mm_uniform_f(b.word[j]) - 1.0f;
    }
    step_body<Body>(law, e, afresh(i), action);
  }
}

template <class Body>
__global__ void reset_all(const __grid_constant__ mm_cuda_body law, const mm_cuda_bodies *bodies) {
  const mm_cuda_bodies &e = bodies[blockIdx.y];
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= e.n) return;
  start_episode<Body>(law, e, i);
  const Columns<Body> c = columns_of<Body>(e, i);
  observe<Body>(law, e, c.q, c.v, c.stride, i, e.obs);
}

inline dim3 grid_of(int count, int n_most) {
  return dim3((unsigned)((n_most + THREADS - 1) / THREADS), (unsigned)count);
}

template <class Body>
cudaError_t launch_step(const mm_cuda_body *law, const mm_cuda_bodies *bodies, int count,
                        int n_most, cudaStream_t stream) {
  step_all<Body><<<grid_of(count, n_most), THREADS, 0, stream>>>(*law, bodies);
  return cudaGetLastError();
}

template <class Body>
cudaError_t launch_bench(const mm_cuda_body *law, const mm_cuda_bodies *bodies, int count,
                         int n_most, uint64_t first, int steps, cudaStream_t stream) {
  bench_all<Body><<<grid_of(count, n_most), THREADS, 0, stream>>>(*law, bodies, first, steps);
  return cudaGetLastError();
}

template <class Body>
cudaError_t launch_reset(const mm_cuda_body *law, const mm_cuda_bodies *bodies, int count,
                         int n_most, cudaStream_t stream) {
  reset_all<Body><<<grid_of(count, n_most), THREADS, 0, stream>>>(*law, bodies);
  return cudaGetLastError();
}

template <class Body> constexpr mm_cuda_body_entry entry() {
  static_assert(sizeof(typename Body::Model) <= sizeof(mm_cuda_body::model), "MM_CUDA_BODY_MODEL");
  return { launch_step<Body>, launch_reset<Body>, launch_bench<Body> };
}

} // namespace
} // namespace mm
