// SPDX-License-Identifier: Apache-2.0
// One number for each environment that is stepped at a time: the lanes of a register
// (base/lanes.h), otherwise one, a float or, with MM_PHYSICS_DOUBLE, a double. [host/device]
//
// Every operation means the same at any width, and nothing crosses lanes but the two questions
// `every` and `some`, which may decide only what is worked out, never what comes out.

#ifndef MM_PHYSICS_LANES_H
#define MM_PHYSICS_LANES_H

#include <math.h>
#include <stdint.h>

#include "base/elementary.h"
#include "base/hostdev.h"
#include "physics/sincos.h"

#ifdef MM_PHYSICS_DOUBLE
typedef double real;
#define SCALAR(of_double, of_float) of_double
#else
typedef float real;
#define SCALAR(of_double, of_float) of_float
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__clang__)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

// Loops over parts and joints must not remain loops, nor the functions around them functions:
// indices become constants, arrays registers. Under sanitizers, which look at every index, that
// would take minutes to compile.
#if defined(SANITIZED)
#define UNROLL
#define BODY_INLINE static inline
#else
#define BODY_INLINE MM_INLINE
#if defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 128")
#endif
#endif

#if defined(__AVX2__) && defined(__FMA__) && !defined(MM_PHYSICS_DOUBLE) && !defined(__CUDACC__)
#include "base/lanes.h"
#define LANES_OF_REGISTERS 1
#endif

#if defined(LANES_OF_REGISTERS) && defined(__AVX512F__)

typedef __mmask16 mask;
typedef __m512i bits; // 32 switches for each lane

MM_INLINE mask below(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
MM_INLINE mask both(mask a, mask b) {
  return (mask)(a & b);
}
MM_INLINE mask either(mask a, mask b) {
  return (mask)(a | b);
}
MM_INLINE mask everywhere(int yes) {
  return (mask)(yes ? 0xffff : 0);
}
MM_INLINE int every(mask a) {
  return a == 0xffff;
}
MM_INLINE int some(mask a) {
  return a != 0;
}
MM_INLINE vec choose(mask m, vec yes, vec no) {
  return _mm512_mask_mov_ps(no, m, yes);
}
// a where m, else 0
MM_INLINE vec where(mask m, vec a) {
  return _mm512_maskz_mov_ps(m, a);
}
MM_INLINE bits no_bits(void) {
  return _mm512_setzero_si512();
}
MM_INLINE bits with_bit(bits b, mask m, uint32_t bit) {
  return _mm512_mask_or_epi32(b, m, b, _mm512_set1_epi32((int)bit));
}
MM_INLINE mask equal(bits a, bits b) {
  return _mm512_cmpeq_epi32_mask(a, b);
}
// m as a byte for each lane: `flag` or 0
MM_INLINE void store_flags(uint8_t *p, mask m, uint8_t flag) {
  for (int i = 0; i < LANES; i++)
    p[i] = (uint8_t)(m >> i & 1 ? flag : 0);
}
// the larger part of mm_sincos_f's last steps: swaps and signs by the quadrant
MM_INLINE void turn_quadrant(vec shifted, vec sin_r, vec cos_r, vec *sine, vec *cosine) {
  const __m512i two = _mm512_set1_epi32(2), q = _mm512_castps_si512(shifted);
  mask odd = _mm512_test_epi32_mask(q, _mm512_set1_epi32(1));
  __m512i s = _mm512_slli_epi32(_mm512_and_epi32(q, two), 30);
  __m512i next = _mm512_add_epi32(q, _mm512_set1_epi32(1));
  __m512i c = _mm512_slli_epi32(_mm512_and_epi32(next, two), 30);
  vec a = choose(odd, cos_r, sin_r), b = choose(odd, sin_r, cos_r);
  *sine = _mm512_castsi512_ps(_mm512_xor_epi32(_mm512_castps_si512(a), s));
  *cosine = _mm512_castsi512_ps(_mm512_xor_epi32(_mm512_castps_si512(b), c));
}

#elif defined(LANES_OF_REGISTERS)

typedef __m256 mask;
typedef __m256i bits;

MM_INLINE mask below(vec a, vec b) {
  return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
MM_INLINE mask both(mask a, mask b) {
  return _mm256_and_ps(a, b);
}
MM_INLINE mask either(mask a, mask b) {
  return _mm256_or_ps(a, b);
}
MM_INLINE mask everywhere(int yes) {
  return _mm256_castsi256_ps(_mm256_set1_epi32(yes ? -1 : 0));
}
MM_INLINE int every(mask a) {
  return _mm256_movemask_ps(a) == 0xff;
}
MM_INLINE int some(mask a) {
  return _mm256_movemask_ps(a) != 0;
}
MM_INLINE vec choose(mask m, vec yes, vec no) {
  return _mm256_blendv_ps(no, yes, m);
}
MM_INLINE vec where(mask m, vec a) {
  return _mm256_and_ps(m, a);
}
MM_INLINE bits no_bits(void) {
  return _mm256_setzero_si256();
}
MM_INLINE bits with_bit(bits b, mask m, uint32_t bit) {
  return _mm256_or_si256(b, _mm256_and_si256(_mm256_castps_si256(m), _mm256_set1_epi32((int)bit)));
}
MM_INLINE mask equal(bits a, bits b) {
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
MM_INLINE void store_flags(uint8_t *p, mask m, uint8_t flag) {
  int each = _mm256_movemask_ps(m);
  for (int i = 0; i < LANES; i++)
    p[i] = (uint8_t)(each >> i & 1 ? flag : 0);
}
MM_INLINE void turn_quadrant(vec shifted, vec sin_r, vec cos_r, vec *sine, vec *cosine) {
  const __m256i two = _mm256_set1_epi32(2), q = _mm256_castps_si256(shifted);
  mask odd = _mm256_castsi256_ps(_mm256_slli_epi32(q, 31)); // a blend looks at the sign
  __m256i s = _mm256_slli_epi32(_mm256_and_si256(q, two), 30);
  __m256i next = _mm256_add_epi32(q, _mm256_set1_epi32(1));
  __m256i c = _mm256_slli_epi32(_mm256_and_si256(next, two), 30);
  vec a = choose(odd, cos_r, sin_r), b = choose(odd, sin_r, cos_r);
  *sine = _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(a), s));
  *cosine = _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(b), c));
}

#else

enum { LANES = 1 };
typedef real vec;
typedef int mask;
typedef uint32_t bits;

MM_INLINE MM_HD vec load(const real *p) {
  return *p;
}
MM_INLINE MM_HD void store(real *p, vec a) {
  *p = a;
}
MM_INLINE MM_HD vec all_of(real x) {
  return x;
}
MM_INLINE MM_HD vec add(vec a, vec b) {
  return a + b;
}
MM_INLINE MM_HD vec subtract(vec a, vec b) {
  return a - b;
}
MM_INLINE MM_HD vec multiply(vec a, vec b) {
  return a * b;
}
MM_INLINE MM_HD vec divide(vec a, vec b) {
  return a / b;
}
MM_INLINE MM_HD vec greatest(vec a, vec b) {
  return a > b ? a : b;
}
MM_INLINE MM_HD vec least(vec a, vec b) {
  return a < b ? a : b;
}
MM_INLINE MM_HD vec root(vec a) {
  return SCALAR(sqrt, sqrtf)(a);
}
MM_INLINE MM_HD vec size_of(vec a) {
  return SCALAR(fabs, fabsf)(a);
}
MM_INLINE MM_HD vec fused(vec a, vec b, vec c) {
  return SCALAR(fma, fmaf)(a, b, c);
}
MM_INLINE MM_HD vec fused_minus(vec a, vec b, vec c) {
  return SCALAR(fma, fmaf)(-a, b, c);
}
MM_INLINE MM_HD void sincos_of(vec x, vec *sine, vec *cosine) {
  SCALAR(mm_sincos_d, mm_sincos_f)(x, sine, cosine);
}
MM_INLINE MM_HD mask below(vec a, vec b) {
  return a < b;
}
MM_INLINE MM_HD mask both(mask a, mask b) {
  return a & b;
}
MM_INLINE MM_HD mask either(mask a, mask b) {
  return a | b;
}
MM_INLINE MM_HD mask everywhere(int yes) {
  return yes;
}
MM_INLINE MM_HD int every(mask a) {
  return a;
}
MM_INLINE MM_HD int some(mask a) {
  return a;
}
MM_INLINE MM_HD vec choose(mask m, vec yes, vec no) {
  return m ? yes : no;
}
MM_INLINE MM_HD vec where(mask m, vec a) {
  return m ? a : (real)0;
}
MM_INLINE MM_HD bits no_bits(void) {
  return 0;
}
MM_INLINE MM_HD bits with_bit(bits b, mask m, uint32_t bit) {
  return m ? b | bit : b;
}
MM_INLINE MM_HD mask equal(bits a, bits b) {
  return a == b;
}
MM_INLINE MM_HD void store_flags(uint8_t *p, mask m, uint8_t flag) {
  *p = (uint8_t)(m ? flag : 0);
}

#endif

MM_INLINE MM_HD vec zero(void) {
  return all_of(0);
}

#ifdef LANES_OF_REGISTERS
// As mm_sincos_f, step by step.
MM_INLINE void sincos_of(vec x, vec *sine, vec *cosine) {
  vec shifted = fused(x, all_of(MM_TWO_OVER_PI_F), all_of(MM_SHIFT_F));
  vec k = subtract(shifted, all_of(MM_SHIFT_F)), r = fused_minus(k, all_of(MM_PI_HALF_HI_F), x);
  r = fused_minus(k, all_of(MM_PI_HALF_LO_F), fused_minus(k, all_of(MM_PI_HALF_MID_F), r));
  vec z = multiply(r, r);
  vec s = fused(z, fused(z, all_of(MM_SIN_P3_F), all_of(MM_SIN_P2_F)), all_of(MM_SIN_P1_F));
  vec c = fused(z, fused(z, all_of(MM_COS_P4_F), all_of(MM_COS_P3_F)), all_of(MM_COS_P2_F));
  s = fused(multiply(z, r), s, r);
  c = fused(multiply(z, z), c, fused(all_of(-0.5f), z, all_of(1.0f)));
  turn_quadrant(shifted, s, c, sine, cosine);
}
#endif

#endif
