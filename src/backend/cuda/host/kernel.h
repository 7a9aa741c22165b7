// SPDX-License-Identifier: Apache-2.0
// The kernel that trains a job on a device, and what it needs.

#ifndef MM_BACKEND_CUDA_HOST_KERNEL_H
#define MM_BACKEND_CUDA_HOST_KERNEL_H

#include <cuda_runtime_api.h>

#include "agent/ampo.h"
#include "backend/cuda/classic/classic.h"
#include "backend/cuda/gaussian/gaussian.h"
#include "backend/cuda/host/cuda.h"
#include "backend/cuda/minatar/minatar.h"
#include "env/env_internal.h"

typedef struct mm_cuda_kernel {
  bool real;    // actions are numbers: gaussian/gaussian.h
  bool minatar; // observations are bits: minatar/minatar.h, else classic/classic.h
  mm_minatar_game game;
  bool relu;
  int rows; // of a tile, of the kernel for MinAtar
  mm_cuda_classic_plan classic;
  mm_cuda_gauss_plan gauss;
  size_t obs_size; // bytes of an observation
  size_t scratch;  // bytes of the kernel's own memory
} mm_cuda_kernel;

// The kernels that know an environment.
typedef enum mm_cuda_family {
  MM_CUDA_FAMILY_NONE, // the processor alone does
  MM_CUDA_FAMILY_CLASSIC,
  MM_CUDA_FAMILY_MINATAR,
  MM_CUDA_FAMILY_GAUSS
} mm_cuda_family;

mm_cuda_family mm_cuda_kernel_family(const mm_env_kind *kind);

// Can some device train the networks of this job? MM_ERR_UNSUPPORTED and why not.
mm_status mm_cuda_kernel_check(const mm_job *job);

// For an agent on a device. `tile`: 0, or the size that is wanted. MM_ERR_UNSUPPORTED if the device
// is too small.
mm_status mm_cuda_kernel_choose(const mm_ampo *ampo, int tile, const mm_cuda_device *device,
                                mm_cuda_kernel *out);

// Has the program code of this tile for that kind of device?
bool mm_cuda_kernel_is_compiled(const mm_cuda_device *device, int rows);

// One launch may hold agents of both.
bool mm_cuda_kernel_same(const mm_cuda_kernel *a, const mm_cuda_kernel *b);

// Iterations that one launch can do at most.
int32_t mm_cuda_kernel_span_most(const mm_cuda_kernel *kernel);

// agents: [n] in device memory; each does its `span` iterations, which are `longest` at most.
// clocks: NULL, or device memory for what the kernel's launch function says.
cudaError_t mm_cuda_kernel_launch(const mm_cuda_kernel *kernel, mm_cuda_agent *agents, int n,
                                  int32_t longest, int64_t *clocks, cudaStream_t stream);

#endif
