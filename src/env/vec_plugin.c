// SPDX-License-Identifier: Apache-2.0
// Environments of plug-ins (mirrormap/plugin.h) side by side, one call each. What must not go wrong
// is done here: time and its limit, streams, clipping, the next episode.

#include <math.h>
#include <string.h>

#include "env/plugin_env.h"
#include "env/vec_internal.h"

// Of each environment, before their states.
typedef struct head {
  uint64_t step; // since the first reset: index of the draws
  uint32_t episode;
  int32_t time; // in the episode
} head;

static const mm_plugin_env *law_of(const mm_vec *vec) {
  return mm_plugin_env_law((size_t)vec->which);
}

// So that every state is aligned for anything.
static size_t stride_of(const mm_vec *vec) {
  return (law_of(vec)->state_size + 15) / 16 * 16;
}

static head *head_of(const mm_vec *vec, size_t i) {
  return (head *)vec->state + i;
}

static void *state_of(const mm_vec *vec, size_t i) {
  return (char *)vec->state + vec->info.n * sizeof(head) + i * stride_of(vec);
}

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  const mm_plugin_env *law = law_of(vec);
  if (vec->config.obs != MM_OBS_FLOATS && vec->config.obs != MM_OBS_COLUMNS)
    return mm_vec_form_refused(env, "FLOATS or COLUMNS, since its inputs are numbers");
  vec->info.n_action = law->n_action;
  vec->info.n_real = law->n_real;
  vec->info.low = law->low;
  vec->info.high = law->high;
  vec->info.n_input = vec->info.entries = law->n_input;
  vec->info.limit = law->limit;
  vec->info.action_name = law->action_name;
  return MM_OK;
}

static size_t state_size(const mm_vec *vec) {
  return sizeof(head) + stride_of(vec);
}

// ---------------------------------------------------------------------------------------------

static void observe(const mm_vec *vec, size_t i, void *obs) {
  const mm_plugin_env *law = law_of(vec);
  const size_t n = vec->info.n, k = (size_t)law->n_input;
  float row[MM_PLUGIN_INPUTS], *to = obs;
  if (vec->config.obs == MM_OBS_FLOATS) {
    law->observe(state_of(vec, i), to + i * k);
    return;
  }
  law->observe(state_of(vec, i), row);
  for (size_t j = 0; j < k; j++)
    to[j * n + i] = row[j];
}

// The episode that the head names, from a state of zeros.
static void start(const mm_vec *vec, size_t i) {
  head *h = head_of(vec, i);
  mm_random random = mm_random_make(mm_vec_stream_of(vec, MM_RNG_ENV_RESET, i), h->episode);
  memset(state_of(vec, i), 0, stride_of(vec));
  h->time = 0;
  law_of(vec)->reset(state_of(vec, i), &random);
}

static void begin(const mm_vec *vec, size_t i, bool first, void *obs) {
  head *h = head_of(vec, i);
  if (first)
    *h = (head){ 0 };
  else
    h->episode++;
  start(vec, i);
  observe(vec, i, obs);
}

// ---------------------------------------------------------------------------------------------

// The action of environment i as the law takes it; a continuous one is clipped on the way.
static const void *action_of(const mm_plugin_env *law, const void *action, size_t i,
                             float clipped[MM_PLUGIN_REALS]) {
  const size_t k = (size_t)law->n_real;
  if (law->n_action > 0) return (const int32_t *)action + i;
  for (size_t j = 0; j < k; j++)
    clipped[j] = fminf(fmaxf(((const float *)action)[i * k + j], law->low), law->high);
  return clipped;
}

static int step_one(const mm_vec *vec, size_t i, const void *action, float *reward) {
  const mm_plugin_env *law = law_of(vec);
  head *h = head_of(vec, i);
  float clipped[MM_PLUGIN_REALS];
  mm_random random = mm_random_make(mm_vec_stream_of(vec, MM_RNG_ENV_STEP, i), h->step++);
  *reward = 0;
  h->time++;
  const int end = law->step(state_of(vec, i), action_of(law, action, i, clipped), &random, reward);
  return end | (law->limit > 0 && h->time >= law->limit ? MM_END_TRUNCATED : 0);
}

static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  for (size_t i = from; i < to; i++) {
    out->end[i] = (uint8_t)step_one(vec, i, action, &out->reward[i]);
    if (out->end[i]) {
      if (out->final_obs) observe(vec, i, out->final_obs);
      head_of(vec, i)->episode++;
      start(vec, i);
    }
    observe(vec, i, out->obs);
  }
}

static bool validate_state(const mm_vec *vec) {
  const mm_plugin_env *law = law_of(vec);
  for (size_t i = 0; i < vec->info.n; i++) {
    const int32_t time = head_of(vec, i)->time;
    if (time < 0 || (law->limit > 0 && time >= law->limit)) return false;
    if (law->valid && !law->valid(state_of(vec, i))) return false;
  }
  return true;
}

const mm_vec_law mm_vec_plugin = { .prepare = prepare,
                                   .state_size = state_size,
                                   .step = step,
                                   .kept_size = state_size,
                                   .observe = observe,
                                   .begin = begin,
                                   .validate_state = validate_state };

// ---------------------------------------------------------------------------------------------
// Random numbers

float mm_random_uniform(mm_random *r) {
  return mm_uniform_f((uint32_t)mm_random_next(r));
}

float mm_random_normal(mm_random *r) {
  return mm_normal_f((uint32_t)mm_random_next(r));
}

int32_t mm_random_below(mm_random *r, int32_t n) {
  return n > 1 ? (int32_t)mm_uniform_int(mm_random_next(r), (uint32_t)n) : 0;
}
