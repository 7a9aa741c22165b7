// SPDX-License-Identifier: Apache-2.0
// What an mm_ampo is made of.

#ifndef MM_AGENT_AMPO_INTERNAL_H
#define MM_AGENT_AMPO_INTERNAL_H

#include "agent/ampo.h"
#include "agent/learner.h"
#include "base/arena.h"
#include "base/rng.h"
#include "env/wrap.h"
#include "laws/schedule.h"
#include "map/map_internal.h"

struct mm_ampo {
  mm_algo algo;
  mm_actor_critic_config config; // what all learners with networks have
  mm_ampo_method method;         // and what is this one's
  const mm_map *map;
  mm_map_now at; // the map of the iteration
  uint64_t seed;
  uint32_t repeat;
  mm_net_learn_config learn; // its eta and center are the iteration's
  double middle;             // phi^-1 of the uniform policy, for center=on; else 0
  mm_eta_step step;          // of the iteration
  mm_vec *vec;
  mm_net *net;
  mm_vec_info info;
  bool real;     // actions are numbers: Gaussian policies
  mm_wrap *wrap; // of continuous actions: what the agent sees of the environments
  mm_gaussian_objective *objective; // of continuous actions
  size_t n_out;                     // outputs of the actor: actions, or numbers of one
  size_t n_env, n_step, n_row;      // N, T, T N
  size_t row_size;                  // bytes of an observation
  bool lists;                       // observations are lists of inputs, not floats
  int64_t iteration;                // done
  mm_ampo_report last;
  double seconds[3]; // rollout, value, update

  unsigned char *now; // [N] observations that the next iteration begins with

  // the batch; its memory is taken by the first iteration
  unsigned char *obs;        // [T + 1][N] observations
  unsigned char *final_obs;  // [N] of episodes that ended in this step; for bootstrap_on_timeout
  int32_t *action;           // [T][N], or
  float *real_action;        // [T][N][n_out] as drawn
  float *policy;             // [T][N] z, or the logarithm of the probability or density
  float *chance;             // [T][N] the probability, of discrete actions with log=on
  float *reward;             // [T][N]
  uint8_t *end;              // [T][N]
  float *value;              // [T + 1][N]
  float *advantage, *target; // [T][N]
  uint32_t *row;             // [T][N] a shuffle of all rows

  // of one step, or of some rows that are looked at again
  size_t room;           // rows: at least N
  float *scores, *probs; // [room][n_out]
  float *sent;           // [N][n_out] continuous actions as the environment takes them
  float *lambda;         // [room]
  mm_block *uniform;     // [N] four steps share a block

  // of the episodes
  float *running;  // [N] return so far
  float *finished; // [N] return of the last one that ended, NaN before

  float *tensor; // as large as the largest tensor, for states
  mm_arena arena, batch_arena;
};

static inline bool mm_ampo_all_finite(const float *x, size_t n) {
  float sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += x[i] * 0.0f; // NaN for whatever is not finite
  return sum == 0;
}

// Takes the map of any iteration of the run, and what depends on it. MM_ERR_NUMERIC: there is none.
mm_status mm_ampo_use_map(mm_ampo *a, int64_t iteration);

// Of any iteration of the run, whose map is taken.
mm_eta_step mm_ampo_eta(const mm_ampo *a, int64_t iteration);

// Observations of the batch from row number `row` on.
mm_net_obs mm_ampo_obs(const mm_ampo *a, size_t row);

// Policies of n rows from their finite scores, discrete actions: of AMPO the projection of eta f,
// of PPO softmax.
void mm_ampo_project(mm_ampo *a, float eta, size_t n);

// After the epochs of an update, whose losses are added up in the report: the rest of its log.
void mm_ampo_log_update(mm_ampo *a);

// ---------------------------------------------------------------------------------------------
// Real actions (ampo_real.c)

// Objective and wrapped environments, after all else is known.
mm_status mm_ampo_real_open(mm_ampo *a);

// Draws actions of step t from the means in `scores`, and what their environments are sent.
// MM_ERR_NUMERIC: a mean is not finite.
mm_status mm_ampo_real_choose(mm_ampo *a, size_t t);

// Gives the net the numbers that its observations are scaled by.
void mm_ampo_real_keep_scale(mm_ampo *a);

// After an update: reports what its samples met. MM_ERR_NUMERIC: too many were not finite.
mm_status mm_ampo_real_judge(mm_ampo *a);

#endif
