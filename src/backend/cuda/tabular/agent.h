// SPDX-License-Identifier: Apache-2.0
// A training of tabular PMD on the device: one mm_cuda_pmd per job, in device memory. The host
// makes them (jobs.c), the kernel of pmd.cu takes them from one iteration to a later
// one. [host/device]

#ifndef MM_BACKEND_CUDA_TABULAR_AGENT_H
#define MM_BACKEND_CUDA_TABULAR_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "env/grid/gridworld.h"
#include "laws/schedule.h"
#include "map/potential.h"

// A block of so many threads trains a job. The number changes no result.
enum { MM_CUDA_PMD_THREADS = 128 };

// What an iteration sums up for a state that it visits; not used between iterations, but for the
// mark, which is 0 then.
typedef struct mm_cuda_pmd_sums {
  double gain[MM_GRID_ACTIONS];  // advantages of the policy's update, then the new logits
  double fresh[MM_GRID_ACTIONS]; // the new policy
  double target;                 // of the critic
  int32_t visits[MM_GRID_ACTIONS];
  int32_t mark; // visited in this iteration
} mm_cuda_pmd_sums;

// A logit was not finite; or the iteration had no map, and was not begun.
enum { MM_CUDA_PMD_NOT_FINITE = 1, MM_CUDA_PMD_NO_MAP = 2 };

// Where a job stands.
typedef struct mm_cuda_pmd_state {
  int64_t iteration;                     // iterations done
  int64_t rollout_cycles, update_cycles; // of the device's clock
  int32_t broken; // 0, or why the last iteration's policy did not take effect
} mm_cuda_pmd_state;

typedef struct mm_cuda_pmd {
  // the job
  uint64_t seed;
  uint32_t repeat;
  int32_t n_env, unroll, n_batch; // N, T, N T
  int32_t epochs;
  int32_t restart, normalise;
  double lr, critic_lr, eta, gamma, gae_lambda;
  double eta_schedule[MM_SCHEDULE_FACTORS];
  int64_t iterations;
  mm_grid grid;       // without its walls
  mm_potential_d map; // what its kind needs for phi^-1
  // [span] of the next launch's iterations, of the kind MM_MAP_KINDS where there is none; NULL: the
  // map does not move
  const mm_potential_d *maps;

  // where it stands; made by the first launch
  mm_cuda_pmd_state *state;
  double *theta;      // [n_state][5] logits
  double *pi;         // [n_state][5] their softmax
  double *value;      // [n_state] critic
  mm_grid_state *env; // [N]

  // room for an iteration
  mm_cuda_pmd_sums *sums; // [n_state]
  int32_t *visited;       // [min(n_state, N T)]
  void *batch;            // mm_cuda_pmd_batch_bytes, or NULL: it fits into the block's own memory
} mm_cuda_pmd;

// Samples take a double, an int32_t and a byte each.
MM_INLINE MM_HD size_t mm_cuda_pmd_batch_bytes(int32_t n_batch) {
  return (size_t)n_batch * (sizeof(double) + sizeof(int32_t) + 1);
}

#endif
