// SPDX-License-Identifier: Apache-2.0
// Jobs of tabular PMD that are on the device together: how its memory is laid out, and what goes
// there and comes back. One block of memory, one copy each way.

#include <string.h>

#include "agent/job_internal.h"
#include "agent/pmd.h"
#include "backend/cuda/host/error.h"
#include "backend/cuda/tabular/internal.h"
#include "map/map_internal.h"

enum { ALIGN = 256 };

typedef mm_cuda_pmd_part part;
typedef mm_cuda_pmd_member member;
typedef mm_cuda_pmd_source source;

// ---------------------------------------------------------------------------------------------
// Layout

// Room for so many bytes at the end of a region; returns where.
static size_t take(size_t *region, size_t bytes) {
  size_t at = *region;
  *region += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  return at;
}

// Two arrays of a source: their offsets from where it is.
typedef struct arrays {
  const void *from[2];
  size_t bytes[2], at[2], total;
} arrays;

static arrays with_places(arrays a) {
  for (int i = 0; i < 2; i++)
    a.at[i] = take(&a.total, a.bytes[i]);
  return a;
}

static arrays arrays_of_grid(const mm_grid *grid) {
  const size_t cells = (size_t)grid->cells;
  return with_places((arrays){
      .from = { grid->next, grid->object_at },
      .bytes = { cells * MM_GRID_ACTIONS * sizeof *grid->next, cells * sizeof *grid->object_at } });
}

static arrays arrays_of_map(const mm_map *map) {
  const mm_potential_d *f = &map->engine;
  arrays a = { .total = 0 };
  if (f->kind == MM_MAP_PIECEWISE) {
    a.from[0] = f->psi;
    a.from[1] = f->depth;
    a.bytes[0] = a.bytes[1] = (size_t)f->n * sizeof(double);
  } else if (f->kind == MM_MAP_NEURAL) {
    a.from[0] = f->cell;
    a.bytes[0] = map->n_cell * sizeof *f->cell;
  }
  return with_places(a);
}

// Room for the arrays of a map that moves, those of some iterations.
enum { MAPS_SIZE = 256 << 10, MAPS_MORE = 4 };

bool mm_cuda_pmd_part_moves(const source *s) {
  return s->map && mm_map_stages(s->map) > 1 && s->at != MM_CUDA_NOWHERE;
}

static size_t bytes_of_records(void) {
  size_t bytes = 0;
  take(&bytes, MM_CUDA_PMD_MAPS * sizeof(mm_potential_d));
  return bytes;
}

// Between two anchors a table may be larger than those of both: then the room grows.
static size_t bytes_of_maps(const mm_map *map) {
  size_t most = 0;
  for (size_t i = 0; i < mm_map_stages(map); i++) {
    const size_t own = arrays_of_map(mm_map_stage(map, i)).total;
    most = own > most ? own : most;
  }
  return bytes_of_records() + MAPS_SIZE + MAPS_MORE * most;
}

static size_t bytes_of(const source *s) {
  if (s->grid) return arrays_of_grid(s->grid).total;
  return mm_map_stages(s->map) > 1 ? bytes_of_maps(s->map) : arrays_of_map(s->map).total;
}

// The arrays of a member in the region `rest`, which grows by them.
typedef struct places {
  size_t theta, value, env, sums, visited, batch;
} places;

static int32_t batch_of(const mm_job *job) {
  const mm_pmd_config *c = job->config;
  return (int32_t)(c->envs * c->unroll);
}

static bool batch_fits(int32_t n_batch) {
  return mm_cuda_pmd_block_bytes(n_batch) > mm_cuda_pmd_block_bytes(0);
}

static places places_of(const member *m, size_t *rest) {
  size_t states = (size_t)m->task->grid->n_state, n_batch = (size_t)batch_of(m->job);
  size_t most = states < n_batch ? states : n_batch;
  places p;
  p.theta = take(rest, states * MM_GRID_ACTIONS * sizeof(double));
  p.value = take(rest, states * sizeof(double));
  p.env = take(rest, (size_t)mm_cuda_pmd_settings(m->job)->envs * sizeof(mm_grid_state));
  p.sums = take(rest, states * sizeof(mm_cuda_pmd_sums));
  p.visited = take(rest, most * sizeof(int32_t));
  p.batch = batch_fits((int32_t)n_batch) ? MM_CUDA_NOWHERE
                                         : take(rest, mm_cuda_pmd_batch_bytes((int32_t)n_batch));
  return p;
}

static size_t policy_size(const member *m) {
  return (size_t)m->task->grid->n_state * MM_GRID_ACTIONS * sizeof(double);
}

size_t mm_cuda_pmd_part_bytes(const part *p) {
  return p->image_bytes + p->policy_bytes + p->rest_bytes;
}

bool mm_cuda_pmd_part_add(part *p, member *m, size_t most) {
  size_t image = p->image_bytes, policy = p->policy_bytes, rest = p->rest_bytes;
  source *sources[2] = { m->map, m->task };
  size_t at[2] = { m->map->at, m->task->at };
  for (int i = 0; i < 2; i++)
    if (at[i] == MM_CUDA_NOWHERE) at[i] = take(&image, bytes_of(sources[i]));
  size_t policy_at = take(&policy, policy_size(m)), rest_at = rest;
  places_of(m, &rest);
  if (image + policy + rest > most) return false;
  for (int i = 0; i < 2; i++)
    sources[i]->at = at[i];
  m->policy = policy_at;
  m->rest = rest_at;
  m->seen = 0;
  p->image_bytes = image;
  p->policy_bytes = policy;
  p->rest_bytes = rest;
  size_t block = mm_cuda_pmd_block_bytes(batch_of(m->job));
  p->block_bytes = block > p->block_bytes ? block : p->block_bytes;
  p->member[p->n++] = m;
  return true;
}

mm_status mm_cuda_pmd_part_open(int device, cudaStream_t stream, size_t agents, part *p) {
  *p = (part){ .device = device, .stream = stream, .agents = agents };
  p->member = mm_alloc_array(agents, sizeof(member *));
  if (!p->member) return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu jobs", agents);
  take(&p->image_bytes, agents * sizeof(mm_cuda_pmd));
  take(&p->image_bytes, agents * sizeof(mm_cuda_pmd_state));
  return MM_OK;
}

void mm_cuda_pmd_part_close(part *p) {
  cudaFree(p->base);
  mm_free(p->image);
  mm_free(p->policy);
  mm_free(p->state);
  mm_free(p->member);
  *p = (part){ .n = 0 };
}

// ---------------------------------------------------------------------------------------------
// The image

static size_t states_at(const part *p) {
  size_t bytes = 0;
  take(&bytes, p->agents * sizeof(mm_cuda_pmd));
  return bytes;
}

// A map whose arrays are at this place of the device.
static mm_potential_d device_map(const mm_map *map, const unsigned char *at) {
  const arrays a = arrays_of_map(map);
  const void *array[2] = { at + a.at[0], at + a.at[1] };
  mm_potential_d f = map->engine;
  if (f.kind == MM_MAP_PIECEWISE) {
    f.psi = array[0];
    f.depth = array[1];
  } else if (f.kind == MM_MAP_NEURAL) {
    f.cell = array[0];
  }
  return f;
}

static mm_grid device_grid(const part *p, const source *s) {
  arrays a = arrays_of_grid(s->grid);
  mm_grid grid = *s->grid;
  grid.wall = NULL;
  grid.next = (const void *)(p->base + s->at + a.at[0]);
  grid.object_at = (const void *)(p->base + s->at + a.at[1]);
  return grid;
}

static mm_cuda_pmd device_agent(const part *p, const member *m, size_t i) {
  const mm_pmd_config *c = m->job->config;
  unsigned char *rest = p->base + p->image_bytes + p->policy_bytes;
  size_t end = m->rest;
  places at = places_of(m, &end);
  mm_cuda_pmd agent = {
    .seed = m->job->seed,
    .repeat = m->job->repeat,
    .n_env = (int32_t)c->envs,
    .unroll = (int32_t)c->unroll,
    .n_batch = batch_of(m->job),
    .epochs = (int32_t)c->epochs,
    .restart = c->restart,
    .normalise = c->normalise_advantage,
    .lr = c->lr,
    .critic_lr = c->critic_lr,
    .eta = mm_job_eta(m->job, c->eta),
    .gamma = c->gamma,
    .gae_lambda = c->gae_lambda,
    .iterations = mm_pmd_iterations(c),
    .grid = device_grid(p, m->task),
    .map = device_map(m->map->map, p->base + m->map->at),
    .maps = mm_cuda_pmd_part_moves(m->map) ? (const void *)(p->base + m->map->at) : NULL,
    .state = (mm_cuda_pmd_state *)(void *)(p->base + states_at(p)) + i,
    .theta = (void *)(rest + at.theta),
    .pi = (void *)(p->base + p->image_bytes + m->policy),
    .value = (void *)(rest + at.value),
    .env = (void *)(rest + at.env),
    .sums = (void *)(rest + at.sums),
    .visited = (void *)(rest + at.visited),
    .batch = at.batch == MM_CUDA_NOWHERE ? NULL : rest + at.batch,
  };
  memcpy(agent.eta_schedule, c->eta_schedule, sizeof c->eta_schedule);
  return agent;
}

mm_status mm_cuda_pmd_part_fill(part *p) {
  size_t bytes = mm_cuda_pmd_part_bytes(p);
  p->image = mm_alloc(p->image_bytes);
  p->policy = mm_alloc(p->policy_bytes);
  p->state = mm_alloc_array(p->n, sizeof *p->state);
  if (!p->image || !p->policy || !p->state)
    return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu jobs on a device", p->n);
  MM_TRY_CUDA(p->device, cudaMalloc((void **)&p->base, bytes), "%zu MiB for %zu jobs", bytes >> 20,
              p->n);
  mm_cuda_pmd *agents = (void *)p->image;
  for (size_t i = 0; i < p->n; i++)
    agents[i] = device_agent(p, p->member[i], i);
  memset(p->image + states_at(p), 0, p->n * sizeof *p->state);
  return MM_OK;
}

static void copy_arrays(arrays a, unsigned char *to) {
  for (int i = 0; i < 2; i++)
    if (a.bytes[i] > 0) memcpy(to + a.at[i], a.from[i], a.bytes[i]);
}

void mm_cuda_pmd_part_copy(part *p, const source *s) {
  if (mm_cuda_pmd_part_moves(s)) return;
  copy_arrays(s->grid ? arrays_of_grid(s->grid) : arrays_of_map(s->map), p->image + s->at);
}

// Where the arrays of a map that moves are: behind its records, or in memory of their own.
static mm_cuda_twin room_of(const part *p, const source *s) {
  if (s->large.size > 0) return s->large;
  const size_t records = bytes_of_records();
  return (mm_cuda_twin){ .host = p->image + s->at + records,
                         .device = p->base + s->at + records,
                         .size = bytes_of_maps(s->map) - records };
}

void mm_cuda_pmd_source_shrink(source *s) {
  mm_free(s->large.host);
  cudaFree(s->large.device);
  s->large = (mm_cuda_twin){ 0 };
}

// Room for a map of so many bytes, and for some more of them.
static mm_status grow(const part *p, source *s, size_t bytes) {
  const size_t size = MAPS_MORE * bytes;
  mm_cuda_pmd_source_shrink(s);
  s->large.host = mm_alloc(size);
  if (!s->large.host) return MM_FAIL(MM_ERR_MEMORY, "no memory for a map of %zu bytes", bytes);
  MM_TRY_CUDA(p->device, cudaSetDevice(p->device), "choosing it");
  MM_TRY_CUDA(p->device, cudaMalloc((void **)&s->large.device, size), "a map of %zu bytes", bytes);
  s->large.size = size;
  return MM_OK;
}

static mm_status put_maps(part *p, source *s, int64_t first, int64_t span, mm_map_now *now) {
  const int64_t iterations = mm_pmd_iterations(s->job->config);
  mm_potential_d *record = (void *)(p->image + s->at);
  s->n_map = span;
  s->map_bytes = 0;
  for (int64_t i = 0; i < span && first + i < iterations; i++) {
    const mm_status status = mm_map_now_at(s->map, first + i, iterations, now);
    if (status != MM_OK && status != MM_ERR_NUMERIC) return status;
    record[i] = (mm_potential_d){ .kind = MM_MAP_KINDS };
    if (status != MM_OK) return MM_OK;
    const arrays a = arrays_of_map(now->map);
    size_t used = s->map_bytes;
    const size_t at = take(&used, a.total);
    if (used > room_of(p, s).size) {
      if (i > 0) {
        s->n_map = i;
        return MM_OK;
      }
      MM_TRY(grow(p, s, used));
    }
    const mm_cuda_twin room = room_of(p, s);
    copy_arrays(a, room.host + at);
    record[i] = device_map(now->map, room.device + at);
    s->map_bytes = used;
  }
  return MM_OK;
}

mm_status mm_cuda_pmd_part_maps(part *p, source *s, int64_t first, int64_t span) {
  mm_map_now now = { 0 };
  const mm_status status = put_maps(p, s, first, span, &now);
  mm_map_now_release(&now);
  return status;
}

// ---------------------------------------------------------------------------------------------
// There and back

mm_status mm_cuda_pmd_part_send(part *p) {
  MM_TRY_CUDA(p->device,
              cudaMemcpyAsync(p->base, p->image, p->image_bytes, cudaMemcpyHostToDevice, p->stream),
              "sending %zu jobs", p->n);
  MM_TRY_CUDA(p->device, cudaStreamSynchronize(p->stream), "sending %zu jobs", p->n);
  return MM_OK;
}

mm_status mm_cuda_pmd_part_send_maps(part *p, const source *s) {
  const mm_cuda_twin room = room_of(p, s);
  MM_TRY_CUDA(p->device,
              cudaMemcpyAsync(p->base + s->at, p->image + s->at, bytes_of_records(),
                              cudaMemcpyHostToDevice, p->stream),
              "sending maps");
  MM_TRY_CUDA(
      p->device,
      cudaMemcpyAsync(room.device, room.host, s->map_bytes, cudaMemcpyHostToDevice, p->stream),
      "sending maps");
  return MM_OK;
}

mm_status mm_cuda_pmd_part_train(part *p, int64_t span) {
  MM_TRY_CUDA(p->device,
              mm_cuda_pmd_launch((const mm_cuda_pmd *)(void *)p->base, p->n, span, p->block_bytes,
                                 p->stream),
              "launching %zu training runs", p->n);
  MM_TRY_CUDA(p->device,
              cudaMemcpyAsync(p->state, p->base + states_at(p), p->n * sizeof *p->state,
                              cudaMemcpyDeviceToHost, p->stream),
              "training %zu jobs", p->n);
  MM_TRY_CUDA(p->device, cudaStreamSynchronize(p->stream), "training %zu jobs", p->n);
  return MM_OK;
}

mm_status mm_cuda_pmd_part_fetch(part *p) {
  MM_TRY_CUDA(p->device,
              cudaMemcpyAsync(p->policy, p->base + p->image_bytes, p->policy_bytes,
                              cudaMemcpyDeviceToHost, p->stream),
              "fetching %zu policies", p->n);
  MM_TRY_CUDA(p->device, cudaStreamSynchronize(p->stream), "fetching %zu policies", p->n);
  return MM_OK;
}

void mm_cuda_pmd_part_policy(const part *p, const member *m, double *policy) {
  const double *pi = p->policy + m->policy / sizeof *pi;
  size_t states = (size_t)m->task->grid->n_state;
  for (size_t s = 0; s < states; s++)
    for (size_t a = 0; a < MM_GRID_ACTIONS; a++)
      policy[a * states + s] = pi[s * MM_GRID_ACTIONS + a];
}
