// SPDX-License-Identifier: Apache-2.0
// HalfCheetah: a runner with two legs of three joints each, in a plane. [host/device]
//
// Coordinates: x, z (0 at the start), pitch, back thigh, shin, foot, front thigh, shin, foot. Only
// the limit ends an episode, also that of a body on its back.

#ifndef MM_ENV_HALF_CHEETAH_H
#define MM_ENV_HALF_CHEETAH_H

#include "env/locomotion/bodies.h"
#include "env/locomotion/body_words.h"

enum { MM_HALF_CHEETAH_Q = 9, MM_HALF_CHEETAH_V = 9, MM_HALF_CHEETAH_U = 6 };
enum { MM_HALF_CHEETAH_OBS = 17 };

#define MM_HALF_CHEETAH_SUMMARY "run forward on two legs"
#define MM_HALF_CHEETAH_SUMMARY_V4 "HalfCheetah with Gymnasium's contacts"
#define MM_HALF_CHEETAH_NEAR "torso and front leg" // in pictures
#define MM_HALF_CHEETAH_FAR "back leg"

#define MM_HALF_CHEETAH_DT 0.05f
#define MM_HALF_CHEETAH_COST 0.1f
#define MM_HALF_CHEETAH_NOISE 0.1f // of coordinates uniform, of velocities normal

// start: [9] the pose.
MM_INLINE MM_HD void mm_half_cheetah_reset(float *q, float *v, size_t stride, const float *start,
                                           const mm_bodies_draws *d) {
  mm_bodies_scatter(q, MM_HALF_CHEETAH_Q, stride, start, d->q, MM_HALF_CHEETAH_NOISE);
  mm_bodies_stir_normal(v, MM_HALF_CHEETAH_V, stride, d->v, MM_HALF_CHEETAH_NOISE);
}

// action: [6], clipped.
MM_INLINE MM_HD float mm_half_cheetah_reward(float way, const float *action) {
  float cost = MM_HALF_CHEETAH_COST * mm_bodies_square_sum(action, MM_HALF_CHEETAH_U);
  return way / MM_HALF_CHEETAH_DT - cost;
}

MM_INLINE MM_HD int mm_half_cheetah_healthy(const float *q, const float *v, size_t stride,
                                            float base) {
  (void)q, (void)v, (void)stride, (void)base;
  return 1;
}

// obs: 17 numbers, `apart` floats from each other.
MM_INLINE MM_HD void mm_half_cheetah_observe(const float *q, const float *v, size_t stride,
                                             float base, float *obs, size_t apart) {
  (void)base;
  mm_bodies_see(q, 1, MM_HALF_CHEETAH_Q, stride, obs, apart);
  mm_bodies_see(v, 0, MM_HALF_CHEETAH_V, stride, obs + 8 * apart, apart);
}

#ifndef __cplusplus // words are the host's

static inline bool mm_half_cheetah_is_far(const mm_body_table *table, const mm_capsule *capsule) {
  return table->part[capsule->part].name[0] == 'b';
}

static const char *const mm_half_cheetah_inputs[] = { "z", "pitch", "",   "",   "",       "",
                                                      "",  "",      "x'", "z'", "pitch'", NULL };

static const mm_body_words mm_half_cheetah_words = {
  .flavour = { "brax: head, thighs and feet touch the floor, Euler steps of 0.01 s",
               "gymnasium: every part touches the floor, Euler steps of 0.01 s" },
  .input = mm_half_cheetah_inputs,
  .observation = "z (0 at the start), pitch and the six joints, back leg first; then the "
                 "velocities of x, z, pitch and the joints",
  .reward = "forward velocity - 0.1 (sum of squared actions)",
  .random = "the start: coordinates uniform within 0.1 of the pose, velocities 0.1 N(0, 1)",
  .fps = 20,
  .field = { "x", "z", "pitch", "bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot", "x_dot",
             "z_dot", "pitch_dot", "bthigh_dot", "bshin_dot", "bfoot_dot", "fthigh_dot",
             "fshin_dot", "ffoot_dot" },
  .first = 1,
  .box = { -1.5, 1.5, -0.1, 1.6 },
  .is_far = mm_half_cheetah_is_far,
};

#endif

#endif
