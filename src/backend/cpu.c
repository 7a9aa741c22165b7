// SPDX-License-Identifier: Apache-2.0
// Jobs on a pool of threads. Nothing is shared between jobs but what they only read, and every
// result has its own place, so neither the number of threads nor their timing can change a bit of
// it.

#include "backend/cpu.h"

#include <math.h>
#include <stdio.h>

#include "agent/job_internal.h"
#include "agent/learner.h"
#include "backend/job_clock.h"
#include "backend/pool.h"
#include "base/memory.h"
#include "env/env_internal.h"

typedef struct work {
  mm_job_list *list;
  mm_job_clock *clock; // NULL: jobs may take as long as they like
} work;

// Jobs never begun keep the mark they have from the start.
static bool run_job(size_t i, size_t worker, void *user) {
  const work *w = user;
  mm_job_list *l = w->list;
  bool late = false;
  const volatile int *stop = w->clock ? mm_job_clock_begin(w->clock, worker) : l->config->stop;
  mm_job_begin(&l->results[i]);
  mm_job_list_follow(l, worker, i);
  mm_status status = mm_job_continue(&l->jobs[i], stop, &l->results[i]);
  if (w->clock) {
    (void)mm_job_clock_end(w->clock, worker, &late);
    status = mm_job_clock_judge(w->clock, late, status);
  }
  l->results[i].status = status;
  mm_job_list_settle(l, i, 0);
  return true;
}

static void look(void *user) {
  const work *w = user;
  if (w->clock) (void)mm_job_clock_check(w->clock);
  mm_job_list_show(w->list);
}

// Tasks of files can be large, and every thread has one: better refused than ended by the system.
static mm_status check_memory(const mm_job_list *l, int threads) {
  double most = 0, width = fmin((double)l->n, threads);
  char what[96];
  for (size_t i = 0; i < l->n; i++) {
    const mm_learner *learner = mm_learner_of_job(&l->jobs[i]);
    if (learner && (learner->suits & MM_SUITS_TABLES))
      most = fmax(most, mm_env_task_bytes(l->jobs[i].env));
  }
  if (width * most <= 0) return MM_OK;
  snprintf(what, sizeof what, "%.0f training run%s at a time (--threads)", width,
           width > 1 ? "s" : "");
  return mm_memory_check(width * most, what);
}

mm_status mm_cpu_run(mm_job_list *l) {
  const mm_backend_config *c = l->config;
  mm_job_clock clock;
  work w = { .list = l };
  int threads = c->threads > 0 ? c->threads : mm_backend_cores();
  MM_TRY(check_memory(l, threads));
  MM_TRY(mm_job_list_take_places(l, (size_t)threads));
  if (c->job_timeout > 0) {
    MM_TRY(mm_job_clock_open(&clock, (size_t)threads, c->job_timeout, c->stop));
    w.clock = &clock;
  }
  mm_pool_config pool = { .n = l->n,
                          .threads = threads,
                          .stop = c->stop,
                          .work = run_job,
                          .watch = c->progress || w.clock ? look : NULL,
                          .user = &w };
  mm_status status = mm_pool_run(&pool, &l->report.threads);
  if (w.clock) mm_job_clock_close(w.clock);
  return status;
}
