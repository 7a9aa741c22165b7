// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters and switches of a learner, and how `learn` searches, by name: what is behind
// presets, --set and the settings that every result repeats. The learners' own keys are the lists
// of mirrormap/agent.h.

#ifndef MM_EXPERIMENT_SETTINGS_H
#define MM_EXPERIMENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/learner.h"
#include "base/json.h"
#include "map/family.h"
#include "mirrormap/agent.h"
#include "mirrormap/evolve.h"
#include "mirrormap/plugin.h"
#include "mirrormap/settings.h"

// ---------------------------------------------------------------------------------------------
// The keys of a search, in lines as those of learners; the defaults are tabular PMD's (the
// paper's), those of the others are in mm_settings_default.

#define MM_SEARCH_NUMBERS(X)                                                                       \
  X(population, 512, 4, 1e6, true, "candidates of a generation; ampo 128")                         \
  X(generations, 512, 1, 1e9, true, "generations of the search; ampo 600, pmd-gaussian 256")       \
  X(sigma, 0, 0, 1e3, false,                                                                       \
    "spread of the candidates at the start (0: 2 for piecewise maps, 0.5 for the others)")         \
  X(sigma_decay, 0.995, 1e-3, 1, false, "openes: factor of sigma after every generation")          \
  X(sigma_min, 0.01, 0, 1e3, false, "openes: sigma does not fall below")                           \
  X(es_lr, 0.01, 1e-9, 1e3, false, "openes: learning rate of Adam")                                \
  X(restarts, 0, 0, 20, true,                                                                      \
    "cma-es, sep-cma-es: new starts with twice the candidates after convergence, at most")         \
  X(seeds_per_member, 1, 1, 65536, true, "training runs per candidate and environment")            \
  X(n, 100, 1, 100000, true, "steps of a piecewise map; terms of kind powers, at most 8")          \
  X(stages, 1, 1, 4, true,                                                                         \
    "anchors of maps that move, at equal fractions of a training run; 1: maps that do not")        \
  X(validation_every, 16, 1, 1e9, true,                                                            \
    "generations between two validations of the mean; ampo 10")                                    \
  X(validation_tasks, 64, 2, 1e6, true,                                                            \
    "fixed tasks of a validation, for each environment; ampo 16, pmd-gaussian 8")                  \
  X(tune_budget, 0, 0, 1e18, true,                                                                 \
    "controls=full: steps of tuning for each control and environment, by successive halving (0: "  \
    "as many as nine values of eta with eight runs each)")

// "openes|.." in the order of mm_es_kind.
#define MM_ES_WORD(name, text, file) "|" text
#define MM_ES_WORDS (&(MM_ES_LIST(MM_ES_WORD))[1])

#define MM_SEARCH_WORDS(X)                                                                         \
  X(kind, mm_map_search_words, "family of maps to search in; ampo piecewise")                      \
  X(es, MM_ES_WORDS, "evolution strategy, as --es; ampo sep-cma-es")                               \
  X(shaping, "auto|pair|rank|raw",                                                                 \
    "openes: what is made of fitness (auto: pair; for evosax-0.3 rank)")                           \
  X(search, "both|shape|scale|simplex",                                                            \
    "what moves: both; shape at the start's phi^-1(1) - phi^-1(1/2); a factor of the start's "     \
    "phi^-1; shape with psi on the simplex")                                                       \
  X(search_eta, "off|on", "the step size is searched as well: log eta is one more coordinate")     \
  X(controls, "cheap|full",                                                                        \
    "validation beside negentropy, l2, a random and the initial map, or also beside the first "    \
    "two with eta and Tsallis with q and eta tuned")                                               \
  X(racing, "off|on", "drop the worse half of the candidates at fractions of their training runs") \
  X(common_numbers, "on|off",                                                                      \
    "both members of a pair see the same random numbers, or only the same task")

// Texts: field, room with its 0, default and help. Which texts are values, mm_settings_set knows.
enum { MM_PHASES_MAX = 16, MM_SCHEDULE_SIZE = 256, MM_INIT_SIZE = 512, MM_FITNESS_SIZE = 32 };

#define MM_SEARCH_TEXTS(X)                                                                         \
  X(init, MM_INIT_SIZE, "-",                                                                       \
    "map to start from, as --init: a name or a file (- for the family's own start)")               \
  X(schedule, MM_SCHEDULE_SIZE, "-",                                                               \
    "phases of G generations with that many steps a training run, instead of generations and "     \
    "steps (- for one phase; MinAtar 500x1000000,100x10000000)")                                   \
  X(fitness, MM_FITNESS_SIZE, "mean",                                                              \
    "of a candidate's runs: their mean, their median, or the mean of the worst share A (CVaR)")

// The words of `search`.
enum { MM_SEARCH_BOTH, MM_SEARCH_SHAPE, MM_SEARCH_SCALE, MM_SEARCH_SIMPLEX };

typedef struct mm_phase {
  int64_t generations;
  double steps; // of each training; 0: as the algorithm's settings say
} mm_phase;

typedef struct mm_search {
  MM_SEARCH_NUMBERS(MM_NUMBER_FIELD)
  MM_SEARCH_WORDS(MM_CHOICE_FIELD) // the place in the list of words
#define MM_TEXT_FIELD(field, size, ...) char field[size];
  MM_SEARCH_TEXTS(MM_TEXT_FIELD)
#undef MM_TEXT_FIELD
} mm_search;

// The map that the search starts from, as mm_map_open takes it; NULL: the family's own start.
const char *mm_search_init(const mm_search *search);

mm_map_kind mm_search_map_kind(const mm_search *search);
mm_es_config mm_search_es(const mm_search *search, uint64_t seed);

// What is made of a candidate's returns: `share` 0 is the median, else the mean of that share of
// the worst. The mean of all, the default, is told apart from cvar:1 (see learn_score.c).
typedef struct mm_fitness {
  bool mean;
  double share;
} mm_fitness;
mm_fitness mm_search_fitness(const mm_search *search);

// The phases of the search; returns how many.
size_t mm_search_phases(const mm_search *search, mm_phase out[MM_PHASES_MAX]);

// What a learner is told, and the search around it.
struct mm_settings {
  mm_algo algo;
  union {                       // of `algo`
    mm_actor_critic_config net; // what all learners with networks begin with
#define MM_SETTINGS_FIELD(id, config, name) mm_##config##_config config;
    MM_ALGO_LIST(MM_SETTINGS_FIELD)
#undef MM_SETTINGS_FIELD
    double plugin[MM_PLUGIN_SETTINGS]; // of a plug-in's learner
  };
  mm_search search;
};

// The learner of `algo`.
const mm_learner *mm_settings_learner(const mm_settings *settings);

// What the learner has in common with others that have networks; NULL if it has none.
const mm_actor_critic_config *mm_settings_net(const mm_settings *settings);

// The learner's number of that key; NULL if it has none.
double *mm_settings_number(mm_settings *settings, const char *key);

// The step size of a run's last iteration, which a trained policy's scores are multiplied with; 1
// for learners without eta.
double mm_settings_last_eta(const mm_settings *settings);

// The search's keys.
enum {
#define MM_ONE(...) +1
  MM_SEARCH_KEYS = MM_SEARCH_NUMBERS(MM_ONE) MM_SEARCH_WORDS(MM_ONE) MM_SEARCH_TEXTS(MM_ONE)
#undef MM_ONE
};

// ---------------------------------------------------------------------------------------------

// The paper's values; for AMPO and PPO those of CartPole and Acrobot, for PMD with Gaussian
// policies those of Hopper, HalfCheetah and Ant.
mm_settings mm_settings_default(mm_algo algo);

// Asks for another number of environment steps.
void mm_settings_set_steps(mm_settings *settings, double steps);

// The i-th key of all learners together, then those of the search; NULL past the end. A key that
// several have comes once, as the first of them has it.
const mm_setting *mm_settings_any(size_t i);
const char *mm_settings_any_key(size_t i);

// How many of these are the learners'.
size_t mm_settings_any_own(void);

// The i-th key of an algorithm, then those of the search; NULL past the end.
const char *mm_settings_key(mm_algo algo, size_t i);

// How many of these are the algorithm's own.
size_t mm_settings_own(mm_algo algo);

// The algorithm's keys with their values, as an object, and those of the search; texts and numbers
// that mm_settings_set takes back.
cJSON *mm_settings_json(const mm_settings *settings);
cJSON *mm_search_json(const mm_settings *settings);

// Takes such an object back: the keys number first .. end - 1 (mm_settings_key) of settings->algo.
// Every one must be there, and no other; `source` begins errors.
mm_status mm_settings_read(const cJSON *object, const char *source, size_t first, size_t end,
                           mm_settings *settings);

#endif
