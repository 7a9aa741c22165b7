// SPDX-License-Identifier: Apache-2.0
// The laws of all bodies on the columns of their physics: what is seen, what it pays, whether it
// goes on, how it starts. Where `body` is a constant the others are left out.

#ifndef MM_ENV_BODY_LAWS_H
#define MM_ENV_BODY_LAWS_H

#include "env_bodies.h" // env/locomotion/<name>.h of every body, made by CMake from MM_BODY_LIST
#include "physics/physics.h"

// The height of the torso where its coordinate is 0.
static inline float mm_body_base(const mm_physics *p) {
  return (float)p->info->height[p->config.flavour];
}

// Numbers of the observation are `apart` from each other.
static inline void mm_body_observe(const mm_physics *p, mm_body body, size_t i, float *to,
                                   size_t apart) {
  const float *q = p->q + i, *v = p->v + i;
  switch (body) {
#define MM_BODY_OBSERVE(NAME, name, id, kernels)                                                   \
  case MM_BODY_##NAME:                                                                             \
    mm_##name##_observe(q, v, p->stride, mm_body_base(p), to, apart);                              \
    break;
    MM_BODY_LIST(MM_BODY_OBSERVE)
  case MM_BODY_COUNT:
    break;
  }
}

// Gymnasium's Ant pays for xpos of its torso, which after a step is a little beside q[0]. So the
// step begins with q[0] counted from where the last reward saw the torso, and ends there.
static inline void mm_body_begin_way(const mm_physics *p, size_t i) {
  p->q[i] = p->xpos_offset ? -p->xpos_offset[i] : 0;
}

static inline float mm_body_way(const mm_physics *p, size_t i) {
  return p->xpos_offset ? p->q[i] + p->xpos_offset[i] : p->q[i];
}

// `way`: metres forward in this step; action: as clipped.
static inline float mm_body_reward(mm_body body, float way, const float *action) {
  switch (body) {
#define MM_BODY_REWARD(NAME, name, id, kernels)                                                    \
  case MM_BODY_##NAME:                                                                             \
    return mm_##name##_reward(way, action);
    MM_BODY_LIST(MM_BODY_REWARD)
  case MM_BODY_COUNT:
    break;
  }
  return 0;
}

static inline bool mm_body_healthy(const mm_physics *p, mm_body body, size_t i) {
  const float *q = p->q + i, *v = p->v + i;
  switch (body) {
#define MM_BODY_HEALTHY(NAME, name, id, kernels)                                                   \
  case MM_BODY_##NAME:                                                                             \
    return mm_##name##_healthy(q, v, p->stride, mm_body_base(p));
    MM_BODY_LIST(MM_BODY_HEALTHY)
  case MM_BODY_COUNT:
    break;
  }
  return false;
}

// Puts environment i to the start of an episode.
static inline void mm_body_start(mm_physics *p, size_t i, const mm_bodies_draws *draws) {
  const double *pose = p->info->start[p->config.flavour];
  float start[MM_BODY_MOST_Q] = { 0 }, *q = p->q + i, *v = p->v + i;
  for (int k = 0; k < p->info->nq; k++)
    start[k] = (float)pose[k];
  switch (p->config.body) {
#define MM_BODY_RESET(NAME, name, id, kernels)                                                     \
  case MM_BODY_##NAME:                                                                             \
    mm_##name##_reset(q, v, p->stride, start, draws);                                              \
    break;
    MM_BODY_LIST(MM_BODY_RESET)
  case MM_BODY_COUNT:
    break;
  }
  for (int k = 0; k < p->info->nv; k++)
    p->warm[(size_t)k * p->stride + i] = 0;
  if (p->xpos_offset) p->xpos_offset[i] = 0;
}

// The quaternion of a body in space needs a direction.
static inline bool mm_body_has_direction(const mm_physics *p, size_t i) {
  float sum = 0;
  for (size_t k = 3; k < 7 && p->info->free_root; k++)
    sum += fabsf(p->q[k * p->stride + i]);
  return !p->info->free_root || sum > 0.5f;
}

#endif
