// The runs of `theory` as text for people, and as JSON.

#ifndef MM_CLI_THEORY_REPORT_H
#define MM_CLI_THEORY_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "study/theory/theory.h"

typedef struct theory_runs {
  size_t n;
  mm_theory *run;     // [n]
  const char **label; // [n] short names of their maps
  const char *task;   // what they have in common
  const mm_pmd_config *pmd;
  size_t every; // iterations between two lines of a table
} theory_runs;

// Environment steps of an iteration.
double theory_steps(const mm_pmd_config *pmd);

// A table of iterations and a summary for each run, then one line for each to compare them.
void theory_report(const theory_runs *runs);

// Adds the numbers of a run and of all its iterations, each of so many environment steps.
void theory_json(cJSON *object, const char *map, const mm_theory *run, double steps);

#endif
