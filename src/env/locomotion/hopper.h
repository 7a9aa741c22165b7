// SPDX-License-Identifier: Apache-2.0
// Hopper: a torso on one leg that hops forward, in a plane. [host/device]
//
// Coordinates: x, z, pitch, thigh, leg, foot. z is the height of the torso less `base`, which
// depends on the flavour (mm_body_info).

#ifndef MM_ENV_HOPPER_H
#define MM_ENV_HOPPER_H

#include "env/locomotion/bodies.h"
#include "env/locomotion/body_words.h"

enum { MM_HOPPER_Q = 6, MM_HOPPER_V = 6, MM_HOPPER_U = 3, MM_HOPPER_OBS = 11 };

#define MM_HOPPER_SUMMARY "hop forward on one leg without falling"
#define MM_HOPPER_SUMMARY_V4 "Hopper with Gymnasium's contacts and integrator"
#define MM_HOPPER_NEAR "torso" // in pictures
#define MM_HOPPER_FAR "leg and foot"

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
  mm_bodies_scatter(q, MM_HOPPER_Q, stride, start, d->q, MM_HOPPER_NOISE);
  mm_bodies_stir_uniform(v, MM_HOPPER_V, stride, d->v, MM_HOPPER_NOISE);
}

// action: [3], clipped.
MM_INLINE MM_HD float mm_hopper_reward(float way, const float *action) {
  return mm_bodies_reward(way, MM_HOPPER_DT, MM_HOPPER_ALIVE, MM_HOPPER_COST, action, MM_HOPPER_U);
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
  mm_bodies_see(q, 2, MM_HOPPER_Q, stride, obs + apart, apart);
  mm_bodies_see_clipped(v, MM_HOPPER_V, stride, MM_HOPPER_SPEED_SEEN, obs + 5 * apart, apart);
}

#ifndef __cplusplus // words are the host's

static inline bool mm_hopper_is_far(const mm_body_table *table, const mm_capsule *capsule) {
  (void)table;
  return capsule->part != 0;
}

static const char *const mm_hopper_inputs[] = {
  "height", "pitch", "thigh", "leg", "foot", "x'", "z'", "pitch'", "thigh'", "leg'", "foot'", NULL
};

static const mm_body_words mm_hopper_words = {
  .flavour = { "brax: the foot touches the floor, Euler steps of 0.002 s",
               "gymnasium: every part touches the floor, Runge-Kutta steps of 0.002 s" },
  .input = mm_hopper_inputs,
  .observation = "height and pitch of the torso, angles of thigh, leg and foot; then the "
                 "velocities of x, z, pitch and the three joints, each within -10 .. 10",
  .reward = "forward velocity + 1 - 0.001 (sum of squared actions)",
  .end = "the torso is not above 0.7, leans 0.2 or more, or a number reaches 100",
  .random = "the start: all coordinates and velocities uniform within 0.005 of the pose",
  .fps = 60,
  .field = { "x", "z", "pitch", "thigh", "leg", "foot", "x_dot", "z_dot", "pitch_dot", "thigh_dot",
             "leg_dot", "foot_dot" },
  .first = 1,
  .sees_height = true,
  .box = { -1.4, 1.4, -0.1, 1.7 },
  .is_far = mm_hopper_is_far,
};

#endif

#endif
