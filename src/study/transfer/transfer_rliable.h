// SPDX-License-Identifier: Apache-2.0
// A table of maps and environments in the layout of rliable (Agarwal et al., 2021): for each map a
// matrix of runs and environments.

#ifndef MM_STUDY_TRANSFER_RLIABLE_H
#define MM_STUDY_TRANSFER_RLIABLE_H

#include "base/json.h"
#include "study/run/run.h"

// {envs: [..], seeds: [..], scores: {map: [run][env]}} of final returns, from the run's database.
// What has no return is null. MM_ERR_INPUT where there is no table or runs are still to be trained;
// rows that are damaged are null too, as mm_run_damage says.
mm_status mm_transfer_rliable(mm_run *run, cJSON **out);

#endif
