// SPDX-License-Identifier: Apache-2.0
#include "base/config.h"

#include <string.h>

#include "base/status.h"

void mm_config_give(const void *ours, size_t most, void *out, size_t size) {
  memset(out, 0, size);
  memcpy(out, ours, size < most ? size : most);
  memcpy(out, &size, sizeof size);
}

mm_status mm_config_take(const char *name, const void *from, void *to, size_t most) {
  size_t size;
  memcpy(&size, from, sizeof size);
  if (size <= sizeof size || size > most || size % sizeof size != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: size = %zu: expected %zu, as %s_default() sets it", name,
                   size, most, name);
  memcpy(to, from, size);
  memcpy(to, &most, sizeof most);
  return MM_OK;
}
