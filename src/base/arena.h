// SPDX-License-Identifier: Apache-2.0
// One block per object; every array of the object is a slice of it.
//
// Sum mm_arena_size_of over the slices, create the arena with that size, then take the slices in
// any order. One allocation can fail in one place, and one call releases everything.

#ifndef MM_BASE_ARENA_H
#define MM_BASE_ARENA_H

#include <stddef.h>

#include "mirrormap/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Slices start at multiples of this: a cache line, and the widest vector register.
enum { MM_ARENA_ALIGN = 64 };

typedef struct mm_arena {
  void *block;         // as allocated
  unsigned char *base; // the first aligned byte of it
  size_t size;         // from base
  size_t used;
} mm_arena;

// What a slice of so many bytes takes up: rounded up to a multiple of 64. A request that cannot be
// rounded becomes SIZE_MAX, which no arena can hold.
size_t mm_arena_size_of(size_t bytes);

// Zeroed memory for `size` bytes of slices; MM_ERR_MEMORY leaves an empty arena.
mm_status mm_arena_create(size_t size, mm_arena *out);

// The next slice, zeroed and aligned. Asking for more than was created is a programmer's mistake:
// an assertion, and NULL where those are compiled out.
void *mm_arena_take(mm_arena *arena, size_t bytes);

// Releases the block and with it all slices; an empty arena is fine.
void mm_arena_destroy(mm_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
