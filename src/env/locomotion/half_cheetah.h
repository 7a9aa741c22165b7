// HalfCheetah: a runner with two legs of three joints each, in a plane. [host/device]
//
// Coordinates: x, z (0 at the start), pitch, back thigh, shin, foot, front thigh, shin, foot. Only
// the limit ends an episode, also that of a body on its back.

#ifndef MM_ENV_HALF_CHEETAH_H
#define MM_ENV_HALF_CHEETAH_H

#include "env/locomotion/bodies.h"

enum { MM_HALF_CHEETAH_Q = 9, MM_HALF_CHEETAH_V = 9, MM_HALF_CHEETAH_U = 6 };
enum { MM_HALF_CHEETAH_OBS = 17 };

#define MM_HALF_CHEETAH_DT 0.05f
#define MM_HALF_CHEETAH_COST 0.1f
#define MM_HALF_CHEETAH_NOISE 0.1f // of coordinates uniform, of velocities normal

// start: [9] the pose.
MM_INLINE MM_HD void mm_half_cheetah_reset(float *q, float *v, size_t stride, const float *start,
                                           const mm_bodies_draws *d) {
  for (int k = 0; k < MM_HALF_CHEETAH_Q; k++)
    q[(size_t)k * stride] =
        start[k] + mm_uniform_between_f(d->q[k], -MM_HALF_CHEETAH_NOISE, MM_HALF_CHEETAH_NOISE);
  for (int k = 0; k < MM_HALF_CHEETAH_V; k++)
    v[(size_t)k * stride] = MM_HALF_CHEETAH_NOISE * mm_normal_f(d->v[k]);
}

// action: [6], clipped.
MM_INLINE MM_HD float mm_half_cheetah_reward(float way, const float *action) {
  float cost = MM_HALF_CHEETAH_COST * mm_bodies_square_sum(action, MM_HALF_CHEETAH_U);
  return way / MM_HALF_CHEETAH_DT - cost;
}

// obs: 17 numbers, `apart` floats from each other.
MM_INLINE MM_HD void mm_half_cheetah_observe(const float *q, const float *v, size_t stride,
                                             float *obs, size_t apart) {
  for (int k = 1; k < MM_HALF_CHEETAH_Q; k++)
    obs[(size_t)(k - 1) * apart] = q[(size_t)k * stride];
  for (int k = 0; k < MM_HALF_CHEETAH_V; k++)
    obs[(size_t)(k + 8) * apart] = v[(size_t)k * stride];
}

#endif
