// The ranges of every field of the five games, as resets and steps keep them.

#include "env/minatar/minatar_sane.h"

static bool within(int value, int low, int high) {
  return value >= low && value <= high;
}

static bool is_flag(unsigned value) {
  return value <= 1;
}

// An episode that ended has begun anew by the end of the step.
static bool episode_sane(const mm_minatar_episode *e, uint32_t limit) {
  return (limit == 0 || e->time < limit) && e->ended == 0 && e->repeats < MM_MINATAR_ACTIONS;
}

// Nothing but cells of the rows up to `last`.
static bool map_sane(const mm_minatar_map *m, int last) {
  uint64_t rows = MM_MINATAR_HALF >> MM_MINATAR_SIDE * (MM_MINATAR_SIDE - 1 - last);
  return !(m->half[0] & ~MM_MINATAR_HALF) && !(m->half[1] & ~rows);
}

// ---------------------------------------------------------------------------------------------

bool mm_asterix_sane(const mm_asterix *s, uint32_t limit) {
  const int last = MM_MINATAR_SIDE - 1, ramps = MM_ASTERIX_SPAWN_PERIOD - 1;
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++)
    if (!within(s->slot_x[i], 0, s->used >> i & 1 ? last : 0)) return false;
  return episode_sane(&s->episode, limit) && within(s->x, 0, last) &&
         within(s->y, 1, MM_ASTERIX_SLOTS) && within(s->spawn_period, 1, MM_ASTERIX_SPAWN_PERIOD) &&
         within(s->spawn_timer, 0, MM_ASTERIX_SPAWN_PERIOD) &&
         within(s->move_period, 1, MM_ASTERIX_MOVE_PERIOD) &&
         within(s->move_timer, 0, MM_ASTERIX_MOVE_PERIOD) &&
         within(s->ramp_timer, -1, MM_ASTERIX_RAMP) && within(s->ramp_index, 0, ramps) &&
         !((s->right | s->gold) & ~s->used);
}

// The ball reaches the paddle's row only at the end.
bool mm_breakout_sane(const mm_breakout *s, uint32_t limit) {
  const int last = MM_MINATAR_SIDE - 1, lowest = MM_BREAKOUT_PADDLE_ROW - 1;
  return episode_sane(&s->episode, limit) && s->bricks <= mm_breakout_wall() &&
         within(s->x, 0, last) && within(s->y, 0, lowest) && within(s->last_x, 0, last) &&
         within(s->last_y, 0, lowest) && within(s->direction, 0, 3) && within(s->paddle, 0, last) &&
         is_flag(s->strike);
}

bool mm_freeway_sane(const mm_freeway *s, uint32_t limit) {
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    if (!within(mm_freeway_byte(s->x, i), 0, MM_MINATAR_SIDE - 1) ||
        !within(mm_freeway_byte(s->speed, i), 1, MM_FREEWAY_SPEEDS) ||
        !within(mm_freeway_byte(s->timer, i), 0, mm_freeway_byte(s->speed, i)) ||
        !within(mm_freeway_byte(s->left, i), 0, 1))
      return false;
  return episode_sane(&s->episode, limit) && within(s->row, 1, MM_FREEWAY_START) &&
         within(s->move_timer, 0, MM_FREEWAY_PERIOD);
}

// There is always an alien: a cleared wave is followed by the next at once.
bool mm_space_invaders_sane(const mm_space_invaders *s, uint32_t limit) {
  const int last = MM_MINATAR_SIDE - 1, most = MM_SPACE_INVADERS_MOVE_PERIOD,
            least = MM_SPACE_INVADERS_MOVE_PERIOD_MIN;
  return episode_sane(&s->episode, limit) && within(s->x, 0, last) &&
         (s->alien_right == 1 || s->alien_right == -1) && within(s->move_period, least, most) &&
         within(s->move_timer, 0, most) &&
         within(s->alien_shot_timer, 0, MM_SPACE_INVADERS_ALIEN_SHOT_PERIOD) &&
         within(s->shot_timer, 0, MM_SPACE_INVADERS_SHOT_PERIOD) &&
         within(s->ramp_index, 0, most - least) && map_sane(&s->own, last) &&
         map_sane(&s->enemy, last) && map_sane(&s->aliens, last) && mm_minatar_map_any(s->aliens);
}

// ---------------------------------------------------------------------------------------------
// Seaquest

static bool enemy_sane(const mm_seaquest_enemy *e) {
  return within(e->x, 0, MM_MINATAR_SIDE - 1) && within(e->y, 1, MM_SEAQUEST_ROWS) &&
         within(e->timer, 0, MM_SEAQUEST_MOVE_INTERVAL) &&
         within(e->shot, 0, MM_SEAQUEST_ENEMY_SHOT_INTERVAL) && is_flag(e->right) &&
         is_flag(e->submarine);
}

// The maps of cells say the same as the list, which hits rely on.
static bool enemies_sane(const mm_seaquest *s) {
  mm_minatar_map cells[4] = { 0 };
  if (s->n_enemy > MM_SEAQUEST_ENEMIES_MAX) return false;
  for (int i = 0; i < s->n_enemy; i++) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    if (!enemy_sane(e)) return false;
    mm_minatar_put(&cells[mm_seaquest_sort(e)], e->x, e->y);
  }
  for (int k = 0; k < 4; k++)
    if (cells[k].half[0] != s->enemy_cells[k].half[0] ||
        cells[k].half[1] != s->enemy_cells[k].half[1])
      return false;
  return true;
}

static bool water_sane(const mm_seaquest *s) {
  for (int right = 0; right < 2; right++)
    if (!map_sane(&s->own[right], MM_SEAQUEST_ROWS) ||
        !map_sane(&s->enemy_bullet[right], MM_SEAQUEST_ROWS) ||
        !map_sane(&s->diver[right], MM_SEAQUEST_ROWS))
      return false;
  return enemies_sane(s);
}

// The number aboard falls by one with every time that the submarine comes up after a rescue: its
// bound is far beyond what can be played, and leaves room to count on.
bool mm_seaquest_sane(const mm_seaquest *s, uint32_t limit) {
  const int aboard_least = -(1 << 30), ramps = MM_SEAQUEST_SPAWN_PERIOD - 1;
  return episode_sane(&s->episode, limit) && within(s->oxygen, 0, MM_SEAQUEST_OXYGEN) &&
         within(s->x, 0, MM_MINATAR_SIDE - 1) && within(s->y, 0, MM_SEAQUEST_ROWS) &&
         is_flag(s->right) && is_flag(s->surfaced) &&
         within(s->spawn_period, 1, MM_SEAQUEST_SPAWN_PERIOD) &&
         within(s->spawn_timer, 0, MM_SEAQUEST_SPAWN_PERIOD) &&
         within(s->diver_timer, 0, MM_SEAQUEST_DIVER_PERIOD) &&
         within(s->move_interval, MM_SEAQUEST_MOVE_INTERVAL_MIN, MM_SEAQUEST_MOVE_INTERVAL) &&
         within(s->shot_timer, 0, MM_SEAQUEST_SHOT_PERIOD) &&
         within(s->diver_move, 0, MM_SEAQUEST_DIVER_INTERVAL) && within(s->ramp_index, 0, ramps) &&
         within(s->aboard, aboard_least, MM_SEAQUEST_DIVERS_FULL) && water_sane(s);
}
