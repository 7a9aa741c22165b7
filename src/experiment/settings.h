// Hyper-parameters and switches of an algorithm by name: the one list behind presets, --set and the
// settings that every result repeats.

#ifndef MM_EXPERIMENT_SETTINGS_H
#define MM_EXPERIMENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "mirrormap/agent.h"

typedef enum mm_algo { MM_ALGO_PMD, MM_ALGO_COUNT } mm_algo;

const char *mm_algo_name(mm_algo algo);
bool mm_algo_find(const char *name, mm_algo *out);

// Everything an algorithm can be told; the part of `algo` counts.
typedef struct mm_settings {
  mm_algo algo;
  mm_pmd_config pmd;
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

enum { MM_SETTINGS_MAX = 32 }; // keys of any algorithm

// ---------------------------------------------------------------------------------------------

// The paper's values.
mm_settings mm_settings_default(mm_algo algo);

// The i-th key of an algorithm; NULL past the end.
const char *mm_settings_key(mm_algo algo, size_t i);

// Sets what `key` names to what `text` says. Unknown keys (with the nearest valid spelling), texts
// that are no value of that key and numbers out of range are MM_ERR_INPUT and change nothing.
mm_status mm_settings_set(mm_settings *settings, const char *key, const char *text);

// All keys with their values, as an object; texts and numbers that mm_settings_set takes back.
cJSON *mm_settings_json(const mm_settings *settings);

#endif
