#include "backend/cuda_kernel.h"

#include "agent/ampo_internal.h"
#include "base/status.h"
#include "env/vec_internal.h"

const char *mm_cuda_kernel_refusal(const mm_job *job) {
  const mm_ampo_config *c = job->ampo;
  const mm_env_kind *kind = job->env->kind;
  if (c->gaussian) return "algorithm pmd-gaussian runs on the processor only";
  if (c->ppo) return "algorithm ppo runs on the processor only";
  if (!kind) return "ampo on Grid-World runs on the processor only";
  if (kind->law == &mm_vec_classic && kind->which > MM_CLASSIC_MOUNTAIN_CAR)
    return "environments with real actions have no agent there";
  if (c->bootstrap_on_timeout) return "bootstrap_on_timeout=on runs on the processor only";
  if (c->hidden > MM_CUDA_HIDDEN) return "networks have at most 64 hidden units there";
  return NULL;
}

static int largest_minibatch(const mm_ampo *a) {
  const size_t m = (size_t)a->config.minibatches;
  return (int)((a->n_row + m - 1) / m);
}

// As tile_is_compiled in cuda_warp.cuh has it for the kind of device.
bool mm_cuda_kernel_is_compiled(const mm_cuda_device *device, int rows) {
  const int kind = 10 * device->major + device->minor;
  return kind >= 90 || (kind >= 86 ? rows == 32 : rows <= 64);
}

static bool fits(const mm_ampo *a, int rows, size_t shared, mm_cuda_kernel *out) {
  out->rows = rows;
  if (out->bits) return mm_cuda_bits_shared(out->game, rows) <= shared;
  return mm_cuda_dense_choose((mm_classic_env)a->vec->which, out->relu, (int)a->n_row,
                              (int)a->n_env, largest_minibatch(a), rows, shared, &out->dense);
}

mm_status mm_cuda_kernel_choose(const mm_ampo *a, int tile, const mm_cuda_device *device,
                                mm_cuda_kernel *out) {
  *out = (mm_cuda_kernel){ .bits = a->lists, .relu = a->config.relu };
  if (a->n_row > INT32_MAX / 2)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "envs * unroll = %zu: too many for a device", a->n_row);
  out->obs_size = (size_t)a->info.n_input * sizeof(float);
  if (out->bits) {
    out->game = (mm_minatar_game)a->vec->which;
    out->obs_size = mm_cuda_bits_obs_size(out->game);
    out->scratch = mm_cuda_bits_scratch(out->game, (int32_t)a->n_env);
  }
  for (int rows = 128; rows >= 32; rows /= 2)
    if ((tile == 0 || tile == rows) && mm_cuda_kernel_is_compiled(device, rows) &&
        fits(a, rows, device->shared, out))
      return MM_OK;
  return MM_FAIL(MM_ERR_UNSUPPORTED, "%zu bytes of shared memory in a block are too few",
                 device->shared);
}

bool mm_cuda_kernel_same(const mm_cuda_kernel *a, const mm_cuda_kernel *b) {
  if (a->bits != b->bits || a->relu != b->relu) return false;
  if (a->bits) return a->game == b->game && a->rows == b->rows;
  return a->dense.kernel == b->dense.kernel && a->dense.shared_size == b->dense.shared_size &&
         a->dense.batch_inside == b->dense.batch_inside;
}

cudaError_t mm_cuda_kernel_launch(const mm_cuda_kernel *k, mm_cuda_agent *agents, int n,
                                  int64_t *clocks, cudaStream_t stream) {
  if (k->bits) return mm_cuda_bits_launch(k->game, k->relu, k->rows, agents, n, clocks, stream);
  return mm_cuda_dense_launch(&k->dense, agents, n, clocks, stream);
}
