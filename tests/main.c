// SPDX-License-Identifier: Apache-2.0
// Runs the suites: all of them, or those named.
//
//   mirrormap_tests              everything
//   mirrormap_tests map rng      the suites of these names, or whose names hold these words
//   mirrormap_tests --list       the names
//
// Ends with 77 when all that was asked for cannot run here.

#include <stdbool.h>
#include <stdio.h>

#include "test.h"

typedef struct suite {
  const char *name;
  int (*run)(void);
} suite;

#define SUITE_ENTRY(name) { #name, suite_##name },
static const suite suites[] = { MM_SUITE_LIST(SUITE_ENTRY) };
#undef SUITE_ENTRY

enum { N_SUITE = sizeof suites / sizeof *suites };

// Marks the suite of exactly this name, else all that contain it; false when there is none.
static bool choose(const char *filter, bool chosen[N_SUITE]) {
  bool found = false;
  for (int i = 0; i < N_SUITE; i++) {
    if (strcmp(suites[i].name, filter) == 0) return chosen[i] = true;
  }
  for (int i = 0; i < N_SUITE; i++) {
    if (strstr(suites[i].name, filter)) found = chosen[i] = true;
  }
  return found;
}

static void list(FILE *stream) {
  for (int i = 0; i < N_SUITE; i++)
    fprintf(stream, "%s\n", suites[i].name);
}

int main(int argc, char **argv) {
  bool chosen[N_SUITE] = { false };
  int failed = 0, ran = 0;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    list(stdout);
    return 0;
  }
  for (int i = 1; i < argc; i++) {
    if (choose(argv[i], chosen)) continue;
    fprintf(stderr, "no suite '%s'; there are:\n", argv[i]);
    list(stderr);
    return 2;
  }
  for (int i = 0; i < N_SUITE; i++) {
    if (argc > 1 && !chosen[i]) continue;
    int result = suites[i].run();
    ran += result != MM_SUITE_SKIPPED;
    failed += result != MM_SUITE_SKIPPED && result != 0;
  }
  if (failed) fprintf(stderr, "%d of the suites failed\n", failed);
  return failed ? 1 : ran ? 0 : 77;
}
