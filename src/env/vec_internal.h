// SPDX-License-Identifier: Apache-2.0
// What an mm_vec is made of, and the laws by which kinds of environments are stepped side by side.

#ifndef MM_ENV_VEC_INTERNAL_H
#define MM_ENV_VEC_INTERNAL_H

#include "base/rng.h"
#include "base/status.h"
#include "env/env_internal.h"
#include "physics/physics.h"

// Which random numbers an environment draws.
typedef struct mm_vec_stream {
  uint64_t seed;
  uint32_t lane, unused;
} mm_vec_stream;

// Of the running episode of an environment.
typedef struct mm_vec_tally {
  double ret;
  uint32_t length, unused;
} mm_vec_tally;

struct mm_vec {
  mm_vec_config config; // rules and flavour resolved: never by ID
  mm_vec_info info;
  const mm_vec_law *law;
  int32_t which;           // environment within its law
  const mm_env_kind *kind; // or NULL: Grid-World
  bool started;
  mm_grid *task;       // Grid-World: the instance
  mm_physics *physics; // of locomotion tasks: their states
  const void *stuff;   // the law's own: kernels
  void *state;         // [n] or columns, the law's own
  mm_vec_stream *own;  // [n] streams once an environment has a seed of its own, else NULL
  // Unless autoreset is in the same step: environments whose episode has ended [n], and room for
  // their last observations. Their next episode has begun in the state, and is not shown yet.
  uint8_t *ended;
  void *last_obs;
  mm_vec_tally *tally; // [n], and of the last one `episodes` [n]; or NULL: they are not counted
  mm_episode *episodes;
};

// A law writes into buffers that vec.c has checked: `out` has every member but final_obs, actions
// are valid, from <= to <= n.
struct mm_vec_law {
  // Fills stuff, task or physics, and all of info but n and obs_size; `entries` for the form of the
  // config. MM_ERR_INPUT for a form that there is not.
  mm_status (*prepare)(mm_vec *vec, const mm_env *env);
  // Bytes of the state of n environments per environment, after `prepare`.
  size_t (*state_size)(const mm_vec *vec);
  // Begins all of them for the first time; NULL: one after the other.
  void (*reset)(const mm_vec *vec, const mm_vec_out *out);
  void (*step)(const mm_vec *vec, size_t from, size_t to, const void *action,
               const mm_vec_out *out);
  // Bytes per environment of what must be kept to go on; they lie before the rest of the state.
  size_t (*kept_size)(const mm_vec *vec);
  // What the agent sees of environment i, as reset and step write it; or of from <= i < to, where
  // that is done for many at a time.
  void (*observe)(const mm_vec *vec, size_t i, void *obs);
  void (*observe_part)(const mm_vec *vec, size_t from, size_t to, void *obs);
  // Begins the next episode of environment i, or its first one (the state may then be anything),
  // and writes what is seen of it.
  void (*begin)(const mm_vec *vec, size_t i, bool first, void *obs);
  // Is every environment in a state that it can be in between two steps? The bytes may be
  // anybody's; whatever passes can be stepped on.
  bool (*validate_state)(const mm_vec *vec);
  // Where the state is not all there is: what is kept, out and in. NULL elsewhere.
  void (*save)(const mm_vec *vec, void *state);
  void (*load)(const mm_vec *vec, const void *state);
  uint64_t (*unstable)(const mm_vec *vec); // or NULL
};

extern const mm_vec_law mm_vec_classic, mm_vec_minatar, mm_vec_grid, mm_vec_body, mm_vec_plugin;

static inline mm_stream mm_vec_stream_of(const mm_vec *vec, mm_rng_purpose purpose, size_t i) {
  const mm_vec_stream *own = vec->own;
  return mm_stream_make(own ? own[i].seed : vec->config.seed, vec->config.repeat, purpose,
                        own ? own[i].lane : (uint32_t)i);
}

// What the agent sees of the environments from <= i < to.
static inline void mm_vec_show(const mm_vec *vec, size_t from, size_t to, void *obs) {
  const mm_vec_law *law = vec->law;
  if (law->observe_part) {
    law->observe_part(vec, from, to, obs);
    return;
  }
  for (size_t i = from; i < to; i++)
    law->observe(vec, i, obs);
}

// The words of a set of bits.
static inline int32_t mm_obs_words(int32_t n_input) {
  return (n_input + 31) / 32;
}

mm_status mm_vec_form_refused(const mm_env *env, const char *expected);

// ---------------------------------------------------------------------------------------------
// What checkpoints and devices keep of environments with same-step autoreset: their state as bytes
// of this kind of machine, without any mark. Whoever keeps them knows of which environments, rules
// and how many they are. A vec of the same configuration (the form of its observations aside) that
// takes them up goes on to the same bits. (mm_vec_save: the same with marks, and all the rest.)

size_t mm_vec_kept_size(const mm_vec *vec);

// After a reset.
void mm_vec_keep(const mm_vec *vec, void *state);

// Bytes that are no such state are MM_ERR_INPUT, and the environments must be reset then.
mm_status mm_vec_take_up(mm_vec *vec, const void *state, size_t size);

// ---------------------------------------------------------------------------------------------
// Other autoresets, and counting (vec_autoreset.c)

// The step of a vec that counts episodes or holds back their starts; arguments are checked.
mm_status mm_vec_step_held(mm_vec *vec, size_t from, size_t to, const void *action,
                           const mm_vec_out *out);

// Gives every environment a stream of its own, those of the config.
mm_status mm_vec_own_streams(mm_vec *vec);

#endif
