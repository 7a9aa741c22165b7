// MountainCar-v0: an underpowered car in a valley. [host/device]
//
// Reward -1 on every step, also on the one that reaches the goal.

#ifndef MM_ENV_MOUNTAIN_CAR_H
#define MM_ENV_MOUNTAIN_CAR_H

#include "env/classic/classic.h"

enum { MM_MOUNTAIN_CAR_ACTIONS = 3, MM_MOUNTAIN_CAR_OBS = 2, MM_MOUNTAIN_CAR_LIMIT = 200 };

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

#endif
