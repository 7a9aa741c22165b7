// SPDX-License-Identifier: Apache-2.0
// Settings: what help says of their defaults is true, presets that come with the program say what
// is built in, and every algorithm knows its keys and no others.

#include <stdio.h>
#include <string.h>

#include "study/settings/preset.h"
#include "study/settings/settings.h"
#include "test.h"

// The text behind "algo " in "pmd 40, ampo 0.004", or NULL.
static const char *default_of(const char *defaults, mm_algo algo, char out[64]) {
  const char *name = mm_algo_name(algo);
  size_t length = strlen(name);
  for (const char *at = defaults; at != NULL; at = strchr(at, ',')) {
    at += strspn(at, ", ");
    if (strncmp(at, name, length) != 0 || at[length] != ' ') continue;
    at += length + 1;
    snprintf(out, 64, "%.*s", (int)strcspn(at, ","), at);
    return out;
  }
  return NULL;
}

static void test_defaults(void **state) {
  (void)state;
  size_t own = 0;
  for (int a = 0; a < MM_ALGO_COUNT; a++) {
    mm_settings settings = mm_settings_default((mm_algo)a), changed = settings;
    size_t n = 0;
    for (size_t i = 0; i < mm_settings_any_own(); i++) {
      char text[64], defaults[MM_SETTING_DEFAULTS_SIZE];
      const char *key = mm_settings_any_key(i);
      mm_settings_defaults(key, defaults);
      assert_true(defaults[0] != '\0'); // somebody has it
      if (default_of(defaults, (mm_algo)a, text) == NULL) {
        assert_fails(mm_settings_set(&changed, key, "1"), MM_ERR_INPUT, "no setting");
        continue;
      }
      assert_ok(mm_settings_set(&changed, key, text));
      n++;
    }
    assert_memory_equal(&changed, &settings, sizeof settings);
    assert_int_equal(n, mm_settings_own((mm_algo)a)); // no key is left out
    own += n;
  }
  assert_true(own > 40);
}

// What the rest of the program takes for granted of a learner.
static void test_learners(void **state) {
  (void)state;
  static const char *const needed[] = { "steps", "envs", "unroll" };
  for (int a = 0; a < MM_ALGO_COUNT; a++) {
    const mm_learner *l = mm_learner_of((mm_algo)a);
    mm_algo found;
    mm_settings settings = mm_settings_default((mm_algo)a);
    mm_job job = { 0 };
    assert_true(mm_algo_find(mm_algo_name((mm_algo)a), &found) && (int)found == a);
    assert_true(l->run != NULL && l->suits != 0 && (l->on_device & ~l->suits) == 0);
    for (int i = 0; i < 3; i++)
      assert_non_null(mm_learner_setting(l, needed[i]));
    for (size_t i = 0; i < l->n_setting; i++) {
      assert_true(l->setting[i].offset < l->config_size);
      assert_ptr_equal(mm_learner_setting(l, l->setting[i].key), &l->setting[i]); // once
    }
    assert_true(l->config_size <= offsetof(mm_settings, search) - offsetof(mm_settings, net));
    assert_ok(mm_learner_check(l, &settings.net));
    mm_settings_bind(&settings, &job);
    assert_ptr_equal(mm_learner_of_job(&job), l);
    *mm_settings_number(&settings, "envs") = 0;
    assert_fails(mm_learner_check(l, &settings.net), MM_ERR_INPUT,
                 "'envs': 0 is not between 1 and 65536");
  }
  size_t n = 0;
  while (mm_settings_any_key(n))
    n++;
  assert_true(n < MM_SETTINGS_MAX && n == mm_settings_any_own() + MM_SEARCH_KEYS);
}

static void compare(const char *preset, const char *path, mm_algo algo) {
  mm_settings built_in = mm_settings_default(algo), read = built_in;
  mm_settings_fit(&built_in, preset);
  assert_ok(mm_preset_apply(path, &read));
  cJSON *pair[2][2] = { { mm_settings_json(&built_in), mm_settings_json(&read) },
                        { mm_search_json(&built_in), mm_search_json(&read) } };
  for (int i = 0; i < 2; i++) {
    char *text[2] = { cJSON_Print(pair[i][0]), cJSON_Print(pair[i][1]) };
    assert_string_equal(text[0], text[1]);
    for (int k = 0; k < 2; k++) {
      cJSON_free(text[k]);
      cJSON_Delete(pair[i][k]);
    }
  }
}

static void test_presets(void **state) {
  (void)state;
  compare("gridworld", MM_TEST_DATA "/../presets/gridworld.yaml", MM_ALGO_PMD);
  compare("bcs", MM_TEST_DATA "/../presets/bcs.yaml", MM_ALGO_AMPO);
  compare("minatar", MM_TEST_DATA "/../presets/minatar.yaml", MM_ALGO_AMPO);
  compare("bcs", MM_TEST_DATA "/../presets/ppo-bcs.yaml", MM_ALGO_PPO);
  compare("minatar", MM_TEST_DATA "/../presets/ppo-minatar.yaml", MM_ALGO_PPO);
  compare("mujoco", MM_TEST_DATA "/../presets/mujoco.yaml", MM_ALGO_GAUSSIAN);
  compare("mujoco", MM_TEST_DATA "/../presets/ppo-mujoco.yaml", MM_ALGO_PPO);
}

// The short searches with AMPO are those of results/search/run.sh.
static void test_fast_presets(void **state) {
  (void)state;
  mm_settings game = mm_settings_default(MM_ALGO_AMPO), bcs = game;
  mm_settings_fit(&game, "minatar");
  assert_ok(mm_preset_apply(MM_TEST_DATA "/../presets/minatar-fast.yaml", &game));
  assert_ok(mm_preset_apply(MM_TEST_DATA "/../presets/bcs-fast.yaml", &bcs));
  assert_string_equal(mm_search_init(&game.search), "l2");
  assert_string_equal(mm_search_init(&bcs.search), "l2");
  mm_phase phase[MM_PHASES_MAX];
  assert_true(mm_search_phases(&game.search, phase) == 1 && phase[0].generations == 20);
  assert_true(mm_search_phases(&bcs.search, phase) == 1 && phase[0].generations == 60);
  assert_true(mm_settings_steps(&game) == 9994240 && mm_settings_steps(&bcs) == 499712);
  mm_es_config es = mm_search_es(&bcs.search, 1);
  assert_true(es.dimension == 20 && es.sigma == 0.5 && es.population == 128);
  assert_true(es.kind == MM_ES_SEP_CMA && bcs.search.seeds_per_member == 4);
}

static void test_other_fast_presets(void **state) {
  (void)state;
  mm_settings grid = mm_settings_default(MM_ALGO_PMD);
  mm_settings body = mm_settings_default(MM_ALGO_GAUSSIAN);
  assert_ok(mm_preset_apply(MM_TEST_DATA "/../presets/gridworld-fast.yaml", &grid));
  assert_ok(mm_preset_apply(MM_TEST_DATA "/../presets/mujoco-fast.yaml", &body));
  assert_string_equal(mm_search_init(&grid.search), "l2");
  assert_null(mm_search_init(&body.search)); // the start of powers, near negentropy
  mm_phase phase[MM_PHASES_MAX];
  assert_true(mm_search_phases(&grid.search, phase) == 1 && phase[0].generations == 64);
  assert_true(mm_search_phases(&body.search, phase) == 1 && phase[0].generations == 8);
  // whole training runs
  assert_true(mm_settings_steps(&grid) == 262144 && mm_settings_steps(&body) == 9994240);
  mm_es_config es = mm_search_es(&grid.search, 1);
  assert_true(es.kind == MM_ES_OPENES && es.shaping == MM_SHAPING_RAW && es.dimension == 20);
  es = mm_search_es(&body.search, 1);
  assert_true(es.kind == MM_ES_CMA && es.dimension == 4 && es.population == 32);
}

static void test_lengths(void **state) {
  (void)state;
  mm_settings s = mm_settings_default(MM_ALGO_AMPO);
  assert_true(mm_settings_iterations(&s) == 976 && mm_settings_steps(&s) == 499712);
  mm_settings_fit(&s, "minatar");
  assert_true(mm_settings_iterations(&s) == 305 && mm_settings_steps(&s) == 9994240);
  mm_settings_set_steps(&s, 1e6);
  assert_true(mm_settings_iterations(&s) == 30 && mm_settings_steps(&s) == 983040);
  mm_settings g = mm_settings_default(MM_ALGO_PMD);
  assert_true(mm_settings_iterations(&g) == 128 && mm_settings_steps(&g) == 262144);
}

// Coordinates of a search, by what it searches.
static void test_dimensions(void **state) {
  (void)state;
  mm_settings s = mm_settings_default(MM_ALGO_AMPO);
  assert_true(s.search.stages == 1 && s.search.search == MM_SEARCH_BOTH && !s.search.search_eta);
  assert_int_equal(mm_search_es(&s.search, 0).dimension, 100);
  assert_ok(mm_settings_set(&s, "search_eta", "on"));
  assert_int_equal(mm_search_es(&s.search, 0).dimension, 101);
  assert_ok(mm_settings_set(&s, "stages", "3"));
  assert_int_equal(mm_search_es(&s.search, 0).dimension, 301);
  assert_ok(mm_settings_set(&s, "search", "shape"));
  assert_int_equal(mm_search_es(&s.search, 0).dimension, 301);
  assert_ok(mm_settings_set(&s, "search", "scale"));
  assert_int_equal(mm_search_es(&s.search, 0).dimension, 4);
  assert_true(mm_search_es(&s.search, 0).sigma == 0.5);
  assert_fails(mm_settings_set(&s, "stages", "5"), MM_ERR_INPUT, "at most 4");
  assert_fails(mm_settings_set(&s, "search", "size"), MM_ERR_INPUT, "both|shape|scale|simplex");
}

// Words that are indices of the library's own lists.
static void test_words(void **state) {
  (void)state;
  mm_settings s = mm_settings_default(MM_ALGO_PMD);
  for (int i = 0; i < MM_ES_KINDS; i++) {
    assert_ok(mm_settings_set(&s, "es", mm_es_name((mm_es_kind)i)));
    assert_int_equal(s.search.es, i);
  }
  assert_fails(mm_settings_set(&s, "es", "openes|"), MM_ERR_INPUT, "(one of openes|openes:evosax");
  assert_ok(mm_settings_set(&s, "normalise_advantage", "off"));
  assert_false(s.pmd.normalise_advantage);
  s = mm_settings_default(MM_ALGO_AMPO);
  assert_ok(mm_settings_set(&s, "normalise_advantage", "off"));
  assert_false(s.net.normalise_advantage);
  assert_fails(mm_settings_set(&s, "normalise_advantage", "o"), MM_ERR_INPUT, "(one of on, off)");
}

int suite_settings(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_defaults),     cmocka_unit_test(test_learners),
    cmocka_unit_test(test_presets),      cmocka_unit_test(test_words),
    cmocka_unit_test(test_fast_presets), cmocka_unit_test(test_other_fast_presets),
    cmocka_unit_test(test_lengths),      cmocka_unit_test(test_dimensions),
  };
  return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
