// SPDX-License-Identifier: Apache-2.0
// Seaquest of MinAtar: a submarine shoots fish and submarines and rescues divers. [host/device]
//
// A hit is worth 1. Enemies and their bullets end the episode on touch, and so does running out of
// oxygen or surfacing without a diver. Surfacing refills the oxygen and costs one diver; with six
// aboard it is worth up to 10, the more the more oxygen is left. The enemies become more and faster
// with every time.
//
// Bullets and divers are maps, one for each direction: they move all at once, and no two of them
// are ever in the same state. The divers too move all in the same steps, as they come every 30 and
// move every 6. Enemies are a list in the order in which they came, handled newest first.

#ifndef MM_ENV_SEAQUEST_H
#define MM_ENV_SEAQUEST_H

#include "env/minatar/minatar.h"

enum {
  MM_SEAQUEST_CHANNELS = 10, // see below
  MM_SEAQUEST_INPUTS = 100 * MM_SEAQUEST_CHANNELS,
  MM_SEAQUEST_WORDS = MM_MINATAR_WORDS(MM_SEAQUEST_INPUTS),
  // in play at most 2 of the submarine, 3 for each enemy with its trail and its bullet, 3 bullets,
  // 3 divers with their trails, 16 of the gauges
  MM_SEAQUEST_ACTIVE = 128,
  MM_SEAQUEST_ACTIONS = 6,
  MM_SEAQUEST_ACTION_SET = 0x543210, // all
  MM_SEAQUEST_OXYGEN = 200,
  MM_SEAQUEST_SPAWN_PERIOD = 20,
  MM_SEAQUEST_DIVER_PERIOD = 30,
  MM_SEAQUEST_MOVE_INTERVAL = 5,
  MM_SEAQUEST_MOVE_INTERVAL_MIN = 2,
  MM_SEAQUEST_DIVER_INTERVAL = 5,
  MM_SEAQUEST_SHOT_PERIOD = 5,
  MM_SEAQUEST_ENEMY_SHOT_INTERVAL = 10,
  MM_SEAQUEST_DIVERS_FULL = 6,
  MM_SEAQUEST_RESCUE = 10, // worth of six divers with full oxygen
  MM_SEAQUEST_ROWS = 8,    // entities swim in rows 1 .. 8
  MM_SEAQUEST_GAUGE_ROW = 9,
  // at the fastest, an enemy comes with every step and crosses the grid in 29 steps, 32 if it began
  // with a longer interval
  MM_SEAQUEST_ENEMIES_MAX = 32
};

// A fish or a submarine. All in one row go the same way.
typedef struct mm_seaquest_enemy {
  int8_t x, y;
  int8_t timer; // until it moves
  int8_t shot;  // until a submarine shoots
  uint8_t right, submarine;
} mm_seaquest_enemy;

typedef struct mm_seaquest {
  mm_minatar_episode episode;
  int16_t oxygen;
  int8_t x, y;
  uint8_t right, surfaced;
  int8_t spawn_period, spawn_timer, diver_timer, move_interval, shot_timer;
  int8_t diver_move; // until the divers move
  int8_t ramp_index; // how often surfacing has made the enemies more or faster
  uint8_t n_enemy;
  int32_t aboard; // divers; below 0 after a rescue
  // to the left and to the right
  mm_minatar_map own[2], enemy_bullet[2]; // bullets
  mm_minatar_map diver[2];
  mm_minatar_map enemy_cells[4]; // where the enemies are: fish, then submarines, each to the left
                                 // and to the right; the list says more, the maps say it faster
  mm_seaquest_enemy enemy[MM_SEAQUEST_ENEMIES_MAX];
} mm_seaquest;

typedef struct mm_seaquest_draws {
  uint8_t repeat; // the action is sticky
  uint8_t enemy_right, enemy_submarine, enemy_row;
  uint8_t diver_right, diver_row;
} mm_seaquest_draws;

// ---------------------------------------------------------------------------------------------
// Draws

MM_INLINE MM_HD mm_seaquest_draws mm_seaquest_draw_reset(mm_stream stream, uint64_t index) {
  (void)stream, (void)index;
  mm_seaquest_draws d = { 0, 0, 0, 1, 0, 1 };
  return d;
}

MM_INLINE MM_HD mm_seaquest_draws mm_seaquest_draw_step(const mm_seaquest *s, int action,
                                                        mm_minatar_rules rules, mm_stream stream,
                                                        uint64_t index) {
  (void)action;
  mm_seaquest_draws d = { 0, 0, 0, 1, 0, 1 };
  d.repeat = (uint8_t)mm_minatar_sticky(rules, stream, index);
  if (s->spawn_timer == 0) {
    mm_block b = mm_minatar_block(stream, index, 1);
    d.enemy_right = (uint8_t)(b.word[0] >> 31);
    d.enemy_submarine = mm_minatar_below(b.word[1], 3) == 0;
    d.enemy_row = (uint8_t)(1 + mm_minatar_below(b.word[2], MM_SEAQUEST_ROWS));
  }
  if (s->diver_timer == 0) {
    mm_block b = mm_minatar_block(stream, index, 2);
    d.diver_right = (uint8_t)(b.word[0] >> 31);
    d.diver_row = (uint8_t)(1 + mm_minatar_below(b.word[1], MM_SEAQUEST_ROWS));
  }
  return d;
}

// ---------------------------------------------------------------------------------------------
// Enemies

// Which of the maps of cells an enemy belongs to.
MM_INLINE MM_HD int mm_seaquest_sort(const mm_seaquest_enemy *e) {
  return 2 * e->submarine + e->right;
}

// There is always room in play; a state made otherwise loses the newcomer.
MM_INLINE MM_HD void mm_seaquest_add(mm_seaquest *s, mm_seaquest_enemy e) {
  if (s->n_enemy >= MM_SEAQUEST_ENEMIES_MAX) return;
  s->enemy[s->n_enemy++] = e;
  mm_minatar_put(&s->enemy_cells[mm_seaquest_sort(&e)], e.x, e.y);
}

// The caller sets the map of cells right.
MM_INLINE MM_HD void mm_seaquest_remove(mm_seaquest *s, int i) {
  s->n_enemy--;
  for (; i < s->n_enemy; i++)
    s->enemy[i] = s->enemy[i + 1];
}

MM_INLINE MM_HD void mm_seaquest_find_cells(mm_seaquest *s) {
  for (int k = 0; k < 4; k++)
    s->enemy_cells[k] = mm_minatar_map_none();
  for (int i = 0; i < s->n_enemy; i++) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    mm_minatar_put(&s->enemy_cells[mm_seaquest_sort(e)], e->x, e->y);
  }
}

// Where fish (0) or submarines (1) are.
MM_INLINE MM_HD mm_minatar_map mm_seaquest_cells(const mm_seaquest *s, int submarine) {
  return mm_minatar_either(s->enemy_cells[2 * submarine], s->enemy_cells[2 * submarine + 1]);
}

MM_INLINE MM_HD int mm_seaquest_touches(const mm_seaquest *s, const mm_seaquest_enemy *e) {
  return (e->x == s->x) & (e->y == s->y);
}

// The oldest fish at a cell, else the oldest submarine, else -1.
MM_INLINE MM_HD int mm_seaquest_target(const mm_seaquest *s, int x, int y) {
  int submarine = -1;
  for (int i = 0; i < s->n_enemy; i++) {
    if (s->enemy[i].x != x || s->enemy[i].y != y) continue;
    if (!s->enemy[i].submarine) return i;
    if (submarine < 0) submarine = i;
  }
  return submarine;
}

// Takes one of the submarine's bullets at a cell away; false if there is none.
MM_INLINE MM_HD int mm_seaquest_takes_bullet(mm_seaquest *s, int x, int y) {
  for (int right = 0; right < 2; right++) {
    if (!mm_minatar_at(&s->own[right], x, y)) continue;
    mm_minatar_take_away(&s->own[right], mm_minatar_cell(x, y));
    return 1;
  }
  return 0;
}

// ---------------------------------------------------------------------------------------------
// Phases of a step

// Nothing swims against others of its row: such a newcomer stays away.
MM_INLINE MM_HD void mm_seaquest_spawn_enemy(mm_seaquest *s, mm_seaquest_draws d) {
  mm_seaquest_enemy e;
  e.right = d.enemy_right != 0;
  e.submarine = d.enemy_submarine != 0;
  e.x = e.right ? 0 : MM_MINATAR_SIDE - 1;
  e.y = (int8_t)d.enemy_row;
  e.timer = s->move_interval;
  e.shot = e.submarine ? MM_SEAQUEST_ENEMY_SHOT_INTERVAL : 0;
  s->spawn_timer = s->spawn_period;
  for (int i = 0; i < s->n_enemy; i++) {
    if (s->enemy[i].y == e.y && s->enemy[i].right != e.right) return;
  }
  mm_seaquest_add(s, e);
}

MM_INLINE MM_HD void mm_seaquest_spawn_diver(mm_seaquest *s, mm_seaquest_draws d) {
  s->diver_timer = MM_SEAQUEST_DIVER_PERIOD;
  s->diver_move = MM_SEAQUEST_DIVER_INTERVAL; // what it is anyway if there are divers
  mm_minatar_put(&s->diver[d.diver_right != 0], d.diver_right ? 0 : MM_MINATAR_SIDE - 1,
                 d.diver_row);
}

MM_INLINE MM_HD void mm_seaquest_act(mm_seaquest *s, int executed) {
  const int right = mm_minatar_right(executed);
  if (executed == MM_MINATAR_FIRE && s->shot_timer == 0) {
    s->shot_timer = MM_SEAQUEST_SHOT_PERIOD;
    mm_minatar_put(&s->own[s->right], s->x, s->y);
  }
  s->right = (uint8_t)((right > 0) | (s->right & (right == 0)));
  s->x = (int8_t)mm_minatar_clamp(s->x + right, 0, MM_MINATAR_SIDE - 1);
  s->y = (int8_t)mm_minatar_clamp(s->y + mm_minatar_down(executed), 0, MM_SEAQUEST_ROWS);
}

MM_INLINE MM_HD void mm_seaquest_move_maps(mm_minatar_map *maps) {
  maps[0] = mm_minatar_to_left(maps[0]);
  maps[1] = mm_minatar_to_right(maps[1]);
}

// Returns how many of the submarine's bullets hit: an enemy and a bullet less for each.
MM_INLINE MM_HD int mm_seaquest_move_own(mm_seaquest *s) {
  int n = 0;
  mm_seaquest_move_maps(s->own);
  mm_minatar_map enemies = mm_minatar_either(mm_seaquest_cells(s, 0), mm_seaquest_cells(s, 1));
  mm_minatar_map hits = mm_minatar_both(mm_minatar_either(s->own[0], s->own[1]), enemies);
  if (!mm_minatar_map_any(hits)) return 0;
  for (int y = 0; y < MM_MINATAR_SIDE; y++) {
    for (uint64_t left = mm_minatar_row(&hits, y); left; left &= left - 1) {
      int x = mm_minatar_lowest(left);
      mm_seaquest_remove(s, mm_seaquest_target(s, x, y));
      n += mm_seaquest_takes_bullet(s, x, y);
    }
  }
  mm_seaquest_find_cells(s);
  return n;
}

// Divers at the submarine come aboard while there is room.
MM_INLINE MM_HD void mm_seaquest_board(mm_seaquest *s, mm_minatar_map here) {
  for (int right = 0; right < 2; right++) {
    int boards = s->aboard < MM_SEAQUEST_DIVERS_FULL &&
                 mm_minatar_map_any(mm_minatar_both(s->diver[right], here));
    if (boards) mm_minatar_take_away(&s->diver[right], here);
    s->aboard += boards;
  }
}

MM_INLINE MM_HD void mm_seaquest_move_divers(mm_seaquest *s, mm_minatar_map here) {
  mm_minatar_map divers = mm_minatar_either(s->diver[0], s->diver[1]);
  if (mm_minatar_map_any(mm_minatar_both(divers, here))) mm_seaquest_board(s, here);
  if (s->diver_move > 0) {
    s->diver_move--;
    return;
  }
  s->diver_move = MM_SEAQUEST_DIVER_INTERVAL;
  mm_seaquest_move_maps(s->diver);
  mm_seaquest_board(s, here);
}

// Moves enemy i, whose time has come; false when it is gone. A submarine that swims into a bullet
// goes with it. For a fish that is left to mm_seaquest_strike_fish: submarines come first.
MM_INLINE MM_HD int mm_seaquest_swim(mm_seaquest *s, int i, int *hits, int *struck) {
  mm_seaquest_enemy *e = &s->enemy[i];
  e->timer = s->move_interval;
  e->x = (int8_t)(e->x + 2 * e->right - 1);
  int stays = e->x >= 0 && e->x < MM_MINATAR_SIDE;
  if (stays && !mm_seaquest_touches(s, e)) {
    mm_minatar_map own = mm_minatar_either(s->own[0], s->own[1]);
    int strikes = (int)mm_minatar_at(&own, e->x, e->y);
    if (strikes && e->submarine) {
      *hits += mm_seaquest_takes_bullet(s, e->x, e->y);
      stays = 0;
    } else if (strikes) {
      *struck = 1;
    }
  }
  if (!stays) mm_seaquest_remove(s, i);
  return stays;
}

// Fish that have just moved to a bullet go with it, one fish to a bullet, newest first.
MM_INLINE MM_HD void mm_seaquest_strike_fish(mm_seaquest *s, int *hits) {
  for (int i = s->n_enemy - 1; i >= 0; i--) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    if (e->submarine || e->timer != s->move_interval || mm_seaquest_touches(s, e)) continue;
    if (!mm_seaquest_takes_bullet(s, e->x, e->y)) continue;
    mm_seaquest_remove(s, i);
    ++*hits;
  }
  mm_seaquest_find_cells(s);
}

// Moves the enemies and lets the submarines shoot; returns whether one touched the submarine.
MM_INLINE MM_HD int mm_seaquest_move_enemies(mm_seaquest *s, int *hits) {
  int touched = 0, struck = 0;
  for (int k = 0; k < 4; k++)
    s->enemy_cells[k] = mm_minatar_map_none();
  for (int i = s->n_enemy - 1; i >= 0; i--) {
    mm_seaquest_enemy *e = &s->enemy[i];
    touched |= mm_seaquest_touches(s, e);
    if (e->timer > 0)
      e->timer--;
    else if (!mm_seaquest_swim(s, i, hits, &struck))
      continue;
    touched |= mm_seaquest_touches(s, e);
    mm_minatar_put(&s->enemy_cells[mm_seaquest_sort(e)], e->x, e->y);
    if (!e->submarine) continue;
    if (e->shot == 0) mm_minatar_put(&s->enemy_bullet[e->right], e->x, e->y);
    e->shot = (int8_t)(e->shot == 0 ? MM_SEAQUEST_ENEMY_SHOT_INTERVAL : e->shot - 1);
  }
  if (struck) mm_seaquest_strike_fish(s, hits);
  return touched;
}

MM_INLINE MM_HD int mm_seaquest_move_enemy_bullets(mm_seaquest *s, mm_minatar_map here) {
  mm_minatar_map before = mm_minatar_either(s->enemy_bullet[0], s->enemy_bullet[1]);
  mm_seaquest_move_maps(s->enemy_bullet);
  mm_minatar_map after = mm_minatar_either(s->enemy_bullet[0], s->enemy_bullet[1]);
  return mm_minatar_map_any(mm_minatar_both(mm_minatar_either(before, after), here));
}

// Returns what the rescue is worth. The diver that surfacing costs is taken even from none.
MM_INLINE MM_HD int mm_seaquest_surface(mm_seaquest *s) {
  int worth = 0;
  s->surfaced = 1;
  if (s->aboard == MM_SEAQUEST_DIVERS_FULL) {
    worth = MM_SEAQUEST_RESCUE * s->oxygen / MM_SEAQUEST_OXYGEN;
    s->aboard = 0;
  }
  s->aboard--;
  s->oxygen = MM_SEAQUEST_OXYGEN;
  if (s->spawn_period > 1 || s->move_interval > MM_SEAQUEST_MOVE_INTERVAL_MIN) {
    if ((s->ramp_index & 1) && s->move_interval > MM_SEAQUEST_MOVE_INTERVAL_MIN) s->move_interval--;
    if (s->spawn_period > 1) s->spawn_period--;
    s->ramp_index++;
  }
  return worth;
}

// ---------------------------------------------------------------------------------------------
// Reset and step

MM_INLINE MM_HD void mm_seaquest_reset(mm_seaquest *s, mm_minatar_rules rules,
                                       mm_seaquest_draws d) {
  (void)rules, (void)d;
  mm_minatar_begin(&s->episode);
  s->oxygen = MM_SEAQUEST_OXYGEN;
  s->x = 5;
  s->y = 0;
  s->right = 0;
  s->surfaced = 1;
  s->aboard = 0;
  s->spawn_period = s->spawn_timer = MM_SEAQUEST_SPAWN_PERIOD;
  s->diver_timer = MM_SEAQUEST_DIVER_PERIOD;
  s->move_interval = MM_SEAQUEST_MOVE_INTERVAL;
  s->shot_timer = 0;
  s->ramp_index = 0;
  s->diver_move = MM_SEAQUEST_DIVER_INTERVAL;
  s->n_enemy = 0;
  mm_seaquest_find_cells(s);
  for (int right = 0; right < 2; right++)
    s->own[right] = s->enemy_bullet[right] = s->diver[right] = mm_minatar_map_none();
}

static inline MM_HD unsigned mm_seaquest_step(mm_seaquest *s, int action, mm_minatar_rules rules,
                                              mm_seaquest_draws d, float *reward) {
  *reward = 0;
  if (mm_minatar_frozen(&s->episode, rules)) return s->episode.ended;
  const int executed = mm_minatar_executed(&s->episode, action, d.repeat);
  if (s->spawn_timer == 0) mm_seaquest_spawn_enemy(s, d);
  if (s->diver_timer == 0) mm_seaquest_spawn_diver(s, d);
  mm_seaquest_act(s, executed);
  const mm_minatar_map here = mm_minatar_cell(s->x, s->y);
  int hits = mm_seaquest_move_own(s);
  mm_seaquest_move_divers(s, here);
  int terminal = mm_seaquest_move_enemies(s, &hits);
  terminal |= mm_seaquest_move_enemy_bullets(s, here);
  s->spawn_timer = (int8_t)(s->spawn_timer - (s->spawn_timer > 0));
  s->diver_timer = (int8_t)(s->diver_timer - (s->diver_timer > 0));
  s->shot_timer = (int8_t)(s->shot_timer - (s->shot_timer > 0));
  terminal |= s->oxygen <= 0;
  const int below = s->y > 0, alone = s->aboard == 0;
  s->oxygen = (int16_t)(s->oxygen - below);
  if (!below && !s->surfaced) {
    terminal |= alone;
    if (!alone || rules == MM_MINATAR_GYMNAX) hits += mm_seaquest_surface(s);
  }
  s->surfaced = (uint8_t)(s->surfaced & !below);
  *reward = (float)hits;
  return mm_minatar_end(&s->episode, terminal, mm_minatar_limit(rules), rules, executed);
}

// ---------------------------------------------------------------------------------------------
// Observation

enum {
  MM_SEAQUEST_FRONT, // of the submarine
  MM_SEAQUEST_BACK,  // the cell behind
  MM_SEAQUEST_OWN_BULLET,
  MM_SEAQUEST_TRAIL, // behind enemies and divers
  MM_SEAQUEST_ENEMY_BULLET,
  MM_SEAQUEST_FISH,
  MM_SEAQUEST_SUBMARINE,
  MM_SEAQUEST_OXYGEN_GAUGE,
  MM_SEAQUEST_DIVER_GAUGE,
  MM_SEAQUEST_DIVER
};

// How many columns of its gauge the oxygen fills, 0 .. 10.
MM_INLINE MM_HD int mm_seaquest_oxygen_columns(const mm_seaquest *s) {
  return s->oxygen > 0 ? MM_MINATAR_SIDE * s->oxygen / MM_SEAQUEST_OXYGEN : 0;
}

// The first of the columns up to 8 that the divers aboard fill.
MM_INLINE MM_HD int mm_seaquest_diver_column(const mm_seaquest *s) {
  return mm_minatar_clamp(MM_MINATAR_SIDE - 1 - s->aboard, 0, MM_MINATAR_SIDE - 1);
}

// What is in the water beside the submarine: the channels as maps.
typedef struct mm_seaquest_view {
  mm_minatar_map own, trail, bullet, fish, submarine, diver, any;
} mm_seaquest_view;

MM_INLINE MM_HD mm_seaquest_view mm_seaquest_look(const mm_seaquest *s) {
  mm_seaquest_view v;
  v.own = mm_minatar_either(s->own[0], s->own[1]);
  v.bullet = mm_minatar_either(s->enemy_bullet[0], s->enemy_bullet[1]);
  v.fish = mm_seaquest_cells(s, 0);
  v.submarine = mm_seaquest_cells(s, 1);
  v.diver = mm_minatar_either(s->diver[0], s->diver[1]);
  mm_minatar_map left = mm_minatar_either(s->enemy_cells[0], s->enemy_cells[2]);
  mm_minatar_map right = mm_minatar_either(s->enemy_cells[1], s->enemy_cells[3]);
  v.trail = mm_minatar_either(mm_minatar_to_right(mm_minatar_either(left, s->diver[0])),
                              mm_minatar_to_left(mm_minatar_either(right, s->diver[1])));
  v.any = mm_minatar_either(
      mm_minatar_either(mm_minatar_either(v.own, v.bullet), mm_minatar_either(v.fish, v.submarine)),
      mm_minatar_either(v.diver, v.trail));
  return v;
}

// The channels of cell i of a half, as bits.
MM_INLINE MM_HD uint64_t mm_seaquest_channels_at(const mm_seaquest_view *v, int half, int i) {
  return (v->own.half[half] >> i & 1) << MM_SEAQUEST_OWN_BULLET |
         (v->trail.half[half] >> i & 1) << MM_SEAQUEST_TRAIL |
         (v->bullet.half[half] >> i & 1) << MM_SEAQUEST_ENEMY_BULLET |
         (v->fish.half[half] >> i & 1) << MM_SEAQUEST_FISH |
         (v->submarine.half[half] >> i & 1) << MM_SEAQUEST_SUBMARINE |
         (v->diver.half[half] >> i & 1) << MM_SEAQUEST_DIVER;
}

// Cell by cell in ascending order, then the gauges in the last row. A state that was not reached by
// playing may have too much for the list, which then lacks some of it.
static inline MM_HD int mm_seaquest_list(const mm_seaquest *s, uint16_t *out) {
  const mm_seaquest_view v = mm_seaquest_look(s);
  const mm_minatar_map here = mm_minatar_cell(s->x, s->y);
  const mm_minatar_map back = s->right ? mm_minatar_to_left(here) : mm_minatar_to_right(here);
  const int room = MM_SEAQUEST_ACTIVE - 2 * MM_MINATAR_SIDE; // for the gauges
  int n = 0;
  for (int half = 0; half < 2; half++) {
    uint64_t left = v.any.half[half] | here.half[half] | back.half[half];
    for (; left; left &= left - 1) {
      int i = mm_minatar_lowest(left);
      int first = (MM_MINATAR_CELLS / 2 * half + i) * MM_SEAQUEST_CHANNELS;
      uint64_t channels = mm_seaquest_channels_at(&v, half, i) |
                          (here.half[half] >> i & 1) << MM_SEAQUEST_FRONT |
                          (back.half[half] >> i & 1) << MM_SEAQUEST_BACK;
      for (; channels && n < room; channels &= channels - 1)
        out[n++] = (uint16_t)(first + mm_minatar_lowest(channels));
    }
  }
  const int oxygen = mm_seaquest_oxygen_columns(s), diver = mm_seaquest_diver_column(s);
  for (int x = 0; x < MM_MINATAR_SIDE; x++) { // writes always, keeps what is lit
    int first = (MM_MINATAR_SIDE * MM_SEAQUEST_GAUGE_ROW + x) * MM_SEAQUEST_CHANNELS;
    out[n] = (uint16_t)(first + MM_SEAQUEST_OXYGEN_GAUGE);
    n += x < oxygen;
    out[n] = (uint16_t)(first + MM_SEAQUEST_DIVER_GAUGE);
    n += x >= diver && x < MM_MINATAR_SIDE - 1;
  }
  return n;
}

// The last row, 100 bits: words 28 to 31 behind its first four bits. Bit 10 x of a gauge's halves,
// five columns each, stands for column x.
MM_INLINE MM_HD void mm_seaquest_light_gauges(const mm_seaquest *s, uint32_t *words) {
  const uint64_t columns = 0x10040100401ull; // every tenth bit
  const int oxygen = mm_seaquest_oxygen_columns(s), diver = mm_seaquest_diver_column(s);
  const int left = oxygen < 5 ? oxygen : 5, right = oxygen - left;
  // divers fill the columns from `diver` on, of 0 .. 8
  const int empty = diver < 5 ? diver : 5, empty_right = diver - empty;
  uint64_t low = (columns & ((1ull << 10 * left) - 1)) << MM_SEAQUEST_OXYGEN_GAUGE;
  uint64_t high = (columns & ((1ull << 10 * right) - 1)) << MM_SEAQUEST_OXYGEN_GAUGE;
  low |= (columns & ~((1ull << 10 * empty) - 1)) << MM_SEAQUEST_DIVER_GAUGE;
  high |= (columns & ~((1ull << 10 * empty_right) - 1) & ((1ull << 40) - 1))
          << MM_SEAQUEST_DIVER_GAUGE;
  low = low << 4 | high << 54; // bits 896 .. 959
  high >>= 10;
  words[28] = (uint32_t)low;
  words[29] = (uint32_t)(low >> 32);
  words[30] = (uint32_t)high;
  words[31] = (uint32_t)(high >> 32);
}

// The submarine and the cell behind it, if there is one.
MM_INLINE MM_HD void mm_seaquest_light_own(const mm_seaquest *s, uint32_t *words) {
  const int cell = MM_MINATAR_SIDE * s->y + s->x, step = 1 - 2 * s->right, x = s->x + step;
  const uint32_t inside = x >= 0 && x < MM_MINATAR_SIDE;
  const int behind = inside ? (cell + step) * MM_SEAQUEST_CHANNELS + MM_SEAQUEST_BACK : 0;
  mm_minatar_light(words, cell * MM_SEAQUEST_CHANNELS + MM_SEAQUEST_FRONT);
  words[behind >> 5] |= inside << (behind & 31);
}

// One walk over all cells that hold anything but the submarine; there are few.
static inline MM_HD void mm_seaquest_bits(const mm_seaquest *s, uint32_t *words) {
  const mm_seaquest_view v = mm_seaquest_look(s);
  mm_minatar_clear(words, MM_SEAQUEST_WORDS);
  mm_seaquest_light_gauges(s, words);
  mm_seaquest_light_own(s, words);
  for (int half = 0; half < 2; half++) {
    for (uint64_t left = v.any.half[half]; left; left &= left - 1) {
      int i = mm_minatar_lowest(left);
      int first = (MM_MINATAR_CELLS / 2 * half + i) * MM_SEAQUEST_CHANNELS;
      mm_minatar_light_all(words, first, mm_seaquest_channels_at(&v, half, i));
    }
  }
}

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description. The number aboard falls by one with every time that the submarine comes up after a
// rescue: its bound is far beyond what can be played, and leaves room to count on.

#include <stdlib.h>

#include "env/minatar/game.h"

static const mm_game_field seaquest_fields[] = {
  MM_FIELD_WIDER(seaquest, oxygen, "oxygen", 0, MM_SEAQUEST_OXYGEN, -10000, MM_SEAQUEST_OXYGEN),
  MM_FIELD(seaquest, x, "sub_x", 0, MM_MINATAR_SIDE - 1),
  MM_FIELD(seaquest, y, "sub_y", 0, MM_SEAQUEST_ROWS),
  MM_FIELD_FLAG(seaquest, right, "sub_or"),
  MM_FIELD_WIDER(seaquest, aboard, "diver_count", -(1 << 30), MM_SEAQUEST_DIVERS_FULL, -1000000,
                 MM_SEAQUEST_DIVERS_FULL),
  MM_FIELD(seaquest, spawn_period, "e_spawn_speed", 1, MM_SEAQUEST_SPAWN_PERIOD),
  MM_FIELD(seaquest, spawn_timer, "e_spawn_timer", 0, MM_SEAQUEST_SPAWN_PERIOD),
  MM_FIELD(seaquest, diver_timer, "d_spawn_timer", 0, MM_SEAQUEST_DIVER_PERIOD),
  MM_FIELD(seaquest, move_interval, "move_speed", MM_SEAQUEST_MOVE_INTERVAL_MIN,
           MM_SEAQUEST_MOVE_INTERVAL),
  MM_FIELD_WIDER(seaquest, ramp_index, "ramp_index", 0, MM_SEAQUEST_SPAWN_PERIOD - 1, 0, 100),
  MM_FIELD(seaquest, shot_timer, "shot_timer", 0, MM_SEAQUEST_SHOT_PERIOD),
  MM_FIELD_FLAG(seaquest, surfaced, "surface"),
  MM_FIELD_EPISODE,
  MM_FIELD_LIST("f_bullets"),
  MM_FIELD_LIST("e_bullets"),
  MM_FIELD_LIST("e_fish"),
  MM_FIELD_LIST("e_subs"),
  MM_FIELD_LIST("divers"),
  MM_FIELD(seaquest, diver_move, NULL, 0, MM_SEAQUEST_DIVER_INTERVAL),
};

// The lists. Bullets are x, y, direction; fish also have a timer, submarines a timer until they
// move and one until they shoot, divers a timer: one for all, which is all that play ever needs.
// Of fish and submarines only the order within a kind matters.
enum { SEAQUEST_OWN, SEAQUEST_ENEMY, SEAQUEST_FISH, SEAQUEST_SUBMARINES, SEAQUEST_DIVERS };

static const int seaquest_width[] = { 3, 3, 4, 5, 4 }; // numbers of an entry

// Entries that are not on the grid are left out.
static bool seaquest_on_grid(const int32_t *entry) {
  return mm_game_is_within(entry[0], 0, MM_MINATAR_SIDE - 1) &&
         mm_game_is_within(entry[1], 0, MM_SEAQUEST_ROWS);
}

static void seaquest_load_directed(const mm_game_row *row, int which, mm_minatar_map *maps) {
  const mm_game_entries *list = &row->list[which];
  for (int i = 0; i + seaquest_width[which] <= list->n; i += seaquest_width[which]) {
    const int32_t *e = &list->value[i];
    if (seaquest_on_grid(e)) mm_minatar_put(&maps[e[2] != 0], e[0], e[1]);
  }
}

static void seaquest_load_enemies(const mm_game_row *row, int which, mm_seaquest *s) {
  const mm_game_entries *list = &row->list[which];
  const int submarine = which == SEAQUEST_SUBMARINES;
  for (int i = 0; i + seaquest_width[which] <= list->n; i += seaquest_width[which]) {
    const int32_t *v = &list->value[i];
    mm_seaquest_enemy e;
    if (!seaquest_on_grid(v)) continue;
    e.x = (int8_t)v[0];
    e.y = (int8_t)v[1];
    e.right = v[2] != 0;
    e.timer = (int8_t)mm_game_within(v[3], 0, MM_SEAQUEST_MOVE_INTERVAL);
    e.submarine = (uint8_t)submarine;
    e.shot = (int8_t)(submarine ? mm_game_within(v[4], 0, MM_SEAQUEST_ENEMY_SHOT_INTERVAL) : 0);
    mm_seaquest_add(s, e);
  }
}

static void seaquest_load(const mm_game_row *row, void *state) {
  mm_seaquest *s = state;
  const mm_game_entries *divers = &row->list[SEAQUEST_DIVERS];
  seaquest_load_directed(row, SEAQUEST_OWN, s->own);
  seaquest_load_directed(row, SEAQUEST_ENEMY, s->enemy_bullet);
  seaquest_load_directed(row, SEAQUEST_DIVERS, s->diver);
  s->diver_move = MM_SEAQUEST_DIVER_INTERVAL; // of no effect without divers
  if (divers->n >= seaquest_width[SEAQUEST_DIVERS])
    s->diver_move = (int8_t)mm_game_within(divers->value[3], 0, MM_SEAQUEST_DIVER_INTERVAL);
  seaquest_load_enemies(row, SEAQUEST_FISH, s);
  seaquest_load_enemies(row, SEAQUEST_SUBMARINES, s);
}

// By cell and direction; `timer` if there is one.
static void seaquest_store_directed(mm_game_entries *list, const mm_minatar_map *maps, int timer) {
  for (int cell = 0; cell < MM_MINATAR_CELLS; cell++) {
    const int x = cell % MM_MINATAR_SIDE, y = cell / MM_MINATAR_SIDE;
    for (int right = 0; right < 2; right++) {
      if (!mm_minatar_at(&maps[right], x, y)) continue;
      mm_game_push(list, x);
      mm_game_push(list, y);
      mm_game_push(list, right);
      if (timer >= 0) mm_game_push(list, timer);
    }
  }
}

static void seaquest_store(const void *state, mm_game_row *row) {
  const mm_seaquest *s = state;
  seaquest_store_directed(&row->list[SEAQUEST_OWN], s->own, -1);
  seaquest_store_directed(&row->list[SEAQUEST_ENEMY], s->enemy_bullet, -1);
  for (int i = 0; i < s->n_enemy; i++) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    mm_game_entries *list = &row->list[e->submarine ? SEAQUEST_SUBMARINES : SEAQUEST_FISH];
    mm_game_push(list, e->x);
    mm_game_push(list, e->y);
    mm_game_push(list, e->right);
    mm_game_push(list, e->timer);
    if (e->submarine) mm_game_push(list, e->shot);
  }
  seaquest_store_directed(&row->list[SEAQUEST_DIVERS], s->diver, s->diver_move);
}

// By row, column, direction: entries begin with x, y, direction.
static int seaquest_compare(const void *left, const void *right) {
  static const int order[] = { 1, 0, 2 };
  const int32_t *a = left, *b = right;
  for (int i = 0; i < 3; i++) {
    int32_t l = a[order[i]], r = b[order[i]];
    if (l != r) return l < r ? -1 : 1;
  }
  return 0;
}

// Recorded bullets and divers come in the order of their age, which nothing depends on.
static void seaquest_tidy(mm_game_row *row) {
  static const int sets[] = { SEAQUEST_OWN, SEAQUEST_ENEMY, SEAQUEST_DIVERS };
  for (int i = 0; i < 3; i++) {
    mm_game_entries *list = &row->list[sets[i]];
    size_t width = (size_t)seaquest_width[sets[i]];
    qsort(list->value, (size_t)list->n / width, width * sizeof(int32_t), seaquest_compare);
  }
}

// The maps of cells say the same as the list, which hits rely on.
static bool seaquest_enemies_is_valid(const mm_seaquest *s) {
  mm_minatar_map cells[4] = { 0 };
  if (s->n_enemy > MM_SEAQUEST_ENEMIES_MAX) return false;
  for (int i = 0; i < s->n_enemy; i++) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    if (!mm_game_is_within(e->x, 0, MM_MINATAR_SIDE - 1) ||
        !mm_game_is_within(e->y, 1, MM_SEAQUEST_ROWS) ||
        !mm_game_is_within(e->timer, 0, MM_SEAQUEST_MOVE_INTERVAL) ||
        !mm_game_is_within(e->shot, 0, MM_SEAQUEST_ENEMY_SHOT_INTERVAL) || e->right > 1 ||
        e->submarine > 1)
      return false;
    mm_minatar_put(&cells[mm_seaquest_sort(e)], e->x, e->y);
  }
  for (int k = 0; k < 4; k++)
    if (cells[k].half[0] != s->enemy_cells[k].half[0] ||
        cells[k].half[1] != s->enemy_cells[k].half[1])
      return false;
  return true;
}

static bool seaquest_is_valid(const void *state) {
  const mm_seaquest *s = state;
  for (int right = 0; right < 2; right++)
    if (!mm_game_map_is_valid(&s->own[right], MM_SEAQUEST_ROWS) ||
        !mm_game_map_is_valid(&s->enemy_bullet[right], MM_SEAQUEST_ROWS) ||
        !mm_game_map_is_valid(&s->diver[right], MM_SEAQUEST_ROWS))
      return false;
  return seaquest_enemies_is_valid(s);
}

static bool seaquest_draws(const void *state, int executed, mm_minatar_rules rules) {
  const mm_seaquest *s = state;
  (void)executed, (void)rules;
  return s->spawn_timer == 0 || s->diver_timer == 0;
}

static void seaquest_load_draws(const int32_t *row, void *draws) {
  mm_seaquest_draws *d = draws;
  d->enemy_right = row[1] != 0;
  d->enemy_submarine = row[2] != 0;
  d->enemy_row = (uint8_t)mm_game_within(row[3], 1, MM_SEAQUEST_ROWS);
  d->diver_right = row[5] != 0;
  d->diver_row = (uint8_t)mm_game_within(row[6], 1, MM_SEAQUEST_ROWS);
}

static void seaquest_store_draws(const void *state, const void *draws, int32_t *row) {
  const mm_seaquest *s = state;
  const mm_seaquest_draws *d = draws;
  row[0] = s->spawn_timer == 0;
  row[4] = s->diver_timer == 0;
  if (row[0]) {
    row[1] = d->enemy_right;
    row[2] = d->enemy_submarine;
    row[3] = d->enemy_row;
  }
  if (row[4]) {
    row[5] = d->diver_right;
    row[6] = d->diver_row;
  }
}

static const mm_trace_param seaquest_params[] = {
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

static const char *const seaquest_actions[] = { "none", "left", "up", "right", "down", "fire" };

static const mm_mark seaquest_marks[] = {
  { "submarine, front", MM_WHITE, 'S', MM_SEAQUEST_FRONT },
  { "submarine, back", MM_LIGHT_GREY, 's', MM_SEAQUEST_BACK },
  { "enemy bullet", MM_MAGENTA, '!', MM_SEAQUEST_ENEMY_BULLET },
  { "enemy submarine", MM_VERMILION, 'E', MM_SEAQUEST_SUBMARINE },
  { "fish", MM_GREEN, 'F', MM_SEAQUEST_FISH },
  { "your bullet", MM_YELLOW, '*', MM_SEAQUEST_OWN_BULLET },
  { "diver", MM_ORANGE, 'D', MM_SEAQUEST_DIVER },
  { "divers aboard", MM_BROWN, 'd', MM_SEAQUEST_DIVER_GAUGE },
  { "oxygen", MM_DARK_BLUE, 'o', MM_SEAQUEST_OXYGEN_GAUGE },
  { "trail", MM_DARK_GREY, '-', MM_SEAQUEST_TRAIL },
};

const mm_game_spec mm_seaquest_spec = {
  .about = { .summary = "rescue divers, shoot fish, mind the oxygen",
             .action_name = seaquest_actions,
             .facts = { NULL,
                        "10 x 10 cells of 10 channels: submarine front and back, own bullet, "
                        "trail, enemy bullet, fish, enemy submarine, oxygen, divers aboard, diver",
                        "1 for each fish or submarine shot; up to 10 for surfacing with six divers",
                        "an enemy or its bullet touches the submarine, the oxygen ends, or it "
                        "surfaces without a diver",
                        "each spawn: row, side, and whether an enemy is a submarine (1/3)", 10 },
             .scene = MM_GAME_SCENE(seaquest_marks, MM_SEAQUEST_CHANNELS) },
  .limit = { MM_MINATAR_LIMIT, 0 },
  MM_GAME_TABLES(seaquest),
  .n_draw = 7,
  .reset = "deterministic",
  .note = "The entity tables list their entries one after the other (bullets x, y, dir; fish x, y, "
          "dir, timer; subs x, y, dir, move timer, shot timer; divers x, y, dir, timer), fish and "
          "subs oldest first. Of draws, those of an enemy count when one is due, those of a diver "
          "likewise.",
  .draw = { "enemy spawn due", "enemy direction", "enemy is a submarine", "enemy row",
            "diver spawn due", "diver direction", "diver row" },
  MM_GAME_OWN_LISTS(seaquest),
  MM_GAME_OWN_DRAWS(seaquest),
};
#endif

#endif
