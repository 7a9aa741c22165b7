// SPDX-License-Identifier: Apache-2.0
// CartPole-v1: a pole hinged to a cart that is pushed left or right. [host/device]
//
// Reward 1 on every step, the last one included, so the largest return is 500. An episode ends when
// the cart leaves the track or the pole leans more than 12 degrees.

#ifndef MM_ENV_CARTPOLE_H
#define MM_ENV_CARTPOLE_H

#include "env/classic/classic.h"

enum {
  MM_CARTPOLE_ACTIONS = 2,
  MM_CARTPOLE_OBS = 4,
  MM_CARTPOLE_LIMIT = 500,
  MM_CARTPOLE_REMEMBERS = 0 // a step makes no use of what was seen before
};

#define MM_CARTPOLE_GRAVITY 9.8f
#define MM_CARTPOLE_POLE_MASS 0.1f
#define MM_CARTPOLE_MASS 1.1f   // cart and pole
#define MM_CARTPOLE_LENGTH 0.5f // half the pole's
#define MM_CARTPOLE_MASS_LENGTH 0.05f
#define MM_CARTPOLE_FORCE 10.0f
#define MM_CARTPOLE_DT 0.02f
#define MM_CARTPOLE_X_MAX 2.4f
#define MM_CARTPOLE_THETA_MAX 0.20943951023931953f // 12 degrees
#define MM_CARTPOLE_START 0.05f                    // all four start within this of 0

typedef struct mm_cartpole {
  float x, x_dot;         // cart
  float theta, theta_dot; // pole, 0 upright
  int32_t time;
} mm_cartpole;

// Numbers of a state in the order of the struct: row, member, name in traces, is it an angle?
#define MM_CARTPOLE_FIELDS(X)                                                                      \
  X(0, x, "x", 0) X(1, x_dot, "x_dot", 0) X(2, theta, "theta", 1) X(3, theta_dot, "theta_dot", 0)

typedef mm_start_of_four mm_cartpole_draws;

MM_INLINE MM_HD mm_cartpole_draws mm_cartpole_draw(mm_stream stream, uint64_t index) {
  return mm_draw_four(stream, index, MM_CARTPOLE_START);
}

MM_INLINE MM_HD void mm_cartpole_reset(mm_cartpole *s, mm_cartpole_draws d) {
  s->x = d.number[0];
  s->x_dot = d.number[1];
  s->theta = d.number[2];
  s->theta_dot = d.number[3];
  s->time = 0;
}

// NaN counts as out of bounds.
MM_INLINE MM_HD int mm_cartpole_terminal(const mm_cartpole *s) {
  int inside = (fabsf(s->x) <= MM_CARTPOLE_X_MAX) & (fabsf(s->theta) <= MM_CARTPOLE_THETA_MAX);
  return !inside;
}

// Pushes left (action 0) or right (1); negative actions count as 0, larger ones as 1.
MM_INLINE MM_HD int mm_cartpole_step(mm_cartpole *s, int32_t action, float *reward) {
  const float per_mass = 1.0f / MM_CARTPOLE_MASS;
  float force = action > 0 ? MM_CARTPOLE_FORCE : -MM_CARTPOLE_FORCE, sine, cosine;
  mm_sincos_f(s->theta, &sine, &cosine);
  float spin = MM_CARTPOLE_MASS_LENGTH * s->theta_dot * s->theta_dot;
  float push = fmaf(spin, sine, force) * per_mass;
  float inertia =
      MM_CARTPOLE_LENGTH * fmaf(-MM_CARTPOLE_POLE_MASS * per_mass, cosine * cosine, 4.0f / 3.0f);
  float theta_acc = fmaf(MM_CARTPOLE_GRAVITY, sine, -(cosine * push)) / inertia;
  float x_acc = fmaf(-MM_CARTPOLE_MASS_LENGTH * per_mass * cosine, theta_acc, push);
  // explicit Euler: positions move with the old velocities
  s->x = fmaf(MM_CARTPOLE_DT, s->x_dot, s->x);
  s->x_dot = fmaf(MM_CARTPOLE_DT, x_acc, s->x_dot);
  s->theta = fmaf(MM_CARTPOLE_DT, s->theta_dot, s->theta);
  s->theta_dot = fmaf(MM_CARTPOLE_DT, theta_acc, s->theta_dot);
  s->time++;
  *reward = 1.0f;
  return mm_end_of(mm_cartpole_terminal(s), s->time, MM_CARTPOLE_LIMIT);
}

MM_INLINE MM_HD void mm_cartpole_observe(const mm_cartpole *s, float *obs) { // [4]
  obs[0] = s->x;
  obs[1] = s->x_dot;
  obs[2] = s->theta;
  obs[3] = s->theta_dot;
}

MM_STEP_THEN_OBSERVE(cartpole)

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/classic/spec.h"

static const mm_trace_param cartpole_params[] = {
  { "gravity", 1, { MM_CARTPOLE_GRAVITY } },
  { "masscart", 1, { MM_CARTPOLE_MASS - MM_CARTPOLE_POLE_MASS } },
  { "masspole", 1, { MM_CARTPOLE_POLE_MASS } },
  { "total_mass", 1, { MM_CARTPOLE_MASS } },
  { "length", 1, { MM_CARTPOLE_LENGTH } },
  { "polemass_length", 1, { MM_CARTPOLE_MASS_LENGTH } },
  { "force_mag", 1, { MM_CARTPOLE_FORCE } },
  { "tau", 1, { MM_CARTPOLE_DT } },
  { "theta_threshold_radians", 1, { MM_CARTPOLE_THETA_MAX } },
  { "x_threshold", 1, { MM_CARTPOLE_X_MAX } },
  { NULL, 0, { 0 } },
};

static const char *const cartpole_actions[] = { "left", "right" };
// Twice the limits, as Gymnasium has it: the last observation of an episode is beyond them.
static const float cartpole_bounds[MM_CARTPOLE_OBS][2] = {
  { -2 * MM_CARTPOLE_X_MAX, 2 * MM_CARTPOLE_X_MAX },
  { -INFINITY, INFINITY },
  { -2 * MM_CARTPOLE_THETA_MAX, 2 * MM_CARTPOLE_THETA_MAX },
  { -INFINITY, INFINITY },
};

static const char *const cartpole_inputs[] = { "x", "x'", "angle", "angle'", NULL };

static const mm_mark cartpole_marks[] = { { "track and limits", MM_CLASSIC_GREY, '-', 0 },
                                          { "cart", MM_CLASSIC_BLUE, '#', 0 },
                                          { "pole", MM_CLASSIC_VERMILION, '|', 0 } };

// A track with its ends, the cart on it, the pole on the cart.
static int cartpole_shapes(const float *obs, mm_shape *out) {
  const double end = (double)MM_CARTPOLE_X_MAX, x = (double)obs[0], deck = 0.25, length = 1;
  float sine, cosine, limit_sine, limit_cosine;
  int n = 0;
  mm_sincos_f(obs[2], &sine, &cosine);
  mm_sincos_f(MM_CARTPOLE_THETA_MAX, &limit_sine, &limit_cosine);
  out[n++] = mm_shape_line(0, -end, 0, end, 0, 0.02);
  for (int side = -1; side <= 1; side += 2) {
    double far = side * (double)limit_sine, high = (double)limit_cosine;
    out[n++] = mm_shape_line(0, side * end, -0.1, side * end, 0.1, 0.02);
    out[n++] = mm_shape_line(0, x + 1.03 * far, deck + 1.03 * high, x + 1.15 * far,
                             deck + 1.15 * high, 0.02);
  }
  out[n++] = mm_shape_box(1, x - 0.25, 0.03, x + 0.25, deck);
  out[n++] =
      mm_shape_line(2, x, deck, x + length * (double)sine, deck + length * (double)cosine, 0.06);
  return n;
}

const mm_classic_spec mm_cartpole_spec = {
  .about = { .summary = "balance a pole on a cart by pushing it",
             .action_name = cartpole_actions,
             .bounds = cartpole_bounds,
             .facts = { cartpole_inputs,
                        "position and velocity of the cart, angle of the pole (0 upright) and its "
                        "velocity",
                        "1 for every step, the last one included: at most 500",
                        "the cart leaves the track (|x| > 2.4) or the pole leans more than 12 "
                        "degrees",
                        "the start: all four numbers uniform in [-0.05, 0.05]", 30 },
             .scene = { cartpole_marks, 3, .box = { -2.75, 2.75, -0.15, 1.45 },
                        .shapes = cartpole_shapes } },
  .params = cartpole_params,
};
#endif

#endif
