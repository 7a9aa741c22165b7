// SPDX-License-Identifier: Apache-2.0
// One game of an environment.

#include "cli/env/vec_game.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "cli/core/memory.h"
#include "env/classic/classic.h"

static mm_status look(const vec_game *g) {
  float mean[VEC_REALS_MOST], std[VEC_REALS_MOST];
  if (g->player == NULL) return MM_OK;
  if (g->info.n_action > 0) return mm_player_probs(g->player, g->obs, 1, g->probs);
  return mm_player_normal(g->player, g->obs, 1, mean, std); // shows whether it has an action
}

static mm_status start(vec_game *g) {
  g->steps = 0;
  g->end = 0;
  g->reward = 0;
  g->total = 0;
  return look(g);
}

static mm_status reset(vec_game *g) {
  MM_TRY(mm_vec_reset(g->vec, &(mm_vec_out){ .obs = g->obs }));
  return start(g);
}

mm_status vec_game_open(const mm_env *env, const env_args *args, mm_player *player, vec_game *out) {
  *out = (vec_game){ .env = env, .episode = 1, .player = player, .greedy = args->greedy };
  out->config = (mm_vec_config){ .size = sizeof(mm_vec_config),
                                 .n = 1,
                                 .seed = args->seed,
                                 .obs = MM_OBS_FLOATS,
                                 .rules = (mm_env_rules)args->rules,
                                 .gymnasium_walls = args->gymnasium_walls == SWITCH_ON,
                                 .flavour = (mm_env_flavour)args->flavour,
                                 .physics = (mm_env_physics)args->physics,
                                 .fresh_reset = args->fresh_reset != SWITCH_OFF };
  out->policy = mm_stream_make(args->seed, 0, MM_RNG_ACTION, 0);
  mm_status status = mm_vec_create(env, &out->config, &out->vec);
  if (status != MM_OK) return status;
  mm_vec_describe(out->vec, &out->info);
  out->obs = memory_alloc((size_t)out->info.n_input, sizeof *out->obs);
  out->next = memory_alloc((size_t)out->info.n_input, sizeof *out->next);
  out->probs = memory_alloc((size_t)out->info.n_action + 1, sizeof *out->probs);
  status = reset(out);
  if (status != MM_OK) vec_game_release(out);
  return status;
}

void vec_game_release(vec_game *g) {
  mm_vec_destroy(g->vec);
  free(g->obs);
  free(g->next);
  free(g->probs);
  *g = (vec_game){ 0 };
}

mm_status vec_game_step(vec_game *g, vec_action action) {
  if (g->end != 0) return MM_OK;
  uint8_t end = 0;
  const void *act = g->info.n_action > 0 ? (const void *)&action.index : action.real;
  mm_vec_out out = { .obs = g->next, .final_obs = g->obs, .reward = &g->reward, .end = &end };
  mm_status status = mm_vec_step(g->vec, act, &out);
  if (status != MM_OK) return status;
  g->end = end;
  g->action = action;
  g->steps++;
  g->total += (double)g->reward;
  if (end != 0) return MM_OK;
  memcpy(g->obs, g->next, (size_t)g->info.n_input * sizeof *g->obs);
  return look(g);
}

mm_status vec_game_next(vec_game *g) {
  bool ended = g->end != 0;
  g->episode++;
  if (ended) { // it has begun already
    memcpy(g->obs, g->next, (size_t)g->info.n_input * sizeof *g->obs);
    return start(g);
  }
  mm_vec_destroy(g->vec);
  g->vec = NULL;
  g->config.repeat++;
  mm_status status = mm_vec_create(g->env, &g->config, &g->vec);
  return status == MM_OK ? reset(g) : status;
}

// ---------------------------------------------------------------------------------------------
// Actions

static vec_action all_motors(const vec_game *g, float push) {
  vec_action action = { 0 };
  for (int32_t i = 0; i < g->info.n_real; i++)
    action.real[i] = push;
  return action;
}

// What was looked at has an action.
static vec_action choose_trained(vec_game *g) {
  const mm_draw draw = { .seed = g->config.seed, .step = g->drawn++ };
  vec_action action = { 0 };
  void *out = g->info.n_action > 0 ? (void *)&action.index : action.real;
  (void)mm_player_act(g->player, g->obs, 1, g->greedy ? NULL : &draw, out);
  return action;
}

// random ones as `env record` draws them, so that both play the same episodes; each motor has a
// draw of its own
vec_action vec_game_choose(vec_game *g) {
  if (g->player != NULL) return choose_trained(g);
  uint64_t pair = mm_stream_pair(g->policy, g->drawn++);
  vec_action action = { 0 };
  if (g->info.n_action > 0)
    action.index = (int32_t)mm_uniform_int(pair, (uint32_t)g->info.n_action);
  for (int32_t i = 0; i < g->info.n_real; i++) {
    if (i > 0) pair = mm_stream_pair(g->policy, g->drawn++);
    action.real[i] = mm_uniform_between_f((uint32_t)pair, g->info.low, g->info.high);
  }
  return action;
}

const float *vec_game_probs(const vec_game *g) {
  return g->player != NULL && g->info.n_action > 0 ? g->probs : NULL;
}

static bool find_action(const vec_game *g, const char *name, vec_action *out) {
  for (int32_t i = 0; i < g->info.n_action; i++) {
    if (strcmp(g->info.action_name[i], name) != 0) continue;
    *out = (vec_action){ .index = i };
    return true;
  }
  return false;
}

bool vec_game_key_action(const vec_game *g, game_key k, vec_action *out) {
  static const char *const names[] = { "up", "down", "left", "right", "fire" };
  if (k > KEY_SPACE) return false;
  if (g->info.n_action == 0) {
    *out = all_motors(g, k == KEY_LEFT ? g->info.low : k == KEY_RIGHT ? g->info.high : 0);
    return k >= KEY_LEFT;
  }
  return find_action(g, names[k], out) || (k == KEY_SPACE && find_action(g, "none", out));
}

vec_action vec_game_idle(const vec_game *g) {
  vec_action action = { 0 };
  find_action(g, "none", &action);
  return action;
}

const char *vec_game_end(const vec_game *g) {
  static const char *const names[] = { NULL, "terminated", "truncated",
                                       "terminated and truncated" };
  return names[g->end & 3];
}
