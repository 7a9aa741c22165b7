// SPDX-License-Identifier: Apache-2.0
// Freeway of MinAtar: a chicken crosses eight lanes of cars. [host/device]
//
// The chicken keeps to column 4 and moves at most every third step. A car of speed v moves every
// |v| + 1 steps; touching one sends the chicken back to the start. Each crossing is worth 1 and
// draws new speeds, while the cars keep their places. The only end is the limit.

#ifndef MM_ENV_FREEWAY_H
#define MM_ENV_FREEWAY_H

#include "env/minatar/minatar.h"

enum {
  MM_FREEWAY_CHANNELS = 7, // chicken, car, trails of speeds 1 .. 5
  MM_FREEWAY_INPUTS = 100 * MM_FREEWAY_CHANNELS,
  MM_FREEWAY_WORDS = MM_MINATAR_WORDS(MM_FREEWAY_INPUTS),
  MM_FREEWAY_ACTIVE = 17,
  MM_FREEWAY_ACTIONS = 3,
  MM_FREEWAY_ACTION_SET = 0x420, // none, up, down
  MM_FREEWAY_CARS = 8,           // car i drives in row i + 1
  MM_FREEWAY_SPEEDS = 5,
  MM_FREEWAY_COLUMN = 4,
  MM_FREEWAY_START = 9,
  MM_FREEWAY_PERIOD = 3, // of the chicken's moves
  MM_FREEWAY_LIMIT = 2500,
  MM_FREEWAY_LIMIT_ORIGINAL = 2501
};

// One byte per car, car i in bits 8 i .. 8 i + 7: a few operations on words move all cars.
typedef struct mm_freeway {
  mm_minatar_episode episode;
  int8_t row; // of the chicken
  int8_t move_timer;
  uint64_t x, timer;
  uint64_t speed; // 1 .. 5
  uint64_t left;  // 1 when it drives to the left
} mm_freeway;

typedef struct mm_freeway_draws {
  uint8_t repeat;                // step: the action is sticky
  int8_t speed[MM_FREEWAY_CARS]; // reset, and a step that arrives: below 0 to the left
} mm_freeway_draws;

// ---------------------------------------------------------------------------------------------

// Uniform on -5 .. -1, 1 .. 5, one word per car.
MM_INLINE MM_HD void mm_freeway_draw_speeds(mm_stream stream, uint64_t index, int8_t *speed) {
  for (int half = 0; half < 2; half++) {
    mm_block b = mm_minatar_block(stream, index, half + 1);
    for (int i = 0; i < 4; i++) {
      int v = mm_minatar_below(b.word[i], 2 * MM_FREEWAY_SPEEDS) - MM_FREEWAY_SPEEDS;
      speed[4 * half + i] = (int8_t)(v < 0 ? v : v + 1);
    }
  }
}

MM_INLINE MM_HD mm_freeway_draws mm_freeway_draw_reset(mm_stream stream, uint64_t index) {
  mm_freeway_draws d;
  d.repeat = 0;
  mm_freeway_draw_speeds(stream, index, d.speed);
  return d;
}

MM_INLINE MM_HD mm_freeway_draws mm_freeway_draw_step(const mm_freeway *s, int action,
                                                      mm_minatar_rules rules, mm_stream stream,
                                                      uint64_t index) {
  mm_freeway_draws d = { 0, { 0 } };
  d.repeat = (uint8_t)mm_minatar_sticky(rules, stream, index);
  int executed = mm_minatar_executed(&s->episode, action, d.repeat);
  if (s->move_timer == 0 && s->row == 1 && executed == MM_MINATAR_UP)
    mm_freeway_draw_speeds(stream, index, d.speed);
  return d;
}

// ---------------------------------------------------------------------------------------------
// Cars. No byte ever exceeds 127, so nothing carries into the next.

#define MM_FREEWAY_EACH 0x0101010101010101ull // times n: n in every byte

MM_INLINE MM_HD int mm_freeway_byte(uint64_t cars, int i) {
  return (int)(cars >> 8 * i & 255);
}

// 1 in each byte that is at least n, for bytes and n up to 64.
MM_INLINE MM_HD uint64_t mm_freeway_at_least(uint64_t cars, unsigned n) {
  return (cars + (128 - n) * MM_FREEWAY_EACH) >> 7 & MM_FREEWAY_EACH;
}

// Each column one further: to the right where `right` is 1, to the left where `left` is 1, round
// the edge. Nine columns to the right are one to the left.
MM_INLINE MM_HD uint64_t mm_freeway_shift(uint64_t x, uint64_t right, uint64_t left) {
  x += right + left * (MM_MINATAR_SIDE - 1);
  return x - mm_freeway_at_least(x, MM_MINATAR_SIDE) * MM_MINATAR_SIDE;
}

MM_INLINE MM_HD void mm_freeway_set_speeds(mm_freeway *s, const int8_t *speed) {
  s->speed = s->left = 0;
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    int left = speed[i] < 0;
    s->speed |= (uint64_t)(left ? -speed[i] : speed[i]) << 8 * i;
    s->left |= (uint64_t)left << 8 * i;
  }
  s->timer = s->speed;
}

// A car whose timer is 0 moves and sets it again; the others count down.
MM_INLINE MM_HD void mm_freeway_drive(mm_freeway *s) {
  uint64_t waits = mm_freeway_at_least(s->timer, 1), due = waits ^ MM_FREEWAY_EACH;
  s->timer = s->timer - waits + (s->speed & due * 255);
  s->x = mm_freeway_shift(s->x, due & ~s->left, due & s->left);
}

// ---------------------------------------------------------------------------------------------
// Reset and step

MM_INLINE MM_HD void mm_freeway_reset(mm_freeway *s, mm_minatar_rules rules, mm_freeway_draws d) {
  (void)rules;
  mm_minatar_begin(&s->episode);
  s->row = MM_FREEWAY_START;
  s->move_timer = MM_FREEWAY_PERIOD;
  s->x = 0;
  mm_freeway_set_speeds(s, d.speed);
}

MM_INLINE MM_HD unsigned mm_freeway_step(mm_freeway *s, int action, mm_minatar_rules rules,
                                         mm_freeway_draws d, float *reward) {
  *reward = 0;
  if (mm_minatar_frozen(&s->episode, rules)) return s->episode.ended;
  const int executed = mm_minatar_executed(&s->episode, action, d.repeat);
  const int down = mm_minatar_down(executed);
  int row = s->row;
  if (s->move_timer == 0 && down) {
    s->move_timer = MM_FREEWAY_PERIOD;
    row = mm_minatar_clamp(row + down, 0, MM_FREEWAY_START);
  }
  if (row == 0) {
    *reward = 1;
    row = MM_FREEWAY_START;
    mm_freeway_set_speeds(s, d.speed);
  }
  // only the car of the chicken's row can touch it; there is none at the start
  const int lane = row - 1, crossing = lane < MM_FREEWAY_CARS, shown = crossing ? lane : 0;
  int hit = mm_freeway_byte(s->x, shown) == MM_FREEWAY_COLUMN;
  mm_freeway_drive(s);
  hit = crossing & (hit | (mm_freeway_byte(s->x, shown) == MM_FREEWAY_COLUMN));
  s->row = (int8_t)(hit ? MM_FREEWAY_START : row);
  if (s->move_timer > 0) s->move_timer--;
  uint32_t limit = rules == MM_MINATAR_GYMNAX ? MM_FREEWAY_LIMIT : MM_FREEWAY_LIMIT_ORIGINAL;
  return mm_minatar_end(&s->episode, 0, limit, rules, executed);
}

// ---------------------------------------------------------------------------------------------
// Observation

enum { MM_FREEWAY_CHICKEN, MM_FREEWAY_CAR }; // then the trail of speed v in channel 1 + |v|

MM_INLINE MM_HD int mm_freeway_input(int x, int y, int channel) {
  return (MM_MINATAR_SIDE * y + x) * MM_FREEWAY_CHANNELS + channel;
}

MM_INLINE MM_HD int mm_freeway_chicken(const mm_freeway *s) {
  return mm_freeway_input(MM_FREEWAY_COLUMN, s->row, MM_FREEWAY_CHICKEN);
}

// The columns behind the cars, round the edge.
MM_INLINE MM_HD uint64_t mm_freeway_behind(const mm_freeway *s) {
  return mm_freeway_shift(s->x, s->left, s->left ^ MM_FREEWAY_EACH);
}

MM_INLINE MM_HD int mm_freeway_list(const mm_freeway *s, uint16_t *out) {
  const uint64_t behind = mm_freeway_behind(s);
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    int car = mm_freeway_input(mm_freeway_byte(s->x, i), i + 1, MM_FREEWAY_CAR);
    int trail = mm_freeway_input(mm_freeway_byte(behind, i), i + 1,
                                 MM_FREEWAY_CAR + mm_freeway_byte(s->speed, i));
    out[2 * i] = (uint16_t)(car < trail ? car : trail);
    out[2 * i + 1] = (uint16_t)(car < trail ? trail : car);
  }
  return mm_minatar_insert(out, 2 * MM_FREEWAY_CARS, mm_freeway_chicken(s));
}

MM_INLINE MM_HD void mm_freeway_bits(const mm_freeway *s, uint32_t *words) {
  const uint64_t behind = mm_freeway_behind(s);
  mm_minatar_clear(words, MM_FREEWAY_WORDS);
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    mm_minatar_light(words, mm_freeway_input(mm_freeway_byte(s->x, i), i + 1, MM_FREEWAY_CAR));
    mm_minatar_light(words, mm_freeway_input(mm_freeway_byte(behind, i), i + 1,
                                             MM_FREEWAY_CAR + mm_freeway_byte(s->speed, i)));
  }
  mm_minatar_light(words, mm_freeway_chicken(s));
}

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/minatar/game.h"

static const mm_game_field freeway_fields[] = {
  MM_FIELD(freeway, row, "pos", 1, MM_FREEWAY_START),
  MM_FIELD(freeway, move_timer, "move_timer", 0, MM_FREEWAY_PERIOD),
  MM_FIELD_EPISODE,
  MM_FIELD_LIST("cars"),
};

enum { FREEWAY_CAR = 4 }; // numbers of one: x, row, timer, signed speed

// Never 0.
static int32_t freeway_signed_speed(int32_t speed) {
  return speed < 0 ? mm_game_within(speed, -MM_FREEWAY_SPEEDS, -1)
                   : mm_game_within(speed, 1, MM_FREEWAY_SPEEDS);
}

static void freeway_load(const mm_game_row *row, void *state) {
  mm_freeway *s = state;
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    const int32_t *car = &row->list[0].value[FREEWAY_CAR * i];
    const int32_t speed = freeway_signed_speed(car[3]);
    s->x |= (uint64_t)mm_game_within(car[0], 0, MM_MINATAR_SIDE - 1) << 8 * i;
    s->timer |= (uint64_t)mm_game_within(car[2], 0, MM_FREEWAY_SPEEDS) << 8 * i;
    s->speed |= (uint64_t)(speed < 0 ? -speed : speed) << 8 * i;
    s->left |= (uint64_t)(speed < 0) << 8 * i;
  }
}

static void freeway_store(const void *state, mm_game_row *row) {
  const mm_freeway *s = state;
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    int speed = mm_freeway_byte(s->speed, i);
    mm_game_push(&row->list[0], mm_freeway_byte(s->x, i));
    mm_game_push(&row->list[0], i + 1);
    mm_game_push(&row->list[0], mm_freeway_byte(s->timer, i));
    mm_game_push(&row->list[0], mm_freeway_byte(s->left, i) ? -speed : speed);
  }
}

static bool freeway_is_valid(const void *state) {
  const mm_freeway *s = state;
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    const int speed = mm_freeway_byte(s->speed, i);
    if (mm_freeway_byte(s->x, i) >= MM_MINATAR_SIDE || mm_freeway_byte(s->left, i) > 1 ||
        !mm_game_is_within(speed, 1, MM_FREEWAY_SPEEDS) || mm_freeway_byte(s->timer, i) > speed)
      return false;
  }
  return true;
}

// The chicken arrives.
static bool freeway_draws(const void *state, int executed, mm_minatar_rules rules) {
  const mm_freeway *s = state;
  (void)rules;
  return s->move_timer == 0 && s->row == 1 && executed == MM_MINATAR_UP;
}

static void freeway_load_draws(const int32_t *row, void *draws) {
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    ((mm_freeway_draws *)draws)->speed[i] = (int8_t)freeway_signed_speed(row[i]);
}

static void freeway_store_draws(const void *state, const void *draws, int32_t *row) {
  (void)state;
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    row[i] = ((const mm_freeway_draws *)draws)->speed[i];
}

static const mm_trace_param freeway_params[] = {
  { "player_speed", 1, { MM_FREEWAY_PERIOD } },
  { NULL, 0, { 0 } },
};

static const char *const freeway_actions[] = { "none", "up", "down" };

// Trails go from light to dark: the lighter, the faster.
static const mm_mark freeway_marks[] = {
  { "chicken", MM_WHITE, 'C', MM_FREEWAY_CHICKEN },
  { "car", 0xff5f00, 'X', MM_FREEWAY_CAR },
  { "trail, moves every 2nd step", 0xafd7ff, '1', MM_FREEWAY_CAR + 1 },
  { "every 3rd step", 0x00afaf, '2', MM_FREEWAY_CAR + 2 },
  { "every 4th step", 0x8787d7, '3', MM_FREEWAY_CAR + 3 },
  { "every 5th step", 0x005f87, '4', MM_FREEWAY_CAR + 4 },
  { "every 6th step", 0x0000ff, '5', MM_FREEWAY_CAR + 5 },
};

const mm_game_spec mm_freeway_spec = {
  .about = { .summary = "cross eight lanes of cars, again and again",
             .action_name = freeway_actions,
             .facts = { NULL, "10 x 10 cells of 7 channels: chicken, car, trails by speed (5)",
                        "1 for each crossing", MM_ENDS_BY_LIMIT,
                        "at the start and after each crossing: speed and direction of all cars",
                        15 },
             .scene = MM_GAME_SCENE(freeway_marks, MM_FREEWAY_CHANNELS) },
  .limit = { MM_FREEWAY_LIMIT, MM_FREEWAY_LIMIT_ORIGINAL },
  MM_GAME_TABLES(freeway),
  .n_draw = MM_FREEWAY_CARS,
  .reset = "x=0, row=i+1, signed speed drawn from {-5..-1,1..5} for each car i, "
           "timer=abs(speed); pos=9, move_timer=player_speed",
  .note = "cars is the 8 x 4 table row by row: x, row, timer, signed speed.",
  .draw = { "signed speed of car 0..7 (timer becomes its absolute value, x stays)" },
  .load = freeway_load,
  .store = freeway_store,
  .is_valid = freeway_is_valid,
  MM_GAME_OWN_DRAWS(freeway),
};
#endif

#endif
