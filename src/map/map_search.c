// Search coordinates: the unconstrained numbers that evolution works on, for the families that have
// them.

#include <math.h>

#include "base/status.h"
#include "map/family.h"

size_t mm_map_search_size(mm_map_kind kind, size_t n) {
  const mm_map_family *family = mm_map_family_of(kind);
  return family->search_steps ? n * family->search_per_step : family->search_size;
}

static bool is_searched(mm_map_kind kind) {
  return mm_map_family_of(kind)->from_search != NULL;
}

static mm_status no_coordinates(mm_map_kind kind) {
  char all[MM_MAP_NAMES_SIZE];
  return MM_FAIL(MM_ERR_INPUT, "%s maps have no search coordinates: expected %s",
                 mm_map_kind_name(kind), mm_map_kind_names(is_searched, all));
}

mm_status mm_map_search_initial(mm_map_kind kind, size_t n, double *z) {
  const mm_map_family *family = mm_map_family_of(kind);
  if (!family->search_initial) return no_coordinates(kind);
  family->search_initial(n, z);
  return MM_OK;
}

mm_status mm_map_from_search(mm_map_kind kind, size_t n, const double *z, mm_map **out) {
  const mm_map_family *family = mm_map_family_of(kind);
  *out = NULL;
  if (!family->from_search) return no_coordinates(kind);
  if (family->search_steps) MM_TRY(family->search_steps(n));
  for (size_t i = 0, size = mm_map_search_size(kind, n); i < size; i++)
    if (!isfinite(z[i]))
      return MM_FAIL(MM_ERR_INPUT, "search coordinate %zu is %g: expected a finite number", i,
                     z[i]);
  return family->from_search(z, n, out);
}

mm_status mm_map_to_search(const mm_map *map, double *z) {
  const mm_map_family *family = mm_map_family_of(map->exact.kind);
  if (!family->to_search) return no_coordinates(map->exact.kind);
  family->to_search(&map->exact, z);
  return MM_OK;
}
