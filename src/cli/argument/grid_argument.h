// Grid-World tasks as they appear on the command line.

#ifndef MM_CLI_GRID_ARGUMENT_H
#define MM_CLI_GRID_ARGUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "env/grid/gridworld.h"

// The task that ID (or a task file) has for (seed, index). Reports a failure and returns its exit
// code: what cannot be read is EXIT_USAGE. Release with mm_grid_destroy.
int grid_argument_open(const char *id, uint64_t seed, uint64_t index, mm_grid **out);

// "  seed 3, index 0" to follow the ID, or "" for a task file, which is the same for all of them.
const char *grid_instance(const char *id, uint64_t seed, uint64_t index);

#endif
