// SPDX-License-Identifier: Apache-2.0
// Maps against each other: every map trains on every environment with the same seeds, so that run i
// of each meets the same instance and the same random numbers.

#ifndef MM_EXPERIMENT_TRANSFER_H
#define MM_EXPERIMENT_TRANSFER_H

#include "base/arena.h"
#include "mirrormap/result.h"
#include "study/jobs/study.h"

// A row and a column of the table. Everything belongs to the caller and must outlive its use.
typedef struct mm_transfer_map {
  const mm_map *map;
  const char *name;  // as it was asked for: a name or a file
  const char *label; // short; no two rows have the same
  bool control;      // not asked for but added
  bool tuned;        // trains with an eta of its own in each environment, tuned before
  bool tuned_q;      // and with Tsallis' q, whatever `map` has
  double eta;        // trains with this one in all that have eta; 0: with that of the settings
} mm_transfer_map;

typedef struct mm_transfer_env {
  const mm_env *env;
  const char *name, *label; // likewise
  mm_settings settings;
} mm_transfer_env;

typedef struct mm_transfer_config {
  const mm_transfer_map *map; // [n_map]
  const mm_transfer_env *env; // [n_env]
  size_t n_map, n_env, n_seed;
  uint64_t seed;      // of the first run; the others follow it
  size_t n_tune;      // seeds for tuning eta, apart from those; 0 without tuned rows
  double tune_budget; // steps for a tuned row in an environment, instead; 0: none (mm_eta_task)
  // Grid-World alone: exact values at every iteration as curves, and in the run's database what
  // `theory` measures of it (mm_theory_train). Done on the processor.
  bool exact;
  mm_backend_config backend; // its report is not used; progress counts the runs of the table, and
                             // the steps of tuning too
  // Opened for writing, with the same plan since it was made: what it has is not done again, all
  // else is kept there. The call starts a session, which the caller ends. NULL: nothing is kept.
  mm_run *run;
  double save_seconds; // how often unfinished runs are kept (0: only when they are interrupted)
  void (*trouble)(const char *sentence, void *user); // what could not be stored; may be NULL
} mm_transfer_config;

typedef struct mm_transfer_cell {
  double eta;       // NaN where the algorithm has none
  double q;         // of a row that tuned it; NaN for others
  mm_map *map;      // with that q; NULL: the row's
  size_t n_numeric; // runs that broke down and count with their last finite policy
  size_t n_failed;  // runs that say nothing
  size_t n_failure; // these, and those that diverged or finished no episode
  mm_worths of;     // those that say something
  mm_comparison over[MM_BASELINES];
  mm_curve_point *curve; // [n_curve]
  size_t n_curve;
} mm_transfer_cell;

typedef struct mm_transfer {
  mm_transfer_config config;
  size_t baseline[MM_BASELINES]; // row of each, n_map where there is none
  size_t n_test[MM_BASELINES];   // comparisons with it that p-values are corrected for
  mm_settings *settings;         // [n_map][n_env] those of the environment, with the eta of the row
  mm_transfer_cell *cell;        // [n_map][n_env]
  double *worth;                 // [n_map][n_env][n_seed] mm_result_worth
  double *optimal;               // [n_env][n_seed] V* of the instances; NaN where it is not known
  double *optimal_mean;          // [n_env]
  uint64_t *steps;               // [n_env] of a run
  mm_backend_report report;      // counts jobs as [n_env][n_map][n_seed]; zeros while tuning
  mm_status trouble;             // status of the job that the report names
  uint64_t env_steps;            // of all runs
  uint64_t tune_steps;           // beside these, for tuning
  uint64_t own_steps;            // of both, those that this process did, in
  double wall_seconds;           // so many seconds
  mm_machine machine;            // that did them
  bool all_found;                // nothing was left to be done
  size_t first;                  // place of the table's first run in the database
  mm_arena arena;                // the arrays above
} mm_transfer;

// Runs everything as one list of jobs, environment by environment. Runs that fail are counted in
// their cells and in the report; the call itself fails only when the list could not be run or
// stored: MM_ERR_INTERRUPTED leaves nothing but the report. Release in either case.
mm_status mm_transfer_run(const mm_transfer_config *config, mm_transfer *out);
void mm_transfer_release(mm_transfer *transfer);

// The same for a study that has the run, and whose session goes on (transfer_study.c).
mm_status mm_transfer_run_in(mm_study *study, const mm_transfer_config *config, mm_transfer *out);
extern const mm_study_class mm_transfer_class;

// A table that nothing is stored of: the plan is made of the configuration, which is not needed any
// more.
mm_status mm_transfer_open(const mm_transfer_config *config, mm_study **out);

// The study's table, as far as it was run in this process.
const mm_transfer *mm_transfer_table(const mm_study *study);

// The row of a baseline; n_map where there is none.
size_t mm_transfer_baseline(const mm_transfer_config *config, mm_baseline baseline);

// Environment steps of all its runs and, about, of the tuning before them.
double mm_transfer_planned_steps(const mm_transfer_config *config);

// What each tuned row takes at least: a run for each of its candidates; 0 without such rows.
double mm_transfer_least_budget(const mm_transfer_config *config);

// Fills `over` of all cells from the worths and the rows of the baselines.
void mm_transfer_compare(mm_transfer *transfer);

const mm_transfer_cell *mm_transfer_at(const mm_transfer *transfer, size_t map, size_t env);

// Environment steps per second of this process; 0 when there was nothing left to be done.
double mm_transfer_speed(const mm_transfer *transfer);

// Whether there are curves, not only final returns.
bool mm_transfer_has_curves(const mm_transfer *transfer);

#endif
