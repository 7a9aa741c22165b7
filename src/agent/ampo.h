// SPDX-License-Identifier: Apache-2.0
// The training loop of learners with actor and critic networks, one iteration at a time. What a
// learner makes of it (mm_ampo_method) turns it into approximate mirror policy optimisation, into
// PPO, and, on environments with continuous actions, into policy mirror descent and PPO with
// Gaussian policies.

#ifndef MM_AGENT_AMPO_H
#define MM_AGENT_AMPO_H

#include "agent/gaussian_objective.h"
#include "base/rng.h"
#include "laws/tally.h"
#include "mirrormap/agent.h"
#include "net/net.h"

typedef struct mm_ampo mm_ampo;

// What tells the learners that share the loop apart, beside the settings they have in common.
typedef struct mm_ampo_method {
  bool ppo;                            // the clipped objective; else a step of mirror descent
  double eta;                          // scores are multiplied with it; 1 for PPO
  double eta_schedule[MM_FACTORS_MAX]; // its factors; none for PPO
  double policy_clip, entropy_coef;    // of PPO
  double density_scale;                // of PMD with Gaussian policies
  bool code_target, bisect10, center;  // of AMPO
  bool log;                            // an update is looked at once more when it is done
} mm_ampo_method;

// The agent of a job at its beginning. `map` is the job's, or the one made of its search point; it
// and the environment must outlive the agent. (seed, repeat) names all random numbers. MM_ERR_INPUT
// for an environment whose actions are not the learner's (PPO has both), and for settings that do
// not go together. `like`: NULL, or one that has done nothing yet; where it began with the same
// networks they are copied, which takes less time.
mm_status mm_ampo_create(const mm_job *job, const mm_map *map, const mm_ampo *like, mm_ampo **out);
void mm_ampo_destroy(mm_ampo *ampo);

// Iterations of a whole run: floor(steps / unroll / envs).
int64_t mm_ampo_iterations(const mm_actor_critic_config *config);

// Rolls out, estimates, learns. MM_ERR_NUMERIC: a score, loss or gradient was not finite; further
// iterations are of no use.
mm_status mm_ampo_iterate(mm_ampo *ampo);

// What log=on records of an update (ampo_log.c), as MM_LOG_MEASURES says; NaN: not defined.
typedef struct mm_ampo_log {
  double policy_loss, value_loss;
  double entropy, approx_kl, clip_fraction, support;
  double explained_variance;
} mm_ampo_log;

// What the last iteration saw.
typedef struct mm_ampo_report {
  mm_tally returns;
  double metric;             // mm_tally_mean of these: the point of the learning curve
  mm_net_report learned;     // of its last minibatch
  mm_gaussian_report policy; // of all its samples, for continuous actions
  uint64_t unstable;         // mm_vec_unstable, from the beginning on
  mm_ampo_log log;           // with log=on
} mm_ampo_report;

mm_ampo_report mm_ampo_last(const mm_ampo *ampo);

// Seconds spent so far in rollouts, in the critic's values with the advantages, and in updates.
void mm_ampo_seconds(const mm_ampo *ampo, double *rollout, double *value, double *update);

// What the agent sees.
typedef struct mm_ampo_shape {
  int32_t n_input, n_action; // n_action: or numbers of a real action
  bool lists;                // observations are lists of inputs that are on
  double inputs_on;          // mean length of these in the last batch
} mm_ampo_shape;
mm_ampo_shape mm_ampo_get_shape(const mm_ampo *ampo);

const mm_actor_critic_config *mm_ampo_get_config(const mm_ampo *ampo);

// Are its actions real? Is log on?
bool mm_ampo_is_real(const mm_ampo *ampo);
bool mm_ampo_logs(const mm_ampo *ampo);

// The networks; they belong to the agent.
mm_net *mm_ampo_net(mm_ampo *ampo);

// How continuous actions are made, for whoever plays a trained policy (ampo_real.c): d standard
// normal numbers of step number `step` of a stream, and n numbers as drawn turned into what the
// environment takes.
void mm_ampo_real_noise(mm_stream stream, uint64_t step, size_t d, float *out);
void mm_ampo_real_send(const mm_vec_info *info, const float *action, size_t n, float *out);

// ---------------------------------------------------------------------------------------------
// State (ampo_state.c): where an agent stands between two iterations, as bytes. One made with the
// same environment, map, settings, seed and repeat that loads them goes on to the same bits, in
// every build of the kernels.

// Iterations done.
int64_t mm_ampo_done(const mm_ampo *ampo);

size_t mm_ampo_state_size(const mm_ampo *ampo);
void mm_ampo_save(const mm_ampo *ampo, void *state);

// Bytes that are no state of such an agent, or not all of it, are MM_ERR_INPUT; the agent is of no
// use then.
mm_status mm_ampo_load(mm_ampo *ampo, const void *state, size_t size);

// The agent has done `iteration` iterations elsewhere, and its environments are as these bytes say
// (mm_vec_keep), their returns [envs] as the next two, their scales as `wrap` (mm_wrap_save; for
// continuous actions, else NULL). Its networks are the caller's to import.
mm_status mm_ampo_follow(mm_ampo *ampo, int64_t iteration, const void *env, const float *running,
                         const float *finished, const void *wrap);

#endif
