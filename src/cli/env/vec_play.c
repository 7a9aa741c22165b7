// SPDX-License-Identifier: Apache-2.0
// `env play` of classic control, locomotion tasks and MinAtar.
//
// A terminal tells when a key goes down but not when it comes up. In MinAtar, where a step is a
// move, a key lasts for one step; elsewhere, where a push takes many, it holds until the next one.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/argument/env_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/picture_drawing.h"
#include "cli/draw/screen.h"
#include "cli/env/play.h"
#include "cli/env/vec_game.h"
#include "mirrormap/stats.h"

typedef struct episode {
  uint64_t steps;
  double total;
  const char *end;
} episode;

enum { BAR_WIDTH = 12 };

typedef enum phase { WAITING, RUNNING, PAUSED, ENDED } phase;

typedef struct player {
  play_game base;
  vec_game game;
  mm_scene scene;
  const mm_env_facts *facts;
  phase now;
  bool pressed; // a key waits for the next step
  vec_action key_action, held;
  episode *done; // [n_done] episodes that have ended
  size_t n_done;
} player;

// ---------------------------------------------------------------------------------------------
// Steps

static vec_action choose(player *p) {
  if (p->base.args->policy != NULL) return vec_game_choose(&p->game);
  if (p->pressed) return p->key_action;
  return p->scene.rows > 0 ? vec_game_idle(&p->game) : p->held;
}

static mm_status step(player *p) {
  if (p->game.end != 0) return MM_OK;
  vec_action action = choose(p);
  if (p->pressed) p->held = action;
  p->pressed = false;
  mm_status status = vec_game_step(&p->game, action);
  mm_scene_move(&p->scene, p->game.obs);
  if (status != MM_OK || p->game.end == 0) return status;
  p->now = ENDED;
  p->done = memory_grow(p->done, p->n_done, sizeof *p->done);
  p->done[p->n_done++] = (episode){ p->game.steps, p->game.total, vec_game_end(&p->game) };
  return MM_OK;
}

static mm_status next_episode(player *p) {
  mm_scene_begin(&p->scene);
  p->pressed = false;
  p->held = vec_game_idle(&p->game);
  p->now = p->base.args->policy != NULL ? RUNNING : WAITING;
  return vec_game_next(&p->game);
}

static bool hold(player *p, game_key k) {
  if (!vec_game_key_action(&p->game, k, &p->key_action)) return false;
  p->pressed = true;
  return true;
}

// ---------------------------------------------------------------------------------------------
// The picture

static const char *rules_text(const player *p) {
  if (env_group_of(p->base.id) == GROUP_BODY)
    return p->game.config.flavour == MM_ENV_FLAVOUR_GYMNASIUM ? ", Gymnasium's flavour"
           : p->game.config.flavour == MM_ENV_FLAVOUR_BRAX    ? ", brax' flavour"
                                                              : "";
  if (p->scene.rows == 0) return p->game.config.gymnasium_walls ? ", Gymnasium's walls" : "";
  bool original =
      p->game.config.rules == MM_RULES_MINATAR ||
      (p->game.config.rules == MM_RULES_BY_ID && strncmp(p->base.id, "MinAtar/", 8) == 0);
  return original ? ", original rules" : ", gymnax rules";
}

// "random policy", or "runs/a agent 0 (greedy)"; "" for keys
static const char *who_plays(const player *p) {
  const env_args *args = p->base.args;
  if (args->policy == NULL) return "";
  if (p->game.player == NULL) return ", random policy";
  return output_format(", %.400s agent %" PRIu64 "%s", args->policy, args->agent,
                       args->greedy ? " (greedy)" : "");
}

static void put_title(const player *p, const char *line_end) {
  printf("%s  seed %" PRIu64 "%s%s%s", output_styled(STYLE_BOLD, p->base.id), p->base.args->seed,
         rules_text(p), who_plays(p), line_end);
}

// what the policy thinks of the state in sight
static void add_probs(const player *p, text_panel *panel) {
  const float *probs = vec_game_probs(&p->game);
  const mm_vec_info *info = &p->game.info;
  char bar[BAR_SIZE(BAR_WIDTH)];
  if (probs == NULL) return;
  for (int32_t i = 0; i < info->n_action; i++)
    panel_add(panel, "%-6s %s %5.3f", info->action_name[i],
              format_bar((int)lroundf(probs[i] * 8 * BAR_WIDTH), BAR_WIDTH, ' ', bar),
              (double)probs[i]);
  panel_add(panel, "%s", "");
}

// The last step's, those of many motors four to a line.
static void add_action(const player *p, text_panel *panel) {
  const vec_game *g = &p->game;
  if (g->steps == 0)
    panel_add(panel, "%-12s %8s", "action", "-");
  else if (g->info.n_action > 0)
    panel_add(panel, "%-12s %8s", "action", g->info.action_name[g->action.index]);
  const float *real = g->action.real;
  for (int32_t i = 0; g->steps > 0 && i < g->info.n_real; i += 4) {
    char text[40] = "";
    for (int32_t k = i; k < g->info.n_real && k < i + 4; k++)
      snprintf(text + strlen(text), sizeof text - strlen(text), " %+.1f", (double)real[k]);
    panel_add(panel, "%-6s %s", i == 0 ? "action" : "", text);
  }
}

static void fill_panel(const player *p, text_panel *panel) {
  const vec_game *g = &p->game;
  char limit[32] = "";
  if (g->info.limit > 0) snprintf(limit, sizeof limit, " of %d", g->info.limit);
  panel_add(panel, "%-12s %8" PRIu64, "episode", g->episode);
  panel_add(panel, "%-12s %8" PRIu64 "%s", "step", g->steps, limit);
  panel_add(panel, "%-12s %8s", "last reward", output_number((double)g->reward));
  panel_add(panel, "%-12s %s", "return",
            output_styled(STYLE_BOLD, output_format("%8s", output_number(g->total))));
  add_action(p, panel);
  panel_add(panel, "%s", "");
  add_probs(p, panel);
  for (int i = 0; p->facts->input != NULL && p->facts->input[i] != NULL; i++)
    if (p->facts->input[i][0] != '\0')
      panel_add(panel, "%-12s %8.3f", p->facts->input[i], (double)g->obs[i]);
}

// picture and panel in so many columns and lines; 0 lines for any number
static void put_picture(const player *p, int columns, int lines, const char *line_end) {
  enum { GAP = 3, LINES_USUAL = 16, WIDTH_LEAST = 30, PANEL_LEAST = 5 };
  text_panel picture = { 0 }, panel = { 0 }, legend = { 0 };
  fill_panel(p, &panel);
  picture_legend(&p->scene, &legend);
  // the legend comes last, where there is room
  const int wide = legend.width > panel.width ? legend.width : panel.width;
  const bool whole = columns - wide - GAP >= WIDTH_LEAST &&
                     (lines == 0 || panel.n + 1 + legend.n <= lines || p->scene.rows > 0);
  if (whole && legend.n > 0) {
    panel_add(&panel, "%s", "");
    for (int i = 0; i < legend.n; i++)
      panel_add(&panel, "%s", legend.line[i]);
  }
  int room = columns - panel.width - GAP, high = lines > 0 ? lines : LINES_USUAL;
  if (room < WIDTH_LEAST) { // then the panel goes below
    room = columns;
    if (lines > 2 * PANEL_LEAST) high = lines - PANEL_LEAST - 1;
  }
  picture_draw(&p->scene, p->game.obs, room, high, &picture);
  panel_print_beside(&picture, &panel, columns, lines, line_end);
  panel_release(&picture);
  panel_release(&panel);
  panel_release(&legend);
}

static bool has_key(const player *p, game_key k) {
  vec_action action;
  return vec_game_key_action(&p->game, k, &action);
}

// what the keys do in this game
static const char *describe_keys(const player *p) {
  vec_action space = vec_game_idle(&p->game), idle = space;
  bool across = has_key(p, KEY_LEFT), along = has_key(p, KEY_UP);
  bool spaced = vec_game_key_action(&p->game, KEY_SPACE, &space);
  const char *moves = across && along ? "arrows, hjkl or wasd move"
                      : along         ? "up and down, kj or ws move"
                                      : "left and right, hl or ad push";
  if (across && !along && p->scene.rows > 0) moves = "left and right, hl or ad move";
  return output_format("%s%s", moves,
                       !spaced                     ? ""
                       : space.index != idle.index ? "   space fires"
                       : p->scene.rows > 0         ? "   space does nothing"
                                                   : "   space lets go");
}

static const char *status_text(const player *p) {
  const bool policy = p->base.args->policy != NULL;
  if (p->now == ENDED)
    return output_format("The episode has ended (%s).%s", vec_game_end(&p->game),
                         policy ? "" : " r begins the next one.");
  if (p->now == WAITING) return "A move begins the game.";
  if (p->now != PAUSED) return "";
  return policy ? "Paused: . is one step, p goes on."
                : "Paused: a move or . is one step, p goes on.";
}

static void draw(const play_game *g, int columns, int lines) {
  const player *p = (const player *)g;
  put_title(p, SCREEN_LINE_END SCREEN_LINE_END);
  // title, status and help take six lines; the last column would be erased with the rest of a line
  put_picture(p, columns - 1, lines > 7 ? lines - 6 : 1, SCREEN_LINE_END);
  printf("%s%s%s", SCREEN_LINE_END, output_styled(STYLE_BOLD, status_text(p)), SCREEN_LINE_END);
  if (g->args->policy == NULL)
    printf("%s%s", output_styled(STYLE_DIM, describe_keys(p)), SCREEN_LINE_END);
  printf("%s\033[K", output_styled(STYLE_DIM, "p pauses  . steps  r restarts  q quits"));
}

// ---------------------------------------------------------------------------------------------
// On a terminal

// It is time again in a step's length; an end of the policy's stays in sight for a second.
static void set_clock(player *p) {
  const double fps = p->base.args->fps, period = 1 / (fps > 0 ? fps : p->facts->fps);
  p->base.until = INFINITY;
  if (p->now == RUNNING) p->base.until = mm_clock_seconds() + period;
  if (p->now == ENDED && p->base.args->policy != NULL)
    p->base.until = mm_clock_seconds() + fmax(period, 1);
}

static mm_status follow_key(player *p, game_key k) {
  if (k == KEY_RESTART) return next_episode(p);
  if (p->now == ENDED) return MM_OK;
  if (k == KEY_PAUSE && p->now != WAITING) p->now = p->now == PAUSED ? RUNNING : PAUSED;
  if (k == KEY_STEP) {
    p->now = PAUSED;
    return step(p);
  }
  if (p->base.args->policy != NULL || !hold(p, k)) return MM_OK;
  if (p->now == PAUSED) return step(p);
  p->now = RUNNING;
  return MM_OK;
}

// a key within a running game waits for its step, so the clock goes on as it was
static mm_status on_key(play_game *g, game_key k) {
  player *p = (player *)g;
  phase before = p->now;
  mm_status status = follow_key(p, k);
  if (p->now != before) set_clock(p);
  return status;
}

// a step, or after an end of the policy's the next episode
static mm_status tick(play_game *g, bool *leave) {
  player *p = (player *)g;
  mm_status status = MM_OK;
  if (p->now == RUNNING)
    status = step(p);
  else if (p->base.args->episodes > 0 && p->n_done >= p->base.args->episodes)
    *leave = true;
  else
    status = next_episode(p);
  set_clock(p);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Without one

static mm_status press(play_game *g, game_key k, bool *known) {
  player *p = (player *)g;
  if (k == KEY_RESTART) return next_episode(p);
  *known = k == KEY_STEP || hold(p, k);
  return *known ? step(p) : MM_OK;
}

static int refuse(const play_game *g, size_t byte) {
  const player *p = (const player *)g;
  return fail_usage("option '--keys', byte %zu: not a key of %s (%s%s%s., r, q)", byte, g->id,
                    has_key(p, KEY_UP) ? "kj or ws, " : "",
                    has_key(p, KEY_LEFT) ? "hl or ad, " : "",
                    has_key(p, KEY_SPACE) ? "space, " : "");
}

static mm_status play_alone(play_game *g) {
  player *p = (player *)g;
  uint64_t episodes = g->args->episodes > 0 ? g->args->episodes : 1;
  mm_status status = MM_OK;
  while (p->n_done < episodes && status == MM_OK) {
    status = step(p);
    if (p->game.end != 0 && p->n_done < episodes) status = next_episode(p);
  }
  return status;
}

// ---------------------------------------------------------------------------------------------
// Results

static mm_estimate mean_return(const player *p) {
  double *total = memory_alloc(p->n_done, sizeof *total);
  for (size_t i = 0; i < p->n_done; i++)
    total[i] = p->done[i].total;
  mm_estimate mean = mm_estimate_of(total, p->n_done);
  free(total);
  return mean;
}

static void print_episodes(const player *p) {
  put_title(p, "\n");
  if (p->n_done == 0) {
    puts("no episode has ended");
    return;
  }
  table *t = table_create("episode|steps|return|<end");
  for (size_t i = 0; i < p->n_done; i++) {
    table_number(t, (double)i + 1);
    table_number(t, (double)p->done[i].steps);
    table_number(t, p->done[i].total);
    table_text(t, p->done[i].end);
  }
  table_print(t);
  mm_estimate mean = mean_return(p);
  if (p->n_done > 1)
    printf("mean return %s +- %s\n", output_number(mean.mean), output_number(mean.sem));
}

// the last picture, after keys
static void print_game(const player *p) {
  put_title(p, "\n");
  put_picture(p, terminal_width(stdout), 0, "\n");
  if (p->game.end != 0) printf("\nThe episode has ended (%s).\n", vec_game_end(&p->game));
}

static void add_end(cJSON *root, const char *end) {
  cJSON_AddBoolToObject(root, "terminated", end != NULL && strncmp(end, "term", 4) == 0);
  cJSON_AddBoolToObject(root, "truncated", end != NULL && strstr(end, "truncated") != NULL);
}

static void add_episodes(cJSON *root, const player *p) {
  mm_estimate mean = mean_return(p);
  cJSON_AddStringToObject(root, "policy", p->base.args->policy);
  if (p->game.player != NULL) {
    output_add_number(root, "agent", (double)p->base.args->agent);
    cJSON_AddStringToObject(root, "actions", p->base.args->greedy ? "greedy" : "sample");
  }
  output_add_number(root, "mean_return", mean.mean);
  mm_json_add_defined(root, "sem_return", mean.sem);
  cJSON *list = cJSON_AddArrayToObject(root, "episodes");
  for (size_t i = 0; i < p->n_done; i++) {
    cJSON *one = cJSON_CreateObject();
    output_add_number(one, "steps", (double)p->done[i].steps);
    output_add_number(one, "return", p->done[i].total);
    add_end(one, p->done[i].end);
    cJSON_AddItemToArray(list, one);
  }
}

// of a board the inputs that are on, else the numbers themselves
static void add_observation(cJSON *root, const player *p) {
  const vec_game *g = &p->game;
  cJSON *list = cJSON_AddArrayToObject(root, p->scene.rows > 0 ? "active" : "observation");
  for (int32_t i = 0; i < g->info.n_input; i++) {
    if (p->scene.rows == 0)
      cJSON_AddItemToArray(list, mm_json_number((double)g->obs[i]));
    else if (g->obs[i] != 0)
      cJSON_AddItemToArray(list, mm_json_number(i));
  }
}

static void add_game(cJSON *root, const player *p) {
  const vec_game *g = &p->game;
  output_add_number(root, "episode", (double)g->episode);
  output_add_number(root, "steps", (double)g->steps);
  output_add_number(root, "last_reward", (double)g->reward);
  output_add_number(root, "return", g->total);
  add_observation(root, p);
  cJSON_AddBoolToObject(root, "ended", g->end != 0);
  add_end(root, vec_game_end(g));
}

// ---------------------------------------------------------------------------------------------

static void print(const play_game *g) {
  if (g->args->policy != NULL)
    print_episodes((const player *)g);
  else
    print_game((const player *)g);
}

static void add_json(const play_game *g, cJSON *root) {
  if (g->args->policy != NULL)
    add_episodes(root, (const player *)g);
  else
    add_game(root, (const player *)g);
}

int vec_play(const mm_env *env, const env_args *args, mm_player *trained) {
  static const play_kind kind = { press, refuse, on_key, tick, play_alone, draw, print, add_json };
  player p = { .base = { &kind, args, mm_env_id(env), INFINITY } };
  p.facts = env_facts_find(p.base.id);
  if (p.facts == NULL || !mm_scene_find(p.base.id, &p.scene))
    return fail(EXIT_FAILED, "environment '%s' has no picture to play with", p.base.id);
  TRY(status_code(vec_game_open(env, args, trained, &p.game)));
  mm_scene_begin(&p.scene);
  p.held = vec_game_idle(&p.game);
  p.now = args->policy != NULL ? RUNNING : WAITING;
  set_clock(&p);
  int code = play_run(&p.base);
  free(p.done);
  vec_game_release(&p.game);
  return code;
}
