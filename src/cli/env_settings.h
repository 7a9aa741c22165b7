// What `env show` and `env play` have in common: the instance, the rules, and which of these belong
// to which environment.

#ifndef MM_CLI_ENV_SETTINGS_H
#define MM_CLI_ENV_SETTINGS_H

#include "cli/command.h"
#include "cli/vec_game.h"

// Both commands' arguments begin with these.
typedef struct env_args {
  command_args common;
  uint64_t seed, index;
  double gamma;                        // Grid-World
  const char *termination;             // Grid-World
  const char *rules, *gymnasium_walls; // as given, or NULL
} env_args;

// clang-format off
#define ENV_INDEX_OPTION                                                                           \
  { .name = "index",                                                                               \
    .type = OPTION_COUNT,                                                                          \
    .offset = offsetof(env_args, index),                                                           \
    .metavar = "K",                                                                                \
    .fallback = "0",                                                                               \
    .help = "which instance of the seed (Grid-World)" }
// clang-format on

extern const option env_settings[];

// Names of options, ended by NULL, that only one kind of environment has.
typedef struct env_options {
  const char *const *grid; // --index and so on
  const char *const *vec;  // classic control and MinAtar
} env_options;

// Opens the environment and refuses options and settings that it does not have. Reports what is
// wrong and returns its exit code.
int env_args_open(const command *c, const env_args *args, const env_options *options, mm_env **out);

vec_game_config env_args_game(const env_args *args);

#endif
