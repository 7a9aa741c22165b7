// AMPO on environments with a few real inputs: one block of threads trains one agent, start to end.
//
// The first half of the warps is the actor's, the second the critic's. In a gradient step a warp
// takes 16 rows through layer 1, layer 2, the loss, the errors of h2 and of h1 without waiting for
// anybody, because a product's result is the operand of the next one. h1, d2 and d1 go to shared
// memory, and after a barrier every warp owns tiles of the weights' gradients, with Adam's moments
// of those in its registers. Operands are halves, sums are floats; layer 1 keeps all digits of its
// inputs by splitting them into a high and a low half, in slots of its product that would be empty
// otherwise, and of its weights where there is room for that too. Layer 3, losses and Adam are
// floats throughout.
//
// TILE rows are at work at a time, by 4 TILE threads. With 128 rows weights and moments stay in the
// block's memory for the whole launch; smaller tiles are for devices with less shared memory and
// or for larger minibatches, and keep them in global memory. ONE says that a minibatch is at most
// one tile: its gradient then need not live through the next tile's forward pass.

#ifndef MM_BACKEND_CUDA_DENSE_CUH
#define MM_BACKEND_CUDA_DENSE_CUH

#include "backend/cuda_agent.h"
#include "backend/cuda_dense.h"
#include "backend/cuda_project.cuh"
#include "backend/cuda_warpgroup.cuh"
#include "base/rng.h"

namespace mm {

enum { H = MM_CUDA_HIDDEN, ACTOR = 0, CRITIC = 1, NETS = 2 };

// Where the rows of the batch are: in the block's shared memory if they fit, else in the agent's.
struct Batch {
  float *obs;            // [n_row + n_env][D]
  float *policy;         // [n_row]
  float *reward;         // [n_row], which is also where the targets go
  float *value;          // [n_row + n_env]
  float *advantage;      // [n_row]
  uint32_t *row;         // [n_row]
  uint8_t *action, *end; // [n_row]
};

template <class Env, int TILE> struct Work {
  enum {
    D = Env::INPUTS,
    A = Env::ACTIONS,
    TILE_ROWS = TILE,
    THREADS = 4 * TILE,
    WARPS = TILE / 8,
    TEAM = TILE / 16,                      // warps of a network
    OWN = 8 / TEAM,                        // 16 x 32 tiles of w2 that a warp owns
    LOW = 3 * D + 2 <= 16,                 // the weights' low halves have room beside the rest
    SLOTS = ((2 + LOW) * D + 2 + 15) / 16, // products of layer 1
    W1_ROW = 16 * SLOTS + 4,
    X_ROW = TILE + 8,
    W3_ROW = H + 8,
    PLAYERS = WARPS > 4 ? 4 : 1, // of a team, beside its world
    TEAMS = WARPS / (PLAYERS + 1),
    PARTS = 4 / PLAYERS, // of the hidden units, by 16, that a player has
    B2 = (D + 1) * NETS * H,
    W3 = B2 + NETS * H,
    B3 = W3 + (A + 1) * H,
    SMALL = B3 + 16, // parameters but w2
    EACH = (SMALL + THREADS - 1) / THREADS,
    MOVES = 3072,
    AHEAD = TILE == 128 ? 4096 : 8,    // rows whose places are known at a time
    STATISTICS = TILE == 128 ? 64 : 16 // minibatches, at least as many as warps
  };
  static constexpr bool RESIDENT = TILE == 128;
  static constexpr bool GROUPS = HAS_GROUPS && TEAM % 4 == 0; // four warps of a network at a time
  union {
    struct {
      alignas(1024) __half h1[NETS][TILE * WIDE_ROW];
      __half d2[NETS][2][TILE * NARROW_ROW]; // [half of the units]
      __half hd[NETS][TILE * WIDE_ROW];      // h2, then d1
    };
    float late[RESIDENT ? 1 : W3]; // gradient of w1, b1 and b2, when the errors have been used up
  };
  alignas(1024) __half w2[NETS][H * WIDE_ROW];
  __half w1[NETS][H * W1_ROW]; // [unit][slot], the four halves that a lane needs side by side
  __half x[NETS][8 * X_ROW];   // [input][row], then a row of ones, then zeros
  float small[SMALL];
  alignas(16) float w3[(A + 1) * W3_ROW]; // once more, rows of different actions in different banks
  float2 moments[SMALL];
  float4 master[RESIDENT ? NETS * H * H / 4 : 1]; // w2, in the order of its owners' registers
  float soon[RESIDENT ? W3 : 1];                  // the same, at once
  float part3[TEAM * (A + 1)][H];                 // gradient of w3 by warp and action
  float part3b[WARPS][8];                         // of b3
  alignas(16) float total[16];                    // of warps
  float mean[STATISTICS], scale[STATISTICS];      // of the advantages of minibatches
  float share[STATISTICS];                        // of a row in the mean of minibatches
  double metric[16], finished_sum[16];
  int finished[16];
  mm_shuffle shuffle;
  float center;             // of the advantages of all rows
  float2 part[WARPS];       // of sums of advantages and of their squares
  int rows_each, rows_more; // of a minibatch; one more each in the first ones
  int shuffles;             // in moves; 0: it is not used
  int epochs_ahead;         // whose rows are in `ahead`; 0: it is not used, rows are in the batch
  uint16_t ahead[AHEAD];
  uint8_t moves[MOVES];
  bool timed; // clocks are to be kept
  int64_t clock, clocks[MM_CUDA_DENSE_STAGES];
  Batch batch;
  alignas(16) Knots knots;
  int broken;
  mm_cuda_agent agent;
};

// The block's memory. Functions that are called, not inlined, find it by themselves: as an argument
// it would be any memory.
template <class W> MM_DEVICE W &here() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return *reinterpret_cast<W *>(memory);
}

// The time since the last mark belongs to this stage.
template <class W> MM_DEVICE void mark(W &S, int stage) {
  if (threadIdx.x != 0 || !S.timed) return;
  const int64_t time = clock64();
  S.clocks[stage] += time - S.clock;
  S.clock = time;
}

// ---------------------------------------------------------------------------------------------
// Layer 1. Slots of its product: inputs high x weights high, inputs low x weights high, 1 x bias
// high, 1 x bias low, and, where there is room, inputs high x weights low.

// Where slot s lies in a unit's row, so that lane t finds 2t, 2t + 1, 2t + 8, 2t + 9 together.
MM_DEVICE unsigned slot_place(unsigned s) {
  return (s & ~15u) + 4 * ((s & 7) >> 1) + 2 * ((s >> 3) & 1) + (s & 1);
}

// Inputs in slots first + 2t and the one after it, as halves.
template <int D>
MM_DEVICE uint32_t input_pair(const float *high, const float *low, int t, int first) {
  float pair[2] = { 0, 0 };
#pragma unroll
  for (int q = 0; q < 4; q++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int s = first + 2 * q + i;
      float v = s < D           ? high[s < D ? s : 0]
                : s < 2 * D     ? low[s < 2 * D && s >= D ? s - D : 0]
                : s < 2 * D + 2 ? 1.0f
                : s < 3 * D + 2 ? high[s < 3 * D + 2 && s >= 2 * D + 2 ? s - 2 * D - 2 : 0]
                                : 0.0f;
      pair[i] = t == q ? v : pair[i];
    }
  }
  return pack(pair[0], pair[1]);
}

template <int D> MM_DEVICE void split(const float x[D], float high[D], float low[D]) {
#pragma unroll
  for (int i = 0; i < D; i++) {
    high[i] = __half2float(__float2half_rn(x[i]));
    low[i] = x[i] - high[i];
  }
}

// Puts parameter i of the small ones to where the products read it.
template <class W> MM_DEVICE void refresh_small(W &S, unsigned i, float p) {
  S.small[i] = p;
  if (i >= W::W3 && i < W::B3) S.w3[(i - W::W3) / H * W::W3_ROW + (i - W::W3) % H] = p;
  if (i >= W::B2) return;
  const unsigned input = i / (NETS * H), unit = i % H, net = i / H % NETS;
  const __half high = __float2half_rn(p), low = __float2half_rn(p - __half2float(high));
  __half *slots = S.w1[net] + unit * W::W1_ROW;
  if (input < W::D) {
    slots[slot_place(input)] = high;
    slots[slot_place(W::D + input)] = high;
    if (W::LOW) slots[slot_place(2 * W::D + 2 + input)] = low;
  } else {
    slots[slot_place(2 * W::D)] = high;
    slots[slot_place(2 * W::D + 1)] = low;
  }
}

// ---------------------------------------------------------------------------------------------
// Forward, 16 rows by a warp

// h1 of rows g (xa) and g + 8 (xb) to shared memory, at the lane's place of it, if KEEP; the sums
// of layer 2, before the activation, to `sum`. GROUP: four warps are here together.
template <int ACT, bool KEEP, bool GROUP, class W>
MM_DEVICE void forward(W &S, int net, const float xa[W::D], const float xb[W::D], int lane,
                       uint32_t kept, float sum[8][4]) {
  const bool relu = ACT == ANY && S.agent.relu;
  const int g = lane >> 2, t = lane & 3;
  uint32_t in[W::SLOTS][4], h1[4][4];
  {
    float high[W::D], low[W::D];
    split<W::D>(xa, high, low);
#pragma unroll
    for (int k = 0; k < W::SLOTS; k++) {
      in[k][0] = input_pair<W::D>(high, low, t, 16 * k);
      in[k][2] = input_pair<W::D>(high, low, t, 16 * k + 8);
    }
    split<W::D>(xb, high, low);
#pragma unroll
    for (int k = 0; k < W::SLOTS; k++) {
      in[k][1] = input_pair<W::D>(high, low, t, 16 * k);
      in[k][3] = input_pair<W::D>(high, low, t, 16 * k + 8);
    }
  }
  // all loads before all stores, which would hold them up
  float c[8][4];
#pragma unroll
  for (int n = 0; n < 8; n++) {
    c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0;
#pragma unroll
    for (int k = 0; k < W::SLOTS; k++) {
      uint2 b =
          *reinterpret_cast<const uint2 *>(&S.w1[net][(8 * n + g) * W::W1_ROW + 16 * k + 4 * t]);
      multiply(c[n], in[k], b.x, b.y);
    }
  }
#pragma unroll
  for (int n = 0; n < 8; n++) {
    h1[n >> 1][(n & 1) * 2] = pack(activate<ACT>(relu, c[n][0]), activate<ACT>(relu, c[n][1]));
    h1[n >> 1][(n & 1) * 2 + 1] = pack(activate<ACT>(relu, c[n][2]), activate<ACT>(relu, c[n][3]));
  }
  const float *bias = S.small + W::B2 + net * H + 2 * t;
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const float2 b = *reinterpret_cast<const float2 *>(bias + 8 * n);
    sum[n][0] = sum[n][2] = b.x;
    sum[n][1] = sum[n][3] = b.y;
  }
  if (GROUP) begin_rows(sum, h1, wide_matrix(S.w2[net]));
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (KEEP) store_matrices(kept ^ right(k), h1[k]);
  if (GROUP) {
    end_products<8>(sum);
    return;
  }
  const uint32_t weights = shared_address(S.w2[net]) + wide_plain(lane);
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int n = 0; n < 4; n++) {
      uint32_t b[4];
      load_transposed(b, (weights + k * WIDE_DOWN) ^ right(n));
      multiply(sum[2 * n], h1[k], b[0], b[1]);
      multiply(sum[2 * n + 1], h1[k], b[2], b[3]);
    }
  }
}

template <class W> MM_DEVICE void load_row(const W &S, uint32_t row, float x[W::D]) {
  const float2 *from = reinterpret_cast<const float2 *>(S.batch.obs + (size_t)row * W::D);
#pragma unroll
  for (int i = 0; i < W::D / 2; i++) {
    const float2 pair = from[i];
    x[2 * i] = pair.x;
    x[2 * i + 1] = pair.y;
  }
}

} // namespace mm

#endif
