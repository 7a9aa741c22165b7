// SPDX-License-Identifier: Apache-2.0
// Walker2d: Hopper's torso on two legs with shorter feet, in a plane. [host/device]

#ifndef MM_PHYSICS_BODIES_WALKER2D_H
#define MM_PHYSICS_BODIES_WALKER2D_H

#include "physics/body_build.h"
#include "physics/planar.h"

// the torso; thigh, leg, foot of the right leg; the same of the left leg
#define N_PART 7
#define PARENT(i) ((i) == 4 ? 0 : (i)-1)
#define CARRIES(j, i) ((j) == 0 || ((j) <= (i) && ((j) >= 4 || (i) < 4)))
#define SIGN -1 // of the joints' axes
#define HALVING 1

#ifndef __cplusplus // the table is the host's

static const mm_planar_part walker2d_parts[] = {
  { .name = "torso", .parent = -1 },
  { "thigh", 0, { 0, -0.2 }, { 0, 0 }, -2.61799, 0, 0, 0.1, 0.01, 100 },
  { "leg", 1, { 0, -0.7 }, { 0, 0.25 }, -2.61799, 0, 0, 0.1, 0.01, 100 },
  { "foot", 2, { 0.2, -0.35 }, { -0.2, 0.1 }, -0.785398, 0.785398, 0, 0.1, 0.01, 100 },
  { "thigh_left", 0, { 0, -0.2 }, { 0, 0 }, -2.61799, 0, 0, 0.1, 0.01, 100 },
  { "leg_left", 4, { 0, -0.7 }, { 0, 0.25 }, -2.61799, 0, 0, 0.1, 0.01, 100 },
  { "foot_left", 5, { 0.2, -0.35 }, { -0.2, 0.1 }, -0.785398, 0.785398, 0, 0.1, 0.01, 100 },
};

static const mm_planar_capsule walker2d_capsules[] = {
  { 0, 0, 0, 0.2, 0.05, 0, 0.9, true },
  { 1, 0, -0.225, 0.225, 0.05, 0, 0.9, false },
  { 2, 0, 0, 0.25, 0.04, 0, 0.9, false },
  { 3, -0.1, 0.1, 0.1, 0.06, MM_HALF_PI, 0.9, true },
  { 4, 0, -0.225, 0.225, 0.05, 0, 0.9, false },
  { 5, 0, 0, 0.25, 0.04, 0, 0.9, false },
  { 6, -0.1, 0.1, 0.1, 0.06, MM_HALF_PI, 1.9, true }, // the left foot holds on better: so it is
};

static const mm_body_design walker2d_design = {
  .info = { .name = "Walker2d",
            .nq = 9,
            .nv = 9,
            .nu = 6,
            .n_obs = 17,
            .h = 0.002,
            .substeps = 4,
            .iterations = { 24, 24 },
            .motor = { 3, 4, 5, 6, 7, 8 },
            .start = { { 0 }, { 0, 1.25 } },
            .height = { 1.25, 0 },
            .z_index = 1 },
  .planar = { .n_part = N_PART,
              .part = walker2d_parts,
              .axis = SIGN,
              .n_capsule = 7,
              .capsule = walker2d_capsules,
              .contact = { 0.9, 0.95, 0.001 },
              .limit = { 0.9, 0.95, 0.001 } },
};

#endif

#define PLANAR walker2d
#define N_TOUCH 6 // the ends of torso and feet
#define TOUCH_PART(k) ((k) / 2 * 3)
#define RUNGE_KUTTA 0
#define N_PAIR 0
#include "physics/planar.inc"

#define PLANAR walker2d_all
#define N_TOUCH 14
#define TOUCH_PART(k) ((k) / 2)
#define RUNGE_KUTTA 1
#define N_PAIR 0
#include "physics/planar.inc"
#include "physics/planar_end.inc"

#endif
