// SPDX-License-Identifier: Apache-2.0
// Sizes and launches by game and tile.

#include "backend/cuda/minatar/minatar.h"

#include "backend/cuda/network/entry.h"

#define ENTRY(name, NAME, id) extern const mm_cuda_entry mm_cuda_minatar_##name;
MM_GAME_LIST(ENTRY)
#undef ENTRY

static const mm_cuda_entry *entry_of(mm_minatar_game game) {
  static const mm_cuda_entry *const entries[MM_GAME_COUNT] = {
#define ENTRY(name, NAME, id) &mm_cuda_minatar_##name,
    MM_GAME_LIST(ENTRY)
#undef ENTRY
  };
  return game >= 0 && game < MM_GAME_COUNT ? entries[game] : nullptr;
}

size_t mm_cuda_minatar_obs_size(mm_minatar_game game) {
  const mm_cuda_entry *entry = entry_of(game);
  return entry ? entry->obs_size : 0;
}

size_t mm_cuda_minatar_scratch(mm_minatar_game game, int32_t n_env) {
  const mm_cuda_entry *entry = entry_of(game);
  return entry ? entry->scratch(n_env) : 0;
}

// 0 where there is no such kernel.
size_t mm_cuda_minatar_shared(mm_minatar_game game, int rows) {
  const mm_cuda_entry *entry = entry_of(game);
  for (int i = 0; entry && i < MM_CUDA_ENTRY_TILES; i++)
    if (entry->tile[i].rows == rows) return entry->tile[i].shared;
  return 0;
}

cudaError_t mm_cuda_minatar_launch(mm_minatar_game game, bool relu, int rows, mm_cuda_agent *agents,
                                   int n, int64_t *clocks, cudaStream_t stream) {
  const mm_cuda_entry *entry = entry_of(game);
  void *arguments[] = { &agents, &clocks };
  for (int i = 0; entry && i < MM_CUDA_ENTRY_TILES; i++)
    if (entry->tile[i].rows == rows)
      return mm_cuda_launch_blocks(entry->tile[i].kernel[relu], n, MM_CUDA_MINATAR_THREADS,
                                   entry->tile[i].shared, arguments, stream);
  return cudaErrorInvalidConfiguration;
}
