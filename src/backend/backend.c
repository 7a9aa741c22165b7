// SPDX-License-Identifier: Apache-2.0
// Which backend runs a list.

#include "backend/backend.h"

#include "agent/job_hooks.h"
#include "agent/job_internal.h"
#include "backend/cpu.h"
#include "backend/cuda/host/cuda.h"
#include "backend/job_list.h"
#include "backend/pool.h"
#include "backend/ranks/ranks.h"
#include "base/config.h"

int mm_backend_cores(void) {
  return mm_ranks_cores(mm_pool_cores());
}

int mm_backend_ranks(void) {
  return mm_ranks_count();
}

int mm_backend_threads(int threads) {
  return mm_ranks_count() * (threads > 0 ? threads : mm_backend_cores());
}

const char *mm_backend_name(const mm_backend_place *place) {
  int count;
  if (place->kind == MM_BACKEND_CUDA) return "cuda";
  return place->kind == MM_BACKEND_AUTO && mm_cuda_find(&count) == MM_OK ? "cuda" : "cpu";
}

const char *mm_backend_ran_name(unsigned ran, const mm_backend_place *place) {
  static const char *const names[] = { NULL, "cpu", "cuda", "cpu+cuda" };
  return ran == 0 ? mm_backend_name(place) : names[ran & 3];
}

static bool cuda_takes_all(const mm_job *jobs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!mm_cuda_takes(&jobs[i])) return false;
  return true;
}

// Functions of this process that train in an algorithm's place (mm_job_hooks.run) are known neither
// to devices nor to other processes.
static bool stays_here(const mm_job *jobs, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (jobs[i].hooks && jobs[i].hooks->run) return true;
  return false;
}

// `auto` takes the devices where there are any, with every rank, and they can run all of the list.
static mm_status choose(const mm_backend_config *config, const mm_job *jobs, size_t n, bool *cuda) {
  int count;
  *cuda = false;
  if (config->place.kind == MM_BACKEND_CPU) return MM_OK;
  mm_status found = mm_cuda_find(&count);
  if (config->place.kind == MM_BACKEND_CUDA) MM_TRY(found);
  if (found != MM_OK) return MM_OK;
  if (config->place.kind == MM_BACKEND_AUTO && !mm_ranks_have_devices()) return MM_OK;
  *cuda = cuda_takes_all(jobs, n);
  if (*cuda || config->place.kind == MM_BACKEND_AUTO) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "backend 'cuda': %s (use --backend cpu)", mm_last_error());
}

static mm_status run_here(mm_job_list *list, bool cuda) {
  list->report.ranks = 1;
  return cuda ? mm_cuda_run(list) : mm_cpu_run(list);
}

void mm_backend_config_init(mm_backend_config *out, size_t size) {
  const mm_backend_config ours = { .place.kind = MM_BACKEND_AUTO };
  mm_config_give(&ours, sizeof ours, out, size);
}

static mm_status run_list(const mm_backend_config *c, const mm_job *jobs, size_t n,
                          mm_result *results) {
  mm_job_list list;
  bool cuda = false, here = stays_here(jobs, n);
  MM_TRY(mm_job_list_open(&list, c, jobs, n, results));
  mm_status status = here ? MM_OK : choose(c, jobs, n, &cuda);
  if (status == MM_OK && c->threads < 0)
    status = MM_FAIL(MM_ERR_INPUT, "threads = %d: expected at least 1, or 0 for one per core",
                     c->threads);
  if (status == MM_OK)
    status = mm_ranks_count() > 1 && !here ? mm_ranks_run(&list, cuda) : run_here(&list, cuda);
  list.report.cuda = cuda;
  return mm_job_list_close(&list, status);
}

mm_status mm_backend_run(const mm_backend_config *config, const mm_job *jobs, size_t n,
                         mm_result *results) {
  mm_backend_config c = mm_backend_config_default();
  mm_job_copies complete;
  MM_TRY(mm_config_take("mm_backend_config", config, &c, sizeof c));
  for (size_t i = 0; i < n; i++)
    results[i] = (mm_result){ .status = MM_ERR_INTERRUPTED };
  MM_TRY(mm_job_copies_complete(jobs, n, &complete));
  const mm_status status = run_list(&c, complete.n > 0 ? complete.job : jobs, n, results);
  mm_job_copies_release(&complete);
  return status;
}
