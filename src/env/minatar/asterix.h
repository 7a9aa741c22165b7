// SPDX-License-Identifier: Apache-2.0
// Asterix of MinAtar: treasure and enemies run across eight rows. [host/device]
//
// Row i + 1 belongs to slot i, which is empty or holds one entity that runs to the left or right.
// Touching gold is worth 1, touching an enemy ends the episode. Entities appear and move faster
// from ramp to ramp.

#ifndef MM_ENV_ASTERIX_H
#define MM_ENV_ASTERIX_H

#include "env/minatar/minatar.h"

enum {
  MM_ASTERIX_CHANNELS = 4, // player, enemy, trail, gold
  MM_ASTERIX_INPUTS = 100 * MM_ASTERIX_CHANNELS,
  MM_ASTERIX_WORDS = MM_MINATAR_WORDS(MM_ASTERIX_INPUTS),
  MM_ASTERIX_ACTIVE = 17,
  MM_ASTERIX_ACTIONS = 5,
  MM_ASTERIX_ACTION_SET = 0x43210, // none, left, up, right, down
  MM_ASTERIX_SLOTS = 8,
  MM_ASTERIX_SPAWN_PERIOD = 10,
  MM_ASTERIX_MOVE_PERIOD = 5,
  MM_ASTERIX_RAMP = 100
};

typedef struct mm_asterix {
  mm_minatar_episode episode;
  int8_t x, y; // of the player
  int8_t spawn_period, spawn_timer, move_period, move_timer, ramp_timer, ramp_index;
  uint8_t used, right, gold; // bit i: slot i holds something, it runs to the right, it is gold
  int8_t slot_x[MM_ASTERIX_SLOTS];
} mm_asterix;

typedef struct mm_asterix_draws {
  uint8_t repeat; // the action is sticky
  uint8_t slot;   // of a spawn, or the number of slots: nothing happens
  uint8_t spawns; // else the slot is emptied
  uint8_t right, gold;
} mm_asterix_draws;

// ---------------------------------------------------------------------------------------------
// Draws

MM_INLINE MM_HD mm_asterix_draws mm_asterix_draw_reset(mm_stream stream, uint64_t index) {
  (void)stream, (void)index;
  mm_asterix_draws d = { 0, MM_ASTERIX_SLOTS, 0, 0, 0 };
  return d;
}

// Set bit number n of a mask, in ascending order.
MM_INLINE MM_HD uint8_t mm_asterix_nth(unsigned mask, int n) {
  for (; n > 0; n--)
    mask &= mask - 1;
  return (uint8_t)mm_minatar_lowest(mask);
}

// Which slot a spawn concerns. By the original rules a uniform choice of the empty ones, or none.
// gymnax tries the slots in a random order but forgets the first, and when it finds no empty one it
// clears the last that it tried: with one empty slot left that happens with probability 1/8.
MM_INLINE MM_HD void mm_asterix_draw_slot(unsigned used, mm_minatar_rules rules, uint64_t pair,
                                          mm_asterix_draws *d) {
  const unsigned empty = ~used & ((1u << MM_ASTERIX_SLOTS) - 1);
  const int n_empty = mm_minatar_count(empty), n_used = MM_ASTERIX_SLOTS - n_empty;
  const int last_one = rules == MM_MINATAR_GYMNAX && n_empty == 1;
  if (n_empty == 0) {
    int k = (int)mm_uniform_int(pair, MM_ASTERIX_SLOTS);
    d->slot = (uint8_t)(rules == MM_MINATAR_GYMNAX ? k : (int)MM_ASTERIX_SLOTS);
    d->spawns = 0;
    return;
  }
  // one number decides both questions: n_used of n_used (n_used + 1) outcomes clear a slot
  uint32_t outcomes = (uint32_t)(last_one ? n_used * MM_ASTERIX_SLOTS : n_empty);
  int k = (int)mm_uniform_int(pair, outcomes);
  d->spawns = !last_one || k >= n_used;
  d->slot = mm_asterix_nth(d->spawns ? empty : used, last_one && d->spawns ? 0 : k);
}

MM_INLINE MM_HD mm_asterix_draws mm_asterix_draw_step(const mm_asterix *s, int action,
                                                      mm_minatar_rules rules, mm_stream stream,
                                                      uint64_t index) {
  (void)action;
  mm_asterix_draws d = { 0, MM_ASTERIX_SLOTS, 0, 0, 0 };
  d.repeat = (uint8_t)mm_minatar_sticky(rules, stream, index);
  if (s->spawn_timer == 0) {
    mm_block b = mm_minatar_block(stream, index, 1);
    d.right = (uint8_t)(b.word[0] >> 31);
    d.gold = mm_minatar_below(b.word[1], 3) == 0;
    mm_asterix_draw_slot(s->used, rules, mm_block_pair(b, 1), &d);
  }
  return d;
}

// ---------------------------------------------------------------------------------------------
// Reset and step

MM_INLINE MM_HD void mm_asterix_reset(mm_asterix *s, mm_minatar_rules rules, mm_asterix_draws d) {
  (void)rules, (void)d;
  mm_minatar_begin(&s->episode);
  s->x = s->y = 5;
  s->spawn_period = s->spawn_timer = MM_ASTERIX_SPAWN_PERIOD;
  s->move_period = s->move_timer = MM_ASTERIX_MOVE_PERIOD;
  s->ramp_timer = MM_ASTERIX_RAMP;
  s->ramp_index = 0;
  s->used = s->right = s->gold = 0;
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++)
    s->slot_x[i] = 0;
}

// Empties a slot: what is not there has no properties, so equal states have equal bytes.
MM_INLINE MM_HD void mm_asterix_empty(mm_asterix *s, int slot) {
  const uint8_t others = (uint8_t) ~(1u << slot);
  s->used &= others;
  s->right &= others;
  s->gold &= others;
  s->slot_x[slot] = 0;
}

MM_INLINE MM_HD void mm_asterix_spawn(mm_asterix *s, mm_asterix_draws d) {
  if (d.slot >= MM_ASTERIX_SLOTS) return;
  mm_asterix_empty(s, d.slot);
  if (!d.spawns) return;
  s->used |= (uint8_t)(1u << d.slot);
  s->right |= (uint8_t)((unsigned)(d.right != 0) << d.slot);
  s->gold |= (uint8_t)((unsigned)(d.gold != 0) << d.slot);
  s->slot_x[d.slot] = d.right ? 0 : MM_MINATAR_SIDE - 1;
}

// The player takes the gold at its cell; returns whether an enemy is there.
MM_INLINE MM_HD int mm_asterix_touch(mm_asterix *s, float *reward) {
  const int slot = s->y - 1;
  if (!(s->used >> slot & 1) || s->slot_x[slot] != s->x) return 0;
  if (!(s->gold >> slot & 1)) return 1;
  mm_asterix_empty(s, slot);
  *reward += 1;
  return 0;
}

MM_INLINE MM_HD void mm_asterix_run(mm_asterix *s) {
  for (unsigned left = s->used; left; left &= left - 1) {
    int i = mm_minatar_lowest(left), x = s->slot_x[i] + (s->right >> i & 1 ? 1 : -1);
    s->slot_x[i] = (int8_t)x;
    if (x < 0 || x >= MM_MINATAR_SIDE) mm_asterix_empty(s, i);
  }
}

// One ramp every 102 steps until both periods are 1.
MM_INLINE MM_HD void mm_asterix_ramp(mm_asterix *s) {
  if (s->spawn_period <= 1 && s->move_period <= 1) return;
  if (s->ramp_timer >= 0) {
    s->ramp_timer--;
    return;
  }
  if ((s->ramp_index & 1) && s->move_period > 1) s->move_period--;
  if (s->spawn_period > 1) s->spawn_period--;
  s->ramp_index++;
  s->ramp_timer = MM_ASTERIX_RAMP;
}

MM_INLINE MM_HD unsigned mm_asterix_step(mm_asterix *s, int action, mm_minatar_rules rules,
                                         mm_asterix_draws d, float *reward) {
  *reward = 0;
  if (mm_minatar_frozen(&s->episode, rules)) return s->episode.ended;
  const int executed = mm_minatar_executed(&s->episode, action, d.repeat);
  if (s->spawn_timer == 0) {
    mm_asterix_spawn(s, d);
    s->spawn_timer = s->spawn_period;
  }
  s->x = (int8_t)mm_minatar_clamp(s->x + mm_minatar_right(executed), 0, MM_MINATAR_SIDE - 1);
  s->y = (int8_t)mm_minatar_clamp(s->y + mm_minatar_down(executed), 1, MM_ASTERIX_SLOTS);
  int terminal = mm_asterix_touch(s, reward);
  if (s->move_timer == 0) {
    s->move_timer = s->move_period;
    mm_asterix_run(s);
    terminal |= mm_asterix_touch(s, reward);
  }
  s->spawn_timer--;
  s->move_timer--;
  mm_asterix_ramp(s);
  return mm_minatar_end(&s->episode, terminal, mm_minatar_limit(rules), rules, executed);
}

// ---------------------------------------------------------------------------------------------
// Observation

enum { MM_ASTERIX_PLAYER, MM_ASTERIX_ENEMY, MM_ASTERIX_TRAIL, MM_ASTERIX_GOLD };

MM_INLINE MM_HD int mm_asterix_input(int x, int y, int channel) {
  return (MM_MINATAR_SIDE * y + x) * MM_ASTERIX_CHANNELS + channel;
}

// The inputs of what slot i holds: itself, and the cell behind it, or -1 beyond the edge.
MM_INLINE MM_HD int mm_asterix_entity(const mm_asterix *s, int i) {
  return mm_asterix_input(s->slot_x[i], i + 1,
                          s->gold >> i & 1 ? MM_ASTERIX_GOLD : MM_ASTERIX_ENEMY);
}

MM_INLINE MM_HD int mm_asterix_trail(const mm_asterix *s, int i) {
  int x = s->slot_x[i] - (s->right >> i & 1 ? 1 : -1);
  return x < 0 || x >= MM_MINATAR_SIDE ? -1 : mm_asterix_input(x, i + 1, MM_ASTERIX_TRAIL);
}

MM_INLINE MM_HD int mm_asterix_list(const mm_asterix *s, uint16_t *out) {
  int n = 0;
  for (unsigned left = s->used; left; left &= left - 1) {
    int i = mm_minatar_lowest(left);
    int entity = mm_asterix_entity(s, i), trail = mm_asterix_trail(s, i);
    if (trail < 0) {
      out[n++] = (uint16_t)entity;
    } else {
      out[n] = (uint16_t)(entity < trail ? entity : trail);
      out[n + 1] = (uint16_t)(entity < trail ? trail : entity);
      n += 2;
    }
  }
  return mm_minatar_insert(out, n, mm_asterix_input(s->x, s->y, MM_ASTERIX_PLAYER));
}

MM_INLINE MM_HD void mm_asterix_bits(const mm_asterix *s, uint32_t *words) {
  mm_minatar_clear(words, MM_ASTERIX_WORDS);
  mm_minatar_light(words, mm_asterix_input(s->x, s->y, MM_ASTERIX_PLAYER));
  for (unsigned left = s->used; left; left &= left - 1) {
    int i = mm_minatar_lowest(left), trail = mm_asterix_trail(s, i);
    mm_minatar_light(words, mm_asterix_entity(s, i));
    if (trail >= 0) mm_minatar_light(words, trail);
  }
}

#ifdef MM_DESCRIBE
// ---------------------------------------------------------------------------------------------
// Description

#include "env/minatar/game.h"

static const mm_game_field asterix_fields[] = {
  MM_FIELD(asterix, x, "player_x", 0, MM_MINATAR_SIDE - 1),
  MM_FIELD(asterix, y, "player_y", 1, MM_ASTERIX_SLOTS),
  MM_FIELD_CONSTANT("shot_timer", 0),
  MM_FIELD(asterix, spawn_period, "spawn_speed", 1, MM_ASTERIX_SPAWN_PERIOD),
  MM_FIELD(asterix, spawn_timer, "spawn_timer", 0, MM_ASTERIX_SPAWN_PERIOD),
  MM_FIELD(asterix, move_period, "move_speed", 1, MM_ASTERIX_MOVE_PERIOD),
  MM_FIELD(asterix, move_timer, "move_timer", 0, MM_ASTERIX_MOVE_PERIOD),
  MM_FIELD(asterix, ramp_timer, "ramp_timer", -1, MM_ASTERIX_RAMP),
  MM_FIELD_WIDER(asterix, ramp_index, "ramp_index", 0, MM_ASTERIX_SPAWN_PERIOD - 1, 0, 100),
  MM_FIELD_EPISODE,
  MM_FIELD_LIST("entities"),
};

enum { ASTERIX_ENTITY = 5 }; // numbers of one: x, y, to the right, gold, in use

static void asterix_load(const mm_game_row *row, void *state) {
  mm_asterix *s = state;
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++) {
    const int32_t *e = &row->list[0].value[ASTERIX_ENTITY * i];
    if (!e[4]) continue;
    s->used |= (uint8_t)(1u << i);
    s->right |= (uint8_t)((unsigned)(e[2] != 0) << i);
    s->gold |= (uint8_t)((unsigned)(e[3] != 0) << i);
    s->slot_x[i] = (int8_t)mm_game_within(e[0], 0, MM_MINATAR_SIDE - 1);
  }
}

static void asterix_store(const void *state, mm_game_row *row) {
  const mm_asterix *s = state;
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++) {
    int used = s->used >> i & 1;
    const int32_t entity[ASTERIX_ENTITY] = { s->slot_x[i], used ? i + 1 : 0, s->right >> i & 1,
                                             s->gold >> i & 1, used };
    for (int k = 0; k < ASTERIX_ENTITY; k++)
      mm_game_push(&row->list[0], entity[k]);
  }
}

// What is not there has no properties.
static void asterix_tidy(mm_game_row *row) {
  mm_game_entries *list = &row->list[0];
  for (int i = 0; i + ASTERIX_ENTITY <= list->n; i += ASTERIX_ENTITY) {
    if (!list->value[i + 4]) memset(&list->value[i], 0, ASTERIX_ENTITY * sizeof(int32_t));
  }
}

static bool asterix_is_valid(const void *state) {
  const mm_asterix *s = state;
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++)
    if (!mm_game_is_within(s->slot_x[i], 0, s->used >> i & 1 ? MM_MINATAR_SIDE - 1 : 0))
      return false;
  return !((s->right | s->gold) & ~s->used);
}

// By the original rules a spawn without an empty slot is none.
static bool asterix_draws(const void *state, int executed, mm_minatar_rules rules) {
  const mm_asterix *s = state;
  const unsigned full = (1u << MM_ASTERIX_SLOTS) - 1;
  (void)executed;
  return s->spawn_timer == 0 && (rules == MM_MINATAR_GYMNAX || s->used != full);
}

static void asterix_load_draws(const int32_t *row, void *draws) {
  mm_asterix_draws *d = draws;
  d->slot = (uint8_t)mm_game_within(row[0], 0, MM_ASTERIX_SLOTS - 1);
  d->right = row[3] != 0;
  d->gold = row[4] != 0;
  d->spawns = row[5] != 0;
}

static void asterix_store_draws(const void *state, const void *draws, int32_t *row) {
  const mm_asterix_draws *d = draws;
  (void)state;
  row[0] = d->slot;
  row[5] = d->spawns;
  if (!d->spawns) return; // nothing appears
  row[1] = d->right ? 0 : MM_MINATAR_SIDE - 1;
  row[2] = d->slot + 1;
  row[3] = d->right;
  row[4] = d->gold;
}

static void asterix_no_draws(void *draws) {
  ((mm_asterix_draws *)draws)->slot = MM_ASTERIX_SLOTS;
}

static const mm_trace_param asterix_params[] = {
  { "ramping", 1, { 1 } },
  { "ramp_interval", 1, { MM_ASTERIX_RAMP } },
  { "init_spawn_speed", 1, { MM_ASTERIX_SPAWN_PERIOD } },
  { "init_move_interval", 1, { MM_ASTERIX_MOVE_PERIOD } },
  { "shot_cool_down", 1, { 5 } }, // nothing shoots
  { NULL, 0, { 0 } },
};

static const char *const asterix_actions[] = { "none", "left", "up", "right", "down" };

static const mm_mark asterix_marks[] = {
  { "player", MM_WHITE, 'P', MM_ASTERIX_PLAYER },
  { "enemy", MM_VERMILION, 'E', MM_ASTERIX_ENEMY },
  { "gold", MM_YELLOW, 'G', MM_ASTERIX_GOLD },
  { "trail", MM_DARK_GREY, '-', MM_ASTERIX_TRAIL },
};

const mm_game_spec mm_asterix_spec = {
  .about = { .summary = "collect gold, avoid enemies in eight lanes",
             .action_name = asterix_actions,
             .facts = { NULL, "10 x 10 cells of 4 channels: player, enemy, trail, gold",
                        "1 for each gold touched", "an enemy touches the player",
                        "each spawn: its row, its side, and whether it is gold (1/3)", 10 },
             .scene = MM_GAME_SCENE(asterix_marks, MM_ASTERIX_CHANNELS) },
  .limit = { MM_MINATAR_LIMIT, 0 },
  MM_GAME_TABLES(asterix),
  .n_draw = 6,
  .reset = "deterministic",
  .note = "entities is the 8 x 5 table row by row: x, y, left-to-right flag, gold flag, in-use "
          "flag; only the last counts where it is 0. A spawn writes its row into table slot 'slot' "
          "even when in_use is 0 (no free slot was found), which empties that slot.",
  .draw = { "slot", "x", "y", "lr", "is_gold", "in_use" },
  MM_GAME_OWN_LISTS(asterix),
  MM_GAME_OWN_DRAWS(asterix),
  .no_draws = asterix_no_draws,
};
#endif

#endif
