// Jobs on a pool of threads. Nothing is shared between jobs but what they only read, and every
// result has its own place, so neither the number of threads nor their timing can change a bit of
// it.

#include "backend/cpu.h"

#include "backend/pool.h"

// Jobs never begun keep the mark they have from the start.
static bool run_job(size_t i, size_t worker, void *user) {
  mm_job_list *l = user;
  (void)worker;
  l->results[i].status = mm_job_run(&l->jobs[i], l->config->stop, &l->results[i]);
  mm_job_list_settle(l, i, 0);
  return true;
}

mm_status mm_cpu_run(mm_job_list *l) {
  const mm_backend_config *c = l->config;
  mm_pool_config pool = { .n = l->n,
                          .threads = c->threads > 0 ? c->threads : mm_backend_cores(),
                          .stop = c->stop,
                          .work = run_job,
                          .watch = c->progress ? mm_job_list_show : NULL,
                          .user = l };
  return mm_pool_run(&pool, &l->report.threads);
}
