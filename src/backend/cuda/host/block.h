// SPDX-License-Identifier: Apache-2.0
// An agent as a block of device memory: what travels first, then the batch.
//
//   param, m, v      floats (mm_cuda_layout)
//   environments     as mm_vec_keep leaves them
//   returns of episodes: running, finished
//   the map's block, of a map that moves the first anchor's
//   for continuous actions mm_cuda_gauss, scaled observations, scales (mm_wrap_save), words
//   ---- up to here `moved` bytes, the same on the host
//   batch and the kernel's own

#ifndef MM_BACKEND_CUDA_HOST_BLOCK_H
#define MM_BACKEND_CUDA_HOST_BLOCK_H

#include "agent/ampo.h"
#include "backend/cuda/host/kernel.h"

typedef struct mm_cuda_block {
  const mm_cuda_kernel *kernel;
  size_t moved, size; // bytes
  size_t measures;    // where mm_cuda_gauss_report of the last launch lie, of continuous actions
} mm_cuda_block;

// The kernel must stay where it is.
mm_cuda_block mm_cuda_block_of(const mm_ampo *ampo, const mm_cuda_kernel *kernel);

// Writes what travels to `host`, and the agent, with pointers into device memory from `device` on.
void mm_cuda_block_fill(const mm_cuda_block *block, const mm_ampo *ampo, void *host,
                        unsigned char *device, mm_cuda_agent *out);

// Brings an agent to where `host`, which has travelled back, says that it is.
mm_status mm_cuda_block_follow(const void *host, int64_t iteration, mm_ampo *ampo);

// What the iterations of the last launch saw of continuous actions, as a report has it: reads what
// lies at `measures` in device memory, MM_CUDA_GAUSS_SPAN_MOST of mm_cuda_gauss_report.
mm_gaussian_report mm_cuda_block_measure(const mm_cuda_gauss_report *seen);

// Step sizes of `span` iterations from `iteration` on, while the map stays as it is.
void mm_cuda_block_steps(const mm_ampo *ampo, int64_t iteration, int64_t span, mm_eta_step *out);

// Memory on both sides.
typedef struct mm_cuda_twin {
  unsigned char *host, *device;
  size_t size;
} mm_cuda_twin;

// The same where the map moves, with the maps of these iterations at the beginning of `maps`
// (mm_cuda_agent). *span then says how many there was room for, up to the first that is none;
// *used: the bytes to be sent.
mm_status mm_cuda_block_maps(mm_ampo *ampo, int64_t iteration, const mm_cuda_twin *maps,
                             int32_t *span, mm_eta_step *out, size_t *used);

// Adam's rates for `span` iterations from `iteration` on: [span][epochs][minibatches].
void mm_cuda_block_rates(const mm_ampo *ampo, int64_t iteration, int64_t span, mm_cuda_rate *out);

#endif
