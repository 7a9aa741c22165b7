// SPDX-License-Identifier: Apache-2.0
// What every suite needs: cmocka with its own prerequisites, the list of suites, and assertions on
// statuses.
//
// A suite X lives in test_X.c and defines `int suite_X(void)`, which returns what
// cmocka_run_group_tests_name does: the number of tests that failed. One that cannot run here says
// why and returns MM_SUITE_SKIPPED.

#ifndef MM_TEST_H
#define MM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mirrormap/base.h"

enum { MM_SUITE_SKIPPED = -77 };

// One line per suite, in the order in which they run.
#define MM_SUITE_LIST(SUITE)                                                                       \
  SUITE(base)                                                                                      \
  SUITE(json)                                                                                      \
  SUITE(rng)                                                                                       \
  SUITE(elementary)                                                                                \
  SUITE(potential)                                                                                 \
  SUITE(simplex)                                                                                   \
  SUITE(bregman)                                                                                   \
  SUITE(map)                                                                                       \
  SUITE(map_file)                                                                                  \
  SUITE(density)                                                                                   \
  SUITE(net)                                                                                       \
  SUITE(net_learn)                                                                                 \
  SUITE(physics)                                                                                   \
  SUITE(physics_mujoco)                                                                            \
  SUITE(gridworld)                                                                                 \
  SUITE(grid_model)                                                                                \
  SUITE(classic)                                                                                   \
  SUITE(classic_batch)                                                                             \
  SUITE(minatar)                                                                                   \
  SUITE(minatar_golden)                                                                            \
  SUITE(minatar_seaquest)                                                                          \
  SUITE(minatar_draws)                                                                             \
  SUITE(vec)                                                                                       \
  SUITE(vec_state)                                                                                 \
  SUITE(vec_autoreset)                                                                             \
  SUITE(env_check)                                                                                 \
  SUITE(render)                                                                                    \
  SUITE(wrap)                                                                                      \
  SUITE(bodies)                                                                                    \
  SUITE(body_models)                                                                               \
  SUITE(trace)                                                                                     \
  SUITE(trace_record)                                                                              \
  SUITE(pmd)                                                                                       \
  SUITE(pool)                                                                                      \
  SUITE(backend)                                                                                   \
  SUITE(ranks)                                                                                     \
  SUITE(rank_model)                                                                                \
  SUITE(cuda_ampo)                                                                                 \
  SUITE(cuda_functions)                                                                            \
  SUITE(cuda_gaussian)                                                                             \
  SUITE(cuda_loss_scale)                                                                           \
  SUITE(cuda_physics)                                                                              \
  SUITE(cuda_pmd)                                                                                  \
  SUITE(settings)                                                                                  \
  SUITE(schedule)                                                                                  \
  SUITE(gae)                                                                                       \
  SUITE(ampo)                                                                                      \
  SUITE(policy)                                                                                    \
  SUITE(evaluate)                                                                                  \
  SUITE(player)                                                                                    \
  SUITE(jobs)                                                                                      \
  SUITE(body_transfer)                                                                             \
  SUITE(ampo_log)                                                                                  \
  SUITE(ampo_state)                                                                                \
  SUITE(gaussian)                                                                                  \
  SUITE(gaussian_gradient)                                                                         \
  SUITE(evolve)                                                                                    \
  SUITE(evolve_sep_cma)                                                                            \
  SUITE(evolve_cma)                                                                                \
  SUITE(inference)                                                                                 \
  SUITE(scores)                                                                                    \
  SUITE(evolve_golden)                                                                             \
  SUITE(evolve_state)                                                                              \
  SUITE(evolve_restart)                                                                            \
  SUITE(evolve_search)                                                                             \
  SUITE(config)                                                                                    \
  SUITE(machine)                                                                                   \
  SUITE(run)                                                                                       \
  SUITE(run_training)                                                                              \
  SUITE(run_faults)                                                                                \
  SUITE(disk_faults)                                                                               \
  SUITE(run_bits)                                                                                  \
  SUITE(job_store)                                                                                 \
  SUITE(event_file)                                                                                \
  SUITE(theory)                                                                                    \
  SUITE(plot)                                                                                      \
  SUITE(figure)                                                                                    \
  SUITE(transfer)                                                                                  \
  SUITE(picture)                                                                                   \
  SUITE(search_figure)                                                                             \
  SUITE(learn)                                                                                     \
  SUITE(train)                                                                                     \
  SUITE(report)                                                                                    \
  SUITE(tune)                                                                                      \
  SUITE(tune_run)                                                                                  \
  SUITE(study)                                                                                     \
  SUITE(result)                                                                                    \
  SUITE(reproduce)                                                                                 \
  SUITE(bench)                                                                                     \
  SUITE(plugin)

#define MM_SUITE_DECLARE(name) int suite_##name(void);
MM_SUITE_LIST(MM_SUITE_DECLARE)
#undef MM_SUITE_DECLARE

// MM_TEST_DATA is the folder of the tests; golden files lie below it.
#ifndef MM_TEST_DATA
#define MM_TEST_DATA "tests"
#endif

#ifdef __SANITIZE_ADDRESS__
#define MM_TEST_SANITIZED 1
#elif defined __has_feature // clang's way to say so
#if __has_feature(address_sanitizer)
#define MM_TEST_SANITIZED 1
#endif
#endif

// By the script that runs valgrind.
static inline bool test_under_valgrind(void) {
  return getenv("MM_TEST_VALGRIND") != NULL;
}

// Whether every instruction is many times slower: by the sanitizers, or by valgrind. What then only
// repeats itself is cut short: values are for the optimised build to show.
static inline bool test_is_slowed(void) {
#ifdef MM_TEST_SANITIZED
  return true;
#else
  return test_under_valgrind();
#endif
}

// So many of n repetitions.
static inline uint64_t test_repeat(uint64_t n) {
  return test_is_slowed() ? n / 8 + 1 : n;
}

// The call succeeds; its error is shown if not.
#define assert_ok(call)                                                                            \
  do {                                                                                             \
    mm_status assert_status = (call);                                                              \
    if (assert_status != MM_OK)                                                                    \
      fail_msg("%s: %s: %s", #call, mm_status_text(assert_status), mm_last_error());               \
  } while (0)

// The call fails with this status, and `part` is in the sentence it leaves.
#define assert_fails(call, expected, part)                                                         \
  do {                                                                                             \
    mm_status assert_status = (call);                                                              \
    if (assert_status != (expected))                                                               \
      fail_msg("%s: expected '%s', found '%s'", #call, mm_status_text(expected),                   \
               mm_status_text(assert_status));                                                     \
    if (!strstr(mm_last_error(), (part)))                                                          \
      fail_msg("%s: expected '%s' in the error, found '%s'", #call, (part), mm_last_error());      \
  } while (0)

#endif
