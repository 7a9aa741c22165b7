// SPDX-License-Identifier: Apache-2.0
// Steps 4096 CartPoles with random actions, one thread, and reports the mean return and the speed.
// The library allocates nothing per step: observations, rewards and ends go into our buffers.
//
//   cc examples/03_environments.c $(pkg-config --cflags --libs mirrormap) -o environments

#include <mirrormap/env.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 4096, STEPS = 2000 };

static float obs[4 * N], reward[N], running[N];
static uint8_t end[N];
static int32_t action[N];

static int give_up(void) {
  fprintf(stderr, "%s\n", mm_last_error());
  return EXIT_FAILURE;
}

// Any source of actions will do; a policy would look at obs[i * n_input ...].
static void choose_actions(uint32_t *noise) {
  for (int i = 0; i < N; i++) {
    *noise = *noise * 1664525u + 1013904223u;
    action[i] = (int32_t)(*noise >> 31);
  }
}

int main(void) {
  mm_env *env;
  mm_vec *vec;
  if (mm_env_open("CartPole-v1", &env) != MM_OK) return give_up();
  mm_vec_config config = mm_vec_config_default();
  config.n = N;
  config.seed = 1;
  if (mm_vec_create(env, &config, &vec) != MM_OK) return give_up();

  mm_vec_info info;
  mm_vec_describe(vec, &info);
  printf("%zu environments, %d inputs, %d actions, %zu bytes of observations\n", info.n,
         info.n_input, info.n_action, info.obs_size);

  mm_vec_out out = { .obs = obs, .reward = reward, .end = end };
  if (mm_vec_reset(vec, &out) != MM_OK) return give_up();
  double total = 0, episodes = 0, seconds;
  uint32_t noise = 1;
  struct timespec from, to;
  timespec_get(&from, TIME_UTC);
  for (int t = 0; t < STEPS; t++) {
    choose_actions(&noise);
    if (mm_vec_step(vec, action, &out) != MM_OK) return give_up();
    for (int i = 0; i < N; i++) {
      running[i] += reward[i];
      if (!end[i]) continue; // MM_END_TERMINATED, MM_END_TRUNCATED or both
      total += (double)running[i];
      episodes++;
      running[i] = 0; // obs[4 i ..] is already the start of the next episode
    }
  }
  timespec_get(&to, TIME_UTC);
  seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
  printf("%.0f episodes, mean return %.2f, %.0f million steps per second\n", episodes,
         total / episodes, 1e-6 * N * STEPS / seconds);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  return EXIT_SUCCESS;
}
