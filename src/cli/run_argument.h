// Runs as they appear on the command line: --out and --resume.

#ifndef MM_CLI_RUN_ARGUMENT_H
#define MM_CLI_RUN_ARGUMENT_H

#include "cli/settings.h"
#include "experiment/plan.h"

// Options for arguments of `args_type` with the fields `double max_seconds` and `double
// save_seconds`.
// clang-format off
#define RUN_MAX_SECONDS_OPTION(args_type)                                                          \
  { .name = "max-seconds",                                                                         \
    .type = OPTION_NUMBER,                                                                         \
    .offset = offsetof(args_type, max_seconds),                                                    \
    .metavar = "S",                                                                                \
    .help = "stop after this time, to be resumed later",                                           \
    .low = 0,                                                                                      \
    .low_open = true,                                                                              \
    .high = 1e9 }
#define RUN_SAVE_SECONDS_OPTION(args_type)                                                         \
  { .name = "save-seconds",                                                                        \
    .type = OPTION_NUMBER,                                                                         \
    .offset = offsetof(args_type, save_seconds),                                                   \
    .metavar = "S",                                                                                \
    .help = "keep the state of unfinished agents this often",                                      \
    .fallback = "60",                                                                              \
    .low = 0,                                                                                      \
    .low_open = true,                                                                              \
    .high = 1e9 }
// clang-format on

// Refuses (EXIT_USAGE) whatever a run that goes on has fixed once and for all: --set, and the
// options in the list, which NULL ends.
int run_argument_refuse(const command *c, const settings_args *args, const char *const *fixed);

// Refuses a folder that has one of these files, before the work is done. A run in it is
// mm_run_create's to refuse.
int run_argument_check_out(const char *folder, const char *const *names);

// A name for a plan; one that is too long is refused.
int run_argument_name(const char *option_name, const char *text, char out[MM_PLAN_NAME_SIZE]);

// --map where it was given; ppo has softmax policies and no choice. NULL: it is missing.
const char *run_argument_map(const char *map, const char *algo);

#endif
