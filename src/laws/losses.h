// SPDX-License-Identifier: Apache-2.0
// Losses of one sample and their derivatives, for learners with networks. [host/device]

#ifndef MM_LAWS_LOSSES_H
#define MM_LAWS_LOSSES_H

#include <math.h>

#include "base/hostdev.h"

MM_HD MM_INLINE float mm_clip(float x, float low, float high) {
#ifdef __CUDA_ARCH__
  return fminf(fmaxf(x, low), high);
#else
  return x < low ? low : x > high ? high : x; // compilers vectorise this, but not fminf
#endif
}

// The critic's clipped loss: the larger of (V - G)^2 and the same with V within old -+ clip.
// Returns the derivative of half of it by V: a clipped value does not move with the parameters.
MM_HD MM_INLINE float mm_value_error(float value, float old, float target, float clip,
                                     float *loss) {
  const float move = value - old, within = mm_clip(move, -clip, clip);
  const float e1 = value - target, e2 = old + within - target;
  const float s1 = e1 * e1, s2 = e2 * e2;
  *loss = s2 > s1 ? s2 : s1;
  return fabsf(move) > clip && s2 > s1 ? 0.0f : e1;
}

// PPO's objective min(r A, clip(r) A) of a sample with ratio r = p/q. Returns its derivative by
// log p: r A, or 0 where the clip holds; NaN stays NaN.
MM_HD MM_INLINE float mm_ppo_weight(float ratio, float advantage, float clip, float *gain) {
  const float plain = ratio * advantage;
  const float clipped = mm_clip(ratio, 1 - clip, 1 + clip) * advantage;
  *gain = plain <= clipped ? plain : clipped;
  return plain <= clipped ? plain : plain > clipped ? 0.0f : NAN;
}

#endif
