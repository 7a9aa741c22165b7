// SPDX-License-Identifier: Apache-2.0
// Stands in for mujoco.c where the library was not found at configure time.

#include "base/status.h"
#include "physics/physics.h"

static mm_status open_missing(mm_physics *physics) {
  (void)physics;
  return MM_FAIL(MM_ERR_UNSUPPORTED, "physics=mujoco: this program was built without the MuJoCo "
                                     "library (Debian: libmujoco-dev)");
}

static void close_missing(mm_physics *physics) {
  (void)physics;
}

static void step_missing(mm_physics *physics, size_t from, size_t to, const float *action) {
  (void)physics;
  (void)from;
  (void)to;
  (void)action;
}

const mm_engine_law mm_engine_mujoco = { "mujoco", open_missing, close_missing, step_missing };
