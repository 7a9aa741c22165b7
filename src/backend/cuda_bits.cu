// Sizes and launches by game and tile.

#include "backend/cuda_bits_entry.h"

static const mm_cuda_bits_entry *entry_of(mm_minatar_game game) {
  switch (game) {
  case MM_GAME_ASTERIX:
    return &mm_cuda_bits_asterix;
  case MM_GAME_BREAKOUT:
    return &mm_cuda_bits_breakout;
  case MM_GAME_FREEWAY:
    return &mm_cuda_bits_freeway;
  case MM_GAME_SPACE_INVADERS:
    return &mm_cuda_bits_space_invaders;
  default:
    return &mm_cuda_bits_seaquest;
  }
}

size_t mm_cuda_bits_obs_size(mm_minatar_game game) {
  return entry_of(game)->obs_size;
}

size_t mm_cuda_bits_scratch(mm_minatar_game game, int32_t n_env) {
  return entry_of(game)->scratch(n_env);
}

size_t mm_cuda_bits_shared(mm_minatar_game game, int rows) {
  const mm_cuda_bits_entry *entry = entry_of(game);
  for (int i = 0; i < MM_CUDA_BITS_TILES; i++)
    if (entry->tile[i].rows == rows) return entry->tile[i].shared;
  return 0;
}

cudaError_t mm_cuda_bits_launch(mm_minatar_game game, bool relu, int rows, mm_cuda_agent *agents,
                                int n, int64_t *clocks, cudaStream_t stream) {
  const mm_cuda_bits_entry *entry = entry_of(game);
  for (int i = 0; i < MM_CUDA_BITS_TILES; i++)
    if (entry->tile[i].rows == rows) return entry->tile[i].launch(relu, agents, n, clocks, stream);
  return cudaErrorInvalidConfiguration;
}
