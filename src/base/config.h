// SPDX-License-Identifier: Apache-2.0
// Public structs of settings begin with their size, for a program may have been compiled with fewer
// fields than we have, or with more.

#ifndef MM_BASE_CONFIG_H
#define MM_BASE_CONFIG_H

#include <stddef.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Gives a program a struct of ours, of `most` bytes, as one of `size`: as much as it has room for;
// what lies behind ours is 0.
void mm_config_give(const void *ours, size_t most, void *out, size_t size);

// Takes a program's struct: what it has replaces the beginning of `to`, which has the defaults and
// `most` bytes. MM_ERR_INPUT, with the name of the struct, for a size that cannot be: not whole
// words, no more than the size itself, or above ours.
mm_status mm_config_take(const char *name, const void *from, void *to, size_t most);

#ifdef __cplusplus
}
#endif

#endif
