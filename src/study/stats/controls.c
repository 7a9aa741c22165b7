// SPDX-License-Identifier: Apache-2.0
#include "study/stats/controls.h"

#include <stdio.h>
#include <string.h>

#include "map/family.h"

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
