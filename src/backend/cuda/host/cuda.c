// SPDX-License-Identifier: Apache-2.0
// Devices, and lists of jobs on them.

#include "backend/cuda/host/cuda.h"

#include <stdatomic.h>
#include <stdio.h>

#include "agent/learner.h"
#include "backend/cuda/host/error.h"
#include "backend/cuda/host/kernel.h"
#include "backend/cuda/host/schedule.h"
#include "backend/cuda/tabular/pmd.h"
#include "backend/pool.h"

mm_status mm_cuda_usable(int device) {
  mm_cuda_device facts;
  MM_TRY(mm_cuda_describe(device, &facts));
  if (facts.major >= 8) return MM_OK;
  return MM_FAIL(MM_ERR_UNSUPPORTED,
                 "CUDA device %d: compute capability %d.%d, expected 8.0 or newer", device,
                 facts.major, facts.minor);
}

// Asked once in a process: a search looks for devices every second.
static bool is_usable(int device) {
  enum { UNKNOWN, YES, NO };
  static atomic_int known[MM_CUDA_DEVICES_MOST];
  int answer = atomic_load_explicit(&known[device], memory_order_relaxed);
  if (answer == UNKNOWN) {
    answer = mm_cuda_usable(device) == MM_OK ? YES : NO;
    atomic_store_explicit(&known[device], answer, memory_order_relaxed);
  }
  return answer == YES;
}

mm_status mm_cuda_find(int *count) {
  *count = 0;
  cudaError_t error = cudaGetDeviceCount(count);
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ||
      (error == cudaSuccess && *count == 0)) {
    cudaGetLastError();
    *count = 0;
    return MM_FAIL(MM_ERR_UNSUPPORTED, "backend 'cuda': no CUDA device and driver on this machine");
  }
  if (error != cudaSuccess)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "backend 'cuda': %s", cudaGetErrorString(error));
  if (*count > MM_CUDA_DEVICES_MOST) *count = MM_CUDA_DEVICES_MOST;
  const int n = *count;
  for (int i = 0; i < n; i++)
    if (is_usable(i)) return MM_OK;
  *count = 0;
  (void)mm_cuda_usable(0);
  return MM_FAIL(MM_ERR_UNSUPPORTED, "backend 'cuda': %s%s", mm_last_error(),
                 n > 1 ? "; the others cannot be used either" : "");
}

mm_status mm_cuda_describe(int device, mm_cuda_device *out) {
  struct cudaDeviceProp p;
  int khz = 0;
  *out = (mm_cuda_device){ 0 };
  MM_TRY_CUDA(device, cudaGetDeviceProperties(&p, device), "asking what it is");
  cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device);
  cudaDriverGetVersion(&out->driver);
  cudaRuntimeGetVersion(&out->runtime);
  snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, p.name);
  out->major = p.major;
  out->minor = p.minor;
  out->processors = p.multiProcessorCount;
  out->memory = p.totalGlobalMem;
  out->shared = p.sharedMemPerBlockOptin;
  out->clock_mhz = khz / 1000;
  return MM_OK;
}

// Jobs of tables have kernels of their own; the others are trainings of networks.
static bool is_table(const mm_job *job) {
  const mm_learner *learner = mm_learner_of_job(job);
  return learner && (learner->on_device & MM_SUITS_TABLES);
}

static mm_map_kind kind_of(const mm_job *job) {
  return job->map ? mm_map_get_kind(job->map) : job->point.kind;
}

bool mm_cuda_takes(const mm_job *job) {
  const mm_learner *learner = mm_learner_of_job(job);
  if (!learner) return false;
  if (kind_of(job) >= MM_MAP_KINDS)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "maps of plug-ins run on the CPU only") == MM_OK;
  if (learner->on_device == 0)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "%s runs on the CPU only", mm_algo_name(job->algo)) == MM_OK;
  return is_table(job) || mm_cuda_kernel_check(job) == MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Several devices: trainings of networks are taken from one queue, those of tables, which are
// short, are dealt out beforehand. The host's threads are shared out among them, one each at least.

typedef struct crew {
  mm_job_list *list;
  const int *device; // [n_device]
  size_t n_device;
  size_t *order; // [list->n] jobs of AMPO, then those of PMD by device
  mm_cuda_queue queue;
  struct member {
    const size_t *tables; // [n_tables]
    size_t n_tables;
    uint64_t said; // environment steps of tables told to the list
    int threads;   // of the host that worked for it at a time
    mm_status status;
    char error[MM_ERROR_SIZE];
  } member[MM_CUDA_DEVICES_MOST];
} crew;

static int threads_each(const crew *c) {
  const int wanted = c->list->config->threads;
  const int each = (wanted > 0 ? wanted : mm_pool_cores()) / (int)c->n_device;
  return each > 0 ? each : 1;
}

static void deal(crew *c) {
  size_t used = 0, tables = 0;
  for (size_t i = 0; i < c->list->n; i++)
    if (!is_table(&c->list->jobs[i])) c->order[used++] = i;
  c->queue =
      (mm_cuda_queue){ .list = c->list, .job = c->order, .n = used, .threads = threads_each(c) };
  for (size_t d = 0; d < c->n_device; d++) {
    c->member[d] = (struct member){ .tables = c->order + used };
    tables = 0;
    for (size_t i = 0; i < c->list->n; i++) {
      if (!is_table(&c->list->jobs[i]) || tables++ % c->n_device != d) continue;
      c->order[used++] = i;
      c->member[d].n_tables++;
    }
  }
}

// What a device's share of the tables tells on its way.
typedef struct teller {
  mm_job_list *list;
  struct member *member;
} teller;

static void say_steps(uint64_t env_steps, void *user) {
  teller *t = user;
  mm_job_list_say(t->list, env_steps - t->member->said);
  t->member->said = env_steps;
}

static void settle_table(size_t job, void *user) {
  const teller *t = user;
  mm_job_list_settle(t->list, job, t->list->results[job].env_steps);
}

static mm_status run_tables(crew *c, size_t d, int *threads) {
  const struct member *m = &c->member[d];
  teller t = { c->list, &c->member[d] };
  const mm_cuda_pmd_config config = { .device = c->device[d],
                                      .threads = c->queue.threads,
                                      .stop = c->list->config->stop,
                                      .progress = say_steps,
                                      .ended = settle_table,
                                      .user = &t };
  return mm_cuda_pmd_run(&config, c->list->jobs, m->tables, m->n_tables, c->list->results, threads);
}

static mm_status run_share(crew *c, size_t d) {
  struct member *m = &c->member[d];
  int threads = 0;
  if (m->n_tables > 0) MM_TRY(run_tables(c, d, &m->threads));
  mm_status status = c->queue.n > 0 ? mm_cuda_ampo_run(c->device[d], &c->queue, &threads) : MM_OK;
  if (threads > m->threads) m->threads = threads;
  return status;
}

static bool run_device(size_t unit, size_t worker, void *user) {
  crew *c = user;
  struct member *m = &c->member[unit];
  (void)worker;
  m->status = run_share(c, unit);
  if (m->status != MM_OK) snprintf(m->error, sizeof m->error, "%s", mm_last_error());
  return true;
}

static void show(void *user) {
  mm_job_list_show(((crew *)user)->list);
}

static mm_status run_crew(crew *c) {
  mm_pool_config pool = {
    .n = c->n_device, .threads = (int)c->n_device, .work = run_device, .watch = show, .user = c
  };
  int hosts; // one thread for each device, which mostly waits for it
  deal(c);
  MM_TRY(mm_pool_run(&pool, &hosts));
  for (size_t d = 0; d < c->n_device; d++)
    c->list->report.threads += c->member[d].threads;
  for (size_t d = 0; d < c->n_device; d++)
    if (c->member[d].status != MM_OK && c->member[d].status != MM_ERR_INTERRUPTED)
      return MM_FAIL(c->member[d].status, "%s", c->member[d].error);
  return MM_OK;
}

static mm_status choose_devices(const mm_backend_config *config, int *device, size_t *n) {
  int count;
  MM_TRY(mm_cuda_find(&count));
  *n = 0;
  if (!config->place.devices) {
    for (int i = 0; i < count; i++)
      if (is_usable(i)) device[(*n)++] = i;
    return MM_OK;
  }
  if (config->place.n_device > MM_CUDA_DEVICES_MOST)
    return MM_FAIL(MM_ERR_INPUT, "%zu devices: expected at most %d", config->place.n_device,
                   (int)MM_CUDA_DEVICES_MOST);
  *n = config->place.n_device;
  for (size_t i = 0; i < *n; i++) {
    device[i] = config->place.devices[i];
    if (device[i] < 0 || device[i] >= count)
      return MM_FAIL(MM_ERR_INPUT, "device %d: this machine has devices 0 .. %d", device[i],
                     count - 1);
    MM_TRY(mm_cuda_usable(device[i]));
  }
  return MM_OK;
}

mm_status mm_cuda_run(mm_job_list *list) {
  int device[MM_CUDA_DEVICES_MOST];
  size_t n_device;
  MM_TRY(choose_devices(list->config, device, &n_device));
  crew *c = mm_alloc(sizeof *c);
  size_t *order = mm_alloc_array(list->n, sizeof *order);
  mm_status status = MM_OK;
  if (c && order) {
    *c = (crew){ .list = list, .device = device, .n_device = n_device, .order = order };
    status = run_crew(c);
  } else {
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for a list of %zu jobs", list->n);
  }
  mm_free(c);
  mm_free(order);
  return status;
}
