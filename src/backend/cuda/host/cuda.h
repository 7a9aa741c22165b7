// SPDX-License-Identifier: Apache-2.0
// The backend `cuda`: devices, and lists of jobs on them. Without CUDA in the build the same
// functions say so (no_cuda.c).

#ifndef MM_BACKEND_CUDA_HOST_CUDA_H
#define MM_BACKEND_CUDA_HOST_CUDA_H

#include "backend/job_list.h"

enum { MM_CUDA_DEVICES_MOST = 64, MM_CUDA_NAME_SIZE = 128 };

typedef struct mm_cuda_device {
  char name[MM_CUDA_NAME_SIZE];
  int major, minor;    // compute capability
  int processors;      // multiprocessors
  size_t memory;       // bytes
  size_t shared;       // bytes of shared memory that a block may have
  int clock_mhz;       // at most; 0: not told
  int driver, runtime; // versions as CUDA counts them: 1000 major + 10 minor
} mm_cuda_device;

// Devices of this machine, of which one at least can be used; else MM_ERR_UNSUPPORTED with the
// reason.
mm_status mm_cuda_find(int *count);
mm_status mm_cuda_describe(int device, mm_cuda_device *out);

// Can this one be used? A device that does not say what it is, or that is too old, cannot:
// MM_ERR_UNSUPPORTED or MM_ERR_DEVICE with the reason.
mm_status mm_cuda_usable(int device);

// Can this job run on a device? Else false, and mm_last_error() says why not.
bool mm_cuda_takes(const mm_job *job);

// On the devices of the list's configuration.
mm_status mm_cuda_run(mm_job_list *list);

#endif
