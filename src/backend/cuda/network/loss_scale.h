// SPDX-License-Identifier: Apache-2.0
// Loss scaling for the half-precision backward pass of AMPO. [host/device]
//
// Errors of the outputs and what is propagated back from them are operands of tensor cores: halves,
// which end at 65504 and lose digits below 6e-5. Targets are as large as phi^-1(1) / eta, so the
// errors of each network are multiplied by a power of two, chosen once in an iteration from what
// the rollout has seen; 1 for ordinary targets. Should a gradient overflow nevertheless, the
// minibatch is gone through again with a smaller power.

#ifndef MM_BACKEND_CUDA_NETWORK_LOSS_SCALE_H
#define MM_BACKEND_CUDA_NETWORK_LOSS_SCALE_H

#include <math.h>
#include <stdbool.h>

#include "base/elementary.h"
#include "base/hostdev.h"

typedef struct mm_cuda_loss_scale {
  float up[2];     // of the errors of actor and critic
  float common[2]; // brings their gradients to one unit: at most 1, and 1 for the smaller `up`
  float down;      // from that unit to the true gradient
} mm_cuda_loss_scale;

// The power of two that brings the largest error to 32 .. 64.
MM_INLINE MM_HD float mm_cuda_power_for(float top) {
  const int exponent = (int)(mm_bits_f(top) >> 23 & 255) - 127;
  int by = 5 - exponent;
  by = top > 0 && top < INFINITY ? by : 0;
  by = by < -100 ? -100 : by > 100 ? 100 : by;
  return mm_from_bits_f((uint32_t)(by + 127) << 23);
}

// 1 where halves have room for errors up to `top` and for the errors of hidden units, which are
// smaller by the weights of the outputs. Errors below 2^-35 are far below what Adam divides by.
MM_INLINE MM_HD float mm_cuda_error_power(float top) {
  const float most = 0x1p40f, power = mm_cuda_power_for(top);
  if (top >= 0x1p-10f && top <= 0x1p12f) return 1;
  return power < most ? power : most;
}

MM_INLINE MM_HD void mm_cuda_loss_scale_set(mm_cuda_loss_scale *s, float actor, float critic) {
  const float least = actor < critic ? actor : critic;
  s->up[0] = actor;
  s->up[1] = critic;
  s->common[0] = least / actor;
  s->common[1] = least / critic;
  s->down = 1 / least;
}

// For an iteration with these largest sizes of the actor's targets, less the advantages, and of the
// advantages, which are the critic's first errors.
MM_INLINE MM_HD void mm_cuda_loss_scale_begin(mm_cuda_loss_scale *s, float policy, float advantage,
                                              bool normalise, float value_coef) {
  mm_cuda_loss_scale_set(s, mm_cuda_error_power(2 * (policy + (normalise ? 1 : advantage))),
                         mm_cuda_error_power(value_coef * advantage));
}

// After an overflow in one of the networks or both. False where that cannot be the reason.
MM_INLINE MM_HD bool mm_cuda_loss_scale_lower(mm_cuda_loss_scale *s, bool actor, bool critic) {
  const float by = 0x1p-12f, least = 0x1p-100f;
  if (!actor && !critic) return false;
  mm_cuda_loss_scale_set(s, s->up[0] * (actor ? by : 1), s->up[1] * (critic ? by : 1));
  return s->up[0] >= least && s->up[1] >= least;
}

#endif
