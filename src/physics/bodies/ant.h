// SPDX-License-Identifier: Apache-2.0
// Ant: a ball on four legs, in space. [host/device]

#ifndef MM_PHYSICS_BODIES_ANT_H
#define MM_PHYSICS_BODIES_ANT_H

#include "physics/ant_all.h"
#include "physics/body_build.h"

#ifndef __cplusplus // the table is the host's

typedef struct ant_leg {
  double x, y; // quadrant
  const char *upper, *lower, *hip, *ankle;
  double axis_x; // of the ankle, before it is normalised; its y is 1
  double low, high;
} ant_leg;

static const ant_leg ant_legs[4] = {
  { 1, 1, "upper_1", "lower_1", "hip_1", "ankle_1", -1, MM_DEGREES(30), MM_DEGREES(70) },
  { -1, 1, "upper_2", "lower_2", "hip_2", "ankle_2", 1, MM_DEGREES(-70), MM_DEGREES(-30) },
  { -1, -1, "upper_3", "lower_3", "hip_3", "ankle_3", -1, MM_DEGREES(-70), MM_DEGREES(-30) },
  { 1, -1, "upper_4", "lower_4", "hip_4", "ankle_4", 1, MM_DEGREES(30), MM_DEGREES(70) },
};

static inline int32_t ant_add_capsule(mm_body_build *b, int32_t part, const double to[3],
                                      double radius, bool touches) {
  static const double origin[3] = { 0, 0, 0 };
  int32_t c = mm_body_add_capsule(b, part, origin, to, radius);
  b->density[c] = 5;
  b->friction[c] = 1;
  b->touches[c] = touches;
  b->own_body[c] = part == 0;
  return c;
}

static inline void ant_add_joint(mm_body_build *b, const char *name, int32_t part,
                                 const double axis[3], double low, double high) {
  mm_dof *dof = mm_body_add_dof(b, name, part, true, axis);
  mm_body_limit(dof, low, high);
  dof->armature = dof->damping = 1;
  dof->gear = 150;
}

// brax: a foot is a sphere without mass at the end of a leg, which is the capsule's own end; its
// other end touches nothing.
static inline void ant_add_leg(mm_body_build *b, const ant_leg *leg, bool all_touch) {
  static const double origin[3] = { 0, 0, 0 }, up[3] = { 0, 0, 1 };
  const double e[3] = { 0.2 * leg->x, 0.2 * leg->y, 0 }, e2[3] = { 0.4 * leg->x, 0.4 * leg->y, 0 };
  const double unit = sqrt(0.5), across[3] = { leg->axis_x * unit, unit, 0 };
  ant_add_capsule(b, 0, e, 0.08, all_touch);
  int32_t upper = mm_body_add_part(b, leg->upper, 0, e, origin);
  ant_add_capsule(b, upper, e, 0.08, all_touch);
  ant_add_joint(b, leg->hip, upper, up, MM_DEGREES(-30), MM_DEGREES(30));
  int32_t lower = mm_body_add_part(b, leg->lower, upper, e, origin);
  b->far_end[ant_add_capsule(b, lower, e2, 0.08, true)] = !all_touch;
  ant_add_joint(b, leg->ankle, lower, across, leg->low, leg->high);
}

static inline void ant_build(mm_body_build *b, bool all_touch) {
  static const double origin[3] = { 0, 0, 0 };
  static const char *const name[6] = { "x", "y", "z", "turn_x", "turn_y", "turn_z" };
  mm_body_table *t = b->table;
  t->margin = all_touch ? 0.01 : 0;
  t->contact = t->limit = (mm_impedance){ 0.9, 0.95, 0.001 };
  mm_body_add_part(b, "torso", -1, origin, origin);
  for (int k = 0; k < 6; k++)
    mm_body_add_dof(b, name[k], 0, k >= 3, (const double[3]){ k % 3 == 0, k % 3 == 1, k % 3 == 2 });
  ant_add_capsule(b, 0, origin, 0.25, all_touch);
  for (int i = 0; i < 4; i++)
    ant_add_leg(b, &ant_legs[i], all_touch);
}

static const mm_body_design ant_design = {
  .info = { .name = "Ant",
            .nq = 15,
            .nv = 14,
            .nu = 8,
            .n_obs = 27,
            .h = 0.01,
            .substeps = 5,
            .iterations = { 8, 10 },
            .motor = { 12, 13, 6, 7, 8, 9, 10, 11 },
            .start = { { 0, 0, 0.55, 1, 0, 0, 0, 0, 1, 0, -1, 0, -1, 0, 1 }, { 0, 0, 0.75, 1 } },
            .z_index = 2,
            .free_root = true,
            .reads_xpos = { false, true } },
  .build = ant_build
};

#endif

#endif
