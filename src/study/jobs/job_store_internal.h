// SPDX-License-Identifier: Apache-2.0
// What the files of the job store share.

#ifndef MM_EXPERIMENT_JOB_STORE_INTERNAL_H
#define MM_EXPERIMENT_JOB_STORE_INTERNAL_H

#include <pthread.h>

#include "agent/job_hooks.h"
#include "study/jobs/job_store.h"
#include "study/run/run_table.h"

// A place.
typedef struct mm_job_entry {
  bool ended;        // with a result that will be the same every time
  bool stored;       // it is in the database
  bool pending;      // it could not be stored when it ended;
  mm_result *late;   // its result, until it is; the curve is the backend's
  bool has_net;      // its networks were shown
  uint64_t seed;     // of a stored result
  void *bytes;       // its state to begin with, or the networks that have yet to be stored
  size_t size;       //
  uint64_t begun_at; // environment steps of that state
} mm_job_entry;

// What the run had when it was opened, in the order of the places, until a batch claims it.
typedef struct mm_job_found {
  int64_t job;
  mm_job_entry entry;
  mm_result result;
} mm_job_found;

typedef struct mm_job_found_batch {
  int64_t first, jobs;
  char words[3][MM_RUN_WORD_SIZE]; // role, environment, map
} mm_job_found_batch;

// A list between its announcement and its generation's commit.
typedef struct mm_job_list_key {
  int64_t generation;
  int stage;
  size_t first, n;
} mm_job_list_key;

struct mm_job_store {
  mm_run *run; // NULL: nothing is kept
  double save_seconds;
  mm_job_store_see_net *see_net;
  void *net_user;
  bool complete;                   // nothing is kept any more
  mm_job_store_train *train;       // in the place of the jobs' algorithms; NULL: these
  const char *const *measure_name; // [MM_MEASURES] of what that measures

  mm_job_found *found; // [n_found]
  size_t n_found, claimed;
  mm_job_found_batch *found_batch; // [n_found_batch]
  size_t n_found_batch, n_batch;

  mm_job_entry *entry; // [n]
  mm_result *result;   // [n]
  size_t n, room;

  // while it runs
  const mm_backend_config *backend; // of the caller
  size_t first;
  mm_job_hooks hooks;
  mm_job *job;      // [n_job] those that are to be done
  size_t *place;    // [n_job]
  mm_result *fresh; // [n_job] their results
  size_t n_job, n_known;
  uint64_t known_steps; // of the results that were there
  size_t n_pending;     // ended and could not be stored yet
  pthread_mutex_t lock; // of the database, the entries and the trouble
  char trouble[MM_ERROR_SIZE];
  mm_status trouble_status; // MM_OK: everything is stored
  bool trouble_is_new, too_large;

  mm_job_store_work work;

  // instead of batches
  bool has_lists;
  mm_job_list_key *list; // [n_list]
  size_t n_list;
  size_t n_waiting; // results that have yet to be checkpointed
  bool has_rows;    // there may be rows of results in the database
  double due;       // next checkpoint, by the clock
};

// Reads the run (job_store_rows.c).
mm_status mm_job_store_load(mm_job_store *store);
mm_status mm_job_store_load_results(mm_job_store *store); // alone, without curves
void mm_job_store_release_found(mm_job_store *store);

// The next `n` places, none of which is done.
mm_status mm_job_store_reserve(mm_job_store *store, size_t n);

// Lists while they run (job_store_lists.c): the lock is held for a result.
void mm_job_store_list_begin(mm_job_store *store);
void mm_job_store_list_result(mm_job_store *store, size_t place, const mm_result *result);
void mm_job_store_list_end(mm_job_store *store, size_t first, size_t n);

#endif
