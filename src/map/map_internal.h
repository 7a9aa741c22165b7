// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share about an mm_map, and how engines get at its potential.

#ifndef MM_MAP_MAP_INTERNAL_H
#define MM_MAP_MAP_INTERNAL_H

#include "base/arena.h"
#include "laws/schedule.h"
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
  // of a map that moves: its anchors, which it owns; its potentials are those of the last
  mm_map *stage[MM_STAGES_MAX];
  size_t n_stage; // 0: it does not
};

// Takes the anchors over, which are NULL then, and nothing when it fails.
mm_status mm_map_take_stages(mm_map **anchor, size_t n, mm_map **out);

// mm_map_from_search of `stages` anchors, one after the other in z.
mm_status mm_map_from_search_stages(mm_map_kind kind, size_t n, size_t stages, const double *z,
                                    mm_map **out);

// The map of a moment: the map itself, an anchor, or one between two anchors, made for it. Begins
// with zeros; *map must outlive it.
typedef struct mm_map_now {
  const mm_map *map;
  mm_map *own;
} mm_map_now;

// That of iteration t of a run (mm_moment_of).
mm_status mm_map_now_at(const mm_map *map, int64_t t, int64_t iterations, mm_map_now *now);
void mm_map_now_release(mm_map_now *now);

// ---------------------------------------------------------------------------------------------
// The scale of search coordinates, for families that have one: phi^-1 times a factor. Coordinates
// are not clipped here.

bool mm_map_search_has_scale(mm_map_kind kind);

// log (phi^-1(1) - phi^-1(from)), 0 <= from < 1; +inf where phi^-1(from) = -inf.
double mm_map_search_log_span(mm_map_kind kind, size_t n, const double *z, double from);
void mm_map_search_rescale(mm_map_kind kind, size_t n, double log_factor, double *z);

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
