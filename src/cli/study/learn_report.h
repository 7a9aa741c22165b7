// What `learn` shows: a table that grows while the search goes on, and a summary at its end.

#ifndef MM_CLI_LEARN_REPORT_H
#define MM_CLI_LEARN_REPORT_H

#include "study/learn/learn.h"

// Before the first step: what is going to happen, and where.
void learn_report_start(const mm_learn *learn);

// A row of the table on stderr, after a validation; `first` puts the header above it.
void learn_report_row(const mm_learn_view *view, bool first);

// The end, on stdout: text or JSON. Returns the exit code.
int learn_report(const mm_learn *learn, const char *state, bool json);

#endif
