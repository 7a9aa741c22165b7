// What the files of this folder share about an mm_map, and how engines get at its potential.

#ifndef MM_MAP_MAP_INTERNAL_H
#define MM_MAP_MAP_INTERNAL_H

#include "base/arena.h"
#include "map/potential.h"
#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mm_map {
  mm_potential_d exact;  // neural: evaluates the units
  mm_potential_d engine; // neural: through the table
  mm_potential_f engine_f;
  double table_error, table_range;
  size_t n_cell;
  bool finite; // phi^-1 is finite on (0, 1]
  char *meta;  // JSON text or NULL
  double eta;  // the step size it was learned with; 0: none is known
  mm_arena arena;
};

// A map elsewhere: all arrays of its potentials lie in its arena, so a copy of these bytes and a
// potential that points into it are the map. `to` is where the copy is, maybe in another memory.
static inline const void *mm_map_moved_pointer(const mm_map *map, const void *p, const void *to) {
  if (!p) return NULL;
  return (const char *)to + ((const char *)p - (const char *)map->arena.base);
}

mm_potential_f mm_map_moved_f(const mm_map *map, const void *to); // of engine_f

// Keeps a copy of `text` (may be NULL) as the map's meta object.
mm_status mm_map_set_meta(mm_map *map, const char *text);

// The term int_q^p (phi^-1(x) - phi^-1(q)) dx >= 0 of the divergence, p, q >= 0 (a policy's are at
// most 1; beyond, a piecewise map goes on with slope 1).
double mm_bregman_term(const mm_potential_d *f, double p, double q);

// The same for s(w x + c), one unit of a neural map.
double mm_bregman_unit(int block, double w, double c, double p, double q);

#ifdef __cplusplus
}
#endif

#endif
