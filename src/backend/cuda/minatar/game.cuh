// SPDX-License-Identifier: Apache-2.0
// The MinAtar games as types. game<G>::one is an environment as vec_minatar.c keeps it, and
// `begin`, `step` and `observe` do what it does.

#ifndef MM_BACKEND_CUDA_MINATAR_GAME_CUH
#define MM_BACKEND_CUDA_MINATAR_GAME_CUH

#include "backend/cuda/warp/warp.cuh"
#include "env/minatar/list.h"

namespace mm {
namespace minatar {

// Which environment of which job, and its rules.
struct place {
  uint64_t seed;
  uint32_t repeat, lane;
  mm_minatar_rules rules;
};

template <mm_minatar_game GAME> struct game;

#define MM_CUDA_GAME(name, NAME, id)                                                               \
  template <> struct game<MM_GAME_##NAME> {                                                        \
    enum { INPUTS = MM_##NAME##_INPUTS, ACTIONS = MM_##NAME##_ACTIONS };                           \
    struct one {                                                                                   \
      mm_##name s;                                                                                 \
      uint32_t episode;                                                                            \
      uint64_t time;                                                                               \
    };                                                                                             \
    static MM_DEVICE void begin(one *o, const place &at) {                                         \
      mm_stream stream = mm_stream_make(at.seed, at.repeat, MM_RNG_ENV_RESET, at.lane);            \
      mm_##name##_reset(&o->s, at.rules, mm_##name##_draw_reset(stream, o->episode++));            \
    }                                                                                              \
    static MM_DEVICE unsigned step(one *o, const place &at, int action, float *reward) {           \
      mm_stream stream = mm_stream_make(at.seed, at.repeat, MM_RNG_ENV_STEP, at.lane);             \
      int code = mm_minatar_action_at(MM_##NAME##_ACTION_SET, ACTIONS, action);                    \
      mm_##name##_draws draws = mm_##name##_draw_step(&o->s, code, at.rules, stream, o->time++);   \
      return mm_##name##_step(&o->s, code, at.rules, draws, reward);                               \
    }                                                                                              \
    static MM_DEVICE void observe(const one *o, uint32_t *words) {                                 \
      mm_##name##_bits(&o->s, words);                                                              \
    }                                                                                              \
  };

MM_GAME_LIST(MM_CUDA_GAME)
#undef MM_CUDA_GAME

} // namespace minatar
} // namespace mm

#endif
