// Environments as they appear on the command line.

#ifndef MM_CLI_ENV_ARGUMENT_H
#define MM_CLI_ENV_ARGUMENT_H

#include "cli/core/command.h"
#include "mirrormap/env.h"
#include "study/settings/settings.h"

extern const char *const env_argument_algos[];

// --algo for arguments of `args_type` with the field `const char *algo`. Help shows the names in
// `shown`: commands that are about maps leave ppo out, and refuse it by its own words.
// clang-format off
#define ENV_ALGO_OPTION(args_type, shown, whose)                                                   \
  OPTION_OF(args_type, CHOICE, "algo", algo, shown, "the algorithm, instead of " whose " own",     \
            .choices = env_argument_algos)
// clang-format on

// Refuses (EXIT_USAGE) ppo, which takes no map: there is nothing `to_do` ("to learn") with it.
int env_argument_refuse_ppo(const char *asked, const char *to_do);

// The algorithm that was asked for, else the environment's own. Reports an environment that has
// none, as `name`, and returns EXIT_USAGE.
int env_argument_algo(const char *asked, const mm_env *env, const char *name, mm_algo *out);

// The name of the environment's preset; a task file's is that of the Grid-Worlds.
const char *env_argument_preset(const mm_env *env);

// Says so where a training is too short for an episode to end, and so for any value but 0.
void env_argument_warn(const mm_env *env, const mm_settings *settings);

// The beginning of a run folder's name: "learn-GridWorld-all"; "learn-maze" for tasks/maze.yaml.
void env_argument_stem(const char *verb, const char *env, char *out, size_t size);

#endif
