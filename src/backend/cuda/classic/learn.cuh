// SPDX-License-Identifier: Apache-2.0
// Learning: values and advantages, then minibatches, one after the other.

#ifndef MM_BACKEND_CUDA_CLASSIC_LEARN_CUH
#define MM_BACKEND_CUDA_CLASSIC_LEARN_CUH

#include "backend/cuda/classic/adam.cuh"

namespace mm {

// ---------------------------------------------------------------------------------------------
// Values and advantages

template <int ACT, class W> __device__ __noinline__ void estimate_values() {
  W &S = here<W>();
  const bool relu = ACT == ANY && S.agent.relu;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int rows = S.agent.n_row + S.agent.n_env;
  const float *w3 = S.small + W::W3 + W::A * H + 2 * t;
  const float b3 = S.small[W::B3 + W::A];
#pragma unroll 1
  for (int first = 16 * warp; first < rows; first += 16 * W::WARPS) {
    const int a = first + g < rows ? first + g : rows - 1;
    const int b = first + g + 8 < rows ? first + g + 8 : rows - 1;
    float sum[8][4];
    forward<ACT, false, false>(S, CRITIC, S.batch.obs[4 * a + t], S.batch.obs[4 * b + t], lane, 0,
                               sum, [] {});
    activate_all<ACT>(relu, sum);
    const float2 value = output_of(sum, w3, b3);
    if (t == 0) {
      S.batch.value[a] = value.x;
      S.batch.value[b] = value.y;
    }
  }
  __syncthreads();
}

// Advantages of an environment backwards through time, from one-step errors in their place. Several
// at a time, since only the sum itself has to wait for the step before.
template <class W> MM_DEVICE void sum_errors(const W &S, int e) {
  enum { SIDE = 16 };
  const int n = S.agent.n_env, n_step = S.agent.n_step;
  const float decay = S.agent.gamma * S.agent.gae_lambda;
  float advantage = 0;
#pragma unroll 1
  for (int last = n_step - 1; last >= 0; last -= SIDE) {
    float delta[SIDE], alive[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
      const int i = max(last - k, 0) * n + e;
      delta[k] = S.batch.advantage[i];
      alive[k] = S.batch.end[i] ? 0.0f : 1.0f;
    }
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
      advantage = mm_gae_advantage_f(decay, alive[k], delta[k], advantage);
      if (k <= last) S.batch.advantage[(last - k) * n + e] = advantage;
    }
  }
}

// Advantages, the regression targets of the critic and what the rollout left of the actor's.
template <class W> __device__ __noinline__ void estimate_advantages() {
  W &S = here<W>();
  const mm_cuda_agent &agent = S.agent;
  const Batch &batch = S.batch;
  const int n = agent.n_env;
  for (int i = threadIdx.x; i < agent.n_row; i += W::THREADS) {
    const float alive = batch.end[i] ? 0.0f : 1.0f;
    batch.advantage[i] =
        mm_gae_delta_f(agent.gamma, alive, batch.reward[i], batch.value[i], batch.value[i + n]);
    batch.policy[i] =
        __fdividef(fmaxf(batch.policy[i], agent.step.floor), agent.step.eta) - agent.step.center;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < n; e += W::THREADS)
    sum_errors(S, e);
  __syncthreads();
  for (int i = threadIdx.x; i < agent.n_row; i += W::THREADS)
    batch.reward[i] = batch.advantage[i] + batch.value[i];
  if (threadIdx.x < 32) {
    float sum = 0, policy = 0, advantage = 0;
    for (int i = threadIdx.x; i < agent.n_row; i += 32) {
      sum += batch.advantage[i];
      policy = fmaxf(policy, fabsf(batch.policy[i]));
      advantage = fmaxf(advantage, fabsf(batch.advantage[i]));
    }
    sum = warp_sum(sum);
    policy = warp_top(policy);
    advantage = warp_top(advantage);
    if (threadIdx.x == 0) {
      S.center = sum / (float)agent.n_row;
      mm_cuda_loss_scale_begin(&S.loss, policy, advantage, agent.normalise, agent.value_coef);
    }
  }
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Minibatches

// at: where its statistics are.
template <int ACT, bool ONE, class W>
MM_DEVICE bool step_minibatch(W &S, Owned<W> &own, int behind, int mb, int at, int step, int w2_at,
                              bool timed) {
  const int n = minibatch_size(S, mb);
  const int begin = minibatch_first(S, mb);
  const float mean = S.mean[at], scale = S.scale[at];
  Gradient<W> gradient;
  if (ONE) {
    through_tile<ACT>(S, behind, begin, n, 0, mean, scale, false);
    mark(S, timed, MM_CUDA_CLASSIC_TILE);
    __syncthreads();
    mark(S, timed, MM_CUDA_CLASSIC_WAIT);
    gradient = Gradient<W>();
    add_gradient(S, &gradient);
    mark(S, timed, MM_CUDA_CLASSIC_GRADIENT);
  } else {
    gradient = Gradient<W>();
#pragma unroll 1
    for (int first = 0; first < n; first += W::TILE_ROWS) {
      if (first > 0) __syncthreads();
      through_tile<ACT>(S, behind, begin, n, first, mean, scale, first > 0);
      mark(S, timed, MM_CUDA_CLASSIC_TILE);
      __syncthreads();
      mark(S, timed, MM_CUDA_CLASSIC_WAIT);
      add_gradient(S, &gradient);
      mark(S, timed, MM_CUDA_CLASSIC_GRADIENT);
    }
  }
  bring_together(S, &gradient);
  return optimise(S, gradient, own, S.share[at] * S.loss.down, step, w2_at);
}

// False where the gradient is not finite, however small the scale of the losses.
template <int ACT, bool ONE, class W>
MM_DEVICE bool learn_minibatch(W &S, Owned<W> &own, int behind, int mb, int at, int step, int w2_at,
                               bool timed) {
#pragma unroll 1
  while (!step_minibatch<ACT, ONE>(S, own, behind, mb, at, step, w2_at, timed))
    if (!lower_scale<W>()) return false;
  return true;
}

} // namespace mm

#endif
