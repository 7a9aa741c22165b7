// SPDX-License-Identifier: Apache-2.0
// Environments of a body on a device with random actions: how fast its physics is there.

#ifndef MM_BACKEND_CUDA_MEASURE_PHYSICS_H
#define MM_BACKEND_CUDA_MEASURE_PHYSICS_H

#include <stddef.h>

#include "base/status.h"
#include "physics/body.h"

typedef struct mm_cuda_physics mm_cuda_physics;

// n environments at the beginning of episodes that are in all their stages.
mm_status mm_cuda_physics_open(int device, mm_body body, size_t n, mm_cuda_physics **out);
void mm_cuda_physics_close(mm_cuda_physics *bench);

// `steps` steps of all environments in one launch, resets and observations included: seconds by the
// device's clock.
mm_status mm_cuda_physics_run(mm_cuda_physics *bench, int steps, double *seconds);

#endif
