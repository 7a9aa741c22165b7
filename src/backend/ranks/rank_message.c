// SPDX-License-Identifier: Apache-2.0
#include "backend/ranks/rank_message.h"

#include <stdio.h>
#include <string.h>

#include "agent/learner.h"
#include "env/env_internal.h"

// ---------------------------------------------------------------------------------------------
// Bytes

static bool reserve(mm_bytes *b, size_t size) {
  if (b->failed) return false;
  if (b->room - b->n >= size) return true;
  size_t room = b->room ? b->room : 512;
  while (room - b->n < size)
    room *= 2;
  unsigned char *larger = mm_alloc(room);
  if (!larger) {
    b->failed = true;
    return false;
  }
  if (b->n > 0) memcpy(larger, b->byte, b->n);
  mm_free(b->byte);
  b->byte = larger;
  b->room = room;
  return true;
}

void mm_bytes_put(mm_bytes *b, const void *from, size_t size) {
  if (size == 0 || !reserve(b, size)) return;
  memcpy(b->byte + b->n, from, size);
  b->n += size;
}

void mm_bytes_put_block(mm_bytes *b, const void *from, size_t size) {
  uint64_t n = size;
  MM_BYTES_PUT(b, n);
  mm_bytes_put(b, from, size);
}

void mm_bytes_put_text(mm_bytes *b, const char *text) {
  mm_bytes_put_block(b, text, strlen(text));
}

void mm_bytes_release(mm_bytes *b) {
  mm_free(b->byte);
  *b = (mm_bytes){ 0 };
}

void mm_bytes_get(mm_bytes_reader *r, void *to, size_t size) {
  if (r->failed || (size_t)(r->end - r->at) < size) {
    r->failed = true;
    memset(to, 0, size);
    return;
  }
  if (size > 0) memcpy(to, r->at, size);
  r->at += size;
}

const void *mm_bytes_get_block(mm_bytes_reader *r, size_t *size) {
  uint64_t n;
  MM_BYTES_GET(r, n);
  if (r->failed || (uint64_t)(r->end - r->at) < n) {
    r->failed = true;
    n = 0;
  }
  const void *block = r->at;
  r->at += n;
  *size = (size_t)n;
  return block;
}

void mm_bytes_get_text(mm_bytes_reader *r, char *out, size_t size) {
  size_t n;
  const void *text = mm_bytes_get_block(r, &n);
  if (n >= size) n = size - 1;
  memcpy(out, text, n);
  out[n] = '\0';
}

bool mm_bytes_next(mm_bytes_reader *r, mm_record *kind) {
  unsigned char byte;
  if (r->failed || r->at == r->end) return false;
  MM_BYTES_GET(r, byte);
  *kind = (mm_record)byte;
  return true;
}

void mm_bytes_put_kind(mm_bytes *b, mm_record kind) {
  unsigned char byte = (unsigned char)kind;
  MM_BYTES_PUT(b, byte);
}

mm_status mm_bytes_check(const mm_bytes *b) {
  return b->failed ? MM_FAIL(MM_ERR_MEMORY, "no memory for a message between ranks") : MM_OK;
}

mm_status mm_bytes_check_reader(const mm_bytes_reader *r) {
  return r->failed ? MM_FAIL(MM_ERR_IO, "a message between ranks was cut short") : MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Who a rank is

void mm_rank_put_hello(mm_bytes *b, const mm_rank_hello *hello) {
  mm_bytes_put_kind(b, MM_RECORD_HELLO);
  MM_BYTES_PUT(b, *hello);
}

void mm_rank_get_hello(mm_bytes_reader *r, mm_rank_hello *hello) {
  MM_BYTES_GET(r, *hello);
  hello->host[MM_RANK_HOST - 1] = hello->build[MM_RANK_BUILD - 1] = '\0';
  hello->refusal[MM_ERROR_SIZE - 1] = '\0';
}

// ---------------------------------------------------------------------------------------------
// Tables

// The place of `part` among part[*n]; it is added if need be. SIZE_MAX without memory. The part met
// last is looked at first: lists have the same ones in long rows.
static size_t place_of(const void ***part, size_t *n, const void *wanted, bool add) {
  for (size_t i = *n; i-- > 0;)
    if ((*part)[i] == wanted) return i;
  if (!add) return SIZE_MAX;
  const void **larger = mm_grow((void *)*part, *n, sizeof **part);
  if (!larger) return SIZE_MAX;
  *part = larger;
  larger[*n] = wanted;
  return (*n)++;
}

#define PLACE(t, what, wanted, add)                                                                \
  place_of((const void ***)&(t)->what, &(t)->n_##what, (wanted), (add))

// Without an algorithm nothing is added, and the job fails where it is run.
static bool add_config(mm_rank_tables *t, const mm_job *job) {
  if (!mm_learner_of_job(job) || PLACE(t, config, job->config, false) != SIZE_MAX) return true;
  if (!MM_GROW(t->algo, t->n_config)) return false;
  t->algo[t->n_config] = job->algo;
  return PLACE(t, config, job->config, true) != SIZE_MAX;
}

mm_status mm_rank_tables_make(mm_rank_tables *t, const mm_job *jobs, size_t n) {
  bool all = true;
  for (size_t i = 0; i < n && all; i++) {
    const mm_job *j = &jobs[i];
    all = PLACE(t, env, j->env, true) != SIZE_MAX;
    if (j->map) all = all && PLACE(t, map, j->map, true) != SIZE_MAX;
    all = all && add_config(t, j);
  }
  if (all) return MM_OK;
  mm_rank_tables_release(t);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of %zu jobs", n);
}

void mm_rank_tables_release(mm_rank_tables *t) {
  for (size_t i = 0; t->own && t->env && i < t->n_env; i++)
    mm_env_destroy((mm_env *)t->env[i]);
  for (size_t i = 0; t->own && t->map && i < t->n_map; i++)
    mm_map_destroy((mm_map *)t->map[i]);
  for (size_t i = 0; t->own && t->config && i < t->n_config; i++)
    mm_free((void *)t->config[i]);
  if (t->own) mm_free((void *)t->device);
  mm_free((void *)t->env);
  mm_free((void *)t->map);
  mm_free((void *)t->config);
  mm_free(t->algo);
  *t = (mm_rank_tables){ 0 };
}

static void put_env(mm_bytes *b, const mm_env *env) {
  mm_grid_parts parts;
  bool task = mm_env_task_parts(env, &parts);
  MM_BYTES_PUT(b, task);
  mm_bytes_put_text(b, mm_env_id(env));
  if (!task) return;
  size_t cells = (size_t)parts.side * (size_t)parts.side;
  mm_bytes_put(b, &parts, sizeof parts);
  mm_bytes_put_block(b, parts.wall, parts.wall ? cells : 0);
}

static mm_status get_env(mm_bytes_reader *r, mm_env **out) {
  char id[4096];
  bool task;
  MM_BYTES_GET(r, task);
  mm_bytes_get_text(r, id, sizeof id);
  MM_TRY(mm_bytes_check_reader(r));
  if (!task) return mm_env_open(id, out);
  mm_grid_parts parts;
  size_t cells;
  MM_BYTES_GET(r, parts);
  parts.wall = mm_bytes_get_block(r, &cells);
  MM_TRY(mm_bytes_check_reader(r));
  if (cells == 0) parts.wall = NULL;
  return mm_env_open_task(id, &parts, out);
}

// As text, which has every bit of a map's numbers.
static mm_status put_map(mm_bytes *b, const mm_map *map) {
  char *text;
  MM_TRY(mm_map_format(map, "{}", &text));
  mm_bytes_put_text(b, text);
  mm_map_text_free(text);
  return MM_OK;
}

static mm_status get_map(mm_bytes_reader *r, mm_map **out) {
  size_t n;
  const char *text = mm_bytes_get_block(r, &n);
  MM_TRY(mm_bytes_check_reader(r));
  return mm_map_parse(text, n, "a map from rank 0", out);
}

typedef struct head {
  uint32_t list;
  bool cuda;
  int tile, threads;
  double job_timeout;
  size_t n_device, n_env, n_map, n_config;
} head;

mm_status mm_rank_put_tables(mm_bytes *b, const mm_rank_tables *t) {
  const head h = { t->list,     t->cuda,  t->tile,  t->threads, t->job_timeout,
                   t->n_device, t->n_env, t->n_map, t->n_config };
  mm_bytes_put_kind(b, MM_RECORD_LIST);
  MM_BYTES_PUT(b, h);
  mm_bytes_put(b, t->device, t->n_device * sizeof *t->device);
  for (size_t i = 0; i < t->n_env; i++)
    put_env(b, t->env[i]);
  for (size_t i = 0; i < t->n_map; i++)
    MM_TRY(put_map(b, t->map[i]));
  for (size_t i = 0; i < t->n_config; i++) {
    MM_BYTES_PUT(b, t->algo[i]);
    mm_bytes_put(b, t->config[i], mm_learner_of(t->algo[i])->config_size);
  }
  return mm_bytes_check(b);
}

static mm_status no_memory(void) {
  return MM_FAIL(MM_ERR_MEMORY, "no memory for a list of jobs");
}

static mm_status get_config(mm_bytes_reader *r, mm_algo *algo, void **out) {
  *out = NULL;
  MM_BYTES_GET(r, *algo);
  MM_TRY(mm_bytes_check_reader(r));
  if ((size_t)*algo >= mm_algo_count())
    return MM_FAIL(MM_ERR_IO, "settings from rank 0 are of no algorithm");
  const size_t size = mm_learner_of(*algo)->config_size;
  *out = mm_alloc(size);
  if (!*out) return no_memory();
  mm_bytes_get(r, *out, size);
  return MM_OK;
}

static mm_status get_parts(mm_bytes_reader *r, mm_rank_tables *t, const head *h) {
  for (; t->n_env < h->n_env; t->n_env++) {
    mm_env *env;
    MM_TRY(get_env(r, &env));
    t->env[t->n_env] = env;
  }
  for (; t->n_map < h->n_map; t->n_map++) {
    mm_map *map;
    MM_TRY(get_map(r, &map));
    t->map[t->n_map] = map;
  }
  for (; t->n_config < h->n_config; t->n_config++) {
    void *config;
    MM_TRY(get_config(r, &t->algo[t->n_config], &config));
    t->config[t->n_config] = config;
  }
  return mm_bytes_check_reader(r);
}

mm_status mm_rank_get_tables(mm_bytes_reader *r, mm_rank_tables *t) {
  head h;
  MM_BYTES_GET(r, h);
  MM_TRY(mm_bytes_check_reader(r));
  *t = (mm_rank_tables){ .list = h.list,
                         .cuda = h.cuda,
                         .tile = h.tile,
                         .threads = h.threads,
                         .job_timeout = h.job_timeout,
                         .own = true };
  int *device = mm_alloc_array(h.n_device, sizeof *device);
  if (device) mm_bytes_get(r, device, h.n_device * sizeof *device);
  t->device = device;
  t->n_device = h.n_device;
  t->env = mm_alloc_array(h.n_env, sizeof *t->env);
  t->map = mm_alloc_array(h.n_map, sizeof *t->map);
  t->config = mm_alloc_array(h.n_config, sizeof *t->config);
  t->algo = mm_alloc_array(h.n_config, sizeof *t->algo);
  bool all = device && t->env && t->map && t->config && t->algo;
  mm_status status = all ? get_parts(r, t, &h) : no_memory();
  if (status != MM_OK) mm_rank_tables_release(t);
  return status;
}

// ---------------------------------------------------------------------------------------------
// Jobs

typedef struct job_head {
  uint64_t place, seed;
  uint32_t env, map, config; // places in the tables, NOTHING for none
  uint32_t repeat, wants;
  double save_seconds, until;
  uint32_t point_kind, point_stages;
  uint64_t point_n;
  double point_eta;
} job_head;

static const uint32_t nothing = UINT32_MAX;

static uint32_t short_place(size_t place) {
  return place == SIZE_MAX ? nothing : (uint32_t)place;
}

// Coordinates of a search point.
static size_t numbers_of(const job_head *h) {
  return (h->point_stages > 1 ? h->point_stages : 1) *
         mm_map_search_size((mm_map_kind)h->point_kind, (size_t)h->point_n);
}

void mm_rank_put_job(mm_bytes *b, const mm_rank_tables *t, const mm_job *job, uint64_t place) {
  const mm_job_hooks *hooks = job->hooks;
  mm_rank_tables *found = (mm_rank_tables *)t; // only looked at
  job_head h = { .place = place,
                 .seed = job->seed,
                 .env = short_place(PLACE(found, env, job->env, false)),
                 .map = job->map ? short_place(PLACE(found, map, job->map, false)) : nothing,
                 .config = short_place(PLACE(found, config, job->config, false)),
                 .repeat = job->repeat,
                 .save_seconds = hooks ? hooks->save_seconds : 0,
                 .until = job->until,
                 .point_kind = (uint32_t)job->point.kind,
                 .point_stages = (uint32_t)job->point.stages,
                 .point_n = job->point.n,
                 .point_eta = job->point.eta };
  if (hooks && hooks->save) h.wants |= MM_RANK_WANTS_STATE;
  if (hooks && hooks->trained) h.wants |= MM_RANK_WANTS_NET;
  size_t n_z = job->map ? 0 : numbers_of(&h);
  mm_bytes_put_kind(b, MM_RECORD_JOB);
  MM_BYTES_PUT(b, h);
  mm_bytes_put_block(b, job->point.z, n_z * sizeof(double));
  mm_bytes_put_block(b, job->state, job->state ? job->state_size : 0);
}

mm_status mm_rank_fail_size(const mm_job *job, const char *what, size_t size, size_t most) {
  return MM_FAIL(MM_ERR_UNSUPPORTED,
                 "%s: a training's %s: %zu bytes do not fit into a message between ranks, at most "
                 "%zu; train it in a single process",
                 mm_env_id(job->env), what, size, most);
}

// Do the places name something? A job without an algorithm is sent as it is, and fails as such.
static bool fits(const job_head *h, const mm_rank_tables *t, size_t z_size) {
  bool map = h->map == nothing ? z_size > 0 && z_size == sizeof(double) * numbers_of(h)
                               : h->map < t->n_map;
  return map && (h->config == nothing || h->config < t->n_config) && h->env < t->n_env;
}

mm_status mm_rank_get_job(mm_bytes_reader *r, const mm_rank_tables *t, mm_rank_task **out) {
  job_head h;
  size_t z_size, state_size;
  *out = NULL;
  MM_BYTES_GET(r, h);
  const void *z = mm_bytes_get_block(r, &z_size), *state = mm_bytes_get_block(r, &state_size);
  MM_TRY(mm_bytes_check_reader(r));
  if (!fits(&h, t, z_size)) return MM_FAIL(MM_ERR_IO, "a job from rank 0 does not fit its list");
  size_t offset = (z_size + 63) / 64 * 64;
  mm_rank_task *task = mm_alloc(sizeof *task + 64 + offset + state_size);
  if (!task) return no_memory();
  // numbers want an address of their own kind, and states one as from mm_alloc
  unsigned char *more = task->more + (64 - (uintptr_t)task->more % 64);
  memcpy(more, z, z_size);
  memcpy(more + offset, state, state_size);
  *task = (mm_rank_task){ .place = h.place };
  task->hooks.save_seconds = h.save_seconds;
  task->job = (mm_job){ .env = t->env[h.env],
                        .map = h.map == nothing ? NULL : t->map[h.map],
                        .algo = h.config == nothing ? (mm_algo)mm_algo_count() : t->algo[h.config],
                        .config = h.config == nothing ? NULL : t->config[h.config],
                        .seed = h.seed,
                        .repeat = h.repeat,
                        .hooks = &task->hooks,
                        .state = state_size > 0 ? more + offset : NULL,
                        .state_size = state_size,
                        .until = h.until,
                        .point = { .kind = (mm_map_kind)h.point_kind,
                                   .n = (size_t)h.point_n,
                                   .z = (double *)(void *)more,
                                   .stages = h.point_stages,
                                   .eta = h.point_eta } };
  task->wants = h.wants;
  *out = task;
  return MM_OK;
}

// ---------------------------------------------------------------------------------------------
// Results

typedef struct result_head {
  uint32_t list, has_measure;
  uint64_t place;
  double seconds;
  mm_result result; // without its arrays
} result_head;

void mm_rank_put_result(mm_bytes *b, uint32_t list, uint64_t place, const mm_result *result,
                        double seconds, const char *error) {
  result_head h = { .list = list,
                    .has_measure = result->measure != NULL,
                    .place = place,
                    .seconds = seconds,
                    .result = *result };
  h.result.curve = h.result.measure = NULL;
  h.result.curve_step = NULL;
  size_t n = result->n_curve;
  mm_bytes_put_kind(b, MM_RECORD_RESULT);
  MM_BYTES_PUT(b, h);
  mm_bytes_put_text(b, error);
  mm_bytes_put(b, result->curve, n * sizeof *result->curve);
  mm_bytes_put(b, result->curve_step, n * sizeof *result->curve_step);
  if (result->measure) mm_bytes_put(b, result->measure, n * MM_MEASURES * sizeof *result->measure);
}

static void *get_array(mm_bytes_reader *r, size_t n, size_t size) {
  if (r->failed || n > (size_t)(r->end - r->at) / size) {
    r->failed = true;
    return NULL;
  }
  void *array = mm_alloc_array(n, size);
  if (array) mm_bytes_get(r, array, n * size);
  return array;
}

mm_status mm_rank_get_result(mm_bytes_reader *r, mm_rank_result *out) {
  result_head h;
  MM_BYTES_GET(r, h);
  mm_bytes_get_text(r, out->error, sizeof out->error);
  MM_TRY(mm_bytes_check_reader(r));
  out->list = h.list;
  out->place = h.place;
  out->seconds = h.seconds;
  out->result = h.result;
  mm_result *result = &out->result;
  size_t n = h.result.n_curve;
  result->curve = result->measure = NULL;
  result->curve_step = NULL;
  if (n == 0) return MM_OK;
  result->curve = get_array(r, n, sizeof *result->curve);
  result->curve_step = get_array(r, n, sizeof *result->curve_step);
  if (h.has_measure) result->measure = get_array(r, n, MM_MEASURES * sizeof *result->measure);
  mm_status status = mm_bytes_check_reader(r);
  if (status == MM_OK &&
      (!result->curve || !result->curve_step || (h.has_measure && !result->measure)))
    status = no_memory();
  if (status != MM_OK) mm_result_release(result);
  return status;
}
