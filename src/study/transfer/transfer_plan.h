// SPDX-License-Identifier: Apache-2.0
// A table of maps and environments as a run: its plan, with the maps and task files in it, is the
// configuration, so that the table can be gone on with anywhere.

#ifndef MM_EXPERIMENT_TRANSFER_PLAN_H
#define MM_EXPERIMENT_TRANSFER_PLAN_H

#include "study/transfer/transfer.h"

// The row of that name, with its name as the label. The eta that the map brings counts if
// `own_eta`, and never in a row that is tuned.
mm_transfer_map mm_transfer_row(const char *name, const mm_map *map, bool own_eta);

// A new run in `folder`, of which the plan is that of the configuration. Hand it over as the
// configuration's `run` and close it with mm_run_close.
mm_status mm_transfer_create(const char *folder, const mm_transfer_config *config, mm_run **out);

// The run in `folder` opened to go on with, and what it is about: maps and environments with their
// settings, seeds. The caller adds a backend.
typedef struct mm_transfer_plan mm_transfer_plan;
mm_status mm_transfer_resume(const char *folder, mm_run **run, mm_transfer_plan **out);

// The same of a configuration, without a run.
mm_status mm_transfer_plan_of(const mm_transfer_config *config, mm_transfer_plan **out);

void mm_transfer_plan_release(mm_transfer_plan *plan);

// All of it belongs to the plan.
const mm_transfer_config *mm_transfer_plan_config(const mm_transfer_plan *plan);

#endif
