// SPDX-License-Identifier: Apache-2.0
// A study: learn, train, transfer, tune and reproduce each work off a plan. The plan is the
// configuration of a run, whose database holds what the jobs of the plan came to; a session is a
// process that works on it. mirrormap/study.h has the life of a study as its users see it; here is
// what the studies themselves are made of. Each has an mm_study as its first field, so that a
// pointer to the one is a pointer to the other:
//
//   mm_study_make_run(&study, folder, plan, &envs)    or  mm_study_take_run(&study, folder)
//   mm_study_start(&study, &backend)                      this process is entered in the database
//   mm_study_run_jobs(&study, &backend, first, jobs, n, &report)
//   mm_study_end(&study, "done")
//   mm_study_release(&study)
//
// A study begins zeroed. Without a run everything works the same, but nothing is stored.

#ifndef MM_STUDY_STUDY_H
#define MM_STUDY_STUDY_H

#include "base/json.h"
#include "mirrormap/result.h"
#include "study/jobs/job_store.h"
#include "study/jobs/machine.h"
#include "study/jobs/plan.h"

// What a kind of study does in the life that all of them share. All functions are there but
// `failures`, `lengthen`, `setting` and `write`. What is filled in comes with its undefined numbers
// NaN and all else 0; places are looked at before.
typedef struct mm_study_class {
  mm_study_kind kind;
  mm_status (*resume)(const char *folder, mm_study **out);
  mm_status (*advance)(mm_study *study, const mm_backend_config *backend, double save_seconds);
  bool (*done)(const mm_study *study);
  void (*look)(const mm_study *study, mm_study_progress *out);
  void (*describe)(const mm_study *study, mm_study_info *out);
  void (*env)(const mm_study *study, size_t i, mm_study_env_info *out);
  void (*map)(const mm_study *study, size_t i, mm_study_map_info *out);
  void (*failures)(const mm_study *study, mm_study_failures *out);
  mm_status (*lengthen)(mm_study *study, int64_t generations);
  size_t (*cells)(const mm_study *study);
  void (*cell)(const mm_study *study, size_t i, mm_study_cell *out);
  void (*detail)(const mm_study *study, size_t i, mm_study_detail *out);
  mm_status (*setting)(const mm_study *study, const char *key, char out[MM_STUDY_SETTING_SIZE]);
  mm_status (*write)(mm_study *study);
  cJSON *(*json)(mm_study *study); // NULL when out of memory
  void (*close)(mm_study *study);
} mm_study_class;

struct mm_study {
  const mm_study_class *class; // NULL: one that only its own file knows
  mm_run *run;                 // NULL: nothing is stored
  mm_job_store *store;         // what its jobs came to
  mm_machine machine;          // that did them in this process
  bool in_session;
  char outcome[16]; // how the work of this process ended; "" while it goes on
};

// What does not belong to a study of this kind is MM_ERR_INPUT.
mm_status mm_study_expect(const mm_study *study, mm_study_kind kind);

// Hands out a struct of result.h, ours [most], as one of the size that the program's has.
mm_status mm_study_give(const void *ours, size_t most, void *out);

// Numbers of a cell from its runs' worths (mm_result_worth), which are to stay.
void mm_study_fill_cell(mm_study_cell *cell, const double *worth, size_t n);

// A new run in `folder` with this plan, which is deleted; its field "command" says whose it is. The
// task files of the environments (NULL for none) are copied into the folder.
mm_status mm_study_make_run(mm_study *study, const char *folder, cJSON *plan,
                            const mm_plan_envs *envs);

// The run in `folder`, to go on with it.
mm_status mm_study_take_run(mm_study *study, const char *folder);
void mm_study_release(mm_study *study);

// mm_job_rehearse of a training: what is wrong with the settings shows before there is a run.
mm_status mm_study_rehearse(const mm_env *env, const mm_map *map, const mm_settings *settings,
                            uint64_t seed);

// The plan of a run (cJSON_Delete), and what errors about it begin with.
enum { MM_STUDY_SOURCE_SIZE = MM_RUN_PATH_SIZE };
mm_status mm_study_plan(const mm_run *run, cJSON **plan, char source[MM_STUDY_SOURCE_SIZE]);

// ---------------------------------------------------------------------------------------------
// A session

mm_status mm_study_start(mm_study *study, const mm_backend_config *backend);

// mm_job_store_run on the study's store; notes where the jobs ran. *report as the backend's own.
mm_status mm_study_run_jobs(mm_study *study, const mm_backend_config *backend, size_t first,
                            const mm_job *jobs, size_t n, mm_backend_report *report);

// Adds to where jobs ran: MM_BACKEND_ON_.. or-ed.
void mm_study_ran(mm_study *study, const mm_backend_place *place, unsigned ran);

// ---------------------------------------------------------------------------------------------

// Adds {"mean", "sem"}, null where they are not defined.
void mm_study_add_estimate(cJSON *object, const char *key, mm_estimate e);

// Adds the folder, NULL for none, and how it stands, for the objects of mm_study_format.
void mm_study_add_run(cJSON *object, const mm_study *study);

// Adds how fast this process was: `env_steps_per_second` and `wall_seconds`.
void mm_study_add_speed(cJSON *object, double seconds, uint64_t env_steps);

#endif
