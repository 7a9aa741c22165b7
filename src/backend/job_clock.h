// SPDX-License-Identifier: Apache-2.0
// How long jobs have been at work, and a flag for each of them that tells it to stop: because all
// are to stop, or because it has had its time.

#ifndef MM_BACKEND_JOB_CLOCK_H
#define MM_BACKEND_JOB_CLOCK_H

#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"

typedef struct mm_job_timer {
  volatile int stop;
  bool busy, late;
  double began;
} mm_job_timer;

typedef struct mm_job_clock {
  pthread_mutex_t lock;
  mm_job_timer *timer; // [n] one for each thread
  size_t n;
  double limit;             // seconds for a job; 0: none
  const volatile int *stop; // of all; may be NULL
} mm_job_clock;

mm_status mm_job_clock_open(mm_job_clock *clock, size_t n, double limit, const volatile int *stop);
void mm_job_clock_close(mm_job_clock *clock);

// Around a job of thread i: the flag that it is to look at; then the seconds it took and whether it
// was told to stop because of them.
const volatile int *mm_job_clock_begin(mm_job_clock *clock, size_t i);
double mm_job_clock_end(mm_job_clock *clock, size_t i, bool *late);

// To be called a few times a second: sets the flags. Returns the seconds of the job that has been
// at work longest.
double mm_job_clock_check(mm_job_clock *clock);

// The status of a job that ended with `status`: MM_ERR_TIMEOUT and a sentence where it was the
// clock that stopped it.
mm_status mm_job_clock_judge(const mm_job_clock *clock, bool late, mm_status status);

#endif
