// SPDX-License-Identifier: Apache-2.0
// Adam: parameters with their moments, four at a time; and squares of the second layer, whose
// gradients stay in registers until it comes to them.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_ADAM_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_ADAM_CUH

#include <cuda_bf16.h>

#include "backend/cuda/gaussian/norm.cuh"

namespace mm {
namespace gaussian {

struct Rates {
  float clip, beta1, rest1, beta2, rest2, rate, epsilon;
};

// Four parameters with their moments.
struct Four {
  float4 p, m, v;
};

// NEAR: to stay in the device's cache; otherwise not to drive out what is there.
template <bool NEAR> MM_DEVICE Four take_four(const Step &s, size_t at) {
  Four x;
  if (NEAR) {
    x.p = __ldcg(reinterpret_cast<const float4 *>(s.param + at));
    x.m = __ldcg(reinterpret_cast<const float4 *>(s.m + at));
    x.v = __ldcg(reinterpret_cast<const float4 *>(s.v + at));
  } else {
    x.p = __ldcs(reinterpret_cast<const float4 *>(s.param + at));
    x.m = __ldcs(reinterpret_cast<const float4 *>(s.m + at));
    x.v = __ldcs(reinterpret_cast<const float4 *>(s.v + at));
  }
  return x;
}

template <bool NEAR> MM_DEVICE void put_four(const Step &s, size_t at, const Four &x) {
  if (NEAR) {
    __stcg(reinterpret_cast<float4 *>(s.param + at), x.p);
    __stcg(reinterpret_cast<float4 *>(s.m + at), x.m);
    __stcg(reinterpret_cast<float4 *>(s.v + at), x.v);
  } else {
    __stcs(reinterpret_cast<float4 *>(s.param + at), x.p);
    __stcs(reinterpret_cast<float4 *>(s.m + at), x.m);
    __stcs(reinterpret_cast<float4 *>(s.v + at), x.v);
  }
}

MM_DEVICE void move_one(const Rates &r, float g, float *p, float *m, float *v) {
  *p = adam(*p, r.clip * g, m, v, r.beta1, r.rest1, r.beta2, r.rest2, r.rate, r.epsilon);
}

MM_DEVICE void move_four(const Rates &r, float4 g, Four *x) {
  move_one(r, g.x, &x->p.x, &x->m.x, &x->v.x);
  move_one(r, g.y, &x->p.y, &x->m.y, &x->v.y);
  move_one(r, g.z, &x->p.z, &x->m.z, &x->v.z);
  move_one(r, g.w, &x->p.w, &x->m.w, &x->v.w);
}

MM_DEVICE uint32_t pack_bfloat(float low, float high) {
  __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&x);
}

MM_DEVICE float2 unpack_bfloat(uint32_t x) {
  return make_float2(__uint_as_float(x << 16), __uint_as_float(x & 0xffff0000u));
}

MM_DEVICE Rates rates_of(const Step &s, double norm, mm_cuda_rate rate) {
  const mm_cuda_agent &a = *s.agent;
  return Rates{ norm >= (double)a.max_grad_norm ? (float)((double)a.max_grad_norm / norm) : 1.0f,
                a.beta1,
                a.rest1,
                a.beta2,
                a.rest2,
                rate.rate,
                rate.epsilon };
}

// What is not of the second layer, in the part of 64 units, four numbers at a time: how often, and
// where.
enum { PART_UNITS = H / PARTS };

MM_DEVICE int rest_count(const mm_cuda_gauss_layout &l, int part) {
  return PART_UNITS * (l.inputs + 1 + A) / 4 + (part == 0 ? 2 * A / 4 : 0);
}

MM_DEVICE int rest_at(const mm_cuda_gauss_layout &l, int part, int i) {
  const int w1 = PART_UNITS * l.inputs / 4, row = PART_UNITS / 4;
  if (i < w1) return l.w1 + 4 * (part * w1 + i);
  i -= w1;
  if (i < row) return l.b2 + part * PART_UNITS + 4 * i;
  i -= row;
  if (i < A * row) return l.w3 + i / row * H + part * PART_UNITS + 4 * (i % row);
  return l.b3 + 4 * (i - A * row);
}

// Four numbers that are not of the second layer, which others read through the nearest cache.
MM_DEVICE void move_rest(const Step &s, const Rates &r, int at) {
  Four y;
  y.p = *reinterpret_cast<const float4 *>(s.param + at);
  y.m = __ldcg(reinterpret_cast<const float4 *>(s.m + at));
  y.v = __ldcg(reinterpret_cast<const float4 *>(s.v + at));
  move_four(r, *reinterpret_cast<const float4 *>(s.gradient + at), &y);
  *reinterpret_cast<float4 *>(s.param + at) = y.p;
  __stcg(reinterpret_cast<float4 *>(s.m + at), y.m);
  __stcg(reinterpret_cast<float4 *>(s.v + at), y.v);
  if (at < s.l.b2)
    *reinterpret_cast<uint2 *>(s.operand + mm_cuda_gauss_operand_at((size_t)at)) =
        make_uint2(pack(y.p.x, y.p.y), pack(y.p.z, y.p.w));
}

// ---------------------------------------------------------------------------------------------
// Squares of the second layer. The gradient of one is C of two products side by side, `low` and
// `high`; of its numbers a lane has two fours, 128 apart.

// Where the square of 16 outputs and 16 inputs begins, by number.
MM_DEVICE int square_at(int out, int in) {
  return (out * (H / 16) + in) * SQUARE;
}

// The gradient begins with what earlier tiles of the minibatch left, if any, in the unit of the
// errors. left: the lane's numbers of it.
MM_DEVICE void begin_square(bool any, const float *left, float up, float low[4], float high[4]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const float4 old =
        any ? *reinterpret_cast<const float4 *>(left + h * 128) : make_float4(0, 0, 0, 0);
    low[2 * h] = up * old.x;
    low[2 * h + 1] = up * old.y;
    high[2 * h] = up * old.z;
    high[2 * h + 1] = up * old.w;
  }
}

// When it has the tile's rows: kept for Adam, rounded, or left for the tiles to come, if any. Adds
// its square.
MM_DEVICE void end_square(bool any, float *left, float down, const float low[4],
                          const float high[4], uint32_t kept[4], float *sum) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const float4 g = make_float4(down * low[2 * h], down * low[2 * h + 1], down * high[2 * h],
                                 down * high[2 * h + 1]);
    *sum += square_of(g);
    kept[2 * h] = pack_bfloat(g.x, g.y);
    kept[2 * h + 1] = pack_bfloat(g.z, g.w);
    if (any) *reinterpret_cast<float4 *>(left + h * 128) = g;
  }
}

template <bool NEAR> MM_DEVICE void take_square(const Step &s, size_t at, Four x[2]) {
  x[0] = take_four<NEAR>(s, at);
  x[1] = take_four<NEAR>(s, at + 128);
}

// A step of Adam on the parameters x by the gradient that was kept; then they are stored, and once
// more as operands. square: where it begins.
template <bool NEAR>
MM_DEVICE void move_square(const Step &s, const Rates &r, size_t square, int lane,
                           const uint32_t kept[4], Four x[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const float2 low = unpack_bfloat(kept[2 * h]), high = unpack_bfloat(kept[2 * h + 1]);
    move_four(r, make_float4(low.x, low.y, high.x, high.y), &x[h]);
    put_four<NEAR>(s, square + h * 128 + lane * 4, x[h]);
  }
  const float4 a = x[0].p, b = x[1].p;
  *reinterpret_cast<uint4 *>(s.operand + square + lane * 8) =
      make_uint4(pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w));
}

} // namespace gaussian
} // namespace mm

#endif
