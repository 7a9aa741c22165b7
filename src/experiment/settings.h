// Hyper-parameters and switches of an algorithm, and how `learn` searches, by name: the one list
// behind presets, --set and the settings that every result repeats.

#ifndef MM_EXPERIMENT_SETTINGS_H
#define MM_EXPERIMENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "mirrormap/agent.h"
#include "mirrormap/evolve.h"

typedef enum mm_algo { MM_ALGO_PMD, MM_ALGO_COUNT } mm_algo;

const char *mm_algo_name(mm_algo algo);
bool mm_algo_find(const char *name, mm_algo *out);

// ---------------------------------------------------------------------------------------------
// The keys of a search: name, default for tabular PMD (the paper's), least, most, whole, meaning.

#define MM_SEARCH_NUMBERS(X)                                                                       \
  X(population, 512, 4, 1e6, 1, "candidates of a generation")                                      \
  X(generations, 512, 1, 1e9, 1, "generations of the search")                                      \
  X(sigma, 0, 0, 1e3, 0,                                                                           \
    "spread of the candidates at the start (0: 0.5 for neural, 2 for piecewise maps)")             \
  X(sigma_decay, 0.995, 1e-3, 1, 0, "openes: factor of sigma after every generation")              \
  X(sigma_min, 0.01, 0, 1e3, 0, "openes: sigma does not fall below")                               \
  X(es_lr, 0.01, 1e-9, 1e3, 0, "openes: learning rate of Adam")                                    \
  X(seeds_per_member, 1, 1, 65536, 1, "trainings per candidate and environment")                   \
  X(n, 100, 1, 100000, 1, "steps of a piecewise map")                                              \
  X(validation_every, 16, 1, 1e9, 1, "generations between two validations of the mean")            \
  X(validation_tasks, 64, 2, 1e6, 1, "fixed tasks of a validation, for each environment")

// Key, its words with the default first, what help shows of them, meaning.
#define MM_SEARCH_WORDS(X)                                                                         \
  X(kind, "neural|piecewise", "neural|piecewise", "family of maps to search in")                   \
  X(es, "openes|openes:evosax-0.3|sep-cma-es|sep-cma-es:isotropic|sep-cma-es:evosax-0.3", "ES",    \
    "evolution strategy, as --es")                                                                 \
  X(shaping, "auto|pair|rank|raw", "auto|pair|rank|raw",                                           \
    "openes: what is made of fitness (auto: pair; for evosax-0.3 rank)")                           \
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
  mm_search search;
} mm_settings;

// ---------------------------------------------------------------------------------------------
// The keys of tabular PMD. Its numbers are those of MM_PMD_NUMBERS; what a reader wants to know of
// each is here. Names and order are the same everywhere.

#define MM_PMD_HELP_steps "environment steps of a run, cut to whole iterations"
#define MM_PMD_HELP_envs "environments side by side"
#define MM_PMD_HELP_unroll "steps of each environment per iteration"
#define MM_PMD_HELP_epochs "full-batch gradient steps per iteration"
#define MM_PMD_HELP_lr "learning rate of the policy"
#define MM_PMD_HELP_critic_lr "learning rate of the value table"
#define MM_PMD_HELP_eta "step size of mirror descent"
#define MM_PMD_HELP_gamma "discount of future rewards"
#define MM_PMD_HELP_gae_lambda "decay of the advantage estimates"

// Key, field of the config, its texts for false and true, both with the default first, meaning.
#define MM_PMD_SWITCHES(X)                                                                         \
  X(termination, restart, "absorb", "restart", "absorb|restart",                                   \
    "what follows the end of an episode: nothing, or the start state again")                       \
  X(normalise_advantage, normalise_advantage, "off", "on", "on|off",                               \
    "scale each batch of advantages to mean 0 and deviation 1")                                    \
  X(curve, exact_curve, "final", "exact", "final|exact",                                           \
    "exact value of the final policy only, or of every iteration's")

// Places in the list of keys.
enum {
#define MM_PMD_NUMBER_KEY(name, value, least, most) MM_PMD_KEY_##name,
#define MM_PMD_SWITCH_KEY(name, field, no, yes, both, help) MM_PMD_KEY_##name,
  MM_PMD_NUMBERS(MM_PMD_NUMBER_KEY) MM_PMD_SWITCHES(MM_PMD_SWITCH_KEY) MM_PMD_KEYS
#undef MM_PMD_NUMBER_KEY
#undef MM_PMD_SWITCH_KEY
};

// Places of the search's keys, counted from the end of the algorithm's.
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

// The paper's values.
mm_settings mm_settings_default(mm_algo algo);

// The i-th key of an algorithm, then those of the search; NULL past the end.
const char *mm_settings_key(mm_algo algo, size_t i);

// How many of these are the algorithm's own.
size_t mm_settings_own(mm_algo algo);

// Sets what `key` names to what `text` says. Unknown keys (with the nearest valid spelling), texts
// that are no value of that key and numbers out of range are MM_ERR_INPUT and change nothing.
mm_status mm_settings_set(mm_settings *settings, const char *key, const char *text);

// The algorithm's keys with their values, as an object, and those of the search; texts and numbers
// that mm_settings_set takes back.
cJSON *mm_settings_json(const mm_settings *settings);
cJSON *mm_search_json(const mm_settings *settings);

#endif
