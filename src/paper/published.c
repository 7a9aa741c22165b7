// SPDX-License-Identifier: Apache-2.0
// The transfer table of the paper; its figures give no numbers.

#include "paper/published.h"

#include <math.h>
#include <string.h>

const char *const mm_published_envs[MM_PUBLISHED_ENVS] = { "Acrobot-v1", "CartPole-v1",
                                                           "Asterix-MinAtar", "Freeway-MinAtar",
                                                           "SpaceInvaders-MinAtar" };

// Rows: the map learned on each environment, then the negative entropy. Columns: trained on.
static const double finals[MM_PUBLISHED_ENVS + 1][MM_PUBLISHED_ENVS] = {
  { -88.49, 476.41, 24.03, 56.00, 144.01 },  { -83.76, 499.93, 27.26, 52.26, 100.07 },
  { -103.55, 490.86, 30.22, 58.56, 122.00 }, { -82.51, 457.47, 3.20, 58.21, 143.93 },
  { -78.29, 489.56, 4.36, 22.27, 170.24 },   { -105.63, 359.14, 17.80, 53.69, 81.77 },
};

size_t mm_published_env(const char *id) {
  size_t i = 0;
  while (i < MM_PUBLISHED_ENVS && strcmp(mm_published_envs[i], id) != 0)
    i++;
  return i;
}

double mm_published_final(size_t map, size_t env) {
  return map <= MM_PUBLISHED_ENVS && env < MM_PUBLISHED_ENVS ? finals[map][env] : NAN;
}

bool mm_published_is_better(size_t map, size_t env) {
  return map < MM_PUBLISHED_ENVS &&
         mm_published_final(map, env) > mm_published_final(MM_PUBLISHED_ENVS, env);
}
