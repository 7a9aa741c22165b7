// SPDX-License-Identifier: Apache-2.0
// Waiting for messages and for threads of one's own at once: MPI has to be asked, so who waits
// sleeps a little longer each time, but wakes up when a thread has something.

#ifndef MM_BACKEND_RANK_WAIT_H
#define MM_BACKEND_RANK_WAIT_H

#include <pthread.h>

#include "base/status.h"

typedef struct mm_rank_wait {
  pthread_mutex_t lock; // of what the threads leave; also the owner's
  pthread_cond_t some;  // they left something
  double sleep;         // seconds, the next time
  double most;          // seconds
} mm_rank_wait;

mm_status mm_rank_wait_open(mm_rank_wait *w);
void mm_rank_wait_close(mm_rank_wait *w);

// Long sleeps let threads wait for their next job, short ones take time for looking: the length at
// which both cost the same, beside jobs of so many seconds.
void mm_rank_wait_suit(mm_rank_wait *w, double job_seconds);

// Something happened: sleeps are short again.
void mm_rank_wait_reset(mm_rank_wait *w);

// Sleeps, with the lock held; it is let go meanwhile.
void mm_rank_wait_sleep(mm_rank_wait *w);

#endif
