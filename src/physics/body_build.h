// SPDX-License-Identifier: Apache-2.0
// A body while it is put together, and how a planar one is described: physics/bodies/<name>.h.

#ifndef MM_PHYSICS_BODY_BUILD_H
#define MM_PHYSICS_BODY_BUILD_H

#include "physics/body.h"

#define MM_HALF_PI (3.14159265358979323846 / 2)
#define MM_DEGREES(x) ((x) * (3.14159265358979323846 / 180))

// What a table is made from beside the table itself.
typedef struct mm_body_build {
  mm_body_table *table;
  double joint[MM_BODY_MOST_PARTS][3]; // anchor of the part in its own frame
  double density[MM_BODY_MOST_CAPSULES], friction[MM_BODY_MOST_CAPSULES];
  bool touches[MM_BODY_MOST_CAPSULES];
  bool far_end[MM_BODY_MOST_CAPSULES];  // of those that touch: only where it goes to
  bool own_body[MM_BODY_MOST_CAPSULES]; // MuJoCo has it as a body of its own, fixed to the part
  double total_mass;                    // 0: as the densities say
} mm_body_build;

// ---------------------------------------------------------------------------------------------
// A body in the plane y = 0: numbers are x and z

// A part and the hinge that carries it, about y; the root has neither frame nor hinge.
typedef struct mm_planar_part {
  const char *name; // of the hinge too
  int32_t parent;
  double frame[2]; // in the parent's
  double joint[2]; // the hinge, in its own
  double low, high, stiffness, damping, armature, gear;
} mm_planar_part;

typedef struct mm_planar_capsule {
  int32_t part;
  double x, z, half, radius; // centre, half the length of its axis
  double tilt;               // about y, from upright
  double friction;           // against the floor
  bool touches;              // the floor of brax; that of Gymnasium all do
} mm_planar_capsule;

typedef struct mm_planar {
  int32_t n_part, n_capsule;
  const mm_planar_part *part;
  const mm_planar_capsule *capsule; // in the order of their parts
  double axis;                      // of the hinges along y: 1 or -1
  double total_mass;                // 0: by the density of 1000
  double margin;
  mm_impedance contact, limit;
} mm_planar;

// ---------------------------------------------------------------------------------------------

typedef struct mm_body_design {
  mm_body_info info;
  mm_planar planar;                                    // of a planar one
  void (*build)(mm_body_build *build, bool all_touch); // of any other
} mm_body_design;

// A part whose frame is at `frame` in its parent's, with its joint at `joint` in its own.
int32_t mm_body_add_part(mm_body_build *build, const char *name, int32_t parent,
                         const double frame[3], const double joint[3]);
mm_dof *mm_body_add_dof(mm_body_build *build, const char *name, int32_t part, bool hinge,
                        const double axis[3]);
void mm_body_limit(mm_dof *dof, double low, double high);
// A capsule with the centres of its ends at `from` and `to` in the frame of its part.
int32_t mm_body_add_capsule(mm_body_build *build, int32_t part, const double from[3],
                            const double to[3], double radius);

// Masses, centres, inertias; the spheres that touch; inverse weights.
void mm_body_weigh(mm_body_build *build);

#endif
