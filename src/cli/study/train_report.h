// What `train` says at the end.

#ifndef MM_CLI_TRAIN_REPORT_H
#define MM_CLI_TRAIN_REPORT_H

#include "study/train/train.h"

// Of all seeds, or of those that are done. `state` is "done" or "stopped".
int train_report(const mm_train_view *view, const char *state, bool json);

#endif
