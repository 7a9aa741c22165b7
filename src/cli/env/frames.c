// SPDX-License-Identifier: Apache-2.0
// Frames of an episode: a film, or a sheet. For a sheet the episode is played twice: once to learn
// its length, once to take the frames.

#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/argument/env_argument.h"
#include "cli/argument/map_argument.h"
#include "cli/core/memory.h"
#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "cli/env/grid_game.h"
#include "cli/env/vec_game.h"
#include "env/grid/grid_task.h"
#include "show/picture/film.h"
#include "show/picture/frame_sheet.h"
#include "show/picture/grid_picture.h"

enum { FRAMES_STEPS = 1000, FRAMES_USUAL = 24, FRAMES_MOST = 400, GRID_FPS = 8 };

// An episode that can be begun again and stepped, and whose states can be drawn.
typedef struct episode {
  void *self;
  mm_status (*begin)(void *self);
  mm_status (*step)(void *self);
  const char *(*end)(const void *self); // how it has ended, or NULL
  void (*draw)(const void *self, mm_frame *frame);
} episode;

// ---------------------------------------------------------------------------------------------
// Classic control, locomotion tasks and MinAtar

typedef struct vec_source {
  const mm_env *env;
  const env_args *args;
  mm_player *player;
  vec_game game;
  mm_scene scene;
} vec_source;

static mm_status vec_begin(void *self) {
  vec_source *s = self;
  vec_game_release(&s->game);
  mm_scene_begin(&s->scene);
  return vec_game_open(s->env, s->args, s->player, &s->game);
}

static mm_status vec_step(void *self) {
  vec_source *s = self;
  mm_status status = vec_game_step(&s->game, vec_game_choose(&s->game));
  mm_scene_move(&s->scene, s->game.obs);
  return status;
}

static const char *vec_end(const void *self) {
  return vec_game_end(&((const vec_source *)self)->game);
}

static void vec_draw(const void *self, mm_frame *frame) {
  const vec_source *s = self;
  if (s->scene.rows > 0) {
    uint8_t *cell = memory_alloc((size_t)s->scene.rows * (size_t)s->scene.columns, 1);
    mm_scene_cells(&s->scene, s->game.obs, cell);
    frame->cell = cell;
  } else {
    mm_shape *shape = memory_alloc(MM_SHAPES_MOST, sizeof *shape);
    frame->n_shape = mm_scene_shapes(&s->scene, s->game.obs, shape);
    frame->shape = shape;
  }
}

// ---------------------------------------------------------------------------------------------
// Grid-World

typedef struct grid_source {
  const mm_grid *grid;
  uint64_t seed;
  mm_stream policy;
  grid_game game;
  mm_grid_marks marks;
} grid_source;

static mm_status grid_begin(void *self) {
  grid_source *s = self;
  s->game = grid_game_open(s->grid, s->seed, 1, false);
  return MM_OK;
}

static mm_status grid_step(void *self) {
  grid_source *s = self;
  uint64_t pair = mm_stream_pair(s->policy, s->game.steps);
  grid_game_step(&s->game, (int)mm_uniform_int(pair, MM_GRID_ACTIONS));
  return MM_OK;
}

static const char *grid_end(const void *self) {
  return ((const grid_source *)self)->game.ended ? "terminated" : NULL;
}

static void grid_draw_frame(const void *self, mm_frame *frame) {
  const grid_source *s = self;
  uint8_t *cell = memory_alloc((size_t)s->grid->cells, 1);
  mm_grid_picture_cells(s->grid, s->game.state, cell);
  frame->cell = cell;
}

// ---------------------------------------------------------------------------------------------

// Where frames go: `take` gets one every `every` steps, and of the last state. It owns its lists.
typedef struct taker {
  uint64_t every;
  void (*take)(struct taker *t, mm_frame frame); // or NULL
  mm_frame *frame;                               // a sheet's
  mm_film *film;
  size_t n;
} taker;

static void release_frame(mm_frame *frame) {
  free((void *)frame->cell);
  free((void *)frame->shape);
}

static void keep_frame(taker *t, mm_frame frame) {
  t->frame[t->n++] = frame;
}

static void film_frame(taker *t, mm_frame frame) {
  mm_film_add(t->film, &frame);
  release_frame(&frame);
  t->n++;
}

// plays to the end or the limit
static mm_status run_episode(const episode *e, uint64_t limit, taker *to, uint64_t *length) {
  uint64_t t = 0;
  mm_status status = e->begin(e->self);
  while (status == MM_OK) {
    const char *end = e->end(e->self);
    bool last = end != NULL || t >= limit;
    if (to->take != NULL && (last || t % to->every == 0)) {
      mm_frame frame = { 0 };
      e->draw(e->self, &frame);
      snprintf(frame.label, sizeof frame.label, "step %" PRIu64 "%s%s", t, end != NULL ? ": " : "",
               end != NULL ? end : "");
      to->take(to, frame);
    }
    if (last) break;
    status = e->step(e->self);
    t++;
  }
  *length = t;
  return status;
}

static int check_path(const char *path) {
  struct stat found;
  if (!map_is_picture(path) && !mm_film_is(path))
    return fail_usage("option '--frames': '%s' does not end in .gif, .mp4, .svg, .png or .pdf",
                      path);
  if (stat(path, &found) == 0 && S_ISDIR(found.st_mode))
    return fail_usage("option '--frames': %s is a folder", path);
  return EXIT_DONE;
}

static int report(const char *id, const env_args *args, size_t n, uint64_t length,
                  const char *end) {
  note("wrote %s: %zu frames of %" PRIu64 " steps", args->frames, n, length);
  if (!args->common.json) return EXIT_DONE;
  cJSON *root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "env", id);
  cJSON_AddStringToObject(root, "file", args->frames);
  output_add_number(root, "frames", (double)n);
  output_add_number(root, "steps", (double)length);
  cJSON_AddBoolToObject(root, "ended", end != NULL);
  return output_json(root, EXIT_DONE);
}

static int write_sheet(const episode *e, const mm_scene *scene, const char *id, const char *title,
                       const env_args *args) {
  uint64_t limit = args->steps > 0 ? args->steps : FRAMES_STEPS, length;
  taker t = { .every = args->every };
  TRY(status_code(run_episode(e, limit, &t, &length)));
  if (t.every == 0)
    t.every = length < FRAMES_USUAL ? 1 : (length + FRAMES_USUAL - 2) / (FRAMES_USUAL - 1);
  if (length / t.every + 2 > FRAMES_MOST)
    return fail_usage("%" PRIu64 " steps, one frame every %" PRIu64
                      ": expected at most %d frames (larger --every or fewer --steps)",
                      length, t.every, FRAMES_MOST);
  t.frame = memory_alloc((size_t)(length / t.every) + 2, sizeof *t.frame);
  t.take = keep_frame;
  mm_status status = run_episode(e, limit, &t, &length);
  if (status == MM_OK) status = mm_frame_sheet_write(scene, title, t.frame, t.n, args->frames);
  int code = status == MM_OK ? report(id, args, t.n, length, e->end(e->self)) : fail_status(status);
  for (size_t i = 0; i < t.n; i++)
    release_frame(&t.frame[i]);
  free(t.frame);
  return code;
}

// A GIF counts hundredths of a second, and browsers slow down frames that are shorter than two.
static uint64_t steps_of_frame(int fps, const char *path) {
  const size_t length = strlen(path);
  const bool gif = length > 4 && strcmp(path + length - 4, ".gif") == 0;
  return gif && fps > 50 ? (uint64_t)((fps + 49) / 50) : 1;
}

// As fast as on the screen; the last frame stays for a second.
static int write_film(const episode *e, const mm_scene *scene, int fps, const char *id,
                      const env_args *args) {
  uint64_t limit = args->steps > 0 ? args->steps : FRAMES_STEPS, length;
  taker t = { .every = args->every > 0 ? args->every : steps_of_frame(fps, args->frames),
              .take = film_frame };
  const double rate = fps / (double)t.every;
  TRY(status_code(mm_film_open(scene, rate, args->frames, &t.film)));
  mm_status status = run_episode(e, limit, &t, &length);
  const size_t n = t.n;
  while (status == MM_OK && (double)(t.n - n) < rate) {
    mm_frame last = { 0 };
    e->draw(e->self, &last);
    film_frame(&t, last);
  }
  status = mm_film_close(t.film, status);
  return status == MM_OK ? report(id, args, n, length, e->end(e->self)) : fail_status(status);
}

// who plays, and what --set said of the environment, behind the rest of the title
static void add_settings(const env_args *args, const mm_player *player, char *title, size_t size) {
  static const char *const on_off[] = { "off", "on" };
  const struct {
    const char *name, *const *values;
    int value;
  } said[] = { { "rules", env_rules_names, args->rules },
               { "gymnasium_walls", on_off, args->gymnasium_walls },
               { "flavour", env_flavour_names, args->flavour },
               { "physics", env_physics_names, args->physics } };
  size_t used = strlen(title);
  if (player != NULL)
    used += (size_t)snprintf(title + used, size - used, "%.200s agent %" PRIu64 "%s", args->policy,
                             args->agent, args->greedy ? " (greedy)" : "");
  else
    used += (size_t)snprintf(title + used, size - used, "random policy");
  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    if (said[i].value > 0)
      used += (size_t)snprintf(title + used, size - used, ", %s=%s", said[i].name,
                               said[i].values[said[i].value - 1]);
}

int vec_frames(const mm_env *env, const env_args *args, mm_player *player) {
  vec_source s = { .env = env, .args = args, .player = player };
  const char *id = mm_env_id(env);
  char title[500];
  TRY(check_path(args->frames));
  if (!mm_scene_find(id, &s.scene)) return fail(EXIT_FAILED, "environment '%s' has no picture", id);
  snprintf(title, sizeof title, "%s, seed %" PRIu64 ", ", id, args->seed);
  add_settings(args, player, title, sizeof title);
  episode e = { &s, vec_begin, vec_step, vec_end, vec_draw };
  int code = mm_film_is(args->frames) ? write_film(&e, &s.scene, env_facts_find(id)->fps, id, args)
                                      : write_sheet(&e, &s.scene, id, title, args);
  vec_game_release(&s.game);
  return code;
}

static int draw_grid(const mm_grid *grid, const char *id, const env_args *args) {
  enum { SIDE_MOST = 64 };
  TRY(check_path(args->frames));
  if (grid->side > SIDE_MOST)
    return fail_usage("option '--frames': expected a board of at most %d x %d, got %d x %d",
                      SIDE_MOST, SIDE_MOST, grid->side, grid->side);
  grid_source s = { .grid = grid, .seed = args->seed };
  char title[400];
  s.policy = mm_stream_make(args->seed, 0, MM_RNG_ACTION, 0);
  mm_grid_picture_marks(grid, &s.marks);
  snprintf(title, sizeof title, "%s%s, random policy", id,
           grid_instance(id, args->seed, args->index));
  episode e = { &s, grid_begin, grid_step, grid_end, grid_draw_frame };
  return mm_film_is(args->frames) ? write_film(&e, &s.marks.scene, GRID_FPS, id, args)
                                  : write_sheet(&e, &s.marks.scene, id, title, args);
}

int grid_frames(const char *id, const env_args *args) {
  mm_grid *grid;
  int code = grid_argument_open(id, args->seed, args->index, &grid);
  if (code == EXIT_DONE) code = draw_grid(grid, id, args);
  mm_grid_destroy(grid);
  return code;
}
