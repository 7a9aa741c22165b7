// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <math.h>
#include <stdio.h>

// The number in the first line of a file that `format` reads; INFINITY without one ("max").
static double read_number(const char *path, const char *format) {
  char line[256];
  unsigned long long number;
  double found = INFINITY;
  FILE *file = fopen(path, "r");
  if (!file) return INFINITY;
  while (isinf(found) && fgets(line, sizeof line, file))
    if (sscanf(line, format, &number) == 1) found = (double)number;
  fclose(file);
  return found;
}

double mm_memory_available(void) {
  double machine = 1024 * read_number("/proc/meminfo", "MemAvailable: %llu kB");
  double group = fmin(read_number("/sys/fs/cgroup/memory.max", "%llu"),
                      read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%llu"));
  return fmin(machine, group);
}

static const char *in_words(double bytes, char out[32]) {
  if (bytes < 1e12)
    snprintf(out, 32, "%.3g GB", 1e-9 * bytes);
  else
    snprintf(out, 32, "%.3g TB", 1e-12 * bytes);
  return out;
}

mm_status mm_memory_check(double bytes, const char *what) {
  char wanted[32], there[32];
  double available = mm_memory_available();
  if (bytes <= available) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "%s: about %s of memory needed, %s available", what,
                 in_words(bytes, wanted), in_words(available, there));
}
