// SPDX-License-Identifier: Apache-2.0
// What comes in and what goes out around the steps of all bodies. [host/device]

#ifndef MM_PHYSICS_CONTROLS_H
#define MM_PHYSICS_CONTROLS_H

#include "physics/lanes.h"
#include "physics/physics.h"

// Controls [n][LANES], clipped to [-1, 1]; false where one of them is bad: there all are 0.
MM_INLINE MM_HD mask read_controls(const real *controls, int n, vec *u) {
  mask ok = everywhere(1);
  UNROLL for (int k = 0; k < n; k++) {
    vec x = load(controls + k * LANES);
    ok = both(ok, below(size_of(x), all_of((real)MM_PHYSICS_LARGEST)));
    u[k] = least(all_of(1), greatest(all_of(-1), x));
  }
  UNROLL for (int k = 0; k < n; k++) u[k] = where(ok, u[k]);
  return ok;
}

MM_INLINE MM_HD void store_bad(mask state, mask controls, uint8_t *bad) {
  uint8_t good_state[LANES], good_controls[LANES];
  store_flags(good_state, state, MM_BAD_STATE);
  store_flags(good_controls, controls, MM_BAD_ACTION);
  for (int i = 0; i < LANES; i++)
    bad[i] = (uint8_t)((good_state[i] ^ MM_BAD_STATE) | (good_controls[i] ^ MM_BAD_ACTION));
}

#endif
