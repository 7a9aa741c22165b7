// SPDX-License-Identifier: Apache-2.0
// States as bytes: numbers in the order of memory (the machines are little-endian), each at any
// address, and a checksum behind all of them. FNV-1a goes through one bijection per byte, so damage
// of any single byte is certain to show.

#ifndef MM_AGENT_STATE_BYTES_H
#define MM_AGENT_STATE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

enum { MM_STATE_MARK = 16, MM_STATE_CHECKSUM = 8 };

static inline unsigned char *mm_state_put(unsigned char *to, const void *from, size_t size) {
  memcpy(to, from, size);
  return to + size;
}

static inline const unsigned char *mm_state_get(const unsigned char *from, void *to, size_t size) {
  memcpy(to, from, size);
  return from + size;
}

static inline uint64_t mm_state_checksum(const unsigned char *byte, size_t n) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ byte[i]) * 0x100000001b3;
  return hash;
}

// Ends a state that began at `start`; `to` is where its checksum goes.
static inline void mm_state_seal(const unsigned char *start, unsigned char *to) {
  uint64_t sum = mm_state_checksum(start, (size_t)(to - start));
  memcpy(to, &sum, sizeof sum);
}

// Does the checksum at the end of state[size] fit?
static inline int mm_state_is_sealed(const unsigned char *state, size_t size) {
  uint64_t sum;
  if (size < MM_STATE_CHECKSUM) return 0;
  memcpy(&sum, state + size - sizeof sum, sizeof sum);
  return sum == mm_state_checksum(state, size - sizeof sum);
}

// The bytes are a whole state as it was saved: at least head_size of them, which begin with the
// mark and the version, and sealed. `what` begins errors.
static inline mm_status mm_state_check(const unsigned char *state, size_t size, const char *what,
                                       const unsigned char mark[MM_STATE_MARK], uint64_t version,
                                       size_t head_size) {
  uint64_t found = 0;
  if (size < head_size || memcmp(state, mark, MM_STATE_MARK) != 0)
    return MM_FAIL(MM_ERR_INPUT, "%s: these %zu bytes are none", what, size);
  mm_state_get(state + MM_STATE_MARK, &found, sizeof found);
  if (found != version)
    return MM_FAIL(MM_ERR_INPUT, "%s: version %llu: expected %llu", what, (unsigned long long)found,
                   (unsigned long long)version);
  if (!mm_state_is_sealed(state, size))
    return MM_FAIL(MM_ERR_INPUT, "%s: damaged, the checksum does not fit", what);
  return MM_OK;
}

#endif
