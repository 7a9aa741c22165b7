// SPDX-License-Identifier: Apache-2.0
// What a training costs a device, seen from inside: where its block's time goes, and what it keeps.

#ifndef MM_BACKEND_CUDA_MEASURE_PROFILE_H
#define MM_BACKEND_CUDA_MEASURE_PROFILE_H

#include "base/status.h"
#include "mirrormap/agent.h"

enum { MM_CUDA_PROFILE_STAGES = 16 };

typedef struct mm_cuda_profile {
  int n_stage; // depends on the kernel
  struct {
    const char *name;
    double share; // of the block's time
  } stage[MM_CUDA_PROFILE_STAGES];
  int rows;      // tile of the kernel
  size_t memory; // bytes of the device for each job
  size_t shared; // bytes of shared memory of its block
} mm_cuda_profile;

// Trains n agents side by side for `span` iterations in one launch, with the environment, map and
// settings of the job (AMPO) and its seed and those that follow. Their results are not kept.
mm_status mm_cuda_profile_job(int device, const mm_job *job, int n, int span, mm_cuda_profile *out);

#endif
