// SPDX-License-Identifier: Apache-2.0
// Learning a map: an evolution strategy asks for candidates, the backend trains with each of them,
// the run database keeps every generation.
//
//   mm_learn_create(folder, &plan, &learn);           or  mm_learn_resume(folder, 0, &learn);
//   while (!mm_learn_done(learn))
//     mm_learn_advance(learn, &backend);               one generation, or a phase's first
//     validation
//   mm_learn_write_maps(learn);                         mean.json, best.json
//   mm_learn_close(learn);
//
// Everything but the times follows from the plan alone. A generation gets into the database in one
// piece; a process that dies, is interrupted or fails loses at most the one in flight.

#ifndef MM_EXPERIMENT_LEARN_H
#define MM_EXPERIMENT_LEARN_H

#include "mirrormap/result.h"
#include "study/jobs/study.h"

enum {
  MM_LEARN_ENVS = MM_STUDY_LEARN_ENVS,
  MM_LEARN_NAME_SIZE = MM_PLAN_NAME_SIZE,
  MM_LEARN_CONTROLS = MM_STUDY_SEARCH_CONTROLS
};

// What decides the result.
typedef struct mm_learn_plan {
  size_t n_env;
  char env[MM_LEARN_ENVS][MM_LEARN_NAME_SIZE]; // IDs or task files
  mm_settings settings;
  uint64_t seed;
  bool early; // begun before Tsallis with q and eta tuned was among the full controls
} mm_learn_plan;

typedef struct mm_learn mm_learn;

// Checks the plan, makes the run and stores its start. Task files are copied into the folder, so
// that the run can be moved.
mm_status mm_learn_create(const char *folder, const mm_learn_plan *plan, mm_learn **out);

// Goes on where the run in `folder` stopped. `generations` > 0 changes its length, not below what
// is done; a run with a schedule keeps its own.
mm_status mm_learn_resume(const char *folder, int64_t generations, mm_learn **out);
void mm_learn_close(mm_learn *learn);

// ---------------------------------------------------------------------------------------------

bool mm_learn_done(const mm_learn *learn);

// The next step. On failure, MM_ERR_INTERRUPTED included, the search is where the database is: as
// before the call, or, when only the map files could not be written, a generation further.
mm_status mm_learn_advance(mm_learn *learn, const mm_backend_config *backend);

// Writes the mean of the last stored generation and the best validated mean, with their cards, to
// mean.json and best.json of the run folder. Advancing does so too, after each validation.
mm_status mm_learn_write_maps(mm_learn *learn);

// ---------------------------------------------------------------------------------------------
// How it stands

const mm_learn_plan *mm_learn_get_plan(const mm_learn *learn);
void mm_learn_look(const mm_learn *learn, mm_study_search *out);

// The same as a study (mirrormap/study.h).
extern const mm_study_class mm_learn_class;
mm_study *mm_learn_study(mm_learn *learn);

#endif
