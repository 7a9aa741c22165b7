// The planar bodies as constants for planar.inc: hopper, half_cheetah (brax' contacts) and
// half_cheetah_all (Gymnasium's: every capsule touches). [host/device]

#ifndef MM_PHYSICS_PLANAR_BODIES_H
#define MM_PHYSICS_PLANAR_BODIES_H

#include <stddef.h>

#include "physics/controls.h"
#include "physics/soft.h"

#ifndef JOIN
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#endif

// torso, thigh, leg, foot
#define PLANAR hopper
#define N_PART 4
#define N_TOUCH 2
#define PARENT(i) ((i)-1)
#define CARRIES(j, i) ((j) <= (i))
#define TOUCH_PART(k) 3
#define SIGN -1
#include "physics/planar.inc"
#include "physics/planar_end.inc"

// torso; thigh, shin, foot of the back leg; the same of the front leg
#define PLANAR half_cheetah
#define N_PART 7
#define N_TOUCH 10
#define PARENT(i) ((i) == 4 ? 0 : (i)-1)
#define CARRIES(j, i) ((j) == 0 || ((j) <= (i) && ((j) >= 4 || (i) < 4)))
#define TOUCH_PART(k) ((k) / 2 == 4 ? 6 : (k) / 2 < 2 ? (k) / 2 : (k) / 2 + 1)
#define SIGN 1
#include "physics/planar.inc"
#include "physics/planar_end.inc"

#define PLANAR half_cheetah_all
#define N_PART 7
#define N_TOUCH 16
#define PARENT(i) ((i) == 4 ? 0 : (i)-1)
#define CARRIES(j, i) ((j) == 0 || ((j) <= (i) && ((j) >= 4 || (i) < 4)))
#define TOUCH_PART(k) ((k) < 2 ? 0 : (k) / 2 - 1)
#define SIGN 1
#include "physics/planar.inc"
#include "physics/planar_end.inc"

#endif
