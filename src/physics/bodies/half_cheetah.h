// SPDX-License-Identifier: Apache-2.0
// HalfCheetah: a runner with two legs of three joints each, in a plane. [host/device]

#ifndef MM_PHYSICS_BODIES_HALF_CHEETAH_H
#define MM_PHYSICS_BODIES_HALF_CHEETAH_H

#include "physics/body_build.h"
#include "physics/planar.h"

// the root; thigh, shin, foot of the back leg; the same of the front leg
#define N_PART 7
#define PARENT(i) ((i) == 4 ? 0 : (i)-1)
#define CARRIES(j, i) ((j) == 0 || ((j) <= (i) && ((j) >= 4 || (i) < 4)))
#define SIGN 1 // of the joints' axes
#define HALVING 0

#ifndef __cplusplus // the table is the host's

static const mm_planar_part half_cheetah_parts[] = {
  { .name = "torso", .parent = -1 },
  { "bthigh", 0, { -0.5, 0 }, { 0, 0 }, -0.52, 1.05, 240, 6, 0.1, 120 },
  { "bshin", 1, { 0.16, -0.25 }, { 0, 0 }, -0.785, 0.785, 180, 4.5, 0.1, 90 },
  { "bfoot", 2, { -0.28, -0.14 }, { 0, 0 }, -0.4, 0.785, 120, 3, 0.1, 60 },
  { "fthigh", 0, { 0.5, 0 }, { 0, 0 }, -1.0, 0.7, 180, 4.5, 0.1, 120 },
  { "fshin", 4, { -0.14, -0.24 }, { 0, 0 }, -1.2, 0.87, 120, 3, 0.1, 60 },
  { "ffoot", 5, { 0.13, -0.18 }, { 0, 0 }, -0.5, 0.5, 60, 1.5, 0.1, 30 },
};

static const mm_planar_capsule half_cheetah_capsules[] = {
  { 0, 0, 0, 0.5, 0.046, MM_HALF_PI, 0.4, false },
  { 0, 0.6, 0.1, 0.15, 0.046, 0.87, 0.4, true }, // the head
  { 1, 0.1, -0.13, 0.145, 0.046, -3.8, 0.4, true },
  { 2, -0.14, -0.07, 0.15, 0.046, -2.03, 0.4, false },
  { 3, 0.03, -0.097, 0.094, 0.046, -0.27, 0.4, true },
  { 4, -0.07, -0.12, 0.133, 0.046, 0.52, 0.4, true },
  { 5, 0.065, -0.09, 0.106, 0.046, -0.6, 0.4, false },
  { 6, 0.045, -0.07, 0.07, 0.046, -0.6, 0.4, true },
};

static const mm_body_design half_cheetah_design = {
  .info = { .name = "HalfCheetah",
            .nq = 9,
            .nv = 9,
            .nu = 6,
            .n_obs = 17,
            .h = 0.01,
            .substeps = 5,
            .iterations = { 8, 8 },
            .motor = { 3, 4, 5, 6, 7, 8 },
            .height = { 0.7, 0.7 },
            .z_index = 1 },
  .planar = { .n_part = N_PART,
              .part = half_cheetah_parts,
              .axis = SIGN,
              .n_capsule = 8,
              .capsule = half_cheetah_capsules,
              .total_mass = 14,
              .contact = { 0.0001, 0.8, 0.01 },
              .limit = { 0.0001, 0.8, 0.03 } },
};

#endif

#define PLANAR half_cheetah
#define N_TOUCH 10 // the ends of head, thighs and feet
#define TOUCH_PART(k) ((k) / 2 == 4 ? 6 : (k) / 2 < 2 ? (k) / 2 : (k) / 2 + 1)
#define RUNGE_KUTTA 0
#define N_PAIR 0
#include "physics/planar.inc"

#define PLANAR half_cheetah_all
#define N_TOUCH 16
#define TOUCH_PART(k) ((k) < 2 ? 0 : (k) / 2 - 1)
#define RUNGE_KUTTA 0
#define N_PAIR 0
#include "physics/planar.inc"
#include "physics/planar_end.inc"

#endif
