// SPDX-License-Identifier: Apache-2.0
// Many environments of one body, stepped side by side by an engine: our own, or the MuJoCo library.
//
// State is in columns: coordinate k of environment i is q[k * stride + i]. Environments do not know
// each other, so a state and an action alone decide the next state, whatever else is stepped
// with it; our own engine gives the same bits on every CPU.

#ifndef MM_PHYSICS_PHYSICS_H
#define MM_PHYSICS_PHYSICS_H

#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"
#include "physics/body.h"

typedef enum mm_engine { MM_ENGINE_OWN, MM_ENGINE_MUJOCO, MM_ENGINE_COUNT } mm_engine;

// Why an environment's last step diverged; MuJoCo's rules.
enum {
  MM_BAD_STATE = 1,  // a coordinate, velocity or acceleration above 1e10, or not a number: reset it
  MM_BAD_ACTION = 2, // a motor's control was so: all motors of the environment were left off
};
#define MM_PHYSICS_LARGEST 1e10f

typedef struct mm_physics_config {
  mm_body body;
  mm_flavour flavour;
  mm_engine engine;
  size_t n;
  int32_t iterations; // of Newton's method, at most; 0: the body's default
} mm_physics_config;

typedef struct mm_engine_law mm_engine_law;

typedef struct mm_physics {
  mm_physics_config config;
  const mm_body_info *info;
  const mm_engine_law *engine;
  size_t stride; // n rounded up to a multiple of 16
  float *q;      // [nq][stride]; x is q[0]
  float *v;      // [nv][stride]
  float *warm;   // [nv][stride] accelerations of the last physics step: where the next solve starts
  // [stride] where the reward of Gymnasium's Ant reads x (xpos of the torso), minus q[0]: a step
  // leaves xpos at its last look at the forces, which Runge and Kutta take beside the state that
  // they come to. 0 after a reset. NULL where the reward reads q[0].
  float *xpos_offset;
  uint8_t *bad; // [stride] MM_BAD_ bits of the last step
  void *own;    // the engine's
  void *block;  // all of the above
} mm_physics;

// How an engine does it. `open` may leave something in `own`; `close` also follows a failed `open`.
struct mm_engine_law {
  const char *name;
  mm_status (*open)(mm_physics *physics);
  void (*close)(mm_physics *physics);
  void (*step)(mm_physics *physics, size_t from, size_t to, const float *action);
};

extern const mm_engine_law mm_engine_own, mm_engine_mujoco;

// Environments at the start pose, at rest. MM_ERR_INPUT for values out of range,
// MM_ERR_UNSUPPORTED for a flavour that the engine does not have or a library that is missing.
mm_status mm_physics_create(const mm_physics_config *config, mm_physics **out);
void mm_physics_destroy(mm_physics *physics);

// The state of environment i: q [nq], v [nv]; warm [nv] may be NULL. What is set need not be
// normalised; a NULL warm start is zero. xpos_offset is not among them: setting a state makes it 0.
void mm_physics_get(const mm_physics *physics, size_t i, float *q, float *v, float *warm);
void mm_physics_set(mm_physics *physics, size_t i, const float *q, const float *v,
                    const float *warm);

// One environment step (`substeps` physics steps) of the environments from <= i < to with
// action [n][nu], clipped to [-1, 1]. Disjoint ranges may be stepped by different threads. A state
// that went bad on the way is left as it was before the step, for the caller to reset.
void mm_physics_step(mm_physics *physics, size_t from, size_t to, const float *action);

#endif
