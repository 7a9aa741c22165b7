#include "backend/job_list.h"

#include <assert.h>
#include <stdio.h>

static_assert(MM_BACKEND_ERROR_SIZE == (int)MM_ERROR_SIZE, "a report holds any sentence");

mm_status mm_job_list_open(mm_job_list *l, const mm_backend_config *config, const mm_job *jobs,
                           size_t n, mm_result *results) {
  *l = (mm_job_list){
    .config = config, .jobs = jobs, .results = results, .n = n, .report.trouble = n
  };
  for (size_t i = 0; i < n; i++)
    results[i] = (mm_result){ .status = MM_ERR_INTERRUPTED };
  if (pthread_mutex_init(&l->lock, NULL) != 0)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for threads");
  return MM_OK;
}

// Keeps the sentence of the job that the report is to name: a failed one rather than a numeric one,
// and of equals the first in the list, whichever happened to end first.
static void keep_trouble(mm_job_list *l, size_t i, mm_status status) {
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

void mm_job_list_settle(mm_job_list *l, size_t i, uint64_t said) {
  mm_status status = l->results[i].status;
  mm_backend_report *r = &l->report;
  pthread_mutex_lock(&l->lock);
  l->env_steps += l->results[i].env_steps - said;
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

void mm_job_list_say(mm_job_list *l, uint64_t env_steps) {
  pthread_mutex_lock(&l->lock);
  l->env_steps += env_steps;
  pthread_mutex_unlock(&l->lock);
}

void mm_job_list_show(void *list) {
  mm_job_list *l = list;
  if (!l->config->progress) return;
  pthread_mutex_lock(&l->lock);
  size_t done = l->report.n_done;
  uint64_t env_steps = l->env_steps;
  pthread_mutex_unlock(&l->lock);
  l->config->progress(done, l->n, env_steps, l->config->user);
}

mm_status mm_job_list_close(mm_job_list *l, mm_status status) {
  if (status == MM_OK) mm_job_list_show(l);
  pthread_mutex_destroy(&l->lock);
  if (l->config->report) *l->config->report = l->report;
  if (status != MM_OK) return status;
  if (l->report.n_done == l->n) return MM_OK;
  return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted after %zu of %zu jobs", l->report.n_done, l->n);
}
