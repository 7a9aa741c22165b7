// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/measure/tile.h"

#include "backend/cuda/classic/classic.h"
#include "backend/cuda/host/kernel.h"
#include "backend/cuda/minatar/minatar.h"
#include "env/env_internal.h"
#include "env/vec_internal.h"

static size_t minatar_size(mm_minatar_game game, int tile) {
  return mm_cuda_minatar_shared(game, tile);
}

// With the paper's settings; 0 if there is no room.
static size_t classic_size(mm_classic_env env, int tile, size_t limit) {
  const mm_actor_critic_config c = mm_ampo_config_default().net;
  const int rows = (int)(c.envs * c.unroll);
  mm_cuda_classic_plan plan;
  const bool fits = mm_cuda_classic_choose(env, false, rows, (int)c.envs, rows / (int)c.minibatches,
                                           tile, limit, &plan);
  return fits ? plan.shared_size : 0;
}

static void cut_gauss(const mm_cuda_device *device, mm_cuda_tile *out) {
  for (int rows = 160; rows >= 64 && out->rows == 0; rows -= 96)
    if (mm_cuda_gauss_shared(rows) <= device->shared && (rows == 64 || device->major >= 9))
      *out = (mm_cuda_tile){ out->env, rows, mm_cuda_gauss_shared(rows) };
}

// The largest that the device has code and room for.
static void cut(const mm_cuda_device *device, const mm_env_kind *kind, mm_cuda_family family,
                mm_cuda_tile *out) {
  if (family == MM_CUDA_FAMILY_GAUSS) {
    cut_gauss(device, out);
    return;
  }
  for (int rows = 128; rows >= 32 && out->rows == 0; rows /= 2) {
    const size_t size = family == MM_CUDA_FAMILY_MINATAR
                            ? minatar_size((mm_minatar_game)kind->which, rows)
                            : classic_size((mm_classic_env)kind->which, rows, device->shared);
    if (size > 0 && size <= device->shared && mm_cuda_kernel_is_compiled(device, rows))
      *out = (mm_cuda_tile){ out->env, rows, size };
  }
}

size_t mm_cuda_tiles(const mm_cuda_device *device, mm_cuda_tile out[MM_CUDA_TILES_MOST]) {
  const mm_env_kind *kind;
  size_t n = 0;
  for (size_t i = 0; n < MM_CUDA_TILES_MOST && (kind = mm_env_kind_at(i)) != NULL; i++) {
    mm_cuda_tile *tile = &out[n];
    *tile = (mm_cuda_tile){ .env = kind->id };
    const mm_cuda_family family = mm_cuda_kernel_family(kind);
    const bool again = (kind->law == &mm_vec_minatar && kind->rules != MM_RULES_GYMNAX) ||
                       (kind->law == &mm_vec_body && kind->flavour != MM_ENV_FLAVOUR_BRAX);
    if (family == MM_CUDA_FAMILY_NONE || again) continue;
    cut(device, kind, family, tile);
    n++;
  }
  return n;
}
