// What the files of `reproduce` share.

#ifndef MM_EXPERIMENT_REPRODUCE_INTERNAL_H
#define MM_EXPERIMENT_REPRODUCE_INTERNAL_H

#include "paper/reproduce.h"
#include "study/learn/learn.h"

struct mm_reproduce {
  mm_reproduce_plan plan;
  mm_run *run;
  bool session; // this process is entered in the database
  // while it runs
  const mm_reproduce_job *job;
  double start;
  double search_steps;              // of the population of the last search
  size_t tune_seeds;                // of the last table
  size_t n_failed;                  // trainings without a result
  char failure[MM_ERROR_SIZE + 96]; // of the first of them
  mm_reproduction result;
};

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it (reproduce_plan.c)

mm_status mm_reproduce_plan_write(const mm_reproduce_plan *plan, char **out); // mm_free
mm_status mm_reproduce_plan_read(const char *text, const char *source, mm_reproduce_plan *plan);

// Every setting must be one of some training of the artefact.
mm_status mm_reproduce_plan_check(const mm_reproduce_plan *plan);

// What no training takes, or needs and does not find (the MuJoCo library), shows here.
mm_status mm_reproduce_rehearse(const mm_reproduce_plan *plan);

// The plan of one artefact of `all`: with the settings that its trainings have.
void mm_reproduce_plan_part(const mm_reproduce_plan *all, mm_artefact artefact,
                            mm_reproduce_plan *out);

// Environments of one kind, which have settings and sizes in common.
typedef enum mm_suite {
  MM_SUITE_GRIDWORLD,
  MM_SUITE_CONTROL,
  MM_SUITE_MINATAR,
  MM_SUITE_MUJOCO,
  MM_SUITES
} mm_suite;

mm_suite mm_reproduce_suite(const char *env);

// Settings of searches and trainings on this environment: the preset's, then the scale's, then the
// plan's. `target` "" leaves it.
mm_status mm_reproduce_settings(const mm_reproduce_plan *plan, const char *env, const char *target,
                                mm_settings *out);
// Whether they are the same in all keys of the algorithm, and of the search as well.
bool mm_reproduce_same_settings(const mm_settings *a, const mm_settings *b, bool search);

size_t mm_reproduce_seeds(const mm_reproduce_plan *plan, mm_suite suite);
size_t mm_reproduce_tune_seeds(const mm_reproduce_plan *plan, mm_suite suite);

// The targets of AMPO to run, "paper" and "code" unless the plan sets one; returns how many.
size_t mm_reproduce_targets(const mm_reproduce_plan *plan, const char *out[2]);

// "reduced: laptop scale, 64 runs instead of 256, ..".
void mm_reproduce_label(const mm_reproduce_plan *plan, mm_suite suite,
                        char out[MM_REPRODUCTION_TEXT]);

// ---------------------------------------------------------------------------------------------
// Stages (reproduce.c)

enum { MM_REPRODUCE_PATH = MM_RUN_PATH_SIZE + 192 };

// A path in the reproduction's folder.
const char *mm_reproduce_path(const mm_reproduce *r, const char *name, char out[MM_REPRODUCE_PATH]);

void mm_reproduce_tell(const mm_reproduce *r, const char *stage, double done, double total,
                       const char *unit);
void mm_reproduce_warn(const mm_reproduce *r, const char *sentence);

// Trainings of a table that failed, and how a process ended then, as databases say it.
void mm_reproduce_count_failures(mm_reproduce *r, size_t n, const char *where, const char *why);
const char *mm_reproduce_outcome(mm_status status, size_t n_failed);

// Whether a folder holds a run.
bool mm_reproduce_has_run(const char *folder);

// A search as a run of its own in folder `name`, begun, resumed or found complete; *out: the best
// validated map.
mm_status mm_reproduce_learn(mm_reproduce *r, const char *name, const char *env,
                             const mm_settings *settings, mm_map **out);

// Folders of the plan's `from` must be reproductions of the same scale that have learned maps
// (reproduce_borrow.c).
mm_status mm_reproduce_check_lenders(const mm_reproduce_plan *plan);

// The learned map of another reproduction of the plan's `from`, or NULL where none has it; copied
// to this folder, so that it can be moved. A note says how it was learned, and whether that was
// with `settings`.
mm_status mm_reproduce_borrow(mm_reproduce *r, const char *name, const mm_settings *settings,
                              mm_map **out);

// Draws <name>.svg, .pdf and .png. Trouble with a picture is a warning: numbers are worth more.
typedef mm_status mm_reproduce_draw(const mm_reproduction *result, const char *path, void *user);
mm_status mm_reproduce_picture(mm_reproduce *r, const char *name, mm_reproduce_draw *draw,
                               void *user);

// Says what tuning eta of a control costs with these settings and so many seeds, beside the last
// search.
mm_status mm_reproduce_note_tuning(mm_reproduce *r, const mm_settings *settings, size_t seeds);

// Notes where jobs ran (MM_BACKEND_ON_..), in the result and in the session.
void mm_reproduce_ran(mm_reproduce *r, unsigned ran);

// Sets the result's seconds to those so far.
void mm_reproduce_clock(mm_reproduce *r);

// Adds the settings of some trainings to what the files carry.
mm_status mm_reproduce_keep_settings(mm_reproduce *r, const char *label,
                                     const mm_settings *settings);

// ---------------------------------------------------------------------------------------------
// Tables (reproduce_table.c)

// A row of a table. Everything belongs to the caller.
typedef struct mm_reproduce_entrant {
  const mm_map *map;
  const char *name, *label;
  bool control, tuned;
  size_t paper_map; // row of the paper's table; MM_REPRODUCE_NO_PAPER for none
} mm_reproduce_entrant;
enum { MM_REPRODUCE_NO_PAPER = 1000 };

// Maps on one environment, as a run like those of `transfer` in folder "table-<env>-<target>",
// begun, resumed or found complete. Its cells are added to the result.
mm_status mm_reproduce_table(mm_reproduce *r, const char *env, const char *target,
                             const mm_settings *settings, const mm_reproduce_entrant *row,
                             size_t n_row);

// The learned map of an environment, from the plan's `from` or from a search in folder
// "learn-<env>-<target>".
mm_status mm_reproduce_learned(mm_reproduce *r, const char *env, const char *target,
                               const mm_settings *settings, mm_map **out);

// The smallest c at which the policy of scores eta c (1, .., n_action) gives the worst action
// probability 0; infinite where it never does.
mm_status mm_reproduce_zero_scale(const mm_map *map, size_t n_action, double eta, double *out);

// ---------------------------------------------------------------------------------------------
// Artefacts: fill the result and draw

mm_status mm_reproduce_phi(mm_reproduce *r);
mm_status mm_reproduce_gridworld(mm_reproduce *r);
mm_status mm_reproduce_ampo(mm_reproduce *r);     // control and minatar
mm_status mm_reproduce_transfer(mm_reproduce *r); // the table
mm_status mm_reproduce_mujoco(mm_reproduce *r);   // Gaussian policies

// What the paper says of AMPO on one environment, from the cells of learned, l2 and negentropy.
mm_status mm_reproduce_claim_ampo(mm_reproduction *r, const char *env, const char *target);

// What it says of Gaussian policies on one body, from the cells of learned and negentropy.
mm_status mm_reproduce_claim_mujoco(mm_reproduction *r, const char *body);

#endif
