// Recorded Grid-World traces, checked transition by transition.
//
// A trace is a JSON file with `levels`: each holds one task and its transitions with the random
// draws that were made (the format of tests/golden/gridworld.json; its `about` explains every
// field). Each transition is repeated from its recorded state with the recorded draws.

#ifndef MM_ENV_GRID_TRACE_H
#define MM_ENV_GRID_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "mirrormap/base.h"

typedef struct mm_replay_mismatch {
  int64_t trajectory;   // level in the file, from 0
  int64_t t;            // transition in the level, from 0
  const char *field;    // name in the file's format; belongs to the library
  double expected, got; // the file's number and ours
} mm_replay_mismatch;

typedef struct mm_replay_report {
  int64_t transitions, matched, mismatched;
  double max_abs_error; // over all compared numbers
  bool has_mismatch;
  mm_replay_mismatch first; // when has_mismatch
} mm_replay_report;

// MM_ERR_INPUT when the file is not a Grid-World trace; mismatches are not failures.
mm_status mm_grid_replay(const char *path, mm_replay_report *out);

#endif
