// SPDX-License-Identifier: Apache-2.0
// Generalised advantage estimation: golden data, the sheet's numbers, and the sum it stands for.

#include "agent/gae.h"

#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/status.h"
#include "test.h"

enum { MOST = 4096 };

static float reward[MOST], value[MOST], advantage[MOST], target[MOST];
static uint8_t end[MOST];

static mm_gae gae_of(int n_step, int n_env, float gamma, float lambda) {
  return (mm_gae){ n_step, n_env, gamma, lambda, reward, value, end, advantage, target };
}

// [t][env] into out; returns how many.
static int read_rows(const cJSON *root, const char *name, float *out) {
  int n = 0;
  const cJSON *row, *entry;
  cJSON_ArrayForEach(row, mm_json_find(root, name)) {
    if (cJSON_IsNumber(row)) out[n++] = (float)row->valuedouble;
    cJSON_ArrayForEach(entry, row) out[n++] =
        cJSON_IsBool(entry) ? (float)cJSON_IsTrue(entry) : (float)entry->valuedouble;
  }
  return n;
}

static void test_golden(void **state) {
  (void)state;
  const char *path = MM_TEST_DATA "/golden/ampo_gae.json";
  static float done[MOST], expected[MOST];
  char *text;
  size_t length;
  cJSON *root;
  const cJSON *c;
  int cases = 0;
  assert_ok(mm_file_read(path, 1 << 24, &text, &length));
  assert_ok(mm_json_parse(text, length, path, &root));
  cJSON_ArrayForEach(c, mm_json_find(root, "cases")) {
    int n_step = mm_json_find(c, "T")->valueint, n_env = mm_json_find(c, "n_envs")->valueint;
    int n = n_step * n_env;
    mm_gae g = gae_of(n_step, n_env, (float)mm_json_find(c, "gamma")->valuedouble,
                      (float)mm_json_find(c, "gae_lambda")->valuedouble);
    assert_int_equal(read_rows(c, "reward", reward), n);
    assert_int_equal(read_rows(c, "value", value), n);
    assert_int_equal(read_rows(c, "last_value", value + n), n_env);
    assert_int_equal(read_rows(c, "done", done), n);
    for (int i = 0; i < n; i++)
      end[i] = done[i] != 0;
    mm_gae_estimate(&g);
    const char *const names[] = { "advantage", "target" };
    for (int k = 0; k < 2; k++) {
      float *found = k == 0 ? advantage : target, largest = 0;
      assert_int_equal(read_rows(c, names[k], expected), n);
      for (int i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(expected[i]));
      for (int i = 0; i < n; i++)
        assert_true(fabsf(found[i] - expected[i]) <= 1e-5f * largest);
    }
    cases++;
  }
  assert_int_equal(cases, 2);
  cJSON_Delete(root);
  mm_free(text);
}

static void test_sheet(void **state) {
  (void)state;
  const float r[] = { 1, 0, 2, 1 }, v[] = { 0.5f, 0.4f, 0.3f, 0.2f, 0.7f };
  const double expected[] = { 2.30284692, 1.49585, 1.7, 1.493 };
  for (int i = 0; i < 5; i++)
    value[i] = v[i];
  for (int i = 0; i < 4; i++) {
    reward[i] = r[i];
    end[i] = i == 2;
  }
  mm_gae g = gae_of(4, 1, 0.99f, 0.95f);
  mm_gae_estimate(&g);
  for (int i = 0; i < 4; i++) {
    assert_true(fabs((double)advantage[i] - expected[i]) < 1e-6);
    assert_true(target[i] == advantage[i] + value[i]);
  }
}

// A_t is the sum over k of (gamma lambda)^k delta_{t+k}, up to the first end.
static void test_sum(void **state) {
  (void)state;
  enum { T = 50, N = 7 };
  mm_stream stream = mm_stream_make(3, 0, MM_RNG_TEST, 0);
  for (uint64_t i = 0; i < (T + 1) * N; i++) {
    mm_block b = mm_stream_block(stream, i);
    reward[i] = mm_normal_f(b.word[0]);
    value[i] = mm_normal_f(b.word[1]);
    end[i] = (uint8_t)(b.word[2] < 0x20000000u ? 1 + b.word[3] % 3 : 0);
  }
  mm_gae g = gae_of(T, N, 0.97f, 0.8f);
  mm_gae_estimate(&g);
  for (int e = 0; e < N; e++) {
    for (int t = 0; t < T; t++) {
      double sum = 0, weight = 1;
      for (int k = t; k < T; k++) {
        int i = k * N + e;
        double next = end[i] ? 0 : 0.97 * (double)value[i + N];
        sum += weight * ((double)reward[i] + next - (double)value[i]);
        if (end[i]) break;
        weight *= 0.97 * 0.8;
      }
      assert_true(fabs(sum - (double)advantage[t * N + e]) < 2e-5);
    }
  }
}

int suite_gae(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),
    cmocka_unit_test(test_sheet),
    cmocka_unit_test(test_sum),
  };
  return cmocka_run_group_tests_name("gae", tests, NULL, NULL);
}
