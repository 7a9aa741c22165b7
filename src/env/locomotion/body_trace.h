// Traces of locomotion tasks. Numbers of environments count MM_BODY_LIST by brax' flavour, then by
// Gymnasium's.

#ifndef MM_ENV_BODY_TRACE_H
#define MM_ENV_BODY_TRACE_H

#include "env/trace_reader.h"
#include "env/trace_writer.h"

// NULL past the end.
const char *mm_body_trace_id(int which);

// With our own engine, whoever recorded it.
mm_status mm_body_replay(int which, const cJSON *root, const char *source, mm_replay_report *out);

// Adds the whole file to `out` and counts transitions. MM_ERR_UNSUPPORTED where the MuJoCo library
// was asked for and is missing.
mm_status mm_body_record(int which, const mm_record_plan *plan, mm_text *out,
                         uint64_t *transitions);

#endif
