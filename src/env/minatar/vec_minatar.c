// MinAtar side by side: each environment is its game's struct with the counters that name its
// random numbers. The loops over environments are written once, in vec_minatar.inc, and compiled
// for every game.
#include "env/minatar/asterix.h"
#include "env/minatar/breakout.h"
#include "env/minatar/freeway.h"
#include "env/minatar/minatar_sane.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"
#include "env/vec_internal.h"

typedef struct kernel {
  size_t size; // of an environment
  int32_t n_input, most_active, n_action;
  int32_t limit, limit_original;
  const char *const *action_name;
  void (*reset)(const mm_vec *vec, const mm_vec_out *out);
  void (*step)(const mm_vec *vec, size_t from, size_t to, const void *action,
               const mm_vec_out *out);
  void (*observe)(const mm_vec *vec, void *obs);
  bool (*sane)(const mm_vec *vec);
} kernel;

static inline mm_minatar_rules rules_of(const mm_vec *vec) {
  return vec->config.rules == MM_RULES_MINATAR ? MM_MINATAR_ORIGINAL : MM_MINATAR_GYMNAX;
}

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#define GAME asterix
#define GAME_CAPS ASTERIX
#define LIMIT MM_MINATAR_LIMIT
#define LIMIT_ORIGINAL 0
#define ACTION_NAMES                                                                               \
  { "none", "left", "up", "right", "down" }
#include "env/minatar/vec_minatar.inc"

#define GAME breakout
#define GAME_CAPS BREAKOUT
#define LIMIT MM_MINATAR_LIMIT
#define LIMIT_ORIGINAL 0
#define ACTION_NAMES                                                                               \
  { "none", "left", "right" }
#include "env/minatar/vec_minatar.inc"

#define GAME freeway
#define GAME_CAPS FREEWAY
#define LIMIT MM_FREEWAY_LIMIT
#define LIMIT_ORIGINAL MM_FREEWAY_LIMIT_ORIGINAL
#define ACTION_NAMES                                                                               \
  { "none", "up", "down" }
#include "env/minatar/vec_minatar.inc"

#define GAME space_invaders
#define GAME_CAPS SPACE_INVADERS
#define LIMIT MM_MINATAR_LIMIT
#define LIMIT_ORIGINAL 0
#define ACTION_NAMES                                                                               \
  { "none", "left", "right", "fire" }
#include "env/minatar/vec_minatar.inc"

#define GAME seaquest
#define GAME_CAPS SEAQUEST
#define LIMIT MM_MINATAR_LIMIT
#define LIMIT_ORIGINAL 0
#define ACTION_NAMES                                                                               \
  { "none", "left", "up", "right", "down", "fire" }
#include "env/minatar/vec_minatar.inc"

static const kernel *const kernels[MM_GAME_COUNT] = {
  [MM_GAME_ASTERIX] = &asterix_kernel,   [MM_GAME_BREAKOUT] = &breakout_kernel,
  [MM_GAME_FREEWAY] = &freeway_kernel,   [MM_GAME_SPACE_INVADERS] = &space_invaders_kernel,
  [MM_GAME_SEAQUEST] = &seaquest_kernel,
};

// ---------------------------------------------------------------------------------------------

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  const kernel *k = kernels[vec->which];
  if (vec->config.obs == MM_OBS_COLUMNS)
    return mm_vec_form_refused(env, "FLOATS, BITS or LIST, since its inputs are on or off");
  vec->stuff = k;
  vec->info.n_action = k->n_action;
  vec->info.n_input = k->n_input;
  vec->info.entries = vec->config.obs == MM_OBS_BITS   ? mm_obs_words(k->n_input)
                      : vec->config.obs == MM_OBS_LIST ? k->most_active
                                                       : k->n_input;
  vec->info.limit = rules_of(vec) == MM_MINATAR_ORIGINAL ? k->limit_original : k->limit;
  vec->info.action_name = k->action_name;
  return MM_OK;
}

static size_t state_size(const mm_vec *vec) {
  return ((const kernel *)vec->stuff)->size;
}

static void reset(const mm_vec *vec, const mm_vec_out *out) {
  ((const kernel *)vec->stuff)->reset(vec, out);
}

static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  ((const kernel *)vec->stuff)->step(vec, from, to, action, out);
}

static void observe(const mm_vec *vec, void *obs) {
  ((const kernel *)vec->stuff)->observe(vec, obs);
}

static bool sane(const mm_vec *vec) {
  return ((const kernel *)vec->stuff)->sane(vec);
}

const mm_vec_law mm_vec_minatar = { prepare, state_size, reset, step, state_size,
                                    observe, sane,       NULL,  NULL, NULL };
