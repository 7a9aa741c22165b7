// SPDX-License-Identifier: Apache-2.0
// A mock of the CUDA runtime and for the kernels, so that the host's side of the backend and
// what commands say of devices can be tested without one. Linked before the library, whose own
// kernels then stay out. Devices have the host's memory; a training does nothing but count, and its
// metric is a fingerprint of the networks and environments that were sent, and of the iteration's
// map.
//
//   MOCK_DEVICES=N   how many there are (2)
//   MOCK_DUMB=I      device I does not say what it is
//   MOCK_OLD=I       device I is one of compute capability 7.5
//   MOCK_LACKS=I     there is no kernel for game I of MinAtar, nor for environment I of classic
//                       control
//   MOCK_BROKEN=K    of K trainings side by side the last breaks down in its first iteration

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/classic/classic.h"
#include "backend/cuda/gaussian/gaussian.h"
#include "backend/cuda/locomotion/entry.h"
#include "backend/cuda/measure/probe_launch.h"
#include "backend/cuda/minatar/minatar.h"
#include "backend/cuda/tabular/launch.h"

#undef cudaGetDeviceProperties // a macro for the newest form of it

enum { SHARED = 232448, PROCESSORS = 4, DRIVER = 13000 };

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

// ---------------------------------------------------------------------------------------------
// Devices

cudaError_t cudaGetDeviceCount(int *count) {
  *count = number("MOCK_DEVICES", 2);
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

static int major_of(int device) {
  return device == number("MOCK_OLD", -1) ? 7 : 9;
}

static bool exists(int device) {
  return device >= 0 && device < number("MOCK_DEVICES", 2);
}

static cudaError_t describe(struct cudaDeviceProp *out, int device) {
  memset(out, 0, sizeof *out);
  if (!exists(device)) return cudaErrorInvalidDevice;
  if (device == number("MOCK_DUMB", -1)) return cudaErrorECCUncorrectable;
  snprintf(out->name, sizeof out->name, "Mock %d", device);
  out->major = major_of(device);
  out->minor = out->major == 7 ? 5 : 0;
  out->multiProcessorCount = PROCESSORS;
  out->totalGlobalMem = (size_t)16 << 30;
  out->sharedMemPerBlockOptin = SHARED;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
  return describe(out, device);
}

cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device);
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *out, int device) {
  return describe(out, device);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device) {
  *value = which == cudaDevAttrComputeCapabilityMajor ? major_of(device)
           : which == cudaDevAttrClockRate            ? 1000000
                                                      : SHARED;
  return exists(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaSetDevice(int device) {
  return exists(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = DRIVER;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = DRIVER;
  return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorECCUncorrectable ? "uncorrectable ECC error encountered"
                                            : "failure of the mock";
}

cudaError_t cudaGetLastError(void) {
  return cudaSuccess;
}

// ---------------------------------------------------------------------------------------------
// Memory and time

static cudaError_t take(void **out, size_t size) {
  *out = calloc(1, size > 0 ? size : 1);
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMalloc(void **out, size_t size) {
  return take(out, size);
}

cudaError_t cudaMallocHost(void **out, size_t size) {
  return take(out, size);
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags) {
  (void)flags;
  return take(out, size);
}

cudaError_t cudaFree(void *block) {
  free(block);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *block) {
  free(block);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  *available = *total = (size_t)1 << 30;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
  (void)kind;
  memcpy(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy(to, from, size, kind);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  (void)flags;
  *out = NULL;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
  return take((void **)out, 1);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  (void)flags;
  return take((void **)out, 1);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)event, (void)stream;
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  (void)from, (void)to;
  *milliseconds = 30;
  return cudaSuccess;
}

// ---------------------------------------------------------------------------------------------
// Kernels

// Of all that lies between the parameters and the running returns: both networks with their
// moments, and the environments.
static double fingerprint(const mm_cuda_agent *a) {
  uint64_t sum = 14695981039346656037u;
  const unsigned char *end = (const void *)a->episode_return;
  for (const unsigned char *at = (const void *)a->param; at < end; at++)
    sum = (sum ^ *at) * 1099511628211u;
  return (double)(sum >> 32) / 4096;
}

// Of iteration number k of the launch; false: it has no map.
static bool look_at_map(const mm_cuda_agent *a, int k, bool real, double *out) {
  int32_t acted = 0;
  if (real) {
    const mm_cuda_gauss *gauss = a->scratch;
    const mm_density_f *f = a->maps ? (const mm_density_f *)a->maps + k : &gauss->density;
    *out = (double)mm_density_rise_f(f, -0.5f, -1.5f, &acted);
    return f->kind < MM_MAP_KINDS;
  }
  const mm_potential_f *f = a->maps ? (const mm_potential_f *)a->maps + k : &a->map;
  *out = (double)(mm_phi_inverse_at_f(f, 0.25f) + a->steps[k].floor - a->steps[k].center);
  return f->kind < MM_MAP_KINDS;
}

static cudaError_t train(mm_cuda_agent *agents, int n, int64_t *clocks, int stages, bool real) {
  const int broken = number("MOCK_BROKEN", 0);
  for (int i = 0; i < n; i++) {
    mm_cuda_agent *a = &agents[i];
    for (int k = 0; clocks && k < stages; k++)
      clocks[i * stages + k] = k + 1;
    a->broken = broken > 0 && i % broken == broken - 1 ? MM_CUDA_NOT_FINITE : 0;
    if (a->broken) continue;
    const double metric = fingerprint(a);
    for (int k = 0; k < a->span && !a->broken; k++) {
      double of_map;
      if (look_at_map(a, k, real, &of_map)) {
        a->report[k] = (mm_tally){ metric + of_map, 20, 1, 2 };
        a->iteration++;
      } else {
        a->broken = MM_CUDA_NO_MAP;
      }
    }
  }
  return cudaSuccess;
}

bool mm_cuda_classic_choose(mm_classic_env env, bool relu, int n_row, int n_env, int largest,
                            int tile, size_t shared_limit, mm_cuda_classic_plan *out) {
  (void)n_row, (void)n_env, (void)largest;
  static const char kernel;
  *out = (mm_cuda_classic_plan){
    .env = env, .relu = relu, .tile = tile > 0 ? tile : 128, .shared_size = 1000, .kernel = &kernel
  };
  return shared_limit >= out->shared_size && (int)env != number("MOCK_LACKS", -1);
}

cudaError_t mm_cuda_classic_launch(const mm_cuda_classic_plan *plan, mm_cuda_agent *agents, int n,
                                   int64_t *clocks, cudaStream_t stream) {
  (void)plan, (void)stream;
  return train(agents, n, clocks, MM_CUDA_CLASSIC_STAGES, false);
}

size_t mm_cuda_minatar_obs_size(mm_minatar_game game) {
  (void)game;
  return 128;
}

size_t mm_cuda_minatar_scratch(mm_minatar_game game, int32_t n_env) {
  (void)game, (void)n_env;
  return 1024;
}

size_t mm_cuda_minatar_shared(mm_minatar_game game, int rows) {
  return (int)game == number("MOCK_LACKS", -1) ? 0 : 1000 * (size_t)rows;
}

cudaError_t mm_cuda_minatar_launch(mm_minatar_game game, bool relu, int rows, mm_cuda_agent *agents,
                                   int n, int64_t *clocks, cudaStream_t stream) {
  (void)game, (void)relu, (void)rows, (void)stream;
  return train(agents, n, clocks, MM_CUDA_MINATAR_STAGES, false);
}

size_t mm_cuda_gauss_shared(int rows) {
  return rows == 160 || rows == 64 ? 1000 * (size_t)rows : 0;
}

// What the samples of an update met is made up.
cudaError_t mm_cuda_gauss_launch(const mm_cuda_gauss_plan *plan, mm_cuda_agent *agents, int n,
                                 int span, int64_t *clocks, cudaStream_t stream) {
  (void)plan, (void)span, (void)stream;
  for (int i = 0; i < n; i++) {
    const mm_cuda_gauss *g = agents[i].scratch;
    for (int k = 0; k < agents[i].span; k++)
      g->report[k] = (mm_cuda_gauss_report){
        .ratios = 8, .squares = 16, .max_delta = 0.5, .samples = 8, .clamped = 1
      };
  }
  return train(agents, n, clocks, 2 * MM_CUDA_GAUSS_STAGES, true);
}

size_t mm_cuda_pmd_block_bytes(int32_t n_batch) {
  (void)n_batch;
  return 1000;
}

// Tables learn nothing: their policies show the map of the last iteration.
static void show_map(const mm_cuda_pmd *a, const mm_potential_d *map) {
  const double x = -mm_phi_inverse_at_d(map, 0.25), more = 0.1 * x / (1 + x);
  for (size_t k = 0; k < (size_t)a->grid.n_state * MM_GRID_ACTIONS; k++)
    a->pi[k] = k % MM_GRID_ACTIONS == 0 ? 0.2 + more : 0.2 - more / 4;
}

cudaError_t mm_cuda_pmd_launch(const mm_cuda_pmd *agents, size_t n, int64_t span, size_t bytes,
                               cudaStream_t stream) {
  (void)bytes, (void)stream;
  for (size_t i = 0; i < n; i++) {
    const mm_cuda_pmd *a = &agents[i];
    const int64_t left = a->iterations - a->state->iteration;
    for (int64_t k = 0; k < span && k < left && !a->state->broken; k++) {
      const mm_potential_d *map = a->maps ? &a->maps[k] : &a->map;
      a->state->iteration++;
      if (map->kind < MM_MAP_KINDS)
        show_map(a, map);
      else
        a->state->broken = MM_CUDA_PMD_NO_MAP;
    }
  }
  return cudaSuccess;
}

cudaError_t mm_cuda_probe_fma(int blocks, int rounds, float *sink, cudaStream_t stream) {
  (void)blocks, (void)rounds, (void)sink, (void)stream;
  return cudaSuccess;
}

cudaError_t mm_cuda_probe_mma(int blocks, int rounds, float *sink, cudaStream_t stream) {
  return mm_cuda_probe_fma(blocks, rounds, sink, stream);
}

// Bodies stand still.
static cudaError_t stand(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                         int n_most, cudaStream_t stream) {
  (void)body, (void)bodies, (void)count, (void)n_most, (void)stream;
  return cudaSuccess;
}

static cudaError_t stay(const mm_cuda_body *body, const mm_cuda_bodies *bodies, int count,
                        int n_most, uint64_t first, int steps, cudaStream_t stream) {
  (void)first, (void)steps;
  return stand(body, bodies, count, n_most, stream);
}

#define STAND_BRAX(name) const mm_cuda_body_entry mm_cuda_body_##name = { stand, stand, stay };
#define STAND_BOTH(name) STAND_BRAX(name) STAND_BRAX(name##_all)
#define STAND(NAME, name, id, kernels) STAND_##kernels(name)
MM_BODY_LIST(STAND)
