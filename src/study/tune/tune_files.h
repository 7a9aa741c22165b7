// SPDX-License-Identifier: Apache-2.0
// A tuning as files: JSON with everything, CSV of the trials, and the new preset.

#ifndef MM_EXPERIMENT_TUNE_FILES_H
#define MM_EXPERIMENT_TUNE_FILES_H

#include "base/json.h"
#include "study/tune/tune.h"

// "done", "stopped" (behind a round; "dropped" by halving), "failed", or "open" while it is at
// work.
const char *mm_tune_state(const mm_tune_search *search, size_t trial);

// {"parameters": [{"name", "scale", "low", "high" | "choice"}], "trials": [{"trial", "values",
// "mean", "sem", "n", "pruned", "best", ..}], "importance": [{"name", "share"}]}: what a report
// shows. mean and sem are of the score. NULL when out of memory.
cJSON *mm_tune_tuning_json(const mm_tune *tune);

// Everything; the above is its field "tuning".
cJSON *mm_tune_json(const mm_tune *tune);

// Into an existing folder: trials.csv, one line per trial, tune.json, and where the space has
// parameters of maps the winner's as map.json (map-1.json, .. of several).
mm_status mm_tune_write(const mm_tune *tune, const char *folder);

// The winner's settings as <folder>/preset.yaml, for all of the environments: what these do not
// have in common is left to them. Only as a new file: one that is there stays, and *written is
// false.
mm_status mm_tune_write_preset(const mm_tune *tune, const char *folder, bool *written);

#endif
