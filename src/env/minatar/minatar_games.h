// The five MinAtar games behind one table of functions, for code that treats them alike and has
// time: traces and tests. (The vector layer has a kernel for each.)

#ifndef MM_ENV_MINATAR_GAMES_H
#define MM_ENV_MINATAR_GAMES_H

#include "env/minatar/asterix.h"
#include "env/minatar/breakout.h"
#include "env/minatar/freeway.h"
#include "env/minatar/seaquest.h"
#include "env/minatar/space_invaders.h"

#define MM_GAME_LIST(GAME)                                                                         \
  GAME(asterix, ASTERIX)                                                                           \
  GAME(breakout, BREAKOUT)                                                                         \
  GAME(freeway, FREEWAY)                                                                           \
  GAME(space_invaders, SPACE_INVADERS)                                                             \
  GAME(seaquest, SEAQUEST)

typedef union mm_game_state {
#define MM_GAME_STATE(name, NAME) mm_##name name;
  MM_GAME_LIST(MM_GAME_STATE)
#undef MM_GAME_STATE
  mm_minatar_episode episode; // the first member of each
} mm_game_state;

typedef union mm_game_draws {
#define MM_GAME_DRAWS(name, NAME) mm_##name##_draws name;
  MM_GAME_LIST(MM_GAME_DRAWS)
#undef MM_GAME_DRAWS
  uint8_t repeat; // the first member of each
} mm_game_draws;

typedef struct mm_game {
  const char *name;
  int channels, inputs, words, active, actions;
  uint32_t action_set;
  mm_game_draws (*draw_reset)(mm_stream, uint64_t);
  void (*reset)(mm_game_state *, mm_minatar_rules, mm_game_draws);
  mm_game_draws (*draw_step)(const mm_game_state *, int, mm_minatar_rules, mm_stream, uint64_t);
  unsigned (*step)(mm_game_state *, int, mm_minatar_rules, mm_game_draws, float *);
  int (*list)(const mm_game_state *, uint16_t *);
  void (*bits)(const mm_game_state *, uint32_t *);
} mm_game;

enum { MM_GAME_ACTIVE_MAX = 128, MM_GAME_WORDS_MAX = 32, MM_GAME_INPUTS_MAX = 1000 };

#define MM_GAME_FUNCTIONS(name, NAME)                                                              \
  static mm_game_draws name##_draw_reset(mm_stream stream, uint64_t index) {                       \
    mm_game_draws d = { 0 };                                                                       \
    d.name = mm_##name##_draw_reset(stream, index);                                                \
    return d;                                                                                      \
  }                                                                                                \
  static void name##_reset(mm_game_state *s, mm_minatar_rules rules, mm_game_draws d) {            \
    mm_##name##_reset(&s->name, rules, d.name);                                                    \
  }                                                                                                \
  static mm_game_draws name##_draw_step(const mm_game_state *s, int action,                        \
                                        mm_minatar_rules rules, mm_stream stream,                  \
                                        uint64_t index) {                                          \
    mm_game_draws d = { 0 };                                                                       \
    d.name = mm_##name##_draw_step(&s->name, action, rules, stream, index);                        \
    return d;                                                                                      \
  }                                                                                                \
  static unsigned name##_step(mm_game_state *s, int action, mm_minatar_rules rules,                \
                              mm_game_draws d, float *reward) {                                    \
    return mm_##name##_step(&s->name, action, rules, d.name, reward);                              \
  }                                                                                                \
  static int name##_list(const mm_game_state *s, uint16_t *out) {                                  \
    return mm_##name##_list(&s->name, out);                                                        \
  }                                                                                                \
  static void name##_bits(const mm_game_state *s, uint32_t *words) {                               \
    mm_##name##_bits(&s->name, words);                                                             \
  }
MM_GAME_LIST(MM_GAME_FUNCTIONS)
#undef MM_GAME_FUNCTIONS

#define MM_GAME_ENTRY(name, NAME)                                                                  \
  [MM_GAME_##NAME] = { #name,                                                                      \
                       MM_##NAME##_CHANNELS,                                                       \
                       MM_##NAME##_INPUTS,                                                         \
                       MM_##NAME##_WORDS,                                                          \
                       MM_##NAME##_ACTIVE,                                                         \
                       MM_##NAME##_ACTIONS,                                                        \
                       MM_##NAME##_ACTION_SET,                                                     \
                       name##_draw_reset,                                                          \
                       name##_reset,                                                               \
                       name##_draw_step,                                                           \
                       name##_step,                                                                \
                       name##_list,                                                                \
                       name##_bits },
static const mm_game mm_games[MM_GAME_COUNT] = { MM_GAME_LIST(MM_GAME_ENTRY) };
#undef MM_GAME_ENTRY

#endif
