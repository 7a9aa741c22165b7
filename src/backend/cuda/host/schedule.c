// SPDX-License-Identifier: Apache-2.0
// A device has as many places as it has multiprocessors; each is a training on its way. All places
// go through a slice of time together: some iterations in one launch, then the host looks at what
// came of it and fills places that have become free. Who wants to stop need not wait for that: the
// agents look at a word of the host's memory between iterations. A training's way does not depend
// on how it is cut into slices, so neither the clock nor the neighbours change a bit.

#define _POSIX_C_SOURCE 200809L

#include "backend/cuda/host/schedule.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/ampo_run.h"
#include "agent/job_internal.h"
#include "agent/learner.h"
#include "backend/cuda/host/block.h"
#include "backend/cuda/host/error.h"
#include "backend/pool.h"
#include "map/map_internal.h"

enum {
  FIRST_SPAN = 2,
  N_SPEEDS = MM_CLASSIC_COUNT + MM_GAME_COUNT + MM_CUDA_GAUSS_ENVS + MM_BODY_COUNT
};

// Kernels that can be on their way side by side: environments, for two activations.
enum { LANES = 2 * N_SPEEDS };

// Short while others wait for a place.
static const double slice_seconds = 1.0, slice_seconds_queued = 0.2;

// Of maps that move, those of a slice: at most so many of an agent, and room for them, which is
// made larger where one needs it.
enum { MAPS_MOST = 256, MAPS_SIZE = 4 << 20 };

// Kept from call to call and made larger when it must be.
typedef mm_cuda_twin twin;

typedef struct place {
  bool taken;
  bool closed; // for this list: there is no memory for it
  size_t job;
  mm_status status; // of opening, and later of the training
  char error[MM_ERROR_SIZE];
  const struct place *like; // filled together with this one, and begins with the same networks
  mm_map *own;              // made of the job's search point
  mm_ampo_run *run;
  mm_cuda_kernel kernel;
  mm_cuda_block block;
  mm_cuda_agent agent;
  twin memory; // the host's part is as large as what travels
  size_t device_size;
  twin maps; // of a slice, where the map moves
  size_t maps_used;
  mm_eta_step *steps; // of a slice, on the host
  uint64_t said;      // environment steps told to the list
  size_t order;       // among the agents of a slice
} place;

// One kernel after the other; lanes do not wait for each other.
typedef struct lane {
  cudaStream_t stream;
  cudaEvent_t begun, ended;
} lane;

// A device at work. It stays open until the program ends: a search calls every second.
typedef struct engine {
  pthread_mutex_t lock;
  bool open;
  int device;
  mm_cuda_device facts;
  cudaStream_t stream;
  lane lane[LANES];
  cudaEvent_t ready, done; // a slice's agents are there; its results are here
  int32_t *stop;           // the host's memory, seen by all agents
  place *place;
  int n_place;
  twin agents, reports, rates, steps;
  double seconds_each[N_SPEEDS]; // of a unit of work, by environment
  int64_t *clocks;               // in device memory, for who asked where the time goes
  mm_cuda_queue *queue;
  int worked;    // threads of the host at a time, for this list
  size_t *fresh; // [n_place] places that were filled just now; those like others come last
  size_t n_fresh, n_first, n_begun;
  size_t *later;    // [n_place] room to order them
  size_t *returned; // [n_place] jobs that the device had no memory for beside the others
  size_t n_returned;
} engine;

static engine engines[MM_CUDA_DEVICES_MOST];
static pthread_once_t engines_once = PTHREAD_ONCE_INIT;

static void init_locks(void) {
  for (int i = 0; i < MM_CUDA_DEVICES_MOST; i++)
    pthread_mutex_init(&engines[i].lock, NULL);
}

// ---------------------------------------------------------------------------------------------
// Memory

static mm_status reserve(const engine *e, twin *t, size_t host, size_t device) {
  if (t->size >= host && t->device) return MM_OK;
  cudaFreeHost(t->host);
  cudaFree(t->device);
  *t = (twin){ 0 };
  void *block = NULL;
  MM_TRY_CUDA(e->device, cudaMallocHost(&block, host), "taking %zu bytes of the host", host);
  t->host = block;
  MM_TRY_CUDA(e->device, cudaMalloc(&block, device), "taking %zu bytes", device);
  t->device = block;
  t->size = host;
  return MM_OK;
}

static mm_status reserve_place(const engine *e, place *p) {
  if (p->memory.size >= p->block.moved && p->device_size >= p->block.size) return MM_OK;
  p->memory.size = 0;
  MM_TRY(reserve(e, &p->memory, p->block.moved, p->block.size));
  p->device_size = p->block.size;
  return MM_OK;
}

static mm_status open_lanes(engine *e) {
  void *word = NULL;
  for (int i = 0; i < LANES; i++) {
    lane *l = &e->lane[i];
    MM_TRY_CUDA(e->device, cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking),
                "making a stream");
    MM_TRY_CUDA(e->device, cudaEventCreate(&l->begun), "making an event");
    MM_TRY_CUDA(e->device, cudaEventCreate(&l->ended), "making an event");
  }
  MM_TRY_CUDA(e->device, cudaEventCreateWithFlags(&e->ready, cudaEventDisableTiming),
              "making an event");
  MM_TRY_CUDA(e->device, cudaEventCreateWithFlags(&e->done, cudaEventDisableTiming),
              "making an event");
  MM_TRY_CUDA(e->device, cudaHostAlloc(&word, sizeof *e->stop, cudaHostAllocMapped),
              "taking a word of the host");
  e->stop = word;
  return MM_OK;
}

static mm_status open_engine(engine *e, int device) {
  MM_TRY_CUDA(device, cudaSetDevice(device), "choosing it");
  if (e->open) return MM_OK;
  e->device = device;
  MM_TRY(mm_cuda_describe(device, &e->facts));
  MM_TRY_CUDA(device, cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking),
              "making a stream");
  MM_TRY(open_lanes(e));
  e->n_place = e->facts.processors;
  e->place = mm_alloc_array((size_t)e->n_place, sizeof *e->place);
  e->fresh = mm_alloc_array((size_t)e->n_place, sizeof *e->fresh);
  e->later = mm_alloc_array((size_t)e->n_place, sizeof *e->later);
  e->returned = mm_alloc_array((size_t)e->n_place, sizeof *e->returned);
  if (!e->place || !e->fresh || !e->later || !e->returned)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %d training runs", e->n_place);
  memset(e->place, 0, (size_t)e->n_place * sizeof *e->place);
  e->open = true;
  return MM_OK;
}

// A place's memory for another that needs it.
static void give_memory_back(place *p) {
  cudaFreeHost(p->memory.host);
  cudaFree(p->memory.device);
  cudaFreeHost(p->maps.host);
  cudaFree(p->maps.device);
  p->memory = p->maps = (twin){ 0 };
  p->device_size = 0;
}

// ---------------------------------------------------------------------------------------------
// Beginning and ending a training

static const mm_job *job_of(const engine *e, const place *p) {
  return &e->queue->list->jobs[p->job];
}

static mm_result *result_of(const engine *e, const place *p) {
  return &e->queue->list->results[p->job];
}

// On the host: the agent at its beginning, and what travels.
static mm_status prepare(engine *e, place *p) {
  const mm_job *job = job_of(e, p);
  const mm_map *map = job->map;
  const mm_ampo *like = p->like && p->like->run ? mm_ampo_run_agent(p->like->run) : NULL;
  mm_job_begin(result_of(e, p));
  if (!map) {
    MM_TRY(mm_job_candidate(job, &p->own));
    map = p->own;
  }
  MM_TRY(mm_ampo_run_open(job, map, like, result_of(e, p), &p->run));
  const mm_ampo *ampo = mm_ampo_run_agent(p->run);
  MM_TRY(mm_cuda_kernel_choose(ampo, e->queue->list->config->place.tile, &e->facts, &p->kernel));
  p->block = mm_cuda_block_of(ampo, &p->kernel);
  MM_TRY(reserve_place(e, p));
  if (mm_job_moves(job)) MM_TRY(reserve(e, &p->maps, MAPS_SIZE, MAPS_SIZE));
  mm_cuda_block_fill(&p->block, ampo, p->memory.host, p->memory.device, &p->agent);
  p->said = result_of(e, p)->env_steps;
  mm_job_list_say(e->queue->list, p->said);
  return MM_OK;
}

static bool prepare_unit(size_t unit, size_t worker, void *user) {
  engine *e = user;
  place *p = &e->place[e->fresh[e->n_begun + unit]];
  (void)worker;
  cudaSetDevice(e->device);
  p->status = prepare(e, p);
  if (p->status != MM_OK) snprintf(p->error, sizeof p->error, "%s", mm_last_error());
  return true;
}

// The job is over, with the place's status; the agent's networks come back if anybody wants them.
static mm_status finish(engine *e, place *p) {
  const mm_job *job = job_of(e, p);
  mm_result *result = result_of(e, p);
  mm_status status = p->status;
  if (p->run) {
    const bool ended = status == MM_OK || status == MM_ERR_NUMERIC;
    if (ended && mm_ampo_run_is_followed(p->run)) {
      MM_TRY_CUDA(
          e->device,
          cudaMemcpy(p->memory.host, p->memory.device, p->block.moved, cudaMemcpyDeviceToHost),
          "reading an agent");
      // a broken one may have environments that no sane agent has: its networks are what counts
      mm_cuda_block_follow(p->memory.host, p->agent.iteration, mm_ampo_run_agent(p->run));
    }
    mm_ampo_run_close(p->run, status);
  }
  if (status != MM_OK) (void)MM_FAIL(status, "%s", p->error);
  mm_job_end(job, status, result);
  mm_job_list_settle(e->queue->list, p->job, p->said);
  mm_map_destroy(p->own);
  p->run = NULL;
  p->own = NULL;
  p->taken = false;
  return MM_OK;
}

static void give_up(place *p, mm_status status, const char *error) {
  p->status = status;
  snprintf(p->error, sizeof p->error, "%s", error);
}

// The number of the next job; false if there is none.
static bool take_job(engine *e, size_t *job) {
  mm_cuda_queue *q = e->queue;
  if (e->n_returned > 0) {
    *job = e->returned[--e->n_returned];
    return true;
  }
  size_t next = atomic_fetch_add(&q->next, 1);
  if (next < q->n) *job = q->job[next];
  return next < q->n;
}

static void drop_run(engine *e, place *p) {
  if (p->run) mm_ampo_run_close(p->run, MM_ERR_INTERRUPTED);
  mm_result_release(result_of(e, p));
  mm_map_destroy(p->own);
  p->run = NULL;
  p->own = NULL;
}

// Once more, with the memory of the places that nobody uses.
static void prepare_again(engine *e, place *p) {
  drop_run(e, p);
  for (int i = 0; i < e->n_place; i++)
    if (!e->place[i].taken) give_memory_back(&e->place[i]);
  p->status = prepare(e, p);
  if (p->status != MM_OK) snprintf(p->error, sizeof p->error, "%s", mm_last_error());
}

// The device has no memory for this job beside the others: it waits, and the place stays empty from
// now on.
static mm_status put_back(engine *e, place *p) {
  drop_run(e, p);
  *result_of(e, p) = (mm_result){ .status = MM_ERR_INTERRUPTED };
  p->taken = false;
  p->closed = true;
  e->returned[e->n_returned++] = p->job;
  return MM_OK;
}

static bool any_ready(const engine *e) {
  for (int i = 0; i < e->n_place; i++)
    if (e->place[i].taken && e->place[i].status == MM_OK) return true;
  return false;
}

static double hidden_of(const mm_job *job) {
  return mm_job_number(job, "hidden", 0);
}

// First networks take longer to make than to copy, and in a search many are the same. What a job's
// settings make of them is for mm_ampo_create to compare.
static const place *find_like(const engine *e, const place *p) {
  const mm_job *job = job_of(e, p);
  for (size_t k = 0; k < e->n_first && !job->state; k++) {
    const place *other = &e->place[e->fresh[k]];
    const mm_job *made = job_of(e, other);
    if (made->env == job->env && made->seed == job->seed && made->repeat == job->repeat &&
        hidden_of(made) == hidden_of(job) && !made->state)
      return other;
  }
  return NULL;
}

// Those that are like others behind all others.
static void order_fresh(engine *e) {
  size_t others = 0;
  e->n_first = 0;
  for (size_t k = 0; k < e->n_fresh; k++) {
    const size_t i = e->fresh[k];
    e->place[i].like = find_like(e, &e->place[i]);
    if (e->place[i].like)
      e->later[others++] = i;
    else
      e->fresh[e->n_first++] = i;
  }
  memcpy(e->fresh + e->n_first, e->later, others * sizeof *e->later);
}

// Units of work by several cores.
static mm_status share_work(engine *e, size_t n, bool (*work)(size_t, size_t, void *)) {
  int worked = 0;
  mm_pool_config pool = { .n = n, .threads = e->queue->threads, .work = work, .user = e };
  mm_status status = n > 0 ? mm_pool_run(&pool, &worked) : MM_OK;
  if (worked > e->worked) e->worked = worked;
  return status;
}

static mm_status prepare_some(engine *e, size_t first, size_t n) {
  e->n_begun = first;
  return share_work(e, n, prepare_unit);
}

// Jobs for the free places, made ready by several cores.
static mm_status fill_places(engine *e) {
  e->n_fresh = 0;
  for (int i = 0; i < e->n_place; i++) {
    place *p = &e->place[i];
    if (p->taken || p->closed) continue;
    if (!take_job(e, &p->job)) break;
    p->taken = true;
    p->said = 0;
    e->fresh[e->n_fresh++] = (size_t)i;
  }
  if (e->n_fresh == 0) return MM_OK;
  order_fresh(e);
  MM_TRY(prepare_some(e, 0, e->n_first));
  MM_TRY(prepare_some(e, e->n_first, e->n_fresh - e->n_first));
  for (size_t k = 0; k < e->n_fresh; k++) {
    place *p = &e->place[e->fresh[k]];
    if (p->status == MM_ERR_DEVICE || p->status == MM_ERR_UNSUPPORTED)
      return MM_FAIL(p->status, "%s", p->error);
    if (p->status == MM_ERR_MEMORY && !any_ready(e)) prepare_again(e, p);
    if (p->status == MM_ERR_MEMORY && any_ready(e)) {
      MM_TRY(put_back(e, p));
      continue;
    }
    if (p->status != MM_OK) {
      MM_TRY(finish(e, p));
      continue;
    }
    MM_TRY_CUDA(e->device,
                cudaMemcpyAsync(p->memory.device, p->memory.host, p->block.moved,
                                cudaMemcpyHostToDevice, e->stream),
                "writing an agent");
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// A slice of time

// Agents of one kernel stand side by side, so that one launch takes them all.
typedef struct group {
  const mm_cuda_kernel *kernel;
  int first, n;
  int32_t span; // of the agent that goes furthest
  double work;  // of the one that has most to do
} group;

// Where the speed of a kernel is remembered: by environment.
static double *speed_of(engine *e, const mm_cuda_kernel *k) {
  const int body = k->gauss.env == MM_CUDA_GAUSS_BODY ? (int)k->gauss.body.body : 0;
  const int at = k->real      ? MM_CLASSIC_COUNT + MM_GAME_COUNT + (int)k->gauss.env + body
                 : k->minatar ? MM_CLASSIC_COUNT + (int)k->game
                              : (int)k->classic.env;
  return &e->seconds_each[at];
}

// What an iteration takes, by which different settings can be compared.
static double work_of(const mm_cuda_agent *agent) {
  return (double)agent->n_row * (double)(agent->epochs + 1);
}

static int32_t span_of(engine *e, const place *p) {
  const double each = *speed_of(e, &p->kernel) * work_of(&p->agent);
  const bool queued = e->n_returned > 0 || atomic_load(&e->queue->next) < e->queue->n;
  const double seconds = queued ? slice_seconds_queued : slice_seconds;
  const double wanted = each > 0 ? seconds / each : FIRST_SPAN;
  const int32_t most = mm_cuda_kernel_span_most(&p->kernel);
  return wanted < 1 ? 1 : wanted > most ? most : (int32_t)wanted;
}

static bool same_rates(const place *a, const place *b) {
  const mm_actor_critic_config *x = mm_ampo_get_config(mm_ampo_run_agent(a->run));
  const mm_actor_critic_config *y = mm_ampo_get_config(mm_ampo_run_agent(b->run));
  return a->agent.iteration == b->agent.iteration && a->agent.span == b->agent.span &&
         x->epochs == y->epochs && x->minibatches == y->minibatches && x->lr == y->lr &&
         x->anneal == y->anneal && mm_ampo_iterations(x) == mm_ampo_iterations(y);
}

static size_t n_rates(const place *p) {
  return (size_t)p->agent.span * (size_t)p->agent.epochs * (size_t)p->agent.minibatches;
}

// Tables of Adam's rates, one for all agents that stand at the same point with the same settings.
static mm_status make_rates(engine *e, place **at_work, int n) {
  size_t total = 0;
  for (int i = 0; i < n; i++)
    if (i == 0 || !same_rates(at_work[i], at_work[i - 1])) total += n_rates(at_work[i]);
  const size_t size = (total + 1) * sizeof(mm_cuda_rate); // the first is read before any epoch
  MM_TRY(reserve(e, &e->rates, size, size));
  mm_cuda_rate *host = (void *)e->rates.host, *device = (void *)e->rates.device;
  size_t used = 0, first = 0;
  for (int i = 0; i < n; i++) {
    place *p = at_work[i];
    if (i == 0 || !same_rates(p, at_work[i - 1])) {
      first = used;
      mm_cuda_block_rates(mm_ampo_run_agent(p->run), p->agent.iteration, p->agent.span,
                          host + first);
      used += n_rates(p);
    }
    p->agent.rate = device + first;
  }
  MM_TRY_CUDA(
      e->device,
      cudaMemcpyAsync(device, host, total * sizeof *host, cudaMemcpyHostToDevice, e->stream),
      "writing rates");
  return MM_OK;
}

// Those whose map moves, with the maps of their iterations: as many as there is room for.
static mm_status make_maps(const engine *e, place *p) {
  mm_cuda_agent *a = &p->agent;
  const int32_t wanted = a->span < MAPS_MOST ? a->span : MAPS_MOST;
  p->maps_used = 0;
  if (wanted == 0) return MM_OK; // it went on from a state that is at its end
  for (;;) {
    a->span = wanted;
    MM_TRY(mm_cuda_block_maps(mm_ampo_run_agent(p->run), a->iteration, &p->maps, &a->span, p->steps,
                              &p->maps_used));
    if (a->span > 0) break;
    MM_TRY(reserve(e, &p->maps, 2 * p->maps.size, 2 * p->maps.size));
  }
  a->maps = p->maps.device;
  return MM_OK;
}

static bool make_maps_unit(size_t unit, size_t worker, void *user) {
  engine *e = user;
  place *p = &e->place[unit];
  (void)worker;
  if (!p->taken || !mm_job_moves(job_of(e, p))) return true;
  cudaSetDevice(e->device);
  p->status = make_maps(e, p);
  if (p->status != MM_OK) snprintf(p->error, sizeof p->error, "%s", mm_last_error());
  return true;
}

static mm_status send_maps(engine *e, place **at_work, int n) {
  for (int i = 0; i < n; i++) {
    const place *p = at_work[i];
    if (p->status != MM_OK) return MM_FAIL(p->status, "%s", p->error);
    if (mm_job_moves(job_of(e, p)))
      MM_TRY_CUDA(e->device,
                  cudaMemcpyAsync(p->maps.device, p->maps.host, p->maps_used,
                                  cudaMemcpyHostToDevice, e->stream),
                  "writing maps");
  }
  return MM_OK;
}

// Step sizes of every agent's iterations, `spans` of them in all; maps that move may make them
// fewer.
static mm_status make_steps(engine *e, place **at_work, int n, size_t spans) {
  bool any_moves = false;
  MM_TRY(reserve(e, &e->steps, spans * sizeof(mm_eta_step), spans * sizeof(mm_eta_step)));
  mm_eta_step *host = (void *)e->steps.host, *device = (void *)e->steps.device;
  for (int i = 0; i < n; i++) {
    place *p = at_work[i];
    mm_cuda_agent *a = &p->agent;
    p->steps = host;
    a->steps = device;
    host += a->span;
    device += a->span;
    if (mm_job_moves(job_of(e, p)))
      any_moves = true;
    else
      mm_cuda_block_steps(mm_ampo_run_agent(p->run), a->iteration, a->span, p->steps);
  }
  if (any_moves) {
    MM_TRY(share_work(e, (size_t)e->n_place, make_maps_unit));
    MM_TRY(send_maps(e, at_work, n));
  }
  MM_TRY_CUDA(e->device,
              cudaMemcpyAsync(e->steps.device, e->steps.host, spans * sizeof *host,
                              cudaMemcpyHostToDevice, e->stream),
              "writing step sizes");
  return MM_OK;
}

// The places at work in the order of their kernels; returns how many groups that makes.
static int group_places(engine *e, place **at_work, group *groups, int *n) {
  int n_group = 0;
  *n = 0;
  for (int i = 0; i < e->n_place; i++)
    e->place[i].order = SIZE_MAX;
  for (int i = 0; i < e->n_place; i++) {
    place *p = &e->place[i];
    if (!p->taken || p->order != SIZE_MAX) continue;
    group *g = &groups[n_group++];
    *g = (group){ .kernel = &p->kernel, .first = *n };
    const int32_t span = span_of(e, p);
    for (int k = i; k < e->n_place; k++) {
      place *q = &e->place[k];
      if (!q->taken || q->order != SIZE_MAX || !mm_cuda_kernel_same(&q->kernel, g->kernel))
        continue;
      const int64_t left = mm_ampo_run_left(q->run);
      q->order = (size_t)*n;
      q->agent.span = left < span ? (int32_t)left : span;
      at_work[(*n)++] = q;
      g->n++;
    }
  }
  return n_group;
}

// What each group has to do, when the spans of its agents are settled.
static void weigh(place *const *at_work, group *groups, int n_group) {
  for (int i = 0; i < n_group; i++) {
    group *g = &groups[i];
    for (int k = g->first; k < g->first + g->n; k++) {
      const mm_cuda_agent *a = &at_work[k]->agent;
      if (a->span > g->span) g->span = a->span;
      g->work = fmax(g->work, (a->span > 0 ? a->span : 1) * work_of(a)); // a speed is made of it
    }
  }
}

// All groups side by side; e->stream goes on when the last of them has ended. Those of continuous
// actions come one after the other: their blocks wait for each other, so that all of a launch must
// be on the device, and parts of two launches would wait for ever.
static mm_status launch(engine *e, const group *groups, int n_group) {
  mm_cuda_agent *agents = (void *)e->agents.device;
  const lane *before = NULL;
  MM_TRY_CUDA(e->device, cudaEventRecord(e->ready, e->stream), "marking a time");
  for (int i = 0; i < n_group; i++) {
    const group *g = &groups[i];
    const lane *l = &e->lane[i % LANES];
    MM_TRY_CUDA(e->device, cudaStreamWaitEvent(l->stream, e->ready, 0), "waiting for agents");
    if (g->kernel->real && before)
      MM_TRY_CUDA(e->device, cudaStreamWaitEvent(l->stream, before->ended, 0),
                  "waiting for a kernel");
    MM_TRY_CUDA(e->device, cudaEventRecord(l->begun, l->stream), "marking a time");
    MM_TRY_CUDA(
        e->device,
        mm_cuda_kernel_launch(g->kernel, agents + g->first, g->n, g->span, e->clocks, l->stream),
        "starting %d training runs", g->n);
    MM_TRY_CUDA(e->device, cudaEventRecord(l->ended, l->stream), "marking a time");
    MM_TRY_CUDA(e->device, cudaStreamWaitEvent(e->stream, l->ended, 0), "waiting for a kernel");
    if (g->kernel->real) before = l;
  }
  return MM_OK;
}

// Until the slice is over. The agents end early where the caller wants to stop.
static mm_status await(engine *e) {
  const struct timespec moment = { .tv_nsec = 100000 };
  MM_TRY_CUDA(e->device, cudaEventRecord(e->done, e->stream), "marking a time");
  for (;;) {
    const cudaError_t state = cudaEventQuery(e->done);
    if (state == cudaSuccess) return MM_OK;
    if (state != cudaErrorNotReady) MM_TRY_CUDA(e->device, state, "training");
    if (mm_job_stopped(e->queue->list->config->stop))
      __atomic_store_n(e->stop, 1, __ATOMIC_RELAXED);
    nanosleep(&moment, NULL);
  }
}

// How long each kernel took, for the next slice.
static mm_status remember_speeds(engine *e, const group *groups, int n_group) {
  for (int i = 0; i < n_group; i++) {
    const lane *l = &e->lane[i % LANES];
    float milliseconds;
    MM_TRY_CUDA(e->device, cudaEventElapsedTime(&milliseconds, l->begun, l->ended),
                "reading a time");
    *speed_of(e, groups[i].kernel) = 1e-3 * (double)milliseconds / groups[i].work;
  }
  return MM_OK;
}

// What the samples of continuous actions met in the slice.
static mm_status read_measures(const engine *e, const place *p, int64_t done,
                               mm_cuda_gauss_report *out) {
  if (!p->kernel.real || done <= 0) return MM_OK;
  MM_TRY_CUDA(e->device,
              cudaMemcpy(out, p->memory.device + p->block.measures, (size_t)done * sizeof *out,
                         cudaMemcpyDeviceToHost),
              "reading measures");
  return MM_OK;
}

// What the slice brought: points of curves, and trainings that broke down.
static mm_status take_in(engine *e, place *p, const mm_cuda_agent *seen, const mm_tally *report) {
  const int64_t done = seen->iteration - p->agent.iteration;
  mm_cuda_gauss_report measure[MM_CUDA_GAUSS_SPAN_MOST];
  MM_TRY(read_measures(e, p, done, measure));
  for (int64_t i = 0; i < done && p->status == MM_OK; i++) {
    mm_ampo_report r = { .returns = report[i], .metric = mm_tally_mean(&report[i]) };
    if (p->kernel.real) {
      r.policy = mm_cuda_block_measure(&measure[i]);
      r.unstable = measure[i].unstable;
      if (1000 * r.policy.nonfinite > r.policy.samples)
        give_up(p, MM_ERR_NUMERIC, "samples of an update are not finite: too many");
    }
    if (p->status == MM_OK) mm_ampo_run_note(p->run, &r);
  }
  p->agent.iteration = seen->iteration;
  const uint64_t steps = result_of(e, p)->env_steps;
  mm_job_list_say(e->queue->list, steps - p->said);
  p->said = steps;
  if (seen->broken == MM_CUDA_NOT_FINITE)
    give_up(p, MM_ERR_NUMERIC, "a score or a gradient is not finite");
  if (seen->broken == MM_CUDA_NO_MAP)
    give_up(p, MM_ERR_NUMERIC, "phi^-1 is not finite on (0, 1] between two anchors");
  if (seen->broken == MM_CUDA_NOT_COMPILED)
    return MM_FAIL(MM_ERR_UNSUPPORTED, "CUDA device %d: this program has no code for it",
                   e->device);
  return MM_OK;
}

static mm_status slice(engine *e, place **at_work, group *groups) {
  int n, n_group = group_places(e, at_work, groups, &n);
  size_t spans = 0;
  if (n == 0) return MM_OK;
  const size_t agents = (size_t)n * sizeof(mm_cuda_agent);
  for (int i = 0; i < n; i++)
    spans += (size_t)at_work[i]->agent.span;
  MM_TRY(make_steps(e, at_work, n, spans));
  MM_TRY(make_rates(e, at_work, n));
  weigh(at_work, groups, n_group);
  MM_TRY(reserve(e, &e->agents, agents, agents));
  MM_TRY(reserve(e, &e->reports, spans * sizeof(mm_tally), spans * sizeof(mm_tally)));
  mm_cuda_agent *host = (void *)e->agents.host;
  mm_tally *report = (void *)e->reports.device;
  *e->stop = 0;
  for (int i = 0; i < n; i++) {
    at_work[i]->agent.stop = e->stop;
    at_work[i]->agent.report = report;
    report += at_work[i]->agent.span;
    host[i] = at_work[i]->agent;
  }
  MM_TRY_CUDA(e->device,
              cudaMemcpyAsync(e->agents.device, host, agents, cudaMemcpyHostToDevice, e->stream),
              "writing agents");
  MM_TRY(launch(e, groups, n_group));
  MM_TRY_CUDA(e->device,
              cudaMemcpyAsync(host, e->agents.device, agents, cudaMemcpyDeviceToHost, e->stream),
              "reading agents");
  MM_TRY_CUDA(e->device,
              cudaMemcpyAsync(e->reports.host, e->reports.device, spans * sizeof *report,
                              cudaMemcpyDeviceToHost, e->stream),
              "reading reports");
  MM_TRY(await(e));
  MM_TRY(remember_speeds(e, groups, n_group));
  const mm_tally *seen = (void *)e->reports.host;
  for (int i = 0; i < n; i++) {
    MM_TRY(take_in(e, at_work[i], &host[i], seen));
    seen += at_work[i]->agent.span;
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------

// Trainings that are over, or that are to be put down.
static mm_status settle_places(engine *e, bool stopped) {
  for (int i = 0; i < e->n_place; i++) {
    place *p = &e->place[i];
    if (!p->taken) continue;
    const bool over = p->status != MM_OK || mm_ampo_run_left(p->run) == 0;
    if (p->status == MM_OK && mm_ampo_run_is_due(p->run, stopped)) {
      MM_TRY_CUDA(
          e->device,
          cudaMemcpy(p->memory.host, p->memory.device, p->block.moved, cudaMemcpyDeviceToHost),
          "reading an agent");
      MM_TRY(mm_cuda_block_follow(p->memory.host, p->agent.iteration, mm_ampo_run_agent(p->run)));
      mm_ampo_run_save(p->run);
    }
    if (!over && stopped) give_up(p, MM_ERR_INTERRUPTED, "interrupted");
    if (over || stopped) MM_TRY(finish(e, p));
  }
  return MM_OK;
}

static bool any_taken(const engine *e) {
  for (int i = 0; i < e->n_place; i++)
    if (e->place[i].taken) return true;
  return false;
}

static mm_status work(engine *e, place **at_work, group *groups) {
  const volatile int *stop = e->queue->list->config->stop;
  for (;;) {
    const bool stopped = mm_job_stopped(stop);
    MM_TRY(settle_places(e, stopped));
    if (stopped) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    MM_TRY(fill_places(e));
    // a round in which every job failed to begin is not the end
    if (any_taken(e))
      MM_TRY(slice(e, at_work, groups));
    else if (e->n_returned == 0 && atomic_load(&e->queue->next) >= e->queue->n)
      return MM_OK;
  }
}

// After a failure of the device its trainings are lost; they can be run again.
static void drop_places(engine *e) {
  for (int i = 0; i < e->n_place; i++) {
    place *p = &e->place[i];
    if (!p->taken) continue;
    if (p->run) mm_ampo_run_close(p->run, MM_ERR_INTERRUPTED);
    mm_job_end(job_of(e, p), MM_ERR_INTERRUPTED, result_of(e, p));
    mm_map_destroy(p->own);
    p->run = NULL;
    p->own = NULL;
    p->taken = false;
  }
}

static mm_status run(engine *e, int device) {
  MM_TRY(open_engine(e, device));
  e->n_returned = 0;
  for (int i = 0; i < e->n_place; i++)
    e->place[i].closed = false;
  // other settings may be slower than those seen last: begin with a short slice
  for (int i = 0; i < N_SPEEDS; i++)
    e->seconds_each[i] = 0;
  const size_t n = (size_t)e->n_place;
  place **at_work = mm_alloc_array(n, sizeof *at_work);
  group *groups = mm_alloc_array(n, sizeof *groups);
  mm_status status = MM_ERR_MEMORY;
  if (at_work && groups)
    status = work(e, at_work, groups);
  else
    (void)MM_FAIL(status, "no memory for %zu training runs", n);
  mm_free(at_work);
  mm_free(groups);
  char error[MM_ERROR_SIZE];
  snprintf(error, sizeof error, "%s", status == MM_OK ? "" : mm_last_error());
  // what is not the device's failure leaves it able to give back what it has
  if (status != MM_OK && status != MM_ERR_DEVICE) (void)settle_places(e, true);
  drop_places(e);
  return status == MM_OK ? MM_OK : MM_FAIL(status, "%s", error);
}

mm_status mm_cuda_ampo_run(int device, mm_cuda_queue *queue, int *threads) {
  engine *e = &engines[device];
  pthread_once(&engines_once, init_locks);
  pthread_mutex_lock(&e->lock);
  e->queue = queue;
  e->worked = 0;
  mm_status status = run(e, device);
  *threads = e->worked;
  pthread_mutex_unlock(&e->lock);
  return status;
}

void mm_cuda_ampo_profile(int device, int64_t *clocks) {
  engines[device].clocks = clocks;
}
