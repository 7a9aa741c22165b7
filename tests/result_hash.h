// SPDX-License-Identifier: Apache-2.0
// One number for everything of a result but its times: FNV-1a.

#ifndef MM_TEST_RESULT_HASH_H
#define MM_TEST_RESULT_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "mirrormap/agent.h"

static inline uint64_t mix(uint64_t hash, const void *data, size_t size) {
  const unsigned char *byte = data;
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ byte[i]) * 0x100000001b3;
  return hash;
}

static inline uint64_t hash_of(const mm_result *r) {
  uint64_t hash = 0xcbf29ce484222325;
  hash = mix(hash, &r->status, sizeof r->status);
  hash = mix(hash, &r->final_value, sizeof r->final_value);
  hash = mix(hash, &r->recent_value, sizeof r->recent_value);
  hash = mix(hash, &r->optimal_value, sizeof r->optimal_value);
  hash = mix(hash, &r->env_steps, sizeof r->env_steps);
  hash = mix(hash, &r->n_curve, sizeof r->n_curve);
  if (r->n_curve == 0) return hash;
  hash = mix(hash, r->curve, r->n_curve * sizeof *r->curve);
  return mix(hash, r->curve_step, r->n_curve * sizeof *r->curve_step);
}

#endif
