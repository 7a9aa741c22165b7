// SPDX-License-Identifier: Apache-2.0
// How many evaluations a strategy needs, for compare_cma.py, which lets others' do the same.
// usage: es_race STRATEGY FUNCTION DIMENSION POPULATION SIGMA NOISE TARGET RUNS
// Prints the evaluations of each run until the mean is below TARGET, or -1 after 200,000 of them.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mirrormap/evolve.h>

enum { EVALUATIONS_MAX = 200000, DIMENSION_MAX = 64, POPULATION_MAX = 512 };

static double value_of(const char *function, const double *x, size_t n) {
  double sum = 0;
  if (strcmp(function, "rosenbrock") == 0) {
    for (size_t j = 0; j + 1 < n; j++)
      sum += 100 * pow(x[j + 1] - x[j] * x[j], 2) + pow(1 - x[j], 2);
    return sum;
  }
  int is_ellipsoid = strcmp(function, "ellipsoid") == 0;
  for (size_t j = 0; j < n; j++)
    sum += (is_ellipsoid ? pow(1e6, (double)j / (double)(n - 1)) : 1) * x[j] * x[j];
  return sum;
}

// A standard normal number by Box and Muller: noise of its own, apart from the strategy's draws.
static double normal(unsigned *state) {
  double u = (rand_r(state) + 1.0) / (RAND_MAX + 2.0), v = rand_r(state) / (double)RAND_MAX;
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static long run(const char *function, const mm_es_config *config, double noise, double target) {
  static double member[DIMENSION_MAX * POPULATION_MAX], fitness[POPULATION_MAX];
  size_t n = config->dimension;
  double start[DIMENSION_MAX];
  unsigned state = (unsigned)config->seed;
  for (size_t j = 0; j < n; j++)
    start[j] = strcmp(function, "rosenbrock") == 0 ? 0 : 1;
  mm_es *es;
  if (mm_es_create(config, start, &es) != MM_OK) return -1;
  long evaluations = 0;
  while (evaluations < EVALUATIONS_MAX && !(value_of(function, mm_es_mean(es), n) < target)) {
    if (mm_es_ask(es, member) != MM_OK) break;
    for (size_t i = 0; i < config->population; i++)
      fitness[i] = -value_of(function, member + i * n, n) * (1 + noise * normal(&state));
    evaluations += (long)config->population;
    if (mm_es_tell(es, fitness) != MM_OK) break;
  }
  int reached = value_of(function, mm_es_mean(es), n) < target;
  mm_es_destroy(es);
  return reached ? evaluations : -1;
}

int main(int argc, char **argv) {
  mm_es_kind kind;
  if (argc != 9 || mm_es_find(argv[1], &kind) != MM_OK) return 2;
  mm_es_config config = mm_es_config_default(kind);
  config.dimension = (size_t)atoi(argv[3]);
  config.population = (size_t)atoi(argv[4]);
  config.sigma = atof(argv[5]);
  if (config.dimension > DIMENSION_MAX || config.population > POPULATION_MAX) return 2;
  for (int i = 1; i <= atoi(argv[8]); i++) {
    config.seed = (uint64_t)i;
    printf("%ld\n", run(argv[2], &config, atof(argv[6]), atof(argv[7])));
  }
  return 0;
}
