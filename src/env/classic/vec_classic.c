// SPDX-License-Identifier: Apache-2.0
// Classic control side by side: the kernels of classic_batch.c, which write columns. Observations
// in rows are columns of the vec's own first, turned chunk by chunk while they are in the cache.

#include <math.h>

#include "base/isa.h"
#include "env/classic/classic_batch.h"
#include "env/classic/classics.h"
#include "env/vec_internal.h"

enum { CHUNK = 1024 };

MM_ISA_CHOOSE(const mm_classic_kernels, mm_classic_kernels)

static const mm_classic *env_of(const mm_vec *vec) {
  return &mm_classics[vec->which];
}

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  const mm_classic *e = env_of(vec);
  if (vec->config.obs != MM_OBS_FLOATS && vec->config.obs != MM_OBS_COLUMNS)
    return mm_vec_form_refused(env, "FLOATS or COLUMNS, since its inputs are numbers");
  vec->stuff = mm_classic_kernels_current();
  vec->info.n_action = e->n_action;
  vec->info.n_real = e->n_action > 0 ? 0 : 1;
  vec->info.low = e->n_action > 0 ? 0 : -e->action_max;
  vec->info.high = e->action_max;
  vec->info.n_input = vec->info.entries = e->n_obs;
  vec->info.limit = e->limit;
  vec->info.action_name = e->spec->about.action_name;
  return MM_OK;
}

// Columns, each n long: state, time, episode, and for observations in rows two times those.
static size_t state_size(const mm_vec *vec) {
  int32_t own = vec->config.obs == MM_OBS_FLOATS ? 2 * env_of(vec)->n_obs : 0;
  return (size_t)(env_of(vec)->n_state + 2 + own) * sizeof(float);
}

static mm_classic_batch batch_of(const mm_vec *vec) {
  const mm_classic *e = env_of(vec);
  size_t n = vec->info.n;
  float *state = vec->state;
  return (mm_classic_batch){
    .env = (mm_classic_env)vec->which,
    .stride = n,
    .state = state,
    .time = (int32_t *)(void *)(state + (size_t)e->n_state * n),
    .episode = (uint32_t *)(void *)(state + (size_t)(e->n_state + 1) * n),
    .seed = vec->config.seed,
    .job = vec->config.repeat,
    .walls = vec->config.gymnasium_walls ? MM_MOUNTAIN_CAR_WALLS_GYMNASIUM
                                         : MM_MOUNTAIN_CAR_WALLS_GYMNAX,
  };
}

static mm_classic_out columns_of(const mm_vec *vec, const mm_vec_out *out) {
  const mm_classic *e = env_of(vec);
  size_t n = vec->info.n, rows = (size_t)e->n_obs * n;
  mm_classic_out to = {
    .obs = out->obs, .final_obs = out->final_obs, .reward = out->reward, .end = out->end
  };
  if (vec->config.obs == MM_OBS_COLUMNS) return to;
  to.obs = (float *)vec->state + (size_t)(e->n_state + 2) * n;
  to.final_obs = out->final_obs ? to.obs + rows : NULL;
  return to;
}

// ---------------------------------------------------------------------------------------------
// Columns to rows

static inline void turn_rows(const float *restrict columns, size_t n, size_t from, size_t to,
                             size_t k, float *restrict rows) {
  for (size_t i = from; i < to; i++) {
    for (size_t j = 0; j < k; j++)
      rows[i * k + j] = columns[j * n + i];
  }
}

// With the number of columns known the compiler turns them in registers.
static void turn(const mm_vec *vec, const float *columns, size_t from, size_t to, float *rows) {
  size_t n = vec->info.n;
  switch (vec->info.n_input) {
  case 2:
    turn_rows(columns, n, from, to, 2, rows);
    break;
  case 4:
    turn_rows(columns, n, from, to, 4, rows);
    break;
  default:
    turn_rows(columns, n, from, to, (size_t)vec->info.n_input, rows);
  }
}

static void turn_ended(const mm_vec *vec, const float *columns, const uint8_t *end, size_t from,
                       size_t to, float *rows) {
  for (size_t i = from; i < to; i++) {
    if (end[i]) turn(vec, columns, i, i + 1, rows);
  }
}

// ---------------------------------------------------------------------------------------------

// The running episode of environment i, from its own stream.
static void start_one(const mm_vec *vec, size_t i, const mm_classic_out *columns) {
  const mm_classic_kernels *kernels = vec->stuff;
  mm_classic_batch batch = batch_of(vec);
  if (vec->own) {
    batch.seed = vec->own[i].seed;
    batch.lane = vec->own[i].lane - (uint32_t)i; // the kernel adds i, and 24 bits count
  }
  kernels->reset(&batch, i, i + 1, columns);
}

static void begin(const mm_vec *vec, size_t i, bool first, void *obs) {
  mm_classic_batch batch = batch_of(vec);
  mm_classic_out columns = columns_of(vec, &(mm_vec_out){ .obs = obs });
  batch.episode[i] = first ? 0 : batch.episode[i] + 1;
  start_one(vec, i, &columns);
  if (vec->config.obs == MM_OBS_FLOATS) turn(vec, columns.obs, i, i + 1, obs);
}

static void reset(const mm_vec *vec, const mm_vec_out *out) {
  const mm_classic_kernels *kernels = vec->stuff;
  mm_classic_batch batch = batch_of(vec);
  mm_classic_out columns = columns_of(vec, out);
  kernels->reset(&batch, 0, vec->info.n, &columns);
  if (vec->config.obs == MM_OBS_FLOATS) turn(vec, columns.obs, 0, vec->info.n, out->obs);
}

// Starts are a function of stream and episode alone, so that of the vec's stream can be followed by
// that of an environment's own.
static void start_again(const mm_vec *vec, const uint8_t *end, size_t from, size_t to,
                        const mm_classic_out *columns) {
  for (size_t i = from; i < to; i++)
    if (end[i]) start_one(vec, i, columns);
}

static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  const mm_classic_kernels *kernels = vec->stuff;
  mm_classic_batch batch = batch_of(vec);
  mm_classic_out columns = columns_of(vec, out);
  if (vec->config.obs == MM_OBS_COLUMNS) {
    kernels->step(&batch, from, to, action, &columns);
    if (vec->own) start_again(vec, out->end, from, to, &columns);
    return;
  }
  for (size_t end; from < to; from = end) {
    end = to - from < CHUNK ? to : from + CHUNK;
    kernels->step(&batch, from, end, action, &columns);
    if (vec->own) start_again(vec, out->end, from, end, &columns);
    turn(vec, columns.obs, from, end, out->obs);
    if (out->final_obs) turn_ended(vec, columns.final_obs, out->end, from, end, out->final_obs);
  }
}

// ---------------------------------------------------------------------------------------------

// The columns behind it are written anew in every step.
static size_t kept_size(const mm_vec *vec) {
  return (size_t)(env_of(vec)->n_state + 2) * sizeof(float);
}

static void observe_part(const mm_vec *vec, size_t from, size_t to, void *obs) {
  const mm_classic_kernels *kernels = vec->stuff;
  mm_classic_batch batch = batch_of(vec);
  mm_classic_out columns = columns_of(vec, &(mm_vec_out){ .obs = obs });
  kernels->observe(&batch, from, to, &columns);
  if (vec->config.obs == MM_OBS_FLOATS) turn(vec, columns.obs, from, to, obs);
}

// The dynamics take any float; an episode ends before its time does.
static bool validate_state(const mm_vec *vec) {
  mm_classic_batch batch = batch_of(vec);
  for (size_t i = 0; i < vec->info.n; i++)
    if (batch.time[i] < 0 || batch.time[i] >= vec->info.limit) return false;
  return true;
}

const mm_vec_law mm_vec_classic = { .prepare = prepare,
                                    .state_size = state_size,
                                    .reset = reset,
                                    .step = step,
                                    .kept_size = kept_size,
                                    .observe_part = observe_part,
                                    .begin = begin,
                                    .validate_state = validate_state };
