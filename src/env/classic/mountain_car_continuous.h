// MountainCarContinuous-v0: the car of mountain_car.h with an engine of real-valued strength.
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

#endif
