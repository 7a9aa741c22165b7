// Sizes and launches by game and tile.

#include "backend/cuda/minatar/cuda_bits_entry.h"

static const struct {
  mm_minatar_game game;
  const mm_cuda_bits_entry *entry;
} games[] = {
  { MM_GAME_ASTERIX, &mm_cuda_bits_asterix },
  { MM_GAME_BREAKOUT, &mm_cuda_bits_breakout },
  { MM_GAME_FREEWAY, &mm_cuda_bits_freeway },
  { MM_GAME_SPACE_INVADERS, &mm_cuda_bits_space_invaders },
  { MM_GAME_SEAQUEST, &mm_cuda_bits_seaquest },
};

// Null for a game without kernels.
static const mm_cuda_bits_entry *entry_of(mm_minatar_game game) {
  for (const auto &one : games)
    if (one.game == game) return one.entry;
  return nullptr;
}

size_t mm_cuda_bits_obs_size(mm_minatar_game game) {
  const mm_cuda_bits_entry *entry = entry_of(game);
  return entry ? entry->obs_size : 0;
}

size_t mm_cuda_bits_scratch(mm_minatar_game game, int32_t n_env) {
  const mm_cuda_bits_entry *entry = entry_of(game);
  return entry ? entry->scratch(n_env) : 0;
}

// 0 where there is no such kernel.
size_t mm_cuda_bits_shared(mm_minatar_game game, int rows) {
  const mm_cuda_bits_entry *entry = entry_of(game);
  for (int i = 0; entry && i < MM_CUDA_BITS_TILES; i++)
    if (entry->tile[i].rows == rows) return entry->tile[i].shared;
  return 0;
}

cudaError_t mm_cuda_bits_launch(mm_minatar_game game, bool relu, int rows, mm_cuda_agent *agents,
                                int n, int64_t *clocks, cudaStream_t stream) {
  const mm_cuda_bits_entry *entry = entry_of(game);
  for (int i = 0; entry && i < MM_CUDA_BITS_TILES; i++)
    if (entry->tile[i].rows == rows) return entry->tile[i].launch(relu, agents, n, clocks, stream);
  return cudaErrorInvalidConfiguration;
}
