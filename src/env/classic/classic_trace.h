// Traces of classic control; `which` is one of mm_classic_env.

#ifndef MM_ENV_CLASSIC_TRACE_H
#define MM_ENV_CLASSIC_TRACE_H

#include "env/trace_reader.h"
#include "env/trace_writer.h"

mm_status mm_classic_replay(int which, const cJSON *root, const char *source,
                            mm_replay_report *out);

// Adds the whole file to `out` and counts transitions.
mm_status mm_classic_record(int which, const mm_record_plan *plan, mm_text *out,
                            uint64_t *transitions);

#endif
