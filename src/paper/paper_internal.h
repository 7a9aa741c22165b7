// SPDX-License-Identifier: Apache-2.0
// What the files of `reproduce` share.

#ifndef MM_PAPER_INTERNAL_H
#define MM_PAPER_INTERNAL_H

#include "paper/paper.h"
#include "paper/reproduction_figure.h"
#include "study/learn/learn.h"
#include "study/transfer/transfer.h"

struct mm_paper {
  mm_paper_plan plan;
  mm_study study; // without jobs of its own: those are its searches' and tables'
  // while it runs
  const mm_paper_job *job; // NULL between
  double start;
  char stage[160];                  // the search or table whose progress is told
  mm_learn *search;                 // the one in hand,
  double search_total;              // steps of its generations to come, when this process began
  double search_steps;              // of the population of the last search
  size_t tune_seeds;                // of the last table whose eta was tuned
  size_t n_failed;                  // training runs without a result
  char failure[MM_ERROR_SIZE + 96]; // of the first of them
  mm_artefact result;
};

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it, and the sizes of its scale (paper_plan.c)

cJSON *mm_paper_plan_json(const mm_paper_plan *plan);
mm_status mm_paper_plan_read(const cJSON *root, const char *source, mm_paper_plan *plan);

// Every setting must be one of some training of the artefact.
mm_status mm_paper_plan_check(const mm_paper_plan *plan);

// From a program's config.
mm_status mm_paper_plan_take(const mm_paper_config *config, mm_paper_plan *out);

// MM_ERR_UNSUPPORTED unless devices can do all that the plan trains.
mm_status mm_paper_plan_devices(const mm_paper_plan *plan);

// What no training takes, or needs and does not find (the MuJoCo library), shows here.
mm_status mm_paper_rehearse(const mm_paper_plan *plan);

// The plan of one artefact of `all`: with the settings that its trainings have.
void mm_paper_plan_part(const mm_paper_plan *all, mm_artefact_id artefact, mm_paper_plan *out);

// Environments of one kind, which have settings and sizes in common.
typedef enum mm_suite {
  MM_SUITE_GRIDWORLD,
  MM_SUITE_CONTROL,
  MM_SUITE_MINATAR,
  MM_SUITE_MUJOCO,
  MM_SUITES
} mm_suite;

mm_suite mm_paper_suite(const char *env);

// Settings of searches and trainings on this environment: the preset's, then the scale's, then the
// plan's. `target` "" leaves it.
mm_status mm_paper_settings(const mm_paper_plan *plan, const char *env, const char *target,
                            mm_settings *out);
// Whether they are the same in all keys of the algorithm, and of the search as well; the first
// difference as "key=value" of a. `difference` may be NULL.
enum { MM_PAPER_DIFFERENCE = 96 };
bool mm_paper_same_settings(const mm_settings *a, const mm_settings *b, bool search,
                            char difference[MM_PAPER_DIFFERENCE]);

size_t mm_paper_seeds(const mm_paper_plan *plan, mm_suite suite);
size_t mm_paper_tune_seeds(const mm_paper_plan *plan, mm_suite suite);

// The targets of AMPO to run, "paper" and "code" unless the plan sets one; returns how many.
size_t mm_paper_targets(const mm_paper_plan *plan, const char *out[2]);

// "reduced: laptop scale, 64 runs instead of 256, ..".
void mm_paper_label(const mm_paper_plan *plan, mm_suite suite, char out[MM_ARTEFACT_TEXT]);

// ---------------------------------------------------------------------------------------------
// The reproduction in hand (paper.c)

enum { MM_PAPER_PATH = MM_RUN_PATH_SIZE + 192 };

// A path in the reproduction's folder.
const char *mm_paper_path(const mm_paper *r, const char *name, char out[MM_PAPER_PATH]);
bool mm_paper_exists(const char *path);
bool mm_paper_has_run(const char *folder);

void mm_paper_tell(const mm_paper *r, double done, double total, const char *unit);
void mm_paper_warn(const mm_paper *r, const char *sentence);

// How jobs are run: where the caller wants them, with this function told of their progress. Its
// `user` is the reproduction.
mm_backend_config mm_paper_backend(mm_paper *r, void (*progress)(size_t, size_t, uint64_t, void *));

// Trainings of a table that failed, and how a process ended then, as databases say it.
void mm_paper_count_failures(mm_paper *r, size_t n, const char *where, const char *why);
const char *mm_paper_outcome(mm_status status, size_t n_failed);

// Notes where jobs ran (MM_BACKEND_ON_..), in the result and in the session.
void mm_paper_ran(mm_paper *r, unsigned ran);

// Before files are written: what this process did so far, into the result.
void mm_paper_clock(mm_paper *r);

// ---------------------------------------------------------------------------------------------
// Searches and tables: runs of their own in folders of their own (paper_studies.c)

// The learned map of an environment: from the plan's `from`, or the best validated one of a search
// in folder "learn-<env>-<target>", which is begun, resumed or found complete.
mm_status mm_paper_learn(mm_paper *r, const char *env, const char *target,
                         const mm_settings *settings, mm_map **out);

// Maps on one environment, as a run like those of `transfer` in folder "table-<env>-<target>",
// begun, resumed or found complete; `exact` as in mm_transfer_config. Its cells are added to the
// result, whose statistics are yet to be made (mm_artefact_summarise).
mm_status mm_paper_table(mm_paper *r, const char *env, const char *target, bool exact,
                         const mm_settings *settings, const mm_transfer_map *row, size_t n_row);

// Folders of the plan's `from` must be reproductions of the same scale that have learned maps
// (paper_borrow.c).
mm_status mm_paper_check_lenders(const mm_paper_plan *plan);

// The learned map of another reproduction of the plan's `from`, or NULL where none has it; copied
// to this folder, so that it can be moved. A note says how it was learned, and whether that was
// with `settings`.
mm_status mm_paper_borrow(mm_paper *r, const char *name, const mm_settings *settings, mm_map **out);

// ---------------------------------------------------------------------------------------------
// Artefacts as data (artefact_list.c)

enum { MM_ARTEFACT_ENVS = 6, MM_ARTEFACT_ROWS = 9, MM_ARTEFACT_TARGETS = 2 };

typedef struct mm_artefact_work mm_artefact_work;

// What the paper says of one environment: the quantity of a map is above that of another, seed by
// seed.
typedef struct mm_claim_spec {
  const char *text;
  mm_quantity quantity;
  const char *map, *other; // rows; "learned": the map learned there. No other one: it is above 0
  enum { MM_CLAIM_ABOVE, MM_CLAIM_TIE, MM_CLAIM_TWICE } kind;
  unsigned envs; // 1 << mm_published_env(..), or-ed: where it is said; 0: everywhere
} mm_claim_spec;

typedef struct mm_artefact_spec {
  const char *name;
  unsigned suites;                       // 1 << mm_suite, or-ed: where it trains
  const char *const *env, *const *title; // [n_env] columns of the figure; no titles: their names
  const char *const *more_env;           // [n_more_env] only in the files, with the paper's rows
  const char *const *row; // [n_row] "learned", an environment whose learned map it is, or a control
  size_t n_env, n_more_env, n_row, n_paper; // the paper's rows come first, the others are controls
  const char *learn_env; // where "learned" is searched; NULL: on the environment it trains on
  const char *settings;  // what the settings of all environments are called; NULL: each for itself
  bool targets;          // AMPO: both regression targets
  bool learn_first;      // all maps before the first table
  bool exact;            // tables of the columns are exact, and measured (artefact_exact.c)
  bool policies;         // potentials and policies of the maps (artefact_policies.c)
  const mm_claim_spec *claim;
  const char *const *note;
  size_t n_claim, n_note;
  mm_status (*annotate)(mm_artefact_work *w); // further notes; may be NULL
  // The figure, for each target; its name where it is not the artefact's.
  const char *figure, *heading;
  const mm_artefact_row *curve;
  size_t n_curve;
  mm_status (*draw)(const mm_artefact_work *w, size_t target, const char *path);
} mm_artefact_spec;

extern const mm_artefact_spec mm_artefact_specs[MM_ARTEFACTS];

// The paper's claims on one environment, from the cells of the result.
mm_status mm_artefact_claims(mm_artefact *r, const mm_artefact_spec *spec, const char *env,
                             const char *target);

// ---------------------------------------------------------------------------------------------
// The one engine for all of them (artefact_run.c)

struct mm_artefact_work {
  mm_paper *paper;
  const mm_artefact_spec *spec;
  const char *target[MM_ARTEFACT_TARGETS];
  size_t n_target;
  mm_settings settings; // of the first environment and target: those of a suite have one size
  mm_map *learned[MM_ARTEFACT_TARGETS][MM_ARTEFACT_ENVS]; // where it was needed so far
  mm_map *map[MM_ARTEFACT_ROWS];                          // of the other rows, likewise
  size_t n_action[MM_ARTEFACT_ENVS];                      // of those with policies
};

// Fills the result of the plan's artefact, and draws it.
mm_status mm_artefact_make(mm_paper *r);

// The first n rows of a table on one environment. Maps that are not there yet are learned first.
mm_status mm_artefact_rows(mm_artefact_work *w, size_t target, const char *env, size_t n,
                           mm_transfer_map *row);

// A grid of the spec's curves, a line for each of the paper's rows; with policies below them.
mm_status mm_artefact_draw_curves(const mm_artefact_work *w, size_t target, const char *path);

// Grid-World: what the runs of an exact table were measured by, into its cells, cell[n_map]
// (artefact_exact.c).
mm_status mm_artefact_measure(const mm_transfer *table, mm_artefact_cell *cell);

// How many iterations lie within the first 50,000 steps; 0 where that is none or all of them, and
// nothing can be said of a beginning.
size_t mm_artefact_early(double steps_per_iteration, size_t iterations);

// Potentials and policies against the score scale, as numbers (artefact_policies.c): how many
// actions there are, a note on each learned map, and the files knots.csv and policies.csv.
mm_status mm_artefact_count_actions(mm_artefact_work *w);
mm_status mm_artefact_note_zeros(mm_artefact_work *w);
mm_status mm_artefact_write_policies(mm_artefact_work *w);

// The smallest c at which the policy of scores eta c (1, .., n_action) gives the worst action
// probability 0; infinite where it never does.
mm_status mm_artefact_zero_scale(const mm_map *map, size_t n_action, double eta, double *out);

// The ratio of returns on one environment with the learned map and with negentropy.
mm_status mm_artefact_note_ratio(mm_artefact *r, const char *env);

#endif
