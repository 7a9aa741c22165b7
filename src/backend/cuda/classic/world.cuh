// SPDX-License-Identifier: Apache-2.0
// States of environments: where they rest between rollouts, and how lanes hand them on.

#ifndef MM_BACKEND_CUDA_CLASSIC_WORLD_CUH
#define MM_BACKEND_CUDA_CLASSIC_WORLD_CUH

#include "backend/cuda/host/agent.h"
#include "backend/cuda/warp/warp.cuh"

namespace mm {

// Adds what the lanes that count have seen to what their warp has.
MM_DEVICE void add_tally(mm_tally *seen, const mm_tally &own, bool counts) {
  seen->last_sum += warp_sum(counts ? own.last_sum : 0.0);
  seen->finished_sum += warp_sum(counts ? own.finished_sum : 0.0);
  seen->counted += __reduce_add_sync(ALL_LANES, counts ? own.counted : 0);
  seen->finished += __reduce_add_sync(ALL_LANES, counts ? own.finished : 0);
}

// The environments' columns, as src/env/classic/vec_classic.c keeps them.
template <class Env> struct Columns {
  float *state;      // [FLOATS][n]
  int32_t *time;     // [n]
  uint32_t *episode; // [n]
  int n;
  MM_DEVICE explicit Columns(const mm_cuda_agent &agent) {
    n = agent.n_env;
    state = static_cast<float *>(agent.env);
    time = reinterpret_cast<int32_t *>(state + (size_t)Env::FLOATS * n);
    episode = reinterpret_cast<uint32_t *>(time + n);
  }
  MM_DEVICE typename Env::State load(int e) const {
    typename Env::State s;
    float *f = reinterpret_cast<float *>(&s);
#pragma unroll
    for (int i = 0; i < Env::FLOATS; i++)
      f[i] = state[(size_t)i * n + e];
    s.time = time[e];
    return s;
  }
  MM_DEVICE void store(int e, const typename Env::State &s) const {
    const float *f = reinterpret_cast<const float *>(&s);
#pragma unroll
    for (int i = 0; i < Env::FLOATS; i++)
      state[(size_t)i * n + e] = f[i];
    time[e] = s.time;
  }
};

// A state as its floats and its time: what a lane of the world takes over from another.
template <class Env>
MM_DEVICE typename Env::State state_from(const typename Env::State &s, int lane) {
  typename Env::State to;
  const float *from = reinterpret_cast<const float *>(&s);
  float *f = reinterpret_cast<float *>(&to);
#pragma unroll
  for (int i = 0; i < Env::FLOATS; i++)
    f[i] = __shfl_sync(ALL_LANES, from[i], lane);
  to.time = __shfl_sync(ALL_LANES, s.time, lane);
  return to;
}

} // namespace mm

#endif
