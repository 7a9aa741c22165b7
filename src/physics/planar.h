// SPDX-License-Identifier: Apache-2.0
// What planar.inc builds upon. [host/device]

#ifndef MM_PHYSICS_PLANAR_H
#define MM_PHYSICS_PLANAR_H

#include <assert.h>
#include <stddef.h>

#include "physics/controls.h"
#include "physics/soft.h"

#ifndef JOIN
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#endif

// (x, z) of a part's frame, turned as the part is.
BODY_INLINE MM_HD void planar_turn(vec sine, vec cosine, real x, real z, vec *to_x, vec *to_z) {
  *to_x = fused(all_of(z), sine, multiply(all_of(x), cosine));
  *to_z = fused_minus(all_of(x), sine, multiply(all_of(z), cosine));
}

#endif
