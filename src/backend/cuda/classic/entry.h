// One environment's kernels as the host sees them.

#ifndef MM_BACKEND_CUDA_CLASSIC_ENTRY_H
#define MM_BACKEND_CUDA_CLASSIC_ENTRY_H

#include <stddef.h>

#include "env/classic/list.h"

enum { MM_CUDA_CLASSIC_TILES = 3 };

typedef struct mm_cuda_classic_entry {
  // by size, largest first
  struct {
    int rows;
    size_t shared;         // bytes, without the batch
    const void *kernel[2]; // with tanh, with relu
  } tile[MM_CUDA_CLASSIC_TILES];
} mm_cuda_classic_entry;

#define MM_CUDA_CLASSIC_ENTRY(name, NAME, id)                                                      \
  extern const mm_cuda_classic_entry mm_cuda_classic_##name;
MM_CLASSIC_DISCRETE(MM_CUDA_CLASSIC_ENTRY)
#undef MM_CUDA_CLASSIC_ENTRY

#endif
