// SPDX-License-Identifier: Apache-2.0
// Matrices of halves in shared memory without padding, in the two orders that products by four
// warps know (warpgroup.cuh). Rows have 64 halves, or 32, and their pieces of eight change
// places by the row's number, so that eight rows lie in different banks.
//
//   wide:   piece c of row r is where piece c ^ (r & 7) would be
//   narrow: rows of 32; piece c of row r is where piece c ^ (r >> 1 & 3) would be
//
// Lanes that load or store four 8 x 8 matrices begin at the addresses below, which are of the first
// 16 rows and columns of a matrix at a multiple of 1024. 16 rows down is so many bytes more, 16
// columns to the right changes bits: `wide ^ right(k)`.

#ifndef MM_BACKEND_CUDA_WARP_SWIZZLE_CUH
#define MM_BACKEND_CUDA_WARP_SWIZZLE_CUH

#include "backend/cuda/warp/warp.cuh"

namespace mm {

enum { WIDE_ROW = 64, NARROW_ROW = 32, WIDE_DOWN = 16 * 128, NARROW_DOWN = 16 * 64 };

MM_DEVICE constexpr uint32_t right(uint32_t k) { // of 16 columns
  return k << 5;
}

MM_DEVICE int wide_place(int row, int column) {
  return row * WIDE_ROW + (((column >> 3) ^ (row & 7)) << 3) + (column & 7);
}

// Rows lane & 15: fragments of A, or, transposed, of B.
MM_DEVICE uint32_t wide_plain(int lane) {
  return (uint32_t)((lane & 15) * 128 + (((lane >> 4) ^ (lane & 7)) << 4));
}

// Matrices 1 and 2 exchanged.
MM_DEVICE uint32_t wide_turned(int lane) {
  const int row = (lane & 7) + ((lane >> 4) << 3), piece = (lane >> 3) & 1;
  return (uint32_t)(row * 128 + ((piece ^ (lane & 7)) << 4));
}

MM_DEVICE uint32_t narrow_plain(int lane) {
  return (uint32_t)((lane & 15) * 64 + (((lane >> 4) ^ (lane >> 1 & 3)) << 4));
}

MM_DEVICE uint32_t narrow_turned(int lane) {
  const int row = (lane & 7) + ((lane >> 4) << 3), piece = (lane >> 3) & 1;
  return (uint32_t)(row * 64 + ((piece ^ (lane >> 1 & 3)) << 4));
}

} // namespace mm

#endif
