// SPDX-License-Identifier: Apache-2.0
#include "backend/job_clock.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

mm_status mm_job_clock_open(mm_job_clock *c, size_t n, double limit, const volatile int *stop) {
  *c = (mm_job_clock){ .n = n, .limit = limit, .stop = stop };
  c->timer = mm_alloc_array(n, sizeof *c->timer);
  if (!c->timer) return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  memset(c->timer, 0, n * sizeof *c->timer);
  if (pthread_mutex_init(&c->lock, NULL) == 0) return MM_OK;
  mm_free(c->timer);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
}

void mm_job_clock_close(mm_job_clock *c) {
  pthread_mutex_destroy(&c->lock);
  mm_free(c->timer);
}

static bool all_stop(const mm_job_clock *c) {
  return c->stop && __atomic_load_n(c->stop, __ATOMIC_RELAXED) != 0;
}

const volatile int *mm_job_clock_begin(mm_job_clock *c, size_t i) {
  mm_job_timer *t = &c->timer[i];
  pthread_mutex_lock(&c->lock);
  t->busy = true;
  t->late = false;
  t->began = mm_clock_seconds();
  __atomic_store_n(&t->stop, all_stop(c), __ATOMIC_RELAXED);
  pthread_mutex_unlock(&c->lock);
  return &t->stop;
}

double mm_job_clock_end(mm_job_clock *c, size_t i, bool *late) {
  mm_job_timer *t = &c->timer[i];
  pthread_mutex_lock(&c->lock);
  double seconds = mm_clock_seconds() - t->began;
  t->busy = false;
  *late = t->late;
  pthread_mutex_unlock(&c->lock);
  return seconds;
}

double mm_job_clock_check(mm_job_clock *c) {
  double now = mm_clock_seconds(), longest = 0;
  pthread_mutex_lock(&c->lock);
  bool all = all_stop(c);
  for (size_t i = 0; i < c->n; i++) {
    mm_job_timer *t = &c->timer[i];
    if (!t->busy) continue;
    longest = fmax(longest, now - t->began);
    if (!all && c->limit > 0 && now - t->began > c->limit) t->late = true;
    if (all || t->late) __atomic_store_n(&t->stop, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&c->lock);
  return longest;
}

mm_status mm_job_clock_judge(const mm_job_clock *c, bool late, mm_status status) {
  if (!late || status != MM_ERR_INTERRUPTED) return status;
  return MM_FAIL(MM_ERR_TIMEOUT, "not done after %g s, the time that --job-timeout allows",
                 c->limit);
}
