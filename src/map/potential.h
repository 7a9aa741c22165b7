// SPDX-License-Identifier: Apache-2.0
// The potential phi of each kind of map and its inverse, for one number at a time. [host/device]
//
// phi and phi(x - c) are the same mirror map, so everything here is *anchored*: y = x - phi^-1(1),
// which puts phi(0) = 1 for every kind. Probabilities then live at y <= 0, near which numbers are
// dense, and lambda needs no large offset until the very end.
//
// mm_potential_d and mm_potential_f are plain structs of numbers and pointers; src/map/map.c makes
// them, the engines copy them to where they run.

#ifndef MM_MAP_POTENTIAL_H
#define MM_MAP_POTENTIAL_H

#include <stdint.h>

#include "base/elementary.h"
#include "base/hostdev.h"
#include "mirrormap/map.h"

enum {
  MM_BINS = 256,        // uniform bins over [-W, 0] that start the search for a piecewise segment
  MM_TREE_LEAST = 7,    // levels of the search tree of piecewise maps for rows side by side ...
  MM_TREE_MOST = 10,    // ... and the most that one has; larger maps do without
  MM_BLOCK = 21,        // units of one kind in a neural map
  MM_TABLE_ROOT = 1024, // cells of a neural map's table over [0, 1] ...
  MM_TABLE_SPLIT = 8    // ... and the parts a cell is cut into where that is not fine enough
};

#define MM_LOG_UNIT_OFFSET 1e-3 // the unit log((z)+ + 1e-3)

#define MM_REAL_BITS 64
#include "map/potential.inc"

#define MM_REAL_BITS 32
#include "map/potential.inc"

#endif
