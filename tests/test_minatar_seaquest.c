// SPDX-License-Identifier: Apache-2.0
// Seaquest against a plain version of its rules: lists of everything, one entity at a time, newest
// first, an observation set cell by cell. It shares no code with the game beyond its constants.

#include "minatar_games.h"
#include "test.h"

enum { LIST_MAX = 256 };

typedef struct thing {
  int x, y, right, timer, shot;
} thing;

typedef struct things {
  int n;
  thing at[LIST_MAX];
} things;

typedef struct plain {
  things own, enemy_bullets, fish, submarines, divers;
  int oxygen, x, y, right, surfaced, aboard, spawn_period, spawn_timer, diver_timer, move_interval;
  int shot_timer, ramp_index;
} plain;

static void add(things *list, int x, int y, int right, int timer, int shot) {
  assert_true(list->n < LIST_MAX);
  const thing t = { x, y, right, timer, shot };
  list->at[list->n++] = t;
}

static void drop(things *list, int i) {
  memmove(&list->at[i], &list->at[i + 1], (size_t)(--list->n - i) * sizeof(thing));
}

static int find(const things *list, int x, int y) {
  for (int i = 0; i < list->n; i++) {
    if (list->at[i].x == x && list->at[i].y == y) return i;
  }
  return -1;
}

static int advance(thing *t) {
  t->x += t->right ? 1 : -1;
  return t->x >= 0 && t->x <= 9;
}

static int opposed(const things *list, int y, int right) {
  for (int i = 0; i < list->n; i++) {
    if (list->at[i].y == y && list->at[i].right != right) return 1;
  }
  return 0;
}

static void plain_reset(plain *p) {
  const plain fresh = { .oxygen = 200,
                        .x = 5,
                        .surfaced = 1,
                        .spawn_period = 20,
                        .spawn_timer = 20,
                        .diver_timer = 30,
                        .move_interval = 5 };
  *p = fresh;
}

static void plain_spawn(plain *p, mm_seaquest_draws d) {
  if (p->spawn_timer == 0) {
    const int y = d.enemy_row, right = d.enemy_right;
    if (!opposed(&p->fish, y, right) && !opposed(&p->submarines, y, right))
      add(d.enemy_submarine ? &p->submarines : &p->fish, right ? 0 : 9, y, right, p->move_interval,
          10);
    p->spawn_timer = p->spawn_period;
  }
  if (p->diver_timer == 0) {
    add(&p->divers, d.diver_right ? 0 : 9, d.diver_row, d.diver_right, 5, 0);
    p->diver_timer = 30;
  }
}

static void plain_act(plain *p, int action) {
  if (action == 5 && p->shot_timer == 0) {
    add(&p->own, p->x, p->y, p->right, 0, 0);
    p->shot_timer = 5;
  }
  if (action == 1 || action == 3) p->right = action == 3;
  if (action == 1 && p->x > 0) p->x--;
  if (action == 3 && p->x < 9) p->x++;
  if (action == 2 && p->y > 0) p->y--;
  if (action == 4 && p->y < 8) p->y++;
}

static int plain_own(plain *p) {
  int hits = 0;
  for (int i = p->own.n - 1; i >= 0; i--) {
    thing *t = &p->own.at[i];
    if (!advance(t)) {
      drop(&p->own, i);
      continue;
    }
    things *struck = find(&p->fish, t->x, t->y) >= 0 ? &p->fish : &p->submarines;
    int target = find(struck, t->x, t->y);
    if (target < 0) continue;
    drop(struck, target);
    drop(&p->own, i);
    hits++;
  }
  return hits;
}

static void plain_divers(plain *p) {
  for (int i = p->divers.n - 1; i >= 0; i--) {
    thing *t = &p->divers.at[i];
    if (t->x == p->x && t->y == p->y && p->aboard < 6) {
      drop(&p->divers, i);
      p->aboard++;
    } else if (t->timer == 0) {
      t->timer = 5;
      if (!advance(t)) {
        drop(&p->divers, i);
      } else if (t->x == p->x && t->y == p->y && p->aboard < 6) {
        drop(&p->divers, i);
        p->aboard++;
      }
    } else {
      t->timer--;
    }
  }
}

static int plain_enemies(plain *p, things *list, int *hits) {
  int dead = 0;
  for (int i = list->n - 1; i >= 0; i--) {
    thing *t = &list->at[i];
    dead |= t->x == p->x && t->y == p->y;
    if (t->timer == 0) {
      t->timer = p->move_interval;
      if (!advance(t)) {
        drop(list, i);
        continue;
      }
      int bullet = find(&p->own, t->x, t->y);
      if (t->x == p->x && t->y == p->y) {
        dead = 1;
      } else if (bullet >= 0) {
        drop(&p->own, bullet);
        drop(list, i);
        ++*hits;
        continue;
      }
    } else {
      t->timer--;
    }
    if (list == &p->fish) continue;
    if (t->shot == 0) {
      t->shot = 10;
      add(&p->enemy_bullets, t->x, t->y, t->right, 0, 0);
    } else {
      t->shot--;
    }
  }
  return dead;
}

static int plain_enemy_bullets(plain *p) {
  int dead = 0;
  for (int i = p->enemy_bullets.n - 1; i >= 0; i--) {
    thing *t = &p->enemy_bullets.at[i];
    dead |= t->x == p->x && t->y == p->y;
    if (!advance(t))
      drop(&p->enemy_bullets, i);
    else
      dead |= t->x == p->x && t->y == p->y;
  }
  return dead;
}

static int plain_surface(plain *p) {
  int worth = 0;
  p->surfaced = 1;
  if (p->aboard == 6) {
    worth = p->oxygen * 10 / 200;
    p->aboard = 0;
  }
  p->oxygen = 200;
  p->aboard--;
  if (p->spawn_period > 1 || p->move_interval > 2) {
    if (p->ramp_index % 2 == 1 && p->move_interval > 2) p->move_interval--;
    if (p->spawn_period > 1) p->spawn_period--;
    p->ramp_index++;
  }
  return worth;
}

// Returns whether the step ends the episode.
static int plain_step(plain *p, int action, int gymnax, mm_seaquest_draws d, int *reward) {
  plain_spawn(p, d);
  plain_act(p, action);
  *reward = plain_own(p);
  plain_divers(p);
  int dead = plain_enemies(p, &p->submarines, reward);
  dead |= plain_enemy_bullets(p);
  dead |= plain_enemies(p, &p->fish, reward);
  if (p->spawn_timer > 0) p->spawn_timer--;
  if (p->diver_timer > 0) p->diver_timer--;
  if (p->shot_timer > 0) p->shot_timer--;
  if (p->oxygen <= 0) dead = 1;
  if (p->y > 0) {
    p->oxygen--;
    p->surfaced = 0;
  } else if (!p->surfaced) {
    int alone = p->aboard == 0;
    dead |= alone;
    if (!alone || gymnax) *reward += plain_surface(p);
  }
  return dead;
}

static void show(uint8_t *seen, int x, int y, int channel) {
  if (x >= 0 && x <= 9) seen[(10 * y + x) * 10 + channel] = 1;
}

static void show_things(uint8_t *seen, const things *list, int channel, int trails) {
  for (int i = 0; i < list->n; i++) {
    const thing *t = &list->at[i];
    show(seen, t->x, t->y, channel);
    if (trails) show(seen, t->x + (t->right ? -1 : 1), t->y, 3);
  }
}

static void plain_observe(const plain *p, uint8_t seen[1000]) {
  memset(seen, 0, 1000);
  show(seen, p->x, p->y, 0);
  show(seen, p->x + (p->right ? -1 : 1), p->y, 1);
  show_things(seen, &p->own, 2, 0);
  show_things(seen, &p->enemy_bullets, 4, 0);
  show_things(seen, &p->fish, 5, 1);
  show_things(seen, &p->submarines, 6, 1);
  show_things(seen, &p->divers, 9, 1);
  for (int x = 0; x < 10; x++) {
    if (20 * (x + 1) <= p->oxygen) show(seen, x, 9, 7);
    if (x < 9 && x >= 9 - p->aboard) show(seen, x, 9, 8);
  }
}

static void check_same(const plain *p, const mm_seaquest *s, int t) {
  uint16_t list[GAME_ACTIVE_MAX];
  uint8_t seen[1000], found[1000] = { 0 };
  game_state state;
  state.seaquest = *s;
  int n = observe(&games[SEAQUEST], &state, list);
  for (int i = 0; i < n; i++)
    found[list[i]] = 1;
  plain_observe(p, seen);
  for (int i = 0; i < 1000; i++) {
    if (seen[i] != found[i]) fail_msg("step %d: input %d is %d", t, i, found[i]);
  }
  assert_int_equal(p->aboard, s->aboard);
  assert_int_equal(p->oxygen, s->oxygen);
  assert_int_equal(p->spawn_period, s->spawn_period);
  assert_int_equal(p->move_interval, s->move_interval);
  assert_int_equal(p->fish.n + p->submarines.n, s->n_enemy);
  int k = 0;
  for (int kind = 0; kind < 2; kind++) { // the same enemies, in the same order
    const things *of_kind = kind ? &p->submarines : &p->fish;
    for (int i = k = 0; i < s->n_enemy; i++) {
      const mm_seaquest_enemy *e = &s->enemy[i];
      if (e->submarine != kind) continue;
      const thing *q = &of_kind->at[k++];
      assert_true(q->x == e->x && q->y == e->y && q->right == e->right && q->timer == e->timer);
      assert_true(!kind || q->shot == e->shot);
    }
    assert_int_equal(k, of_kind->n);
  }
}

// Random play with a random taste, through deaths: the later an episode, the more there is about.
static void play_both(mm_minatar_rules rules, uint32_t lane, int steps, int *hits, int *most) {
  const mm_stream actions = mm_stream_make(3, lane, MM_RNG_ACTION, 0);
  const mm_stream draws = mm_stream_make(3, lane, MM_RNG_ENV_STEP, 0);
  mm_seaquest s;
  plain p;
  memset(&s, 0, sizeof s);
  mm_seaquest_reset(&s, rules, mm_seaquest_draw_reset(draws, 0));
  plain_reset(&p);
  for (int t = 0; t < steps; t++) {
    mm_block b = mm_stream_block(actions, (uint64_t)t);
    int favourite = t / 40 % 3 == 0 ? MM_MINATAR_FIRE : t / 40 % 3 == 1 ? MM_MINATAR_DOWN : 0;
    int action = mm_minatar_below(b.word[0], 3) ? mm_minatar_below(b.word[1], 6) : favourite;
    if (s.oxygen < 30 || lane % 4 == 3) action = t % 2 ? MM_MINATAR_UP : action;
    mm_seaquest_draws d = mm_seaquest_draw_step(&s, action, rules, draws, (uint64_t)t);
    float reward;
    int expected;
    d.repeat = 0;
    s.episode.ended = 0; // on through deaths
    unsigned ended = mm_seaquest_step(&s, action, rules, d, &reward);
    int dead = plain_step(&p, action, rules == MM_MINATAR_GYMNAX, d, &expected);
    assert_int_equal(ended & MM_END_TERMINATED, dead ? MM_END_TERMINATED : 0);
    assert_true(reward == (float)expected);
    check_same(&p, &s, t);
    *hits += expected;
    if (s.n_enemy > *most) *most = s.n_enemy;
  }
}

static void test_plain(void **state) {
  (void)state;
  for (int rules = MM_MINATAR_GYMNAX; rules <= MM_MINATAR_ORIGINAL; rules++) {
    int hits = 0, most = 0;
    for (uint32_t lane = 0; lane < 16; lane++)
      play_both((mm_minatar_rules)rules, lane, 5000, &hits, &most);
    assert_true(hits > 400 && most >= 20); // there was something to compare
  }
}

int suite_minatar_seaquest(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain) };
  return cmocka_run_group_tests_name("minatar_seaquest", tests, NULL, NULL);
}
