// SPDX-License-Identifier: Apache-2.0
// AMPO on environments with a few real inputs: one block of threads trains one agent, start to end.
//
// The first half of the warps is the actor's, the second the critic's. In a gradient step a warp
// takes 16 rows through layer 1, layer 2, the loss, the errors of h2 and of h1, because a product's
// result is the operand of the next one; it waits for nobody, or only for the three other warps
// that it multiplies with (warp/warpgroup.cuh). h1, d2 and d1 go to shared memory, and after a
// barrier every warp owns tiles of the weights' gradients, with Adam's moments of those in its
// registers. Operands are halves, sums are floats; layer 1 keeps all digits of its inputs by
// splitting them into a high and a low half, in slots of its product that would be empty otherwise,
// and of its weights where there is room for that too. Layer 3, losses and Adam are floats
// throughout.
//
// Stores to shared memory hold up the loads behind them, since the compiler cannot know that they
// are of different places: wherever it matters all loads come first.
//
// TILE rows are at work at a time, by 4 TILE threads. With 128 rows weights and moments stay in the
// block's memory for the whole launch; smaller tiles are for devices with less shared memory and
// or for larger minibatches, and keep them in global memory. ONE says that a minibatch is at most
// one tile: its gradient then need not live through the next tile's forward pass.

#ifndef MM_BACKEND_CUDA_CLASSIC_NETWORK_CUH
#define MM_BACKEND_CUDA_CLASSIC_NETWORK_CUH

#include "backend/cuda/classic/classic.h"
#include "backend/cuda/network/layers.cuh"
#include "backend/cuda/warp/project.cuh"
#include "backend/cuda/warp/warpgroup.cuh"

namespace mm {

enum { SLOTS = 16 }; // of layer 1

// Where the rows of the batch are: in the block's shared memory if they fit, else in the agent's.
struct Batch {
  uint2 *obs;            // [n_row + n_env][4], inputs of layer 1: see row_slots
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
    TEAM = TILE / 16,         // warps of a network
    OWN = 8 / TEAM,           // 16 x 32 tiles of w2 that a warp owns
    LOW = 3 * D + 2 <= SLOTS, // the weights' low halves have room beside the rest
    W1_ROW = SLOTS + 4,
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
  __half x[NETS][8 * X_ROW];   // [input][row], then a row of ones, then what is of no use
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
  mm_tally seen[16];                              // by warp
  mm_shuffle shuffle;
  float center;             // of the advantages of all rows
  mm_cuda_loss_scale loss;  // of the iteration
  float2 part[WARPS];       // of sums of advantages and of their squares
  int rows_each, rows_more; // of a minibatch; one more each in the first ones
  int shuffles;             // in moves; 0: it is not used
  int epochs_ahead;         // whose rows are in `ahead`; 0: it is not used, rows are in the batch
  uint16_t ahead[AHEAD];
  uint8_t moves[MOVES];
  Clock<MM_CUDA_CLASSIC_STAGES> clock;
  Batch batch;
  alignas(16) Knots knots;
  mm_cuda_rate rate[2];          // of this step of Adam and the next, in turn
  const mm_cuda_rate *next_rate; // where the one after those known is
  int broken;
  mm_cuda_agent agent;
};

// The block's memory. Functions that are called, not inlined, find it by themselves: as an argument
// it would be any memory.
template <class W> MM_DEVICE W &here() {
  extern __shared__ __align__(1024) unsigned char memory[];
  return *reinterpret_cast<W *>(memory);
}

// By one thread, if it is told to.
template <class W> MM_DEVICE void mark(W &S, bool timed, int stage) {
  if (timed) S.clock.mark(stage);
}

// ---------------------------------------------------------------------------------------------
// Layer 1. Slots of its product, in two halves: inputs high x weights high, 1 x bias high; inputs
// low x weights high, 1 x bias low; and, where there is room behind these, inputs high x weights
// low.

// Where slot s lies in a row, so that lane t finds 2t, 2t + 1, 2t + 8, 2t + 9 together.
MM_DEVICE unsigned slot_place(unsigned s) {
  return 4 * ((s & 7) >> 1) + 2 * ((s >> 3) & 1) + (s & 1);
}

// Of input i high x its weight low.
template <int D> MM_DEVICE constexpr unsigned low_slot(unsigned i) {
  return i < 7 - D ? D + 1 + i : 2 + 2 * D + i;
}

// What is seen, as the product reads it: made once, when it is seen.
template <class W> MM_DEVICE void row_slots(const float x[W::D], uint2 row[4]) {
  static_assert(2 * W::D + 2 <= SLOTS, "they have room");
  float slot[SLOTS];
#pragma unroll
  for (int s = 0; s < SLOTS; s++)
    slot[s] = 0;
#pragma unroll
  for (int i = 0; i < W::D; i++) {
    slot[i] = __half2float(__float2half_rn(x[i]));
    slot[8 + i] = x[i] - slot[i];
    if (W::LOW) slot[low_slot<W::D>(i) & (SLOTS - 1)] = slot[i];
  }
  slot[W::D] = slot[8 + W::D] = 1;
#pragma unroll
  for (int t = 0; t < 4; t++)
    row[t] = make_uint2(pack(slot[2 * t], slot[2 * t + 1]), pack(slot[2 * t + 8], slot[2 * t + 9]));
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
    slots[slot_place(8 + input)] = high;
    if (W::LOW) slots[slot_place(low_slot<W::D>(input))] = low;
  } else {
    slots[slot_place(W::D)] = high;
    slots[slot_place(8 + W::D)] = low;
  }
}

// ---------------------------------------------------------------------------------------------
// Forward, 16 rows by a warp

// h1 of rows g (a: its slots) and g + 8 (b) to shared memory, at the lane's place of it, if KEEP;
// the sums of layer 2, before the activation, to `sum`. GROUP: four warps are here together.
// between: what else is to be fetched, while the tensor cores are at work.
template <int ACT, bool KEEP, bool GROUP, class W, class F>
MM_DEVICE void forward(W &S, int net, uint2 a, uint2 b, int lane, uint32_t kept, float sum[8][4],
                       F between) {
  const bool relu = ACT == ANY && S.agent.relu;
  const int g = lane >> 2, t = lane & 3;
  const uint32_t in[4] = { a.x, b.x, a.y, b.y };
  uint32_t h1[4][4];
  // all loads before all stores, which would hold them up
  float c[8][4];
#pragma unroll
  for (int n = 0; n < 8; n++) {
    c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0;
    const uint2 w = *reinterpret_cast<const uint2 *>(&S.w1[net][(8 * n + g) * W::W1_ROW + 4 * t]);
    multiply(c[n], in, w.x, w.y);
  }
#pragma unroll
  for (int n = 0; n < 8; n++) {
    h1[n >> 1][(n & 1) * 2] = pack(activate<ACT>(relu, c[n][0]), activate<ACT>(relu, c[n][1]));
    h1[n >> 1][(n & 1) * 2 + 1] = pack(activate<ACT>(relu, c[n][2]), activate<ACT>(relu, c[n][3]));
  }
  begin_sums(sum, S.small + W::B2 + net * H + 2 * t);
  if (GROUP) begin_rows(sum, h1, wide_matrix(S.w2[net]));
  between();
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (KEEP) store_matrices(kept ^ right(k), h1[k]);
  if (GROUP) {
    end_products<8>(sum);
    return;
  }
  const uint32_t weights = shared_address(S.w2[net]) + wide_plain(lane);
  multiply_forward(sum, h1, [&](int k, int n) { return (weights + k * WIDE_DOWN) ^ right(n); });
}

} // namespace mm

#endif
