// SPDX-License-Identifier: Apache-2.0
// The policy whose arrows a board shows: that of a run of tabular PMD on one instance.

#ifndef MM_SHOW_GRID_POLICY_H
#define MM_SHOW_GRID_POLICY_H

#include "env/grid/gridworld.h"
#include "mirrormap/agent.h"

// Trains as `train` does with this seed, into policy[MM_GRID_ACTIONS][n_state], as grid_model.h
// wants it. *finite is false where a logit was not finite: the policy is the one from before that.
// `progress` hears of each iteration.
mm_status mm_grid_policy(const mm_grid *grid, const mm_map *map, const mm_pmd_config *config,
                         uint64_t seed, void (*progress)(int64_t done, int64_t total),
                         double *policy, bool *finite);

#endif
