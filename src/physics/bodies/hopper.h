// SPDX-License-Identifier: Apache-2.0
// Hopper: a torso on one leg that hops forward, in a plane. [host/device]

#ifndef MM_PHYSICS_BODIES_HOPPER_H
#define MM_PHYSICS_BODIES_HOPPER_H

#include "physics/body_build.h"
#include "physics/planar.h"

#define N_PART 4
#define PARENT(i) ((i)-1)
#define CARRIES(j, i) ((j) <= (i))
#define SIGN -1 // of the joints' axes
#define HALVING 0

#ifndef __cplusplus // the table is the host's

static const mm_planar_part hopper_parts[] = {
  { .name = "torso", .parent = -1 },
  { "thigh", 0, { 0, -0.2 }, { 0, 0 }, MM_DEGREES(-150), 0, 0, 1, 1, 200 },
  { "leg", 1, { 0, -0.7 }, { 0, 0.25 }, MM_DEGREES(-150), 0, 0, 1, 1, 200 },
  { "foot", 2, { 0.13, -0.35 }, { -0.13, 0.1 }, MM_DEGREES(-45), MM_DEGREES(45), 0, 1, 1, 200 },
};

static const mm_planar_capsule hopper_capsules[] = {
  { 0, 0, 0, 0.2, 0.05, 0, 1, false },
  { 1, 0, -0.225, 0.225, 0.05, 0, 1, false },
  { 2, 0, 0, 0.25, 0.04, 0, 1, false },
  { 3, -0.065, 0.1, 0.195, 0.06, MM_HALF_PI, 2, true },
};

static const mm_body_design hopper_design = {
  .info = { .name = "Hopper",
            .nq = 6,
            .nv = 6,
            .nu = 3,
            .n_obs = 11,
            .h = 0.002,
            .substeps = 4,
            .iterations = { 4, 4 },
            .motor = { 3, 4, 5 },
            .start = { { 0 }, { 0, 1.25 } },
            .height = { 1.25, 0 },
            .z_index = 1 },
  .planar = { .n_part = N_PART,
              .part = hopper_parts,
              .axis = SIGN,
              .n_capsule = 4,
              .capsule = hopper_capsules,
              .margin = 0.001,
              .contact = { 0.8, 0.8, 0.01 },
              .limit = { 0.9, 0.95, 0.001 } },
};

#endif

#define PLANAR hopper
#define N_TOUCH 2 // the foot's ends
#define TOUCH_PART(k) 3
#define RUNGE_KUTTA 0
#define N_PAIR 0
#include "physics/planar.inc"

#define PLANAR hopper_all
#define N_TOUCH 8
#define TOUCH_PART(k) ((k) / 2)
#define RUNGE_KUTTA 1
#define N_PAIR 3 // torso and leg, torso and foot, thigh and foot
#define PAIR_UPPER(k) ((k) == 2 ? 1 : 0)
#define PAIR_LOWER(k) ((k) == 0 ? 2 : 3)
#include "physics/planar.inc"
#include "physics/planar_end.inc"

#endif
