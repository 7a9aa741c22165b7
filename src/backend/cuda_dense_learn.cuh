// Learning: values and advantages, tiles of rows forward and back, gradients, Adam.

#ifndef MM_BACKEND_CUDA_DENSE_LEARN_CUH
#define MM_BACKEND_CUDA_DENSE_LEARN_CUH

#include "backend/cuda_dense_minibatch.cuh"

namespace mm {

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
    float sum[8][4], upper = 0, lower = 0;
    forward<ACT, false, false>(S, CRITIC, S.batch.obs[4 * a + t], S.batch.obs[4 * b + t], lane, 0,
                               sum, [] {});
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

// Advantages of an environment backwards through time, from one-step errors in their place. Several
// at a time, since only the sum itself has to wait for the step before.
template <class W> MM_DEVICE void sum_errors(const W &S, int e) {
  enum { SIDE = 16 };
  const int n = S.agent.n_env, n_step = S.agent.n_step;
  const float decay = S.agent.gamma * S.agent.gae_lambda;
  float advantage = 0;
#pragma unroll 1
  for (int last = n_step - 1; last >= 0; last -= SIDE) {
    float error[SIDE], keep[SIDE];
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
      const int i = max(last - k, 0) * n + e;
      error[k] = S.batch.advantage[i];
      keep[k] = S.batch.end[i] ? 0.0f : decay;
    }
#pragma unroll
    for (int k = 0; k < SIDE; k++) {
      advantage = fmaf(keep[k], advantage, error[k]);
      if (k <= last) S.batch.advantage[(last - k) * n + e] = advantage;
    }
  }
}

// Advantages, the regression targets of the critic and what the rollout left of the actor's.
template <class W> __device__ __noinline__ void estimate_advantages() {
  W &S = here<W>();
  const mm_cuda_agent &agent = S.agent;
  const Batch &batch = S.batch;
  const int n = agent.n_env;
  for (int i = threadIdx.x; i < agent.n_row; i += W::THREADS) {
    const float alive = batch.end[i] ? 0.0f : 1.0f;
    batch.advantage[i] =
        fmaf(agent.gamma * alive, batch.value[i + n], batch.reward[i]) - batch.value[i];
    batch.policy[i] = __fdividef(fmaxf(batch.policy[i], agent.floor), agent.eta) - agent.center;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < n; e += W::THREADS)
    sum_errors(S, e);
  __syncthreads();
  for (int i = threadIdx.x; i < agent.n_row; i += W::THREADS)
    batch.reward[i] = batch.advantage[i] + batch.value[i];
  if (threadIdx.x < 32) {
    float sum = 0;
    for (int i = threadIdx.x; i < agent.n_row; i += 32)
      sum += batch.advantage[i];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) S.center = sum / (float)agent.n_row;
  }
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// One tile forward and back

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
  const float old = goal.first, target = goal.second, move = output - old;
  const float within = fminf(fmaxf(move, -agent.value_clip), agent.value_clip);
  const float e1 = output - target, e2 = old + within - target;
  const bool clipped = fabsf(move) > agent.value_clip && e2 * e2 > e1 * e1;
  return net == ACTOR ? actor : clipped ? 0.0f : agent.value_coef * e1;
}

// Where warp w of a network puts what it adds to the weights of an output.
template <class W> MM_DEVICE int part3_row(int net, int w, int output) {
  return net == ACTOR ? w * W::A + output : W::TEAM * W::A + w;
}

// Rows first .. of the minibatch's n rows, the epoch's from `begin` on; leaves h1, d2, d1 and x in
// shared memory, and this warp's part of the output layer's gradient, added to what is there if
// MORE.
template <int ACT, class W>
MM_DEVICE void through_tile(W &S, int behind, int begin, int n, int first, float mean, float scale,
                            bool more) {
  const bool relu = ACT == ANY && S.agent.relu;
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM, ra = 16 * w + g, rb = ra + 8;
  const uint32_t ia = row_of(S, behind, begin + (first + ra < n ? first + ra : n - 1));
  const uint32_t ib = row_of(S, behind, begin + (first + rb < n ? first + rb : n - 1));
  const uint32_t h1s = shared_address(S.h1[net]) + w * WIDE_DOWN;
  const uint32_t hds = shared_address(S.hd[net]) + w * WIDE_DOWN;
  const uint32_t d2s = shared_address(S.d2[net]) + w * NARROW_DOWN;
  int aa, ab;
  Goal goal_a, goal_b;
  uint32_t d2[4][4];
  float sum[8][4];
  {
    const uint2 a = S.batch.obs[(size_t)4 * ia + t], b = S.batch.obs[(size_t)4 * ib + t];
    __half *x = S.x[net] + 2 * t * W::X_ROW + ra;
    const __half2 xa = *reinterpret_cast<const __half2 *>(&a.x);
    const __half2 xb = *reinterpret_cast<const __half2 *>(&b.x);
    x[0] = __low2half(xa);
    x[W::X_ROW] = __high2half(xa);
    x[8] = __low2half(xb);
    x[W::X_ROW + 8] = __high2half(xb);
    forward<ACT, true, W::GROUPS>(S, net, a, b, lane, h1s + wide_plain(lane), sum, [&] {
      aa = net == ACTOR ? S.batch.action[ia] : 0;
      ab = net == ACTOR ? S.batch.action[ib] : 0;
      goal_a = goal_of(S, net, ia);
      goal_b = goal_of(S, net, ib);
    });
  }
  // outputs; d2 first has the outputs' weights times the activation's slope
  const float *w3 = S.w3 + net * W::A * W::W3_ROW + 2 * t;
  float ya = 0, yb = 0;
  uint32_t h2[4][4];
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const float2 wa = *reinterpret_cast<const float2 *>(w3 + aa * W::W3_ROW + 8 * k);
    const float2 wb = *reinterpret_cast<const float2 *>(w3 + ab * W::W3_ROW + 8 * k);
    const float a0 = activate<ACT>(relu, sum[k][0]), a1 = activate<ACT>(relu, sum[k][1]);
    const float b0 = activate<ACT>(relu, sum[k][2]), b1 = activate<ACT>(relu, sum[k][3]);
    ya = fmaf(a0, wa.x, fmaf(a1, wa.y, ya));
    yb = fmaf(b0, wb.x, fmaf(b1, wb.y, yb));
    uint32_t *both = h2[k >> 1] + (k & 1) * 2, *to = d2[k >> 1] + (k & 1) * 2;
    both[0] = pack(a0, a1);
    both[1] = pack(b0, b1);
    to[0] = times_pair(pack(wa.x, wa.y), slopes_at<ACT>(relu, both[0]));
    to[1] = times_pair(pack(wb.x, wb.y), slopes_at<ACT>(relu, both[1]));
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    store_matrices((hds + wide_plain(lane)) ^ right(k), h2[k]);
  const float *b3 = S.small + W::B3 + net * W::A;
  ya = row_sum(ya) + b3[aa];
  yb = row_sum(yb) + b3[ab];
  // 0 for rows behind the end
  const float error_a = error_of(S, net, goal_a, ya, mean, scale);
  const float error_b = error_of(S, net, goal_b, yb, mean, scale);
  const float ea = first + ra < n ? error_a : 0.0f, eb = first + rb < n ? error_b : 0.0f;
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
    store_matrices((d2s + half + narrow_plain(lane)) ^ right(k & 1), d2[k]);
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
    const uint32_t from = hds + wide_turned(lane);
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
          if (2 * t + i < (net == ACTOR ? (int)W::A : 1)) {
            float *to = S.part3[part3_row<W>(net, w, 2 * t + i)] + 32 * half + 16 * m + g;
            to[0] = more ? to[0] + c[i] : c[i];
            to[8] = more ? to[8] + c[2 + i] : c[2 + i];
          }
        }
      }
    }
    __syncwarp();
  }
  // d1 takes the place of h2
  if (!W::GROUPS) {
#pragma unroll
    for (int k = 0; k < 8; k++)
      sum[k][0] = sum[k][1] = sum[k][2] = sum[k][3] = 0;
    const uint32_t weights = shared_address(S.w2[net]) + wide_turned(lane);
#pragma unroll
    for (int k = 0; k < 4; k++) {
#pragma unroll
      for (int m = 0; m < 4; m++) {
        uint32_t b[4];
        load_matrices(b, (weights + m * WIDE_DOWN) ^ right(k));
        multiply(sum[2 * m], d2[k], b[0], b[1]);
        multiply(sum[2 * m + 1], d2[k], b[2], b[3]);
      }
    }
  }
  // h1 comes back from shared memory: registers are what is short here
  const uint32_t place = wide_plain(lane);
  uint32_t h[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    if (k == 1 && W::GROUPS) end_products<8>(sum);
    load_matrices(h[k], (h1s + place) ^ right(k));
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float *pair = sum[2 * k + (i >> 1)] + 2 * (i & 1);
      h[k][i] = times_pair(pack(pair[0], pair[1]), slopes_at<ACT>(relu, h[k][i]));
    }
    store_matrices((hds + place) ^ right(k), h[k]);
  }
  publish_operands();
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
      for (int k = 0; k < W::TEAM; k++) {
        uint32_t a[4], b[4], c[4];
        load_transposed(a, h1 + k * WIDE_DOWN);
        load_transposed(b, d2 + k * NARROW_DOWN);
        load_transposed(c, (d2 + k * NARROW_DOWN) ^ right(1));
        multiply(to->w2[i][0], a, b[0], b[1]);
        multiply(to->w2[i][1], a, b[2], b[3]);
        multiply(to->w2[i][2], a, c[0], c[1]);
        multiply(to->w2[i][3], a, c[2], c[3]);
      }
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

// ---------------------------------------------------------------------------------------------
// The optimiser

// Of w1, b1 and b2.
template <class W> MM_DEVICE float *side_gradient(W &S) {
  return W::RESIDENT ? S.soon : S.late;
}

// Gradients of w1, b1 and b2 to where their owners look.
template <class W> MM_DEVICE void spread_side(W &S, const Gradient<W> &from) {
  const int tid = this_thread(), lane = tid & 31, warp = tid >> 5, g = lane >> 2, t = lane & 3;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  float *to = side_gradient(S);
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i, unit = net * H + tile_row(q) + g;
#pragma unroll
    for (int c = 0; c < 2; c++) {
      const int input = 2 * t + c;
      const float upper = from.side[i][c], lower = from.side[i][2 + c];
      if (q >> 2 == 0 && input <= W::D) {
        to[input * NETS * H + unit] = upper;
        to[input * NETS * H + unit + 8] = lower;
      } else if (q >> 2 == 1 && input == W::D) {
        to[W::B2 + unit] = upper;
        to[W::B2 + unit + 8] = lower;
      }
    }
  }
}

// Its squares. Of the second half of the tiles only the column of ones belongs to the gradient.
template <class W> MM_DEVICE float side_square(const Gradient<W> &g) {
  const int tid = this_thread(), lane = tid & 31, w = (tid >> 5) % W::TEAM, t = lane & 3;
  float square = 0;
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
    const int q = w + W::TEAM * i;
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const int input = 2 * t + (c & 1);
      const bool counts = q >> 2 ? input == W::D : input <= W::D;
      const float x = counts ? g.side[i][c] : 0.0f;
      square = fmaf(x, x, square);
    }
  }
  return square;
}

// Gradient of w3 or b3, parameter i >= W3.
template <class W> MM_DEVICE float output_gradient(const W &S, int i) {
  float sum = 0;
  const bool bias = i >= W::B3;
  const int k = bias ? i - W::B3 : i - W::W3, output = bias ? k : k / H;
  if (output > W::A) return 0; // what fills up b3
  const int net = output == W::A ? CRITIC : ACTOR, at = net == CRITIC ? 0 : output;
  for (int w = 0; w < W::TEAM; w++)
    sum += bias ? S.part3b[net * W::TEAM + w][at] : S.part3[part3_row<W>(net, w, at)][k % H];
  return sum;
}

// A thread's k-th small parameter is one.
template <class W> MM_DEVICE bool is_small(int tid, int k) {
  return (k + 1) * W::THREADS <= W::SMALL || tid + k * W::THREADS < W::SMALL;
}

template <class W> struct Owned {       // Adam's moments of a warp's tiles of w2, by lane
  float m[W::OWN * 16], v[W::OWN * 16]; // of no use where w2 is not resident
};

// Where rows g, g + 8 (half) and columns 8 j + 2t of tile q lie in w2 [NETS][H][H].
template <class W> MM_DEVICE int owned_place(int net, int q, int j, int half, int lane) {
  return (net * H + tile_row(q) + (lane >> 2) + 8 * half) * H + tile_column(q) + 8 * j +
         2 * (lane & 3);
}

// share: of a row in the mean; step: of Adam, in this iteration. False, and nothing has changed, if
// the gradient is not finite.
template <class W>
MM_DEVICE bool optimise(W &S, const Gradient<W> &g2, Owned<W> &own, float share, int step,
                        int w2_at) {
  const int tid = this_thread() & (W::THREADS - 1), lane = tid & 31, warp = tid >> 5;
  const int net = warp / W::TEAM, w = warp % W::TEAM;
  const mm_cuda_agent &agent = S.agent;
  float small[W::EACH], square = side_square(g2);
  if (!W::RESIDENT) __syncthreads(); // h1 and d2 have been read
  spread_side(S, g2);
#pragma unroll
  for (int k = 0; k < W::EACH; k++) {
    const int i = tid + k * W::THREADS;
    small[k] = 0;
    if ((k + 1) * W::THREADS > W::W3 && i >= W::W3 && i < W::SMALL)
      small[k] = output_gradient(S, i);
    square = fmaf(small[k], small[k], square);
  }
#pragma unroll
  for (int i = 0; i < W::OWN; i++) {
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const float x = g2.w2[i][j >> 2][j & 3];
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
  const float norm = fast_sqrt(total) * share;
  if (!(norm < INFINITY)) return false;
  const float clip = norm >= agent.max_grad_norm ? __fdividef(agent.max_grad_norm, norm) : 1.0f;
  const float scale = clip * share, beta1 = agent.beta1, beta2 = agent.beta2;
  const float rest1 = agent.rest1 * scale, rest2 = agent.rest2 * scale * scale;
  const mm_cuda_rate rate = S.rate[step & 1];
  // no branches here, so that each of the steps below hides what the others wait for
#pragma unroll
  for (int k = 0; k < W::EACH; k++) {
    const bool mine = is_small<W>(tid, k);
    const int i = mine ? tid + k * W::THREADS : tid; // or one that is its own, for nothing
    if (k * W::THREADS < W::W3 && i < W::W3) small[k] = side_gradient(S)[i];
    float2 mv = S.moments[i];
    small[k] = adam(S.small[i], small[k], &mv.x, &mv.y, beta1, rest1, beta2, rest2, rate.rate,
                    rate.epsilon);
    if (mine) S.moments[i] = mv;
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
        p.x = adam(p.x, d[0], m + 0, v + 0, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.y = adam(p.y, d[1], m + 1, v + 1, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.z = adam(p.z, d[2], m + 2, v + 2, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        p.w = adam(p.w, d[3], m + 3, v + 3, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
        *at = p;
        __half *to = S.w2[net] +
                     wide_place(tile_row(q) + (lane >> 2), tile_column(q) + 8 * j + 2 * (lane & 3));
        store_pair(to, pack(p.x, p.y));
        store_pair(to + 8 * WIDE_ROW, pack(p.z, p.w));
      } else {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          const int place = owned_place<W>(net, q, j, half, lane), at = w2_at + place;
          float2 p = *reinterpret_cast<float2 *>(agent.param + at);
          float2 m = *reinterpret_cast<float2 *>(agent.m + at),
                 v = *reinterpret_cast<float2 *>(agent.v + at);
          const float *d = g2.w2[i][j] + 2 * half;
          p.x = adam(p.x, d[0], &m.x, &v.x, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
          p.y = adam(p.y, d[1], &m.y, &v.y, beta1, rest1, beta2, rest2, rate.rate, rate.epsilon);
          *reinterpret_cast<float2 *>(agent.param + at) = p;
          *reinterpret_cast<float2 *>(agent.m + at) = m;
          *reinterpret_cast<float2 *>(agent.v + at) = v;
          store_pair(S.w2[net] + wide_place(place / H % H, place % H), pack(p.x, p.y));
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < W::EACH; k++)
    if (is_small<W>(tid, k)) refresh_small(S, (unsigned)(tid + k * W::THREADS), small[k]);
  publish_operands();
  if (tid == 0) wait_copies<0>(); // see fetch_rate
  __syncthreads();
  return true;
}

// The rate of step `step` of the iteration, on the side; known when the step before has ended.
template <class W> MM_DEVICE void fetch_rate(W &S, int step) {
  static_assert(sizeof(mm_cuda_rate) == 8, "copied as one");
  if (threadIdx.x != 0) return;
  copy8(&S.rate[step & 1], S.next_rate++);
  end_copies();
}

// ---------------------------------------------------------------------------------------------
// Iterations

// at: where its statistics are.
template <int ACT, bool ONE, class W>
MM_DEVICE bool learn_minibatch(W &S, Owned<W> &own, int behind, int mb, int at, int step, int w2_at,
                               bool timed) {
  const int n = minibatch_size(S, mb);
  const int begin = minibatch_first(S, mb);
  const float mean = S.mean[at], scale = S.scale[at];
  Gradient<W> gradient;
  if (ONE) {
    through_tile<ACT>(S, behind, begin, n, 0, mean, scale, false);
    mark(S, timed, MM_CUDA_DENSE_TILE);
    __syncthreads();
    mark(S, timed, MM_CUDA_DENSE_WAIT);
    gradient = Gradient<W>();
    add_gradient(S, &gradient);
    mark(S, timed, MM_CUDA_DENSE_GRADIENT);
  } else {
    gradient = Gradient<W>();
#pragma unroll 1
    for (int first = 0; first < n; first += W::TILE_ROWS) {
      if (first > 0) __syncthreads();
      through_tile<ACT>(S, behind, begin, n, first, mean, scale, first > 0);
      mark(S, timed, MM_CUDA_DENSE_TILE);
      __syncthreads();
      mark(S, timed, MM_CUDA_DENSE_WAIT);
      add_gradient(S, &gradient);
      mark(S, timed, MM_CUDA_DENSE_GRADIENT);
    }
  }
  return optimise(S, gradient, own, S.share[at], step, w2_at);
}

} // namespace mm

#endif
