// Transposing a matrix of weights. Nothing is computed, so every way of doing it is the same.

#ifndef MM_NET_TRANSPOSE_H
#define MM_NET_TRANSPOSE_H

#include "net/kernels.h"
#include "net/lanes.h"

#if defined(__AVX2__) && defined(__FMA__)

enum { TRANSPOSED = 8 };

// 8 x 8: pairs of rows are interleaved, then pairs of pairs, then halves change places.
MM_INLINE void transpose_square(const float *in, size_t ld_in, float *out, size_t ld_out) {
  __m256 r[8], t[8];
  UNROLL for (size_t i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(in + i * ld_in);
  UNROLL for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  UNROLL for (int i = 0; i < 2; i++) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
  UNROLL for (size_t i = 0; i < 4; i++) {
    _mm256_storeu_ps(out + i * ld_out, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(out + (i + 4) * ld_out, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
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
