// SPDX-License-Identifier: Apache-2.0
// What learning reads, made ready for it: parameters as operands, and an epoch's batch in the order
// of its minibatches, so that a block finds the rows of its next step side by side.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_GATHER_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_GATHER_CUH

#include "backend/cuda/gaussian/tile.cuh"

namespace mm {
namespace gaussian {

enum { GATHER_THREADS = 256, REMEMBERED = 512 };

// At the beginning of a launch; later whoever changes a parameter does it.
__global__ void round_parameters(mm_cuda_agent *agents) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = *static_cast<const mm_cuda_gauss *>(a.scratch);
  const mm_cuda_gauss_layout l = mm_cuda_gauss_layout_of(g.n_input);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 2 * l.b2; i += gridDim.x * blockDim.x) {
    const int net = i / l.b2, at = i % l.b2;
    const __half x = __float2half_rn(a.param[net * l.size + at]);
    g.operand[net * l.b2 + mm_cuda_gauss_operand_at((size_t)at)] =
        *reinterpret_cast<const uint16_t *>(&x);
  }
}

MM_DEVICE double gather_sum(double x, double *sums) {
  x = warp_sum(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < GATHER_THREADS / 32; i++)
    sum += sums[i];
  return sum;
}

// A minibatch of an epoch, by a block. Those who share a network have not met in it yet.
__global__ void __launch_bounds__(GATHER_THREADS) gather(mm_cuda_agent *agents, int epoch) {
  mm_cuda_agent &a = agents[blockIdx.y];
  const mm_cuda_gauss &g = *static_cast<const mm_cuda_gauss *>(a.scratch);
  if (!g.active || a.broken || epoch >= a.epochs) return;
  __shared__ mm_shuffle shuffle;
  __shared__ double sums[GATHER_THREADS / 32];
  __shared__ uint32_t rows[REMEMBERED]; // the first ones of a minibatch
  const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
  if (blockIdx.x == 0 && tid < 2 * PARTS) g.team[tid / PARTS].met[tid % PARTS] = 0;
  if (tid == 0)
    shuffle = mm_shuffle_make(shuffle_stream(a), shuffle_number(a, epoch), (uint32_t)a.n_row);
  __syncthreads();
  const int inputs = mm_cuda_gauss_layout_of(g.n_input).inputs;
  for (int mb = blockIdx.x; mb < a.minibatches; mb += gridDim.x) {
    const int each = a.n_row / a.minibatches, larger = a.n_row % a.minibatches;
    const int first = mb * each + (mb < larger ? mb : larger), n = each + (mb < larger);
    double mean = 0, by = 1;
    const auto row_of = [&](int i) {
      return i < REMEMBERED ? rows[i] : mm_shuffle_at(&shuffle, (uint32_t)(first + i));
    };
    __syncthreads();
    for (int i = tid; i < n && i < REMEMBERED; i += GATHER_THREADS)
      rows[i] = mm_shuffle_at(&shuffle, (uint32_t)(first + i));
    __syncthreads();
    if (a.normalise) {
      double sum = 0;
      for (int i = tid; i < n; i += GATHER_THREADS)
        sum += (double)a.advantage[row_of(i)];
      mean = gather_sum(sum, sums) / n;
      sum = 0;
      for (int i = tid; i < n; i += GATHER_THREADS) {
        const double d = (double)a.advantage[row_of(i)] - mean;
        sum += d * d;
      }
      by = 1 / (sqrt(gather_sum(sum, sums) / n) + 1e-8);
    }
    for (int i = tid; i < n; i += GATHER_THREADS) {
      const uint32_t row = row_of(i);
      float *about = g.about + (size_t)(first + i) * 4, *acted = g.acted + (size_t)(first + i) * A;
      about[0] = a.policy[row];
      about[1] = (a.advantage[row] - (float)mean) * (float)by;
      about[2] = a.value[row];
      about[3] = a.target[row];
      for (int k = 0; k < A; k++)
        acted[k] = k < g.n_real ? g.real[(size_t)row * g.n_real + k] : 0.0f;
    }
    for (int i = warp; i < n; i += GATHER_THREADS / 32) {
      const uint32_t row = row_of(i);
      const float *obs = static_cast<const float *>(a.obs) + (size_t)row * g.n_input;
      for (int j = lane; j < inputs; j += 32) {
        const __half x = input_of(obs, j, g.n_input);
        g.input[(size_t)(first + i) * inputs + j] = *reinterpret_cast<const uint16_t *>(&x);
      }
    }
  }
}

} // namespace gaussian
} // namespace mm

#endif
