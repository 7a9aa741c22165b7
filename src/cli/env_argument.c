// Environments as they appear on the command line.

#include "cli/env_argument.h"

#include <string.h>

#include "cli/terminal.h"
#include "env/grid_task.h"

int env_argument_algo(const char *asked, const mm_env *env, const char *name, mm_algo *out) {
  const char *algo = asked;
  mm_env_info info;
  for (size_t i = 0; algo == NULL && mm_env_list(i, &info); i++)
    if (strcmp(info.id, mm_env_id(env)) == 0) algo = info.algo;
  if (algo == NULL && mm_env_is_grid(env)) algo = mm_algo_name(MM_ALGO_PMD); // a task file
  if (algo != NULL && mm_algo_find(algo, out)) return EXIT_DONE;
  return fail_usage("environment '%s' needs --algo", name);
}
