// A gradient step of one network by one thread block: what is at work, and its rows.

#ifndef MM_BACKEND_CUDA_GAUSS_STEP_CUH
#define MM_BACKEND_CUDA_GAUSS_STEP_CUH

#include "backend/cuda_gauss_tile.cuh"

namespace mm {
namespace wide {

enum { ACTOR, CRITIC };

// A part of a minibatch at work.
struct Step {
  const mm_cuda_agent *agent;
  mm_cuda_gauss *gauss;
  float *param, *m, *v, *gradient; // of this network
  mm_cuda_wide_layout l;
  int which;
  int first, n;   // of the minibatch, among the shuffled rows
  int from, rows; // of the tile, among those
  bool add, last; // not the first tile of its minibatch; the last one
  bool measure;   // the divergence of this minibatch
};

// ---------------------------------------------------------------------------------------------
// Time

template <int MT> MM_DEVICE void begin_clock(Work<MT> &S, bool timed) {
  S.timed = timed;
  for (int i = 0; i < MM_CUDA_GAUSS_STAGES; i++)
    S.clocks[i] = 0;
  S.clock = clock64();
}

// The time since the last mark belongs to this stage.
template <int MT> MM_DEVICE void mark(Work<MT> &S, int stage) {
  if (threadIdx.x != 0 || !S.timed) return;
  const int64_t now = clock64();
  S.clocks[stage] += now - S.clock;
  S.clock = now;
}

// ---------------------------------------------------------------------------------------------
// Sums over the block; everybody gets them

template <int MT> MM_DEVICE double block_sum(Work<MT> &S, double x) {
  x = warp_sum(x);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) S.sums[threadIdx.x >> 5] = x;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < WARPS; i++)
    sum += S.sums[i];
  return sum;
}

template <int MT> MM_DEVICE float block_top(Work<MT> &S, float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, lanes));
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

// Mean and deviation of the minibatch's advantages.
template <int MT> __device__ __noinline__ void normalise(const Step &s) {
  Work<MT> &S = here<MT>();
  const mm_cuda_agent &a = *s.agent;
  double sum = 0;
  if (!a.normalise) {
    if (threadIdx.x == 0) {
      S.mean = 0;
      S.scale = 1;
    }
    return;
  }
  for (int i = threadIdx.x; i < s.n; i += THREADS)
    sum += (double)a.advantage[mm_shuffle_at(&S.shuffle, (uint32_t)(s.first + i))];
  const double mean = block_sum(S, sum) / s.n;
  sum = 0;
  for (int i = threadIdx.x; i < s.n; i += THREADS) {
    const double d = (double)a.advantage[mm_shuffle_at(&S.shuffle, (uint32_t)(s.first + i))] - mean;
    sum += d * d;
  }
  const double square = block_sum(S, sum);
  if (threadIdx.x == 0) {
    S.mean = (float)mean;
    S.scale = (float)(1 / (sqrt(square / s.n) + 1e-8));
  }
}

template <int MT> __device__ __noinline__ void gather(const Step &s) {
  Work<MT> &S = here<MT>();
  const mm_cuda_agent &a = *s.agent;
  const int i = threadIdx.x;
  if (i < Work<MT>::R) {
    const bool there = i < s.rows;
    const uint32_t row = there ? mm_shuffle_at(&S.shuffle, (uint32_t)(s.first + s.from + i)) : 0;
    S.row[i] = row;
    if (there && s.which == ACTOR) {
      S.policy[i] = a.policy[row];
      S.advantage[i] = a.advantage[row];
    } else if (there) {
      S.value[i] = a.value[row];
      S.target[i] = a.target[row];
    }
  }
  if (s.which == ACTOR && i < s.gauss->n_real)
    S.inverse[i] = mm_exp_f(-log_std_of(s.param[s.l.log_std + i]));
  if (s.which == ACTOR && i == 0)
    S.log_scale = log_scale_of(s.param + s.l.log_std, s.gauss->n_real);
  __syncthreads();
  take_inputs<MT>(S, static_cast<const float *>(a.obs), s.gauss->n_input, s.l.inputs, s.rows,
                  [&](int k) { return S.row[k]; });
  __syncthreads();
}

} // namespace wide
} // namespace mm

#endif
