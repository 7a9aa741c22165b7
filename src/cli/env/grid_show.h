// `env show` of a Grid-World.

#ifndef MM_CLI_GRID_SHOW_H
#define MM_CLI_GRID_SHOW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct grid_show_config {
  uint64_t seed, index;
  bool exact, optimal;
  const char *map;
  double gamma;
  const char *termination;
  bool json;
} grid_show_config;

// Shows the instance; returns the exit code.
int grid_show(const char *id, const grid_show_config *config);

#endif
