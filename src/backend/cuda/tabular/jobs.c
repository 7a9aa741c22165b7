// SPDX-License-Identifier: Apache-2.0
// A list of tabular PMD jobs on a device. The host's threads make the maps and draw the tasks, the
// device trains in slices of iterations, the host's threads value the policies. What two jobs have
// in common is made and sent once.

#include <stdio.h>
#include <string.h>

#include "agent/job_internal.h"
#include "agent/pmd.h"
#include "backend/cuda/host/error.h"
#include "backend/cuda/tabular/internal.h"
#include "backend/cuda/tabular/pmd.h"
#include "backend/pool.h"
#include "base/clock.h"
#include "env/grid/grid_task.h"

enum { TOGETHER = 1024 }; // jobs that are prepared at a time
#define SLICE 0.1         // seconds on the device between two looks at `stop`

typedef mm_cuda_pmd_part part;
typedef mm_cuda_pmd_member member;
typedef mm_cuda_pmd_source source;

// The whole list.
typedef struct list {
  const mm_cuda_pmd_config *config;
  int device;
  const volatile int *stop;
  int worked; // threads of the host at a time, so far
  cudaStream_t stream;
  double clock;       // of the device, per second
  uint64_t env_steps; // done so far
  // what is prepared now
  member *member; // [TOGETHER]
  size_t n;
  source *source; // [2 * TOGETHER]
  size_t n_source;
  part part;
  int64_t first, span; // iterations of the launch
} list;

// Units of work by the host's threads.
static mm_status share_work(list *l, size_t n, bool (*work)(size_t, size_t, void *)) {
  int threads;
  mm_pool_config pool = {
    .n = n, .threads = l->config->threads, .stop = l->stop, .work = work, .user = l
  };
  mm_status status = mm_pool_run(&pool, &threads);
  if (threads > l->worked) l->worked = threads;
  return status;
}

// Right after a failure, in the thread that met it: its sentence is then the last one.
static void settle(list *l, member *m, mm_status status) {
  mm_job_end(m->job, status, m->result);
  mm_pmd_values_close(&m->values);
  m->open = false;
  if (l->config->ended) l->config->ended(m->index, l->config->user);
}

// ---------------------------------------------------------------------------------------------
// Maps and tasks

// Where the map moves, those of an iteration depend on how many there are.
static bool same_length(const mm_job *a, const mm_job *b) {
  const mm_pmd_config *x = a->config, *y = b->config;
  return x->steps == y->steps && x->envs == y->envs && x->unroll == y->unroll;
}

static bool same_map(const mm_job *a, const mm_job *b) {
  if (mm_job_moves(a) && !same_length(a, b)) return false;
  if (a->map || b->map) return a->map == b->map;
  return a->point.kind == b->point.kind && a->point.n == b->point.n && a->point.z == b->point.z &&
         a->point.stages == b->point.stages;
}

static bool same_task(const mm_job *a, const mm_job *b) {
  return a->env == b->env && a->seed == b->seed;
}

// The source that another member has already, or a new one.
static source *source_for(list *l, const mm_job *job, bool is_task) {
  for (size_t i = 0; i < l->n_source; i++) {
    source *s = &l->source[i];
    if (s->is_task != is_task) continue;
    if (is_task ? same_task(s->job, job) : same_map(s->job, job)) return s;
  }
  source *s = &l->source[l->n_source++];
  *s = (source){ .job = job, .is_task = is_task, .at = MM_CUDA_NOWHERE };
  s->status = MM_ERR_INTERRUPTED; // until it is made
  return s;
}

static char *last_sentence(void) {
  char *copy = mm_alloc(MM_ERROR_SIZE);
  if (copy) snprintf(copy, MM_ERROR_SIZE, "%s", mm_last_error());
  return copy;
}

static bool make_source(size_t unit, size_t worker, void *user) {
  list *l = user;
  (void)worker;
  source *s = &l->source[unit];
  if (s->is_task) {
    s->status = mm_grid_draw(s->job->env, s->job->seed, 0, &s->grid);
  } else if (s->job->map) {
    s->status = MM_OK;
    s->map = s->job->map;
  } else {
    s->status = mm_job_candidate(s->job, &s->own);
    s->map = s->own;
  }
  if (s->status != MM_OK) s->error = last_sentence();
  return true;
}

static void release_sources(list *l) {
  for (size_t i = 0; i < l->n_source; i++) {
    mm_map_destroy(l->source[i].own);
    mm_grid_destroy(l->source[i].grid);
    mm_free(l->source[i].error);
    mm_cuda_pmd_source_shrink(&l->source[i]);
  }
  l->n_source = 0;
}

// As mm_job_run would find it: the map first, then the task, then the settings.
static mm_status check(const member *m) {
  const source *sources[2] = { m->map, m->task };
  for (int i = 0; i < 2; i++) {
    const source *s = sources[i];
    if (s->status != MM_OK)
      return MM_FAIL(s->status, "%s", s->error ? s->error : mm_status_text(s->status));
  }
  return mm_pmd_check(m->map->map, m->job->config);
}

static mm_status prepare(list *l, const mm_job *jobs, const size_t *which, size_t n,
                         mm_result *results) {
  l->n = n;
  for (size_t i = 0; i < n; i++) {
    member *m = &l->member[i];
    *m = (member){ .job = &jobs[which[i]], .result = &results[which[i]], .index = which[i] };
    m->open = true;
    m->map = source_for(l, m->job, false);
    m->task = source_for(l, m->job, true);
    mm_job_begin(m->result);
  }
  MM_TRY(share_work(l, l->n_source, make_source));
  if (mm_job_stopped(l->stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  for (size_t i = 0; i < n; i++) {
    mm_status status = check(&l->member[i]);
    if (status != MM_OK) settle(l, &l->member[i], status);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Values

static mm_status open_values(member *m) {
  if (m->values.model) return MM_OK;
  return mm_pmd_values_open(m->task->grid, m->job->config, &m->values, m->result);
}

// The curve's first point: the uniform policy.
static bool value_start(size_t unit, size_t worker, void *user) {
  list *l = user;
  member *m = l->part.member[unit];
  (void)worker;
  if (!m->open || !mm_cuda_pmd_settings(m->job)->exact_curve) return true;
  mm_status status = open_values(m);
  if (status == MM_OK) {
    size_t entries = (size_t)m->task->grid->n_state * MM_GRID_ACTIONS;
    for (size_t k = 0; k < entries; k++)
      m->values.policy[k] = 1.0 / MM_GRID_ACTIONS;
    status = mm_pmd_values_point(&m->values, m->result);
  }
  if (status != MM_OK) settle(l, m, status);
  return true;
}

// The next point of a curve that has got further.
static bool value_next(size_t unit, size_t worker, void *user) {
  list *l = user;
  member *m = l->part.member[unit];
  (void)worker;
  if (!m->open || !mm_cuda_pmd_settings(m->job)->exact_curve ||
      (int64_t)m->result->n_curve > m->seen)
    return true;
  mm_cuda_pmd_part_policy(&l->part, m, m->values.policy);
  mm_status status = mm_pmd_values_point(&m->values, m->result);
  if (status != MM_OK) settle(l, m, status);
  return true;
}

static mm_status value_end(const list *l, size_t i) {
  member *m = l->part.member[i];
  const mm_cuda_pmd_state *state = &l->part.state[i];
  MM_TRY(open_values(m));
  if (!mm_cuda_pmd_settings(m->job)->exact_curve) {
    mm_cuda_pmd_part_policy(&l->part, m, m->values.policy);
    MM_TRY(mm_pmd_values_point(&m->values, m->result));
  }
  MM_TRY(mm_pmd_values_optimum(&m->values, m->result));
  m->result->seconds_rollout = (double)state->rollout_cycles / l->clock;
  m->result->seconds_update = (double)state->update_cycles / l->clock;
  if (!state->broken) return MM_OK;
  if (state->broken == MM_CUDA_PMD_NO_MAP)
    return MM_FAIL(MM_ERR_NUMERIC, "phi^-1 is not finite on (0, 1] between two anchors");
  return MM_FAIL(MM_ERR_NUMERIC, "a logit is not finite after step %llu",
                 (unsigned long long)m->result->env_steps);
}

static bool end_member(size_t unit, size_t worker, void *user) {
  list *l = user;
  member *m = l->part.member[unit];
  (void)worker;
  if (m->open) settle(l, m, value_end(l, unit));
  return true;
}

// ---------------------------------------------------------------------------------------------
// Training

static bool copy_source(size_t unit, size_t worker, void *user) {
  list *l = user;
  (void)worker;
  if (l->source[unit].at != MM_CUDA_NOWHERE) mm_cuda_pmd_part_copy(&l->part, &l->source[unit]);
  return true;
}

static bool make_maps(size_t unit, size_t worker, void *user) {
  list *l = user;
  source *s = &l->source[unit];
  (void)worker;
  if (!mm_cuda_pmd_part_moves(s)) return true;
  s->status = mm_cuda_pmd_part_maps(&l->part, s, l->first, l->span);
  if (s->status != MM_OK) s->error = last_sentence();
  return true;
}

// What the next launch needs of maps that move: those of its iterations, which may become fewer.
static mm_status move_maps(list *l) {
  bool any = false;
  for (size_t i = 0; i < l->n_source; i++)
    any |= mm_cuda_pmd_part_moves(&l->source[i]);
  if (!any) return MM_OK;
  if (l->span > MM_CUDA_PMD_MAPS) l->span = MM_CUDA_PMD_MAPS;
  MM_TRY(share_work(l, l->n_source, make_maps));
  if (mm_job_stopped(l->stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  for (size_t i = 0; i < l->n_source; i++) {
    const source *s = &l->source[i];
    if (!mm_cuda_pmd_part_moves(s)) continue;
    if (s->status != MM_OK)
      return MM_FAIL(s->status, "%s", s->error ? s->error : mm_status_text(s->status));
    MM_TRY(mm_cuda_pmd_part_send_maps(&l->part, s));
    if (s->n_map < l->span) l->span = s->n_map;
  }
  return MM_OK;
}

// Brings results up to what the device has done. True when nothing is left to do.
static bool look(list *l) {
  bool ended = true;
  for (size_t i = 0; i < l->part.n; i++) {
    const mm_cuda_pmd_state *state = &l->part.state[i];
    member *m = l->part.member[i];
    const mm_pmd_config *c = m->job->config;
    uint64_t steps = (uint64_t)(c->envs * c->unroll);
    steps *= (uint64_t)(state->iteration - m->seen);
    m->seen = state->iteration;
    l->env_steps += steps;
    if (!m->open) continue;
    m->result->env_steps += steps;
    ended = ended && (state->broken || state->iteration == mm_pmd_iterations(c));
  }
  return ended;
}

static bool wants_curve(const part *p) {
  for (size_t i = 0; i < p->n; i++)
    if (p->member[i]->open && mm_cuda_pmd_settings(p->member[i]->job)->exact_curve) return true;
  return false;
}

static mm_status train(list *l) {
  int64_t span = 1;
  l->first = 0;
  MM_TRY(share_work(l, l->part.n, value_start));
  for (bool ended = false; !ended;) {
    if (mm_job_stopped(l->stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    double start = mm_clock_seconds();
    bool curve = wants_curve(&l->part);
    l->span = curve ? 1 : span;
    MM_TRY(move_maps(l));
    MM_TRY(mm_cuda_pmd_part_train(&l->part, l->span));
    l->first += l->span;
    ended = look(l);
    if (l->config->progress) l->config->progress(l->env_steps, l->config->user);
    if (curve) {
      MM_TRY(mm_cuda_pmd_part_fetch(&l->part));
      MM_TRY(share_work(l, l->part.n, value_next));
    } else if (l->span == span && mm_clock_seconds() - start < SLICE / 4) {
      span *= 4; // as long as launches are as long as they may be
    }
  }
  return MM_OK;
}

static mm_status run_part(list *l) {
  MM_TRY(mm_cuda_pmd_part_fill(&l->part));
  MM_TRY(share_work(l, l->n_source, copy_source));
  MM_TRY(mm_cuda_pmd_part_send(&l->part));
  MM_TRY(train(l));
  MM_TRY(mm_cuda_pmd_part_fetch(&l->part));
  MM_TRY(share_work(l, l->part.n, end_member));
  for (size_t i = 0; i < l->part.n; i++)
    if (l->part.member[i]->open) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
  return MM_OK;
}

// Puts as many open members as fit, from *next on, into the part. One that does not fit alone has
// failed.
static mm_status choose_part(list *l, size_t *next) {
  size_t available, total;
  MM_TRY_CUDA(l->device, cudaMemGetInfo(&available, &total), "asking for its memory");
  available -= available / 16; // others live there too
  for (size_t i = 0; i < l->n_source; i++)
    l->source[i].at = MM_CUDA_NOWHERE;
  for (; *next < l->n; ++*next) {
    member *m = &l->member[*next];
    if (!m->open || mm_cuda_pmd_part_add(&l->part, m, available)) continue;
    if (l->part.n > 0) break;
    settle(l, m,
           MM_FAIL(MM_ERR_MEMORY,
                   "CUDA device %d: %zu MiB are free, too few for a task of %d states", l->device,
                   available >> 20, (int)m->task->grid->n_state));
  }
  return MM_OK;
}

static mm_status run_prepared(list *l) {
  for (size_t next = 0; next < l->n;) {
    MM_TRY(mm_cuda_pmd_part_open(l->device, l->stream, l->n - next, &l->part));
    mm_status status = choose_part(l, &next);
    if (status == MM_OK && l->part.n > 0) status = run_part(l);
    mm_cuda_pmd_part_close(&l->part);
    MM_TRY(status);
  }
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// The list

static mm_status run_together(list *l, const mm_job *jobs, const size_t *which, size_t n,
                              mm_result *results) {
  mm_status status = prepare(l, jobs, which, n, results);
  if (status == MM_OK) status = run_prepared(l);
  for (size_t i = 0; i < n && status != MM_OK; i++)
    if (l->member[i].open) settle(l, &l->member[i], status);
  release_sources(l);
  return status;
}

static mm_status open_device(list *l) {
  int kilohertz = 0;
  MM_TRY_CUDA(l->device, cudaSetDevice(l->device), "choosing it");
  MM_TRY_CUDA(l->device, cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, l->device),
              "asking for its clock");
  MM_TRY_CUDA(l->device, cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking),
              "making a stream");
  l->clock = 1e3 * (kilohertz > 0 ? kilohertz : 1);
  return MM_OK;
}

static mm_status run_list(list *l, const mm_job *jobs, const size_t *which, size_t n,
                          mm_result *results) {
  for (size_t first = 0; first < n; first += TOGETHER) {
    if (mm_job_stopped(l->stop)) return MM_FAIL(MM_ERR_INTERRUPTED, "interrupted");
    size_t some = n - first < TOGETHER ? n - first : TOGETHER;
    MM_TRY(run_together(l, jobs, which + first, some, results));
  }
  return MM_OK;
}

static mm_status run_all(list *l, const mm_job *jobs, const size_t *which, size_t n,
                         mm_result *results) {
  MM_TRY(open_device(l));
  l->member = mm_alloc_array(TOGETHER, sizeof *l->member);
  l->source = mm_alloc_array(2 * TOGETHER, sizeof *l->source);
  mm_status status;
  if (l->member && l->source)
    status = run_list(l, jobs, which, n, results);
  else
    status = MM_FAIL(MM_ERR_MEMORY, "no memory for a list of jobs");
  mm_free(l->member);
  mm_free(l->source);
  cudaStreamDestroy(l->stream);
  return status;
}

mm_status mm_cuda_pmd_run(const mm_cuda_pmd_config *config, const mm_job *jobs, const size_t *which,
                          size_t n, mm_result *results, int *threads) {
  for (size_t i = 0; i < n; i++)
    results[which[i]] = (mm_result){ .status = MM_ERR_INTERRUPTED };
  list l = { .config = config, .device = config->device, .stop = config->stop };
  mm_status status = run_all(&l, jobs, which, n, results);
  *threads = l.worked;
  // jobs that were never begun
  for (size_t i = 0; i < n && status != MM_OK; i++)
    if (results[which[i]].status == MM_ERR_INTERRUPTED) results[which[i]].status = status;
  return status;
}
