// SPDX-License-Identifier: Apache-2.0
// The model of many ranks, where the answer is known.

#include <math.h>

#include "bench/rank_model.h"
#include "test.h"

static mm_rank_model_result run(mm_rank_model m) {
  mm_rank_model_result r;
  assert_ok(mm_rank_model_run(&m, &r));
  return r;
}

static void close_to(double got, double expected) {
  if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
    fail_msg("expected %.12g, got %.12g", expected, got);
}

static const double one[] = { 1 }, mixed[] = { 1, 3 };

static mm_rank_model base(int ranks, int threads, size_t jobs) {
  return (mm_rank_model){
    .ranks = ranks, .threads = threads, .jobs = jobs, .length = one, .n_length = 1, .scale = 2
  };
}

// Nothing but equal jobs: whole rounds are full, and the last one costs what is missing.
static void test_free_messages(void **state) {
  (void)state;
  mm_rank_model_result r = run(base(4, 2, 80));
  close_to(r.seconds, 20);
  close_to(r.efficiency, 1);
  close_to(run(base(4, 2, 81)).seconds, 22);
  close_to(run(base(1, 1, 3)).seconds, 6);
}

static void test_serial_part(void **state) {
  (void)state;
  mm_rank_model m = base(4, 1, 8);
  m.serial = 1;
  m.serial_per_job = 0.25;
  mm_rank_model_result r = run(m);
  close_to(r.seconds, 4 + 1 + 2);
  close_to(r.efficiency, 4.0 / 7);
}

// The way there and back is waited for with every job that was not sent ahead.
static void test_latency(void **state) {
  (void)state;
  mm_rank_model m = base(2, 1, 2);
  m.latency = 0.5;
  close_to(run(m).seconds, 3);
}

// Far too many ranks: rank 0 does nothing but messages, and they set the pace.
static void test_bound_by_messages(void **state) {
  (void)state;
  mm_rank_model m = base(10000, 1, 80000);
  m.service = 0.01;
  mm_rank_model_result r = run(m);
  assert_true(r.busy > 0.99);
  assert_true(fabs(r.seconds / 800 - 1) < 0.01);
}

// Jobs of different lengths: no schedule is shorter than all work in equal parts, and this one is
// not longer than that and a last job.
static void test_bounds(void **state) {
  (void)state;
  mm_rank_model m = base(7, 3, 1000);
  m.length = mixed;
  m.n_length = 2;
  mm_rank_model_result r = run(m);
  double work = r.efficiency * r.seconds * 21;
  assert_true(work > 1000 * 2 && work < 1000 * 6);
  assert_true(r.seconds >= work / 21 && r.seconds <= work / 21 + 6);
}

static void test_refuses(void **state) {
  (void)state;
  mm_rank_model_result r;
  mm_rank_model m = base(0, 1, 1);
  assert_int_equal(mm_rank_model_run(&m, &r), MM_ERR_INPUT);
  m = base(1, 1, 1);
  m.service = NAN;
  assert_int_equal(mm_rank_model_run(&m, &r), MM_ERR_INPUT);
}

int suite_rank_model(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_free_messages), cmocka_unit_test(test_serial_part),
    cmocka_unit_test(test_latency),       cmocka_unit_test(test_bound_by_messages),
    cmocka_unit_test(test_bounds),        cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests_name("rank_model", tests, NULL, NULL);
}
