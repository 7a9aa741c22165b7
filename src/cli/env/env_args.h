// What `env show` and `env play` have in common: their arguments, which of these belong to which
// environment, and trained policies, which `eval` opens too.

#ifndef MM_CLI_ENV_ARGS_H
#define MM_CLI_ENV_ARGS_H

#include "cli/core/command.h"
#include "mirrormap/env.h"
#include "mirrormap/policy.h"

// The arguments of both commands; each has options for its own. The settings are places among their
// names, counted from 1, so that they are the values of the library's types; 0: not given.
typedef struct env_args {
  command_args common;
  uint64_t seed, index;
  // settings: of Grid-World, and of all others
  double gamma;
  int termination;
  int rules, flavour, physics;      // mm_env_rules, mm_env_flavour, mm_env_physics
  int gymnasium_walls, fresh_reset; // SWITCH_OFF, SWITCH_ON
  // who plays
  const char *policy; // NULL, "random", or what was trained
  uint64_t agent;     // of the latter
  bool greedy;
  // of `env show`
  bool exact, optimal;
  const char *map, *frames;
  uint64_t steps, every;
  // of `env play`
  const char *keys;
  uint64_t episodes;
  double fps;
} env_args;

enum { SWITCH_OFF = 1, SWITCH_ON = 2, TERMINATION_RESTART = 2 };

extern const char *const env_rules_names[], *const env_flavour_names[], *const env_physics_names[];
extern const char *const env_termination_names[];
const option *env_settings(void);

// clang-format off
#define ENV_OPTIONS(seed_text)                                                                     \
  OPTION_OF(env_args, COUNT, "seed", seed, "N", seed_text, .fallback = "0"),                       \
  OPTION_OF(env_args, COUNT, "index", index, "K", "which instance of the seed (Grid-World)",       \
            .fallback = "0")
#define ENV_AGENT_OPTIONS                                                                          \
  OPTION_OF(env_args, COUNT, "agent", agent, "I",                                                  \
            "which one of a trained policy, from 0 (default 0)"),                                  \
  OPTION_OF(env_args, FLAG, "greedy", greedy, NULL,                                                \
            "a trained policy takes its most probable action instead of drawing one")
// clang-format on

// Names of options, ended by NULL, that only one kind of environment has.
typedef struct env_options {
  const char *const *grid; // --index and so on
  const char *const *vec;  // all others
} env_options;

// Opens the environment `id` and refuses options and settings that it does not have. Reports what
// is wrong and returns its exit code.
int env_args_open(const command *c, const env_args *args, const char *id,
                  const env_options *options, mm_env **out);

// ---------------------------------------------------------------------------------------------
// Trained policies: --policy with the folder of a run or a file

// A policy with the environment it is to play in.
typedef struct policy_argument {
  mm_policy *policy;
  mm_policy_info info;
  mm_env *env;
  mm_env_rules rules;
  mm_player *player; // of one agent, or NULL
} policy_argument;

// Opens the policy and the environment `id`, or its own where that is NULL. Its rules (of MinAtar)
// are those of `rules`, else those it was trained with, unless the ID names others. Reports what is
// wrong, also an environment that the policy does not fit, and returns the exit code. Release in
// either case.
int policy_argument_open(const char *text, const char *id, mm_env_rules rules,
                         policy_argument *out);
void policy_argument_release(policy_argument *argument);

bool env_policy_trained(const env_args *args);

// Refuses --agent and --greedy without a trained policy.
int env_policy_check(const command *c, const env_args *args);

// Opens the trained policy for the environment `id`, its own where that is NULL, with a player, and
// sets the rules and the flavour and physics to those it was trained with, unless others were asked
// for.
int env_policy_open(env_args *args, const char *id, policy_argument *out);

// ---------------------------------------------------------------------------------------------
// The parts of the commands. They return the exit code; `player` is NULL for random actions.

int grid_show(const char *id, const env_args *args);
int vec_show(const mm_env *env, const env_args *args);

// `env show --frames`: an episode of a policy as a contact sheet.
int grid_frames(const char *id, const env_args *args);
int vec_frames(const mm_env *env, const env_args *args, mm_player *player);

int grid_play(const char *id, const env_args *args);
int vec_play(const mm_env *env, const env_args *args, mm_player *player);

#endif
