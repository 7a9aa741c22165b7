// SPDX-License-Identifier: Apache-2.0
// Grid-World tasks: named configurations, random families and task files.

#ifndef MM_ENV_GRID_TASK_H
#define MM_ENV_GRID_TASK_H

#include "env/grid/gridworld.h"
#include "mirrormap/env.h"

// The task that (seed, index) names in this environment; a task file gives the same one always.
// Fails with MM_ERR_INPUT when `env` is not a Grid-World or the index exceeds 32 bits. Release with
// mm_grid_destroy.
mm_status mm_grid_draw(const mm_env *env, uint64_t seed, uint64_t index, mm_grid **out);
void mm_grid_destroy(mm_grid *grid);

// A task from its parts: wall[side * side] (NULL: none), objects 1 .. 8. Checks everything: cells
// on the board and free, all distinct, probabilities in [0, 1], finite rewards, a state count that
// fits.
typedef struct mm_grid_parts {
  int32_t side, n_object, start;
  const uint8_t *wall;
  int32_t object[MM_GRID_OBJECTS];
  double reward[MM_GRID_OBJECTS], terminate[MM_GRID_OBJECTS], respawn[MM_GRID_OBJECTS];
} mm_grid_parts;
mm_status mm_grid_create(const mm_grid_parts *parts, mm_grid **out);

// The parts of a task; the walls stay its own.
mm_grid_parts mm_grid_parts_of(const mm_grid *grid);

// A named configuration. Ranges are inclusive. Objects have the triples of the table, or draw their
// own: rewards uniform, probabilities log-uniform.
typedef struct mm_grid_law {
  const char *id, *summary;
  int side_least, side_most;
  int n_least, n_most;
  const char *map;           // [side][side] walls, or NULL
  int wall_draws, wall_from; // distinct wall indices drawn from 0 .. wall_from - 1
  bool drawn;                // triples are drawn
  double reward_least;       // rewards of the objects after the first; that one's are from 0
  struct {
    double reward, terminate, respawn;
  } fixed[5];
} mm_grid_law;

// The configurations in listing order: NULL past the end.
const mm_grid_law *mm_grid_law_at(size_t i);

// Reads a YAML task file, design: {grid: 13, walls: [[r,c],...], start: [r,c], objects: [{cell:
// [r,c], reward: 1, terminate: 0.5, respawn: 0.1}, ...]}.
mm_status mm_grid_load(const char *path, mm_grid **out);

// The same of such a file's text; `source` begins errors.
mm_status mm_grid_parse(const char *text, const char *source, mm_grid **out);

// Is `env` a Grid-World?
bool mm_env_is_grid(const mm_env *env);

#endif
