// SPDX-License-Identifier: Apache-2.0
// Grid-World: one task, and one step of it. [host/device]
//
// A state is a cell and a mask of the objects that are present; its index is cell + cells * mask.
// Actions are up, down, left, right, stay. A step moves, collects the object that was present at
// the new cell (reward, chance to terminate), lets absent objects respawn, and removes the
// collected one. All laws: docs/gridworld.md.

#ifndef MM_ENV_GRIDWORLD_H
#define MM_ENV_GRIDWORLD_H

#include <stdint.h>

#include "base/hostdev.h"

enum { MM_GRID_ACTIONS = 5, MM_GRID_OBJECTS = 8 };

// One task. Plain data: the arrays belong to whoever made it (src/env/grid/grid_task.c).
typedef struct mm_grid {
  int32_t side, cells; // cells = side * side, row 0 at the top
  int32_t n_object, n_state;
  int32_t start;                     // cell; the start state has all objects present
  int32_t object[MM_GRID_OBJECTS];   // their cells
  double reward[MM_GRID_OBJECTS];    // for collecting object i
  double terminate[MM_GRID_OBJECTS]; // probability that this ends the episode
  double respawn[MM_GRID_OBJECTS];   // probability per step to come back
  const uint8_t *wall;               // [cells]
  const int16_t *object_at;          // [cells] object at the cell, or -1
  const int32_t *next;               // [cells][5] cell after an action
} mm_grid;

typedef struct mm_grid_state {
  int32_t cell;
  uint32_t mask; // bit i: object i is present
} mm_grid_state;

// What a step did.
typedef struct mm_grid_event {
  double reward;
  int done; // the episode ended; the caller decides what follows
} mm_grid_event;

MM_INLINE MM_HD mm_grid_state mm_grid_start(const mm_grid *g) {
  mm_grid_state s = { g->start, (1u << g->n_object) - 1 };
  return s;
}

MM_INLINE MM_HD int32_t mm_grid_index(const mm_grid *g, mm_grid_state s) {
  return s.cell + g->cells * (int32_t)s.mask;
}

// One step with its random outcomes given: bit i of `respawned` says that object i would come back
// if it is absent, `ends` that a collected object's termination would strike.
MM_INLINE MM_HD mm_grid_event mm_grid_move(const mm_grid *g, mm_grid_state *s, int action,
                                           uint32_t respawned, int ends) {
  mm_grid_event event = { 0, 0 };
  int32_t cell = g->next[s->cell * MM_GRID_ACTIONS + action];
  int32_t i = g->object_at[cell];
  uint32_t mask = s->mask | respawned;
  if (i >= 0 && (s->mask >> i & 1)) {
    event.reward = g->reward[i];
    event.done = ends;
    mask &= ~(1u << i);
  }
  s->cell = cell;
  s->mask = mask;
  return event;
}

#endif
