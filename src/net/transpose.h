// SPDX-License-Identifier: Apache-2.0
// Transposing a matrix of weights. Nothing is computed, so every way of doing it is the same.

#ifndef MM_NET_TRANSPOSE_H
#define MM_NET_TRANSPOSE_H

#include "net/kernels.h"
#include "net/lanes.h"

#if defined(__AVX2__) && defined(__FMA__)

enum { TRANSPOSED = 8 };

// Rows i and i + 4 of a square, four columns of each.
MM_INLINE __m256 two_halves(const float *in, size_t ld, size_t i) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(in + i * ld)),
                              _mm_loadu_ps(in + (i + 4) * ld), 1);
}

// 8 x 8, four columns at a time: halves change places on the way in, then pairs of rows are
// interleaved, then pairs of pairs.
MM_INLINE void transpose_square(const float *in, size_t ld_in, float *out, size_t ld_out) {
  UNROLL for (size_t half = 0; half < 8; half += 4) {
    __m256 r[4], t[4];
    UNROLL for (size_t i = 0; i < 4; i++) r[i] = two_halves(in + half, ld_in, i);
    UNROLL for (int i = 0; i < 2; i++) {
      t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    float *to = out + half * ld_out;
    _mm256_storeu_ps(to, _mm256_shuffle_ps(t[0], t[2], 0x44));
    _mm256_storeu_ps(to + ld_out, _mm256_shuffle_ps(t[0], t[2], 0xee));
    _mm256_storeu_ps(to + 2 * ld_out, _mm256_shuffle_ps(t[1], t[3], 0x44));
    _mm256_storeu_ps(to + 3 * ld_out, _mm256_shuffle_ps(t[1], t[3], 0xee));
  }
}

#else

enum { TRANSPOSED = 1 };

MM_INLINE void transpose_square(const float *in, size_t ld_in, float *out, size_t ld_out) {
  (void)ld_in, (void)ld_out;
  *out = *in;
}

#endif

static void transpose(size_t rows, size_t columns, mm_matrix in, mm_matrix_out out) {
  for (size_t i = 0; i < rows; i += TRANSPOSED) {
    for (size_t j = 0; j < columns; j += TRANSPOSED)
      transpose_square(in.at + i * in.ld + j, in.ld, out.at + j * out.ld + i, out.ld);
  }
}

#endif
