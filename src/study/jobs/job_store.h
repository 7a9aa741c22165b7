// SPDX-License-Identifier: Apache-2.0
// A backend with a memory. Jobs that a run has already come from there; the others are done now and
// stored as they end, unfinished ones every so often. Whoever announces the same batches and runs
// the same jobs again after a crash goes on where it was:
//
//   mm_job_store_open(run, &store);
//   mm_job_store_batch(store, &batch, &first);              8 seeds of a map on an environment
//   mm_job_store_run(store, &backend, first, jobs, 8);
//   const mm_result *results = mm_job_store_results(store, first);

#ifndef MM_EXPERIMENT_JOB_STORE_H
#define MM_EXPERIMENT_JOB_STORE_H

#include "agent/job_hooks.h"
#include "backend/backend.h"
#include "net/net.h"
#include "study/run/run.h"
#include "study/settings/settings.h"

typedef struct mm_job_store mm_job_store;

// `run`, opened for writing, must outlive the store; NULL: nothing is kept.
mm_status mm_job_store_open(mm_run *run, mm_job_store **out);

// The results that a run has, without curves, for those who only look: batches are announced as
// ever, but nothing is stored, and nothing should be run. `run` is not needed afterwards.
mm_status mm_job_store_read(mm_run *run, mm_job_store **out);

// How often states of unfinished jobs are stored, beside when they are interrupted; 60 seconds
// until it is said. 0: only then.
void mm_job_store_save_every(mm_job_store *store, double seconds);
void mm_job_store_close(mm_job_store *store);

// Jobs that belong together: seeds of one map on one environment with the same settings.
typedef struct mm_job_batch {
  size_t jobs;
  const char *role;      // see mm_run_batch
  const char *env, *map; // labels; what does not fit into the database is shortened
  const mm_settings *settings;
  const mm_job *job; // [jobs] of which only the seeds matter yet
} mm_job_batch;

// Gives the next places to a batch, from *first on. MM_ERR_INPUT when what the run has there is
// another one's.
mm_status mm_job_store_batch(mm_job_store *store, const mm_job_batch *batch, size_t *first);

// The same for seeds seed, seed + 1, .. : lists the jobs into job[batch->jobs] and announces them.
// `first` may be NULL.
mm_status mm_job_store_seeds(mm_job_store *store, mm_job_batch batch, const mm_env *env,
                             const mm_map *map, uint64_t seed, mm_job *job, size_t *first);

// Runs jobs[n], all of announced batches, for the places from `first` on, as far as they are not
// done. As mm_backend_run, with its report and progress over all of them; besides, it fails when
// something could not be stored up to the end. A disk that is full meanwhile is no reason to stop:
// it is tried again with every state and every job. May be called again for the same places.
mm_status mm_job_store_run(mm_job_store *store, const mm_backend_config *backend, size_t first,
                           const mm_job *jobs, size_t n);

// From now on jobs are trained by `run` (mm_job_hooks.run; its user is the store) in the place of
// their own algorithm, and the columns of their results' `measure` are called name[MM_MEASURES],
// NULL for those without one. A point of a measure that is NaN is left out. NULL: as ever.
typedef mm_status mm_job_store_train(const mm_job *job, const volatile int *stop, mm_result *result,
                                     void *user);
void mm_job_store_measure(mm_job_store *store, mm_job_store_train *run, const char *const *name);

// Results from that place on, until the next batch; MM_ERR_INTERRUPTED for those not done.
const mm_result *mm_job_store_results(const mm_job_store *store, size_t first);

// Counts n results from that place on, as a backend's report does.
void mm_job_store_count(const mm_job_store *store, size_t first, size_t n, mm_backend_report *out);

// A sentence about what could not be stored, once per trouble; false when there is nothing new. May
// be called from the backend's progress function.
bool mm_job_store_trouble(mm_job_store *store, char out[MM_ERROR_SIZE]);

// MM_ERR_INPUT when the run has more trainings than there were batches for.
mm_status mm_job_store_check_end(const mm_job_store *store);

// Everything is done: nothing need be kept of it but the results.
mm_status mm_job_store_finish(mm_job_store *store);

// Trains nothing, but makes everything that a training needs: what is wrong with a job shows before
// there is a run. So does log=on where nobody will look at what it records.
mm_status mm_job_rehearse(const mm_job *job, bool keeps_log);

// What this process did.
typedef struct mm_job_store_work {
  double seconds; // in the backend
  uint64_t env_steps;
  size_t found;   // jobs whose results came from the run
  size_t trained; // jobs that it began or went on with
  unsigned ran;   // where: MM_BACKEND_ON_.. or-ed
} mm_job_store_work;
mm_job_store_work mm_job_store_work_of(const mm_job_store *store);

// ---------------------------------------------------------------------------------------------
// Lists instead of batches, for a search: its generations get into the database in one piece, by
// other calls. Until then the results of their jobs are checkpointed as they end (those of whole
// jobs, without curves), and whoever announces the same list again, in this process or the next,
// finds them.

// Gives the next places to a list, from *first on; a list that is there keeps those it has. It is
// known by its generation and stage. A job may pause (mm_job.until), and one of a later list go on
// with the state that it left.
mm_status mm_job_store_list(mm_job_store *store, int64_t generation, int stage, const mm_job *job,
                            size_t n, size_t *first);

// The state of a job that paused, until the lists end; NULL if there is none.
const void *mm_job_store_state(const mm_job_store *store, size_t place, size_t *size);

// The generation is stored: within its transaction, and after its commit. All lists end.
mm_status mm_job_store_forget_lists(mm_job_store *store);
void mm_job_store_clear_lists(mm_job_store *store);

// Bytes that a list of n takes while it runs, beside its curves.
double mm_job_store_list_bytes(size_t n);

// ---------------------------------------------------------------------------------------------
// Networks. With `see` set, before the first batch, they are kept until mm_job_store_finish, and
// shown once each: those that were kept when their batch is announced, others by the thread that
// trained them. A job whose networks were not kept is done again unless `complete`.

typedef mm_status mm_job_store_see_net(size_t place, const mm_net *net, void *user);
void mm_job_store_watch(mm_job_store *store, bool complete, mm_job_store_see_net *see, void *user);

#endif
