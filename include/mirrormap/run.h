// SPDX-License-Identifier: Apache-2.0
// Run databases, read by others than their owners: what the study in a folder came to so far, also
// while a process works on it, and what is intact of a damaged one. docs/run-database.md has tables
// and columns.
//
//   mm_run *run;
//   mm_run_open("runs/learn-CartPole-v1-1", MM_RUN_READ, &run);
//   mm_run_begin(run);                                       one state of it from here on
//   mm_run_rows(run, "generation", see_row, NULL);
//   mm_run_map_at(run, 100, &map);
//   mm_run_drop(run);
//   mm_run_close(run);
//
// Threads: a run may be used by one thread at a time, different ones, also of the same folder, by
// different threads. Texts belong to the run.

#ifndef MIRRORMAP_RUN_H
#define MIRRORMAP_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"
#include "mirrormap/map.h"
#include "mirrormap/study.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_run mm_run;

typedef enum mm_run_access {
  MM_RUN_READ,    // also while somebody else writes
  MM_RUN_SALVAGE, // the same, whatever is damaged: for those who say what mm_run_damage says
  MM_RUN_WRITE    // the owner, one at a time: mm_study_open is for programs
} mm_run_access;

// `path` is the folder or its run.db. One of an earlier version of the format is read as it is, and
// brought up to this one when it is opened for writing. What is no run, belongs to a later version
// or is damaged is MM_ERR_INPUT; one that another process owns or keeps locked, and one that may
// not be written, is MM_ERR_IO. All sentences name the file and what to do.
//
// One that is not intact as a whole is refused: rows that are damaged, and rows that are missing.
// To salvage, damage is no obstacle as long as the tables can be found: calls give what is intact.
// mm_run_damage says from the start whether anything is missing; damaged rows of `job` and `state`
// are found when they are read, or by mm_run_verify.
MM_API mm_status mm_run_open(const char *path, mm_run_access access, mm_run **out);
MM_API void mm_run_close(mm_run *run);

// What was found damaged since the run was opened, in words; NULL for nothing so far.
MM_API const char *mm_run_damage(const mm_run *run);

// Looks at the whole database: pages, every row, and that nothing is missing. MM_ERR_INPUT says
// what is wrong.
MM_API mm_status mm_run_verify(mm_run *run);

// Its folder, and what was begun there.
MM_API const char *mm_run_folder_of(const mm_run *run);
MM_API const char *mm_run_command(const mm_run *run); // "learn" and the like
MM_API const char *mm_run_config(const mm_run *run);  // the plan, JSON text

// The command line that made it, for a shell; NULL where it is not known.
MM_API const char *mm_run_command_line(const mm_run *run);

// What lies between sees one and the same state of the run, whatever a writer does meanwhile.
MM_API mm_status mm_run_begin(mm_run *run);
MM_API void mm_run_drop(mm_run *run);

// ---------------------------------------------------------------------------------------------
// How it stands

typedef struct mm_run_summary {
  int64_t generations;     // complete
  uint64_t evaluations;    // jobs
  int64_t trainings, kept; // rows of these tables
  uint64_t env_steps;      // of the jobs and the training runs
  uint64_t kept_steps;     // of training runs that are not complete, where they were checkpointed
  double seconds;          // of all sessions, in generations
  char started[32], last[32]; // UTC, ISO 8601
  char outcome[16];           // of the last session
  bool owned;                 // a process is working on it now
} mm_run_summary;

// MM_ERR_INPUT for damage: then *out is what the intact rows say.
MM_API mm_status mm_run_summarise(mm_run *run, mm_run_summary *out);

// What a run will have when it is complete, as far as that is known; 0 where it is not.
typedef struct mm_run_plan {
  int64_t generations; // of a search
  int64_t trainings;   // of lists of training runs
  double env_steps;    // of these
  bool open_ended;     // more of these may come: what comes depends on results
} mm_run_plan;

// Configurations of other commands, or of somebody else, may have any shape. MM_ERR_INPUT for
// damage: then *out is what the intact rows say.
MM_API mm_status mm_run_planned(mm_run *run, mm_run_plan *out);

// "running", "done", "stopped", "interrupted", "failed", "killed" or "new". What is complete is
// done, however its last session ended, unless only that can tell; a session that says it is
// running while nobody owns the run was killed.
MM_API const char *mm_run_state(const mm_run_summary *summary, mm_run_plan plan);

// ---------------------------------------------------------------------------------------------
// What is in it

// Columns of a table: their names, and what they hold where they are not NULL. Of
// MM_VALUE_UNSIGNED values are MM_VALUE_INTEGER with the same 64 bits.
typedef struct mm_run_column_info {
  const char *name;
  mm_value_type type;
} mm_run_column_info;

// Fills at most `most`; returns how many there are, 0 for a table that there is not.
MM_API size_t mm_run_columns(const char *table, mm_run_column_info *out, size_t most);

// Calls `see` with every row of a table in the order of its key, as mm_study_rows does. When rows
// are damaged the others are shown all the same, and the call is MM_ERR_INPUT. Tables that the
// file's version does not have are empty.
MM_API mm_status mm_run_rows(mm_run *run, const char *table, mm_study_see_row *see, void *user);

// The number of the last complete generation of a search; false: there is none. In a damaged
// database that is salvaged it is the last one that is intact.
MM_API mm_status mm_run_last(mm_run *run, int64_t *generation, bool *found);

// The map of a generation's mean, with its card; the caller's own (mm_map_destroy).
MM_API mm_status mm_run_map_at(mm_run *run, int64_t generation, mm_map **out);

// {envs: [..], seeds: [..], scores: {map: [run][env]}} of a transfer study's final returns, as JSON
// text in the layout of rliable (Agarwal et al., 2021), to be released with mm_run_text_free. What
// has no return is null. MM_ERR_INPUT where there is no table or runs are still to be trained; rows
// that are damaged are null too, as mm_run_damage says.
MM_API mm_status mm_run_rliable(mm_run *run, bool indented, char **out);
MM_API void mm_run_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
