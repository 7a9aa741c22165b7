// States as bytes: numbers in the order of memory (the machines are little-endian), each at any
// address, and a checksum behind all of them. FNV-1a goes through one bijection per byte, so damage
// of any single byte is certain to show.

#ifndef MM_AGENT_STATE_BYTES_H
#define MM_AGENT_STATE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#endif
