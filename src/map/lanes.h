// SPDX-License-Identifier: Apache-2.0
// Registers of floats, one row of scores per lane. What is computed in a lane depends on that lane
// alone, so the width changes no bits.
//
// Arithmetic is written with operators (vector types of gcc and clang). Choices and look-ups need
// the instruction set's own functions. A look-up in a table that fits into a few registers permutes
// those, several times faster than gathering from memory.

#ifndef MM_MAP_LANES_H
#define MM_MAP_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hostdev.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "base/lanes.h"
#else
enum { LANES = 4 };
typedef float vec __attribute__((vector_size(4 * LANES)));
#endif
enum { LANES_BITS = LANES == 16 ? 4 : LANES == 8 ? 3 : 2 };
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

// For each instruction set:
// - mask: in which lanes something holds; &, | and ^ work on it
// - below, at_most: a < b, a <= b; choose: m ? yes : no
// - some: in any lane; holds: in lane i
// - child: 2 k, and 1 more where m holds
// - take: table[index modulo 2^bits], bits >= LANES_BITS

#if defined(__AVX512F__)

typedef __mmask16 mask;

MM_INLINE mask below(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
MM_INLINE mask at_most(vec a, vec b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
MM_INLINE vec choose(mask m, vec yes, vec no) {
  return _mm512_mask_mov_ps(no, m, yes);
}
MM_INLINE int some(mask m) {
  return m != 0;
}
MM_INLINE int holds(mask m, size_t i) {
  return m >> i & 1;
}
MM_INLINE ints child(ints k, mask m) {
  __m512i twice = (__m512i)(k + k);
  return (ints)_mm512_mask_add_epi32(twice, m, twice, _mm512_set1_epi32(1));
}

// Tables of 32 floats and more. Higher bits of the index do not count here.
MM_INLINE vec of_32(const float *table, ints index) {
  vec low = load(table), high = load(table + 16);
  return _mm512_permutex2var_ps(low, (__m512i)index, high);
}

MM_INLINE vec of_64(const float *table, ints index) {
  mask upper = _mm512_test_epi32_mask((__m512i)index, _mm512_set1_epi32(32));
  return choose(upper, of_32(table + 32, index), of_32(table, index));
}

MM_INLINE vec of_128(const float *table, ints index) {
  mask upper = _mm512_test_epi32_mask((__m512i)index, _mm512_set1_epi32(64));
  return choose(upper, of_64(table + 64, index), of_64(table, index));
}

MM_INLINE vec take(const float *table, int bits, ints index) {
  if (bits == 4) return _mm512_permutexvar_ps((__m512i)index, load(table));
  if (bits == 5) return of_32(table, index);
  if (bits == 6) return of_64(table, index);
  if (bits == 7) return of_128(table, index);
  __m512i within = _mm512_and_si512((__m512i)index, _mm512_set1_epi32((1 << bits) - 1));
  return _mm512_i32gather_ps(within, table, sizeof *table);
}

#else

typedef ints mask; // -1 or 0

MM_INLINE mask below(vec a, vec b) {
  return a < b;
}
MM_INLINE mask at_most(vec a, vec b) {
  return a <= b;
}
MM_INLINE int holds(mask m, size_t i) {
  return m[i] != 0;
}
MM_INLINE ints child(ints k, mask m) {
  return k + k - m;
}

#if defined(__AVX2__) && defined(__FMA__)

MM_INLINE vec choose(mask m, vec yes, vec no) { // looks at the signs alone
  return _mm256_blendv_ps(no, yes, (vec)m);
}
MM_INLINE int some(mask m) {
  return _mm256_movemask_ps((vec)m) != 0;
}

// Tables of 8 floats and more. Higher bits of the index do not count here.
MM_INLINE vec of_8(const float *table, ints index) {
  return _mm256_permutevar8x32_ps(load(table), (__m256i)index);
}

MM_INLINE vec of_16(const float *table, ints index) {
  mask upper = (ints)_mm256_slli_epi32((__m256i)index, 31 - 3);
  return choose(upper, of_8(table + 8, index), of_8(table, index));
}

MM_INLINE vec of_32(const float *table, ints index) {
  mask upper = (ints)_mm256_slli_epi32((__m256i)index, 31 - 4);
  return choose(upper, of_16(table + 16, index), of_16(table, index));
}

MM_INLINE vec of_64(const float *table, ints index) {
  mask upper = (ints)_mm256_slli_epi32((__m256i)index, 31 - 5);
  return choose(upper, of_32(table + 32, index), of_32(table, index));
}

MM_INLINE vec take(const float *table, int bits, ints index) {
  if (bits == 3) return of_8(table, index);
  if (bits == 4) return of_16(table, index);
  if (bits == 5) return of_32(table, index);
  if (bits == 6) return of_64(table, index);
  __m256i within = _mm256_and_si256((__m256i)index, _mm256_set1_epi32((1 << bits) - 1));
  return _mm256_i32gather_ps(table, within, sizeof *table);
}

#else

MM_INLINE vec choose(mask m, vec yes, vec no) {
  return (vec)((m & (ints)yes) | (~m & (ints)no));
}
MM_INLINE int some(mask m) {
  return (m[0] | m[1] | m[2] | m[3]) != 0;
}
MM_INLINE vec all_of(float x) {
  return x - (vec){ 0 };
}
MM_INLINE vec greatest(vec a, vec b) {
  return choose(a > b, a, b);
}
MM_INLINE vec least(vec a, vec b) {
  return choose(a < b, a, b);
}

MM_INLINE vec take(const float *table, int bits, ints index) {
  vec out;
  for (int i = 0; i < LANES; i++)
    out[i] = table[index[i] & ((1 << bits) - 1)];
  return out;
}

#endif

#endif

#endif
