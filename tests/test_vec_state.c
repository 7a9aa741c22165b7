// SPDX-License-Identifier: Apache-2.0
// The state of environments as bytes: another vec goes on from them to the same bits, and bytes of
// anybody are refused or harmless.

#include <stdlib.h>

#include "env/vec_internal.h"
#include "test.h"
#include "vec_rig.h"

static void step(rig *r, uint64_t t) {
  draw_actions(r, t);
  assert_ok(mm_vec_step(r->vec, r->action, &r->out));
}

static void same_step(const rig *a, const rig *b) {
  assert_memory_equal(a->out.obs, b->out.obs, a->info.obs_size);
  assert_memory_equal(a->out.reward, b->out.reward, a->info.n * sizeof(float));
  assert_memory_equal(a->out.end, b->out.end, a->info.n);
}

// ---------------------------------------------------------------------------------------------

// Saved at several moments and loaded into a vec that was somewhere else.
static void test_goes_on(void **state) {
  (void)state;
  enum { N = 7, T = 900 };
  for (size_t id = 0; id < RIG_IDS; id++) {
    mm_vec_config config = { .n = N, .seed = 4, .repeat = 1 };
    if (id >= RIG_CLASSIC) config.obs = MM_OBS_LIST;
    rig a = rig_open(rig_ids[id], config), b = rig_open(rig_ids[id], config);
    size_t size = mm_vec_kept_size(a.vec);
    void *bytes = zeroed(size, 1), *again = zeroed(size, 1);
    assert_ok(mm_vec_reset(a.vec, &a.out));
    assert_ok(mm_vec_reset(b.vec, &b.out));
    for (uint64_t t = 0; t < T; t++) {
      if (t % 225 == 0) {
        mm_vec_keep(a.vec, bytes);
        for (uint64_t k = 0; k < 40; k++)
          step(&b, k + 7);
        assert_ok(mm_vec_take_up(b.vec, bytes, size));
        mm_vec_keep(b.vec, again);
        assert_memory_equal(bytes, again, size);
      }
      step(&a, t);
      step(&b, t);
      same_step(&a, &b);
    }
    // a fresh vec needs no reset, and another form of observations is no obstacle
    config.obs = id < RIG_CLASSIC ? MM_OBS_COLUMNS : MM_OBS_BITS;
    rig c = rig_open(rig_ids[id], config);
    mm_vec_keep(a.vec, bytes);
    assert_ok(mm_vec_take_up(c.vec, bytes, size));
    for (uint64_t t = T; t < T + 50; t++) {
      step(&a, t);
      step(&c, t);
      assert_memory_equal(a.out.reward, c.out.reward, N * sizeof(float));
      assert_memory_equal(a.out.end, c.out.end, N);
    }
    free(bytes);
    free(again);
    rig_close(&a);
    rig_close(&b);
    rig_close(&c);
  }
}

// By rules that the ID does not name.
static void test_rules(void **state) {
  (void)state;
  enum { N = 3, T = 300 };
  mm_vec_config config = { .n = N, .seed = 4, .rules = MM_RULES_MINATAR };
  for (size_t id = RIG_CLASSIC; id < RIG_CLASSIC + 5; id++) {
    rig a = rig_open(rig_ids[id], config), b = rig_open(rig_ids[id], config);
    size_t size = mm_vec_kept_size(a.vec);
    void *bytes = zeroed(size, 1);
    assert_ok(mm_vec_reset(a.vec, &a.out));
    for (uint64_t t = 0; t < 1500; t++) // beyond gymnax's limit, where nobody has lost yet
      step(&a, t);
    mm_vec_keep(a.vec, bytes);
    assert_ok(mm_vec_take_up(b.vec, bytes, size));
    for (uint64_t t = 0; t < T; t++) {
      step(&a, t);
      step(&b, t);
      same_step(&a, &b);
    }
    free(bytes);
    rig_close(&a);
    rig_close(&b);
  }
}

static void test_sizes(void **state) {
  (void)state;
  rig r = rig_open("Seaquest-MinAtar", (mm_vec_config){ .n = 2 });
  size_t size = mm_vec_kept_size(r.vec);
  char *bytes = zeroed(size + 1, 1);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  mm_vec_keep(r.vec, bytes);
  assert_fails(mm_vec_take_up(r.vec, bytes, size - 1), MM_ERR_INPUT, "expected");
  assert_fails(mm_vec_step(r.vec, r.action, &r.out), MM_ERR_INPUT, "never reset");
  assert_fails(mm_vec_take_up(r.vec, bytes, size + 1), MM_ERR_INPUT, "expected");
  assert_fails(mm_vec_take_up(r.vec, bytes, 0), MM_ERR_INPUT, "expected");
  assert_ok(mm_vec_take_up(r.vec, bytes, size));
  step(&r, 0);
  free(bytes);
  rig_close(&r);
  rig none = rig_open("CartPole-v1", (mm_vec_config){ .n = 0 });
  assert_int_equal(mm_vec_kept_size(none.vec), 0);
  assert_ok(mm_vec_take_up(none.vec, "", 0));
  rig_close(&none);
}

// Bytes changed at random: refused, or 300 steps and every observation stay within their buffers
// and the ranges of their entries. (The sanitizers look at the former.)
static void check_lists(const rig *r) {
  const uint16_t *list = r->out.obs;
  for (size_t k = 0; k < r->info.n * (size_t)r->info.entries; k++)
    assert_true(list[k] <= r->info.n_input);
}

static void test_hostile(void **state) {
  (void)state;
  enum { N = 3, STEPS = 300 };
  for (size_t id = 0; id < RIG_IDS; id++) {
    mm_vec_config config = { .n = N, .seed = 9 };
    if (id >= RIG_CLASSIC) config.obs = MM_OBS_LIST;
    rig r = rig_open(rig_ids[id], config);
    size_t size = mm_vec_kept_size(r.vec);
    unsigned char *bytes = zeroed(size, 1), *bad = zeroed(size, 1);
    int taken = 0, refused = 0;
    mm_stream stream = mm_stream_make(id, 0, MM_RNG_SHUFFLE, 0);
    assert_ok(mm_vec_reset(r.vec, &r.out));
    for (uint64_t k = 0; k < 400; k++) {
      if (k % 20 == 0) { // from another place each time
        assert_ok(mm_vec_reset(r.vec, &r.out));
        for (uint64_t t = 0; t < 13 * k + 5; t++)
          step(&r, t);
        mm_vec_keep(r.vec, bytes);
      }
      memcpy(bad, bytes, size);
      uint32_t flips = 1 + mm_uniform_int(mm_stream_pair(stream, 16 * k), 4);
      for (uint32_t f = 0; f < flips; f++) {
        uint64_t word = mm_stream_pair(stream, 16 * k + 1 + f);
        bad[mm_uniform_int(word, (uint32_t)size)] ^=
            (unsigned char)(k % 2 ? 1u << (word & 7) : 1 + (word & 254));
      }
      if (mm_vec_take_up(r.vec, bad, size) != MM_OK) {
        refused++;
        continue;
      }
      taken++;
      for (uint64_t t = 0; t < STEPS; t++) {
        step(&r, t);
        if (id >= RIG_CLASSIC) check_lists(&r);
      }
    }
    assert_true(taken > 0 && refused > 0);
    free(bytes);
    free(bad);
    rig_close(&r);
  }
}

// Nothing but noise.
static void test_noise(void **state) {
  (void)state;
  for (size_t id = 0; id < RIG_IDS; id++) {
    rig r = rig_open(rig_ids[id], (mm_vec_config){ .n = 1, .seed = 9 });
    size_t size = mm_vec_kept_size(r.vec);
    unsigned char *bytes = zeroed(size, 1);
    mm_stream stream = mm_stream_make(id, 1, MM_RNG_SHUFFLE, 0);
    for (uint64_t k = 0; k < 300; k++) {
      for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)mm_stream_pair(stream, k * size + i);
      if (k % 3 == 0) memset(bytes, k % 2 ? 255 : 0, size);
      if (mm_vec_take_up(r.vec, bytes, size) != MM_OK) continue;
      for (uint64_t t = 0; t < 300; t++)
        step(&r, t);
    }
    free(bytes);
    rig_close(&r);
  }
}

int suite_vec_state(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_goes_on), cmocka_unit_test(test_rules), cmocka_unit_test(test_sizes),
    cmocka_unit_test(test_hostile), cmocka_unit_test(test_noise),
  };
  return cmocka_run_group_tests_name("vec_state", tests, NULL, NULL);
}
