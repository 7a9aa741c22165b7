// The five MinAtar games behind one table of functions, for tests that treat them alike; and their
// observations, checked.

#ifndef MM_TEST_MINATAR_GAMES_H
#define MM_TEST_MINATAR_GAMES_H

#include "env/asterix.h"
#include "env/breakout.h"
#include "env/freeway.h"
#include "env/seaquest.h"
#include "env/space_invaders.h"
#include "test.h"

#define GAME_LIST(GAME)                                                                            \
  GAME(asterix, ASTERIX)                                                                           \
  GAME(breakout, BREAKOUT)                                                                         \
  GAME(freeway, FREEWAY)                                                                           \
  GAME(space_invaders, SPACE_INVADERS)                                                             \
  GAME(seaquest, SEAQUEST)

typedef union game_state {
#define GAME_STATE(name, NAME) mm_##name name;
  GAME_LIST(GAME_STATE)
#undef GAME_STATE
  mm_minatar_episode episode; // the first member of each
} game_state;

typedef union game_draws {
#define GAME_DRAWS(name, NAME) mm_##name##_draws name;
  GAME_LIST(GAME_DRAWS)
#undef GAME_DRAWS
  uint8_t repeat; // the first member of each
} game_draws;

typedef struct game {
  const char *name;
  int channels, inputs, words, active, actions;
  uint32_t action_set;
  game_draws (*draw_reset)(mm_stream, uint64_t);
  void (*reset)(game_state *, mm_minatar_rules, game_draws);
  game_draws (*draw_step)(const game_state *, int, mm_minatar_rules, mm_stream, uint64_t);
  unsigned (*step)(game_state *, int, mm_minatar_rules, game_draws, float *);
  int (*list)(const game_state *, uint16_t *);
  void (*bits)(const game_state *, uint32_t *);
} game;

enum { GAME_ACTIVE_MAX = 128, GAME_WORDS_MAX = 32, GAME_INPUTS_MAX = 1000 };

#define GAME_FUNCTIONS(name, NAME)                                                                 \
  static game_draws name##_draw_reset(mm_stream stream, uint64_t index) {                          \
    game_draws d = { 0 };                                                                          \
    d.name = mm_##name##_draw_reset(stream, index);                                                \
    return d;                                                                                      \
  }                                                                                                \
  static void name##_reset(game_state *s, mm_minatar_rules rules, game_draws d) {                  \
    mm_##name##_reset(&s->name, rules, d.name);                                                    \
  }                                                                                                \
  static game_draws name##_draw_step(const game_state *s, int action, mm_minatar_rules rules,      \
                                     mm_stream stream, uint64_t index) {                           \
    game_draws d = { 0 };                                                                          \
    d.name = mm_##name##_draw_step(&s->name, action, rules, stream, index);                        \
    return d;                                                                                      \
  }                                                                                                \
  static unsigned name##_step(game_state *s, int action, mm_minatar_rules rules, game_draws d,     \
                              float *reward) {                                                     \
    return mm_##name##_step(&s->name, action, rules, d.name, reward);                              \
  }                                                                                                \
  static int name##_list(const game_state *s, uint16_t *out) {                                     \
    return mm_##name##_list(&s->name, out);                                                        \
  }                                                                                                \
  static void name##_bits(const game_state *s, uint32_t *words) {                                  \
    mm_##name##_bits(&s->name, words);                                                             \
  }
GAME_LIST(GAME_FUNCTIONS)
#undef GAME_FUNCTIONS

#define GAME_ENTRY(name, NAME)                                                                     \
  { #name,                                                                                         \
    MM_##NAME##_CHANNELS,                                                                          \
    MM_##NAME##_INPUTS,                                                                            \
    MM_##NAME##_WORDS,                                                                             \
    MM_##NAME##_ACTIVE,                                                                            \
    MM_##NAME##_ACTIONS,                                                                           \
    MM_##NAME##_ACTION_SET,                                                                        \
    name##_draw_reset,                                                                             \
    name##_reset,                                                                                  \
    name##_draw_step,                                                                              \
    name##_step,                                                                                   \
    name##_list,                                                                                   \
    name##_bits },
static const game games[] = { GAME_LIST(GAME_ENTRY) };
#undef GAME_ENTRY

enum { ASTERIX, BREAKOUT, FREEWAY, SPACE_INVADERS, SEAQUEST, N_GAME };

// The observation as a list, and that as bits and floats it is the same; returns its length.
static inline int observe(const game *g, const game_state *s, uint16_t list[GAME_ACTIVE_MAX]) {
  uint32_t words[GAME_WORDS_MAX], of_list[GAME_WORDS_MAX] = { 0 };
  float floats[GAME_INPUTS_MAX + 1];
  int n = g->list(s, list), ones = 0;
  assert_true(n > 0 && n <= g->active);
  for (int i = 0; i < n; i++) {
    assert_true(list[i] < g->inputs && (i == 0 || list[i] > list[i - 1]));
    of_list[list[i] / 32] |= 1u << list[i] % 32;
  }
  memset(words, 0xff, sizeof words);
  g->bits(s, words);
  assert_memory_equal(words, of_list, (size_t)g->words * sizeof *words);
  if (g->words < GAME_WORDS_MAX) assert_true(words[g->words] == UINT32_MAX);
  floats[g->inputs] = -1;
  mm_minatar_floats(list, n, g->inputs, floats);
  for (int i = 0; i < g->inputs; i++) {
    assert_true(floats[i] == 0 || floats[i] == 1);
    ones += floats[i] == 1;
    assert_int_equal(floats[i] == 1, words[i / 32] >> i % 32 & 1);
  }
  assert_int_equal(ones, n);
  assert_true(floats[g->inputs] == -1);
  return n;
}

#endif
