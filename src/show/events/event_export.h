// SPDX-License-Identifier: Apache-2.0
// A run as a folder of event files, for TensorBoard: one sub-folder with one file for each curve.
//
//   search            of `learn`: search/fitness_mean, _best, _sd and search/sigma by generation
//   validation-<map>  validation/value by generation, the mean over the tasks
//   seed-<n>, mean    of `train`: return by environment steps, further measures by their names
//
// Other runs have a folder <env>-<map> for each batch of training runs around its seeds and their
// mean; for a tuning's, role and number stand before that.
//
// Events carry the time of their generation; the database has none for a point of a training run,
// whose time is interpolated by environment steps within the sessions of the run.
//
// Everything in them follows from the database, so that the same run always gives the same bytes.

#ifndef MM_EXPERIMENT_EVENT_EXPORT_H
#define MM_EXPERIMENT_EVENT_EXPORT_H

#include "study/run/run.h"

typedef struct mm_event_count {
  size_t files;
  uint64_t scalars;
} mm_event_count;

// Writes below `folder`, which exists; files that an earlier export of the same run left there are
// replaced, each at once. Event files of another run, which TensorBoard would mix with these, are
// MM_ERR_INPUT before anything is written. Damage is no obstacle: what is intact gets out, and
// mm_run_damage says what was found.
mm_status mm_event_export(mm_run *run, const char *folder, mm_event_count *out);

#endif
