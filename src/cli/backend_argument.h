// --threads and --backend, for the commands that train.

#ifndef MM_CLI_BACKEND_ARGUMENT_H
#define MM_CLI_BACKEND_ARGUMENT_H

#include "cli/command.h"

enum { BACKEND_THREADS_MAX = 4096 };

extern const char *const backend_names[];

// Options for arguments of `args_type` with the fields `uint64_t threads` and `const char
// *backend`.
// clang-format off
#define BACKEND_OPTIONS(args_type)                                                                 \
  { .name = "threads",                                                                             \
    .type = OPTION_COUNT,                                                                          \
    .offset = offsetof(args_type, threads),                                                        \
    .metavar = "N",                                                                                \
    .help = "agents trained at a time (default: one per core); results are the same",              \
    .low = 1,                                                                                      \
    .high = BACKEND_THREADS_MAX },                                                                 \
  { .name = "backend",                                                                             \
    .type = OPTION_CHOICE,                                                                         \
    .offset = offsetof(args_type, backend),                                                        \
    .choices = backend_names,                                                                      \
    .fallback = "auto",                                                                            \
    .help = "where to train" }
// clang-format on

// Reports a backend that this build does not have; EXIT_DONE otherwise.
int backend_check(const char *name);

#endif
