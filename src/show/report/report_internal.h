// SPDX-License-Identifier: Apache-2.0
// What the files of a report share: the runs in memory, as far as page and figures need them.

#ifndef MM_EXPERIMENT_REPORT_INTERNAL_H
#define MM_EXPERIMENT_REPORT_INTERNAL_H

#include "mirrormap/map.h"
#include "show/report/report_data.h"
#include "study/learn/search_curve.h"
#include "study/run/run.h"
#include "study/run/run_table.h"
#include "study/transfer/transfer.h"

enum {
  MM_REPORT_POINTS = 500,       // of a curve in the document, at most: more cannot be seen
  MM_REPORT_MEASURE = 250,      // of a measure, whose charts are small
  MM_REPORT_GENERATIONS = 2000, // of a search, likewise
  MM_REPORT_LABEL = 300
};

// ---------------------------------------------------------------------------------------------
// Training runs of a study (report_training.c)

// Seeds of one map on one environment.
typedef struct mm_report_batch {
  int64_t batch;       // its number
  int64_t first, jobs; // places of its training runs
  char role[MM_RUN_WORD_SIZE], env[MM_RUN_WORD_SIZE], map[MM_RUN_WORD_SIZE];
  cJSON *settings;       // NULL where they are not known
  size_t from, n;        // the training runs that are done: from .. from + n - 1 of the list
  mm_transfer_cell cell; // what these come to, of a batch that is shown
} mm_report_batch;

typedef struct mm_report_trainings {
  mm_result *result; // [n] in the order of their places; curves point into the arrays below
  int64_t *place;    // [n]
  uint64_t *seed;    // [n]
  size_t n;
  uint64_t *step; // [n_point]
  double *value;
  size_t n_point;
  mm_report_batch *batch; // [n_batch]
  size_t n_batch;
  uint64_t resampling; // seed of intervals: the configuration's, as the commands have it
} mm_report_trainings;

// `config` tells what the training runs of files before version 3 are. MM_ERR_INPUT for damage:
// then *out is what is intact. Release in either case.
mm_status mm_report_read_trainings(mm_run *run, const cJSON *config, mm_report_trainings *out);
void mm_report_release_trainings(mm_report_trainings *trainings);

// A quantity of one training run beside its return, over steps.
typedef struct mm_report_measure {
  size_t training; // place in the list of those read
  char name[MM_RUN_WORD_SIZE];
  size_t first;    // of its points
  mm_result curve; // curve, curve_step, n_curve and final_value alone; in the arrays below
} mm_report_measure;

// The mean of one over the training runs of a batch.
typedef struct mm_report_measured {
  size_t batch; // place in the list
  const char *name;
  mm_curve_point *point; // [n]
  size_t n;
} mm_report_measured;

typedef struct mm_report_measures {
  mm_report_measure *measure; // [n] by training run and name
  size_t n;
  uint64_t *step; // [n_point] of all
  double *value;
  size_t n_point;
  mm_report_measured *mean; // [n_mean] batch by batch
  size_t n_mean;
} mm_report_measures;

// Of the training runs that were read. MM_ERR_INPUT for damage: then *out is what is intact.
// Release in either case.
mm_status mm_report_read_measures(mm_run *run, const mm_report_trainings *trainings,
                                  mm_report_measures *out);
void mm_report_release_measures(mm_report_measures *measures);

// Fills the means.
mm_status mm_report_estimate_measures(const mm_report_trainings *trainings,
                                      mm_report_measures *measures);

// The mean of n curves (curve[n], whose status it sets), of training runs that ended as runs[n]
// say. One that diverged counts on with its final value; a curve with gaps, of a damaged file, does
// not count. Release with mm_free.
mm_status mm_report_mean_curve(const mm_result *runs, mm_result *curve, size_t n,
                               mm_curve_point **out, size_t *n_point);

// Whether the batch has a place among curves and tables: tuning and trials have none.
bool mm_report_is_shown(const mm_report_batch *batch);

// Fills the cells of the batches that are shown.
mm_status mm_report_estimate(mm_report_trainings *trainings);

// The mean, interquartile mean and counts of a cell, as fields.
void mm_report_add_worths(cJSON *object, const mm_transfer_cell *cell, bool with_failed);

// The "curves" of a run; `measures` may be NULL.
cJSON *mm_report_curves(const mm_report_trainings *trainings, const mm_report_measures *measures);

// ---------------------------------------------------------------------------------------------
// The batches as a table (report_table.c): what there is of it while a run goes on

typedef struct mm_report_table {
  mm_transfer transfer; // without maps; n_map 0: there is no table
  mm_transfer_map *map; // [n_map]
  mm_transfer_env *env; // [n_env]
} mm_report_table;

// `config` may say which maps are controls. Valid while the training runs are. Release in either
// case.
mm_status mm_report_make_table(const mm_report_trainings *trainings, const cJSON *config,
                               mm_report_table *out);
void mm_report_release_table(mm_report_table *table);

// The "table" of a run; null unless it has a row to compare with another.
cJSON *mm_report_table_json(const mm_report_table *table);

// ---------------------------------------------------------------------------------------------
// A run (report_run.c)

typedef struct mm_report_run {
  char name[MM_RUN_PATH_SIZE]; // of its folder
  int part_of;                 // place of the reproduction that holds it; -1: it was asked for
  mm_run *run;                 // between begin and drop: one state of it
  mm_run_summary summary;
  mm_run_plan plan;
  cJSON *config;           // NULL where it is no JSON
  double seconds;          // of all sessions
  double seconds_training; // of these, in what env_steps counts; NaN: not known
  uint64_t env_steps;      // with those of the runs inside
  mm_search_curve search;
  bool has_search;
  mm_report_trainings trainings;
  mm_report_measures measures; // of `train` alone: others have too many
  mm_report_table table;
} mm_report_run;

mm_status mm_report_open_run(const char *path, mm_report_run *out); // release in either case
void mm_report_release_run(mm_report_run *run);
cJSON *mm_report_run_json(const mm_report_run *run);

// The "search" of a run (report_search.c); null where it has none.
cJSON *mm_report_search_json(const mm_report_run *run);

// The "scores" of a transfer study that has ended (report_scores.c); null for all else.
cJSON *mm_report_scores_json(const mm_report_run *run);

// ---------------------------------------------------------------------------------------------
// Maps (report_maps.c)

typedef struct mm_report_map {
  mm_map *map;
  cJSON *file; // its contents
  char label[MM_REPORT_LABEL];
  const char *role; // "learned", "initial", "control", "named"
  int run;          // -1: of none
} mm_report_map;

typedef struct mm_report_maps {
  mm_report_map *map; // [n]
  size_t n;
} mm_report_maps;

// Maps of all runs and the named ones; what cannot be made a map is left out, and what several runs
// have under one label, as the parts of a reproduction do, is there once. Release in either case.
mm_status mm_report_read_maps(const mm_report_run *run, size_t n, mm_report_maps *out);
void mm_report_release_maps(mm_report_maps *maps);
cJSON *mm_report_maps_json(const mm_report_maps *maps);

// ---------------------------------------------------------------------------------------------

// Runs of `train` beside each other (report_compare.c)

typedef struct mm_report_comparison {
  mm_report_trainings all;
  mm_report_table table; // labels tell the runs apart
} mm_report_comparison;

// How many runs have curves to compare.
size_t mm_report_contestants(const mm_report *report);

// Valid while the report is. Release in either case.
mm_status mm_report_compare(const mm_report *report, mm_report_comparison *out);
void mm_report_release_comparison(mm_report_comparison *comparison);

// ---------------------------------------------------------------------------------------------

struct mm_report {
  mm_report_run *run; // [n]
  size_t n, n_asked;  // with the runs inside of those that were asked for
  mm_report_maps maps;
};

// A field of the document: empty texts are null, as undefined numbers are (mm_json_add_defined).
void mm_report_add_text(cJSON *object, const char *key, const char *text);

// What a configuration says, or NULL.
const char *mm_report_config_text(const cJSON *config, const char *key);

#endif
