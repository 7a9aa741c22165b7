// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/locomotion/body.h"

#include "backend/cuda/locomotion/entry.h"
#include "env/locomotion/bodies.h"
#include "physics/kernels.h"

// Flavours without kernels are refused when they are opened.
#define ALL_BRAX(name) NULL
#define ALL_BOTH(name) &mm_cuda_body_##name##_all
#define ENTRY(NAME, name, id, kernels)                                                             \
  [MM_BODY_##NAME] = { &mm_cuda_body_##name, ALL_##kernels(name) },
static const mm_cuda_body_entry *const entries[MM_BODY_COUNT][MM_FLAVOUR_COUNT] = { MM_BODY_LIST(
    ENTRY) };

// The model is that of the processor's kernels, all of whose builds have the same.
mm_status mm_cuda_body_open(mm_body body, mm_flavour flavour, int32_t iterations,
                            mm_cuda_body *out) {
  const mm_body_info *info = mm_body_describe(body);
  const mm_physics_kernel *kernel = mm_physics_kernels_current()->of[body][flavour];
  mm_body_table table;
  *out = (mm_cuda_body){ .body = body,
                         .flavour = flavour,
                         .iterations = iterations > 0 ? iterations : info->iterations[flavour],
                         .substeps = info->substeps,
                         .base = (float)info->height[flavour] };
  if (!entries[body][flavour])
    return MM_FAIL(MM_ERR_UNSUPPORTED, "%s in this flavour runs on the CPU only", info->name);
  if (kernel->model_size > sizeof out->model)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "the model of %s has %zu bytes, too many for a device",
                   info->name, kernel->model_size);
  mm_body_derive(body, flavour, &table);
  kernel->prepare(&table, info->h, out->model);
  for (int k = 0; k < info->nq; k++)
    out->start[k] = (float)info->start[flavour][k];
  return MM_OK;
}

size_t mm_cuda_body_state_size(const mm_cuda_body *body, size_t n) {
  const mm_body_info *info = mm_body_describe(body->body);
  return n * (sizeof(mm_bodies_lane) + (size_t)(info->nq + 2 * info->nv) * sizeof(float));
}

static const mm_cuda_body_entry *entry_of(const mm_cuda_body *body) {
  return entries[body->body][body->flavour];
}

cudaError_t mm_cuda_body_step(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                              int n_most, cudaStream_t stream) {
  return entry_of(body)->step(body, bodies, count, n_most, stream);
}

cudaError_t mm_cuda_body_reset(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                               int n_most, cudaStream_t stream) {
  return entry_of(body)->reset(body, bodies, count, n_most, stream);
}

cudaError_t mm_cuda_body_bench(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                               int n_most, uint64_t first, int steps, cudaStream_t stream) {
  return entry_of(body)->bench(body, bodies, count, n_most, first, steps, stream);
}
