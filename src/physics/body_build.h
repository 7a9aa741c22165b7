// A body while it is put together: private to body.c and body_derive.c.

#ifndef MM_PHYSICS_BODY_BUILD_H
#define MM_PHYSICS_BODY_BUILD_H

#include "physics/body.h"

// What a table is made from beside the table itself.
typedef struct mm_body_build {
  mm_body_table *table;
  double joint[MM_BODY_MOST_PARTS][3]; // anchor of the part in its own frame
  double density[MM_BODY_MOST_CAPSULES], friction[MM_BODY_MOST_CAPSULES];
  bool touches[MM_BODY_MOST_CAPSULES];
  bool own_body[MM_BODY_MOST_CAPSULES]; // MuJoCo has it as a body of its own, fixed to the part
  double total_mass;                    // 0: as the densities say
} mm_body_build;

// Masses, centres, inertias; the spheres that touch; inverse weights.
void mm_body_weigh(mm_body_build *build);

#endif
