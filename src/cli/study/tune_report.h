// What `tune` shows: its best trials, the winner on fresh seeds, and which parameters mattered.

#ifndef MM_CLI_TUNE_REPORT_H
#define MM_CLI_TUNE_REPORT_H

#include "study/tune/tune.h"

// At the start, on stderr.
void tune_report_start(const mm_tune *tune);

// At the end. `state`: "done" or "stopped"; `preset` is the file that was written, or NULL.
int tune_report(const mm_tune *tune, const char *state, const char *preset, bool json);

#endif
