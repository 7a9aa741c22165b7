// SPDX-License-Identifier: Apache-2.0
// Tabular policy mirror descent on one Grid-World task, one iteration at a time.

#ifndef MM_AGENT_PMD_H
#define MM_AGENT_PMD_H

#include "agent/pmd_update.h"
#include "env/grid/gridworld.h"
#include "mirrormap/agent.h"

// What the last iteration saw, for those who look at an algorithm from outside. States are listed
// in the order of their first visit.
typedef struct mm_pmd_batch {
  int32_t n_visited;
  const int32_t *state;  // [n_visited]
  const double *visits;  // [n_visited][5] times action a was sampled there
  const double *raw_sum; // [n_visited][5] sum of the GAE advantages as they are
  const double *critic;  // [n_visited] value table before this iteration's update
  double advantage_std;  // of the batch
  bool degenerate;       // advantages all alike: the policy was left as it was
} mm_pmd_batch;

typedef struct mm_pmd mm_pmd;

// Can these settings be run with this map? MM_ERR_INPUT if not.
mm_status mm_pmd_check(const mm_map *map, const mm_pmd_config *config);

// The task and the map must outlive the agent. (seed, repeat) names all random numbers.
mm_status mm_pmd_create(const mm_grid *grid, const mm_map *map, const mm_pmd_config *config,
                        uint64_t seed, uint32_t repeat, mm_pmd **out);
void mm_pmd_destroy(mm_pmd *pmd);

// Rolls out, estimates, updates. MM_ERR_NUMERIC: a logit, or the map of the moment, was not finite;
// the policy is then the one from before the call, and further iterations are of no use.
mm_status mm_pmd_iterate(mm_pmd *pmd);

// Iterations of a whole run: floor(steps / (envs * unroll)).
int64_t mm_pmd_iterations(const mm_pmd_config *config);

// The current policy, action-major [5 * n_state], as src/env/grid/grid_model.h wants it.
void mm_pmd_policy(const mm_pmd *pmd, double *policy);

// The value table [n_state].
const double *mm_pmd_critic(const mm_pmd *pmd);

mm_pmd_batch mm_pmd_last_batch(const mm_pmd *pmd);

// Seconds spent in rollouts and in updates so far.
void mm_pmd_seconds(const mm_pmd *pmd, double *rollout, double *update);

#endif
