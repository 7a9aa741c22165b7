// SPDX-License-Identifier: Apache-2.0
// Which kernel suits an agent and a device.

#include "backend/cuda/classic/classic.h"

#include "backend/cuda/network/entry.h"

#define ENTRY(name, NAME, id) extern const mm_cuda_entry mm_cuda_classic_##name;
MM_CLASSIC_DISCRETE(ENTRY)
#undef ENTRY

// Null for an environment without kernels.
static const mm_cuda_entry *entry_of(mm_classic_env env) {
  switch (env) {
#define ENTRY(name, NAME, id)                                                                      \
  case MM_CLASSIC_##NAME:                                                                          \
    return &mm_cuda_classic_##name;
    MM_CLASSIC_DISCRETE(ENTRY)
#undef ENTRY
  default:
    return nullptr;
  }
}

static size_t batch_size(int n_row, int n_env) {
  const size_t rows = (size_t)n_row, all = rows + (size_t)n_env;
  return all * MM_CUDA_CLASSIC_OBS_SIZE + (all + 4 * rows) * sizeof(float) + 2 * rows;
}

bool mm_cuda_classic_choose(mm_classic_env env, bool relu, int n_row, int n_env, int largest,
                            int tile, size_t shared_limit, mm_cuda_classic_plan *out) {
  const mm_cuda_entry *entry = entry_of(env);
  for (int i = 0; entry && i < MM_CUDA_ENTRY_TILES; i++) {
    const int rows = entry->tile[i].rows;
    const size_t work = entry->tile[i].shared, batch = batch_size(n_row, n_env);
    if ((tile != 0 && tile != rows) || work > shared_limit) continue;
    if (i == 0 && largest > rows) continue; // a minibatch is one tile there
    *out = mm_cuda_classic_plan{};
    out->env = env;
    out->relu = relu;
    out->tile = rows;
    out->batch_inside = batch <= shared_limit - work;
    out->shared_size = work + (out->batch_inside ? batch : 0);
    out->kernel = entry->tile[i].kernel[relu];
    return true;
  }
  return false;
}

cudaError_t mm_cuda_classic_launch(const mm_cuda_classic_plan *plan, mm_cuda_agent *agents, int n,
                                   int64_t *clocks, cudaStream_t stream) {
  int inside = plan->batch_inside;
  void *arguments[] = { &agents, &inside, &clocks };
  return mm_cuda_launch_blocks(plan->kernel, n, 4 * plan->tile, plan->shared_size, arguments,
                               stream);
}
