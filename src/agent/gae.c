#include "agent/gae.h"

#include <math.h>
#include <stddef.h>

// Time is the outer loop: environments are independent and lie side by side.
void mm_gae_estimate(const mm_gae *g) {
  const size_t n = (size_t)g->n_env;
  const float gamma = g->gamma, decay = g->gamma * g->lambda;
  for (size_t t = (size_t)g->n_step; t-- > 0;) {
    const int last = t + 1 == (size_t)g->n_step;
    for (size_t e = 0; e < n; e++) {
      const size_t i = t * n + e;
      const float alive = g->end[i] ? 0.0f : 1.0f, v = g->value[i];
      const float delta = fmaf(gamma * alive, g->value[i + n], g->reward[i]) - v;
      const float carried = last ? 0.0f : g->advantage[i + n];
      g->advantage[i] = fmaf(decay * alive, carried, delta);
      g->target[i] = g->advantage[i] + v;
    }
  }
}
