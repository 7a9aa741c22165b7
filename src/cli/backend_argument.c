#include "cli/backend_argument.h"

#include <string.h>

#include "cli/terminal.h"

const char *const backend_names[] = { "auto", "cpu", "cuda", NULL };

int backend_check(const char *name) {
  if (strcmp(name, "cuda") != 0) return EXIT_DONE;
  return fail(EXIT_FAILED, "backend 'cuda' is not part of this build (use --backend cpu)");
}
