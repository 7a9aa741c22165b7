// SPDX-License-Identifier: Apache-2.0
// --out and --resume.

#define _POSIX_C_SOURCE 200809L

#include "cli/argument/run_argument.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/argument/backend_argument.h"
#include "cli/core/memory.h"
#include "cli/core/terminal.h"

int run_argument_refuse(const command *c, const settings_args *args, const char *what,
                        const char *const *fixed) {
  for (; *fixed != NULL; fixed++)
    if (options_given(c, &args->common, *fixed))
      return fail_usage("option '--%s': the %s to be resumed has fixed it", *fixed, what);
  if (memchr(args->common.set, true, sizeof args->common.set) != NULL)
    return fail_usage("option '--set': the %s to be resumed has fixed its settings", what);
  return EXIT_DONE;
}

int run_argument_check_seeds(uint64_t seed, uint64_t seeds) {
  if (seed <= UINT64_MAX - (seeds - 1)) return EXIT_DONE;
  return fail_usage("option '--seed': %" PRIu64 " leaves no room for %" PRIu64 " seeds", seed,
                    seeds);
}

mm_status run_argument_folder(const char *out, const char *stem, run_folder *where) {
  where->made[0] = '\0';
  where->path = out != NULL ? out : where->made;
  return out != NULL ? MM_OK : mm_folder_number("runs", stem, where->made);
}

int run_argument_fail(const run_folder *where, mm_status status) {
  int code = fail_status(status);
  if (where->made[0] != '\0') rmdir(where->made); // empty unless the run was made
  return code;
}

bool run_argument_is_there(const char *folder) {
  char *path = memory_print("%s/run.db", folder);
  struct stat about;
  bool there = stat(path, &about) == 0;
  free(path);
  return there;
}

const char *run_argument_hint(const char *name, const char *folder, const mm_backend_place *place,
                              mm_status status, char out[RUN_HINT_SIZE]) {
  const char *other = backend_hint(place, status);
  out[0] = '\0';
  if (folder != NULL && run_argument_is_there(folder))
    snprintf(out, RUN_HINT_SIZE, "; resume with '%s --resume %s%s'", name, folder, other);
  else if (other[0] != '\0')
    snprintf(out, RUN_HINT_SIZE, "; try it with%s", other);
  return out;
}

int run_argument_check_out(const char *folder, const char *const *names) {
  for (; *names != NULL; names++) {
    char *path = memory_print("%s/%s", folder, *names);
    struct stat found;
    bool there = lstat(path, &found) == 0;
    free(path);
    if (there)
      return fail_usage("option '--out': %s has a %s already; choose another folder", folder,
                        *names);
  }
  return EXIT_DONE;
}

int run_argument_check_name(const char *option_name, const char *text) {
  if (strlen(text) < MM_STUDY_NAME_SIZE) return EXIT_DONE;
  return fail_usage("option '--%s': the name is too long", option_name);
}

const char *run_argument_map(const char *map, const char *algo) {
  mm_algo known;
  bool mapless = algo != NULL && mm_algo_find(algo, &known) && !mm_algo_has_map(known);
  return map == NULL && mapless ? "negentropy" : map;
}
