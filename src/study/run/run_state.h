// SPDX-License-Identifier: Apache-2.0
// How a run stands, in a word.

#ifndef MM_EXPERIMENT_RUN_STATE_H
#define MM_EXPERIMENT_RUN_STATE_H

#include "study/run/run.h"

// What a run will have when it is complete, as far as that is known; 0 where it is not.
typedef struct mm_run_plan {
  int64_t generations; // of a search
  int64_t trainings;   // of lists of trainings
  double env_steps;    // of these
  bool open_ended;     // more of these may come: what comes depends on results
} mm_run_plan;

// Configurations of other commands, or of somebody else, may have any shape. MM_ERR_INPUT for
// damage: then *out is what the intact rows say.
mm_status mm_run_planned(mm_run *run, mm_run_plan *out);

// "running", "done", "stopped", "interrupted", "failed", "killed" or "new". What is complete is
// done, however its last session ended, unless only that can tell; a session that says it is
// running while nobody owns the run was killed.
const char *mm_run_state(const mm_run_summary *summary, mm_run_plan plan);

#endif
