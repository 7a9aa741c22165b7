// SPDX-License-Identifier: Apache-2.0
// Settings: what help says of their defaults is true, presets that come with the program say what
// is built in, and every algorithm knows its keys and no others.

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "mirrormap/settings.h"
#include "scarce_memory.h"
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
  assert_true(es.kind == MM_ES_SEP_CMA && es.dimension == 20 && es.population == 64);
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

// ---------------------------------------------------------------------------------------------
// As other programs use them

static void test_objects(void **state) {
  (void)state;
  char text[MM_SETTING_TEXT_SIZE], *own, *search;
  mm_settings *s;
  mm_job job = { .seed = 1 };
  for (int a = 0; a < MM_ALGO_COUNT; a++) {
    assert_ok(mm_settings_create((mm_algo)a, &s));
    assert_int_equal(mm_settings_algo(s), a);
    assert_ok(mm_settings_set(s, "lr", "0.25"));
    assert_string_equal(mm_settings_text(s, "lr", text), "0.25");
    assert_true(mm_settings_value(s, "lr", 7) == 0.25 && mm_settings_value(s, "none", 7) == 7);
    assert_ok(mm_settings_format(s, &own, &search));
    assert_non_null(strstr(own, "\"lr\":0.25"));
    assert_non_null(strstr(search, "\"generations\":"));
    mm_settings_text_free(own);
    mm_settings_text_free(search);
    mm_settings_bind(s, &job);
    assert_true(job.algo == (mm_algo)a && job.config == mm_settings_config(s));
    mm_settings_reset(s, MM_ALGO_PMD);
    assert_string_equal(mm_settings_text(s, "lr", text), "40");
    mm_settings_destroy(s);
  }
  assert_fails(mm_settings_create((mm_algo)1000, &s), MM_ERR_INPUT, "no such algorithm");
  assert_null(mm_algo_name((mm_algo)1000));
  assert_true(mm_algo_is_tabular(MM_ALGO_PMD) && !mm_algo_is_tabular(MM_ALGO_PPO));
}

// Every key can be set to its default, and has a range around it.
static void test_keys(void **state) {
  (void)state;
  mm_setting_info info, other;
  size_t n = 0, n_search = 0;
  for (; mm_setting_at(n, &info); n++) {
    assert_true(info.key[0] != '\0' && info.help[0] != '\0');
    assert_true(n_search == 0 || info.search); // those of a search come last
    n_search += info.search;
    if (info.type == MM_SETTING_NUMBER)
      assert_true(info.least <= info.value && info.value <= info.most);
    for (size_t i = 0; i < n; i++) {
      assert_true(mm_setting_at(i, &other));
      assert_string_not_equal(other.key, info.key);
    }
  }
  assert_true(n <= MM_SETTINGS_MAX && n_search == MM_SEARCH_KEYS);
}

static mm_status use_settings(void) {
  mm_settings *s;
  char *own = NULL, *search = NULL;
  mm_status status = mm_settings_create(MM_ALGO_AMPO, &s);
  if (status == MM_OK) status = mm_settings_format(s, &own, &search);
  mm_settings_text_free(own);
  mm_settings_text_free(search);
  mm_settings_destroy(s);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  mm_status status = MM_ERR_MEMORY;
  for (size_t needed = 0; status != MM_OK; needed++) {
    make_memory_scarce();
    allocations_left = needed;
    status = use_settings();
    make_memory_usual();
    assert_true(status == MM_OK || status == MM_ERR_MEMORY);
  }
}

static void *use_often(void *failures) {
  for (int i = 0; i < 200; i++)
    *(int *)failures += use_settings() != MM_OK;
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t thread[THREADS];
  int failures[THREADS] = { 0 };
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, use_often, &failures[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(failures[i], 0);
  }
}

int suite_settings(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_defaults),     cmocka_unit_test(test_learners),
    cmocka_unit_test(test_presets),      cmocka_unit_test(test_words),
    cmocka_unit_test(test_fast_presets), cmocka_unit_test(test_other_fast_presets),
    cmocka_unit_test(test_lengths),      cmocka_unit_test(test_dimensions),
    cmocka_unit_test(test_objects),      cmocka_unit_test(test_keys),
    cmocka_unit_test(test_memory),       cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
