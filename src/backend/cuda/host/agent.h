// SPDX-License-Identifier: Apache-2.0
// What a training on the device is made of: one mm_cuda_agent per job, in device memory, which a
// kernel takes from one iteration to a later one. Hosts make them (block.c), the
// kernels of classic, minatar and gaussian run them. [host/device]

#ifndef MM_BACKEND_CUDA_HOST_AGENT_H
#define MM_BACKEND_CUDA_HOST_AGENT_H

#include <stdint.h>

#include "base/hostdev.h"
#include "laws/schedule.h"
#include "laws/tally.h"
#include "map/potential.h"

// Both networks have two hidden layers of 64 units; fewer units are padded with zeros, which stay
// zeros.
enum { MM_CUDA_HIDDEN = 64 };

// What has happened to an agent that does not go on: a number was not finite, and the iteration did
// not end; the program has no code of this tile for this device, and none was begun; or the
// iteration has no map, and was not begun.
enum { MM_CUDA_NOT_FINITE = 1, MM_CUDA_NOT_COMPILED = 2, MM_CUDA_NO_MAP = 3 };

// Parameters, and Adam's two moments, are flat vectors of one layout:
//
//   w1 [D + 1][128]      first layers of actor and critic side by side; the last row: biases
//   b2 [2][64]           actor, critic
//   w3 [A + 1][64]       one row per output: the actor's scores, the critic's value
//   b3 [16]              the same outputs, then zeros
//   w2 [2][64][64]       [input][output]
typedef struct mm_cuda_layout {
  int32_t b2, w3, b3, w2, size; // offsets; w1 is at 0
} mm_cuda_layout;

MM_INLINE MM_HD mm_cuda_layout mm_cuda_layout_of(int32_t n_input, int32_t n_action) {
  mm_cuda_layout l;
  l.b2 = (n_input + 1) * 2 * MM_CUDA_HIDDEN;
  l.w3 = l.b2 + 2 * MM_CUDA_HIDDEN;
  l.b3 = l.w3 + (n_action + 1) * MM_CUDA_HIDDEN;
  l.w2 = l.b3 + 16;
  l.size = l.w2 + 2 * MM_CUDA_HIDDEN * MM_CUDA_HIDDEN;
  return l;
}

// Adam's step number k as p -= rate m / (sqrt(v) + epsilon): bias corrections and learning rate are
// in these two numbers.
typedef struct mm_cuda_rate {
  float rate, epsilon;
} mm_cuda_rate;

typedef struct mm_cuda_agent {
  // the job
  uint64_t seed;
  uint32_t repeat;
  int32_t rules; // mm_minatar_rules
  int32_t n_env, n_step, n_row;
  int32_t minibatches, epochs;
  int32_t relu;      // activation=relu
  int32_t bisect;    // projection=bisect10
  int32_t normalise; // advantages, per minibatch
  float gamma, gae_lambda;
  float value_clip, value_coef, max_grad_norm; // INFINITY for none
  float beta1, rest1, beta2, rest2;            // Adam; rest = 1 - beta
  mm_potential_f map; // its arrays are in device memory; where it moves, that of the iteration

  // where it stands
  int64_t iteration;
  int32_t broken;                   // 0, or why not
  float *param, *m, *v;             // mm_cuda_layout
  void *env;                        // as mm_vec_keep leaves it
  float *episode_return, *finished; // [n_env] returns

  // this launch
  int32_t span;             // iterations to do, unless
  const int32_t *stop;      // the host says so here, in its own memory
  const mm_cuda_rate *rate; // [span][epochs][minibatches]
  mm_tally *report;         // [span] what each iteration saw
  const mm_eta_step *steps; // [span] its step sizes, of which
  mm_eta_step step;         // these are the iteration's
  // [span] of its iterations: mm_potential_f, or mm_density_f of continuous actions, of the kind
  // MM_MAP_KINDS where there is none; NULL: the map does not move
  const void *maps;

  // room for the batch, rows are (step, environment); places for n_env more rows where said
  void *obs;        // [n_row + n_env]: float [D], or bits
  uint32_t *row;    // [n_row] a shuffle
  uint8_t *action;  // [n_row]
  uint8_t *end;     // [n_row]
  float *policy;    // [n_row] random bits, then z, then its part of the regression target
  float *reward;    // [n_row]
  float *value;     // [n_row + n_env]
  float *advantage; // [n_row]
  float *target;    // [n_row]
  void *scratch;    // the kernel's own
} mm_cuda_agent;

#ifdef __CUDACC__
// One thread asks, between iterations.
__device__ __forceinline__ bool mm_cuda_told_to_stop(const mm_cuda_agent &agent) {
  return agent.stop && *(const volatile int32_t *)agent.stop != 0;
}
#endif

#endif
