// SPDX-License-Identifier: Apache-2.0
// A tile's way back: losses, errors of the hidden layers, and the gradients of all but the first
// layers, which stay in registers over a minibatch. Errors are without the factor 1 / rows, which
// halves might not bear; gradients get it at the end.

#ifndef MM_BACKEND_CUDA_MINATAR_BACK_CUH
#define MM_BACKEND_CUDA_MINATAR_BACK_CUH

#include "backend/cuda/minatar/forward.cuh"
#include "laws/losses.h"

namespace mm {
namespace minatar {

// ---------------------------------------------------------------------------------------------
// Losses

// Derivative by the output of one row of the span; 0 behind the last.
template <class S>
MM_DEVICE float error_of(const room<S> &s, int which, int row, int rows, float y) {
  if (row >= rows) return 0;
  if (which == ACTOR) return 2 * (y - s.wanted[row]);
  float loss;
  return s.agent.value_coef *
         mm_value_error(y, s.old_value[row], s.target[row], s.agent.value_clip, &loss);
}

// Errors of rows g and g + 8, by output, for the gradient of the output layer.
template <class S>
MM_DEVICE void store_errors(room<S> &s, const band &at, int output0, int output8, float e0,
                            float e8) {
  __half *to = s.error[at.which] + 2 * at.t * S::ERROR_ROW + at.row + at.g;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    to[i * S::ERROR_ROW] = __float2half_rn(output0 == 2 * at.t + i ? e0 : 0.0f);
    to[i * S::ERROR_ROW + 8] = __float2half_rn(output8 == 2 * at.t + i ? e8 : 0.0f);
  }
}

// ---------------------------------------------------------------------------------------------
// Errors of the first hidden layer

// A row of d1 to scratch: eight pairs of columns, those of a lane side by side, so that it writes
// 16 bytes at once. Columns n * 8 + 2 t + i go to n / 4 * 32 + t * 8 + n % 4 * 2 + i.
MM_DEVICE void store_d1(__half *row, int t, const uint32_t (&d)[8]) {
  uint4 *to = reinterpret_cast<uint4 *>(row + t * 8);
  to[0] = make_uint4(d[0], d[1], d[2], d[3]);
  to[4] = make_uint4(d[4], d[5], d[6], d[7]);
}

// d1 = (d2 w2^T) slope(h1), for rows g and g + 8.
template <class S, int ACT>
MM_DEVICE void back(const room<S> &s, const band &at, const uint32_t (&h1)[4][4],
                    const uint32_t (&d2)[4][4], __half *row0, __half *row8) {
  const int lane = this_thread() % 32;
  const uint32_t w2 =
      shared_address(s.w2[at.which] + (lane % 8 + lane / 16 * 8) * HALF_ROW + lane / 8 % 2 * 8);
  float sum[8][4] = {};
  multiply_back(sum, d2, [&](int n, int k) {
    return w2 + (n * 16 * HALF_ROW + k * 16) * (int)sizeof(__half);
  });
  uint32_t d0[8], d8[8];
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const float2 h0 = unpack(h1[n / 2][n % 2 * 2]), h8 = unpack(h1[n / 2][n % 2 * 2 + 1]);
    d0[n] = pack(sum[n][0] * slope_at<ACT>(s.agent.relu, h0.x),
                 sum[n][1] * slope_at<ACT>(s.agent.relu, h0.y));
    d8[n] = pack(sum[n][2] * slope_at<ACT>(s.agent.relu, h8.x),
                 sum[n][3] * slope_at<ACT>(s.agent.relu, h8.y));
  }
  store_d1(row0, at.t, d0);
  store_d1(row8, at.t, d8);
}

// ---------------------------------------------------------------------------------------------

// From h1 of tile number `tile` of a span of `rows` rows to h2, d2 and the outputs' errors in
// shared memory, and to d1 in scratch.
template <class S, int ACT> MM_DEVICE void through(room<S> &s, int tile, int rows) {
  const band at;
  if (at.row >= S::ROWS) return;
  uint32_t h1[4][4], d2[4][4];
  float h2[8][4];
  layer2(s, at, h1, h2);
  const int row = tile * S::ROWS + at.row + at.g;
  const int output0 = at.which == ACTOR ? s.action[row] : 0;
  const int output8 = at.which == ACTOR ? s.action[row + 8] : 0;
  const float *w0 = s.w3 + (at.which == ACTOR ? output0 : S::ACTIONS) * H + 2 * at.t;
  const float *w8 = s.w3 + (at.which == ACTOR ? output8 : S::ACTIONS) * H + 2 * at.t;
  const int place = (at.row + at.g) * HALF_ROW + 2 * at.t;
  float y0 = 0, y8 = 0;
#pragma unroll
  for (int n = 0; n < 8; n++) {
    float *h = h2[n];
#pragma unroll
    for (int i = 0; i < 4; i++)
      h[i] = activate<ACT>(s.agent.relu, h[i]);
    store_pair(s.forward.h2[at.which] + place + n * 8, pack(h[0], h[1]));
    store_pair(s.forward.h2[at.which] + place + 8 * HALF_ROW + n * 8, pack(h[2], h[3]));
    const float2 a = *reinterpret_cast<const float2 *>(w0 + n * 8);
    const float2 b = *reinterpret_cast<const float2 *>(w8 + n * 8);
    y0 = fmaf(h[0], a.x, fmaf(h[1], a.y, y0));
    y8 = fmaf(h[2], b.x, fmaf(h[3], b.y, y8));
    h[0] = a.x * slope_at<ACT>(s.agent.relu, h[0]);
    h[1] = a.y * slope_at<ACT>(s.agent.relu, h[1]);
    h[2] = b.x * slope_at<ACT>(s.agent.relu, h[2]);
    h[3] = b.y * slope_at<ACT>(s.agent.relu, h[3]);
  }
  y0 = row_sum(y0) + s.b3[at.which == ACTOR ? output0 : S::ACTIONS];
  y8 = row_sum(y8) + s.b3[at.which == ACTOR ? output8 : S::ACTIONS];
  const float up = s.loss.up[at.which];
  const float e0 = up * error_of(s, at.which, row, rows, y0);
  const float e8 = up * error_of(s, at.which, row + 8, rows, y8);
  store_errors(s, at, output0, output8, e0, e8);
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const uint32_t a = pack(e0 * h2[n][0], e0 * h2[n][1]), b = pack(e8 * h2[n][2], e8 * h2[n][3]);
    d2[n / 2][n % 2 * 2] = a;
    d2[n / 2][n % 2 * 2 + 1] = b;
    store_pair(s.forward.d2[at.which] + place + n * 8, a);
    store_pair(s.forward.d2[at.which] + place + 8 * HALF_ROW + n * 8, b);
  }
  const int first = row & ~31, bit = row & 31; // bit + 8 is in the same group of 32
  __half *to = d1_of(s) + at.which * H;
  back<S, ACT>(s, at, h1, d2, to + (size_t)(first + place_of_bit(bit)) * BOTH,
               to + (size_t)(first + place_of_bit(bit + 8)) * BOTH);
}

// ---------------------------------------------------------------------------------------------
// Gradients of second and output layers

// A warp has 16 units of h1 by 32 of h2 of one network's w2; and, for 16 units of h2, b2 or w3 (and
// one warp b3).
struct gradients {
  float w2[4][4], side[4], b3[4];
};

struct owned {
  int which, from, to; // network; first unit of h1 (or of h2 for `side`), of h2
  bool outputs;        // side is w3, else b2

  MM_DEVICE owned() {
    const int warp = this_thread() / 32, w = warp % (WARPS / 2);
    which = warp / (WARPS / 2);
    from = w % 4 * 16;
    to = w / 4 * 32;
    outputs = w < 4;
  }
};

// Adds a tile.
template <class S> MM_DEVICE void add_second(const room<S> &s, gradients &sum) {
  const owned at;
  const int lane = this_thread() % 32, g = lane / 4, t = lane % 4;
  const int turned = (lane % 8 + lane / 16 * 8) * HALF_ROW + at.from + lane / 8 % 2 * 8;
  const uint32_t h1 = shared_address(s.forward.h1[at.which] + turned);
  const uint32_t d2 =
      shared_address(s.forward.d2[at.which] + lane % 16 * HALF_ROW + at.to + lane / 16 * 8);
  const uint32_t side =
      shared_address((at.outputs ? s.forward.h2 : s.forward.d2)[at.which] + turned);
  const __half *error = s.error[at.which] + g * S::ERROR_ROW + 2 * t;
#pragma unroll
  for (int k = 0; k < S::ROWS / 16; k++) {
    const int at_k = k * 16 * HALF_ROW * (int)sizeof(__half);
    uint32_t a[4];
    add_outer(sum.w2, h1 + at_k, d2 + at_k, d2 + at_k + 16 * (int)sizeof(__half));
    load_transposed(a, side + at_k);
    const uint32_t e0 = at.outputs ? load_pair(error + k * 16) : HALF_ONES;
    const uint32_t e1 = at.outputs ? load_pair(error + k * 16 + 8) : HALF_ONES;
    multiply(sum.side, a, e0, e1);
    if (at.from == 0 && at.outputs) {
      const uint32_t ones[4] = { HALF_ONES, HALF_ONES, HALF_ONES, HALF_ONES };
      multiply(sum.b3, ones, e0, e1);
    }
  }
}

// Writes all of it, times share, in the unit of both networks (mm_cuda_loss_scale).
template <class S> MM_DEVICE void store_second(const room<S> &s, const gradients &sum) {
  const mm_cuda_layout l = scratch<S::WHICH>::layout();
  float *gradient = gradient_of(s);
  const owned at;
  const float share = s.batch.share * s.loss.common[at.which];
  const int lane = this_thread() % 32, g = lane / 4, t = lane % 4;
  float *w2 = gradient + l.w2 + at.which * H * H + (at.from + g) * H + at.to + 2 * t;
#pragma unroll
  for (int n = 0; n < 4; n++)
#pragma unroll
    for (int i = 0; i < 2; i++)
      *reinterpret_cast<float2 *>(w2 + 8 * i * H + 8 * n) =
          make_float2(sum.w2[n][2 * i] * share, sum.w2[n][2 * i + 1] * share);
  if (!at.outputs) {
    float *b2 = gradient + l.b2 + at.which * H + at.from + g;
    if (t == 0) b2[0] = sum.side[0] * share;
    if (t == 0) b2[8] = sum.side[2] * share;
    return;
  }
  const int outputs = at.which == ACTOR ? (int)S::ACTIONS : 1;
  const int first = at.which == ACTOR ? 0 : (int)S::ACTIONS;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (2 * t + i >= outputs) continue;
    float *w3 = gradient + l.w3 + (first + 2 * t + i) * H + at.from + g;
    w3[0] = sum.side[i] * share;
    w3[8] = sum.side[2 + i] * share;
    if (at.from == 0 && g == 0) gradient[l.b3 + first + 2 * t + i] = sum.b3[i] * share;
  }
}

} // namespace minatar
} // namespace mm

#endif
