// AMPO on environments with a few real inputs: one block of threads trains one agent, start to end.
//
// The first half of the warps is the actor's, the second the critic's. In a gradient step a warp
// takes 16 rows through layer 1, layer 2, the loss, the errors of h2 and of h1 without waiting for
// anybody, because a product's result is the operand of the next one. h1, d2 and d1 go to shared
// memory, and after a barrier every warp owns tiles of the weights' gradients, with Adam's moments
// of those in its registers. Operands are halves, sums are floats; layer 1 keeps all digits by
// splitting inputs and weights into a high and a low half in slots of one product that would be
// empty otherwise. Layer 3, losses and Adam are floats throughout.
//
// TILE rows are at work at a time, by 4 TILE threads. With 128 rows weights and moments stay in the
// block's memory for the whole launch; smaller tiles are for devices with less shared memory and
// keep them in global memory. ONE says that a minibatch is at most one tile: its gradient then
// need not live through the next tile's forward pass.

#ifndef MM_BACKEND_CUDA_DENSE_CUH
#define MM_BACKEND_CUDA_DENSE_CUH

#include "backend/cuda_agent.h"
#include "backend/cuda_warp.cuh"
#include "base/rng.h"
#include "map/simplex.h"

namespace mm {

enum { H = MM_CUDA_HIDDEN, ACTOR = 0, CRITIC = 1, NETS = 2 };

// Where the rows of the batch are: in the block's shared memory if they fit, else in the agent's.
struct Batch {
  float *obs;      // [n_row + n_env][D]
  float *policy;   // [n_row]
  float *reward;   // [n_row], which is also where the targets go
  float *value;    // [n_row + n_env]
  float *advantage; // [n_row]
  uint32_t *row;   // [n_row]
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
    SLOTS = (3 * D + 2 + 15) / 16, // products of layer 1
    W1_ROW = 16 * SLOTS + 4,
    X_ROW = TILE + 8,
    B2 = (D + 1) * NETS * H,
    W3 = B2 + NETS * H,
    B3 = W3 + (A + 1) * H,
    SMALL = B3 + 16,          // parameters but w2
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
  float2 moments[SMALL];
  float4 master[RESIDENT ? NETS * H * H / 4 : 1]; // w2, in the order of its owners' registers
  float part3[WARPS][A * H];   // gradient of w3 by warp
  float part3b[WARPS][8];      // of b3
  float total[16];             // of warps
  float mean[16], scale[16];   // of the advantages of minibatches
  double metric[16], finished_sum[16];
  int finished[16];
  mm_shuffle shuffle;
  Batch batch;
  int broken;
  mm_cuda_agent agent;
};

// ---------------------------------------------------------------------------------------------
// Layer 1. Slots of its product: inputs high x weights high, inputs low x weights high, inputs high
// x weights low, then 1 x bias high, 1 x bias low.

// Where slot s lies in a unit's row, so that lane t finds 2t, 2t + 1, 2t + 8, 2t + 9 together.
MM_DEVICE int slot_place(int s) {
  return (s & ~15) + 4 * ((s & 7) >> 1) + 2 * ((s >> 3) & 1) + (s & 1);
}

// Inputs in slots first + 2t and the one after it, as halves.
template <int D> MM_DEVICE uint32_t input_pair(const float *high, const float *low, int t, int first) {
  float pair[2] = { 0, 0 };
#pragma unroll
  for (int q = 0; q < 4; q++) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int s = first + 2 * q + i;
      float v = s < D               ? high[s < D ? s : 0]
                : s < 2 * D         ? low[s < 2 * D && s >= D ? s - D : 0]
                : s < 3 * D         ? high[s < 3 * D && s >= 2 * D ? s - 2 * D : 0]
                : s < 3 * D + 2     ? 1.0f
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
  if (i >= W::B2) return;
  const int input = i / (NETS * H), unit = i % H, net = i / H % NETS;
  const __half high = __float2half_rn(p), low = __float2half_rn(p - __half2float(high));
  __half *slots = S.w1[net] + unit * W::W1_ROW;
  if (input < W::D) {
    slots[slot_place(input)] = high;
    slots[slot_place(W::D + input)] = high;
    slots[slot_place(2 * W::D + input)] = low;
  } else {
    slots[slot_place(3 * W::D)] = high;
    slots[slot_place(3 * W::D + 1)] = low;
  }
}

// ---------------------------------------------------------------------------------------------
// Forward, 16 rows by a warp

// h1 of rows g (xa) and g + 8 (xb) to `h1`, as operands of layer 2, and to shared memory if KEEP;
// the sums of layer 2, before the activation, to `sum`.
template <bool RELU, bool KEEP, class W>
MM_DEVICE void forward(W &S, int net, const float xa[W::D], const float xb[W::D], int lane,
                       __half *kept, uint32_t h1[4][4], float sum[8][4]) {
  const int g = lane >> 2, t = lane & 3;
  uint32_t in[W::SLOTS][4];
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
      uint2 b = *reinterpret_cast<const uint2 *>(&S.w1[net][(8 * n + g) * W::W1_ROW + 16 * k + 4 * t]);
      multiply(c, in[k], b.x, b.y);
    }
    const uint32_t upper = pack(activate<RELU>(c[0]), activate<RELU>(c[1]));
    const uint32_t lower = pack(activate<RELU>(c[2]), activate<RELU>(c[3]));
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
// Rollout, up to eight environments by a warp: products have units for rows and environments for
// columns, lane (g, t) keeps environment g with all that belongs to it.

template <bool RELU, class W>
MM_DEVICE void scores_of(const W &S, const float x[W::D], int lane, float f[W::A]) {
  const int g = lane >> 2, t = lane & 3;
  uint32_t in[W::SLOTS][2], h1[4][2];
  {
    float high[W::D], low[W::D];
    split<W::D>(x, high, low);
#pragma unroll
    for (int k = 0; k < W::SLOTS; k++) {
      in[k][0] = input_pair<W::D>(high, low, t, 16 * k);
      in[k][1] = input_pair<W::D>(high, low, t, 16 * k + 8);
    }
  }
#pragma unroll
  for (int m = 0; m < 4; m++) {
    float c[4] = { 0, 0, 0, 0 };
#pragma unroll
    for (int k = 0; k < W::SLOTS; k++) {
      const __half *slots = &S.w1[ACTOR][(16 * m + g) * W::W1_ROW + 16 * k + 4 * t];
      const uint2 upper = *reinterpret_cast<const uint2 *>(slots);
      const uint2 lower = *reinterpret_cast<const uint2 *>(slots + 8 * W::W1_ROW);
      const uint32_t a[4] = { upper.x, lower.x, upper.y, lower.y };
      multiply(c, a, in[k][0], in[k][1]);
    }
    h1[m][0] = transpose(pack(activate<RELU>(c[0]), activate<RELU>(c[1])));
    h1[m][1] = transpose(pack(activate<RELU>(c[2]), activate<RELU>(c[3])));
  }
  float sum[4][4];
#pragma unroll
  for (int m = 0; m < 4; m++) {
    sum[m][0] = sum[m][1] = S.small[W::B2 + 16 * m + g];
    sum[m][2] = sum[m][3] = S.small[W::B2 + 16 * m + g + 8];
  }
  const uint32_t weights =
      shared_address(S.w2[ACTOR]) + ((lane & 15) * HALF_ROW + (lane >> 4) * 8) * (int)sizeof(__half);
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int m = 0; m < 4; m++) {
      uint32_t b[4];
      load_transposed(b, weights + (16 * k * HALF_ROW + 16 * m) * (int)sizeof(__half));
      const uint32_t a[4] = { b[0], b[2], b[1], b[3] };
      multiply(sum[m], a, h1[k][0], h1[k][1]);
    }
  }
  float even[W::A], odd[W::A]; // of environments 2t, 2t + 1
#pragma unroll
  for (int a = 0; a < W::A; a++)
    even[a] = odd[a] = 0;
#pragma unroll
  for (int m = 0; m < 4; m++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float left = activate<RELU>(sum[m][2 * half]), right = activate<RELU>(sum[m][2 * half + 1]);
#pragma unroll
      for (int a = 0; a < W::A; a++) {
        const float w = S.small[W::W3 + a * H + 16 * m + 8 * half + g];
        even[a] = fmaf(left, w, even[a]);
        odd[a] = fmaf(right, w, odd[a]);
      }
    }
  }
#pragma unroll
  for (int a = 0; a < W::A; a++) {
#pragma unroll
    for (int lanes = 4; lanes < 32; lanes <<= 1) {
      even[a] += __shfl_xor_sync(ALL_LANES, even[a], lanes);
      odd[a] += __shfl_xor_sync(ALL_LANES, odd[a], lanes);
    }
    const float left = __shfl_sync(ALL_LANES, even[a], g >> 1);
    const float right = __shfl_sync(ALL_LANES, odd[a], g >> 1);
    f[a] = (g & 1 ? right : left) + S.small[W::B3 + a];
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

template <class Env, bool RELU, class W>
MM_DEVICE void roll_out_group(W &S, int first, int lane, double *metric, double *finished_sum,
                              int *n_finished) {
  const mm_cuda_agent &agent = S.agent;
  const int g = lane >> 2, n = agent.n_env;
  const bool mine = (lane & 3) == 0 && first + g < n;
  const int e = first + g < n ? first + g : n - 1; // lanes without an environment go along
  const float k = agent.iteration > 0 ? agent.code_factor : 1.0f;
  const Columns<Env> columns(agent);
  typename Env::State s = columns.load(e);
  uint32_t episode = columns.episode[e];
  float running = agent.running[e], finished = agent.finished[e], x[W::D];
  double sum = 0, ended = 0;
  int count = 0;
  bool finite = true;
  Env::observe(&s, x);
  for (int t = 0; t < agent.n_step; t++) {
    const int row = t * n + e;
    const double u = __float_as_uint(S.batch.policy[row]) * 0x1p-32;
    float f[W::A], p[W::A], lambda, z = 0, reward;
    if (mine) {
#pragma unroll
      for (int i = 0; i < W::D; i++)
        S.batch.obs[(size_t)row * W::D + i] = x[i];
    }
    scores_of<RELU>(S, x, lane, f);
#pragma unroll
    for (int a = 0; a < W::A; a++) {
      finite = finite && fabsf(f[a]) < INFINITY;
      f[a] *= agent.eta;
    }
    if (agent.bisect)
      mm_project_bisect10_f(&agent.map, f, W::A, p, &lambda);
    else
      mm_project_f(&agent.map, f, W::A, p, &lambda);
    const int action = mm_categorical_f(u, p, W::A);
#pragma unroll
    for (int a = 0; a < W::A; a++)
      z = a == action ? f[a] : z;
    const int end = Env::step(&s, action, &reward);
    running += reward;
    if (end) {
      finished = running;
      running = 0;
      ended += (double)finished;
      count++;
      Env::reset(&s, mm_stream_make(agent.seed, agent.repeat, MM_RNG_ENV_RESET, (uint32_t)e), ++episode);
    }
    sum += (double)finished;
    if (mine) {
      S.batch.action[row] = (uint8_t)action;
      S.batch.end[row] = (uint8_t)end;
      S.batch.policy[row] = fmaf(k, z, lambda);
      S.batch.reward[row] = reward;
    }
    Env::observe(&s, x);
  }
  if (mine) {
#pragma unroll
    for (int i = 0; i < W::D; i++)
      S.batch.obs[(size_t)(agent.n_row + e) * W::D + i] = x[i];
    columns.store(e, s);
    columns.episode[e] = episode;
    agent.running[e] = running;
    agent.finished[e] = finished;
  }
  if (!finite) S.broken = 1;
  *metric += warp_sum(mine ? sum : 0.0);
  *finished_sum += warp_sum(mine ? ended : 0.0);
  *n_finished += __reduce_add_sync(ALL_LANES, mine ? count : 0);
}

// All random words of the iteration's actions first, then warps with groups of environments.
template <class Env, bool RELU, class W> MM_DEVICE void roll_out(W &S) {
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const mm_cuda_agent &agent = S.agent;
  for (int i = tid; i < agent.n_row; i += W::THREADS) {
    const uint64_t step = (uint64_t)agent.iteration * agent.n_step + i / agent.n_env;
    const mm_stream stream =
        mm_stream_make(agent.seed, agent.repeat, MM_RNG_ACTION, (uint32_t)(i % agent.n_env));
    const mm_block b = mm_stream_block(stream, step / 4);
    const uint32_t q = step % 4;
    const uint32_t word = q < 2 ? (q == 0 ? b.word[0] : b.word[1]) : (q == 2 ? b.word[2] : b.word[3]);
    S.batch.policy[i] = __uint_as_float(word);
  }
  __syncthreads();
  double metric = 0, finished_sum = 0;
  int finished = 0;
  for (int first = 8 * warp; first < agent.n_env; first += 8 * W::WARPS)
    roll_out_group<Env, RELU>(S, first, lane, &metric, &finished_sum, &finished);
  if (lane == 0) {
    S.metric[warp] = metric;
    S.finished_sum[warp] = finished_sum;
    S.finished[warp] = finished;
  }
  __syncthreads();
}

template <class W> MM_DEVICE void report(W &S, mm_cuda_report *to) {
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

template <bool RELU, class W> MM_DEVICE void estimate_values(W &S) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int rows = S.agent.n_row + S.agent.n_env;
  const float *w3 = S.small + W::W3 + W::A * H + 2 * t;
  const float b3 = S.small[W::B3 + W::A];
#pragma unroll 1
  for (int first = 16 * warp; first < rows; first += 16 * W::WARPS) {
    const int a = first + g < rows ? first + g : rows - 1;
    const int b = first + g + 8 < rows ? first + g + 8 : rows - 1;
    float xa[W::D], xb[W::D], sum[8][4], upper = 0, lower = 0;
    uint32_t h1[4][4];
    load_row(S, (uint32_t)a, xa);
    load_row(S, (uint32_t)b, xb);
    forward<RELU, false>(S, CRITIC, xa, xb, lane, nullptr, h1, sum);
#pragma unroll
    for (int n = 0; n < 8; n++) {
      const float2 w = *reinterpret_cast<const float2 *>(w3 + 8 * n);
      upper = fmaf(activate<RELU>(sum[n][0]), w.x, fmaf(activate<RELU>(sum[n][1]), w.y, upper));
      lower = fmaf(activate<RELU>(sum[n][2]), w.x, fmaf(activate<RELU>(sum[n][3]), w.y, lower));
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
template <class W> MM_DEVICE void estimate_advantages(W &S) {
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
  if (threadIdx.x == 0)
    S.shuffle = mm_shuffle_make(mm_stream_make(agent.seed, agent.repeat, MM_RNG_SHUFFLE, 0), epoch,
                                (uint32_t)agent.n_row);
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

// Rows first .. of the minibatch's n rows; leaves h1, d2, d1 and x in shared memory, and this warp's
// part of the output layer's gradient, added to what is there if MORE.
template <bool RELU, class W>
MM_DEVICE void through_tile(W &S, const uint32_t *rows, int n, int first, float mean, float scale,
                            bool more) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM, ra = 16 * w + g, rb = ra + 8;
  const uint32_t ia = rows[first + ra < n ? first + ra : n - 1];
  const uint32_t ib = rows[first + rb < n ? first + rb : n - 1];
  __half *h1s = S.h1[net] + 16 * w * HALF_ROW, *hds = S.hd[net] + 16 * w * HALF_ROW;
  __half *d2s = S.d2[net] + 16 * w * HALF_ROW;
  uint32_t h1[4][4], d2[4][4];
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
    forward<RELU, true>(S, net, xa, xb, lane, h1s, h1, sum);
  }
  // outputs; `sum` becomes the outputs' weights times the activation's slope
  const int aa = net == ACTOR ? S.batch.action[ia] : 0, ab = net == ACTOR ? S.batch.action[ib] : 0;
  const float *w3 = S.small + W::W3 + net * W::A * H + 2 * t;
  float ya = 0, yb = 0;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const float2 wa = *reinterpret_cast<const float2 *>(w3 + aa * H + 8 * k);
    const float2 wb = *reinterpret_cast<const float2 *>(w3 + ab * H + 8 * k);
    const float h0 = activate<RELU>(sum[k][0]), h1_ = activate<RELU>(sum[k][1]);
    const float h2 = activate<RELU>(sum[k][2]), h3 = activate<RELU>(sum[k][3]);
    ya = fmaf(h0, wa.x, fmaf(h1_, wa.y, ya));
    yb = fmaf(h2, wb.x, fmaf(h3, wb.y, yb));
    store_pair(hds + g * HALF_ROW + 8 * k + 2 * t, pack(h0, h1_));
    store_pair(hds + (g + 8) * HALF_ROW + 8 * k + 2 * t, pack(h2, h3));
    sum[k][0] = wa.x * slope_at<RELU>(h0);
    sum[k][1] = wa.y * slope_at<RELU>(h1_);
    sum[k][2] = wb.x * slope_at<RELU>(h2);
    sum[k][3] = wb.y * slope_at<RELU>(h3);
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
        (((lane & 7) + ((lane >> 4) << 3)) * HALF_ROW + ((lane >> 3) & 1) * 8) * (int)sizeof(__half);
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
  const uint32_t weights = shared_address(S.w2[net]) +
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
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const float2 upper = unpack(h1[k >> 1][(k & 1) * 2]), lower = unpack(h1[k >> 1][(k & 1) * 2 + 1]);
    store_pair(hds + g * HALF_ROW + 8 * k + 2 * t,
               pack(sum[k][0] * slope_at<RELU>(upper.x), sum[k][1] * slope_at<RELU>(upper.y)));
    store_pair(hds + (g + 8) * HALF_ROW + 8 * k + 2 * t,
               pack(sum[k][2] * slope_at<RELU>(lower.x), sum[k][3] * slope_at<RELU>(lower.y)));
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
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
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
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, t = lane & 3;
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
  const int net = output == W::A ? CRITIC : ACTOR, at = net == CRITIC ? k - W::A * (bias ? 1 : H) : k;
  for (int w = 0; w < W::TEAM; w++)
    sum += bias ? S.part3b[net * W::TEAM + w][at] : S.part3[net * W::TEAM + w][at];
  return sum;
}

template <class W> struct Owned { // Adam's moments of a warp's tiles of w2, by lane
  float m[W::RESIDENT ? W::OWN * 16 : 1], v[W::RESIDENT ? W::OWN * 16 : 1];
};

// Where rows g, g + 8 (half) and columns 8 j + 2t of tile q lie in w2 [NETS][H][H].
template <class W> MM_DEVICE int owned_place(int net, int q, int j, int half, int lane) {
  return (net * H + tile_row(q) + (lane >> 2) + 8 * half) * H + tile_column(q) + 8 * j + 2 * (lane & 3);
}

// False, and nothing has changed, if the gradient is not finite.
template <class W>
MM_DEVICE bool optimise(W &S, Gradient<W> &g2, Owned<W> &own, int n, mm_cuda_rate rate, int w2_at) {
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
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
  for (int i = 0; i < W::WARPS; i++)
    total += S.total[i];
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
        p.x = adam(p.x, scale * d[0], m + 0, v + 0, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.y = adam(p.y, scale * d[1], m + 1, v + 1, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.z = adam(p.z, scale * d[2], m + 2, v + 2, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.w = adam(p.w, scale * d[3], m + 3, v + 3, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        *at = p;
        __half *to = S.w2[net] + (tile_row(q) + (lane >> 2)) * HALF_ROW + tile_column(q) + 8 * j + 2 * (lane & 3);
        store_pair(to, pack(p.x, p.y));
        store_pair(to + 8 * HALF_ROW, pack(p.z, p.w));
      } else {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          const int place = owned_place<W>(net, q, j, half, lane), at = w2_at + place;
          float2 p = *reinterpret_cast<float2 *>(agent.param + at);
          float2 m = *reinterpret_cast<float2 *>(agent.m + at), v = *reinterpret_cast<float2 *>(agent.v + at);
          const float *d = g2.w2[i][j] + 2 * half;
          p.x = adam(p.x, scale * d[0], &m.x, &v.x, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
          p.y = adam(p.y, scale * d[1], &m.y, &v.y, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
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

template <bool RELU, bool ONE, class W>
MM_DEVICE bool learn_minibatch(W &S, Owned<W> &own, int mb, mm_cuda_rate rate, int w2_at) {
  const int n = minibatch_size(S.agent, mb);
  const uint32_t *rows = S.batch.row + minibatch_first(S.agent, mb);
  const float mean = S.mean[mb % W::WARPS], scale = S.scale[mb % W::WARPS];
  Gradient<W> gradient;
  if (ONE) {
    through_tile<RELU>(S, rows, n, 0, mean, scale, false);
    __syncthreads();
    gradient = Gradient<W>();
    add_gradient(S, &gradient);
  } else {
    gradient = Gradient<W>();
#pragma unroll 1
    for (int first = 0; first < n; first += W::TILE_ROWS) {
      if (first > 0) __syncthreads();
      through_tile<RELU>(S, rows, n, first, mean, scale, first > 0);
      __syncthreads();
      add_gradient(S, &gradient);
    }
  }
  return optimise(S, gradient, own, n, rate, w2_at);
}

} // namespace mm

#endif
