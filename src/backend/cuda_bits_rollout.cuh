// Sampling: all environments go n_step steps with fixed weights, then advantages. Both networks see
// each observation once, so that the critic's values come along.

#ifndef MM_BACKEND_CUDA_BITS_ROLLOUT_CUH
#define MM_BACKEND_CUDA_BITS_ROLLOUT_CUH

#include "backend/cuda_bits_forward.cuh"
#include "map/simplex.h"

namespace mm {
namespace bits {

// Of the environments of one thread.
struct tally {
  double metric, finished_sum;
  int64_t finished;
};

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

// Chooses from scores [ACTIONS] of step t of the iteration; false where one is not finite.
template <class S>
MM_DEVICE bool choose(const mm_cuda_agent &a, const float *scores, int e, int t, int *action,
                      float *z) {
  float x[S::ACTIONS], probs[S::ACTIONS], lambda, finite = 0;
#pragma unroll
  for (int i = 0; i < S::ACTIONS; i++) {
    x[i] = scores[i];
    finite += x[i] * 0.0f;
    x[i] *= a.eta;
  }
  if (!(finite == 0)) return false;
  if (a.bisect)
    mm_project_bisect10_f(&a.map, x, S::ACTIONS, probs, &lambda);
  else
    mm_project_f(&a.map, x, S::ACTIONS, probs, &lambda);
  const uint64_t step = (uint64_t)a.iteration * (uint64_t)a.n_step + (uint64_t)t;
  const mm_stream stream = mm_stream_make(a.seed, a.repeat, MM_RNG_ACTION, (uint32_t)e);
  const mm_block block = mm_stream_block(stream, step / 4);
  const int word = (int)(step % 4);
  const uint32_t bits = word < 2 ? (word == 0 ? block.word[0] : block.word[1])
                                 : (word == 2 ? block.word[2] : block.word[3]);
  const int chosen = mm_categorical_f(bits * 0x1p-32, probs, S::ACTIONS);
  float score = x[0];
#pragma unroll
  for (int i = 1; i < S::ACTIONS; i++)
    score = chosen == i ? x[i] : score;
  *action = chosen;
  *z = fmaf(a.iteration > 0 ? a.code_factor : 1.0f, score, lambda);
  return true;
}

template <class S> __device__ __noinline__ bool play(int e, int t, tally *sums) {
  const mm_cuda_agent &a = here<S>().agent;
  const float *scores = scores_of(here<S>());
  const size_t i = (size_t)t * (size_t)a.n_env + (size_t)e;
  int action;
  float z, reward;
  if (!choose<S>(a, scores + (size_t)e * OUTPUTS, e, t, &action, &z)) return false;
  a.action[i] = (uint8_t)action;
  a.policy[i] = z;

  typename S::play::one *env = (typename S::play::one *)a.env + e, one = *env;
  const place at = { a.seed, a.repeat, (uint32_t)e, (mm_minatar_rules)a.rules };
  const unsigned end = S::play::step(&one, at, action, &reward);
  if (end) S::play::begin(&one, at);
  *env = one;
  store_obs<S>(&one, (uint32_t *)a.obs + (i + (size_t)a.n_env) * S::in::PADDED);
  a.reward[i] = reward;
  a.end[i] = (uint8_t)end;

  float running = a.running[e] + reward;
  if (end) {
    a.finished[e] = running;
    sums->finished_sum += (double)running;
    sums->finished++;
    running = 0;
  }
  a.running[e] = running;
  sums->metric += (double)a.finished[e];
  return true;
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
template <class S, int ACT> __device__ __noinline__ bool rollout(mm_cuda_report *report) {
  room<S> &s = here<S>();
  const mm_cuda_agent &a = s.agent;
  tally sums = { 0, 0, 0 };
  for (int e = threadIdx.x; e < a.n_env; e += THREADS)
    store_obs<S>((const typename S::play::one *)a.env + e,
                 (uint32_t *)a.obs + (size_t)e * S::in::PADDED);
  __syncthreads();
  for (int t = 0; t < a.n_step; t++) {
    look<S, ACT>(s, t);
    mark(s, MM_CUDA_BITS_VALUES);
    bool broken = false;
    for (int e = threadIdx.x; e < a.n_env; e += THREADS)
      broken |= !play<S>(e, t, &sums);
    if (__syncthreads_or(broken)) return false;
    mark(s, MM_CUDA_BITS_ROLLOUT);
  }
  look<S, ACT>(s, a.n_step);
  const double metric = block_sum(s, sums.metric) / (double)a.n_row;
  const double finished_sum = block_sum(s, sums.finished_sum);
  const double finished = block_sum(s, (double)sums.finished);
  if (threadIdx.x == 0) *report = { metric, finished_sum, (int64_t)finished };
  return true;
}

// Advantages and targets; z becomes its part of the regression target.
template <class S> __device__ __noinline__ void estimate() {
  room<S> &s = here<S>();
  const mm_cuda_agent &a = s.agent;
  const size_t n = (size_t)a.n_env;
  const float gamma = a.gamma, decay = a.gamma * a.gae_lambda;
  for (int e = threadIdx.x; e < a.n_env; e += THREADS) {
    float carried = 0, next = a.value[(size_t)a.n_row + (size_t)e];
#pragma unroll 4
    for (int t = a.n_step - 1; t >= 0; t--) {
      const size_t i = (size_t)t * n + (size_t)e;
      const float alive = a.end[i] ? 0.0f : 1.0f, v = a.value[i];
      const float delta = fmaf(gamma * alive, next, a.reward[i]) - v;
      carried = fmaf(decay * alive, carried, delta);
      a.advantage[i] = carried;
      a.target[i] = carried + v;
      const float z = a.policy[i];
      a.policy[i] = (z < a.floor ? a.floor : z) / a.eta - a.center;
      next = v;
    }
  }
  __syncthreads();
  mark(s, MM_CUDA_BITS_VALUES);
}

} // namespace bits
} // namespace mm

#endif
