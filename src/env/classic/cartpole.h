// CartPole-v1: a pole hinged to a cart that is pushed left or right. [host/device]
//
// Reward 1 on every step, the last one included, so the largest return is 500. An episode ends when
// the cart leaves the track or the pole leans more than 12 degrees.

#ifndef MM_ENV_CARTPOLE_H
#define MM_ENV_CARTPOLE_H

#include "env/classic/classic.h"

enum { MM_CARTPOLE_ACTIONS = 2, MM_CARTPOLE_OBS = 4, MM_CARTPOLE_LIMIT = 500 };

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

typedef struct mm_cartpole_draws {
  float x, x_dot, theta, theta_dot; // the start itself
} mm_cartpole_draws;

// Start number `index` of a stream: one block.
MM_INLINE MM_HD mm_cartpole_draws mm_cartpole_draw(mm_stream stream, uint64_t index) {
  mm_block b = mm_stream_block(stream, index);
  mm_cartpole_draws d;
  d.x = mm_uniform_between_f(b.word[0], -MM_CARTPOLE_START, MM_CARTPOLE_START);
  d.x_dot = mm_uniform_between_f(b.word[1], -MM_CARTPOLE_START, MM_CARTPOLE_START);
  d.theta = mm_uniform_between_f(b.word[2], -MM_CARTPOLE_START, MM_CARTPOLE_START);
  d.theta_dot = mm_uniform_between_f(b.word[3], -MM_CARTPOLE_START, MM_CARTPOLE_START);
  return d;
}

MM_INLINE MM_HD void mm_cartpole_reset(mm_cartpole *s, mm_cartpole_draws d) {
  s->x = d.x;
  s->x_dot = d.x_dot;
  s->theta = d.theta;
  s->theta_dot = d.theta_dot;
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

#endif
