// SPDX-License-Identifier: Apache-2.0
// Environments of bodies on a device, for test_cuda_physics.c.

#include "cuda_bodies.h"

#include <cuda_runtime.h>

#include "backend/cuda/locomotion/body.h"

namespace {

// A training's memory there.
struct Copy {
  mm_cuda_bodies there{};
  size_t state, action, obs, reward, end; // bytes, those of a step
};

template <class T> void take(T **out, size_t size) {
  void *block = nullptr;
  cudaMalloc(&block, size);
  *out = (T *)block;
}

Copy send(const mm_cuda_body &law, const cuda_bodies &t) {
  const mm_body_info *info = mm_body_describe(law.body);
  const size_t n = (size_t)t.n;
  Copy c;
  c.state = mm_cuda_body_state_size(&law, n);
  c.action = n * (size_t)info->nu * sizeof(float);
  c.obs = n * (size_t)info->n_obs * sizeof(float);
  c.reward = n * sizeof(float);
  c.end = n;
  float *action;
  take(&c.there.state, c.state);
  take(&action, c.action);
  take(&c.there.obs, c.obs);
  if (t.final_obs) take(&c.there.final_obs, c.obs);
  take(&c.there.reward, c.reward);
  take(&c.there.end, c.end);
  c.there.action = action;
  c.there.seed = t.seed;
  c.there.repeat = t.repeat;
  c.there.fresh_reset = t.fresh_reset;
  c.there.columns = t.columns;
  c.there.n = t.n;
  cudaMemcpy(c.there.state, t.state, c.state, cudaMemcpyHostToDevice);
  return c;
}

void send_step(const Copy &c, const cuda_bodies &t, size_t k) {
  cudaMemcpy((void *)c.there.action, (const char *)t.action + k * c.action, c.action,
             cudaMemcpyHostToDevice);
  if (t.final_obs)
    cudaMemcpy(c.there.final_obs, (char *)t.final_obs + k * c.obs, c.obs, cudaMemcpyHostToDevice);
}

void fetch_step(const Copy &c, const cuda_bodies &t, size_t k) {
  cudaMemcpy((char *)t.obs + k * c.obs, c.there.obs, c.obs, cudaMemcpyDeviceToHost);
  if (t.final_obs)
    cudaMemcpy((char *)t.final_obs + k * c.obs, c.there.final_obs, c.obs, cudaMemcpyDeviceToHost);
  cudaMemcpy((char *)t.reward + k * c.reward, c.there.reward, c.reward, cudaMemcpyDeviceToHost);
  cudaMemcpy(t.end + k * c.end, c.there.end, c.end, cudaMemcpyDeviceToHost);
}

void release(const Copy &c) {
  cudaFree(c.there.state);
  cudaFree((void *)c.there.action);
  cudaFree(c.there.obs);
  cudaFree(c.there.final_obs);
  cudaFree(c.there.reward);
  cudaFree(c.there.end);
}

} // namespace

const char *cuda_bodies_run(mm_body body, mm_flavour flavour, cuda_bodies *trainings, int count,
                            int steps, bool reset) {
  mm_cuda_body law;
  if (mm_cuda_body_open(body, flavour, 0, &law) != MM_OK) return mm_last_error();
  Copy copies[CUDA_BODIES_MOST];
  mm_cuda_bodies list[CUDA_BODIES_MOST];
  int most = 0;
  if (count > CUDA_BODIES_MOST) return "too many trainings";
  for (int i = 0; i < count; i++) {
    copies[i] = send(law, trainings[i]);
    list[i] = copies[i].there;
    if (trainings[i].n > most) most = trainings[i].n;
  }
  mm_cuda_bodies *there;
  take(&there, sizeof list);
  cudaMemcpy(there, list, sizeof list, cudaMemcpyHostToDevice);
  if (reset) mm_cuda_body_reset(&law, there, count, most, nullptr);
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < count; i++)
      send_step(copies[i], trainings[i], (size_t)k);
    mm_cuda_body_step(&law, there, count, most, nullptr);
    for (int i = 0; i < count; i++)
      fetch_step(copies[i], trainings[i], (size_t)k);
  }
  for (int i = 0; i < count; i++) {
    const Copy &c = copies[i];
    cudaMemcpy(trainings[i].state, c.there.state, c.state, cudaMemcpyDeviceToHost);
    release(c);
  }
  cudaFree(there);
  const cudaError_t error = cudaDeviceSynchronize();
  const cudaError_t last = cudaGetLastError();
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return last != cudaSuccess ? cudaGetErrorString(last) : nullptr;
}
