// Functions of the kernels by themselves, for test_cuda_functions.c.

#include "cuda_functions.h"

#include <cuda_runtime.h>

#include "backend/cuda_project.cuh"
#include "map/map_internal.h"

namespace {

// A warp takes `group` rows; lanes stand for them as in a rollout.
template <int A>
__global__ void project_rows(mm_potential_f map, int group, int rows, const float *x, float *p,
                             float *lambda) {
  __shared__ mm::Knots knots;
  mm::fill_knots<32>(&knots, &map);
  __syncthreads();
  const mm::Crew crew = mm::crew_of((int)threadIdx.x, group == 4);
  const int wanted = (int)blockIdx.x * group + crew.base / 4, row = min(wanted, rows - 1);
  float mine[A], probs[A], u, top = x[row * A];
  for (int a = 0; a < A; a++) {
    mine[a] = x[row * A + a];
    top = fmaxf(top, mine[a]);
  }
  if (A == 2)
    mm::project_pair(knots, mine, probs, &u);
  else
    mm::project_several<A>(knots, mm::Quarters(knots), crew, mine, probs, &u);
  if (crew.rank != 0 || wanted >= rows) return;
  for (int a = 0; a < A; a++)
    p[row * A + a] = probs[a];
  lambda[row] = (map.anchor + u) - top;
}

template <int A>
void launch(const mm_potential_f &map, int group, int rows, const float *x, float *p,
            float *lambda) {
  project_rows<A><<<(rows + group - 1) / group, 32>>>(map, group, rows, x, p, lambda);
}

} // namespace

int cuda_project(const mm_map *map, int n_action, int group, int rows, const float *x, float *p,
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
  if (n_action == 2) launch<2>(moved, group, rows, at[0], at[1], at[2]);
  if (n_action == 3) launch<3>(moved, group, rows, at[0], at[1], at[2]);
  if (n_action == 6) launch<6>(moved, group, rows, at[0], at[1], at[2]);
  cudaMemcpy(p, at[1], size, cudaMemcpyDeviceToHost);
  cudaMemcpy(lambda, at[2], (size_t)rows * sizeof(float), cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaGetLastError();
  cudaFree(block);
  for (int i = 0; i < 3; i++)
    cudaFree(at[i]);
  return error == cudaSuccess ? 0 : 1;
}
