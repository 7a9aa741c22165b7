// The table of families.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "map/family.h"
#include "map/table.h"

#include "map/kinds_all.inc"

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

const char *mm_map_kind_names(bool (*belongs)(mm_map_kind kind), char out[MM_MAP_NAMES_SIZE]) {
  int count = 0, n = 0;
  for (int i = 0; i < MM_MAP_KINDS; i++)
    count += !belongs || belongs((mm_map_kind)i);
  size_t length = 0;
  for (int i = 0; i < MM_MAP_KINDS; i++) {
    if (belongs && !belongs((mm_map_kind)i)) continue;
    const char *between = n == 0 ? "" : n + 1 == count ? " or " : ", ";
    length += (size_t)snprintf(out + length, MM_MAP_NAMES_SIZE - length, "%s%s", between,
                               mm_map_kind_name((mm_map_kind)i));
    n++;
  }
  return out;
}
