// SPDX-License-Identifier: Apache-2.0
// Jobs of AMPO on one device.

#ifndef MM_BACKEND_CUDA_HOST_SCHEDULE_H
#define MM_BACKEND_CUDA_HOST_SCHEDULE_H

#include <stdatomic.h>

#include "backend/cuda/host/cuda.h"

// Jobs that several devices take from, in the order of the list.
typedef struct mm_cuda_queue {
  mm_job_list *list;
  const size_t *job; // [n] numbers of jobs in the list
  size_t n;
  int threads; // of the host for each device, which make the agents; at least 1
  atomic_size_t next;
} mm_cuda_queue;

// Takes jobs until none is left or the caller wants to stop. MM_OK, or MM_ERR_INTERRUPTED, with a
// result for every job that was taken; any other failure is the device's, and leaves the jobs in
// flight marked as interrupted. *threads: how many of the host's worked at a time, at most.
mm_status mm_cuda_ampo_run(int device, mm_cuda_queue *queue, int *threads);

// Device memory that the kernels of later runs write their clocks to; NULL: no longer.
void mm_cuda_ampo_profile(int device, int64_t *clocks);

#endif
