// SPDX-License-Identifier: Apache-2.0
// Public structs of settings begin with their size, for a program may have been compiled with fewer
// fields than we have, or with more.

#ifndef MM_BASE_CONFIG_H
#define MM_BASE_CONFIG_H

#include <stddef.h>
#include <string.h>

#include "base/status.h"

// Gives a program a struct of ours, of `most` bytes, as one of `size`: as much as it has room for;
// what lies behind ours is 0.
static inline void mm_config_give(const void *ours, size_t most, void *out, size_t size) {
  memset(out, 0, size);
  memcpy(out, ours, size < most ? size : most);
  memcpy(out, &size, size < sizeof size ? size : sizeof size);
}

// Takes a program's struct: what it has replaces the beginning of `to`, which has the defaults and
// `most` bytes. MM_ERR_INPUT, with the name of the struct, for a size that cannot be: not whole
// words, no more than the size itself, or above ours.
static inline mm_status mm_config_take(const char *name, const void *from, void *to, size_t most) {
  size_t size;
  memcpy(&size, from, sizeof size);
  if (size <= sizeof size || size > most || size % sizeof size != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: size = %zu: expected %zu, as %s_default() sets it", name,
                   size, most, name);
  memcpy(to, from, size);
  memcpy(to, &most, sizeof most);
  return MM_OK;
}

#endif
