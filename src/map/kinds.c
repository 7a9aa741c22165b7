// The table of families.

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "map/family.h"
#include "map/table.h"

#include "map/kinds/all.inc"

static const mm_map_family *const families[MM_MAP_KINDS] = {
#define FAMILY(KIND, name) &name##_family,
  MM_MAP_LIST(FAMILY)
#undef FAMILY
};

const mm_map_family *mm_map_family_of(mm_map_kind kind) {
  return families[kind];
}

const char *mm_map_kind_name(mm_map_kind kind) {
  static const char *const names[MM_MAP_KINDS] = {
#define NAME(KIND, name) #name,
    MM_MAP_LIST(NAME)
#undef NAME
  };
  return (unsigned)kind < MM_MAP_KINDS ? names[kind] : "unknown";
}
