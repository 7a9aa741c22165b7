// SPDX-License-Identifier: Apache-2.0
// The games of list.h as one table.

#ifndef MM_ENV_MINATAR_GAMES_H
#define MM_ENV_MINATAR_GAMES_H

#include "env/minatar/game.h"
#include "env/minatar/list.h"

typedef union mm_game_state {
#define MM_GAME_STATE(name, NAME, id) mm_##name name;
  MM_GAME_LIST(MM_GAME_STATE)
#undef MM_GAME_STATE
  mm_minatar_episode episode; // the first member of each
} mm_game_state;

typedef union mm_game_draws {
#define MM_GAME_DRAW(name, NAME, id) mm_##name##_draws name;
  MM_GAME_LIST(MM_GAME_DRAW)
#undef MM_GAME_DRAW
  uint8_t repeat; // the first member of each
} mm_game_draws;

typedef struct mm_game {
  const char *name, *id[2]; // ID by mm_minatar_rules
  const mm_game_spec *spec;
  int channels, inputs, words, active, actions;
  uint32_t action_set;
  mm_game_draws (*draw_reset)(mm_stream, uint64_t);
  void (*reset)(mm_game_state *, mm_minatar_rules, mm_game_draws);
  mm_game_draws (*draw_step)(const mm_game_state *, int, mm_minatar_rules, mm_stream, uint64_t);
  unsigned (*step)(mm_game_state *, int, mm_minatar_rules, mm_game_draws, float *);
  int (*list)(const mm_game_state *, uint16_t *);
  void (*bits)(const mm_game_state *, uint32_t *);
} mm_game;

extern const mm_game mm_games[MM_GAME_COUNT];

#define MM_GAME_SPEC(name, NAME, id) extern const mm_game_spec mm_##name##_spec;
MM_GAME_LIST(MM_GAME_SPEC)
#undef MM_GAME_SPEC

enum { MM_GAME_ACTIVE_MAX = 128, MM_GAME_WORDS_MAX = 32, MM_GAME_INPUTS_MAX = 1000 };

// Are these bytes a state that the game can be in between two steps? Games trust their state: an
// observation of one that is out of range would write beyond its buffer. Whatever passes here can
// be stepped and observed. `limit` counts the steps of an episode, 0 is none.
bool mm_game_is_valid(const mm_game *game, const void *state, uint32_t limit);

// A state from a row and back. `limit` as above; by the original rules the action executed last is
// a number behind the others. Rows are zero before.
void mm_game_load(const mm_game *game, const mm_game_row *row, mm_minatar_rules rules,
                  int32_t limit, mm_game_state *s);
void mm_game_store(const mm_game *game, const mm_game_state *s, mm_minatar_rules rules,
                   mm_game_row *row);

// The fields that are numbers, which come before the lists.
int mm_game_numbers(const mm_game *game);

#endif
