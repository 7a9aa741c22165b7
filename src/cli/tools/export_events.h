// `export --tensorboard`.

#ifndef MM_CLI_EXPORT_EVENTS_H
#define MM_CLI_EXPORT_EVENTS_H

#include "study/run/run.h"

// Writes the run's curves to the folder `out` (NULL: tensorboard in the run's own folder), which
// must be new or empty unless `force` is given. Reports failures and returns the exit code.
int export_events(mm_run *run, const char *out, bool force);

#endif
