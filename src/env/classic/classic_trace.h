// Traces of classic control. Numbers of environments are those of mm_classic_env.

#ifndef MM_ENV_CLASSIC_TRACE_H
#define MM_ENV_CLASSIC_TRACE_H

#include "env/trace_reader.h"
#include "env/trace_writer.h"

// NULL past the end.
const char *mm_classic_trace_id(int which);

mm_status mm_classic_replay(int which, const cJSON *root, const char *source,
                            mm_replay_report *out);

// Adds the whole file to `out` and counts transitions.
mm_status mm_classic_record(int which, const mm_record_plan *plan, mm_text *out,
                            uint64_t *transitions);

#endif
