// SPDX-License-Identifier: Apache-2.0
// The arena's only arithmetic is rounding up to whole cache lines.

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"

size_t mm_arena_size_of(size_t bytes) {
  if (bytes > SIZE_MAX - (MM_ARENA_ALIGN - 1)) return SIZE_MAX;
  return (bytes + MM_ARENA_ALIGN - 1) / MM_ARENA_ALIGN * MM_ARENA_ALIGN;
}

mm_status mm_arena_create(size_t size, mm_arena *out) {
  memset(out, 0, sizeof *out);
  // the block may start anywhere within a line
  unsigned char *block = NULL;
  if (size <= SIZE_MAX - MM_ARENA_ALIGN) block = mm_alloc(size + MM_ARENA_ALIGN);
  if (!block) return MM_FAIL(MM_ERR_MEMORY, "out of memory: %zu bytes asked for", size);
  out->block = block;
  out->base = block + (MM_ARENA_ALIGN - (uintptr_t)block % MM_ARENA_ALIGN) % MM_ARENA_ALIGN;
  out->size = size;
  memset(out->base, 0, size);
  return MM_OK;
}

void *mm_arena_take(mm_arena *arena, size_t bytes) {
  size_t rounded = mm_arena_size_of(bytes);
  bool fits = rounded <= arena->size - arena->used;
  assert(fits && "the arena was created too small");
  if (!fits) return NULL;
  void *slice = arena->base + arena->used;
  arena->used += rounded;
  return slice;
}

void mm_arena_destroy(mm_arena *arena) {
  mm_free(arena->block);
  memset(arena, 0, sizeof *arena);
}
