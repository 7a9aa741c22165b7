// SPDX-License-Identifier: Apache-2.0
// The table of classic-control environments.

#define MM_DESCRIBE // the headers' descriptions are compiled here

#include "env/classic/classics.h"

#define DISCRETE_STEP(name, NAME) mm_##name##_step(&e, (int32_t)action, reward)
#define CONTINUOUS_STEP(name, NAME)                                                                \
  MM_##NAME##_STEP(&e, action, MM_MOUNTAIN_CAR_WALLS_GYMNAX, reward)
#define FIELD_OPEN(row, member, name, angle) .member = s->f[row],
#define FIELD_CLOSE(row, member, name, angle) e.member,
#define FIELD_COUNT(row, member, name, angle) +1
#define FIELD_NAME(row, member, name, angle) name,
#define FIELD_ANGLE(row, member, name, angle) angle,

#define FUNCTIONS(name, NAME, STEP)                                                                \
  static mm_##name name##_open(const mm_single *s) {                                               \
    return (mm_##name){ MM_##NAME##_FIELDS(FIELD_OPEN).time = s->time };                           \
  }                                                                                                \
  static mm_single name##_close(mm_##name e) {                                                     \
    return (mm_single){ { MM_##NAME##_FIELDS(FIELD_CLOSE) }, e.time };                             \
  }                                                                                                \
  static mm_single name##_start(mm_stream stream, uint64_t index) {                                \
    mm_##name e;                                                                                   \
    mm_##name##_reset(&e, mm_##name##_draw(stream, index));                                        \
    return name##_close(e);                                                                        \
  }                                                                                                \
  static int name##_step(mm_single *s, float action, float *reward) {                              \
    mm_##name e = name##_open(s);                                                                  \
    int end = STEP(name, NAME);                                                                    \
    *s = name##_close(e);                                                                          \
    return end;                                                                                    \
  }                                                                                                \
  static void name##_observe(const mm_single *s, float *obs) {                                     \
    mm_##name e = name##_open(s);                                                                  \
    mm_##name##_observe(&e, obs);                                                                  \
  }                                                                                                \
  _Static_assert(sizeof(mm_##name) == (1 MM_##NAME##_FIELDS(FIELD_COUNT)) * sizeof(float) &&       \
                     (int)MM_##NAME##_OBS <= (int)MM_CLASSIC_OBS_MAX,                              \
                 "floats, then the time; room for observations");
#define DISCRETE_FUNCTIONS(name, NAME, id) FUNCTIONS(name, NAME, DISCRETE_STEP)
#define CONTINUOUS_FUNCTIONS(name, NAME, id) FUNCTIONS(name, NAME, CONTINUOUS_STEP)
MM_CLASSIC_DISCRETE(DISCRETE_FUNCTIONS)
MM_CLASSIC_CONTINUOUS(CONTINUOUS_FUNCTIONS)

#define ENTRY(name_, NAME, id_, actions, largest)                                                  \
  [MM_CLASSIC_##NAME] = { .name = #name_,                                                          \
                          .id = id_,                                                               \
                          .spec = &mm_##name_##_spec,                                              \
                          .n_state = 0 MM_##NAME##_FIELDS(FIELD_COUNT),                            \
                          .n_obs = MM_##NAME##_OBS,                                                \
                          .n_action = actions,                                                     \
                          .action_max = largest,                                                   \
                          .limit = MM_##NAME##_LIMIT,                                              \
                          .field = { MM_##NAME##_FIELDS(FIELD_NAME) },                             \
                          .is_angle = { MM_##NAME##_FIELDS(FIELD_ANGLE) },                         \
                          .start = name_##_start,                                                  \
                          .step = name_##_step,                                                    \
                          .observe = name_##_observe },
#define DISCRETE_ENTRY(name, NAME, id) ENTRY(name, NAME, id, MM_##NAME##_ACTIONS, 0)
#define CONTINUOUS_ENTRY(name, NAME, id) ENTRY(name, NAME, id, 0, MM_##NAME##_ACTION_MAX)

const mm_classic mm_classics[MM_CLASSIC_COUNT] = { MM_CLASSIC_DISCRETE(DISCRETE_ENTRY)
                                                       MM_CLASSIC_CONTINUOUS(CONTINUOUS_ENTRY) };

float mm_classic_action(const mm_classic *env, mm_stream stream, uint64_t index) {
  uint64_t pair = mm_stream_pair(stream, index);
  if (env->n_action > 0) return (float)mm_uniform_int(pair, (uint32_t)env->n_action);
  return mm_uniform_between_f((uint32_t)pair, -env->action_max, env->action_max);
}
