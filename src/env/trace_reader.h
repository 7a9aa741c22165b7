// SPDX-License-Identifier: Apache-2.0
// What all replays share: fields of a trace, read with errors that say where, and the comparison.

#ifndef MM_ENV_TRACE_READER_H
#define MM_ENV_TRACE_READER_H

#include "base/json.h"
#include "env/description.h"
#include "env/trace.h"

enum { MM_TRACE_MOST_BYTES = 256 << 20 };

// Reads the whole file; release with cJSON_Delete.
mm_status mm_trace_open(const char *path, cJSON **root);

// As mm_trace_replay, of a tree (not of Grid-World); `source` begins errors.
mm_status mm_trace_replay_tree(const char *id, const cJSON *root, const char *source,
                               mm_replay_report *out);

// ---------------------------------------------------------------------------------------------
// Fields

// Where in a file something stands: errors begin with "FILE: episode 3, t 12".
typedef struct mm_trace_place {
  const char *source;
  const char *kind;   // what a trajectory is called there
  int64_t trajectory; // below 0: the file as a whole
  int64_t t;          // below 0: the trajectory as a whole
} mm_trace_place;

enum { MM_TRACE_WHERE_SIZE = 640 };
const char *mm_trace_where(const mm_trace_place *place, char out[MM_TRACE_WHERE_SIZE]);

// A number or a list of numbers; `field` names it in errors. Whole numbers lie in [low, high]. A
// float has the range of float32, or is one of the strings "nan", "inf", "-inf".
mm_status mm_trace_whole(const mm_trace_place *place, const char *field, const cJSON *item,
                         int32_t low, int32_t high, int32_t *out);
mm_status mm_trace_float(const mm_trace_place *place, const char *field, const cJSON *item,
                         float *out);
mm_status mm_trace_floats(const mm_trace_place *place, const char *field, const cJSON *item, int n,
                          float *out);

// Up to `most` whole numbers of 32 bits; how many in *n.
mm_status mm_trace_wholes(const mm_trace_place *place, const char *field, const cJSON *item,
                          int most, int32_t *out, int32_t *n);

// A list with exactly n entries: one for each step or state. *first is NULL for n = 0.
mm_status mm_trace_column(const mm_trace_place *place, const cJSON *object, const char *key,
                          size_t n, const cJSON **first);

// The columns that every trajectory has, at the current step. Of states, observations and times
// (NULL in traces without) there is one more than of the others.
typedef struct mm_trace_columns {
  const cJSON *state, *time, *obs;
  const cJSON *action, *reward, *terminated, *truncated;
  size_t n; // transitions
} mm_trace_columns;

// What a transition gives beside the next state.
typedef struct mm_trace_outcome {
  float reward;
  int32_t terminated, truncated;
} mm_trace_outcome;

// The outcome of the current transition; leaves the columns at the state after it.
mm_status mm_trace_next(const mm_trace_place *place, mm_trace_columns *c, mm_trace_outcome *out);

// The time of the current state, which grows by one a step and must not overflow.
mm_status mm_trace_time(const mm_trace_place *place, const mm_trace_columns *c, int32_t *out);

// The trace's `env` must be `id`; a list of names must be just `names` [n].
mm_status mm_trace_check_env(const cJSON *root, const char *source, const char *id);
mm_status mm_trace_check_names(const cJSON *root, const char *source, const char *key,
                               const char *const *names, int n);

// The trace's `params`, if it has any, must agree with those of the table; others do not count.
// `max_steps_in_episode` is taken from the file into *limit, which stays as it is without.
mm_status mm_trace_check_params(const cJSON *root, const char *source, const mm_trace_param *params,
                                int32_t *limit);

// All three for states that are lists of real numbers, and then the trace's `trajectories`.
mm_status mm_trace_check_form(const cJSON *root, const char *source, const char *id,
                              const char *const *field, int n_field, const mm_trace_param *params,
                              int32_t *limit, const cJSON **trajectories);

// ---------------------------------------------------------------------------------------------
// Comparison

typedef struct mm_replay {
  mm_replay_report *report;
  int64_t trajectory, t;
  const char *prefix; // of field names
  bool same;          // so far in this transition
} mm_replay;

// Comparisons between begin and end belong to this transition.
void mm_replay_begin(mm_replay *r, int64_t trajectory, int64_t t);
void mm_replay_end(mm_replay *r);

// Exactly equal, NaN to NaN. `index` is the place in a list, or -1.
void mm_replay_exact(mm_replay *r, const char *field, int index, double expected, double got);

// |d| <= 1e-5 max(1, |expected|); an angle may differ by whole turns.
void mm_replay_near(mm_replay *r, const char *field, int index, double expected, double got,
                    bool angle);

// |d| <= allowed.
void mm_replay_within(mm_replay *r, const char *field, int index, double expected, double got,
                      double allowed);

// Both ends exactly.
void mm_replay_ends(mm_replay *r, const mm_trace_outcome *expected, const mm_trace_outcome *got);

// Two lists, entry by entry.
void mm_replay_lists(mm_replay *r, const char *field, const int32_t *expected, int n_expected,
                     const int32_t *got, int n_got);

// ---------------------------------------------------------------------------------------------
// Going through a trace

// Each kind of trace has a struct of its own that begins with this one.
typedef struct mm_replayer {
  // Finds columns of the kind's own in a trajectory; may be NULL.
  mm_status (*find)(struct mm_replayer *re, const cJSON *trajectory);
  // Repeats the current transition, compares it and goes on to the next.
  mm_status (*transition)(struct mm_replayer *re);
  bool timed; // a trajectory has a column of times
  mm_trace_place place;
  mm_replay r;
  mm_trace_columns c;
} mm_replayer;

mm_status mm_replay_trajectories(mm_replayer *re, const cJSON *trajectories);

#endif
