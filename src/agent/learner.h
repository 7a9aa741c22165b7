// SPDX-License-Identifier: Apache-2.0
// A learner as an object: its settings, what it is for and how it runs a job. One file each
// (learner_<config>.c), one line each in MM_ALGO_LIST; the rest of the program asks the table.

#ifndef MM_AGENT_LEARNER_H
#define MM_AGENT_LEARNER_H

#include "mirrormap/agent.h"
#include "mirrormap/plugin.h"
#include "mirrormap/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------
// Settings

// A line of one of the lists of settings.
typedef struct mm_setting {
  const char *key;
  mm_setting_type type;
  size_t offset; // of the field in its struct
  const char *help;
  double value, least, most; // of a number: default and range, both ends included
  bool whole;
  const char *words; // of a switch or choice: "a|b|c", the default first
  bool first;        // of a switch: what the first word means
} mm_setting;

// Lines of lists as entries of a table, for the fields of a struct.
#define MM_NUMBER_OF(type_, field, value_, least_, most_, whole_, help_)                           \
  { .key = #field,                                                                                 \
    .type = MM_SETTING_NUMBER,                                                                     \
    .offset = offsetof(type_, field),                                                              \
    .help = help_,                                                                                 \
    .value = value_,                                                                               \
    .least = least_,                                                                               \
    .most = most_,                                                                                 \
    .whole = whole_ },
#define MM_SWITCH_OF(type_, field, key_, words_, first_, help_)                                    \
  { .key = key_,                                                                                   \
    .type = MM_SETTING_SWITCH,                                                                     \
    .offset = offsetof(type_, field),                                                              \
    .help = help_,                                                                                 \
    .words = words_,                                                                               \
    .first = first_ },
#define MM_CHOICE_OF(type_, field, words_, help_)                                                  \
  { .key = #field,                                                                                 \
    .type = MM_SETTING_CHOICE,                                                                     \
    .offset = offsetof(type_, field),                                                              \
    .help = help_,                                                                                 \
    .words = words_ },

#define MM_FACTORS_OF(type_, field, help_)                                                         \
  { .key = #field,                                                                                 \
    .type = MM_SETTING_FACTORS,                                                                    \
    .offset = offsetof(type_, field),                                                              \
    .help = help_,                                                                                 \
    .least = 1e-6,                                                                                 \
    .most = 1e6 },

// Of the common settings, which every config with networks begins with.
#define MM_COMMON_NUMBER(...) MM_NUMBER_OF(mm_actor_critic_config, __VA_ARGS__)
#define MM_COMMON_SWITCH(...) MM_SWITCH_OF(mm_actor_critic_config, __VA_ARGS__)
#define MM_COMMON_CHOICE(...) MM_CHOICE_OF(mm_actor_critic_config, __VA_ARGS__)

// ---------------------------------------------------------------------------------------------
// Learners

// What a learner's policies choose from.
enum {
  MM_SUITS_TABLES = 1,   // tables of states: Grid-World
  MM_SUITS_DISCRETE = 2, // one of some actions
  MM_SUITS_REAL = 4      // actions are numbers
};

struct mm_ampo_method;

typedef struct mm_learner {
  const mm_setting *setting; // [n_setting] in the order in which they are listed
  size_t n_setting;
  size_t config_size;
  const char *config_name; // of the struct, which begins with its size; NULL: a plug-in's numbers
  unsigned suits;          // MM_SUITS_* or-ed
  unsigned on_device;      // for which of these devices have kernels; 0: it runs on the CPU only
  bool exact;              // its values are exact, not means of returns that were seen
  bool networks;           // it leaves networks behind: job_hooks.h

  // Changes the defaults of the lists to its own; NULL: none.
  void (*adjust)(void *config);
  // Changes them further to what the environments of a preset want; NULL: nothing.
  void (*fit)(void *config, const char *preset);
  // Runs a job from start to end. `map` is the job's, or the one made of its search point. `result`
  // comes zeroed, its values NaN. MM_ERR_NUMERIC with a point on the curve is a result.
  mm_status (*run)(const mm_job *job, const mm_map *map, const volatile int *stop,
                   mm_result *result);
  // What it makes of the training loop that learners with networks share (ampo.h); NULL for those
  // that have a loop of their own.
  void (*method)(const void *config, struct mm_ampo_method *out);
} mm_learner;

const mm_learner *mm_learner_of(mm_algo algo);

// Learners that there are, those of plug-ins included; their numbers are below it. Their names,
// ended by NULL, to which plugin_learner.c adds one.
size_t mm_algo_count(void);
extern const char *mm_algo_names[];
void mm_algo_enter(const char *name);

// A job's; NULL and MM_ERR_INPUT's sentence for one without an algorithm.
const mm_learner *mm_learner_of_job(const mm_job *job);

// The setting of that key; NULL if it has none.
const mm_setting *mm_learner_setting(const mm_learner *learner, const char *key);

// The number of that key in one of its configs; NULL if it has none.
double *mm_learner_number(const mm_learner *learner, void *config, const char *key);

// The same, as a value: `otherwise` if it has none.
double mm_job_number(const mm_job *job, const char *key, double otherwise);

// Its defaults.
void mm_learner_default(const mm_learner *learner, void *config);

// Those of a program that may have been compiled with fewer; `config` has room for all.
mm_status mm_learner_take(const mm_learner *learner, const void *from, void *config);

// All numbers are within their ranges, and whole where they must be.
mm_status mm_learner_check(const mm_learner *learner, const void *config);

// ---------------------------------------------------------------------------------------------
// Learners of plug-ins (plugin_learner.c): their numbers of mm_algo lie behind the built-in ones

enum { MM_PLUGIN_LEARNERS_MOST = 16, MM_PLUGIN_KEYS_MOST = 32 };

// Can there be such a learner? One whose name is taken, or too many, is MM_ERR_INPUT.
mm_status mm_plugin_learner_check(const mm_plugin_learner *law);

// Adds one that was checked. Before threads are started.
void mm_plugin_learner_add(const mm_plugin_learner *law);

// What states of their runs begin with (MM_STATE_MARK bytes).
extern const unsigned char mm_plugin_state_mark[];

// The i-th; NULL past the end.
const mm_plugin_learner *mm_plugin_learner_law(size_t i);
const mm_learner *mm_plugin_learner_at(size_t i);

#ifdef __cplusplus
}
#endif

#endif
