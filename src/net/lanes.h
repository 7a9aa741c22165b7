// SPDX-License-Identifier: Apache-2.0
// Vectors of floats for the kernels: registers (base/lanes.h), elsewhere 4 plain numbers.
//
// Every operation means the same at any width. The only sum across lanes is sums_of_8, whose tree
// is over 16 logical lanes whatever the width.

#ifndef MM_NET_LANES_H
#define MM_NET_LANES_H

#include <math.h>
#include <stddef.h>

#include "base/elementary.h"
#include "base/hostdev.h"

// Loops over a handful of registers must not remain loops. Without registers they may.
#if !defined(__AVX2__)
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 24")
#endif

// Has a pointer worked out once, where the compiler would work out each place behind it anew.
#if defined(__AVX2__)
#define KEEP(pointer) __asm__("" : "+r"(pointer))
#else
#define KEEP(pointer) ((void)(pointer))
#endif

// Columns of all matrices come in groups of this many.
enum { GROUP = 16 };

#if defined(__AVX2__) && defined(__FMA__)
#include "base/lanes.h"
#else

enum { LANES = 4 };
typedef struct vec {
  float x[LANES];
} vec;

#define LANEWISE(expression)                                                                       \
  vec out;                                                                                         \
  for (int i = 0; i < LANES; i++)                                                                  \
    out.x[i] = (expression);                                                                       \
  return out

MM_INLINE vec load(const float *p) {
  LANEWISE(p[i]);
}
MM_INLINE void store(float *p, vec a) {
  for (int i = 0; i < LANES; i++)
    p[i] = a.x[i];
}
MM_INLINE vec all_of(float x) {
  LANEWISE(x);
}
MM_INLINE vec add(vec a, vec b) {
  LANEWISE(a.x[i] + b.x[i]);
}
MM_INLINE vec subtract(vec a, vec b) {
  LANEWISE(a.x[i] - b.x[i]);
}
MM_INLINE vec multiply(vec a, vec b) {
  LANEWISE(a.x[i] * b.x[i]);
}
MM_INLINE vec divide(vec a, vec b) {
  LANEWISE(a.x[i] / b.x[i]);
}
MM_INLINE vec root(vec a) {
  LANEWISE(sqrtf(a.x[i]));
}
MM_INLINE vec greatest(vec a, vec b) {
  LANEWISE(a.x[i] > b.x[i] ? a.x[i] : b.x[i]);
}
MM_INLINE vec least(vec a, vec b) {
  LANEWISE(a.x[i] < b.x[i] ? a.x[i] : b.x[i]);
}
MM_INLINE vec fused(vec a, vec b, vec c) {
  LANEWISE(fmaf(a.x[i], b.x[i], c.x[i]));
}
MM_INLINE vec fused_minus(vec a, vec b, vec c) {
  LANEWISE(fmaf(-a.x[i], b.x[i], c.x[i]));
}

#endif

// a where x > y, else 0; a where |x| >= y, else 0
#if defined(__AVX512F__)
MM_INLINE vec where_above(vec x, vec y, vec a) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_GT_OQ), a);
}
MM_INLINE vec where_large(vec x, vec y, vec a) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(size_of(x), y, _CMP_GE_OQ), a);
}
#elif defined(__AVX2__) && defined(__FMA__)
MM_INLINE vec where_above(vec x, vec y, vec a) {
  return _mm256_and_ps(_mm256_cmp_ps(x, y, _CMP_GT_OQ), a);
}
MM_INLINE vec where_large(vec x, vec y, vec a) {
  return _mm256_and_ps(_mm256_cmp_ps(size_of(x), y, _CMP_GE_OQ), a);
}
#else
MM_INLINE vec where_above(vec x, vec y, vec a) {
  LANEWISE(x.x[i] > y.x[i] ? a.x[i] : 0.0f);
}
MM_INLINE vec where_large(vec x, vec y, vec a) {
  LANEWISE(fabsf(x.x[i]) >= y.x[i] ? a.x[i] : 0.0f);
}
#endif

// Registers that hold one group.
enum { PARTS = GROUP / LANES };

// As mm_tanh_f, step by step.
MM_INLINE vec tanh_of(vec x) {
  vec c = least(all_of(MM_TANH_END_F), greatest(all_of(-MM_TANH_END_F), x));
  vec z = multiply(c, c);
  vec p = fused(z, all_of(MM_TANH_P3_F), all_of(MM_TANH_P2_F));
  vec q = fused(z, all_of(MM_TANH_Q4_F), all_of(MM_TANH_Q3_F));
  p = fused(z, p, all_of(MM_TANH_P1_F));
  q = fused(z, q, all_of(MM_TANH_Q2_F));
  p = fused(z, p, all_of(MM_TANH_P0_F));
  q = fused(z, q, all_of(MM_TANH_Q1_F));
  return divide(multiply(c, p), fused(z, q, all_of(1.0f)));
}

// The root of 0 or of a number from 2^-100 on, rounded as `root` does: whether it does is checked
// for every mantissa in tests/test_net.c. Without the divider, which a wide vector occupies for
// long. With g -> sqrt(x) and h -> 1 / (2 sqrt(x)), both improve by their distance from g h = 1/2.
#if defined(__AVX512F__)
MM_INLINE vec root_by_steps(vec x) {
  const vec half = all_of(0.5f);
  vec y = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(0x5f375a86),
                                               _mm512_srli_epi32(_mm512_castps_si512(x), 1)));
  vec g = multiply(x, y), h = multiply(half, y);
  UNROLL for (int i = 0; i < 3; i++) {
    vec short_of = fused_minus(g, h, half);
    g = fused(g, short_of, g);
    h = fused(h, short_of, h);
  }
  return fused(fused_minus(g, g, x), h, g);
}
#else
MM_INLINE vec root_by_steps(vec x) {
  return root(x);
}
#endif

// ---------------------------------------------------------------------------------------------
// A group of 16 numbers, and the sum of its lanes: i + (i + 8), then neighbours with neighbours

typedef struct group {
  vec part[PARTS];
} group;

#if defined(__AVX2__) && defined(__FMA__)

MM_INLINE __m256 folded(group a) {
#if defined(__AVX512F__)
  return _mm256_add_ps(_mm512_castps512_ps256(a.part[0]),
                       _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a.part[0]), 1)));
#else
  return _mm256_add_ps(a.part[0], a.part[1]);
#endif
}

MM_INLINE void sums_of_8(const group a[8], float *out) {
  __m256 f[8];
  UNROLL for (int i = 0; i < 8; i++) f[i] = folded(a[i]);
  __m256 ab = _mm256_hadd_ps(f[0], f[1]), cd = _mm256_hadd_ps(f[2], f[3]);
  __m256 ef = _mm256_hadd_ps(f[4], f[5]), gh = _mm256_hadd_ps(f[6], f[7]);
  // four sums over lanes 0-3 below, the same over lanes 4-7 above
  __m256 abcd = _mm256_hadd_ps(ab, cd), efgh = _mm256_hadd_ps(ef, gh);
  __m256 low = _mm256_permute2f128_ps(abcd, efgh, 0x20);
  __m256 high = _mm256_permute2f128_ps(abcd, efgh, 0x31);
  _mm256_storeu_ps(out, _mm256_add_ps(low, high));
}

#else

MM_INLINE void sums_of_8(const group a[8], float *out) {
  for (int k = 0; k < 8; k++) {
    float s[GROUP];
    for (int i = 0; i < PARTS; i++)
      store(s + LANES * i, a[k].part[i]);
    for (int i = 0; i < 8; i++)
      s[i] += s[i + 8];
    for (int n = 4; n >= 1; n /= 2) {
      for (int i = 0; i < n; i++)
        s[i] = s[2 * i] + s[2 * i + 1];
    }
    out[k] = s[0];
  }
}

#endif

#endif
