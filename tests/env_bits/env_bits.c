// SPDX-License-Identifier: Apache-2.0
// Random play through every environment, and a hash of all it gave: observations, rewards, ends.
// Written in what C17 and C++17 share; check_env_bits.sh compiles it as both and compares.

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "env/classic/acrobot.h"
#include "env/classic/cartpole.h"
#include "env/classic/mountain_car_continuous.h"
#include "env/classic/pendulum.h"
#include "env/minatar/asterix.h"
#include "env/minatar/breakout.h"
#include "env/minatar/freeway.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"

enum { STEPS = 100000, WORDS_MAX = 64 };

// FNV-1a over 64 bits.
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n) {
  const unsigned char *byte = (const unsigned char *)data;
  for (size_t i = 0; i < n; i++)
    hash = (hash ^ byte[i]) * 0x100000001b3u;
  return hash;
}

static const uint64_t empty_hash = 0xcbf29ce484222325u;

static uint64_t action_pair(uint64_t t) {
  return mm_stream_pair(mm_stream_make(1, 0, MM_RNG_ACTION, 0), t);
}

static float real_action(uint64_t t) { // up to twice what any environment takes
  return mm_uniform_between_f((uint32_t)action_pair(t), -4.0f, 4.0f);
}

static int32_t whole_action(uint64_t t, uint32_t n) { // now and then one out of range
  return (int32_t)mm_uniform_int(action_pair(t), n + 2) - 1;
}

#define CLASSIC(env, n_obs, step_call)                                                             \
  static uint64_t play_##env(void) {                                                               \
    mm_stream resets = mm_stream_make(1, 0, MM_RNG_ENV_RESET, 0);                                  \
    mm_##env s;                                                                                    \
    uint64_t hash = empty_hash, episode = 0;                                                       \
    mm_##env##_reset(&s, mm_##env##_draw(resets, episode));                                        \
    for (uint64_t t = 0; t < STEPS; t++) {                                                         \
      float obs[n_obs], reward;                                                                    \
      int end = step_call;                                                                         \
      mm_##env##_observe(&s, obs);                                                                 \
      hash = hash_bytes(hash, obs, sizeof obs);                                                    \
      hash = hash_bytes(hash, &reward, sizeof reward);                                             \
      hash = hash_bytes(hash, &end, sizeof end);                                                   \
      if (end) mm_##env##_reset(&s, mm_##env##_draw(resets, ++episode));                           \
    }                                                                                              \
    return hash;                                                                                   \
  }

CLASSIC(cartpole, MM_CARTPOLE_OBS,
        mm_cartpole_step(&s, whole_action(t, MM_CARTPOLE_ACTIONS), &reward))
CLASSIC(acrobot, MM_ACROBOT_OBS, mm_acrobot_step(&s, whole_action(t, MM_ACROBOT_ACTIONS), &reward))
CLASSIC(mountain_car, MM_MOUNTAIN_CAR_OBS,
        mm_mountain_car_step(&s, whole_action(t, MM_MOUNTAIN_CAR_ACTIONS), &reward))
CLASSIC(mountain_car_continuous, MM_MOUNTAIN_CAR_CONTINUOUS_OBS,
        mm_mountain_car_continuous_step(&s, real_action(t), MM_MOUNTAIN_CAR_WALLS_GYMNAX, &reward))
CLASSIC(pendulum, MM_PENDULUM_OBS, mm_pendulum_step(&s, real_action(t), &reward))

#define MINATAR(game)                                                                              \
  static uint64_t play_##game(void) {                                                              \
    const mm_minatar_rules rules = MM_MINATAR_ORIGINAL;                                            \
    mm_stream resets = mm_stream_make(1, 0, MM_RNG_ENV_RESET, 0);                                  \
    mm_stream steps = mm_stream_make(1, 0, MM_RNG_ENV_STEP, 0);                                    \
    mm_##game s;                                                                                   \
    uint64_t hash = empty_hash, episode = 0;                                                       \
    memset(&s, 0, sizeof s);                                                                       \
    mm_##game##_reset(&s, rules, mm_##game##_draw_reset(resets, episode));                         \
    for (uint64_t t = 0; t < STEPS; t++) {                                                         \
      uint32_t words[WORDS_MAX] = { 0 };                                                           \
      float reward;                                                                                \
      int action = whole_action(t, MM_MINATAR_ACTIONS);                                            \
      mm_##game##_draws draws = mm_##game##_draw_step(&s, action, rules, steps, t);                \
      unsigned end = mm_##game##_step(&s, action, rules, draws, &reward);                          \
      mm_##game##_bits(&s, words);                                                                 \
      hash = hash_bytes(hash, words, sizeof words);                                                \
      hash = hash_bytes(hash, &reward, sizeof reward);                                             \
      hash = hash_bytes(hash, &end, sizeof end);                                                   \
      if (end) mm_##game##_reset(&s, rules, mm_##game##_draw_reset(resets, ++episode));            \
    }                                                                                              \
    return hash;                                                                                   \
  }

MINATAR(asterix)
MINATAR(breakout)
MINATAR(freeway)
MINATAR(space_invaders)
MINATAR(seaquest)

int main(void) {
#define PRINT(env) printf("%-24s %016llx\n", #env, (unsigned long long)play_##env())
  PRINT(cartpole);
  PRINT(acrobot);
  PRINT(mountain_car);
  PRINT(mountain_car_continuous);
  PRINT(pendulum);
  PRINT(asterix);
  PRINT(breakout);
  PRINT(freeway);
  PRINT(space_invaders);
  PRINT(seaquest);
  return 0;
}
