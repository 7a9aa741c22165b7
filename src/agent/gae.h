// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation over a batch.

#ifndef MM_AGENT_GAE_H
#define MM_AGENT_GAE_H

#include <stddef.h>
#include <stdint.h>

#include "laws/gae.h"

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

// Time is the outer loop: environments are independent and lie side by side.
static inline void mm_gae_estimate(const mm_gae *g) {
  const size_t n = (size_t)g->n_env;
  const float gamma = g->gamma, decay = g->gamma * g->lambda;
  for (size_t t = (size_t)g->n_step; t-- > 0;) {
    const int last = t + 1 == (size_t)g->n_step;
    for (size_t e = 0; e < n; e++) {
      const size_t i = t * n + e;
      const float alive = g->end[i] ? 0.0f : 1.0f, v = g->value[i];
      const float delta = mm_gae_delta_f(gamma, alive, g->reward[i], v, g->value[i + n]);
      const float after = last ? 0.0f : g->advantage[i + n];
      g->advantage[i] = mm_gae_advantage_f(decay, alive, delta, after);
      g->target[i] = g->advantage[i] + v;
    }
  }
}

#endif
