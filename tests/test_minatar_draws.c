// SPDX-License-Identifier: Apache-2.0
// The random part of the MinAtar games: each draw against its law on 10^6 of them, jointly where
// several come from one block; and what a random policy earns, against measurements of the
// reference implementations.

#include <math.h>

#include "minatar_games.h"
#include "statistics.h"
#include "test.h"

enum { DRAWS = 1000000 };

static mm_stream test_stream(uint32_t lane) {
  return mm_stream_make(2024, 5, MM_RNG_TEST, lane);
}

// p of counts[n] against the probabilities p[n]. What cannot happen must not have.
static double chi_square_of(const uint32_t *counts, const double *p, int n) {
  double sum = 0, total = 0;
  int degrees = -1;
  for (int i = 0; i < n; i++) {
    double expected = p[i] * DRAWS;
    total += p[i];
    if (p[i] == 0) {
      assert_int_equal(counts[i], 0);
      continue;
    }
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    degrees++;
  }
  assert_true(fabs(total - 1) < 1e-12);
  return chi_square_p(sum, degrees);
}

// ---------------------------------------------------------------------------------------------
// Asterix

// The law of (slot, spawns) for a mask of occupied slots; entry 2 slot + spawns, 16 for nothing.
static void slot_law(unsigned used, mm_minatar_rules rules, double law[17]) {
  const int n_empty = 8 - mm_minatar_count(used);
  const double fails = rules == MM_MINATAR_GYMNAX && n_empty == 1 ? 1.0 / 8 : n_empty == 0;
  for (int slot = 0; slot < 8; slot++) {
    int full = used >> slot & 1;
    law[2 * slot] = full && rules == MM_MINATAR_GYMNAX ? fails / (8 - n_empty) : 0;
    law[2 * slot + 1] = full ? 0 : (1 - fails) / n_empty;
  }
  law[16] = rules == MM_MINATAR_ORIGINAL ? fails : 0;
}

static void check_spawns(unsigned used, mm_minatar_rules rules, uint32_t lane) {
  static uint32_t counts[17 * 8];
  double slots[17], law[17 * 8];
  mm_asterix s;
  memset(&s, 0, sizeof s);
  mm_asterix_reset(&s, rules, mm_asterix_draw_reset(test_stream(lane), 0));
  s.spawn_timer = 0;
  s.used = (uint8_t)used;
  slot_law(used, rules, slots);
  for (int i = 0; i < 17 * 8; i++) {
    double sticky = rules == MM_MINATAR_ORIGINAL ? 0.1 : 0;
    law[i] = slots[i / 8] * 0.5 * (i & 2 ? 1.0 / 3 : 2.0 / 3) * (i & 1 ? sticky : 1 - sticky);
    counts[i] = 0;
  }
  for (uint64_t t = 0; t < DRAWS; t++) {
    mm_asterix_draws d = mm_asterix_draw_step(&s, 0, rules, test_stream(lane), t);
    int outcome = d.slot == MM_ASTERIX_SLOTS ? 16 : 2 * d.slot + d.spawns;
    counts[outcome * 8 + d.right * 4 + d.gold * 2 + d.repeat]++;
  }
  assert_plausible(chi_square_of(counts, law, 17 * 8));
}

// From no slot taken to all of them: with one left, gymnax fails one time in eight.
static void test_asterix(void **state) {
  (void)state;
  static const uint8_t masks[] = { 0x00, 0x10, 0x5a, 0xb7, 0xf7, 0xfe, 0xff };
  for (uint32_t i = 0; i < sizeof masks; i++) {
    check_spawns(masks[i], MM_MINATAR_GYMNAX, i);
    check_spawns(masks[i], MM_MINATAR_ORIGINAL, 100 + i);
  }
}

// Between spawns nothing happens.
static void test_asterix_quiet(void **state) {
  (void)state;
  mm_asterix s;
  memset(&s, 0, sizeof s);
  mm_asterix_reset(&s, MM_MINATAR_GYMNAX, mm_asterix_draw_reset(test_stream(0), 0));
  for (uint64_t t = 0; t < 1000; t++) {
    s.spawn_timer = (int8_t)(1 + t % 10);
    mm_asterix_draws d = mm_asterix_draw_step(&s, 0, MM_MINATAR_GYMNAX, test_stream(0), t);
    assert_int_equal(d.slot, MM_ASTERIX_SLOTS);
  }
}

// ---------------------------------------------------------------------------------------------
// The others

static void test_breakout(void **state) {
  (void)state;
  const double law[2] = { 0.5, 0.5 };
  uint32_t counts[2] = { 0 };
  for (uint64_t t = 0; t < DRAWS; t++)
    counts[mm_breakout_draw_reset(test_stream(10), t).right]++;
  assert_plausible(chi_square_of(counts, law, 2));
}

// Ten speeds for each car, and each pair of neighbours independent.
static void check_speeds(const mm_freeway *arriving, uint32_t lane) {
  static uint32_t counts[MM_FREEWAY_CARS][100];
  memset(counts, 0, sizeof counts);
  for (uint64_t t = 0; t < DRAWS; t++) {
    mm_freeway_draws d = arriving ? mm_freeway_draw_step(arriving, MM_MINATAR_UP, MM_MINATAR_GYMNAX,
                                                         test_stream(lane), t)
                                  : mm_freeway_draw_reset(test_stream(lane), t);
    int value[MM_FREEWAY_CARS];
    for (int i = 0; i < MM_FREEWAY_CARS; i++) {
      int v = d.speed[i];
      assert_true(v != 0 && v >= -5 && v <= 5);
      value[i] = v < 0 ? v + 5 : v + 4;
    }
    for (int i = 0; i < MM_FREEWAY_CARS; i++)
      counts[i][10 * value[i] + value[(i + 1) % MM_FREEWAY_CARS]]++;
  }
  for (int i = 0; i < MM_FREEWAY_CARS; i++)
    assert_plausible(chi_square_p(chi_square_uniform(counts[i], 100, DRAWS / 100.0), 99));
}

static void test_freeway(void **state) {
  (void)state;
  mm_freeway s;
  memset(&s, 0, sizeof s);
  check_speeds(NULL, 20);
  mm_freeway_reset(&s, MM_MINATAR_GYMNAX, mm_freeway_draw_reset(test_stream(21), 0));
  s.move_timer = 0;
  s.row = 1;
  check_speeds(&s, 22);
}

static void test_seaquest(void **state) {
  (void)state;
  static uint32_t enemies[48], divers[16], joint[16];
  double law[48];
  mm_seaquest s;
  memset(&s, 0, sizeof s);
  mm_seaquest_reset(&s, MM_MINATAR_GYMNAX, mm_seaquest_draw_reset(test_stream(30), 0));
  s.spawn_timer = s.diver_timer = 0;
  for (uint64_t t = 0; t < DRAWS; t++) {
    mm_seaquest_draws d = mm_seaquest_draw_step(&s, 0, MM_MINATAR_GYMNAX, test_stream(30), t);
    assert_true(d.enemy_row >= 1 && d.enemy_row <= 8 && d.diver_row >= 1 && d.diver_row <= 8);
    enemies[(d.enemy_row - 1) * 4 + d.enemy_right * 2 + d.enemy_submarine]++;
    divers[(d.diver_row - 1) * 2 + d.diver_right]++;
    joint[(d.diver_row - 1) * 2 + d.enemy_right]++;
  }
  for (int i = 0; i < 32; i++)
    law[i] = 1.0 / 16 * (i & 1 ? 1.0 / 3 : 2.0 / 3);
  assert_plausible(chi_square_of(enemies, law, 32));
  assert_plausible(chi_square_p(chi_square_uniform(divers, 16, DRAWS / 16.0), 15));
  assert_plausible(chi_square_p(chi_square_uniform(joint, 16, DRAWS / 16.0), 15));
}

// One action in ten is sticky by the original rules, in every game, and none by those of gymnax.
static void test_sticky(void **state) {
  (void)state;
  const double law[2] = { 0.9, 0.1 };
  for (int which = 0; which < N_GAME; which++) {
    const game *g = &games[which];
    game_state s = { 0 };
    uint32_t counts[2] = { 0 };
    g->reset(&s, MM_MINATAR_ORIGINAL, g->draw_reset(test_stream(40), 0));
    for (uint64_t t = 0; t < DRAWS; t++)
      counts[g->draw_step(&s, 1, MM_MINATAR_ORIGINAL, test_stream(40 + (uint32_t)which), t)
                 .repeat]++;
    assert_plausible(chi_square_of(counts, law, 2));
    for (uint64_t t = 0; t < 1000; t++)
      assert_int_equal(g->draw_step(&s, 1, MM_MINATAR_GYMNAX, test_stream(40), t).repeat, 0);
  }
}

// ---------------------------------------------------------------------------------------------
// Random play: mean and standard error of returns and lengths

typedef struct moments {
  double n, sum, squares;
} moments;

static void count(moments *m, double x) {
  m->n++;
  m->sum += x;
  m->squares += x * x;
}

static double mean(const moments *m) {
  return m->sum / m->n;
}

static double error(const moments *m) {
  double variance = (m->squares - m->sum * m->sum / m->n) / (m->n - 1);
  return sqrt(variance / m->n);
}

// All actions or the smallest set; `limit` cuts an episode, 0 leaves it to the rules; `sticky` off
// overrules them.
typedef struct policy {
  int which;
  mm_minatar_rules rules;
  int all_actions, sticky;
  uint32_t limit;
} policy;

static void play(const policy *p, int episodes, moments *total, moments *length, moments *active) {
  const game *g = &games[p->which];
  mm_stream resets = mm_stream_make(11, (uint32_t)p->which, MM_RNG_ENV_RESET, 0);
  mm_stream steps = mm_stream_make(11, (uint32_t)p->which, MM_RNG_ENV_STEP, 0);
  mm_stream actions = mm_stream_make(11, (uint32_t)p->which, MM_RNG_ACTION, 0);
  const uint32_t n_action = p->all_actions ? MM_MINATAR_ACTIONS : (uint32_t)g->actions;
  game_state s = { 0 };
  uint16_t list[GAME_ACTIVE_MAX];
  uint64_t t = 0;
  mm_block b = { { 0 } };
  for (int i = 0; i < episodes; i++) {
    float reward, earned = 0;
    g->reset(&s, p->rules, g->draw_reset(resets, (uint64_t)i));
    for (int ended = 0; !ended; t++) {
      if (t % 4 == 0) b = mm_stream_block(actions, t / 4);
      int k = mm_minatar_below(b.word[t % 4], n_action);
      int action = p->all_actions ? k : mm_minatar_action_at(g->action_set, g->actions, k);
      if (active) count(active, g->list(&s, list));
      game_draws d = g->draw_step(&s, action, p->rules, steps, t);
      if (!p->sticky) d.repeat = 0;
      ended = g->step(&s, action, p->rules, d, &reward) || (p->limit && s.episode.time >= p->limit);
      earned += reward;
    }
    count(total, (double)earned);
    count(length, s.episode.time);
  }
}

// A mean, its standard error, and ours with its own: no further apart than four of the two
// together.
static void check_mean(const char *what, const char *name, const moments *found, double expected,
                       double expected_error) {
  double z = (mean(found) - expected) / hypot(error(found), expected_error);
  if (!(fabs(z) < 4))
    fail_msg("%s of %s: %g +- %g, not %g +- %g", what, name, mean(found), error(found), expected,
             expected_error);
}

// Measured on gymnax: as many episodes here as there.
static void test_random_gymnax(void **state) {
  (void)state;
  static const struct {
    int which, episodes;
    double total, total_error, length, length_error;
    double active; // inputs per observation
  } known[] = {
    { ASTERIX, 9050, 0.505, 0.009, 66.3, 0.4, 6.1 },
    { BREAKOUT, 58993, 0.409, 0.003, 10.17, 0.03, 32.7 },
    { FREEWAY, 400, 0.375, 0.030, 2500, 0, 17 },
    { SPACE_INVADERS, 12418, 4.18, 0.03, 48.3, 0.3, 52.1 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const policy p = { known[i].which, MM_MINATAR_GYMNAX, 0, 1, 0 };
    const char *name = games[p.which].name;
    moments total = { 0 }, length = { 0 }, active = { 0 };
    play(&p, known[i].episodes, &total, &length, &active);
    check_mean("return", name, &total, known[i].total, known[i].total_error);
    if (p.which == FREEWAY)
      assert_true(length.sum == 2500 * length.n);
    else
      check_mean("length", name, &length, known[i].length, known[i].length_error);
    // given to one digit; the measured values follow each other, so they have no simple error
    if (fabs(mean(&active) - known[i].active) > 0.15)
      fail_msg("active inputs of %s: %g", name, mean(&active));
  }
}

// Measured on the original games: without sticky actions and with the limits of gymnax, then as
// they are, with all actions. An error is only known of some returns. It tells how many episodes
// there were, and with that the error of their lengths; otherwise 10^4 are assumed.
static void test_random_original(void **state) {
  (void)state;
  static const struct {
    policy policy;
    int episodes;
    double total, total_error, length;
  } known[] = {
    { { ASTERIX, MM_MINATAR_ORIGINAL, 0, 0, 1000 }, 20000, 0.50, 0.02, 67.2 },
    { { BREAKOUT, MM_MINATAR_ORIGINAL, 0, 0, 1000 }, 50000, 0.413, 0, 10.2 },
    { { SPACE_INVADERS, MM_MINATAR_ORIGINAL, 0, 0, 1000 }, 20000, 4.16, 0.06, 56.7 },
    { { SEAQUEST, MM_MINATAR_ORIGINAL, 0, 0, 1000 }, 50000, 0.096, 0.004, 28.1 },
    { { ASTERIX, MM_MINATAR_ORIGINAL, 1, 1, 0 }, 20000, 0.46, 0.02, 70.5 },
    { { BREAKOUT, MM_MINATAR_ORIGINAL, 1, 1, 0 }, 50000, 0.516, 0, 11.3 },
    { { FREEWAY, MM_MINATAR_ORIGINAL, 1, 1, 0 }, 400, 0.18, 0.05, 2501 },
    { { SPACE_INVADERS, MM_MINATAR_ORIGINAL, 1, 1, 0 }, 20000, 2.84, 0.04, 51.4 },
    { { SEAQUEST, MM_MINATAR_ORIGINAL, 1, 1, 0 }, 50000, 0.101, 0, 30.0 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const policy *p = &known[i].policy;
    const char *name = games[p->which].name;
    moments total = { 0 }, length = { 0 };
    play(p, known[i].episodes, &total, &length, NULL);
    double total_error =
        known[i].total_error > 0 ? known[i].total_error : error(&total) * sqrt(total.n / 1e4);
    check_mean("return", name, &total, known[i].total, total_error);
    if (p->which == FREEWAY)
      assert_true(length.sum == 2501 * length.n);
    else
      check_mean("length", name, &length, known[i].length,
                 total_error * error(&length) / error(&total));
  }
}

int suite_minatar_draws(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_asterix),       cmocka_unit_test(test_asterix_quiet),
    cmocka_unit_test(test_breakout),      cmocka_unit_test(test_freeway),
    cmocka_unit_test(test_seaquest),      cmocka_unit_test(test_sticky),
    cmocka_unit_test(test_random_gymnax), cmocka_unit_test(test_random_original),
  };
  return cmocka_run_group_tests_name("minatar_draws", tests, NULL, NULL);
}
