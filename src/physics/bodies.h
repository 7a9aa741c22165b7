// The bodies of MM_BODY_LIST, each with its table and its steps. [host/device]

#ifndef MM_PHYSICS_BODIES_H
#define MM_PHYSICS_BODIES_H

#include "physics/bodies/ant.h"
#include "physics/bodies/half_cheetah.h"
#include "physics/bodies/hopper.h"
#include "physics/bodies/walker2d.h"

#endif
