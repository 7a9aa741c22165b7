// SPDX-License-Identifier: Apache-2.0
// A MinAtar game behind a table of functions, and what its header says of it beside the rules, for
// code that treats games alike and has time: traces, checks of states, listings, pictures, tests.
// (The vector layer has a kernel for each.)
//
// Traces write a state as a row of whole numbers followed by lists. Loading a row makes the nearest
// state that the game can have, so nothing in a file can break a step; storing that again shows
// what was wrong.

#ifndef MM_ENV_MINATAR_GAME_H
#define MM_ENV_MINATAR_GAME_H

#include "env/description.h"
#include "env/minatar/minatar.h"

enum {
  MM_GAME_NUMBERS = 16, // with one to spare for the action executed last
  MM_GAME_LISTS = 5,
  MM_GAME_ENTRIES = 512, // of a list
  MM_GAME_DRAWS = 8
};

typedef struct mm_game_entries {
  int32_t n, value[MM_GAME_ENTRIES]; // [n], then zeros
} mm_game_entries;

typedef struct mm_game_row {
  int32_t number[MM_GAME_NUMBERS];
  mm_game_entries list[MM_GAME_LISTS];
} mm_game_row;

// ---------------------------------------------------------------------------------------------
// Fields of a state, in the order of traces: numbers, then lists

typedef enum mm_field_kind {
  MM_FIELD_KIND_NUMBER,   // from least to most
  MM_FIELD_KIND_FLAG,     // 0 or 1
  MM_FIELD_KIND_SIGN,     // -1 or 1
  MM_FIELD_KIND_CONSTANT, // `least`: in traces alone, and of no effect
  MM_FIELD_KIND_TIME,     // of the episode, as the next
  MM_FIELD_KIND_TERMINAL,
  MM_FIELD_KIND_MAP,   // list of the cells of an mm_minatar_map, in rows up to `most`
  MM_FIELD_KIND_CELLS, // list of cells: bit i of an unsigned number is cell least + i, up to most
  MM_FIELD_KIND_LIST   // the game's own
} mm_field_kind;

typedef struct mm_game_field {
  const char *name; // in traces; NULL: they do not have it
  mm_field_kind kind;
  size_t offset, size;             // a number is signed, a flag is not
  int32_t least, most;             // between two steps
  int32_t trace_least, trace_most; // in traces, which have ends of episodes as well
  bool ignored;                    // a trace may have any value: there is no effect
} mm_game_field;

#define MM_FIELD_AT(game, member)                                                                  \
  .offset = offsetof(mm_##game, member), .size = sizeof(((mm_##game *)0)->member)
#define MM_FIELD_KIND(kind_, name_) .name = name_, .kind = MM_FIELD_KIND_##kind_

// clang-format off
#define MM_FIELD_WIDER(game, member, name, low, high, trace_low, trace_high)                       \
  { MM_FIELD_KIND(NUMBER, name), MM_FIELD_AT(game, member), .least = low, .most = high,            \
    .trace_least = trace_low, .trace_most = trace_high }
#define MM_FIELD(game, member, name, low, high)                                                    \
  MM_FIELD_WIDER(game, member, name, low, high, low, high)
#define MM_FIELD_IGNORED(game, member, name, low, high, trace_low, trace_high)                     \
  { MM_FIELD_KIND(NUMBER, name), MM_FIELD_AT(game, member), .least = low, .most = high,            \
    .trace_least = trace_low, .trace_most = trace_high, .ignored = true }
#define MM_FIELD_FLAG(game, member, name) { MM_FIELD_KIND(FLAG, name), MM_FIELD_AT(game, member) }
#define MM_FIELD_SIGN(game, member, name) { MM_FIELD_KIND(SIGN, name), MM_FIELD_AT(game, member) }
#define MM_FIELD_CONSTANT(name, value)                                                             \
  { MM_FIELD_KIND(CONSTANT, name), .least = value, .ignored = true }
#define MM_FIELD_EPISODE { MM_FIELD_KIND(TIME, "time") }, { MM_FIELD_KIND(TERMINAL, "terminal") }
#define MM_FIELD_MAP(game, member, name, last)                                                     \
  { MM_FIELD_KIND(MAP, name), MM_FIELD_AT(game, member), .most = last }
#define MM_FIELD_CELLS(game, member, name, first, last)                                            \
  { MM_FIELD_KIND(CELLS, name), MM_FIELD_AT(game, member), .least = first, .most = last }
#define MM_FIELD_LIST(name) { MM_FIELD_KIND(LIST, name) }
// clang-format on

// ---------------------------------------------------------------------------------------------
// Description of a game

typedef struct mm_game_spec {
  mm_env_about about;
  int32_t limit[2];           // steps of an episode by mm_minatar_rules; 0: none
  const mm_game_field *field; // [n_field]
  int n_field, n_draw;
  const char *reset;               // what is random in a reset
  const char *note;                // for the description of a trace, beside what all games share
  const char *draw[MM_GAME_DRAWS]; // descriptions, ended by NULL
  const mm_trace_param *params;

  // Lists of the game's own, between a row and its state; or NULL.
  void (*load)(const mm_game_row *row, void *state);
  void (*store)(const void *state, mm_game_row *row);
  // Puts what is recorded in an order or with values that have no effect into our form; or NULL.
  void (*tidy)(mm_game_row *row);
  // What the ranges of the fields do not say of a state between two steps; or NULL.
  bool (*is_valid)(const void *state);

  // Does a step from here with this action draw? NULL: never.
  bool (*draws)(const void *state, int executed, mm_minatar_rules rules);
  void (*load_draws)(const int32_t *row, void *draws);
  // On entry `row` holds what was recorded; entries without effect stay.
  void (*store_draws)(const void *state, const void *draws, int32_t *row);
  // Where no draws are not what a row of zeros gives; or NULL.
  void (*no_draws)(void *draws);
} mm_game_spec;

// The tables and functions of a game that are called after it.
#define MM_GAME_TABLES(game)                                                                       \
  .field = game##_fields, .n_field = MM_COUNT_OF(game##_fields), .params = game##_params
#define MM_GAME_OWN_LISTS(game)                                                                    \
  .load = game##_load, .store = game##_store, .tidy = game##_tidy, .is_valid = game##_is_valid
#define MM_GAME_OWN_DRAWS(game)                                                                    \
  .draws = game##_draws, .load_draws = game##_load_draws, .store_draws = game##_store_draws

#define MM_COUNT_OF(array) (int)(sizeof(array) / sizeof *(array))

// A board shows the marks, the first in front.
// clang-format off
#define MM_GAME_SCENE(marks, n_channel)                                                            \
  { .mark = marks, .n_mark = MM_COUNT_OF(marks), .rows = MM_MINATAR_SIDE,                          \
    .columns = MM_MINATAR_SIDE, .channels = n_channel }
// clang-format on

// You are always white, what you shoot or hit with is yellow, what ends the game is vermilion or
// magenta, what follows something is grey. The colours were chosen so that those of a game differ
// from each other and from the board in every common kind of colour vision (tests/test_picture.c
// computes it).
#define MM_WHITE 0xffffff
#define MM_LIGHT_GREY 0x949494
#define MM_DARK_GREY 0x585858
#define MM_YELLOW 0xd7d700
#define MM_VERMILION 0xd75f00
#define MM_MAGENTA 0xff00ff
#define MM_GREEN 0x87ffaf
#define MM_DARK_BLUE 0x0087af
#define MM_ORANGE 0xffaf5f
#define MM_BROWN 0xd7875f

static inline int32_t mm_game_within(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : value > high ? high : value;
}

static inline bool mm_game_is_within(int32_t value, int32_t low, int32_t high) {
  return value >= low && value <= high;
}

static inline void mm_game_push(mm_game_entries *list, int32_t value) {
  if (list->n < MM_GAME_ENTRIES) list->value[list->n++] = value;
}

// Nothing but cells of the rows up to `last`.
static inline bool mm_game_map_is_valid(const mm_minatar_map *m, int last) {
  uint64_t rows = MM_MINATAR_HALF >> MM_MINATAR_SIDE * (MM_MINATAR_SIDE - 1 - last);
  return !(m->half[0] & ~MM_MINATAR_HALF) && !(m->half[1] & ~rows);
}

#endif
