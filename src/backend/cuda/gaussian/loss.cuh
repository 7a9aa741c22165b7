// SPDX-License-Identifier: Apache-2.0
// What rows want of the outputs. Errors are scaled by a power of two that makes the largest of them
// about 64, so that halves have digits for all that count.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_LOSS_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_LOSS_CUH

#include "agent/gaussian_objective.h"
#include "backend/cuda/gaussian/norm.cuh"
#include "backend/cuda/network/loss_scale.h"
#include "laws/losses.h"
#include "laws/update.h"

namespace mm {
namespace gaussian {

// log(1 + x) for x >= 0, by the series of atanh where that is small.
MM_DEVICE float fast_log1p(float x) {
  const float s = __fdividef(x, 2.0f + x), z = s * s;
  const float series = 2.0f * s * fmaf(z, fmaf(z, fmaf(z, 1.0f / 7, 1.0f / 5), 1.0f / 3), 1.0f);
  return x < 0.5f ? series : __logf(1.0f + x);
}

// 1 - exp(-x) for x >= 0.
MM_DEVICE float fast_fall(float x) {
  const float tail = fmaf(x, fmaf(x, fmaf(x, -1.0f / 720, 1.0f / 120), -1.0f / 24), 1.0f / 6);
  const float series = x * fmaf(x, fmaf(x, tail, -0.5f), 1.0f);
  return x < 0.35f ? series : 1.0f - __expf(-x);
}

// A unit of a neural map, s(y.p) - s(y.q), to about six digits.
MM_DEVICE float unit_rise(int block, mm_density_arguments_f y) {
  const float d = y.rise, p = fmaxf(y.p, 0.0f), q = fmaxf(y.q, 0.0f);
  const float e = fminf(y.p, y.q) > 0.0f ? d : p - q;
  switch (block) {
  case 0:
    return d * fmaf(y.p, y.p, fmaf(y.p, y.q, y.q * y.q));
  case 1:
    return e * (p + q);
  case 2: {
    const float sum = fast_sqrt(p) + fast_sqrt(q);
    return __fdividef(e, sum > 0.0f ? sum : 1.0f);
  }
  case 3: {
    const float rp = exp2f(__log2f(p) * (1.0f / 3)), rq = exp2f(__log2f(q) * (1.0f / 3));
    const float sum = fmaf(rp, rp, fmaf(rp, rq, rq * rq));
    return __fdividef(e, sum > 0.0f ? sum : 1.0f);
  }
  case 4: {
    const float base = (e < 0.0f ? p : q) + (float)MM_LOG_UNIT_OFFSET;
    return copysignf(fast_log1p(__fdividef(fabsf(e), base)), e);
  }
  default: {
    const float fall = fast_fall(fabsf(d));
    return d < 0.0f ? -__expf(y.q) * fall : __expf(y.p) * fall;
  }
  }
}

// Units of a neural map: a warp takes some of them through all rows, so that its lanes do the same.
template <int MT>
MM_DEVICE void sum_units(Work<MT> &S, const mm_density_f &f, int low, int high, int rows) {
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  for (int r = low + lane; r < high; r += 32) {
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
    float sum = mm_density_plain_f(&f, S.log_p[r], S.about[r].x, x);
    for (int w = 0; w < WARPS; w++)
      sum += S.part[w * Work<MT>::R + r];
    rise = mm_density_bounded_f(sum, &acted);
  } else {
    rise = mm_density_rise_f(&f, S.log_p[r], S.about[r].x, &acted);
  }
  S.acted[r] |= acted;
  return rise;
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
  const float most = MM_LOG_RATIO_MOST, log_p = S.log_p[r], log_q = S.about[r].x;
  const float delta = log_p - log_q, d = delta < -most ? -most : delta > most ? most : delta;
  const float ratio = mm_exp_f(d), advantage = S.about[r].y;
  Tally &tally = S.tally[r];
  float weight, gain;
  if (g.ppo)
    weight = mm_ppo_weight(ratio, advantage, g.clip, &gain);
  else
    weight = ratio * (s.agent->step.eta * advantage - rise_of(S, S.density, r));
  if (!g.ppo && !(fabsf(log_p) < INFINITY && fabsf(log_q) < INFINITY)) weight = NAN;
  tally.ratios += (double)ratio;
  tally.squares += (double)ratio * (double)ratio;
  tally.most = fmaxf(tally.most, fabsf(delta));
  tally.samples++;
  tally.clamped += d != delta || (S.acted[r] & MM_DENSITY_CLAMPED) != 0;
  tally.capped += (S.acted[r] & MM_DENSITY_CAPPED) != 0;
  if (s.measure && !g.ppo) {
    tally.gaps += divergence(&S.density, log_p, log_q);
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
  const int r = s.low + (int)threadIdx.x, d = g.n_real;
  const bool own = r < s.high;
  const float share = 1 / (float)s.n;
  const float *action = S.action + (own && r < s.rows ? r * A : 0);
  if (own && r < s.rows) {
    S.log_p[r] = mm_log_density(d, S.out + r * A, action, S.inverse, S.log_scale);
    S.acted[r] = 0;
    if (!g.ppo && S.density.kind == MM_MAP_NEURAL) {
      int32_t acted = 0;
      const mm_density_pair_f x =
          mm_density_pair_of_f(&S.density, S.log_p[r], S.about[r].x, &acted);
      S.p[r] = x.p;
      S.q[r] = x.q;
      S.rise[r] = x.rise;
      S.acted[r] = acted;
    }
  }
  __syncthreads();
  if (!g.ppo && S.density.kind == MM_MAP_NEURAL) {
    sum_units(S, S.density, s.low, s.high, s.rows);
    __syncthreads();
  }
  if (own) {
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
  const int r = s.low + (int)threadIdx.x;
  const float clip = s.agent->value_clip, slope = s.agent->value_coef / (float)s.n;
  if (r >= s.high) return;
  float error = 0, loss;
  if (r < s.rows)
    error = slope * mm_value_error(S.out[r * A], S.about[r].z, S.about[r].w, clip, &loss);
  S.out[r * A] = error;
  for (int k = 1; k < A; k++)
    S.out[r * A + k] = 0;
}

// Errors to halves; gradients of the last biases and of the log deviations.
template <int MT> __device__ __noinline__ void spread_errors(const Step &s) {
  Work<MT> &S = here<MT>();
  const int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
  float top = 0;
  __syncthreads();
  for (int i = tid; i < s.filled * A; i += THREADS)
    top = fmaxf(top, fabsf(S.out[i]));
  const float up = mm_cuda_power_for(block_top(S, top));
  if (tid == 0) {
    S.up = up;
    S.down = 1 / up;
  }
  for (int i = tid; i < s.filled * 16; i += THREADS) {
    const int r = i / 16, k = i % 16;
    S.e[r * E_ROW + k] = __float2half_rn(k < A ? up * S.out[r * A + k] : 0.0f);
  }
  if (warp < A && s.member == 0) {
    float sum = 0, bend = 0;
    for (int r = lane; r < s.filled; r += 32) {
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
      slope = mm_log_std_slope(x, slope);
      const float last = (s.add ? *b3 : 0.0f) + sum, bent = (s.add ? *log_std : 0.0f) + slope;
      *b3 = last;
      *log_std = bent;
      S.part_sums[0][SUM_LAST + warp] = fmaf(last, last, bent * bent);
    }
  }
  __syncthreads();
}

} // namespace gaussian
} // namespace mm

#endif
