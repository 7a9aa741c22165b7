// SPDX-License-Identifier: Apache-2.0
#include "agent/gae.h"

#include <stddef.h>

#include "laws/gae.h"

// Time is the outer loop: environments are independent and lie side by side.
void mm_gae_estimate(const mm_gae *g) {
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
