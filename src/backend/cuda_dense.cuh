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
#include "backend/cuda_warp.cuh"
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
    EACH = (SMALL + THREADS - 1) / THREADS
  };
  static constexpr bool RESIDENT = TILE == 128;
  union {
    struct {
      __half h1[NETS][TILE * HALF_ROW];
      __half d2[NETS][TILE * HALF_ROW];
      __half hd[NETS][TILE * HALF_ROW]; // h2, then d1
    };
    float gradient[W3]; // of w1, b1 and b2, when the errors have been used up
  };
  __half w2[NETS][H * HALF_ROW];
  __half w1[NETS][H * W1_ROW]; // [unit][slot], the four halves that a lane needs side by side
  __half x[NETS][8 * X_ROW];   // [input][row], then a row of ones, then zeros
  float small[SMALL];
  alignas(16) float w3[(A + 1) * W3_ROW]; // once more, rows of different actions in different banks
  float2 moments[SMALL];
  float4 master[RESIDENT ? NETS * H * H / 4 : 1]; // w2, in the order of its owners' registers
  float part3[WARPS][A * H];                      // gradient of w3 by warp
  float part3b[WARPS][8];                         // of b3
  alignas(16) float total[16];                    // of warps
  float mean[16], scale[16];                      // of the advantages of minibatches
  double metric[16], finished_sum[16];
  int finished[16];
  mm_shuffle shuffle;
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
  extern __shared__ __align__(16) unsigned char memory[];
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
MM_DEVICE int slot_place(int s) {
  return (s & ~15) + 4 * ((s & 7) >> 1) + 2 * ((s >> 3) & 1) + (s & 1);
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
template <class W> MM_DEVICE void refresh_small(W &S, int i, float p) {
  S.small[i] = p;
  if (i >= W::W3 && i < W::B3) S.w3[(i - W::W3) / H * W::W3_ROW + (i - W::W3) % H] = p;
  if (i >= W::B2) return;
  const int input = i / (NETS * H), unit = i % H, net = i / H % NETS;
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

// h1 of rows g (xa) and g + 8 (xb) to shared memory if KEEP; the sums of layer 2, before the
// activation, to `sum`.
template <int ACT, bool KEEP, class W>
MM_DEVICE void forward(W &S, int net, const float xa[W::D], const float xb[W::D], int lane,
                       __half *kept, float sum[8][4]) {
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
#pragma unroll
  for (int n = 0; n < 8; n++) {
    float c[4] = { 0, 0, 0, 0 };
#pragma unroll
    for (int k = 0; k < W::SLOTS; k++) {
      uint2 b =
          *reinterpret_cast<const uint2 *>(&S.w1[net][(8 * n + g) * W::W1_ROW + 16 * k + 4 * t]);
      multiply(c, in[k], b.x, b.y);
    }
    const uint32_t upper = pack(activate<ACT>(relu, c[0]), activate<ACT>(relu, c[1]));
    const uint32_t lower = pack(activate<ACT>(relu, c[2]), activate<ACT>(relu, c[3]));
    h1[n >> 1][(n & 1) * 2] = upper;
    h1[n >> 1][(n & 1) * 2 + 1] = lower;
    if (KEEP) {
      store_pair(kept + g * HALF_ROW + 8 * n + 2 * t, upper);
      store_pair(kept + (g + 8) * HALF_ROW + 8 * n + 2 * t, lower);
    }
  }
  const float *bias = S.small + W::B2 + net * H + 2 * t;
#pragma unroll
  for (int n = 0; n < 8; n++) {
    const float2 b = *reinterpret_cast<const float2 *>(bias + 8 * n);
    sum[n][0] = sum[n][2] = b.x;
    sum[n][1] = sum[n][3] = b.y;
  }
  const uint32_t weights =
      shared_address(S.w2[net]) + ((lane & 15) * HALF_ROW + (lane >> 4) * 8) * (int)sizeof(__half);
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int n = 0; n < 4; n++) {
      uint32_t b[4];
      load_transposed(b, weights + (16 * k * HALF_ROW + 16 * n) * (int)sizeof(__half));
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

// ---------------------------------------------------------------------------------------------
// Rollout. A team of warps takes up to eight environments through all steps. Its players have the
// policy: each computes some of the hidden units, and the first of them projects and chooses. The
// last warp is the world, which steps every environment with every action at the same time, so that
// nobody waits for a whole step of somebody else. All meet once a step: the first player says what
// was chosen, and everybody finds there what follows from it.
//
// Products have units for rows and environments for columns; lane (g, t) of a player knows what
// environment g sees.

template <class W> struct Team {
  alignas(16) __half h1[8 * HALF_ROW];         // [environment][unit]
  alignas(16) float part[8][W::A][W::PLAYERS]; // scores by player
  float obs[2][8][W::A][W::D];                 // by parity of the step, for each action
  int chosen[2][8];
};

template <class W> MM_DEVICE Team<W> &team_of(W &S, int team) {
  static_assert(2 * W::TEAMS <= 15, "each has two barriers");
  static_assert(sizeof(Team<W>) * W::TEAMS <= sizeof S.h1 + sizeof S.d2 + sizeof S.hd,
                "hidden units of learning rest in the meantime");
  return reinterpret_cast<Team<W> *>(&S.h1[0][0])[team];
}

// Lanes come to a barrier together.
template <class W> MM_DEVICE void wait_for_players(int team) {
  __syncwarp();
  if (W::PLAYERS > 1) barrier(1 + 2 * team, 32 * W::PLAYERS);
}

template <class W> MM_DEVICE void wait_for_team(int team) {
  __syncwarp();
  barrier(2 + 2 * team, 32 * (W::PLAYERS + 1));
}

// A player's units are 16 from 16 (player + PLAYERS i) on, i < PARTS. With one part all that the
// player needs to know of the actor stays in its registers through the rollout.
template <class W> struct Part {
  uint32_t w1[W::SLOTS][4], w2[4][4]; // operands
  float b2[2], w3[W::A][2];           // of units g and g + 8
};

template <class W> MM_DEVICE Part<W> take_part(const W &S, int part, int lane) {
  const int g = lane >> 2, t = lane & 3, unit = 16 * part + g;
  const uint32_t w2 = shared_address(S.w2[ACTOR]) +
                      ((lane & 15) * HALF_ROW + (lane >> 4) * 8 + 16 * part) * (int)sizeof(__half);
  Part<W> p;
#pragma unroll
  for (int k = 0; k < W::SLOTS; k++) {
    const __half *slots = &S.w1[ACTOR][unit * W::W1_ROW + 16 * k + 4 * t];
    const uint2 upper = *reinterpret_cast<const uint2 *>(slots);
    const uint2 lower = *reinterpret_cast<const uint2 *>(slots + 8 * W::W1_ROW);
    p.w1[k][0] = upper.x;
    p.w1[k][1] = lower.x;
    p.w1[k][2] = upper.y;
    p.w1[k][3] = lower.y;
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    uint32_t b[4];
    load_transposed(b, w2 + 16 * k * HALF_ROW * (int)sizeof(__half));
    p.w2[k][0] = b[0];
    p.w2[k][1] = b[2];
    p.w2[k][2] = b[1];
    p.w2[k][3] = b[3];
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    p.b2[half] = S.small[W::B2 + unit + 8 * half];
#pragma unroll
    for (int a = 0; a < W::A; a++)
      p.w3[a][half] = S.small[W::W3 + a * H + unit + 8 * half];
  }
  return p;
}

// h1 of the part's units, to where all players look.
template <int ACT, class W>
MM_DEVICE void first_layer(bool relu, const Part<W> &p, int part, const uint32_t in[W::SLOTS][2],
                           int lane, __half *h1) {
  float c[4] = { 0, 0, 0, 0 };
#pragma unroll
  for (int k = 0; k < W::SLOTS; k++)
    multiply(c, p.w1[k], in[k][0], in[k][1]);
  __half *to = h1 + 2 * (lane & 3) * HALF_ROW + 16 * part + (lane >> 2);
  to[0] = __float2half_rn(activate<ACT>(relu, c[0]));
  to[HALF_ROW] = __float2half_rn(activate<ACT>(relu, c[1]));
  to[8] = __float2half_rn(activate<ACT>(relu, c[2]));
  to[HALF_ROW + 8] = __float2half_rn(activate<ACT>(relu, c[3]));
}

// What the part's units add to the scores of environments 2t and 2t + 1.
template <int ACT, class W>
MM_DEVICE void other_layers(bool relu, const Part<W> &p, const uint32_t h1[4][2], float even[W::A],
                            float odd[W::A]) {
  // two chains, since each product waits for the one before it
  float sum[4] = { p.b2[0], p.b2[0], p.b2[1], p.b2[1] }, rest[4] = { 0, 0, 0, 0 };
  multiply(sum, p.w2[0], h1[0][0], h1[0][1]);
  multiply(rest, p.w2[1], h1[1][0], h1[1][1]);
  multiply(sum, p.w2[2], h1[2][0], h1[2][1]);
  multiply(rest, p.w2[3], h1[3][0], h1[3][1]);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const float left = activate<ACT>(relu, sum[2 * half] + rest[2 * half]);
    const float right = activate<ACT>(relu, sum[2 * half + 1] + rest[2 * half + 1]);
#pragma unroll
    for (int a = 0; a < W::A; a++) {
      even[a] = fmaf(left, p.w3[a][half], even[a]);
      odd[a] = fmaf(right, p.w3[a][half], odd[a]);
    }
  }
}

// All players together; f: what environment g's actions score. `own` is used where a player has one
// part only.
template <int ACT, class W>
MM_DEVICE void scores_of(const W &S, Team<W> &team, const Part<W> &own, int player, int index,
                         const float x[W::D], int lane, float f[W::A]) {
  const bool relu = ACT == ANY && S.agent.relu;
  const int g = lane >> 2, t = lane & 3;
  uint32_t in[W::SLOTS][2], h1[4][2];
  float high[W::D], low[W::D], even[W::A], odd[W::A];
  split<W::D>(x, high, low);
#pragma unroll
  for (int k = 0; k < W::SLOTS; k++) {
    in[k][0] = input_pair<W::D>(high, low, t, 16 * k);
    in[k][1] = input_pair<W::D>(high, low, t, 16 * k + 8);
  }
#pragma unroll
  for (int i = 0; i < W::PARTS; i++) {
    const int part = player + W::PLAYERS * i;
    first_layer<ACT, W>(relu, W::PARTS == 1 ? own : take_part(S, part, lane), part, in, lane,
                        team.h1);
  }
  wait_for_players<W>(index);
#pragma unroll
  for (int k = 0; k < 4; k += 2) {
    uint32_t r[4];
    load_matrices(r, shared_address(team.h1 + (lane & 7) * HALF_ROW + 16 * k + 8 * (lane >> 3)));
    h1[k][0] = r[0];
    h1[k][1] = r[1];
    h1[k + 1][0] = r[2];
    h1[k + 1][1] = r[3];
  }
#pragma unroll
  for (int a = 0; a < W::A; a++)
    even[a] = odd[a] = 0;
#pragma unroll
  for (int i = 0; i < W::PARTS; i++)
    other_layers<ACT, W>(relu, W::PARTS == 1 ? own : take_part(S, player + W::PLAYERS * i, lane),
                         h1, even, odd);
  // over the lanes of the same t; lanes 0 .. 15 take the even environments, the others the odd ones
  const bool upper = lane & 16;
#pragma unroll
  for (int a = 0; a < W::A; a++) {
    const float kept = upper ? odd[a] : even[a], given = upper ? even[a] : odd[a];
    float sum = kept + __shfl_xor_sync(ALL_LANES, given, 16);
    sum += __shfl_xor_sync(ALL_LANES, sum, 8);
    sum += __shfl_xor_sync(ALL_LANES, sum, 4);
    if ((lane & 12) == 0) team.part[2 * t + upper][a][player] = sum;
  }
  wait_for_players<W>(index);
#pragma unroll
  for (int a = 0; a < W::A; a++) {
    f[a] = 0;
#pragma unroll
    for (int i = 0; i < W::PLAYERS; i++)
      f[a] += team.part[g][a][i];
  }
}

// The environments' columns, as src/env/vec_classic.c keeps them.
template <class Env> struct Columns {
  float *state;      // [FLOATS][n]
  int32_t *time;     // [n]
  uint32_t *episode; // [n]
  int n;
  MM_DEVICE explicit Columns(const mm_cuda_agent &agent) {
    n = agent.n_env;
    state = static_cast<float *>(agent.env);
    time = reinterpret_cast<int32_t *>(state + (size_t)Env::FLOATS * n);
    episode = reinterpret_cast<uint32_t *>(time + n);
  }
  MM_DEVICE typename Env::State load(int e) const {
    typename Env::State s;
    float *f = reinterpret_cast<float *>(&s);
#pragma unroll
    for (int i = 0; i < Env::FLOATS; i++)
      f[i] = state[(size_t)i * n + e];
    s.time = time[e];
    return s;
  }
  MM_DEVICE void store(int e, const typename Env::State &s) const {
    const float *f = reinterpret_cast<const float *>(&s);
#pragma unroll
    for (int i = 0; i < Env::FLOATS; i++)
      state[(size_t)i * n + e] = f[i];
    time[e] = s.time;
  }
};

// As mm_categorical_f, in floats: u is a multiple of 2^-24.
template <int A> MM_DEVICE int choose(float u, const float p[A]) {
  float sum = 0;
  int chosen = 0;
  bool open = true;
#pragma unroll
  for (int a = 0; a < A; a++) {
    sum += p[a];
    const bool here = open && p[a] > 0.0f;
    chosen = here ? a : chosen;
    open = open && !(here && u < sum);
  }
  return chosen;
}

// What the first player needs of the agent, kept in registers through the rollout.
template <class W> struct Rules {
  Quarters quarters;
  float eta, anchor, factor, b3[W::A];
  bool knots, softmax, bisect;
  MM_DEVICE explicit Rules(const W &S) : quarters(S.knots) {
    const mm_cuda_agent &agent = S.agent;
    eta = agent.eta;
    anchor = agent.map.anchor;
    factor = agent.iteration > 0 ? agent.code_factor : 1.0f;
    bisect = agent.bisect;
    knots = S.knots.n > 0 && !bisect;
    softmax = agent.map.kind == MM_MAP_NEGENTROPY && !bisect;
#pragma unroll
    for (int a = 0; a < W::A; a++)
      b3[a] = S.small[W::B3 + a];
  }
};

// The first player's part of a step: from scores to an action, and z.
template <class W>
MM_DEVICE int choose_action(const W &S, const Rules<W> &rules, const Crew &crew, float u,
                            float f[W::A], float *z, bool *finite) {
  float p[W::A], lambda, chosen = 0;
#pragma unroll
  for (int a = 0; a < W::A; a++) {
    f[a] += rules.b3[a];
    *finite = *finite && fabsf(f[a]) < INFINITY;
    f[a] *= rules.eta;
  }
  if (rules.knots) {
    float root, top = f[0];
#pragma unroll
    for (int a = 1; a < W::A; a++)
      top = fmaxf(top, f[a]);
    if (W::A == 2)
      project_pair(S.knots, f, p, &root);
    else
      project_several<W::A>(S.knots, rules.quarters, crew, f, p, &root);
    lambda = (rules.anchor + root) - top;
  } else if (rules.softmax) {
    project_softmax<W::A>(f, p, &lambda);
  } else {
    project_any<W::A>(&S.agent.map, rules.bisect, f, p, &lambda);
  }
  const int action = choose<W::A>(u, p);
#pragma unroll
  for (int a = 0; a < W::A; a++)
    chosen = a == action ? f[a] : chosen;
  *z = fmaf(rules.factor, chosen, lambda);
  return action;
}

template <int ACT, class W> MM_DEVICE void play(W &S, int first, int player, int index, int lane) {
  const mm_cuda_agent &agent = S.agent;
  Team<W> &team = team_of(S, index);
  const Batch batch = S.batch;
  const int n = agent.n_env, n_step = agent.n_step;
  const Crew crew = crew_of(lane, n <= 4);
  const int wanted = first + crew.base / 4, e = min(wanted, n - 1); // lanes without one go along
  const bool mine = player == 0 && crew.rank == 0 && wanted < n;
  const int column = e - first;
  const Rules<W> rules(S);
  Part<W> own;
  if (W::PARTS == 1) own = take_part(S, player, lane);
  float x[W::D], f[W::A], z;
  bool finite = true;
  wait_for_team<W>(index);
#pragma unroll
  for (int i = 0; i < W::D; i++)
    x[i] = team.obs[1][column][0][i];
  for (int t = 0; t < n_step; t++) {
    const int row = t * n + e;
    const float u = mm_uniform_f(__float_as_uint(batch.policy[row]));
    if (mine) {
#pragma unroll
      for (int i = 0; i < W::D; i++)
        batch.obs[(size_t)row * W::D + i] = x[i];
    }
    scores_of<ACT>(S, team, own, player, index, x, lane, f);
    if (player == 0) {
      const int action = choose_action(S, rules, crew, u, f, &z, &finite);
      if (mine) {
        team.chosen[t & 1][column] = action;
        batch.action[row] = (uint8_t)action;
        batch.policy[row] = z;
      }
    }
    wait_for_team<W>(index);
    const int action = team.chosen[t & 1][column];
#pragma unroll
    for (int i = 0; i < W::D; i++)
      x[i] = team.obs[t & 1][column][action][i];
  }
  if (mine) {
#pragma unroll
    for (int i = 0; i < W::D; i++)
      batch.obs[(size_t)(agent.n_row + e) * W::D + i] = x[i];
  }
  if (!finite) S.broken = 1;
}

// A state as its floats and its time: what a lane of the world takes over from another.
template <class Env>
MM_DEVICE typename Env::State state_from(const typename Env::State &s, int lane) {
  typename Env::State to;
  const float *from = reinterpret_cast<const float *>(&s);
  float *f = reinterpret_cast<float *>(&to);
#pragma unroll
  for (int i = 0; i < Env::FLOATS; i++)
    f[i] = __shfl_sync(ALL_LANES, from[i], lane);
  to.time = __shfl_sync(ALL_LANES, s.time, lane);
  return to;
}

template <class Env, class W>
MM_DEVICE void turn_world(W &S, int first, int index, int lane, double *metric,
                          double *finished_sum, int *n_finished) {
  const mm_cuda_agent &agent = S.agent;
  Team<W> &team = team_of(S, index);
  const int n = agent.n_env, column = min(lane / W::A, 7), action = lane % W::A;
  const bool mine = action == 0 && lane < 8 * W::A && first + column < n;
  const int e = first + column < n ? first + column : n - 1;
  const mm_stream starts = mm_stream_make(agent.seed, agent.repeat, MM_RNG_ENV_RESET, (uint32_t)e);
  const Columns<Env> columns(agent);
  typename Env::State s = columns.load(e), fresh_start;
  uint32_t episode = columns.episode[e];
  float running = agent.running[e], finished = agent.finished[e], x[W::D];
  double sum = 0, ended = 0;
  int count = 0;
  Env::reset(&fresh_start, starts, episode + 1);
  Env::observe(&s, x);
#pragma unroll
  for (int i = 0; i < W::D; i++)
    if (lane < 8 * W::A && action == 0) team.obs[1][column][0][i] = x[i];
  wait_for_team<W>(index);
  for (int t = 0; t < agent.n_step; t++) {
    typename Env::State next = s;
    float reward;
    int end = Env::step(&next, action, &reward);
    if (end) next = fresh_start;
    Env::observe(&next, x);
    if (lane < 8 * W::A) {
#pragma unroll
      for (int i = 0; i < W::D; i++)
        team.obs[t & 1][column][action][i] = x[i];
    }
    wait_for_team<W>(index);
    const int from = W::A * column + team.chosen[t & 1][e - first];
    s = state_from<Env>(next, from);
    reward = __shfl_sync(ALL_LANES, reward, from);
    end = __shfl_sync(ALL_LANES, end, from);
    running += reward;
    if (end) {
      finished = running;
      running = 0;
      ended += (double)finished;
      count++;
      Env::reset(&fresh_start, starts, ++episode + 1);
    }
    sum += (double)finished;
    if (mine) {
      S.batch.end[t * n + e] = (uint8_t)end;
      S.batch.reward[t * n + e] = reward;
    }
  }
  if (mine) {
    columns.store(e, s);
    columns.episode[e] = episode;
    agent.running[e] = running;
    agent.finished[e] = finished;
  }
  *metric += warp_sum(mine ? sum : 0.0);
  *finished_sum += warp_sum(mine ? ended : 0.0);
  *n_finished += __reduce_add_sync(ALL_LANES, mine ? count : 0);
}

// All random words of the iteration's actions first, then teams of warps with groups of
// environments.
template <class Env, int ACT, class W> __device__ __noinline__ void roll_out() {
  W &S = here<W>();
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const mm_cuda_agent &agent = S.agent;
  for (int i = tid; i < agent.n_row; i += W::THREADS) {
    const uint64_t step = (uint64_t)agent.iteration * agent.n_step + i / agent.n_env;
    const mm_stream stream =
        mm_stream_make(agent.seed, agent.repeat, MM_RNG_ACTION, (uint32_t)(i % agent.n_env));
    const mm_block b = mm_stream_block(stream, step / 4);
    const uint32_t q = step % 4;
    const uint32_t word =
        q < 2 ? (q == 0 ? b.word[0] : b.word[1]) : (q == 2 ? b.word[2] : b.word[3]);
    S.batch.policy[i] = __uint_as_float(word);
  }
  __syncthreads();
  const int team = warp / (W::PLAYERS + 1), player = warp % (W::PLAYERS + 1);
  double metric = 0, finished_sum = 0;
  int finished = 0;
  for (int first = 8 * team; team < W::TEAMS && first < agent.n_env; first += 8 * W::TEAMS) {
    if (player < W::PLAYERS)
      play<ACT>(S, first, player, team, lane);
    else
      turn_world<Env>(S, first, team, lane, &metric, &finished_sum, &finished);
  }
  if (lane == 0) {
    S.metric[warp] = metric;
    S.finished_sum[warp] = finished_sum;
    S.finished[warp] = finished;
  }
  __syncthreads();
}

template <class W> MM_DEVICE void report(const W &S, mm_cuda_report *to) {
  mm_cuda_report r = { 0, 0, 0 };
  for (int w = 0; w < W::WARPS; w++) {
    r.metric += S.metric[w];
    r.finished_sum += S.finished_sum[w];
    r.finished += S.finished[w];
  }
  r.metric /= (double)S.agent.n_row;
  *to = r;
}

// ---------------------------------------------------------------------------------------------
// Values and advantages

template <int ACT, class W> __device__ __noinline__ void estimate_values() {
  W &S = here<W>();
  const bool relu = ACT == ANY && S.agent.relu;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int rows = S.agent.n_row + S.agent.n_env;
  const float *w3 = S.small + W::W3 + W::A * H + 2 * t;
  const float b3 = S.small[W::B3 + W::A];
#pragma unroll 1
  for (int first = 16 * warp; first < rows; first += 16 * W::WARPS) {
    const int a = first + g < rows ? first + g : rows - 1;
    const int b = first + g + 8 < rows ? first + g + 8 : rows - 1;
    float xa[W::D], xb[W::D], sum[8][4], upper = 0, lower = 0;
    load_row(S, (uint32_t)a, xa);
    load_row(S, (uint32_t)b, xb);
    forward<ACT, false>(S, CRITIC, xa, xb, lane, nullptr, sum);
#pragma unroll
    for (int n = 0; n < 8; n++) {
      const float2 w = *reinterpret_cast<const float2 *>(w3 + 8 * n);
      upper = fmaf(activate<ACT>(relu, sum[n][0]), w.x,
                   fmaf(activate<ACT>(relu, sum[n][1]), w.y, upper));
      lower = fmaf(activate<ACT>(relu, sum[n][2]), w.x,
                   fmaf(activate<ACT>(relu, sum[n][3]), w.y, lower));
    }
    upper = row_sum(upper);
    lower = row_sum(lower);
    if (t == 0) {
      S.batch.value[a] = upper + b3;
      S.batch.value[b] = lower + b3;
    }
  }
  __syncthreads();
}

// Advantages backwards through time, then what the rollout left of the regression targets.
template <class W> __device__ __noinline__ void estimate_advantages() {
  W &S = here<W>();
  const mm_cuda_agent &agent = S.agent;
  const Batch &batch = S.batch;
  const int n = agent.n_env;
  const float decay = agent.gamma * agent.gae_lambda;
  for (int e = threadIdx.x; e < n; e += W::THREADS) {
    float advantage = 0, next = batch.value[agent.n_row + e];
#pragma unroll 4
    for (int i = agent.n_row - n + e; i >= 0; i -= n) {
      const float alive = batch.end[i] ? 0.0f : 1.0f, v = batch.value[i];
      const float delta = fmaf(agent.gamma * alive, next, batch.reward[i]) - v;
      advantage = fmaf(decay * alive, advantage, delta);
      next = v;
      batch.advantage[i] = advantage;
      batch.reward[i] = advantage + v;
    }
  }
  for (int i = threadIdx.x; i < agent.n_row; i += W::THREADS)
    batch.policy[i] = __fdividef(fmaxf(batch.policy[i], agent.floor), agent.eta) - agent.center;
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Minibatches

MM_DEVICE int minibatch_size(const mm_cuda_agent &agent, int i) {
  return agent.n_row / agent.minibatches + (i < agent.n_row % agent.minibatches);
}

MM_DEVICE int minibatch_first(const mm_cuda_agent &agent, int i) {
  const int more = agent.n_row % agent.minibatches;
  return i * (agent.n_row / agent.minibatches) + (i < more ? i : more);
}

template <class W> MM_DEVICE void shuffle_rows(W &S, uint64_t epoch) {
  const mm_cuda_agent &agent = S.agent;
  const mm_stream stream = mm_stream_make(agent.seed, agent.repeat, MM_RNG_SHUFFLE, 0);
  if (threadIdx.x == 32) mm_shuffle_begin(&S.shuffle, stream, epoch, (uint32_t)agent.n_row);
  if (threadIdx.x < MM_SHUFFLE_ROUNDS_MAX)
    mm_shuffle_set_key(&S.shuffle, stream, epoch, threadIdx.x);
  __syncthreads();
  for (int i = threadIdx.x; i < agent.n_row; i += W::THREADS)
    S.batch.row[i] = mm_shuffle_at(&S.shuffle, (uint32_t)i);
  __syncthreads();
}

// Mean and deviation of the advantages of WARPS minibatches from number `first` on, one per warp.
template <class W> MM_DEVICE void normalise(W &S, int first) {
  const mm_cuda_agent &agent = S.agent;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, mb = first + warp;
  if (mb < agent.minibatches) {
    const int n = minibatch_size(agent, mb);
    const uint32_t *row = S.batch.row + minibatch_first(agent, mb);
    float mean = 0, scale = 1;
    if (agent.normalise) {
      float sum = 0, square = 0;
      for (int i = lane; i < n; i += 32)
        sum += S.batch.advantage[row[i]];
      mean = warp_sum(sum) / (float)n;
      for (int i = lane; i < n; i += 32) {
        const float d = S.batch.advantage[row[i]] - mean;
        square = fmaf(d, d, square);
      }
      scale = 1.0f / (sqrtf(warp_sum(square) / (float)n) + 1e-8f);
    }
    if (lane == 0) {
      S.mean[warp] = mean;
      S.scale[warp] = scale;
    }
  }
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// One tile forward and back

// Error of a row's output, without the factor 1 / size of the minibatch. Rows behind the end: 0.
template <class W>
MM_DEVICE float error_of(const W &S, int net, uint32_t row, float output, float mean, float scale) {
  const mm_cuda_agent &agent = S.agent;
  if (net == ACTOR)
    return 2.0f * (output - fmaf(S.batch.advantage[row] - mean, scale, S.batch.policy[row]));
  const float old = S.batch.value[row], target = S.batch.reward[row], move = output - old;
  const float within = fminf(fmaxf(move, -agent.value_clip), agent.value_clip);
  const float e1 = output - target, e2 = old + within - target;
  const bool clipped = fabsf(move) > agent.value_clip && e2 * e2 > e1 * e1;
  return clipped ? 0.0f : agent.value_coef * e1;
}

// Rows first .. of the minibatch's n rows; leaves h1, d2, d1 and x in shared memory, and this
// warp's part of the output layer's gradient, added to what is there if MORE.
template <int ACT, class W>
MM_DEVICE void through_tile(W &S, const uint32_t *rows, int n, int first, float mean, float scale,
                            bool more) {
  const bool relu = ACT == ANY && S.agent.relu;
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM, ra = 16 * w + g, rb = ra + 8;
  const uint32_t ia = rows[first + ra < n ? first + ra : n - 1];
  const uint32_t ib = rows[first + rb < n ? first + rb : n - 1];
  __half *h1s = S.h1[net] + 16 * w * HALF_ROW, *hds = S.hd[net] + 16 * w * HALF_ROW;
  __half *d2s = S.d2[net] + 16 * w * HALF_ROW;
  uint32_t d2[4][4];
  float sum[8][4];
  {
    float xa[W::D], xb[W::D];
    load_row(S, ia, xa);
    load_row(S, ib, xb);
#pragma unroll
    for (int i = 0; i < W::D; i++) {
      if (t == (i & 3)) {
        S.x[net][i * W::X_ROW + ra] = __float2half_rn(xa[i]);
        S.x[net][i * W::X_ROW + rb] = __float2half_rn(xb[i]);
      }
    }
    forward<ACT, true>(S, net, xa, xb, lane, h1s, sum);
  }
  // outputs; `sum` becomes the outputs' weights times the activation's slope
  const int aa = net == ACTOR ? S.batch.action[ia] : 0, ab = net == ACTOR ? S.batch.action[ib] : 0;
  const float *w3 = S.w3 + net * W::A * W::W3_ROW + 2 * t;
  float ya = 0, yb = 0;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const float2 wa = *reinterpret_cast<const float2 *>(w3 + aa * W::W3_ROW + 8 * k);
    const float2 wb = *reinterpret_cast<const float2 *>(w3 + ab * W::W3_ROW + 8 * k);
    const float h0 = activate<ACT>(relu, sum[k][0]), h1 = activate<ACT>(relu, sum[k][1]);
    const float h2 = activate<ACT>(relu, sum[k][2]), h3 = activate<ACT>(relu, sum[k][3]);
    ya = fmaf(h0, wa.x, fmaf(h1, wa.y, ya));
    yb = fmaf(h2, wb.x, fmaf(h3, wb.y, yb));
    store_pair(hds + g * HALF_ROW + 8 * k + 2 * t, pack(h0, h1));
    store_pair(hds + (g + 8) * HALF_ROW + 8 * k + 2 * t, pack(h2, h3));
    sum[k][0] = wa.x * slope_at<ACT>(relu, h0);
    sum[k][1] = wa.y * slope_at<ACT>(relu, h1);
    sum[k][2] = wb.x * slope_at<ACT>(relu, h2);
    sum[k][3] = wb.y * slope_at<ACT>(relu, h3);
  }
  const float *b3 = S.small + W::B3 + net * W::A;
  ya = row_sum(ya) + b3[aa];
  yb = row_sum(yb) + b3[ab];
  const float ea = first + ra < n ? error_of(S, net, ia, ya, mean, scale) : 0.0f;
  const float eb = first + rb < n ? error_of(S, net, ib, yb, mean, scale) : 0.0f;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const uint32_t upper = pack(ea * sum[k][0], ea * sum[k][1]);
    const uint32_t lower = pack(eb * sum[k][2], eb * sum[k][3]);
    d2[k >> 1][(k & 1) * 2] = upper;
    d2[k >> 1][(k & 1) * 2 + 1] = lower;
    store_pair(d2s + g * HALF_ROW + 8 * k + 2 * t, upper);
    store_pair(d2s + (g + 8) * HALF_ROW + 8 * k + 2 * t, lower);
  }
  // gradient of the output layer: errors by action (columns) against h2
  {
    const uint32_t ua = pack(ea, __int2float_rn(aa)), ub = pack(eb, __int2float_rn(ab));
    const uint32_t mine = pack(0.0f, __int2float_rn(g)) & 0xffff0000u;
    uint32_t b[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const uint32_t r0 = __shfl_sync(ALL_LANES, half ? ub : ua, 8 * t);
      const uint32_t r1 = __shfl_sync(ALL_LANES, half ? ub : ua, 8 * t + 4);
      b[half] = ((r0 & 0xffff0000u) == mine ? r0 & 0xffffu : 0u) |
                ((r1 & 0xffff0000u) == mine ? r1 << 16 : 0u);
    }
    const uint32_t ones[4] = { HALF_ONES, HALF_ONES, HALF_ONES, HALF_ONES };
    float bias[4] = { 0, 0, 0, 0 };
    multiply(bias, ones, b[0], b[1]);
    if (g == 0) {
      float *to = S.part3b[warp] + 2 * t;
      to[0] = more ? to[0] + bias[0] : bias[0];
      to[1] = more ? to[1] + bias[1] : bias[1];
    }
    __syncwarp();
    const uint32_t from = shared_address(hds) +
                          (((lane & 7) + ((lane >> 4) << 3)) * HALF_ROW + ((lane >> 3) & 1) * 8) *
                              (int)sizeof(__half);
#pragma unroll
    for (int m = 0; m < 4; m++) {
      uint32_t a[4];
      float c[4] = { 0, 0, 0, 0 };
      load_transposed(a, from + 16 * m * (int)sizeof(__half));
      multiply(c, a, b[0], b[1]);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        if (2 * t + i < (net == ACTOR ? (int)W::A : 1)) {
          float *to = S.part3[warp] + (2 * t + i) * H + 16 * m + g;
          to[0] = more ? to[0] + c[i] : c[i];
          to[8] = more ? to[8] + c[2 + i] : c[2 + i];
        }
      }
    }
    __syncwarp();
  }
  // d1 takes the place of h2
#pragma unroll
  for (int k = 0; k < 8; k++)
    sum[k][0] = sum[k][1] = sum[k][2] = sum[k][3] = 0;
  const uint32_t weights =
      shared_address(S.w2[net]) +
      (((lane & 7) + ((lane >> 4) << 3)) * HALF_ROW + ((lane >> 3) & 1) * 8) * (int)sizeof(__half);
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int m = 0; m < 4; m++) {
      uint32_t b[4];
      load_matrices(b, weights + (16 * m * HALF_ROW + 16 * k) * (int)sizeof(__half));
      multiply(sum[2 * m], d2[k], b[0], b[1]);
      multiply(sum[2 * m + 1], d2[k], b[2], b[3]);
    }
  }
  // h1 comes back from shared memory: registers are what is short here
  const uint32_t kept =
      shared_address(h1s) + ((lane & 15) * HALF_ROW + (lane >> 4) * 8) * (int)sizeof(__half);
  uint32_t h1[4];
#pragma unroll
  for (int k = 0; k < 8; k++) {
    if ((k & 1) == 0) load_matrices(h1, kept + 8 * k * (int)sizeof(__half));
    const float2 upper = unpack(h1[(k & 1) * 2]), lower = unpack(h1[(k & 1) * 2 + 1]);
    store_pair(hds + g * HALF_ROW + 8 * k + 2 * t, pack(sum[k][0] * slope_at<ACT>(relu, upper.x),
                                                        sum[k][1] * slope_at<ACT>(relu, upper.y)));
    store_pair(
        hds + (g + 8) * HALF_ROW + 8 * k + 2 * t,
        pack(sum[k][2] * slope_at<ACT>(relu, lower.x), sum[k][3] * slope_at<ACT>(relu, lower.y)));
  }
}

// A warp's tiles of a gradient step: 16 x 32 of w2 each; and 16 units of b2, or of w1 with b1.
template <class W> struct Gradient {
  float w2[W::OWN][4][4];
  float side[W::OWN][4];
};

MM_DEVICE int tile_row(int q) { // of w2: inputs from 16 q % 64 on
  return 16 * (q & 3);
}

MM_DEVICE int tile_column(int q) {
  return 32 * (q >> 2);
}

template <class W> MM_DEVICE void add_gradient(const W &S, Gradient<W> *to) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  const int turned = ((lane & 7) + ((lane >> 4) << 3)) * HALF_ROW + ((lane >> 3) & 1) * 8;
  const int plain = (lane & 15) * HALF_ROW + (lane >> 4) * 8;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
    const uint32_t h1 = shared_address(S.h1[net] + turned + tile_row(q));
    const uint32_t d2 = shared_address(S.d2[net] + plain + tile_column(q));
#pragma unroll
    for (int k = 0; k < W::TEAM; k++) {
      uint32_t a[4], b[4], c[4];
      const uint32_t down = 16 * k * HALF_ROW * (int)sizeof(__half);
      load_transposed(a, h1 + down);
      load_transposed(b, d2 + down);
      load_transposed(c, d2 + down + 16 * (int)sizeof(__half));
      multiply(to->w2[i][0], a, b[0], b[1]);
      multiply(to->w2[i][1], a, b[2], b[3]);
      multiply(to->w2[i][2], a, c[0], c[1]);
      multiply(to->w2[i][3], a, c[2], c[3]);
    }
    const __half *errors = (q >> 2 ? S.d2[net] : S.hd[net]) + turned + tile_row(q);
    const uint32_t from = shared_address(errors);
    const __half *x = S.x[net] + g * W::X_ROW + 2 * t;
#pragma unroll
    for (int k = 0; k < W::TEAM; k++) {
      uint32_t a[4];
      load_transposed(a, from + 16 * k * HALF_ROW * (int)sizeof(__half));
      multiply(to->side[i], a, load_pair(x + 16 * k), load_pair(x + 16 * k + 8));
    }
  }
}

// ---------------------------------------------------------------------------------------------
// The optimiser

// Gradients of w1, b1 and b2 to where their owners look.
template <class W> MM_DEVICE void spread_side(W &S, const Gradient<W> &from) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i, unit = net * H + tile_row(q) + g;
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int input = 2 * t + c;
      const float upper = from.side[i][c], lower = from.side[i][2 + c];
      if (q >> 2 == 0 && input <= W::D) {
        S.gradient[input * NETS * H + unit] = upper;
        S.gradient[input * NETS * H + unit + 8] = lower;
      } else if (q >> 2 == 1 && input == W::D) {
        S.gradient[W::B2 + unit] = upper;
        S.gradient[W::B2 + unit + 8] = lower;
      }
    }
  }
}

template <class W> MM_DEVICE float small_gradient(const W &S, int i) {
  if (i < W::W3) return S.gradient[i];
  float sum = 0;
  const bool bias = i >= W::B3;
  const int k = bias ? i - W::B3 : i - W::W3, output = bias ? k : k / H;
  if (output > W::A) return 0; // what fills up b3
  const int net = output == W::A ? CRITIC : ACTOR,
            at = net == CRITIC ? k - W::A * (bias ? 1 : H) : k;
  for (int w = 0; w < W::TEAM; w++)
    sum += bias ? S.part3b[net * W::TEAM + w][at] : S.part3[net * W::TEAM + w][at];
  return sum;
}

template <class W> struct Owned {       // Adam's moments of a warp's tiles of w2, by lane
  float m[W::OWN * 16], v[W::OWN * 16]; // of no use where w2 is not resident
};

// Where rows g, g + 8 (half) and columns 8 j + 2t of tile q lie in w2 [NETS][H][H].
template <class W> MM_DEVICE int owned_place(int net, int q, int j, int half, int lane) {
  return (net * H + tile_row(q) + (lane >> 2) + 8 * half) * H + tile_column(q) + 8 * j +
         2 * (lane & 3);
}

// False, and nothing has changed, if the gradient is not finite.
template <class W>
MM_DEVICE bool optimise(W &S, Gradient<W> &g2, Owned<W> &own, int n, mm_cuda_rate rate, int w2_at) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  const mm_cuda_agent &agent = S.agent;
  const float share = 1.0f / (float)n;
  float small[W::EACH], square = 0;
  __syncthreads(); // h1 and d2 have been read
  spread_side(S, g2);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < W::EACH; k++) {
    const int i = tid + k * W::THREADS;
    small[k] = i < W::SMALL ? small_gradient(S, i) * share : 0.0f;
    square = fmaf(small[k], small[k], square);
  }
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const float x = g2.w2[i][j >> 2][j & 3] * share;
      g2.w2[i][j >> 2][j & 3] = x;
      square = fmaf(x, x, square);
    }
  }
  square = warp_sum(square);
  if (lane == 0) S.total[warp] = square;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int i = 0; i < W::WARPS / 4; i++) {
    const float4 four = reinterpret_cast<const float4 *>(S.total)[i];
    total += (four.x + four.y) + (four.z + four.w);
  }
  const float norm = fast_sqrt(total);
  if (!(norm < INFINITY)) return false;
  const float scale = norm >= agent.max_grad_norm ? __fdividef(agent.max_grad_norm, norm) : 1.0f;
  const float beta1 = agent.beta1, rest1 = agent.rest1, beta2 = agent.beta2, rest2 = agent.rest2;
#pragma unroll
  for (int k = 0; k < W::EACH; k++) {
    const int i = tid + k * W::THREADS;
    if (i >= W::SMALL) break;
    float2 mv = S.moments[i];
    const float p = adam(S.small[i], scale * small[k], &mv.x, &mv.y, beta1, rest1, beta2, rest2,
                         rate.rate, rate.epsilon);
    S.moments[i] = mv;
    refresh_small(S, i, p);
  }
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (W::RESIDENT) {
        float4 *at = &S.master[((warp * W::OWN + i) * 4 + j) * 32 + lane], p = *at;
        float *m = own.m + 16 * i + 4 * j, *v = own.v + 16 * i + 4 * j;
        const float *d = g2.w2[i][j];
        p.x = adam(p.x, scale * d[0], m + 0, v + 0, beta1, rest1, beta2, rest2, rate.rate,
                   rate.epsilon);
        p.y = adam(p.y, scale * d[1], m + 1, v + 1, beta1, rest1, beta2, rest2, rate.rate,
                   rate.epsilon);
        p.z = adam(p.z, scale * d[2], m + 2, v + 2, beta1, rest1, beta2, rest2, rate.rate,
                   rate.epsilon);
        p.w = adam(p.w, scale * d[3], m + 3, v + 3, beta1, rest1, beta2, rest2, rate.rate,
                   rate.epsilon);
        *at = p;
        __half *to = S.w2[net] + (tile_row(q) + (lane >> 2)) * HALF_ROW + tile_column(q) + 8 * j +
                     2 * (lane & 3);
        store_pair(to, pack(p.x, p.y));
        store_pair(to + 8 * HALF_ROW, pack(p.z, p.w));
      } else {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          const int place = owned_place<W>(net, q, j, half, lane), at = w2_at + place;
          float2 p = *reinterpret_cast<float2 *>(agent.param + at);
          float2 m = *reinterpret_cast<float2 *>(agent.m + at),
                 v = *reinterpret_cast<float2 *>(agent.v + at);
          const float *d = g2.w2[i][j] + 2 * half;
          p.x = adam(p.x, scale * d[0], &m.x, &v.x, beta1, rest1, beta2, rest2, rate.rate,
                     rate.epsilon);
          p.y = adam(p.y, scale * d[1], &m.y, &v.y, beta1, rest1, beta2, rest2, rate.rate,
                     rate.epsilon);
          *reinterpret_cast<float2 *>(agent.param + at) = p;
          *reinterpret_cast<float2 *>(agent.m + at) = m;
          *reinterpret_cast<float2 *>(agent.v + at) = v;
          store_pair(S.w2[net] + (place / H % H) * HALF_ROW + place % H, pack(p.x, p.y));
        }
      }
    }
  }
  __syncthreads();
  return true;
}

// ---------------------------------------------------------------------------------------------
// Iterations

template <int ACT, bool ONE, class W>
MM_DEVICE bool learn_minibatch(W &S, Owned<W> &own, int mb, mm_cuda_rate rate, int w2_at) {
  const int n = minibatch_size(S.agent, mb);
  const uint32_t *rows = S.batch.row + minibatch_first(S.agent, mb);
  const float mean = S.mean[mb % W::WARPS], scale = S.scale[mb % W::WARPS];
  Gradient<W> gradient;
  if (ONE) {
    through_tile<ACT>(S, rows, n, 0, mean, scale, false);
    mark(S, MM_CUDA_DENSE_TILE);
    __syncthreads();
    mark(S, MM_CUDA_DENSE_WAIT);
    gradient = Gradient<W>();
    add_gradient(S, &gradient);
    mark(S, MM_CUDA_DENSE_GRADIENT);
  } else {
    gradient = Gradient<W>();
#pragma unroll 1
    for (int first = 0; first < n; first += W::TILE_ROWS) {
      if (first > 0) __syncthreads();
      through_tile<ACT>(S, rows, n, first, mean, scale, first > 0);
      mark(S, MM_CUDA_DENSE_TILE);
      __syncthreads();
      mark(S, MM_CUDA_DENSE_WAIT);
      add_gradient(S, &gradient);
      mark(S, MM_CUDA_DENSE_GRADIENT);
    }
  }
  return optimise(S, gradient, own, n, rate, w2_at);
}

} // namespace mm

#endif
