// SPDX-License-Identifier: Apache-2.0
// Environments as they appear on the command line.

#ifndef MM_CLI_ENV_ARGUMENT_H
#define MM_CLI_ENV_ARGUMENT_H

#include "cli/core/command.h"
#include "cli/core/plugins.h"
#include "env/description.h"
#include "mirrormap/env.h"
#include "mirrormap/settings.h"

// --algo for arguments of `args_type` with the field `const char *algo`. Help shows the names in
// `shown`: NULL for all; commands that are about maps show ENV_MIRROR_ALGOS, and refuse the others
// by their own words.
#define ENV_ALGO_WORD(id, config, name) "|" name
#define ENV_MIRROR_ALGOS (&(MM_MIRROR_ALGO_LIST(ENV_ALGO_WORD))[1])
// clang-format off
#define ENV_ALGO_OPTION(args_type, shown, whose)                                                   \
  OPTION_OF(args_type, CHOICE, "algo", algo, shown, "the algorithm, instead of " whose " own",     \
            .choices = algo_names)
// clang-format on

// Refuses (EXIT_USAGE) a learner that takes no map, as ppo: there is nothing `to_do` ("to learn")
// with it.
int env_argument_refuse_mapless(const char *asked, const char *to_do);

// The algorithm that was asked for, else the environment's own. Reports an environment that has
// none, as `name`, and returns EXIT_USAGE.
int env_argument_algo(const char *asked, const mm_env *env, const char *name, mm_algo *out);

// The name of the environment's preset; a task file's is that of the Grid-Worlds.
const char *env_argument_preset(const mm_env *env);

// Warns where a training run is too short for an episode to end, and so for any return but 0.
void env_argument_warn(const mm_env *env, const mm_settings *settings);

// The beginning of a run folder's name: "learn-GridWorld-all"; "learn-maze" for tasks/maze.yaml.
void env_argument_stem(const char *verb, const char *env, char *out, size_t size);

// ---------------------------------------------------------------------------------------------
// What a user wants to know about an environment, and what a player of it needs, beside what the
// library itself tells (mm_env_info, mm_vec_info)

typedef enum env_group {
  GROUP_GRID,
  GROUP_CLASSIC,
  GROUP_BODY,
  GROUP_MINATAR,
  GROUP_PLUGIN
} env_group;
env_group env_group_of(const char *id);
extern const char *const env_group_names[];

// Whom a setting is for, if not for this environment; NULL: it has it, or all have.
const char *env_setting_owner(const char *key, env_group group, const char *id);

// All but Grid-Worlds; NULL for those.
const mm_env_facts *env_facts_find(const char *id);

// "Hopper, HalfCheetah and Ant": all that physics moves.
const char *env_body_names(void);

// Nothing but the limit ends an episode there.
bool env_facts_endless(const char *id);

#endif
