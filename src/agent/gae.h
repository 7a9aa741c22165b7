// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation over a batch.

#ifndef MM_AGENT_GAE_H
#define MM_AGENT_GAE_H

#include <stdint.h>

// Backwards through T steps of N environments; all arrays [T][N], `value` [T + 1][N] with the value
// of what follows the last step behind. `end` nonzero: the episode ends with the step. The target
// of the critic is G = A + V.
typedef struct mm_gae {
  int32_t n_step, n_env;
  float gamma, lambda;
  const float *reward, *value;
  const uint8_t *end;
  float *advantage, *target;
} mm_gae;

void mm_gae_estimate(const mm_gae *g);

#endif
