// `env play` of a Grid-World: walk through it by keys, on a terminal or from `--keys`.
//
// The player is environment 0 of a training run with the same seed: step t draws the same random
// numbers there and here, so a game is a function of instance, seed and keys.

#include "cli/env/grid_play.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "cli/argument/grid_argument.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/keys.h"
#include "cli/draw/screen.h"
#include "cli/env/grid_drawing.h"
#include "env/grid/grid_sample.h"
#include "env/grid/grid_task.h"

// ---------------------------------------------------------------------------------------------
// The game

typedef struct game {
  const mm_grid *grid;
  double gamma;
  bool restart; // termination leads back to the start
  mm_grid_sampler sampler;
  mm_stream outcomes;
  uint64_t drawn; // steps since the program began: names the random numbers

  mm_grid_state state;
  bool ended;
  uint64_t steps, collected, respawns, endings; // since the start
  int last_object;                              // collected by the last step, or -1
  double last_reward, total, discounted, discount;
} game;

static void game_start(game *g) {
  g->state = mm_grid_start(g->grid);
  g->ended = false;
  g->steps = g->collected = g->respawns = g->endings = 0;
  g->last_object = -1;
  g->last_reward = g->total = g->discounted = 0;
  g->discount = 1;
}

static uint64_t count_bits(uint32_t mask) {
  uint64_t n = 0;
  for (; mask != 0; mask &= mask - 1)
    n++;
  return n;
}

static void game_step(game *g, int action) {
  if (g->ended) return;
  uint32_t before = g->state.mask;
  mm_grid_event event =
      mm_grid_step(g->grid, &g->sampler, g->outcomes, g->drawn++, action, &g->state);
  int object = g->grid->object_at[g->state.cell];
  bool collected = object >= 0 && (before >> object & 1);
  g->last_object = collected ? object : -1;
  g->collected += collected;
  g->respawns += count_bits(g->state.mask & ~before);
  g->last_reward = event.reward;
  g->total += event.reward;
  g->discounted += g->discount * event.reward;
  g->discount *= g->gamma;
  g->steps++;
  if (!event.done) return;
  g->endings++;
  g->ended = !g->restart;
  if (g->restart) g->state = mm_grid_start(g->grid);
}

// ---------------------------------------------------------------------------------------------
// Keys. The four directions are the first actions, space is the fifth.

// a pause means nothing where nothing moves by itself
static key grid_key(int *seen, unsigned char byte) {
  key k = key_read(seen, byte);
  return k == KEY_PAUSE || k == KEY_STEP ? KEY_OTHER : k;
}

static void game_key(game *g, key k) {
  if (k <= KEY_SPACE) game_step(g, (int)k);
  if (k == KEY_RESTART) game_start(g);
}

// ---------------------------------------------------------------------------------------------
// The picture

static const char *signed_number(double value, char out[OUTPUT_NUMBER_SIZE]) {
  snprintf(out, OUTPUT_NUMBER_SIZE, value == 0 ? "0" : "%+.6g", value);
  return out;
}

static style sign_style(double value) {
  return value > 0 ? STYLE_GOOD : value < 0 ? STYLE_BAD : STYLE_PLAIN;
}

static void fill_panel(const game *g, const grid_scene *scene, text_panel *panel) {
  const char *plain = terminal_style(stdout, STYLE_PLAIN);
  const char *on = terminal_style(stdout, sign_style(g->last_reward));
  const char *bold = terminal_style(stdout, STYLE_BOLD);
  char number[OUTPUT_NUMBER_SIZE], from[16] = "";
  if (g->last_object >= 0) snprintf(from, sizeof from, "  from %c", 'A' + g->last_object);
  grid_panel_objects(panel, scene);
  panel_add(panel, "%s", "");
  panel_add(panel, "%-18s %10" PRIu64, "steps", g->steps);
  panel_add(panel, "%-18s %s%10s%s%s", "last reward", on, signed_number(g->last_reward, number),
            plain, from);
  panel_add(panel, "%-18s %s%10s%s", "return", bold, output_number(g->total, number), plain);
  panel_add(panel, "%-18s %10s", "discounted return", output_number(g->discounted, number));
  panel_add(panel, "%-18s %10" PRIu64, "collected", g->collected);
  panel_add(panel, "%-18s %10" PRIu64, "respawns", g->respawns);
  if (g->restart) panel_add(panel, "%-18s %10" PRIu64, "back at the start", g->endings);
}

// the same in two lines, where there is no room for a panel
static void fill_short_panel(const game *g, text_panel *panel) {
  char number[3][OUTPUT_NUMBER_SIZE];
  panel_add(panel, "steps %" PRIu64 "  reward %s  respawns %" PRIu64, g->steps,
            signed_number(g->last_reward, number[0]), g->respawns);
  panel_add(panel, "return %s, discounted %s", output_number(g->total, number[1]),
            output_number(g->discounted, number[2]));
}

static void put_title(const char *title, const char *instance, const char *line_end) {
  printf("%s%s%s%s%s", terminal_style(stdout, STYLE_BOLD), output_plain(title),
         terminal_style(stdout, STYLE_PLAIN), instance, line_end);
}

static const char ended_text[] = "The episode has ended.";

// the state after the last key, as `env show` draws
static void print(const game *g, const char *id, const grid_play_config *args) {
  grid_scene scene = { .grid = g->grid, .state = g->state, .player = true };
  text_panel panel = { 0 };
  char instance[GRID_INSTANCE_SIZE];
  int width = terminal_width(stdout);
  fill_panel(g, &scene, &panel);
  grid_view view = grid_view_fit(g->grid, g->state.cell, width, 0);
  put_title(id, grid_instance(id, args->seed, args->index, instance), "\n");
  grid_draw(&scene, &view, &panel, grid_panel_fits(&view, &panel, width), "\n");
  if (g->ended) printf("\n%s\n", ended_text);
  panel_release(&panel);
}

static void put_help(const game *g, int columns) {
  static const char *const help[] = {
    "arrows, hjkl or wasd move   space stays   r restarts   q quits",
    "hjkl wasd space r q",
  };
  static const char *const ended[] = { "The episode has ended: r starts again, q quits.",
                                       "ended: r or q" };
  const char *const *text = g->ended ? ended : help;
  printf("%s%s%s\033[K", terminal_style(stdout, g->ended ? STYLE_BOLD : STYLE_DIM),
         text[columns < (int)strlen(text[0])], terminal_style(stdout, STYLE_PLAIN));
}

// title, empty line and help leave this many lines to board and panel
static int frame_room(int lines) {
  return lines > 8 ? lines - 3 : 5;
}

// one frame of the game: title, board with its panel, a line of help
static void draw_frame(const game *g, const char *id, const grid_play_config *args) {
  grid_scene scene = { .grid = g->grid, .state = g->state, .player = true };
  text_panel panel = { 0 };
  char instance[GRID_INSTANCE_SIZE];
  int columns, lines;
  screen_size(&columns, &lines);
  int room = frame_room(lines);
  fill_panel(g, &scene, &panel);
  grid_view view = grid_view_fit(g->grid, g->state.cell, columns, room);
  bool beside = grid_panel_fits(&view, &panel, columns) && panel.n < room;
  if (!beside && grid_view_lines(&view) + 1 + panel.n > room) {
    panel_release(&panel);
    fill_short_panel(g, &panel);
    view = grid_view_fit(g->grid, g->state.cell, columns, room > 7 ? room - 3 : 4);
  }
  screen_draw_begin();
  put_title(id, grid_instance(id, args->seed, args->index, instance), SCREEN_LINE_END);
  grid_draw(&scene, &view, &panel, beside, SCREEN_LINE_END);
  fputs(SCREEN_LINE_END, stdout);
  put_help(g, columns);
  screen_draw_end();
  panel_release(&panel);
}

// ---------------------------------------------------------------------------------------------

static int play_on_screen(game *g, const char *id, const grid_play_config *args) {
  static char buffer[1 << 16]; // whole frames at once, or it flickers
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  int seen = 0, code = screen_open();
  if (code != EXIT_DONE) return code;
  key k = KEY_PART;
  unsigned char byte = 0;
  draw_frame(g, id, args);
  while (k != KEY_QUIT) {
    screen_event event = screen_wait(&byte, INFINITY);
    if (event == SCREEN_END) break;
    k = event == SCREEN_BYTE ? grid_key(&seen, byte) : KEY_OTHER;
    game_key(g, k);
    if (k != KEY_PART) draw_frame(g, id, args);
  }
  return screen_close(EXIT_DONE);
}

static int play_keys(game *g, const char *keys) {
  int seen = 0;
  for (size_t i = 0; keys[i] != '\0'; i++) {
    key k = grid_key(&seen, (unsigned char)keys[i]);
    if (k == KEY_OTHER)
      return fail_usage("option '--keys', byte %zu: not a key (hjkl or wasd, space, r, q)", i + 1);
    if (k == KEY_QUIT) break;
    game_key(g, k);
  }
  return EXIT_DONE;
}

static int print_json(const game *g, const char *id, const grid_play_config *args) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", id);
  mm_json_add_whole(root, "seed", args->seed);
  mm_json_add_whole(root, "index", args->index);
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
  return output_json(root, EXIT_DONE);
}

int grid_play(const char *id, const grid_play_config *args) {
  mm_grid *grid;
  int code = grid_argument_open(id, args->seed, args->index, &grid);
  if (code != EXIT_DONE) return code;
  game g = { .grid = grid, .gamma = args->gamma, .restart = grid_restarts(args->termination) };
  g.sampler = mm_grid_sampler_make(grid);
  g.outcomes = mm_stream_make(args->seed, 0, MM_RNG_ENV_STEP, 0);
  game_start(&g);
  code = args->keys != NULL ? play_keys(&g, args->keys) : play_on_screen(&g, id, args);
  if (code == EXIT_DONE && args->json)
    code = print_json(&g, id, args);
  else if (code == EXIT_DONE)
    print(&g, id, args);
  mm_grid_destroy(grid);
  return code;
}
