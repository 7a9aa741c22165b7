// The classic-control environments one at a time behind one table of functions, for code that
// treats them alike and has time: traces and tests. (Batches: classic_batch.h.)

#ifndef MM_ENV_CLASSIC_SINGLE_H
#define MM_ENV_CLASSIC_SINGLE_H

#include <string.h>

#include "env/classic/acrobot.h"
#include "env/classic/cartpole.h"
#include "env/classic/classic_batch.h"
#include "env/classic/mountain_car_continuous.h"
#include "env/classic/pendulum.h"

// The floats of any state in the order of its struct, and the time.
typedef struct mm_single {
  float f[MM_CLASSIC_STATE_MAX];
  int32_t time;
} mm_single;

typedef struct mm_single_env {
  const char *name;
  int n_state, n_obs;
  int n_action; // 0: a real number in [-action_max, action_max]
  float action_max;
  int32_t limit;
  mm_single (*start)(mm_stream stream, uint64_t index);
  int (*step)(mm_single *s, float action, float *reward);
  void (*observe)(const mm_single *s, float *obs);
} mm_single_env;

// A state struct is its floats followed by the time.
#define MM_SINGLE_FUNCTIONS(env, floats, step_call)                                                \
  _Static_assert(sizeof(mm_##env) == (floats + 1) * sizeof(float), "floats, then the time");       \
  static mm_##env env##_open(const mm_single *s) {                                                 \
    mm_##env e;                                                                                    \
    memcpy(&e, s->f, floats * sizeof(float));                                                      \
    e.time = s->time;                                                                              \
    return e;                                                                                      \
  }                                                                                                \
  static mm_single env##_close(mm_##env e) {                                                       \
    mm_single s = { { 0 }, e.time };                                                               \
    memcpy(s.f, &e, floats * sizeof(float));                                                       \
    return s;                                                                                      \
  }                                                                                                \
  static mm_single env##_start(mm_stream stream, uint64_t index) {                                 \
    mm_##env e;                                                                                    \
    mm_##env##_reset(&e, mm_##env##_draw(stream, index));                                          \
    return env##_close(e);                                                                         \
  }                                                                                                \
  static int env##_step(mm_single *s, float action, float *reward) {                               \
    mm_##env e = env##_open(s);                                                                    \
    int end = step_call;                                                                           \
    *s = env##_close(e);                                                                           \
    return end;                                                                                    \
  }                                                                                                \
  static void env##_observe(const mm_single *s, float *obs) {                                      \
    mm_##env e = env##_open(s);                                                                    \
    mm_##env##_observe(&e, obs);                                                                   \
  }

MM_SINGLE_FUNCTIONS(cartpole, 4, mm_cartpole_step(&e, (int32_t)action, reward))
MM_SINGLE_FUNCTIONS(acrobot, 4, mm_acrobot_step(&e, (int32_t)action, reward))
MM_SINGLE_FUNCTIONS(mountain_car, 2, mm_mountain_car_step(&e, (int32_t)action, reward))
MM_SINGLE_FUNCTIONS(mountain_car_continuous, 2,
                    mm_mountain_car_continuous_step(&e, action, MM_MOUNTAIN_CAR_WALLS_GYMNAX,
                                                    reward))
MM_SINGLE_FUNCTIONS(pendulum, 2, mm_pendulum_step(&e, action, reward))

#undef MM_SINGLE_FUNCTIONS

static const mm_single_env mm_singles[MM_CLASSIC_COUNT] = {
  [MM_CLASSIC_CARTPOLE] = { "cartpole", 4, MM_CARTPOLE_OBS, MM_CARTPOLE_ACTIONS, 0,
                            MM_CARTPOLE_LIMIT, cartpole_start, cartpole_step, cartpole_observe },
  [MM_CLASSIC_ACROBOT] = { "acrobot", 4, MM_ACROBOT_OBS, MM_ACROBOT_ACTIONS, 0, MM_ACROBOT_LIMIT,
                           acrobot_start, acrobot_step, acrobot_observe },
  [MM_CLASSIC_MOUNTAIN_CAR] = { "mountain_car", 2, MM_MOUNTAIN_CAR_OBS, MM_MOUNTAIN_CAR_ACTIONS, 0,
                                MM_MOUNTAIN_CAR_LIMIT, mountain_car_start, mountain_car_step,
                                mountain_car_observe },
  [MM_CLASSIC_MOUNTAIN_CAR_CONTINUOUS] = { "mountain_car_continuous", 2,
                                           MM_MOUNTAIN_CAR_CONTINUOUS_OBS, 0,
                                           MM_MOUNTAIN_CAR_CONTINUOUS_ACTION_MAX,
                                           MM_MOUNTAIN_CAR_CONTINUOUS_LIMIT,
                                           mountain_car_continuous_start,
                                           mountain_car_continuous_step,
                                           mountain_car_continuous_observe },
  [MM_CLASSIC_PENDULUM] = { "pendulum", 2, MM_PENDULUM_OBS, 0, MM_PENDULUM_TORQUE_MAX,
                            MM_PENDULUM_LIMIT, pendulum_start, pendulum_step, pendulum_observe },
};

// Action number `index` of the uniform random policy.
static inline float mm_single_action(const mm_single_env *env, mm_stream stream, uint64_t index) {
  uint64_t pair = mm_stream_pair(stream, index);
  if (env->n_action > 0) return (float)mm_uniform_int(pair, (uint32_t)env->n_action);
  return mm_uniform_between_f((uint32_t)pair, -env->action_max, env->action_max);
}

#endif
