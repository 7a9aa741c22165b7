// A gradient step of one network by one thread block. Errors are scaled by a power of two that
// makes the largest of them about 64, so that halves have digits for all that count. The gradient
// of the second layer, which is nearly all of it, never leaves the registers: its norm must be
// known, the other network's too, before any parameter moves. Whoever holds a number's gradient
// moves it.

#ifndef MM_BACKEND_CUDA_GAUSS_LEARN_CUH
#define MM_BACKEND_CUDA_GAUSS_LEARN_CUH

#include <cuda_bf16.h>

#include "agent/gaussian_objective.h"
#include "backend/cuda_gauss_tile.cuh"

namespace mm {
namespace wide {

enum { ACTOR, CRITIC };

// A part of a minibatch at work.
struct Step {
  const mm_cuda_agent *agent;
  mm_cuda_gauss *gauss;
  float *param, *m, *v, *gradient; // of this network
  mm_cuda_wide_layout l;
  int which;
  int first, n;   // of the minibatch, among the shuffled rows
  int from, rows; // of the tile, among those
  bool add, last; // not the first tile of its minibatch; the last one
  bool measure;   // the divergence of this minibatch
};

// ---------------------------------------------------------------------------------------------
// Time

template <int MT> MM_DEVICE void begin_clock(Work<MT> &S, bool timed) {
  S.timed = timed;
  for (int i = 0; i < MM_CUDA_GAUSS_STAGES; i++)
    S.clocks[i] = 0;
  S.clock = clock64();
}

// The time since the last mark belongs to this stage.
template <int MT> MM_DEVICE void mark(Work<MT> &S, int stage) {
  if (threadIdx.x != 0 || !S.timed) return;
  const int64_t now = clock64();
  S.clocks[stage] += now - S.clock;
  S.clock = now;
}

// ---------------------------------------------------------------------------------------------
// Sums over the block; everybody gets them

template <int MT> MM_DEVICE double block_sum(Work<MT> &S, double x) {
  x = warp_sum(x);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) S.sums[threadIdx.x >> 5] = x;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < WARPS; i++)
    sum += S.sums[i];
  return sum;
}

template <int MT> MM_DEVICE float block_top(Work<MT> &S, float x) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, lanes));
  __syncthreads();
  if ((threadIdx.x & 31) == 0) S.tops[threadIdx.x >> 5] = x;
  __syncthreads();
  float top = 0;
  for (int i = 0; i < WARPS; i++)
    top = fmaxf(top, S.tops[i]);
  return top;
}

// ---------------------------------------------------------------------------------------------
// Rows

// Mean and deviation of the minibatch's advantages.
template <int MT> __device__ __noinline__ void normalise(const Step &s) {
  Work<MT> &S = here<MT>();
  const mm_cuda_agent &a = *s.agent;
  double sum = 0;
  if (!a.normalise) {
    if (threadIdx.x == 0) {
      S.mean = 0;
      S.scale = 1;
    }
    return;
  }
  for (int i = threadIdx.x; i < s.n; i += THREADS)
    sum += (double)a.advantage[mm_shuffle_at(&S.shuffle, (uint32_t)(s.first + i))];
  const double mean = block_sum(S, sum) / s.n;
  sum = 0;
  for (int i = threadIdx.x; i < s.n; i += THREADS) {
    const double d = (double)a.advantage[mm_shuffle_at(&S.shuffle, (uint32_t)(s.first + i))] - mean;
    sum += d * d;
  }
  const double square = block_sum(S, sum);
  if (threadIdx.x == 0) {
    S.mean = (float)mean;
    S.scale = (float)(1 / (sqrt(square / s.n) + 1e-8));
  }
}

template <int MT> __device__ __noinline__ void gather(const Step &s) {
  Work<MT> &S = here<MT>();
  const mm_cuda_agent &a = *s.agent;
  const int i = threadIdx.x;
  if (i < Work<MT>::R) {
    const bool there = i < s.rows;
    const uint32_t row = there ? mm_shuffle_at(&S.shuffle, (uint32_t)(s.first + s.from + i)) : 0;
    S.row[i] = row;
    if (there && s.which == ACTOR) {
      S.policy[i] = a.policy[row];
      S.advantage[i] = a.advantage[row];
    } else if (there) {
      S.value[i] = a.value[row];
      S.target[i] = a.target[row];
    }
  }
  if (s.which == ACTOR && i < s.gauss->n_real)
    S.inverse[i] = mm_exp_f(-log_std_of(s.param[s.l.log_std + i]));
  if (s.which == ACTOR && i == 0)
    S.log_scale = log_scale_of(s.param + s.l.log_std, s.gauss->n_real);
  __syncthreads();
  take_inputs<MT>(S, static_cast<const float *>(a.obs), s.gauss->n_input, s.l.inputs, s.rows,
                  [&](int k) { return S.row[k]; });
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// The actor's loss

// A unit of a neural map, s(y.p) - s(y.q), in single precision throughout.
MM_DEVICE float unit_rise(int block, mm_density_arguments_f y) {
  const float d = y.rise, p = fmaxf(y.p, 0.0f), q = fmaxf(y.q, 0.0f);
  const float e = fminf(y.p, y.q) > 0.0f ? d : p - q;
  switch (block) {
  case 0:
    return d * fmaf(y.p, y.p, fmaf(y.p, y.q, y.q * y.q));
  case 1:
    return e * (p + q);
  case 2: {
    const float sum = sqrtf(p) + sqrtf(q);
    return e / (sum > 0.0f ? sum : 1.0f);
  }
  case 3: {
    const float rp = cbrtf(p), rq = cbrtf(q), sum = fmaf(rp, rp, fmaf(rp, rq, rq * rq));
    return e / (sum > 0.0f ? sum : 1.0f);
  }
  case 4: {
    const float base = (e < 0.0f ? p : q) + (float)MM_LOG_UNIT_OFFSET;
    return copysignf(log1pf(fabsf(e) / base), e);
  }
  default: {
    const float fall = expm1f(-fabsf(d));
    return d < 0.0f ? expf(y.q) * fall : -expf(y.p) * fall;
  }
  }
}

// Units of a neural map: a warp takes some of them through all rows, so that its lanes do the same.
template <int MT> MM_DEVICE void sum_units(Work<MT> &S, const mm_density_f &f, int rows) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  for (int r = lane; r < Work<MT>::R; r += 32) {
    float sum = 0;
    int32_t acted = 0;
    mm_density_pair_f x;
    x.p = S.p[r];
    x.q = S.q[r];
    x.rise = S.rise[r];
    for (int j = warp; j < MM_NEURAL_UNITS && r < rows; j += WARPS)
      if (f.u[j] > 0)
        sum = fmaf(f.u[j],
                   unit_rise(j / MM_BLOCK,
                             mm_density_arguments_of_f(j / MM_BLOCK, f.w[j], f.c[j], x, &acted)),
                   sum);
    S.part[warp * Work<MT>::R + r] = sum;
    if (acted) atomicOr(&S.acted[r], acted);
  }
}

// phi^-1(p) - phi^-1(q) of row r.
template <int MT> MM_DEVICE float rise_of(Work<MT> &S, const mm_density_f &f, int r) {
  int32_t acted = 0;
  float rise;
  if (f.kind == MM_MAP_NEURAL) {
    mm_density_pair_f x;
    x.p = S.p[r];
    x.q = S.q[r];
    x.rise = S.rise[r];
    float sum = mm_density_plain_f(&f, S.log_p[r], S.policy[r], x);
    for (int w = 0; w < WARPS; w++)
      sum += S.part[w * Work<MT>::R + r];
    rise = mm_density_bounded_f(sum, &acted);
  } else {
    rise = mm_density_rise_f(&f, S.log_p[r], S.policy[r], &acted);
  }
  S.acted[r] |= acted;
  return rise;
}

MM_DEVICE float ppo_weight(float clip, float r, float advantage) {
  const float within = r < 1 - clip ? 1 - clip : r > 1 + clip ? 1 + clip : r;
  const float plain = r * advantage, clipped = within * advantage;
  return plain <= clipped ? plain : plain > clipped ? 0.0f : NAN;
}

// d(p, q) / q, the integral of (phi^-1(x) - phi^-1(q)) / q from q to p, over log x: Gauss's rule of
// five points on pieces of half a unit. Once in an iteration.
__device__ __noinline__ double divergence(const mm_density_f *f, float log_p, float log_q) {
  const double node[5] = { 0.04691007703066800, 0.23076534494715845, 0.5, 0.76923465505284155,
                           0.95308992296933200 };
  const double weight[5] = { 0.11846344252809454, 0.23931433524968324, 0.28444444444444444,
                             0.23931433524968324, 0.11846344252809454 };
  const double most = MM_DENSITY_EXP;
  double t = (double)log_p - (double)log_q, sum = 0;
  t = t < -most ? -most : t > most ? most : t;
  const int pieces = 1 + (int)(2 * fabs(t));
  int32_t acted = 0;
  for (int i = 0; i < 5 * pieces; i++) {
    const double s = t * ((i / 5) + node[i % 5]) / pieces;
    const float rise = mm_density_rise_f(f, (float)((double)log_q + s), log_q, &acted);
    sum += weight[i % 5] * (double)rise * mm_exp_d(s);
  }
  const double d = sum * t / pieces;
  return d >= 0 && d <= MM_DENSITY_MOST ? d : d < 0 ? 0 : MM_DENSITY_MOST;
}

// What row r pulls log p by.
template <int MT> MM_DEVICE float weight_of(Work<MT> &S, const Step &s, int r) {
  const mm_cuda_gauss &g = *s.gauss;
  const float most = MM_GAUSSIAN_RATIO, log_p = S.log_p[r], log_q = S.policy[r];
  const float delta = log_p - log_q, d = delta < -most ? -most : delta > most ? most : delta;
  const float ratio = mm_exp_f(d), advantage = (S.advantage[r] - S.mean) * S.scale;
  Tally &tally = S.tally[r];
  float weight;
  if (g.ppo)
    weight = ppo_weight(g.clip, ratio, advantage);
  else
    weight = ratio * (s.agent->eta * advantage - rise_of(S, g.density, r));
  if (!g.ppo && !(fabsf(log_p) < INFINITY && fabsf(log_q) < INFINITY)) weight = NAN;
  tally.ratios += (double)ratio;
  tally.squares += (double)ratio * (double)ratio;
  tally.most = fmaxf(tally.most, fabsf(delta));
  tally.samples++;
  tally.clamped += d != delta || (S.acted[r] & MM_DENSITY_CLAMPED) != 0;
  tally.capped += (S.acted[r] & MM_DENSITY_CAPPED) != 0;
  if (s.measure && !g.ppo) {
    tally.gaps += divergence(&g.density, log_p, log_q);
    tally.measured++;
  }
  if (fabsf(weight) < INFINITY) return weight;
  tally.nonfinite++;
  return 0;
}

// Errors of the means, over them, and what the log deviations are to do.
template <int MT> __device__ __noinline__ void lose_actor(const Step &s) {
  Work<MT> &S = here<MT>();
  const mm_cuda_gauss &g = *s.gauss;
  const int r = threadIdx.x, d = g.n_real;
  const float share = 1 / (float)s.n;
  const float *action = g.real + (size_t)(r < s.rows ? S.row[r] : 0) * d;
  if (r < s.rows) {
    S.log_p[r] = log_density(d, S.out + r * A, action, S.inverse, S.log_scale);
    S.acted[r] = 0;
    if (!g.ppo && g.density.kind == MM_MAP_NEURAL) {
      int32_t acted = 0;
      const mm_density_pair_f x = mm_density_pair_of_f(&g.density, S.log_p[r], S.policy[r], &acted);
      S.p[r] = x.p;
      S.q[r] = x.q;
      S.rise[r] = x.rise;
      S.acted[r] = acted;
    }
  }
  __syncthreads();
  if (!g.ppo && g.density.kind == MM_MAP_NEURAL) {
    sum_units(S, g.density, s.rows);
    __syncthreads();
  }
  if (r < Work<MT>::R) {
    const float pull = r < s.rows ? -share * weight_of(S, s, r) : 0.0f;
    for (int k = 0; k < A; k++) {
      float error = 0, bend = 0;
      if (k < d && pull != 0) {
        const float z = (action[k] - S.out[r * A + k]) * S.inverse[k];
        error = pull * z * S.inverse[k];
        bend = pull * fmaf(z, z, -1.0f);
      }
      S.out[r * A + k] = error;
      S.bend[r * A + k] = bend;
    }
  }
}

template <int MT> MM_DEVICE void lose_critic(const Step &s) {
  Work<MT> &S = here<MT>();
  const int r = threadIdx.x;
  const float clip = s.agent->value_clip, slope = s.agent->value_coef / (float)s.n;
  if (r >= Work<MT>::R) return;
  float error = 0;
  if (r < s.rows) {
    const float value = S.out[r * A], old = S.value[r], target = S.target[r], move = value - old;
    const float within = move < -clip ? -clip : move > clip ? clip : move;
    const float e1 = value - target, e2 = old + within - target;
    error = fabsf(move) > clip && e2 * e2 > e1 * e1 ? 0.0f : slope * e1;
  }
  S.out[r * A] = error;
  for (int k = 1; k < A; k++)
    S.out[r * A + k] = 0;
}

// The power of two that brings the largest error to 32 .. 64.
MM_DEVICE float power_for(float top) {
  const int exponent = (int)(mm_bits_f(top) >> 23 & 255) - 127;
  int by = 5 - exponent;
  by = top > 0 && top < INFINITY ? by : 0;
  by = by < -100 ? -100 : by > 100 ? 100 : by;
  return mm_from_bits_f((uint32_t)(by + 127) << 23);
}

// Errors to halves; gradients of the last biases and of the log deviations.
template <int MT> __device__ __noinline__ void spread_errors(const Step &s) {
  Work<MT> &S = here<MT>();
  const int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
  float top = 0;
  __syncthreads();
  for (int i = tid; i < Work<MT>::R * A; i += THREADS)
    top = fmaxf(top, fabsf(S.out[i]));
  const float up = power_for(block_top(S, top));
  if (tid == 0) {
    S.up = up;
    S.down = 1 / up;
  }
  for (int i = tid; i < Work<MT>::R * 16; i += THREADS) {
    const int r = i / 16, k = i % 16;
    S.e[r * E_ROW + k] = __float2half_rn(k < A ? up * S.out[r * A + k] : 0.0f);
  }
  if (warp < A) {
    float sum = 0, bend = 0;
    for (int r = lane; r < Work<MT>::R; r += 32) {
      sum += S.out[r * A + warp];
      if (s.which == ACTOR) bend += S.bend[r * A + warp];
    }
    sum = warp_sum(sum);
    bend = warp_sum(bend);
    if (lane == 0) {
      float *b3 = s.gradient + s.l.b3 + warp, *log_std = s.gradient + s.l.log_std + warp;
      const float x = s.param[s.l.log_std + warp];
      const bool own = s.which == ACTOR && warp < s.gauss->n_real;
      float slope = own ? bend - s.gauss->entropy_coef * (float)s.rows / (float)s.n : 0.0f;
      if (x < MM_NET_LOG_STD_LEAST && slope > 0) slope = 0;
      if (x > MM_NET_LOG_STD_MOST && slope < 0) slope = 0;
      *b3 = (s.add ? *b3 : 0.0f) + sum;
      *log_std = (s.add ? *log_std : 0.0f) + slope;
    }
  }
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Back

// Through the last layer: a warp has 16 units, their part of w3's gradient and of b2's, and their
// errors in place of themselves.
template <int MT> __device__ __noinline__ void through_outputs(const Step &s) {
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int unit = 16 * warp;
  const bool relu = s.agent->relu;
  const float down = S.down, *w3 = s.param + s.l.w3;
  float c[2][4] = { { 0 } };
#pragma unroll 2
  for (int k = 0; k < Work<MT>::TILES; k++) {
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
    const float2 old = s.add ? *to : make_float2(0, 0);
    *to = make_float2(fmaf(down, c[j][0], old.x), fmaf(down, c[j][1], old.y));
    w[j] = pack(w3[2 * t * H + unit + 8 * j + g], w3[(2 * t + 1) * H + unit + 8 * j + g]);
  }
  __syncwarp();
  float sum[2][2] = { { 0 } };
#pragma unroll 2
  for (int m = 0; m < Work<MT>::TILES; m++) {
    uint32_t a[4];
    load_rows(a, S.e + 16 * m * E_ROW, E_ROW, lane);
#pragma unroll
    for (int j = 0; j < 2; j++) {
      float d[4] = { 0, 0, 0, 0 };
      __half *at = S.h2 + (16 * m + g) * ROW + unit + 8 * j + 2 * t;
      multiply(d, a, w[j], 0u);
      const float2 low = unpack(load_pair(at)), high = unpack(load_pair(at + 8 * ROW));
      d[0] *= slope_at<ANY>(relu, low.x);
      d[1] *= slope_at<ANY>(relu, low.y);
      d[2] *= slope_at<ANY>(relu, high.x);
      d[3] *= slope_at<ANY>(relu, high.y);
      store_pair(at, pack(d[0], d[1]));
      store_pair(at + 8 * ROW, pack(d[2], d[3]));
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
      if (g == 0) *to = fmaf(down, x, s.add ? *to : 0.0f);
    }
  }
  __syncthreads();
}

// Errors of the first layer's units, in their place.
template <int MT> __device__ __noinline__ void back(const float *w2, bool relu) {
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
  const int first = (warp & 1) * 16 * MT, unit = (warp >> 1) * 32;
  const float *from = w2 + unit / 16 * SQUARE;
  constexpr int SQUARES = H / 16;
  float c[MT][4][4];
#pragma unroll
  for (int m = 0; m < MT; m++)
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        c[m][j][i] = 0;
  Square next[2] = { load_square(from, lane), load_square(from + SQUARE, lane) };
#pragma unroll 1
  for (int k = 0; k < SQUARES; k++) {
    uint32_t b[4][2];
#pragma unroll
    for (int q = 0; q < 2; q++) {
      b[2 * q][0] = transpose(pack(next[q].low.x, next[q].low.y));
      b[2 * q + 1][0] = transpose(pack(next[q].low.z, next[q].low.w));
      b[2 * q][1] = transpose(pack(next[q].high.x, next[q].high.y));
      b[2 * q + 1][1] = transpose(pack(next[q].high.z, next[q].high.w));
      if (k + 1 < SQUARES) next[q] = load_square(from + ((k + 1) * SQUARES + q) * SQUARE, lane);
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
#pragma unroll
    for (int j = 0; j < 4; j++) {
      __half *at = S.h1 + (first + 16 * m + g) * ROW + unit + 8 * j + 2 * t;
      const float2 low = unpack(load_pair(at)), high = unpack(load_pair(at + 8 * ROW));
      store_pair(at, pack(c[m][j][0] * slope_at<ANY>(relu, low.x),
                          c[m][j][1] * slope_at<ANY>(relu, low.y)));
      store_pair(at + 8 * ROW, pack(c[m][j][2] * slope_at<ANY>(relu, high.x),
                                    c[m][j][3] * slope_at<ANY>(relu, high.y)));
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
  for (int k = 0; k < Work<MT>::TILES; k++) {
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
    if (q >= squares) break;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float4 *to = reinterpret_cast<float4 *>(s.gradient + s.l.w1 + (warp * squares + q) * SQUARE +
                                              h * 128 + lane * 4);
      const float4 old = s.add ? *to : make_float4(0, 0, 0, 0);
      *to = make_float4(fmaf(down, c[q][0][2 * h], old.x), fmaf(down, c[q][0][2 * h + 1], old.y),
                        fmaf(down, c[q][1][2 * h], old.z), fmaf(down, c[q][1][2 * h + 1], old.w));
    }
  }
  __syncthreads();
  layer<MT>(S.x, x_row, squares, s.param + s.l.w1, nullptr, s.agent->relu, S.h1);
  __syncthreads();
}

// ---------------------------------------------------------------------------------------------
// Norm and step

// Tells the other network's block, and hears from it; the actor's is added first.
MM_DEVICE double both_squares(mm_cuda_gauss_word *word, int which, uint64_t step, double own) {
  volatile mm_cuda_gauss_word *mine = word + 2 * which + (step & 1);
  volatile mm_cuda_gauss_word *other = word + 2 * (1 - which) + (step & 1);
  mine->square = own;
  __threadfence();
  mine->step = step;
  while (other->step != step) {
  }
  __threadfence();
  const double its = other->square;
  return which == ACTOR ? own + its : its + own;
}

struct Rates {
  float clip, beta1, rest1, beta2, rest2, rate, epsilon;
};

template <int MODE>
MM_DEVICE void move(const Rates &r, float4 g, float *param, float *m_, float *v_) {
  float4 p = *reinterpret_cast<float4 *>(param), m, v;
  if (MODE & 1) {
    m = __ldcs(reinterpret_cast<float4 *>(m_));
    v = __ldcs(reinterpret_cast<float4 *>(v_));
  } else {
    m = __ldcg(reinterpret_cast<float4 *>(m_));
    v = __ldcg(reinterpret_cast<float4 *>(v_));
  }
  p.x = adam(p.x, r.clip * g.x, &m.x, &v.x, r.beta1, r.rest1, r.beta2, r.rest2, r.rate, r.epsilon);
  p.y = adam(p.y, r.clip * g.y, &m.y, &v.y, r.beta1, r.rest1, r.beta2, r.rest2, r.rate, r.epsilon);
  p.z = adam(p.z, r.clip * g.z, &m.z, &v.z, r.beta1, r.rest1, r.beta2, r.rest2, r.rate, r.epsilon);
  p.w = adam(p.w, r.clip * g.w, &m.w, &v.w, r.beta1, r.rest1, r.beta2, r.rest2, r.rate, r.epsilon);
  *reinterpret_cast<float4 *>(param) = p;
  if (MODE & 1) {
    __stcs(reinterpret_cast<float4 *>(m_), m);
    __stcs(reinterpret_cast<float4 *>(v_), v);
  } else {
    __stcg(reinterpret_cast<float4 *>(m_), m);
    __stcg(reinterpret_cast<float4 *>(v_), v);
  }
}

MM_DEVICE uint32_t pack_wide(float low, float high) {
  __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&x);
}

MM_DEVICE float2 unpack_wide(uint32_t x) {
  return make_float2(__uint_as_float(x << 16), __uint_as_float(x & 0xffff0000u));
}

MM_DEVICE float square_of(float4 x) {
  return x.x * x.x + x.y * x.y + (x.z * x.z + x.w * x.w);
}

// Gradient of the second layer; with the last tile of a minibatch the norm, and all parameters
// move. False: the norm is not finite.
template <int MT, int MODE>
__device__ __noinline__ bool second_layer(const Step &s, uint64_t step, mm_cuda_rate rate) {
  Work<MT> &S = here<MT>();
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int out = 4 * (warp >> 2), in = 4 * (warp & 3); // first squares of 4 by 4
  const float up = S.up, down = S.down;
  uint32_t kept[2][4][2][4]; // pairs
  float square = 0;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float c[4][4][4];
#pragma unroll
    for (int m = 0; m < 4; m++) {
#pragma unroll
      for (int q = 0; q < 2; q++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const size_t at = ((out + m) * 16 + in + 2 * half + q) * SQUARE + h * 128 + lane * 4;
          const float4 old =
              s.add ? *reinterpret_cast<const float4 *>(s.gradient + at) : make_float4(0, 0, 0, 0);
          c[m][2 * q][2 * h] = up * old.x;
          c[m][2 * q][2 * h + 1] = up * old.y;
          c[m][2 * q + 1][2 * h] = up * old.z;
          c[m][2 * q + 1][2 * h + 1] = up * old.w;
        }
      }
    }
#pragma unroll 1
    for (int k = 0; k < Work<MT>::TILES; k++) {
      uint32_t b[2][4];
#pragma unroll
      for (int q = 0; q < 2; q++)
        load_columns(b[q], S.h1 + 16 * k * ROW + 16 * (in + 2 * half + q), ROW, lane);
#pragma unroll
      for (int m = 0; m < 4; m++) {
        uint32_t a[4];
        load_rows_transposed(a, S.h2 + 16 * k * ROW + 16 * (out + m), ROW, lane);
#pragma unroll
        for (int j = 0; j < 4; j++)
          multiply(c[m][j], a, b[j >> 1][2 * (j & 1)], b[j >> 1][2 * (j & 1) + 1]);
      }
    }
#pragma unroll
    for (int m = 0; m < 4; m++) {
#pragma unroll
      for (int q = 0; q < 2; q++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const float4 g =
              make_float4(down * c[m][2 * q][2 * h], down * c[m][2 * q][2 * h + 1],
                          down * c[m][2 * q + 1][2 * h], down * c[m][2 * q + 1][2 * h + 1]);
          const size_t at = ((out + m) * 16 + in + 2 * half + q) * SQUARE + h * 128 + lane * 4;
          square += square_of(g);
          kept[half][m][q][2 * h] = pack_wide(g.x, g.y);
          kept[half][m][q][2 * h + 1] = pack_wide(g.z, g.w);
          if (!s.last) *reinterpret_cast<float4 *>(s.gradient + at) = g;
        }
      }
    }
  }
  if (!s.last) {
    __syncthreads();
    return true;
  }
  for (int i = s.l.w1 + 4 * threadIdx.x; i < s.l.size; i += 4 * THREADS)
    square += square_of(*reinterpret_cast<const float4 *>(s.gradient + i));
  const double own = block_sum(S, (double)square);
  mark(S, MM_CUDA_GAUSS_LAYER2);
  if (threadIdx.x == 0) S.total = both_squares(s.gauss->word, s.which, step, own);
  __syncthreads();
  mark(S, MM_CUDA_GAUSS_WAIT);
  const double norm = sqrt(S.total);
  if (!(norm < INFINITY)) return false;
  const mm_cuda_agent &a = *s.agent;
  const Rates r = { norm >= (double)a.max_grad_norm ? (float)((double)a.max_grad_norm / norm)
                                                    : 1.0f,
                    a.beta1,
                    a.rest1,
                    a.beta2,
                    a.rest2,
                    rate.rate,
                    rate.epsilon };
#pragma unroll
  for (int half = 0; half < 2; half++) {
#pragma unroll
    for (int m = 0; m < 4; m++) {
#pragma unroll
      for (int q = 0; q < 2; q++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const size_t at = ((out + m) * 16 + in + 2 * half + q) * SQUARE + h * 128 + lane * 4;
          const float2 low = unpack_wide(kept[half][m][q][2 * h]);
          const float2 high = unpack_wide(kept[half][m][q][2 * h + 1]);
          move<MODE>(r, make_float4(low.x, low.y, high.x, high.y), s.param + at, s.m + at,
                     s.v + at);
        }
      }
    }
  }
  for (int i = s.l.w1 + 4 * threadIdx.x; i < s.l.size; i += 4 * THREADS)
    move<MODE>(r, *reinterpret_cast<const float4 *>(s.gradient + i), s.param + i, s.m + i, s.v + i);
  __syncthreads();
  mark(S, MM_CUDA_GAUSS_ADAM);
  return true;
}

// ---------------------------------------------------------------------------------------------

// One gradient step; false: its gradient is not finite.
template <int MT, int MODE>
MM_DEVICE bool learn_minibatch(Step &s, uint64_t step, mm_cuda_rate rate) {
  Work<MT> &S = here<MT>();
  bool finite = true;
  if (s.which == ACTOR) normalise<MT>(s);
#pragma unroll 1
  for (s.from = 0; s.from < s.n; s.from += Work<MT>::R) {
    s.rows = s.n - s.from < Work<MT>::R ? s.n - s.from : Work<MT>::R;
    s.add = s.from > 0;
    s.last = s.from + s.rows == s.n;
    gather<MT>(s);
    mark(S, MM_CUDA_GAUSS_GATHER);
    forward<MT>(s.param, s.gauss->n_input, s.agent->relu);
    mark(S, MM_CUDA_GAUSS_FORWARD);
    if (s.which == ACTOR)
      lose_actor<MT>(s);
    else
      lose_critic<MT>(s);
    spread_errors<MT>(s);
    mark(S, MM_CUDA_GAUSS_LOSS);
    through_outputs<MT>(s);
    back<MT>(s.param, s.agent->relu);
    mark(S, MM_CUDA_GAUSS_BACK);
    first_layer<MT>(s);
    mark(S, MM_CUDA_GAUSS_LAYER1);
    finite = second_layer<MT, MODE>(s, step, rate);
  }
  return finite;
}

// An account of the iteration, by the first warp.
template <int MT> MM_DEVICE void account(Work<MT> &S, mm_cuda_gauss_report *out) {
  double ratios = 0, squares = 0, gaps = 0;
  float most = 0;
  uint32_t count[5] = { 0, 0, 0, 0, 0 };
  for (int r = threadIdx.x; r < Work<MT>::R; r += 32) {
    const Tally &t = S.tally[r];
    ratios += t.ratios;
    squares += t.squares;
    gaps += t.gaps;
    most = fmaxf(most, t.most);
    count[0] += t.samples;
    count[1] += t.clamped;
    count[2] += t.capped;
    count[3] += t.nonfinite;
    count[4] += t.measured;
  }
  ratios = warp_sum(ratios);
  squares = warp_sum(squares);
  gaps = warp_sum(gaps);
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, lanes));
  for (int i = 0; i < 5; i++)
    count[i] = __reduce_add_sync(ALL_LANES, count[i]);
  if (threadIdx.x != 0) return;
  out->ratios = ratios;
  out->squares = squares;
  out->max_delta = (double)most;
  out->gaps = gaps;
  out->samples = count[0];
  out->clamped = count[1];
  out->capped = count[2];
  out->nonfinite = count[3];
  out->measured = count[4];
}

// All epochs of iteration number `turn` of the launch; block 2 i has the actor of agent i, block
// 2 i + 1 its critic. All blocks are on the device at the same time.
template <int MT, int MODE>
__global__ void __launch_bounds__(THREADS, 1)
    learn(mm_cuda_agent *agents, int turn, int64_t *clocks) {
  mm_cuda_agent &a = agents[blockIdx.x / 2];
  mm_cuda_gauss *gauss = static_cast<mm_cuda_gauss *>(a.scratch);
  if constexpr (!rows_are_compiled<MT>()) {
    if (threadIdx.x == 0) a.broken = MM_CUDA_NOT_COMPILED;
    return;
  }
  if (!gauss->active || a.broken) return;
  Work<MT> &S = here<MT>();
  Step s;
  s.agent = &a;
  s.gauss = gauss;
  s.which = blockIdx.x % 2;
  s.l = mm_cuda_wide_layout_of(gauss->n_input);
  s.param = a.param + s.which * s.l.size;
  s.m = a.m + s.which * s.l.size;
  s.v = a.v + s.which * s.l.size;
  s.gradient = gauss->gradient + s.which * s.l.size;
  if (threadIdx.x < Work<MT>::R) S.tally[threadIdx.x] = Tally{};
  if (threadIdx.x == 0) begin_clock(S, clocks != nullptr);
  const mm_stream stream = mm_stream_make(a.seed, a.repeat, MM_RNG_SHUFFLE, 0);
  const uint64_t steps = (uint64_t)a.epochs * (uint64_t)a.minibatches;
  const mm_cuda_rate *rate = a.rate + (size_t)turn * steps;
  bool finite = true;
#pragma unroll 1
  for (int epoch = 0; epoch < a.epochs && finite; epoch++) {
    __syncthreads();
    if (threadIdx.x == 0)
      S.shuffle = mm_shuffle_make(stream, (uint64_t)a.iteration * (uint64_t)a.epochs + epoch,
                                  (uint32_t)a.n_row);
    __syncthreads();
    s.first = 0;
#pragma unroll 1
    for (int mb = 0; mb < a.minibatches && finite; mb++) {
      const int done = epoch * a.minibatches + mb;
      s.measure = done + 1 == a.epochs * a.minibatches;
      s.n = a.n_row / a.minibatches + (mb < a.n_row % a.minibatches);
      finite = learn_minibatch<MT, MODE>(s, (uint64_t)a.iteration * steps + done + 1, rate[done]);
      s.first += s.n;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0 && clocks)
    for (int i = 0; i < MM_CUDA_GAUSS_STAGES; i++) {
      int64_t *to = clocks + blockIdx.x * MM_CUDA_GAUSS_STAGES + i;
      *to = (turn > 0 ? *to : 0) + S.clocks[i];
    }
  if (s.which != ACTOR || threadIdx.x >= 32) return;
  account(S, gauss->report + turn);
  if (threadIdx.x == 0 && !finite) a.broken = MM_CUDA_NOT_FINITE;
}

} // namespace wide
} // namespace mm

#endif
