// SPDX-License-Identifier: Apache-2.0
// Training agents: the same job for many seeds. A training with a folder keeps itself in a run
// database as it goes, and can be taken up again after whatever stopped it:
//
//   mm_train_create(folder, &plan, map, &train);    or  mm_train_resume(folder, &train);
//   mm_train_run(train, &backend, 60);               all seeds that are not done yet
//   mm_train_look(train, &view);
//   mm_train_close(train);
//
// Everything but the times follows from the plan alone, on any number of threads and however often
// it was stopped. Finished seeds are stored at once, unfinished ones every so many seconds and when
// they are interrupted. At the end the networks go to policy.safetensors.

#ifndef MM_EXPERIMENT_TRAIN_H
#define MM_EXPERIMENT_TRAIN_H

#include "study/jobs/plan.h"
#include "study/jobs/study.h"

enum { MM_TRAIN_SEEDS_MAX = MM_STUDY_SEEDS_MAX };

// What decides the result, but for the map itself.
typedef struct mm_train_plan {
  char env[MM_PLAN_NAME_SIZE]; // ID or task file
  char map[MM_PLAN_NAME_SIZE]; // what the map is called
  mm_settings settings;
  uint64_t seed; // of the first agent; the others follow it
  size_t seeds;
} mm_train_plan;

typedef struct mm_train mm_train;

// `folder` NULL: nothing is stored. The map must outlive the training. What is wrong with the plan
// shows before the folder is made.
mm_status mm_train_create(const char *folder, const mm_train_plan *plan, const mm_map *map,
                          mm_train **out);

// The training's map becomes its own, to be destroyed with it.
void mm_train_take_map(mm_train *train, mm_map *map);

// Goes on where the run in `folder` stopped.
mm_status mm_train_resume(const char *folder, mm_train **out);
void mm_train_close(mm_train *train);

// Trains what is not done yet. MM_OK: every seed has come to its end, be it a failure of its own
// (see the view). MM_ERR_INTERRUPTED leaves the rest for later. Anything else: what could not be
// stored up to the end. A disk that is full meanwhile is no reason to stop: it is tried again with
// every state and every seed.
mm_status mm_train_run(mm_train *train, const mm_backend_config *backend, double save_seconds);

// The same as a study (mirrormap/study.h).
extern const mm_study_class mm_train_class;
mm_study *mm_train_study(mm_train *train);

// ---------------------------------------------------------------------------------------------

typedef struct mm_train_view {
  const mm_train_plan *plan;
  const mm_env *env;
  const char *folder; // NULL: none
  // [seeds] in the order of the seeds; MM_ERR_INTERRUPTED for those that are not done
  const mm_result *result;
  size_t n_done;     // came to an end
  size_t n_numeric;  // of these broke down, with a value
  size_t n_failed;   // have no value
  size_t trouble;    // the first of those without a value, else of those that broke down
  const char *error; // its sentence, "" where it is not known
  bool complete;     // nothing is left to be done
  char policy[MM_RUN_PATH_SIZE + 24]; // file of the networks, "" for none
  const char *no_policy;              // why there is none though there should, or ""
  // of this process
  mm_machine machine;
  double seconds;
  uint64_t env_steps;
} mm_train_view;

void mm_train_look(const mm_train *train, mm_train_view *out);

#endif
