// SPDX-License-Identifier: Apache-2.0
// Recording of traces: they replay to the bit and have the form of the golden files.

#include <math.h>
#include <stdlib.h>

#include "scarce_memory.h"
#include "trace_tree.h"

static void test_record(void **state) {
  (void)state;
  const char *id;
  int n = 0;
  for (size_t i = 1; (id = mm_trace_id(i)) != NULL; i++, n++) {
    for (uint64_t seed = 0; seed < 3; seed++) {
      cJSON *root = record(id, seed, 4, seed == 2 ? 7 : 3000);
      mm_replay_report report;
      assert_ok(replay(id, root, &report));
      if (report.has_mismatch)
        fail_msg("%s: episode %d, t %d, %s: expected %g, got %g", id, (int)report.first.trajectory,
                 (int)report.first.t, report.first.field, report.first.expected, report.first.got);
      assert_true(report.transitions >= 4 && report.max_abs_error == 0);
      assert_int_equal(cJSON_GetArraySize(trajectories(root)), 4);
      // whole episodes end, cut ones do not
      cJSON *item;
      cJSON_ArrayForEach(item, trajectories(root)) {
        cJSON *terminated = field(item, "terminated"), *truncated = field(item, "truncated");
        int steps = cJSON_GetArraySize(terminated);
        bool ended = cJSON_GetArrayItem(terminated, steps - 1)->valueint ||
                     cJSON_GetArrayItem(truncated, steps - 1)->valueint;
        assert_true(steps >= 1 && steps <= (seed == 2 ? 7 : 3000));
        assert_true(ended || (seed == 2 && steps == 7));
      }
      cJSON_Delete(root);
    }
  }
  assert_int_equal(n, 23);
}

static void test_record_seeds(void **state) {
  (void)state;
  const mm_record_plan plan = { .seed = 3, .episodes = 2, .steps = 50 },
                       other = { .seed = 4, .episodes = 2, .steps = 50 };
  const char *id;
  for (size_t i = 1; (id = mm_trace_id(i)) != NULL; i++) {
    mm_recording a, b, c;
    assert_ok(mm_trace_record(id, &plan, &a));
    assert_ok(mm_trace_record(id, &plan, &b));
    assert_ok(mm_trace_record(id, &other, &c));
    assert_string_equal(a.text, b.text);
    assert_true(a.transitions == b.transitions);
    assert_string_not_equal(strchr(a.text, '['), strchr(c.text, '[')); // beyond the description
    mm_free(a.text), mm_free(b.text), mm_free(c.text);
  }
}

static void check_same_keys(const char *id, const cJSON *a, const cJSON *b) {
  for (const cJSON *item = a->child; item; item = item->next) {
    if (!mm_json_find(b, item->string)) fail_msg("%s: '%s' in one file only", id, item->string);
  }
  assert_int_equal(cJSON_GetArraySize(a), cJSON_GetArraySize(b));
}

// A recording has the form of the golden file: the same keys everywhere, the same descriptions.
static void test_record_form(void **state) {
  (void)state;
  static const char *const equal[] = { "env",      "params",       "action_set",
                                       "channels", "state_fields", "draw_fields" };
  for (int i = 0; i < N_GOLDEN; i++) {
    const char *id = golden[i].id;
    cJSON *reference = read_golden(i), *ours = record(id, 1, 1, 20);
    check_same_keys(id, reference, ours);
    check_same_keys(id, trajectories(reference)->child, trajectories(ours)->child);
    for (size_t k = 0; k < sizeof equal / sizeof *equal; k++) {
      if (!mm_json_find(reference, equal[k])) continue;
      char *a = mm_json_print(field(reference, equal[k]), false);
      char *b = mm_json_print(field(ours, equal[k]), false);
      if (strcmp(a, b) != 0) fail_msg("%s: '%s': %s, not %s", id, equal[k], b, a);
      mm_free(a), mm_free(b);
    }
    cJSON_Delete(reference);
    cJSON_Delete(ours);
  }
}

// The original rules: one step in ten repeats what was executed last, also across resets.
static void test_record_sticky(void **state) {
  (void)state;
  const char *const id = "MinAtar/Freeway-v1";
  cJSON *root = record(id, 5, 4, 3000), *episode, *names = field(root, "state_fields");
  int at = 0, last = 0, n = 0, sticky_steps = 0, changed = 0;
  for (cJSON *name = names->child; strcmp(name->valuestring, "last_action") != 0; name = name->next)
    at++;
  assert_string_equal(field(root, "rules")->valuestring, "minatar");
  cJSON_ArrayForEach(episode, field(root, "episodes")) {
    cJSON *row = field(episode, "states")->child, *action = field(episode, "actions")->child;
    cJSON *sticky = field(episode, "sticky")->child;
    assert_int_equal(cJSON_GetArraySize(field(episode, "actions")), 2501);
    for (; action; row = row->next, action = action->next, sticky = sticky->next, n++) {
      assert_int_equal(cJSON_GetArrayItem(row, at)->valueint, last);
      int code = cJSON_GetArrayItem(field(root, "action_set"), action->valueint)->valueint;
      sticky_steps += sticky->valueint;
      changed += sticky->valueint && code != last;
      if (!sticky->valueint) last = code;
    }
  }
  double expected = n / 10.0;
  assert_true(fabs(sticky_steps - expected) < 5 * sqrt(expected) && changed > 0);
  // without them another game
  mm_replay_report report;
  cJSON *item = field(field(root, "episodes")->child, "sticky")->child;
  while (!item->valueint)
    item = item->next;
  for (; item; item = item->next)
    item->valuedouble = 0;
  assert_ok(replay(id, root, &report));
  assert_true(report.has_mismatch);
  cJSON_Delete(root);
}

static void test_record_refuses(void **state) {
  (void)state;
  const mm_record_plan plan = { .seed = 0, .episodes = 1, .steps = 10 };
  mm_recording out;
  assert_fails(mm_trace_record("CartPole-v2", &plan, &out), MM_ERR_INPUT, "'CartPole-v1'");
  assert_fails(mm_trace_record("MinAtar/Asterx-v1", &plan, &out), MM_ERR_INPUT,
               "'MinAtar/Asterix-v1'");
  assert_fails(mm_trace_record("GridWorld-labrinth", &plan, &out), MM_ERR_INPUT,
               "'GridWorld-labyrinth'");
  assert_fails(mm_trace_record("nowhere/at/all.yaml", &plan, &out), MM_ERR_INPUT, "all.yaml");
  assert_null(out.text);
}

// Every allocation may fail, and nothing stays behind.
static void test_memory(void **state) {
  (void)state;
  static const char *const ids[] = { "Pendulum-v1", "MinAtar/Seaquest-v1", "Ant",
                                     "GridWorld-small" };
  const mm_record_plan plan = { .seed = 1, .episodes = 2, .steps = 20 };
  make_memory_scarce();
  for (int i = 0; i < 4; i++) {
    mm_status status = MM_ERR_MEMORY;
    int n = 0;
    for (; status != MM_OK; n++) {
      mm_recording out;
      allocations_left = (size_t)n;
      status = mm_trace_record(ids[i], &plan, &out);
      assert_true(status == MM_OK || status == MM_ERR_MEMORY);
      assert_true((status == MM_OK) == (out.text != NULL));
      mm_free(out.text);
    }
    assert_true(n > 10);
  }
  make_memory_usual();
}

// ---------------------------------------------------------------------------------------------
// Numbers

static void test_floats(void **state) {
  (void)state;
  static const struct {
    float value;
    const char *text;
  } known[] = { { 0, "0" },
                { -0.0f, "-0" },
                { 1, "1" },
                { 0.1f, "0.1" },
                { 500, "500" },
                { -1234567, "-1234567" },
                { 1e-5f, "1e-05" },
                { 0.20943951f, "0.20943952" },
                { 16777216, "16777216" },
                { 1.5e30f, "1.5e+30" },
                { INFINITY, "inf" },
                { NAN, "nan" } };
  char text[MM_JSON_NUMBER_SIZE];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_string_equal(mm_json_format_float(known[i].value, text), known[i].text);
  uint64_t index = 1000000;
  for (int i = 0; i < 100000; i++) {
    uint32_t bits = random_word(&index);
    float value, back;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) continue;
    back = strtof(mm_json_format_float(value, text), NULL);
    assert_memory_equal(&back, &value, sizeof back);
    back = (float)strtod(text, NULL);
    assert_memory_equal(&back, &value, sizeof back);
  }
}

int suite_trace_record(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_record),         cmocka_unit_test(test_record_seeds),
    cmocka_unit_test(test_record_form),    cmocka_unit_test(test_record_sticky),
    cmocka_unit_test(test_record_refuses), cmocka_unit_test(test_memory),
    cmocka_unit_test(test_floats),
  };
  return cmocka_run_group_tests_name("trace_record", tests, NULL, NULL);
}
