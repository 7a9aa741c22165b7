// SPDX-License-Identifier: Apache-2.0
// What tests of a training may look at.

#ifndef MM_EXPERIMENT_TRAIN_INTERNAL_H
#define MM_EXPERIMENT_TRAIN_INTERNAL_H

#include <pthread.h>

#include "study/policy/policy.h"
#include "study/train/train.h"

// The plan as the database keeps it, with the map and the text of a task file (task[0], NULL for an
// ID), and back. What comes out is the caller's to release.
mm_status mm_train_plan_json(const mm_train_plan *plan, const mm_map *map, const mm_plan_envs *envs,
                             cJSON **out);
mm_status mm_train_plan_read(const cJSON *root, const char *source, mm_train_plan *plan,
                             mm_map **map, mm_plan_envs *envs);

struct mm_train {
  mm_study study; // results from place 0 on
  mm_train_plan plan;
  mm_plan_envs envs; // one
  const mm_map *map;
  mm_map *own_map;                         // of a run that goes on
  mm_job *job;                             // [seeds]
  double *worth;                           // [seeds] of the results, when they were last asked for
  mm_policy *policy;                       // NULL: no networks, or nowhere to put them
  bool complete;                           // all is done, nothing is checkpointed any more
  bool has_file;                           // policy.safetensors is there
  mm_curve_point *curve;                   // the mean curve, likewise
  char policy_path[MM_RUN_PATH_SIZE + 24]; // where it is, when it was last asked for

  pthread_mutex_t lock; // of the next
  char no_policy[MM_ERROR_SIZE];
  mm_backend_report report; // of the last run
};

#endif
