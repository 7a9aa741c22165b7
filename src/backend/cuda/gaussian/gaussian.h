// SPDX-License-Identifier: Apache-2.0
// Kernels that train Gaussian policies on environments with continuous actions: networks of 256,
// scaled observations and rewards, PMD and PPO. An agent's rollout goes through small launches, one
// after the other, that all agents share; then one launch for each epoch learns, with two thread
// blocks for each agent, one with the actor, the other with the critic, or with several for each of
// them.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_GAUSSIAN_H
#define MM_BACKEND_CUDA_GAUSSIAN_GAUSSIAN_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "backend/cuda/host/agent.h"
#include "backend/cuda/locomotion/body.h"
#include "env/wrap.h"
#include "map/density.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MM_CUDA_GAUSS_HIDDEN = 256,  // hidden units; fewer are padded with zeros, which stay zeros
  MM_CUDA_GAUSS_INPUTS = 31,   // at most
  MM_CUDA_GAUSS_ACTIONS = 8,   // numbers of an action at most, to which all are padded
  MM_CUDA_GAUSS_SPAN_MOST = 64 // iterations of a launch
};

typedef enum mm_cuda_gauss_env {
  MM_CUDA_GAUSS_PENDULUM,
  MM_CUDA_GAUSS_MOUNTAIN_CAR,
  MM_CUDA_GAUSS_BODY, // any of locomotion/body.h
  MM_CUDA_GAUSS_ENVS
} mm_cuda_gauss_env;

// One network's parameters; those of the critic follow the actor's. Matrices are cut into squares
// of 16 outputs and 16 inputs (mm_cuda_gauss_weight_at), in the order in which the lanes of a warp
// hold operands of tensor cores:
//
//   w2 [16][16] squares       w1 [16][inputs / 16] squares, input number D is 1: the biases
//   b2 [256]   w3 [8][256]    one row per output     b3 [8]   log deviations [8], of the actor
typedef struct mm_cuda_gauss_layout {
  int32_t inputs; // with the 1, rounded up to whole squares
  int32_t w1, b2, w3, b3, log_std, size;
} mm_cuda_gauss_layout;

MM_INLINE MM_HD mm_cuda_gauss_layout mm_cuda_gauss_layout_of(int32_t n_input) {
  mm_cuda_gauss_layout l;
  l.inputs = (n_input + 1 + 15) / 16 * 16;
  l.w1 = MM_CUDA_GAUSS_HIDDEN * MM_CUDA_GAUSS_HIDDEN;
  l.b2 = l.w1 + MM_CUDA_GAUSS_HIDDEN * l.inputs;
  l.w3 = l.b2 + MM_CUDA_GAUSS_HIDDEN;
  l.b3 = l.w3 + MM_CUDA_GAUSS_ACTIONS * MM_CUDA_GAUSS_HIDDEN;
  l.log_std = l.b3 + MM_CUDA_GAUSS_ACTIONS;
  l.size = l.log_std + MM_CUDA_GAUSS_ACTIONS;
  return l;
}

// Where the weight from input `in` to output `out` lies; squares: in a row of them.
MM_INLINE MM_HD size_t mm_cuda_gauss_weight_at(int32_t squares, int32_t out, int32_t in) {
  const int32_t o = out % 16, i = in % 16, lane = 4 * (o % 8) + i % 8 / 2;
  return (size_t)((out / 16 * squares + in / 16) * 256 + o / 8 * 128 + lane * 4 + i / 8 * 2 +
                  i % 2);
}

// Operands of products, halves: the numbers of w2, then of w1, those of a lane side by side. Where
// number `at` of a matrix of squares lies among them.
MM_INLINE MM_HD size_t mm_cuda_gauss_operand_at(size_t at) {
  return at / 256 * 256 + at % 128 / 4 * 8 + at % 256 / 128 * 4 + at % 4;
}

// A row's account of an epoch.
typedef struct mm_cuda_gauss_tally {
  double ratios, squares, gaps;
  float most;
  uint32_t samples, clamped, capped, nonfinite, measured;
} mm_cuda_gauss_tally;

// Of the samples of an update, as in mm_gaussian_objective.
typedef struct mm_cuda_gauss_report {
  double ratios, squares, max_delta, gaps;
  uint64_t samples, clamped, capped, nonfinite, measured, unstable;
} mm_cuda_gauss_report;

// What is told about a part of a network, 64 units and what leads to them: the square of its
// gradient's norm at gradient step `step`, counted from 1. By parity of the step, so that others
// may be late by one.
enum { MM_CUDA_GAUSS_PARTS = 4, MM_CUDA_GAUSS_WORDS = 2 * MM_CUDA_GAUSS_PARTS * 2 };

typedef struct mm_cuda_gauss_word {
  double square;
  uint64_t step;
} mm_cuda_gauss_word;

// What blocks that share a network tell each other, each of its own rows of a tile, and its own
// units to come. `met`: how often a block has come to where they meet.
enum { MM_CUDA_GAUSS_ROWS = 160 };

typedef struct mm_cuda_gauss_shared_net {
  uint16_t h1[MM_CUDA_GAUSS_ROWS * MM_CUDA_GAUSS_HIDDEN],
      h2[MM_CUDA_GAUSS_ROWS * MM_CUDA_GAUSS_HIDDEN]; // halves
  float out[MM_CUDA_GAUSS_ROWS * MM_CUDA_GAUSS_ACTIONS];
  float bend[MM_CUDA_GAUSS_ROWS * MM_CUDA_GAUSS_ACTIONS];
  mm_cuda_gauss_tally tally[MM_CUDA_GAUSS_ROWS];
  uint64_t met[MM_CUDA_GAUSS_PARTS];
} mm_cuda_gauss_shared_net;

// What such an agent has beside its mm_cuda_agent, whose `scratch` this is. Arrays are in device
// memory.
typedef struct mm_cuda_gauss {
  int32_t n_input, n_real;
  int32_t used; // squares of 16 hidden units, by fours, that are not all padding
  int32_t ppo, gymnasium_walls, fresh_reset, raw_obs, raw_reward;
  float clip, entropy_coef;
  float middle, half;   // of the environment's range of actions
  double gamma;         // of the return that rewards are scaled by
  mm_density_f density; // of a map that moves that of the iteration

  // where it stands
  float *now;          // [n_env][n_input] scaled observations that the next iteration begins with
  double *kept;        // as mm_wrap_save leaves it
  mm_wrap_lane *lanes; // [n_env], behind it
  mm_cuda_gauss_word *word; // [2][parts][2] by network and parity

  // of the batch
  float *real;       // [n_row][n_real] actions as drawn
  float *mean;       // [n_env][MM_CUDA_GAUSS_ACTIONS]
  float *sent;       // [n_env][n_real] what bodies are sent
  double *sums;      // [blocks of environments][2][n_input + 1], the last of the returns
  mm_tally *seen;    // [n_env] of this iteration
  float *gradient;   // [2][size]
  uint16_t *operand; // [2][b2], halves: rounded parameters
  // an epoch's batch in the order of its minibatches
  uint16_t *input; // [n_row][inputs], halves
  float *about;    // [n_row][4] log density then, normalised advantage, value, target
  float *acted;    // [n_row][MM_CUDA_GAUSS_ACTIONS]
  mm_cuda_gauss_shared_net *team; // [2]
  mm_cuda_gauss_report *report;   // [MM_CUDA_GAUSS_SPAN_MOST]

  int32_t active; // in this iteration of the launch
} mm_cuda_gauss;

// How a launch is cut to the device. Agents of one launch have the same.
typedef struct mm_cuda_gauss_plan {
  mm_cuda_gauss_env env;
  mm_cuda_body body;  // of bodies
  int rows;           // of a tile: 160 or 64
  size_t shared_size; // bytes of shared memory
  int n_env, n_step, epochs, hidden, processors;
} mm_cuda_gauss_plan;

// Where the time of a learning block goes, in clock cycles of its first thread.
enum {
  MM_CUDA_GAUSS_GATHER, // rows of the batch, and their advantages
  MM_CUDA_GAUSS_FORWARD,
  MM_CUDA_GAUSS_LOSS,
  MM_CUDA_GAUSS_BACK,
  MM_CUDA_GAUSS_LAYER1, // gradients of the first layer
  MM_CUDA_GAUSS_LAYER2, // of the second
  MM_CUDA_GAUSS_WAIT,   // for the other network
  MM_CUDA_GAUSS_ADAM,
  MM_CUDA_GAUSS_STAGES
};

// Bytes of shared memory that tiles of so many rows take; 0: there are no such tiles.
size_t mm_cuda_gauss_shared(int rows);

// Agents [n] in device memory, up to `span` iterations each. One launch after the other on the
// stream; the last ones may still be on their way when this returns. clocks: [n][2 stages] in
// device memory, the actor's and the critic's, written over, or NULL.
cudaError_t mm_cuda_gauss_launch(const mm_cuda_gauss_plan *plan, mm_cuda_agent *agents, int n,
                                 int span, int64_t *clocks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
