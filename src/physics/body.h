// SPDX-License-Identifier: Apache-2.0
// The bodies: how they are built, with every number that follows from their sizes.
//
// A body is a tree of rigid parts. Masses, centres, inertias and inverse weights are worked out in
// double precision from capsules and joints; engines take what they need from the table, and tests
// hold it against what the MuJoCo library makes of our model files.

#ifndef MM_PHYSICS_BODY_H
#define MM_PHYSICS_BODY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// All of them: X(NAME, name, ID, flavours that have CUDA kernels: BRAX or BOTH). A body is a line
// here, physics/bodies/<name>.h (how it is built), env/locomotion/<name>.h (what is asked of it),
// and models/<name>_*.xml for the MuJoCo library.
#define MM_BODY_LIST(X)                                                                            \
  X(HOPPER, hopper, "Hopper", BRAX)                                                                \
  X(HALF_CHEETAH, half_cheetah, "HalfCheetah", BOTH)                                               \
  X(ANT, ant, "Ant", BRAX)                                                                         \
  X(WALKER2D, walker2d, "Walker2d", BOTH)

#define MM_BODY_ENUM(NAME, name, id, kernels) MM_BODY_##NAME,
typedef enum mm_body { MM_BODY_LIST(MM_BODY_ENUM) MM_BODY_COUNT } mm_body;

// Contact set, integrator and start pose: of brax, or of Gymnasium's -v4.
typedef enum mm_flavour { MM_FLAVOUR_BRAX, MM_FLAVOUR_GYMNASIUM, MM_FLAVOUR_COUNT } mm_flavour;

enum {
  MM_BODY_MOST_Q = 15,        // coordinates
  MM_BODY_MOST_V = 14,        // velocities
  MM_BODY_MOST_U = 8,         // motors
  MM_BODY_MOST_PARTS = 9,     // parts
  MM_BODY_MOST_CAPSULES = 13, // pieces of which the parts are made
  MM_BODY_MOST_TOUCHES = 26,  // spheres that can touch the floor
};

// What is known without working anything out.
typedef struct mm_body_info {
  const char *name;   // "Hopper"
  int32_t nq, nv, nu; // coordinates, velocities, motors
  int32_t n_obs;
  double h;         // seconds of a physics step
  int32_t substeps; // physics steps of an environment step
  // of Newton's method in a physics step, by default, at most: more where more touches
  int32_t iterations[MM_FLAVOUR_COUNT];
  // [nu] the velocity that each motor drives, in the order of the actions; its coordinate is one
  // further for a body with a free joint, else the same
  int32_t motor[MM_BODY_MOST_U];
  double start[MM_FLAVOUR_COUNT][MM_BODY_MOST_Q]; // the pose around which episodes start
  double height[MM_FLAVOUR_COUNT];                // of the torso is this plus coordinate z_index
  int32_t z_index;
  bool free_root;                    // in space: coordinates 3 to 6 are a quaternion
  bool reads_xpos[MM_FLAVOUR_COUNT]; // its reward reads xpos of the torso (mm_physics)
} mm_body_info;

const mm_body_info *mm_body_describe(mm_body body);

// Of the file below models/, without its ending: "hopper_brax".
const char *mm_body_model_name(mm_body body, mm_flavour flavour);

// ---------------------------------------------------------------------------------------------
// The table

// Vectors are x, y, z in the zero pose, in which all frames are parallel to the world's.
typedef struct mm_part {
  const char *name;
  int32_t parent;        // -1: none, the root
  double anchor[3];      // of its joint, seen from its parent's anchor; the root's is 0
  double mass;           // kg
  double centre[3];      // of mass, from the own anchor
  double inertia[6];     // about the centre: xx, yy, zz, xy, xz, yz
  double inverse_weight; // mean of the diagonal of J M^-1 J^T at the centre; the zero pose
} mm_part;

// One velocity: along an axis or about it.
typedef struct mm_dof {
  const char *name;
  int32_t part;
  bool hinge, limited;
  double axis[3];
  double low, high; // of the coordinate, where it is limited
  double stiffness, damping, armature, gear;
  double inverse_weight; // diagonal of M^-1; for a free joint the mean over three
} mm_dof;

// A piece of a part, for masses and for pictures. Ends are the centres of its two half spheres,
// from the part's anchor; a ball has both at the same place.
typedef struct mm_capsule {
  int32_t part;
  double from[3], to[3], radius;
} mm_capsule;

// A sphere that can touch the floor.
typedef struct mm_touch {
  int32_t part;
  double centre[3]; // from the part's anchor
  double radius;
  double friction;       // of the pair
  double inverse_weight; // of the body that MuJoCo has there
} mm_touch;

// Impedance of a soft constraint: dmin, dmax, width (midpoint 1/2, power 2; time constant 0.02,
// damping ratio 1).
typedef struct mm_impedance {
  double low, high, width;
} mm_impedance;

typedef struct mm_body_table {
  mm_body body;
  mm_flavour flavour;
  int32_t n_part, n_dof, n_capsule, n_touch;
  mm_part part[MM_BODY_MOST_PARTS];
  mm_dof dof[MM_BODY_MOST_V];
  mm_capsule capsule[MM_BODY_MOST_CAPSULES];
  mm_touch touch[MM_BODY_MOST_TOUCHES];
  bool free_root;
  double height; // of the root's anchor above the floor where all coordinates are 0
  double margin; // distance from which on a contact counts
  mm_impedance contact, limit;
} mm_body_table;

void mm_body_derive(mm_body body, mm_flavour flavour, mm_body_table *out);

// Where the capsules are in the world at the coordinates q [nq]: ends[i] = from, to.
void mm_body_place(const mm_body_table *table, const double *q,
                   double ends[MM_BODY_MOST_CAPSULES][2][3]);

#ifdef __cplusplus
}
#endif

#endif
