// SPDX-License-Identifier: Apache-2.0
// What the classic-control environments share: start values, limits, angles. [host/device]
//
// An environment NAME is a plain struct mm_NAME of floats and then the time, and
//
//   mm_NAME_draw(stream, index)               draws of a start (MM_RNG_ENV_RESET)
//   mm_NAME_reset(s, draws)                   a new episode
//   mm_NAME_step(s, action, reward)           one step; returns MM_END_* flags
//   mm_NAME_observe(s, obs)                   what the agent sees
//   mm_NAME_step_seen(s, obs, action, reward) both, from what was seen before; MM_NAME_REMEMBERS
//                                             says whether that helps (discrete actions)
//   MM_NAME_STEP(s, action, walls, reward)    one step by the settings of a batch, and
//   MM_NAME_ACTION_MAX                        (continuous actions)
//   MM_NAME_FIELDS, _OBS, _ACTIONS, _LIMIT    numbers of a state and sizes
//   mm_NAME_spec                              its description (spec.h)
//
// Laws common to all: the state is float32 and counts its steps in `time`; a step first moves,
// then counts, then tests for the end. Only the start is random. Dynamics follow gymnax 0.0.6.
//
// Actions outside their range have a meaning here, so that no caller can break a state: a discrete
// action goes to the nearest valid one, a continuous one is clipped as the environment says, and
// NaN counts as 0. (The vector layer refuses them before they get here.)

#ifndef MM_ENV_CLASSIC_H
#define MM_ENV_CLASSIC_H

#include <math.h>
#include <stdint.h>

#include "base/elementary.h"
#include "base/hostdev.h"
#include "base/rng.h"
#include "mirrormap/env.h"

// NaN stays NaN.
MM_INLINE MM_HD float mm_clip_f(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

MM_INLINE MM_HD int32_t mm_action_nearest(int32_t action, int32_t n_action) {
  action = action < 0 ? 0 : action;
  return action < n_action ? action : n_action - 1;
}

MM_INLINE MM_HD float mm_action_number(float action) {
  return action == action ? action : 0.0f; // NaN alone differs from itself
}

// A start value, uniform in [low, high].
MM_INLINE MM_HD float mm_uniform_between_f(uint32_t word, float low, float high) {
  return fmaf(high - low, mm_uniform_f(word), low);
}

// A start of four numbers, each within `most` of 0: one block of the stream.
typedef struct mm_start_of_four {
  float number[4];
} mm_start_of_four;

MM_INLINE MM_HD mm_start_of_four mm_draw_four(mm_stream stream, uint64_t index, float most) {
  const mm_block b = mm_stream_block(stream, index);
  mm_start_of_four d;
  for (int k = 0; k < 4; k++)
    d.number[k] = mm_uniform_between_f(b.word[k], -most, most);
  return d;
}

// mm_NAME_step_seen of an environment that makes no use of what was seen before a step.
#define MM_STEP_THEN_OBSERVE(name)                                                                 \
  MM_INLINE MM_HD int mm_##name##_step_seen(mm_##name *s, float *obs, int32_t action,              \
                                            float *reward) {                                       \
    const int end = mm_##name##_step(s, action, reward);                                           \
    mm_##name##_observe(s, obs);                                                                   \
    return end;                                                                                    \
  }

MM_INLINE MM_HD int mm_end_of(int terminal, int32_t time, int32_t limit) {
  return (terminal ? MM_END_TERMINATED : 0) | (time >= limit ? MM_END_TRUNCATED : 0);
}

#define MM_PI_F 0x1.921fb6p1f
#define MM_TWO_PI_HI_F 0x1.921fb6p2f
#define MM_TWO_PI_LO_F (-0x1.777a5cp-23f)
#define MM_ONE_OVER_TWO_PI_F 0x1.45f306p-3f

// The angle in [-pi, pi) that differs by a multiple of 2 pi, for |x| up to 10^5.
MM_INLINE MM_HD float mm_angle_wrap_f(float x) {
  float turns = fmaf(x, MM_ONE_OVER_TWO_PI_F, MM_SHIFT_F) - MM_SHIFT_F;
  float r = fmaf(-turns, MM_TWO_PI_LO_F, fmaf(-turns, MM_TWO_PI_HI_F, x));
  // the nearest number of turns leaves both ends open to rounding
  r = r >= MM_PI_F ? r - MM_TWO_PI_HI_F : r;
  return r < -MM_PI_F ? r + MM_TWO_PI_HI_F : r;
}

#endif
