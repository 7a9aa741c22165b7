// SPDX-License-Identifier: Apache-2.0
// Marks of a Grid-World, and which of them each cell has.

#include "show/picture/grid_picture.h"

#include <stdio.h>
#include <string.h>

void mm_grid_picture_marks(const mm_grid *g, mm_grid_marks *out) {
  out->mark[0] = (mm_mark){ "agent", 0xffffff, '@', 0 };
  for (int i = 0; i < g->n_object; i++) {
    unsigned colour = g->reward[i] > 0 ? 0x00af87 : g->reward[i] < 0 ? 0xd75f00 : 0xffaf00;
    snprintf(out->name[i], sizeof out->name[i], "reward %.3g, terminate %.3g, respawn %.3g",
             g->reward[i], g->terminate[i], g->respawn[i]);
    out->mark[1 + i] = (mm_mark){ out->name[i], colour, (char)('A' + i), 0 };
  }
  out->mark[1 + g->n_object] = (mm_mark){ "object that is away", 0x4e4e4e, ' ', 0 };
  out->mark[2 + g->n_object] = (mm_mark){ "wall", 0x8a8a8a, ' ', 0 };
  out->scene = (mm_scene){ .mark = out->mark,
                           .n_mark = g->n_object + 3,
                           .rows = g->side,
                           .columns = g->side,
                           .lettered = true };
}

void mm_grid_picture_cells(const mm_grid *g, mm_grid_state state, uint8_t *cell) {
  const int away = 1 + g->n_object, wall = 2 + g->n_object;
  for (int32_t c = 0; c < g->cells; c++) {
    int object = g->object_at[c];
    cell[c] = g->wall[c] ? (uint8_t)(1 + wall) : 0;
    if (object >= 0) cell[c] = (uint8_t)(1 + (state.mask >> object & 1 ? 1 + object : away));
  }
  cell[state.cell] = 1;
}

mm_grid_state mm_grid_picture_state(const mm_grid *g, const float *obs) {
  mm_grid_state state = { 0, 0 };
  while (state.cell < g->cells - 1 && obs[state.cell] == 0)
    state.cell++;
  for (int i = 0; i < g->n_object; i++)
    state.mask |= obs[g->cells + i] != 0 ? 1u << i : 0;
  return state;
}
