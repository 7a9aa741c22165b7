// SPDX-License-Identifier: Apache-2.0
// One game of a Grid-World.

#include "cli/env/grid_game.h"

#include <inttypes.h>
#include <string.h>

#include "cli/core/output.h"
#include "cli/core/terminal.h"
#include "env/grid/grid_task.h"

grid_game grid_game_open(const mm_grid *grid, uint64_t seed, double gamma, bool restart) {
  grid_game g = { .grid = grid, .gamma = gamma, .restart = restart };
  g.sampler = mm_grid_sampler_make(grid);
  g.outcomes = mm_stream_make(seed, 0, MM_RNG_ENV_STEP, 0);
  grid_game_start(&g);
  return g;
}

void grid_game_start(grid_game *g) {
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

void grid_game_step(grid_game *g, int action) {
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
// Instances

int grid_argument_open(const char *id, uint64_t seed, uint64_t index, mm_grid **out) {
  mm_env *env = NULL;
  *out = NULL;
  mm_status status = mm_env_open(id, &env);
  if (status == MM_OK) status = mm_grid_draw(env, seed, index, out);
  mm_env_destroy(env);
  return status == MM_OK ? EXIT_DONE : fail_reading(status, "");
}

static bool ends_in(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

const char *grid_instance(const char *id, uint64_t seed, uint64_t index) {
  if (strchr(id, '/') != NULL || ends_in(id, ".yaml") || ends_in(id, ".yml")) return "";
  return output_format("  seed %" PRIu64 ", index %" PRIu64, seed, index);
}
