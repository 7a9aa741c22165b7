// `env show --frames`: an episode of a policy as a contact sheet.

#ifndef MM_CLI_FRAMES_H
#define MM_CLI_FRAMES_H

#include "cli/env/vec_game.h"
#include "env/grid/gridworld.h"

typedef struct frames_config {
  const char *path;
  const char *who; // plays, for the title: "random policy"
  uint64_t steps;  // to go at most; 0: to the end of the episode, FRAMES_STEPS at most
  uint64_t every;  // steps from frame to frame; 0: so that FRAMES_USUAL frames show all
  bool json;
} frames_config;

enum { FRAMES_STEPS = 1000, FRAMES_USUAL = 24, FRAMES_MOST = 400 };

// Write the sheet and say so; return the exit code.
int frames_of_vec(const mm_env *env, const vec_game_config *game, const frames_config *config);
int frames_of_grid(const mm_grid *grid, const char *id, uint64_t seed, uint64_t index,
                   const frames_config *config);

#endif
