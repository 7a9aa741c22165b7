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
// Of these numbers the whole ones.
#define MM_PMD_WHOLE(X) X(steps) X(envs) X(unroll) X(epochs)

typedef struct mm_pmd_config {
#define MM_PMD_FIELD(name, value, least, most) double name;
  MM_PMD_NUMBERS(MM_PMD_FIELD)
#undef MM_PMD_FIELD
  bool restart;             // termination=restart instead of absorb
  bool normalise_advantage; // for the policy's update
  bool exact_curve;         // curve=exact: the exact value at every iteration, not only at the end
} mm_pmd_config;

MM_API mm_pmd_config mm_pmd_config_default(void);

// Hyper-parameters of AMPO, of PMD with Gaussian policies and of PPO, their yardstick: name,
// default, least, most. The paper's settings for CartPole and Acrobot.
#define MM_NET_NUMBERS(X)                                                                          \
  X(steps, 500000, 1, 1e12)   /* environment steps of a run, cut to whole iterations */            \
  X(envs, 4, 1, 65536)        /* environments side by side */                                      \
  X(unroll, 128, 1, 65536)    /* steps of each per iteration */                                    \
  X(minibatches, 4, 1, 65536) /* parts of a batch, one gradient step each */                       \
  X(epochs, 16, 0, 65536)     /* passes over a batch */                                            \
  X(lr, 0.004, 0, 1e3)        /* of Adam */                                                        \
  X(gamma, 0.99, 0, 1)        /* discount */                                                       \
  X(gae_lambda, 0.95, 0, 1)                                                                        \
  X(max_grad_norm, 1.4, 0, 1e9) /* of both networks together; 0: no bound */                       \
  X(value_clip, 0.2, 0, 1e9)    /* how far a value may move in one iteration; 0: no bound */       \
  X(value_coef, 0.5, 0, 1e6)    /* weight of the value's loss */                                   \
  X(hidden, 64, 1, 1024)        /* units of each of the two hidden layers */
#define MM_NET_WHOLE(X) X(steps) X(envs) X(unroll) X(minibatches) X(epochs) X(hidden)
#define MM_AMPO_NUMBERS(X) X(eta, 0.9, 1e-6, 1e6) /* step size of mirror descent */
#define MM_GAUSSIAN_NUMBERS(X)                                                                     \
  X(density_scale, 1, 1e-30, 1e30) /* the map is applied to this times a density */
#define MM_PPO_NUMBERS(X)                                                                          \
  X(policy_clip, 0.2, 1e-6, 1e6) /* ratios of probabilities count within 1 -+ this */              \
  X(entropy_coef, 0.01, 0, 1e6)

typedef struct mm_ampo_config {
  bool ppo;                  // the clipped objective, on softmax or Gaussian policies
  bool gaussian;             // PMD with Gaussian policies: for real actions
  bool constant_lr;          // anneal=off: the learning rate does not fall to 0
  bool relu;                 // activation=relu instead of tanh
  bool code_target;          // target=code: eta twice, as in the authors' public code
  bool bisect10;             // projection=bisect10
  bool center;               // takes phi^-1(1/|A|) / eta off the regression target
  bool raw_advantage;        // normalise_advantage=off
  bool bootstrap_on_timeout; // the value behind a step limit counts
  bool raw_observation;      // normalise_observation=off, of real actions as the next
  bool raw_reward;           // scale_reward=off
  bool fresh_reset;          // of bodies: every episode starts somewhere else
  bool gymnasium_walls;      // of MountainCarContinuous
  int rules;                 // mm_env_rules, of MinAtar
  int flavour, physics;      // mm_env_flavour and mm_env_physics, of bodies
#define MM_AMPO_FIELD(name, value, least, most) double name;
  MM_NET_NUMBERS(MM_AMPO_FIELD)
  MM_AMPO_NUMBERS(MM_AMPO_FIELD)
  MM_PPO_NUMBERS(MM_AMPO_FIELD)
  MM_GAUSSIAN_NUMBERS(MM_AMPO_FIELD)
#undef MM_AMPO_FIELD
} mm_ampo_config;

MM_API mm_ampo_config mm_ampo_config_default(void);

// PMD with Gaussian policies and the paper's settings for Hopper, HalfCheetah and Ant.
MM_API mm_ampo_config mm_gaussian_config_default(void);

// PPO with the numbers its users are used to: four epochs, rate 0.00025, gradient norm 0.5.
MM_API mm_ampo_config mm_ppo_config_default(void);

// What is common to all jobs of a list is shared; everything must outlive the call.
typedef struct mm_job {
  const mm_env *env;
  const mm_map *map; // NULL: the map of the search point below, made when the job begins
  // one of the two: the algorithm; neither is MM_ERR_INPUT
  const mm_pmd_config *pmd;
  const mm_ampo_config *ampo; // and its relatives
  uint64_t seed;   // names the instance of the environment and all random numbers of the run
  uint32_t repeat; // runs on the same instance with other random numbers; usually 0
  // For whoever follows a training (src/agent/job_hooks.h); NULL and 0 otherwise.
  const struct mm_job_hooks *hooks;
  const void *state;
  size_t state_size;
  // A candidate of a search (mm_map_from_search). One that makes no usable map is MM_ERR_NUMERIC.
  struct {
    mm_map_kind kind;
    size_t n;
    const double *z;
  } point;
} mm_job;

// What the samples of a Gaussian policy's updates met, an update each: effective sample size (its
// share, 1 where the policy has not moved), largest |log p/q|, divergence from the policy that
// acted, and how many samples came to the ends of the densities' range, to a bound within the map,
// or were not finite. Divergences are PMD's, NaN otherwise. Last, how often the physics of an
// environment was not to be trusted (mm_vec_unstable), from the beginning on.
#define MM_MEASURE_LIST(X)                                                                         \
  X(ESS, "ess")                                                                                    \
  X(LOG_RATIO, "log_ratio_max")                                                                    \
  X(DIVERGENCE, "divergence")                                                                      \
  X(CLAMPED, "clamped")                                                                            \
  X(CAPPED, "capped")                                                                              \
  X(NONFINITE, "nonfinite")                                                                        \
  X(UNSTABLE, "unstable")

typedef enum mm_measure {
#define MM_MEASURE_ENUM(id, name) MM_MEASURE_##id,
  MM_MEASURE_LIST(MM_MEASURE_ENUM)
#undef MM_MEASURE_ENUM
      MM_MEASURES
} mm_measure;

typedef struct mm_result {
  mm_status status;    // MM_ERR_NUMERIC with n_curve > 0: the last finite policy's value was taken
  double final_value;  // PMD: exact; AMPO: mean return of the episodes finished last, NaN where
                       // the run finished none
  double recent_value; // AMPO: mean return of the episodes that ended in the last tenth of the run,
                       // NaN without any
  double optimal_value; // V* of the instance, exact; NaN where it would take too long (large tasks)
  double *curve;        // [n_curve] values at steps curve_step[i]; belongs to the result. NaN at
                        // the steps before an episode has ended
  uint64_t *curve_step;
  size_t n_curve;
  double *measure; // [n_curve][MM_MEASURES] of real actions; else, and for results that were read
                   // back, NULL; belongs to the result
  uint64_t env_steps;
  double seconds_rollout, seconds_update, seconds_value; // the split of the time it took; the last
                                                         // is PMD's exact values, AMPO's critic
} mm_result;

// Frees what belongs to a result, which is then empty.
MM_API void mm_result_release(mm_result *result);

// Runs one job in the calling thread. `*stop` (may be NULL) is looked at between iterations:
// nonzero ends the run with MM_ERR_INTERRUPTED.
MM_API mm_status mm_job_run(const mm_job *job, const volatile int *stop, mm_result *result);

#ifdef __cplusplus
}
#endif

#endif
