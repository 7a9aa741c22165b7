// SPDX-License-Identifier: Apache-2.0
// What a study is about and what it came to, beyond the cells of study.h: all that the commands
// show in a terminal.
//
//   mm_study_detail more = { .size = sizeof more };
//   for (size_t i = 0; i < mm_study_cells(study); i++) {
//     mm_study_detail_at(study, i, &more);
//     printf("IQM %g, p = %g\n", more.of.iqm.iqm, more.over[MM_BASELINE_L2].p_holm);
//   }
//
// The structs of this header are filled in by the library. Their first field is the size that the
// program knows, `sizeof`, which it sets; fields are added at their ends. What they point to
// belongs to the study, and stays until it advances or is closed.
//
// Threads: as in study.h, a study may be used by one thread at a time, different studies by
// different threads at the same time. Functions whose study may change while it advances may also
// be called from its `progress`: mm_study_describe, mm_study_env_at, mm_study_map_at,
// mm_study_look_search and mm_study_look_tuning.

#ifndef MIRRORMAP_RESULT_H
#define MIRRORMAP_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "mirrormap/agent.h"
#include "mirrormap/base.h"
#include "mirrormap/env.h"
#include "mirrormap/map.h"
#include "mirrormap/settings.h"
#include "mirrormap/stats.h"
#include "mirrormap/study.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------
// What it is about

typedef struct mm_study_info {
  size_t size;
  mm_study_kind kind;
  size_t n_env, n_map; // LEARN has no maps of its own: 0
  uint64_t seed;       // of the first run, or of the search
  size_t seeds;        // runs of a map on an environment, TUNE: of a trial; LEARN: 0
  double steps;        // environment steps of the whole study, as far as they are known beforehand,
                       // about those of tuning; 0 for TUNE
  bool complete;       // nothing is left to be done, also for those who resume it: runs that failed
                       // are open to them
  bool on_devices;     // some of the work of this process was done there
  const char *policy;  // TRAIN: the file of the networks, or why there is none though there should
  const char *no_policy; // be; "" where neither is so
} mm_study_info;

// The study as a whole.
MM_API mm_status mm_study_describe(const mm_study *study, mm_study_info *out);

// An environment, and what is trained on it.
typedef struct mm_study_env_info {
  size_t size;
  const char *name, *label; // as it was named; in tables and files
  const mm_env *env;
  const mm_settings *settings; // of its runs; TUNE: the baseline settings
  double optimal;              // TRANSFER: the mean of V* over the instances; NaN where not known
  double unit;                 // TUNE: of a score in returns; NaN as long as it is not known
} mm_study_env_info;

// The i-th environment; MM_ERR_INPUT past the end, as for maps, cells and trials.
MM_API mm_status mm_study_env_at(const mm_study *study, size_t i, mm_study_env_info *out);

typedef struct mm_study_map_info {
  size_t size;
  const char *name, *label;
  const mm_map *map;
  bool control;        // TRANSFER: not asked for but added
  bool tuned, tuned_q; // TRANSFER: has a step size of its own in each environment; and a q
  double eta;          // TRANSFER: the step size that the map brought along; 0 for none
} mm_study_map_info;

// The i-th map: of TRANSFER a row, tuned ones included.
MM_API mm_status mm_study_map_at(const mm_study *study, size_t i, mm_study_map_info *out);

// Who did the work of this process: "2 threads, avx512", "NVIDIA H200", "2 devices (NVIDIA H200,
// NVIDIA H200)", or both kinds with " and " between.
enum { MM_STUDY_MACHINE_TEXT = 512 };
MM_API const char *mm_study_machine_text(const mm_study *study, char out[MM_STUDY_MACHINE_TEXT]);

// ---------------------------------------------------------------------------------------------
// Runs

// Of all runs of TRAIN and TRANSFER.
typedef struct mm_study_failures {
  size_t size;
  size_t n, n_done;           // runs; those that came to their end
  size_t n_failed, n_numeric; // without a value; diverged, with a value
  // The first run that failed, else the first that diverged: its status (MM_OK: there is none), map
  // and environment, seed, and what it left as a sentence, "" where that is not known any more.
  mm_status status;
  const char *map, *env, *error;
  uint64_t seed;
} mm_study_failures;

// MM_ERR_INPUT for LEARN and TUNE.
MM_API mm_status mm_study_count_failures(const mm_study *study, mm_study_failures *out);

// Every result of a TRAIN study, in the order of the seeds, with its curve; those that are not done
// are MM_ERR_INTERRUPTED. NULL for other kinds, whose cells have the final returns.
MM_API const mm_result *mm_study_results(const mm_study *study, size_t *n);

// Those together.
typedef struct mm_study_training {
  size_t size;
  size_t n_done, unfinished;   // seeds; of these, runs that ended before an episode did
  uint64_t run_steps;          // environment steps of a run
  mm_estimate final, recent;   // of final_value and recent_value; NaN where a run has none
  double optimal;              // the mean of V* over the instances; NaN where it is not known
  const mm_curve_point *curve; // [n_curve] the mean curve; until the next call
  size_t n_curve;
  double rollout, update, value; // seconds of this process, all threads together: where the time
                                 // goes. Devices do not tell
  // Of Gaussian policies that this process trained (MM_MEASURE_LIST): the least effective sample
  // size of an update, and sums of the others from `clamped` on. NaN, and zeros, without any.
  double least_ess, measure[MM_MEASURES];
} mm_study_training;

// MM_ERR_INPUT for other kinds.
MM_API mm_status mm_study_look_training(mm_study *study, mm_study_training *out);

// ---------------------------------------------------------------------------------------------
// Cells

// Maps that differences are taken from.
typedef enum mm_baseline { MM_BASELINE_NEGENTROPY, MM_BASELINE_L2, MM_BASELINES } mm_baseline;

// More of a cell (mm_study_cell_at). What a kind does not have is NaN, 0 or NULL.
typedef struct mm_study_detail {
  size_t size;
  size_t env, map;                  // places of these; not of LEARN
  mm_worths of;                     // its final returns
  size_t n_failure;                 // TRANSFER: runs that failed, diverged or finished no episode
  mm_comparison over[MM_BASELINES]; // TRANSFER: paired by seed, p-values corrected for the table;
                                    // LEARN: `gain` alone, over the validation tasks
  mm_comparison over_own;           // TUNE, the winner: over the baseline settings, paired by seed
  double q;                         // TRANSFER: of Tsallis' potential, where the row tuned it
  const mm_curve_point *curve;      // [n_curve] TRANSFER: the mean curve
  size_t n_curve;
} mm_study_detail;

// Of the i-th cell.
MM_API mm_status mm_study_detail_at(const mm_study *study, size_t i, mm_study_detail *out);

// The table of a TRANSFER study as a whole.
typedef struct mm_study_table {
  size_t size;
  size_t baseline[MM_BASELINES]; // its rows of these; n_map where there is none
  size_t n_test[MM_BASELINES];   // comparisons that p-values are corrected for
  uint64_t env_steps;            // of all runs
  uint64_t tune_steps;           // beside these, for tuning:
  double tune_budget;            // by so many steps for each tuned row in an environment,
  size_t tune_seeds;             // or, where that is 0, by so many runs for each step size
  bool all_found;                // nothing was left to be done in this process
} mm_study_table;

// MM_ERR_INPUT for other kinds. Before the table is complete it has its rows and settings alone.
MM_API mm_status mm_study_look_table(const mm_study *study, mm_study_table *out);

// One sentence on an environment (mm_conclude): which maps are better or worse than a baseline that
// the table has. MM_ERR_INPUT as long as the table is not complete.
MM_API mm_status mm_study_conclude(const mm_study *study, mm_baseline baseline, size_t env,
                                   FILE *f);

// ---------------------------------------------------------------------------------------------
// LEARN

// A map on the validation tasks.
typedef struct mm_study_score {
  bool known;
  int64_t generation;
  mm_estimate value;           // over all tasks
  mm_estimate over_negentropy; // paired differences
  mm_estimate over_l2;
} mm_study_score;

// What is trained in the step in hand.
typedef enum mm_study_stage {
  MM_STAGE_CONTROLS,   // controls and the start of a phase on the validation tasks
  MM_STAGE_POPULATION, // the candidates
  MM_STAGE_VALIDATION  // the mean on the validation tasks
} mm_study_stage;

enum { MM_STUDY_SEARCH_CONTROLS = 7 };

typedef struct mm_study_search {
  size_t size;
  mm_study_stage stage;
  int64_t generation, generations; // done, planned
  int32_t phase, phases;
  double sigma;
  double fitness_mean, fitness_best; // of the last generation; NaN where not defined
  uint64_t nonfinite;                // fitnesses, of the whole search
  uint64_t evaluations, env_steps;   // of the population, whole search
  uint64_t jobs_per_generation;
  double validation_tasks;  // for each environment
  double steps, steps_left; // environment steps of all generations, and of those to come
  double last_steps;        // the setting `steps` of the last phase, whose best map counts
  // of the current phase
  mm_study_score last, best; // the mean validated last; the best one
  int n_control; // negentropy, l2, random, initial; with controls=full also the first two with
                 // eta tuned, and Tsallis with q and eta
  const char *control_name[MM_STUDY_SEARCH_CONTROLS];
  mm_study_score control[MM_STUDY_SEARCH_CONTROLS];
  // of this process
  uint64_t session_env_steps; // validation included
  int64_t session_generations;
  double session_seconds;     // in mm_study_advance
  double session_job_seconds; // of these, in training
  double generation_seconds;  // of the last one
} mm_study_search;

// How a search stands; MM_ERR_INPUT for other kinds.
MM_API mm_status mm_study_look_search(const mm_study *study, mm_study_search *out);

// ---------------------------------------------------------------------------------------------
// TUNE

// Trials so far; the first has the baseline settings.
typedef struct mm_study_tuning {
  size_t size;
  const char *method; // "grid", "cma-es" or "halving"
  bool grid;          // trials are the points of a grid; else they are drawn, or asked for
  size_t n_parameter; // of the space
  size_t asked;       // trials that the config asks for; of a grid the most that there may be
  size_t population;  // cma-es: trials of a generation
  double candidates;  // that there will be, the baseline not counted
  size_t n_trial;     // so far,
  size_t best;        // which of them is the best; 0: the baseline settings
  size_t n_same;      // candidates that had the values of an earlier trial
  bool complete;      // all trials are done
  bool validated;     // and the winner, on
  size_t validate;    // so many fresh seeds,
  mm_comparison gain; // with this score; NaN where the winner is the baseline
  size_t trainings;   // done, those of earlier sessions included,
  uint64_t env_steps; // and their steps
} mm_study_tuning;

// How a tuning stands; MM_ERR_INPUT for other kinds.
MM_API mm_status mm_study_look_tuning(const mm_study *study, mm_study_tuning *out);

typedef struct mm_study_trial {
  size_t size;
  mm_estimate score; // -infinity for one that failed, NaN for one that has no seed yet
  size_t n;          // seeds
  bool stopped;      // before it had all
  bool failed;       // a run without a value, or settings that do not go together
  const char *state; // "done", "stopped" ("dropped" by halving), "failed", "open"
} mm_study_trial;

// How a trial stands.
MM_API mm_status mm_study_trial_at(const mm_study *study, size_t trial, mm_study_trial *out);

// The trials [n_trial], the best first. Nothing for other kinds.
MM_API mm_status mm_study_rank_trials(const mm_study *study, size_t *trial);

// The j-th parameter's name, that of a setting, map.q or map.scale, and its value in a trial as
// text: "-" in the baseline where environments, or maps, have different ones. NULL for other kinds,
// and past the end.
MM_API const char *mm_study_parameter(const mm_study *study, size_t j);
MM_API const char *mm_study_trial_value(const mm_study *study, size_t trial, size_t j,
                                        char out[MM_STUDY_SETTING_SIZE]);

// The mean final return of a trial, over the seeds that it has; NaN where there is none.
MM_API double mm_study_trial_mean(const mm_study *study, size_t trial, size_t env, size_t map);

// Each parameter's share [n_parameter] of the variation of the trials' ranks; *known is false where
// they are too few to tell.
MM_API mm_status mm_study_importance(const mm_study *study, double *share, bool *known);

#ifdef __cplusplus
}
#endif

#endif
