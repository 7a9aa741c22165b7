// Hyper-parameters and switches of an algorithm, and how `learn` searches, by name: the one list
// behind presets, --set and the settings that every result repeats.

#ifndef MM_EXPERIMENT_SETTINGS_H
#define MM_EXPERIMENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "mirrormap/agent.h"
#include "mirrormap/evolve.h"

typedef enum mm_algo {
  MM_ALGO_PMD,
  MM_ALGO_AMPO,
  MM_ALGO_PPO,
  MM_ALGO_GAUSSIAN,
  MM_ALGO_COUNT
} mm_algo;

const char *mm_algo_name(mm_algo algo);
bool mm_algo_find(const char *name, mm_algo *out);

// Whether a mirror map makes its policies. PPO has none: a plan's negentropy is there to no effect.
bool mm_algo_has_map(mm_algo algo);

// ---------------------------------------------------------------------------------------------
// The keys of a search: name, default for tabular PMD (the paper's), least, most, whole, meaning.
// The defaults of the others are in mm_settings_default.

#define MM_SEARCH_NUMBERS(X)                                                                       \
  X(population, 512, 4, 1e6, 1, "candidates of a generation; ampo 128")                            \
  X(generations, 512, 1, 1e9, 1, "generations of the search; ampo 600, pmd-gaussian 256")          \
  X(sigma, 0, 0, 1e3, 0,                                                                           \
    "spread of the candidates at the start (0: 0.5 for neural, 2 for piecewise maps)")             \
  X(sigma_decay, 0.995, 1e-3, 1, 0, "openes: factor of sigma after every generation")              \
  X(sigma_min, 0.01, 0, 1e3, 0, "openes: sigma does not fall below")                               \
  X(es_lr, 0.01, 1e-9, 1e3, 0, "openes: learning rate of Adam")                                    \
  X(seeds_per_member, 1, 1, 65536, 1, "trainings per candidate and environment")                   \
  X(n, 100, 1, 100000, 1, "steps of a piecewise map")                                              \
  X(validation_every, 16, 1, 1e9, 1, "generations between two validations of the mean; ampo 10")   \
  X(validation_tasks, 64, 2, 1e6, 1,                                                               \
    "fixed tasks of a validation, for each environment; ampo 16, pmd-gaussian 8")

// Key, its words with the default first, what help shows of them, meaning.
#define MM_SEARCH_WORDS(X)                                                                         \
  X(kind, "neural|piecewise", "neural|piecewise", "family of maps to search in; ampo piecewise")   \
  X(es, "openes|openes:evosax-0.3|sep-cma-es|sep-cma-es:isotropic|sep-cma-es:evosax-0.3", "ES",    \
    "evolution strategy, as --es; ampo sep-cma-es")                                                \
  X(shaping, "auto|pair|rank|raw", "auto|pair|rank|raw",                                           \
    "openes: what is made of fitness (auto: pair; for evosax-0.3 rank)")                           \
  X(controls, "cheap|full", "cheap|full",                                                          \
    "validation beside negentropy, l2, a random and the initial map, or also with eta tuned")      \
  X(common_numbers, "on|off", "on|off",                                                            \
    "both members of a pair see the same random numbers, or only the same task")

typedef struct mm_phase {
  int64_t generations;
  double steps; // of each training; 0: as the algorithm's settings say
} mm_phase;

enum { MM_PHASES_MAX = 16, MM_SCHEDULE_SIZE = 256 };

typedef struct mm_search {
#define MM_SEARCH_FIELD(name, value, least, most, whole, help) double name;
  MM_SEARCH_NUMBERS(MM_SEARCH_FIELD)
#undef MM_SEARCH_FIELD
#define MM_SEARCH_FIELD(name, words, shown, help) int name;
  MM_SEARCH_WORDS(MM_SEARCH_FIELD) // the place in the list of words
#undef MM_SEARCH_FIELD
  char
      schedule[MM_SCHEDULE_SIZE]; // "500x1000000,100x10000000": generations x steps; "-": one phase
} mm_search;

mm_map_kind mm_search_map_kind(const mm_search *search);
mm_es_config mm_search_es(const mm_search *search, uint64_t seed);

// The phases of the search; returns how many.
size_t mm_search_phases(const mm_search *search, mm_phase out[MM_PHASES_MAX]);

// Everything an algorithm can be told, of which the part of `algo` counts, and the search around
// it.
typedef struct mm_settings {
  mm_algo algo;
  mm_pmd_config pmd;
  mm_ampo_config ampo; // and PPO, and PMD with Gaussian policies
  mm_search search;
} mm_settings;

// ---------------------------------------------------------------------------------------------
// The keys of the algorithms: name, what help shows of its values, meaning, defaults. A key means
// the same to all algorithms that have it. Numbers and their ranges are those of MM_PMD_NUMBERS and
// so on; a test holds the defaults here against them.

#define MM_KEYS_LIST(X)                                                                            \
  X(steps, "NUMBER", "environment steps of a run, cut to whole iterations",                        \
    "pmd 262144, ampo 500000, ppo 500000, pmd-gaussian 10000000")                                  \
  X(envs, "NUMBER", "environments side by side", "pmd 64, ampo 4, ppo 4, pmd-gaussian 2048")       \
  X(unroll, "NUMBER", "steps of each environment per iteration",                                   \
    "pmd 32, ampo 128, ppo 128, pmd-gaussian 10")                                                  \
  X(minibatches, "NUMBER", "parts of a batch, one gradient step each",                             \
    "ampo 4, ppo 4, pmd-gaussian 128")                                                             \
  X(epochs, "NUMBER", "passes over a batch: gradient steps of pmd, shuffles of the others",        \
    "pmd 32, ampo 16, ppo 4, pmd-gaussian 8")                                                      \
  X(lr, "NUMBER", "learning rate: of pmd's policy, of Adam",                                       \
    "pmd 40, ampo 0.004, ppo 0.00025, pmd-gaussian 0.0001")                                        \
  X(critic_lr, "NUMBER", "learning rate of the value table", "pmd 4")                              \
  X(eta, "NUMBER", "step size of mirror descent", "pmd 0.1, ampo 0.9, pmd-gaussian 0.5")           \
  X(gamma, "NUMBER", "discount of future rewards",                                                 \
    "pmd 0.99, ampo 0.99, ppo 0.99, pmd-gaussian 0.99")                                            \
  X(gae_lambda, "NUMBER", "decay of the advantage estimates",                                      \
    "pmd 0.95, ampo 0.95, ppo 0.95, pmd-gaussian 0.95")                                            \
  X(max_grad_norm, "NUMBER", "bound on the gradient's norm, 0 for none",                           \
    "ampo 1.4, ppo 0.5, pmd-gaussian 1")                                                           \
  X(value_clip, "NUMBER", "how far a value may move in one iteration, 0 for any",                  \
    "ampo 0.2, ppo 0.2, pmd-gaussian 0.2")                                                         \
  X(value_coef, "NUMBER", "weight of the critic's loss", "ampo 0.5, ppo 0.5, pmd-gaussian 0.5")    \
  X(policy_clip, "NUMBER", "ratios of probabilities count within 1 -+ this", "ppo 0.2")            \
  X(entropy_coef, "NUMBER", "weight of the policy's entropy", "ppo 0.01")                          \
  X(hidden, "NUMBER", "units of each of the two hidden layers",                                    \
    "ampo 64, ppo 64, pmd-gaussian 256")                                                           \
  X(density_scale, "NUMBER", "the map is applied to this times a density", "pmd-gaussian 1")       \
  X(termination, "absorb|restart",                                                                 \
    "what follows the end of an episode: nothing, or the start state again", "pmd absorb")         \
  X(normalise_advantage, "on|off",                                                                 \
    "scale advantages (pmd: of a batch; else: of a minibatch) to mean 0 and deviation 1",          \
    "pmd on, ampo on, ppo on, pmd-gaussian on")                                                    \
  X(curve, "final|exact", "exact value of the final policy only, or of every iteration's",         \
    "pmd final")                                                                                   \
  X(anneal, "on|off", "the learning rate falls to 0 in the course of the run",                     \
    "ampo on, ppo on, pmd-gaussian off")                                                           \
  X(activation, "tanh|relu", "of the hidden units", "ampo tanh, ppo tanh, pmd-gaussian tanh")      \
  X(target, "paper|code", "regression target: the equation, or eta twice as in the public code",   \
    "ampo paper")                                                                                  \
  X(projection, "exact|bisect10", "policies to rounding, or by ten bisections", "ampo exact")      \
  X(center, "off|on", "take the scores' common offset off the target", "ampo off")                 \
  X(bootstrap_on_timeout, "off|on", "the value behind a step limit counts",                        \
    "ampo off, ppo off, pmd-gaussian off")                                                         \
  X(normalise_observation, "on|off",                                                               \
    "real actions: observations in units of their running deviation", "ppo on, pmd-gaussian on")   \
  X(scale_reward, "on|off", "real actions: rewards in units of the return's running deviation",    \
    "ppo on, pmd-gaussian on")                                                                     \
  X(fresh_reset, "off|on", "bodies: every episode starts somewhere else, not where the first did", \
    "ppo off, pmd-gaussian off")                                                                   \
  X(gymnasium_walls, "off|on",                                                                     \
    "MountainCarContinuous: the left wall stops the car, as in Gymnasium",                         \
    "ppo off, pmd-gaussian off")                                                                   \
  X(flavour, "id|brax|gymnasium", "contacts and integrator of bodies; id: as the ID says",         \
    "ppo id, pmd-gaussian id")                                                                     \
  X(physics, "auto|own|mujoco", "what moves bodies: our own engine (auto), or the MuJoCo library", \
    "ppo auto, pmd-gaussian auto")                                                                 \
  X(rules, "id|gymnax|minatar", "rule set of MinAtar; id: as the environment's ID says",           \
    "ampo id, ppo id")

// Key, field of the config, its texts for false and true.
#define MM_PMD_SWITCHES(X)                                                                         \
  X(termination, restart, "absorb", "restart")                                                     \
  X(normalise_advantage, normalise_advantage, "off", "on")                                         \
  X(curve, exact_curve, "final", "exact")
#define MM_NET_SWITCHES(X)                                                                         \
  X(normalise_advantage, raw_advantage, "on", "off")                                               \
  X(anneal, constant_lr, "on", "off")                                                              \
  X(activation, relu, "tanh", "relu")                                                              \
  X(bootstrap_on_timeout, bootstrap_on_timeout, "off", "on")
#define MM_AMPO_SWITCHES(X)                                                                        \
  X(target, code_target, "paper", "code")                                                          \
  X(projection, bisect10, "exact", "bisect10")                                                     \
  X(center, center, "off", "on")
// of real actions
#define MM_REAL_SWITCHES(X)                                                                        \
  X(normalise_observation, raw_observation, "on", "off")                                           \
  X(scale_reward, raw_reward, "on", "off")                                                         \
  X(fresh_reset, fresh_reset, "off", "on")                                                         \
  X(gymnasium_walls, gymnasium_walls, "off", "on")
#define MM_REAL_WORDS(X)                                                                           \
  X(flavour, flavour, "id|brax|gymnasium")                                                         \
  X(physics, physics, "auto|own|mujoco")
#define MM_NET_WORDS(X) X(rules, rules, "id|gymnax|minatar")

// Places in the list of all keys, for whoever keeps texts until the algorithm is known.
enum {
#define MM_KEY_PLACE(name, shown, help, defaults) MM_KEY_##name,
  MM_KEYS_LIST(MM_KEY_PLACE) MM_KEYS
#undef MM_KEY_PLACE
};

// Places of the search's keys, counted from the end of those.
enum {
#define MM_SEARCH_NUMBER_KEY(name, value, least, most, whole, help) MM_SEARCH_KEY_##name,
#define MM_SEARCH_WORD_KEY(name, words, shown, help) MM_SEARCH_KEY_##name,
  MM_SEARCH_NUMBERS(MM_SEARCH_NUMBER_KEY) MM_SEARCH_WORDS(MM_SEARCH_WORD_KEY)
      MM_SEARCH_KEY_schedule,
  MM_SEARCH_KEYS
#undef MM_SEARCH_NUMBER_KEY
#undef MM_SEARCH_WORD_KEY
};

enum { MM_SETTINGS_MAX = 64 }; // keys of any algorithm and of the search

// ---------------------------------------------------------------------------------------------

// The paper's values; for AMPO and PPO those of CartPole and Acrobot, for PMD with Gaussian
// policies those of Hopper, HalfCheetah and Ant.
mm_settings mm_settings_default(mm_algo algo);

// Changes them to what an environment's preset (mm_env_info) says; the files of that name in
// presets/ say the same. Names without own values change nothing.
void mm_settings_fit(mm_settings *settings, const char *preset);

// Gives a job the algorithm; the settings must outlive it.
void mm_settings_bind(const mm_settings *settings, mm_job *job);

// Environment steps of a run, in whole iterations, and how many of those there are; set_steps asks
// for others.
double mm_settings_steps(const mm_settings *settings);
double mm_settings_iterations(const mm_settings *settings);
void mm_settings_set_steps(mm_settings *settings, double steps);

// The i-th key of all algorithms together, then those of the search; NULL past the end.
const char *mm_settings_any_key(size_t i);

// The i-th key of an algorithm, then those of the search; NULL past the end.
const char *mm_settings_key(mm_algo algo, size_t i);

// How many of these are the algorithm's own.
size_t mm_settings_own(mm_algo algo);

// Sets what `key` names to what `text` says. Unknown keys (with the nearest valid spelling), texts
// that are no value of that key and numbers out of range are MM_ERR_INPUT and change nothing.
mm_status mm_settings_set(mm_settings *settings, const char *key, const char *text);

// What values an algorithm's own key takes; false for a key that is not among these.
typedef struct mm_setting_about {
  bool number, whole;
  double low, high; // of a number, both included
} mm_setting_about;
bool mm_settings_about(mm_algo algo, const char *key, mm_setting_about *out);

// The value of the algorithm's own key as the text that mm_settings_set takes; "" for another key.
enum { MM_SETTING_TEXT_SIZE = 64 };
const char *mm_settings_text(const mm_settings *settings, const char *key,
                             char out[MM_SETTING_TEXT_SIZE]);

// The algorithm's keys with their values, as an object, and those of the search; texts and numbers
// that mm_settings_set takes back.
cJSON *mm_settings_json(const mm_settings *settings);
cJSON *mm_search_json(const mm_settings *settings);

// Takes such an object back: the keys number first .. end - 1 (mm_settings_key) of settings->algo.
// Every one must be there, and no other; `source` begins errors.
mm_status mm_settings_read(const cJSON *object, const char *source, size_t first, size_t end,
                           mm_settings *settings);

#endif
