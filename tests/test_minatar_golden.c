// SPDX-License-Identifier: Apache-2.0
// The MinAtar games against recordings of the reference implementation (gymnax 1.0): every state,
// observation, reward and end of 12413 transitions, with the recorded draws put in.

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "minatar_games.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Recorded states as rows of integers: the fields in the order of the file, an array as its length
// and its entries

enum { ROW_MAX = 512 };

typedef struct row {
  int n, value[ROW_MAX];
} row;

static void push(row *r, int value) {
  assert_true(r->n < ROW_MAX);
  r->value[r->n++] = value;
}

static row read_row(const cJSON *array) {
  row r = { 0 };
  for (const cJSON *item = array->child; item; item = item->next) {
    if (!cJSON_IsArray(item)) {
      push(&r, item->valueint);
      continue;
    }
    push(&r, cJSON_GetArraySize(item));
    for (const cJSON *entry = item->child; entry; entry = entry->next)
      push(&r, entry->valueint);
  }
  return r;
}

static int terminal(const mm_minatar_episode *e) {
  return e->ended & MM_END_TERMINATED;
}

// player_x, player_y, shot_timer, spawn_speed, spawn_timer, move_speed, move_timer, ramp_timer,
// ramp_index, time, terminal, entities (x, y, right, gold, in use)
static row row_of_asterix(const game_state *state) {
  const mm_asterix *s = &state->asterix;
  const int shot_timer = 0; // in the recordings too: nothing can shoot
  row r = { 12,
            { s->x, s->y, shot_timer, s->spawn_period, s->spawn_timer, s->move_period,
              s->move_timer, s->ramp_timer, s->ramp_index, (int)s->episode.time,
              terminal(&s->episode), 5 * MM_ASTERIX_SLOTS } };
  for (int i = 0; i < MM_ASTERIX_SLOTS; i++) {
    int used = s->used >> i & 1;
    push(&r, s->slot_x[i]);
    push(&r, used ? i + 1 : 0);
    push(&r, s->right >> i & 1);
    push(&r, s->gold >> i & 1);
    push(&r, used);
  }
  return r;
}

// ball_y, ball_x, ball_dir, pos, strike, last_y, last_x, time, terminal, brick_map
static row row_of_breakout(const game_state *state) {
  const mm_breakout *s = &state->breakout;
  row r = { 10,
            { s->y, s->x, s->direction, s->paddle, s->strike, s->last_y, s->last_x,
              (int)s->episode.time, terminal(&s->episode), mm_minatar_count(s->bricks) } };
  for (int i = 0; i < MM_BREAKOUT_BRICKS; i++) {
    if (s->bricks >> i & 1) push(&r, MM_BREAKOUT_BRICK_FIRST + i);
  }
  return r;
}

static void set_breakout(const row *r, game_state *state) {
  mm_breakout *s = &state->breakout;
  s->bricks = 0;
  for (int i = 0; i < r->value[9]; i++)
    s->bricks |= 1u << (r->value[10 + i] - MM_BREAKOUT_BRICK_FIRST);
}

// pos, move_timer, time, terminal, cars (x, row, timer, signed speed)
static row row_of_freeway(const game_state *state) {
  const mm_freeway *s = &state->freeway;
  row r = {
    5, { s->row, s->move_timer, (int)s->episode.time, terminal(&s->episode), 4 * MM_FREEWAY_CARS }
  };
  for (int i = 0; i < MM_FREEWAY_CARS; i++) {
    int speed = mm_freeway_byte(s->speed, i);
    push(&r, mm_freeway_byte(s->x, i));
    push(&r, i + 1);
    push(&r, mm_freeway_byte(s->timer, i));
    push(&r, mm_freeway_byte(s->left, i) ? -speed : speed);
  }
  return r;
}

static void push_map(row *r, const mm_minatar_map *m) {
  push(r, mm_minatar_map_count(m));
  for (int cell = 0; cell < MM_MINATAR_CELLS; cell++) {
    if (mm_minatar_at(m, cell % 10, cell / 10)) push(r, cell);
  }
}

// pos, alien_dir, enemy_move_interval, alien_move_timer, alien_shot_timer, ramp_index, shot_timer,
// ramping, time, terminal, f_bullet_map, e_bullet_map, alien_map
static row row_of_space_invaders(const game_state *state) {
  const mm_space_invaders *s = &state->space_invaders;
  const int ramping = 1;
  row r = { 10,
            { s->x, s->alien_right, s->move_period, s->move_timer, s->alien_shot_timer,
              s->ramp_index, s->shot_timer, ramping, (int)s->episode.time,
              terminal(&s->episode) } };
  push_map(&r, &s->own);
  push_map(&r, &s->enemy);
  push_map(&r, &s->aliens);
  return r;
}

static void set_space_invaders(const row *r, game_state *state) {
  mm_space_invaders *s = &state->space_invaders;
  s->move_period = (int8_t)r->value[2];
  s->move_timer = (int8_t)r->value[3];
  assert_int_equal(r->value[10], 0);
  assert_int_equal(r->value[11], 0);
  memset(&s->aliens, 0, sizeof s->aliens);
  for (int i = 0; i < r->value[12]; i++)
    mm_minatar_put(&s->aliens, r->value[13 + i] % 10, r->value[13 + i] / 10);
}

// `fields` numbers of each enemy of a kind, oldest first.
static void push_enemies(row *r, const mm_seaquest *s, int submarine, int fields) {
  const int length = r->n;
  push(r, 0);
  for (int i = 0; i < s->n_enemy; i++) {
    const mm_seaquest_enemy *e = &s->enemy[i];
    if (e->submarine != submarine) continue;
    const int value[] = { e->x, e->y, e->right, e->timer, e->shot };
    for (int k = 0; k < fields; k++)
      push(r, value[k]);
    r->value[length] += fields;
  }
}

// Those of two maps, to the left and to the right, by cell and direction; `timer` if there is one.
static void push_directed(row *r, const mm_minatar_map *maps, int timer) {
  const int fields = timer < 0 ? 3 : 4;
  push(r, fields * (mm_minatar_map_count(&maps[0]) + mm_minatar_map_count(&maps[1])));
  for (int cell = 0; cell < MM_MINATAR_CELLS; cell++) {
    for (int right = 0; right < 2; right++) {
      if (!mm_minatar_at(&maps[right], cell % 10, cell / 10)) continue;
      push(r, cell % 10);
      push(r, cell / 10);
      push(r, right);
      if (timer >= 0) push(r, timer);
    }
  }
}

static int compare_directed(const void *left, const void *right) {
  const int *a = left, *b = right;
  return (20 * a[1] + 2 * a[0] + a[2]) - (20 * b[1] + 2 * b[0] + b[2]);
}

// Recorded bullets and divers come in the order of their age, which nothing depends on.
static void sort_seaquest(row *r) {
  int at = 14;
  for (int list = 0; list < 5; list++) {
    static const int fields[] = { 3, 3, 4, 5, 4 }, sorted[] = { 1, 1, 0, 0, 1 };
    if (sorted[list])
      qsort(&r->value[at + 1], (size_t)(r->value[at] / fields[list]),
            (size_t)fields[list] * sizeof(int), compare_directed);
    at += 1 + r->value[at];
  }
}

// oxygen, sub_x, sub_y, sub_or, diver_count, e_spawn_speed, e_spawn_timer, d_spawn_timer,
// move_speed, ramp_index, shot_timer, surface, time, terminal, f_bullets (x, y, right), e_bullets,
// e_fish (and timer), e_subs (and move timer, shot timer), divers (and timer)
static row row_of_seaquest(const game_state *state) {
  const mm_seaquest *s = &state->seaquest;
  row r = { 14,
            { s->oxygen, s->x, s->y, s->right, s->aboard, s->spawn_period, s->spawn_timer,
              s->diver_timer, s->move_interval, s->ramp_index, s->shot_timer, s->surfaced,
              (int)s->episode.time, terminal(&s->episode) } };
  push_directed(&r, s->own, -1);
  push_directed(&r, s->enemy_bullet, -1);
  push_enemies(&r, s, 0, 4);
  push_enemies(&r, s, 1, 5);
  push_directed(&r, s->diver, s->diver_move);
  return r;
}

// ---------------------------------------------------------------------------------------------
// Recorded draws

// slot, x, y, right, gold, in use
static game_draws asterix_recorded(const cJSON *draws) {
  row r = read_row(draws);
  game_draws d = { 0 };
  assert_int_equal(r.n, 6);
  d.asterix.slot = (uint8_t)r.value[0];
  d.asterix.right = (uint8_t)r.value[3];
  d.asterix.gold = (uint8_t)r.value[4];
  d.asterix.spawns = (uint8_t)r.value[5];
  return d;
}

static game_draws freeway_recorded(const cJSON *draws) {
  row r = read_row(draws);
  game_draws d = { 0 };
  assert_int_equal(r.n, MM_FREEWAY_CARS);
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    d.freeway.speed[i] = (int8_t)r.value[i];
  return d;
}

// whether an enemy is due, its direction, kind, row; whether a diver is due, its direction, row
static game_draws seaquest_recorded(const cJSON *draws) {
  row r = read_row(draws);
  game_draws d = { 0 };
  assert_int_equal(r.n, 7);
  d.seaquest.enemy_right = (uint8_t)r.value[1];
  d.seaquest.enemy_submarine = (uint8_t)r.value[2];
  d.seaquest.enemy_row = (uint8_t)r.value[3];
  d.seaquest.diver_right = (uint8_t)r.value[5];
  d.seaquest.diver_row = (uint8_t)r.value[6];
  return d;
}

typedef struct recording {
  row (*row_of)(const game_state *);
  void (*set)(const row *, game_state *); // an unusual first state, on top of a reset
  game_draws (*draws)(const cJSON *);
  void (*sort)(row *);
  int episodes, transitions, random;
} recording;

static const recording recordings[] = {
  { row_of_asterix, NULL, asterix_recorded, NULL, 12, 2592, 609 },
  { row_of_breakout, set_breakout, NULL, NULL, 14, 2312, 0 },
  { row_of_freeway, NULL, freeway_recorded, NULL, 5, 4100, 36 },
  { row_of_space_invaders, set_space_invaders, NULL, NULL, 10, 1940, 0 },
  { row_of_seaquest, NULL, seaquest_recorded, sort_seaquest, 11, 1469, 108 },
};

// ---------------------------------------------------------------------------------------------
// Replay

static const cJSON *field(const cJSON *object, const char *name) {
  const cJSON *item = mm_json_find(object, name);
  if (!item) fail_msg("no field '%s'", name);
  return item;
}

static cJSON *read_golden(const char *name) {
  char path[512], *text;
  size_t length;
  cJSON *root;
  snprintf(path, sizeof path, "%s/golden/minatar_%s.json", MM_TEST_DATA, name);
  assert_ok(mm_file_read(path, 1 << 20, &text, &length));
  assert_ok(mm_json_parse(text, length, path, &root));
  mm_free(text);
  return root;
}

static void check_row(const char *where, const row *found, const cJSON *recorded,
                      void (*sort)(row *)) {
  row expected = read_row(recorded);
  if (sort) sort(&expected);
  if (found->n != expected.n) fail_msg("%s: %d entries, not %d", where, found->n, expected.n);
  for (int i = 0; i < expected.n; i++) {
    if (found->value[i] != expected.value[i])
      fail_msg("%s: entry %d is %d, not %d", where, i, found->value[i], expected.value[i]);
  }
}

// Starts as the episode does. The draws of a reset are read off its first state.
static game_state start_recorded(int which, const cJSON *first) {
  const recording *rec = &recordings[which];
  row r = read_row(first);
  game_state s = { 0 };
  game_draws d = { 0 };
  d.repeat = 0;
  if (which == BREAKOUT) d.breakout.right = r.value[1] == 9;
  if (which == FREEWAY) {
    for (int i = 0; i < MM_FREEWAY_CARS; i++)
      d.freeway.speed[i] = (int8_t)r.value[5 + 4 * i + 3];
  }
  games[which].reset(&s, MM_MINATAR_GYMNAX, d);
  if (rec->set) rec->set(&r, &s);
  return s;
}

// Returns how many transitions were played; all of them agree.
static int replay(int which, const cJSON *episode, int number, const cJSON *action_set,
                  int *n_random) {
  const game *g = &games[which];
  const recording *rec = &recordings[which];
  const cJSON *states = field(episode, "states")->child, *obs = field(episode, "obs")->child;
  const cJSON *action = field(episode, "actions")->child;
  const cJSON *reward = field(episode, "rewards")->child;
  const cJSON *terminated = field(episode, "terminated")->child;
  const cJSON *truncated = field(episode, "truncated")->child;
  const cJSON *random = field(episode, "random")->child;
  const cJSON *draws = rec->draws ? field(episode, "draws")->child : NULL;
  game_state s = start_recorded(which, states);
  char where[64];
  for (int t = 0;; t++, action = action->next, reward = reward->next, random = random->next,
           terminated = terminated->next, truncated = truncated->next) {
    snprintf(where, sizeof where, "%s, episode %d, time %d", g->name, number, t);
    row state = rec->row_of(&s), seen = { 0 };
    uint16_t list[GAME_ACTIVE_MAX];
    int n_active = observe(g, &s, list);
    for (int i = 0; i < n_active; i++)
      push(&seen, list[i]);
    check_row(where, &state, states, rec->sort);
    check_row(where, &seen, obs, NULL);
    states = states->next;
    obs = obs->next;
    if (!action) {
      assert_null(states);
      assert_null(draws);
      return t;
    }
    int code = mm_minatar_action_at(g->action_set, g->actions, action->valueint);
    assert_int_equal(code, cJSON_GetArrayItem(action_set, action->valueint)->valueint);
    game_draws d = { 0 };
    if (which == ASTERIX) d.asterix.slot = MM_ASTERIX_SLOTS;
    if (random->valueint) {
      d = rec->draws(draws);
      draws = draws->next; // NOLINT(clang-analyzer-core.NullDereference): there is a row for each
      ++*n_random;
    }
    float found;
    unsigned ended = g->step(&s, code, MM_MINATAR_GYMNAX, d, &found);
    if (found != (float)reward->valuedouble ||
        ended != (unsigned)(terminated->valueint * MM_END_TERMINATED +
                            truncated->valueint * MM_END_TRUNCATED))
      fail_msg("%s: reward %g, end %u", where, (double)found, ended);
  }
}

static void test_golden(void **state) {
  (void)state;
  for (int which = 0; which < N_GAME; which++) {
    const game *g = &games[which];
    cJSON *root = read_golden(g->name);
    const cJSON *action_set = field(root, "action_set");
    int episodes = 0, transitions = 0, random = 0;
    assert_int_equal(cJSON_GetArraySize(action_set), g->actions);
    assert_int_equal(field(root, "channels")->valueint, g->channels);
    for (const cJSON *e = field(root, "episodes")->child; e; e = e->next)
      transitions += replay(which, e, episodes++, action_set, &random);
    assert_int_equal(episodes, recordings[which].episodes);
    assert_int_equal(transitions, recordings[which].transitions);
    assert_int_equal(random, recordings[which].random);
    cJSON_Delete(root);
  }
}

int suite_minatar_golden(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_golden) };
  return cmocka_run_group_tests_name("minatar_golden", tests, NULL, NULL);
}
