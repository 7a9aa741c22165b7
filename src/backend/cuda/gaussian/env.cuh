// SPDX-License-Identifier: Apache-2.0
// Environments with continuous actions, one of them a step further: from its columns as mm_vec_keep
// leaves them, with an action of its own range, to reward, end and what is seen then. An
// environment that ended starts again.

#ifndef MM_BACKEND_CUDA_GAUSSIAN_ENV_CUH
#define MM_BACKEND_CUDA_GAUSSIAN_ENV_CUH

#include "backend/cuda/gaussian/gaussian.h"
#include "backend/cuda/warp/warp.cuh"
#include "env/classic/mountain_car_continuous.h"
#include "env/classic/pendulum.h"
#include "env/locomotion/bodies.h"

namespace mm {
namespace gaussian {

// Columns of floats, then times, then numbers of episodes (vec_classic.c).
struct Columns {
  float *state;
  int32_t *time;
  uint32_t *episode;
  MM_DEVICE Columns(const mm_cuda_agent &a, int n_state, int e) {
    state = static_cast<float *>(a.env) + e;
    time = reinterpret_cast<int32_t *>(state) + (size_t)n_state * a.n_env;
    episode = reinterpret_cast<uint32_t *>(time + a.n_env);
  }
};

MM_DEVICE mm_stream start_stream(const mm_cuda_agent &a, int e) {
  return mm_stream_make(a.seed, a.repeat, MM_RNG_ENV_RESET, (uint32_t)e);
}

struct Pendulum {
  static MM_DEVICE int step(const mm_cuda_agent &a, const mm_cuda_gauss &, int e,
                            const float *action, float *reward, float *obs) {
    const Columns at(a, 2, e);
    mm_pendulum s;
    s.theta = at.state[0];
    s.theta_dot = at.state[a.n_env];
    s.time = *at.time;
    const int end = mm_pendulum_step(&s, action[0], reward);
    if (end) mm_pendulum_reset(&s, mm_pendulum_draw(start_stream(a, e), ++*at.episode));
    mm_pendulum_observe(&s, obs);
    at.state[0] = s.theta;
    at.state[a.n_env] = s.theta_dot;
    *at.time = s.time;
    return end;
  }
  static MM_DEVICE uint32_t unstable(const mm_cuda_agent &, int) { return 0; }
};

struct MountainCar {
  static MM_DEVICE int step(const mm_cuda_agent &a, const mm_cuda_gauss &g, int e,
                            const float *action, float *reward, float *obs) {
    const Columns at(a, 2, e);
    mm_mountain_car_continuous s;
    s.position = at.state[0];
    s.velocity = at.state[a.n_env];
    s.time = *at.time;
    const int end = mm_mountain_car_continuous_step(
        &s, action[0],
        g.gymnasium_walls ? MM_MOUNTAIN_CAR_WALLS_GYMNASIUM : MM_MOUNTAIN_CAR_WALLS_GYMNAX, reward);
    if (end)
      mm_mountain_car_continuous_reset(
          &s, mm_mountain_car_continuous_draw(start_stream(a, e), ++*at.episode));
    mm_mountain_car_continuous_observe(&s, obs);
    at.state[0] = s.position;
    at.state[a.n_env] = s.velocity;
    *at.time = s.time;
    return end;
  }
  static MM_DEVICE uint32_t unstable(const mm_cuda_agent &, int) { return 0; }
};

// Bodies are stepped by launches of their own (locomotion/body.h).
struct Bodies {
  static MM_DEVICE uint32_t unstable(const mm_cuda_agent &a, int e) {
    return static_cast<const mm_bodies_lane *>(a.env)[e].unstable;
  }
};

} // namespace gaussian
} // namespace mm

#endif
