// SPDX-License-Identifier: Apache-2.0
// The table of games, and states of any game by the fields that its header lists.

#define MM_DESCRIBE // the headers' descriptions are compiled here

#include "env/minatar/games.h"

#define GAME_FUNCTIONS(name, NAME, id)                                                             \
  static mm_game_draws name##_any_draw_reset(mm_stream stream, uint64_t index) {                   \
    return (mm_game_draws){ .name = mm_##name##_draw_reset(stream, index) };                       \
  }                                                                                                \
  static void name##_any_reset(mm_game_state *s, mm_minatar_rules rules, mm_game_draws d) {        \
    mm_##name##_reset(&s->name, rules, d.name);                                                    \
  }                                                                                                \
  static mm_game_draws name##_any_draw_step(const mm_game_state *s, int action,                    \
                                            mm_minatar_rules rules, mm_stream stream,              \
                                            uint64_t index) {                                      \
    return (mm_game_draws){ .name =                                                                \
                                mm_##name##_draw_step(&s->name, action, rules, stream, index) };   \
  }                                                                                                \
  static unsigned name##_any_step(mm_game_state *s, int action, mm_minatar_rules rules,            \
                                  mm_game_draws d, float *reward) {                                \
    return mm_##name##_step(&s->name, action, rules, d.name, reward);                              \
  }                                                                                                \
  static int name##_any_list(const mm_game_state *s, uint16_t *out) {                              \
    return mm_##name##_list(&s->name, out);                                                        \
  }                                                                                                \
  static void name##_any_bits(const mm_game_state *s, uint32_t *words) {                           \
    mm_##name##_bits(&s->name, words);                                                             \
  }                                                                                                \
  _Static_assert((int)MM_##NAME##_ACTIVE <= (int)MM_GAME_ACTIVE_MAX &&                             \
                     (int)MM_##NAME##_WORDS <= (int)MM_GAME_WORDS_MAX,                             \
                 "room for observations of any game");
MM_GAME_LIST(GAME_FUNCTIONS)

#define GAME_ENTRY(name_, NAME, id_)                                                               \
  [MM_GAME_##NAME] = { .name = #name_,                                                             \
                       .id = { id_ "-MinAtar", "MinAtar/" id_ "-v1" },                             \
                       .spec = &mm_##name_##_spec,                                                 \
                       .channels = MM_##NAME##_CHANNELS,                                           \
                       .inputs = MM_##NAME##_INPUTS,                                               \
                       .words = MM_##NAME##_WORDS,                                                 \
                       .active = MM_##NAME##_ACTIVE,                                               \
                       .actions = MM_##NAME##_ACTIONS,                                             \
                       .action_set = MM_##NAME##_ACTION_SET,                                       \
                       .draw_reset = name_##_any_draw_reset,                                       \
                       .reset = name_##_any_reset,                                                 \
                       .draw_step = name_##_any_draw_step,                                         \
                       .step = name_##_any_step,                                                   \
                       .list = name_##_any_list,                                                   \
                       .bits = name_##_any_bits },
const mm_game mm_games[MM_GAME_COUNT] = { MM_GAME_LIST(GAME_ENTRY) };

// ---------------------------------------------------------------------------------------------
// One number of a state

static int32_t get(const void *state, const mm_game_field *f) {
  const void *at = (const char *)state + f->offset;
  if (f->kind == MM_FIELD_KIND_FLAG) return *(const uint8_t *)at;
  if (f->size == sizeof(int8_t)) return *(const int8_t *)at;
  if (f->size == sizeof(int16_t)) return *(const int16_t *)at;
  return *(const int32_t *)at;
}

static void set(void *state, const mm_game_field *f, int32_t value) {
  void *at = (char *)state + f->offset;
  if (f->size == sizeof(int8_t))
    *(int8_t *)at = (int8_t)value;
  else if (f->size == sizeof(int16_t))
    *(int16_t *)at = (int16_t)value;
  else
    *(int32_t *)at = value;
}

static bool is_list(const mm_game_field *f) {
  return f->kind >= MM_FIELD_KIND_MAP;
}

int mm_game_numbers(const mm_game *game) {
  int n = 0;
  while (n < game->spec->n_field && !is_list(&game->spec->field[n]))
    n++;
  return n;
}

// ---------------------------------------------------------------------------------------------
// Checks

static bool field_is_valid(const void *state, const mm_game_field *f) {
  const void *at = (const char *)state + f->offset;
  switch (f->kind) {
  case MM_FIELD_KIND_NUMBER:
    return mm_game_is_within(get(state, f), f->least, f->most);
  case MM_FIELD_KIND_FLAG:
    return mm_game_is_within(get(state, f), 0, 1);
  case MM_FIELD_KIND_SIGN:
    return get(state, f) == 1 || get(state, f) == -1;
  case MM_FIELD_KIND_MAP:
    return mm_game_map_is_valid(at, f->most);
  case MM_FIELD_KIND_CELLS:
    return !(*(const uint32_t *)at >> (f->most - f->least + 1));
  case MM_FIELD_KIND_CONSTANT:
  case MM_FIELD_KIND_TIME:
  case MM_FIELD_KIND_TERMINAL:
  case MM_FIELD_KIND_LIST:
    break;
  }
  return true;
}

// An episode that ended has begun anew by the end of the step.
static bool episode_is_valid(const mm_minatar_episode *e, uint32_t limit) {
  return (limit == 0 || e->time < limit) && e->ended == 0 && e->repeats < MM_MINATAR_ACTIONS;
}

bool mm_game_is_valid(const mm_game *game, const void *state, uint32_t limit) {
  const mm_game_spec *spec = game->spec;
  bool valid = episode_is_valid(state, limit);
  for (int i = 0; valid && i < spec->n_field; i++)
    valid = field_is_valid(state, &spec->field[i]);
  return valid && (!spec->is_valid || spec->is_valid(state));
}

// ---------------------------------------------------------------------------------------------
// Rows. Numbers that are no cells are left out.

static void load_cells(const mm_game_entries *list, void *state, const mm_game_field *f) {
  void *at = (char *)state + f->offset;
  for (int i = 0; i < list->n; i++) {
    const int32_t cell = list->value[i];
    if (f->kind == MM_FIELD_KIND_CELLS && mm_game_is_within(cell, f->least, f->most))
      *(uint32_t *)at |= 1u << (cell - f->least);
    else if (f->kind == MM_FIELD_KIND_MAP && mm_game_is_within(cell, 0, MM_MINATAR_CELLS - 1))
      mm_minatar_put(at, cell % MM_MINATAR_SIDE, cell / MM_MINATAR_SIDE);
  }
}

static void store_cells(const void *state, const mm_game_field *f, mm_game_entries *list) {
  const void *at = (const char *)state + f->offset;
  const bool map = f->kind == MM_FIELD_KIND_MAP;
  const int first = map ? 0 : f->least, last = map ? MM_MINATAR_CELLS - 1 : f->most;
  for (int cell = first; cell <= last; cell++) {
    if (map ? mm_minatar_at(at, cell % MM_MINATAR_SIDE, cell / MM_MINATAR_SIDE) != 0
            : *(const uint32_t *)at >> (cell - first) & 1)
      mm_game_push(list, cell);
  }
}

static void load_number(int32_t value, int32_t limit, mm_game_state *s, const mm_game_field *f) {
  mm_minatar_episode *e = &s->episode;
  switch (f->kind) {
  case MM_FIELD_KIND_NUMBER:
    set(s, f, mm_game_within(value, f->trace_least, f->trace_most));
    break;
  case MM_FIELD_KIND_FLAG:
    set(s, f, value != 0);
    break;
  case MM_FIELD_KIND_SIGN:
    set(s, f, value > 0 ? 1 : -1);
    break;
  case MM_FIELD_KIND_TIME:
    e->time = (uint32_t)mm_game_within(value, 0, INT32_MAX - 1);
    if (limit > 0 && value >= limit) e->ended |= MM_END_TRUNCATED;
    break;
  case MM_FIELD_KIND_TERMINAL:
    if (value != 0) e->ended |= MM_END_TERMINATED;
    break;
  case MM_FIELD_KIND_CONSTANT:
  case MM_FIELD_KIND_MAP:
  case MM_FIELD_KIND_CELLS:
  case MM_FIELD_KIND_LIST:
    break;
  }
}

static int32_t number_of(const mm_game_state *s, const mm_game_field *f) {
  if (f->kind == MM_FIELD_KIND_CONSTANT) return f->least;
  if (f->kind == MM_FIELD_KIND_TIME) return (int32_t)s->episode.time;
  if (f->kind == MM_FIELD_KIND_TERMINAL) return (s->episode.ended & MM_END_TERMINATED) != 0;
  return get(s, f);
}

void mm_game_load(const mm_game *game, const mm_game_row *row, mm_minatar_rules rules,
                  int32_t limit, mm_game_state *s) {
  const mm_game_spec *spec = game->spec;
  const int n = mm_game_numbers(game);
  memset(s, 0, sizeof *s);
  for (int i = 0; i < spec->n_field; i++) {
    const mm_game_field *f = &spec->field[i];
    if (!f->name) continue;
    if (i < n)
      load_number(row->number[i], limit, s, f);
    else
      load_cells(&row->list[i - n], s, f);
  }
  if (spec->load) spec->load(row, s);
  if (rules == MM_MINATAR_ORIGINAL)
    s->episode.repeats = (uint8_t)mm_game_within(row->number[n], 0, MM_MINATAR_ACTIONS - 1);
}

void mm_game_store(const mm_game *game, const mm_game_state *s, mm_minatar_rules rules,
                   mm_game_row *row) {
  const mm_game_spec *spec = game->spec;
  const int n = mm_game_numbers(game);
  memset(row, 0, sizeof *row);
  for (int i = 0; i < spec->n_field; i++) {
    const mm_game_field *f = &spec->field[i];
    if (i < n)
      row->number[i] = number_of(s, f);
    else if (f->kind == MM_FIELD_KIND_MAP || f->kind == MM_FIELD_KIND_CELLS)
      store_cells(s, f, &row->list[i - n]);
  }
  if (spec->store) spec->store(s, row);
  if (rules == MM_MINATAR_ORIGINAL) row->number[n] = s->episode.repeats;
}
