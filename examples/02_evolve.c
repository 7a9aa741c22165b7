// SPDX-License-Identifier: Apache-2.0
// A search by evolution: asks for candidates, tells how fit they are, and lets the strategy move.
//
//   cc 02_evolve.c $(pkg-config --cflags --libs mirrormap) -lm -o evolve
//   ./evolve
//
// The function to minimise is a valley whose directions differ in width by a factor of 1000;
// sep-cma-es learns the widths on the way. Every search with the same seed is the same.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mirrormap/evolve.h>

enum { DIMENSION = 10, POPULATION = 20 };

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, mm_last_error());
  return 1;
}

// sum_j (1000^(j/9) (x_j - j - 1))^2: zero at 1, 2, 3, ...
static double height(const double *x) {
  double sum = 0;
  for (int j = 0; j < DIMENSION; j++)
    sum += pow(pow(1000, j / 9.0) * (x[j] - (j + 1)), 2);
  return sum;
}

int main(void) {
  mm_es_config config = mm_es_config_default(MM_ES_SEP_CMA);
  config.dimension = DIMENSION;
  config.population = POPULATION;
  config.seed = 1;

  double start[DIMENSION] = { 0 }, member[POPULATION][DIMENSION], fitness[POPULATION];
  mm_es *es;
  if (mm_es_create(&config, start, &es) != MM_OK) return fail("cannot begin");
  while (mm_es_generation(es) < 400 && height(mm_es_mean(es)) > 1e-9) {
    if (mm_es_ask(es, member[0]) != MM_OK) return fail("cannot ask");
    for (int i = 0; i < POPULATION; i++)
      fitness[i] = -height(member[i]); // greater is better
    if (mm_es_tell(es, fitness) != MM_OK) return fail("cannot tell");
    if (mm_es_generation(es) % 50 == 0)
      printf("generation %3d  height %.3e  sigma %.3e  axis ratio %.1f\n",
             (int)mm_es_generation(es), height(mm_es_mean(es)), mm_es_sigma(es),
             mm_es_axis_ratio(es));
  }
  printf("found in %d generations:", (int)mm_es_generation(es));
  for (int j = 0; j < DIMENSION; j++)
    printf(" %.4f", mm_es_mean(es)[j]);
  printf("\n");
  mm_es_destroy(es);
  return 0;
}
