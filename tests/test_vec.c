// SPDX-License-Identifier: Apache-2.0
// The vector layer: the same transitions as the headers one by one, every form of observation, ends
// and what follows them, parts, streams, and what is refused.

#include <math.h>
#include <stdlib.h>

#include "env/classic/classics.h"
#include "env/grid/grid_sample.h"
#include "env/grid/grid_task.h"
#include "minatar_games.h"
#include "test.h"
#include "vec_rig.h"

// ---------------------------------------------------------------------------------------------
// Against the environments one by one

static void test_classic(void **state) {
  (void)state;
  enum { N = 37, T = 1200 };
  int ends = 0;
  for (int which = 0; which < MM_CLASSIC_COUNT; which++) {
    const mm_classic *env = &mm_classics[which];
    rig r = rig_open(rig_ids[which], (mm_vec_config){ .n = N, .seed = 5, .repeat = 2 });
    assert_int_equal(r.info.n_action, env->n_action);
    assert_int_equal(r.info.n_input, env->n_obs);
    assert_int_equal(r.info.limit, env->limit);
    mm_single s[N];
    uint64_t episode[N] = { 0 };
    const float *obs = r.out.obs, *final_obs = r.out.final_obs;
    float expected[MM_CLASSIC_OBS_MAX];
    assert_ok(mm_vec_reset(r.vec, &r.out));
    for (uint32_t i = 0; i < N; i++)
      s[i] = env->start(mm_stream_make(5, 2, MM_RNG_ENV_RESET, i), 0);
    for (uint64_t t = 0; t < T; t++) {
      draw_actions(&r, t);
      assert_ok(mm_vec_step(r.vec, r.action, &r.out));
      for (uint32_t i = 0; i < N; i++) {
        float reward, a = env->n_action ? (float)((int32_t *)r.action)[i] : ((float *)r.action)[i];
        int end = env->step(&s[i], a, &reward);
        assert_true(reward == r.out.reward[i]);
        assert_int_equal(end, r.out.end[i]);
        if (end) {
          env->observe(&s[i], expected);
          assert_memory_equal(expected, final_obs + i * (size_t)env->n_obs, row_size(&r));
          s[i] = env->start(mm_stream_make(5, 2, MM_RNG_ENV_RESET, i), ++episode[i]);
          ends++;
        }
        env->observe(&s[i], expected);
        assert_memory_equal(expected, obs + i * (size_t)env->n_obs, row_size(&r));
      }
    }
    rig_close(&r);
  }
  assert_true(ends > 1000);
}

static void check_game(int which, const char *id, mm_minatar_rules rules) {
  enum { N = 9, T = 3000 };
  const game *g = &games[which];
  rig r = rig_open(id, (mm_vec_config){ .n = N, .seed = 6, .obs = MM_OBS_LIST });
  game_state s[N];
  uint64_t episode[N] = { 0 };
  uint16_t list[GAME_ACTIVE_MAX], *obs = r.out.obs, *final_obs = r.out.final_obs;
  size_t entries = (size_t)r.info.entries;
  int ends = 0;
  memset(s, 0, sizeof s);
  assert_int_equal(r.info.n_input, g->inputs);
  assert_int_equal(r.info.n_action, g->actions);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint32_t i = 0; i < N; i++)
    g->reset(&s[i], rules, g->draw_reset(mm_stream_make(6, 0, MM_RNG_ENV_RESET, i), 0));
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&r, t);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (uint32_t i = 0; i < N; i++) {
      float reward;
      int a = mm_minatar_action_at(g->action_set, g->actions, ((int32_t *)r.action)[i]);
      mm_stream stream = mm_stream_make(6, 0, MM_RNG_ENV_STEP, i);
      unsigned end = g->step(&s[i], a, rules, g->draw_step(&s[i], a, rules, stream, t), &reward);
      assert_true(reward == r.out.reward[i]);
      assert_int_equal(end, r.out.end[i]);
      if (end) {
        size_t n = (size_t)observe(g, &s[i], list);
        assert_memory_equal(list, final_obs + i * entries, n * sizeof *list);
        mm_stream start = mm_stream_make(6, 0, MM_RNG_ENV_RESET, i);
        g->reset(&s[i], rules, g->draw_reset(start, ++episode[i]));
        ends++;
      }
      size_t n = (size_t)observe(g, &s[i], list);
      assert_memory_equal(list, obs + i * entries, n * sizeof *list);
      for (; n < entries; n++)
        assert_int_equal(obs[i * entries + n], g->inputs);
    }
  }
  assert_true(ends >= N);
  rig_close(&r);
}

static void test_games(void **state) {
  (void)state;
  for (int which = 0; which < N_GAME; which++) {
    check_game(which, rig_ids[5 + which], MM_MINATAR_GYMNAX);
    check_game(which, rig_ids[10 + which], MM_MINATAR_ORIGINAL);
  }
}

// Rules asked for are those of the other ID.
static void test_rules(void **state) {
  (void)state;
  enum { N = 4, T = 400 };
  rig by_id = rig_open("MinAtar/Breakout-v1", (mm_vec_config){ .n = N });
  rig by_rules = rig_open("Breakout-MinAtar", (mm_vec_config){ .n = N, .rules = MM_RULES_MINATAR });
  rig other = rig_open("Breakout-MinAtar", (mm_vec_config){ .n = N });
  int differ = 0;
  assert_int_equal(by_id.info.limit, 0);
  assert_int_equal(by_rules.info.limit, 0);
  assert_int_equal(other.info.limit, 1000);
  assert_ok(mm_vec_reset(by_id.vec, &by_id.out));
  assert_ok(mm_vec_reset(by_rules.vec, &by_rules.out));
  assert_ok(mm_vec_reset(other.vec, &other.out));
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&by_id, t);
    assert_ok(mm_vec_step(by_id.vec, by_id.action, &by_id.out));
    assert_ok(mm_vec_step(by_rules.vec, by_id.action, &by_rules.out));
    assert_ok(mm_vec_step(other.vec, by_id.action, &other.out));
    assert_memory_equal(by_id.out.obs, by_rules.out.obs, by_id.info.obs_size);
    assert_memory_equal(by_id.out.end, by_rules.out.end, N);
    differ += memcmp(by_id.out.obs, other.out.obs, by_id.info.obs_size) != 0;
  }
  assert_true(differ > 0);
  rig_close(&by_id);
  rig_close(&by_rules);
  rig_close(&other);
}

// Grid-World: cell and objects, the steps of grid_sample.h.
static void test_grid(void **state) {
  (void)state;
  enum { N = 11, T = 2000 };
  rig r = rig_open("GridWorld-all", (mm_vec_config){ .n = N, .seed = 3 });
  mm_grid *g;
  assert_ok(mm_grid_draw(r.env, 3, 0, &g));
  mm_grid_sampler sampler = mm_grid_sampler_make(g);
  mm_grid_state s[N];
  const float *obs = r.out.obs;
  int ends = 0;
  assert_int_equal(r.info.n_input, g->cells + g->n_object);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (int i = 0; i < N; i++)
    s[i] = mm_grid_start(g);
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&r, t);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (uint32_t i = 0; i < N; i++) {
      mm_stream stream = mm_stream_make(3, 0, MM_RNG_ENV_STEP, i);
      mm_grid_event event = mm_grid_step(g, &sampler, stream, t, ((int32_t *)r.action)[i], &s[i]);
      assert_true(r.out.reward[i] == (float)event.reward);
      assert_int_equal(r.out.end[i], event.done ? MM_END_TERMINATED : 0);
      if (event.done) s[i] = mm_grid_start(g);
      ends += event.done;
      const float *row = obs + i * (size_t)r.info.n_input;
      for (int c = 0; c < g->cells; c++)
        assert_true(row[c] == (c == s[i].cell));
      for (int k = 0; k < g->n_object; k++)
        assert_true(row[g->cells + k] == (float)(s[i].mask >> k & 1));
    }
  }
  assert_true(ends > 0);
  mm_grid_destroy(g);
  rig_close(&r);
}

// ---------------------------------------------------------------------------------------------
// Forms of observations say the same

static float input_of(const rig *r, mm_obs_form form, const void *obs, size_t i, int k) {
  size_t entries = (size_t)r->info.entries, at = (size_t)k;
  if (form == MM_OBS_FLOATS) return ((const float *)obs)[i * entries + at];
  if (form == MM_OBS_COLUMNS) return ((const float *)obs)[at * r->info.n + i];
  if (form == MM_OBS_BITS)
    return (float)(((const uint32_t *)obs)[i * entries + at / 32] >> at % 32 & 1);
  const uint16_t *list = (const uint16_t *)obs + i * entries;
  for (size_t j = 0; j < entries; j++)
    if (list[j] == at) return 1;
  return 0;
}

static void compare_forms(const char *id, mm_obs_form form) {
  enum { N = 5, T = 120 };
  rig a = rig_open(id, (mm_vec_config){ .n = N, .seed = 8 });
  rig b = rig_open(id, (mm_vec_config){ .n = N, .seed = 8, .obs = form });
  int k_most = a.info.n_input;
  assert_int_equal(b.info.n_input, k_most);
  assert_ok(mm_vec_reset(a.vec, &a.out));
  assert_ok(mm_vec_reset(b.vec, &b.out));
  for (uint64_t t = 0; t < T; t++) {
    for (size_t i = 0; i < N; i++) {
      for (int k = 0; k < k_most; k++) {
        assert_true(input_of(&a, MM_OBS_FLOATS, a.out.obs, i, k) ==
                    input_of(&b, form, b.out.obs, i, k));
        if (a.out.end[i])
          assert_true(input_of(&a, MM_OBS_FLOATS, a.out.final_obs, i, k) ==
                      input_of(&b, form, b.out.final_obs, i, k));
      }
    }
    draw_actions(&a, t);
    assert_ok(mm_vec_step(a.vec, a.action, &a.out));
    assert_ok(mm_vec_step(b.vec, a.action, &b.out));
    assert_memory_equal(a.out.end, b.out.end, N);
  }
  rig_close(&a);
  rig_close(&b);
}

static void test_forms(void **state) {
  (void)state;
  for (size_t i = 0; i < RIG_IDS; i++) {
    for (int form = MM_OBS_COLUMNS; form <= MM_OBS_LIST; form++) {
      bool there_is = (i < RIG_CLASSIC) == (form == MM_OBS_COLUMNS);
      if (there_is) {
        compare_forms(rig_ids[i], (mm_obs_form)form);
      } else {
        mm_env *env;
        mm_vec *vec;
        assert_ok(mm_env_open(rig_ids[i], &env));
        assert_fails(
            mm_vec_create(
                env,
                &(mm_vec_config){ .size = sizeof(mm_vec_config), .n = 1, .obs = (mm_obs_form)form },
                &vec),
            MM_ERR_INPUT, rig_ids[i]);
        assert_null(vec);
        mm_env_destroy(env);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------
// An environment's fate is its own: neither n nor parts nor a second reset change it

static void test_streams(void **state) {
  (void)state;
  enum { FEW = 3, MANY = 1500, T = 60 };
  for (size_t id = 0; id < RIG_IDS; id++) {
    rig few = rig_open(rig_ids[id], (mm_vec_config){ .n = FEW, .seed = 1 });
    rig many = rig_open(rig_ids[id], (mm_vec_config){ .n = MANY, .seed = 1 });
    size_t row = row_size(&few);
    assert_ok(mm_vec_reset(many.vec, &many.out));
    draw_actions(&many, 0);
    assert_ok(mm_vec_step(many.vec, many.action, &many.out)); // forgotten by the next reset
    assert_ok(mm_vec_reset(few.vec, &few.out));
    assert_ok(mm_vec_reset(many.vec, &many.out));
    assert_memory_equal(few.out.obs, many.out.obs, FEW * row);
    for (uint64_t t = 0; t < T; t++) {
      draw_actions(&many, t);
      memcpy(few.action, many.action, FEW * sizeof(int32_t));
      assert_ok(mm_vec_step(few.vec, few.action, &few.out));
      // in three parts, not in order
      assert_ok(mm_vec_step_part(many.vec, 1100, MANY, many.action, &many.out));
      assert_ok(mm_vec_step_part(many.vec, 0, 2, many.action, &many.out));
      assert_ok(mm_vec_step_part(many.vec, 2, 1100, many.action, &many.out));
      assert_memory_equal(few.out.obs, many.out.obs, FEW * row);
      assert_memory_equal(few.out.reward, many.out.reward, FEW * sizeof(float));
      assert_memory_equal(few.out.end, many.out.end, FEW);
    }
    rig_close(&few);
    rig_close(&many);
  }
}

// ---------------------------------------------------------------------------------------------
// What is refused, and the ends of the range

static void refuse_actions(const char *id, const void *bad, size_t size, const char *why) {
  enum { N = 70 };
  rig r = rig_open(id, (mm_vec_config){ .n = N, .seed = 4 });
  rig same = rig_open(id, (mm_vec_config){ .n = N, .seed = 4 });
  assert_ok(mm_vec_reset(r.vec, &r.out));
  assert_ok(mm_vec_reset(same.vec, &same.out));
  draw_actions(&r, 0);
  draw_actions(&same, 0);
  memcpy((char *)r.action + 68 * size, bad, size);
  assert_fails(mm_vec_step(r.vec, r.action, &r.out), MM_ERR_INPUT, why);
  assert_ok(mm_vec_step_part(r.vec, 0, 60, r.action, &r.out)); // a part without it is fine
  assert_ok(mm_vec_step_part(r.vec, 60, N, same.action, &r.out));
  // and nothing had moved before
  assert_ok(mm_vec_step(same.vec, same.action, &same.out));
  assert_memory_equal(r.out.obs, same.out.obs, r.info.obs_size);
  rig_close(&r);
  rig_close(&same);
}

static void test_bad_actions(void **state) {
  (void)state;
  for (size_t i = 0; i < RIG_IDS; i++) {
    rig r = rig_open(rig_ids[i], (mm_vec_config){ .n = 1 });
    int32_t n_action = r.info.n_action;
    rig_close(&r);
    if (n_action > 0) {
      const int32_t bad[] = { -1, n_action, INT32_MIN, INT32_MAX };
      for (int k = 0; k < 4; k++)
        refuse_actions(rig_ids[i], &bad[k], sizeof *bad, "action[68]");
    } else {
      const float bad[] = { NAN, INFINITY, -INFINITY };
      for (int k = 0; k < 3; k++)
        refuse_actions(rig_ids[i], &bad[k], sizeof *bad, "action[68] is not finite");
    }
  }
}

static void test_refused(void **state) {
  (void)state;
  rig r = rig_open("CartPole-v1", (mm_vec_config){ .n = 3 });
  mm_vec *vec;
  mm_vec_out none = { 0 };
  assert_fails(mm_vec_step(r.vec, r.action, &r.out), MM_ERR_INPUT, "never reset");
  assert_fails(mm_vec_reset(r.vec, &none), MM_ERR_INPUT, "obs");
  assert_ok(mm_vec_reset(r.vec, &r.out));
  assert_fails(mm_vec_step(r.vec, NULL, &r.out), MM_ERR_INPUT, "action");
  mm_vec_out partly = r.out;
  partly.end = NULL;
  assert_fails(mm_vec_step(r.vec, r.action, &partly), MM_ERR_INPUT, "end");
  partly = r.out;
  partly.reward = NULL;
  assert_fails(mm_vec_step(r.vec, r.action, &partly), MM_ERR_INPUT, "reward");
  partly = r.out;
  partly.final_obs = NULL;
  assert_ok(mm_vec_step(r.vec, r.action, &partly));
  assert_fails(mm_vec_step_part(r.vec, 1, 4, r.action, &r.out), MM_ERR_INPUT, "1 .. 4");
  assert_fails(mm_vec_step_part(r.vec, 2, 1, r.action, &r.out), MM_ERR_INPUT, "2 .. 1");
  assert_ok(mm_vec_step_part(r.vec, 3, 3, NULL, &none));
  assert_fails(
      mm_vec_create(r.env, &(mm_vec_config){ .size = sizeof(mm_vec_config), .n = SIZE_MAX }, &vec),
      MM_ERR_INPUT, "most");
  // as many as there are lanes for random numbers: the next one would repeat the first
  assert_fails(
      mm_vec_create(r.env,
                    &(mm_vec_config){ .size = sizeof(mm_vec_config), .n = ((size_t)1 << 24) + 1 },
                    &vec),
      MM_ERR_INPUT, "at most 16777216");
  assert_fails(
      mm_vec_create(r.env, &(mm_vec_config){ .size = sizeof(mm_vec_config), .obs = (mm_obs_form)7 },
                    &vec),
      MM_ERR_INPUT, "form");
  assert_fails(
      mm_vec_create(
          r.env, &(mm_vec_config){ .size = sizeof(mm_vec_config), .rules = (mm_env_rules)7 }, &vec),
      MM_ERR_INPUT, "rules");
  rig_close(&r);
  mm_vec_destroy(NULL);
}

static void test_none(void **state) {
  (void)state;
  for (size_t i = 0; i < RIG_IDS; i++) {
    rig r = rig_open(rig_ids[i], (mm_vec_config){ .n = 0 });
    mm_vec_out none = { 0 };
    assert_int_equal(r.info.obs_size, 0);
    assert_ok(mm_vec_reset(r.vec, &none));
    assert_ok(mm_vec_step(r.vec, NULL, &none));
    rig_close(&r);
  }
}

static void test_million(void **state) {
  (void)state;
  enum { N = 1000000 };
  static const char *const ids[] = { "CartPole-v1", "Seaquest-MinAtar" };
  for (int k = 0; k < 2; k++) {
    mm_vec_config config = { .n = N, .seed = 2, .obs = k == 0 ? MM_OBS_COLUMNS : MM_OBS_BITS };
    rig r = rig_open(ids[k], config);
    double ended = 0;
    assert_ok(mm_vec_reset(r.vec, &r.out));
    for (uint64_t t = 0; t < 30; t++) {
      draw_actions(&r, t);
      assert_ok(mm_vec_step(r.vec, r.action, &r.out));
      for (size_t i = 0; i < N; i++)
        ended += r.out.end[i] != 0;
    }
    assert_true(ended > 0.5 * N && ended < 1.5 * N); // random play lasts 22 and 28 steps
    rig_close(&r);
  }
}

static const struct CMUnitTest tests[] = {
  cmocka_unit_test(test_classic),     cmocka_unit_test(test_games),
  cmocka_unit_test(test_rules),       cmocka_unit_test(test_grid),
  cmocka_unit_test(test_forms),       cmocka_unit_test(test_streams),
  cmocka_unit_test(test_bad_actions), cmocka_unit_test(test_refused),
  cmocka_unit_test(test_none),        cmocka_unit_test(test_million),
};

int suite_vec(void) {
  return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
