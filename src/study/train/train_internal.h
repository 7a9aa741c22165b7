// What the files of a training share.

#ifndef MM_EXPERIMENT_TRAIN_INTERNAL_H
#define MM_EXPERIMENT_TRAIN_INTERNAL_H

#include <pthread.h>

#include "base/json.h"
#include "study/jobs/job_store.h"
#include "study/policy/policy.h"
#include "study/train/train.h"

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it (train_plan.c), with the map and the text of a task file (NULL
// for an ID). `text` and `task` are released with mm_free.

mm_status mm_train_plan_write(const mm_train_plan *plan, const mm_map *map, const char *task,
                              char **out);
mm_status mm_train_plan_read(const char *text, const char *source, mm_train_plan *plan,
                             mm_map **map, char **task);

// ---------------------------------------------------------------------------------------------
// A training at work: opened by train_open.c, driven by train.c

struct mm_train {
  mm_train_plan plan;
  char *task; // text of the task file, or NULL
  mm_env *env;
  const mm_map *map;
  mm_map *own_map;     // of a run that goes on
  mm_run *run;         // NULL: nothing is stored
  mm_job *job;         // [seeds]
  mm_job_store *store; // their results, from place 0 on
  mm_policy *policy;   // NULL: no networks, or nowhere to put them
  bool session;        // this process is entered in the database
  bool complete;       // all is done, nothing is kept any more
  bool has_file;       // policy.safetensors is there

  pthread_mutex_t lock; // of the next
  char no_policy[MM_ERROR_SIZE];

  mm_backend_place place;   // of the last run
  mm_backend_report report; // likewise
};

#endif
