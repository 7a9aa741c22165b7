#include "study/stats/controls.h"

#include <stdio.h>
#include <string.h>

static const char tuned[] = ":tuned-eta";

const char *const mm_control_names[MM_CONTROLS] = {
  "negentropy", "l2", "random", "initial", "negentropy:tuned-eta", "l2:tuned-eta",
};

bool mm_control_is_tuned(const char *name) {
  return strstr(name, tuned) != NULL;
}

const char *mm_control_map(const char *name, mm_map_kind family, double n,
                           char out[MM_CONTROL_MAP_SIZE]) {
  const bool neural = family == MM_MAP_NEURAL;
  const char *tail = strstr(name, tuned);
  if (strcmp(name, mm_control_names[MM_CONTROL_RANDOM]) == 0)
    snprintf(out, MM_CONTROL_MAP_SIZE, "%s", neural ? "random-neural:0" : "random:0");
  else if (strcmp(name, mm_control_names[MM_CONTROL_INITIAL]) != 0)
    snprintf(out, MM_CONTROL_MAP_SIZE, "%.*s", (int)(tail ? tail - name : (long)strlen(name)),
             name);
  else if (neural)
    snprintf(out, MM_CONTROL_MAP_SIZE, "neural");
  else
    snprintf(out, MM_CONTROL_MAP_SIZE, "piecewise:%.0f", n);
  return out;
}
