// Tuning hyper-parameters: a search over settings (tune_search.h) whose trials are trainings of one
// map on some environments, kept in a run database.
//
//   mm_tune_create(folder, &plan, map, &tune);     or  mm_tune_resume(folder, &tune);
//   mm_tune_run(tune, &backend, 60);                all that is not done yet
//   mm_tune_look(tune, &view);
//   mm_tune_close(tune);
//
// The score of a trial with a seed is the difference of its final value from that of the settings'
// own values with the same seed, in units of an environment's own spread, averaged over the
// environments. The winner is trained once more beside the own values on fresh seeds: those it was
// chosen by flatter it.
//
// The database has the plan and the trainings in the order in which the search asked for them; a
// search that goes on asks for the same ones again and finds them there.

#ifndef MM_EXPERIMENT_TUNE_H
#define MM_EXPERIMENT_TUNE_H

#include "study/jobs/plan.h"
#include "study/jobs/study.h"
#include "study/tune/tune_importance.h"
#include "study/tune/tune_search.h"

enum { MM_TUNE_ENVS = 16, MM_TUNE_VALIDATE_MAX = 100000 };

// What decides the result, but for the map itself.
typedef struct mm_tune_plan {
  size_t n_env;
  char env[MM_TUNE_ENVS][MM_PLAN_NAME_SIZE]; // IDs or task files
  mm_settings settings[MM_TUNE_ENVS];        // own values; all of the same algorithm
  char map[MM_PLAN_NAME_SIZE];               // what the map is called
  mm_tune_space space;                       // with the method
  size_t trials, population, seeds;          // as in mm_tune_search_config
  size_t validate;                           // fresh seeds at the end; 0: none
  bool prune;
  uint64_t seed;
} mm_tune_plan;

typedef struct mm_tune mm_tune;

// `folder` NULL: nothing is stored. The map must outlive the tuning. What is wrong with the plan
// shows before the folder is made.
mm_status mm_tune_create(const char *folder, const mm_tune_plan *plan, const mm_map *map,
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

// How many trials a method makes unless it is told.
size_t mm_tune_usual_trials(mm_tune_method method);

// The same as a study (mirrormap/study.h).
extern const mm_study_class mm_tune_class;
mm_study *mm_tune_study(mm_tune *tune);

// ---------------------------------------------------------------------------------------------

// The winner and the own values on fresh seeds.
typedef struct mm_tune_check {
  mm_estimate own, best, difference; // final values, and best - own seed by seed
  size_t n_failed; // seeds with a run that has no value; with one the means are NaN
} mm_tune_check;

typedef struct mm_tune_view {
  const mm_tune_plan *plan;
  mm_env *const *env; // [n_env]
  const char *folder; // NULL: none
  const mm_tune_search *search;
  size_t best;                // trial; 0: the settings' own values
  const double *scale;        // [n_env] unit of the score, known when trial 0 is done
  bool complete;              // nothing is left to be done
  bool validated;             // by these:
  const mm_tune_check *check; // [n_env]
  mm_estimate gain;           // score of the winner on the fresh seeds; NaN if that is trial 0
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

// Final values [n] of a trial on an environment, n as its scores; NaN where there is none.
const double *mm_tune_values(const mm_tune *tune, size_t trial, size_t env);

// Their mean; NaN where there is none.
double mm_tune_mean(const mm_tune *tune, size_t trial, size_t env);

#endif
