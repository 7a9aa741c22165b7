// SPDX-License-Identifier: Apache-2.0
// An allocator that gives only so many blocks, with which tests let every single allocation of a
// call fail once.

#ifndef MM_TEST_SCARCE_MEMORY_H
#define MM_TEST_SCARCE_MEMORY_H

#include <stdlib.h>

#include "mirrormap/base.h"

static size_t allocations_left;

static inline void *scarce_allocate(size_t size, void *user) {
  (void)user;
  return allocations_left == 0 ? NULL : (allocations_left--, malloc(size));
}

static inline void scarce_release(void *block, void *user) {
  (void)user;
  free(block);
}

static inline void make_memory_scarce(void) {
  mm_set_allocator(scarce_allocate, scarce_release, NULL);
}

static inline void make_memory_usual(void) {
  mm_set_allocator(NULL, NULL, NULL);
}

#endif
