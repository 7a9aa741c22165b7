// SPDX-License-Identifier: Apache-2.0
// A register of floats, one number per lane: 16 with AVX-512, 8 with AVX2. For sources that are
// compiled once per instruction set; where there are no registers they have plain numbers of their
// own, with the same words for the same operations.
//
// Every operation is one IEEE operation per lane, so that it means the same at any width. Masks are
// left to those who have them: physics keeps what the comparison gives, the maps compute with it.

#ifndef MM_BASE_LANES_H
#define MM_BASE_LANES_H

#include <immintrin.h>

#include "base/hostdev.h"

// - all_of: x in every lane
// - size_of: |a|
// - greatest, least: the second where one is not a number
// - fused, fused_minus: a b + c and c - a b, rounded once

#if defined(__AVX512F__)

enum { LANES = 16 };
typedef __m512 vec;
#define MM_OPERATION(name) _mm512_##name##_ps

MM_INLINE vec size_of(vec a) {
  return _mm512_abs_ps(a);
}

#elif defined(__AVX2__) && defined(__FMA__)

enum { LANES = 8 };
typedef __m256 vec;
#define MM_OPERATION(name) _mm256_##name##_ps

MM_INLINE vec size_of(vec a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

#else
#error "no registers of lanes without AVX-512, or AVX2 and FMA"
#endif

MM_INLINE vec load(const float *p) {
  return MM_OPERATION(loadu)(p);
}
MM_INLINE void store(float *p, vec a) {
  MM_OPERATION(storeu)(p, a);
}
MM_INLINE vec all_of(float x) {
  return MM_OPERATION(set1)(x);
}
MM_INLINE vec root(vec a) {
  return MM_OPERATION(sqrt)(a);
}
MM_INLINE vec greatest(vec a, vec b) {
  return MM_OPERATION(max)(a, b);
}
MM_INLINE vec least(vec a, vec b) {
  return MM_OPERATION(min)(a, b);
}
MM_INLINE vec fused(vec a, vec b, vec c) {
  return MM_OPERATION(fmadd)(a, b, c);
}
MM_INLINE vec fused_minus(vec a, vec b, vec c) {
  return MM_OPERATION(fnmadd)(a, b, c);
}
#undef MM_OPERATION

// Operators work on registers as on numbers (vector types of gcc and clang).
MM_INLINE vec add(vec a, vec b) {
  return a + b;
}
MM_INLINE vec subtract(vec a, vec b) {
  return a - b;
}
MM_INLINE vec multiply(vec a, vec b) {
  return a * b;
}
MM_INLINE vec divide(vec a, vec b) {
  return a / b;
}

#endif
