// SPDX-License-Identifier: Apache-2.0
// What a Grid-World looks like: a board with the agent, the objects, those that are away, walls.

#ifndef MM_SHOW_GRID_PICTURE_H
#define MM_SHOW_GRID_PICTURE_H

#include "env/description.h"
#include "env/grid/gridworld.h"

typedef struct mm_grid_marks {
  mm_mark mark[MM_GRID_OBJECTS + 3];
  char name[MM_GRID_OBJECTS][80];
  mm_scene scene; // with the marks above: `out` of the call must stay where it is
} mm_grid_marks;

void mm_grid_picture_marks(const mm_grid *grid, mm_grid_marks *out);

// cell [cells] is 0 for nothing, else 1 + mark.
void mm_grid_picture_cells(const mm_grid *grid, mm_grid_state state, uint8_t *cell);

// The state that an observation as floats shows.
mm_grid_state mm_grid_picture_state(const mm_grid *grid, const float *obs);

#endif
