// SPDX-License-Identifier: Apache-2.0
// Functions of the kernels by themselves, for test_cuda_functions.c.

#include "cuda_functions.h"

#include <cuda_runtime.h>

#include "backend/cuda/warp/project.cuh"
#include "map/map_internal.h"

namespace {

// A row has `lanes` lanes of a warp, 4 to 32, as in rollouts.
template <int A>
__global__ void project_rows(mm_potential_f map, int lanes, int rows, const float *x, float *p,
                             float *lambda) {
  __shared__ mm::Knots knots;
  __shared__ __align__(16) mm::Guide guide[mm::BINS];
  mm::fill_knots<32>(&knots, &map);
  __syncthreads();
  if (threadIdx.x == 0) mm::choose_bins(&knots);
  __syncthreads();
  mm::fill_guide<32>(knots, guide);
  __syncthreads();
  const bool few = lanes == 8 || lanes == 32;
  const mm::Crew crew = mm::crew_of(0, lanes / (few ? 8 : 4), (int)threadIdx.x, few);
  const int wanted = (int)blockIdx.x * (32 / lanes) + crew.place, row = min(wanted, rows - 1);
  float mine[A], weight[A], total = 1, u, top = x[row * A];
  for (int a = 0; a < A; a++) {
    mine[a] = x[row * A + a];
    top = fmaxf(top, mine[a]);
  }
  if constexpr (A == 2)
    mm::project_pair(knots, mine, weight, &u);
  else
    mm::project_several<A>(mm::Plan<A>(knots, guide, crew), mine, weight, &total, &u);
  if (crew.rank != 0 || wanted >= rows) return;
  for (int a = 0; a < A; a++)
    p[row * A + a] = weight[a] / total;
  lambda[row] = (map.anchor + u) - top;
}

template <int A>
void launch(const mm_potential_f &map, int lanes, int rows, const float *x, float *p,
            float *lambda) {
  const int group = 32 / lanes;
  project_rows<A><<<(rows + group - 1) / group, 32>>>(map, lanes, rows, x, p, lambda);
}

} // namespace

int cuda_project(const mm_map *map, int n_action, int lanes, int rows, const float *x, float *p,
                 float *lambda) {
  const size_t size = (size_t)rows * (size_t)n_action * sizeof(float);
  unsigned char *block = nullptr;
  float *at[3] = { nullptr, nullptr, nullptr };
  cudaMalloc(&block, map->arena.size);
  for (int i = 0; i < 3; i++)
    cudaMalloc(&at[i], size);
  cudaMemcpy(block, map->arena.base, map->arena.size, cudaMemcpyHostToDevice);
  cudaMemcpy(at[0], x, size, cudaMemcpyHostToDevice);
  const mm_potential_f moved = mm_map_moved_f(map, block);
  if (n_action == 2) launch<2>(moved, lanes, rows, at[0], at[1], at[2]);
  if (n_action == 3) launch<3>(moved, lanes, rows, at[0], at[1], at[2]);
  if (n_action == 6) launch<6>(moved, lanes, rows, at[0], at[1], at[2]);
  cudaMemcpy(p, at[1], size, cudaMemcpyDeviceToHost);
  cudaMemcpy(lambda, at[2], (size_t)rows * sizeof(float), cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaGetLastError();
  cudaFree(block);
  for (int i = 0; i < 3; i++)
    cudaFree(at[i]);
  return error == cudaSuccess ? 0 : 1;
}
