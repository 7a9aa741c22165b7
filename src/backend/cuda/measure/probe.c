// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/measure/probe.h"

#include "backend/cuda/host/cuda.h"
#include "backend/cuda/host/error.h"
#include "backend/cuda/measure/probe_launch.h"

enum { BLOCKS_EACH = 2, FIRST_ROUNDS = 4096, ROUNDS_MOST = 1 << 26, REPEATS = 5 };

static const double least_seconds = 0.02; // of a launch that counts

typedef cudaError_t launch_function(int blocks, int rounds, float *sink, cudaStream_t stream);

typedef struct probe {
  int device, blocks;
  float *sink;
  cudaEvent_t start, end;
} probe;

static mm_status time_launch(const probe *p, launch_function *launch, int rounds, double *seconds) {
  float milliseconds;
  MM_TRY_CUDA(p->device, cudaEventRecord(p->start, NULL), "timing");
  MM_TRY_CUDA(p->device, launch(p->blocks, rounds, p->sink, NULL), "starting a probe");
  MM_TRY_CUDA(p->device, cudaEventRecord(p->end, NULL), "timing");
  MM_TRY_CUDA(p->device, cudaEventSynchronize(p->end), "probing");
  MM_TRY_CUDA(p->device, cudaEventElapsedTime(&milliseconds, p->start, p->end), "timing");
  *seconds = 1e-3 * (double)milliseconds;
  return MM_OK;
}

// Rounds a second: the best of several launches, after those that find how long one must be and
// bring the device to its speed.
static mm_status rate_of(const probe *p, launch_function *launch, double *rate) {
  double seconds = 0;
  int rounds = FIRST_ROUNDS;
  for (;; rounds *= 2) {
    MM_TRY(time_launch(p, launch, rounds, &seconds));
    if (seconds >= least_seconds || rounds >= ROUNDS_MOST) break;
  }
  *rate = rounds / seconds;
  for (int i = 0; i < REPEATS; i++) {
    MM_TRY(time_launch(p, launch, rounds, &seconds));
    if (rounds / seconds > *rate) *rate = rounds / seconds;
  }
  return MM_OK;
}

static mm_status measure(const probe *p, mm_cuda_peak *out) {
  const double threads = (double)p->blocks * MM_CUDA_PROBE_THREADS;
  double fma, mma;
  MM_TRY(rate_of(p, mm_cuda_probe_fma, &fma));
  MM_TRY(rate_of(p, mm_cuda_probe_mma, &mma));
  out->fma = fma * threads * MM_CUDA_PROBE_FMA_CHAINS * 2;
  out->tensor = mma * threads / 32 * MM_CUDA_PROBE_MMA_CHAINS * MM_CUDA_PROBE_MMA_WORK;
  return MM_OK;
}

static mm_status open_probe(probe *p, int device) {
  mm_cuda_device facts;
  void *sink = NULL;
  MM_TRY(mm_cuda_describe(device, &facts));
  MM_TRY_CUDA(device, cudaSetDevice(device), "choosing it");
  p->device = device;
  p->blocks = BLOCKS_EACH * facts.processors;
  MM_TRY_CUDA(device, cudaEventCreate(&p->start), "making an event");
  MM_TRY_CUDA(device, cudaEventCreate(&p->end), "making an event");
  const size_t size = (size_t)p->blocks * MM_CUDA_PROBE_THREADS * sizeof(float);
  MM_TRY_CUDA(device, cudaMalloc(&sink, size), "taking %zu bytes", size);
  p->sink = sink;
  return MM_OK;
}

mm_status mm_cuda_probe(int device, mm_cuda_peak *out) {
  probe p = { 0 };
  *out = (mm_cuda_peak){ 0 };
  mm_status status = open_probe(&p, device);
  if (status == MM_OK) status = measure(&p, out);
  cudaFree(p.sink);
  if (p.start) cudaEventDestroy(p.start);
  if (p.end) cudaEventDestroy(p.end);
  return status;
}
