// Rows of Asterix, Breakout, Freeway and SpaceInvaders.

#include <string.h>

#include "env/minatar/minatar_form.h"

enum { LAST = MM_MINATAR_SIDE - 1 };

// ---------------------------------------------------------------------------------------------
// Asterix. An entity is x, y, to the right, gold, in use.

enum {
  AX_X,
  AX_Y,
  AX_SHOT_TIMER,
  AX_SPAWN_PERIOD,
  AX_SPAWN_TIMER,
  AX_MOVE_PERIOD,
  AX_MOVE_TIMER,
  AX_RAMP_TIMER,
  AX_RAMP_INDEX,
  AX_TIME,
  AX_TERMINAL,
  AX_NUMBERS,
  AX_ENTITY = 5
};

static void asterix_load(const mm_form_row *row, mm_game_state *state) {
  mm_asterix *s = &state->asterix;
  const int32_t *v = row->number;
  s->x = mm_form_small(v[AX_X], 0, LAST);
  s->y = mm_form_small(v[AX_Y], 1, MM_ASTERIX_SLOTS);
  s->spawn_period = mm_form_small(v[AX_SPAWN_PERIOD], 1, MM_ASTERIX_SPAWN_PERIOD);
  s->spawn_timer = mm_form_small(v[AX_SPAWN_TIMER], 0, MM_ASTERIX_SPAWN_PERIOD);
  s->move_period = mm_form_small(v[AX_MOVE_PERIOD], 1, MM_ASTERIX_MOVE_PERIOD);
  s->move_timer = mm_form_small(v[AX_MOVE_TIMER], 0, MM_ASTERIX_MOVE_PERIOD);
  s->ramp_timer = mm_form_small(v[AX_RAMP_TIMER], -1, MM_ASTERIX_RAMP);
  s->ramp_index = mm_form_small(v[AX_RAMP_INDEX], 0, 100);
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++) {
    const int32_t *e = &row->list[0].value[AX_ENTITY * i];
    if (!e[4]) continue;
    s->used |= (uint8_t)(1u << i);
    s->right |= (uint8_t)((unsigned)(e[2] != 0) << i);
    s->gold |= (uint8_t)((unsigned)(e[3] != 0) << i);
    s->slot_x[i] = mm_form_small(e[0], 0, LAST);
  }
}

static void asterix_store(const mm_game_state *state, mm_form_row *row) {
  const mm_asterix *s = &state->asterix;
  const int32_t number[AX_NUMBERS] = {
    [AX_X] = s->x,
    [AX_Y] = s->y,
    [AX_SPAWN_PERIOD] = s->spawn_period,
    [AX_SPAWN_TIMER] = s->spawn_timer,
    [AX_MOVE_PERIOD] = s->move_period,
    [AX_MOVE_TIMER] = s->move_timer,
    [AX_RAMP_TIMER] = s->ramp_timer,
    [AX_RAMP_INDEX] = s->ramp_index,
  };
  memcpy(row->number, number, sizeof number);
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++) {
    int used = s->used >> i & 1;
    const int32_t entity[AX_ENTITY] = { s->slot_x[i], used ? i + 1 : 0, s->right >> i & 1,
                                        s->gold >> i & 1, used };
    for (int k = 0; k < AX_ENTITY; k++)
      mm_form_push(&row->list[0], entity[k]);
  }
}

// What is not there has no properties.
static void asterix_tidy(mm_form_row *row) {
  mm_form_list *list = &row->list[0];
  for (int i = 0; i + AX_ENTITY <= list->n; i += AX_ENTITY) {
    if (!list->value[i + 4]) memset(&list->value[i], 0, AX_ENTITY * sizeof(int32_t));
  }
}

// By the original rules a spawn without an empty slot is none.
static bool asterix_draws(const mm_game_state *s, int executed, mm_minatar_rules rules) {
  const unsigned full = (1u << MM_ASTERIX_SLOTS) - 1;
  (void)executed;
  return s->asterix.spawn_timer == 0 && (rules == MM_MINATAR_GYMNAX || s->asterix.used != full);
}

// slot, x, y, to the right, gold, in use
static void asterix_load_draws(const int32_t *row, mm_game_draws *d) {
  d->asterix.slot = (uint8_t)mm_form_within(row[0], 0, MM_ASTERIX_SLOTS - 1);
  d->asterix.right = row[3] != 0;
  d->asterix.gold = row[4] != 0;
  d->asterix.spawns = row[5] != 0;
}

static void asterix_store_draws(const mm_game_state *s, const mm_game_draws *d, int32_t *row) {
  (void)s;
  row[0] = d->asterix.slot;
  row[5] = d->asterix.spawns;
  if (!d->asterix.spawns) return; // nothing appears
  row[1] = d->asterix.right ? 0 : LAST;
  row[2] = d->asterix.slot + 1;
  row[3] = d->asterix.right;
  row[4] = d->asterix.gold;
}

static const mm_trace_param asterix_params[] = {
  { "ramping", 1, { 1 } },
  { "ramp_interval", 1, { MM_ASTERIX_RAMP } },
  { "init_spawn_speed", 1, { MM_ASTERIX_SPAWN_PERIOD } },
  { "init_move_interval", 1, { MM_ASTERIX_MOVE_PERIOD } },
  { "shot_cool_down", 1, { 5 } }, // nothing shoots
  { NULL, 0, { 0 } },
};

const mm_form mm_form_asterix = {
  .name = "Asterix",
  .reset = "deterministic",
  .note = "entities is the 8 x 5 table row by row: x, y, left-to-right flag, gold flag, in-use "
          "flag; only the last counts where it is 0. A spawn writes its row into table slot 'slot' "
          "even when in_use is 0 (no free slot was found), which empties that slot.",
  .n_number = AX_NUMBERS,
  .n_list = 1,
  .n_draw = 6,
  .number = { "player_x", "player_y", "shot_timer", "spawn_speed", "spawn_timer", "move_speed",
              "move_timer", "ramp_timer", "ramp_index", "time", "terminal" },
  .list = { "entities" },
  .draw = { "slot", "x", "y", "lr", "is_gold", "in_use" },
  .time = AX_TIME,
  .terminal = AX_TERMINAL,
  .ignored = 1u << AX_SHOT_TIMER,
  .params = asterix_params,
  .load = asterix_load,
  .store = asterix_store,
  .tidy = asterix_tidy,
  .draws = asterix_draws,
  .load_draws = asterix_load_draws,
  .store_draws = asterix_store_draws,
};

// ---------------------------------------------------------------------------------------------
// Breakout

enum {
  BR_Y,
  BR_X,
  BR_DIRECTION,
  BR_PADDLE,
  BR_STRIKE,
  BR_LAST_Y,
  BR_LAST_X,
  BR_TIME,
  BR_TERMINAL,
  BR_NUMBERS
};

static void breakout_load(const mm_form_row *row, mm_game_state *state) {
  mm_breakout *s = &state->breakout;
  const int32_t *v = row->number;
  s->x = mm_form_small(v[BR_X], 0, LAST);
  s->y = mm_form_small(v[BR_Y], 0, LAST);
  s->direction = mm_form_small(v[BR_DIRECTION], MM_BREAKOUT_UP_LEFT, MM_BREAKOUT_DOWN_LEFT);
  s->paddle = mm_form_small(v[BR_PADDLE], 0, LAST);
  s->strike = v[BR_STRIKE] != 0;
  s->last_x = mm_form_small(v[BR_LAST_X], 0, LAST);
  s->last_y = mm_form_small(v[BR_LAST_Y], 0, LAST);
  for (int i = 0; i < row->list[0].n; i++) {
    int32_t brick = row->list[0].value[i];
    if (brick >= MM_BREAKOUT_BRICK_FIRST && brick < MM_BREAKOUT_BRICK_FIRST + MM_BREAKOUT_BRICKS)
      s->bricks |= 1u << (brick - MM_BREAKOUT_BRICK_FIRST);
  }
}

static void breakout_store(const mm_game_state *state, mm_form_row *row) {
  const mm_breakout *s = &state->breakout;
  const int32_t number[BR_NUMBERS] = {
    [BR_Y] = s->y,           [BR_X] = s->x,           [BR_DIRECTION] = s->direction,
    [BR_PADDLE] = s->paddle, [BR_STRIKE] = s->strike, [BR_LAST_Y] = s->last_y,
    [BR_LAST_X] = s->last_x,
  };
  memcpy(row->number, number, sizeof number);
  for (int i = 0; i < MM_BREAKOUT_BRICKS; i++) {
    if (s->bricks >> i & 1) mm_form_push(&row->list[0], MM_BREAKOUT_BRICK_FIRST + i);
  }
}

static const mm_trace_param breakout_params[] = { { NULL, 0, { 0 } } };

const mm_form mm_form_breakout = {
  .name = "Breakout",
  .reset = "ball side drawn at random (ball_x 0 and dir 2, or ball_x 9 and dir 3)",
  .note = "brick_map lists the indices row*10+col of the bricks present.",
  .n_number = BR_NUMBERS,
  .n_list = 1,
  .number = { "ball_y", "ball_x", "ball_dir", "pos", "strike", "last_y", "last_x", "time",
              "terminal" },
  .list = { "brick_map" },
  .time = BR_TIME,
  .terminal = BR_TERMINAL,
  .params = breakout_params,
  .load = breakout_load,
  .store = breakout_store,
};

// ---------------------------------------------------------------------------------------------
// Freeway. A car is x, row, timer, signed speed.

enum { FW_ROW, FW_MOVE_TIMER, FW_TIME, FW_TERMINAL, FW_NUMBERS, FW_CAR = 4 };

static void freeway_load(const mm_form_row *row, mm_game_state *state) {
  mm_freeway *s = &state->freeway;
  s->row = mm_form_small(row->number[FW_ROW], 1, MM_FREEWAY_START);
  s->move_timer = mm_form_small(row->number[FW_MOVE_TIMER], 0, MM_FREEWAY_PERIOD);
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    const int32_t *car = &row->list[0].value[FW_CAR * i];
    int32_t speed = car[3] < 0 ? -mm_form_within(car[3], -MM_FREEWAY_SPEEDS, -1)
                               : mm_form_within(car[3], 1, MM_FREEWAY_SPEEDS);
    s->x |= (uint64_t)mm_form_within(car[0], 0, LAST) << 8 * i;
    s->timer |= (uint64_t)mm_form_within(car[2], 0, MM_FREEWAY_SPEEDS) << 8 * i;
    s->speed |= (uint64_t)speed << 8 * i;
    s->left |= (uint64_t)(car[3] < 0) << 8 * i;
  }
}

static void freeway_store(const mm_game_state *state, mm_form_row *row) {
  const mm_freeway *s = &state->freeway;
  row->number[FW_ROW] = s->row;
  row->number[FW_MOVE_TIMER] = s->move_timer;
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    int speed = mm_freeway_byte(s->speed, i);
    mm_form_push(&row->list[0], mm_freeway_byte(s->x, i));
    mm_form_push(&row->list[0], i + 1);
    mm_form_push(&row->list[0], mm_freeway_byte(s->timer, i));
    mm_form_push(&row->list[0], mm_freeway_byte(s->left, i) ? -speed : speed);
  }
}

// The chicken arrives.
static bool freeway_draws(const mm_game_state *s, int executed, mm_minatar_rules rules) {
  (void)rules;
  return s->freeway.move_timer == 0 && s->freeway.row == 1 && executed == MM_MINATAR_UP;
}

static void freeway_load_draws(const int32_t *row, mm_game_draws *d) {
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    d->freeway.speed[i] = row[i] < 0 ? mm_form_small(row[i], -MM_FREEWAY_SPEEDS, -1)
                                     : mm_form_small(row[i], 1, MM_FREEWAY_SPEEDS);
}

static void freeway_store_draws(const mm_game_state *s, const mm_game_draws *d, int32_t *row) {
  (void)s;
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    row[i] = d->freeway.speed[i];
}

static const mm_trace_param freeway_params[] = {
  { "player_speed", 1, { MM_FREEWAY_PERIOD } },
  { NULL, 0, { 0 } },
};

const mm_form mm_form_freeway = {
  .name = "Freeway",
  .reset = "x=0, row=i+1, signed speed drawn from {-5..-1,1..5} for each car i, "
           "timer=abs(speed); pos=9, move_timer=player_speed",
  .note = "cars is the 8 x 4 table row by row: x, row, timer, signed speed.",
  .n_number = FW_NUMBERS,
  .n_list = 1,
  .n_draw = MM_FREEWAY_CARS,
  .number = { "pos", "move_timer", "time", "terminal" },
  .list = { "cars" },
  .draw = { "signed speed of car 0..7 (timer becomes its absolute value, x stays)" },
  .time = FW_TIME,
  .terminal = FW_TERMINAL,
  .params = freeway_params,
  .load = freeway_load,
  .store = freeway_store,
  .draws = freeway_draws,
  .load_draws = freeway_load_draws,
  .store_draws = freeway_store_draws,
};

// ---------------------------------------------------------------------------------------------
// SpaceInvaders

enum {
  SI_X,
  SI_ALIEN_DIR,
  SI_MOVE_PERIOD,
  SI_MOVE_TIMER,
  SI_ALIEN_SHOT_TIMER,
  SI_RAMP_INDEX,
  SI_SHOT_TIMER,
  SI_RAMPING,
  SI_TIME,
  SI_TERMINAL,
  SI_NUMBERS
};

static void space_invaders_load(const mm_form_row *row, mm_game_state *state) {
  mm_space_invaders *s = &state->space_invaders;
  const int32_t *v = row->number;
  s->x = mm_form_small(v[SI_X], 0, LAST);
  s->alien_right = v[SI_ALIEN_DIR] > 0 ? 1 : -1;
  s->move_period = mm_form_small(v[SI_MOVE_PERIOD], MM_SPACE_INVADERS_MOVE_PERIOD_MIN,
                                 MM_SPACE_INVADERS_MOVE_PERIOD);
  s->move_timer = mm_form_small(v[SI_MOVE_TIMER], 0, MM_SPACE_INVADERS_MOVE_PERIOD);
  s->alien_shot_timer =
      mm_form_small(v[SI_ALIEN_SHOT_TIMER], 0, MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD);
  s->shot_timer = mm_form_small(v[SI_SHOT_TIMER], 0, MM_SPACE_INVADERS_SHOT_PERIOD);
  s->ramp_index = mm_form_small(v[SI_RAMP_INDEX], 0, 100);
  s->own = mm_form_load_map(&row->list[0]);
  s->enemy = mm_form_load_map(&row->list[1]);
  s->aliens = mm_form_load_map(&row->list[2]);
}

static void space_invaders_store(const mm_game_state *state, mm_form_row *row) {
  const mm_space_invaders *s = &state->space_invaders;
  const int32_t number[SI_NUMBERS] = {
    [SI_X] = s->x,
    [SI_ALIEN_DIR] = s->alien_right,
    [SI_MOVE_PERIOD] = s->move_period,
    [SI_MOVE_TIMER] = s->move_timer,
    [SI_ALIEN_SHOT_TIMER] = s->alien_shot_timer,
    [SI_RAMP_INDEX] = s->ramp_index,
    [SI_SHOT_TIMER] = s->shot_timer,
    [SI_RAMPING] = 1,
  };
  memcpy(row->number, number, sizeof number);
  mm_form_store_map(&row->list[0], &s->own);
  mm_form_store_map(&row->list[1], &s->enemy);
  mm_form_store_map(&row->list[2], &s->aliens);
}

static const mm_trace_param space_invaders_params[] = {
  { "shot_cool_down", 1, { MM_SPACE_INVADERS_SHOT_PERIOD } },
  { "enemy_move_interval", 1, { MM_SPACE_INVADERS_MOVE_PERIOD } },
  { "enemy_shot_interval", 1, { MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD } },
  { NULL, 0, { 0 } },
};

const mm_form mm_form_space_invaders = {
  .name = "SpaceInvaders",
  .reset = "deterministic",
  .note = "The three maps list the indices row*10+col of their cells that are 1. The game itself "
          "has no random draws.",
  .n_number = SI_NUMBERS,
  .n_list = 3,
  .number = { "pos", "alien_dir", "enemy_move_interval", "alien_move_timer", "alien_shot_timer",
              "ramp_index", "shot_timer", "ramping", "time", "terminal" },
  .list = { "f_bullet_map", "e_bullet_map", "alien_map" },
  .time = SI_TIME,
  .terminal = SI_TERMINAL,
  .ignored = 1u << SI_RAMPING | 1u << SI_RAMP_INDEX,
  .params = space_invaders_params,
  .load = space_invaders_load,
  .store = space_invaders_store,
};
