// Traces of the MinAtar games, by both rule sets: `which` counts those of list.h by gymnax's rules,
// then the same by the original ones.

#ifndef MM_ENV_MINATAR_TRACE_H
#define MM_ENV_MINATAR_TRACE_H

#include "env/trace_reader.h"
#include "env/trace_writer.h"

mm_status mm_minatar_replay(int which, const cJSON *root, const char *source,
                            mm_replay_report *out);

// Adds the whole file to `out` and counts transitions.
mm_status mm_minatar_record(int which, const mm_record_plan *plan, mm_text *out,
                            uint64_t *transitions);

#endif
