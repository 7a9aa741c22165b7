// SPDX-License-Identifier: Apache-2.0
// Runs as they appear on the command line: --out and --resume.

#ifndef MM_CLI_RUN_ARGUMENT_H
#define MM_CLI_RUN_ARGUMENT_H

#include "backend/backend.h"
#include "cli/argument/settings.h"
#include "files/folder.h"
#include "mirrormap/study.h"

// Options for arguments of `args_type` with fields of their names.
// clang-format off
#define RUN_MAP_OPTION(args_type)                                                                  \
  OPTION_OF(args_type, TEXT, "map", map, "MAP", "the mirror map; not needed for ppo")
#define RUN_RESUME_OPTION(args_type, what)                                                         \
  OPTION_OF(args_type, TEXT, "resume", resume, "RUN",                                              \
            "resume the " what " in this folder")
#define RUN_FIRST_SEED_OPTION(args_type)                                                           \
  OPTION_OF(args_type, COUNT, "seed", seed, "S", "seed of the first; the others follow it",        \
            .fallback = "0")
#define RUN_MAX_SECONDS_OPTION(args_type)                                                          \
  OPTION_OF(args_type, NUMBER, "max-seconds", max_seconds, "S",                                    \
            "stop after this time, to be resumed with --resume", .low = 0, .low_open = true,       \
            .high = 1e9)
#define RUN_SAVE_SECONDS_OPTION(args_type)                                                         \
  OPTION_OF(args_type, NUMBER, "save-seconds", save_seconds, "S",                                  \
            "checkpoint unfinished agents this often", .fallback = "60", .low = 0,                 \
            .low_open = true, .high = 1e9, .rare = true)
// clang-format on

// Refuses (EXIT_USAGE) whatever a study that is resumed (`what`: "run") has fixed once and for all:
// --set, and the options in the list, which NULL ends.
int run_argument_refuse(const command *c, const settings_args *args, const char *what,
                        const char *const *fixed);

// Refuses seeds seed .. seed + seeds - 1 that do not fit into 64 bits.
int run_argument_check_seeds(uint64_t seed, uint64_t seeds);

// Where a new run goes: the folder of --out, else one of its own, runs/<stem>-<n>, which is made.
typedef struct run_folder {
  const char *path;
  char made[MM_PATH_SIZE]; // "" with --out
} run_folder;
mm_status run_argument_folder(const char *out, const char *stem, run_folder *where);

// Reports why there is no run after all, and takes the folder away if it was made for it.
int run_argument_fail(const run_folder *where, mm_status status);

// Whether the folder still has its run: it may have been moved or removed meanwhile.
bool run_argument_is_there(const char *folder);

// "; resume with 'NAME --resume FOLDER'", on another backend if it was this one that failed;
// without a folder, or a run in it any more, only that, or "".
enum { RUN_HINT_SIZE = MM_PATH_SIZE + 64 };
const char *run_argument_hint(const char *name, const char *folder, const mm_backend_place *place,
                              mm_status status, char out[RUN_HINT_SIZE]);

// Refuses a folder that has one of these files, before the work is done. A run in it is
// mm_study_create's to refuse.
int run_argument_check_out(const char *folder, const char *const *names);

// Refuses a name that is too long for a study.
int run_argument_check_name(const char *option_name, const char *text);

// --map where it was given; learners without a map, as ppo, have no choice. NULL: it is missing.
const char *run_argument_map(const char *map, const char *algo);

#endif
