// SPDX-License-Identifier: Apache-2.0
// Locomotion tasks side by side. Their states are columns of the physics, which steps them; here
// are the laws of body_laws.h around it, in loops that are compiled once for each body.

#include <math.h>
#include <string.h>

#include "env/locomotion/body_laws.h"
#include "env/vec_internal.h"

typedef mm_bodies_lane lane;

enum { CHUNK = 256 }; // environments that stay in the cache from clipping to observing

// Clipped actions [n][nu] lie behind the lanes.
static float *actions_of(const mm_vec *vec) {
  return (float *)(void *)((lane *)vec->state + vec->info.n);
}

// ---------------------------------------------------------------------------------------------

static mm_status refuse_form(const mm_env *env) {
  return mm_vec_form_refused(env, "FLOATS or COLUMNS, since its inputs are numbers");
}

// Sizes are also asked of no environments; the engine must be there all the same.
static mm_status open_physics(mm_vec *vec) {
  mm_physics_config config = {
    .body = (mm_body)vec->which,
    .flavour =
        vec->config.flavour == MM_ENV_FLAVOUR_GYMNASIUM ? MM_FLAVOUR_GYMNASIUM : MM_FLAVOUR_BRAX,
    .engine = vec->config.physics == MM_ENV_PHYSICS_MUJOCO ? MM_ENGINE_MUJOCO : MM_ENGINE_OWN,
    .n = vec->config.n
  };
  mm_status status = mm_physics_create(&config, &vec->physics);
  if (status != MM_ERR_UNSUPPORTED || vec->config.physics != MM_ENV_PHYSICS_AUTO) return status;
  config.engine = MM_ENGINE_MUJOCO;
  return mm_physics_create(&config, &vec->physics);
}

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  const mm_body_info *body = mm_body_describe((mm_body)vec->which);
  if (vec->config.obs != MM_OBS_FLOATS && vec->config.obs != MM_OBS_COLUMNS)
    return refuse_form(env);
  vec->info.n_real = body->nu;
  vec->info.low = -1;
  vec->info.high = 1;
  vec->info.n_input = vec->info.entries = body->n_obs;
  vec->info.limit = MM_BODIES_LIMIT;
  mm_status status = open_physics(vec);
  if (status == MM_OK) return MM_OK;
  return MM_FAIL(status, "environment '%.80s': %s", mm_env_id(env), mm_last_error());
}

static size_t state_size(const mm_vec *vec) {
  return sizeof(lane) + (size_t)vec->info.n_real * sizeof(float);
}

// ---------------------------------------------------------------------------------------------
// One environment; `body` is a constant wherever these are inlined

static inline void observe_one(const mm_vec *vec, mm_body body, size_t i, void *obs) {
  const bool columns = vec->config.obs == MM_OBS_COLUMNS;
  float *to = (float *)obs + (columns ? i : i * (size_t)vec->info.n_input);
  mm_body_observe(vec->physics, body, i, to, columns ? vec->info.n : 1);
}

// An episode starts where the environment's first one did, unless each is to have its own start.
static void start_one(const mm_vec *vec, size_t i) {
  lane *l = (lane *)vec->state + i;
  mm_stream stream = mm_vec_stream_of(vec, MM_RNG_ENV_RESET, i);
  mm_bodies_draws draws = mm_bodies_draw(stream, vec->config.fresh_reset ? l->episode : 0);
  mm_body_start(vec->physics, i, &draws);
  l->time = 0;
  l->episode++;
}

// After the physics: reward, end, and what is seen. Of a diverged state nothing gets
// out; there the last observation of the episode is the first one of the next.
static inline void finish_one(const mm_vec *vec, mm_body body, size_t i, const mm_vec_out *out) {
  const mm_physics *p = vec->physics;
  const bool bad = (p->bad[i] & MM_BAD_STATE) != 0;
  lane *l = (lane *)vec->state + i;
  const float *action = actions_of(vec) + i * (size_t)vec->info.n_real;
  int end = mm_end_of(bad || !mm_body_healthy(p, body, i), ++l->time, vec->info.limit);
  out->reward[i] = bad ? 0 : mm_body_reward(body, mm_body_way(p, i), action);
  out->end[i] = (uint8_t)end;
  if (bad) l->unstable++;
  if (end) {
    if (out->final_obs && !bad) observe_one(vec, body, i, out->final_obs);
    start_one(vec, i);
    if (out->final_obs && bad) observe_one(vec, body, i, out->final_obs);
  }
  observe_one(vec, body, i, out->obs);
}

static inline void step_body(const mm_vec *vec, mm_body body, size_t from, size_t to,
                             const float *action, const mm_vec_out *out) {
  const size_t nu = (size_t)vec->info.n_real;
  float *clipped = actions_of(vec);
  for (size_t k = from * nu; k < to * nu; k++)
    clipped[k] = mm_bodies_clip(action[k]);
  for (size_t i = from; i < to; i++)
    mm_body_begin_way(vec->physics, i);
  mm_physics_step(vec->physics, from, to, clipped);
  for (size_t i = from; i < to; i++)
    finish_one(vec, body, i, out);
}

// ---------------------------------------------------------------------------------------------

// Chunks end at multiples of their size, so that an engine finds its lanes together.
static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  for (size_t end; from < to; from = end) {
    end = (from / CHUNK + 1) * CHUNK;
    if (end > to) end = to;
    switch ((mm_body)vec->which) {
#define STEP(NAME, name, id, kernels)                                                              \
  case MM_BODY_##NAME:                                                                             \
    step_body(vec, MM_BODY_##NAME, from, end, action, out);                                        \
    break;
      MM_BODY_LIST(STEP)
    case MM_BODY_COUNT:
      break;
    }
  }
}

static void observe(const mm_vec *vec, size_t i, void *obs) {
  observe_one(vec, (mm_body)vec->which, i, obs);
}

static void begin(const mm_vec *vec, size_t i, bool first, void *obs) {
  if (first) ((lane *)vec->state)[i] = (lane){ 0 };
  start_one(vec, i);
  observe(vec, i, obs);
}

// ---------------------------------------------------------------------------------------------
// The state as bytes: lanes, then the columns of coordinates, velocities and warm start, and where
// the reward reads it (Ant-v4) the offset of xpos. Devices step it as it is, without such an offset
// (backend/cuda/locomotion/body.cuh).

static int offsets_of(const mm_physics *p) {
  return p->xpos_offset ? 1 : 0;
}

static size_t kept_size(const mm_vec *vec) {
  const mm_physics *p = vec->physics;
  const int columns = p->info->nq + 2 * p->info->nv + offsets_of(p);
  return sizeof(lane) + (size_t)columns * sizeof(float);
}

// Columns of n in a row, those of the physics being `stride` apart.
static char *save_columns(const float *column, size_t stride, size_t n, int count, char *bytes) {
  for (int k = 0; k < count; k++, bytes += n * sizeof(float))
    memcpy(bytes, column + (size_t)k * stride, n * sizeof(float));
  return bytes;
}

static const char *load_columns(float *column, size_t stride, size_t n, int count,
                                const char *bytes) {
  for (int k = 0; k < count; k++, bytes += n * sizeof(float))
    memcpy(column + (size_t)k * stride, bytes, n * sizeof(float));
  return bytes;
}

static void save(const mm_vec *vec, void *state) {
  const mm_physics *p = vec->physics;
  const size_t n = vec->info.n;
  char *bytes = (char *)state + n * sizeof(lane);
  memcpy(state, vec->state, n * sizeof(lane));
  bytes = save_columns(p->q, p->stride, n, p->info->nq, bytes);
  bytes = save_columns(p->v, p->stride, n, p->info->nv, bytes);
  bytes = save_columns(p->warm, p->stride, n, p->info->nv, bytes);
  save_columns(p->xpos_offset, p->stride, n, offsets_of(p), bytes);
}

static void load(const mm_vec *vec, const void *state) {
  const mm_physics *p = vec->physics;
  const size_t n = vec->info.n;
  const char *bytes = (const char *)state + n * sizeof(lane);
  memcpy(vec->state, state, n * sizeof(lane));
  bytes = load_columns(p->q, p->stride, n, p->info->nq, bytes);
  bytes = load_columns(p->v, p->stride, n, p->info->nv, bytes);
  bytes = load_columns(p->warm, p->stride, n, p->info->nv, bytes);
  load_columns(p->xpos_offset, p->stride, n, offsets_of(p), bytes);
}

static bool columns_are_valid(const float *column, size_t stride, size_t n, int count) {
  bool good = true;
  for (int k = 0; k < count; k++)
    for (size_t i = 0; i < n; i++)
      good &= fabsf(column[(size_t)k * stride + i]) <= MM_PHYSICS_LARGEST; // false for NaN
  return good;
}

static bool validate_state(const mm_vec *vec) {
  const mm_physics *p = vec->physics;
  const lane *lanes = vec->state;
  const size_t n = vec->info.n;
  bool good = columns_are_valid(p->q, p->stride, n, p->info->nq) &&
              columns_are_valid(p->v, p->stride, n, p->info->nv) &&
              columns_are_valid(p->warm, p->stride, n, p->info->nv) &&
              columns_are_valid(p->xpos_offset, p->stride, n, offsets_of(p));
  for (size_t i = 0; i < n && good; i++) {
    good = lanes[i].time >= 0 && lanes[i].time < vec->info.limit && lanes[i].episode > 0;
    good &= mm_body_has_direction(p, i);
  }
  return good;
}

static uint64_t unstable(const mm_vec *vec) {
  const lane *lanes = vec->state;
  uint64_t sum = 0;
  for (size_t i = 0; i < vec->info.n; i++)
    sum += lanes[i].unstable;
  return sum;
}

const mm_vec_law mm_vec_body = { .prepare = prepare,
                                 .state_size = state_size,
                                 .step = step,
                                 .kept_size = kept_size,
                                 .observe = observe,
                                 .begin = begin,
                                 .validate_state = validate_state,
                                 .save = save,
                                 .load = load,
                                 .unstable = unstable };

// ---------------------------------------------------------------------------------------------
// Words

const mm_body_words *mm_body_words_of(mm_body body) {
#define WORDS(NAME, name, id, kernels) [MM_BODY_##NAME] = &mm_##name##_words,
  static const mm_body_words *const words[MM_BODY_COUNT] = { MM_BODY_LIST(WORDS) };
  return words[body];
}

bool mm_body_find(const char *id, mm_body *body, mm_flavour *flavour) {
  for (mm_body b = 0; b < MM_BODY_COUNT; b++) {
    const char *name = mm_body_describe(b)->name;
    const size_t length = strlen(name);
    if (strncmp(id, name, length) != 0) continue;
    if (id[length] != '\0' && strcmp(id + length, "-v4") != 0) continue;
    *body = b;
    *flavour = id[length] != '\0' ? MM_FLAVOUR_GYMNASIUM : MM_FLAVOUR_BRAX;
    return true;
  }
  return false;
}
