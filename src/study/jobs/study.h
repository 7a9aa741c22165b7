// A study: learn, train, transfer and tune each work off a plan. The plan is the configuration of a
// run, whose database holds what the jobs of the plan came to; a session is a process that works
// on it. This is what the life of all of them has in common:
//
//   mm_study_create(&study, folder, plan, &envs)     or  mm_study_open(&study, folder)
//   mm_study_start(&study, &backend)                     this process is entered in the database
//   mm_study_run(&study, &backend, first, jobs, n, &report)
//   mm_study_end(&study, "done")
//   mm_study_close(&study)
//
// A study begins zeroed. Without a run everything works the same, but nothing is stored.

#ifndef MM_STUDY_STUDY_H
#define MM_STUDY_STUDY_H

#include "base/json.h"
#include "study/jobs/job_store.h"
#include "study/jobs/machine.h"
#include "study/jobs/plan.h"
#include "study/stats/estimate.h"

typedef struct mm_study {
  mm_run *run;         // NULL: nothing is stored
  mm_job_store *store; // what its jobs came to
  mm_machine machine;  // that did them in this process
  bool in_session;
} mm_study;

// A new run in `folder` with this plan, which is deleted; its field "command" says whose it is. The
// task files of the environments (NULL for none) are copied into the folder.
mm_status mm_study_create(mm_study *study, const char *folder, cJSON *plan,
                          const mm_plan_envs *envs);

// The run in `folder`, to go on with it.
mm_status mm_study_open(mm_study *study, const char *folder);
void mm_study_close(mm_study *study);

// mm_job_rehearse of a training: what is wrong with the settings shows before there is a run.
mm_status mm_study_rehearse(const mm_env *env, const mm_map *map, const mm_settings *settings,
                            uint64_t seed);

// The plan of a run (cJSON_Delete), and what errors about it begin with.
enum { MM_STUDY_SOURCE_SIZE = MM_RUN_PATH_SIZE };
mm_status mm_study_plan(const mm_run *run, cJSON **plan, char source[MM_STUDY_SOURCE_SIZE]);

// Its folder; NULL without a run.
const char *mm_study_folder(const mm_study *study);

// ---------------------------------------------------------------------------------------------
// A session

mm_status mm_study_start(mm_study *study, const mm_backend_config *backend);

// mm_job_store_run on the study's store; notes where the jobs ran. *report as the backend's own.
mm_status mm_study_run(mm_study *study, const mm_backend_config *backend, size_t first,
                       const mm_job *jobs, size_t n, mm_backend_report *report);

// Adds to where jobs ran: MM_BACKEND_ON_.. or-ed.
void mm_study_ran(mm_study *study, const mm_backend_place *place, unsigned ran);

// A sentence about what could not be stored, once per trouble; false when there is nothing new. May
// be called from the backend's progress function.
bool mm_study_trouble(mm_study *study, char out[MM_ERROR_SIZE]);

// Says in the database how this process ended: "done", "stopped", "interrupted", "failed". Best
// effort: a run whose disk is full has nothing to say any more.
void mm_study_end(mm_study *study, const char *outcome);

// ---------------------------------------------------------------------------------------------

// Adds {"mean", "sem"}, null where they are not defined.
void mm_study_add_estimate(cJSON *object, const char *key, mm_estimate e);

#endif
