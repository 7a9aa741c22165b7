// Rows of Seaquest. Bullets are x, y, direction; fish also have a timer, submarines a timer until
// they move and one until they shoot, divers a timer.
//
// The game keeps bullets and divers as maps and one timer for all divers, which is all that play
// ever needs; fish and submarines as one list, in which only the order within a kind matters.

#include <stdlib.h>
#include <string.h>

#include "env/minatar/minatar_form.h"

enum { LAST = MM_MINATAR_SIDE - 1 };

enum {
  OXYGEN,
  X,
  Y,
  RIGHT,
  ABOARD,
  SPAWN_PERIOD,
  SPAWN_TIMER,
  DIVER_TIMER,
  MOVE_INTERVAL,
  RAMP_INDEX,
  SHOT_TIMER,
  SURFACED,
  TIME,
  TERMINAL,
  NUMBERS
};

enum { OWN, ENEMY, FISH, SUBMARINES, DIVERS };

// Numbers of an entry in each list.
static const int width[MM_FORM_LISTS] = { 3, 3, 4, 5, 4 };

// ---------------------------------------------------------------------------------------------
// Loading. Entries that are not on the grid are left out.

static bool on_grid(const int32_t *entry) {
  return entry[0] >= 0 && entry[0] <= LAST && entry[1] >= 0 && entry[1] <= MM_SEAQUEST_ROWS;
}

static void load_directed(const mm_form_list *list, int fields, mm_minatar_map *maps) {
  for (int i = 0; i + fields <= list->n; i += fields) {
    const int32_t *e = &list->value[i];
    if (on_grid(e)) mm_minatar_put(&maps[e[2] != 0], e[0], e[1]);
  }
}

static void load_enemies(const mm_form_list *list, int submarine, mm_seaquest *s) {
  const int fields = width[submarine ? SUBMARINES : FISH];
  for (int i = 0; i + fields <= list->n; i += fields) {
    const int32_t *v = &list->value[i];
    mm_seaquest_enemy e;
    if (!on_grid(v)) continue;
    e.x = (int8_t)v[0];
    e.y = (int8_t)v[1];
    e.right = v[2] != 0;
    e.timer = mm_form_small(v[3], 0, MM_SEAQUEST_MOVE_INTERVAL);
    e.submarine = (uint8_t)submarine;
    e.shot = submarine ? mm_form_small(v[4], 0, MM_SEAQUEST_ENEMY_SHOT_INTERVAL) : 0;
    mm_seaquest_add(s, e);
  }
}

static void load(const mm_form_row *row, mm_game_state *state) {
  mm_seaquest *s = &state->seaquest;
  const int32_t *v = row->number;
  s->oxygen = (int16_t)mm_form_within(v[OXYGEN], -10000, MM_SEAQUEST_OXYGEN);
  s->x = mm_form_small(v[X], 0, LAST);
  s->y = mm_form_small(v[Y], 0, MM_SEAQUEST_ROWS);
  s->right = v[RIGHT] != 0;
  s->aboard = mm_form_within(v[ABOARD], -1000000, MM_SEAQUEST_DIVERS_FULL);
  s->spawn_period = mm_form_small(v[SPAWN_PERIOD], 1, MM_SEAQUEST_SPAWN_PERIOD);
  s->spawn_timer = mm_form_small(v[SPAWN_TIMER], 0, MM_SEAQUEST_SPAWN_PERIOD);
  s->diver_timer = mm_form_small(v[DIVER_TIMER], 0, MM_SEAQUEST_DIVER_PERIOD);
  s->move_interval =
      mm_form_small(v[MOVE_INTERVAL], MM_SEAQUEST_MOVE_INTERVAL_MIN, MM_SEAQUEST_MOVE_INTERVAL);
  s->ramp_index = mm_form_small(v[RAMP_INDEX], 0, 100);
  s->shot_timer = mm_form_small(v[SHOT_TIMER], 0, MM_SEAQUEST_SHOT_PERIOD);
  s->surfaced = v[SURFACED] != 0;
  load_directed(&row->list[OWN], width[OWN], s->own);
  load_directed(&row->list[ENEMY], width[ENEMY], s->enemy_bullet);
  load_directed(&row->list[DIVERS], width[DIVERS], s->diver);
  s->diver_move = MM_SEAQUEST_DIVER_INTERVAL; // of no effect without divers
  if (row->list[DIVERS].n >= width[DIVERS])
    s->diver_move = mm_form_small(row->list[DIVERS].value[3], 0, MM_SEAQUEST_DIVER_INTERVAL);
  load_enemies(&row->list[FISH], 0, s);
  load_enemies(&row->list[SUBMARINES], 1, s);
}

// ---------------------------------------------------------------------------------------------
// Storing

// By cell and direction; `timer` if there is one.
static void store_directed(mm_form_list *list, const mm_minatar_map *maps, int timer) {
  for (int cell = 0; cell < MM_MINATAR_CELLS; cell++) {
    const int x = cell % MM_MINATAR_SIDE, y = cell / MM_MINATAR_SIDE;
    for (int right = 0; right < 2; right++) {
      if (!mm_minatar_at(&maps[right], x, y)) continue;
      mm_form_push(list, x);
      mm_form_push(list, y);
      mm_form_push(list, right);
      if (timer >= 0) mm_form_push(list, timer);
    }
  }
}

static void store_enemies(mm_form_list *list, const mm_seaquest *s, int submarine) {
  for (int i = 0; i < s->n_enemy; i++) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    if (e->submarine != submarine) continue;
    mm_form_push(list, e->x);
    mm_form_push(list, e->y);
    mm_form_push(list, e->right);
    mm_form_push(list, e->timer);
    if (submarine) mm_form_push(list, e->shot);
  }
}

static void store(const mm_game_state *state, mm_form_row *row) {
  const mm_seaquest *s = &state->seaquest;
  const int32_t number[NUMBERS] = {
    [OXYGEN] = s->oxygen,
    [X] = s->x,
    [Y] = s->y,
    [RIGHT] = s->right,
    [ABOARD] = s->aboard,
    [SPAWN_PERIOD] = s->spawn_period,
    [SPAWN_TIMER] = s->spawn_timer,
    [DIVER_TIMER] = s->diver_timer,
    [MOVE_INTERVAL] = s->move_interval,
    [RAMP_INDEX] = s->ramp_index,
    [SHOT_TIMER] = s->shot_timer,
    [SURFACED] = s->surfaced,
  };
  memcpy(row->number, number, sizeof number);
  store_directed(&row->list[OWN], s->own, -1);
  store_directed(&row->list[ENEMY], s->enemy_bullet, -1);
  store_enemies(&row->list[FISH], s, 0);
  store_enemies(&row->list[SUBMARINES], s, 1);
  store_directed(&row->list[DIVERS], s->diver, s->diver_move);
}

// By row, column, direction: entries begin with x, y, direction.
static int compare(const void *left, const void *right) {
  static const int order[] = { 1, 0, 2 };
  const int32_t *a = left, *b = right;
  for (int i = 0; i < 3; i++) {
    int32_t l = a[order[i]], r = b[order[i]];
    if (l != r) return l < r ? -1 : 1;
  }
  return 0;
}

// Recorded bullets and divers come in the order of their age, which nothing depends on.
static void tidy(mm_form_row *row) {
  static const int sets[] = { OWN, ENEMY, DIVERS };
  for (int i = 0; i < 3; i++) {
    mm_form_list *list = &row->list[sets[i]];
    size_t fields = (size_t)width[sets[i]];
    qsort(list->value, (size_t)list->n / fields, fields * sizeof(int32_t), compare);
  }
}

// ---------------------------------------------------------------------------------------------
// Draws: enemy due, direction, submarine, row; diver due, direction, row

static bool draws(const mm_game_state *s, int executed, mm_minatar_rules rules) {
  (void)executed, (void)rules;
  return s->seaquest.spawn_timer == 0 || s->seaquest.diver_timer == 0;
}

static void load_draws(const int32_t *row, mm_game_draws *d) {
  d->seaquest.enemy_right = row[1] != 0;
  d->seaquest.enemy_submarine = row[2] != 0;
  d->seaquest.enemy_row = (uint8_t)mm_form_within(row[3], 1, MM_SEAQUEST_ROWS);
  d->seaquest.diver_right = row[5] != 0;
  d->seaquest.diver_row = (uint8_t)mm_form_within(row[6], 1, MM_SEAQUEST_ROWS);
}

static void store_draws(const mm_game_state *s, const mm_game_draws *d, int32_t *row) {
  row[0] = s->seaquest.spawn_timer == 0;
  row[4] = s->seaquest.diver_timer == 0;
  if (row[0]) {
    row[1] = d->seaquest.enemy_right;
    row[2] = d->seaquest.enemy_submarine;
    row[3] = d->seaquest.enemy_row;
  }
  if (row[4]) {
    row[5] = d->seaquest.diver_right;
    row[6] = d->seaquest.diver_row;
  }
}

static const mm_trace_param params[] = {
  { "ramping", 1, { 1 } },
  { "ramp_interval", 1, { 100 } }, // of no effect: surfacing ramps
  { "init_spawn_speed", 1, { MM_SEAQUEST_SPAWN_PERIOD } },
  { "init_move_interval", 1, { MM_SEAQUEST_MOVE_INTERVAL } },
  { "max_oxygen", 1, { MM_SEAQUEST_OXYGEN } },
  { "diver_spawn_speed", 1, { MM_SEAQUEST_DIVER_PERIOD } },
  { "shot_cool_down", 1, { MM_SEAQUEST_SHOT_PERIOD } },
  { "enemy_shot_interval", 1, { MM_SEAQUEST_ENEMY_SHOT_INTERVAL } },
  { "enemy_move_interval", 1, { MM_SEAQUEST_MOVE_INTERVAL } },
  { "diver_move_interval", 1, { MM_SEAQUEST_DIVER_INTERVAL } },
  { NULL, 0, { 0 } },
};

const mm_form mm_form_seaquest = {
  .name = "Seaquest",
  .reset = "deterministic",
  .note = "The entity tables list their entries one after the other (bullets x, y, dir; fish x, y, "
          "dir, timer; subs x, y, dir, move timer, shot timer; divers x, y, dir, timer), fish and "
          "subs oldest first. Of draws, those of an enemy count when one is due, those of a diver "
          "likewise.",
  .n_number = NUMBERS,
  .n_list = 5,
  .n_draw = 7,
  .number = { "oxygen", "sub_x", "sub_y", "sub_or", "diver_count", "e_spawn_speed", "e_spawn_timer",
              "d_spawn_timer", "move_speed", "ramp_index", "shot_timer", "surface", "time",
              "terminal" },
  .list = { "f_bullets", "e_bullets", "e_fish", "e_subs", "divers" },
  .draw = { "enemy spawn due", "enemy direction", "enemy is a submarine", "enemy row",
            "diver spawn due", "diver direction", "diver row" },
  .time = TIME,
  .terminal = TERMINAL,
  .params = params,
  .load = load,
  .store = store,
  .tidy = tidy,
  .draws = draws,
  .load_draws = load_draws,
  .store_draws = store_draws,
};
