#include "backend/cuda_tile.h"

#include "backend/cuda_bits.h"
#include "backend/cuda_dense.h"
#include "env/env_internal.h"
#include "env/vec_internal.h"

static void cut_bits(mm_minatar_game game, size_t limit, mm_cuda_tile *out) {
  for (int rows = 128; rows >= 32 && out->rows == 0; rows /= 2) {
    const size_t shared = mm_cuda_bits_shared(game, rows);
    if (shared > 0 && shared <= limit) *out = (mm_cuda_tile){ out->env, rows, shared };
  }
}

static void cut_dense(mm_classic_env env, size_t limit, mm_cuda_tile *out) {
  const mm_ampo_config c = mm_ampo_config_default();
  const int rows = (int)(c.envs * c.unroll);
  mm_cuda_dense_plan plan;
  if (mm_cuda_dense_choose(env, false, rows, (int)c.envs, rows / (int)c.minibatches, 0, limit,
                           &plan))
    *out = (mm_cuda_tile){ out->env, plan.tile, plan.shared_size };
}

size_t mm_cuda_tiles(const mm_cuda_device *device, mm_cuda_tile out[MM_CUDA_TILES_MOST]) {
  const mm_env_kind *kind;
  size_t n = 0;
  for (size_t i = 0; n < MM_CUDA_TILES_MOST && (kind = mm_env_kind_at(i)) != NULL; i++) {
    mm_cuda_tile *tile = &out[n];
    *tile = (mm_cuda_tile){ .env = kind->id };
    if (kind->law == &mm_vec_minatar && kind->rules == MM_RULES_GYMNAX)
      cut_bits((mm_minatar_game)kind->which, device->shared, tile);
    else if (kind->law == &mm_vec_classic && kind->which <= MM_CLASSIC_MOUNTAIN_CAR)
      cut_dense((mm_classic_env)kind->which, device->shared, tile);
    else
      continue;
    n++;
  }
  return n;
}
