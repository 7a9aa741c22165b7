// SPDX-License-Identifier: Apache-2.0
// From scores to a policy: reads a mirror map and projects the scores given after it.
//
//   cc 01_project.c $(pkg-config --cflags --libs mirrormap) -o project
//   ./project map.json 0.3 -0.5 1.2
//
// Any map that the program knows by name works too, e.g. negentropy, l2 or tsallis:1.5.

#include <stdio.h>
#include <stdlib.h>

#include <mirrormap/map.h>

enum { MAX_ACTIONS = 100 };

// Every call that can fail returns a status and leaves a sentence that says why.
static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, mm_last_error());
  return 1;
}

int main(int argc, char **argv) {
  double scores[MAX_ACTIONS], probs[MAX_ACTIONS], lambda;
  if (argc < 3 || argc - 2 > MAX_ACTIONS) {
    fprintf(stderr, "usage: %s MAP SCORE... (at most %d scores)\n", argv[0], MAX_ACTIONS);
    return 2;
  }
  size_t n_action = (size_t)argc - 2;
  for (size_t a = 0; a < n_action; a++) {
    char *end;
    scores[a] = strtod(argv[a + 2], &end);
    if (end == argv[a + 2] || *end) {
      fprintf(stderr, "not a number: %s\n", argv[a + 2]);
      return 2;
    }
  }

  mm_map *map;
  if (mm_map_open(argv[1], &map) != MM_OK) return fail("cannot read the map");

  // p_a = max(phi(x_a + lambda), 0), with lambda such that they sum to 1
  mm_status status = mm_map_project(map, MM_PROJECTION_EXACT, scores, n_action, probs, &lambda);
  if (status == MM_OK) {
    for (size_t a = 0; a < n_action; a++)
      printf("action %zu  score %8.4f  probability %.6f\n", a + 1, scores[a], probs[a]);
    printf("lambda %.6f\n", lambda);
  }
  mm_map_destroy(map);
  return status == MM_OK ? 0 : fail("cannot project the scores");
}
