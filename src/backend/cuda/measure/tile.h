// SPDX-License-Identifier: Apache-2.0
// How the kernels are cut to a device: the more shared memory its blocks have, the more rows go
// through the networks at a time.

#ifndef MM_BACKEND_CUDA_MEASURE_TILE_H
#define MM_BACKEND_CUDA_MEASURE_TILE_H

#include "backend/cuda/host/cuda.h"

enum { MM_CUDA_TILES_MOST = 16 };

typedef struct mm_cuda_tile {
  const char *env; // ID
  int rows;        // at a time; 0: the device is too small for this environment
  size_t shared;   // bytes of shared memory that this takes
} mm_cuda_tile;

// The tiles that the device takes for AMPO, by environment, with the paper's settings; returns how
// many. (Larger minibatches on classic control may ask for smaller tiles.)
size_t mm_cuda_tiles(const mm_cuda_device *device, mm_cuda_tile out[MM_CUDA_TILES_MOST]);

#endif
