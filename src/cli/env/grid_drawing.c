// SPDX-License-Identifier: Apache-2.0
// Grid-World boards as text: box characters, blocks and arrows where the locale has them, ASCII
// elsewhere; colours on a terminal only.

#include "cli/env/grid_drawing.h"

#include <stdio.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"

enum { GAP = 3, LABEL_EVERY = 5 };

typedef struct glyphs {
  const char *wall, *floor;
  const char *arrow[MM_GRID_ACTIONS];
  const char *across[2], *upright[2]; // edges: of the board, and where it goes on
  const char *corner[4];              // top left and right, bottom left and right
} glyphs;

static const glyphs ascii = { "#",          ".",          { "^", "v", "<", ">", "o" },
                              { "-", "." }, { "|", ":" }, { "+", "+", "+", "+" } };
static const glyphs unicode = { "\u2588",
                                "\u00b7",
                                { "\u2191", "\u2193", "\u2190", "\u2192", "\u2022" },
                                { "\u2500", "\u2504" },
                                { "\u2502", "\u250a" },
                                { "\u250c", "\u2510", "\u2514", "\u2518" } };

static const glyphs *glyph_set(void) {
  return terminal_unicode() ? &unicode : &ascii;
}

static void put(style look, const char *text) {
  fputs(look == STYLE_PLAIN ? text : output_styled(look, text), stdout);
}

// ---------------------------------------------------------------------------------------------
// The part that is shown

static int digits_of(int value) {
  int digits = 1;
  for (; value >= 10; value /= 10)
    digits++;
  return digits;
}

// shows at most `most` of `side` cells, the one at `centre` in the middle where that is possible
static void choose_window(int side, int centre, int most, int *first, int *count) {
  *count = most < side ? (most < 1 ? 1 : most) : side;
  *first = centre - *count / 2;
  if (*first > side - *count) *first = side - *count;
  if (*first < 0) *first = 0;
}

grid_view grid_view_fit(const mm_grid *grid, int32_t centre, int columns, int lines) {
  int side = grid->side;
  grid_view view = { .cell_width = 2, .margin = digits_of(side - 1) + 1 };
  int room = columns - view.margin - 3, height = lines > 0 ? lines - 3 : side;
  if (2 * side > room) view.cell_width = 1;
  // a window should not be a tall strip
  if (side > room && lines == 0) height = room / 2;
  choose_window(side, centre % side, room / view.cell_width, &view.column, &view.columns);
  choose_window(side, centre / side, height, &view.row, &view.rows);
  view.left = view.column > 0;
  view.right = view.column + view.columns < side;
  view.up = view.row > 0;
  view.down = view.row + view.rows < side;
  return view;
}

// margin, edge, cells and a column of air, edge
int grid_view_width(const grid_view *view) {
  return view->margin + 2 + view->cell_width * view->columns + (view->cell_width > 1);
}

int grid_view_lines(const grid_view *view) {
  return view->rows + 3;
}

// ---------------------------------------------------------------------------------------------
// Cells

static style object_style(const mm_grid *grid, int i, bool present) {
  if (!present) return STYLE_DIM;
  return grid->reward[i] > 0 ? STYLE_GOOD : grid->reward[i] < 0 ? STYLE_BAD : STYLE_BOLD;
}

static const char *object_letter(int i, bool present, char out[2]) {
  out[0] = (char)((present ? 'A' : 'a') + i);
  out[1] = '\0';
  return out;
}

// what stands on the cell; false for nothing
static bool put_mark(const grid_scene *scene, int32_t cell) {
  int object = scene->grid->object_at[cell];
  char letter[2];
  if (cell == scene->state.cell) {
    put(STYLE_BOLD, scene->player ? "@" : "S");
    return true;
  }
  if (object < 0) return false;
  bool present = scene->state.mask >> object & 1;
  put(object_style(scene->grid, object, present), object_letter(object, present, letter));
  return true;
}

// the arrow of the cell, or GRID_NO_ARROW
static int arrow_of(const grid_scene *scene, int32_t cell) {
  if (scene->action == NULL) return GRID_NO_ARROW;
  int32_t s = mm_grid_index(scene->grid, (mm_grid_state){ cell, scene->state.mask });
  return scene->reachable == NULL || scene->reachable[s] ? scene->action[s] : GRID_NO_ARROW;
}

static void put_cell(const grid_scene *scene, const grid_view *view, int32_t cell) {
  const glyphs *g = glyph_set();
  bool wide = view->cell_width > 1;
  if (scene->grid->wall[cell]) {
    put(STYLE_DIM, g->wall);
    if (wide) put(STYLE_DIM, g->wall);
    return;
  }
  int arrow = arrow_of(scene, cell);
  if (wide && arrow == GRID_NO_ARROW) fputc(' ', stdout); // a mark alone stands where dots do
  bool marked = put_mark(scene, cell);
  if (arrow == GRID_NO_ARROW) {
    if (!marked) put(STYLE_DIM, g->floor);
    return;
  }
  if (wide && !marked) fputc(' ', stdout);
  if (wide || !marked)
    put(arrow & GRID_WEAK_ARROW ? STYLE_DIM : STYLE_PLAIN, g->arrow[arrow & ~GRID_WEAK_ARROW]);
}

// ---------------------------------------------------------------------------------------------
// Lines: column numbers, upper edge, rows, lower edge. Each returns the columns it filled.

static int put_numbers(const grid_view *view) {
  const char *dim = terminal_style(stdout, STYLE_DIM), *plain = terminal_style(stdout, STYLE_PLAIN);
  int used = 0, every = view->cell_width > 1 ? LABEL_EVERY : 2 * LABEL_EVERY;
  for (int i = 0; i < view->columns; i++) {
    int column = view->column + i;
    int end = view->margin + 1 + (i + 1) * view->cell_width; // under the number stands the mark
    if (column % every != 0 || end - used < digits_of(column)) continue;
    printf("%s%*d%s", dim, end - used, column, plain);
    used = end;
  }
  return used;
}

static int put_edge(const grid_view *view, bool lower) {
  const glyphs *g = glyph_set();
  int width = grid_view_width(view) - view->margin - 2;
  bool open = lower ? view->down : view->up;
  printf("%*s", view->margin, "");
  put(STYLE_DIM, g->corner[2 * lower]);
  for (int i = 0; i < width; i++)
    put(STYLE_DIM, g->across[open]);
  put(STYLE_DIM, g->corner[2 * lower + 1]);
  return grid_view_width(view);
}

static int put_row(const grid_scene *scene, const grid_view *view, int row) {
  const glyphs *g = glyph_set();
  const char *dim = terminal_style(stdout, STYLE_DIM), *plain = terminal_style(stdout, STYLE_PLAIN);
  if (row % LABEL_EVERY == 0)
    printf("%s%*d%s ", dim, view->margin - 1, row, plain);
  else
    printf("%*s", view->margin, "");
  put(STYLE_DIM, g->upright[view->left]);
  int32_t cell = row * scene->grid->side + view->column;
  for (int i = 0; i < view->columns; i++)
    put_cell(scene, view, cell + i);
  // the column of air belongs to a wall that ends there
  bool wall = scene->grid->wall[cell + view->columns - 1];
  if (view->cell_width > 1) put(STYLE_DIM, wall ? g->wall : " ");
  put(STYLE_DIM, g->upright[view->right]);
  return grid_view_width(view);
}

static int put_line(const grid_scene *scene, const grid_view *view, int line) {
  if (line == 0) return put_numbers(view);
  if (line == 1) return put_edge(view, false);
  if (line < view->rows + 2) return put_row(scene, view, view->row + line - 2);
  return line == view->rows + 2 ? put_edge(view, true) : 0;
}

bool grid_panel_fits(const grid_view *view, const text_panel *panel, int columns) {
  return grid_view_width(view) + GAP + panel->width <= columns;
}

void grid_draw(const grid_scene *scene, const grid_view *view, const text_panel *panel, bool beside,
               const char *line_end) {
  int lines = grid_view_lines(view), width = grid_view_width(view);
  // beside the board the panel begins at its upper edge
  for (int i = 0; i < lines || (beside && i <= panel->n); i++) {
    int used = put_line(scene, view, i);
    if (beside && i >= 1 && i <= panel->n && panel->line[i - 1][0] != '\0')
      printf("%*s%s", width + GAP - used, "", panel->line[i - 1]);
    fputs(line_end, stdout);
  }
  if (!beside && panel->n > 0) fputs(line_end, stdout);
  for (int i = 0; i < panel->n && !beside; i++)
    printf("%s%s", panel->line[i], line_end);
}

// ---------------------------------------------------------------------------------------------
// The panel

static bool cell_reachable(const grid_scene *scene, int32_t cell) {
  for (int32_t s = cell; s < scene->grid->n_state; s += scene->grid->cells)
    if (scene->reachable[s]) return true;
  return false;
}

// No state that can be met is one step away from the object. To stand on it is not asked for: that
// may end the episode.
static bool out_of_reach(const grid_scene *scene, int object) {
  const mm_grid *g = scene->grid;
  if (scene->reachable == NULL) return false;
  const int32_t *near = g->next + g->object[object] * MM_GRID_ACTIONS;
  for (int a = 0; a < MM_GRID_ACTIONS; a++)
    if (cell_reachable(scene, near[a])) return false;
  return true;
}

static const char *cell_text(const mm_grid *grid, int32_t cell, char out[32]) {
  snprintf(out, 32, "(%d, %d)", cell / grid->side, cell % grid->side);
  return out;
}

static const char *short_number(double value) {
  return output_format("%.4g", value == 0 ? 0.0 : value);
}

void grid_panel_objects(text_panel *panel, const grid_scene *scene) {
  const mm_grid *g = scene->grid;
  const char *plain = terminal_style(stdout, STYLE_PLAIN);
  const char *bold = terminal_style(stdout, STYLE_BOLD);
  char letter[2], cell[32];
  panel_add(panel, "   %s%-10s %8s %9s  %8s%s", bold, "cell", "reward", "terminate", "respawn",
            plain);
  panel_add(panel, "%s%s%s  %-10s %8s", bold, scene->player ? "@" : "S", plain,
            cell_text(g, scene->state.cell, cell), scene->player ? "you" : "start");
  for (int i = 0; i < g->n_object; i++) {
    bool present = scene->state.mask >> i & 1;
    style look = object_style(g, i, present);
    // an object that is away is dim as a whole, a present one has its letter and reward coloured
    const char *on = terminal_style(stdout, look), *after = present ? plain : "";
    panel_add(panel, "%s%s%s  %-10s %s%8s%s %9s  %8s%s%s", on, object_letter(i, present, letter),
              after, cell_text(g, g->object[i], cell), on, short_number(g->reward[i]), after,
              short_number(g->terminate[i]), short_number(g->respawn[i]), plain,
              out_of_reach(scene, i) ? "  out of reach" : "");
  }
}
