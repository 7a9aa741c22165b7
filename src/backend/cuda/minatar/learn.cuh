// SPDX-License-Identifier: Apache-2.0
// A gradient step on a minibatch: spans of rows forward and back, the gradient of the first layers
// span by span, then the optimiser.

#ifndef MM_BACKEND_CUDA_MINATAR_LEARN_CUH
#define MM_BACKEND_CUDA_MINATAR_LEARN_CUH

#include "backend/cuda/minatar/back.cuh"

namespace mm {
namespace minatar {

// ---------------------------------------------------------------------------------------------
// Rows

// Rows of an epoch in their order.
template <class S> __device__ __noinline__ void shuffle_rows(uint64_t epoch) {
  room<S> &s = here<S>();
  const mm_cuda_agent &a = s.agent;
  if (this_thread() == 0) s.shuffle = mm_shuffle_make(shuffle_stream(a), epoch, (uint32_t)a.n_row);
  __syncthreads();
  for (int i = this_thread(); i < a.n_row; i += THREADS)
    a.row[i] = mm_shuffle_at(&s.shuffle, (uint32_t)i);
  __syncthreads();
}

template <class S>
__device__ __noinline__ void open_minibatch(const uint32_t *row, int n, mm_cuda_rate rate) {
  room<S> &s = here<S>();
  float middle = 0, scale = 1;
  if (s.agent.normalise) {
    const float *advantage = s.agent.advantage;
    double sum = 0, square = 0;
    for (int i = this_thread(); i < n; i += THREADS)
      sum += (double)advantage[row[i]];
    const double mean = block_sum(s, sum) / n;
    for (int i = this_thread(); i < n; i += THREADS) {
      const double d = (double)advantage[row[i]] - mean;
      square += d * d;
    }
    middle = (float)mean;
    scale = (float)(1 / (sqrt(block_sum(s, square) / n) + 1e-8));
  }
  if (this_thread() == 0) s.batch = { row, n, 1 / (float)n, middle, scale, rate };
  __syncthreads();
}

// What the losses need of rows first, ... of the minibatch. Rows behind the last are the first one
// again; their errors are 0.
template <class S> MM_DEVICE void gather(room<S> &s, int first) {
  const mm_cuda_agent &a = s.agent;
  const minibatch &b = s.batch;
  const int i = this_thread();
  if (i < S::SPAN) {
    const uint32_t row = b.row[first + i < b.n ? first + i : first];
    s.row[i] = row;
    s.wanted[i] = (a.advantage[row] - b.mean) * b.scale + a.policy[row];
    s.old_value[i] = a.value[row];
    s.target[i] = a.target[row];
    s.action[i] = a.action[row];
  }
}

// ---------------------------------------------------------------------------------------------
// Observations the other way round: bit r of word i is input i of row r of 32

MM_DEVICE uint32_t transpose_bits(uint32_t x) {
  const int lane = this_thread() % 32;
#pragma unroll
  for (int n = 16; n > 0; n >>= 1) {
    const uint32_t low = n == 16  ? 0x0000ffffu
                         : n == 8 ? 0x00ff00ffu
                         : n == 4 ? 0x0f0f0f0fu
                         : n == 2 ? 0x33333333u
                                  : 0x55555555u;
    const uint32_t y = __shfl_xor_sync(ALL_LANES, x, n);
    x = lane & n ? (x & ~low) | (y >> n & low) : (x & low) | (y & low) << n;
  }
  return x;
}

template <class S> MM_DEVICE void turn_tile(const room<S> &s, int tile, int buffer) {
  enum { GROUPS = S::ROWS / 32, TASKS = GROUPS * S::in::WORDS };
  const int lane = this_thread() % 32;
  uint32_t *turned = turned_of(s) + tile * GROUPS * S::in::ALL + lane;
#pragma unroll 2
  for (int i = this_thread() / 32; i < TASKS; i += WARPS) {
    const int group = i % GROUPS, word = i / GROUPS;
    const uint32_t x = s.forward.bits[buffer][(group * 32 + lane) * S::in::STRIDE + word];
    turned[group * S::in::ALL + word * 32] = transpose_bits(x);
  }
}

// ---------------------------------------------------------------------------------------------
// Gradient of the first layers: inputs [of a pass] x rows times rows x d1

// Begins to fetch the bits of a pass.
template <class S> MM_DEVICE void fetch_turned(room<S> &s, int pass) {
  enum { CHUNKS = PASS / 4 };
  const uint32_t *turned = turned_of(s);
  uint32_t *to = s.gradient.turned[pass % 2];
  for (int i = this_thread(); i < S::SPAN / 32 * CHUNKS; i += THREADS) {
    const int group = i / CHUNKS, c = i % CHUNKS * 4, input = pass * PASS + c;
    if (input < S::in::ALL) copy16(to + group * PASS + c, turned + group * S::in::ALL + input);
  }
  end_copies();
}

// A warp's part of a pass: HIGH times 16 inputs by 32 columns of d1.
template <class S, int HIGH>
MM_DEVICE void add_first(const room<S> &s, int pass, int groups, bool add) {
  const int thread = this_thread(), lane = thread % 32, warp = thread / 32;
  const int g = lane / 4, t = lane % 4;
  const int begin = warp % 4 * 16 * HIGH, columns = warp / 4 * 32;
  if (pass * PASS + begin >= S::in::REAL) return;
  const uint32_t d1 =
      shared_address(s.gradient.d1 + lane % 16 * WIDE_ROW + columns + lane / 16 * 8);
  const uint32_t *turned = s.gradient.turned[pass % 2] + begin + g;
  float sum[HIGH][4][4] = {};
#pragma unroll 2
  for (int group = 0; group < groups; group++) {
    uint32_t x[2 * HIGH];
#pragma unroll
    for (int i = 0; i < 2 * HIGH; i++)
      x[i] = turn_to_lane(turned[group * PASS + 8 * i], t);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const uint32_t at = d1 + (group * 32 + half * 16) * WIDE_ROW * (int)sizeof(__half);
      uint32_t b[4], c[4];
      load_transposed(b, at);
      load_transposed(c, at + 16 * (int)sizeof(__half));
#pragma unroll
      for (int i = 0; i < HIGH; i++) {
        uint32_t a[4];
        spread(a, x[2 * i], x[2 * i + 1], half);
        multiply(sum[i][0], a, b[0], b[1]);
        multiply(sum[i][1], a, b[2], b[3]);
        multiply(sum[i][2], a, c[0], c[1]);
        multiply(sum[i][3], a, c[2], c[3]);
      }
    }
  }
  // by store_d1 the lane's columns are eight side by side
  float *gradient = gradient_of(s) + columns + t * 8;
  const float share = 0.5f * s.batch.share * s.loss.common[columns / H]; // inputs were 2
#pragma unroll
  for (int i = 0; i < HIGH; i++)
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const int input = pass * PASS + begin + 16 * i + 8 * j + g;
      if (input >= S::in::REAL) continue;
      float *to = gradient + input * BOTH;
#pragma unroll
      for (int k = 0; k < 2; k++) {
        const float *p = sum[i][2 * k] + 2 * j, *q = sum[i][2 * k + 1] + 2 * j;
        const float4 x = make_float4(p[0] * share, p[1] * share, q[0] * share, q[1] * share);
        // each place of the gradient belongs to one thread, whose additions happen in order
        if (add)
          add_four(to + 4 * k, x);
        else
          __stcg(reinterpret_cast<float4 *>(to + 4 * k), x);
      }
    }
}

// Adds (or, the first time, writes) a span of so many groups of 32 rows.
template <class S> MM_DEVICE void first_layers(room<S> &s, int groups, bool add) {
  enum { CHUNKS = BOTH / 8, PASSES = (S::in::ALL + PASS - 1) / PASS };
  // of the last pass: one product of 16 inputs for each warp may be enough
  enum { LAST = S::in::ALL - (PASSES - 1) * PASS };
  const __half *d1 = d1_of(s);
  for (int i = this_thread(); i < groups * 32 * CHUNKS; i += THREADS) {
    const int r = i / CHUNKS, c = i % CHUNKS * 8;
    copy16(s.gradient.d1 + r * WIDE_ROW + c, d1 + r * BOTH + c);
  }
  fetch_turned(s, 0);
#pragma unroll 1
  for (int pass = 0; pass < PASSES; pass++) {
    wait_copies<0>();
    __syncthreads();
    if (pass + 1 < PASSES) fetch_turned(s, pass + 1);
    if (LAST > 64 || pass + 1 < PASSES)
      add_first<S, 2>(s, pass, groups, add);
    else
      add_first<S, 1>(s, pass, groups, add);
  }
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// The optimiser

// Working copies of the parameters i .. i + 3.
template <class S> MM_DEVICE void keep(room<S> &s, __half *w1, int i, float4 p) {
  const mm_cuda_layout l = scratch<S::WHICH>::layout();
  if (i < l.b2) {
    const int input = i / BOTH, place = (input & ~31) + place_of_bit(input & 31);
    *reinterpret_cast<uint2 *>(w1 + place * BOTH + i % BOTH) =
        make_uint2(pack(0.5f * p.x, 0.5f * p.y), pack(0.5f * p.z, 0.5f * p.w));
  } else if (i < l.w2) {
    float *to = i < l.w3 ? s.b2[0] + (i - l.b2) : i < l.b3 ? s.w3 + (i - l.w3) : s.b3 + (i - l.b3);
    *reinterpret_cast<float4 *>(to) = p;
  } else {
    const int k = i - l.w2, which = k / (H * H), row = k / H % H;
    *reinterpret_cast<uint2 *>(s.w2[which] + row * HALF_ROW + k % H) =
        make_uint2(pack(p.x, p.y), pack(p.z, p.w));
  }
}

// After a gradient that is not finite: whether it may be with a smaller scale of the losses. Errors
// that overflow show in the hidden layers of their network.
template <class S> __device__ __noinline__ bool lower_scale() {
  room<S> &s = here<S>();
  const mm_cuda_layout l = scratch<S::WHICH>::layout();
  const float *gradient = gradient_of(s);
  bool actor = false, critic = false;
  for (int i = threadIdx.x; i < l.size; i += THREADS) {
    const bool first = i < l.b2, second = i >= l.w2;
    if (!(first || second) || fabsf(__ldcg(gradient + i)) < INFINITY) continue;
    const int which = first ? i % BOTH / H : (i - l.w2) / (H * H);
    actor |= which == ACTOR;
    critic |= which == CRITIC;
  }
  return lower_together(&s.loss, actor, critic);
}

// Norm, clip, Adam. False where the norm is not finite: then nothing has changed.
template <class S> MM_DEVICE bool optimise(room<S> &s) {
  const mm_cuda_agent &a = s.agent;
  const int size = scratch<S::WHICH>::layout().size;
  const float *gradient = gradient_of(s);
  float square = 0;
#pragma unroll 4
  for (int i = 4 * this_thread(); i < size; i += 4 * THREADS) {
    const float4 g = __ldcg(reinterpret_cast<const float4 *>(gradient + i));
    square += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
  }
  const double length = sqrt(block_sum(s, (double)square)), down = (double)s.loss.down;
  const double most = (double)a.max_grad_norm;
  if (!isfinite(length)) return false;
  const float scale = (float)(length * down >= most ? most / length : down);
  const float beta1 = a.beta1, rest1 = a.rest1, beta2 = a.beta2, rest2 = a.rest2;
  const mm_cuda_rate rate = s.batch.rate;
  __half *w1 = w1_of(s);
  float *param = a.param, *first = a.m, *second = a.v;
#pragma unroll 2
  for (int i = 4 * this_thread(); i < size; i += 4 * THREADS) {
    const float4 g = __ldcg(reinterpret_cast<const float4 *>(gradient + i));
    float4 p = *reinterpret_cast<float4 *>(param + i);
    float4 m = *reinterpret_cast<float4 *>(first + i), v = *reinterpret_cast<float4 *>(second + i);
#define STEP(c)                                                                                    \
  p.c = adam(p.c, g.c * scale, &m.c, &v.c, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon)
    STEP(x);
    STEP(y);
    STEP(z);
    STEP(w);
#undef STEP
    *reinterpret_cast<float4 *>(param + i) = p;
    *reinterpret_cast<float4 *>(first + i) = m;
    *reinterpret_cast<float4 *>(second + i) = v;
    keep(s, w1, i, p);
  }
  __syncthreads();
  return true;
}

// ---------------------------------------------------------------------------------------------

// One gradient step on the open minibatch; false where its norm is not finite.
template <class S, int ACT> MM_DEVICE bool learn(room<S> &s) {
  gradients sum = {};
#pragma unroll 1
  for (int first = 0; first < s.batch.n; first += S::SPAN) {
    const int rows = s.batch.n - first < S::SPAN ? s.batch.n - first : S::SPAN;
    const int tiles = (rows + S::ROWS - 1) / S::ROWS;
    gather(s, first);
    __syncthreads();
    begin_tile(s, 0, [&](int r) { return s.row[r]; });
    mark(s, MM_CUDA_MINATAR_GATHER);
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
      layer1<S, ACT>(s, tile % 2);
      __syncthreads();
      mark(s, MM_CUDA_MINATAR_LAYER1);
      turn_tile(s, tile, tile % 2);
      mark(s, MM_CUDA_MINATAR_TRANSPOSE);
      through<S, ACT>(s, tile, rows);
      wait_copies<0>();
      __syncthreads();
      mark(s, MM_CUDA_MINATAR_LAYER2);
      if (tile + 1 < tiles)
        begin_tile(s, (tile + 1) % 2, [&](int r) { return s.row[(tile + 1) * S::ROWS + r]; });
      add_second(s, sum);
      mark(s, MM_CUDA_MINATAR_GRAD2);
    }
    __syncthreads();
    first_layers(s, tiles * S::ROWS / 32, first > 0);
    mark(s, MM_CUDA_MINATAR_GRAD1);
  }
  store_second(s, sum);
  __syncthreads();
  const bool fine = optimise(s);
  mark(s, MM_CUDA_MINATAR_ADAM);
  return fine;
}

} // namespace minatar
} // namespace mm

#endif
