// SPDX-License-Identifier: Apache-2.0
// Map files: bit-exact round trips, and one clear sentence for everything else.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"
#include "random_map.h"

static bool same_bits(const mm_map *a, const mm_map *b) {
  size_t n, m;
  const double *psi_a = mm_map_piecewise_psi(a, &n), *psi_b = mm_map_piecewise_psi(b, &m);
  const double *pa[3], *pb[3];
  double ends_a[3] = { mm_map_tsallis_q(a) }, ends_b[3] = { mm_map_tsallis_q(b) };
  mm_map_neural_parameters(a, &pa[0], &pa[1], &pa[2], &ends_a[1], &ends_a[2]);
  mm_map_neural_parameters(b, &pb[0], &pb[1], &pb[2], &ends_b[1], &ends_b[2]);
  if (mm_map_get_kind(a) != mm_map_get_kind(b) || n != m) return false;
  if (n && memcmp(psi_a, psi_b, n * sizeof *psi_a) != 0) return false;
  for (int i = 0; i < 3 && pa[i]; i++)
    if (memcmp(pa[i], pb[i], MM_NEURAL_UNITS * sizeof(double)) != 0) return false;
  return memcmp(ends_a, ends_b, sizeof ends_a) == 0;
}

static void test_round_trip(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 400; i++) {
    mm_map *map = i % 5 == 0 ? random_piecewise(i, true) : random_mild(i), *back;
    char *text, *again;
    assert_ok(mm_map_format(map, i % 3 ? NULL : "{\"seed\": 7, \"who\": \"\\u00e9\"}", &text));
    assert_ok(mm_map_parse(text, strlen(text), "memory", &back));
    assert_true(same_bits(map, back));
    assert_true((mm_map_meta(back) != NULL) == (i % 3 == 0));
    // the meta object travels along
    assert_ok(mm_map_format(back, NULL, &again));
    assert_string_equal(text, again);
    mm_map_text_free(text);
    mm_map_text_free(again);
    mm_map_destroy(map);
    mm_map_destroy(back);
  }
}

static void test_file(void **state) {
  (void)state;
  char folder[] = "/tmp/mirrormap-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/map.json", folder);
  mm_map *map = random_piecewise(4, false), *back;
  assert_ok(mm_map_save(map, "{\"note\": \"a test\"}", path));
  assert_ok(mm_map_load(path, &back));
  assert_true(same_bits(map, back));
  assert_string_equal(mm_map_meta(back), "{\"note\":\"a test\"}");
  mm_map_destroy(back);
  // by its path it is a map like any other
  assert_ok(mm_map_open(path, &back));
  mm_map_destroy(back);
  // bad meta leaves the file as it was
  assert_fails(mm_map_save(map, "[1]", path), MM_ERR_INPUT, "meta");
  assert_ok(mm_map_load(path, &back));
  mm_map_destroy(back);
  assert_fails(mm_map_load(folder, &back), MM_ERR_INPUT, folder);
  unlink(path);
  assert_fails(mm_map_load(path, &back), MM_ERR_INPUT, path);
  rmdir(folder);
  assert_int_equal(mm_map_save(map, NULL, path) == MM_OK, 0);
  mm_map_destroy(map);
}

// The step size of a map travels with it, and makes its file one that older programs refuse.
static void test_eta(void **state) {
  (void)state;
  static const char *const names[] = { "l2",          "negentropy", "tsallis:1.5",
                                       "piecewise:7", "neural",     "powers" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mm_map *map, *back;
    char *text, *again;
    assert_ok(mm_map_open(names[i], &map));
    assert_true(mm_map_eta(map) == 0);
    assert_ok(mm_map_format(map, NULL, &text));
    assert_non_null(strstr(text, "\"mirrormap/1\""));
    mm_map_text_free(text);
    assert_ok(mm_map_set_eta(map, 0.1 + 0.2));
    assert_ok(mm_map_format(map, "{\"a\":1}", &text));
    assert_non_null(strstr(text, "\"mirrormap/2\""));
    assert_ok(mm_map_parse(text, strlen(text), "memory", &back));
    assert_true(same_bits(map, back));
    assert_true(mm_map_eta(back) == 0.1 + 0.2);
    assert_ok(mm_map_format(back, NULL, &again));
    assert_string_equal(text, again);
    assert_fails(mm_map_set_eta(map, NAN), MM_ERR_INPUT, "eta = nan");
    assert_fails(mm_map_set_eta(map, -1), MM_ERR_INPUT, "eta = -1");
    mm_map_text_free(text);
    mm_map_text_free(again);
    mm_map_destroy(map);
    mm_map_destroy(back);
  }
}

// Maps that move: anchors keep their bits, the map's step size and meta stay with the map.
static void test_stages(void **state) {
  (void)state;
  static const char *const names[][3] = { { "l2", "l2", "l2" },
                                          { "tsallis:1.5", "tsallis:2", "tsallis:3" },
                                          { "random:1", "random:2", "piecewise" },
                                          { "neural", "random-neural:3", "neural" },
                                          { "powers", "random-powers:1", "powers" } };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    mm_map *anchor[3], *map, *back;
    char *text, *again;
    for (int k = 0; k < 3; k++)
      assert_ok(mm_map_open(names[i][k], &anchor[k]));
    assert_int_equal(mm_map_stages(anchor[0]), 1);
    assert_ptr_equal(mm_map_stage(anchor[0], 0), anchor[0]);
    assert_ok(mm_map_create_stages((const mm_map *const *)anchor, 3, &map));
    assert_ok(mm_map_set_eta(map, 0.7));
    assert_ok(mm_map_format(map, "{\"a\":1}", &text));
    assert_non_null(strstr(text, "\"mirrormap/2\""));
    assert_ok(mm_map_parse(text, strlen(text), "memory", &back));
    assert_int_equal(mm_map_stages(back), 3);
    assert_null(mm_map_stage(back, 3));
    for (size_t k = 0; k < 3; k++)
      assert_true(same_bits(mm_map_stage(back, k), anchor[k]));
    assert_true(same_bits(back, anchor[2]) && mm_map_eta(back) == 0.7);
    assert_ok(mm_map_format(back, NULL, &again));
    assert_string_equal(text, again);
    mm_map_text_free(text);
    mm_map_text_free(again);
    mm_map_destroy(map);
    mm_map_destroy(back);
    for (int k = 0; k < 3; k++)
      mm_map_destroy(anchor[k]);
  }
}

// A file and what its error must say.
static void test_bad_files(void **state) {
  (void)state;
#define HEAD "{\"format\": \"mirrormap/1\", "
#define HEAD_2 "{\"format\": \"mirrormap/2\", "
  static const char *const cases[][2] = {
    { "", "f.json:1:1" },
    { "[]", "expected an object" },
    { "{}", "'format'" },
    { "{\"format\": \"mirrormap/3\", \"kind\": \"l2\"}", "'mirrormap/3': expected 'mirrormap/1'" },
    { HEAD "\"kind\": \"l2\", \"eta\": 1}", "'eta': expected in files of format 'mirrormap/2'" },
    { HEAD_2 "\"kind\": \"l2\", \"eta\": 0}", "'eta': 0: expected a number > 0" },
    { HEAD_2 "\"kind\": \"l2\", \"eta\": -1}", "'eta': -1: expected a number > 0" },
    { HEAD_2 "\"kind\": \"l2\", \"eta\": 2e6}", "at most 1e+06" },
    { HEAD_2 "\"kind\": \"l2\", \"eta\": \"1\"}", "'eta'" },
    { HEAD "\"stages\": [{\"kind\": \"l2\"}, {\"kind\": \"l2\"}]}", "'stages': expected in files" },
    { HEAD_2 "\"stages\": []}", "'stages'" },
    { HEAD_2 "\"stages\": [{\"kind\": \"l2\"}]}", "'stages'" },
    { HEAD_2 "\"stages\": 2}", "'stages'" },
    { HEAD_2 "\"stages\": [{\"kind\": \"l2\"}, 1]}", "stages[1]: expected an object" },
    { HEAD_2 "\"stages\": [{\"kind\": \"l2\"}, {}]}", "stages[1]" },
    { HEAD_2 "\"stages\": [{\"kind\": \"l2\"}, {\"kind\": \"negentropy\"}]}",
      "stages[1] is of kind negentropy: expected l2" },
    { HEAD_2 "\"kind\": \"l2\", \"stages\": [{\"kind\": \"l2\"}, {\"kind\": \"l2\"}]}", "'kind'" },
    { HEAD_2 "\"stages\": [{\"kind\": \"l2\", \"eta\": 1}, {\"kind\": \"l2\"}]}",
      "stages[0]: field 'eta': belongs to the map" },
    { HEAD_2
      "\"stages\": [{\"kind\": \"tsallis\", \"q\": 0.5}, {\"kind\": \"tsallis\", \"q\": 2}]}",
      "both above 1 or both below" },
    { HEAD_2 "\"stages\": [{\"kind\": \"piecewise\", \"psi\": [1]}, {\"kind\": \"piecewise\", "
             "\"psi\": [1, 1]}]}",
      "2 steps psi: expected 1" },
    { "{\"format\": 1, \"kind\": \"l2\"}", "'format'" },
    { HEAD "\"kind\": \"l3\"}", "did you mean 'l2'" },
    { HEAD "\"kind\": \"l2\", \"q\": 1}", "'q'" },
    { HEAD "\"kind\": \"l2\"", "f.json:1:" },
    { HEAD "\"kind\": \"l2\"} x", "f.json:1:" },
    { HEAD "\"kind\": \"l2\", \"kind\": \"l2\"}", "kind" },
    { HEAD "\"kind\": \"l2\", \"meta\": []}", "'meta'" },
    { HEAD "\"kind\": \"tsallis\"}", "'q'" },
    { HEAD "\"kind\": \"tsallis\", \"q\": 1}", "other than 1" },
    { HEAD "\"kind\": \"tsallis\", \"q\": \"2\"}", "'q'" },
    { HEAD "\"kind\": \"tsallis\", \"q\": 1e999}", "f.json:1:" },
    { HEAD "\"kind\": \"piecewise\"}", "'psi'" },
    { HEAD "\"kind\": \"piecewise\", \"psi\": []}", "'psi'" },
    { HEAD "\"kind\": \"piecewise\", \"psi\": [1, NaN]}", "f.json:1:" },
    { HEAD "\"kind\": \"piecewise\", \"psi\": [1, 0]}", "psi[1]" },
    { HEAD "\"kind\": \"piecewise\", \"psi\": [1, 2e6]}", "psi[1]" },
    { HEAD "\"kind\": \"piecewise\", \"psi\": [1, null]}", "entry 1" },
    { HEAD "\"kind\": \"piecewise\", \"psi\": [1], \"pis\": 3}", "'pis'" },
    { HEAD "\"kind\": \"neural\", \"w\": [1], \"c\": [1], \"u\": [1], \"a\": 1, \"b\": 1}", "126" },
    { HEAD "\"kind\": \"\xff\"}", "f.json:1:" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mm_map *map;
    assert_fails(mm_map_parse(cases[i][0], strlen(cases[i][0]), "f.json", &map), MM_ERR_INPUT,
                 cases[i][1]);
    assert_non_null(strstr(mm_last_error(), "f.json"));
    assert_null(strchr(mm_last_error(), '\n'));
    assert_null(map);
  }
}

// A neural file with one field of the wrong length or sign.
static void test_bad_neural(void **state) {
  (void)state;
  mm_map *map, *back;
  char *text;
  assert_ok(mm_map_open("neural", &map));
  assert_ok(mm_map_format(map, NULL, &text));
  mm_map_destroy(map);
  // every truncation is refused
  size_t length = strlen(text);
  for (size_t cut = 0; cut + 1 < length; cut += 1 + cut / 50) {
    assert_int_equal(mm_map_parse(text, cut, "cut", &back), MM_ERR_INPUT);
    assert_null(back);
  }
  // a negative kernel
  char *b = strstr(text, "\"b\": ");
  assert_non_null(b);
  b[4] = '-';
  assert_fails(mm_map_parse(text, length, "negative", &back), MM_ERR_INPUT, "b = -");
  mm_map_text_free(text);
}

int suite_map_file(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round_trip), cmocka_unit_test(test_file),
    cmocka_unit_test(test_eta),        cmocka_unit_test(test_stages),
    cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_bad_neural),
  };
  return cmocka_run_group_tests_name("map_file", tests, NULL, NULL);
}
