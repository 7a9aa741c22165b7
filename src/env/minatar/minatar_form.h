// How traces write the states and draws of the MinAtar games: rows of whole numbers.
//
// A state is a row of numbers followed by lists. Loading a row makes the nearest state that the
// game can have, so nothing in a file can break a step; storing that again shows what was wrong.

#ifndef MM_ENV_MINATAR_FORM_H
#define MM_ENV_MINATAR_FORM_H

#include <stdbool.h>

#include "env/minatar/minatar_games.h"
#include "env/trace_reader.h"

enum {
  MM_FORM_NUMBERS = 16, // with one to spare for the action executed last
  MM_FORM_LISTS = 5,
  MM_FORM_LIST_MOST = 512,
  MM_FORM_DRAWS = 8
};

typedef struct mm_form_list {
  int32_t n, value[MM_FORM_LIST_MOST]; // [n], then zeros
} mm_form_list;

typedef struct mm_form_row {
  int32_t number[MM_FORM_NUMBERS];
  mm_form_list list[MM_FORM_LISTS];
} mm_form_row;

typedef struct mm_form {
  const char *name;  // of the game, as in IDs
  const char *reset; // what is random in a reset
  const char *note;  // for the description of a file, beside what all games share
  int n_number, n_list, n_draw;
  const char *number[MM_FORM_NUMBERS], *list[MM_FORM_LISTS];
  const char *draw[MM_FORM_DRAWS]; // descriptions, ended by NULL
  int time, terminal;              // which numbers these are
  uint32_t ignored;                // bit i: number i has no effect
  const mm_trace_param *params;

  // Time, end and last action are left to the caller in both directions; rows are zero before.
  void (*load)(const mm_form_row *row, mm_game_state *s);
  void (*store)(const mm_game_state *s, mm_form_row *row);
  // Puts what is recorded in an order or with values that have no effect into our form; or NULL.
  void (*tidy)(mm_form_row *row);

  // Does a step from here with this action draw? NULL: never.
  bool (*draws)(const mm_game_state *s, int executed, mm_minatar_rules rules);
  void (*load_draws)(const int32_t *row, mm_game_draws *d);
  // On entry `row` holds what was recorded; entries without effect stay.
  void (*store_draws)(const mm_game_state *s, const mm_game_draws *d, int32_t *row);
} mm_form;

extern const mm_form mm_form_asterix, mm_form_breakout, mm_form_freeway, mm_form_space_invaders,
    mm_form_seaquest;

// ---------------------------------------------------------------------------------------------

static inline int32_t mm_form_within(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : value > high ? high : value;
}

static inline int8_t mm_form_small(int32_t value, int32_t low, int32_t high) {
  return (int8_t)mm_form_within(value, low, high);
}

static inline void mm_form_push(mm_form_list *list, int32_t value) {
  if (list->n < MM_FORM_LIST_MOST) list->value[list->n++] = value;
}

// The cells of a map, ascending.
static inline void mm_form_store_map(mm_form_list *list, const mm_minatar_map *m) {
  for (int cell = 0; cell < MM_MINATAR_CELLS; cell++) {
    if (mm_minatar_at(m, cell % MM_MINATAR_SIDE, cell / MM_MINATAR_SIDE)) mm_form_push(list, cell);
  }
}

// Numbers that are no cells are left out.
static inline mm_minatar_map mm_form_load_map(const mm_form_list *list) {
  mm_minatar_map m = mm_minatar_map_none();
  for (int i = 0; i < list->n; i++) {
    int cell = list->value[i];
    if (cell >= 0 && cell < MM_MINATAR_CELLS)
      mm_minatar_put(&m, cell % MM_MINATAR_SIDE, cell / MM_MINATAR_SIDE);
  }
  return m;
}

#endif
