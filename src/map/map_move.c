// Potentials whose arrays are in a copy of their map's block.

#include "map/map_internal.h"

#define MOVE(member) f.member = mm_map_moved_pointer(map, f.member, to)
#define MOVE_ALL                                                                                   \
  MOVE(psi);                                                                                       \
  MOVE(inverse_psi);                                                                               \
  MOVE(knot);                                                                                      \
  MOVE(depth);                                                                                     \
  MOVE(bin);                                                                                       \
  MOVE(tree);                                                                                      \
  MOVE(run);                                                                                       \
  MOVE(w);                                                                                         \
  MOVE(c);                                                                                         \
  MOVE(u);                                                                                         \
  MOVE(cell);

mm_potential_d mm_map_moved_d(const mm_map *map, const void *to) {
  mm_potential_d f = map->engine;
  MOVE_ALL
  return f;
}

mm_potential_f mm_map_moved_f(const mm_map *map, const void *to) {
  mm_potential_f f = map->engine_f;
  MOVE_ALL
  return f;
}
