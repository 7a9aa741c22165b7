// `env play` of classic control, bodies and MinAtar: in real time on a terminal, from --keys, or by
// a policy, which acts at random or was trained.

#ifndef MM_CLI_VEC_PLAY_H
#define MM_CLI_VEC_PLAY_H

#include "cli/env/vec_game.h"

typedef struct vec_play_config {
  vec_game_config game;
  const char *keys;   // to be played without a terminal, or NULL
  const char *policy; // who plays: "random" or the name of what was trained; NULL: keys
  size_t agent;       // of the latter
  uint64_t episodes;  // of the policy; 0: on a terminal until it is left, else one
  double fps;         // 0: the environment's own
  bool json;
} vec_play_config;

// Plays and prints how it went; returns the exit code.
int vec_play(const mm_env *env, const vec_play_config *config);

#endif
