// SPDX-License-Identifier: Apache-2.0
// Tuning hyper-parameters: a search over settings and parameters of maps (tune_search.h) whose
// trials are trainings of some maps on some environments, kept in a run database.
//
//   mm_tune_create(folder, &plan, maps, &tune);     or  mm_tune_resume(folder, &tune);
//   mm_tune_run(tune, &backend, 60);                all that is not done yet
//   mm_tune_look(tune, &view);
//   mm_tune_close(tune);
//
// The score of a trial with a seed is the difference of its final return from that of the settings'
// own values with the same seed, the mean over the maps in units of an environment's own spread,
// averaged over the environments. The winner is trained once more beside the own values on fresh
// seeds: those it was chosen by flatter it.
//
// The database has the plan and the trainings in the order in which the search asked for them; a
// search that goes on asks for the same ones again and finds them there.

#ifndef MM_EXPERIMENT_TUNE_H
#define MM_EXPERIMENT_TUNE_H

#include "mirrormap/stats.h"
#include "study/jobs/plan.h"
#include "study/jobs/study.h"
#include "study/tune/tune_importance.h"
#include "study/tune/tune_search.h"

enum {
  MM_TUNE_ENVS = MM_STUDY_TUNE_ENVS,
  MM_TUNE_MAPS = MM_STUDY_TUNE_MAPS,
  MM_TUNE_CELLS = MM_TUNE_ENVS * MM_TUNE_MAPS,
  MM_TUNE_VALIDATE_MAX = MM_STUDY_VALIDATE_MAX
};

// What decides the result, but for the maps themselves. A map on an environment is a cell: those of
// the first environment, then the next.
typedef struct mm_tune_plan {
  size_t n_env;
  char env[MM_TUNE_ENVS][MM_PLAN_NAME_SIZE]; // IDs or task files
  mm_settings settings[MM_TUNE_ENVS];        // own values; all of the same algorithm
  size_t n_map;
  char map[MM_TUNE_MAPS][MM_PLAN_NAME_SIZE]; // what the maps are called
  mm_tune_space space;                       // with the method
  size_t trials, population, seeds;          // as in mm_tune_search_config
  size_t validate;                           // fresh seeds at the end; 0: none
  bool prune;
  bool rounds; // of seeds; a new run has them for pruning alone, older ones always
  uint64_t seed;
} mm_tune_plan;

typedef struct mm_tune mm_tune;

// Cells, and what one is called: the environment, and with several maps the map.
size_t mm_tune_cells(const mm_tune_plan *plan);
enum { MM_TUNE_CELL_NAME = 2 * MM_PLAN_NAME_SIZE + 2 };
const char *mm_tune_cell_name(const mm_tune_plan *plan, size_t cell, char out[MM_TUNE_CELL_NAME]);

// The names of all maps, with commas.
enum { MM_TUNE_MAP_NAMES = MM_TUNE_MAPS * (MM_PLAN_NAME_SIZE + 1) };
const char *mm_tune_map_names(const mm_tune_plan *plan, char out[MM_TUNE_MAP_NAMES]);

// `folder` NULL: nothing is stored. The maps [n_map] must outlive the tuning. What is wrong with
// the plan shows before the folder is made.
mm_status mm_tune_create(const char *folder, const mm_tune_plan *plan, const mm_map *const *map,
                         mm_tune **out);

// Goes on where the run in `folder` stopped.
mm_status mm_tune_resume(const char *folder, mm_tune **out);

// What a run has so far, without owning or changing it; to be looked at only. `run` is not needed
// afterwards.
mm_status mm_tune_read(mm_run *run, mm_tune **out);
void mm_tune_close(mm_tune *tune);

// MM_OK: all is done. MM_ERR_INTERRUPTED leaves the rest for later. The backend's progress counts
// the trainings of the round in hand; mm_tune_look may be called from there.
mm_status mm_tune_run(mm_tune *tune, const mm_backend_config *backend, double save_seconds);

// How many trials the space's method makes unless it is told; of a grid the most.
size_t mm_tune_usual_trials(const mm_tune_space *space);

// The same as a study (mirrormap/study.h).
extern const mm_study_class mm_tune_class;
mm_study *mm_tune_study(mm_tune *tune);

// ---------------------------------------------------------------------------------------------

// The winner and the own values on fresh seeds.
typedef struct mm_tune_check {
  mm_estimate own, best;    // final returns
  mm_comparison difference; // best - own seed by seed
  size_t n_failed;          // seeds with a run that has no value; with one the means are NaN
} mm_tune_check;

typedef struct mm_tune_view {
  const mm_tune_plan *plan;
  mm_env *const *env;       // [n_env]
  const mm_map *const *map; // [n_map]
  const char *folder;       // NULL: none
  const mm_tune_search *search;
  size_t best;                // trial; 0: the settings' own values
  const double *scale;        // [n_env] unit of the score, known when trial 0 is done
  bool complete;              // nothing is left to be done
  bool validated;             // by these:
  const mm_tune_check *check; // [cells]
  mm_comparison gain;         // score of the winner on the fresh seeds; NaN if that is trial 0
  uint64_t fresh_seed;        // the first of them
  uint64_t first_seed;        // the first of those of the trials
  size_t trainings;           // done, those that the run had included
  uint64_t env_steps;         // of these
  // of this process
  mm_machine machine;
  double seconds;
  uint64_t session_env_steps;
} mm_tune_view;

void mm_tune_look(const mm_tune *tune, mm_tune_view *out);

// Final values [n] of a trial in a cell, n as its scores; NaN where there is none.
const double *mm_tune_values(const mm_tune *tune, size_t trial, size_t cell);

// Their mean; NaN where there is none.
double mm_tune_mean(const mm_tune *tune, size_t trial, size_t cell);

#endif
