// SPDX-License-Identifier: Apache-2.0
// Settings that change in the course of a training run: the law at anchors and between them, what
// learners make of it, and that a constant schedule changes no bit.

#include <math.h>
#include <stdlib.h>

#include "agent/ampo_internal.h"
#include "agent_fixture.h"
#include "laws/schedule.h"
#include "map/batch.h"
#include "map/map_internal.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// The law

static void test_moments(void **state) {
  (void)state;
  for (int32_t n = 2; n <= MM_SCHEDULE_FACTORS; n++)
    for (int64_t iterations = 1; iterations < 60; iterations++) {
      double before = -1;
      for (int64_t t = 0; t < iterations; t++) {
        const mm_moment m = mm_moment_of(t, iterations, n);
        const double at = m.anchor + m.share;
        assert_true(m.share >= 0 && m.share < 1 && m.anchor < n && at > before);
        if (iterations > 1)
          assert_true(fabs(at - (double)t * (n - 1) / (double)(iterations - 1)) < 1e-12);
        before = at;
      }
      const mm_moment last = mm_moment_of(iterations - 1, iterations, n);
      assert_true(last.share == 0 && last.anchor == (iterations > 1 ? n - 1 : 0));
    }
  const mm_moment far = mm_moment_of(999999999999, 1000000000000, 8); // nothing overflows
  assert_true(far.anchor == 7 && far.share == 0);
}

static void test_factors(void **state) {
  (void)state;
  const double none[MM_SCHEDULE_FACTORS] = { 0 }, three[MM_SCHEDULE_FACTORS] = { 1, 0.3, 7 };
  assert_true(mm_factor_at(none, 3, 10) == 1);
  assert_true(mm_factor_at(three, 0, 1) == 1);
  for (int64_t half = 1; half < 40; half++) {
    assert_true(mm_factor_at(three, 0, 2 * half + 1) == 1);
    assert_true(mm_factor_at(three, half, 2 * half + 1) == 0.3);
    assert_true(mm_factor_at(three, 2 * half, 2 * half + 1) == 7);
    for (int64_t t = 0; t <= half; t++) {
      const double share = (double)t / (double)half;
      assert_true(fabs(mm_factor_at(three, t, 2 * half + 1) / pow(0.3, share) - 1) < 1e-14);
      assert_true(fabs(mm_factor_at(three, half + t, 2 * half + 1) / (0.3 * pow(7 / 0.3, share)) -
                       1) < 1e-14);
    }
  }
  for (int32_t n = 2; n <= MM_SCHEDULE_FACTORS; n++) {
    double same[MM_SCHEDULE_FACTORS] = { 0 };
    for (int32_t i = 0; i < n; i++)
      same[i] = 0.7;
    for (int64_t t = 0; t < 1000; t++)
      assert_true(mm_factor_at(same, t, 1000) == 0.7);
  }
}

// ---------------------------------------------------------------------------------------------
// The setting

static void test_setting(void **state) {
  (void)state;
  static const char *const wrong[] = { "1",
                                       "1,",
                                       ",1",
                                       "1,-1",
                                       "1,0",
                                       "1,nan",
                                       "1,2,3,4,5,6,7,8,9",
                                       "1,1e7",
                                       "1e-7,1",
                                       "none,1",
                                       "1;2",
                                       "1,2 ",
                                       "1,0.0000000000000000000000000000000001" };
  static const mm_algo algos[] = { MM_ALGO_PMD, MM_ALGO_AMPO, MM_ALGO_GAUSSIAN };
  char text[MM_SETTING_TEXT_SIZE];
  for (int k = 0; k < 3; k++) {
    mm_settings s = mm_settings_default(algos[k]), t = s;
    assert_string_equal(mm_settings_text(&s, "eta_schedule", text), "none");
    assert_ok(mm_settings_set(&s, "eta_schedule", "1,0.25,1e3"));
    assert_string_equal(mm_settings_text(&s, "eta_schedule", text), "1,0.25,1000");
    assert_ok(mm_learner_check(mm_settings_learner(&s), &s.net));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      assert_fails(mm_settings_set(&s, "eta_schedule", wrong[i]), MM_ERR_INPUT,
                   "'eta_schedule': expected none, or 2 to 8 factors between");
      assert_string_equal(mm_settings_text(&s, "eta_schedule", text), "1,0.25,1000");
    }
    cJSON *written = mm_settings_json(&s);
    char *printed = cJSON_PrintUnformatted(written);
    cJSON *json = cJSON_Parse(printed);
    cJSON_free(printed);
    cJSON_Delete(written);
    assert_ok(mm_settings_read(json, "x", 0, mm_settings_own(algos[k]), &t));
    assert_memory_equal(&s, &t, sizeof s);
    cJSON_DeleteItemFromObject(json, "eta_schedule"); // as runs before this key have it
    assert_ok(mm_settings_set(&s, "eta_schedule", "none"));
    t = mm_settings_default(algos[k]);
    assert_ok(mm_settings_read(json, "x", 0, mm_settings_own(algos[k]), &t));
    assert_memory_equal(&s, &t, sizeof s);
    cJSON_Delete(json);
  }
  mm_settings s = mm_settings_default(MM_ALGO_PPO);
  assert_true(mm_settings_last_eta(&s) == 1);
  assert_fails(mm_settings_set(&s, "eta_schedule", "1,2"), MM_ERR_INPUT, "ppo has no setting");
  s = mm_settings_default(MM_ALGO_AMPO);
  assert_true(mm_settings_last_eta(&s) == 0.9);
  assert_ok(mm_settings_set(&s, "eta_schedule", "1,3,0.5"));
  assert_true(mm_settings_last_eta(&s) == 0.45);
  s.net.steps = s.net.envs * s.net.unroll; // a single iteration
  assert_true(mm_settings_last_eta(&s) == 0.9);
  s.ampo.eta_schedule[1] = -1; // what no text says
  assert_fails(mm_learner_check(mm_settings_learner(&s), &s.net), MM_ERR_INPUT, "eta_schedule");
}

// ---------------------------------------------------------------------------------------------
// Training runs

typedef struct scene {
  const char *env, *map;
  mm_algo algo;
} scene;

static const scene scenes[] = { { "GridWorld-small", "random:4", MM_ALGO_PMD },
                                { "CartPole-v1", "random:4", MM_ALGO_AMPO },
                                { "Asterix-MinAtar", "tsallis:1.5", MM_ALGO_AMPO },
                                { "Pendulum-v1", "random-neural:2", MM_ALGO_GAUSSIAN } };
enum { SCENES = sizeof scenes / sizeof *scenes, ITERATIONS = 7 };

static mm_settings settings_of(const scene *s) {
  mm_settings c = mm_settings_default(s->algo);
  const char *const key[] = { "envs", "unroll", "epochs", "minibatches", "hidden" };
  const double value[] = { 5, 24, 2, 3, 20 };
  for (int i = 0; i < 5; i++)
    if (mm_settings_number(&c, key[i])) *mm_settings_number(&c, key[i]) = value[i];
  mm_settings_set_steps(&c, 5 * 24 * ITERATIONS);
  if (s->algo == MM_ALGO_PMD) c.pmd.exact_curve = true;
  if (s->algo == MM_ALGO_AMPO) c.ampo.code_target = c.ampo.center = true;
  return c;
}

static mm_result train(const scene *s, const mm_map *map, const mm_settings *c) {
  mm_env *env;
  mm_result r;
  assert_ok(mm_env_open(s->env, &env));
  const mm_job job = job_of(env, map, c, 3);
  assert_ok(mm_job_run(&job, NULL, &r));
  mm_env_destroy(env);
  return r;
}

static bool same(const mm_result *a, const mm_result *b) {
  const size_t measures = a->measure ? a->n_curve * MM_MEASURES * sizeof *a->measure : 0;
  assert_int_equal(a->n_curve, b->n_curve);
  return memcmp(a->curve, b->curve, a->n_curve * sizeof *a->curve) == 0 &&
         (!a->measure || memcmp(a->measure, b->measure, measures) == 0);
}

// A constant schedule is none, or another eta; one that changes is felt.
static void test_constant(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    const scene *s = &scenes[k];
    mm_settings plain = settings_of(s), one = plain, half = plain, less = plain, moves = plain;
    mm_map *map;
    assert_ok(mm_map_open(s->map, &map));
    assert_ok(mm_settings_set(&one, "eta_schedule", "1,1"));
    assert_ok(mm_settings_set(&half, "eta_schedule", "0.5,0.5,0.5"));
    *mm_settings_number(&less, "eta") *= 0.5;
    assert_ok(mm_settings_set(&moves, "eta_schedule", "1,8"));
    mm_result r[] = { train(s, map, &plain), train(s, map, &one), train(s, map, &half),
                      train(s, map, &less), train(s, map, &moves) };
    assert_true(same(&r[0], &r[1]));
    assert_true(same(&r[2], &r[3]));
    assert_false(same(&r[0], &r[2]));
    assert_false(same(&r[0], &r[4]));
    for (int i = 0; i < 5; i++)
      mm_result_release(&r[i]);
    mm_map_destroy(map);
  }
}

// AMPO's policies are projections of the scores times the eta they were regressed with, and z of
// the target goes by the iteration's own: with one step an iteration all of it can be seen.
static void test_ampo_steps(void **state) {
  (void)state;
  const float eta[5] = { 0.5f, 1, 2, 1, 0.5f };
  mm_settings c = settings_of(&scenes[1]);
  c.net.unroll = 1;
  c.net.minibatches = 1;
  c.net.steps = 5 * 5;
  c.net.lr = 0.05;
  c.ampo.eta = 0.5;
  assert_ok(mm_settings_set(&c, "eta_schedule", "1,4,1"));
  for (int code = 0; code < 2; code++) {
    mm_env *env;
    mm_map *map;
    mm_ampo *a;
    c.ampo.code_target = code == 1;
    assert_ok(mm_env_open("CartPole-v1", &env));
    assert_ok(mm_map_open("tsallis:1.5", &map));
    assert_ok(make_agent_of(env, map, &c, 1, 0, &a));
    for (int t = 0; t < 5; t++) {
      const float act = eta[t > 0 ? t - 1 : 0];
      float scores[5 * 2], probs[5 * 2], lambda[5];
      mm_net_scores(a->net, &(mm_net_obs){ .floats = (const void *)a->now }, 5, scores);
      for (int i = 0; i < 10; i++)
        scores[i] *= act;
      mm_map_kernels_current()->project_f(&map->engine_f, MM_PROJECTION_EXACT, scores, 5, 2, probs,
                                          lambda);
      assert_ok(mm_ampo_iterate(a));
      assert_memory_equal(a->probs, probs, sizeof probs);
      assert_true(a->learn.eta == eta[t]);
      assert_true(a->learn.center == (float)(a->middle / (double)eta[t]) && a->middle != 0);
      for (int e = 0; e < 5; e++)
        assert_true(a->policy[e] ==
                    fmaf(code && t > 0 ? act : 1.0f, scores[2 * e + a->action[e]], lambda[e]));
    }
    mm_ampo_destroy(a);
    mm_map_destroy(map);
    mm_env_destroy(env);
  }
}

// Put down after every iteration and taken up by a fresh agent.
static void check_resume(const scene *s, const mm_map *map, const mm_settings *c) {
  mm_env *env;
  mm_ampo *a, *b;
  assert_ok(mm_env_open(s->env, &env));
  assert_ok(make_agent_of(env, map, c, 3, 0, &a));
  const size_t size = mm_ampo_state_size(a);
  unsigned char *x = malloc(size), *y = malloc(size);
  mm_ampo_save(a, y);
  for (int t = 0; t < ITERATIONS; t++) {
    assert_ok(make_agent_of(env, map, c, 3, 0, &b));
    assert_ok(mm_ampo_load(b, y, size));
    assert_ok(mm_ampo_iterate(a));
    assert_ok(mm_ampo_iterate(b));
    mm_ampo_save(a, x);
    mm_ampo_save(b, y);
    assert_memory_equal(x, y, size);
    mm_ampo_destroy(b);
  }
  free(x);
  free(y);
  mm_ampo_destroy(a);
  mm_env_destroy(env);
}

static void test_resume(void **state) {
  (void)state;
  for (int k = 1; k < SCENES; k++) { // jobs of PMD begin anew
    mm_settings c = settings_of(&scenes[k]);
    mm_map *map;
    assert_ok(mm_settings_set(&c, "eta_schedule", "1,4,0.5"));
    assert_ok(mm_map_open(scenes[k].map, &map));
    check_resume(&scenes[k], map, &c);
    mm_map_destroy(map);
  }
}

int suite_schedule(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_moments),    cmocka_unit_test(test_factors),
    cmocka_unit_test(test_setting),    cmocka_unit_test(test_constant),
    cmocka_unit_test(test_ampo_steps), cmocka_unit_test(test_resume),
  };
  return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
