// SPDX-License-Identifier: Apache-2.0
// The table of families.

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "map/family.h"
#include "map/foreign.h"
#include "map/table.h"

#include "map/kinds_all.inc"

static const mm_map_family *const families[MM_MAP_KINDS] = {
#define FAMILY(KIND, name) &name##_family,
  MM_MAP_LIST(FAMILY)
#undef FAMILY
};

_Static_assert((int)MM_MAP_KINDS_MOST == (int)MM_MAP_KINDS + (int)MM_FOREIGN_MOST, "room");

size_t mm_map_kind_count(void) {
  return MM_MAP_KINDS + mm_foreign_count();
}

const mm_map_family *mm_map_family_of(mm_map_kind kind) {
  return kind < MM_MAP_KINDS ? families[kind] : mm_foreign_family((size_t)kind - MM_MAP_KINDS);
}

const char *mm_map_kind_name(mm_map_kind kind) {
  static const char *const names[MM_MAP_KINDS] = {
#define NAME(KIND, name) #name,
    MM_MAP_LIST(NAME)
#undef NAME
  };
  if ((unsigned)kind < MM_MAP_KINDS) return names[kind];
  const mm_plugin_potential *law = mm_foreign_law((size_t)kind - MM_MAP_KINDS);
  return law ? law->name : "unknown";
}

const char *mm_map_kind_names(bool (*belongs)(mm_map_kind kind), char out[MM_MAP_NAMES_SIZE]) {
  const int kinds = (int)mm_map_kind_count();
  int count = 0, n = 0;
  for (int i = 0; i < kinds; i++)
    count += !belongs || belongs((mm_map_kind)i);
  size_t length = 0;
  for (int i = 0; i < kinds; i++) {
    if (belongs && !belongs((mm_map_kind)i)) continue;
    const char *between = n == 0 ? "" : n + 1 == count ? " or " : ", ";
    length += (size_t)snprintf(out + length, MM_MAP_NAMES_SIZE - length, "%s%s", between,
                               mm_map_kind_name((mm_map_kind)i));
    n++;
  }
  return out;
}

// ---------------------------------------------------------------------------------------------
// Families to search in, in the order of the setting `kind`

enum { SEARCHED_MOST = 4 + MM_FOREIGN_MOST };

char mm_map_search_words[64 * (SEARCHED_MOST + 1)] = "neural|piecewise|tsallis|powers";
const char *mm_map_search_names[SEARCHED_MOST + 1] = { "neural", "piecewise", "tsallis", "powers" };
static mm_map_kind searched[SEARCHED_MOST] = { MM_MAP_NEURAL, MM_MAP_PIECEWISE, MM_MAP_TSALLIS,
                                               MM_MAP_POWERS };
static size_t n_searched = 4;

mm_map_kind mm_map_search_kind(size_t i) {
  return searched[i];
}

void mm_map_search_add(mm_map_kind kind) {
  const char *name = mm_map_kind_name(kind);
  size_t used = strlen(mm_map_search_words);
  snprintf(mm_map_search_words + used, sizeof mm_map_search_words - used, "|%s", name);
  mm_map_search_names[n_searched] = name;
  searched[n_searched++] = kind;
}
