// SPDX-License-Identifier: Apache-2.0
// Networks of 256 on tiles of rows: forward. All rows of a tile go through a layer at once; a warp
// has half of them and 32 units. Weights are read from global memory as operands, rounded to halves
// when they last moved: each is used once in a layer, by one warp or two.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_TILE_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_TILE_CUH

#include "backend/cuda/gaussian/gaussian.h"
#include "backend/cuda/network/layers.cuh"
#include "backend/cuda/warp/warp.cuh"
#include "laws/gaussian.h"
#include "net/net.h"

namespace mm {
namespace gaussian {

enum {
  H = MM_CUDA_GAUSS_HIDDEN,
  A = MM_CUDA_GAUSS_ACTIONS,
  THREADS = 512,
  WARPS = THREADS / 32,
  ROW = H + 8, // halves from row to row: eight rows lie in different banks
  X_MOST = (MM_CUDA_GAUSS_INPUTS + 1) + 8,
  E_ROW = 24,
  SQUARE = 256, // numbers
};

using Tally = mm_cuda_gauss_tally;

enum { PARTS = MM_CUDA_GAUSS_PARTS, PART_SUMS = 64 };

// MT tiles of 16 rows in each half.
template <int MT> struct Work {
  enum { R = 32 * MT, TILES = 2 * MT };
  alignas(16) __half h1[R * ROW]; // hidden units, later errors of the first layer's
  alignas(16) __half h2[R * ROW]; // and of the second's
  alignas(16) __half x[R * X_MOST];
  alignas(16) __half w3[A * ROW]; // weights of the outputs
  union {
    alignas(16) __half e[R * E_ROW]; // scaled errors of the outputs
    float part[WARPS * R];           // before: parts of phi^-1(p) - phi^-1(q), by warp
  };
  alignas(16) float out[R * A];  // outputs, then their errors
  alignas(16) float bend[R * A]; // what rows want of the log deviations
  alignas(16) float4 about[R];   // as mm_cuda_gauss has it
  alignas(16) float action[R * A];
  float p[R], q[R], rise[R], log_p[R]; // densities
  int acted[R];
  Tally tally[R];
  mm_density_f density;
  float tops[WARPS];
  float part_sums[PARTS][PART_SUMS];
  double word[2 * PARTS], total;
  float up, down; // errors are scaled by this power of two, and back
  float inverse[A], log_scale;
  bool timed;
  Clock<MM_CUDA_GAUSS_STAGES> clock;
};

extern __shared__ __align__(16) unsigned char shared_memory[];

template <int MT> MM_DEVICE Work<MT> &here() {
  return *reinterpret_cast<Work<MT> *>(shared_memory);
}

// ---------------------------------------------------------------------------------------------
// Operands

// Rows from `from` on are the product's rows.
MM_DEVICE void load_rows(uint32_t a[4], const __half *from, int row, int lane) {
  load_matrices(a, shared_address(from + (lane & 15) * row + (lane >> 4) * 8));
}

// 16 rows are the inner index, 16 columns the product's rows.
MM_DEVICE void load_rows_transposed(uint32_t a[4], const __half *from, int row, int lane) {
  const int matrix = lane >> 3;
  load_transposed(a,
                  shared_address(from + ((matrix >> 1) * 8 + (lane & 7)) * row + (matrix & 1) * 8));
}

// 16 rows are the inner index, 16 columns those of two products: b[0], b[1] and b[2], b[3].
MM_DEVICE void load_columns(uint32_t b[4], const __half *from, int row, int lane) {
  load_transposed(b, shared_address(from + (lane & 15) * row + (lane >> 4) * 8));
}

// A lane's part of a square of weights: of outputs g (x, y) and g + 8 (z, w), inputs 2t, 2t + 1 and
// eight further.
MM_DEVICE uint4 load_square(const uint16_t *w, int lane) {
  return *reinterpret_cast<const uint4 *>(w + lane * 8);
}

// ---------------------------------------------------------------------------------------------
// Layers

// out = activation(bias + in w), for 16 `squares` inputs, of `stride` that w has, and 16 `used`
// units: the others are padding, which nobody looks at.
template <int MT>
MM_DEVICE void layer(const __half *in, int in_row, int squares, int stride, int used,
                     const uint16_t *w, const float *bias, bool relu, __half *out) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int first = (warp & 1) * 16 * MT, unit = (warp >> 1) * 32;
  const uint16_t *from = w + (size_t)(unit / 16) * stride * SQUARE;
  if (unit >= 16 * used) return;
  float c[MT][4][4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const float b0 = bias ? bias[unit + 8 * j + 2 * t] : 0.0f;
    const float b1 = bias ? bias[unit + 8 * j + 2 * t + 1] : 0.0f;
#pragma unroll
    for (int m = 0; m < MT; m++) {
      c[m][j][0] = c[m][j][2] = b0;
      c[m][j][1] = c[m][j][3] = b1;
    }
  }
  // two squares further are on their way
  uint4 now[2], next[2];
#pragma unroll
  for (int q = 0; q < 2; q++) {
    now[q] = load_square(from + q * stride * SQUARE, lane);
    next[q] = load_square(from + (q * stride + (squares > 1)) * SQUARE, lane);
  }
#pragma unroll 1
  for (int k = 0; k < squares; k++) {
    uint32_t b[4][2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
      b[2 * q][0] = now[q].x;
      b[2 * q][1] = now[q].y;
      b[2 * q + 1][0] = now[q].z;
      b[2 * q + 1][1] = now[q].w;
      now[q] = next[q];
      if (k + 2 < squares) next[q] = load_square(from + (q * stride + k + 2) * SQUARE, lane);
    }
#pragma unroll
    for (int m = 0; m < MT; m++) {
      uint32_t a[4];
      load_rows(a, in + (first + 16 * m) * in_row + 16 * k, in_row, lane);
#pragma unroll
      for (int j = 0; j < 4; j++)
        multiply(c[m][j], a, b[j][0], b[j][1]);
    }
  }
#pragma unroll
  for (int m = 0; m < MT; m++) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
      __half *to = out + (first + 16 * m + g) * ROW + unit + 8 * j + 2 * t;
      store_pair(to, pack(activate<ANY>(relu, c[m][j][0]), activate<ANY>(relu, c[m][j][1])));
      store_pair(to + 8 * ROW,
                 pack(activate<ANY>(relu, c[m][j][2]), activate<ANY>(relu, c[m][j][3])));
    }
  }
}

// Outputs, eight of each row, into S.out: tiles of 16 rows from `first` to before `end`, by a warp
// each.
template <int MT>
MM_DEVICE void outputs(Work<MT> &S, const float *b3, int used, int first, int end) {
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int tile = first + (threadIdx.x >> 5);
  if (tile >= end) return;
  float c[4] = { b3[2 * t], b3[2 * t + 1], b3[2 * t], b3[2 * t + 1] };
#pragma unroll 4
  for (int k = 0; k < 16 * used; k += 16) {
    const __half *w = S.w3 + g * ROW + k + 2 * t;
    uint32_t a[4];
    load_rows(a, S.h2 + 16 * tile * ROW + k, ROW, lane);
    multiply(c, a, load_pair(w), load_pair(w + 8));
  }
  float *to = S.out + (16 * tile + g) * A + 2 * t;
  to[0] = c[0];
  to[1] = c[1];
  to[8 * A] = c[2];
  to[8 * A + 1] = c[3];
}

// Halves have an end; what is no number stays none.
MM_DEVICE __half input_half(float x) {
  const float most = 65504.0f;
  return __float2half_rn(x < -most ? -most : x > most ? most : x);
}

// Input j of an observation; behind its numbers comes the 1 of the biases, then nothing.
MM_DEVICE __half input_of(const float *obs, int j, int n_input) {
  return j < n_input ? input_half(obs[j]) : __float2half_rn(j == n_input ? 1.0f : 0.0f);
}

// The tile's observations: `n` from obs on, the other rows are empty.
template <int MT>
MM_DEVICE void take_inputs(Work<MT> &S, const float *obs, int n_input, int inputs, int n) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, x_row = inputs + 8;
  for (int i = warp; i < Work<MT>::R; i += WARPS)
    for (int j = lane; j < inputs; j += 32)
      S.x[i * x_row + j] =
          i < n ? input_of(obs + (size_t)i * n_input, j, n_input) : __float2half_rn(0.0f);
}

template <int MT> MM_DEVICE void take_outputs(Work<MT> &S, const float *w3) {
  for (int i = 4 * threadIdx.x; i < A * H; i += 4 * THREADS) {
    const float4 w = *reinterpret_cast<const float4 *>(w3 + i);
    *reinterpret_cast<uint2 *>(S.w3 + i / H * ROW + i % H) =
        make_uint2(pack(w.x, w.y), pack(w.z, w.w));
  }
}

// From inputs to outputs; S.x and S.w3 are there.
template <int MT>
__device__ __noinline__ void forward(const float *net, const uint16_t *operand,
                                     const mm_cuda_gauss *g, bool relu) {
  Work<MT> &S = here<MT>();
  const mm_cuda_gauss_layout l = mm_cuda_gauss_layout_of(g->n_input);
  const int squares = l.inputs / 16, used = g->used;
  layer<MT>(S.x, l.inputs + 8, squares, squares, used, operand + l.w1, nullptr, relu, S.h1);
  __syncthreads();
  layer<MT>(S.h1, ROW, used, H / 16, used, operand, net + l.b2, relu, S.h2);
  __syncthreads();
  outputs<MT>(S, net + l.b3, used, 0, Work<MT>::TILES);
  __syncthreads();
}

// Which sizes a device has code for.
template <int MT> MM_DEVICE constexpr bool rows_are_compiled() {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
  return true;
#else
  return MT == 2;
#endif
}

} // namespace gaussian
} // namespace mm

#endif
