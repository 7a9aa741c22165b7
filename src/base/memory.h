// SPDX-License-Identifier: Apache-2.0
// How much memory there is: what is asked for is looked at before it is taken, because Linux gives
// more than it has and ends the process later.

#ifndef MM_BASE_MEMORY_H
#define MM_BASE_MEMORY_H

#include "base/status.h"

// Bytes that this process could take now: what the machine has available, or less where a control
// group says so. INFINITY where nothing is known.
double mm_memory_available(void);

// MM_ERR_INPUT, with a sentence that begins with `what`, when so many bytes are not available.
mm_status mm_memory_check(double bytes, const char *what);

#endif
