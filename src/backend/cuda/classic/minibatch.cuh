// SPDX-License-Identifier: Apache-2.0
// Minibatches: which rows they have, and means and deviations of these rows' advantages.
//
// A shuffle goes through rounds of hashes, each of one half of a row's number (base/rng.h). A half
// has few values, so all hashes are made beforehand, for as many epochs as there is room for. Where
// rows of several epochs fit, they are looked up together, several by each thread side by side.

#ifndef MM_BACKEND_CUDA_CLASSIC_MINIBATCH_CUH
#define MM_BACKEND_CUDA_CLASSIC_MINIBATCH_CUH

#include "backend/cuda/classic/network.cuh"

namespace mm {

template <class W> MM_DEVICE int minibatch_size(const W &S, int i) {
  return S.rows_each + (i < S.rows_more);
}

template <class W> MM_DEVICE int minibatch_first(const W &S, int i) {
  return i * S.rows_each + min(i, S.rows_more);
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
  const int rows = W::AHEAD / S.agent.n_row, statistics = W::STATISTICS / S.agent.minibatches;
  S.epochs_ahead = min(min(rows, statistics), S.shuffles);
  if (S.epochs_ahead < 2 || S.agent.minibatches > W::WARPS) S.epochs_ahead = 0;
  if (S.epochs_ahead > 0) S.shuffles -= S.shuffles % S.epochs_ahead;
}

// Moves of `count` shuffles from number `first` on, several threads for each round.
template <class W> __device__ __noinline__ void make_moves(uint64_t first, int count) {
  W &S = here<W>();
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

// As mm_shuffle_at, for N rows of a shuffle side by side.
template <int N, class W>
MM_DEVICE void shuffle_rows(const W &S, const int shuffle[N], uint32_t row[N]) {
  const mm_shuffle &s = S.shuffle;
  const uint32_t n = s.n, a = s.a, shift = s.shift, b = 1u << shift, rounds = s.rounds;
  const uint8_t *moves[N];
  bool open[N], more;
#pragma unroll
  for (int q = 0; q < N; q++) {
    moves[q] = S.moves + shuffle[q] * moves_of(s);
    open[q] = true;
  }
  do {
    uint32_t l[N], r[N];
    more = false;
#pragma unroll
    for (int q = 0; q < N; q++) {
      l[q] = row[q] >> shift;
      r[q] = row[q] & (b - 1);
    }
    for (uint32_t at = 0; at < rounds / 2 * (a + b); at += a + b) {
#pragma unroll
      for (int q = 0; q < N; q++) {
        const uint32_t sum = l[q] + moves[q][at + r[q]];
        l[q] = sum < a ? sum : sum - a;
        r[q] = (r[q] + moves[q][at + b + l[q]]) & (b - 1);
      }
    }
#pragma unroll
    for (int q = 0; q < N; q++) {
      row[q] = open[q] ? l[q] << shift | r[q] : row[q];
      open[q] = open[q] && row[q] >= n;
      more = more || open[q];
    }
  } while (more);
}

template <class W> MM_DEVICE uint32_t shuffled(const W &S, int shuffle, uint32_t i) {
  if (S.shuffles == 0) return mm_shuffle_at(&S.shuffle, i);
  shuffle_rows<1>(S, &shuffle, &i);
  return i;
}

// What an epoch needs before its first minibatch; which of the shuffles in S.moves it has, if that
// is used, given the one of the epoch before.
template <class W> MM_DEVICE int begin_epoch(W &S, int epoch, int before) {
  const mm_cuda_agent &agent = S.agent;
  const uint64_t number = shuffle_number(agent, epoch);
  if (S.shuffles > 0) {
    if (epoch > 0 && before + 1 < S.shuffles) return before + 1;
    make_moves<W>(number, min(S.shuffles, agent.epochs - epoch));
  } else {
    const mm_stream stream = shuffle_stream(agent);
    if (threadIdx.x == 32) mm_shuffle_begin(&S.shuffle, stream, number, (uint32_t)agent.n_row);
    if (threadIdx.x < MM_SHUFFLE_ROUNDS_MAX)
      mm_shuffle_key(stream, number, threadIdx.x, S.shuffle.key[threadIdx.x]);
  }
  __syncthreads();
  return 0;
}

// Minibatches of which there are few are each for a group of warps; log2 of how many.
template <class W> MM_DEVICE int group_shift(int count) {
  int shift = 0;
#pragma unroll
  for (int i = 1; 1 << i <= W::WARPS; i++)
    shift = count << i <= W::WARPS ? i : shift;
  return shift;
}

// From sums of n advantages and of their squares, both less S.center.
template <class W> MM_DEVICE void put_statistics(W &S, int at, int n, float sum, float square) {
  const bool normalise = S.agent.normalise;
  const float share = 1.0f / (float)n, mean = sum * share;
  const float variance = fmaxf(fmaf(-mean, mean, square * share), 0.0f);
  S.share[at] = share;
  S.mean[at] = normalise ? S.center + mean : 0.0f;
  S.scale[at] = normalise ? 1.0f / (sqrtf(variance) + 1e-8f) : 1.0f;
}

// Rows of minibatches first to first + WARPS - 1, and how their advantages are normalised. Several
// warps share a minibatch if there are few. Deviations are from S.center first, which is near their
// mean, so that one pass is enough.
template <class W> __device__ __noinline__ void gather(int shuffle, int first) {
  W &S = here<W>();
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int count = min(S.agent.minibatches - first, (int)W::WARPS);
  const int shift = group_shift<W>(count), group = 1 << shift;
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
    put_statistics(S, tid, minibatch_size(S, first + tid), sum, square);
  }
  __syncthreads();
}

// The same for all minibatches of `epochs` epochs, to S.ahead: the first part of it, and the
// second. A warp goes through the parts of a minibatch in their order, which gives the same bits.
template <class W> __device__ __noinline__ void look_ahead(int shuffle, int epochs) {
  enum { SIDE = 4 };
  W &S = here<W>();
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int n_row = S.agent.n_row, minibatches = S.agent.minibatches, all = epochs * n_row;
  for (int first = tid; first < all; first += SIDE * W::THREADS) {
    int from[SIDE];
    uint32_t row[SIDE];
#pragma unroll
    for (int q = 0; q < SIDE; q++) {
      const int i = min(first + q * (int)W::THREADS, all - 1);
      from[q] = shuffle + i / n_row;
      row[q] = (uint32_t)(i % n_row);
    }
    shuffle_rows<SIDE>(S, from, row);
#pragma unroll
    for (int q = 0; q < SIDE; q++)
      if (first + q * (int)W::THREADS < all) S.ahead[first + q * W::THREADS] = (uint16_t)row[q];
  }
  __syncthreads();
  const int group = 1 << group_shift<W>(minibatches);
  for (int at = warp; at < epochs * minibatches; at += W::WARPS) {
    const int mb = at % minibatches, n = minibatch_size(S, mb);
    const uint16_t *rows = S.ahead + at / minibatches * n_row + minibatch_first(S, mb);
    float sum = 0, square = 0;
#pragma unroll 4
    for (int part = 0; part < group; part++) {
      float some = 0, squares = 0;
      for (int i = 32 * part + lane; i < n; i += 32 * group) {
        const float d = S.batch.advantage[rows[i]] - S.center;
        some += d;
        squares = fmaf(d, d, squares);
      }
      sum += warp_sum(some);
      square += warp_sum(squares);
    }
    if (lane == 0) put_statistics(S, at, n, sum, square);
  }
  __syncthreads();
}

// Number i of the rows of an epoch, `behind` epochs after the first of those known.
template <class W> MM_DEVICE uint32_t row_of(const W &S, int behind, int i) {
  return S.epochs_ahead > 0 ? S.ahead[behind * S.agent.n_row + i] : S.batch.row[i];
}

// What minibatch mb of an epoch needs; where its statistics are.
template <class W> MM_DEVICE int prepare(W &S, int shuffle, int epoch, int behind, int mb) {
  if (S.epochs_ahead == 0) {
    if (mb % W::WARPS == 0) gather<W>(shuffle, mb);
    return mb % W::WARPS;
  }
  if (behind == 0 && mb == 0) look_ahead<W>(shuffle, min(S.epochs_ahead, S.agent.epochs - epoch));
  return behind * S.agent.minibatches + mb;
}

} // namespace mm

#endif
