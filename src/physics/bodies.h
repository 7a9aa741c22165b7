// SPDX-License-Identifier: Apache-2.0
// The bodies of MM_BODY_LIST, each with its table and its steps. [host/device]

#ifndef MM_PHYSICS_BODIES_H
#define MM_PHYSICS_BODIES_H

#include "physics_bodies.h" // made by CMake from the list

#endif
