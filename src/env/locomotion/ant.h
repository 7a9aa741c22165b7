// Ant: a ball on four legs, in space. [host/device]
//
// Coordinates: x, y, height, quaternion w x y z, then hip and ankle of legs 1 to 4. Velocities:
// linear in the world, angular in the body, then the joints'.

#ifndef MM_ENV_ANT_H
#define MM_ENV_ANT_H

#include "env/locomotion/bodies.h"

enum { MM_ANT_Q = 15, MM_ANT_V = 14, MM_ANT_U = 8, MM_ANT_OBS = 27 };

#define MM_ANT_DT 0.05f
#define MM_ANT_ALIVE 1.0f
#define MM_ANT_COST 0.5f
#define MM_ANT_NOISE 0.1f // of coordinates uniform, of velocities normal
#define MM_ANT_HEIGHT_MIN 0.2f
#define MM_ANT_HEIGHT_MAX 1.0f

MM_INLINE MM_HD void mm_ant_normalise(float *q, size_t stride) {
  float sum = 0.0f;
  for (int k = 3; k < 7; k++)
    sum = fmaf(q[(size_t)k * stride], q[(size_t)k * stride], sum);
  float length = sqrtf(sum);
  for (int k = 3; k < 7; k++)
    q[(size_t)k * stride] /= length;
}

// start: [15] the pose. The noise turns the quaternion too.
MM_INLINE MM_HD void mm_ant_reset(float *q, float *v, size_t stride, const float *start,
                                  const mm_bodies_draws *d) {
  for (int k = 0; k < MM_ANT_Q; k++)
    q[(size_t)k * stride] = start[k] + mm_uniform_between_f(d->q[k], -MM_ANT_NOISE, MM_ANT_NOISE);
  mm_ant_normalise(q, stride);
  for (int k = 0; k < MM_ANT_V; k++)
    v[(size_t)k * stride] = MM_ANT_NOISE * mm_normal_f(d->v[k]);
}

// For standing, also in the step that ends the episode; action: [8], clipped.
MM_INLINE MM_HD float mm_ant_reward(float way, const float *action) {
  float cost = MM_ANT_COST * mm_bodies_square_sum(action, MM_ANT_U);
  return way / MM_ANT_DT + MM_ANT_ALIVE - cost;
}

MM_INLINE MM_HD int mm_ant_healthy(const float *q, size_t stride) {
  return q[2 * stride] >= MM_ANT_HEIGHT_MIN && q[2 * stride] <= MM_ANT_HEIGHT_MAX;
}

// obs: 27 numbers, `apart` floats from each other.
MM_INLINE MM_HD void mm_ant_observe(const float *q, const float *v, size_t stride, float *obs,
                                    size_t apart) {
  for (int k = 2; k < MM_ANT_Q; k++)
    obs[(size_t)(k - 2) * apart] = q[(size_t)k * stride];
  for (int k = 0; k < MM_ANT_V; k++)
    obs[(size_t)(k + 13) * apart] = v[(size_t)k * stride];
}

#endif
