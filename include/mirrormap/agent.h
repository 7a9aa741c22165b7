// Agents: train one job from start to end.
//
// A job is (environment, algorithm with its hyper-parameters, mirror map, seed); its result depends
// on nothing else: not on the machine's width, the order of jobs or the number of threads.

#ifndef MIRRORMAP_AGENT_H
#define MIRRORMAP_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mirrormap/env.h"
#include "mirrormap/map.h"

#ifdef __cplusplus
extern "C" {
#endif

// Hyper-parameters of tabular PMD: name, default, least, most. The paper's Grid-World settings.
#define MM_PMD_NUMBERS(X)                                                                          \
  X(steps, 262144, 1, 1e12) /* environment steps of a run, cut to whole iterations */              \
  X(envs, 64, 1, 65536)     /* environments side by side */                                        \
  X(unroll, 32, 1, 65536)   /* steps of each per iteration */                                      \
  X(epochs, 32, 0, 65536)   /* full-batch gradient steps per iteration */                          \
  X(lr, 40, 0, 1e6)         /* of the policy */                                                    \
  X(critic_lr, 4, 0, 1e6)   /* of the value table */                                               \
  X(eta, 0.1, 0, 1e6)       /* step size of mirror descent */                                      \
  X(gamma, 0.99, 0, 0.999999)                                                                      \
  X(gae_lambda, 0.95, 0, 1)

typedef struct mm_pmd_config {
#define MM_PMD_FIELD(name, value, least, most) double name;
  MM_PMD_NUMBERS(MM_PMD_FIELD)
#undef MM_PMD_FIELD
  bool restart;             // termination=restart instead of absorb
  bool normalise_advantage; // for the policy's update
  bool exact_curve;         // curve=exact: the exact value at every iteration, not only at the end
} mm_pmd_config;

MM_API mm_pmd_config mm_pmd_config_default(void);

// What is common to all jobs of a list is shared; everything must outlive the call.
typedef struct mm_job {
  const mm_env *env;
  const mm_map *map; // NULL: the map of the search point below, made when the job begins
  const mm_pmd_config *pmd;
  uint64_t seed;   // names the instance of the environment and all random numbers of the run
  uint32_t repeat; // runs on the same instance with other random numbers; usually 0
  // A candidate of a search (mm_map_from_search). One that makes no usable map is MM_ERR_NUMERIC.
  struct {
    mm_map_kind kind;
    size_t n;
    const double *z;
  } point;
} mm_job;

typedef struct mm_result {
  mm_status status; // MM_ERR_NUMERIC with n_curve > 0: the last finite policy's value was taken
  double final_value;
  double optimal_value; // V* of the instance, exact; NaN where it would take too long (large tasks)
  double *curve;        // [n_curve] values at steps curve_step[i]; belongs to the result
  uint64_t *curve_step;
  size_t n_curve;
  uint64_t env_steps;
  double seconds_rollout, seconds_update, seconds_value; // the split of the time it took
} mm_result;

MM_API void mm_result_release(mm_result *result);

// Runs one job in the calling thread. `*stop` (may be NULL) is looked at between iterations:
// nonzero ends the run with MM_ERR_INTERRUPTED.
MM_API mm_status mm_job_run(const mm_job *job, const volatile int *stop, mm_result *result);

#ifdef __cplusplus
}
#endif

#endif
