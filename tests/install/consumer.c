// A user of the installed library: projects two scores and checks the answer it knows.

#include <mirrormap/mirrormap.h>

#include <stdio.h>

int main(int argc, char **argv) {
  const double scores[2] = { 0.0, 1.0 };
  const double expected = 0.26894142136999512; // 1 / (1 + e)
  double probs[2] = { 0.0, 0.0 }, lambda = 0.0;
  mm_map *map = NULL;
  mm_status status = mm_map_open("negentropy", &map);
  if (status == MM_OK) status = mm_map_project(map, MM_PROJECTION_EXACT, scores, 2, probs, &lambda);
  mm_map_destroy(map);
  if (status != MM_OK) {
    fprintf(stderr, "%s\n", mm_last_error());
    return 1;
  }
  const double error = probs[0] - expected;
  printf("%s: mirrormap %s, probs %.17g %.17g\n", argc > 1 ? argv[1] : "consumer", mm_version(),
         probs[0], probs[1]);
  return error > 1e-15 || error < -1e-15;
}
