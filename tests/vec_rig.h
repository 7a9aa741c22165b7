// SPDX-License-Identifier: Apache-2.0
// Environments side by side with room for everything a step wants and gives, and actions for them.

#ifndef MM_TEST_VEC_RIG_H
#define MM_TEST_VEC_RIG_H

#include <stdlib.h>

#include "base/rng.h"
#include "env/classic/classic.h"
#include "mirrormap/env.h"
#include "test.h"

// Classic control first.
static const char *const rig_ids[] = {
  "CartPole-v1",           "Acrobot-v1",
  "MountainCar-v0",        "MountainCarContinuous-v0",
  "Pendulum-v1",           "Asterix-MinAtar",
  "Breakout-MinAtar",      "Freeway-MinAtar",
  "SpaceInvaders-MinAtar", "Seaquest-MinAtar",
  "MinAtar/Asterix-v1",    "MinAtar/Breakout-v1",
  "MinAtar/Freeway-v1",    "MinAtar/SpaceInvaders-v1",
  "MinAtar/Seaquest-v1",   "GridWorld-dense",
  "GridWorld-all",
};
enum { RIG_IDS = sizeof rig_ids / sizeof *rig_ids, RIG_CLASSIC = 5 };

typedef struct rig {
  mm_env *env;
  mm_vec *vec;
  mm_vec_info info;
  mm_vec_out out;
  void *action; // int32_t[n] or float[n][n_real]
} rig;

static inline void *zeroed(size_t n, size_t size) {
  void *block = calloc(n > 0 ? n : 1, size);
  assert_non_null(block);
  return block;
}

// Its size is set here.
static inline rig rig_open(const char *id, mm_vec_config config) {
  rig r = { 0 };
  config.size = sizeof config;
  assert_ok(mm_env_open(id, &r.env));
  assert_ok(mm_vec_create(r.env, &config, &r.vec));
  mm_vec_describe(r.vec, &r.info);
  r.out.obs = zeroed(r.info.obs_size, 1);
  r.out.final_obs = zeroed(r.info.obs_size, 1);
  r.out.reward = zeroed(r.info.n, sizeof(float));
  r.out.end = zeroed(r.info.n, 1);
  r.action = zeroed(r.info.n * (size_t)(r.info.n_real > 0 ? r.info.n_real : 1), sizeof(int32_t));
  return r;
}

static inline void rig_close(rig *r) {
  free(r->out.obs);
  free(r->out.final_obs);
  free(r->out.reward);
  free(r->out.end);
  free(r->action);
  mm_vec_destroy(r->vec);
  mm_env_destroy(r->env);
}

static inline size_t row_size(const rig *r) {
  return r->info.obs_size / r->info.n;
}

// Action t of environment i, from a stream that no environment uses.
static inline void draw_actions(rig *r, uint64_t t) {
  mm_stream stream = mm_stream_make(99, 0, MM_RNG_ACTION, 0);
  const size_t n = r->info.n * (size_t)(r->info.n_real > 0 ? r->info.n_real : 1);
  for (size_t i = 0; i < n; i++) {
    uint64_t pair = mm_stream_pair(stream, t * n + i);
    if (r->info.n_action > 0)
      ((int32_t *)r->action)[i] = (int32_t)mm_uniform_int(pair, (uint32_t)r->info.n_action);
    else // beyond the range too: the environment clips
      ((float *)r->action)[i] =
          mm_uniform_between_f((uint32_t)pair, 1.5f * r->info.low, 1.5f * r->info.high);
  }
}

#endif
