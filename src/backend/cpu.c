// Jobs on a pool of threads. Nothing is shared between jobs but what they only read, and every
// result has its own place, so neither the number of threads nor their timing can change a bit of
// it.

#include <pthread.h>
#include <stdio.h>

#include "backend/backend.h"
#include "backend/pool.h"

typedef struct list {
  const mm_backend_config *config;
  const mm_job *jobs;
  mm_result *results;
  size_t n;

  pthread_mutex_t lock; // for the rest
  uint64_t env_steps;
  mm_backend_report report;
} list;

// Keeps the sentence of the job that the report is to name: a failed one rather than a numeric one,
// and of equals the first in the list, whichever happened to end first.
static void keep_trouble(list *l, size_t i, mm_status status) {
  mm_backend_report *r = &l->report;
  bool none = r->trouble == l->n;
  bool numeric = status == MM_ERR_NUMERIC;
  bool kept_numeric = !none && l->results[r->trouble].status == MM_ERR_NUMERIC;
  bool first = none || (numeric == kept_numeric && i < r->trouble);
  bool worse = !numeric && kept_numeric;
  if (!first && !worse) return;
  r->trouble = i;
  snprintf(r->error, sizeof r->error, "%s", mm_last_error());
}

static void settle(list *l, size_t i) {
  mm_status status = l->results[i].status;
  mm_backend_report *r = &l->report;
  pthread_mutex_lock(&l->lock);
  l->env_steps += l->results[i].env_steps;
  r->n_done += status != MM_ERR_INTERRUPTED;
  if (status != MM_OK && status != MM_ERR_INTERRUPTED) {
    keep_trouble(l, i, status);
    if (status == MM_ERR_NUMERIC && l->results[i].n_curve > 0)
      r->n_numeric++;
    else
      r->n_failed++;
  }
  pthread_mutex_unlock(&l->lock);
}

// Jobs never begun keep the mark they have from the start.
static bool run_job(size_t i, size_t worker, void *user) {
  list *l = user;
  (void)worker;
  l->results[i].status = mm_job_run(&l->jobs[i], l->config->stop, &l->results[i]);
  settle(l, i);
  return true;
}

static void show_progress(void *user) {
  list *l = user;
  pthread_mutex_lock(&l->lock);
  size_t done = l->report.n_done;
  uint64_t env_steps = l->env_steps;
  pthread_mutex_unlock(&l->lock);
  l->config->progress(done, l->n, env_steps, l->config->user);
}

static mm_status run_list(list *l) {
  const mm_backend_config *c = l->config;
  mm_pool_config pool = { .n = l->n,
                          .threads = c->threads > 0 ? c->threads : mm_backend_cores(),
                          .stop = c->stop,
                          .work = run_job,
                          .watch = c->progress ? show_progress : NULL,
                          .user = l };
  if (pthread_mutex_init(&l->lock, NULL) != 0)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  mm_status status = mm_pool_run(&pool, &l->report.threads);
  if (status == MM_OK && c->progress) show_progress(l);
  pthread_mutex_destroy(&l->lock);
  return status;
}

mm_status mm_backend_run(const mm_backend_config *config, const mm_job *jobs, size_t n,
                         mm_result *results) {
  for (size_t i = 0; i < n; i++)
    results[i] = (mm_result){ .status = MM_ERR_INTERRUPTED };
  if (config->threads < 0)
    return MM_FAIL(MM_ERR_INPUT, "threads = %d: expected at least 1, or 0 for one per core",
                   config->threads);
  list l = { .config = config, .jobs = jobs, .results = results, .n = n, .report.trouble = n };
  MM_TRY(run_list(&l));
  if (config->report) *config->report = l.report;
  if (l.report.n_done == n) return MM_OK;
  return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted after %zu of %zu jobs", l.report.n_done, n);
}

int mm_backend_cores(void) {
  return mm_pool_cores();
}
