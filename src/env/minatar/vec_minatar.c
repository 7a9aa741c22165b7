// SPDX-License-Identifier: Apache-2.0
// MinAtar side by side: each environment is its game's struct with the counters that name its
// random numbers. What runs once per environment and step is compiled for every game.

#include <string.h>

#include "env/minatar/games.h"
#include "env/vec_internal.h"

typedef struct kernel {
  const mm_game *game;
  size_t size; // of an environment
  // Starts the next episode of environment i.
  void (*start)(const mm_vec *vec, void *one, size_t i);
  void (*step)(const mm_vec *vec, size_t from, size_t to, const void *action,
               const mm_vec_out *out);
  // Observation of environment i in the wanted form, to entry i of a buffer.
  void (*observe)(const void *one, mm_obs_form form, size_t i, void *to);
} kernel;

static inline mm_minatar_rules rules_of(const mm_vec *vec) {
  return vec->config.rules == MM_RULES_MINATAR ? MM_MINATAR_ORIGINAL : MM_MINATAR_GYMNAX;
}

// `episode` is the number of the running one, the index of its reset draws; `time` counts steps
// since the first reset, the index of the step draws.
#define KERNEL(name, NAME, id)                                                                     \
  typedef struct name##_one {                                                                      \
    mm_##name s;                                                                                   \
    uint32_t episode;                                                                              \
    uint64_t time;                                                                                 \
  } name##_one;                                                                                    \
                                                                                                   \
  static inline void name##_observe(const void *one, mm_obs_form form, size_t i, void *to) {       \
    const mm_##name *s = &((const name##_one *)one)->s;                                            \
    uint16_t list[MM_##NAME##_ACTIVE];                                                             \
    if (form == MM_OBS_BITS) {                                                                     \
      mm_##name##_bits(s, (uint32_t *)to + i * MM_##NAME##_WORDS);                                 \
    } else if (form == MM_OBS_LIST) {                                                              \
      uint16_t *out = (uint16_t *)to + i * MM_##NAME##_ACTIVE;                                     \
      for (int k = mm_##name##_list(s, out); k < MM_##NAME##_ACTIVE; k++)                          \
        out[k] = MM_##NAME##_INPUTS;                                                               \
    } else {                                                                                       \
      int n = mm_##name##_list(s, list);                                                           \
      mm_minatar_floats(list, n, MM_##NAME##_INPUTS, (float *)to + i * MM_##NAME##_INPUTS);        \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static inline void name##_start(const mm_vec *vec, void *environment, size_t i) {                \
    name##_one *one = environment;                                                                 \
    mm_stream stream = mm_vec_stream_of(vec, MM_RNG_ENV_RESET, i);                                 \
    mm_##name##_reset(&one->s, rules_of(vec), mm_##name##_draw_reset(stream, one->episode++));     \
  }                                                                                                \
                                                                                                   \
  static void name##_step(const mm_vec *vec, size_t from, size_t to, const void *action,           \
                          const mm_vec_out *out) {                                                 \
    const mm_minatar_rules rules = rules_of(vec);                                                  \
    const mm_obs_form form = vec->config.obs;                                                      \
    const int32_t *index = action;                                                                 \
    name##_one *all = vec->state;                                                                  \
    for (size_t i = from; i < to; i++) {                                                           \
      name##_one *one = &all[i];                                                                   \
      mm_stream stream = mm_vec_stream_of(vec, MM_RNG_ENV_STEP, i);                                \
      int code = mm_minatar_action_at(MM_##NAME##_ACTION_SET, MM_##NAME##_ACTIONS, index[i]);      \
      mm_##name##_draws d = mm_##name##_draw_step(&one->s, code, rules, stream, one->time++);      \
      unsigned end = mm_##name##_step(&one->s, code, rules, d, &out->reward[i]);                   \
      out->end[i] = (uint8_t)end;                                                                  \
      if (end) {                                                                                   \
        if (out->final_obs) name##_observe(one, form, i, out->final_obs);                          \
        name##_start(vec, one, i);                                                                 \
      }                                                                                            \
      name##_observe(one, form, i, out->obs);                                                      \
    }                                                                                              \
  }
MM_GAME_LIST(KERNEL)

#define KERNEL_ENTRY(name, NAME, id)                                                               \
  [MM_GAME_##NAME] = { &mm_games[MM_GAME_##NAME], sizeof(name##_one), name##_start, name##_step,   \
                       name##_observe },
static const kernel kernels[MM_GAME_COUNT] = { MM_GAME_LIST(KERNEL_ENTRY) };

// ---------------------------------------------------------------------------------------------

static const kernel *kernel_of(const mm_vec *vec) {
  return &kernels[vec->which];
}

static void *environment(const mm_vec *vec, size_t i) {
  return (char *)vec->state + i * kernel_of(vec)->size;
}

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  const mm_game *game = kernel_of(vec)->game;
  if (vec->config.obs == MM_OBS_COLUMNS)
    return mm_vec_form_refused(env, "FLOATS, BITS or LIST, since its inputs are on or off");
  vec->info.n_action = game->actions;
  vec->info.n_input = game->inputs;
  vec->info.entries = vec->config.obs == MM_OBS_BITS   ? game->words
                      : vec->config.obs == MM_OBS_LIST ? game->active
                                                       : game->inputs;
  vec->info.limit = game->spec->limit[rules_of(vec)];
  vec->info.action_name = game->spec->about.action_name;
  return MM_OK;
}

static size_t state_size(const mm_vec *vec) {
  return kernel_of(vec)->size;
}

static void observe(const mm_vec *vec, size_t i, void *obs) {
  kernel_of(vec)->observe(environment(vec, i), vec->config.obs, i, obs);
}

static void begin(const mm_vec *vec, size_t i, bool first, void *obs) {
  if (first) memset(environment(vec, i), 0, kernel_of(vec)->size);
  kernel_of(vec)->start(vec, environment(vec, i), i);
  observe(vec, i, obs);
}

static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  kernel_of(vec)->step(vec, from, to, action, out);
}

static bool validate_state(const mm_vec *vec) {
  for (size_t i = 0; i < vec->info.n; i++)
    if (!mm_game_is_valid(kernel_of(vec)->game, environment(vec, i), (uint32_t)vec->info.limit))
      return false;
  return true;
}

const mm_vec_law mm_vec_minatar = { .prepare = prepare,
                                    .state_size = state_size,
                                    .step = step,
                                    .kept_size = state_size,
                                    .observe = observe,
                                    .begin = begin,
                                    .validate_state = validate_state };
