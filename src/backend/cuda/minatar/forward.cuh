// SPDX-License-Identifier: Apache-2.0
// A tile of rows on its way forward through both networks. Pieces of the first layers' weights come
// from global memory while earlier ones are at work.

#ifndef MM_BACKEND_CUDA_MINATAR_FORWARD_CUH
#define MM_BACKEND_CUDA_MINATAR_FORWARD_CUH

#include "backend/cuda/minatar/room.cuh"

namespace mm {
namespace minatar {

// ---------------------------------------------------------------------------------------------
// What comes in

template <class S> MM_DEVICE void fetch_piece(room<S> &s, int piece, int thread) {
  enum { CHUNKS = BOTH / 8 };
  if (piece < S::PIECES) {
    const __half *w1 = w1_of(s) + piece * S::PIECE * BOTH;
    __half *to = s.forward.w1[piece % S::AT_HAND];
#pragma unroll
    for (int i = thread; i < S::PIECE * CHUNKS; i += THREADS) {
      const int k = i / CHUNKS, c = i % CHUNKS * 8;
      if (piece * S::PIECE + k < S::in::ALL) copy16(to + k * WIDE_ROW + c, w1 + k * BOTH + c);
    }
  }
  end_copies();
}

// Begins to fetch the observations row_of(0 .. ROWS - 1), and the first weights. The room must be
// free, and no copies under way.
template <class S, class ROW> MM_DEVICE void begin_tile(room<S> &s, int buffer, ROW row_of) {
  enum { CHUNKS = S::in::PADDED / 4 };
  const uint32_t *obs = (const uint32_t *)fresh(s.agent.obs);
  uint32_t *to = s.forward.bits[buffer];
  const int thread = this_thread();
  for (int i = thread; i < S::ROWS * CHUNKS; i += THREADS) {
    const int r = i / CHUNKS, c = i % CHUNKS * 4;
    copy16(to + r * S::in::STRIDE + c, obs + (size_t)row_of(r) * S::in::PADDED + c);
  }
#pragma unroll
  for (int piece = 0; piece < S::AT_HAND - 1; piece++)
    fetch_piece(s, piece, thread);
}

// ---------------------------------------------------------------------------------------------
// First layers

// A warp has some rows and columns of the tile's [ROWS][BOTH].
template <class S> struct patch {
  enum {
    HIGH = S::ROWS >= 128 ? 2 : 1, // products of 16 rows
    BANDS = S::ROWS / (16 * HIGH),
    COLUMNS = BOTH * BANDS / WARPS,
    WIDE = COLUMNS / 8 // products of 8 columns
  };
};

// Adds what 32 inputs, one word of the observations, contribute. b: where the lane's part of the
// weights is; x: the lane's words, of rows g, g + 8, ...
template <class S>
MM_DEVICE void add_word(float (&sum)[patch<S>::HIGH][patch<S>::WIDE][4], uint32_t b,
                        const uint32_t (&x)[2 * patch<S>::HIGH]) {
  typedef patch<S> P;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    uint32_t w[P::WIDE / 2][4];
#pragma unroll
    for (int n = 0; n < P::WIDE / 2; n++)
      load_transposed(w[n], b + (half * 16 * WIDE_ROW + n * 16) * (int)sizeof(__half));
#pragma unroll
    for (int i = 0; i < P::HIGH; i++) {
      uint32_t a[4];
      spread(a, x[2 * i], x[2 * i + 1], half);
#pragma unroll
      for (int n = 0; n < P::WIDE; n++)
        multiply(sum[i][n], a, w[n / 2][n % 2 * 2], w[n / 2][n % 2 * 2 + 1]);
    }
  }
}

// h1 of the tile. Ends without a barrier.
template <class S, int ACT> MM_DEVICE void layer1(room<S> &s, int buffer) {
  typedef patch<S> P;
  enum { WORDS = S::PIECE / 32 };
  const int thread = this_thread(), lane = thread % 32, warp = thread / 32;
  const int g = lane / 4, t = lane % 4;
  const int row = warp % P::BANDS * 16 * P::HIGH + g, column = warp / P::BANDS * P::COLUMNS;
  const uint32_t *bits = s.forward.bits[buffer] + row * S::in::STRIDE;
  float sum[P::HIGH][P::WIDE][4] = {};
#pragma unroll 1
  for (int piece = 0; piece < S::PIECES; piece++) {
    wait_copies<S::AT_HAND - 2>();
    __syncthreads();
    fetch_piece(s, piece + S::AT_HAND - 1, thread);
    const uint32_t b = shared_address(s.forward.w1[piece % S::AT_HAND] + lane % 16 * WIDE_ROW +
                                      column + lane / 16 * 8);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
      const int word = piece * WORDS + k;
      if (word >= S::in::WORDS) break;
      uint32_t x[2 * P::HIGH];
#pragma unroll
      for (int i = 0; i < 2 * P::HIGH; i++)
        x[i] = turn_to_lane(bits[8 * i * S::in::STRIDE + word], t);
      add_word<S>(sum, b + k * 32 * WIDE_ROW * (int)sizeof(__half), x);
    }
  }
  __half *to = s.forward.h1[column / H] + row * HALF_ROW + column % H + 2 * t;
#pragma unroll
  for (int i = 0; i < P::HIGH; i++)
#pragma unroll
    for (int n = 0; n < P::WIDE; n++) {
      const float *c = sum[i][n];
      store_pair(to + 16 * i * HALF_ROW + n * 8,
                 pack(activate<ACT>(s.agent.relu, c[0]), activate<ACT>(s.agent.relu, c[1])));
      store_pair(to + (16 * i + 8) * HALF_ROW + n * 8,
                 pack(activate<ACT>(s.agent.relu, c[2]), activate<ACT>(s.agent.relu, c[3])));
    }
}

// ---------------------------------------------------------------------------------------------
// Second layers: half of the warps for each network, 16 rows each

// What a warp does there; in small tiles some have nothing to do.
struct band {
  int which, row, g, t;

  MM_DEVICE band() {
    const int thread = this_thread(), lane = thread % 32, warp = thread / 32;
    which = warp / (WARPS / 2);
    row = warp % (WARPS / 2) * 16;
    g = lane / 4;
    t = lane % 4;
  }
};

// sum = b2 + h1 w2, and h1 itself as operands.
template <class S>
MM_DEVICE void layer2(const room<S> &s, const band &at, uint32_t (&h1)[4][4], float (&sum)[8][4]) {
  const int lane = this_thread() % 32;
  const uint32_t from =
      shared_address(s.forward.h1[at.which] + (at.row + lane % 16) * HALF_ROW + lane / 16 * 8);
#pragma unroll
  for (int k = 0; k < 4; k++)
    load_matrices(h1[k], from + k * 16 * (int)sizeof(__half));
  begin_sums(sum, s.b2[at.which] + 2 * at.t);
  const uint32_t w2 = shared_address(s.w2[at.which] + lane % 16 * HALF_ROW + lane / 16 * 8);
  multiply_forward(sum, h1, [&](int k, int n) {
    return w2 + (k * 16 * HALF_ROW + n * 16) * (int)sizeof(__half);
  });
}

// Output number `output` of rows g and g + 8.
template <class S>
MM_DEVICE float2 output_at(const room<S> &s, const band &at, const float (&h2)[8][4], int output) {
  return output_of(h2, s.w3 + output * H + 2 * at.t, s.b3[output]);
}

// Scores [rows][OUTPUTS] and values [rows] of the first `rows` rows of the tile, from h1.
template <class S, int ACT>
MM_DEVICE void outputs(const room<S> &s, int rows, float *scores, float *values) {
  const band at;
  if (at.row >= S::ROWS) return;
  uint32_t h1[4][4];
  float h2[8][4];
  layer2(s, at, h1, h2);
  activate_all<ACT>(s.agent.relu, h2);
  const int row = at.row + at.g;
  const bool first = at.t == 0 && row < rows, second = at.t == 0 && row + 8 < rows;
  if (at.which == CRITIC) {
    const float2 y = output_at(s, at, h2, S::ACTIONS);
    if (first) values[row] = y.x;
    if (second) values[row + 8] = y.y;
    return;
  }
#pragma unroll
  for (int a = 0; a < S::ACTIONS; a++) {
    const float2 y = output_at(s, at, h2, a);
    if (first) scores[row * OUTPUTS + a] = y.x;
    if (second) scores[(row + 8) * OUTPUTS + a] = y.y;
  }
}

} // namespace minatar
} // namespace mm

#endif
