// What `env show` and `env play` have in common: the instance, the rules, and which of these belong
// to which environment.

#ifndef MM_CLI_ENV_SETTINGS_H
#define MM_CLI_ENV_SETTINGS_H

#include "cli/core/command.h"
#include "cli/env/policy_argument.h"
#include "cli/env/vec_game.h"

// Both commands' arguments begin with these.
typedef struct env_args {
  command_args common;
  uint64_t seed, index;
  double gamma;                        // Grid-World
  const char *termination;             // Grid-World
  const char *rules, *gymnasium_walls; // as given, or NULL
  const char *flavour, *physics, *fresh_reset;
} env_args;

// clang-format off
#define ENV_SEED_OPTION(text)                                                                      \
  OPTION_OF(env_args, COUNT, "seed", seed, "N", text, .fallback = "0")
#define ENV_INDEX_OPTION                                                                           \
  OPTION_OF(env_args, COUNT, "index", index, "K", "which instance of the seed (Grid-World)",       \
            .fallback = "0")
// clang-format on

extern const option env_settings[];

// Names of options, ended by NULL, that only one kind of environment has.
typedef struct env_options {
  const char *const *grid; // --index and so on
  const char *const *vec;  // all others
} env_options;

// Opens the environment `id` and refuses options and settings that it does not have. Reports what
// is wrong and returns its exit code.
int env_args_open(const command *c, const env_args *args, const char *id,
                  const env_options *options, mm_env **out);

// --policy, --agent and --greedy.
typedef struct env_policy {
  const char *name; // NULL, "random", or what was trained
  uint64_t agent;
  bool greedy;
} env_policy;

// clang-format off
#define ENV_AGENT_OPTIONS(args_type)                                                               \
  OPTION_OF(args_type, COUNT, "agent", policy.agent, "I",                                          \
            "which one of a trained policy, from 0 (default 0)"),                                  \
  OPTION_OF(args_type, FLAG, "greedy", policy.greedy, NULL,                                        \
            "a trained policy takes its most probable action instead of drawing one")
// clang-format on

bool env_policy_trained(const env_policy *policy);

// Refuses --agent and --greedy without a trained policy.
int env_policy_check(const command *c, const command_args *args, const env_policy *policy);

// Opens a trained policy for the environment `id`, its own where that is NULL, and gives the game
// its rules and its body's flavour and physics, unless others were asked for, and a player. Reports
// what is wrong and returns its exit code. Release both with env_policy_release in either case.
int env_policy_open(const env_policy *policy, const char *id, policy_argument *opened,
                    vec_game_config *game);
void env_policy_release(policy_argument *opened, vec_game_config *game);

vec_game_config env_args_game(const env_args *args);

#endif
