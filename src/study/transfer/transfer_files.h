// SPDX-License-Identifier: Apache-2.0
// A table of maps and environments as files: JSON with everything, CSV for whoever goes on from
// there. Each carries its settings, seeds, version and speed: CSV files in lines that begin with
// '#', where names and settings are JSON texts, and checksums of the maps' files tell maps of one
// name apart.

#ifndef MM_EXPERIMENT_TRANSFER_FILES_H
#define MM_EXPERIMENT_TRANSFER_FILES_H

#include "base/json.h"
#include "study/transfer/transfer.h"

// Everything as one object. Arrays [map][env] follow `maps` and `envs`; what is undefined is null.
// NULL when out of memory.
cJSON *mm_transfer_json(const mm_transfer *transfer);

// Into an existing folder:
//   table.csv   map, env, n, mean, sem, optimal_mean, diff_negentropy, diff_negentropy_sem,
//               wins_negentropy, diff_l2, diff_l2_sem, wins_l2 (win rates over the same seeds),
//               failures (runs that failed, diverged or finished no episode), eta,
//               iqm, iqm_low, iqm_high (interquartile mean, 95 % of its bootstrap),
//               unfinished (runs without a return),
//               cvar (mean of the worst quarter); of the differences from negentropy ci_low,
//               ci_high, diff_iqm with its interval, win_rate with its interval, p, p_holm;
//               ci_low_l2, ci_high_l2, p_holm_l2, q (where it was tuned)
//   runs.csv    map, env, seed, final (none for a run that is worth -INFINITY; no row for one that
//               is worth nothing, since another attempt may be: mm_result_worth)
//   curves.csv  map, env, step, mean, sem (only where there are curves)
//   table.json  mm_transfer_json
// Undefined numbers are empty fields; the lower end of an interval may be "-inf".
mm_status mm_transfer_write(const mm_transfer *transfer, const char *folder);

#endif
