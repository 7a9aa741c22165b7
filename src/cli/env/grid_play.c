// SPDX-License-Identifier: Apache-2.0
// `env play` of a Grid-World: walk through it by keys, on a terminal or from `--keys`.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/screen.h"
#include "cli/env/grid_drawing.h"
#include "cli/env/grid_game.h"
#include "cli/env/play.h"
#include "env/grid/grid_task.h"

typedef struct walk {
  play_game base;
  grid_game game;
} walk;

static const grid_game *game_of(const play_game *g) {
  return &((const walk *)g)->game;
}

// The four directions are the first actions, space is the fifth. A pause means nothing where
// nothing moves by itself.
static mm_status press(play_game *g, game_key k, bool *known) {
  grid_game *game = &((walk *)g)->game;
  if (k <= KEY_SPACE) grid_game_step(game, (int)k);
  if (k == KEY_RESTART) grid_game_start(game);
  *known = k <= KEY_SPACE || k == KEY_RESTART;
  return MM_OK;
}

static mm_status on_key(play_game *g, game_key k) {
  bool known;
  return press(g, k, &known);
}

static int refuse(const play_game *g, size_t byte) {
  (void)g;
  return fail_usage("option '--keys', byte %zu: not a key (hjkl or wasd, space, r, q)", byte);
}

// ---------------------------------------------------------------------------------------------
// The picture

static const char *signed_number(double value) {
  return value == 0 ? "0" : output_format("%+.6g", value);
}

static style sign_style(double value) {
  return value > 0 ? STYLE_GOOD : value < 0 ? STYLE_BAD : STYLE_PLAIN;
}

static void fill_panel(const grid_game *g, const grid_scene *scene, text_panel *panel) {
  const char *plain = terminal_style(stdout, STYLE_PLAIN);
  const char *on = terminal_style(stdout, sign_style(g->last_reward));
  const char *bold = terminal_style(stdout, STYLE_BOLD);
  char from[16] = "";
  if (g->last_object >= 0) snprintf(from, sizeof from, "  from %c", 'A' + g->last_object);
  grid_panel_objects(panel, scene);
  panel_add(panel, "%s", "");
  panel_add(panel, "%-18s %10" PRIu64, "steps", g->steps);
  panel_add(panel, "%-18s %s%10s%s%s", "last reward", on, signed_number(g->last_reward), plain,
            from);
  panel_add(panel, "%-18s %s%10s%s", "return", bold, output_number(g->total), plain);
  panel_add(panel, "%-18s %10s", "discounted return", output_number(g->discounted));
  panel_add(panel, "%-18s %10" PRIu64, "collected", g->collected);
  panel_add(panel, "%-18s %10" PRIu64, "respawns", g->respawns);
  if (g->restart) panel_add(panel, "%-18s %10" PRIu64, "back at the start", g->endings);
}

// the same in two lines, where there is no room for a panel
static void fill_short_panel(const grid_game *g, text_panel *panel) {
  panel_add(panel, "steps %" PRIu64 "  reward %s  respawns %" PRIu64, g->steps,
            signed_number(g->last_reward), g->respawns);
  panel_add(panel, "return %s, discounted %s", output_number(g->total),
            output_number(g->discounted));
}

static void put_title(const play_game *g, const char *line_end) {
  printf("%s%s%s", output_styled(STYLE_BOLD, output_plain(g->id)),
         grid_instance(g->id, g->args->seed, g->args->index), line_end);
}

// the state after the last key, as `env show` draws
static void print(const play_game *p) {
  const grid_game *g = game_of(p);
  grid_scene scene = { .grid = g->grid, .state = g->state, .player = true };
  text_panel panel = { 0 };
  int width = terminal_width(stdout);
  fill_panel(g, &scene, &panel);
  grid_view view = grid_view_fit(g->grid, g->state.cell, width, 0);
  put_title(p, "\n");
  grid_draw(&scene, &view, &panel, grid_panel_fits(&view, &panel, width), "\n");
  if (g->ended) printf("\nThe episode has ended.\n");
  panel_release(&panel);
}

static void put_help(const grid_game *g, int columns) {
  static const char *const help[] = {
    "arrows, hjkl or wasd move   space stays   r restarts   q quits",
    "hjkl wasd space r q",
  };
  static const char *const ended[] = { "The episode has ended: r starts again, q quits.",
                                       "ended: r or q" };
  const char *const *text = g->ended ? ended : help;
  printf("%s\033[K",
         output_styled(g->ended ? STYLE_BOLD : STYLE_DIM, text[columns < (int)strlen(text[0])]));
}

// title, empty line and help leave this many lines to board and panel
static int frame_room(int lines) {
  return lines > 8 ? lines - 3 : 5;
}

// one frame of the game: title, board with its panel, a line of help
static void draw(const play_game *p, int columns, int lines) {
  const grid_game *g = game_of(p);
  grid_scene scene = { .grid = g->grid, .state = g->state, .player = true };
  text_panel panel = { 0 };
  int room = frame_room(lines);
  fill_panel(g, &scene, &panel);
  grid_view view = grid_view_fit(g->grid, g->state.cell, columns, room);
  bool beside = grid_panel_fits(&view, &panel, columns) && panel.n < room;
  if (!beside && grid_view_lines(&view) + 1 + panel.n > room) {
    panel_release(&panel);
    fill_short_panel(g, &panel);
    view = grid_view_fit(g->grid, g->state.cell, columns, room > 7 ? room - 3 : 4);
  }
  put_title(p, SCREEN_LINE_END);
  grid_draw(&scene, &view, &panel, beside, SCREEN_LINE_END);
  fputs(SCREEN_LINE_END, stdout);
  put_help(g, columns);
  panel_release(&panel);
}

// ---------------------------------------------------------------------------------------------

static void add_json(const play_game *p, cJSON *root) {
  const grid_game *g = game_of(p);
  mm_json_add_whole(root, "index", p->args->index);
  const int cell[] = { g->state.cell / g->grid->side, g->state.cell % g->grid->side };
  cJSON_AddItemToObject(root, "cell", cJSON_CreateIntArray(cell, 2));
  cJSON *present = cJSON_AddArrayToObject(root, "present");
  for (int i = 0; i < g->grid->n_object; i++)
    cJSON_AddItemToArray(present, cJSON_CreateBool(g->state.mask >> i & 1));
  output_add_number(root, "steps", (double)g->steps);
  output_add_number(root, "last_reward", g->last_reward);
  output_add_number(root, "return", g->total);
  output_add_number(root, "discounted_return", g->discounted);
  output_add_number(root, "collected", (double)g->collected);
  output_add_number(root, "respawns", (double)g->respawns);
  output_add_number(root, "endings", (double)g->endings);
  cJSON_AddBoolToObject(root, "ended", g->ended);
}

int grid_play(const char *id, const env_args *args) {
  static const play_kind kind = { .press = press,
                                  .refuse = refuse,
                                  .on_key = on_key,
                                  .draw = draw,
                                  .print = print,
                                  .add_json = add_json };
  mm_grid *grid;
  TRY(grid_argument_open(id, args->seed, args->index, &grid));
  walk w = { .base = { &kind, args, id, INFINITY } };
  w.game = grid_game_open(grid, args->seed, args->gamma, args->termination == TERMINATION_RESTART);
  int code = play_run(&w.base);
  mm_grid_destroy(grid);
  return code;
}
