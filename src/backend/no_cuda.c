// SPDX-License-Identifier: Apache-2.0
// The backend `cuda` of a build without CUDA.

#include "backend/cuda/host/cuda.h"
#include "backend/cuda/measure/physics.h"
#include "backend/cuda/measure/probe.h"
#include "backend/cuda/measure/profile.h"
#include "backend/cuda/measure/tile.h"

static mm_status absent(void) {
  return MM_FAIL(MM_ERR_UNSUPPORTED,
                 "backend 'cuda' is not part of this build: build with the CUDA "
                 "toolkit and 'make build CUDA=1'");
}

mm_status mm_cuda_find(int *count) {
  *count = 0;
  return absent();
}

mm_status mm_cuda_describe(int device, mm_cuda_device *out) {
  (void)device;
  *out = (mm_cuda_device){ 0 };
  return absent();
}

mm_status mm_cuda_usable(int device) {
  (void)device;
  return absent();
}

size_t mm_cuda_tiles(const mm_cuda_device *device, mm_cuda_tile out[MM_CUDA_TILES_MOST]) {
  (void)device;
  (void)out;
  return 0;
}

mm_status mm_cuda_probe(int device, mm_cuda_peak *out) {
  (void)device;
  *out = (mm_cuda_peak){ 0 };
  return absent();
}

mm_status mm_cuda_profile_job(int device, const mm_job *job, int n, int span,
                              mm_cuda_profile *out) {
  (void)device, (void)job, (void)n, (void)span;
  *out = (mm_cuda_profile){ 0 };
  return absent();
}

mm_status mm_cuda_physics_open(int device, mm_body body, size_t n, mm_cuda_physics **out) {
  (void)device, (void)body, (void)n;
  *out = NULL;
  return absent();
}

void mm_cuda_physics_close(mm_cuda_physics *bench) {
  (void)bench;
}

mm_status mm_cuda_physics_run(mm_cuda_physics *bench, int steps, double *seconds) {
  (void)bench, (void)steps;
  *seconds = 0;
  return absent();
}

bool mm_cuda_takes(const mm_job *job) {
  (void)job;
  return absent() == MM_OK;
}

mm_status mm_cuda_run(mm_job_list *list) {
  (void)list;
  return absent();
}
