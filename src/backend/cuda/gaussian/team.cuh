// SPDX-License-Identifier: Apache-2.0
// A network that P blocks share, where an agent has more than two processors to itself. A block
// takes its rows of a tile forward to their losses; then all tell each other of their rows, and a
// block goes back, finds gradients and moves parameters for its units alone. Every number comes out
// of the same operations in the same order as with one block, so it has the same bits.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_TEAM_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_TEAM_CUH

#include "backend/cuda/gaussian/adam.cuh"
#include "backend/cuda/gaussian/back.cuh"
#include "backend/cuda/gaussian/loss.cuh"
#include "backend/cuda/gaussian/norm.cuh"

namespace mm {
namespace gaussian {

enum { TEAM_MT = 5 };

using Room = Work<TEAM_MT>;
static_assert((int)Room::R == (int)MM_CUDA_GAUSS_ROWS, "rows that are told of");

// How a block's warps divide its work: GROUPS of 16 units, by P warps each, which share the tiles
// of 16 rows.
template <int P> struct Team {
  enum {
    GROUPS = WARPS / P,
    MOST = (Room::TILES + P - 1) / P, // tiles of a warp
    CHUNKS = GROUPS * 4 / WARPS       // of 4 squares of the second layer, of a warp
  };
};

MM_DEVICE mm_cuda_gauss_shared_net &net_of(const Step &s) {
  return s.gauss->team[s.which];
}

// ---------------------------------------------------------------------------------------------
// Together

// Waits for the others, time number `met`: what they wrote before is there.
template <int P> MM_DEVICE void meet(const Step &s, uint64_t met) {
  uint64_t *all = net_of(s).met;
  __syncthreads();
  if (threadIdx.x == 0) post(all + s.member, met);
  if (threadIdx.x < P) {
    while (hear(all + threadIdx.x) < met) {
    }
  }
  __syncthreads();
}

// Which rows of the tile are this block's. The same in all minibatches of an epoch.
template <int P> MM_DEVICE void take_share(Step &s) {
  const int tiles = (s.most + 15) / 16;
  s.filled = (s.rows + 15) / 16 * 16;
  const int low = s.member * tiles / P * 16, high = (s.member + 1) * tiles / P * 16;
  s.low = low < s.filled ? low : s.filled;
  s.high = high < s.filled ? high : s.filled;
}

// Units of this block's rows, for the others; by threads from `first` on.
MM_DEVICE void tell_units(const Step &s, int first) {
  Room &S = here<TEAM_MT>();
  mm_cuda_gauss_shared_net &net = net_of(s);
  for (int i = threadIdx.x - first; i < (s.high - s.low) * (H / 8); i += THREADS - first) {
    const int r = s.low + i / (H / 8), k = i % (H / 8) * 8;
    *reinterpret_cast<uint4 *>(&net.h1[r * H + k]) =
        *reinterpret_cast<const uint4 *>(S.h1 + r * ROW + k);
    *reinterpret_cast<uint4 *>(&net.h2[r * H + k]) =
        *reinterpret_cast<const uint4 *>(S.h2 + r * ROW + k);
  }
}

// And their errors.
MM_DEVICE void tell_errors(const Step &s) {
  Room &S = here<TEAM_MT>();
  mm_cuda_gauss_shared_net &net = net_of(s);
  __syncthreads();
  for (int i = s.low * A + (int)threadIdx.x; i < s.high * A; i += THREADS) {
    net.out[i] = S.out[i];
    if (s.which == ACTOR) net.bend[i] = S.bend[i];
  }
}

MM_DEVICE void collect_units(const Step &s, __half *to, const uint16_t *from) {
  for (int i = threadIdx.x; i < s.filled * (H / 8); i += THREADS) {
    const int r = i / (H / 8), k = i % (H / 8) * 8;
    if (r < s.low || r >= s.high) copy16(to + r * ROW + k, from + r * H + k);
  }
  end_copies();
}

// Those of the other rows. The first layer's units are still on their way then.
MM_DEVICE void collect(const Step &s) {
  Room &S = here<TEAM_MT>();
  const mm_cuda_gauss_shared_net &net = net_of(s);
  for (int i = threadIdx.x * 4; i < s.filled * A; i += THREADS * 4) {
    if (i >= s.low * A && i < s.high * A) continue;
    copy16(S.out + i, &net.out[i]);
    if (s.which == ACTOR) copy16(S.bend + i, &net.bend[i]);
  }
  collect_units(s, S.h2, net.h2);
  collect_units(s, S.h1, net.h1);
  wait_copies<1>();
  __syncthreads();
}

// All rows' accounts at the end of an epoch, to the first block.
template <int P> MM_DEVICE void join_tallies(const Step &s, uint64_t met) {
  enum { WORDS = sizeof(Tally) / 8 };
  Room &S = here<TEAM_MT>();
  uint64_t *all = reinterpret_cast<uint64_t *>(net_of(s).tally);
  uint64_t *own = reinterpret_cast<uint64_t *>(S.tally);
  const int tiles = (s.most + 15) / 16;
  const int low = s.member * tiles / P * 16, high = (s.member + 1) * tiles / P * 16;
  for (int i = low * WORDS + threadIdx.x; i < high * WORDS; i += THREADS)
    all[i] = own[i];
  meet<P>(s, met);
  if (s.member != 0) return;
  for (int i = high * WORDS + threadIdx.x; i < tiles * 16 * WORDS; i += THREADS)
    own[i] = __ldcg(all + i);
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Forward

// A warp's column of squares of weights, some of them on their way: AHEAD of them, from the first.
template <int AHEAD> struct Ahead {
  uint4 next[AHEAD];
  MM_DEVICE void begin(const uint16_t *from, int step, int squares) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
      if (i < squares) next[i] = load_square(from + i * step, lane);
  }
};

// Of a warp's work in a layer: 16 units from `unit` on; tiles of rows `first`, first + `step` and
// so on, up to `end`.
struct Lot {
  int unit, first, step, end;
};

// out = activation(bias + in w).
template <int P, int AHEAD>
MM_DEVICE void team_layer(const __half *in, int in_row, int squares, const uint16_t *from,
                          Ahead<AHEAD> &w, const float *bias, bool relu, __half *out, Lot lot) {
  enum { MOST = Team<P>::MOST };
  const int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  float c[MOST][2][4];
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float b0 = bias ? bias[lot.unit + 8 * j + 2 * t] : 0.0f;
    const float b1 = bias ? bias[lot.unit + 8 * j + 2 * t + 1] : 0.0f;
#pragma unroll
    for (int m = 0; m < MOST; m++) {
      c[m][j][0] = c[m][j][2] = b0;
      c[m][j][1] = c[m][j][3] = b1;
    }
  }
#pragma unroll 1
  for (int k0 = 0; k0 < squares; k0 += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      const int k = k0 + i;
      if (k >= squares) break;
      const uint4 b = w.next[i];
      if (k + AHEAD < squares) w.next[i] = load_square(from + (k + AHEAD) * SQUARE, lane);
#pragma unroll
      for (int m = 0; m < MOST; m++) {
        const int tile = lot.first + m * lot.step;
        if (tile >= lot.end) break;
        uint32_t a[4];
        load_rows(a, in + 16 * tile * in_row + 16 * k, in_row, lane);
        multiply(c[m][0], a, b.x, b.y);
        multiply(c[m][1], a, b.z, b.w);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < MOST; m++) {
    const int tile = lot.first + m * lot.step;
    if (tile >= lot.end) break;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      __half *to = out + (16 * tile + g) * ROW + lot.unit + 8 * j + 2 * t;
      store_pair(to, pack(activate<ANY>(relu, c[m][j][0]), activate<ANY>(relu, c[m][j][1])));
      store_pair(to + 8 * ROW,
                 pack(activate<ANY>(relu, c[m][j][2]), activate<ANY>(relu, c[m][j][3])));
    }
  }
}

enum { INPUT_SQUARES = (MM_CUDA_GAUSS_INPUTS + 1) / 16 };

// This block's rows, from inputs to outputs; a warp has 16 units. While some warps do the outputs,
// others tell of the units.
template <int P> __device__ __noinline__ void team_forward(const Step &s) {
  enum { MOST = Team<P>::MOST, AHEAD = P == 4 ? 8 : 4 };
  Room &S = here<TEAM_MT>();
  const bool relu = s.agent->relu;
  const int warp = threadIdx.x >> 5, squares = s.l.inputs / 16;
  const Lot lot = { 16 * warp, s.low / 16, 1, s.high / 16 };
  const uint16_t *w1 = s.operand + s.l.w1 + warp * squares * SQUARE;
  const uint16_t *w2 = s.operand + warp * (H / 16) * SQUARE;
  Ahead<INPUT_SQUARES> first;
  Ahead<AHEAD> second;
  first.begin(w1, SQUARE, squares);
  second.begin(w2, SQUARE, H / 16);
  team_layer<P>(S.x, s.l.inputs + 8, squares, w1, first, nullptr, relu, S.h1, lot);
  __syncthreads();
  team_layer<P>(S.h1, ROW, H / 16, w2, second, s.param + s.l.b2, relu, S.h2, lot);
  __syncthreads();
  outputs<TEAM_MT>(S, s.param + s.l.b3, s.used, s.low / 16, s.high / 16);
  if (warp >= MOST) tell_units(s, 32 * MOST);
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Back

// Errors of all units of the second layer; of the first one's those of this block's, all rows. In
// their places.
template <int P> __device__ __noinline__ void team_back(const Step &s) {
  enum { MOST = Team<P>::MOST, AHEAD = P == 4 ? 8 : 4, SQUARES = H / 16 };
  Room &S = here<TEAM_MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int group = s.member * Team<P>::GROUPS + warp / P, first = warp % P, end = s.filled / 16;
  const bool relu = s.agent->relu;
  const uint16_t *from = s.operand + group * SQUARE;
  Ahead<AHEAD> w;
  w.begin(from, SQUARES * SQUARE, SQUARES);
  through_outputs<TEAM_MT, P>(s);
  float c[MOST][2][4];
#pragma unroll
  for (int m = 0; m < MOST; m++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      c[m][0][i] = c[m][1][i] = 0;
#pragma unroll 1
  for (int k0 = 0; k0 < SQUARES; k0 += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      const int k = k0 + i;
      const uint32_t b[2][2] = { { transpose(w.next[i].x), transpose(w.next[i].z) },
                                 { transpose(w.next[i].y), transpose(w.next[i].w) } };
      if (k + AHEAD < SQUARES) w.next[i] = load_square(from + (k + AHEAD) * SQUARES * SQUARE, lane);
#pragma unroll
      for (int m = 0; m < MOST; m++) {
        const int tile = first + m * P;
        if (tile >= end) break;
        uint32_t a[4];
        load_rows(a, S.h2 + 16 * tile * ROW + 16 * k, ROW, lane);
        multiply(c[m][0], a, b[0][0], b[0][1]);
        multiply(c[m][1], a, b[1][0], b[1][1]);
      }
    }
  }
  wait_copies<0>(); // units of the first layer
  __syncthreads();
#pragma unroll
  for (int m = 0; m < MOST; m++) {
    const int tile = first + m * P;
    if (tile >= end) break;
#pragma unroll
    for (int j = 0; j < 2; j++) {
      __half *at = S.h1 + (16 * tile + g) * ROW + 16 * group + 8 * j + 2 * t;
      put_errors(at, c[m][j], relu);
    }
  }
  __syncthreads();
}

// Gradient of the first layer, this block's units: a warp has a square. Then the units themselves
// once more.
template <int P> __device__ __noinline__ void team_first_layer(const Step &s) {
  enum { GROUPS = Team<P>::GROUPS };
  Room &S = here<TEAM_MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, x_row = s.l.inputs + 8;
  const int squares = s.l.inputs / 16, tiles = s.filled / 16;
  const int group = s.member * GROUPS + warp / P;
  const uint16_t *w1 = s.operand + s.l.w1 + group * squares * SQUARE;
  const float down = S.down;
  Ahead<INPUT_SQUARES> w;
  w.begin(w1, SQUARE, squares);
#pragma unroll 1
  for (int q = warp % P; q < squares; q += P) {
    float c[2][4] = { { 0 } }, square = 0;
#pragma unroll 2
    for (int k = 0; k < tiles; k++) {
      uint32_t a[4], b[4];
      load_rows_transposed(a, S.h1 + 16 * k * ROW + 16 * group, ROW, lane);
      load_columns(b, S.x + 16 * k * x_row + 16 * q, x_row, lane);
      multiply(c[0], a, b[0], b[1]);
      multiply(c[1], a, b[2], b[3]);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float4 *to = reinterpret_cast<float4 *>(s.gradient + s.l.w1 + (group * squares + q) * SQUARE +
                                              h * 128 + lane * 4);
      const float4 old = s.add ? *to : make_float4(0, 0, 0, 0);
      const float4 now =
          make_float4(fmaf(down, c[0][2 * h], old.x), fmaf(down, c[0][2 * h + 1], old.y),
                      fmaf(down, c[1][2 * h], old.z), fmaf(down, c[1][2 * h + 1], old.w));
      *to = now;
      square += square_of(now);
    }
    put_sum(S, group / 4, SUM_W1 + 4 * (group % 4) + q, square);
  }
  __syncthreads();
  team_layer<P>(S.x, x_row, squares, w1, w, nullptr, s.agent->relu, S.h1,
                Lot{ 16 * group, warp % P, P, tiles });
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// The second layer

// Gradients of what leads to this block's units; with the last tile of a minibatch the norm, and
// its parameters move. A warp has four squares in a row, or eight.
template <int P>
__device__ __noinline__ bool team_second_layer(const Step &s, uint64_t step, mm_cuda_rate rate) {
  enum { GROUPS = Team<P>::GROUPS, CHUNKS = Team<P>::CHUNKS, OWN_PARTS = PARTS / P };
  Room &S = here<TEAM_MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, in = 4 * (warp & 3);
  const int tiles = s.filled / 16;
  const float up = S.up, down = S.down;
  uint32_t kept[CHUNKS][4][4];
#pragma unroll
  for (int j = 0; j < CHUNKS; j++) {
    const int row = j * (WARPS / 4) + (warp >> 2), out = s.member * GROUPS + row;
    float *gradient = s.gradient + square_at(out, in) + lane * 4;
    float c[8][4], square = 0;
#pragma unroll
    for (int q = 0; q < 4; q++)
      begin_square(s.add, gradient + q * SQUARE, up, c[2 * q], c[2 * q + 1]);
#pragma unroll 2
    for (int k = 0; k < tiles; k++) {
      uint32_t a[4];
      load_rows_transposed(a, S.h2 + 16 * k * ROW + 16 * out, ROW, lane);
#pragma unroll
      for (int q = 0; q < 4; q++) {
        uint32_t b[4];
        load_columns(b, S.h1 + 16 * k * ROW + 16 * (in + q), ROW, lane);
        multiply(c[2 * q], a, b[0], b[1]);
        multiply(c[2 * q + 1], a, b[2], b[3]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) { // sums in the order of second_layer
      float pair = 0;
#pragma unroll
      for (int q = 2 * half; q < 2 * half + 2; q++)
        end_square(!s.last, gradient + q * SQUARE, down, c[2 * q], c[2 * q + 1], kept[j][q], &pair);
      square += pair;
    }
    if (s.last)
      put_sum(S, s.member * OWN_PARTS + row / 4, SUM_W2 + 4 * (row % 4) + (warp & 3), square);
  }
  if (!s.last) {
    __syncthreads();
    return true;
  }
  Four x[2][2]; // the first ones are on their way while others are waited for
  const int out = s.member * GROUPS + (warp >> 2);
  const auto place = [&](int i) { return square_at(out + i / 4 * (WARPS / 4), in + i % 4); };
#pragma unroll
  for (int i = 0; i < 2; i++)
    take_square<true>(s, place(i) + lane * 4, x[i]);
  mark(S, MM_CUDA_GAUSS_LAYER2);
  both_squares<TEAM_MT, P>(S, s, step);
  mark(S, MM_CUDA_GAUSS_WAIT);
  const double norm = sqrt(S.total);
  if (!(norm < INFINITY)) return false;
  const Rates r = rates_of(s, norm, rate);
#pragma unroll
  for (int i = 0; i < 4 * CHUNKS; i++) {
    move_square<true>(s, r, place(i), lane, kept[i / 4][i % 4], x[i & 1]);
    if (i + 2 < 4 * CHUNKS) take_square<true>(s, place(i + 2) + lane * 4, x[i & 1]);
  }
  for (int part = s.member * OWN_PARTS; part < (s.member + 1) * OWN_PARTS; part++)
    for (int i = threadIdx.x; i < rest_count(s.l, part); i += THREADS)
      move_rest(s, r, rest_at(s.l, part, i));
  mark(S, MM_CUDA_GAUSS_ADAM);
  return true;
}

} // namespace gaussian
} // namespace mm

#endif
