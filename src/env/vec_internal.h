// What an mm_vec is made of, and the laws by which kinds of environments are stepped side by side.

#ifndef MM_ENV_VEC_INTERNAL_H
#define MM_ENV_VEC_INTERNAL_H

#include "base/rng.h"
#include "base/status.h"
#include "env/env_internal.h"
#include "physics/physics.h"

struct mm_vec {
  mm_vec_config config; // rules and flavour resolved: never by ID
  mm_vec_info info;
  const mm_vec_law *law;
  int32_t which; // environment within its law
  bool started;
  mm_grid *task;       // Grid-World: the instance
  mm_physics *physics; // of locomotion tasks: their states
  const void *stuff;   // the law's own: kernels
  void *state;         // [n] or columns, the law's own
};

// A law writes into buffers that vec.c has checked: `out` has every member but final_obs, actions
// are valid, from <= to <= n.
struct mm_vec_law {
  // Fills stuff, task or physics, and all of info but n and obs_size; `entries` for the form of the
  // config. MM_ERR_INPUT for a form that there is not.
  mm_status (*prepare)(mm_vec *vec, const mm_env *env);
  // Bytes of the state of n environments per environment, after `prepare`.
  size_t (*state_size)(const mm_vec *vec);
  // The state is zero.
  void (*reset)(const mm_vec *vec, const mm_vec_out *out);
  void (*step)(const mm_vec *vec, size_t from, size_t to, const void *action,
               const mm_vec_out *out);
  // Bytes per environment of what must be kept to go on; they lie before the rest of the state.
  size_t (*kept_size)(const mm_vec *vec);
  // What the agent sees of the state, as reset and step write it.
  void (*observe)(const mm_vec *vec, void *obs);
  // Is every environment in a state that it can be in between two steps? The bytes may be
  // anybody's; whatever passes can be stepped on.
  bool (*validate_state)(const mm_vec *vec);
  // Where the state is not all there is: what is kept, out and in. NULL elsewhere.
  void (*save)(const mm_vec *vec, void *state);
  void (*load)(const mm_vec *vec, const void *state);
  uint64_t (*unstable)(const mm_vec *vec); // or NULL
};

extern const mm_vec_law mm_vec_classic, mm_vec_minatar, mm_vec_grid, mm_vec_body;

// The words of a set of bits.
static inline int32_t mm_obs_words(int32_t n_input) {
  return (n_input + 31) / 32;
}

mm_status mm_vec_form_refused(const mm_env *env, const char *expected);

// ---------------------------------------------------------------------------------------------
// The state as bytes of this kind of machine, without any mark: whoever keeps them knows of which
// environments, rules and how many they are. A vec of the same configuration (the form of its
// observations aside) that loads them goes on to the same bits.

size_t mm_vec_state_size(const mm_vec *vec);

// After a reset.
void mm_vec_save(const mm_vec *vec, void *state);

// Bytes that are no such state are MM_ERR_INPUT, and the environments must be reset then.
mm_status mm_vec_load(mm_vec *vec, const void *state, size_t size);

// The observations that the last reset or step, or a load, left the agent with.
void mm_vec_observe(const mm_vec *vec, void *obs);

#endif
