// SPDX-License-Identifier: Apache-2.0
// What all bodies share: where a state lies, how an episode starts. [host/device]
//
// The state is in columns of coordinates and velocities, as the physics has it: number k of an
// environment is q[k * stride]. Coordinate 0 is the way forward of one step: it is put back to 0
// before each, since no law depends on where a body is, and floats are densest there. (Ant-v4: to
// where the last reward saw the torso at 0, see body_laws.h.)

#ifndef MM_ENV_BODIES_H
#define MM_ENV_BODIES_H

#include "env/classic/classic.h"

enum {
  MM_BODIES_LIMIT = 1000, // steps of an episode
  MM_BODIES_DRAWS = 16    // random words for coordinates, and as many for velocities
};

// What an environment has beside its body.
typedef struct mm_bodies_lane {
  int32_t time;      // steps of the episode
  uint32_t episode;  // number of the next one
  uint32_t unstable; // steps that came to nothing
} mm_bodies_lane;

// Chance at a start.
typedef struct mm_bodies_draws {
  uint32_t q[MM_BODIES_DRAWS], v[MM_BODIES_DRAWS];
} mm_bodies_draws;

// Start number `index` of a stream: blocks 8 index .. 8 index + 7, the first four for coordinates.
MM_INLINE MM_HD mm_bodies_draws mm_bodies_draw(mm_stream stream, uint64_t index) {
  mm_bodies_draws d;
  for (uint32_t i = 0; i < 4; i++) {
    mm_block q = mm_stream_block(stream, 8 * index + i);
    mm_block v = mm_stream_block(stream, 8 * index + 4 + i);
    for (uint32_t k = 0; k < 4; k++) {
      d.q[4 * i + k] = q.word[k];
      d.v[4 * i + k] = v.word[k];
    }
  }
  return d;
}

// Numbers within `noise` of a pose [n]; velocities so, or normal.
MM_INLINE MM_HD void mm_bodies_scatter(float *q, int n, size_t stride, const float *start,
                                       const uint32_t *draws, float noise) {
  for (int k = 0; k < n; k++)
    q[(size_t)k * stride] = start[k] + mm_uniform_between_f(draws[k], -noise, noise);
}

MM_INLINE MM_HD void mm_bodies_stir_uniform(float *v, int n, size_t stride, const uint32_t *draws,
                                            float noise) {
  for (int k = 0; k < n; k++)
    v[(size_t)k * stride] = mm_uniform_between_f(draws[k], -noise, noise);
}

MM_INLINE MM_HD void mm_bodies_stir_normal(float *v, int n, size_t stride, const uint32_t *draws,
                                           float noise) {
  for (int k = 0; k < n; k++)
    v[(size_t)k * stride] = noise * mm_normal_f(draws[k]);
}

// Numbers `from` to n - 1 of a column, `apart` floats from each other; the first of them comes to
// `to`.
MM_INLINE MM_HD void mm_bodies_see(const float *column, int from, int n, size_t stride, float *to,
                                   size_t apart) {
  for (int k = from; k < n; k++)
    to[(size_t)(k - from) * apart] = column[(size_t)k * stride];
}

// All n numbers of a column so, clipped to [-most, most].
MM_INLINE MM_HD void mm_bodies_see_clipped(const float *column, int n, size_t stride, float most,
                                           float *to, size_t apart) {
  for (int k = 0; k < n; k++)
    to[(size_t)k * apart] = mm_clip_f(column[(size_t)k * stride], -most, most);
}

// What motors and their cost see. NaN counts as 0.
MM_INLINE MM_HD float mm_bodies_clip(float action) {
  return mm_clip_f(mm_action_number(action), -1.0f, 1.0f);
}

MM_INLINE MM_HD float mm_bodies_square_sum(const float *action, int n) {
  float sum = 0.0f;
  for (int k = 0; k < n; k++)
    sum = fmaf(action[k], action[k], sum);
  return sum;
}

// Forward velocity, a bonus for standing (also in the step that ends the episode), and the cost of
// the n clipped actions.
MM_INLINE MM_HD float mm_bodies_reward(float way, float dt, float alive, float cost,
                                       const float *action, int n) {
  return way / dt + alive - cost * mm_bodies_square_sum(action, n);
}

MM_INLINE MM_HD int mm_bodies_between(float x, float low, float high) { // false for NaN
  return x > low && x < high;
}

#endif
