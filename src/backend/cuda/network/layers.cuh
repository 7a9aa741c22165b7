// SPDX-License-Identifier: Apache-2.0
// What the kernels of classic control and of MinAtar have in common. Both train an actor and a
// critic with two hidden layers of 64 units, and differ in what comes in and in how matrices lie in
// shared memory: who calls says where the lane's part of an operand is.

#ifndef MM_BACKEND_CUDA_NETWORK_LAYERS_CUH
#define MM_BACKEND_CUDA_NETWORK_LAYERS_CUH

#include "backend/cuda/host/agent.h"
#include "backend/cuda/network/loss_scale.h"
#include "backend/cuda/warp/warp.cuh"
#include "base/rng.h"
#include "laws/gae.h"

namespace mm {

enum { ACTOR, CRITIC, NETS };
enum { H = MM_CUDA_HIDDEN };

// ---------------------------------------------------------------------------------------------
// Layers, 16 rows by a warp: rows g and g + 8 of a result are lane (g, t)'s

// Sums of a layer begin with its biases; bias: of unit 2t.
MM_DEVICE void begin_sums(float sum[8][4], const float *bias) {
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const float2 b = *reinterpret_cast<const float2 *>(bias + 8 * n);
    sum[n][0] = sum[n][2] = b.x;
    sum[n][1] = sum[n][3] = b.y;
  }
}

// sum += a w, for w [64][64]; weights(k, n): where a lane looks for inputs from 16 k on and outputs
// from 16 n on.
template <class F>
MM_DEVICE void multiply_forward(float sum[8][4], const uint32_t a[4][4], F weights) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int n = 0; n < 4; n++) {
      uint32_t b[4];
      load_transposed(b, weights(k, n));
      multiply(sum[2 * n], a[k], b[0], b[1]);
      multiply(sum[2 * n + 1], a[k], b[2], b[3]);
    }
  }
}

// sum += a w^T; weights(n, k): of inputs from 16 n on and outputs from 16 k on.
template <class F>
MM_DEVICE void multiply_back(float sum[8][4], const uint32_t a[4][4], F weights) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int n = 0; n < 4; n++) {
      uint32_t b[4];
      load_matrices(b, weights(n, k));
      multiply(sum[2 * n], a[k], b[0], b[1]);
      multiply(sum[2 * n + 1], a[k], b[2], b[3]);
    }
  }
}

// What 16 rows add to the gradient of 16 inputs x 32 outputs: h^T d. d, d16: the first 16 outputs,
// and the others.
MM_DEVICE void add_outer(float sum[4][4], uint32_t h, uint32_t d, uint32_t d16) {
  uint32_t a[4], b[4], c[4];
  load_transposed(a, h);
  load_transposed(b, d);
  load_transposed(c, d16);
  multiply(sum[0], a, b[0], b[1]);
  multiply(sum[1], a, b[2], b[3]);
  multiply(sum[2], a, c[0], c[1]);
  multiply(sum[3], a, c[2], c[3]);
}

template <int ACT> MM_DEVICE void activate_all(bool relu, float h[8][4]) {
#pragma unroll
  for (int n = 0; n < 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      h[n][i] = activate<ACT>(relu, h[n][i]);
}

// One output of rows g and g + 8, from h2; w3: its weight of unit 2t. The four lanes of a row get
// it.
MM_DEVICE float2 output_of(const float h2[8][4], const float *w3, float bias) {
  float2 y = make_float2(0, 0);
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const float2 w = *reinterpret_cast<const float2 *>(w3 + 8 * n);
    y.x = fmaf(h2[n][0], w.x, fmaf(h2[n][1], w.y, y.x));
    y.y = fmaf(h2[n][2], w.x, fmaf(h2[n][3], w.y, y.y));
  }
  return make_float2(row_sum(y.x) + bias, row_sum(y.y) + bias);
}

// ---------------------------------------------------------------------------------------------
// Agents

// By all threads of a block.
template <int THREADS, class T> MM_DEVICE void copy_words(T *to, const T *from) {
  static_assert(sizeof(T) % 4 == 0, "copied by words");
  for (int i = threadIdx.x; i < (int)(sizeof(T) / 4); i += THREADS)
    reinterpret_cast<uint32_t *>(to)[i] = reinterpret_cast<const uint32_t *>(from)[i];
}

// The random word that decides the action of step t of the iteration in environment e.
MM_DEVICE uint32_t action_word(const mm_cuda_agent &a, int t, int e) {
  const uint64_t step = (uint64_t)a.iteration * (uint64_t)a.n_step + (uint64_t)t;
  const mm_stream stream = mm_stream_make(a.seed, a.repeat, MM_RNG_ACTION, (uint32_t)e);
  const mm_block b = mm_stream_block(stream, step / 4);
  const uint32_t q = step % 4;
  return q < 2 ? (q == 0 ? b.word[0] : b.word[1]) : (q == 2 ? b.word[2] : b.word[3]);
}

MM_DEVICE mm_stream shuffle_stream(const mm_cuda_agent &a) {
  return mm_stream_make(a.seed, a.repeat, MM_RNG_SHUFFLE, 0);
}

// The number of an epoch's shuffle.
MM_DEVICE uint64_t shuffle_number(const mm_cuda_agent &a, int epoch) {
  return (uint64_t)a.iteration * (uint64_t)a.epochs + (uint64_t)epoch;
}

// Advantages of environment e and the critic's targets, backwards through time. each(i, advantage):
// what else is to be done with row i.
template <class F> MM_DEVICE void estimate_backwards(const mm_cuda_agent &a, int e, F each) {
  const size_t n = (size_t)a.n_env;
  const float gamma = a.gamma, decay = a.gamma * a.gae_lambda;
  float carried = 0, next = a.value[(size_t)a.n_row + (size_t)e];
#pragma unroll 4
  for (int t = a.n_step - 1; t >= 0; t--) {
    const size_t i = (size_t)t * n + (size_t)e;
    const float alive = a.end[i] ? 0.0f : 1.0f, v = a.value[i];
    const float delta = mm_gae_delta_f(gamma, alive, a.reward[i], v, next);
    carried = mm_gae_advantage_f(decay, alive, delta, carried);
    a.advantage[i] = carried;
    a.target[i] = carried + v;
    each(i, carried);
    next = v;
  }
}

// After gradients that are not finite, where a thread has seen it of a network's hidden layers:
// whether they may be with a smaller scale of the losses. By all threads.
MM_DEVICE bool lower_together(mm_cuda_loss_scale *scale, bool actor, bool critic) {
  actor = __syncthreads_or(actor);
  critic = __syncthreads_or(critic);
  const bool lower = threadIdx.x == 0 && mm_cuda_loss_scale_lower(scale, actor, critic);
  return __syncthreads_or(lower);
}

// ---------------------------------------------------------------------------------------------
// Time

// Where a block's time goes, in clock cycles of one thread.
template <int STAGES> struct Clock {
  int64_t last, spent[STAGES];
  MM_DEVICE void begin() {
    for (int i = 0; i < STAGES; i++)
      spent[i] = 0;
    last = clock64();
  }
  // The time since the last mark belongs to this stage.
  MM_DEVICE void mark(int stage) {
    const int64_t now = clock64();
    spent[stage] += now - last;
    last = now;
  }
  MM_DEVICE void tell(int64_t *to) const {
    for (int i = 0; i < STAGES; i++)
      to[i] = spent[i];
  }
};

} // namespace mm

#endif
