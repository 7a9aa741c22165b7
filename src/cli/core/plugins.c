// SPDX-License-Identifier: Apache-2.0
#include "cli/core/plugins.h"

#include <stdlib.h>
#include <string.h>

#include "cli/core/memory.h"
#include "cli/core/terminal.h"
#include "mirrormap/agent.h"
#include "mirrormap/plugin.h"

enum { PLUGIN_ALGOS_MAX = 64 };

const char *algo_names[MM_ALGO_COUNT + PLUGIN_ALGOS_MAX + 1] = {
#define NAME(id, config, name) [MM_ALGO_##id] = name,
  MM_ALGO_LIST(NAME)
#undef NAME
};

static int load(const char *path, const char *whence) {
  const mm_status status = mm_plugin_load(path);
  if (status == MM_OK) return EXIT_DONE;
  return fail(status == MM_ERR_INPUT ? EXIT_USAGE : EXIT_FAILED, "%s: %s", whence, mm_last_error());
}

static int load_list(const char *list) {
  int code = EXIT_DONE;
  while (list != NULL && code == EXIT_DONE) {
    const size_t length = strcspn(list, ":");
    char *path = memory_text(list, length);
    if (length > 0) code = load(path, "MIRRORMAP_PLUGINS");
    free(path);
    list = list[length] == ':' ? list + length + 1 : NULL;
  }
  return code;
}

int plugins_load(char *const *argv) {
  static const char option[] = "--plugin";
  const size_t length = sizeof option - 1;
  int code = load_list(getenv("MIRRORMAP_PLUGINS"));
  for (; *argv != NULL && strcmp(*argv, "--") != 0 && code == EXIT_DONE; argv++) {
    if (strncmp(*argv, option, length) != 0) continue;
    const char *path = (*argv)[length] == '=' ? *argv + length + 1 : argv[1];
    const bool given = (*argv)[length] == '=' || (*argv)[length] == '\0';
    if (given && path != NULL && path[0] != '\0' && path[0] != '-') code = load(path, option);
  }
  for (size_t i = MM_ALGO_COUNT; i < MM_ALGO_COUNT + PLUGIN_ALGOS_MAX; i++)
    algo_names[i] = mm_algo_name((mm_algo)i);
  return code;
}
