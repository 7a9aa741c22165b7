// SPDX-License-Identifier: Apache-2.0
// MountainCar-v0: an underpowered car in a valley. [host/device]
//
// Reward -1 on every step, also on the one that reaches the goal.

#ifndef MM_ENV_MOUNTAIN_CAR_H
#define MM_ENV_MOUNTAIN_CAR_H

#include "env/classic/classic.h"

enum {
  MM_MOUNTAIN_CAR_ACTIONS = 3,
  MM_MOUNTAIN_CAR_OBS = 2,
  MM_MOUNTAIN_CAR_LIMIT = 200,
  MM_MOUNTAIN_CAR_REMEMBERS = 0 // a step makes no use of what was seen before
};

#define MM_MOUNTAIN_CAR_LEFT (-1.2f)
#define MM_MOUNTAIN_CAR_RIGHT 0.6f
#define MM_MOUNTAIN_CAR_SPEED_MAX 0.07f
#define MM_MOUNTAIN_CAR_GRAVITY 0.0025f
#define MM_MOUNTAIN_CAR_FORCE 0.001f
#define MM_MOUNTAIN_CAR_GOAL 0.5f
#define MM_MOUNTAIN_CAR_START_LOW (-0.6f)
#define MM_MOUNTAIN_CAR_START_HIGH (-0.4f)

typedef struct mm_mountain_car {
  float position, velocity;
  int32_t time;
} mm_mountain_car;

// Numbers of a state in the order of the struct: row, member, name in traces, is it an angle?
#define MM_MOUNTAIN_CAR_FIELDS(X) X(0, position, "position", 0) X(1, velocity, "velocity", 0)

typedef struct mm_mountain_car_draws {
  float position; // of the start; the velocity is 0
} mm_mountain_car_draws;

// Start number `index` of a stream: word 0 of one block.
MM_INLINE MM_HD mm_mountain_car_draws mm_mountain_car_draw(mm_stream stream, uint64_t index) {
  mm_mountain_car_draws d;
  d.position = mm_uniform_between_f(mm_stream_block(stream, index).word[0],
                                    MM_MOUNTAIN_CAR_START_LOW, MM_MOUNTAIN_CAR_START_HIGH);
  return d;
}

MM_INLINE MM_HD void mm_mountain_car_reset(mm_mountain_car *s, mm_mountain_car_draws d) {
  s->position = d.position;
  s->velocity = 0.0f;
  s->time = 0;
}

// What a step did, for the tests that follow it. They are made before the limits apply, which
// changes no outcome and leaves no branches to the compiler.
typedef struct mm_mountain_car_motion {
  float place;   // where the car would be without walls
  int backwards; // it moves to the left
} mm_mountain_car_motion;

// Rolls along the valley with this push; the limits of speed and place hold afterwards.
MM_INLINE MM_HD mm_mountain_car_motion mm_mountain_car_roll(mm_mountain_car *s, float push) {
  mm_mountain_car_motion m;
  float speed = s->velocity + (push - MM_MOUNTAIN_CAR_GRAVITY * mm_cos_f(3.0f * s->position));
  m.backwards = speed < 0.0f;
  s->velocity = mm_clip_f(speed, -MM_MOUNTAIN_CAR_SPEED_MAX, MM_MOUNTAIN_CAR_SPEED_MAX);
  m.place = s->position + s->velocity;
  s->position = mm_clip_f(m.place, MM_MOUNTAIN_CAR_LEFT, MM_MOUNTAIN_CAR_RIGHT);
  s->time++;
  return m;
}

// Pushes left, not at all, or right for action 0, 1, 2; others count as the nearest of these.
MM_INLINE MM_HD int mm_mountain_car_step(mm_mountain_car *s, int32_t action, float *reward) {
  float direction = (float)(mm_action_nearest(action, MM_MOUNTAIN_CAR_ACTIONS) - 1);
  mm_mountain_car_motion m = mm_mountain_car_roll(s, MM_MOUNTAIN_CAR_FORCE * direction);
  int stops = (m.place <= MM_MOUNTAIN_CAR_LEFT) & m.backwards; // at the left wall
  int terminal = (m.place >= MM_MOUNTAIN_CAR_GOAL) & !m.backwards;
  s->velocity = stops ? 0.0f : s->velocity;
  *reward = -1.0f;
  return mm_end_of(terminal, s->time, MM_MOUNTAIN_CAR_LIMIT);
}

MM_INLINE MM_HD void mm_mountain_car_observe(const mm_mountain_car *s, float *obs) { // [2]
  obs[0] = s->position;
  obs[1] = s->velocity;
}

MM_STEP_THEN_OBSERVE(mountain_car)

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/classic/spec.h"

static const mm_trace_param mountain_car_params[] = {
  { "min_position", 1, { MM_MOUNTAIN_CAR_LEFT } },
  { "max_position", 1, { MM_MOUNTAIN_CAR_RIGHT } },
  { "max_speed", 1, { MM_MOUNTAIN_CAR_SPEED_MAX } },
  { "goal_position", 1, { MM_MOUNTAIN_CAR_GOAL } },
  { "goal_velocity", 1, { 0 } },
  { "force", 1, { MM_MOUNTAIN_CAR_FORCE } },
  { "gravity", 1, { MM_MOUNTAIN_CAR_GRAVITY } },
  { NULL, 0, { 0 } },
};

static const char *const mountain_car_actions[] = { "left", "none", "right" };
static const float mountain_car_bounds[MM_MOUNTAIN_CAR_OBS][2] = {
  { MM_MOUNTAIN_CAR_LEFT, MM_MOUNTAIN_CAR_RIGHT },
  { -MM_MOUNTAIN_CAR_SPEED_MAX, MM_MOUNTAIN_CAR_SPEED_MAX },
};

static const char *const mountain_car_inputs[] = { "position", "velocity", NULL };

static const mm_mark mountain_car_marks[] = { { "valley", MM_CLASSIC_GREY, '-', 0 },
                                              { "car", MM_CLASSIC_BLUE, 'O', 0 },
                                              { "goal", MM_CLASSIC_VERMILION, '|', 0 } };

// The slope of this curve is what the dynamics feel.
static double mountain_car_ground(double x) {
  return 0.55 + 0.45 * (double)mm_sin_f(3 * (float)x);
}

// The valley, the car, the flag.
static int mountain_car_drawn(const float *obs, double goal, mm_shape *out) {
  const double left = (double)MM_MOUNTAIN_CAR_LEFT, right = (double)MM_MOUNTAIN_CAR_RIGHT;
  const double radius = 0.05, x = (double)obs[0], step = (right - left) / 48;
  const double foot = mountain_car_ground(goal);
  int n = 0;
  for (int i = 0; i < 48; i++) {
    double from = left + i * step, to = from + step;
    out[n++] =
        mm_shape_line(0, from, mountain_car_ground(from), to, mountain_car_ground(to), 0.012);
  }
  out[n++] = mm_shape_line(2, goal, foot, goal, foot + 0.25, 0.015);
  out[n++] = mm_shape_box(2, goal, foot + 0.16, goal + 0.1, foot + 0.25);
  out[n++] = mm_shape_disc(1, x, mountain_car_ground(x) + radius, radius);
  return n;
}

static int mountain_car_shapes(const float *obs, mm_shape *out) {
  return mountain_car_drawn(obs, (double)MM_MOUNTAIN_CAR_GOAL, out);
}

const mm_classic_spec mm_mountain_car_spec = {
  .about = { .summary = "rock a weak car out of a valley",
             .action_name = mountain_car_actions,
             .bounds = mountain_car_bounds,
             .facts = { mountain_car_inputs, "position and velocity of the car",
                        "-1 for every step, the last one included: at least -200",
                        "position >= 0.5, not rolling back",
                        "the start: position uniform in [-0.6, -0.4], at rest", 30 },
             .scene = { mountain_car_marks, 3, .box = { -1.25, 0.7, 0.02, 1.32 },
                        .shapes = mountain_car_shapes } },
  .params = mountain_car_params,
};
#endif

#endif
