// SPDX-License-Identifier: Apache-2.0
// Suite `tune`: ranges and their places, the search on made-up scores, and what it says about the
// parameters.

#define _XOPEN_SOURCE 700

#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "run_fixture.h"
#include "study/stats/halving.h"
#include "study/tune/tune_importance.h"
#include "study/tune/tune_search.h"
#include "study/tune/tune_space.h"

// ---------------------------------------------------------------------------------------------
// Files

static mm_status load(const char *text, mm_algo algo, mm_tune_space *out) {
  const char *path = fixture_path("space.yaml");
  fixture_store(path, text, strlen(text));
  return mm_tune_space_load(path, algo, out);
}

static void test_file(void **state) {
  (void)state;
  mm_tune_space s;
  assert_ok(load("method: grid\n"
                 "parameters:\n"
                 "  eta: {linear: [0.5, 2], points: 4}\n"
                 "  activation: {choice: [relu, tanh]}\n"
                 "  lr: {log: [1e-4, 1e-2]}\n"
                 "  epochs: {integer: [1, 16]}\n"
                 "  hidden: {choice: [32, 64.0]}\n",
                 MM_ALGO_AMPO, &s));
  assert_int_equal(s.method, MM_TUNE_GRID);
  assert_int_equal(s.n, 5);
  const char *const names[] = { "epochs", "lr", "eta", "hidden", "activation" };
  const mm_tune_scale scales[] = { MM_TUNE_INTEGER, MM_TUNE_LOG, MM_TUNE_LINEAR, MM_TUNE_CHOICE,
                                   MM_TUNE_CHOICE };
  for (size_t j = 0; j < s.n; j++) {
    assert_string_equal(s.parameter[j].name, names[j]); // in the order of the settings
    assert_int_equal(s.parameter[j].scale, scales[j]);
  }
  assert_true(s.parameter[1].low == 1e-4 && s.parameter[1].high == 1e-2);
  assert_int_equal(s.parameter[1].points, 5);
  assert_int_equal(s.parameter[2].points, 4);
  assert_string_equal(s.parameter[3].choice[1], "64");
  assert_string_equal(s.parameter[4].choice[0], "relu");
  assert_true(mm_tune_grid_size(&s) == 5 * 5 * 4 * 2 * 2);
  assert_true(s.sampled && mm_tune_is_grid(&s)); // lr has no points; a grid takes the usual
  assert_ok(load("method: halving\nparameters: {lr: {log: [1, 2], points: 3}}\n", MM_ALGO_PMD, &s));
  assert_true(s.method == MM_TUNE_HALVING && !s.sampled && mm_tune_is_grid(&s));
  assert_ok(load("method: halving\nparameters: {lr: {log: [1, 2]}}\n", MM_ALGO_PMD, &s));
  assert_true(s.sampled && !mm_tune_is_grid(&s));
  assert_ok(load("parameters: {lr: {log: [1, 2]}}\n", MM_ALGO_PMD, &s));
  assert_int_equal(s.method, MM_TUNE_CMA);
}

static void test_bad_files(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } bad[] = {
    { "", "found nothing" },
    { "method: grid\n", "'parameters' is missing" },
    { "parameters: {}\n", "at least one setting" },
    { "parameters: [lr]\n", "expected 'key: value' lines, found a list" },
    { "method: gird\nparameters: {lr: {log: [1, 2]}}\n", "did you mean 'grid'" },
    { "metod: grid\nparameters: {lr: {log: [1, 2]}}\n", "did you mean 'method'" },
    { "parameters: {leraning: {log: [1, 2]}}\n", "unknown key 'leraning'" },
    { "eta: {log: [1, 2]}\n", "key 'eta' belongs below 'parameters'" },
    { "parameters: {epoch: {log: [1, 2]}}\n", "did you mean 'epochs'" },
    { "parameters: {rulez: {log: [1, 2]}}\n", "did you mean 'rules'" },
    { "parameters: {lr: {logg: [1, 2]}}\n", "did you mean 'log'" },
    { "parameters: {lr: 3}\n", "expected 'key: value' lines" },
    { "parameters: {lr: {}}\n", "found none" },
    { "parameters: {lr: {log: [1, 2], linear: [1, 2]}}\n", "found several" },
    { "parameters: {lr: {log: 1}}\n", "expected a list" },
    { "parameters: {lr: {log: [1]}}\n", "found 1 entry" },
    { "parameters: {lr: {log: [1, 2, 3]}}\n", "found 3 entries" },
    { "parameters: {lr: {log: []}}\n", "found none" },
    { "parameters: {lr: {log: [1, x]}}\n", "'x' is not a number" },
    { "parameters: {lr: {log: [1, inf]}}\n", "'inf' is not a number" },
    { "parameters: {lr: {log: [1, nan]}}\n", "'nan' is not a number" },
    { "parameters: {lr: {log: [2, 1]}}\n", "the lower end first" },
    { "parameters: {lr: {linear: [1, 1]}}\n", "the lower end first" },
    { "parameters: {lr: {log: [0, 1]}}\n", "above 0" },
    { "parameters: {lr: {log: [1, 1e9]}}\n", "at most" },
    { "parameters: {lr: {log: [1, 2], points: 1}}\n", "from 2 to" },
    { "parameters: {lr: {log: [1, 2], points: 2.5}}\n", "from 2 to" },
    { "parameters: {epochs: {integer: [1, 2.5]}}\n", "not a whole number" },
    { "parameters: {epochs: {log: [1.5, 3]}}\n", "not a whole number" },
    { "parameters: {activation: {linear: [1, 2]}}\n", "expected choice" },
    { "parameters: {activation: {choice: [tanh]}}\n", "2 to" },
    { "parameters: {activation: {choice: [tanh, tanh]}}\n", "there twice" },
    { "parameters: {lr: {choice: [0.001, 1e-3]}}\n", "there twice" },
    { "parameters: {activation: {choice: [tanh, gelu]}}\n", "'gelu'" },
    { "parameters: {activation: {choice: [tanh, relu], points: 2}}\n", "all choices" },
    { "parameters: {critic_lr: {log: [1, 2]}}\n", "ampo has no setting 'critic_lr'" },
    { "parameters: {steps: {log: [100, 200]}}\n", "cannot be tuned" },
    { "parameters: {rules: {choice: [id, gymnax]}}\n", "cannot be tuned" },
    { "parameters: {lr: {log: [1, 2]}, lr: {log: [1, 2]}}\n", "given twice" },
    { "parameters: {population: {integer: [4, 8]}}\n", "unknown key 'population'" },
    { "parameters: {lr: {log: &a [1, 2]}, eta: {log: *a}}\n", "" },
  };
  mm_tune_space s;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_fails(load(bad[i].text, MM_ALGO_AMPO, &s), MM_ERR_INPUT, bad[i].part);
  assert_fails(load("parameters: {gamma: {linear: [0.9, 0.99]}}\n", MM_ALGO_PMD, &s), MM_ERR_INPUT,
               "discounted");
  assert_fails(load("parameters: {lr: {log: [5e-324, 1e3]}}\n", MM_ALGO_AMPO, &s), MM_ERR_INPUT,
               "field 'lr.log'");
  assert_fails(load("parameters: {termination: {choice: [absorb, restart]}}\n", MM_ALGO_PMD, &s),
               MM_ERR_INPUT, "it chooses the task");
  assert_ok(load("parameters: {gamma: {linear: [0.9, 0.99]}}\n", MM_ALGO_AMPO, &s));
  assert_fails(mm_tune_space_load(fixture_path("nowhere.yaml"), MM_ALGO_PMD, &s), MM_ERR_INPUT,
               "nowhere.yaml");
}

// ---------------------------------------------------------------------------------------------
// Places

static mm_tune_parameter make(mm_tune_scale scale, bool whole, double low, double high,
                              size_t points) {
  mm_tune_parameter p = {
    .scale = scale, .whole = whole, .low = low, .high = high, .points = points
  };
  if (scale == MM_TUNE_CHOICE) p.n_choice = points;
  snprintf(p.name, sizeof p.name, "x");
  return p;
}

static void expect_levels(const mm_tune_parameter *p, size_t n, const double *expected) {
  double level[MM_TUNE_POINTS];
  assert_int_equal(mm_tune_levels(p, level), n);
  for (size_t i = 0; i < n; i++)
    if (level[i] != expected[i]) fail_msg("%.17g is not %.17g", level[i], expected[i]);
}

static void test_levels(void **state) {
  (void)state;
  mm_tune_parameter p = make(MM_TUNE_LOG, false, 1e-4, 1e-2, 5);
  expect_levels(&p, 5, (const double[]){ 1e-4, 0.0003162, 0.001, 0.003162, 0.01 });
  p = make(MM_TUNE_LINEAR, false, 0.5, 2, 4);
  expect_levels(&p, 4, (const double[]){ 0.5, 1, 1.5, 2 });
  p = make(MM_TUNE_INTEGER, true, 1, 3, 5);
  expect_levels(&p, 3, (const double[]){ 1, 2, 3 });
  p = make(MM_TUNE_LOG, true, 1, 16, 5);
  expect_levels(&p, 5, (const double[]){ 1, 2, 4, 8, 16 });
  p = make(MM_TUNE_CHOICE, false, 0, 2, 3);
  expect_levels(&p, 3, (const double[]){ 0, 1, 2 });
}

static void test_places(void **state) {
  (void)state;
  const mm_tune_parameter all[] = {
    make(MM_TUNE_LOG, false, 1e-4, 1e-2, 5),    make(MM_TUNE_LINEAR, false, -3, 2, 4),
    make(MM_TUNE_LINEAR, false, 0.99, 1, 4),    make(MM_TUNE_INTEGER, true, 1, 16, 5),
    make(MM_TUNE_LOG, true, 1, 1024, 5),        make(MM_TUNE_CHOICE, false, 0, 3, 4),
    make(MM_TUNE_LOG, false, 123456, 7.8e6, 5),
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    const mm_tune_parameter *p = &all[k];
    double last = -INFINITY;
    assert_true(mm_tune_value(p, 0) == p->low);
    assert_true(mm_tune_value(p, 1) == p->high);
    for (int i = 0; i <= 1000; i++) {
      double place = i / 1000.0, value = mm_tune_value(p, place), back = mm_tune_place(p, value);
      assert_true(value >= last && value >= p->low && value <= p->high);
      if (p->whole) assert_true(value == floor(value));
      // the place of a value has that value, and is no farther off than rounding makes it
      assert_true(mm_tune_value(p, back) == value);
      if (p->scale != MM_TUNE_CHOICE && !p->whole) assert_true(fabs(back - place) < 1e-3);
      // reflected at both ends, however far out
      assert_true(mm_tune_value(p, -place) == value);
      assert_true(mm_tune_value(p, 2 + place) == value || fabs(back - place) > 1e-12);
      last = value;
    }
    assert_true(mm_tune_value(p, 1.25) == mm_tune_value(p, 0.75));
    assert_true(mm_tune_value(p, -1.25) == mm_tune_value(p, 0.75));
    assert_true(mm_tune_value(p, 7.25) == mm_tune_value(p, 0.75));
  }
  // every whole number and every choice has its share
  int count[17] = { 0 };
  for (int i = 0; i < 16000; i++)
    count[(int)mm_tune_value(&all[3], (i + 0.5) / 16000)]++;
  for (int i = 1; i <= 16; i++)
    assert_int_equal(count[i], 1000);
  // few digits: a number that prints short
  assert_true(mm_tune_value(&all[0], 0.123) == 0.0001762);
  assert_true(mm_tune_value(&all[6], 0.5) == 981300);
}

static void test_apply(void **state) {
  (void)state;
  mm_tune_space s;
  char text[MM_SETTING_TEXT_SIZE];
  assert_ok(load("parameters:\n  lr: {log: [1e-4, 1e-2]}\n  activation: {choice: [relu, tanh]}\n"
                 "  hidden: {choice: [16, 32]}\n",
                 MM_ALGO_AMPO, &s));
  mm_settings settings = mm_settings_default(MM_ALGO_AMPO);
  assert_true(mm_tune_own(&s.parameter[0], &settings) == 0.004);
  assert_true(isnan(mm_tune_own(&s.parameter[1], &settings))); // 64 units are no choice
  assert_true(mm_tune_own(&s.parameter[2], &settings) == 1);
  assert_ok(mm_tune_apply(&s, (const double[]){ 0.001, NAN, 0 }, &settings));
  assert_true(settings.net.lr == 0.001 && settings.net.hidden == 64 && settings.net.relu);
  assert_string_equal(mm_tune_text(&s.parameter[1], 1, text), "32");
  assert_string_equal(mm_tune_text(&s.parameter[1], NAN, text), "-");
}

// ---------------------------------------------------------------------------------------------
// Successive halving

static void test_halving_rounds(void **state) {
  (void)state;
  static const struct {
    size_t n, seeds, rounds, end[6], reach[6];
    double runs;
  } of[] = {
    { 9, 8, 4, { 1, 2, 4, 8 }, { 9, 5, 3, 2 }, 9 + 5 + 3 * 2 + 2 * 4 },
    { 9, 64, 5, { 4, 8, 16, 32, 64 }, { 9, 5, 3, 2, 1 }, 36 + 20 + 24 + 32 + 32 },
    { 64, 5, 3, { 2, 3, 5 }, { 64, 32, 16 }, 128 + 32 + 32 },
    { 1, 7, 1, { 7 }, { 1 }, 7 },
    { 5, 1, 1, { 1 }, { 5 }, 5 },
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    assert_int_equal(mm_halving_rounds(of[i].n, of[i].seeds), of[i].rounds);
    for (size_t r = 0; r < of[i].rounds; r++) {
      assert_int_equal(mm_halving_end(r, of[i].n, of[i].seeds), of[i].end[r]);
      assert_int_equal(mm_halving_reach(r, of[i].n), of[i].reach[r]);
    }
    assert_true(mm_halving_runs(of[i].n, of[i].seeds) == of[i].runs);
  }
  for (size_t n = 1; n < 80; n += 13)
    for (size_t runs = 0; runs < 400; runs += 7) {
      size_t seeds = mm_halving_seeds(n, (double)runs, 1000);
      assert_int_equal(seeds > 0, runs >= n);
      if (seeds > 0) assert_true(mm_halving_runs(n, seeds) <= (double)runs);
    }
  assert_int_equal(mm_halving_seeds(1, 1e9, 50), 50);
}

// ---------------------------------------------------------------------------------------------
// Searches on made-up scores

enum { DIMENSION = 4 };

static mm_tune_space cube(size_t n, mm_tune_method method, size_t points) {
  mm_tune_space s = { .method = method, .n = n };
  for (size_t j = 0; j < n; j++)
    s.parameter[j] = make(MM_TUNE_LINEAR, false, 0, 1, points);
  return s;
}

static mm_tune_search_config config_of(const mm_tune_space *space, size_t trials, size_t seeds,
                                       bool prune) {
  mm_tune_search_config c = {
    .space = space, .trials = trials, .seeds = seeds, .seed = 5, .prune = prune, .rounds = true
  };
  for (size_t j = 0; j < space->n; j++)
    c.own[j] = 0.5;
  return c;
}

typedef struct oracle {
  size_t calls, evaluations;
  size_t fail_at; // call that fails; 0: none
  double noise;
  const double *table; // [trials] where scores are given
} oracle;

static const double optimum[DIMENSION] = { 0.2, 0.7, 0.5, 0.9 };

static double noise_of(size_t trial, size_t seed) {
  return mm_normal_d(
      mm_stream_pair(mm_stream_make(9, 0, MM_RNG_TEST, (uint32_t)trial), (uint64_t)seed));
}

static mm_status answer(const mm_tune_search *s, const size_t *which, size_t n, size_t first,
                        size_t count, double *score, void *user) {
  oracle *o = user;
  if (++o->calls == o->fail_at) return MM_ERR_INTERRUPTED;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < count; k++) {
      const mm_tune_trial *t = &s->trial[which[i]];
      double sum = 0;
      assert_int_equal(t->n, first);
      for (size_t j = 0; j < s->config.space->n && !o->table; j++)
        if (!isnan(t->value[j])) sum -= (t->value[j] - optimum[j]) * (t->value[j] - optimum[j]);
      if (o->table) sum = o->table[which[i]];
      score[i * count + k] = sum + o->noise * noise_of(which[i], first + k);
      o->evaluations++;
    }
  return MM_OK;
}

static void test_grid(void **state) {
  (void)state;
  mm_tune_space space = cube(3, MM_TUNE_GRID, 5);
  mm_tune_search_config c = config_of(&space, 125, 3, false);
  mm_tune_search s;
  oracle o = { 0 };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_true(s.complete);
  assert_int_equal(s.n, 125); // trial 0 is one of them
  assert_int_equal(s.n_candidates, 125);
  assert_int_equal(o.evaluations, 125 * 3);
  const mm_tune_trial *best = &s.trial[mm_tune_best(&s)];
  assert_true(best->value[0] == 0.25 && best->value[1] == 0.75 && best->value[2] == 0.5);
  mm_tune_search_release(&s);
  c.trials = 124;
  assert_fails(mm_tune_search_run(&c, answer, &o, &s), MM_ERR_INPUT,
               "125 points, more than the 124");
  mm_tune_search_release(&s);
}

// Eight points beside trial 0, with known scores: who is dropped when.
static void test_halving(void **state) {
  (void)state;
  mm_tune_space space = cube(1, MM_TUNE_HALVING, 8);
  mm_tune_search_config c = config_of(&space, 8, 8, true);
  const double table[] = { 3.5, 0, 7, 1, 6, NAN, 5, 3, 7 };
  const size_t seeds[] = { 8, 1, 8, 1, 2, 1, 2, 1, 4 }; // of 2 and 8, equals, the earlier goes on
  mm_tune_search s;
  oracle o = { .table = table };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_int_equal(s.n, 9);
  for (size_t i = 0; i < 9; i++) {
    assert_int_equal(s.trial[i].n, seeds[i]);
    assert_int_equal(s.trial[i].failed, i == 5);
    assert_int_equal(s.trial[i].pruned, s.trial[i].n < 8 && i != 5);
  }
  assert_int_equal(o.calls, 5);
  assert_int_equal(mm_tune_best(&s), 2);
  mm_tune_search_release(&s);

  // the trials of a space without points are drawn, by the seed, and a run that fails in the middle
  // of a round leaves what is known
  space.sampled = true;
  c = config_of(&space, 40, 4, true);
  o = (oracle){ .noise = 0.01 };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_int_equal(s.n_candidates, 40);
  assert_true(fabs(s.trial[mm_tune_best(&s)].value[0] - optimum[0]) < 0.1);
  assert_true(o.evaluations <= 4 + 40 + 20 + 10 * 2);
  double drawn = s.trial[2].value[0];
  mm_tune_search_release(&s);
  o = (oracle){ .noise = 0.01, .fail_at = 3 };
  assert_int_equal(mm_tune_search_run(&c, answer, &o, &s), MM_ERR_INTERRUPTED);
  assert_true(!s.complete && s.trial[2].value[0] == drawn && s.trial[2].n == 1);
  mm_tune_search_release(&s);
  c.seed = 6;
  o = (oracle){ .noise = 0.01 };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_true(s.trial[2].value[0] != drawn);
  mm_tune_search_release(&s);
}

static void test_rounds(void **state) {
  (void)state;
  const size_t ends[] = { 1, 2, 4, 8, 10, 10 };
  for (size_t r = 0; r < 6; r++)
    assert_int_equal(mm_tune_round_end(r, 10), ends[r]);
  assert_int_equal(mm_tune_round_end(0, 1), 1);
  assert_int_equal(mm_tune_round_end(MM_TUNE_ROUNDS, MM_TUNE_SEEDS_MAX), MM_TUNE_SEEDS_MAX);
  assert_int_equal(mm_tune_population(1), 4);
  assert_int_equal(mm_tune_population(7), 9);
}

// Which trials are not shown to be worse than the best, by the seeds that both have.
static void test_near(void **state) {
  (void)state;
  double best[] = { 1, 3, 2, 4, 1, 3, 2, 4 }, below[] = { 0.5, 2, 1, 3.5, 0, 2.5, 1, 3 },
         noisy[] = { 3, 0, 4, 2, 3, 0, 4, 2 };
  mm_tune_trial trial[] = { { .score = best, .n = 8 },  { .score = below, .n = 8 },
                            { .score = noisy, .n = 8 }, { .score = noisy, .n = 4 },
                            { .score = best, .n = 1 },  { .score = best, .n = 8, .failed = true } };
  const mm_tune_search s = { .trial = trial, .n = 6 };
  const bool near[] = { true, false, true, true, false, false };
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(mm_tune_is_near(&s, 0, i), near[i]);
}

// Eight points beside trial 0, scores 0 .. 8 in a known order: which are stopped, and when.
static void test_pruning(void **state) {
  (void)state;
  mm_tune_space space = cube(1, MM_TUNE_GRID, 8);
  mm_tune_search_config c = config_of(&space, 8, 8, true);
  const double table[] = { 3.5, 0, 7, 1, 6, NAN, 5, 3, 4 };
  mm_tune_search s;
  oracle o = { .table = table };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_int_equal(s.n, 9);
  // all nine with one seed: NaN, 0, 1, 3, 3.5, 4, 5, 6, 7, the median is 3.5; of the five from
  // there 3.5, 4, 5, 6, 7 it is 5; of 3.5 (which always goes on), 5, 6, 7 it is 5.5
  const size_t seeds[] = { 8, 1, 8, 1, 8, 1, 4, 1, 2 };
  for (size_t i = 0; i < 9; i++) {
    const mm_tune_trial *t = &s.trial[i];
    assert_int_equal(t->n, seeds[i]);
    assert_int_equal(t->failed, i == 5);
    assert_int_equal(t->pruned, t->n < 8 && i != 5);
    assert_true(t->failed ? mm_tune_score(t).mean == -INFINITY : mm_tune_score(t).mean == table[i]);
  }
  assert_int_equal(o.evaluations, 8 + 4 + 1 + 1 + 1 + 1 + 2 + 8 + 8);
  assert_int_equal(mm_tune_best(&s), 2);
  assert_true(mm_tune_compare(&s.trial[6], &s.trial[8]) > 0); // more seeds
  assert_true(mm_tune_compare(&s.trial[5], &s.trial[1]) < 0); // without a value
  assert_true(mm_tune_compare(&s.trial[2], &s.trial[4]) > 0);
  mm_tune_search_release(&s);

  // without it all have all, but for the one that failed
  c.prune = false;
  o = (oracle){ .table = table };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  for (size_t i = 0; i < 9; i++)
    assert_int_equal(s.trial[i].n, i == 5 ? 1 : 8);
  assert_int_equal(o.calls, 1 + 4);
  mm_tune_search_release(&s);

  // nor are rounds needed then: everything is asked for at once, trial 0 first
  c.rounds = false;
  o = (oracle){ .table = table };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_int_equal(o.calls, 1);
  assert_int_equal(o.evaluations, 9 * 8);
  for (size_t i = 0; i < 9; i++) {
    assert_int_equal(s.trial[i].n, 8);
    assert_int_equal(s.trial[i].failed, i == 5);
  }
  assert_int_equal(mm_tune_best(&s), 2);
  mm_tune_search_release(&s);
  c.rounds = true;

  // equals are not stopped, and no trial below the own values becomes the best
  const double same[] = { 3, 2, 2, 2, 2, 2, 2, 2, 2 };
  c.prune = true;
  o = (oracle){ .table = same };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  for (size_t i = 0; i < 9; i++)
    assert_int_equal(s.trial[i].n, 8);
  assert_int_equal(mm_tune_best(&s), 0);
  mm_tune_search_release(&s);

  // three trials have no median to speak of
  space = cube(1, MM_TUNE_GRID, 2);
  c = config_of(&space, 8, 8, true);
  o = (oracle){ .table = table };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(s.trial[i].n, 8);
  mm_tune_search_release(&s);

  // nothing to compare with
  const double broken[] = { NAN, 1, 2 };
  o = (oracle){ .table = broken };
  assert_fails(mm_tune_search_run(&c, answer, &o, &s), MM_ERR_NUMERIC, "own values");
  mm_tune_search_release(&s);
  c.rounds = c.prune = false;
  assert_fails(mm_tune_search_run(&c, answer, &o, &s), MM_ERR_NUMERIC, "own values");
  mm_tune_search_release(&s);
}

static double distance(const mm_tune_trial *t) {
  double sum = 0;
  for (size_t j = 0; j < DIMENSION; j++)
    sum += (t->value[j] - optimum[j]) * (t->value[j] - optimum[j]);
  return sqrt(sum);
}

static void test_cma(void **state) {
  (void)state;
  mm_tune_space space = cube(DIMENSION, MM_TUNE_CMA, 5);
  mm_tune_search_config c = config_of(&space, 401, 4, true);
  mm_tune_search s, again;
  oracle o = { .noise = 0.01 }, p = { .noise = 0.01 };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_int_equal(s.config.population, 8);
  assert_int_equal(s.generations, 50);
  assert_int_equal(s.n_candidates, 400);
  assert_true(distance(&s.trial[mm_tune_best(&s)]) < 0.12); // the noise is worth a distance of 0.1
  size_t pruned = 0;
  for (size_t i = 0; i < s.n; i++)
    pruned += s.trial[i].pruned;
  assert_true(pruned > 40 && o.evaluations < 4 * s.n - 100);

  // the same again, to the bit
  assert_ok(mm_tune_search_run(&c, answer, &p, &again));
  assert_int_equal(s.n, again.n);
  for (size_t i = 0; i < s.n; i++) {
    assert_memory_equal(s.trial[i].value, again.trial[i].value, DIMENSION * sizeof(double));
    assert_int_equal(s.trial[i].n, again.trial[i].n);
  }
  mm_tune_search_release(&again);

  // without noise and pruning it comes much closer
  c.prune = false;
  o = (oracle){ 0 };
  assert_ok(mm_tune_search_run(&c, answer, &o, &again));
  assert_true(distance(&again.trial[mm_tune_best(&again)]) < 0.01);
  mm_tune_search_release(&again);
  mm_tune_search_release(&s);

  c.trials = 7;
  assert_fails(mm_tune_search_run(&c, answer, &o, &s), MM_ERR_INPUT, "one generation of 8");
  mm_tune_search_release(&s);
}

// Words and few whole numbers: candidates meet again, and are not evaluated again.
static void test_repeats(void **state) {
  (void)state;
  mm_tune_space space = { .method = MM_TUNE_CMA, .n = 2 };
  space.parameter[0] = make(MM_TUNE_CHOICE, false, 0, 1, 2);
  space.parameter[1] = make(MM_TUNE_INTEGER, true, 1, 3, 5);
  mm_tune_search_config c = config_of(&space, 60, 2, true);
  c.own[0] = NAN; // not among the choices
  c.own[1] = 2;
  mm_tune_search s;
  oracle o = { 0 };
  assert_ok(mm_tune_search_run(&c, answer, &o, &s));
  assert_int_equal(s.n_candidates, 60);
  assert_true(s.n <= 7);
  size_t evaluations = 0;
  for (size_t i = 0; i < s.n; i++) {
    evaluations += s.trial[i].n;
    for (size_t k = 1; k < i; k++)
      assert_memory_not_equal(s.trial[i].value, s.trial[k].value, 2 * sizeof(double));
  }
  assert_int_equal(o.evaluations, evaluations);
  mm_tune_search_release(&s);
}

static void test_interrupted(void **state) {
  (void)state;
  mm_tune_space space = cube(DIMENSION, MM_TUNE_CMA, 5);
  mm_tune_search_config c = config_of(&space, 80, 4, true);
  for (size_t at = 1; at < 8; at++) {
    mm_tune_search s;
    oracle o = { .fail_at = at };
    assert_int_equal(mm_tune_search_run(&c, answer, &o, &s), MM_ERR_INTERRUPTED);
    assert_true(!s.complete && o.calls == at);
    assert_int_equal(mm_tune_best(&s) < s.n, 1);
    mm_tune_search_release(&s);
  }
}

// ---------------------------------------------------------------------------------------------
// Which parameters mattered

// Trials at random places, with a score that `law` makes of them.
static mm_tune_importance weigh(const mm_tune_space *space, size_t n,
                                double law(const double *value, size_t trial)) {
  mm_tune_trial *trial = calloc(n, sizeof *trial);
  double *score = calloc(n, sizeof *score);
  mm_tune_search s = { .config = config_of(space, n, 1, false), .trial = trial, .n = n };
  mm_tune_importance importance;
  for (size_t i = 0; i < n; i++) {
    mm_stream stream = mm_stream_make(3, 0, MM_RNG_TEST, (uint32_t)i);
    for (size_t j = 0; j < space->n; j++)
      trial[i].value[j] =
          mm_tune_value(&space->parameter[j], mm_uniform_d(mm_stream_pair(stream, j)));
    trial[i].score = &score[i];
    trial[i].n = 1;
    score[i] = law(trial[i].value, i);
    trial[i].failed = isnan(score[i]);
  }
  assert_ok(mm_tune_weigh(&s, &importance));
  free(trial);
  free(score);
  return importance;
}

static double by_second(const double *value, size_t trial) {
  (void)trial;
  return -(value[1] - 0.4) * (value[1] - 0.4);
}

static double by_two(const double *value, size_t trial) {
  return 3 * value[0] + value[2] + 0.1 * noise_of(trial, 0);
}

static double by_chance(const double *value, size_t trial) {
  (void)value;
  return noise_of(trial, 0);
}

// A disaster on one side: the others must still be seen.
static double by_disaster(const double *value, size_t trial) {
  (void)trial;
  return value[0] < 0.25 ? (value[1] < 0.5 ? NAN : -1e9) : value[2];
}

static double by_nothing(const double *value, size_t trial) {
  (void)value;
  (void)trial;
  return 1;
}

static void test_importance(void **state) {
  (void)state;
  mm_tune_space space = cube(3, MM_TUNE_CMA, 5);
  mm_tune_importance i = weigh(&space, 60, by_second);
  assert_true(i.known && i.n == 60);
  assert_true(i.share[1] > 0.8 && i.share[0] < 0.02 && i.share[2] < 0.02);
  // variances 9 : 1
  i = weigh(&space, 400, by_two);
  assert_true(i.share[0] > 0.8 && i.share[2] > 0.06 && i.share[2] < 0.14 && i.share[1] < 0.01);
  i = weigh(&space, 60, by_chance);
  for (int j = 0; j < 3; j++)
    assert_true(i.known && i.share[j] < 0.1);
  i = weigh(&space, 200, by_disaster);
  assert_true(i.known && i.share[2] > 0.3 && i.share[0] > 0.2 && i.share[1] < 0.05);
  assert_false(weigh(&space, 7, by_second).known); // six columns and the mean
  assert_true(weigh(&space, 9, by_second).known);
  assert_false(weigh(&space, 60, by_nothing).known);

  // words
  space.parameter[0] = make(MM_TUNE_CHOICE, false, 0, 3, 4);
  i = weigh(&space, 100, by_two);
  assert_true(i.share[0] > 0.8 && i.share[1] < 0.02);
  // a parameter that never varied explains nothing and spoils nothing
  space.parameter[1] = make(MM_TUNE_LINEAR, false, 0.5, 0.5 + 1e-9, 2);
  i = weigh(&space, 100, by_two);
  assert_true(i.known && i.share[0] > 0.8 && i.share[1] < 0.02);
}

int suite_tune(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_file, fixture_open, fixture_close),
    cmocka_unit_test_setup_teardown(test_bad_files, fixture_open, fixture_close),
    cmocka_unit_test(test_levels),
    cmocka_unit_test(test_places),
    cmocka_unit_test_setup_teardown(test_apply, fixture_open, fixture_close),
    cmocka_unit_test(test_grid),
    cmocka_unit_test(test_rounds),
    cmocka_unit_test(test_halving_rounds),
    cmocka_unit_test(test_halving),
    cmocka_unit_test(test_near),
    cmocka_unit_test(test_pruning),
    cmocka_unit_test(test_cma),
    cmocka_unit_test(test_repeats),
    cmocka_unit_test(test_interrupted),
    cmocka_unit_test(test_importance),
  };
  return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
