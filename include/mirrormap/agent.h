// SPDX-License-Identifier: Apache-2.0
// Agents: train one job from start to end.
//
// A job is (environment, algorithm with its hyper-parameters, mirror map, seed); its result depends
// on nothing else: not on the machine's width, the order of jobs or the number of threads.
//
// Threads: every function here may be called from any thread at any time, each with a result of its
// own; jobs may share environments, maps and settings.

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

// ---------------------------------------------------------------------------------------------
// Learners

// One line per learner: its name in the interface, that of its settings below (mm_<config>_config)
// and of its file (src/agent/learner_<config>.c), and its name in commands and files. A mirror map
// makes the policies of the first ones; to jobs of the others negentropy is given, to no effect.
#define MM_MIRROR_ALGO_LIST(X)                                                                     \
  X(PMD, pmd, "pmd")                    /* policy mirror descent on tables of states */            \
  X(AMPO, ampo, "ampo")                 /* approximate mirror policy optimisation */               \
  X(GAUSSIAN, gaussian, "pmd-gaussian") /* PMD with Gaussian policies, for continuous actions */
#define MM_ALGO_LIST(X)                                                                            \
  MM_MIRROR_ALGO_LIST(X)                                                                           \
  X(PPO, ppo, "ppo") /* proximal policy optimisation, the yardstick */

typedef enum mm_algo {
#define MM_ALGO_ENUM(id, config, name) MM_ALGO_##id,
  MM_ALGO_LIST(MM_ALGO_ENUM)
#undef MM_ALGO_ENUM
      MM_ALGO_COUNT
} mm_algo;

// In commands and files. Algorithms of plug-ins have the numbers behind these; NULL past their end.
MM_API const char *mm_algo_name(mm_algo algo);
MM_API bool mm_algo_find(const char *name, mm_algo *out); // false: there is no such name
MM_API bool mm_algo_has_map(mm_algo algo);                // do its policies come from one?
MM_API bool mm_algo_is_tabular(mm_algo algo);             // a table of states: Grid-World alone
MM_API bool mm_algo_has_networks(mm_algo algo);           // does a run leave networks behind?

// ---------------------------------------------------------------------------------------------
// Settings. Each is one line of one of the lists below; its field, its default, its range and
// whatever says or reads settings (--set, presets, files, --help) are made from that line:
//   NUMBER(field, default, least, most, whole, help)   a double, its key is its name
//   SWITCH(field, key, words, first, help)             a bool; the first of the two words is the
//                                                      default, and means `first`
//   CHOICE(field, words, help)                         an int: the place of a word, by default 0
//   FACTORS(field, help)                               up to MM_FACTORS_MAX positive doubles, 0
//                                                      behind the last; by default none
// A key means the same to all learners that have it; help shows the text of the first of them.

#define MM_NUMBER_FIELD(field, ...) double field;
#define MM_SWITCH_FIELD(field, ...) bool field;
#define MM_CHOICE_FIELD(field, ...) int field;
#define MM_FACTORS_FIELD(field, ...) double field[MM_FACTORS_MAX];

enum { MM_FACTORS_MAX = 8 };

// Of learners with eta.
#define MM_ETA_SETTINGS(FACTORS)                                                                   \
  FACTORS(eta_schedule,                                                                            \
          "2 to 8 factors of eta at equal fractions of the run, geometric between them")

// Tabular PMD, with the paper's numbers for Grid-World.
#define MM_PMD_SETTINGS(NUMBER, SWITCH)                                                            \
  NUMBER(steps, 262144, 1, 1e12, true, "environment steps of a run, cut to whole iterations")      \
  NUMBER(envs, 64, 1, 65536, true, "environments side by side")                                    \
  NUMBER(unroll, 32, 1, 65536, true, "steps of each environment per iteration")                    \
  NUMBER(epochs, 32, 0, 65536, true,                                                               \
         "passes over a batch: gradient steps of pmd, shuffles of the others")                     \
  NUMBER(lr, 40, 0, 1e6, false, "learning rate: of pmd's policy, of Adam")                         \
  NUMBER(critic_lr, 4, 0, 1e6, false, "learning rate of the value table")                          \
  NUMBER(eta, 0.1, 0, 1e6, false, "step size of mirror descent")                                   \
  NUMBER(gamma, 0.99, 0, 0.999999, false, "discount of future rewards")                            \
  NUMBER(gae_lambda, 0.95, 0, 1, false, "decay of the advantage estimates")                        \
  SWITCH(restart, "termination", "absorb|restart", false,                                          \
         "what follows the end of an episode: nothing, or the start state again")                  \
  SWITCH(normalise_advantage, "normalise_advantage", "on|off", true,                               \
         "scale advantages (pmd: of a batch; else: of a minibatch) to mean 0 and deviation 1")     \
  SWITCH(exact_curve, "curve", "final|exact", false,                                               \
         "exact value of the final policy only, or of every iteration's")

typedef struct mm_pmd_config {
  size_t size; // of this struct, set by mm_pmd_config_default
  MM_PMD_SETTINGS(MM_NUMBER_FIELD, MM_SWITCH_FIELD)
  MM_ETA_SETTINGS(MM_FACTORS_FIELD)
} mm_pmd_config;

// What learners with actor and critic networks have in common: rollouts, networks, Adam and the
// critic, with the paper's numbers for CartPole and Acrobot.
#define MM_ACTOR_CRITIC_NUMBERS(NUMBER)                                                            \
  NUMBER(steps, 500000, 1, 1e12, true, "environment steps of a run, cut to whole iterations")      \
  NUMBER(envs, 4, 1, 65536, true, "environments side by side")                                     \
  NUMBER(unroll, 128, 1, 65536, true, "steps of each environment per iteration")                   \
  NUMBER(minibatches, 4, 1, 65536, true, "parts of a batch, one gradient step each")               \
  NUMBER(epochs, 16, 0, 65536, true, "shuffled passes over a batch")                               \
  NUMBER(lr, 0.004, 0, 1e3, false, "learning rate of Adam")                                        \
  NUMBER(gamma, 0.99, 0, 1, false, "discount of future rewards")                                   \
  NUMBER(gae_lambda, 0.95, 0, 1, false, "decay of the advantage estimates")                        \
  NUMBER(max_grad_norm, 1.4, 0, 1e9, false, "bound on the gradient's norm, 0 for none")            \
  NUMBER(value_clip, 0.2, 0, 1e9, false, "value clip range of an iteration, 0 for none")           \
  NUMBER(value_coef, 0.5, 0, 1e6, false, "weight of the critic's loss")                            \
  NUMBER(hidden, 64, 1, 1024, true, "units of each of the two hidden layers")

#define MM_ACTOR_CRITIC_SWITCHES(SWITCH)                                                           \
  SWITCH(normalise_advantage, "normalise_advantage", "on|off", true,                               \
         "scale the advantages of a minibatch to mean 0 and deviation 1")                          \
  SWITCH(anneal, "anneal", "on|off", true,                                                         \
         "the learning rate falls to 0 in the course of the run")                                  \
  SWITCH(relu, "activation", "tanh|relu", false, "of the hidden units")                            \
  SWITCH(bootstrap_on_timeout, "bootstrap_on_timeout", "off|on", false,                            \
         "bootstrap from the value at truncation")

// Of environments with continuous actions. Choices are mm_env_flavour and mm_env_physics.
#define MM_REAL_SETTINGS(SWITCH, CHOICE)                                                           \
  SWITCH(normalise_observation, "normalise_observation", "on|off", true,                           \
         "continuous actions: observations in units of their running deviation")                   \
  SWITCH(scale_reward, "scale_reward", "on|off", true,                                             \
         "continuous actions: rewards in units of the return's running deviation")                 \
  SWITCH(fresh_reset, "fresh_reset", "off|on", false,                                              \
         "locomotion: every episode starts somewhere else, not where the first did")               \
  SWITCH(gymnasium_walls, "gymnasium_walls", "off|on", false,                                      \
         "MountainCarContinuous: the left wall stops the car, as in Gymnasium")                    \
  CHOICE(flavour, "id|brax|gymnasium", "locomotion: contacts and integrator; id: as the ID says")  \
  CHOICE(physics, "auto|own|mujoco", "locomotion: our own engine (auto), or the MuJoCo library")

// What is recorded of each update beside the return; training does not change by a bit.
#define MM_LOG_SETTINGS(SWITCH)                                                                    \
  SWITCH(log, "log", "off|on", false,                                                              \
         "train: record losses, entropy, KL and explained variance of every iteration")

// Of MinAtar: mm_env_rules.
#define MM_MINATAR_SETTINGS(CHOICE)                                                                \
  CHOICE(rules, "id|gymnax|minatar", "rule set of MinAtar; id: as the environment's ID says")

// Every struct of settings that has these begins with them. This one does not grow: what is added
// for all comes at the end of each.
typedef struct mm_actor_critic_config {
  size_t size; // of the whole struct that begins with it, set by its mm_.._config_default
  MM_ACTOR_CRITIC_NUMBERS(MM_NUMBER_FIELD)
  MM_ACTOR_CRITIC_SWITCHES(MM_SWITCH_FIELD)
  MM_REAL_SETTINGS(MM_SWITCH_FIELD, MM_CHOICE_FIELD)
  MM_MINATAR_SETTINGS(MM_CHOICE_FIELD)
} mm_actor_critic_config;

// AMPO.
#define MM_AMPO_NUMBERS(NUMBER) NUMBER(eta, 0.9, 1e-6, 1e6, false, "step size of mirror descent")
#define MM_AMPO_SWITCHES(SWITCH)                                                                   \
  SWITCH(code_target, "target", "paper|code", false,                                               \
         "regression target: the equation, or eta twice as in the public code")                    \
  SWITCH(bisect10, "projection", "exact|bisect10", false,                                          \
         "policies to rounding, or by ten bisections")                                             \
  SWITCH(center, "center", "off|on", false, "take the scores' common offset off the target")

typedef struct mm_ampo_config {
  mm_actor_critic_config net; // first, as in all that have it
  MM_AMPO_NUMBERS(MM_NUMBER_FIELD)
  MM_AMPO_SWITCHES(MM_SWITCH_FIELD)
  MM_ETA_SETTINGS(MM_FACTORS_FIELD)
  MM_LOG_SETTINGS(MM_SWITCH_FIELD)
} mm_ampo_config;

// PPO, on softmax or Gaussian policies.
#define MM_PPO_NUMBERS(NUMBER)                                                                     \
  NUMBER(policy_clip, 0.2, 1e-6, 1e6, false, "PPO clip range: ratios count within 1 -+ this")      \
  NUMBER(entropy_coef, 0.01, 0, 1e6, false, "weight of the policy's entropy")

typedef struct mm_ppo_config {
  mm_actor_critic_config net;
  MM_PPO_NUMBERS(MM_NUMBER_FIELD)
  MM_LOG_SETTINGS(MM_SWITCH_FIELD)
} mm_ppo_config;

// PMD with Gaussian policies.
#define MM_GAUSSIAN_NUMBERS(NUMBER)                                                                \
  NUMBER(eta, 0.5, 1e-6, 1e6, false, "step size of mirror descent")                                \
  NUMBER(density_scale, 1, 1e-30, 1e30, false, "the map is applied to this times a density")

typedef struct mm_gaussian_config {
  mm_actor_critic_config net;
  MM_GAUSSIAN_NUMBERS(MM_NUMBER_FIELD)
  MM_ETA_SETTINGS(MM_FACTORS_FIELD)
  MM_LOG_SETTINGS(MM_SWITCH_FIELD)
} mm_gaussian_config;

// Each learner with its own numbers: AMPO with the paper's for CartPole and Acrobot, PMD with
// Gaussian policies with those for Hopper, HalfCheetah and Ant, PPO with the numbers its users are
// used to: four epochs, rate 0.00025, gradient norm 0.5.
#define MM_CONFIG_DEFAULT(id, which, name)                                                         \
  MM_API void mm_##which##_config_init(mm_##which##_config *out, size_t size);                     \
  static inline mm_##which##_config mm_##which##_config_default(void) {                            \
    mm_##which##_config config;                                                                    \
    mm_##which##_config_init(&config, sizeof config);                                              \
    return config;                                                                                 \
  }
MM_ALGO_LIST(MM_CONFIG_DEFAULT)
#undef MM_CONFIG_DEFAULT

// ---------------------------------------------------------------------------------------------
// Jobs

// What is common to all jobs of a list is shared; everything must outlive the call.
typedef struct mm_job {
  const mm_env *env;
  const mm_map *map; // NULL: the map of the search point below, made when the job begins
  mm_algo algo;
  const void *config; // the learner's settings: an mm_<..>_config, or a plug-in's numbers, double
                      // [n_setting]; NULL is MM_ERR_INPUT
  uint64_t seed;      // names the instance of the environment and all random numbers of the run
  uint32_t repeat;    // runs on the same instance with other random numbers; usually 0
  const struct mm_job_hooks *hooks; // for whoever follows the training, see below; or NULL
  const void *state; // where to go on from, as hooks->save was given it; or NULL and 0
  size_t state_size;
  double until; // > 0: a run of learners with networks pauses after this fraction of its length,
                // with what it came to as its result and its state saved by the hooks; 0: never
  // A candidate of a search (mm_map_from_search). One that makes no usable map is MM_ERR_NUMERIC.
  struct {
    mm_map_kind kind;
    size_t n;
    const double *z; // of the anchors one after the other, where there are several
    size_t stages;   // anchors (mm_map_create_stages); 0 as 1
    double eta;      // its step size; 0: that of the settings
  } point;
} mm_job;

// Actor and critic of one agent, with their optimiser; policy.h makes something of them.
typedef struct mm_net mm_net;

struct mm_result;

// How a training is followed from outside: kept to go on later, its networks and its result taken
// at the end. Only learners with networks have states and networks; runs of tabular PMD take
// milliseconds. Functions are called by the thread that runs the job, for different jobs at the
// same time; any of them may be NULL. `job` is the caller's own, so job - list is its place.
typedef struct mm_job_hooks {
  // Where the job stands, between two iterations: every `save_seconds` (0: never), when it is
  // interrupted and where it pauses (mm_job.until). The bytes are the callee's to copy. A job that
  // begins with them as its `state` goes on to the same bits as one that was never stopped.
  void (*save)(const mm_job *job, const void *state, size_t size, void *user);
  double save_seconds;
  // The networks of a job that came to its end, or the last ones of one that broke down
  // numerically. They are the library's, for the time of the call.
  void (*trained)(const mm_job *job, mm_net *net, void *user);
  // The result of a job as mm_job_run is about to return it, interrupted ones included.
  void (*ended)(const mm_job *job, const struct mm_result *result, void *user);
  // Trains in the place of the job's own algorithm, for those who measure more of a run; the
  // columns of the result's `measure` are theirs to name. Such a job is done by this process's
  // threads, wherever the others go.
  mm_status (*run)(const mm_job *job, const volatile int *stop, struct mm_result *result,
                   void *user);
  void *user;
} mm_job_hooks;

// What the samples of a Gaussian policy's updates met, an update each: effective sample size (its
// share, 1 where the policy has not moved), largest |log p/q|, divergence from the policy that
// acted, and how many samples came to the ends of the densities' range, to a bound within the map,
// or were not finite. Divergences are PMD's, NaN otherwise. Last, how often the physics of an
// environment was not to be trusted (mm_vec_unstable), from the beginning on.
#define MM_GAUSSIAN_MEASURES(X)                                                                    \
  X(ESS, "ess")                                                                                    \
  X(LOG_RATIO, "log_ratio_max")                                                                    \
  X(DIVERGENCE, "divergence")                                                                      \
  X(CLAMPED, "clamped")                                                                            \
  X(CAPPED, "capped")                                                                              \
  X(NONFINITE, "nonfinite")                                                                        \
  X(UNSTABLE, "unstable")

// With log=on, of learners with networks (docs/ampo.md has the definitions): mean losses over the
// samples of all epochs; entropy, divergence from the policy that acted, share of samples whose
// ratio of probabilities is beyond PPO's clip range and number of actions with a probability above
// 0, all of the policy after the update; and how much of the variance of returns the critic
// explained before it. What is not defined for a learner is NaN.
#define MM_LOG_MEASURES(X)                                                                         \
  X(POLICY_LOSS, "policy_loss")                                                                    \
  X(VALUE_LOSS, "value_loss")                                                                      \
  X(ENTROPY, "entropy")                                                                            \
  X(APPROX_KL, "approx_kl")                                                                        \
  X(CLIP_FRACTION, "clip_fraction")                                                                \
  X(SUPPORT, "support")                                                                            \
  X(EXPLAINED_VARIANCE, "explained_variance")

#define MM_MEASURE_LIST(X) MM_GAUSSIAN_MEASURES(X) MM_LOG_MEASURES(X)

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
  double *measure; // [n_curve][MM_MEASURES] of continuous actions and with log=on; else, and for
                   // results that were read back, NULL; belongs to the result
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
