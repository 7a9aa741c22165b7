// SPDX-License-Identifier: Apache-2.0
// Making Grid-World tasks: from checked parts, and from the laws of the named configurations.
//
// Every field of an instance has a lane of its own in the stream (seed, index, MM_RNG_TASK), so
// fields are independent and a change in how one is drawn leaves the others alone.

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/status.h"
#include "env/env_internal.h"
#include "env/grid/grid_mazes.h"
#include "env/grid/grid_task.h"

// ---------------------------------------------------------------------------------------------
// Tasks from parts

// The task and its arrays are one block.
typedef struct owned_grid {
  mm_grid grid; // first: a pointer to it is one to the whole
  mm_arena arena;
} owned_grid;

// Bytes per state that working with a task takes: tables of an agent and of the exact model.
enum { STATE_BYTES = 460 };

static int64_t machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (int64_t)pages * page : INT64_MAX;
}

mm_status mm_grid_check_size(int32_t side, int32_t n_object) {
  if (side < 1 || side > MM_GRID_SIDE_MOST)
    return MM_FAIL(MM_ERR_INPUT, "field 'grid': expected a side from 1 to %d, found %d",
                   MM_GRID_SIDE_MOST, (int)side);
  if (n_object < 1 || n_object > MM_GRID_OBJECTS)
    return MM_FAIL(MM_ERR_INPUT, "field 'objects': expected 1 to %d objects, found %d",
                   MM_GRID_OBJECTS, (int)n_object);
  // 5 actions per state must fit into 31 bits as well
  const int64_t states = ((int64_t)side * side) << n_object, memory = machine_memory();
  const int64_t most = INT32_MAX / MM_GRID_ACTIONS;
  if (states <= most && states <= memory / STATE_BYTES) return MM_OK;
  return MM_FAIL(
      MM_ERR_INPUT,
      "field 'grid': %d x %d cells with %d object%s make %lld states, %lld bytes to work "
      "with: expected at most %lld states and %lld bytes, this machine's memory",
      (int)side, (int)side, (int)n_object, n_object == 1 ? "" : "s", (long long)states,
      (long long)states * STATE_BYTES, (long long)most, (long long)memory);
}

double mm_env_task_bytes(const mm_env *env) {
  return env->task ? STATE_BYTES * env->task->n_state : 0;
}

static mm_status check_cell(const mm_grid_parts *p, int32_t cell, const char *what) {
  if (cell < 0 || cell >= p->side * p->side)
    return MM_FAIL(MM_ERR_INPUT, "field '%s': cell %d lies off the board of %d x %d cells", what,
                   (int)cell, (int)p->side, (int)p->side);
  if (p->wall && p->wall[cell])
    return MM_FAIL(MM_ERR_INPUT, "field '%s': [%d, %d] is a wall: expected a free cell", what,
                   (int)(cell / p->side), (int)(cell % p->side));
  return MM_OK;
}

static mm_status check_probability(double value, int i, const char *what) {
  if (value >= 0 && value <= 1) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT,
                 "field 'objects[%d].%s': expected a probability from 0 to 1, found %g", i, what,
                 value);
}

static mm_status check_object(const mm_grid_parts *p, int i) {
  char what[32];
  snprintf(what, sizeof what, "objects[%d].cell", i);
  MM_TRY(check_cell(p, p->object[i], what));
  int row = p->object[i] / p->side, col = p->object[i] % p->side;
  if (p->object[i] == p->start)
    return MM_FAIL(MM_ERR_INPUT, "field '%s': [%d, %d] is the start: expected another cell", what,
                   row, col);
  for (int j = 0; j < i; j++) {
    if (p->object[j] == p->object[i])
      return MM_FAIL(MM_ERR_INPUT,
                     "field '%s': [%d, %d] holds object %d already: expected distinct cells", what,
                     row, col, j);
  }
  if (!isfinite(p->reward[i]))
    return MM_FAIL(MM_ERR_INPUT, "field 'objects[%d].reward': expected a finite number, found %g",
                   i, p->reward[i]);
  MM_TRY(check_probability(p->terminate[i], i, "terminate"));
  return check_probability(p->respawn[i], i, "respawn");
}

static mm_status check_parts(const mm_grid_parts *p) {
  MM_TRY(mm_grid_check_size(p->side, p->n_object));
  MM_TRY(check_cell(p, p->start, "start"));
  for (int i = 0; i < p->n_object; i++)
    MM_TRY(check_object(p, i));
  return MM_OK;
}

// Where each action leads; off the board and into walls it leads nowhere, nor from inside a wall.
static void fill_next(const mm_grid *g, int32_t *next) {
  for (int32_t c = 0; c < g->cells; c++) {
    int32_t row = c / g->side, col = c % g->side;
    int32_t to[MM_GRID_ACTIONS] = { row > 0 ? c - g->side : c, row + 1 < g->side ? c + g->side : c,
                                    col > 0 ? c - 1 : c, col + 1 < g->side ? c + 1 : c, c };
    for (int a = 0; a < MM_GRID_ACTIONS; a++)
      next[c * MM_GRID_ACTIONS + a] = g->wall[to[a]] || g->wall[c] ? c : to[a];
  }
}

mm_status mm_grid_create(const mm_grid_parts *parts, mm_grid **out) {
  *out = NULL;
  MM_TRY(check_parts(parts));
  size_t cells = (size_t)parts->side * (size_t)parts->side;
  size_t next_bytes = cells * MM_GRID_ACTIONS * sizeof(int32_t);
  mm_arena arena;
  MM_TRY(mm_arena_create(mm_arena_size_of(sizeof(owned_grid)) + mm_arena_size_of(cells) +
                             mm_arena_size_of(cells * sizeof(int16_t)) +
                             mm_arena_size_of(next_bytes),
                         &arena));
  owned_grid *owned = mm_arena_take(&arena, sizeof *owned);
  uint8_t *wall = mm_arena_take(&arena, cells);
  int16_t *object_at = mm_arena_take(&arena, cells * sizeof *object_at);
  int32_t *next = mm_arena_take(&arena, next_bytes);
  owned->arena = arena;

  mm_grid *g = &owned->grid;
  g->side = parts->side;
  g->cells = (int32_t)cells;
  g->n_object = parts->n_object;
  g->n_state = g->cells << g->n_object;
  g->start = parts->start;
  for (size_t c = 0; c < cells; c++) {
    wall[c] = parts->wall && parts->wall[c];
    object_at[c] = -1;
  }
  for (int i = 0; i < g->n_object; i++) {
    g->object[i] = parts->object[i];
    g->reward[i] = parts->reward[i];
    g->terminate[i] = parts->terminate[i];
    g->respawn[i] = parts->respawn[i];
    object_at[g->object[i]] = (int16_t)i;
  }
  g->wall = wall;
  g->object_at = object_at;
  g->next = next;
  fill_next(g, next);
  *out = g;
  return MM_OK;
}

void mm_grid_destroy(mm_grid *grid) {
  if (!grid) return;
  mm_arena arena = ((owned_grid *)grid)->arena;
  mm_arena_destroy(&arena);
}

// ---------------------------------------------------------------------------------------------
// Laws

enum { DRAWN_SIDE_MOST = 13, DRAWN_CELLS_MOST = DRAWN_SIDE_MOST * DRAWN_SIDE_MOST };

// clang-format off
#define NAMED(name, side, n, walls, text, ...)                                                     \
  { .id = "GridWorld-" name, .summary = text, .side_least = side, .side_most = side,               \
    .n_least = n, .n_most = n, .map = walls, .fixed = { __VA_ARGS__ } }
#define MAZE(name, walls, text)                                                                    \
  { .id = "GridWorld-" name, .summary = text ", 13 x 13, 3 objects of random value",               \
    .side_least = 13, .side_most = 13, .n_least = 3, .n_most = 3, .map = walls, .drawn = true }
#define FAMILY(name, sides, sides_to, n, n_to, draws, from)                                        \
  { .id = "GridWorld-" name,                                                                       \
    .summary = "random tasks: side " #sides " to " #sides_to ", " #n " to " #n_to                  \
               " objects, random walls and values",                                                \
    .side_least = sides, .side_most = sides_to, .n_least = n, .n_most = n_to,                      \
    .wall_draws = draws, .wall_from = from, .drawn = true, .reward_least = -1 }

static const mm_grid_law laws[] = {
  NAMED("dense", 11, 4, NULL, "11 x 11, 4 objects that come back soon",
        { 1, 0, .05 }, { 1, 0, .05 }, { -1, .5, .1 }, { -1, 0, .5 }),
  NAMED("sparse", 13, 2, NULL, "13 x 13, one goal and one trap, both final",
        { 1, 1, 0 }, { -1, 1, 0 }),
  NAMED("long", 11, 4, NULL, "11 x 11, 2 rare rewards, 2 traps that always come back",
        { 1, 0, .01 }, { 1, 0, .01 }, { -1, .5, 1 }, { -1, .5, 1 }),
  NAMED("longer", 9, 5, MM_MAP_LONGER,
        "9 x 9 in two rooms, 2 rare rewards, 3 traps that always come back",
        { 1, .1, .01 }, { 1, .1, .01 }, { -1, .8, 1 }, { -1, .8, 1 }, { -1, .8, 1 }),
  NAMED("long_dense", 11, 4, MM_MAP_LONG_DENSE, "11 x 11 in four rooms, 4 rare rewards, no end",
        { 1, 0, .005 }, { 1, 0, .005 }, { 1, 0, .005 }, { 1, 0, .005 }),
  MAZE("sixteen_rooms", MM_MAP_SIXTEEN_ROOMS, "sixteen rooms"),
  MAZE("sixteen_rooms_2", MM_MAP_SIXTEEN_ROOMS_2, "sixteen rooms, fewer doors"),
  MAZE("labyrinth", MM_MAP_LABYRINTH, "a labyrinth"),
  MAZE("labyrinth_flipped", MM_MAP_LABYRINTH_FLIPPED, "a labyrinth, turned over"),
  MAZE("labyrinth_2", MM_MAP_LABYRINTH_2, "another labyrinth"),
  MAZE("standard_maze", MM_MAP_STANDARD_MAZE, "a maze"),
  MAZE("standard_maze_2", MM_MAP_STANDARD_MAZE_2, "another maze"),
  MAZE("standard_maze_3", MM_MAP_STANDARD_MAZE_3, "a third maze"),
  MAZE("small_corridor", MM_MAP_SMALL_CORRIDOR, "narrow corridors"),
  FAMILY("all", 4, 10, 1, 5, 15, 100),
  FAMILY("small", 4, 6, 1, 3, 7, 36),
  FAMILY("medium", 6, 8, 2, 4, 10, 64),
  FAMILY("large", 8, 10, 2, 5, 15, 100),
};
// clang-format on

#undef NAMED
#undef MAZE
#undef FAMILY

const mm_grid_law *mm_grid_law_at(size_t i) {
  return i < sizeof laws / sizeof *laws ? &laws[i] : NULL;
}

// ---------------------------------------------------------------------------------------------
// Drawing. The lanes are part of every published result, like the purposes in base/rng.h.

enum { LANE_SIDE, LANE_COUNT, LANE_WALLS, LANE_CELLS, LANE_REWARD, LANE_TERMINATE, LANE_RESPAWN };

typedef struct draw {
  uint64_t seed;
  uint32_t index;
} draw;

static uint64_t pair(draw d, uint32_t lane, uint64_t i) {
  return mm_stream_pair(mm_stream_make(d.seed, d.index, MM_RNG_TASK, lane), i);
}

static int between(uint64_t random, int least, int most) {
  return least + (int)mm_uniform_int(random, (uint32_t)(most - least + 1));
}

static double uniform(uint64_t random, double low, double high) {
  return low + (high - low) * mm_uniform_d(random);
}

static double log_uniform(uint64_t random, double low, double high) {
  return mm_exp_d(uniform(random, mm_log_d(low), mm_log_d(high)));
}

// Puts k entries of items[n], drawn uniformly without replacement, to the front; uses pairs
// first, first + 1, ...
static void deal(draw d, uint32_t lane, uint64_t first, int *items, int n, int k) {
  for (int i = 0; i < k && i < n; i++) {
    int j = between(pair(d, lane, first + (uint64_t)i), i, n - 1), item = items[i];
    items[i] = items[j];
    items[j] = item;
  }
}

// Lists the free cells; returns how many there are.
static int free_cells(const uint8_t *wall, int cells, int *out) {
  int n = 0;
  for (int c = 0; c < cells; c++) {
    if (!wall[c]) out[n++] = c;
  }
  return n;
}

// An index beyond the grid is a wall of nothing: small grids have fewer walls.
static void draw_walls(const mm_grid_law *law, draw d, uint64_t attempt, int cells, uint8_t *wall) {
  int items[DRAWN_CELLS_MOST] = { 0 };
  for (int i = 0; i < law->wall_from; i++)
    items[i] = i;
  deal(d, LANE_WALLS, attempt * (uint64_t)law->wall_draws, items, law->wall_from, law->wall_draws);
  memset(wall, 0, (size_t)cells);
  for (int i = 0; i < law->wall_draws; i++) {
    if (items[i] < cells) wall[items[i]] = 1;
  }
}

static void draw_objects(const mm_grid_law *law, draw d, mm_grid_parts *p) {
  for (int i = 0; i < p->n_object; i++) {
    uint64_t k = (uint64_t)i;
    p->reward[i] = law->fixed[i % 5].reward;
    p->terminate[i] = law->fixed[i % 5].terminate;
    p->respawn[i] = law->fixed[i % 5].respawn;
    if (!law->drawn) continue;
    p->reward[i] = uniform(pair(d, LANE_REWARD, k), i == 0 ? 0 : law->reward_least, 1);
    p->terminate[i] = log_uniform(pair(d, LANE_TERMINATE, k), .01, 1);
    p->respawn[i] = log_uniform(pair(d, LANE_RESPAWN, k), .001, .1);
  }
}

static mm_status draw_task(const mm_grid_law *law, draw d, mm_grid **out) {
  mm_grid_parts p;
  memset(&p, 0, sizeof p);
  p.side = between(pair(d, LANE_SIDE, 0), law->side_least, law->side_most);
  p.n_object = between(pair(d, LANE_COUNT, 0), law->n_least, law->n_most);
  int cells = p.side * p.side, items[DRAWN_CELLS_MOST] = { 0 }, n_free = 0;
  assert(cells <= DRAWN_CELLS_MOST && law->wall_from <= DRAWN_CELLS_MOST);

  uint8_t wall[DRAWN_CELLS_MOST] = { 0 };
  for (int c = 0; c < cells && law->map; c++)
    wall[c] = law->map[c] == '#';
  // too few cells left for all objects: other walls
  for (uint64_t attempt = 0; n_free < p.n_object + 1; attempt++) {
    if (law->wall_draws) draw_walls(law, d, attempt, cells, wall);
    n_free = free_cells(wall, cells, items);
  }
  p.wall = wall;
  deal(d, LANE_CELLS, 0, items, n_free, p.n_object + 1);
  p.start = items[0];
  for (int i = 0; i < p.n_object; i++)
    p.object[i] = items[i + 1];
  draw_objects(law, d, &p);
  return mm_grid_create(&p, out);
}

mm_grid_parts mm_grid_parts_of(const mm_grid *g) {
  mm_grid_parts p = {
    .side = g->side, .n_object = g->n_object, .start = g->start, .wall = g->wall
  };
  memcpy(p.object, g->object, sizeof p.object);
  memcpy(p.reward, g->reward, sizeof p.reward);
  memcpy(p.terminate, g->terminate, sizeof p.terminate);
  memcpy(p.respawn, g->respawn, sizeof p.respawn);
  return p;
}

mm_status mm_grid_draw(const mm_env *env, uint64_t seed, uint64_t index, mm_grid **out) {
  *out = NULL;
  if (env->task) {
    const mm_grid_parts p = mm_grid_parts_of(env->task);
    return mm_grid_create(&p, out);
  }
  if (!env->law)
    return MM_FAIL(MM_ERR_INPUT, "environment '%.80s' is not a Grid-World", mm_env_id(env));
  if (index > UINT32_MAX)
    return MM_FAIL(MM_ERR_INPUT, "environment '%.80s': index %llu: expected at most %llu",
                   mm_env_id(env), (unsigned long long)index, (unsigned long long)UINT32_MAX);
  return draw_task(env->law, (draw){ seed, (uint32_t)index }, out);
}
