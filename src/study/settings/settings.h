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

// "openes|.." in the order of mm_es_kind.
#define MM_ES_WORD(name, text, file) "|" text
#define MM_ES_WORDS (&(MM_ES_LIST(MM_ES_WORD))[1])

// Key, its words with the default first, what help shows of them, meaning.
#define MM_SEARCH_WORDS(X)                                                                         \
  X(kind, "neural|piecewise", "neural|piecewise", "family of maps to search in; ampo piecewise")   \
  X(es, MM_ES_WORDS, "ES", "evolution strategy, as --es; ampo sep-cma-es")                         \
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
// The keys of the algorithms. A key means the same to all algorithms that have it. Every one is a
// line here: a number's default and range, whether it is whole and which algorithms have it are in
// the lists of agent.h (MM_PMD_NUMBERS and so on).

#define MM_NUMBER_KEYS(X)                                                                          \
  X(steps, "environment steps of a run, cut to whole iterations")                                  \
  X(envs, "environments side by side")                                                             \
  X(unroll, "steps of each environment per iteration")                                             \
  X(minibatches, "parts of a batch, one gradient step each")                                       \
  X(epochs, "passes over a batch: gradient steps of pmd, shuffles of the others")                  \
  X(lr, "learning rate: of pmd's policy, of Adam")                                                 \
  X(critic_lr, "learning rate of the value table")                                                 \
  X(eta, "step size of mirror descent")                                                            \
  X(gamma, "discount of future rewards")                                                           \
  X(gae_lambda, "decay of the advantage estimates")                                                \
  X(max_grad_norm, "bound on the gradient's norm, 0 for none")                                     \
  X(value_clip, "how far a value may move in one iteration, 0 for any")                            \
  X(value_coef, "weight of the critic's loss")                                                     \
  X(policy_clip, "ratios of probabilities count within 1 -+ this")                                 \
  X(entropy_coef, "weight of the policy's entropy")                                                \
  X(hidden, "units of each of the two hidden layers")                                              \
  X(density_scale, "the map is applied to this times a density")

// Key, its words in the order of the field's values, the fields of pmd's and of the others' configs
// (settings.c: IN, NOT for a bool the other way round, NONE), who of the others has it, meaning.
#define MM_WORD_KEYS(X)                                                                            \
  X(termination, "absorb|restart", IN(pmd.restart), NONE, 0,                                       \
    "what follows the end of an episode: nothing, or the start state again")                       \
  X(normalise_advantage, "on|off", NOT(pmd.normalise_advantage), IN(ampo.raw_advantage), NETS,     \
    "scale advantages (pmd: of a batch; else: of a minibatch) to mean 0 and deviation 1")          \
  X(curve, "final|exact", IN(pmd.exact_curve), NONE, 0,                                            \
    "exact value of the final policy only, or of every iteration's")                               \
  X(anneal, "on|off", NONE, IN(ampo.constant_lr), NETS,                                            \
    "the learning rate falls to 0 in the course of the run")                                       \
  X(activation, "tanh|relu", NONE, IN(ampo.relu), NETS, "of the hidden units")                     \
  X(bootstrap_on_timeout, "off|on", NONE, IN(ampo.bootstrap_on_timeout), NETS,                     \
    "bootstrap from the value at truncation")                                                      \
  X(target, "paper|code", NONE, IN(ampo.code_target), AMPO,                                        \
    "regression target: the equation, or eta twice as in the public code")                         \
  X(projection, "exact|bisect10", NONE, IN(ampo.bisect10), AMPO,                                   \
    "policies to rounding, or by ten bisections")                                                  \
  X(center, "off|on", NONE, IN(ampo.center), AMPO,                                                 \
    "take the scores' common offset off the target")                                               \
  X(normalise_observation, "on|off", NONE, IN(ampo.raw_observation), PPO | GAUSSIAN,               \
    "continuous actions: observations in units of their running deviation")                        \
  X(scale_reward, "on|off", NONE, IN(ampo.raw_reward), PPO | GAUSSIAN,                             \
    "continuous actions: rewards in units of the return's running deviation")                      \
  X(fresh_reset, "off|on", NONE, IN(ampo.fresh_reset), PPO | GAUSSIAN,                             \
    "locomotion: every episode starts somewhere else, not where the first did")                    \
  X(gymnasium_walls, "off|on", NONE, IN(ampo.gymnasium_walls), PPO | GAUSSIAN,                     \
    "MountainCarContinuous: the left wall stops the car, as in Gymnasium")                         \
  X(flavour, "id|brax|gymnasium", NONE, IN(ampo.flavour), PPO | GAUSSIAN,                          \
    "locomotion: contacts and integrator; id: as the ID says")                                     \
  X(physics, "auto|own|mujoco", NONE, IN(ampo.physics), PPO | GAUSSIAN,                            \
    "locomotion: our own engine (auto), or the MuJoCo library")                                    \
  X(rules, "id|gymnax|minatar", NONE, IN(ampo.rules), AMPO | PPO,                                  \
    "rule set of MinAtar; id: as the environment's ID says")

// Places in the list of all keys, for whoever keeps texts until the algorithm is known.
enum {
#define MM_KEY_NUMBER(name, help) MM_KEY_##name,
#define MM_KEY_WORD(name, words, pmd, net, whose, help) MM_KEY_##name,
  MM_NUMBER_KEYS(MM_KEY_NUMBER) MM_WORD_KEYS(MM_KEY_WORD) MM_KEYS
#undef MM_KEY_NUMBER
#undef MM_KEY_WORD
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

enum { MM_SETTINGS_MAX = (int)MM_KEYS + (int)MM_SEARCH_KEYS }; // of any algorithm and of the search

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

// "pmd 40, ampo 0.004, ..": the defaults of those algorithms that have the key.
enum { MM_SETTING_DEFAULTS_SIZE = 256 };
const char *mm_settings_defaults(const char *key, char out[MM_SETTING_DEFAULTS_SIZE]);

// The algorithm's keys with their values, as an object, and those of the search; texts and numbers
// that mm_settings_set takes back.
cJSON *mm_settings_json(const mm_settings *settings);
cJSON *mm_search_json(const mm_settings *settings);

// Takes such an object back: the keys number first .. end - 1 (mm_settings_key) of settings->algo.
// Every one must be there, and no other; `source` begins errors.
mm_status mm_settings_read(const cJSON *object, const char *source, size_t first, size_t end,
                           mm_settings *settings);

#endif
