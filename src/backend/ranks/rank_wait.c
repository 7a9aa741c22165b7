// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L

#include "backend/ranks/rank_wait.h"

#include <math.h>
#include <time.h>

static const double shortest = 20e-6, longest = 10e-3, usual = 1e-3;
static const double look = 5e-6; // seconds of a look for messages

mm_status mm_rank_wait_open(mm_rank_wait *w) {
  pthread_condattr_t clock;
  *w = (mm_rank_wait){ .sleep = shortest, .most = usual };
  if (pthread_condattr_init(&clock) != 0) return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  int error = pthread_cond_init(&w->some, &clock);
  pthread_condattr_destroy(&clock);
  if (error != 0) return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  if (pthread_mutex_init(&w->lock, NULL) == 0) return MM_OK;
  pthread_cond_destroy(&w->some);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
}

void mm_rank_wait_close(mm_rank_wait *w) {
  pthread_mutex_destroy(&w->lock);
  pthread_cond_destroy(&w->some);
}

void mm_rank_wait_suit(mm_rank_wait *w, double job_seconds) {
  w->most = fmin(fmax(sqrt(2 * look * job_seconds), shortest), longest);
}

void mm_rank_wait_reset(mm_rank_wait *w) {
  w->sleep = shortest;
}

void mm_rank_wait_sleep(mm_rank_wait *w) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long)(1e9 * w->sleep);
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  pthread_cond_timedwait(&w->some, &w->lock, &until);
  w->sleep = fmin(1.5 * w->sleep, w->most);
}
