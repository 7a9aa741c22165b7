// SPDX-License-Identifier: Apache-2.0
// The MinAtar games: known scores of scripts, the two rule sets, and what the recordings do not
// reach. Recordings: test_minatar_golden.c; random draws: test_minatar_draws.c.

#include "minatar_games.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// Scripts: action number t of the smallest set, and what comes of it

typedef struct script {
  int which;
  int (*act)(int t, const game_state *s);
  int right;         // Breakout: the ball starts at the right
  int ignores_death; // plays on after the end
  int length, total;
  int64_t checksum; // of (input + 1) over the active inputs of all observations
} script;

static int act_0(int t, const game_state *s) {
  (void)t, (void)s;
  return 0;
}

static int act_1(int t, const game_state *s) {
  (void)t, (void)s;
  return 1;
}

static int act_3(int t, const game_state *s) {
  (void)t, (void)s;
  return 3;
}

static int act_mod_3(int t, const game_state *s) {
  (void)s;
  return t % 3;
}

static int act_mod_4(int t, const game_state *s) {
  (void)s;
  return t % 4;
}

static int act_mod_5(int t, const game_state *s) {
  (void)s;
  return t % 5;
}

static int act_thirds(int t, const game_state *s) {
  (void)s;
  return t / 3 % 4;
}

static int act_quarters(int t, const game_state *s) {
  (void)s;
  return t / 4 % 5;
}

static int act_square(int t, const game_state *s) {
  (void)s;
  return (7 * t + t * t / 5) % 4;
}

static int act_pauses(int t, const game_state *s) {
  (void)s;
  return t % 27 < 20 ? 1 : 0;
}

static int act_follow(int t, const game_state *s) {
  (void)t;
  int away = s->breakout.x - s->breakout.paddle;
  return away < 0 ? 1 : away > 0 ? 2 : 0;
}

static const script scripts[] = {
  { SPACE_INVADERS, act_3, 0, 0, 18, 3, 140815 },
  { SPACE_INVADERS, act_0, 0, 0, 17, 0, 134850 },
  { SPACE_INVADERS, act_mod_4, 0, 0, 18, 2, 140993 },
  { SPACE_INVADERS, act_thirds, 0, 0, 28, 2, 211563 },
  { SPACE_INVADERS, act_square, 0, 0, 68, 4, 562347 },
  { BREAKOUT, act_0, 0, 0, 6, 0, 27358 },
  { BREAKOUT, act_0, 1, 0, 16, 1, 66206 },
  { BREAKOUT, act_follow, 0, 0, 1000, 84, 2147526 },
  { BREAKOUT, act_follow, 1, 0, 1000, 84, 2161910 },
  { FREEWAY, act_1, 0, 0, 2500, 37, 15157670 },
  { FREEWAY, act_mod_3, 0, 0, 2500, 37, 15158622 },
  { FREEWAY, act_pauses, 0, 0, 2500, 16, 15185824 },
  { ASTERIX, act_0, 0, 0, 41, 0, 25458 },
  { ASTERIX, act_mod_5, 0, 0, 37, 0, 20219 },
  { ASTERIX, act_quarters, 0, 0, 27, 0, 10102 },
  { ASTERIX, act_quarters, 0, 1, 1000, 32, 1938554 },
};

// Spawn n of Asterix: to the right for odd n, gold for multiples of 3, into entry 3 n of the k
// empty slots, or slot 3 n is emptied.
static mm_asterix_draws scripted_spawn(const mm_asterix *s, int n) {
  const unsigned empty = ~s->used & 0xffu;
  const int k = mm_minatar_count(empty);
  mm_asterix_draws d = { 0, (uint8_t)(3 * n % 8), k > 0, n % 2 == 1, n % 3 == 0 };
  if (k > 0) d.slot = mm_asterix_nth(empty, 3 * n % k);
  return d;
}

static int64_t checksum(const game *g, const game_state *s) {
  uint16_t list[GAME_ACTIVE_MAX];
  const int n = observe(g, s, list);
  int64_t sum = 0;
  for (int i = 0; i < n; i++)
    sum += list[i] + 1;
  return sum;
}

static void run_script(const script *p, game_state *s, int *n_spawn, int *n_death) {
  static const int8_t speeds[MM_FREEWAY_CARS] = { 1, -2, 3, -4, 5, -1, 2, -3 };
  const game *g = &games[p->which];
  game_draws d = { 0 };
  if (p->which == BREAKOUT) d.breakout.right = (uint8_t)p->right;
  if (p->which == FREEWAY) memcpy(d.freeway.speed, speeds, sizeof speeds);
  g->reset(s, MM_MINATAR_GYMNAX, d);
  int64_t sum = checksum(g, s);
  float total = 0, reward;
  for (unsigned ended = 0; !(p->ignores_death ? ended & MM_END_TRUNCATED : ended);) {
    int index = p->act((int)s->episode.time, s);
    if (p->which == ASTERIX && s->asterix.spawn_timer == 0)
      d.asterix = scripted_spawn(&s->asterix, (*n_spawn)++);
    ended = g->step(s, mm_minatar_action_at(g->action_set, g->actions, index), MM_MINATAR_GYMNAX, d,
                    &reward);
    *n_death += (int)(ended & MM_END_TERMINATED);
    total += reward;
    sum += checksum(g, s);
  }
  if ((int)s->episode.time != p->length || total != (float)p->total || sum != p->checksum)
    fail_msg("script %td (%s): length %u, return %g, checksum %lld", p - scripts, g->name,
             s->episode.time, (double)total, (long long)sum);
}

static void test_scripts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
    game_state s = { 0 };
    int n_spawn = 0, n_death = 0;
    run_script(&scripts[i], &s, &n_spawn, &n_death);
    if (!scripts[i].ignores_death) continue;
    assert_int_equal(n_spawn, 277);
    assert_int_equal(n_death, 66);
    assert_int_equal(s.asterix.spawn_period, 1);
    assert_int_equal(s.asterix.move_period, 1);
    assert_int_equal(s.asterix.ramp_index, 9);
  }
}

// ---------------------------------------------------------------------------------------------
// Rules and actions

static unsigned play(const game *g, game_state *s, int action, mm_minatar_rules rules, uint64_t t) {
  float reward;
  mm_stream stream = mm_stream_make(5, 0, MM_RNG_TEST, 0);
  return g->step(s, action, rules, g->draw_step(s, action, rules, stream, t), &reward);
}

static void begin(const game *g, game_state *s, mm_minatar_rules rules) {
  memset(s, 0, sizeof *s);
  g->reset(s, rules, g->draw_reset(mm_stream_make(5, 0, MM_RNG_TEST, 1), 0));
}

// What is no action at all does nothing, in every game.
static void test_other_actions(void **state) {
  (void)state;
  static const int others[] = { -1, MM_MINATAR_ACTIONS, 1000, INT32_MAX, INT32_MIN };
  for (int which = 0; which < N_GAME; which++) {
    const game *g = &games[which];
    assert_int_equal(mm_minatar_action_at(g->action_set, g->actions, -1), MM_MINATAR_NONE);
    assert_int_equal(mm_minatar_action_at(g->action_set, g->actions, g->actions), MM_MINATAR_NONE);
    assert_int_equal(mm_minatar_action_at(g->action_set, g->actions, INT32_MAX), MM_MINATAR_NONE);
    game_state s, same;
    begin(g, &s, MM_MINATAR_GYMNAX);
    same = s;
    for (uint64_t t = 0; t < 500; t++) {
      unsigned ended = play(g, &s, MM_MINATAR_NONE, MM_MINATAR_GYMNAX, t);
      assert_int_equal(play(g, &same, others[t % 5], MM_MINATAR_GYMNAX, t), ended);
      assert_memory_equal(&s, &same, sizeof s);
    }
    // by the original rules too, where the action is remembered
    begin(g, &s, MM_MINATAR_ORIGINAL);
    play(g, &s, INT32_MIN, MM_MINATAR_ORIGINAL, 0);
    assert_int_equal(s.episode.repeats, MM_MINATAR_NONE);
  }
}

// A sticky step executes the action before, whatever is asked for, and remembers that one.
static void test_sticky(void **state) {
  (void)state;
  const game *g = &games[BREAKOUT];
  game_state s;
  game_draws free_step = { 0 }, sticky = { 0 };
  float reward;
  sticky.repeat = 1;
  begin(g, &s, MM_MINATAR_ORIGINAL);
  assert_int_equal(s.breakout.paddle, 4);
  g->step(&s, MM_MINATAR_LEFT, MM_MINATAR_ORIGINAL, sticky, &reward); // nothing yet to repeat
  assert_int_equal(s.breakout.paddle, 4);
  g->step(&s, MM_MINATAR_LEFT, MM_MINATAR_ORIGINAL, free_step, &reward);
  assert_int_equal(s.breakout.paddle, 3);
  g->step(&s, MM_MINATAR_RIGHT, MM_MINATAR_ORIGINAL, sticky, &reward);
  g->step(&s, MM_MINATAR_RIGHT, MM_MINATAR_ORIGINAL, sticky, &reward);
  assert_int_equal(s.breakout.paddle, 1);
  g->reset(&s, MM_MINATAR_ORIGINAL, free_step); // does not make it forget
  g->step(&s, MM_MINATAR_RIGHT, MM_MINATAR_ORIGINAL, sticky, &reward);
  assert_int_equal(s.breakout.paddle, 3);
  g->step(&s, MM_MINATAR_RIGHT, MM_MINATAR_ORIGINAL, free_step, &reward);
  assert_int_equal(s.breakout.paddle, 4);
}

// Original rules: what has ended stays. The gymnax rules play on and count the time.
static void test_frozen(void **state) {
  (void)state;
  for (int which = 0; which < N_GAME; which++) {
    const game *g = &games[which];
    game_state s, end;
    uint64_t t = 0;
    begin(g, &s, MM_MINATAR_ORIGINAL);
    while (!s.episode.ended && t < 100000)
      play(g, &s, (int)(t * t / 3 % 6), MM_MINATAR_ORIGINAL, t), t++;
    unsigned ended = s.episode.ended;
    assert_int_equal(ended, which == FREEWAY ? MM_END_TRUNCATED : MM_END_TERMINATED);
    if (which == FREEWAY) assert_int_equal(s.episode.time, MM_FREEWAY_LIMIT_ORIGINAL);
    end = s;
    for (int i = 0; i < 50; i++)
      assert_int_equal(play(g, &s, i % 6, MM_MINATAR_ORIGINAL, t++), ended);
    assert_memory_equal(&s, &end, sizeof s);
    play(g, &s, 0, MM_MINATAR_GYMNAX, t);
    assert_int_equal(s.episode.time, end.episode.time + 1);
    g->reset(&s, MM_MINATAR_ORIGINAL, g->draw_reset(mm_stream_make(5, 0, MM_RNG_TEST, 1), 1));
    assert_int_equal(s.episode.ended, 0);
    assert_int_equal(s.episode.time, 0);
  }
}

// The limits of gymnax, both flags in the step that dies at the limit, and none in the original.
static void test_limits(void **state) {
  (void)state;
  for (int which = 0; which < N_GAME; which++) {
    const game *g = &games[which];
    const uint32_t limit = which == FREEWAY ? 2500 : 1000;
    game_state s;
    begin(g, &s, MM_MINATAR_GYMNAX);
    s.episode.time = limit - 2;
    assert_int_equal(play(g, &s, 0, MM_MINATAR_GYMNAX, 0), 0);
    assert_int_equal(play(g, &s, 0, MM_MINATAR_GYMNAX, 1), MM_END_TRUNCATED);
    begin(g, &s, MM_MINATAR_ORIGINAL);
    s.episode.time = limit - 1;
    assert_int_equal(play(g, &s, 0, MM_MINATAR_ORIGINAL, 0), 0);
  }
  game_state s;
  begin(&games[BREAKOUT], &s, MM_MINATAR_GYMNAX);
  s.breakout.y = 8;
  s.episode.time = 999;
  assert_int_equal(play(&games[BREAKOUT], &s, 0, MM_MINATAR_GYMNAX, 0),
                   MM_END_TERMINATED | MM_END_TRUNCATED);
}

// Inside the wall: after a hit the ball passes through bricks, until a step without one.
static void test_breakout_strike(void **state) {
  (void)state;
  static const struct { int x, y, strike, reward; } path[] = { { 5, 2, 1, 1 }, { 6, 3, 1, 0 } };
  game_state s;
  game_draws d = { 0 };
  begin(&games[BREAKOUT], &s, MM_MINATAR_GYMNAX);
  mm_breakout *b = &s.breakout;
  const uint32_t last = mm_breakout_brick(6, 3);
  b->x = 4;
  b->y = 2;
  b->direction = MM_BREAKOUT_UP_RIGHT;
  b->bricks = mm_breakout_brick(5, 1) | last;
  for (int i = 0; i < 2; i++) {
    float reward;
    games[BREAKOUT].step(&s, MM_MINATAR_NONE, MM_MINATAR_GYMNAX, d, &reward);
    assert_int_equal(b->x, path[i].x);
    assert_int_equal(b->y, path[i].y);
    assert_int_equal(b->strike, path[i].strike);
    assert_true(reward == (float)path[i].reward);
    assert_int_equal(b->bricks, last);
    assert_int_equal(b->direction, MM_BREAKOUT_DOWN_RIGHT);
  }
  // out of the wall and free again
  float reward;
  games[BREAKOUT].step(&s, MM_MINATAR_NONE, MM_MINATAR_GYMNAX, d, &reward);
  assert_int_equal(b->y, 4);
  assert_int_equal(b->strike, 0);
}

// The cannon steps away from a bullet, or into one: gymnax asks where it was, the original where it
// is. The first wave of the original is a column narrower.
static void test_invaders_rules(void **state) {
  (void)state;
  const game *g = &games[SPACE_INVADERS];
  for (int bullet_x = 5; bullet_x <= 6; bullet_x++) {
    for (int rules = MM_MINATAR_GYMNAX; rules <= MM_MINATAR_ORIGINAL; rules++) {
      game_state s;
      game_draws d = { 0 };
      float reward;
      begin(g, &s, (mm_minatar_rules)rules);
      assert_int_equal(mm_minatar_map_count(&s.space_invaders.aliens),
                       rules == MM_MINATAR_GYMNAX ? 28 : 24);
      mm_minatar_put(&s.space_invaders.enemy, bullet_x, 8);
      unsigned ended = g->step(&s, MM_MINATAR_RIGHT, (mm_minatar_rules)rules, d, &reward);
      int dies = bullet_x == (rules == MM_MINATAR_GYMNAX ? 5 : 6);
      assert_int_equal(ended, dies ? MM_END_TERMINATED : 0);
    }
  }
}

// Aliens that must come down from the last row end the episode.
static void test_invaders_bottom(void **state) {
  (void)state;
  game_state s;
  begin(&games[SPACE_INVADERS], &s, MM_MINATAR_GYMNAX);
  mm_space_invaders *g = &s.space_invaders;
  g->aliens.half[0] = 0;
  mm_minatar_put(&g->aliens, 0, 9);
  g->move_timer = 0;
  assert_int_equal(play(&games[SPACE_INVADERS], &s, 0, MM_MINATAR_GYMNAX, 0), MM_END_TERMINATED);
  assert_int_equal(g->alien_right, 1);
}

// ---------------------------------------------------------------------------------------------
// Seaquest: what the recordings do not reach

// Surfacing with six divers pays by the oxygen and leaves -1 aboard; with fewer it costs one.
static void test_rescue(void **state) {
  (void)state;
  const game *g = &games[SEAQUEST];
  for (int rules = MM_MINATAR_GYMNAX; rules <= MM_MINATAR_ORIGINAL; rules++) {
    for (int aboard = -2; aboard <= 6; aboard++) {
      for (int oxygen = 1; oxygen <= 200; oxygen += 9) {
        game_state s;
        game_draws d = { 0 };
        float reward;
        begin(g, &s, (mm_minatar_rules)rules);
        s.seaquest.y = 1;
        s.seaquest.surfaced = 0;
        s.seaquest.aboard = aboard;
        s.seaquest.oxygen = (int16_t)oxygen;
        unsigned ended = g->step(&s, MM_MINATAR_UP, (mm_minatar_rules)rules, d, &reward);
        int surfaces = aboard != 0 || rules == MM_MINATAR_GYMNAX;
        assert_true(reward == (float)(aboard == 6 ? oxygen / 20 : 0));
        assert_int_equal(ended, aboard == 0 ? MM_END_TERMINATED : 0);
        assert_int_equal(s.seaquest.aboard, aboard == 6 ? -1 : aboard - surfaces);
        assert_int_equal(s.seaquest.oxygen, surfaces ? 200 : oxygen);
        assert_int_equal(s.seaquest.ramp_index, surfaces);
      }
    }
  }
}

// Oxygen runs out: the episode ends in the step after it has reached 0.
static void test_oxygen(void **state) {
  (void)state;
  game_state s;
  begin(&games[SEAQUEST], &s, MM_MINATAR_GYMNAX);
  s.seaquest.y = 4;
  s.seaquest.oxygen = 1;
  assert_int_equal(play(&games[SEAQUEST], &s, 0, MM_MINATAR_GYMNAX, 0), 0);
  assert_int_equal(s.seaquest.oxygen, 0);
  assert_int_equal(play(&games[SEAQUEST], &s, 0, MM_MINATAR_GYMNAX, 1), MM_END_TERMINATED);
}

// The lists have room for the worst: every draw brings an enemy of the same direction, surfacing
// happens as often as it can, and nothing is ever shot.
static void test_room(void **state) {
  (void)state;
  const game *g = &games[SEAQUEST];
  for (int submarines = 0; submarines < 2; submarines++) {
    for (int calm = 0; calm < 400; calm += 7) { // steps before the surfacing begins
      game_state s;
      uint16_t list[GAME_ACTIVE_MAX];
      int most = 0, bullets = 0;
      begin(g, &s, MM_MINATAR_GYMNAX);
      mm_seaquest *q = &s.seaquest;
      for (int t = 0; t < 700; t++) {
        game_draws d = { 0 };
        float reward;
        d.seaquest.enemy_submarine = (uint8_t)submarines;
        d.seaquest.enemy_row = (uint8_t)(3 + t % 4);
        d.seaquest.diver_row = 8;
        q->aboard = 2;
        if (t < calm) q->oxygen = 200;
        int comes = q->spawn_timer == 0, enemies = q->n_enemy;
        assert_true(!comes || enemies < MM_SEAQUEST_ENEMIES_MAX);
        g->step(&s, t < calm || t % 2 ? MM_MINATAR_UP : MM_MINATAR_DOWN, MM_MINATAR_GYMNAX, d,
                &reward);
        assert_true(reward == 0);
        if (q->n_enemy > most) most = q->n_enemy;
        bullets |= mm_minatar_map_any(q->enemy_bullet[0]);
        observe(g, &s, list);
      }
      assert_true(most >= 28 && most <= MM_SEAQUEST_ENEMIES_MAX);
      assert_int_equal(bullets, submarines);
      assert_int_equal(q->spawn_period, 1);
      assert_int_equal(q->move_interval, 2);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Descriptions

// There is room for what a game describes, and its actions have names.
static void check_room(const game *g) {
  const mm_game_spec *spec = g->spec;
  int numbers = mm_game_numbers(g), lists = 0, draws = 0;
  for (int i = numbers; i < spec->n_field; i++)
    lists += spec->field[i].name != NULL;
  while (draws < MM_GAME_DRAWS && spec->draw[draws])
    draws++;
  assert_true(numbers < MM_GAME_NUMBERS && lists <= MM_GAME_LISTS);
  assert_true(spec->n_draw <= MM_GAME_DRAWS && draws < MM_GAME_DRAWS);
  assert_true(spec->about.scene.n_mark <= MM_MARKS_MOST);
  for (int i = 0; i < g->actions; i++)
    assert_non_null(spec->about.action_name[i]);
}

// What is reached by playing is within the fields' ranges, and a row says all of it.
static void test_descriptions(void **state) {
  (void)state;
  static mm_game_row row, again;
  for (int which = 0; which < N_GAME; which++) {
    const game *g = &games[which];
    check_room(g);
    for (mm_minatar_rules rules = MM_MINATAR_GYMNAX; rules <= MM_MINATAR_ORIGINAL; rules++) {
      const int32_t limit = g->spec->limit[rules];
      mm_stream stream = mm_stream_make(5, 0, MM_RNG_ENV_STEP, 0);
      game_state s = { 0 }, loaded;
      unsigned end = MM_END_TERMINATED;
      for (uint64_t t = 0; t < 3000; t++) {
        if (end) g->reset(&s, rules, g->draw_reset(stream, t));
        assert_true(mm_game_is_valid(g, &s, (uint32_t)limit));
        int index = (int)mm_uniform_int(mm_stream_pair(stream, 1000000 + t), (uint32_t)g->actions);
        int action = mm_minatar_action_at(g->action_set, g->actions, index);
        float reward;
        end = g->step(&s, action, rules, g->draw_step(&s, action, rules, stream, t), &reward);
        mm_game_store(g, &s, rules, &row);
        mm_game_load(g, &row, rules, limit, &loaded);
        mm_game_store(g, &loaded, rules, &again);
        assert_memory_equal(&row, &again, sizeof row);
      }
    }
  }
}

int suite_minatar(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_scripts),
    cmocka_unit_test(test_other_actions),
    cmocka_unit_test(test_sticky),
    cmocka_unit_test(test_frozen),
    cmocka_unit_test(test_limits),
    cmocka_unit_test(test_invaders_rules),
    cmocka_unit_test(test_invaders_bottom),
    cmocka_unit_test(test_rescue),
    cmocka_unit_test(test_breakout_strike),
    cmocka_unit_test(test_oxygen),
    cmocka_unit_test(test_room),
    cmocka_unit_test(test_descriptions),
  };
  return cmocka_run_group_tests_name("minatar", tests, NULL, NULL);
}
