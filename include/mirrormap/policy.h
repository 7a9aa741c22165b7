// SPDX-License-Identifier: Apache-2.0
// Trained policies: the networks of one or several agents with everything needed to use them again.
//
//   mm_policy *policy;
//   mm_policy_load("runs/train-CartPole-v1-1", &policy);
//   mm_player *player;
//   mm_player_create(policy, 0, &player);                   agent 0
//   mm_draw draw = { .seed = 1 };
//   for (draw.step = 0; ..; draw.step++) {
//     mm_player_act(player, obs, n, &draw, action);         obs [n][n_input], action [n]
//     mm_vec_step(vec, action, &out);
//   }
//   mm_player_destroy(player);
//   mm_policy_destroy(policy);
//
// Or from training runs in this process, on whatever runs them (mm_job_run, backend.h):
//
//   mm_policy_create(&job, 1, &policy);
//   job.hooks = mm_policy_hooks(policy);
//   mm_job_run(&job, NULL, &result);
//   mm_policy_save(policy, "agent.safetensors");
//
// Threads: a policy that has its networks may be shared by any number of threads. An mm_player may
// be used by one thread at a time, different ones, also of the same agent, by different threads at
// the same time. What is said of a function below holds besides.

#ifndef MIRRORMAP_POLICY_H
#define MIRRORMAP_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/agent.h"
#include "mirrormap/base.h"
#include "mirrormap/env.h"
#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_policy mm_policy;

// ---------------------------------------------------------------------------------------------
// Files

// A policy from a safetensors file (docs/policies.md), or from the folder of a run: its
// policy.safetensors. Reading is strict: anything unexpected is MM_ERR_INPUT with the file, the
// place and what was expected. From any thread.
MM_API mm_status mm_policy_load(const char *path, mm_policy **out);

// The same way back. The file appears as a whole or not at all. MM_ERR_INPUT where an agent has no
// networks. From any thread.
MM_API mm_status mm_policy_save(const mm_policy *policy, const char *path);

// Once no thread uses it and no player is left.
MM_API void mm_policy_destroy(mm_policy *policy);

// ---------------------------------------------------------------------------------------------
// From training runs

// Room for the networks of n agents that are trained as this job, with the seeds job->seed,
// job->seed + 1, ... Everything is copied; the map of a search point is made. MM_ERR_INPUT for
// learners without networks (tables of PMD). From any thread.
MM_API mm_status mm_policy_create(const mm_job *job, size_t n, mm_policy **out);

// Hooks for those jobs that enter each one's networks and final return when it ends, by its seed; a
// job whose networks are not finite, and one of another seed, leaves nothing. They belong to the
// policy, and may be used by different jobs at the same time.
MM_API const mm_job_hooks *mm_policy_hooks(mm_policy *policy);

// What they do, for hooks of one's own: networks of agent i are copied, MM_ERR_NUMERIC where they
// are not finite, MM_ERR_INPUT where they have other sizes than the first ones; the value that the
// training reached. Different agents may be set by different threads at the same time.
MM_API mm_status mm_policy_set(mm_policy *policy, size_t i, const mm_net *net);
MM_API void mm_policy_set_final(mm_policy *policy, size_t i, double final_value);

// ---------------------------------------------------------------------------------------------
// What it holds

// Texts, objects and arrays belong to the policy.
typedef struct mm_policy_info {
  const char *env_id; // of the training: an ID, or the path of a task file
  mm_algo algo;
  const void *config;        // settings of the training, an mm_<..>_config; begins with `net`
  const mm_map *map;         // negentropy for learners that have none
  double eta;                // that the scores are multiplied with; 1 for learners that have none
  uint64_t seed;             // of agent 0; the others follow it
  size_t n;                  // agents
  const double *final_value; // [n] what the training runs reached, NaN where it is not known
  // Sizes of the networks, as mm_vec_info has them; 0 as long as no agent has any.
  int32_t n_input;
  int32_t n_action; // 0: actions are real,
  int32_t n_real;   // so many numbers each (else 0)
  int32_t hidden[2];
  bool relu; // hidden units are relu instead of tanh
} mm_policy_info;

// What is known now: sizes and final returns come with the networks. From any thread.
MM_API void mm_policy_describe(const mm_policy *policy, mm_policy_info *out);

// The parameters, tensor by tensor: actor before critic, from input to output, weight before bias.
// With D inputs, H hidden units and A actions (or numbers of a real action):
//
//   actor.0.weight [n][D][H]     actor.0.bias [n][H]     tanh or relu
//   actor.1.weight [n][H][H]     actor.1.bias [n][H]     tanh or relu
//   actor.2.weight [n][H][A]     actor.2.bias [n][A]     scores f(s, .), or means
//   critic.0.weight, ..          the same with one output: V(s)
//   actor.log_std [n][A], input.mean [n][D], input.variance [n][D]    of continuous actions
//
// A layer is y = x W + b. Discrete: the policy is the projection of eta f through the map (softmax
// f for PPO). Real: actor and critic see (o - mean) / sqrt(variance + 1e-8).
typedef struct mm_policy_tensor {
  const char *name;
  size_t dims;       // 2 or 3
  size_t shape[3];   // the agents first; 1 behind the last
  const float *data; // belongs to the policy
} mm_policy_tensor;

// How many there are (0 as long as no agent has networks), the i-th, and the one of that name.
// Unknown names fail with the nearest valid spelling. Entries of agents without networks are not
// defined. From any thread.
MM_API size_t mm_policy_tensors(const mm_policy *policy);
MM_API mm_status mm_policy_tensor_at(const mm_policy *policy, size_t i, mm_policy_tensor *out);
MM_API mm_status mm_policy_tensor_find(const mm_policy *policy, const char *name,
                                       mm_policy_tensor *out);

// MM_ERR_INPUT unless the networks fit the inputs and actions of this environment, which may be
// another than that of the training. From any thread.
MM_API mm_status mm_policy_fits(const mm_policy *policy, const mm_env *env, mm_env_rules rules);

// ---------------------------------------------------------------------------------------------
// One agent at play. Nothing but create allocates. A score that is not finite is MM_ERR_NUMERIC.

typedef struct mm_player mm_player;

// The policy must outlive its players. For continuous actions the environment of the training is
// opened, for the range of its actions. From any thread.
MM_API mm_status mm_player_create(const mm_policy *policy, size_t agent, mm_player **out);
MM_API void mm_player_destroy(mm_player *player);

// What it would do in n states, obs [n][n_input] as an mm_vec gives them (MM_OBS_FLOATS); they are
// scaled here as in the training. MM_ERR_INPUT for the other kind of actions.
//   discrete  probabilities [n][n_action]
//   real      means [n][n_real] and standard deviations [n_real], in the agent's units: an
//             environment takes them clipped to [-1, 1] and stretched to its range
MM_API mm_status mm_player_probs(mm_player *player, const float *obs, size_t n, float *probs);
MM_API mm_status mm_player_normal(mm_player *player, const float *obs, size_t n, float *mean,
                                  float *std);

// What its critic expects there, [n]: the discounted return, for continuous actions in the units
// that rewards were scaled to.
MM_API mm_status mm_player_values(mm_player *player, const float *obs, size_t n, float *value);

// Where random numbers come from: row i draws number `step` of the stream of environment first + i
// (below 2^24) that a training with this seed and repeat acts by. It depends on nothing else, so
// states may be asked for in parts, in any order.
typedef struct mm_draw {
  uint64_t seed;
  uint32_t repeat;
  uint32_t first;
  uint64_t step;
} mm_draw;

// Actions as mm_vec_step takes them: int32_t [n], or float [n][n_real] within the environment's
// range. `draw` NULL: the most probable ones (of equals the one with the highest score, then the
// first).
MM_API mm_status mm_player_act(mm_player *player, const float *obs, size_t n, const mm_draw *draw,
                               void *action);

// ---------------------------------------------------------------------------------------------
// Many episodes, on threads of its own
//
// Episode k of agent i draws from streams that its training never uses: those of the agent's seed
// (which also names the instance of a family of environments), with a repeat above 2^31 that the
// evaluation's seed and k name. So policies that were trained with the same seeds meet the same
// episodes, and results depend neither on the number of threads nor on how many episodes there are.

enum { MM_EVALUATE_ALL = -1, MM_EVALUATE_STEPS = 100000, MM_EVALUATE_EPISODES_MAX = 1000000 };

typedef struct mm_evaluate_config {
  size_t size; // of this struct, set by mm_evaluate_config_default
  const mm_policy *policy;
  const mm_env *env;      // NULL: the policy's, opened for the time of the call
  mm_env_rules rules;     // MinAtar; 0: as in the training, of another environment as its ID says
  mm_env_flavour flavour; // locomotion, likewise
  mm_env_physics physics; // what moves them; 0: as in the training
  int64_t agent;          // MM_EVALUATE_ALL, or one of them
  size_t episodes;        // of each, 1 to MM_EVALUATE_EPISODES_MAX
  uint64_t seed;
  bool greedy;              // the most probable action instead of a random one
  uint64_t max_steps;       // episodes are cut off there; 0: MM_EVALUATE_STEPS
  int threads;              // 0: one per core
  const volatile int *stop; // nonzero: MM_ERR_INTERRUPTED; may be NULL
  // Called from the calling thread, now and then and at the end; may be NULL.
  void (*progress)(size_t done, size_t total, uint64_t env_steps, void *user);
  void *user;
} mm_evaluate_config;

// 100 episodes of each agent, sampled, one thread per core; `policy` is left at NULL. From any
// thread.
MM_API void mm_evaluate_config_init(mm_evaluate_config *out, size_t size);
static inline mm_evaluate_config mm_evaluate_config_default(void) {
  mm_evaluate_config config;
  mm_evaluate_config_init(&config, sizeof config);
  return config;
}

// Returns of some episodes, undiscounted.
typedef struct mm_returns {
  double mean, sem; // sem, the standard error of the mean: NaN for one episode
  double median, min, max, mean_length;
  size_t terminated, truncated, cut; // how they ended: by themselves, at the environment's limit
                                     // alone, at max_steps
} mm_returns;

typedef struct mm_evaluation {
  size_t first, n_agent, n_episode; // agents first .. first + n_agent - 1
  double *value;                    // [n_agent][n_episode] returns
  uint32_t *length;                 // [n_agent][n_episode] steps
  uint8_t *end;                     // [n_agent][n_episode] MM_END_ bits; 0: cut off
  mm_returns *agent;                // [n_agent]
  // Of all episodes; with several agents the standard error is that of their means, for it is
  // agents that a training is repeated with.
  mm_returns all;
  const char *flavour, *physics; // of locomotion tasks, the library's; else NULL
  uint64_t unstable;             // how often the physics came to nothing, which ends an episode
  uint64_t env_steps;
  int threads;
} mm_evaluation;

// Plays the episodes, as `mirrormap eval` does. MM_ERR_INPUT unless the networks fit the
// environment's inputs and actions. From any thread.
MM_API mm_status mm_evaluate_run(const mm_evaluate_config *config, mm_evaluation *out);
MM_API void mm_evaluation_release(mm_evaluation *evaluation);

#ifdef __cplusplus
}
#endif

#endif
