// SPDX-License-Identifier: Apache-2.0
// The kernels for one environment. Each environment has a file of its own, since compiling takes
// long.

#ifndef MM_BACKEND_CUDA_CLASSIC_TRAIN_CUH
#define MM_BACKEND_CUDA_CLASSIC_TRAIN_CUH

#include "backend/cuda/classic/learn.cuh"
#include "backend/cuda/classic/rollout.cuh"
#include "backend/cuda/network/entry.h"

namespace mm {

// What a kernel knows of an environment, from its header: mm::cartpole and so on. A step goes from
// a state and what is seen of it to the next; environments that remember make use of what was seen.
#define MM_CUDA_ENVIRONMENT(name, NAME, id)                                                        \
  struct name {                                                                                    \
    typedef mm_##name State;                                                                       \
    enum {                                                                                         \
      INPUTS = MM_##NAME##_OBS,                                                                    \
      ACTIONS = MM_##NAME##_ACTIONS,                                                               \
      FLOATS = sizeof(State) / sizeof(float) - 1                                                   \
    };                                                                                             \
    static constexpr bool REMEMBERS = MM_##NAME##_REMEMBERS;                                       \
    static MM_DEVICE int step(State *s, float *x, int action, float *reward) {                     \
      return mm_##name##_step_seen(s, x, action, reward);                                          \
    }                                                                                              \
    static MM_DEVICE void reset(State *s, mm_stream stream, uint64_t index) {                      \
      mm_##name##_reset(s, mm_##name##_draw(stream, index));                                       \
    }                                                                                              \
    static MM_DEVICE void observe(const State *s, float *x) { mm_##name##_observe(s, x); }         \
  };
MM_CLASSIC_DISCRETE(MM_CUDA_ENVIRONMENT)
#undef MM_CUDA_ENVIRONMENT

// ---------------------------------------------------------------------------------------------
// Begin and end of a launch

MM_DEVICE void place_batch(Batch *to, const mm_cuda_agent &agent, void *inside) {
  const size_t rows = agent.n_row, all = rows + agent.n_env;
  if (!inside) {
    to->obs = static_cast<uint2 *>(agent.obs);
    to->policy = agent.policy;
    to->reward = agent.reward;
    to->value = agent.value;
    to->advantage = agent.advantage;
    to->row = agent.row;
    to->action = agent.action;
    to->end = agent.end;
    return;
  }
  to->obs = static_cast<uint2 *>(inside);
  to->policy = reinterpret_cast<float *>(to->obs + all * 4);
  to->reward = to->policy + rows;
  to->value = to->reward + rows;
  to->advantage = to->value + all;
  to->row = reinterpret_cast<uint32_t *>(to->advantage + rows);
  to->action = reinterpret_cast<uint8_t *>(to->row + rows);
  to->end = to->action + rows;
}

// The agent's map, and what projections look up of it. Nobody is at work with the one before.
template <class W> __device__ __noinline__ void take_map(const mm_potential_f *from) {
  W &S = here<W>();
  copy_words<W::THREADS>(&S.agent.map, from);
  fill_knots<W::THREADS>(&S.knots, from);
  __syncthreads();
  if (threadIdx.x == 0 && S.knots.n > 0) choose_bins(&S.knots);
  __syncthreads();
}

// Of a map that moves the one of the done-th iteration; false if there is none.
template <class W> MM_DEVICE bool move_map(W &S, int done) {
  const mm_potential_f *maps = static_cast<const mm_potential_f *>(S.agent.maps);
  if (!maps) return true;
  if (maps[done].kind != MM_MAP_KINDS) {
    take_map<W>(maps + done);
    return true;
  }
  if (threadIdx.x == 0) S.broken = MM_CUDA_NO_MAP;
  return false;
}

template <class W> MM_DEVICE void open_agent(W &S, const mm_cuda_agent *from, void *inside) {
  copy_words<W::THREADS>(&S.agent, from);
  for (int i = threadIdx.x; i < NETS * H * W::W1_ROW; i += W::THREADS)
    (&S.w1[0][0])[i] = __float2half_rn(0.0f);
  __syncthreads();
  if (threadIdx.x == 0) {
    S.broken = 0;
    place_batch(&S.batch, S.agent, inside);
    plan_minibatches(S);
  }
  take_map<W>(&from->map);
  for (int i = threadIdx.x; i < W::SMALL; i += W::THREADS) {
    refresh_small(S, i, S.agent.param[i]);
    S.moments[i] = make_float2(S.agent.m[i], S.agent.v[i]);
  }
}

// Goes through the elements of w2 that a thread owns: f(register, place in shared memory or null,
// place in a flat vector of w2).
template <class W, class F> MM_DEVICE void for_each_owned(W &S, F f) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float4 *four = &S.master[W::RESIDENT ? ((warp * W::OWN + i) * 4 + j) * 32 + lane : 0];
#pragma unroll
      for (int c = 0; c < 4; c++)
        f(16 * i + 4 * j + c, reinterpret_cast<float *>(four) + c,
          owned_place<W>(net, q, j, c >> 1, lane) + (c & 1));
    }
  }
}

// w2 to where the products read it, and its owners keep it.
template <class W> __device__ __noinline__ void open_w2() {
  W &S = here<W>();
  const float *param = S.agent.param + W::SMALL;
  for_each_owned(S, [&](int, float *own, int at) {
    if (W::RESIDENT) *own = param[at];
    S.w2[at / (H * H)][wide_place(at / H % H, at % H)] = __float2half_rn(param[at]);
  });
  publish_operands();
}

template <class W> __device__ __noinline__ void close_w2() {
  W &S = here<W>();
  float *param = S.agent.param + W::SMALL;
  for_each_owned(S, [&](int, float *own, int at) {
    if (W::RESIDENT) param[at] = *own;
  });
}

// Adam's moments of w2 are in registers while the agent learns, and in global memory otherwise:
// rollouts need the registers.
template <class W> MM_DEVICE void take_moments(W &S, Owned<W> &own) {
  const float *m = S.agent.m + W::SMALL, *v = S.agent.v + W::SMALL;
  for_each_owned(S, [&](int i, float *, int at) {
    if (!W::RESIDENT) return;
    own.m[i] = m[at];
    own.v[i] = v[at];
  });
}

template <class W> MM_DEVICE void put_moments(W &S, const Owned<W> &own) {
  float *m = S.agent.m + W::SMALL, *v = S.agent.v + W::SMALL;
  for_each_owned(S, [&](int i, float *, int at) {
    if (!W::RESIDENT) return;
    m[at] = own.m[i];
    v[at] = own.v[i];
  });
}

template <class W> MM_DEVICE void close_agent(W &S, mm_cuda_agent *to) {
  for (int i = threadIdx.x; i < W::SMALL; i += W::THREADS) {
    S.agent.param[i] = S.small[i];
    S.agent.m[i] = S.moments[i].x;
    S.agent.v[i] = S.moments[i].y;
  }
  if (threadIdx.x == 0) {
    to->iteration = S.agent.iteration;
    to->broken = S.broken;
  }
}

// ---------------------------------------------------------------------------------------------

template <class Env, int ACT, int TILE>
__global__ void __launch_bounds__(4 * TILE, 1)
    train(mm_cuda_agent *agents, int batch_inside, int64_t *clocks) {
  if constexpr (!tile_is_compiled<TILE>()) {
    if (threadIdx.x == 0) agents[blockIdx.x].broken = MM_CUDA_NOT_COMPILED;
    return;
  }
  typedef Work<Env, TILE> W;
  constexpr bool ONE = TILE == 128;
  W &S = here<W>();
  open_agent(S, agents + blockIdx.x, batch_inside ? &S + 1 : nullptr);
  __syncthreads();
  open_w2<W>();
  __syncthreads();
  const int epochs = S.agent.epochs, minibatches = S.agent.minibatches;
  const bool timed = threadIdx.x == 0 && clocks;
  if (threadIdx.x == 0) S.clock.begin();
#pragma unroll 1
  for (int done = 0; done < S.agent.span && !S.broken; done++) {
    // an iteration is short and the host's memory far away: now and then is enough
    if (done % 8 == 0 && __syncthreads_or(threadIdx.x == 0 && mm_cuda_told_to_stop(S.agent))) break;
    if (!move_map(S, done)) break;
    if (threadIdx.x == 0) S.agent.step = S.agent.steps[done]; // the rollout waits before it looks
    roll_out<Env, ACT, W>();
    if (S.broken) break;
    if (threadIdx.x == 0) report(S, S.agent.report + done);
    mark(S, timed, MM_CUDA_CLASSIC_ROLLOUT);
    estimate_values<ACT, W>();
    estimate_advantages<W>();
    mark(S, timed, MM_CUDA_CLASSIC_VALUES);
    bool finite = true;
    if (threadIdx.x == 0) {
      S.next_rate = S.agent.rate + (size_t)done * epochs * minibatches;
      fetch_rate(S, 0);
      wait_copies<0>();
    }
    Owned<W> own;
    take_moments(S, own);
    int shuffle = 0, step = 0;
#pragma unroll 1
    for (int epoch = 0; epoch < epochs && finite; epoch++) {
      shuffle = begin_epoch(S, epoch, shuffle);
      const int behind = S.epochs_ahead > 0 ? epoch % S.epochs_ahead : 0;
#pragma unroll 1
      for (int mb = 0; mb < minibatches && finite; mb++) {
        const int at = prepare(S, shuffle, epoch, behind, mb);
        mark(S, timed, MM_CUDA_CLASSIC_SHUFFLE);
        if (step + 1 < epochs * minibatches) fetch_rate(S, step + 1);
        finite = learn_minibatch<ACT, ONE>(S, own, behind, mb, at, step++, W::SMALL, timed);
        mark(S, timed, MM_CUDA_CLASSIC_ADAM);
      }
    }
    put_moments(S, own);
    if (!finite) {
      if (threadIdx.x == 0) S.broken = MM_CUDA_NOT_FINITE;
      break;
    }
    if (threadIdx.x == 0) S.agent.iteration++;
    __syncthreads();
  }
  __syncthreads();
  close_w2<W>();
  close_agent(S, agents + blockIdx.x);
  if (threadIdx.x == 0 && clocks) S.clock.tell(clocks + blockIdx.x * MM_CUDA_CLASSIC_STAGES);
}

// ---------------------------------------------------------------------------------------------
// For the host

// The largest tile is compiled for each activation, the others for any.
template <class Env> constexpr mm_cuda_entry entry() {
  return { MM_CUDA_CLASSIC_OBS_SIZE,
           nullptr,
           { { 128,
               sizeof(Work<Env, 128>),
               { (const void *)train<Env, TANH, 128>, (const void *)train<Env, RELU, 128> } },
             { 64,
               sizeof(Work<Env, 64>),
               { (const void *)train<Env, ANY, 64>, (const void *)train<Env, ANY, 64> } },
             { 32,
               sizeof(Work<Env, 32>),
               { (const void *)train<Env, ANY, 32>, (const void *)train<Env, ANY, 32> } } } };
}

} // namespace mm

#endif
