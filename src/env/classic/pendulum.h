// Pendulum-v1: swing a pendulum up and keep it there. [host/device]
//
// theta is 0 upright and is not wrapped; it moves by at most 0.4 a step, so it stays below 84
// within an episode. Episodes end by their length alone.

#ifndef MM_ENV_PENDULUM_H
#define MM_ENV_PENDULUM_H

#include "env/classic/classic.h"

enum { MM_PENDULUM_OBS = 3, MM_PENDULUM_LIMIT = 200 };

#define MM_PENDULUM_GRAVITY 10.0f // mass and length are 1
#define MM_PENDULUM_DT 0.05f
#define MM_PENDULUM_SPEED_MAX 8.0f
#define MM_PENDULUM_TORQUE_MAX 2.0f
#define MM_PENDULUM_SPEED_COST 0.1f
#define MM_PENDULUM_TORQUE_COST 0.001f
#define MM_PENDULUM_START_SPEED 1.0f

typedef struct mm_pendulum {
  float theta, theta_dot;
  int32_t time;
} mm_pendulum;

typedef struct mm_pendulum_draws {
  float theta, theta_dot; // the start itself
} mm_pendulum_draws;

// Start number `index` of a stream: words 0 and 1 of one block.
MM_INLINE MM_HD mm_pendulum_draws mm_pendulum_draw(mm_stream stream, uint64_t index) {
  mm_block b = mm_stream_block(stream, index);
  mm_pendulum_draws d;
  d.theta = mm_uniform_between_f(b.word[0], -MM_PI_F, MM_PI_F);
  d.theta_dot = mm_uniform_between_f(b.word[1], -MM_PENDULUM_START_SPEED, MM_PENDULUM_START_SPEED);
  return d;
}

MM_INLINE MM_HD void mm_pendulum_reset(mm_pendulum *s, mm_pendulum_draws d) {
  s->theta = d.theta;
  s->theta_dot = d.theta_dot;
  s->time = 0;
}

// The torque is clipped to [-2, 2], NaN counts as 0. The reward is that of the state before the
// step, with the angle from upright wrapped and the clipped torque.
MM_INLINE MM_HD int mm_pendulum_step(mm_pendulum *s, float action, float *reward) {
  float u = mm_clip_f(mm_action_number(action), -MM_PENDULUM_TORQUE_MAX, MM_PENDULUM_TORQUE_MAX);
  float angle = mm_angle_wrap_f(s->theta);
  float cost = fmaf(angle, angle, MM_PENDULUM_SPEED_COST * (s->theta_dot * s->theta_dot));
  *reward = -fmaf(MM_PENDULUM_TORQUE_COST, u * u, cost);
  float acceleration = fmaf(1.5f * MM_PENDULUM_GRAVITY, mm_sin_f(s->theta), 3.0f * u);
  // semi-implicit Euler: the angle moves with the new velocity
  s->theta_dot = mm_clip_f(fmaf(MM_PENDULUM_DT, acceleration, s->theta_dot), -MM_PENDULUM_SPEED_MAX,
                           MM_PENDULUM_SPEED_MAX);
  s->theta = fmaf(MM_PENDULUM_DT, s->theta_dot, s->theta);
  s->time++;
  return mm_end_of(0, s->time, MM_PENDULUM_LIMIT);
}

MM_INLINE MM_HD void mm_pendulum_observe(const mm_pendulum *s, float *obs) { // [3]
  mm_sincos_f(s->theta, &obs[1], &obs[0]);
  obs[2] = s->theta_dot;
}

#endif
