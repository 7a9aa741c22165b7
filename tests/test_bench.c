// Suite `bench`: the clockwork of the benchmarks. Their figures are nobody's to assert.

#include "test.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"
#include "bench/bench.h"

static void test_results_grow(void **state) {
  (void)state;
  mm_bench_results results = { 0 };
  for (int i = 0; i < 300; i++) {
    char name[32];
    snprintf(name, sizeof name, "entry %d", i);
    assert_ok(mm_bench_add(&results, name, i, "ns", i % 2 ? NAN : 2.0 * i));
  }
  assert_int_equal(results.n, 300);
  for (int i = 0; i < 300; i++) {
    char name[32];
    snprintf(name, sizeof name, "entry %d", i);
    assert_string_equal(results.entry[i].name, name);
    assert_string_equal(results.entry[i].unit, "ns");
    assert_true(results.entry[i].value == i);
    assert_true(i % 2 ? isnan(results.entry[i].limit) : results.entry[i].limit == 2.0 * i);
  }
  mm_bench_free(&results);
  assert_int_equal(results.n, 0);
  assert_null(results.entry);
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
    mm_ampo_config c = mm_ampo_config_default();
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
    cmocka_unit_test(test_step_work),
  };
  return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
