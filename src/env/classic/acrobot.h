// SPDX-License-Identifier: Apache-2.0
// Acrobot-v1: a double pendulum with a motor at the second joint. [host/device]
//
// Both links have mass 1, length 1, inertia 1 and their centre of mass in the middle; t1 is the
// first link's angle from hanging down, t2 the second's from the first. Reward -1, and 0 on the
// step that lifts the tip more than one link above the first joint; a failure returns -500.

#ifndef MM_ENV_ACROBOT_H
#define MM_ENV_ACROBOT_H

#include "env/classic/classic.h"

enum {
  MM_ACROBOT_ACTIONS = 3,
  MM_ACROBOT_OBS = 6,
  MM_ACROBOT_LIMIT = 500,
  MM_ACROBOT_REMEMBERS = 1 // a step makes use of what was seen before
};

#define MM_ACROBOT_GRAVITY 9.8f
#define MM_ACROBOT_DT 0.2f
#define MM_ACROBOT_W1_MAX (4.0f * MM_PI_F)
#define MM_ACROBOT_W2_MAX (9.0f * MM_PI_F)
#define MM_ACROBOT_START 0.1f  // all four start within this of 0
#define MM_ACROBOT_HEIGHT 1.0f // of the tip, to be passed

typedef struct mm_acrobot {
  float t1, t2; // angles in [-pi, pi)
  float w1, w2; // their velocities
  int32_t time;
} mm_acrobot;

// Numbers of a state in the order of the struct: row, member, name in traces, is it an angle?
#define MM_ACROBOT_FIELDS(X)                                                                       \
  X(0, t1, "joint_angle1", 1)                                                                      \
  X(1, t2, "joint_angle2", 1) X(2, w1, "velocity_1", 0) X(3, w2, "velocity_2", 0)

typedef mm_start_of_four mm_acrobot_draws;

MM_INLINE MM_HD mm_acrobot_draws mm_acrobot_draw(mm_stream stream, uint64_t index) {
  return mm_draw_four(stream, index, MM_ACROBOT_START);
}

MM_INLINE MM_HD void mm_acrobot_reset(mm_acrobot *s, mm_acrobot_draws d) {
  s->t1 = d.number[0];
  s->t2 = d.number[1];
  s->w1 = d.number[2];
  s->w2 = d.number[3];
  s->time = 0;
}

// The four derivatives at a point: angles move with the velocities, velocities with acc1, acc2.
typedef struct mm_acrobot_rate {
  float t1, t2, w1, w2;
} mm_acrobot_rate;

typedef struct mm_acrobot_sines { // of both angles
  float sin1, cos1, sin2, cos2;
} mm_acrobot_sines;

MM_INLINE MM_HD mm_acrobot_sines mm_acrobot_sines_of(float t1, float t2) {
  mm_acrobot_sines s;
  mm_sincos_f(t1, &s.sin1, &s.cos1);
  mm_sincos_f(t2, &s.sin2, &s.cos2);
  return s;
}

// In the sheet's symbols, phi2 = 4.9 sin(t1 + t2) comes from the sines of the parts, and
// acc2 = (d1 (a - w1^2 sin(t2) / 2 - phi2) + d2 phi1) / D with D = 1.25 d1 - d2^2, which is 2.8125
// - cos(t2)^2 / 4. One division serves both accelerations.
MM_INLINE MM_HD mm_acrobot_rate mm_acrobot_derivative(mm_acrobot_rate at, mm_acrobot_sines s,
                                                      float torque) {
  float d1 = 3.5f + s.cos2, d2 = fmaf(0.5f, s.cos2, 1.25f);
  float determinant = fmaf(-0.25f * s.cos2, s.cos2, 2.8125f);
  float phi2 = 0.5f * MM_ACROBOT_GRAVITY * fmaf(s.sin1, s.cos2, s.cos1 * s.sin2);
  float phi1 = fmaf(1.5f * MM_ACROBOT_GRAVITY, s.sin1, phi2);
  phi1 = fmaf(-(at.w2 * s.sin2), fmaf(0.5f, at.w2, at.w1), phi1);
  float rest = fmaf(-0.5f * at.w1 * at.w1, s.sin2, torque - phi2);
  float inverse = 1.0f / (d1 * determinant);
  mm_acrobot_rate rate;
  rate.t1 = at.w1;
  rate.t2 = at.w2;
  rate.w2 = fmaf(d1, rest, d2 * phi1) * (d1 * inverse);
  rate.w1 = -fmaf(d2, rate.w2, phi1) * (determinant * inverse);
  return rate;
}

// from + h rate
MM_INLINE MM_HD mm_acrobot_rate mm_acrobot_along(mm_acrobot_rate from, float h,
                                                 mm_acrobot_rate rate) {
  mm_acrobot_rate to;
  to.t1 = fmaf(h, rate.t1, from.t1);
  to.t2 = fmaf(h, rate.t2, from.t2);
  to.w1 = fmaf(h, rate.w1, from.w1);
  to.w2 = fmaf(h, rate.w2, from.w2);
  return to;
}

// The tip is high enough; NaN counts as such.
MM_INLINE MM_HD int mm_acrobot_terminal(mm_acrobot_sines s) {
  float height = -s.cos1 - fmaf(s.cos1, s.cos2, -(s.sin1 * s.sin2)); // -cos t1 - cos(t1 + t2)
  return !(height <= MM_ACROBOT_HEIGHT);
}

// Torque -1, 0 or +1 for action 0, 1, 2; others count as the nearest of these. One step of the
// classical Runge-Kutta method of order four. sines: of the state's angles, before and after.
MM_INLINE MM_HD int mm_acrobot_step_on(mm_acrobot *s, mm_acrobot_sines *sines, int32_t action,
                                       float *reward) {
  const float h = MM_ACROBOT_DT;
  float torque = (float)(mm_action_nearest(action, MM_ACROBOT_ACTIONS) - 1);
  mm_acrobot_rate y, at, k1, k2, k3, k4;
  y.t1 = s->t1;
  y.t2 = s->t2;
  y.w1 = s->w1;
  y.w2 = s->w2;
  k1 = mm_acrobot_derivative(y, *sines, torque);
  at = mm_acrobot_along(y, 0.5f * h, k1);
  k2 = mm_acrobot_derivative(at, mm_acrobot_sines_of(at.t1, at.t2), torque);
  at = mm_acrobot_along(y, 0.5f * h, k2);
  k3 = mm_acrobot_derivative(at, mm_acrobot_sines_of(at.t1, at.t2), torque);
  at = mm_acrobot_along(y, h, k3);
  k4 = mm_acrobot_derivative(at, mm_acrobot_sines_of(at.t1, at.t2), torque);
  // k1 + 2 k2 + 2 k3 + k4
  mm_acrobot_rate sum = mm_acrobot_along(k1, 2.0f, k2);
  sum = mm_acrobot_along(mm_acrobot_along(sum, 2.0f, k3), 1.0f, k4);
  y = mm_acrobot_along(y, h / 6.0f, sum);
  s->t1 = mm_angle_wrap_f(y.t1);
  s->t2 = mm_angle_wrap_f(y.t2);
  s->w1 = mm_clip_f(y.w1, -MM_ACROBOT_W1_MAX, MM_ACROBOT_W1_MAX);
  s->w2 = mm_clip_f(y.w2, -MM_ACROBOT_W2_MAX, MM_ACROBOT_W2_MAX);
  s->time++;
  *sines = mm_acrobot_sines_of(s->t1, s->t2);
  int terminal = mm_acrobot_terminal(*sines);
  *reward = terminal ? 0.0f : -1.0f;
  return mm_end_of(terminal, s->time, MM_ACROBOT_LIMIT);
}

MM_INLINE MM_HD int mm_acrobot_step(mm_acrobot *s, int32_t action, float *reward) {
  mm_acrobot_sines sines = mm_acrobot_sines_of(s->t1, s->t2);
  return mm_acrobot_step_on(s, &sines, action, reward);
}

// The observation has all sines that the next step needs.
MM_INLINE MM_HD int mm_acrobot_step_seen(mm_acrobot *s, float *obs, int32_t action, float *reward) {
  mm_acrobot_sines sines = { obs[1], obs[0], obs[3], obs[2] };
  int end = mm_acrobot_step_on(s, &sines, action, reward);
  obs[0] = sines.cos1;
  obs[1] = sines.sin1;
  obs[2] = sines.cos2;
  obs[3] = sines.sin2;
  obs[4] = s->w1;
  obs[5] = s->w2;
  return end;
}

MM_INLINE MM_HD void mm_acrobot_observe(const mm_acrobot *s, float *obs) { // [6]
  mm_sincos_f(s->t1, &obs[1], &obs[0]);
  mm_sincos_f(s->t2, &obs[3], &obs[2]);
  obs[4] = s->w1;
  obs[5] = s->w2;
}

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/classic/spec.h"

static const mm_trace_param acrobot_params[] = {
  { "available_torque", 3, { -1, 0, 1 } },
  { "dt", 1, { MM_ACROBOT_DT } },
  { "link_length_1", 1, { 1 } },
  { "link_length_2", 1, { 1 } },
  { "link_mass_1", 1, { 1 } },
  { "link_mass_2", 1, { 1 } },
  { "link_com_pos_1", 1, { 0.5f } },
  { "link_com_pos_2", 1, { 0.5f } },
  { "link_moi", 1, { 1 } },
  { "max_vel_1", 1, { MM_ACROBOT_W1_MAX } },
  { "max_vel_2", 1, { MM_ACROBOT_W2_MAX } },
  { "torque_noise_max", 1, { 0 } },
  { NULL, 0, { 0 } },
};

static const char *const acrobot_actions[] = { "left", "none", "right" };
static const float acrobot_bounds[MM_ACROBOT_OBS][2] = {
  { -1, 1 },
  { -1, 1 },
  { -1, 1 },
  { -1, 1 },
  { -MM_ACROBOT_W1_MAX, MM_ACROBOT_W1_MAX },
  { -MM_ACROBOT_W2_MAX, MM_ACROBOT_W2_MAX },
};

static const char *const acrobot_inputs[] = { "cos t1", "sin t1", "cos t2", "sin t2",
                                              "t1'",    "t2'",    NULL };

static const mm_mark acrobot_marks[] = { { "height to pass", MM_CLASSIC_GREY, '-', 0 },
                                         { "upper link", MM_CLASSIC_BLUE, '#', 0 },
                                         { "lower link, with the motor", MM_CLASSIC_VERMILION, '*',
                                           0 } };

// Two links below a joint, and the height to be passed. The observation has cosine and sine of both
// angles; the second is seen from the first.
static int acrobot_shapes(const float *obs, mm_shape *out) {
  double c1 = (double)obs[0], s1 = (double)obs[1], c2 = (double)obs[2], s2 = (double)obs[3];
  double x = s1, y = -c1, height = (double)MM_ACROBOT_HEIGHT;
  double tip_x = x + s1 * c2 + c1 * s2, tip_y = y - (c1 * c2 - s1 * s2);
  int n = 0;
  for (int i = -4; i < 4; i++)
    out[n++] = mm_shape_line(0, 0.5 * i + 0.1, height, 0.5 * i + 0.4, height, 0.03);
  out[n++] = mm_shape_line(1, 0, 0, x, y, 0.12);
  out[n++] = mm_shape_line(2, x, y, tip_x, tip_y, 0.1);
  out[n++] = mm_shape_disc(1, 0, 0, 0.1);
  out[n++] = mm_shape_disc(2, x, y, 0.1);
  return n;
}

const mm_classic_spec mm_acrobot_spec = {
  .about = { .summary = "swing a two-link arm above a line",
             .action_name = acrobot_actions,
             .bounds = acrobot_bounds,
             .facts = { acrobot_inputs,
                        "cosine and sine of both angles (t1 from hanging down, t2 from the first "
                        "link), and their velocities",
                        "-1 for every step, 0 for the one that ends the episode: at least -500",
                        "the tip is more than one link above the joint",
                        "the start: angles and velocities uniform in [-0.1, 0.1]", 15 },
             .scene = { acrobot_marks, 3, .box = { -2.15, 2.15, -2.15, 2.15 },
                        .shapes = acrobot_shapes } },
  .params = acrobot_params,
};
#endif

#endif
