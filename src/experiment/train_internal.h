// What the files of a training share.

#ifndef MM_EXPERIMENT_TRAIN_INTERNAL_H
#define MM_EXPERIMENT_TRAIN_INTERNAL_H

#include <pthread.h>

#include "agent/job_hooks.h"
#include "base/json.h"
#include "experiment/policy.h"
#include "experiment/train.h"

// ---------------------------------------------------------------------------------------------
// The plan as the database keeps it (train_plan.c), with the map and the text of a task file (NULL
// for an ID). `text` and `task` are released with mm_free.

mm_status mm_train_plan_write(const mm_train_plan *plan, const mm_map *map, const char *task,
                              char **out);
mm_status mm_train_plan_read(const char *text, const char *source, mm_train_plan *plan,
                             mm_map **map, char **task);

// ---------------------------------------------------------------------------------------------
// Networks of a finished training as bytes (train_net.c), released with mm_free

mm_status mm_train_net_save(const mm_net *net, void **out, size_t *size);
mm_status mm_train_net_load(const void *bytes, size_t size, mm_net **out);

// ---------------------------------------------------------------------------------------------
// A training at work: opened by train_open.c, driven by train.c

// One seed.
typedef struct mm_train_seed {
  bool ended;        // with a result that will be the same every time
  bool stored;       // it is in the database
  bool pending;      // it could not be stored when it ended;
  mm_result *late;   // its result, until it is; the curve is the backend's
  bool has_net;      // its networks are in the policy
  void *bytes;       // its state to begin with, or the networks that have yet to be stored
  size_t size;       //
  uint64_t begun_at; // environment steps of that state
} mm_train_seed;

struct mm_train {
  mm_train_plan plan;
  char *task; // text of the task file, or NULL
  mm_env *env;
  const mm_map *map;
  mm_map *own_map;   // of a run that goes on
  mm_run *run;       // NULL: nothing is stored
  mm_policy *policy; // NULL: no networks, or nowhere to put them
  bool session;      // this process is entered in the database
  bool complete;     // all is done, nothing is kept any more
  bool has_file;     // policy.safetensors is there

  mm_result *result;   // [seeds]
  mm_train_seed *seed; // [seeds]

  // while it runs
  mm_job_hooks hooks;
  mm_job *job;      // [n_job] those that are to be done
  size_t *place;    // [n_job] their seeds
  mm_result *fresh; // [n_job] their results
  size_t n_job;
  size_t n_pending;     // seeds that ended and could not be stored yet
  pthread_mutex_t lock; // of the database, the seeds and the trouble
  char trouble[MM_ERROR_SIZE];
  mm_status trouble_status; // MM_OK: everything is stored
  bool trouble_is_new, too_large;
  char no_policy[MM_ERROR_SIZE];

  mm_backend_report report; // of the last run
  size_t report_seed;       // its `trouble` as a seed
  double seconds;
  uint64_t env_steps;
};

// Is something left to be trained for this seed?
static inline bool mm_train_is_open(const mm_train *t, size_t i) {
  return !t->seed[i].ended || (t->policy && !t->complete && !t->seed[i].has_net);
}

// Enters networks in the policy. What does not fit there is noted in no_policy.
void mm_train_set_net(mm_train *t, size_t i, const mm_net *net);

#endif
