// SPDX-License-Identifier: Apache-2.0
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
#define MM_PENDULUM_ACTION_MAX 2.0f // torque
#define MM_PENDULUM_SPEED_COST 0.1f
#define MM_PENDULUM_TORQUE_COST 0.001f
#define MM_PENDULUM_START_SPEED 1.0f

typedef struct mm_pendulum {
  float theta, theta_dot;
  int32_t time;
} mm_pendulum;

// Numbers of a state in the order of the struct: row, member, name in traces, is it an angle?
#define MM_PENDULUM_FIELDS(X) X(0, theta, "theta", 1) X(1, theta_dot, "theta_dot", 0)

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
  float u = mm_clip_f(mm_action_number(action), -MM_PENDULUM_ACTION_MAX, MM_PENDULUM_ACTION_MAX);
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

// One step by the settings of a batch.
#define MM_PENDULUM_STEP(s, action, walls, reward) mm_pendulum_step(s, action, reward)

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/classic/spec.h"

static const mm_trace_param pendulum_params[] = {
  { "max_speed", 1, { MM_PENDULUM_SPEED_MAX } },
  { "max_torque", 1, { MM_PENDULUM_ACTION_MAX } },
  { "dt", 1, { MM_PENDULUM_DT } },
  { "g", 1, { MM_PENDULUM_GRAVITY } },
  { "m", 1, { 1 } },
  { "l", 1, { 1 } },
  { NULL, 0, { 0 } },
};

static const float pendulum_bounds[MM_PENDULUM_OBS][2] = {
  { -1, 1 },
  { -1, 1 },
  { -MM_PENDULUM_SPEED_MAX, MM_PENDULUM_SPEED_MAX },
};

static const char *const pendulum_inputs[] = { "cos", "sin", "angle'", NULL };

static const mm_mark pendulum_marks[] = { { "upright", MM_CLASSIC_GREY, '|', 0 },
                                          { "rod", MM_CLASSIC_BLUE, '#', 0 },
                                          { "pivot", MM_CLASSIC_VERMILION, 'o', 0 } };

// A rod, upright is up; a positive torque turns it to the right of there.
static int pendulum_shapes(const float *obs, mm_shape *out) {
  out[0] = mm_shape_line(0, 0, 1.08, 0, 1.22, 0.03);
  out[1] = mm_shape_line(1, 0, 0, (double)obs[1], (double)obs[0], 0.12);
  out[2] = mm_shape_disc(2, 0, 0, 0.09);
  return 3;
}

const mm_classic_spec mm_pendulum_spec = {
  .about = { .summary = "swing a pendulum up and hold it",
             .bounds = pendulum_bounds,
             .facts = { pendulum_inputs,
                        "cosine and sine of the angle (0 upright), and its velocity",
                        "-(angle^2 + 0.1 velocity^2 + 0.001 torque^2) of the state before the step",
                        MM_ENDS_BY_LIMIT, "the start: any angle, velocity uniform in [-1, 1]", 20 },
             .scene = { pendulum_marks, 3, .box = { -1.25, 1.25, -1.25, 1.25 },
                        .shapes = pendulum_shapes } },
  .about_actions = "Actions are torques, before the clip to [-max_torque, max_torque]; the reward "
                   "uses the state before the step.",
  .params = pendulum_params,
};
#endif

#endif
