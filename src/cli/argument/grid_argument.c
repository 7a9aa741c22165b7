// Grid-World tasks as they appear on the command line.

#include "cli/argument/grid_argument.h"

#include <inttypes.h>
#include <string.h>

#include "cli/core/output.h"
#include "env/grid/grid_task.h"

int grid_argument_open(const char *id, uint64_t seed, uint64_t index, mm_grid **out) {
  mm_env *env = NULL;
  *out = NULL;
  mm_status status = mm_env_open(id, &env);
  if (status == MM_OK) status = mm_grid_draw(env, seed, index, out);
  mm_env_destroy(env);
  return status == MM_OK ? EXIT_DONE : fail_reading(status, "");
}

static bool ends_in(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length >= tail && strcmp(text + length - tail, end) == 0;
}

const char *grid_instance(const char *id, uint64_t seed, uint64_t index) {
  if (strchr(id, '/') != NULL || ends_in(id, ".yaml") || ends_in(id, ".yml")) return "";
  return output_format("  seed %" PRIu64 ", index %" PRIu64, seed, index);
}
