// SPDX-License-Identifier: Apache-2.0
// The kernel: a block takes its agent through `span` iterations.

#ifndef MM_BACKEND_CUDA_MINATAR_TRAIN_CUH
#define MM_BACKEND_CUDA_MINATAR_TRAIN_CUH

#include "backend/cuda/minatar/learn.cuh"
#include "backend/cuda/minatar/rollout.cuh"
#include "backend/cuda/network/entry.h"

namespace mm {
namespace minatar {

// The agent's map, and what projections look up of it. Nobody is at work with the one before.
template <class S> __device__ __noinline__ void take_map(const mm_potential_f *from) {
  room<S> &s = here<S>();
  copy_words<THREADS>(&s.agent.map, from);
  fill_knots<THREADS>(&s.knots, from);
  __syncthreads();
  if (threadIdx.x == 0 && s.knots.n > 0) choose_bins(&s.knots);
  __syncthreads();
}

// Of a map that moves the one of the i-th iteration; false if there is none.
template <class S> MM_DEVICE bool move_map(const room<S> &s, int i) {
  const mm_potential_f *maps = static_cast<const mm_potential_f *>(s.agent.maps);
  if (!maps) return true;
  if (maps[i].kind == MM_MAP_KINDS) return false;
  take_map<S>(maps + i);
  return true;
}

// Working copies of the parameters, and zeros where nothing else ever is.
template <class S> __device__ __noinline__ void open_block(const mm_cuda_agent *agent, bool timed) {
  room<S> &s = here<S>();
  const int i0 = threadIdx.x;
  copy_words<THREADS>(&s.agent, agent);
  if (i0 == 0) {
    s.timed = timed;
    s.clock.begin();
  }
  __syncthreads();
  const mm_cuda_layout l = scratch<S::WHICH>::layout();
  __half *w1 = w1_of(s);
  for (int i = 4 * i0; i < l.size; i += 4 * THREADS)
    keep(s, w1, i, *reinterpret_cast<const float4 *>(s.agent.param + i));
  for (int i = i0; i < 16; i += THREADS)
    gradient_of(s)[l.b3 + i] = 0;
  for (int i = S::in::REAL * BOTH + i0; i < S::in::ALL * BOTH; i += THREADS) {
    const int input = i / BOTH, place = (input & ~31) + place_of_bit(input & 31);
    w1[place * BOTH + i % BOTH] = __float2half_rn(0);
  }
  take_map<S>(&agent->map);
}

// All epochs of an iteration; false where a norm is not finite. Minibatches are as equal as they
// can be: the first ones take what is left over.
template <class S, int ACT> MM_DEVICE bool learn_all(room<S> &s, const mm_cuda_rate *rate) {
  const mm_cuda_agent &a = s.agent;
#pragma unroll 1
  for (int e = 0; e < a.epochs; e++) {
    shuffle_rows<S>(shuffle_number(a, e));
    int from = 0;
#pragma unroll 1
    for (int i = 0; i < a.minibatches; i++) {
      const int n = a.n_row / a.minibatches + (i < a.n_row % a.minibatches);
      open_minibatch<S>(a.row + from, n, rate[e * a.minibatches + i]);
#pragma unroll 1
      while (!learn<S, ACT>(s))
        if (!lower_scale<S>()) return false;
      from += n;
    }
  }
  return true;
}

template <class S, int ACT> MM_DEVICE bool iterate(room<S> &s, int i) {
  const mm_cuda_agent &a = s.agent;
  if (!rollout<S, ACT>(a.report + i)) return false;
  estimate<S>();
  return learn_all<S, ACT>(s, a.rate + (size_t)i * (size_t)(a.epochs * a.minibatches));
}

template <class S, int ACT>
__global__ void __launch_bounds__(THREADS, 1) train(mm_cuda_agent *agents, int64_t *clocks) {
  if constexpr (!tile_is_compiled<S::ROWS>()) {
    if (threadIdx.x == 0) agents[blockIdx.x].broken = MM_CUDA_NOT_COMPILED;
    return;
  }
  room<S> &s = here<S>();
  mm_cuda_agent *agent = agents + blockIdx.x;
  if (agent->broken) return;
  open_block<S>(agent, clocks != nullptr);
#pragma unroll 1
  for (int i = 0; i < s.agent.span; i++) {
    if (threadIdx.x == 0) s.agent.step = s.agent.steps[i];
    if (__syncthreads_or(threadIdx.x == 0 && mm_cuda_told_to_stop(s.agent))) break;
    const bool map = move_map(s, i), fine = map && iterate<S, ACT>(s, i);
    __syncthreads();
    if (threadIdx.x == 0) {
      if (fine)
        agent->iteration = ++s.agent.iteration;
      else
        agent->broken = map ? MM_CUDA_NOT_FINITE : MM_CUDA_NO_MAP;
    }
    __syncthreads();
    if (!fine) break;
  }
  if (threadIdx.x == 0 && clocks) s.clock.tell(clocks + blockIdx.x * MM_CUDA_MINATAR_STAGES);
}

// ---------------------------------------------------------------------------------------------
// For the host

template <mm_minatar_game GAME> size_t scratch_size(int32_t n_env) {
  return scratch<GAME>::size(n_env);
}

// The largest tile is compiled for each activation, the others for any.
template <mm_minatar_game GAME> constexpr mm_cuda_entry entry() {
  typedef shape<GAME, 128> large;
  typedef shape<GAME, 64> middle;
  typedef shape<GAME, 32> small;
  return { inputs<GAME>::PADDED * sizeof(uint32_t),
           scratch_size<GAME>,
           { { 128,
               sizeof(room<large>),
               { (const void *)train<large, TANH>, (const void *)train<large, RELU> } },
             { 64,
               sizeof(room<middle>),
               { (const void *)train<middle, ANY>, (const void *)train<middle, ANY> } },
             { 32,
               sizeof(room<small>),
               { (const void *)train<small, ANY>, (const void *)train<small, ANY> } } } };
}

} // namespace minatar
} // namespace mm

#endif
