// SPDX-License-Identifier: Apache-2.0
// One tile forward and back, and what it adds to the gradient of the weights.

#ifndef MM_BACKEND_CUDA_CLASSIC_TILE_CUH
#define MM_BACKEND_CUDA_CLASSIC_TILE_CUH

#include "backend/cuda/classic/minibatch.cuh"
#include "laws/losses.h"

namespace mm {

// What the error of a row's output depends on, fetched well before the output is known.
struct Goal {
  float first, second; // advantage and policy's part of the target, or old value and target
};

template <class W> MM_DEVICE Goal goal_of(const W &S, int net, uint32_t row) {
  const float *first = net == ACTOR ? S.batch.advantage : S.batch.value;
  const float *second = net == ACTOR ? S.batch.policy : S.batch.reward;
  return { first[row], second[row] };
}

// Error of a row's output, without the factor 1 / size of the minibatch.
template <class W>
MM_DEVICE float error_of(const W &S, int net, Goal goal, float output, float mean, float scale) {
  const mm_cuda_agent &agent = S.agent;
  const float actor = 2.0f * (output - fmaf(goal.first - mean, scale, goal.second));
  float loss;
  const float critic = mm_value_error(output, goal.first, goal.second, agent.value_clip, &loss);
  return net == ACTOR ? actor : agent.value_coef * critic;
}

// Where warp w of a network puts what it adds to the weights of an output.
template <class W> MM_DEVICE int part3_row(int net, int w, int output) {
  return net == ACTOR ? w * W::A + output : W::TEAM * W::A + w;
}

// What a warp has at work: 16 rows of a tile through one network. Rows g (a) and g + 8 (b) are
// lane (g, t)'s; h1, hd and d2 are where the warp's rows of these begin in shared memory, which is
// worked out while loads of the rows are under way.
template <class W> struct Band {
  int lane, warp, g, t, net, w;
  uint32_t h1, hd, d2;
  MM_DEVICE Band() {
    const int tid = this_thread();
    lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
    net = warp / W::TEAM, w = warp % W::TEAM;
  }
  MM_DEVICE void locate(const W &S) {
    h1 = shared_address(S.h1[net]) + w * WIDE_DOWN;
    hd = shared_address(S.hd[net]) + w * WIDE_DOWN;
    d2 = shared_address(S.d2[net]) + w * NARROW_DOWN;
  }
};

// The inputs' high halves of both rows to x, for the gradient of layer 1.
template <class W> MM_DEVICE void keep_inputs(W &S, const Band<W> &at, uint2 a, uint2 b) {
  __half *x = S.x[at.net] + 2 * at.t * W::X_ROW + 16 * at.w + at.g;
  const __half2 xa = *reinterpret_cast<const __half2 *>(&a.x);
  const __half2 xb = *reinterpret_cast<const __half2 *>(&b.x);
  x[0] = __low2half(xa);
  x[W::X_ROW] = __high2half(xa);
  x[8] = __low2half(xb);
  x[W::X_ROW + 8] = __high2half(xb);
}

// From the sums of layer 2 to h2, in shared memory, and to the outputs `aa` and `ab` of the rows,
// without their biases. d2 gets these outputs' weights times the activation's slope: what is left
// to do for the errors of h2 is a factor.
template <int ACT, class W>
MM_DEVICE void through_outputs(const W &S, const Band<W> &at, bool relu, const float sum[8][4],
                               int aa, int ab, uint32_t d2[4][4], float *ya, float *yb) {
  const float *w3 = S.w3 + at.net * W::A * W::W3_ROW + 2 * at.t;
  uint32_t h2[4][4];
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const float2 wa = *reinterpret_cast<const float2 *>(w3 + aa * W::W3_ROW + 8 * k);
    const float2 wb = *reinterpret_cast<const float2 *>(w3 + ab * W::W3_ROW + 8 * k);
    const float a0 = activate<ACT>(relu, sum[k][0]), a1 = activate<ACT>(relu, sum[k][1]);
    const float b0 = activate<ACT>(relu, sum[k][2]), b1 = activate<ACT>(relu, sum[k][3]);
    *ya = fmaf(a0, wa.x, fmaf(a1, wa.y, *ya));
    *yb = fmaf(b0, wb.x, fmaf(b1, wb.y, *yb));
    uint32_t *both = h2[k >> 1] + (k & 1) * 2, *to = d2[k >> 1] + (k & 1) * 2;
    both[0] = pack(a0, a1);
    both[1] = pack(b0, b1);
    to[0] = times_pair(pack(wa.x, wa.y), slopes_at<ACT>(relu, both[0]));
    to[1] = times_pair(pack(wb.x, wb.y), slopes_at<ACT>(relu, both[1]));
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    store_matrices((at.hd + wide_plain(at.lane)) ^ right(k), h2[k]);
}

// Errors of the rows by action, as the operand of a product: column g has the rows that chose
// action g. Lane (g, t) asks the lanes that know rows 2t, 2t + 1 and those eight further.
template <class W>
MM_DEVICE void errors_by_action(const Band<W> &at, float ea, float eb, int aa, int ab,
                                uint32_t b[2]) {
  const uint32_t ua = pack(ea, __int2float_rn(aa)), ub = pack(eb, __int2float_rn(ab));
  const uint32_t mine = pack(0.0f, __int2float_rn(at.g)) & 0xffff0000u;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const uint32_t r0 = __shfl_sync(ALL_LANES, half ? ub : ua, 8 * at.t);
    const uint32_t r1 = __shfl_sync(ALL_LANES, half ? ub : ua, 8 * at.t + 4);
    b[half] = ((r0 & 0xffff0000u) == mine ? r0 & 0xffffu : 0u) |
              ((r1 & 0xffff0000u) == mine ? r1 << 16 : 0u);
  }
}

// This warp's part of the gradient of the output layer, errors by action against h2; added to what
// is there if `more`.
template <class W>
MM_DEVICE void add_output_gradient(W &S, const Band<W> &at, const uint32_t b[2], bool more) {
  const uint32_t ones[4] = { HALF_ONES, HALF_ONES, HALF_ONES, HALF_ONES };
  float bias[4] = { 0, 0, 0, 0 };
  multiply(bias, ones, b[0], b[1]);
  if (at.g == 0) {
    float *to = S.part3b[at.warp] + 2 * at.t;
    to[0] = more ? to[0] + bias[0] : bias[0];
    to[1] = more ? to[1] + bias[1] : bias[1];
  }
  __syncwarp();
  const uint32_t from = at.hd + wide_turned(at.lane);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t a[2][4];
    load_transposed(a[0], from ^ right(2 * half));
    load_transposed(a[1], from ^ right(2 * half + 1));
#pragma unroll
    for (int m = 0; m < 2; m++) {
      float c[4] = { 0, 0, 0, 0 };
      multiply(c, a[m], b[0], b[1]);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        if (2 * at.t + i < (at.net == ACTOR ? (int)W::A : 1)) {
          float *to = S.part3[part3_row<W>(at.net, at.w, 2 * at.t + i)] + 32 * half + 16 * m + at.g;
          to[0] = more ? to[0] + c[i] : c[i];
          to[8] = more ? to[8] + c[2 + i] : c[2 + i];
        }
      }
    }
  }
  __syncwarp();
}

// d1 = (d2 w2^T) slope(h1), to where h2 was. Four warps together have begun the product before
// (begin_columns); one alone makes it here.
template <int ACT, class W>
MM_DEVICE void through_second_layer(const W &S, const Band<W> &at, bool relu,
                                    const uint32_t d2[4][4], float sum[8][4]) {
  if (!W::GROUPS) {
#pragma unroll
    for (int k = 0; k < 8; k++)
      sum[k][0] = sum[k][1] = sum[k][2] = sum[k][3] = 0;
    const uint32_t weights = shared_address(S.w2[at.net]) + wide_turned(at.lane);
    multiply_back(sum, d2, [&](int n, int k) { return (weights + n * WIDE_DOWN) ^ right(k); });
  }
  // h1 comes back from shared memory: registers are what is short here
  const uint32_t place = wide_plain(at.lane);
  uint32_t h[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (k == 1 && W::GROUPS) end_products<8>(sum);
    load_matrices(h[k], (at.h1 + place) ^ right(k));
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float *pair = sum[2 * k + (i >> 1)] + 2 * (i & 1);
      h[k][i] = times_pair(pack(pair[0], pair[1]), slopes_at<ACT>(relu, h[k][i]));
    }
    store_matrices((at.hd + place) ^ right(k), h[k]);
  }
}

// Rows first .. of the minibatch's n rows, the epoch's from `begin` on; leaves h1, d2, d1 and x in
// shared memory, and this warp's part of the output layer's gradient, added to what is there if
// MORE.
template <int ACT, class W>
MM_DEVICE void through_tile(W &S, int behind, int begin, int n, int first, float mean, float scale,
                            bool more) {
  const bool relu = ACT == ANY && S.agent.relu;
  Band<W> at;
  const int net = at.net, ra = 16 * at.w + at.g, rb = ra + 8;
  const uint32_t ia = row_of(S, behind, begin + (first + ra < n ? first + ra : n - 1));
  const uint32_t ib = row_of(S, behind, begin + (first + rb < n ? first + rb : n - 1));
  at.locate(S);
  int aa, ab;
  Goal goal_a, goal_b;
  uint32_t d2[4][4], by_action[2];
  float sum[8][4];
  {
    const uint2 a = S.batch.obs[(size_t)4 * ia + at.t], b = S.batch.obs[(size_t)4 * ib + at.t];
    keep_inputs(S, at, a, b);
    const uint32_t kept = at.h1 + wide_plain(at.lane);
    forward<ACT, true, W::GROUPS>(S, net, a, b, at.lane, kept, sum, [&] {
      aa = net == ACTOR ? S.batch.action[ia] : 0;
      ab = net == ACTOR ? S.batch.action[ib] : 0;
      goal_a = goal_of(S, net, ia);
      goal_b = goal_of(S, net, ib);
    });
  }
  float ya = 0, yb = 0;
  through_outputs<ACT>(S, at, relu, sum, aa, ab, d2, &ya, &yb);
  const float *b3 = S.small + W::B3 + net * W::A;
  ya = row_sum(ya) + b3[aa];
  yb = row_sum(yb) + b3[ab];
  const float up = S.loss.up[net];
  // 0 for rows behind the end
  const float error_a = error_of(S, net, goal_a, ya, mean, scale);
  const float error_b = error_of(S, net, goal_b, yb, mean, scale);
  const float ea = first + ra < n ? up * error_a : 0.0f;
  const float eb = first + rb < n ? up * error_b : 0.0f;
  const uint32_t pair_a = pack(ea, ea), pair_b = pack(eb, eb);
#pragma unroll
  for (int k = 0; k < 8; k++) {
    uint32_t *to = d2[k >> 1] + (k & 1) * 2;
    to[0] = times_pair(to[0], pair_a);
    to[1] = times_pair(to[1], pair_b);
  }
  if (W::GROUPS) begin_columns(sum, d2, wide_matrix(S.w2[net]));
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const uint32_t half = (uint32_t)(k >> 1) * sizeof S.d2[0][0];
    store_matrices((at.d2 + half + narrow_plain(at.lane)) ^ right(k & 1), d2[k]);
  }
  errors_by_action(at, ea, eb, aa, ab, by_action);
  add_output_gradient(S, at, by_action, more);
  through_second_layer<ACT>(S, at, relu, d2, sum);
  publish_operands();
}

// A warp's tiles of a gradient step: 16 x 32 of w2 each; and 16 units of b2, or of w1 with b1.
template <class W> struct Gradient {
  float w2[W::OWN][4][4];
  float side[W::OWN][4];
};

// To the unit of both networks (mm_cuda_loss_scale).
template <class W> MM_DEVICE void bring_together(const W &S, Gradient<W> *g) {
  const float common = S.loss.common[this_thread() / 32 / W::TEAM];
  if (common == 1.0f) return;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      g->side[i][j] *= common;
#pragma unroll
      for (int c = 0; c < 4; c++)
        g->w2[i][j][c] *= common;
    }
  }
}

MM_DEVICE int tile_row(int q) { // of w2: inputs from 16 q % 64 on
  return 16 * (q & 3);
}

MM_DEVICE int tile_column(int q) {
  return 32 * (q >> 2);
}

template <class W> MM_DEVICE void add_gradient(const W &S, Gradient<W> *to) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
    if (W::GROUPS) {
      begin_turned<W::TILE_ROWS>(to->w2[i], wide_matrix(S.h1[net]),
                                 narrow_matrix(S.d2[net][q >> 2]));
    } else {
      const uint32_t h1 = (shared_address(S.h1[net]) + wide_turned(lane)) ^ right(q & 3);
      const uint32_t d2 = shared_address(S.d2[net][q >> 2]) + narrow_plain(lane);
#pragma unroll
      for (int k = 0; k < W::TEAM; k++)
        add_outer(to->w2[i], h1 + k * WIDE_DOWN, d2 + k * NARROW_DOWN,
                  (d2 + k * NARROW_DOWN) ^ right(1));
    }
    // errors of h1, or of h2 in the second half of the tiles
    const uint32_t d1 = (shared_address(S.hd[net]) + wide_turned(lane)) ^ right(q & 3);
    const uint32_t d2 =
        (shared_address(S.d2[net][q >> 1 & 1]) + narrow_turned(lane)) ^ right(q & 1);
    const uint32_t from = q >> 2 ? d2 : d1, down = q >> 2 ? NARROW_DOWN : WIDE_DOWN;
    const __half *x = S.x[net] + g * W::X_ROW + 2 * t;
#pragma unroll
    for (int k = 0; k < W::TEAM; k++) {
      uint32_t a[4];
      load_transposed(a, from + k * down);
      multiply(to->side[i], a, load_pair(x + 16 * k), load_pair(x + 16 * k + 8));
    }
    if (W::GROUPS) end_products<4>(to->w2[i]);
  }
}

} // namespace mm

#endif
