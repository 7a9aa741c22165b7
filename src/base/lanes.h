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

MM_INLINE vec load(const float *p) {
  return _mm512_loadu_ps(p);
}
MM_INLINE void store(float *p, vec a) {
  _mm512_storeu_ps(p, a);
}
MM_INLINE vec all_of(float x) {
  return _mm512_set1_ps(x);
}
MM_INLINE vec root(vec a) {
  return _mm512_sqrt_ps(a);
}
MM_INLINE vec size_of(vec a) {
  return _mm512_abs_ps(a);
}
MM_INLINE vec greatest(vec a, vec b) {
  return _mm512_max_ps(a, b);
}
MM_INLINE vec least(vec a, vec b) {
  return _mm512_min_ps(a, b);
}
MM_INLINE vec fused(vec a, vec b, vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
MM_INLINE vec fused_minus(vec a, vec b, vec c) {
  return _mm512_fnmadd_ps(a, b, c);
}

#elif defined(__AVX2__) && defined(__FMA__)

enum { LANES = 8 };
typedef __m256 vec;

MM_INLINE vec load(const float *p) {
  return _mm256_loadu_ps(p);
}
MM_INLINE void store(float *p, vec a) {
  _mm256_storeu_ps(p, a);
}
MM_INLINE vec all_of(float x) {
  return _mm256_set1_ps(x);
}
MM_INLINE vec root(vec a) {
  return _mm256_sqrt_ps(a);
}
MM_INLINE vec size_of(vec a) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
MM_INLINE vec greatest(vec a, vec b) {
  return _mm256_max_ps(a, b);
}
MM_INLINE vec least(vec a, vec b) {
  return _mm256_min_ps(a, b);
}
MM_INLINE vec fused(vec a, vec b, vec c) {
  return _mm256_fmadd_ps(a, b, c);
}
MM_INLINE vec fused_minus(vec a, vec b, vec c) {
  return _mm256_fnmadd_ps(a, b, c);
}

#else
#error "no registers of lanes without AVX-512, or AVX2 and FMA"
#endif

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
