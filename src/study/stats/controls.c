// SPDX-License-Identifier: Apache-2.0
#include "study/stats/controls.h"

#include <stdio.h>
#include <string.h>

#include "map/family.h"
#include "mirrormap/study.h"

static const char tuned[] = ":tuned-eta";

const char *const mm_control_names[MM_CONTROLS] = {
  "negentropy",          "l2", "random", "initial", "negentropy:tuned-eta", "l2:tuned-eta",
  "tsallis:tuned-q-eta",
};

bool mm_control_tunes_q(const char *name) {
  return strcmp(name, mm_control_names[MM_CONTROL_TUNED_Q]) == 0;
}

bool mm_control_is_tuned(const char *name) {
  return strstr(name, tuned) != NULL || mm_control_tunes_q(name);
}

// The starting point of a search in that family.
static void name_initial(mm_map_kind family, double n, char out[MM_CONTROL_MAP_SIZE]) {
  if (family == MM_MAP_PIECEWISE)
    snprintf(out, MM_CONTROL_MAP_SIZE, "piecewise:%.0f", n);
  else
    snprintf(out, MM_CONTROL_MAP_SIZE, "%s%s", mm_map_kind_name(family),
             family == MM_MAP_TSALLIS ? ":2" : "");
}

// A control must come from the family of what it is a control for: that of the first map with
// parameters. Without one there is nothing to compare a random map with.
static mm_map_kind family_of(const mm_map *const *map, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const mm_map_kind kind = mm_map_get_kind(map[i]);
    if (kind == MM_MAP_PIECEWISE || kind == MM_MAP_NEURAL) return kind;
  }
  return MM_MAP_KINDS;
}

size_t mm_study_controls(const mm_map *const *map, size_t n, bool full,
                         char name[MM_STUDY_CONTROLS_MAX][MM_STUDY_NAME_SIZE]) {
  const mm_map_kind family = family_of(map, n);
  const bool learned = family != MM_MAP_KINDS;
  size_t k = 0;
  snprintf(name[k++], MM_STUDY_NAME_SIZE, "negentropy");
  snprintf(name[k++], MM_STUDY_NAME_SIZE, "l2");
  if (learned) mm_control_map(mm_control_names[MM_CONTROL_RANDOM], family, 0, name[k++]);
  if (!full) return k;
  snprintf(name[k++], MM_STUDY_NAME_SIZE, "tsallis:0.5");
  snprintf(name[k++], MM_STUDY_NAME_SIZE, "tsallis:1.5");
  if (learned) snprintf(name[k++], MM_STUDY_NAME_SIZE, "%s", mm_map_kind_name(family));
  for (int i = MM_CONTROL_TUNED; i < MM_CONTROLS; i++)
    snprintf(name[k++], MM_STUDY_NAME_SIZE, "%s", mm_control_names[i]);
  return k;
}

const char *mm_control_map(const char *name, mm_map_kind family, double n,
                           char out[MM_CONTROL_MAP_SIZE]) {
  const char *tail = strstr(name, tuned);
  if (strcmp(name, mm_control_names[MM_CONTROL_RANDOM]) == 0)
    snprintf(out, MM_CONTROL_MAP_SIZE, "%s:0", mm_map_family_of(family)->random_name);
  else if (strcmp(name, mm_control_names[MM_CONTROL_INITIAL]) == 0)
    name_initial(family, n, out);
  else if (mm_control_tunes_q(name))
    name_initial(MM_MAP_TSALLIS, n, out);
  else
    snprintf(out, MM_CONTROL_MAP_SIZE, "%.*s", (int)(tail ? tail - name : (long)strlen(name)),
             name);
  return out;
}
