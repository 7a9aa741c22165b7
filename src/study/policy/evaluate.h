// SPDX-License-Identifier: Apache-2.0
// Trained policies at play (mirrormap/policy.h), row by row for those who keep observations in
// other forms.

#ifndef MM_EXPERIMENT_EVALUATE_H
#define MM_EXPERIMENT_EVALUATE_H

#include "study/policy/policy.h"

// ---------------------------------------------------------------------------------------------
// One agent

// Like mm_player_create, without the range of continuous actions: mm_player_act is not for these.
mm_status mm_player_open(const mm_policy *policy, size_t agent, mm_player **out);

// Computes the policies of up to MM_PLAYER_ROWS states: the projection of eta f through the map.
enum { MM_PLAYER_ROWS = 64 };
mm_status mm_player_look(mm_player *player, const mm_net_obs *obs, size_t rows);

// What was seen there: the probabilities [n_action] of a row; an action for u in [0, 1); the most
// probable action (of equals the one with the highest score, then the first).
const float *mm_player_row(const mm_player *player, size_t row);
int32_t mm_player_sample(const mm_player *player, size_t row, double u);
int32_t mm_player_greedy(const mm_player *player, size_t row);

// A Gaussian policy (reals > 0) instead has a number of reals in each action, as the agent draws
// them: with standard normal `noise` [reals], or the most probable one where that is NULL. The
// environment takes what mm_ampo_real_send (src/agent/ampo.h) makes of them; its row is NULL.
size_t mm_player_reals(const mm_player *player);
void mm_player_real(const mm_player *player, size_t row, const float *noise, float *action);

#endif
