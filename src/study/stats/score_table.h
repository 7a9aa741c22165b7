// SPDX-License-Identifier: Apache-2.0
// Final returns of maps x environments x seeds, read from the runs of transfer studies. Several
// tables become one: run i of a map meets run i of another by its seed. What they say of themselves
// must fit together (score_origin.h).

#ifndef MM_STUDY_SCORE_TABLE_H
#define MM_STUDY_SCORE_TABLE_H

#include <stdint.h>

#include "base/status.h"

enum {
  MM_SCORE_NAMES = 256,        // maps, and environments, at most
  MM_SCORE_RUNS_MAX = 1 << 24, // places of a table, n_map x n_env x n_seed, at most
  MM_SCORE_NAME_SIZE = 256     // of a name in a file, with its final zero
};

typedef struct mm_score_table {
  char *map[MM_SCORE_NAMES], *env[MM_SCORE_NAMES]; // in the order in which they appear
  uint64_t *seed;                                  // [n_seed], ascending
  size_t n_map, n_env, n_seed;
  // [n_map][n_env][n_seed]; NaN: there is no such run; -INFINITY: a run without a return, which is
  // less than any
  double *final;
  // [n_env] Seeds that all maps of the environment have; those that were left out since not all
  // have them; and which map has the fewest. A map with fewer runs would otherwise be judged by
  // other environments and seeds than the maps that it is compared with.
  size_t common[MM_SCORE_NAMES], left_out[MM_SCORE_NAMES], fewest[MM_SCORE_NAMES];
} mm_score_table;

// How a sentence begins that refuses a study which has no such table yet.
#define MM_SCORE_EXPECTED "expected the folder of a transfer study that ended, found "

// Reads tables[n]: folders with a runs.csv, or such files. A file is CSV with the columns map, env,
// seed and final, whatever else it has; lines that begin with '#' are remarks. An empty `final` is
// a run without a return. Refused are two different returns of one map, environment and seed, names
// that mean different things in two tables, and environments without a seed that all maps have.
// Release in any case.
mm_status mm_score_table_read(const char *const *tables, size_t n, mm_score_table *out);
void mm_score_table_release(mm_score_table *table);

// The runs of a cell, [n_seed].
const double *mm_score_runs(const mm_score_table *table, size_t map, size_t env);

// The row of a map, or n_map.
size_t mm_score_find(const mm_score_table *table, const char *map);

#endif
