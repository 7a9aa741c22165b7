// SPDX-License-Identifier: Apache-2.0
// SpaceInvaders of MinAtar: a cannon below, a block of aliens above. [host/device]
//
// The block walks sideways, turns and comes down one row at the edge, faster the fewer are left.
// Shooting an alien is worth 1; an alien or an enemy bullet at the cannon ends the episode, and so
// does an alien that cannot come down any further. A cleared wave is followed by another, quicker
// one. Nothing is random, apart from sticky actions.

#ifndef MM_ENV_SPACE_INVADERS_H
#define MM_ENV_SPACE_INVADERS_H

#include "env/minatar/minatar.h"

enum {
  MM_SPACE_INVADERS_CHANNELS =
      6, // cannon, alien, alien to the left, to the right, bullets: own, enemy
  MM_SPACE_INVADERS_INPUTS = 100 * MM_SPACE_INVADERS_CHANNELS,
  MM_SPACE_INVADERS_WORDS = MM_MINATAR_WORDS(MM_SPACE_INVADERS_INPUTS),
  MM_SPACE_INVADERS_ACTIVE = 64, // 1 + 2 * 28 + 2 + 1 at most in play
  MM_SPACE_INVADERS_ACTIONS = 4,
  MM_SPACE_INVADERS_ACTION_SET = 0x5310, // none, left, right, fire
  MM_SPACE_INVADERS_CANNON_ROW = 9,
  MM_SPACE_INVADERS_SHOT_PERIOD = 5,
  MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD = 10,
  MM_SPACE_INVADERS_MOVE_PERIOD = 12,
  MM_SPACE_INVADERS_MOVE_PERIOD_MIN = 6
};

typedef struct mm_space_invaders {
  mm_minatar_episode episode;
  int8_t x;           // of the cannon
  int8_t alien_right; // 1 to the right, -1 to the left
  int8_t move_period; // of a full block
  int8_t move_timer, alien_shot_timer, shot_timer;
  int8_t ramp_index;         // how often the period has become shorter
  mm_minatar_map own, enemy; // bullets
  mm_minatar_map aliens;
} mm_space_invaders;

typedef struct mm_space_invaders_draws {
  uint8_t repeat; // the action is sticky
} mm_space_invaders_draws;

MM_INLINE MM_HD mm_space_invaders_draws mm_space_invaders_draw_reset(mm_stream stream,
                                                                     uint64_t index) {
  (void)stream, (void)index;
  mm_space_invaders_draws d = { 0 };
  return d;
}

MM_INLINE MM_HD mm_space_invaders_draws mm_space_invaders_draw_step(const mm_space_invaders *s,
                                                                    int action,
                                                                    mm_minatar_rules rules,
                                                                    mm_stream stream,
                                                                    uint64_t index) {
  (void)s, (void)action;
  mm_space_invaders_draws d = { (uint8_t)mm_minatar_sticky(rules, stream, index) };
  return d;
}

// ---------------------------------------------------------------------------------------------
// Reset and step

// Columns that hold something, as ten bits.
MM_INLINE MM_HD uint64_t mm_space_invaders_columns(const mm_minatar_map *m) {
  uint64_t rows = m->half[0] | m->half[1];
  rows |= rows >> 10;
  rows |= rows >> 20;
  return (rows | m->half[0] >> 40 | m->half[1] >> 40) & MM_MINATAR_ROW;
}

// A wave: rows 0 .. 3 of the columns from 2 to `last`.
MM_INLINE MM_HD void mm_space_invaders_wave(mm_minatar_map *m, int last) {
  uint64_t row = (2ull << last) - 4;
  m->half[0] = row | row << 10 | row << 20 | row << 30;
  m->half[1] = 0;
}

MM_INLINE MM_HD void mm_space_invaders_reset(mm_space_invaders *s, mm_minatar_rules rules,
                                             mm_space_invaders_draws d) {
  (void)d;
  mm_minatar_begin(&s->episode);
  s->x = 5;
  s->alien_right = -1;
  s->move_period = s->move_timer = MM_SPACE_INVADERS_MOVE_PERIOD;
  s->alien_shot_timer = MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD;
  s->shot_timer = 0;
  s->ramp_index = 0;
  s->own = s->enemy = mm_minatar_map_none();
  mm_space_invaders_wave(&s->aliens, rules == MM_MINATAR_GYMNAX ? 8 : 7);
}

// The block moves; returns whether it had nowhere to go.
MM_INLINE MM_HD int mm_space_invaders_walk(mm_space_invaders *s) {
  mm_minatar_map *a = &s->aliens;
  int n = mm_minatar_map_count(a), edge = s->alien_right > 0 ? MM_MINATAR_SIDE - 1 : 0;
  s->move_timer = (int8_t)(n < s->move_period ? n : s->move_period);
  if ((a->half[0] | a->half[1]) & MM_MINATAR_COLUMN << edge) {
    int bottom = a->half[1] >> 40 != 0;
    s->alien_right = (int8_t)-s->alien_right;
    *a = mm_minatar_to_bottom(*a);
    return bottom;
  }
  *a = s->alien_right > 0 ? mm_minatar_to_right(*a) : mm_minatar_to_left(*a);
  return 0;
}

// The lowest alien of the column nearest to the cannon shoots; the left one of two.
MM_INLINE MM_HD void mm_space_invaders_shoot(mm_space_invaders *s) {
  uint64_t columns = mm_space_invaders_columns(&s->aliens);
  uint64_t left = columns & ((2ull << s->x) - 1), right = columns >> s->x;
  s->alien_shot_timer = MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD;
  if (!columns) return;
  int to_left = left ? s->x - mm_minatar_highest(left) : MM_MINATAR_SIDE;
  int to_right = right ? mm_minatar_lowest(right) : MM_MINATAR_SIDE;
  int x = to_left <= to_right ? s->x - to_left : s->x + to_right;
  uint64_t column = MM_MINATAR_COLUMN << x;
  int lower = (s->aliens.half[1] & column) != 0;
  s->enemy.half[lower] |= 1ull << mm_minatar_highest(s->aliens.half[lower] & column);
}

MM_INLINE MM_HD int mm_space_invaders_kills(mm_space_invaders *s) {
  mm_minatar_map both = mm_minatar_both(s->aliens, s->own);
  mm_minatar_take_away(&s->aliens, both);
  mm_minatar_take_away(&s->own, both);
  return mm_minatar_map_count(&both);
}

MM_INLINE MM_HD unsigned mm_space_invaders_step(mm_space_invaders *s, int action,
                                                mm_minatar_rules rules, mm_space_invaders_draws d,
                                                float *reward) {
  *reward = 0;
  if (mm_minatar_frozen(&s->episode, rules)) return s->episode.ended;
  const int executed = mm_minatar_executed(&s->episode, action, d.repeat), old_x = s->x;
  if (executed == MM_MINATAR_FIRE && s->shot_timer == 0) {
    mm_minatar_put(&s->own, s->x, MM_SPACE_INVADERS_CANNON_ROW);
    s->shot_timer = MM_SPACE_INVADERS_SHOT_PERIOD;
  }
  s->x = (int8_t)mm_minatar_clamp(s->x + mm_minatar_right(executed), 0, MM_MINATAR_SIDE - 1);
  s->own = mm_minatar_to_top(s->own);
  s->enemy = mm_minatar_to_bottom(s->enemy);
  // gymnax tests the bullets at the place that the cannon has just left
  int struck_x = rules == MM_MINATAR_GYMNAX ? old_x : s->x;
  uint64_t terminal = mm_minatar_at(&s->enemy, struck_x, MM_SPACE_INVADERS_CANNON_ROW);
  terminal |= mm_minatar_at(&s->aliens, s->x, MM_SPACE_INVADERS_CANNON_ROW);
  if (s->move_timer == 0) {
    terminal |= (uint64_t)mm_space_invaders_walk(s);
    terminal |= mm_minatar_at(&s->aliens, s->x, MM_SPACE_INVADERS_CANNON_ROW);
  }
  if (s->alien_shot_timer == 0) mm_space_invaders_shoot(s);
  *reward = (float)mm_space_invaders_kills(s);
  s->shot_timer = (int8_t)(s->shot_timer - (s->shot_timer > 0));
  s->move_timer--;
  s->alien_shot_timer--;
  if (!mm_minatar_map_any(s->aliens)) {
    int ramps = s->move_period > MM_SPACE_INVADERS_MOVE_PERIOD_MIN;
    s->move_period = (int8_t)(s->move_period - ramps);
    s->ramp_index = (int8_t)(s->ramp_index + ramps);
    mm_space_invaders_wave(&s->aliens, 7);
  }
  return mm_minatar_end(&s->episode, terminal != 0, mm_minatar_limit(rules), rules, executed);
}

// ---------------------------------------------------------------------------------------------
// Observation

enum {
  MM_SPACE_INVADERS_CANNON,
  MM_SPACE_INVADERS_ALIEN,
  MM_SPACE_INVADERS_ALIEN_LEFT,
  MM_SPACE_INVADERS_ALIEN_RIGHT,
  MM_SPACE_INVADERS_OWN_BULLET,
  MM_SPACE_INVADERS_ENEMY_BULLET
};

MM_INLINE MM_HD int mm_space_invaders_input(int cell, int channel) {
  return cell * MM_SPACE_INVADERS_CHANNELS + channel;
}

MM_INLINE MM_HD int mm_space_invaders_cannon(const mm_space_invaders *s) {
  return mm_space_invaders_input(MM_MINATAR_SIDE * MM_SPACE_INVADERS_CANNON_ROW + s->x,
                                 MM_SPACE_INVADERS_CANNON);
}

MM_INLINE MM_HD int mm_space_invaders_alien_channel(const mm_space_invaders *s) {
  return s->alien_right > 0 ? MM_SPACE_INVADERS_ALIEN_RIGHT : MM_SPACE_INVADERS_ALIEN_LEFT;
}

MM_INLINE MM_HD int mm_space_invaders_insert_map(const mm_minatar_map *m, int channel,
                                                 uint16_t *out, int n) {
  for (int i = 0; i < 2; i++) {
    for (uint64_t left = m->half[i]; left && n < MM_SPACE_INVADERS_ACTIVE; left &= left - 1) {
      int cell = 50 * i + mm_minatar_lowest(left);
      n = mm_minatar_insert(out, n, mm_space_invaders_input(cell, channel));
    }
  }
  return n;
}

// The bullets and the cannon are put between the aliens, two inputs each. A state that was not
// reached by playing may have too many of them: the list ends where the room does.
MM_INLINE MM_HD int mm_space_invaders_list(const mm_space_invaders *s, uint16_t *out) {
  const int second = mm_space_invaders_alien_channel(s);
  int n = 0;
  for (int i = 0; i < 2; i++) {
    for (uint64_t left = s->aliens.half[i]; left && n < MM_SPACE_INVADERS_ACTIVE - 2;
         left &= left - 1) {
      int cell = 50 * i + mm_minatar_lowest(left);
      out[n] = (uint16_t)mm_space_invaders_input(cell, MM_SPACE_INVADERS_ALIEN);
      out[n + 1] = (uint16_t)mm_space_invaders_input(cell, second);
      n += 2;
    }
  }
  n = mm_minatar_insert(out, n, mm_space_invaders_cannon(s));
  n = mm_space_invaders_insert_map(&s->own, MM_SPACE_INVADERS_OWN_BULLET, out, n);
  return mm_space_invaders_insert_map(&s->enemy, MM_SPACE_INVADERS_ENEMY_BULLET, out, n);
}

// Five columns of a row go to every sixth bit: of the five copies that the product lays side by
// side, the mask keeps bit i of copy i.
MM_INLINE MM_HD uint64_t mm_space_invaders_spread(uint64_t row) {
  return ((row & 31) * 0x108421u & 0x1041041u) | ((row >> 5) * 0x108421u & 0x1041041u) << 30;
}

// Row after row until no alien is left, 60 bits each, across up to three words.
MM_INLINE MM_HD void mm_space_invaders_light_aliens(const mm_space_invaders *s, uint32_t *words) {
  const int row_bits = MM_MINATAR_SIDE * MM_SPACE_INVADERS_CHANNELS;
  const int second = mm_space_invaders_alien_channel(s);
  for (int half = 0; half < 2; half++) {
    int first = half * MM_MINATAR_SIDE / 2 * row_bits;
    for (uint64_t left = s->aliens.half[half]; left; left >>= MM_MINATAR_SIDE, first += row_bits) {
      uint64_t spread = mm_space_invaders_spread(left & MM_MINATAR_ROW);
      uint64_t row = spread << MM_SPACE_INVADERS_ALIEN | spread << second;
      uint32_t *to = words + (first >> 5);
      int at = first & 31;
      to[0] |= (uint32_t)(row << at);
      to[1] |= (uint32_t)(row << at >> 32);
      to[2] |= (uint32_t)(row >> 1 >> (63 - at));
    }
  }
}

MM_INLINE MM_HD void mm_space_invaders_bits(const mm_space_invaders *s, uint32_t *words) {
  mm_minatar_clear(words, MM_SPACE_INVADERS_WORDS);
  mm_space_invaders_light_aliens(s, words);
  mm_minatar_light(words, mm_space_invaders_cannon(s));
  for (int half = 0; half < 2; half++) {
    uint64_t own = s->own.half[half], enemy = s->enemy.half[half];
    for (uint64_t left = own | enemy; left; left &= left - 1) {
      int i = mm_minatar_lowest(left), cell = MM_MINATAR_CELLS / 2 * half + i;
      int input = mm_space_invaders_input(cell, MM_SPACE_INVADERS_OWN_BULLET);
      // even, so the next one, of the enemy, is in the same word
      words[input >> 5] |= (uint32_t)((own >> i & 1) | (enemy >> i & 1) << 1) << (input & 31);
    }
  }
}

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/minatar/game.h"

enum {
  SPACE_INVADERS_LAST = MM_MINATAR_SIDE - 1,
  SPACE_INVADERS_RAMPS = MM_SPACE_INVADERS_MOVE_PERIOD - MM_SPACE_INVADERS_MOVE_PERIOD_MIN
};

static const mm_game_field space_invaders_fields[] = {
  MM_FIELD(space_invaders, x, "pos", 0, SPACE_INVADERS_LAST),
  MM_FIELD_SIGN(space_invaders, alien_right, "alien_dir"),
  MM_FIELD(space_invaders, move_period, "enemy_move_interval", MM_SPACE_INVADERS_MOVE_PERIOD_MIN,
           MM_SPACE_INVADERS_MOVE_PERIOD),
  MM_FIELD(space_invaders, move_timer, "alien_move_timer", 0, MM_SPACE_INVADERS_MOVE_PERIOD),
  MM_FIELD(space_invaders, alien_shot_timer, "alien_shot_timer", 0,
           MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD),
  MM_FIELD_IGNORED(space_invaders, ramp_index, "ramp_index", 0, SPACE_INVADERS_RAMPS, 0, 100),
  MM_FIELD(space_invaders, shot_timer, "shot_timer", 0, MM_SPACE_INVADERS_SHOT_PERIOD),
  MM_FIELD_CONSTANT("ramping", 1),
  MM_FIELD_EPISODE,
  MM_FIELD_MAP(space_invaders, own, "f_bullet_map", SPACE_INVADERS_LAST),
  MM_FIELD_MAP(space_invaders, enemy, "e_bullet_map", SPACE_INVADERS_LAST),
  MM_FIELD_MAP(space_invaders, aliens, "alien_map", SPACE_INVADERS_LAST),
};

// There is always an alien: a cleared wave is followed by the next at once.
static bool space_invaders_is_valid(const void *state) {
  return mm_minatar_map_any(((const mm_space_invaders *)state)->aliens);
}

static const mm_trace_param space_invaders_params[] = {
  { "shot_cool_down", 1, { MM_SPACE_INVADERS_SHOT_PERIOD } },
  { "enemy_move_interval", 1, { MM_SPACE_INVADERS_MOVE_PERIOD } },
  { "enemy_shot_interval", 1, { MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD } },
  { NULL, 0, { 0 } },
};

static const char *const space_invaders_actions[] = { "none", "left", "right", "fire" };

// Each alien lights the channel of aliens and that of its direction: the second says more.
static const mm_mark space_invaders_marks[] = {
  { "cannon", MM_WHITE, 'C', MM_SPACE_INVADERS_CANNON },
  { "enemy bullet", MM_MAGENTA, '!', MM_SPACE_INVADERS_ENEMY_BULLET },
  { "your bullet", MM_YELLOW, '|', MM_SPACE_INVADERS_OWN_BULLET },
  { "alien, going left", MM_GREEN, '<', MM_SPACE_INVADERS_ALIEN_LEFT },
  { "alien, going right", MM_DARK_BLUE, '>', MM_SPACE_INVADERS_ALIEN_RIGHT },
};

const mm_game_spec mm_space_invaders_spec = {
  .about = { .summary = "shoot the aliens before they land",
             .action_name = space_invaders_actions,
             .facts = { NULL,
                        "10 x 10 cells of 6 channels: cannon, alien, alien going left, going "
                        "right, own bullet, enemy bullet",
                        "1 for each alien shot",
                        "an alien or its bullet reaches the cannon, or an alien the ground",
                        "nothing (by the original rules the sticky actions)", 10 },
             .scene = MM_GAME_SCENE(space_invaders_marks, MM_SPACE_INVADERS_CHANNELS) },
  .limit = { MM_MINATAR_LIMIT, 0 },
  MM_GAME_TABLES(space_invaders),
  .reset = "deterministic",
  .note = "The three maps list the indices row*10+col of their cells that are 1. The game itself "
          "has no random draws.",
  .is_valid = space_invaders_is_valid,
};
#endif

#endif
