// SPDX-License-Identifier: Apache-2.0
// One game of a Grid-World.
//
// The player is environment 0 of a training run with the same seed: step t draws the same random
// numbers there and here, so a game is a function of instance, seed and actions.

#ifndef MM_CLI_GRID_GAME_H
#define MM_CLI_GRID_GAME_H

#include <stdbool.h>

#include "env/grid/grid_sample.h"

typedef struct grid_game {
  const mm_grid *grid;
  double gamma;
  bool restart; // termination leads back to the start
  mm_grid_sampler sampler;
  mm_stream outcomes;
  uint64_t drawn; // steps since the game was opened: names the random numbers

  mm_grid_state state;
  bool ended;
  uint64_t steps, collected, respawns, endings; // since the start
  int last_object;                              // collected by the last step, or -1
  double last_reward, total, discounted, discount;
} grid_game;

grid_game grid_game_open(const mm_grid *grid, uint64_t seed, double gamma, bool restart);

// Back at the start; the random numbers go on.
void grid_game_start(grid_game *g);

// One step; nothing happens after an end.
void grid_game_step(grid_game *g, int action);

// ---------------------------------------------------------------------------------------------
// Instances on the command line

// The task that ID (or a task file) has for (seed, index). Reports a failure and returns its exit
// code: what cannot be read is EXIT_USAGE. Release with mm_grid_destroy.
int grid_argument_open(const char *id, uint64_t seed, uint64_t index, mm_grid **out);

// "  seed 3, index 0" to follow the ID, or "" for a task file, which is the same for all of them.
const char *grid_instance(const char *id, uint64_t seed, uint64_t index);

#endif
