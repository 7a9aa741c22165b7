// One game's kernels as the host sees them. Each game has a file of its own, since compiling one
// takes long.

#ifndef MM_BACKEND_CUDA_MINATAR_ENTRY_H
#define MM_BACKEND_CUDA_MINATAR_ENTRY_H

#include "backend/cuda/minatar/minatar.h"

enum { MM_CUDA_MINATAR_TILES = 3 };

typedef struct mm_cuda_minatar_entry {
  size_t obs_size;
  size_t (*scratch)(int32_t n_env);
  // by size of the tile, largest first
  struct {
    int rows;
    size_t shared;
    cudaError_t (*launch)(bool relu, mm_cuda_agent *agents, int n, int64_t *clocks,
                          cudaStream_t stream);
  } tile[MM_CUDA_MINATAR_TILES];
} mm_cuda_minatar_entry;

#define MM_CUDA_MINATAR_ENTRY(name, NAME, id)                                                      \
  extern const mm_cuda_minatar_entry mm_cuda_minatar_##name;
MM_GAME_LIST(MM_CUDA_MINATAR_ENTRY)
#undef MM_CUDA_MINATAR_ENTRY

#endif
