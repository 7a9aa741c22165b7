// SPDX-License-Identifier: Apache-2.0
// A gradient step of one network by one thread block: what is at work, and its rows.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_STEP_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_STEP_CUH

#include "backend/cuda/gaussian/tile.cuh"

namespace mm {
namespace gaussian {

// A part of a minibatch at work.
struct Step {
  const mm_cuda_agent *agent;
  mm_cuda_gauss *gauss;
  float *param, *m, *v, *gradient; // of this network
  uint16_t *operand;
  mm_cuda_gauss_layout l;
  int used; // as mm_cuda_gauss has it
  int which;
  int first, n;   // of the minibatch, among the shuffled rows
  int from, rows; // of the tile, among those
  bool add, last; // not the first tile of its minibatch; the last one
  bool measure;   // the divergence of this minibatch
  int member;     // of the blocks that share the network
  int low, high;  // rows of a tile that are this block's, up to their loss
  int filled;     // rows of this tile, rounded up to 16 or further
  int most;       // rows of a tile at most, in this epoch
};

// ---------------------------------------------------------------------------------------------
// Time

template <int MT> MM_DEVICE void mark(Work<MT> &S, int stage) {
  if (threadIdx.x == 0 && S.timed) S.clock.mark(stage);
}

// ---------------------------------------------------------------------------------------------
// Over the block; everybody gets it

template <int MT> MM_DEVICE float block_top(Work<MT> &S, float x) {
  x = warp_top(x);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) S.tops[threadIdx.x >> 5] = x;
  __syncthreads();
  float top = 0;
  for (int i = 0; i < WARPS; i++)
    top = fmaxf(top, S.tops[i]);
  return top;
}

// ---------------------------------------------------------------------------------------------
// Rows

// Sends for the rows of a tile, `rows` from `first` on; others are empty. They will be there after
// arrive().
template <int MT> MM_DEVICE void fetch(const Step &s, int first, int rows) {
  Work<MT> &S = here<MT>();
  const mm_cuda_gauss &g = *s.gauss;
  const int pieces = s.l.inputs / 8, x_row = s.l.inputs + 8;
  const uint4 none = make_uint4(0, 0, 0, 0);
  for (int i = threadIdx.x; i < Work<MT>::R * pieces; i += THREADS) {
    const int r = i / pieces, k = i % pieces;
    __half *to = S.x + r * x_row + 8 * k;
    if (r < rows)
      copy16(to, g.input + (size_t)(first + r) * s.l.inputs + 8 * k);
    else
      *reinterpret_cast<uint4 *>(to) = none;
  }
  for (int r = threadIdx.x; r < rows; r += THREADS)
    copy16(&S.about[r], g.about + (size_t)(first + r) * 4);
  if (s.which == ACTOR)
    for (int i = threadIdx.x; i < rows * A / 4; i += THREADS)
      copy16(S.action + 4 * i, g.acted + (size_t)first * A + 4 * i);
  end_copies();
}

// And the outputs' weights and the deviations, as they are now.
template <int MT> MM_DEVICE void arrive(const Step &s) {
  Work<MT> &S = here<MT>();
  const int i = threadIdx.x;
  take_outputs(S, s.param + s.l.w3);
  if (s.which == ACTOR && i < s.gauss->n_real)
    S.inverse[i] = mm_exp_f(-mm_log_std(s.param[s.l.log_std + i]));
  if (s.which == ACTOR && i == 32)
    S.log_scale = mm_log_density_scale(s.gauss->n_real, s.param + s.l.log_std);
  wait_copies<0>();
  __syncthreads();
}

} // namespace gaussian
} // namespace mm

#endif
