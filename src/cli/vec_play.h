// `env play` of classic control and MinAtar: in real time on a terminal, from --keys, or by a
// policy that acts at random.

#ifndef MM_CLI_VEC_PLAY_H
#define MM_CLI_VEC_PLAY_H

#include "cli/vec_game.h"

typedef struct vec_play_config {
  vec_game_config game;
  const char *keys;  // to be played without a terminal, or NULL
  bool random;       // the policy plays
  uint64_t episodes; // of the policy; 0: on a terminal until it is left, else one
  double fps;        // 0: the environment's own
  bool json;
} vec_play_config;

// Plays and prints how it went; returns the exit code.
int vec_play(const mm_env *env, const vec_play_config *config);

#endif
