// SPDX-License-Identifier: Apache-2.0
// Environments by name, and many of them side by side.
//
// An mm_env is one environment, or a family from which instances are drawn; it is immutable once
// opened and may be shared by any number of threads. Grid-World: `GridWorld-<configuration>` draws
// an instance (start, objects, and for the random families everything) from (seed, index) alone; a
// task file fixes one. An mm_vec steps n copies of an environment into the caller's buffers.
//
//   mm_vec_config config = mm_vec_config_default();
//   config.n = 64;
//   mm_vec *vec;
//   mm_vec_create(env, &config, &vec);
//   mm_vec_reset(vec, &out);
//   for (..) mm_vec_step(vec, action, &out);
//   mm_vec_destroy(vec);
//
// Threads: an mm_vec may be used by one thread at a time, different ones by different threads at
// the same time. What is said of a function below holds besides. `From any thread` means: also
// several at a time on the same object.

#ifndef MIRRORMAP_ENV_H
#define MIRRORMAP_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mm_env mm_env;

// By ID ("GridWorld-dense") or by the path of a task file (text with a '/' or ending in .yaml or
// .yml). Unknown IDs fail with the nearest valid spelling. From any thread.
MM_API mm_status mm_env_open(const char *id, mm_env **out);

// Once no thread uses it any more. Vecs that were made from it stay.
MM_API void mm_env_destroy(mm_env *env);

// The ID it was opened by. From any thread.
MM_API const char *mm_env_id(const mm_env *env);

// What a user wants to know before choosing; strings belong to the library.
typedef struct mm_env_info {
  const char *id;
  const char *summary; // one line
  const char *algo;    // default algorithm and preset, e.g. "pmd"
  const char *preset;
} mm_env_info;

// The i-th environment that can be opened by ID, in listing order; false past the end. From any
// thread.
MM_API bool mm_env_list(size_t i, mm_env_info *out);

// ---------------------------------------------------------------------------------------------
// Many environments at once

// How a step can end an episode. The bits are independent: a goal reached on the last step allowed
// sets both.
enum {
  MM_END_TERMINATED = 1, // the new state is terminal
  MM_END_TRUNCATED = 2   // the step limit is reached
};

// The form of an observation. Classic control has numbers: FLOATS or COLUMNS. MinAtar and
// Grid-World have inputs that are on or off: FLOATS (0 or 1), BITS or LIST.
typedef enum mm_obs_form {
  MM_OBS_FLOATS,  // float [n][n_input]
  MM_OBS_COLUMNS, // float [n_input][n]: what the vectorised kernels write without a detour
  MM_OBS_BITS,    // uint32_t [n][entries]: input i is bit i % 32 of word i / 32
  MM_OBS_LIST // uint16_t [n][entries]: the inputs that are on, ascending, then n_input as filler
} mm_obs_form;

// MinAtar's two rule sets (docs/environments.md).
typedef enum mm_env_rules {
  MM_RULES_BY_ID, // Asterix-MinAtar: gymnax; MinAtar/Asterix-v1: minatar
  MM_RULES_GYMNAX,
  MM_RULES_MINATAR
} mm_env_rules;

// Locomotion tasks (Hopper, Ant, ..): contacts, integrator and start of brax, or of Gymnasium's
// -v4.
typedef enum mm_env_flavour {
  MM_ENV_FLAVOUR_BY_ID, // Hopper: brax; Hopper-v4: gymnasium
  MM_ENV_FLAVOUR_BRAX,
  MM_ENV_FLAVOUR_GYMNASIUM
} mm_env_flavour;

// What moves them: our own engine, or the MuJoCo library where the build has it.
typedef enum mm_env_physics {
  MM_ENV_PHYSICS_AUTO, // our own where it has the flavour, else MuJoCo
  MM_ENV_PHYSICS_OWN,
  MM_ENV_PHYSICS_MUJOCO
} mm_env_physics;

// What follows the step that ends an episode. The episodes are the same in all three: same seed and
// same actions, same rewards and observations.
typedef enum mm_autoreset {
  // The next episode begins at once: `obs` has its first observation, `final_obs` the last one.
  MM_AUTORESET_SAME_STEP,
  // `obs` has the last observation. The next call of step begins the next episode there: it takes
  // no notice of the action and gives the first observation, a reward of 0 and no end. (The default
  // of Gymnasium 1.x.)
  MM_AUTORESET_NEXT_STEP,
  // `obs` has the last observation. The environment must be reset (mm_vec_reset_where) before it is
  // stepped again; to step it is MM_ERR_INPUT, and nothing has moved then.
  MM_AUTORESET_DISABLED
} mm_autoreset;

// Comes from mm_vec_config_default. Later versions of the library have more fields at its end; a
// program that was built with fewer gets their defaults.
typedef struct mm_vec_config {
  size_t size;            // of this struct, set by mm_vec_config_default
  size_t n;               // environments, 0 to 2^24; default 0
  uint64_t seed;          // names the instance of a family, and all random numbers
  uint32_t repeat;        // the same instance with other random numbers; usually 0
  mm_obs_form obs;        // MM_OBS_FLOATS is 0
  mm_env_rules rules;     // MinAtar
  bool gymnasium_walls;   // MountainCarContinuous: the walls of Gymnasium instead of gymnax's
  mm_env_flavour flavour; // locomotion tasks, and so on
  mm_env_physics physics;
  bool fresh_reset; // every episode starts somewhere else, not where the environment's first did
  bool episodes;    // keep return and length of episodes (mm_vec_episodes)
  mm_autoreset autoreset; // MM_AUTORESET_SAME_STEP is 0
} mm_vec_config;

// No environments; everything by ID, observations as floats, same-step autoreset. From any thread.
MM_API void mm_vec_config_init(mm_vec_config *out, size_t size);
static inline mm_vec_config mm_vec_config_default(void) {
  mm_vec_config config;
  mm_vec_config_init(&config, sizeof config);
  return config;
}

// Sizes of everything that is exchanged with an mm_vec.
typedef struct mm_vec_info {
  size_t n;         // environments
  int32_t n_action; // actions are 0 .. n_action - 1; or 0, and actions are real:
  int32_t n_real;   //   so many numbers each (else 0),
  float low, high;  //   clipped to this range by the environment
  int32_t n_input;  // numbers in an observation
  int32_t entries;  // of the chosen form per environment: n_input, words, or the longest list
  size_t obs_size;  // bytes of all n observations
  int32_t limit;    // steps after which an episode is truncated; 0: never
  const char *const *action_name; // [n_action], or NULL; belongs to the library
} mm_vec_info;

// Where results go. final_obs may be NULL; a reset writes `obs` alone.
typedef struct mm_vec_out {
  void *obs;       // what the agent sees next; after an end as the autoreset says
  void *final_obs; // in the form of obs; written only where an episode ended: its last observation
  float *reward;   // [n]
  uint8_t *end;    // [n] MM_END_ bits of this step
} mm_vec_out;

typedef struct mm_vec mm_vec;

// Are the inputs on or off, so that BITS and LIST exist? (Else they are numbers.) From any thread.
MM_API bool mm_env_has_switches(const mm_env *env);

// Environments must be reset before the first step. Of a family (Grid-World), all n are the same
// instance. `env` is not needed afterwards. From any thread.
MM_API mm_status mm_vec_create(const mm_env *env, const mm_vec_config *config, mm_vec **out);
MM_API void mm_vec_destroy(mm_vec *vec);

// What does not change after the creation. From any thread.
MM_API void mm_vec_describe(const mm_vec *vec, mm_vec_info *out);

// The least and the greatest value of each number of an observation, low [n_input] and high
// [n_input]; infinite where there is no bound. And of each number of a continuous action, low
// [n_real] and high [n_real]; nothing is written where actions are discrete. From any thread.
MM_API void mm_vec_obs_bounds(const mm_vec *vec, float *low, float *high);
MM_API void mm_vec_action_bounds(const mm_vec *vec, float *low, float *high);

// ---------------------------------------------------------------------------------------------
// Reset and step

// Starts all environments from the beginning. Everything that follows is a function of the seed and
// the actions: environment i draws from streams of its own, so it does not depend on n either.
// Seeds that mm_vec_reset_where gave to single environments are forgotten.
MM_API mm_status mm_vec_reset(mm_vec *vec, const mm_vec_out *out);

// Begins a new episode in the environments with mask[i] != 0, mask [n], or in all where `mask` is
// NULL, and writes `obs` of those alone. An episode that has not ended is given up.
//
// Without seeds (`seed` is NULL) an environment goes on with its random numbers. With them, seed
// [n], environment i starts from the beginning with a seed of its own: from here on it is as
// environment 0 of a vec with that seed. (Of a family the instance stays that of the config.) The
// first call with seeds allocates.
MM_API mm_status mm_vec_reset_where(mm_vec *vec, const uint8_t *mask, const uint64_t *seed,
                                    const mm_vec_out *out);

// One step of every environment; what follows an end is the autoreset's. `action` is int32_t [n],
// or float [n][n_real] where actions are continuous. A discrete action out of range and a
// continuous one that is not finite are MM_ERR_INPUT, and nothing has moved then.
MM_API mm_status mm_vec_step(mm_vec *vec, const void *action, const mm_vec_out *out);

// The same for the environments from <= i < to alone; buffers are still those of all n. Disjoint
// parts may be stepped by different threads at the same time.
MM_API mm_status mm_vec_step_part(mm_vec *vec, size_t from, size_t to, const void *action,
                                  const mm_vec_out *out);

// The episode of an environment that ended last.
typedef struct mm_episode {
  double ret;      // sum of its rewards
  uint32_t length; // steps
  uint32_t number; // episodes that have ended since the start, this one included; 0: none yet
} mm_episode;

// Of each environment, [n]; after a step that ended an episode it is that one. NULL unless
// config.episodes is true. The array belongs to the vec, and steps write to it.
MM_API const mm_episode *mm_vec_episodes(const mm_vec *vec);

// How often the physics of an environment came to a diverged state (a number above 1e10, or none)
// since the reset. Such a step ends its episode, with a reward of 0.
MM_API uint64_t mm_vec_unstable(const mm_vec *vec);

// The physics engine of a locomotion task, "own" or "mujoco"; NULL elsewhere. From any thread.
MM_API const char *mm_vec_physics(const mm_vec *vec);

// Its flavour, "brax" or "gymnasium"; NULL elsewhere. From any thread.
MM_API const char *mm_vec_flavour(const mm_vec *vec);

// ---------------------------------------------------------------------------------------------
// The state as bytes

// What mm_vec_save writes now: it depends on the config, and on whether an environment has a seed
// of its own.
MM_API size_t mm_vec_state_size(const mm_vec *vec);

// After a reset. The bytes are for this kind of machine; they carry their format's version and
// everything of the config but the form of observations.
MM_API void mm_vec_save(const mm_vec *vec, void *state);

// The vec goes on from there to the same bits, without a reset. Bytes of another version, of
// another size or config, and those that are no state of these environments are MM_ERR_INPUT; then
// the vec must be reset.
MM_API mm_status mm_vec_load(mm_vec *vec, const void *state, size_t size);

// What the agent sees next, as the last reset, step or load left it; where an episode has ended and
// the next is still to be shown, the first observation of the next. MM_ERR_INPUT before a reset,
// and after a load that was refused.
MM_API mm_status mm_vec_observe(const mm_vec *vec, void *obs);

#ifdef __cplusplus
}
#endif

#endif
