// `env play` of a Grid-World.

#ifndef MM_CLI_GRID_PLAY_H
#define MM_CLI_GRID_PLAY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct grid_play_config {
  uint64_t seed, index;
  const char *keys; // to be played without a terminal; NULL for one
  double gamma;
  const char *termination;
  bool json; // only with keys
} grid_play_config;

// Plays and prints how it ended; returns the exit code.
int grid_play(const char *id, const grid_play_config *config);

#endif
