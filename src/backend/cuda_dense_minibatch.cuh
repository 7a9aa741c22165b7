// Minibatches: which rows they have, and means and deviations of these rows' advantages.
//
// A shuffle goes through rounds of hashes, each of one half of a row's number (base/rng.h). A half
// has few values, so all hashes are made beforehand, for as many epochs as there is room for.

#ifndef MM_BACKEND_CUDA_DENSE_MINIBATCH_CUH
#define MM_BACKEND_CUDA_DENSE_MINIBATCH_CUH

#include "backend/cuda_dense.cuh"

namespace mm {

template <class W> MM_DEVICE int minibatch_size(const W &S, int i) {
  return S.rows_each + (i < S.rows_more);
}

template <class W> MM_DEVICE int minibatch_first(const W &S, int i) {
  return i * S.rows_each + min(i, S.rows_more);
}

MM_DEVICE mm_stream shuffle_stream(const mm_cuda_agent &agent) {
  return mm_stream_make(agent.seed, agent.repeat, MM_RNG_SHUFFLE, 0);
}

// Of a shuffle, in S.moves: for each pair of rounds b values of the first and a of the second.
MM_DEVICE int moves_of(const mm_shuffle &s) {
  return (int)(s.rounds / 2 * (s.a + (1u << s.shift)));
}

// How long minibatches are, and how many epochs S.moves has room for; 0: batches as short or as
// long as this are shuffled without it. By one thread, once.
template <class W> MM_DEVICE void plan_minibatches(W &S) {
  mm_shuffle &s = S.shuffle;
  S.rows_each = S.agent.n_row / S.agent.minibatches;
  S.rows_more = S.agent.n_row % S.agent.minibatches;
  mm_shuffle_begin(&s, shuffle_stream(S.agent), 0, (uint32_t)S.agent.n_row);
  const bool fits = s.rounds > 0 && s.a <= 256 && moves_of(s) <= W::MOVES;
  S.shuffles = fits ? W::MOVES / moves_of(s) : 0;
}

// Moves of `count` shuffles from number `first` on, several threads for each round.
template <class W> MM_DEVICE void make_moves(W &S, uint64_t first, int count) {
  const mm_shuffle &s = S.shuffle;
  const int rounds = (int)s.rounds, items = count * rounds;
  const int threads = items < W::THREADS ? W::THREADS / items : 1, each = W::THREADS / threads;
  const uint32_t a = s.a, b = 1u << s.shift;
  if ((int)threadIdx.x >= threads * each) return;
  for (int item = threadIdx.x / threads; item < items; item += each) {
    const int shuffle = item / rounds, round = item % rounds;
    uint8_t *to = S.moves + shuffle * moves_of(s) + round / 2 * (int)(a + b) + (round & 1) * (int)b;
    uint64_t key[2];
    mm_shuffle_key(shuffle_stream(S.agent), first + (uint64_t)shuffle, (uint32_t)round, key);
    for (uint32_t i = threadIdx.x % threads; i < (round & 1 ? a : b); i += (uint32_t)threads) {
      const uint32_t hash = mm_shuffle_hash(i, key);
      to[i] = (uint8_t)(round & 1 ? hash >> 8 & (b - 1) : (uint64_t)hash * a >> 32);
    }
  }
}

// As mm_shuffle_at.
template <class W> MM_DEVICE uint32_t shuffled(const W &S, int shuffle, uint32_t i) {
  const mm_shuffle &s = S.shuffle;
  if (S.shuffles == 0) return mm_shuffle_at(&s, i);
  const uint32_t n = s.n, a = s.a, shift = s.shift, b = 1u << shift;
  const uint8_t *moves = S.moves + shuffle * moves_of(s);
  do {
    uint32_t l = i >> shift, r = i & (b - 1);
    const uint8_t *at = moves;
    for (uint32_t round = 0; round < s.rounds; round += 2, at += a + b) {
      const uint32_t sum = l + at[r];
      l = sum < a ? sum : sum - a;
      r = (r + at[b + l]) & (b - 1);
    }
    i = l << shift | r;
  } while (i >= n);
  return i;
}

// What an epoch needs before its first minibatch; which of the shuffles in S.moves it has, if that
// is used, given the one of the epoch before.
template <class W> MM_DEVICE int begin_epoch(W &S, int epoch, int before) {
  const mm_cuda_agent &agent = S.agent;
  const uint64_t number = (uint64_t)agent.iteration * agent.epochs + epoch;
  if (S.shuffles > 0) {
    if (epoch > 0 && before + 1 < S.shuffles) return before + 1;
    make_moves(S, number, min(S.shuffles, agent.epochs - epoch));
  } else {
    const mm_stream stream = shuffle_stream(agent);
    if (threadIdx.x == 32) mm_shuffle_begin(&S.shuffle, stream, number, (uint32_t)agent.n_row);
    if (threadIdx.x < MM_SHUFFLE_ROUNDS_MAX)
      mm_shuffle_key(stream, number, threadIdx.x, S.shuffle.key[threadIdx.x]);
  }
  __syncthreads();
  return 0;
}

// Rows of minibatches first to first + WARPS - 1, and how their advantages are normalised. Several
// warps share a minibatch if there are few. Deviations are from S.center first, which is near their
// mean, so that one pass is enough.
template <class W> MM_DEVICE void gather(W &S, int shuffle, int first) {
  const mm_cuda_agent &agent = S.agent;
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5;
  const int count = min(agent.minibatches - first, (int)W::WARPS);
  int group = 1, shift = 0;
#pragma unroll
  for (int i = 1; 1 << i <= W::WARPS; i++) {
    shift = count << i <= W::WARPS ? i : shift;
    group = 1 << shift;
  }
  const int mine = warp >> shift, part = warp & (group - 1);
  if (mine < count) {
    const int n = minibatch_size(S, first + mine), begin = minibatch_first(S, first + mine);
    float sum = 0, square = 0;
    for (int i = 32 * part + lane; i < n; i += 32 * group) {
      const uint32_t row = shuffled(S, shuffle, (uint32_t)(begin + i));
      S.batch.row[begin + i] = row;
      const float d = S.batch.advantage[row] - S.center;
      sum += d;
      square = fmaf(d, d, square);
    }
    sum = warp_sum(sum);
    square = warp_sum(square);
    if (lane == 0) S.part[warp] = make_float2(sum, square);
  }
  __syncthreads();
  if (tid < count) {
    float sum = 0, square = 0;
    for (int i = 0; i < group; i++) {
      sum += S.part[tid * group + i].x;
      square += S.part[tid * group + i].y;
    }
    const float share = 1.0f / (float)minibatch_size(S, first + tid), mean = sum * share;
    const float variance = fmaxf(fmaf(-mean, mean, square * share), 0.0f);
    S.share[tid] = share;
    S.mean[tid] = agent.normalise ? S.center + mean : 0.0f;
    S.scale[tid] = agent.normalise ? 1.0f / (sqrtf(variance) + 1e-8f) : 1.0f;
  }
  __syncthreads();
}

} // namespace mm

#endif
