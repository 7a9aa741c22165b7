// `env play` of classic control, bodies and MinAtar.
//
// A terminal tells when a key goes down but not when it comes up. In MinAtar, where a step is a
// move, a key lasts for one step; elsewhere, where a push takes many, it holds until the next one.

#include "cli/env/vec_play.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/argument/env_facts.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/draw/picture_drawing.h"
#include "cli/draw/screen.h"
#include "study/stats/estimate.h"

typedef struct episode {
  uint64_t steps;
  double total;
  const char *end;
} episode;

enum { WHO_SIZE = 500, BAR_WIDTH = 12 };

typedef enum phase { WAITING, RUNNING, PAUSED, ENDED } phase;

typedef struct player {
  vec_game game;
  const vec_play_config *config;
  const char *id;
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
  if (p->config->policy != NULL) return vec_game_choose(&p->game);
  if (p->pressed) return p->key_action;
  return p->scene.rows > 0 ? vec_game_idle(&p->game) : p->held;
}

static mm_status step(player *p) {
  if (p->game.end != 0) return MM_OK;
  vec_action action = choose(p);
  if (p->pressed) p->held = action;
  p->pressed = false;
  mm_status status = vec_game_step(&p->game, action);
  if (status != MM_OK || p->game.end == 0) return status;
  p->now = ENDED;
  p->done = memory_grow(p->done, p->n_done, sizeof *p->done);
  p->done[p->n_done++] = (episode){ p->game.steps, p->game.total, vec_game_end(&p->game) };
  return MM_OK;
}

static mm_status next_episode(player *p) {
  p->pressed = false;
  p->held = vec_game_idle(&p->game);
  p->now = p->config->policy != NULL ? RUNNING : WAITING;
  return vec_game_next(&p->game);
}

static bool press(player *p, key k) {
  if (!vec_game_key_action(&p->game, k, &p->key_action)) return false;
  p->pressed = true;
  return true;
}

// ---------------------------------------------------------------------------------------------
// The picture

static const char *rules_text(const player *p) {
  if (env_group_of(p->id) == GROUP_BODY)
    return p->game.config.flavour == MM_ENV_FLAVOUR_GYMNASIUM ? ", Gymnasium's flavour"
           : p->game.config.flavour == MM_ENV_FLAVOUR_BRAX    ? ", brax' flavour"
                                                              : "";
  if (p->scene.rows == 0) return p->game.config.gymnasium_walls ? ", Gymnasium's walls" : "";
  bool original = p->game.config.rules == MM_RULES_MINATAR ||
                  (p->game.config.rules == MM_RULES_BY_ID && strncmp(p->id, "MinAtar/", 8) == 0);
  return original ? ", original rules" : ", gymnax rules";
}

// ", random policy", or ", runs/a agent 0 (greedy)"
static const char *who_plays(const player *p, char out[WHO_SIZE]) {
  const vec_play_config *c = p->config;
  out[0] = '\0';
  if (c->policy != NULL && c->game.player == NULL) return ", random policy";
  if (c->policy != NULL)
    snprintf(out, WHO_SIZE, ", %.400s agent %zu%s", c->policy, c->agent,
             c->game.greedy ? " (greedy)" : "");
  return out;
}

static void put_title(const player *p, const char *line_end) {
  char room[WHO_SIZE];
  const char *who = who_plays(p, room);
  printf("%s%s%s  seed %" PRIu64 "%s%s%s", terminal_style(stdout, STYLE_BOLD), p->id,
         terminal_style(stdout, STYLE_PLAIN), p->config->game.seed, rules_text(p), who, line_end);
}

// the share of a bar that is filled, in eighths of a character where the locale has them
static const char *format_bar(float share, char out[3 * BAR_WIDTH + 1]) {
  const int eighths = (int)lroundf(share * 8 * BAR_WIDTH);
  size_t used = 0;
  for (int i = 0; i < BAR_WIDTH; i++) {
    const int part = eighths - 8 * i < 8 ? eighths - 8 * i : 8;
    if (terminal_unicode() && part > 0) {
      memcpy(out + used, "\xe2\x96", 2); // U+258F .. U+2588: one to eight eighths
      out[used + 2] = (char)(0x90 - part);
      used += 3;
    } else {
      out[used++] = part >= 4 ? '#' : ' ';
    }
  }
  out[used] = '\0';
  return out;
}

// what the policy thinks of the state in sight
static void add_probs(const player *p, text_panel *panel) {
  const float *probs = vec_game_probs(&p->game);
  const mm_vec_info *info = &p->game.info;
  char bar[3 * BAR_WIDTH + 1];
  if (probs == NULL) return;
  for (int32_t i = 0; i < info->n_action; i++)
    panel_add(panel, "%-6s %s %5.3f", info->action_name[i], format_bar(probs[i], bar),
              (double)probs[i]);
  panel_add(panel, "%s", "");
}

static void fill_panel(const player *p, text_panel *panel) {
  const vec_game *g = &p->game;
  char number[OUTPUT_NUMBER_SIZE], limit[32] = "";
  if (g->info.limit > 0) snprintf(limit, sizeof limit, " of %d", g->info.limit);
  panel_add(panel, "%-12s %8" PRIu64, "episode", g->episode);
  panel_add(panel, "%-12s %8" PRIu64 "%s", "step", g->steps, limit);
  panel_add(panel, "%-12s %8s", "last reward", output_number((double)g->reward, number));
  panel_add(panel, "%-12s %s%8s%s", "return", terminal_style(stdout, STYLE_BOLD),
            output_number(g->total, number), terminal_style(stdout, STYLE_PLAIN));
  panel_add(panel, "%s", "");
  add_probs(p, panel);
  for (int i = 0; p->facts->input != NULL && p->facts->input[i] != NULL; i++)
    if (p->facts->input[i][0] != '\0')
      panel_add(panel, "%-12s %8.3f", p->facts->input[i], (double)g->obs[i]);
  if (p->facts->input != NULL) panel_add(panel, "%s", "");
  picture_legend(&p->scene, panel);
}

// picture and panel in so many columns and lines; 0 lines for any number
static void put_picture(const player *p, int columns, int lines, const char *line_end) {
  enum { GAP = 3, LINES_USUAL = 16, WIDTH_LEAST = 30 };
  text_panel picture = { 0 }, panel = { 0 };
  fill_panel(p, &panel);
  int room = columns - panel.width - GAP;
  if (room < WIDTH_LEAST) room = columns; // then the panel goes below
  picture_draw(&p->scene, p->game.obs, room, lines > 0 ? lines : LINES_USUAL, &picture);
  panel_print_beside(&picture, &panel, columns, lines, line_end);
  panel_release(&picture);
  panel_release(&panel);
}

static bool has_key(const player *p, key k) {
  vec_action action;
  return vec_game_key_action(&p->game, k, &action);
}

// what the keys do in this game
static const char *describe_keys(const player *p, char out[160]) {
  vec_action space = vec_game_idle(&p->game), idle = space;
  bool across = has_key(p, KEY_LEFT), along = has_key(p, KEY_UP);
  bool spaced = vec_game_key_action(&p->game, KEY_SPACE, &space);
  const char *moves = across && along ? "arrows, hjkl or wasd move"
                      : along         ? "up and down, kj or ws move"
                                      : "left and right, hl or ad push";
  if (across && !along && p->scene.rows > 0) moves = "left and right, hl or ad move";
  snprintf(out, 160, "%s%s", moves,
           !spaced                     ? ""
           : space.index != idle.index ? "   space fires"
           : p->scene.rows > 0         ? "   space does nothing"
                                       : "   space lets go");
  return out;
}

static void put_status(const player *p) {
  const char *text = "";
  char ended[100];
  if (p->now == ENDED) {
    snprintf(ended, sizeof ended, "The episode has ended (%s).%s", vec_game_end(&p->game),
             p->config->policy != NULL ? "" : " r begins the next one.");
    text = ended;
  } else if (p->now == WAITING) {
    text = "A move begins the game.";
  } else if (p->now == PAUSED) {
    text = p->config->policy != NULL ? "Paused: . is one step, p goes on."
                                     : "Paused: a move or . is one step, p goes on.";
  }
  printf("%s%s%s%s", terminal_style(stdout, STYLE_BOLD), text, terminal_style(stdout, STYLE_PLAIN),
         SCREEN_LINE_END);
}

// two lines: what plays, and what else there is
static void put_help(const player *p) {
  const char *dim = terminal_style(stdout, STYLE_DIM), *plain = terminal_style(stdout, STYLE_PLAIN);
  char keys[160];
  if (p->config->policy == NULL)
    printf("%s%s%s%s", dim, describe_keys(p, keys), plain, SCREEN_LINE_END);
  printf("%sp pauses  . steps  r restarts  q quits%s\033[K", dim, plain);
}

static void draw_frame(const player *p) {
  int columns, lines;
  screen_size(&columns, &lines);
  screen_draw_begin();
  put_title(p, SCREEN_LINE_END);
  fputs(SCREEN_LINE_END, stdout);
  // title, status and help take six lines; the last column would be erased with the rest of a line
  put_picture(p, columns - 1, lines > 7 ? lines - 6 : 1, SCREEN_LINE_END);
  fputs(SCREEN_LINE_END, stdout);
  put_status(p);
  put_help(p);
  screen_draw_end();
}

// ---------------------------------------------------------------------------------------------
// On a terminal

// a key on the screen; false to leave
static mm_status take_key(player *p, key k, bool *leave) {
  if (k == KEY_QUIT) *leave = true;
  if (k == KEY_RESTART) return next_episode(p);
  if (p->now == ENDED) return MM_OK;
  if (k == KEY_PAUSE && p->now != WAITING) p->now = p->now == PAUSED ? RUNNING : PAUSED;
  if (k == KEY_STEP) {
    p->now = PAUSED;
    return step(p);
  }
  if (p->config->policy != NULL || !press(p, k)) return MM_OK;
  if (p->now == PAUSED) return step(p);
  p->now = RUNNING;
  return MM_OK;
}

// the clock has ticked: a step, or after an end of the policy's the next episode
static mm_status tick(player *p, bool *leave) {
  if (p->now == RUNNING) return step(p);
  *leave = p->config->episodes > 0 && p->n_done >= p->config->episodes;
  return *leave ? MM_OK : next_episode(p);
}

// when that is: in `period` seconds; an end stays in sight for a second
static double next_tick(const player *p, double period) {
  if (p->now == RUNNING) return mm_clock_seconds() + period;
  return p->now == ENDED && p->config->policy != NULL ? mm_clock_seconds() + fmax(period, 1)
                                                      : INFINITY;
}

static mm_status play_frames(player *p) {
  double fps = p->config->fps > 0 ? p->config->fps : p->facts->fps, until = INFINITY;
  unsigned char byte = 0;
  int seen = 0;
  bool leave = false;
  mm_status status = MM_OK;
  p->now = p->config->policy != NULL ? RUNNING : WAITING;
  draw_frame(p);
  until = next_tick(p, 1 / fps);
  while (!leave && status == MM_OK) {
    phase before = p->now;
    screen_event event = screen_wait(&byte, until);
    if (event == SCREEN_END) break;
    if (event == SCREEN_TIME) status = tick(p, &leave);
    key k = event == SCREEN_BYTE ? key_read(&seen, byte) : KEY_OTHER;
    if (event == SCREEN_BYTE) status = take_key(p, k, &leave);
    // a key within a running game waits for its step, so the clock goes on as it was
    if (event == SCREEN_TIME || p->now != before) until = next_tick(p, 1 / fps);
    if (k != KEY_PART) draw_frame(p);
  }
  return status;
}

static int play_on_screen(player *p) {
  static char buffer[1 << 16]; // whole frames at once, or it flickers
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  int code = screen_open();
  if (code != EXIT_DONE) return code;
  mm_status status = play_frames(p);
  code = screen_close(EXIT_DONE);
  return status == MM_OK ? code : fail_status(status);
}

// ---------------------------------------------------------------------------------------------
// Without one

static int refuse_key(const player *p, size_t place) {
  return fail_usage("option '--keys', byte %zu: not a key of %s (%s%s%s., r, q)", place, p->id,
                    has_key(p, KEY_UP) ? "kj or ws, " : "",
                    has_key(p, KEY_LEFT) ? "hl or ad, " : "",
                    has_key(p, KEY_SPACE) ? "space, " : "");
}

static int play_keys(player *p) {
  const char *keys = p->config->keys;
  int seen = 0;
  mm_status status = MM_OK;
  for (size_t i = 0; keys[i] != '\0' && status == MM_OK; i++) {
    key k = key_read(&seen, (unsigned char)keys[i]);
    if (k == KEY_PART) continue;
    if (k == KEY_QUIT) break;
    if (k == KEY_RESTART)
      status = next_episode(p);
    else if (k == KEY_STEP || press(p, k))
      status = step(p);
    else
      return refuse_key(p, i + 1);
  }
  return status == MM_OK ? EXIT_DONE : fail_status(status);
}

static int play_policy(player *p) {
  uint64_t episodes = p->config->episodes > 0 ? p->config->episodes : 1;
  mm_status status = MM_OK;
  while (p->n_done < episodes && status == MM_OK) {
    status = step(p);
    if (p->game.end != 0 && p->n_done < episodes) status = next_episode(p);
  }
  return status == MM_OK ? EXIT_DONE : fail_status(status);
}

// ---------------------------------------------------------------------------------------------
// Results

static mm_estimate mean_return(const player *p) {
  double *total = memory_take(p->n_done, sizeof *total);
  for (size_t i = 0; i < p->n_done; i++)
    total[i] = p->done[i].total;
  mm_estimate mean = mm_estimate_of(total, p->n_done);
  free(total);
  return mean;
}

static void print_episodes(const player *p) {
  static const char *const header[] = { "episode", "steps", "return", "<end" };
  put_title(p, "\n");
  if (p->n_done == 0) {
    puts("no episode has ended");
    return;
  }
  table *t = table_create(header, 4);
  for (size_t i = 0; i < p->n_done; i++) {
    table_number(t, (double)i + 1);
    table_number(t, (double)p->done[i].steps);
    table_number(t, p->done[i].total);
    table_text(t, p->done[i].end);
  }
  table_print(t);
  mm_estimate mean = mean_return(p);
  char number[2][OUTPUT_NUMBER_SIZE];
  if (p->n_done > 1)
    printf("mean return %s +- %s\n", output_number(mean.mean, number[0]),
           output_number(mean.sem, number[1]));
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

static cJSON *begin_json(const player *p) {
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", p->id);
  mm_json_add_whole(root, "seed", p->config->game.seed);
  return root;
}

static int print_episodes_json(const player *p) {
  cJSON *root = begin_json(p), *list;
  mm_estimate mean = mean_return(p);
  cJSON_AddStringToObject(root, "policy", p->config->policy);
  if (p->config->game.player != NULL) {
    output_add_number(root, "agent", (double)p->config->agent);
    cJSON_AddStringToObject(root, "actions", p->config->game.greedy ? "greedy" : "sample");
  }
  output_add_number(root, "mean_return", mean.mean);
  mm_json_add_defined(root, "sem_return", mean.sem);
  list = cJSON_AddArrayToObject(root, "episodes");
  for (size_t i = 0; i < p->n_done; i++) {
    cJSON *one = cJSON_CreateObject();
    output_add_number(one, "steps", (double)p->done[i].steps);
    output_add_number(one, "return", p->done[i].total);
    add_end(one, p->done[i].end);
    cJSON_AddItemToArray(list, one);
  }
  return output_json(root, EXIT_DONE);
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

static int print_game_json(const player *p) {
  const vec_game *g = &p->game;
  cJSON *root = begin_json(p);
  output_add_number(root, "episode", (double)g->episode);
  output_add_number(root, "steps", (double)g->steps);
  output_add_number(root, "last_reward", (double)g->reward);
  output_add_number(root, "return", g->total);
  add_observation(root, p);
  cJSON_AddBoolToObject(root, "ended", g->end != 0);
  add_end(root, vec_game_end(g));
  return output_json(root, EXIT_DONE);
}

// ---------------------------------------------------------------------------------------------

static int play(player *p) {
  bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  const vec_play_config *config = p->config;
  if (config->keys != NULL) return play_keys(p);
  return config->policy != NULL && (config->json || !terminal) ? play_policy(p) : play_on_screen(p);
}

static int print(const player *p) {
  if (p->config->json)
    return p->config->policy != NULL ? print_episodes_json(p) : print_game_json(p);
  if (p->config->policy != NULL)
    print_episodes(p);
  else
    print_game(p);
  return EXIT_DONE;
}

int vec_play(const mm_env *env, const vec_play_config *config) {
  player p = { .config = config, .id = mm_env_id(env) };
  p.facts = env_facts_find(p.id);
  if (p.facts == NULL || !mm_scene_find(p.id, &p.scene))
    return fail(EXIT_FAILED, "environment '%s' has no picture to play with", p.id);
  mm_status status = vec_game_open(env, &config->game, &p.game);
  if (status != MM_OK) return fail_status(status);
  p.held = vec_game_idle(&p.game);
  int code = play(&p);
  if (code == EXIT_DONE) code = print(&p);
  free(p.done);
  vec_game_release(&p.game);
  return code;
}
