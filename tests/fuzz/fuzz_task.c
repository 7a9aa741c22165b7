// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any text as a Grid-World task file. Refused with one line that names it, or a task
// in which every action leads from a free cell to a free cell.

#define _XOPEN_SOURCE 700 // mkstemp

#include <math.h>

#include "env/grid/grid_task.h"
#include "fuzz.h"

static void require_cells(const mm_grid *g) {
  require(g->side >= 1 && g->cells == g->side * g->side, "a square board");
  require(g->n_object >= 1 && g->n_object <= MM_GRID_OBJECTS, "as many objects as there may be");
  require(g->n_state == g->cells << g->n_object, "as many states as cells and sets of objects");
  require(g->start >= 0 && g->start < g->cells && !g->wall[g->start], "a free start");
  for (int32_t c = 0; c < g->cells; c++)
    for (int a = 0; a < MM_GRID_ACTIONS && !g->wall[c]; a++) {
      int32_t next = g->next[c * MM_GRID_ACTIONS + a];
      require(next >= 0 && next < g->cells && !g->wall[next], "an action leads to a free cell");
    }
}

static void require_objects(const mm_grid *g) {
  for (int32_t i = 0; i < g->n_object; i++) {
    require(g->object[i] >= 0 && g->object[i] < g->cells, "an object on the board");
    require(!g->wall[g->object[i]] && g->object_at[g->object[i]] == i, "alone in a free cell");
    require(g->object[i] != g->start && isfinite(g->reward[i]), "with a finite reward");
    require(g->terminate[i] >= 0 && g->terminate[i] <= 1, "a probability to end");
    require(g->respawn[i] >= 0 && g->respawn[i] <= 1, "a probability to come back");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mm_grid *grid;
  const char *path = fuzz_file(data, size);
  mm_status status = mm_grid_load(path, &grid);
  require((status == MM_OK) == (grid != NULL), "a task on success and only then");
  if (status != MM_OK) {
    require_refusal(status, path);
    return 0;
  }
  require_cells(grid);
  require_objects(grid);
  mm_grid_destroy(grid);
  return 0;
}
