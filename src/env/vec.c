// SPDX-License-Identifier: Apache-2.0
// Many environments at once: what is common to all laws. Arguments are checked here, once per call,
// and never in the loops over environments. (Ends that are held back, counting: vec_autoreset.c.
// States: vec_state.c.)

#include "base/config.h"
#include "env/vec_internal.h"

#include <math.h>
#include <string.h>

// Lanes of random streams: beyond them environments would repeat each other.
enum { N_MOST = 1 << 24 };

mm_status mm_vec_form_refused(const mm_env *env, const char *expected) {
  return MM_FAIL(MM_ERR_INPUT, "environment '%.80s': form of observations: expected %s",
                 mm_env_id(env), expected);
}

bool mm_env_has_switches(const mm_env *env) {
  return !env->kind || env->kind->law == &mm_vec_minatar;
}

void mm_vec_config_init(mm_vec_config *out, size_t size) {
  const mm_vec_config ours = { .n = 0 };
  mm_config_give(&ours, sizeof ours, out, size);
}

static mm_status check_config(const mm_env *env, const mm_vec_config *config) {
  if (config->n > N_MOST)
    return MM_FAIL(MM_ERR_INPUT, "%zu environments: expected at most %d", config->n, N_MOST);
  if (config->obs < MM_OBS_FLOATS || config->obs > MM_OBS_LIST)
    return mm_vec_form_refused(env, "one of mm_obs_form");
  if (config->rules < MM_RULES_BY_ID || config->rules > MM_RULES_MINATAR)
    return MM_FAIL(MM_ERR_INPUT, "rules: expected one of mm_env_rules");
  if (config->flavour < MM_ENV_FLAVOUR_BY_ID || config->flavour > MM_ENV_FLAVOUR_GYMNASIUM)
    return MM_FAIL(MM_ERR_INPUT, "flavour: expected one of mm_env_flavour");
  if (config->physics < MM_ENV_PHYSICS_AUTO || config->physics > MM_ENV_PHYSICS_MUJOCO)
    return MM_FAIL(MM_ERR_INPUT, "physics: expected one of mm_env_physics");
  if (config->autoreset < MM_AUTORESET_SAME_STEP || config->autoreset > MM_AUTORESET_DISABLED)
    return MM_FAIL(MM_ERR_INPUT, "autoreset: expected one of mm_autoreset");
  return MM_OK;
}

static mm_status prepare(const mm_env *env, const mm_vec_config *from, mm_vec *vec) {
  mm_vec_config *config = &vec->config;
  const mm_env_kind *kind = env->kind;
  *config = mm_vec_config_default();
  MM_TRY(mm_config_take("mm_vec_config", from, config, sizeof *config));
  MM_TRY(check_config(env, config));
  vec->law = kind ? kind->law : &mm_vec_grid;
  vec->which = kind ? kind->which : 0;
  vec->kind = kind;
  if (config->rules == MM_RULES_BY_ID) config->rules = kind ? kind->rules : 0;
  if (config->flavour == MM_ENV_FLAVOUR_BY_ID) config->flavour = kind ? kind->flavour : 0;
  MM_TRY(vec->law->prepare(vec, env));
  size_t entry = config->obs == MM_OBS_LIST ? sizeof(uint16_t) : sizeof(float);
  vec->info.n = config->n;
  vec->info.obs_size = config->n * (size_t)vec->info.entries * entry;
  return MM_OK;
}

// State and vec in one block, the state on a cache line of its own; then what the config asks for.
enum { LINE = 64 };

static size_t lines(size_t bytes) {
  return (bytes + LINE - 1) / LINE * LINE;
}

static mm_vec *place(const mm_vec *plan) {
  const size_t n = plan->config.n, head = lines(sizeof *plan);
  const bool holds = plan->config.autoreset != MM_AUTORESET_SAME_STEP;
  const bool counts = plan->config.episodes;
  const size_t state = lines(n * plan->law->state_size(plan));
  const size_t ended = holds ? lines(n) : 0, last = holds ? lines(plan->info.obs_size) : 0;
  const size_t tally = counts ? lines(n * sizeof(mm_vec_tally)) : 0;
  const size_t episodes = counts ? lines(n * sizeof(mm_episode)) : 0;
  mm_vec *vec = mm_alloc(head + LINE + state + ended + last + tally + episodes);
  if (!vec) return NULL;
  *vec = *plan;
  char *at = (char *)vec + head;
  at += (LINE - (uintptr_t)at % LINE) % LINE;
  vec->state = at;
  if (holds) vec->ended = (uint8_t *)(at += state);
  if (holds) vec->last_obs = at += ended;
  if (counts) vec->tally = (void *)(at += holds ? last : state);
  if (counts) vec->episodes = (void *)(at + tally);
  return vec;
}

mm_status mm_vec_create(const mm_env *env, const mm_vec_config *config, mm_vec **out) {
  mm_vec plan = { 0 };
  *out = NULL;
  MM_TRY(prepare(env, config, &plan));
  *out = place(&plan);
  if (*out) return MM_OK;
  mm_grid_destroy(plan.task);
  mm_physics_destroy(plan.physics);
  return MM_FAIL(MM_ERR_MEMORY, "no memory for %zu environments '%.80s'", config->n,
                 mm_env_id(env));
}

void mm_vec_destroy(mm_vec *vec) {
  if (!vec) return;
  mm_grid_destroy(vec->task);
  mm_physics_destroy(vec->physics);
  mm_free(vec->own);
  mm_free(vec);
}

void mm_vec_describe(const mm_vec *vec, mm_vec_info *out) {
  *out = vec->info;
}

// Inputs that are on or off have no bounds in their description; other tasks may have none.
void mm_vec_obs_bounds(const mm_vec *vec, float *low, float *high) {
  const mm_vec_law *law = vec->law;
  const bool numbers = law == &mm_vec_classic || law == &mm_vec_body || law == &mm_vec_plugin;
  const mm_env_about *about = vec->kind ? vec->kind->about : NULL;
  const float(*bounds)[2] = about ? about->bounds : NULL;
  for (int32_t k = 0; k < vec->info.n_input; k++) {
    low[k] = bounds ? bounds[k][0] : numbers ? -INFINITY : 0;
    high[k] = bounds ? bounds[k][1] : numbers ? INFINITY : 1;
  }
}

void mm_vec_action_bounds(const mm_vec *vec, float *low, float *high) {
  for (int32_t k = 0; k < vec->info.n_real; k++) {
    low[k] = vec->info.low;
    high[k] = vec->info.high;
  }
}

const mm_episode *mm_vec_episodes(const mm_vec *vec) {
  return vec->episodes;
}

uint64_t mm_vec_unstable(const mm_vec *vec) {
  return vec->law->unstable ? vec->law->unstable(vec) : 0;
}

const char *mm_vec_physics(const mm_vec *vec) {
  return vec->physics ? vec->physics->engine->name : NULL;
}

const char *mm_vec_flavour(const mm_vec *vec) {
  if (!vec->physics) return NULL;
  return vec->physics->config.flavour == MM_FLAVOUR_GYMNASIUM ? "gymnasium" : "brax";
}

// ---------------------------------------------------------------------------------------------
// Reset and step

mm_status mm_vec_reset(mm_vec *vec, const mm_vec_out *out) {
  size_t n = vec->info.n;
  if (n > 0 && !out->obs) return MM_FAIL(MM_ERR_INPUT, "reset: obs: expected a buffer");
  mm_free(vec->own);
  vec->own = NULL;
  vec->started = true;
  if (n == 0) return MM_OK;
  memset(vec->state, 0, n * vec->law->state_size(vec));
  if (vec->ended) memset(vec->ended, 0, n);
  if (vec->tally) memset(vec->tally, 0, n * sizeof *vec->tally);
  if (vec->tally) memset(vec->episodes, 0, n * sizeof *vec->episodes);
  if (vec->law->reset) {
    vec->law->reset(vec, out);
    return MM_OK;
  }
  for (size_t i = 0; i < n; i++)
    vec->law->begin(vec, i, true, out->obs);
  return MM_OK;
}

// One pass without branches: in the usual case nothing is wrong.
static bool all_below(const int32_t *action, size_t n, int32_t most) {
  uint32_t wrong = 0;
  for (size_t i = 0; i < n; i++)
    wrong |= (uint32_t)action[i] >= (uint32_t)most;
  return !wrong;
}

static bool all_finite(const float *action, size_t n) {
  int wrong = 0;
  for (size_t i = 0; i < n; i++)
    wrong |= !(fabsf(action[i]) < INFINITY);
  return !wrong;
}

// The next episode of an environment begins whatever the action.
static bool needs_none(const mm_vec *vec, size_t i) {
  return vec->ended && vec->ended[i] && vec->config.autoreset == MM_AUTORESET_NEXT_STEP;
}

static mm_status check_actions(const mm_vec *vec, size_t from, size_t to, const void *action) {
  const mm_vec_info *info = &vec->info;
  if (info->n_action > 0) {
    const int32_t *a = action;
    if (all_below(a + from, to - from, info->n_action)) return MM_OK;
    size_t i = from;
    while (i < to && ((uint32_t)a[i] < (uint32_t)info->n_action || needs_none(vec, i)))
      i++;
    if (i == to) return MM_OK;
    return MM_FAIL(MM_ERR_INPUT, "action[%zu] = %d: expected 0 .. %d", i, a[i], info->n_action - 1);
  }
  const float *a = action;
  size_t k = (size_t)info->n_real;
  if (all_finite(a + from * k, (to - from) * k)) return MM_OK;
  size_t i = from * k;
  while (i < to * k && (fabsf(a[i]) < INFINITY || needs_none(vec, i / k)))
    i++;
  if (i == to * k) return MM_OK;
  return MM_FAIL(MM_ERR_INPUT, "action[%zu] is not finite: expected a number, clipped to %g .. %g",
                 i, (double)info->low, (double)info->high);
}

mm_status mm_vec_step_part(mm_vec *vec, size_t from, size_t to, const void *action,
                           const mm_vec_out *out) {
  if (from > to || to > vec->info.n)
    return MM_FAIL(MM_ERR_INPUT, "part %zu .. %zu of %zu environments", from, to, vec->info.n);
  if (!vec->started) return MM_FAIL(MM_ERR_INPUT, "step: the environments were never reset");
  if (from == to) return MM_OK;
  if (!action || !out->obs || !out->reward || !out->end)
    return MM_FAIL(MM_ERR_INPUT, "step: %s: expected a buffer",
                   !action     ? "action"
                   : !out->obs ? "obs"
                   : out->end  ? "reward"
                               : "end");
  MM_TRY(check_actions(vec, from, to, action));
  if (vec->ended || vec->tally) return mm_vec_step_held(vec, from, to, action, out);
  vec->law->step(vec, from, to, action, out);
  return MM_OK;
}

mm_status mm_vec_step(mm_vec *vec, const void *action, const mm_vec_out *out) {
  return mm_vec_step_part(vec, 0, vec->info.n, action, out);
}
