// SPDX-License-Identifier: Apache-2.0
// Copies of one Grid-World task side by side. An observation has one input per cell, on where the
// agent is, and after those one per object, on while it is present.

#include "env/grid/grid_sample.h"
#include "env/vec_internal.h"

typedef struct one {
  mm_grid_state s;
  uint64_t time; // steps since the first reset: index of the draws
} one;

static const char *const action_names[] = { "up", "down", "left", "right", "stay" };

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  if (vec->config.obs == MM_OBS_COLUMNS)
    return mm_vec_form_refused(env, "FLOATS, BITS or LIST, since its inputs are on or off");
  mm_grid *task;
  MM_TRY(mm_grid_draw(env, vec->config.seed, 0, &task));
  int32_t n_input = task->cells + task->n_object;
  if (vec->config.obs == MM_OBS_LIST && n_input >= UINT16_MAX) {
    int32_t side = task->side;
    mm_grid_destroy(task);
    return MM_FAIL(MM_ERR_INPUT,
                   "environment '%.80s': %d x %d cells: lists of inputs hold numbers below %d",
                   mm_env_id(env), side, side, UINT16_MAX);
  }
  vec->task = task;
  vec->info.n_action = MM_GRID_ACTIONS;
  vec->info.n_input = n_input;
  vec->info.entries = vec->config.obs == MM_OBS_BITS   ? mm_obs_words(n_input)
                      : vec->config.obs == MM_OBS_LIST ? 1 + task->n_object
                                                       : n_input;
  vec->info.action_name = action_names;
  return MM_OK;
}

static size_t state_size(const mm_vec *vec) {
  (void)vec;
  return sizeof(one);
}

// ---------------------------------------------------------------------------------------------
// Observation

static void observe_list(const mm_grid *g, mm_grid_state s, uint16_t *out) {
  int n = 0;
  out[n++] = (uint16_t)s.cell;
  for (int i = 0; i < g->n_object; i++) {
    if (s.mask >> i & 1) out[n++] = (uint16_t)(g->cells + i);
  }
  for (; n <= g->n_object; n++)
    out[n] = (uint16_t)(g->cells + g->n_object);
}

static void observe_bits(const mm_grid *g, mm_grid_state s, size_t words, uint32_t *out) {
  for (size_t k = 0; k < words; k++)
    out[k] = 0;
  out[s.cell >> 5] |= 1u << (s.cell & 31);
  for (int i = 0; i < g->n_object; i++)
    out[(g->cells + i) >> 5] |= (s.mask >> i & 1) << ((g->cells + i) & 31);
}

static void observe_floats(const mm_grid *g, mm_grid_state s, float *out) {
  for (int c = 0; c < g->cells; c++)
    out[c] = c == s.cell;
  for (int i = 0; i < g->n_object; i++)
    out[g->cells + i] = (float)(s.mask >> i & 1);
}

static void observe(const mm_vec *vec, mm_grid_state s, size_t i, void *to) {
  size_t entries = (size_t)vec->info.entries;
  if (vec->config.obs == MM_OBS_LIST)
    observe_list(vec->task, s, (uint16_t *)to + i * entries);
  else if (vec->config.obs == MM_OBS_BITS)
    observe_bits(vec->task, s, entries, (uint32_t *)to + i * entries);
  else
    observe_floats(vec->task, s, (float *)to + i * entries);
}

// ---------------------------------------------------------------------------------------------

static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  const int32_t *a = action;
  const mm_grid *g = vec->task;
  mm_grid_sampler sampler = mm_grid_sampler_make(g);
  one *all = vec->state;
  for (size_t i = from; i < to; i++) {
    mm_stream stream = mm_vec_stream_of(vec, MM_RNG_ENV_STEP, i);
    mm_grid_event event = mm_grid_step(g, &sampler, stream, all[i].time++, a[i], &all[i].s);
    out->reward[i] = (float)event.reward;
    out->end[i] = event.done ? MM_END_TERMINATED : 0;
    if (event.done) {
      if (out->final_obs) observe(vec, all[i].s, i, out->final_obs);
      all[i].s = mm_grid_start(g);
    }
    observe(vec, all[i].s, i, out->obs);
  }
}

static void begin(const mm_vec *vec, size_t i, bool first, void *obs) {
  one *o = (one *)vec->state + i;
  o->s = mm_grid_start(vec->task);
  if (first) o->time = 0;
  observe(vec, o->s, i, obs);
}

static void observe_one(const mm_vec *vec, size_t i, void *obs) {
  observe(vec, ((const one *)vec->state)[i].s, i, obs);
}

static bool validate_state(const mm_vec *vec) {
  const mm_grid *g = vec->task;
  const one *all = vec->state;
  for (size_t i = 0; i < vec->info.n; i++) {
    mm_grid_state s = all[i].s;
    if (s.cell < 0 || s.cell >= g->cells || g->wall[s.cell] || s.mask >> g->n_object) return false;
  }
  return true;
}

const mm_vec_law mm_vec_grid = { .prepare = prepare,
                                 .state_size = state_size,
                                 .step = step,
                                 .kept_size = state_size,
                                 .observe = observe_one,
                                 .begin = begin,
                                 .validate_state = validate_state };
