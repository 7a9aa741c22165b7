// What the files of the search share.

#ifndef MM_EXPERIMENT_LEARN_INTERNAL_H
#define MM_EXPERIMENT_LEARN_INTERNAL_H

#include <pthread.h>

#include "agent/job_hooks.h"
#include "base/json.h"
#include "study/learn/learn.h"
#include "study/stats/controls.h"

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it (learn_plan.c)

// Where the search starts, and the texts of task files: parts of a plan that a run must carry with
// it, since the files they came from may change or stay behind.
typedef struct mm_learn_start {
  double *z;                 // [n], NULL: the family's own start
  size_t n;                  //
  char *file[MM_LEARN_ENVS]; // text of the i-th environment's task file, NULL for an ID
} mm_learn_start;

// Opens --init and reads the task files.
mm_status mm_learn_start_read(const mm_learn_plan *plan, mm_learn_start *out);
void mm_learn_start_release(mm_learn_start *start);

// To JSON text (mm_free) and back; `source` begins errors.
mm_status mm_learn_plan_write(const mm_learn_plan *plan, const mm_learn_start *start, char **out);
mm_status mm_learn_plan_read(const char *text, const char *source, mm_learn_plan *plan,
                             mm_learn_start *start);

// A task file lives on in the run's folder, as env-<i>.yaml: made if it is not there; one that says
// something else than the database is MM_ERR_INPUT.
mm_status mm_learn_copy_task(const mm_learn_start *start, size_t i, const char *folder);

// The i-th environment of the run in `folder`.
mm_status mm_learn_open_env(const mm_learn_plan *plan, const mm_learn_start *start, size_t i,
                            const char *folder, mm_env **out);

// ---------------------------------------------------------------------------------------------
// Scores on the validation tasks (learn_score.c)

// The controls of one phase: values[c] is [n_task], grouped by environment.
typedef struct mm_learn_controls {
  size_t n_env, n_task; // in all
  double *value[MM_LEARN_CONTROLS];
  bool known;
} mm_learn_controls;

mm_learn_score mm_learn_score_of(const mm_learn_controls *controls, const double *value,
                                 int64_t generation);

// What the best mean is chosen by: the mean value; with several environments, whose scales differ,
// the mean over them of the gain over the negative entropy in units of its spread over the tasks.
double mm_learn_merit(const mm_learn_controls *controls, const double *value);

// ---------------------------------------------------------------------------------------------
// Trainings of a step that ended before it did (learn_kept.c)

typedef struct mm_learn_early {
  int64_t generation; // of the strategy's state when its list began
  int32_t stage;      // mm_learn_stage
  int64_t place;      // in the list
  uint64_t seed, env_steps;
  mm_status status;
  double value, optimal;
  bool stored;
} mm_learn_early;

typedef struct mm_learn_kept {
  bool open;
  pthread_mutex_t lock;  // for all of it while trainings run, and the database
  mm_learn_early *early; // [room] of the step in hand
  size_t n, room;
  size_t waiting;   // not yet stored
  bool in_database; // there may be rows of them
  double due;       // to be stored, by the clock
  mm_job_hooks hooks;
  mm_job *job;   // while only a part of a list is run: that part
  size_t *place; // and where it belongs
} mm_learn_kept;

mm_status mm_learn_kept_open(mm_learn_kept *kept);
void mm_learn_kept_close(mm_learn_kept *kept);

// From the run, which stands at view.generation.
mm_status mm_learn_kept_load(mm_learn *l);

// Trains l->job[n] for the stage in hand, those without a kept result, into l->result[n]; as
// mm_backend_run. *known_steps: environment steps of those that had one.
mm_status mm_learn_kept_run(mm_learn *l, mm_backend_config *config, size_t n,
                            uint64_t *known_steps);

// The step is done: within its transaction, and after it.
mm_status mm_learn_kept_forget(mm_learn *l);
void mm_learn_kept_clear(mm_learn *l);

// ---------------------------------------------------------------------------------------------
// A search at work: opened by learn_open.c, driven by learn.c

typedef struct mm_learn_placed {
  double value;
  size_t member;
} mm_learn_placed;

struct mm_learn {
  mm_learn_plan plan;
  mm_run *run;
  mm_es *es;
  bool session; // this process is entered in the database

  // fixed by the plan
  mm_env *env[MM_LEARN_ENVS];
  mm_map *control_map[MM_LEARN_CONTROLS];
  int n_control;
  mm_map_kind kind;
  mm_phase phase[MM_PHASES_MAX];
  size_t n_phase;
  int64_t generations;            // of all phases
  size_t n_member, n_task, n_job; // trainings per member; all of a generation

  // work space
  double *member;         // [n_member][dimension]
  double *fitness;        // [n_member] as told to the strategy
  double *raw;            // [n_member] mean value of its trainings
  double *part;           // [n_member] values on one environment
  mm_learn_placed *order; // [n_member] the same, sorted
  double *best;           // [dimension] the best validated mean
  double *kept;           // [dimension] mean of the last stored generation
  double *value;          // [tasks of a validation]
  void *state;            // of the last stored generation
  mm_job *job;            // as many as the largest list has
  mm_result *result;
  mm_run_job *job_row;
  mm_run_score *score_row;

  mm_learn_kept early;
  mm_learn_controls controls; // of the current phase
  double best_merit;
  mm_learn_stage stage;
  mm_learn_view view;
};

// The phase of the generation that follows `done` complete ones; the last phase at the end.
int32_t mm_learn_phase_after(const mm_learn *l, int64_t done);

// The settings of a phase's trainings.
mm_settings mm_learn_phase_settings(const mm_learn *l, int32_t phase);

// After l->controls has its values: their scores, for the view.
void mm_learn_set_controls(mm_learn *l, int64_t generation);

// Enters a validated mean in the view; keeps it if it is the best so far.
void mm_learn_note_best(mm_learn *l, const mm_learn_score *score, const double *value,
                        const double *mean);

// ---------------------------------------------------------------------------------------------
// The card of a map (learn_card.c): JSON text for its meta object, to be released with mm_free.

mm_status mm_learn_card(const mm_learn_plan *plan, int64_t generation, uint64_t evaluations,
                        const mm_learn_score *score, const mm_learn_score *control, char **out);

#endif
