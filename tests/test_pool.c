// SPDX-License-Identifier: Apache-2.0
// The pool of threads: every unit once, by workers that are numbered, until somebody wants to stop.

#include "test.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "backend/pool.h"

enum { UNITS = 1000, THREADS = 7 };

typedef struct work {
  atomic_int done[UNITS], by[THREADS], total, watched;
  int last; // unit after which no other is wanted; -1: none
  volatile int stop;
  int stop_at; // units after which the flag is set; 0: never
} work;

static bool do_unit(size_t unit, size_t worker, void *user) {
  work *w = user;
  if (unit >= UNITS || worker >= THREADS) return false;
  atomic_fetch_add(&w->done[unit], 1);
  atomic_fetch_add(&w->by[worker], 1);
  int total = atomic_fetch_add(&w->total, 1) + 1;
  if (w->stop_at > 0 && total >= w->stop_at) __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
  return (int)unit != w->last;
}

static void watch(void *user) {
  work *w = user;
  atomic_fetch_add(&w->watched, 1);
}

static mm_pool_config config_of(work *w, size_t n, int threads) {
  return (mm_pool_config){
    .n = n, .threads = threads, .stop = &w->stop, .work = do_unit, .watch = watch, .user = w
  };
}

static void test_all(void **state) {
  (void)state;
  for (int threads = 1; threads <= THREADS; threads += 3) {
    work w = { .last = -1 };
    mm_pool_config config = config_of(&w, UNITS, threads);
    int worked;
    assert_ok(mm_pool_run(&config, &worked));
    assert_int_equal(worked, threads);
    assert_int_equal(w.total, UNITS);
    for (int i = 0; i < UNITS; i++)
      assert_int_equal(w.done[i], 1);
    for (int i = threads; i < THREADS; i++)
      assert_int_equal(w.by[i], 0);
  }
}

static void test_few(void **state) {
  (void)state;
  work w = { .last = -1 };
  mm_pool_config config = config_of(&w, 2, THREADS);
  int worked;
  assert_ok(mm_pool_run(&config, &worked));
  assert_int_equal(worked, 2);
  assert_int_equal(w.total, 2);
  config = config_of(&w, 0, THREADS);
  assert_ok(mm_pool_run(&config, &worked));
  assert_int_equal(worked, 0);
  assert_int_equal(w.total, 2);
}

// Units that were begun are done; at most one more per other worker than was wanted.
static void test_stop(void **state) {
  (void)state;
  for (int threads = 1; threads <= THREADS; threads += 3) {
    work flag = { .last = -1, .stop_at = 10 }, last = { .last = 20 };
    mm_pool_config config = config_of(&flag, UNITS, threads);
    int worked;
    assert_ok(mm_pool_run(&config, &worked));
    assert_in_range(flag.total, 10, 9 + threads);
    config = config_of(&last, UNITS, threads);
    assert_ok(mm_pool_run(&config, &worked));
    assert_int_equal(last.done[20], 1);
    // others may run ahead while that one is done
    assert_in_range(last.total, 21, threads == 1 ? 21 : UNITS);
    for (int i = 0; i < UNITS; i++)
      assert_in_range(last.done[i], 0, 1);
  }
  work before = { .last = -1, .stop = 1 };
  mm_pool_config config = config_of(&before, UNITS, 2);
  int worked;
  assert_ok(mm_pool_run(&config, &worked));
  assert_int_equal(before.total, 0);
}

static void test_cores(void **state) {
  (void)state;
  assert_true(mm_pool_cores() >= 1);
}

int suite_pool(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all),
    cmocka_unit_test(test_few),
    cmocka_unit_test(test_stop),
    cmocka_unit_test(test_cores),
  };
  return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
