// SPDX-License-Identifier: Apache-2.0
// Suite `bench`: the clockwork of the benchmarks. Their figures are nobody's to assert.

#include "test.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"
#include "bench/bench.h"

static void test_results_grow(void **state) {
  (void)state;
  mm_bench b = { 0 };
  for (int i = 0; i < 300; i++) {
    mm_bench_add(&b, i, "ns", i % 2 ? NAN : 2.0 * i, "entry %d", i);
    if (i % 3 == 0) mm_bench_refer(&b, 7);
  }
  assert_int_equal(b.n, 300);
  assert_false(b.out_of_memory);
  for (int i = 0; i < 300; i++) {
    char name[32];
    snprintf(name, sizeof name, "entry %d", i);
    assert_string_equal(b.entry[i].name, name);
    assert_string_equal(b.entry[i].unit, "ns");
    assert_true(b.entry[i].value == i);
    assert_true(i % 2 ? isnan(b.entry[i].limit) : b.entry[i].limit == 2.0 * i);
    assert_true(i % 3 ? isnan(b.entry[i].reference) : b.entry[i].reference == 7);
    assert_ptr_equal(mm_bench_find(&b, name), &b.entry[i]);
  }
  assert_null(mm_bench_find(&b, "entry"));
  mm_bench_free(&b);
  assert_int_equal(b.n, 0);
  assert_null(b.entry);
}

static mm_status add_two(mm_bench *b) {
  mm_bench_add(b, 1, "s", NAN, "one");
  mm_bench_begin(b, "%s", "second");
  mm_bench_add(b, 2, "s", NAN, "two");
  return b->quick ? MM_FAIL(MM_ERR_NUMERIC, "a case that fails") : MM_OK;
}

static void count_progress(const char *name, void *user) {
  assert_string_equal(name, "second");
  ++*(int *)user;
}

static void test_case(void **state) {
  (void)state;
  const mm_bench_case c = { "case", MM_BENCH_CORE, add_two };
  int told = 0;
  mm_bench b = { .progress = count_progress, .user = &told };
  assert_ok(mm_bench_run(&c, &b));
  assert_int_equal(b.n, 2);
  assert_int_equal(told, 1);
  b.quick = true;
  assert_fails(mm_bench_run(&c, &b), MM_ERR_NUMERIC, "fails");
  b.quick = false;
  b.out_of_memory = true; // a figure is missing: the case has failed
  assert_fails(mm_bench_run(&c, &b), MM_ERR_MEMORY, "memory");
  mm_bench_free(&b);
}

typedef struct counter {
  int calls, fail_at;
} counter;

// Takes at least 50 microseconds.
static mm_status wait_a_little(void *context) {
  counter *c = context;
  const double start = mm_clock_seconds();
  while (mm_clock_seconds() - start < 50e-6)
    continue;
  c->calls++;
  return c->calls == c->fail_at ? MM_FAIL(MM_ERR_NUMERIC, "call %d", c->calls) : MM_OK;
}

static void test_seconds(void **state) {
  (void)state;
  counter c = { 0 };
  double seconds = 0;
  assert_ok(mm_bench_seconds(wait_a_little, &c, &seconds));
  assert_true(seconds >= 50e-6);
  assert_true(c.calls >= 11); // a warm-up, a trial and 9 timings, even where each call took long
  assert_true(seconds <= 0.1);
}

static void test_failing_work(void **state) {
  (void)state;
  for (int at = 1; at <= 11; at += 2) {
    counter c = { .fail_at = at };
    double seconds;
    assert_fails(mm_bench_seconds(wait_a_little, &c, &seconds), MM_ERR_NUMERIC, "call");
    assert_int_equal(c.calls, at);
  }
}

// Work and probes in turn: a warm-up, then as many rounds as were asked for.
static void test_turns(void **state) {
  (void)state;
  static mm_bench_work *const works[] = { wait_a_little };
  counter c = { 0 };
  double rate = 0, seconds = 0;
  assert_ok(mm_bench_turns(3, works, 1, &c, &rate, &seconds));
  assert_true(rate > 0);
  assert_true(seconds > 0 && seconds <= 0.1);
  assert_true(c.calls >= 4);
  c = (counter){ .fail_at = 2 };
  assert_fails(mm_bench_turns(3, works, 1, &c, &rate, &seconds), MM_ERR_NUMERIC, "call");
}

// The stages of a gradient step add up, and those of lists count only the inputs that are on.
static void test_row_work(void **state) {
  (void)state;
  const mm_ampo_shape dense = { .n_input = 400, .n_action = 5 };
  const mm_ampo_shape lists = { .n_input = 400, .n_action = 5, .lists = true, .inputs_on = 16 };
  for (int gaussian = 0; gaussian < 2; gaussian++) {
    double work[MM_NET_STAGES], sum = 0;
    const double all = mm_bench_row_work(gaussian, 64, &dense, 128, work);
    for (int i = 0; i < MM_NET_STAGES; i++)
      sum += work[i];
    assert_true(fabs(sum / all - 1) < 1e-12);
    assert_true(work[MM_NET_LAYER1] == 2 * 2 * 64.0 * 400);
  }
  double work[MM_NET_STAGES];
  mm_bench_row_work(false, 64, &lists, 128, work);
  assert_true(work[MM_NET_LAYER1] == 2 * 64.0 * 16);
}

// The table of the algorithm's work: thousands of operations for each environment step.
static void test_step_work(void **state) {
  (void)state;
  static const struct {
    int32_t n_input, n_action;
    double on, dense, sparse;
  } known[] = {
    { 4, 2, 0, 863, 0 },        { 6, 3, 0, 881, 0 },       { 400, 5, 10, 2160, 440 },
    { 400, 3, 33, 2160, 490 },  { 700, 3, 17, 3470, 456 }, { 600, 4, 44, 3030, 514 },
    { 1000, 6, 13, 4770, 448 },
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    mm_actor_critic_config c = mm_ampo_config_default().net;
    if (known[i].on > 0) c.envs = 256, c.minibatches = 8, c.epochs = 8;
    mm_ampo_shape s = { .n_input = known[i].n_input, .n_action = known[i].n_action };
    assert_true(fabs(mm_bench_step_work(&c, &s) / 1e3 / known[i].dense - 1) < 0.003);
    s.lists = true;
    s.inputs_on = known[i].on;
    if (known[i].on > 0)
      assert_true(fabs(mm_bench_step_work(&c, &s) / 1e3 / known[i].sparse - 1) < 0.003);
  }
}

static void test_core(void **state) {
  (void)state;
  mm_bench_core first = mm_bench_core_hold();
  mm_bench_core_release(&first);
  mm_bench_core second = mm_bench_core_hold();
  mm_bench_core_release(&second);
  // what was allowed before is allowed again
  assert_memory_equal(first.before, second.before, sizeof first.before);
}

int suite_bench(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_results_grow), cmocka_unit_test(test_seconds),
    cmocka_unit_test(test_failing_work), cmocka_unit_test(test_core),
    cmocka_unit_test(test_step_work),    cmocka_unit_test(test_case),
    cmocka_unit_test(test_turns),        cmocka_unit_test(test_row_work),
  };
  return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
