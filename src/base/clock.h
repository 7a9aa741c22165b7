// SPDX-License-Identifier: Apache-2.0
// Time that passes: for measuring it, never for results.

#ifndef MM_BASE_CLOCK_H
#define MM_BASE_CLOCK_H

// Seconds since some moment of the past, the same for all threads; they go on evenly when somebody
// sets the date.
double mm_clock_seconds(void);

#endif
