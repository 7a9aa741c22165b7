// SPDX-License-Identifier: Apache-2.0
// MountainCarContinuous-v0: the car of mountain_car.h with continuous actions.
// [host/device]
//
// Reward -0.1 a^2 with the action as given, before it is clipped to [-1, 1], and +100 on the step
// that reaches the goal. NaN counts as no push; infinite actions push like +-1 and cost infinitely.

#ifndef MM_ENV_MOUNTAIN_CAR_CONTINUOUS_H
#define MM_ENV_MOUNTAIN_CAR_CONTINUOUS_H

#include "env/classic/mountain_car.h"

enum { MM_MOUNTAIN_CAR_CONTINUOUS_OBS = 2, MM_MOUNTAIN_CAR_CONTINUOUS_LIMIT = 999 };

#define MM_MOUNTAIN_CAR_CONTINUOUS_POWER 0.0015f
#define MM_MOUNTAIN_CAR_CONTINUOUS_ACTION_MAX 1.0f
#define MM_MOUNTAIN_CAR_CONTINUOUS_GOAL 0.45f
#define MM_MOUNTAIN_CAR_CONTINUOUS_COST 0.1f
#define MM_MOUNTAIN_CAR_CONTINUOUS_PRIZE 100.0f

// Where a car is stopped. gymnax stops one that rolls back beyond the goal and lets it lean on the
// left wall; Gymnasium stops it at the left wall, as MountainCar-v0 does.
typedef enum mm_mountain_car_walls {
  MM_MOUNTAIN_CAR_WALLS_GYMNAX, // default
  MM_MOUNTAIN_CAR_WALLS_GYMNASIUM
} mm_mountain_car_walls;

typedef mm_mountain_car mm_mountain_car_continuous;
typedef mm_mountain_car_draws mm_mountain_car_continuous_draws;
#define MM_MOUNTAIN_CAR_CONTINUOUS_FIELDS MM_MOUNTAIN_CAR_FIELDS

MM_INLINE MM_HD mm_mountain_car_continuous_draws mm_mountain_car_continuous_draw(mm_stream stream,
                                                                                 uint64_t index) {
  return mm_mountain_car_draw(stream, index);
}

MM_INLINE MM_HD void mm_mountain_car_continuous_reset(mm_mountain_car_continuous *s,
                                                      mm_mountain_car_continuous_draws d) {
  mm_mountain_car_reset(s, d);
}

MM_INLINE MM_HD int mm_mountain_car_continuous_step(mm_mountain_car_continuous *s, float action,
                                                    mm_mountain_car_walls walls, float *reward) {
  float a = mm_action_number(action);
  float u =
      mm_clip_f(a, -MM_MOUNTAIN_CAR_CONTINUOUS_ACTION_MAX, MM_MOUNTAIN_CAR_CONTINUOUS_ACTION_MAX);
  mm_mountain_car_motion m = mm_mountain_car_roll(s, MM_MOUNTAIN_CAR_CONTINUOUS_POWER * u);
  int left = m.place <= MM_MOUNTAIN_CAR_LEFT, beyond = m.place >= MM_MOUNTAIN_CAR_CONTINUOUS_GOAL;
  int stops = (walls == MM_MOUNTAIN_CAR_WALLS_GYMNASIUM ? left : beyond) & m.backwards;
  int terminal = beyond & (stops | !m.backwards); // a car that was stopped has velocity 0
  s->velocity = stops ? 0.0f : s->velocity;
  *reward = (terminal ? MM_MOUNTAIN_CAR_CONTINUOUS_PRIZE : 0.0f) -
            MM_MOUNTAIN_CAR_CONTINUOUS_COST * (a * a);
  return mm_end_of(terminal, s->time, MM_MOUNTAIN_CAR_CONTINUOUS_LIMIT);
}

MM_INLINE MM_HD void mm_mountain_car_continuous_observe(const mm_mountain_car_continuous *s,
                                                        float *obs) { // [2]
  mm_mountain_car_observe(s, obs);
}

// One step by the settings of a batch.
#define MM_MOUNTAIN_CAR_CONTINUOUS_STEP(s, action, walls, reward)                                  \
  mm_mountain_car_continuous_step(s, action, walls, reward)

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

static const mm_trace_param mountain_car_continuous_params[] = {
  { "min_action", 1, { -MM_MOUNTAIN_CAR_CONTINUOUS_ACTION_MAX } },
  { "max_action", 1, { MM_MOUNTAIN_CAR_CONTINUOUS_ACTION_MAX } },
  { "min_position", 1, { MM_MOUNTAIN_CAR_LEFT } },
  { "max_position", 1, { MM_MOUNTAIN_CAR_RIGHT } },
  { "max_speed", 1, { MM_MOUNTAIN_CAR_SPEED_MAX } },
  { "goal_position", 1, { MM_MOUNTAIN_CAR_CONTINUOUS_GOAL } },
  { "goal_velocity", 1, { 0 } },
  { "power", 1, { MM_MOUNTAIN_CAR_CONTINUOUS_POWER } },
  { "gravity", 1, { MM_MOUNTAIN_CAR_GRAVITY } },
  { NULL, 0, { 0 } },
};

static int mountain_car_continuous_shapes(const float *obs, mm_shape *out) {
  return mountain_car_drawn(obs, (double)MM_MOUNTAIN_CAR_CONTINUOUS_GOAL, out);
}

const mm_classic_spec mm_mountain_car_continuous_spec = {
  .about = { .summary = "rock the car out with an engine of variable strength",
             .bounds = mountain_car_bounds,
             .facts = { mountain_car_inputs, "position and velocity of the car",
                        "-0.1 a^2 for every step, with the action before it is clipped; +100 at "
                        "the goal",
                        "position >= 0.45, not rolling back",
                        "the start: position uniform in [-0.6, -0.4], at rest", 30 },
             .scene = { mountain_car_marks, 3, .box = { -1.25, 0.7, 0.02, 1.32 },
                        .shapes = mountain_car_continuous_shapes } },
  .about_actions = "Actions are real numbers, before the clip to [min_action, max_action]; the "
                   "reward uses them so.",
  .params = mountain_car_continuous_params,
};
#endif

#endif
