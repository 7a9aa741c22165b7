// Traces of the MinAtar games, by both rule sets. Numbers of environments count the games of
// minatar_games.h by gymnax's rules, then the same by the original ones.

#ifndef MM_ENV_MINATAR_TRACE_H
#define MM_ENV_MINATAR_TRACE_H

#include "env/trace_reader.h"
#include "env/trace_writer.h"

// NULL past the end.
const char *mm_minatar_trace_id(int which);

mm_status mm_minatar_replay(int which, const cJSON *root, const char *source,
                            mm_replay_report *out);

// Adds the whole file to `out` and counts transitions.
mm_status mm_minatar_record(int which, const mm_record_plan *plan, mm_text *out,
                            uint64_t *transitions);

#endif
