// Hopper: a torso on one leg that hops forward, in a plane. [host/device]
//
// Coordinates: x, z, pitch, thigh, leg, foot. z is the height of the torso less `base`, which
// depends on the flavour (mm_body_info).

#ifndef MM_ENV_HOPPER_H
#define MM_ENV_HOPPER_H

#include "env/locomotion/bodies.h"

enum { MM_HOPPER_Q = 6, MM_HOPPER_V = 6, MM_HOPPER_U = 3, MM_HOPPER_OBS = 11 };

#define MM_HOPPER_DT 0.008f
#define MM_HOPPER_ALIVE 1.0f
#define MM_HOPPER_COST 0.001f
#define MM_HOPPER_NOISE 0.005f
#define MM_HOPPER_HEIGHT_MIN 0.7f
#define MM_HOPPER_PITCH_MAX 0.2f
#define MM_HOPPER_STATE_MAX 100.0f
#define MM_HOPPER_SPEED_SEEN 10.0f // velocities are clipped to this when they are observed

// start: [6] the pose.
MM_INLINE MM_HD void mm_hopper_reset(float *q, float *v, size_t stride, const float *start,
                                     const mm_bodies_draws *d) {
  for (int k = 0; k < MM_HOPPER_Q; k++)
    q[(size_t)k * stride] =
        start[k] + mm_uniform_between_f(d->q[k], -MM_HOPPER_NOISE, MM_HOPPER_NOISE);
  for (int k = 0; k < MM_HOPPER_V; k++)
    v[(size_t)k * stride] = mm_uniform_between_f(d->v[k], -MM_HOPPER_NOISE, MM_HOPPER_NOISE);
}

// For standing, also in the step that ends the episode; action: [3], clipped.
MM_INLINE MM_HD float mm_hopper_reward(float way, const float *action) {
  float cost = MM_HOPPER_COST * mm_bodies_square_sum(action, MM_HOPPER_U);
  return way / MM_HOPPER_DT + MM_HOPPER_ALIVE - cost;
}

MM_INLINE MM_HD int mm_hopper_healthy(const float *q, const float *v, size_t stride, float base) {
  int good = base + q[stride] > MM_HOPPER_HEIGHT_MIN;
  good &= mm_bodies_between(q[2 * stride], -MM_HOPPER_PITCH_MAX, MM_HOPPER_PITCH_MAX);
  for (int k = 2; k < MM_HOPPER_Q; k++)
    good &= mm_bodies_between(q[(size_t)k * stride], -MM_HOPPER_STATE_MAX, MM_HOPPER_STATE_MAX);
  for (int k = 0; k < MM_HOPPER_V; k++)
    good &= mm_bodies_between(v[(size_t)k * stride], -MM_HOPPER_STATE_MAX, MM_HOPPER_STATE_MAX);
  return good;
}

// obs: 11 numbers, `apart` floats from each other.
MM_INLINE MM_HD void mm_hopper_observe(const float *q, const float *v, size_t stride, float base,
                                       float *obs, size_t apart) {
  obs[0] = base + q[stride];
  for (int k = 2; k < MM_HOPPER_Q; k++)
    obs[(size_t)(k - 1) * apart] = q[(size_t)k * stride];
  for (int k = 0; k < MM_HOPPER_V; k++)
    obs[(size_t)(k + 5) * apart] =
        mm_clip_f(v[(size_t)k * stride], -MM_HOPPER_SPEED_SEEN, MM_HOPPER_SPEED_SEEN);
}

#endif
