// The norm of both networks' gradients. Squares are added in an order that does not depend on how
// many blocks share a network: by parts of 64 units.
//
//   a part: 4 rows of 16 squares of w2, in 16 sums of 4 squares each; then the rest, what leads to
//   its units and from them, in 4 sums; the first part has the last biases and the log deviations

#ifndef MM_BACKEND_CUDA_GAUSS_NORM_CUH
#define MM_BACKEND_CUDA_GAUSS_NORM_CUH

#include "backend/cuda_gauss_step.cuh"

namespace mm {
namespace wide {

enum { PART_UNITS = H / PARTS };

MM_DEVICE float square_of(float4 x) {
  return x.x * x.x + x.y * x.y + (x.z * x.z + x.w * x.w);
}

// The rest of a part, four numbers at a time: how many, and where.
MM_DEVICE int rest_count(const mm_cuda_wide_layout &l, int part) {
  return PART_UNITS * (l.inputs + 1 + A) / 4 + (part == 0 ? 2 * A / 4 : 0);
}

MM_DEVICE int rest_at(const mm_cuda_wide_layout &l, int part, int i) {
  const int w1 = PART_UNITS * l.inputs / 4, row = PART_UNITS / 4;
  if (i < w1) return l.w1 + 4 * (part * w1 + i);
  i -= w1;
  if (i < row) return l.b2 + part * PART_UNITS + 4 * i;
  i -= row;
  if (i < A * row) return l.w3 + i / row * H + part * PART_UNITS + 4 * (i % row);
  return l.b3 + 4 * (i - A * row);
}

// Sum number `at` of a part, of a lane's share in each; all lanes of a warp.
template <int MT> MM_DEVICE void put_sum(Work<MT> &S, int part, int at, float square) {
  const double sum = warp_sum((double)square);
  if ((threadIdx.x & 31) == 0) S.part_sums[part][at] = sum;
}

// The rest of this block's parts, four warps for each.
template <int MT, int P> MM_DEVICE void put_rest(Work<MT> &S, const Step &s) {
  const int warp = threadIdx.x >> 5, part = s.member * (PARTS / P) + (warp >> 2);
  if (warp >= 4 * (PARTS / P)) return;
  float square = 0;
  for (int i = threadIdx.x & 127; i < rest_count(s.l, part); i += 128)
    square += square_of(*reinterpret_cast<const float4 *>(s.gradient + rest_at(s.l, part, i)));
  put_sum(S, part, 16 + (warp & 3), square);
}

// Tells the others of this block's parts and hears of theirs, the other network's too: S.total.
template <int MT, int P> MM_DEVICE void both_squares(Work<MT> &S, const Step &s, uint64_t step) {
  const int tid = threadIdx.x;
  __syncthreads();
  if (tid >= 32) {
    __syncthreads();
    return;
  }
  mm_cuda_gauss_word *word = s.gauss->word + (step & 1);
  if (tid < PARTS / P) {
    const int part = s.member * (PARTS / P) + tid;
    mm_cuda_gauss_word *mine = word + 2 * (PARTS * s.which + part);
    double sum = 0;
    for (int i = 0; i < PART_SUMS; i++)
      sum += S.part_sums[part][i];
    mine->square = sum;
    post(&mine->step, step);
  }
  __syncwarp();
  if (tid < 2 * PARTS) {
    while (hear(&word[2 * tid].step) != step) {
    }
    S.word[tid] = __ldcg(&word[2 * tid].square);
  }
  __syncwarp();
  if (tid == 0) {
    double actor = 0, critic = 0;
    for (int i = 0; i < PARTS; i++) {
      actor += S.word[i];
      critic += S.word[PARTS + i];
    }
    S.total = actor + critic;
  }
  __syncthreads();
}

} // namespace wide
} // namespace mm

#endif
