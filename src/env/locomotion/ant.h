// SPDX-License-Identifier: Apache-2.0
// Ant: a ball on four legs, in space. [host/device]
//
// Coordinates: x, y, height, quaternion w x y z, then hip and ankle of legs 1 to 4. Velocities:
// linear in the world, angular in the body, then the joints'.

#ifndef MM_ENV_ANT_H
#define MM_ENV_ANT_H

#include "env/locomotion/bodies.h"
#include "env/locomotion/body_words.h"

enum { MM_ANT_Q = 15, MM_ANT_V = 14, MM_ANT_U = 8, MM_ANT_OBS = 27 };

#define MM_ANT_SUMMARY "walk forward on four legs without turning over"
#define MM_ANT_SUMMARY_V4 "Ant with Gymnasium's contacts, integrator and start"
#define MM_ANT_NEAR "torso and the legs on its right" // in pictures
#define MM_ANT_FAR "legs on its left"

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
  mm_bodies_scatter(q, MM_ANT_Q, stride, start, d->q, MM_ANT_NOISE);
  mm_ant_normalise(q, stride);
  mm_bodies_stir_normal(v, MM_ANT_V, stride, d->v, MM_ANT_NOISE);
}

// action: [8], clipped.
MM_INLINE MM_HD float mm_ant_reward(float way, const float *action) {
  return mm_bodies_reward(way, MM_ANT_DT, MM_ANT_ALIVE, MM_ANT_COST, action, MM_ANT_U);
}

MM_INLINE MM_HD int mm_ant_healthy(const float *q, const float *v, size_t stride, float base) {
  (void)v, (void)base;
  return q[2 * stride] >= MM_ANT_HEIGHT_MIN && q[2 * stride] <= MM_ANT_HEIGHT_MAX;
}

// obs: 27 numbers, `apart` floats from each other.
MM_INLINE MM_HD void mm_ant_observe(const float *q, const float *v, size_t stride, float base,
                                    float *obs, size_t apart) {
  (void)base;
  mm_bodies_see(q, 2, MM_ANT_Q, stride, obs, apart);
  mm_bodies_see(v, 0, MM_ANT_V, stride, obs + 13 * apart, apart);
}

#ifndef __cplusplus // words are the host's

// A leg and its capsule in the torso go the same way: to the left where y grows.
static inline bool mm_ant_is_far(const mm_body_table *table, const mm_capsule *capsule) {
  (void)table;
  return capsule->to[1] + capsule->from[1] > 0;
}

static const char *const mm_ant_inputs[] = { "height", "", "", "", "",   "",   "",   "",  "",
                                             "",       "", "", "", "x'", "y'", "z'", NULL };

static const mm_body_words mm_ant_words = {
  .flavour = { "brax: the feet touch the floor, Euler steps of 0.01 s, start 0.55 high with bent "
               "legs",
               "gymnasium: every part touches the floor, Runge-Kutta steps of 0.01 s, start 0.75 "
               "high with straight legs" },
  .input = mm_ant_inputs,
  .observation = "height, quaternion w x y z, hip and ankle of four legs; then linear velocity, "
                 "angular velocity in the body's frame, and the joints'",
  .reward = "forward velocity + 1 - 0.5 (sum of squared actions)",
  .end = "the torso is below 0.2 or above 1",
  .random = "the start: coordinates uniform within 0.1 of the pose, velocities 0.1 N(0, 1)",
  .fps = 20,
  .field = { "x",           "y",         "z",           "qw",        "qx",          "qy",
             "qz",          "hip_1",     "ankle_1",     "hip_2",     "ankle_2",     "hip_3",
             "ankle_3",     "hip_4",     "ankle_4",     "x_dot",     "y_dot",       "z_dot",
             "turn_x",      "turn_y",    "turn_z",      "hip_1_dot", "ankle_1_dot", "hip_2_dot",
             "ankle_2_dot", "hip_3_dot", "ankle_3_dot", "hip_4_dot", "ankle_4_dot" },
  .first = 2,
  .box = { -1.5, 1.5, -0.1, 1.6 },
  .is_far = mm_ant_is_far,
};

#endif

#endif
