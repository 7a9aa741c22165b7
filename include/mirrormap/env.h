// Environments by name, and many of them side by side.
//
// An mm_env is one environment, or a family from which instances are drawn; it is immutable once
// opened and may be shared by any number of threads. Grid-World: `GridWorld-<configuration>` draws
// an instance (start, objects, and for the random families everything) from (seed, index) alone; a
// task file fixes one. An mm_vec steps n copies of an environment into the caller's buffers.

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
// .yml). Unknown IDs fail with the nearest valid spelling.
MM_API mm_status mm_env_open(const char *id, mm_env **out);
MM_API void mm_env_destroy(mm_env *env);

// The ID it was opened by.
MM_API const char *mm_env_id(const mm_env *env);

// What a user wants to know before choosing; strings belong to the library.
typedef struct mm_env_info {
  const char *id;
  const char *summary; // one line
  const char *algo;    // default algorithm and preset, e.g. "pmd"
  const char *preset;
} mm_env_info;

// The i-th environment that can be opened by ID, in listing order; false past the end.
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

typedef struct mm_vec_config {
  size_t n;               // environments, 0 to 2^24
  uint64_t seed;          // names the instance of a family, and all random numbers
  uint32_t repeat;        // the same instance with other random numbers; usually 0
  mm_obs_form obs;        // MM_OBS_FLOATS is 0
  mm_env_rules rules;     // MinAtar
  bool gymnasium_walls;   // MountainCarContinuous: the walls of Gymnasium instead of gymnax's
  mm_env_flavour flavour; // locomotion tasks, and so on
  mm_env_physics physics;
  bool fresh_reset; // every episode starts somewhere else, not where the environment's first did
} mm_vec_config;

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
  void *obs;       // what the agent sees next: after an end, the start of the next episode
  void *final_obs; // in the form of obs; written only where an episode ended: its last observation
  float *reward;   // [n]
  uint8_t *end;    // [n] MM_END_ bits of this step
} mm_vec_out;

typedef struct mm_vec mm_vec;

// Are the inputs on or off, so that BITS and LIST exist? (Else they are numbers.)
MM_API bool mm_env_has_switches(const mm_env *env);

// Environments must be reset before the first step. Of a family (Grid-World), all n are the same
// instance. `env` is not needed afterwards.
MM_API mm_status mm_vec_create(const mm_env *env, const mm_vec_config *config, mm_vec **out);
MM_API void mm_vec_destroy(mm_vec *vec);
MM_API void mm_vec_describe(const mm_vec *vec, mm_vec_info *out);

// Starts all environments from the beginning. Everything that follows is a function of the seed and
// the actions: environment i draws from streams of its own, so it does not depend on n either.
MM_API mm_status mm_vec_reset(mm_vec *vec, const mm_vec_out *out);

// One step of every environment; one that ends begins its next episode at once. `action` is
// int32_t [n], or float [n][n_real] where actions are real. A discrete action out of range and a
// real one that is not finite are MM_ERR_INPUT, and nothing has moved then.
MM_API mm_status mm_vec_step(mm_vec *vec, const void *action, const mm_vec_out *out);

// The same for the environments from <= i < to alone; buffers are still those of all n. Disjoint
// parts may be stepped by different threads at the same time.
MM_API mm_status mm_vec_step_part(mm_vec *vec, size_t from, size_t to, const void *action,
                                  const mm_vec_out *out);

// How often the physics of an environment came to a state that is not to be trusted (a number above
// 1e10, or none) since the reset. Such a step ends its episode, with a reward of 0.
MM_API uint64_t mm_vec_unstable(const mm_vec *vec);

// The engine that moves the bodies, "own" or "mujoco"; NULL where there is none.
MM_API const char *mm_vec_physics(const mm_vec *vec);

// Their flavour, "brax" or "gymnasium"; NULL where there is none.
MM_API const char *mm_vec_flavour(const mm_vec *vec);

#ifdef __cplusplus
}
#endif

#endif
