// The runs of `theory` as text for people.

#ifndef MM_CLI_THEORY_REPORT_H
#define MM_CLI_THEORY_REPORT_H

#include <stddef.h>
#include <stdint.h>

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

// What happens to the value between two iterations.
typedef struct theory_dips {
  size_t n;              // iterations that lost value
  double total, largest; // what they lost
} theory_dips;
theory_dips theory_count_dips(const mm_theory *run);

// A table of iterations and a summary for each run, then one line for each to compare them.
void theory_report(const theory_runs *runs);

#endif
