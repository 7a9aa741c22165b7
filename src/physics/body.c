// The bodies as they are described: parts, joints, capsules and what touches the floor. All numbers
// that follow from these are worked out in body_derive.c.

#include "physics/body.h"

#include <string.h>

#include "physics/body_build.h"
#include "physics/sincos.h"

static const mm_body_info infos[MM_BODY_COUNT] = {
  [MM_BODY_HOPPER] = { .name = "Hopper",
                       .nq = 6,
                       .nv = 6,
                       .nu = 3,
                       .n_obs = 11,
                       .h = 0.002,
                       .substeps = 4,
                       .iterations = 4,
                       .motor = { 3, 4, 5 },
                       .start = { { 0 }, { 0, 1.25 } },
                       .height = { 1.25, 0 },
                       .z_index = 1 },
  [MM_BODY_HALF_CHEETAH] = { .name = "HalfCheetah",
                             .nq = 9,
                             .nv = 9,
                             .nu = 6,
                             .n_obs = 17,
                             .h = 0.01,
                             .substeps = 5,
                             .iterations = 8,
                             .motor = { 3, 4, 5, 6, 7, 8 },
                             .height = { 0.7, 0.7 },
                             .z_index = 1 },
  [MM_BODY_ANT] = { .name = "Ant",
                    .nq = 15,
                    .nv = 14,
                    .nu = 8,
                    .n_obs = 27,
                    .h = 0.01,
                    .substeps = 5,
                    .iterations = 8,
                    .motor = { 12, 13, 6, 7, 8, 9, 10, 11 },
                    .start = { { 0, 0, 0.55, 1, 0, 0, 0, 0, 1, 0, -1, 0, -1, 0, 1 },
                               { 0, 0, 0.75, 1 } },
                    .z_index = 2 },
};

const mm_body_info *mm_body_describe(mm_body body) {
  return &infos[body];
}

int32_t mm_body_iterations(mm_body body, mm_flavour flavour) {
  const bool ant = body == MM_BODY_ANT && flavour == MM_FLAVOUR_GYMNASIUM;
  return infos[body].iterations + (ant ? 2 : 0);
}

// ---------------------------------------------------------------------------------------------
// Pieces of a description

#define PI 3.14159265358979323846

static double radians(double degrees) {
  return degrees * (PI / 180);
}

// A part whose frame is at `frame` in its parent's, with its joint at `joint` in its own.
static int32_t add_part(mm_body_build *b, const char *name, int32_t parent, const double frame[3],
                        const double joint[3]) {
  int32_t i = b->table->n_part++;
  mm_part *part = &b->table->part[i];
  part->name = name;
  part->parent = parent;
  memcpy(b->joint[i], joint, sizeof b->joint[i]);
  for (int k = 0; k < 3 && parent >= 0; k++)
    part->anchor[k] = frame[k] + joint[k] - b->joint[parent][k];
  return i;
}

static mm_dof *add_dof(mm_body_build *b, const char *name, int32_t part, bool hinge, double x,
                       double y, double z) {
  mm_dof *dof = &b->table->dof[b->table->n_dof++];
  *dof = (mm_dof){ .name = name, .part = part, .hinge = hinge, .axis = { x, y, z } };
  return dof;
}

static void limit(mm_dof *dof, double low, double high) {
  dof->limited = true;
  dof->low = low;
  dof->high = high;
}

// A capsule with the centres of its ends at `from` and `to` in the frame of its part.
static int32_t add_capsule(mm_body_build *b, int32_t part, const double from[3], const double to[3],
                           double radius) {
  int32_t i = b->table->n_capsule++;
  mm_capsule *capsule = &b->table->capsule[i];
  capsule->part = part;
  capsule->radius = radius;
  for (int k = 0; k < 3; k++) {
    capsule->from[k] = from[k] - b->joint[part][k];
    capsule->to[k] = to[k] - b->joint[part][k];
  }
  return i;
}

// The same in the plane y = 0: centre, half its length, and its tilt about y from upright.
static int32_t add_planar(mm_body_build *b, int32_t part, double x, double z, double half,
                          double radius, double tilt) {
  double s, c;
  mm_sincos_d(tilt, &s, &c);
  double from[3] = { x + half * s, 0, z + half * c }, to[3] = { x - half * s, 0, z - half * c };
  return add_capsule(b, part, from, to, radius);
}

static void add_planar_root(mm_body_build *b) {
  add_dof(b, "rootx", 0, false, 1, 0, 0);
  add_dof(b, "rootz", 0, false, 0, 0, 1);
  add_dof(b, "rooty", 0, true, 0, 1, 0);
}

// ---------------------------------------------------------------------------------------------
// Hopper

typedef struct hopper_part {
  const char *name;
  double frame[3], joint[3], x, z, half, radius, tilt, low, high, friction;
} hopper_part;

static const hopper_part hopper_parts[] = {
  { "torso", { 0, 0, 0 }, { 0, 0, 0 }, 0, 0, 0.2, 0.05, 0, 0, 0, 1 },
  { "thigh", { 0, 0, -0.2 }, { 0, 0, 0 }, 0, -0.225, 0.225, 0.05, 0, -150, 0, 1 },
  { "leg", { 0, 0, -0.7 }, { 0, 0, 0.25 }, 0, 0, 0.25, 0.04, 0, -150, 0, 1 },
  { "foot", { 0.13, 0, -0.35 }, { -0.13, 0, 0.1 }, -0.065, 0.1, 0.195, 0.06, PI / 2, -45, 45, 2 },
};

static void build_hopper(mm_body_build *b, bool all_touch) {
  mm_body_table *t = b->table;
  t->margin = 0.001;
  t->contact = (mm_impedance){ 0.8, 0.8, 0.01 };
  t->limit = (mm_impedance){ 0.9, 0.95, 0.001 };
  add_planar_root(b);
  for (int32_t i = 0; i < 4; i++) {
    const hopper_part *p = &hopper_parts[i];
    int32_t part = add_part(b, p->name, i - 1, p->frame, p->joint);
    int32_t c = add_planar(b, part, p->x, p->z, p->half, p->radius, p->tilt);
    b->density[c] = 1000;
    b->friction[c] = p->friction;
    b->touches[c] = all_touch || i == 3;
    if (i == 0) continue;
    mm_dof *dof = add_dof(b, p->name, part, true, 0, -1, 0);
    limit(dof, radians(p->low), radians(p->high));
    dof->armature = dof->damping = 1;
    dof->gear = 200;
  }
}

// ---------------------------------------------------------------------------------------------
// HalfCheetah

typedef struct cheetah_part {
  const char *name;
  int32_t parent;
  double frame[3], x, z, half, tilt;
  bool touches;
  double low, high, stiffness, damping, gear;
} cheetah_part;

static const cheetah_part cheetah_parts[] = {
  { "torso", -1, { 0, 0, 0 }, 0, 0, 0.5, PI / 2, false, 0, 0, 0, 0, 0 },
  { "bthigh", 0, { -0.5, 0, 0 }, 0.1, -0.13, 0.145, -3.8, true, -0.52, 1.05, 240, 6, 120 },
  { "bshin", 1, { 0.16, 0, -0.25 }, -0.14, -0.07, 0.15, -2.03, false, -0.785, 0.785, 180, 4.5, 90 },
  { "bfoot", 2, { -0.28, 0, -0.14 }, 0.03, -0.097, 0.094, -0.27, true, -0.4, 0.785, 120, 3, 60 },
  { "fthigh", 0, { 0.5, 0, 0 }, -0.07, -0.12, 0.133, 0.52, true, -1.0, 0.7, 180, 4.5, 120 },
  { "fshin", 4, { -0.14, 0, -0.24 }, 0.065, -0.09, 0.106, -0.6, false, -1.2, 0.87, 120, 3, 60 },
  { "ffoot", 5, { 0.13, 0, -0.18 }, 0.045, -0.07, 0.07, -0.6, true, -0.5, 0.5, 60, 1.5, 30 },
};

static void add_cheetah_capsule(mm_body_build *b, int32_t part, double x, double z, double half,
                                double tilt, bool touches) {
  int32_t c = add_planar(b, part, x, z, half, 0.046, tilt);
  b->density[c] = 1000;
  b->friction[c] = 0.4;
  b->touches[c] = touches;
}

static void build_half_cheetah(mm_body_build *b, bool all_touch) {
  static const double at_origin[3] = { 0, 0, 0 };
  mm_body_table *t = b->table;
  t->contact = (mm_impedance){ 0.0001, 0.8, 0.01 };
  t->limit = (mm_impedance){ 0.0001, 0.8, 0.03 };
  b->total_mass = 14;
  add_planar_root(b);
  for (int32_t i = 0; i < 7; i++) {
    const cheetah_part *p = &cheetah_parts[i];
    int32_t part = add_part(b, p->name, p->parent, p->frame, at_origin);
    add_cheetah_capsule(b, part, p->x, p->z, p->half, p->tilt, all_touch || p->touches);
    if (i == 0) {
      add_cheetah_capsule(b, part, 0.6, 0.1, 0.15, 0.87, true); // the head
      continue;
    }
    mm_dof *dof = add_dof(b, p->name, part, true, 0, 1, 0);
    limit(dof, p->low, p->high);
    dof->stiffness = p->stiffness;
    dof->damping = p->damping;
    dof->armature = 0.1;
    dof->gear = p->gear;
  }
}

// ---------------------------------------------------------------------------------------------
// Ant

typedef struct ant_leg {
  double x, y; // quadrant
  const char *upper, *lower, *hip, *ankle;
  double axis_x; // of the ankle, before it is normalised; its y is 1
  double low, high;
} ant_leg;

static const ant_leg ant_legs[4] = {
  { 1, 1, "upper_1", "lower_1", "hip_1", "ankle_1", -1, 30, 70 },
  { -1, 1, "upper_2", "lower_2", "hip_2", "ankle_2", 1, -70, -30 },
  { -1, -1, "upper_3", "lower_3", "hip_3", "ankle_3", -1, -70, -30 },
  { 1, -1, "upper_4", "lower_4", "hip_4", "ankle_4", 1, 30, 70 },
};

static void add_ant_capsule(mm_body_build *b, int32_t part, const double to[3], double radius,
                            bool touches) {
  static const double origin[3] = { 0, 0, 0 };
  int32_t c = add_capsule(b, part, origin, to, radius);
  b->density[c] = 5;
  b->friction[c] = 1;
  b->touches[c] = touches;
  b->own_body[c] = part == 0;
}

static void drive(mm_dof *dof, double low, double high) {
  limit(dof, radians(low), radians(high));
  dof->armature = dof->damping = 1;
  dof->gear = 150;
}

static void add_ant_leg(mm_body_build *b, const ant_leg *leg, bool all_touch) {
  static const double origin[3] = { 0, 0, 0 };
  const double e[3] = { 0.2 * leg->x, 0.2 * leg->y, 0 }, e2[3] = { 0.4 * leg->x, 0.4 * leg->y, 0 };
  const double unit = sqrt(0.5);
  add_ant_capsule(b, 0, e, 0.08, all_touch);
  int32_t upper = add_part(b, leg->upper, 0, e, origin);
  add_ant_capsule(b, upper, e, 0.08, all_touch);
  drive(add_dof(b, leg->hip, upper, true, 0, 0, 1), -30, 30);
  int32_t lower = add_part(b, leg->lower, upper, e, origin);
  add_ant_capsule(b, lower, e2, 0.08, all_touch);
  drive(add_dof(b, leg->ankle, lower, true, leg->axis_x * unit, unit, 0), leg->low, leg->high);
}

// brax: a foot is a sphere without mass at the end of a leg, which is the capsule's own end; its
// other end touches nothing.
static void build_ant(mm_body_build *b, bool all_touch) {
  static const double origin[3] = { 0, 0, 0 };
  static const char *const name[6] = { "x", "y", "z", "turn_x", "turn_y", "turn_z" };
  mm_body_table *t = b->table;
  t->margin = all_touch ? 0.01 : 0;
  t->contact = t->limit = (mm_impedance){ 0.9, 0.95, 0.001 };
  add_part(b, "torso", -1, origin, origin);
  for (int k = 0; k < 6; k++)
    add_dof(b, name[k], 0, k >= 3, k % 3 == 0, k % 3 == 1, k % 3 == 2);
  add_ant_capsule(b, 0, origin, 0.25, all_touch);
  for (int i = 0; i < 4; i++)
    add_ant_leg(b, &ant_legs[i], all_touch);
}

// ---------------------------------------------------------------------------------------------

void mm_body_derive(mm_body body, mm_flavour flavour, mm_body_table *out) {
  mm_body_build build = { .table = out };
  bool all_touch = flavour == MM_FLAVOUR_GYMNASIUM;
  *out = (mm_body_table){ .body = body, .flavour = flavour };
  out->height = infos[body].height[flavour];
  if (body == MM_BODY_HOPPER) build_hopper(&build, all_touch);
  if (body == MM_BODY_HALF_CHEETAH) build_half_cheetah(&build, all_touch);
  if (body == MM_BODY_ANT) build_ant(&build, all_touch);
  mm_body_weigh(&build);
}
