// SPDX-License-Identifier: Apache-2.0
// Recorded traces: repeated transition by transition, and written.
//
// A trace is a JSON file with trajectories: states, observations, actions, rewards, ends and every
// random draw (docs/traces.md). A replay starts each transition from its recorded state, puts the
// recorded draws in and compares everything that the step gives.

#ifndef MM_ENV_TRACE_H
#define MM_ENV_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

// ---------------------------------------------------------------------------------------------
// Replay

enum { MM_REPLAY_FIELD_SIZE = 48 };

typedef struct mm_replay_mismatch {
  int64_t trajectory; // trajectory, episode or level in the file, from 0
  int64_t t;          // transition in it, from 0
  // Name in the file's format, with the place in a list: "rewards", "theta", "obs[3]". It belongs
  // to the result of the transition; "start ..." to the state it begins in, which is then one that
  // the environment cannot have, or that looks different.
  char field[MM_REPLAY_FIELD_SIZE];
  double expected, got;     // the file's number and ours
  bool no_expected, no_got; // the list in the file, or ours, has no such entry
} mm_replay_mismatch;

typedef struct mm_replay_report {
  int64_t transitions, matched, mismatched;
  double max_abs_error; // over all compared numbers
  bool has_mismatch;
  mm_replay_mismatch first; // when has_mismatch
} mm_replay_report;

// The IDs that mm_trace_replay takes, in listing order; NULL past the end. All but the first,
// "GridWorld", are also those of mm_trace_record, which has the Grid-Worlds one by one.
const char *mm_trace_id(size_t i);

// MM_ERR_INPUT when there are no such traces (the error has the nearest spelling) or the file is
// not one of that environment; mismatches are not failures.
mm_status mm_trace_replay(const char *id, const char *path, mm_replay_report *out);

// ---------------------------------------------------------------------------------------------
// Recording

typedef struct mm_record_plan {
  uint64_t seed;     // random seed of starts, draws and actions
  uint64_t episodes; // from 1
  uint64_t steps;    // from 1; an episode that lasts longer is cut
  bool mujoco;       // locomotion tasks: stepped by the MuJoCo library instead of our own engine
} mm_record_plan;

typedef struct mm_recording {
  char *text; // the file; to be released with mm_free
  size_t length;
  uint64_t transitions;
} mm_recording;

// Plays uniformly random actions. Environment 0 of an mm_vec with this seed (of locomotion tasks:
// with fresh_reset) has the same starts and draws, as long as no episode is cut. `id` is one of
// mm_trace_id's, a Grid-World or a task file.
mm_status mm_trace_record(const char *id, const mm_record_plan *plan, mm_recording *out);

#endif
