// SPDX-License-Identifier: Apache-2.0
// --threads, --backend, --devices and --job-timeout, for the commands that train, and what they say
// when it is the devices that cannot.

#ifndef MM_CLI_BACKEND_ARGUMENT_H
#define MM_CLI_BACKEND_ARGUMENT_H

#include "backend/backend.h"
#include "cli/core/command.h"
#include "mirrormap/settings.h"
#include "mirrormap/study.h"

enum { BACKEND_THREADS_MAX = 4096, BACKEND_DEVICES_MAX = 64 };

typedef struct backend_args {
  uint64_t threads;
  const char *backend, *devices;
  double job_timeout;
  mm_backend_place place; // what they say, once chosen
} backend_args;

extern const char *const backend_names[];

// Options for arguments of `args_type` with a field `backend_args on`.
// clang-format off
#define BACKEND_OPTIONS(args_type)                                                                 \
  OPTION_OF(args_type, COUNT, "threads", on.threads, "N",                                          \
            "agents trained in parallel (default: one per core); results are the same",            \
            .low = 1, .high = BACKEND_THREADS_MAX),                                                \
  OPTION_OF(args_type, CHOICE, "backend", on.backend, NULL,                                        \
            "where to train; auto: cuda if this machine has a device that can, else cpu",          \
            .choices = backend_names, .fallback = "auto"),                                         \
  OPTION_OF(args_type, TEXT, "devices", on.devices, "N,..",                                        \
            "CUDA devices to use, as 'mirrormap devices' counts them (default: all)",             \
            .rare = true),                                                                         \
  OPTION_OF(args_type, NUMBER, "job-timeout", on.job_timeout, "S",                                 \
            "an agent not trained after this time has failed (on CPU; default: never)",            \
            .low = 0, .low_open = true, .high = 1e9, .rare = true)
// clang-format on

// Where to train, from the options; keeps the list of devices until the next call. What this build
// or machine does not have, or what is no list of devices, is reported.
int backend_choose(backend_args *on);

// For whoever advances a study: place, threads and times of the options, until interrupt_watch's
// flag.
typedef void backend_progress(size_t done, size_t total, uint64_t env_steps, void *user);
mm_study_machine backend_machine(const backend_args *on, backend_progress *progress, void *user);

// What devices cannot do, with mm_last_error() as the reason: one line, EXIT_USAGE.
int backend_refuse(void);

// With --backend cuda: whether devices can train with these settings; if not, reported. To be asked
// before anything is made or gone on with.
int backend_check(const mm_backend_place *place, const mm_env *env, const mm_settings *settings);

// For the hint how to resume after a failure: " --backend cpu" where a device failed or was too
// small, "" otherwise. May change mm_last_error().
const char *backend_hint(const mm_backend_place *place, mm_status status);

#endif
