// SPDX-License-Identifier: Apache-2.0
// What the files of the search share.

#ifndef MM_EXPERIMENT_LEARN_INTERNAL_H
#define MM_EXPERIMENT_LEARN_INTERNAL_H

#include "base/arena.h"
#include "base/json.h"
#include "study/learn/learn.h"
#include "study/stats/controls.h"

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it (learn_plan.c)

// Where the search starts: a part of the plan that a run must carry with it, since the file it came
// from may change or stay behind.
typedef struct mm_learn_start {
  double *z; // [n] (mm_free), NULL: the family's own start
  size_t n;
} mm_learn_start;

// Opens --init.
mm_status mm_learn_start_read(const mm_learn_plan *plan, mm_learn_start *out);

// To JSON and back; what comes out is the caller's to release. `source` begins errors.
cJSON *mm_learn_plan_json(const mm_learn_plan *plan, const mm_learn_start *start,
                          const mm_plan_envs *envs);
mm_status mm_learn_plan_read(const cJSON *root, const char *source, mm_learn_plan *plan,
                             mm_learn_start *start, mm_plan_envs *envs);

// ---------------------------------------------------------------------------------------------
// Scores on the validation tasks (learn_score.c)

// The controls of one phase: values[c] is [n_task], grouped by environment.
typedef struct mm_learn_controls {
  size_t n_env, n_task; // in all
  double *value[MM_LEARN_CONTROLS];
  bool known;
} mm_learn_controls;

mm_study_score mm_learn_score_of(const mm_learn_controls *controls, const double *value,
                                 int64_t generation);

// What the best mean is chosen by: the mean value; with several environments, whose scales differ,
// the mean over them of the gain over the negative entropy in units of its spread over the tasks.
double mm_learn_merit(const mm_learn_controls *controls, const double *value);

// What is made of a candidate's n returns, which are put in order: see mm_fitness. Runs that
// diverge or finish no episode are -INFINITY, and so is what contains one.
double mm_learn_fitness(mm_fitness fitness, double *x, size_t n);

// The scale on which the returns of an environment are pooled with those of others: mean and
// deviation of the first four controls on its validation tasks. Without a spread, 1.
typedef struct mm_learn_scale {
  double mean, deviation;
} mm_learn_scale;
mm_learn_scale mm_learn_scale_of(const mm_learn_controls *controls, size_t env);

// ---------------------------------------------------------------------------------------------
// A search at work: opened by learn_open.c, driven by learn.c

typedef struct mm_learn_placed {
  double value;
  size_t member;
} mm_learn_placed;

struct mm_learn {
  mm_study study; // its store has the results of the generation in hand
  mm_es *es;

  // fixed by the plan
  mm_learn_plan plan;
  mm_learn_start start;
  double *origin;  // coordinates of the map where the search starts (mm_free), and behind them ...
  double *first;   // ... [dimension] where the strategy does
  double log_span; // of search=shape and simplex (mm_map_search_log_span)
  mm_plan_envs envs;
  mm_map *control_map[MM_LEARN_CONTROLS];
  mm_map *tuned_map[MM_LEARN_ENVS]; // Tsallis with the q of each environment, once it is tuned
  int n_control;
  mm_map_kind kind;
  mm_phase phase[MM_PHASES_MAX];
  size_t n_phase;
  int64_t generations; // of all phases
  size_t n_task;       // trainings per member

  size_t n_member, n_job; // of the generation in hand, and all its trainings; the largest
                          // generation's while memory is taken

  // work space: slices of one block
  mm_arena arena;
  double *member;         // [n_member][dimension]
  double *point;          // [n_member][mm_learn_point_size] where they are made; else none
  double *fitness;        // [n_member] as told to the strategy
  double *raw;            // [n_member] what its returns come to
  double *part;           // [n_member] values on one environment
  double *pool;           // [n_task] values of one member
  mm_learn_placed *order; // [n_member] the same, sorted
  double *best;           // [dimension] the best validated mean
  double *stored_mean;    // [dimension] that of the last stored generation
  double *value;          // [tasks of a validation]
  unsigned char *state;   // of the strategy after the last stored generation
  unsigned char *next;    // and after the one in hand
  mm_job *job;            // as many as the largest list has
  mm_run_job *job_row;
  mm_run_score *score_row;

  const mm_result *result;        // of the list run last
  size_t place;                   // the first one's in the store
  mm_result *last;                // [n_job] racing: what each training came to, without curves
  double *told;                   // [n_member] racing: places
  struct mm_learn_runner *runner; // [n_member] racing: those that are trained on
  mm_learn_controls controls;     // of the current phase
  double best_merit;
  uint64_t stored_evaluations, best_evaluations; // trainings up to stored_mean, up to best
  mm_study_search view; // as far as it does not follow from the rest (mm_learn_look)
};

// Runs l->job[n] into l->result. A training that broke down is a result; anything else that fails
// depends on the machine and ends the step. Candidates may be trained in several rounds.
mm_status mm_learn_run_jobs(mm_learn *l, const mm_backend_config *backend, size_t n,
                            mm_study_stage stage, int round);

// The j-th training of member i.
mm_job mm_learn_member_job(const mm_learn *l, const mm_settings *settings, size_t i, size_t j);

// l->fitness and l->raw of the n members whose trainings are in l->result.
void mm_learn_judge(mm_learn *l, size_t n);

int mm_learn_compare_placed(const void *a, const void *b); // the least value first

// ---------------------------------------------------------------------------------------------
// What coordinates x[dimension] stand for (learn_point.c)

// MM_ERR_INPUT for settings that do not go together.
mm_status mm_learn_point_check(const mm_search *search);

// Origin and first, from the start and the family.
mm_status mm_learn_point_open(mm_learn *l);

// Are the maps' coordinates made, or do they stand in x as they are? How many a map has, all
// anchors together, and which: room[size], or x itself.
bool mm_learn_point_is_made(const mm_learn *l);
size_t mm_learn_point_size(const mm_learn *l);
const double *mm_learn_point(const mm_learn *l, const double *x, double *room);

// The step size; 0: that of the settings.
double mm_learn_point_eta(const mm_learn *l, const double *x);

// The map, with its step size.
mm_status mm_learn_point_map(const mm_learn *l, const double *x, mm_map **out);

// ---------------------------------------------------------------------------------------------

// The phase of the generation that follows `done` complete ones; the last phase at the end.
int32_t mm_learn_phase_after(const mm_learn *l, int64_t done);

// The settings of a phase's trainings.
mm_settings mm_learn_phase_settings(const mm_learn *l, int32_t phase);

// Takes over the number of candidates of the strategy's next generation.
void mm_learn_set_population(mm_learn *l);

// Another number of generations, not below those that are done.
mm_status mm_learn_lengthen(mm_learn *l, int64_t generations);

// After l->controls has its values: their scores, for the view.
void mm_learn_set_controls(mm_learn *l, int64_t generation);

// Enters a validated mean in the view; keeps it if it is the best so far.
void mm_learn_note_best(mm_learn *l, const mm_study_score *score, const double *value,
                        const double *mean);

// ---------------------------------------------------------------------------------------------
// Racing (learn_race.c)

typedef struct mm_learn_runner {
  size_t member, slot; // slot: its place in the list of the round before
} mm_learn_runner;

// Trains the members in rounds and fills in l->fitness, l->raw, l->job and l->result.
mm_status mm_learn_race(mm_learn *l, const mm_backend_config *backend, const mm_settings *settings);

// The steps of a race, as a share of those of all training runs at full length.
double mm_learn_race_share(void);

// ---------------------------------------------------------------------------------------------
// The card of a map (learn_card.c): JSON text for its meta object, to be released with mm_free. The
// environment steps in it are those of all generations so far, not only up to the map's.

mm_status mm_learn_card(const mm_learn *l, int64_t generation, uint64_t evaluations,
                        const mm_study_score *score, char **out);

#endif
