// SPDX-License-Identifier: Apache-2.0
// Ctrl-C or SIGTERM: the first asks the work in hand to stop, a second one ends the program at
// once. SIGHUP, unless it is ignored, asks too.

#ifndef MM_CLI_INTERRUPT_H
#define MM_CLI_INTERRUPT_H

#include <stdbool.h>

#include "mirrormap/base.h"

// What an interrupted program returns: as shells report it for SIGINT.
enum { INTERRUPT_EXIT = 130 };

// From now on SIGINT, SIGTERM and SIGHUP set the flag that this returns; hand it to whatever takes
// a `stop`. The command then ends by itself with INTERRUPT_EXIT.
const volatile int *interrupt_watch(void);

// A time limit sets the same flag: S seconds from now (0: never). interrupt_timed_out says whether
// it was the time that did it.
void interrupt_after(double seconds);
void interrupt_check_time(void); // to be called now and then while waiting
bool interrupt_timed_out(void);
double interrupt_seconds_left(void);

// How work that came back with `status` ended, as run databases say it: "done", "failed", or, when
// it was interrupted, "stopped" by the time and "interrupted" by a signal.
const char *interrupt_outcome(mm_status status);

#endif
