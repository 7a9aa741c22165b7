// SPDX-License-Identifier: Apache-2.0
// From the errors of the outputs back to those of the first layer, and all gradients but the second
// layer's.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_BACK_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_BACK_CUH

#include "backend/cuda/gaussian/norm.cuh"

namespace mm {
namespace gaussian {

// Errors of a square's units, in place of the units there: d through the activation's slope.
MM_DEVICE void put_errors(__half *at, float d[4], bool relu) {
  const float2 low = unpack(load_pair(at)), high = unpack(load_pair(at + 8 * ROW));
  d[0] *= slope_at<ANY>(relu, low.x);
  d[1] *= slope_at<ANY>(relu, low.y);
  d[2] *= slope_at<ANY>(relu, high.x);
  d[3] *= slope_at<ANY>(relu, high.y);
  store_pair(at, pack(d[0], d[1]));
  store_pair(at + 8 * ROW, pack(d[2], d[3]));
}

// Through the last layer: a warp has 16 units, and their errors in place of themselves; of units
// that are this block's, of P that share the network, also their part of w3's gradient and of b2's.
template <int MT, int P> MM_DEVICE void through_outputs(const Step &s) {
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int unit = 16 * warp, tiles = P == 1 ? (int)Work<MT>::TILES : s.filled / 16;
  const bool own = warp < s.used && (P == 1 || unit / (H / P) == s.member);
  const bool relu = s.agent->relu;
  const float down = S.down;
  const uint16_t *w3 = reinterpret_cast<const uint16_t *>(S.w3) + unit + g;
  float square = 0;
  float c[2][4] = { { 0 } };
#pragma unroll 2
  for (int k = 0; k < tiles && own; k++) {
    uint32_t a[4], b[4];
    load_rows_transposed(a, S.e + 16 * k * E_ROW, E_ROW, lane);
    load_columns(b, S.h2 + 16 * k * ROW + unit, ROW, lane);
    multiply(c[0], a, b[0], b[1]);
    multiply(c[1], a, b[2], b[3]);
  }
  uint32_t w[2];
#pragma unroll
  for (int j = 0; j < 2; j++) {
    float2 *to = reinterpret_cast<float2 *>(s.gradient + s.l.w3 + g * H + unit + 8 * j + 2 * t);
    const float2 old = s.add && own ? *to : make_float2(0, 0);
    const float2 now = make_float2(fmaf(down, c[j][0], old.x), fmaf(down, c[j][1], old.y));
    if (own) *to = now;
    square = fmaf(now.x, now.x, fmaf(now.y, now.y, square));
    w[j] = w3[2 * t * ROW + 8 * j] | (uint32_t)w3[(2 * t + 1) * ROW + 8 * j] << 16;
  }
  __syncwarp();
  float sum[2][2] = { { 0 } };
#pragma unroll 2
  for (int m = 0; m < tiles && warp < s.used; m++) {
    uint32_t a[4];
    load_rows(a, S.e + 16 * m * E_ROW, E_ROW, lane);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float d[4] = { 0, 0, 0, 0 };
      __half *at = S.h2 + (16 * m + g) * ROW + unit + 8 * j + 2 * t;
      multiply(d, a, w[j], 0u);
      put_errors(at, d, relu);
      sum[j][0] += d[0] + d[2];
      sum[j][1] += d[1] + d[3];
    }
  }
#pragma unroll
  for (int j = 0; j < 2; j++) {
#pragma unroll
    for (int c2 = 0; c2 < 2; c2++) {
      float x = sum[j][c2];
      x += __shfl_xor_sync(ALL_LANES, x, 4);
      x += __shfl_xor_sync(ALL_LANES, x, 8);
      x += __shfl_xor_sync(ALL_LANES, x, 16);
      float *to = s.gradient + s.l.b2 + unit + 8 * j + 2 * t + c2;
      if (g != 0 || !own) continue;
      const float now = fmaf(down, x, s.add ? *to : 0.0f);
      *to = now;
      square = fmaf(now, now, square);
    }
  }
  if (own) put_sum(S, unit / 64, SUM_W3 + unit / 16 % 4, square);
  __syncthreads();
}

// Through the second layer: errors of the first one's units, in their place.
template <int MT> __device__ __noinline__ void back(const Step &s) {
  through_outputs<MT, 1>(s);
  Work<MT> &S = here<MT>();
  const bool relu = s.agent->relu;
  const uint16_t *w2 = s.operand;
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int first = (warp & 1) * 16 * MT, unit = (warp >> 1) * 32;
  const uint16_t *from = w2 + unit / 16 * SQUARE;
  constexpr int SQUARES = H / 16;
  const int used = unit < 16 * s.used ? s.used : 0; // padding has no errors
  float c[MT][4][4];
#pragma unroll
  for (int m = 0; m < MT; m++)
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        c[m][j][i] = 0;
  uint4 now[2], next[2];
#pragma unroll
  for (int q = 0; q < 2; q++) {
    now[q] = load_square(from + q * SQUARE, lane);
    next[q] = load_square(from + (SQUARES + q) * SQUARE, lane);
  }
#pragma unroll 1
  for (int k = 0; k < used; k++) {
    uint32_t b[4][2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
      b[2 * q][0] = transpose(now[q].x);
      b[2 * q + 1][0] = transpose(now[q].y);
      b[2 * q][1] = transpose(now[q].z);
      b[2 * q + 1][1] = transpose(now[q].w);
      now[q] = next[q];
      if (k + 2 < used) next[q] = load_square(from + ((k + 2) * SQUARES + q) * SQUARE, lane);
    }
#pragma unroll
    for (int m = 0; m < MT; m++) {
      uint32_t a[4];
      load_rows(a, S.h2 + (first + 16 * m) * ROW + 16 * k, ROW, lane);
#pragma unroll
      for (int j = 0; j < 4; j++)
        multiply(c[m][j], a, b[j][0], b[j][1]);
    }
  }
#pragma unroll
  for (int m = 0; m < MT; m++) {
    if (used == 0) break;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      __half *at = S.h1 + (first + 16 * m + g) * ROW + unit + 8 * j + 2 * t;
      put_errors(at, c[m][j], relu);
    }
  }
  __syncthreads();
}

// Gradient of the first layer, from the errors of its units: a warp has 16 of them. Then the units
// themselves once more, for the second layer's.
template <int MT> __device__ __noinline__ void first_layer(const Step &s) {
  enum { SQUARES = (MM_CUDA_GAUSS_INPUTS + 1) / 16 };
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, x_row = s.l.inputs + 8;
  const int squares = s.l.inputs / 16;
  const float down = S.down;
  float c[SQUARES][2][4] = { { { 0 } } };
#pragma unroll 2
  for (int k = 0; k < Work<MT>::TILES && warp < s.used; k++) {
    uint32_t a[4];
    load_rows_transposed(a, S.h1 + 16 * k * ROW + 16 * warp, ROW, lane);
#pragma unroll
    for (int q = 0; q < SQUARES; q++) {
      if (q >= squares) break;
      uint32_t b[4];
      load_columns(b, S.x + 16 * k * x_row + 16 * q, x_row, lane);
      multiply(c[q][0], a, b[0], b[1]);
      multiply(c[q][1], a, b[2], b[3]);
    }
  }
#pragma unroll
  for (int q = 0; q < SQUARES; q++) {
    if (q >= squares || warp >= s.used) break;
    float square = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float4 *to = reinterpret_cast<float4 *>(s.gradient + s.l.w1 + (warp * squares + q) * SQUARE +
                                              h * 128 + lane * 4);
      const float4 old = s.add ? *to : make_float4(0, 0, 0, 0);
      const float4 now =
          make_float4(fmaf(down, c[q][0][2 * h], old.x), fmaf(down, c[q][0][2 * h + 1], old.y),
                      fmaf(down, c[q][1][2 * h], old.z), fmaf(down, c[q][1][2 * h + 1], old.w));
      *to = now;
      square += square_of(now);
    }
    put_sum(S, warp / 4, SUM_W1 + 4 * (warp % 4) + q, square);
  }
  __syncthreads();
  layer<MT>(S.x, x_row, squares, squares, s.used, s.operand + s.l.w1, nullptr, s.agent->relu, S.h1);
  __syncthreads();
}

} // namespace gaussian
} // namespace mm

#endif
