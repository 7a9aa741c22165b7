// SPDX-License-Identifier: Apache-2.0
// MuJoCo's soft constraints, as far as all bodies share them. [host/device]
//
// A row with Jacobian J at the distance rho < 0 has an impedance imp(rho), a reference acceleration
// aref = -b J v - kappa imp rho and a stiffness D = imp / ((1 - imp) w). It pushes where J a <
// aref.

#ifndef MM_PHYSICS_SOFT_H
#define MM_PHYSICS_SOFT_H

#include "physics/body.h"
#include "physics/lanes.h"

typedef struct mm_soft {
  real low, rise;      // impedance at rho = 0, and how much it gains
  real per_width;      // 1 / width
  real damping, stiff; // b, kappa
} mm_soft;

// Time constant 0.02, but no less than two steps; damping ratio 1.
static inline mm_soft soft_of(const mm_impedance *impedance, double h) {
  double t = 2 * h > 0.02 ? 2 * h : 0.02, high = impedance->high;
  mm_soft out;
  out.low = (real)impedance->low;
  out.rise = (real)(high - impedance->low);
  out.per_width = (real)(1 / impedance->width);
  out.damping = (real)(2 / (high * t));
  out.stiff = (real)(1 / (high * high * t * t));
  return out;
}

// A row that never pushes: its reference lies below every acceleration.
#define MM_NEVER ((real)-1e30)

MM_INLINE MM_HD vec impedance(const mm_soft *soft, vec rho) {
  vec x = least(multiply(size_of(rho), all_of(soft->per_width)), all_of(1)),
      rest = subtract(all_of(1), x);
  vec near = multiply(multiply(all_of(2), x), x);
  vec far = fused_minus(multiply(all_of(2), rest), rest, all_of(1));
  return fused(choose(below(x, all_of((real)0.5)), near, far), all_of(soft->rise),
               all_of(soft->low));
}

// D for a row of inverse weight 1 / per_weight.
MM_INLINE MM_HD vec stiffness(vec imp, real per_weight) {
  return divide(multiply(imp, all_of(per_weight)), subtract(all_of(1), imp));
}

// aref without its velocity term: -kappa imp rho.
MM_INLINE MM_HD vec pushed_back(const mm_soft *soft, vec imp, vec rho) {
  return multiply(multiply(all_of(-soft->stiff), imp), rho);
}

#endif
