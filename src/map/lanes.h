// A vector register of floats, one row of scores per lane, as wide as the instruction set has it.
// What is computed in a lane depends on that lane alone, so the width changes no bits.
//
// Arithmetic is written with operators (vector types of gcc and clang). Choices and look-ups need
// the instruction set's own functions. A look-up in a table that fits into a few registers permutes
// those, several times faster than gathering from memory.

#ifndef MM_MAP_LANES_H
#define MM_MAP_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hostdev.h"

#if defined __AVX512F__
#include <immintrin.h>
enum { MM_LANES_BITS = 4 };
#elif defined __AVX2__
#include <immintrin.h>
enum { MM_LANES_BITS = 3 };
#else
enum { MM_LANES_BITS = 2 };
#endif
enum { MM_LANES = 1 << MM_LANES_BITS };

typedef float mm_lanes_f __attribute__((vector_size(4 * MM_LANES)));
typedef int32_t mm_lanes_i __attribute__((vector_size(4 * MM_LANES)));

MM_INLINE mm_lanes_f mm_lanes_all(float x) {
  return x - (mm_lanes_f){ 0 };
}

// For each instruction set:
// - mm_lanes_where: in which lanes something holds; &, | and ^ work on it
// - less, at_most: a < b, a <= b; select: where ? a : b; max, min: a > b ? a : b, a < b ? a : b
// - any: in some lane; holds: in lane i
// - child: 2 k, and 1 more where it holds
// - take: table[index modulo 2^bits], bits >= MM_LANES_BITS

#if defined __AVX512F__

typedef __mmask16 mm_lanes_where;

MM_INLINE mm_lanes_where mm_lanes_less(mm_lanes_f a, mm_lanes_f b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

MM_INLINE mm_lanes_where mm_lanes_at_most(mm_lanes_f a, mm_lanes_f b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

MM_INLINE mm_lanes_f mm_lanes_select(mm_lanes_where where, mm_lanes_f a, mm_lanes_f b) {
  return _mm512_mask_blend_ps(where, b, a);
}

MM_INLINE mm_lanes_f mm_lanes_max(mm_lanes_f a, mm_lanes_f b) {
  return _mm512_max_ps(a, b);
}

MM_INLINE mm_lanes_f mm_lanes_min(mm_lanes_f a, mm_lanes_f b) {
  return _mm512_min_ps(a, b);
}

MM_INLINE int mm_lanes_any(mm_lanes_where where) {
  return where != 0;
}

MM_INLINE int mm_lanes_holds(mm_lanes_where where, size_t i) {
  return where >> i & 1;
}

MM_INLINE mm_lanes_i mm_lanes_child(mm_lanes_i k, mm_lanes_where where) {
  __m512i twice = (__m512i)(k + k);
  return (mm_lanes_i)_mm512_mask_add_epi32(twice, where, twice, _mm512_set1_epi32(1));
}

// Tables of 32 floats and more. Higher bits of the index do not count here.
MM_INLINE mm_lanes_f mm_lanes_of_32(const float *table, mm_lanes_i index) {
  __m512 low = _mm512_loadu_ps(table), high = _mm512_loadu_ps(table + 16);
  return _mm512_permutex2var_ps(low, (__m512i)index, high);
}

MM_INLINE mm_lanes_f mm_lanes_of_64(const float *table, mm_lanes_i index) {
  mm_lanes_where upper = _mm512_test_epi32_mask((__m512i)index, _mm512_set1_epi32(32));
  return mm_lanes_select(upper, mm_lanes_of_32(table + 32, index), mm_lanes_of_32(table, index));
}

MM_INLINE mm_lanes_f mm_lanes_of_128(const float *table, mm_lanes_i index) {
  mm_lanes_where upper = _mm512_test_epi32_mask((__m512i)index, _mm512_set1_epi32(64));
  return mm_lanes_select(upper, mm_lanes_of_64(table + 64, index), mm_lanes_of_64(table, index));
}

MM_INLINE mm_lanes_f mm_lanes_take(const float *table, int bits, mm_lanes_i index) {
  if (bits == 4) return _mm512_permutexvar_ps((__m512i)index, _mm512_loadu_ps(table));
  if (bits == 5) return mm_lanes_of_32(table, index);
  if (bits == 6) return mm_lanes_of_64(table, index);
  if (bits == 7) return mm_lanes_of_128(table, index);
  __m512i within = _mm512_and_si512((__m512i)index, _mm512_set1_epi32((1 << bits) - 1));
  return _mm512_i32gather_ps(within, table, sizeof *table);
}

#elif defined __AVX2__

typedef mm_lanes_i mm_lanes_where; // -1 or 0; select looks at the sign alone

MM_INLINE mm_lanes_where mm_lanes_less(mm_lanes_f a, mm_lanes_f b) {
  return a < b;
}

MM_INLINE mm_lanes_where mm_lanes_at_most(mm_lanes_f a, mm_lanes_f b) {
  return a <= b;
}

MM_INLINE mm_lanes_f mm_lanes_select(mm_lanes_where where, mm_lanes_f a, mm_lanes_f b) {
  return _mm256_blendv_ps(b, a, (__m256)where);
}

MM_INLINE mm_lanes_f mm_lanes_max(mm_lanes_f a, mm_lanes_f b) {
  return _mm256_max_ps(a, b);
}

MM_INLINE mm_lanes_f mm_lanes_min(mm_lanes_f a, mm_lanes_f b) {
  return _mm256_min_ps(a, b);
}

MM_INLINE int mm_lanes_any(mm_lanes_where where) {
  return _mm256_movemask_ps((__m256)where) != 0;
}

MM_INLINE int mm_lanes_holds(mm_lanes_where where, size_t i) {
  return where[i] != 0;
}

MM_INLINE mm_lanes_i mm_lanes_child(mm_lanes_i k, mm_lanes_where where) {
  return k + k - where;
}

// Tables of 8 floats and more. Higher bits of the index do not count here.
MM_INLINE mm_lanes_f mm_lanes_of_8(const float *table, mm_lanes_i index) {
  return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)index);
}

MM_INLINE mm_lanes_f mm_lanes_of_16(const float *table, mm_lanes_i index) {
  mm_lanes_where upper = (mm_lanes_i)_mm256_slli_epi32((__m256i)index, 31 - 3);
  return mm_lanes_select(upper, mm_lanes_of_8(table + 8, index), mm_lanes_of_8(table, index));
}

MM_INLINE mm_lanes_f mm_lanes_of_32(const float *table, mm_lanes_i index) {
  mm_lanes_where upper = (mm_lanes_i)_mm256_slli_epi32((__m256i)index, 31 - 4);
  return mm_lanes_select(upper, mm_lanes_of_16(table + 16, index), mm_lanes_of_16(table, index));
}

MM_INLINE mm_lanes_f mm_lanes_of_64(const float *table, mm_lanes_i index) {
  mm_lanes_where upper = (mm_lanes_i)_mm256_slli_epi32((__m256i)index, 31 - 5);
  return mm_lanes_select(upper, mm_lanes_of_32(table + 32, index), mm_lanes_of_32(table, index));
}

MM_INLINE mm_lanes_f mm_lanes_take(const float *table, int bits, mm_lanes_i index) {
  if (bits == 3) return mm_lanes_of_8(table, index);
  if (bits == 4) return mm_lanes_of_16(table, index);
  if (bits == 5) return mm_lanes_of_32(table, index);
  if (bits == 6) return mm_lanes_of_64(table, index);
  __m256i within = _mm256_and_si256((__m256i)index, _mm256_set1_epi32((1 << bits) - 1));
  return _mm256_i32gather_ps(table, within, sizeof *table);
}

#else

typedef mm_lanes_i mm_lanes_where; // -1 or 0

MM_INLINE mm_lanes_where mm_lanes_less(mm_lanes_f a, mm_lanes_f b) {
  return a < b;
}

MM_INLINE mm_lanes_where mm_lanes_at_most(mm_lanes_f a, mm_lanes_f b) {
  return a <= b;
}

MM_INLINE mm_lanes_f mm_lanes_select(mm_lanes_where where, mm_lanes_f a, mm_lanes_f b) {
  return (mm_lanes_f)((where & (mm_lanes_i)a) | (~where & (mm_lanes_i)b));
}

MM_INLINE mm_lanes_f mm_lanes_max(mm_lanes_f a, mm_lanes_f b) {
  return mm_lanes_select(a > b, a, b);
}

MM_INLINE mm_lanes_f mm_lanes_min(mm_lanes_f a, mm_lanes_f b) {
  return mm_lanes_select(a < b, a, b);
}

MM_INLINE int mm_lanes_any(mm_lanes_where where) {
  return (where[0] | where[1] | where[2] | where[3]) != 0;
}

MM_INLINE int mm_lanes_holds(mm_lanes_where where, size_t i) {
  return where[i] != 0;
}

MM_INLINE mm_lanes_i mm_lanes_child(mm_lanes_i k, mm_lanes_where where) {
  return k + k - where;
}

MM_INLINE mm_lanes_f mm_lanes_take(const float *table, int bits, mm_lanes_i index) {
  mm_lanes_f out;
  for (int i = 0; i < MM_LANES; i++)
    out[i] = table[index[i] & ((1 << bits) - 1)];
  return out;
}

#endif

#endif
