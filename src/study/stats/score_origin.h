// SPDX-License-Identifier: Apache-2.0
// What a table of runs says about itself in remarks: which maps and environments its names stand
// for, and with which settings they were trained. Names are short and unique within one table only,
// so tables that become one are held against each other.

#ifndef MM_STUDY_SCORE_ORIGIN_H
#define MM_STUDY_SCORE_ORIGIN_H

#include "base/json.h"

// The remarks "# maps: {..}" and so on, objects by name; NULL: there is none.
typedef struct mm_score_origin {
  const char *table; // as it was given, for messages
  cJSON *maps, *envs;
  cJSON *fingerprints; // of the maps; tables of earlier programs have none
  cJSON *settings;     // of the environments
} mm_score_origin;

// Takes a line that begins with '#', length bytes without its end. Other remarks are skipped.
// `source` begins errors.
mm_status mm_score_origin_take(mm_score_origin *origin, const char *line, size_t length,
                               const char *source);
void mm_score_origin_release(mm_score_origin *origin);

// Whether it says what the map, or the environment, is.
bool mm_score_origin_has_map(const mm_score_origin *origin, const char *map);
bool mm_score_origin_has_env(const mm_score_origin *origin, const char *env);

// MM_ERR_INPUT where two tables mean different maps by a name: of different fingerprints, or of
// different files where one has no fingerprints.
mm_status mm_score_origin_same_map(const mm_score_origin *a, const mm_score_origin *b,
                                   const char *map);

// The same for an environment.
mm_status mm_score_origin_same_env(const mm_score_origin *a, const mm_score_origin *b,
                                   const char *env);

// MM_ERR_INPUT where an environment's settings differ. Maps are compared at step sizes of their
// own, so eta and its schedule may; those of one map (NULL: none in particular) may not. A setting
// that one of the tables lacks is younger than that table, which had the default.
mm_status mm_score_origin_same_settings(const mm_score_origin *a, const mm_score_origin *b,
                                        const char *env, const char *map);

// How a sentence begins that refuses a study which has no such table yet.
#define MM_SCORE_EXPECTED "expected the folder of a transfer study that ended, found "

#endif
