// SPDX-License-Identifier: Apache-2.0
// A run: a folder with one SQLite file, run.db, that holds everything a search or a training has
// produced so far, and from which it can go on. docs/run-database.md describes the tables.
//
// What goes in between mm_run_begin and mm_run_commit gets in together or not at all. Tables
// `session` and `timing` say when, where and how fast; all others depend on the configuration
// alone, to the bit.

#ifndef MM_EXPERIMENT_RUN_H
#define MM_EXPERIMENT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "files/folder.h"
#include "mirrormap/run.h"

enum {
  MM_RUN_SCHEMA = 3,
  MM_RUN_PATH_SIZE = MM_PATH_SIZE,
  MM_RUN_WORD_SIZE = 256, // room for a short text of a row, with its final zero
  MM_RUN_KEPT_MAX = 64 * 1024 * 1024
};

// The tables, in the order in which versions of the format brought them.
#define MM_RUN_TABLE_LIST(X)                                                                       \
  X(META, meta)                                                                                    \
  X(GENERATION, generation)                                                                        \
  X(STATE, state)                                                                                  \
  X(JOB, job)                                                                                      \
  X(SCORE, score)                                                                                  \
  X(TIMING, timing)                                                                                \
  X(SESSION, session)                                                                              \
  X(TRAINING, training)                                                                            \
  X(CURVE, curve)                                                                                  \
  X(KEPT, kept)                                                                                    \
  X(BATCH, batch)                                                                                  \
  X(MEASURE, measure)

typedef enum mm_run_table_id {
#define MM_RUN_TABLE_ENUM(NAME, name) MM_RUN_##NAME,
  MM_RUN_TABLE_LIST(MM_RUN_TABLE_ENUM)
#undef MM_RUN_TABLE_ENUM
      MM_RUN_TABLES
} mm_run_table_id;

// ---------------------------------------------------------------------------------------------
// Rows, one struct a table: fields have the names of the columns (run_table.c lists them). Texts
// end in a zero. What is read belongs to the run until its next call, or to the end of a callback.

// Row g says how the g-th generation went and holds the state after it; row 0 is the start. Rows
// come one by one without a gap, each in a transaction with all of its jobs and no others.
typedef struct mm_run_generation {
  int64_t generation;
  int32_t phase;
  double sigma;
  double fitness_mean, fitness_sd,
      fitness_best;   // over finite members; NaN (stored as NULL) where undefined
  int64_t nonfinite;  // members whose fitness was not finite
  uint64_t env_steps; // of this generation's jobs
  int64_t jobs;       // counted by the commit
  const void *state;  // in a table of its own: rows that mm_run_each gives have none
  size_t state_size;
} mm_run_generation;

// One training of a generation's population.
typedef struct mm_run_job {
  int64_t generation;
  int32_t member, task; // task: which of the member's environments and seeds
  int32_t env;          // place in the configuration's list
  uint64_t seed;
  double value; // NaN (stored as NULL) where it failed
  mm_status status;
  uint64_t env_steps;
} mm_run_job;

// One training outside the search: validation of the mean ("learned") or of a control.
typedef struct mm_run_score {
  int64_t generation; // of the mean; controls have the generation in which their phase began
  int32_t phase;
  const char *map; // label: "learned", "negentropy", ..
  int32_t task, env;
  uint64_t seed;
  double value, optimal; // NaN (stored as NULL) where not known
  mm_status status;
  uint64_t env_steps;
} mm_run_score;

// How long a generation took; a table of its own, since it differs from run to run.
typedef struct mm_run_timing {
  int64_t generation;
  int64_t session;                                  // which session took it,
  const char *finished;                             // and when that was: known to mm_run_put_timing
  double seconds, seconds_jobs, seconds_validation; // in all; spent in the backend; on validation
} mm_run_timing;

// One training of `train`, `transfer` and the like, complete. Files of version 1 have none.
typedef struct mm_run_training {
  int64_t job; // place in the list of all, from 0
  uint64_t seed;
  mm_status status;
  double final, recent, optimal; // NaN (stored as NULL) where there is none
  uint64_t env_steps;
  int64_t points; // of its curve
} mm_run_training;

typedef struct mm_run_point {
  int64_t job;
  uint64_t step;
  double value;
} mm_run_point;

typedef struct mm_run_measure {
  int64_t job;
  const char *name;
  uint64_t step;
  double value;
} mm_run_measure;

typedef struct mm_run_bytes {
  const void *data;
  size_t size;
} mm_run_bytes;

typedef struct mm_run_kept {
  int64_t job;
  mm_run_bytes state;
} mm_run_kept;

// Trainings that follow each other: seeds of one map on one environment with the same settings.
// Batches come in the order of their places, without gaps. Files before version 3 have none.
typedef struct mm_run_batch {
  int64_t batch;       // from 0
  int64_t first, jobs; // places first .. first + jobs - 1
  const char *role;    // "train", "table", "tuning", "trial", "validation", "figure": what for
  const char *env, *map;
  const char *settings; // JSON text
} mm_run_batch;

// One process that worked on the run. `outcome` is "running" until mm_run_session_end says better;
// a session that was killed keeps that word, and has no `ended` (NULL).
typedef struct mm_run_session {
  int64_t session; // from 1
  const char *started, *ended, *outcome, *host;
  int64_t pid;
  const char *backend, *isa;
  int threads;
  const char *version, *build;
} mm_run_session;

// What the run itself reads and writes.
typedef struct mm_run_meta {
  const char *key, *value;
} mm_run_meta;

typedef struct mm_run_search_state {
  int64_t generation;
  mm_run_bytes state;
} mm_run_search_state;

// A row of any table, under the table's name.
typedef union mm_run_row {
  mm_run_meta meta;
  mm_run_generation generation;
  mm_run_search_state state;
  mm_run_job job;
  mm_run_score score;
  mm_run_timing timing;
  mm_run_session session;
  mm_run_training training;
  mm_run_point curve;
  mm_run_kept kept;
  mm_run_batch batch;
  mm_run_measure measure;
} mm_run_row;

// ---------------------------------------------------------------------------------------------
// Opening

// The command line that runs store which this thread makes from now on, as main has it; NULL: none.
// Returns what it was before, to be restored.
char *const *mm_run_made_by(char *const *argv);

// A new run in `folder`, which is made (with its parents) unless it exists; a run that is already
// there is MM_ERR_INPUT. `command` is "learn" and the like, `config` JSON text. The database
// appears under its name only when complete: after a crash there is either a run that can be
// resumed or none. The calling process owns the run until it is closed.
mm_status mm_run_create(const char *folder, const char *command, const char *config, mm_run **out);

// ---------------------------------------------------------------------------------------------
// Writing. A failed call leaves the transaction to be dropped; the run stays at the last commit.

mm_status mm_run_commit(mm_run *run);

mm_status mm_run_set_config(mm_run *run, const char *config);

mm_status mm_run_put_generation(mm_run *run, const mm_run_generation *row);
mm_status mm_run_put_jobs(mm_run *run, const mm_run_job *row, size_t n);
mm_status mm_run_put_scores(mm_run *run, const mm_run_score *row, size_t n);
mm_status mm_run_put_timing(mm_run *run, const mm_run_timing *row);

// A training with its curve: step[points], ascending, and value[points].
mm_status mm_run_put_training(mm_run *run, const mm_run_training *row, const uint64_t *step,
                              const double *value);

// A further quantity of a training beside its curve, in the transaction of that training.
mm_status mm_run_put_measure(mm_run *run, int64_t job, const char *name, const uint64_t *step,
                             const double *value, size_t n);

mm_status mm_run_put_batch(mm_run *run, const mm_run_batch *row);

// What a job left to go on from, at most MM_RUN_KEPT_MAX bytes, in the place of what it left
// before. mm_run_forget takes it out again (-1: that of all jobs), and mm_run_trim, outside a
// transaction, gives the space back to the disk.
mm_status mm_run_keep(mm_run *run, int64_t job, const void *state, size_t size);
mm_status mm_run_forget(mm_run *run, int64_t job);
mm_status mm_run_trim(mm_run *run);

// Starts a session with what is given of backend, instruction set and threads; timings that follow
// carry its number.
mm_status mm_run_session_start(mm_run *run, const mm_run_session *session);

// What the session really works with, where it is not what it was started with. Best effort: of no
// consequence for anything else, and mm_last_error() stays as it is.
void mm_run_session_backend(mm_run *run, const char *backend);
mm_status mm_run_session_end(mm_run *run,
                             const char *outcome); // "done", "stopped", "interrupted", "failed"

// ---------------------------------------------------------------------------------------------
// Reading

// Last complete generation with its state; *found is false when there is none. In a damaged
// database that is salvaged it is the last one that is intact.
mm_status mm_run_last_generation(mm_run *run, mm_run_generation *row, bool *found);
mm_status mm_run_generation_at(mm_run *run, int64_t generation, mm_run_generation *row,
                               bool *found);

// Calls `see` with each row of a table, in the order of its key; a nonzero return ends
// the walk. Tables that the file's version does not have are empty. When rows are damaged the
// others are shown all the same, and the call is MM_ERR_INPUT.
typedef int mm_run_see(const mm_run_row *row, void *user);
mm_status mm_run_each(mm_run *run, mm_run_table_id id, mm_run_see *see, void *user);

// Only rows whose first column, a number, lies in [from, to].
mm_status mm_run_each_from(mm_run *run, mm_run_table_id id, int64_t from, int64_t to,
                           mm_run_see *see, void *user);

// Seconds since 1970 of a time as rows have it, "2026-01-31T12:34:56.789Z"; NaN for NULL and for
// anything else.
double mm_run_seconds(const char *time);

#endif
