// The laws of Hopper, HalfCheetah and Ant on the columns of their physics: what is seen, what it
// pays, whether it goes on, how it starts. Where `body` is a constant the others are left out.

#ifndef MM_ENV_BODY_LAWS_H
#define MM_ENV_BODY_LAWS_H

#include "env/locomotion/ant.h"
#include "env/locomotion/half_cheetah.h"
#include "env/locomotion/hopper.h"
#include "physics/physics.h"

// Numbers of the observation are `apart` from each other.
static inline void mm_body_observe(const mm_physics *p, mm_body body, size_t i, float *to,
                                   size_t apart) {
  const float *q = p->q + i, *v = p->v + i;
  if (body == MM_BODY_HOPPER)
    mm_hopper_observe(q, v, p->stride, (float)p->info->height[p->config.flavour], to, apart);
  else if (body == MM_BODY_HALF_CHEETAH)
    mm_half_cheetah_observe(q, v, p->stride, to, apart);
  else
    mm_ant_observe(q, v, p->stride, to, apart);
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
  return body == MM_BODY_HOPPER         ? mm_hopper_reward(way, action)
         : body == MM_BODY_HALF_CHEETAH ? mm_half_cheetah_reward(way, action)
                                        : mm_ant_reward(way, action);
}

static inline bool mm_body_healthy(const mm_physics *p, mm_body body, size_t i) {
  const float *q = p->q + i, *v = p->v + i;
  if (body == MM_BODY_HOPPER)
    return mm_hopper_healthy(q, v, p->stride, (float)p->info->height[p->config.flavour]);
  return body == MM_BODY_HALF_CHEETAH || mm_ant_healthy(q, p->stride);
}

// Puts environment i to the start of an episode.
static inline void mm_body_start(mm_physics *p, size_t i, const mm_bodies_draws *draws) {
  const double *pose = p->info->start[p->config.flavour];
  float start[MM_BODY_MOST_Q] = { 0 }, *q = p->q + i, *v = p->v + i;
  for (int k = 0; k < p->info->nq; k++)
    start[k] = (float)pose[k];
  if (p->config.body == MM_BODY_HOPPER)
    mm_hopper_reset(q, v, p->stride, start, draws);
  else if (p->config.body == MM_BODY_HALF_CHEETAH)
    mm_half_cheetah_reset(q, v, p->stride, start, draws);
  else
    mm_ant_reset(q, v, p->stride, start, draws);
  for (int k = 0; k < p->info->nv; k++)
    p->warm[(size_t)k * p->stride + i] = 0;
  if (p->xpos_offset) p->xpos_offset[i] = 0;
}

// The Ant's quaternion needs a direction.
static inline bool mm_body_has_direction(const mm_physics *p, size_t i) {
  float sum = 0;
  for (size_t k = 3; k < 7; k++)
    sum += fabsf(p->q[k * p->stride + i]);
  return sum > 0.5f;
}

#endif
