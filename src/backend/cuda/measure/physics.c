// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/measure/physics.h"

#include "backend/cuda/host/error.h"
#include "backend/cuda/locomotion/body.h"
#include "env/locomotion/bodies.h"

struct mm_cuda_physics {
  int device;
  size_t n;
  mm_cuda_body body;
  mm_cuda_bodies bodies; // and the device's copy of it:
  mm_cuda_bodies *there;
  void *block;   // everything else that is there
  uint64_t done; // steps
  cudaEvent_t start, end;
};

static mm_status take(int device, size_t size, void *out) {
  MM_TRY_CUDA(device, cudaMalloc(out, size), "taking %zu bytes", size);
  return MM_OK;
}

// State, observations, rewards and ends lie behind each other.
static mm_status take_memory(mm_cuda_physics *w) {
  const size_t state = mm_cuda_body_state_size(&w->body, w->n);
  const size_t obs = w->n * (size_t)mm_body_describe(w->body.body)->n_obs * sizeof(float);
  MM_TRY(take(w->device, state + obs + w->n * (sizeof(float) + 1), &w->block));
  MM_TRY(take(w->device, sizeof *w->there, &w->there));
  char *at = w->block;
  w->bodies = (mm_cuda_bodies){ .n = (int32_t)w->n,
                                .state = at,
                                .obs = (float *)(void *)(at + state),
                                .reward = (float *)(void *)(at + state + obs),
                                .end = (uint8_t *)at + state + obs + w->n * sizeof(float) };
  MM_TRY_CUDA(w->device, cudaMemcpy(w->there, &w->bodies, sizeof w->bodies, cudaMemcpyHostToDevice),
              "copying to it");
  return MM_OK;
}

static mm_status send_lanes(const mm_cuda_physics *w, mm_bodies_lane *lane, bool begun) {
  for (size_t i = 0; i < w->n; i++)
    lane[i] = (mm_bodies_lane){ .time = begun ? (int32_t)(i * MM_BODIES_LIMIT / w->n) : 0,
                                .episode = begun };
  MM_TRY_CUDA(w->device,
              cudaMemcpy(w->bodies.state, lane, w->n * sizeof *lane, cudaMemcpyHostToDevice),
              "copying to it");
  return MM_OK;
}

static mm_status begin(const mm_cuda_physics *w) {
  mm_bodies_lane *lane = mm_alloc_array(w->n, sizeof *lane);
  if (!lane) return MM_FAIL(MM_ERR_MEMORY, "environments on a device: out of memory");
  mm_status status = send_lanes(w, lane, false);
  if (status == MM_OK) {
    const cudaError_t error = mm_cuda_body_reset(&w->body, w->there, 1, (int)w->n, NULL);
    if (error != cudaSuccess)
      status = mm_cuda_fail(w->device, error, __FILE__, __LINE__, "starting environments");
  }
  if (status == MM_OK) status = send_lanes(w, lane, true);
  mm_free(lane);
  return status;
}

mm_status mm_cuda_physics_open(int device, mm_body body, size_t n, mm_cuda_physics **out) {
  *out = NULL;
  mm_cuda_physics *w = mm_alloc(sizeof *w);
  if (!w) return MM_FAIL(MM_ERR_MEMORY, "environments on a device: out of memory");
  *w = (mm_cuda_physics){ .device = device, .n = n };
  const cudaError_t error = cudaSetDevice(device);
  mm_status status = error == cudaSuccess
                         ? mm_cuda_body_open(body, MM_FLAVOUR_BRAX, 0, &w->body)
                         : mm_cuda_fail(device, error, __FILE__, __LINE__, "choosing it");
  if (status == MM_OK) status = take_memory(w);
  if (status == MM_OK &&
      (cudaEventCreate(&w->start) != cudaSuccess || cudaEventCreate(&w->end) != cudaSuccess))
    status = MM_FAIL(MM_ERR_DEVICE, "CUDA device %d: no events", device);
  if (status == MM_OK) status = begin(w);
  if (status == MM_OK)
    *out = w;
  else
    mm_cuda_physics_close(w);
  return status;
}

void mm_cuda_physics_close(mm_cuda_physics *w) {
  if (!w) return;
  cudaFree(w->block);
  cudaFree(w->there);
  if (w->start) cudaEventDestroy(w->start);
  if (w->end) cudaEventDestroy(w->end);
  mm_free(w);
}

mm_status mm_cuda_physics_run(mm_cuda_physics *w, int steps, double *seconds) {
  float milliseconds;
  MM_TRY_CUDA(w->device, cudaEventRecord(w->start, NULL), "timing");
  MM_TRY_CUDA(w->device, mm_cuda_body_bench(&w->body, w->there, 1, (int)w->n, w->done, steps, NULL),
              "starting %d steps", steps);
  MM_TRY_CUDA(w->device, cudaEventRecord(w->end, NULL), "timing");
  MM_TRY_CUDA(w->device, cudaEventSynchronize(w->end), "stepping bodies");
  MM_TRY_CUDA(w->device, cudaEventElapsedTime(&milliseconds, w->start, w->end), "timing");
  w->done += (uint64_t)steps;
  *seconds = 1e-3 * (double)milliseconds;
  return MM_OK;
}
