// SPDX-License-Identifier: Apache-2.0
// The library's table of MinAtar games under short names; and their observations, checked.

#ifndef MM_TEST_MINATAR_GAMES_H
#define MM_TEST_MINATAR_GAMES_H

#include "env/minatar/games.h"
#include "test.h"

typedef mm_game_state game_state;
typedef mm_game_draws game_draws;
typedef mm_game game;

#define games mm_games

enum {
  ASTERIX = MM_GAME_ASTERIX,
  BREAKOUT = MM_GAME_BREAKOUT,
  FREEWAY = MM_GAME_FREEWAY,
  SPACE_INVADERS = MM_GAME_SPACE_INVADERS,
  SEAQUEST = MM_GAME_SEAQUEST,
  N_GAME = MM_GAME_COUNT
};

enum {
  GAME_ACTIVE_MAX = MM_GAME_ACTIVE_MAX,
  GAME_WORDS_MAX = MM_GAME_WORDS_MAX,
  GAME_INPUTS_MAX = MM_GAME_INPUTS_MAX
};

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
