// SPDX-License-Identifier: Apache-2.0
// Sampling: all environments go n_step steps with fixed weights, then advantages. Both networks see
// each observation once, so that the critic's values come along.

#ifndef MM_BACKEND_CUDA_MINATAR_ROLLOUT_CUH
#define MM_BACKEND_CUDA_MINATAR_ROLLOUT_CUH

#include "backend/cuda/minatar/forward.cuh"
#include "map/simplex.h"

namespace mm {
namespace minatar {

// ---------------------------------------------------------------------------------------------
// One environment

template <class S> MM_DEVICE void store_obs(const typename S::play::one *one, uint32_t *to) {
  uint32_t words[S::in::PADDED];
  S::play::observe(one, words);
  for (int i = MM_MINATAR_WORDS(S::play::INPUTS); i < S::in::PADDED; i++)
    words[i] = 0;
  mm_minatar_light(words, S::play::INPUTS);
#pragma unroll
  for (int i = 0; i < S::in::PADDED; i += 4)
    *reinterpret_cast<uint4 *>(to + i) =
        make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
}

// Scores times eta; false where one is not finite, and then all are 0.
template <class S> MM_DEVICE bool take_scores(const mm_cuda_agent &a, int e, float x[S::ACTIONS]) {
  const float *scores = scores_of(here<S>()) + (size_t)e * OUTPUTS;
  float finite = 0;
#pragma unroll
  for (int i = 0; i < S::ACTIONS; i++) {
    x[i] = scores[i];
    finite += x[i] * 0.0f;
  }
#pragma unroll
  for (int i = 0; i < S::ACTIONS; i++)
    x[i] = finite == 0 ? x[i] * a.step.act : 0;
  return finite == 0;
}

// The action of environment e, and z.
template <class S>
MM_DEVICE void decide(const mm_cuda_agent &a, int e, int t, const float x[S::ACTIONS],
                      const float probs[S::ACTIONS], float lambda) {
  const size_t i = (size_t)t * (size_t)a.n_env + (size_t)e;
  const int chosen = mm_categorical_f(action_word(a, t, e) * 0x1p-32, probs, S::ACTIONS);
  float score = x[0];
#pragma unroll
  for (int k = 1; k < S::ACTIONS; k++)
    score = chosen == k ? x[k] : score;
  a.action[i] = (uint8_t)chosen;
  a.policy[i] = fmaf(a.step.factor, score, lambda);
}

// Any map, one thread an environment; false where a score is not finite.
template <class S> __device__ __noinline__ bool choose_alone(int t) {
  const mm_cuda_agent &a = here<S>().agent;
  bool fine = true;
  for (int e = threadIdx.x; e < a.n_env; e += THREADS) {
    float x[S::ACTIONS], probs[S::ACTIONS], lambda;
    fine &= take_scores<S>(a, e, x);
    if (a.bisect)
      mm_project_bisect10_f(&a.map, x, S::ACTIONS, probs, &lambda);
    else
      mm_project_f(&a.map, x, S::ACTIONS, probs, &lambda);
    decide<S>(a, e, t, x, probs, lambda);
  }
  return fine;
}

// Maps that go by their knots, four lanes an environment: alone a thread takes as long as the
// slowest of its warp, which on maps as a search draws them is several times as long.
template <class S> __device__ __noinline__ bool choose_by_knots(int t) {
  room<S> &s = here<S>();
  const mm_cuda_agent &a = s.agent;
  const Crew crew = crew_of(0, 1, (int)threadIdx.x % 32, false);
  const Plan<S::ACTIONS> plan(s.knots, guide_of(s), crew);
  const int together = THREADS / crew.lanes;
  bool fine = true;
  for (int first = 0; first < a.n_env; first += together) {
    const int wanted = first + (int)threadIdx.x / crew.lanes, e = min(wanted, a.n_env - 1);
    float x[S::ACTIONS], probs[S::ACTIONS], total, root;
    fine &= take_scores<S>(a, e, x);
    project_several<S::ACTIONS>(plan, x, probs, &total, &root);
    if (crew.rank != 0 || wanted != e) continue;
    float top = x[0];
#pragma unroll
    for (int i = 0; i < S::ACTIONS; i++) {
      top = fmaxf(top, x[i]);
      probs[i] = __fdividef(probs[i], total);
    }
    decide<S>(a, e, t, x, probs, (a.map.anchor + root) - top);
  }
  return fine;
}

// One step of an environment, with the action that was chosen.
template <class S> __device__ __noinline__ void play(int e, int t, mm_tally *sums) {
  const mm_cuda_agent &a = here<S>().agent;
  const size_t i = (size_t)t * (size_t)a.n_env + (size_t)e;
  const int action = a.action[i];
  float reward;
  typename S::play::one *env = (typename S::play::one *)a.env + e, one = *env;
  const place at = { a.seed, a.repeat, (uint32_t)e, (mm_minatar_rules)a.rules };
  const unsigned end = S::play::step(&one, at, action, &reward);
  if (end) S::play::begin(&one, at);
  *env = one;
  store_obs<S>(&one, (uint32_t *)a.obs + (i + (size_t)a.n_env) * S::in::PADDED);
  a.reward[i] = reward;
  a.end[i] = (uint8_t)end;

  mm_tally_step(sums, &a.episode_return[e], &a.finished[e], reward, (int)end);
}

// ---------------------------------------------------------------------------------------------
// All of them

// Scores and values of the observations of step t.
template <class S, int ACT> MM_DEVICE void look(room<S> &s, int t) {
  const mm_cuda_agent &a = s.agent;
  for (int first = 0; first < a.n_env; first += S::ROWS) {
    const int rows = a.n_env - first < S::ROWS ? a.n_env - first : S::ROWS;
    const size_t from = (size_t)t * (size_t)a.n_env + (size_t)first;
    begin_tile(s, 0, [=](int r) { return from + (size_t)(r < rows ? r : 0); });
    layer1<S, ACT>(s, 0);
    __syncthreads();
    outputs<S, ACT>(s, rows, scores_of(s) + (size_t)first * OUTPUTS, a.value + from);
    wait_copies<0>();
    __syncthreads();
  }
}

// False where a score was not finite.
template <class S, int ACT> __device__ __noinline__ bool rollout(mm_tally *report) {
  room<S> &s = here<S>();
  const mm_cuda_agent &a = s.agent;
  mm_tally sums = { 0, 0, 0, 0 };
  const bool by_knots = s.knots.n > 0 && !a.bisect;
  if (by_knots) fill_guide<THREADS>(s.knots, guide_of(s));
  for (int e = threadIdx.x; e < a.n_env; e += THREADS)
    store_obs<S>((const typename S::play::one *)a.env + e,
                 (uint32_t *)a.obs + (size_t)e * S::in::PADDED);
  __syncthreads();
  for (int t = 0; t < a.n_step; t++) {
    look<S, ACT>(s, t);
    mark(s, MM_CUDA_MINATAR_VALUES);
    const bool fine = by_knots ? choose_by_knots<S>(t) : choose_alone<S>(t);
    if (__syncthreads_or(!fine)) return false;
    for (int e = threadIdx.x; e < a.n_env; e += THREADS)
      play<S>(e, t, &sums);
    __syncthreads();
    mark(s, MM_CUDA_MINATAR_ROLLOUT);
  }
  look<S, ACT>(s, a.n_step);
  const double last_sum = block_sum(s, sums.last_sum);
  const double finished_sum = block_sum(s, sums.finished_sum);
  const double counted = block_sum(s, (double)sums.counted);
  const double finished = block_sum(s, (double)sums.finished);
  if (threadIdx.x == 0) *report = { last_sum, finished_sum, (int32_t)counted, (int32_t)finished };
  return true;
}

// Advantages and targets; z becomes its part of the regression target.
template <class S> __device__ __noinline__ void estimate() {
  room<S> &s = here<S>();
  const mm_cuda_agent &a = s.agent;
  float top_policy = 0, top_advantage = 0;
  for (int e = threadIdx.x; e < a.n_env; e += THREADS)
    estimate_backwards(a, e, [&](size_t i, float advantage) {
      const float z = a.policy[i];
      const float policy = (z < a.step.floor ? a.step.floor : z) / a.step.eta - a.step.center;
      a.policy[i] = policy;
      top_policy = fmaxf(top_policy, fabsf(policy));
      top_advantage = fmaxf(top_advantage, fabsf(advantage));
    });
  top_policy = block_top(s, top_policy);
  top_advantage = block_top(s, top_advantage);
  if (threadIdx.x == 0)
    mm_cuda_loss_scale_begin(&s.loss, top_policy, top_advantage, a.normalise, a.value_coef);
  __syncthreads();
  mark(s, MM_CUDA_MINATAR_VALUES);
}

} // namespace minatar
} // namespace mm

#endif
