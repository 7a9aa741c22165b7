// SPDX-License-Identifier: Apache-2.0
// The norm of both networks' gradients. Squares are added in an order that does not depend on how
// many blocks share a network: by parts of 64 units, of sums that warps make of what their lanes
// hold of
//
//   0 .. 15   four squares of w2, by their row and column
//   16 .. 19  what leads from 16 units, and their biases
//   20 .. 35  a square of w1, by its row and column
//   36 .. 43  a last bias and a log deviation, in the first part
//
// and the others are 0.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_NORM_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_NORM_CUH

#include "backend/cuda/gaussian/step.cuh"

namespace mm {
namespace gaussian {

enum { SUM_W2 = 0, SUM_W3 = 16, SUM_W1 = 20, SUM_LAST = 36 };

MM_DEVICE float square_of(float4 x) {
  return x.x * x.x + x.y * x.y + (x.z * x.z + x.w * x.w);
}

// Sum number `at` of a part, of what the lanes have; all lanes of a warp.
template <int MT> MM_DEVICE void put_sum(Work<MT> &S, int part, int at, float square) {
  const float sum = warp_sum(square);
  if ((threadIdx.x & 31) == 0) S.part_sums[part][at] = sum;
}

// Tells the others of this block's parts and hears of theirs, the other network's too: S.total.
template <int MT, int P> MM_DEVICE void both_squares(Work<MT> &S, const Step &s, uint64_t step) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  mm_cuda_gauss_word *word = s.gauss->word + (step & 1);
  __syncthreads();
  if (warp < PARTS / P) {
    const int part = s.member * (PARTS / P) + warp;
    mm_cuda_gauss_word *mine = word + 2 * (PARTS * s.which + part);
    const double sum =
        warp_sum((double)S.part_sums[part][lane] + (double)S.part_sums[part][lane + 32]);
    if (lane == 0) {
      mine->square = sum;
      post(&mine->step, step);
    }
  }
  if (warp == 0) {
    if (lane < 2 * PARTS) {
      while (hear(&word[2 * lane].step) != step) {
      }
      S.word[lane] = __ldcg(&word[2 * lane].square);
    }
    __syncwarp();
    if (lane == 0) {
      double actor = 0, critic = 0;
      for (int i = 0; i < PARTS; i++) {
        actor += S.word[i];
        critic += S.word[PARTS + i];
      }
      S.total = actor + critic;
    }
  }
  __syncthreads();
}

} // namespace gaussian
} // namespace mm

#endif
