// SPDX-License-Identifier: Apache-2.0
// Walker2d: a torso on two legs that walks forward, in a plane. [host/device]
//
// Coordinates: x, z, pitch, thigh, leg, foot, then those of the left leg. z is the height of the
// torso less `base`, which depends on the flavour (mm_body_info).

#ifndef MM_ENV_WALKER2D_H
#define MM_ENV_WALKER2D_H

#include "env/locomotion/bodies.h"
#include "env/locomotion/body_words.h"

enum { MM_WALKER2D_Q = 9, MM_WALKER2D_V = 9, MM_WALKER2D_U = 6, MM_WALKER2D_OBS = 17 };

#define MM_WALKER2D_SUMMARY "walk forward on two legs without falling"
#define MM_WALKER2D_SUMMARY_V4 "Walker2d with Gymnasium's contacts and integrator"
#define MM_WALKER2D_NEAR "torso and right leg" // in pictures
#define MM_WALKER2D_FAR "left leg"

#define MM_WALKER2D_DT 0.008f
#define MM_WALKER2D_ALIVE 1.0f
#define MM_WALKER2D_COST 0.001f
#define MM_WALKER2D_NOISE 0.005f
#define MM_WALKER2D_HEIGHT_MIN 0.8f
#define MM_WALKER2D_HEIGHT_MAX 2.0f
#define MM_WALKER2D_PITCH_MAX 1.0f
#define MM_WALKER2D_SPEED_SEEN 10.0f // velocities are clipped to this when they are observed

// start: [9] the pose.
MM_INLINE MM_HD void mm_walker2d_reset(float *q, float *v, size_t stride, const float *start,
                                       const mm_bodies_draws *d) {
  mm_bodies_scatter(q, MM_WALKER2D_Q, stride, start, d->q, MM_WALKER2D_NOISE);
  mm_bodies_stir_uniform(v, MM_WALKER2D_V, stride, d->v, MM_WALKER2D_NOISE);
}

// action: [6], clipped.
MM_INLINE MM_HD float mm_walker2d_reward(float way, const float *action) {
  return mm_bodies_reward(way, MM_WALKER2D_DT, MM_WALKER2D_ALIVE, MM_WALKER2D_COST, action,
                          MM_WALKER2D_U);
}

MM_INLINE MM_HD int mm_walker2d_healthy(const float *q, const float *v, size_t stride, float base) {
  (void)v;
  return mm_bodies_between(base + q[stride], MM_WALKER2D_HEIGHT_MIN, MM_WALKER2D_HEIGHT_MAX) &&
         mm_bodies_between(q[2 * stride], -MM_WALKER2D_PITCH_MAX, MM_WALKER2D_PITCH_MAX);
}

// obs: 17 numbers, `apart` floats from each other.
MM_INLINE MM_HD void mm_walker2d_observe(const float *q, const float *v, size_t stride, float base,
                                         float *obs, size_t apart) {
  obs[0] = base + q[stride];
  mm_bodies_see(q, 2, MM_WALKER2D_Q, stride, obs + apart, apart);
  mm_bodies_see_clipped(v, MM_WALKER2D_V, stride, MM_WALKER2D_SPEED_SEEN, obs + 8 * apart, apart);
}

#ifndef __cplusplus // words are the host's

static inline bool mm_walker2d_is_far(const mm_body_table *table, const mm_capsule *capsule) {
  (void)table;
  return capsule->part >= 4;
}

static const char *const mm_walker2d_inputs[] = { "height", "pitch", "",   "",   "",       "",
                                                  "",       "",      "x'", "z'", "pitch'", NULL };

static const mm_body_words mm_walker2d_words = {
  .flavour = { "brax: torso and feet touch the floor, Euler steps of 0.002 s",
               "gymnasium: every part touches the floor, Runge-Kutta steps of 0.002 s" },
  .input = mm_walker2d_inputs,
  .observation = "height and pitch of the torso, angles of thigh, leg and foot of the right leg, "
                 "then of the left; then the velocities of x, z, pitch and the joints, each within "
                 "-10 .. 10",
  .reward = "forward velocity + 1 - 0.001 (sum of squared actions)",
  .end = "the torso is not between 0.8 and 2, or leans 1 or more",
  .random = "the start: all coordinates and velocities uniform within 0.005 of the pose",
  .fps = 60,
  .field = { "x", "z", "pitch", "thigh", "leg", "foot", "thigh_left", "leg_left", "foot_left",
             "x_dot", "z_dot", "pitch_dot", "thigh_dot", "leg_dot", "foot_dot", "thigh_left_dot",
             "leg_left_dot", "foot_left_dot" },
  .first = 1,
  .sees_height = true,
  .box = { -1.4, 1.4, -0.1, 1.7 },
  .is_far = mm_walker2d_is_far,
};

#endif

#endif
