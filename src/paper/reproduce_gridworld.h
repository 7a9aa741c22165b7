// What the files of the Grid-World figure share: its columns, its rows, and the runs behind them.

#ifndef MM_EXPERIMENT_REPRODUCE_GRIDWORLD_H
#define MM_EXPERIMENT_REPRODUCE_GRIDWORLD_H

#include <pthread.h>

#include "paper/reproduce_internal.h"

enum {
  MM_GRID_FIGURE_ENVS = 6,  // columns
  MM_GRID_FIGURE_MAPS = 9,  // all that are run
  MM_GRID_FIGURE_SHOWN = 3, // of these the paper's, which come first: learned, l2, negentropy
  MM_GRID_FIGURE_CELLS = MM_GRID_FIGURE_ENVS * MM_GRID_FIGURE_MAPS
};

extern const char *const mm_grid_figure_env[MM_GRID_FIGURE_ENVS];

typedef struct mm_grid_figure_map {
  const char *label;
  bool control, tuned;
} mm_grid_figure_map;
extern const mm_grid_figure_map mm_grid_figure_map_list[MM_GRID_FIGURE_MAPS];

// Curves beside the value. Controls have the policy distance alone: a figure does not show them.
typedef enum mm_grid_measure {
  MM_GRID_ERROR,
  MM_GRID_ERROR_SAMPLED,
  MM_GRID_DISTANCE,
  MM_GRID_MEASURES
} mm_grid_measure;
extern const char *const mm_grid_measure_name[MM_GRID_MEASURES];
bool mm_grid_is_measured(size_t map, mm_grid_measure what);

typedef struct mm_grid_figure {
  mm_reproduce *r;
  mm_env *env[MM_GRID_FIGURE_ENVS];
  mm_map *map[MM_GRID_FIGURE_MAPS];
  // with the eta of the row
  mm_settings settings[MM_GRID_FIGURE_ENVS][MM_GRID_FIGURE_MAPS];
  size_t n_seed, n_step; // iterations of a run
  double iteration;      // environment steps of one
  size_t n;              // runs: [env][map][seed]
  uint64_t *step;        // [n_step + 1]

  // while they run
  uint8_t *stored; // [n]
  size_t *todo;    // [n_todo] places
  size_t n_todo;
  pthread_mutex_t lock; // for the rest, and the database
  size_t done;
  uint64_t env_steps;
  size_t trouble;
  mm_status status;
  char error[MM_ERROR_SIZE];
} mm_grid_figure;

// How many iterations lie within the first 50,000 steps; 0 where that is none or all of them, and
// nothing can be said of a beginning.
size_t mm_grid_figure_early(const mm_grid_figure *figure);

// Cells of the result from what the database has (reproduce_gridworld_cells.c).
mm_status mm_grid_figure_fill(mm_grid_figure *figure);

#endif
