// SPDX-License-Identifier: Apache-2.0
// The text of a trace while it grows: compact JSON, written from front to back.
//
// After a failed allocation everything is lost quietly; look at `failed` once, at the end.

#ifndef MM_ENV_TRACE_WRITER_H
#define MM_ENV_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "env/trace_reader.h"
#include "env/vec_internal.h"

typedef struct mm_text {
  char *at; // [used], then a zero; NULL before the first character
  size_t used, room;
  bool failed;
} mm_text;

void mm_text_release(mm_text *t);
void mm_text_clear(mm_text *t);

// False when more would be in vain: a failed allocation, or more than a replay reads.
bool mm_text_goes_on(const mm_text *t);

// A value, with a comma before it unless it is the first of its array or follows its key. Floats
// are the shortest decimals that read back to the same float32, numbers to the same double; whole
// ones have ".0" behind them, so that a reader sees their type.
void mm_text_whole(mm_text *t, int64_t value);
void mm_text_float(mm_text *t, float value);
void mm_text_number(mm_text *t, double value);
void mm_text_string(mm_text *t, const char *value);
void mm_text_wholes(mm_text *t, const int32_t *values, int n);
void mm_text_floats(mm_text *t, const float *values, int n);
void mm_text_names(mm_text *t, const char *const *names, int n);

// The key of the next value; arrays and objects: '[', ']', '{', '}'.
void mm_text_key(mm_text *t, const char *key);
void mm_text_open(mm_text *t, char bracket);
void mm_text_close(mm_text *t, char bracket);

// A line ends with its end.
void mm_text_end(mm_text *t);

// An array with these entries, as another text has collected them.
void mm_text_array(mm_text *t, const char *key, const mm_text *entries);

// How a transition ended (MM_END_ bits), in the columns of both kinds of end.
void mm_text_ends(mm_text *terminated, mm_text *truncated, unsigned end);

// "env", "params" and "state_fields" of a trace whose states are lists of real numbers.
void mm_text_form(mm_text *t, const char *id, int32_t limit, const mm_trace_param *params,
                  const char *const *field, int n_field);

// "params": the limit of steps and a table; `whole` parameters have no decimal point.
void mm_text_params(mm_text *t, int32_t limit, const mm_trace_param *params, bool whole);

// ---------------------------------------------------------------------------------------------
// Episodes of a random policy

enum { MM_RECORD_COLUMNS = 12 };

// Each kind of trace has a struct of its own that begins with this one.
typedef struct mm_recorder {
  const mm_record_plan *plan;
  mm_stream resets, steps, actions;
  uint64_t t; // steps so far, of all episodes
  int n_column;
  const char *name[MM_RECORD_COLUMNS]; // NULL: the trace does not have it
  mm_text column[MM_RECORD_COLUMNS]; // of the running episode, each collected in a text of its own
} mm_recorder;

mm_recorder mm_recorder_make(const mm_record_plan *plan, const char *const *names, int n_column);

// The plan's episodes as the array `key`; `play` fills the columns with one of them.
void mm_record_episodes(mm_recorder *rec, const char *key,
                        void (*play)(mm_recorder *rec, uint64_t episode), mm_text *out);

// ---------------------------------------------------------------------------------------------
// A kind of traces, all but Grid-World's: environments of one law, of which `which` counts those of
// the list (env_kinds.c)

typedef struct mm_trace_kind {
  const mm_vec_law *law;
  mm_status (*replay)(int which, const cJSON *root, const char *source, mm_replay_report *out);
  // Adds the whole file to `out` and counts transitions. MM_ERR_UNSUPPORTED where the MuJoCo
  // library was asked for and is missing.
  mm_status (*record)(int which, const mm_record_plan *plan, mm_text *out, uint64_t *transitions);
} mm_trace_kind;

extern const mm_trace_kind mm_classic_traces, mm_minatar_traces, mm_body_traces;

#endif
