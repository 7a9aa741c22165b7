// A table of maps and environments as a run: its plan, with the maps and task files in it, is the
// configuration, so that the table can be gone on with anywhere.

#ifndef MM_EXPERIMENT_TRANSFER_PLAN_H
#define MM_EXPERIMENT_TRANSFER_PLAN_H

#include "study/transfer/transfer.h"

// A new run in `folder`, of which the plan is that of the configuration. Hand it over as the
// configuration's `run` and close it with mm_run_close.
mm_status mm_transfer_create(const char *folder, const mm_transfer_config *config, mm_run **out);

// The run in `folder` opened to go on with, and what it is about: maps and environments with their
// settings, seeds. The caller adds a backend.
typedef struct mm_transfer_plan mm_transfer_plan;
mm_status mm_transfer_resume(const char *folder, mm_run **run, mm_transfer_plan **out);

void mm_transfer_plan_release(mm_transfer_plan *plan);

// All of it belongs to the plan.
const mm_transfer_config *mm_transfer_plan_config(const mm_transfer_plan *plan);

#endif
