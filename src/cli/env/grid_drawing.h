// SPDX-License-Identifier: Apache-2.0
// Grid-World boards as text.
//
// A cell is two characters wide, which looks square: first a mark (S start, @ player, A.. objects,
// a.. objects that are away), then an arrow where a policy is shown. On narrow terminals cells are
// one character wide, and of a board that is still too wide a window is shown, with dashed edges
// where the board goes on. A panel of lines stands beside the board, or below where there is no
// room.

#ifndef MM_CLI_GRID_DRAWING_H
#define MM_CLI_GRID_DRAWING_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/draw/panel.h"
#include "env/grid/gridworld.h"

// What an arrow may be beside an action: absent, or dim (or-ed to the action).
enum { GRID_NO_ARROW = 5, GRID_WEAK_ARROW = 8 };

// What is on the board.
typedef struct grid_scene {
  const mm_grid *grid;
  mm_grid_state state;      // where the start or the player is, and which objects are present
  bool player;              // the cell of `state` is the player's, not the start
  const uint8_t *action;    // [n_state] an arrow per cell, for the mask of `state`; NULL for none
  const uint8_t *reachable; // [n_state] arrows only where set; NULL for everywhere
} grid_scene;

// Which part of it is shown, and how.
typedef struct grid_view {
  int cell_width;             // characters, 1 or 2
  int margin;                 // characters for the row numbers
  int row, column;            // top left cell
  int rows, columns;          // cells
  bool left, right, up, down; // the board goes on there
} grid_view;

// The largest part of the board around `centre` that fits into so many columns and lines of the
// terminal; `lines` 0 for any number.
grid_view grid_view_fit(const mm_grid *grid, int32_t centre, int columns, int lines);
int grid_view_width(const grid_view *view); // in columns
int grid_view_lines(const grid_view *view);

// ---------------------------------------------------------------------------------------------
// The panel

// One line per object: its letter, cell, reward and probabilities; and one for the start or player.
void grid_panel_objects(text_panel *panel, const grid_scene *scene);

// ---------------------------------------------------------------------------------------------
// On stdout

// Whether the panel has room beside the board.
bool grid_panel_fits(const grid_view *view, const text_panel *panel, int columns);

// Board and panel; each line ends in `line_end`.
void grid_draw(const grid_scene *scene, const grid_view *view, const text_panel *panel, bool beside,
               const char *line_end);

#endif
