// SPDX-License-Identifier: Apache-2.0
// One game of an environment: an mm_vec with a single environment, and what a player sees of it.
// After its end an episode stays in sight until the next one is asked for.

#ifndef MM_CLI_VEC_GAME_H
#define MM_CLI_VEC_GAME_H

#include <stdbool.h>

#include "base/rng.h"
#include "cli/draw/keys.h"
#include "cli/env/env_args.h"

enum { VEC_REALS_MOST = 8 };

typedef struct vec_action {
  int32_t index;              // of a discrete action, or
  float real[VEC_REALS_MOST]; // of a real one
} vec_action;

typedef struct vec_game {
  const mm_env *env;
  mm_vec *vec;
  mm_vec_config config;
  mm_vec_info info;
  float *obs;              // [n_input] what is seen
  float *next;             // [n_input] of the next episode, after an end
  float *probs;            // [n_action] of the player, of what is seen
  uint64_t episode, steps; // of this game, from 1; of this episode
  unsigned end;            // MM_END_ bits, 0 while the episode goes on
  float reward;            // of the last step
  vec_action action;       // which was this
  double total;            // of the episode
  mm_player *player;       // looks at every state that is seen, or NULL
  bool greedy;
  mm_stream policy; // chance in the policy's actions
  uint64_t drawn;
} vec_game;

// Opens the game at the start of its first episode; `player` is that of a trained policy, which
// must outlive the game, or NULL for random actions. On failure nothing needs to be released.
mm_status vec_game_open(const mm_env *env, const env_args *args, mm_player *player, vec_game *out);
void vec_game_release(vec_game *g);

// One step; nothing happens after an end.
mm_status vec_game_step(vec_game *g, vec_action action);

// Begins the next episode; one that has not ended is given up, and the next has other random
// numbers.
mm_status vec_game_next(vec_game *g);

// The policy's action: the player's, or uniform over all. A function of the seed, of the number of
// draws before and of what the player sees.
vec_action vec_game_choose(vec_game *g);

// The player's probabilities [n_action], of what is seen or, after an end, was seen before; NULL
// without a player.
const float *vec_game_probs(const vec_game *g);

// The action of a key; false if it has none in this game. Real ones are the bounds and 0, the same
// for all motors. Space is to fire where that is possible, else to do nothing.
bool vec_game_key_action(const vec_game *g, game_key k, vec_action *out);

// The action of a step without a key: to do nothing where that is possible, else the first.
vec_action vec_game_idle(const vec_game *g);

// "terminated", "truncated", "terminated and truncated", or NULL.
const char *vec_game_end(const vec_game *g);

#endif
