// SPDX-License-Identifier: Apache-2.0
// The map of a trial, where the space has parameters of maps.

#ifndef MM_EXPERIMENT_TUNE_MAP_H
#define MM_EXPERIMENT_TUNE_MAP_H

#include "mirrormap/map.h"
#include "study/tune/tune_space.h"

// What the map has: q, or the factor 1. NaN for a setting, or for q of a map that is no Tsallis.
double mm_tune_map_own(const mm_tune_parameter *p, const mm_map *map);

// MM_ERR_INPUT when the map lacks a parameter of the space, or cannot have a value of its range.
mm_status mm_tune_map_check(const mm_tune_space *space, const mm_map *map, const char *name);

// `base` with the values [n], a map of the caller's own; *out is NULL where that is `base` itself.
// q = 1 is Tsallis' limit, negentropy. A factor other than 1 makes maps without coefficients ones
// of kind powers, which have them: the same phi^-1 up to a constant, which no policy depends on.
mm_status mm_tune_map_make(const mm_tune_space *space, const double *value, const mm_map *base,
                           mm_map **out);

// What the trial's map is called in a run: `name`, and the values.
enum { MM_TUNE_MAP_LABEL = 96 };
const char *mm_tune_map_label(const mm_tune_space *space, const double *value, const char *name,
                              char out[MM_TUNE_MAP_LABEL]);

#endif
