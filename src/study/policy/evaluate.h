// Trained policies at play: what an agent does in a state, and the returns of many episodes.
//
// Episode k of agent i draws from streams that its training never uses: those of the agent's seed
// (which also names the instance of a family of environments), with a repeat above 2^31 that the
// evaluation's seed and k name. So policies that were trained with the same seeds meet the same
// episodes, and results depend neither on the number of threads nor on how many episodes there are.

#ifndef MM_EXPERIMENT_EVALUATE_H
#define MM_EXPERIMENT_EVALUATE_H

#include "mirrormap/env.h"
#include "study/policy/policy.h"
#include "study/stats/estimate.h"

// MM_ERR_INPUT unless the policy's networks fit the environment's inputs and actions.
mm_status mm_evaluate_check(const mm_policy *policy, const mm_env *env, mm_env_rules rules);

// ---------------------------------------------------------------------------------------------
// One agent

// Up to MM_PLAYER_ROWS states at a time. The policy must outlive its players.
enum { MM_PLAYER_ROWS = 64 };
typedef struct mm_player mm_player;

mm_status mm_player_create(const mm_policy *policy, size_t agent, mm_player **out);
void mm_player_destroy(mm_player *player);

// Computes the policies of these states: the projection of eta f through the map. MM_ERR_NUMERIC:
// a score is not finite.
mm_status mm_player_look(mm_player *player, const mm_net_obs *obs, size_t rows);

// What was seen there: the probabilities [n_action] of a row; an action for u in [0, 1); the most
// probable action (of equals the one with the highest score, then the first).
const float *mm_player_probs(const mm_player *player, size_t row);
int32_t mm_player_sample(const mm_player *player, size_t row, double u);
int32_t mm_player_greedy(const mm_player *player, size_t row);

// A Gaussian policy (reals > 0) instead has a number of reals in each action, as the agent draws
// them: with standard normal `noise` [reals], or the most probable one where that is NULL. The
// environment takes what mm_ampo_real_send (src/agent/ampo.h) makes of them; probs are NULL.
size_t mm_player_reals(const mm_player *player);
void mm_player_real(const mm_player *player, size_t row, const float *noise, float *action);

// ---------------------------------------------------------------------------------------------
// Many episodes

enum { MM_EVALUATE_ALL = -1, MM_EVALUATE_STEPS = 100000, MM_EVALUATE_EPISODES_MAX = 1000000 };

typedef struct mm_evaluate_config {
  const mm_policy *policy;
  const mm_env *env;
  mm_env_rules rules;     // MinAtar
  mm_env_flavour flavour; // of bodies; 0: as in the training, of another environment as its ID says
  mm_env_physics physics; // what moves them; 0: as in the training
  int64_t agent;          // MM_EVALUATE_ALL, or one of them
  size_t episodes;        // of each
  uint64_t seed;
  bool greedy;              // the most probable action instead of a random one
  uint64_t max_steps;       // episodes are cut off there; 0: MM_EVALUATE_STEPS
  int threads;              // 0: one per core
  const volatile int *stop; // may be NULL; nonzero: MM_ERR_INTERRUPTED
  // called from the calling thread, now and then and at the end; may be NULL
  void (*progress)(size_t done, size_t total, uint64_t env_steps, void *user);
  void *user;
} mm_evaluate_config;

// Returns of some episodes, undiscounted.
typedef struct mm_returns {
  mm_estimate value; // mean and standard error
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
  const char *flavour, *physics; // of bodies; else NULL
  uint64_t unstable;             // how often the physics came to nothing, which ends an episode
  uint64_t env_steps;
  int threads;
} mm_evaluation;

mm_status mm_evaluate_run(const mm_evaluate_config *config, mm_evaluation *out);
void mm_evaluation_release(mm_evaluation *evaluation);

#endif
