// SPDX-License-Identifier: Apache-2.0
// Launches: what an iteration of many agents is made of.

#include "backend/cuda/gaussian/gaussian.h"

#include "backend/cuda/gaussian/gather.cuh"
#include "backend/cuda/gaussian/learn.cuh"
#include "backend/cuda/gaussian/rollout.cuh"

using namespace mm::gaussian;

// The kernels of one environment. Bodies are stepped by kernels of their own (locomotion/body.c).
struct entry {
  mm_cuda_gauss_env env;
  void (*step)(mm_cuda_agent *, int);
  void (*close_rollout)(mm_cuda_agent *, int);
};

static const entry entries[] = {
  { MM_CUDA_GAUSS_PENDULUM, step<Pendulum>, close_rollout<Pendulum> },
  { MM_CUDA_GAUSS_MOUNTAIN_CAR, step<MountainCar>, close_rollout<MountainCar> },
  { MM_CUDA_GAUSS_BODY, nullptr, close_rollout<Bodies> },
};

static const entry *entry_of(mm_cuda_gauss_env env) {
  for (const entry &one : entries)
    if (one.env == env) return &one;
  return nullptr;
}

static_assert(sizeof(Work<5>) <= 227 * 1024, "a block of the newest devices");
static_assert(sizeof(Work<2>) <= 99 * 1024, "a block of the smallest devices");

size_t mm_cuda_gauss_shared(int rows) {
  return rows == Work<5>::R ? sizeof(Work<5>) : rows == Work<2>::R ? sizeof(Work<2>) : 0;
}

static dim3 grid(int count, int each, int n) {
  return dim3((unsigned)((count + each - 1) / each), (unsigned)n);
}

static void step_bodies(const mm_cuda_gauss_plan *p, mm_cuda_agent *agents, int n, int t,
                        mm_cuda_bodies *bodies, cudaStream_t stream) {
  enum { EACH = 128 };
  draw<<<grid(p->n_env, EACH, n), EACH, 0, stream>>>(agents, t, bodies);
  mm_cuda_body_step(&p->body, bodies, n, p->n_env, stream);
  note<<<grid(p->n_env, EACH, n), EACH, 0, stream>>>(agents, t);
}

template <int MT>
static void roll_out(const mm_cuda_gauss_plan *p, mm_cuda_agent *agents, int n, int turn,
                     mm_cuda_bodies *bodies, cudaStream_t stream) {
  enum { EACH = 128 };
  const int tile = Work<MT>::R, rows = p->n_env * p->n_step;
  const size_t shared = sizeof(Work<MT>);
  const entry *of = entry_of(p->env);
  begin<<<n, BEGIN_THREADS, 0, stream>>>(agents, turn);
  for (int t = 0; t < p->n_step; t++) {
    infer<MT><<<grid(p->n_env, tile, n), THREADS, shared, stream>>>(agents, mm::ACTOR, t * p->n_env,
                                                                    p->n_env);
    if (of->step)
      of->step<<<grid(p->n_env, EACH, n), EACH, 0, stream>>>(agents, t);
    else
      step_bodies(p, agents, n, t, bodies, stream);
    sum_blocks<<<grid(p->n_env, MM_RUNNING_BLOCK, n), 32, 0, stream>>>(agents, t);
    merge<<<n, 64, 0, stream>>>(agents);
    scale<<<grid(p->n_env, EACH, n), EACH, 0, stream>>>(agents, t);
  }
  of->close_rollout<<<n, 256, 0, stream>>>(agents, turn);
  infer<MT><<<grid(rows + p->n_env, tile, n), THREADS, shared, stream>>>(agents, mm::CRITIC, 0,
                                                                         rows + p->n_env);
  advantages<<<grid(p->n_env, EACH, n), EACH, 0, stream>>>(agents);
}

// As many agents at a time as have room for all of their blocks: a block waits for its partners.
template <int MT, int P>
static cudaError_t learn_by(const mm_cuda_gauss_plan *p, mm_cuda_agent *agents, int n, int turn,
                            int epoch, int64_t *clocks, cudaStream_t stream) {
  const int most = p->processors / (2 * P);
  for (int first = 0; first < n; first += most) {
    const int some = n - first < most ? n - first : most;
    mm_cuda_agent *from = agents + first;
    int64_t *own = clocks ? clocks + (size_t)first * 2 * MM_CUDA_GAUSS_STAGES : nullptr;
    void *arguments[] = { &from, &turn, &epoch, &own };
    const cudaError_t error =
        cudaLaunchCooperativeKernel((const void *)learn<MT, P>, dim3((unsigned)(2 * P * some)),
                                    dim3(THREADS), arguments, sizeof(Work<MT>), stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// A network is shared by as many blocks as find room with all agents at once.
static cudaError_t learn_all(const mm_cuda_gauss_plan *p, mm_cuda_agent *agents, int n, int turn,
                             int epoch, int64_t *clocks, cudaStream_t stream) {
  const int blocks = p->processors / (2 * n);
  if (p->rows != Work<TEAM_MT>::R) return learn_by<2, 1>(p, agents, n, turn, epoch, clocks, stream);
  const bool small = p->hidden <= 64; // little to share
  if (blocks >= 4 && !small) return learn_by<TEAM_MT, 4>(p, agents, n, turn, epoch, clocks, stream);
  if (blocks >= 2 && !small) return learn_by<TEAM_MT, 2>(p, agents, n, turn, epoch, clocks, stream);
  return learn_by<TEAM_MT, 1>(p, agents, n, turn, epoch, clocks, stream);
}

template <int MT> static cudaError_t make_room() {
  const void *kernels[] = { (const void *)infer<MT>,  (const void *)learn<MT, 1>,
                            (const void *)learn < MT, MT == TEAM_MT ? 2 : 1 >,
                            (const void *)learn < MT, MT == TEAM_MT ? 4 : 1 > };
  for (const void *one : kernels) {
    const cudaError_t error = cudaFuncSetAttribute(one, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   (int)sizeof(Work<MT>));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <int MT>
static cudaError_t launch(const mm_cuda_gauss_plan *p, mm_cuda_agent *agents, int n, int span,
                          int64_t *clocks, cudaStream_t stream) {
  enum { EACH = 64, AT_ONCE = 128 };
  mm_cuda_bodies *bodies = nullptr; // a table of where each agent's environments are
  const entry *of = entry_of(p->env);
  cudaError_t error = of ? make_room<MT>() : cudaErrorInvalidValue;
  if (error == cudaSuccess && !of->step)
    error = cudaMallocAsync((void **)&bodies, n * sizeof *bodies, stream);
  if (error != cudaSuccess) return error;
  round_parameters<<<dim3(EACH, (unsigned)n), 256, 0, stream>>>(agents);
  for (int turn = 0; turn < span && error == cudaSuccess; turn++) {
    roll_out<MT>(p, agents, n, turn, bodies, stream);
    for (int epoch = 0; epoch < p->epochs && error == cudaSuccess; epoch++) {
      gather<<<dim3(AT_ONCE, (unsigned)n), GATHER_THREADS, 0, stream>>>(agents, epoch);
      error = learn_all(p, agents, n, turn, epoch, clocks, stream);
    }
    end<<<(n + 63) / 64, 64, 0, stream>>>(agents, n);
  }
  if (bodies) cudaFreeAsync(bodies, stream);
  return error == cudaSuccess ? cudaGetLastError() : error;
}

cudaError_t mm_cuda_gauss_launch(const mm_cuda_gauss_plan *p, mm_cuda_agent *agents, int n,
                                 int span, int64_t *clocks, cudaStream_t stream) {
  if (p->rows == Work<5>::R) return launch<5>(p, agents, n, span, clocks, stream);
  return launch<2>(p, agents, n, span, clocks, stream);
}
