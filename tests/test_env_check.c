// SPDX-License-Identifier: Apache-2.0
// Every built-in environment keeps the rules, and an environment that breaks one is found out: a
// walk at random that ends by chance or after LIMIT steps, with a fault for each rule.

#include <math.h>
#include <stdlib.h>

#include "env/env_check.h"
#include "env/vec_internal.h"
#include "scarce_memory.h"
#include "test.h"

enum { LIMIT = 20, INPUTS = 2, NO_FAULT = MM_ENV_RULES, FAULT_LAST_OBS };

typedef struct walk {
  int32_t time;
  uint32_t episode;
  uint64_t drawn;
  float at; // in [0, 1]
} walk;

static float disturbance; // what no seed names

static bool is(const mm_vec *vec, int fault) {
  return vec->which == fault;
}

static mm_status prepare(mm_vec *vec, const mm_env *env) {
  (void)env;
  vec->info.n_action = 2;
  vec->info.n_input = vec->info.entries = INPUTS;
  vec->info.limit = LIMIT;
  return MM_OK;
}

static size_t state_size(const mm_vec *vec) {
  (void)vec;
  return sizeof(walk);
}

static mm_stream stream_of(const mm_vec *vec, size_t i) {
  if (is(vec, MM_ENV_RULE_CHANCE))
    return mm_stream_make(0, 0, MM_RNG_ENV_STEP, vec->own ? vec->own[i].lane : (uint32_t)i);
  if (is(vec, MM_ENV_RULE_SEEDS))
    return mm_stream_make(vec->config.seed, 0, MM_RNG_ENV_STEP, (uint32_t)i);
  return mm_vec_stream_of(vec, MM_RNG_ENV_STEP, i);
}

static void show(const mm_vec *vec, size_t i, void *obs) {
  const walk *w = (const walk *)vec->state + i;
  float *to = (float *)obs + INPUTS * i;
  to[0] = w->at;
  to[1] = (float)w->time / (is(vec, MM_ENV_RULE_INDEPENDENCE) ? 40 + (float)vec->info.n : 40);
  if (is(vec, MM_ENV_RULE_BOUNDS) && w->time == 7) to[0] = 1.5f;
}

static void observe(const mm_vec *vec, size_t i, void *obs) {
  show(vec, i, obs);
  if (is(vec, MM_ENV_RULE_AUTORESET)) ((float *)obs)[INPUTS * i] /= 2;
}

static void start(const mm_vec *vec, size_t i) {
  walk *w = (walk *)vec->state + i;
  if (is(vec, MM_ENV_RULE_DETERMINISM)) disturbance += 0.001f;
  w->at = 0.5f * mm_uniform_f(mm_stream_block(stream_of(vec, i), w->drawn++).word[0]) + disturbance;
  w->time = 0;
  w->episode++;
}

static void begin(const mm_vec *vec, size_t i, bool first, void *obs) {
  if (first) ((walk *)vec->state)[i] = (walk){ 0 };
  start(vec, i);
  show(vec, i, obs);
}

static void step(const mm_vec *vec, size_t from, size_t to, const void *action,
                 const mm_vec_out *out) {
  const int limit = is(vec, MM_ENV_RULE_ENDS) ? LIMIT + 1 : LIMIT;
  for (size_t i = from; i < to; i++) {
    walk *w = (walk *)vec->state + i;
    const uint32_t word = mm_stream_block(stream_of(vec, i), w->drawn++).word[0];
    w->at = 0.5f * w->at + 0.25f * mm_uniform_f(word) + 0.25f * (float)((const int32_t *)action)[i];
    w->time++;
    out->reward[i] = is(vec, MM_ENV_RULE_FINITE) && w->time == 9 ? INFINITY : w->at;
    out->end[i] = (uint8_t)((word % 30 == 0 ? MM_END_TERMINATED : 0) |
                            (w->time >= limit ? MM_END_TRUNCATED : 0));
    if (out->end[i]) {
      if (out->final_obs && !is(vec, FAULT_LAST_OBS)) show(vec, i, out->final_obs);
      start(vec, i);
    }
    show(vec, i, out->obs);
  }
}

static bool validate_state(const mm_vec *vec) {
  (void)vec;
  return true;
}

// Forgets which draws are next.
static void load(const mm_vec *vec, const void *state) {
  memcpy(vec->state, state, vec->info.n * sizeof(walk));
  for (size_t i = 0; i < vec->info.n && is(vec, MM_ENV_RULE_STATE); i++)
    ((walk *)vec->state)[i].drawn = 0;
}

static const mm_vec_law law = { .prepare = prepare,
                                .state_size = state_size,
                                .step = step,
                                .kept_size = state_size,
                                .observe = observe,
                                .begin = begin,
                                .validate_state = validate_state,
                                .load = load };

static void check(int fault, mm_env_finding *out) {
  const mm_env_kind kind = { .id = "Walk", .law = &law, .which = fault };
  const mm_env_check_config config = { .seed = 3, .steps = 500 };
  mm_env *env = calloc(1, sizeof *env + 8);
  assert_non_null(env);
  env->kind = &kind;
  disturbance = 0;
  assert_ok(mm_env_check(env, &config, out));
  free(env);
}

// ---------------------------------------------------------------------------------------------

static void test_faults(void **state) {
  (void)state;
  mm_env_finding found[MM_ENV_RULES];
  check(NO_FAULT, found);
  for (int r = 0; r < MM_ENV_RULES; r++)
    assert_string_equal(found[r].why, "");
  for (int fault = 0; fault < MM_ENV_RULES; fault++) {
    check(fault, found);
    assert_true(found[fault].why[0] != '\0');
    // what changes from play to play is found by all comparisons, what depends on n also by seeds,
    // others by one rule alone
    bool depends_on_n = fault == MM_ENV_RULE_INDEPENDENCE;
    for (int r = 0; r < MM_ENV_RULES && fault != MM_ENV_RULE_DETERMINISM; r++)
      if (r != fault && !(depends_on_n && r == MM_ENV_RULE_SEEDS))
        assert_string_equal(found[r].why, "");
  }
  check(MM_ENV_RULE_FINITE, found);
  assert_non_null(strstr(found[MM_ENV_RULE_FINITE].why, "reward = inf"));
  check(MM_ENV_RULE_BOUNDS, found);
  assert_non_null(strstr(found[MM_ENV_RULE_BOUNDS].why, "observation[0] = 1.5: expected 0 .. 1"));
  check(FAULT_LAST_OBS, found);
  assert_non_null(strstr(found[MM_ENV_RULE_FINITE].why, "nan"));
}

static void test_built_in(void **state) {
  (void)state;
  const mm_env_check_config config = { .seed = 11,
                                       .steps = test_is_slowed() ? 60 : 1100,
                                       .most = 1100 };
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    mm_env_finding found[MM_ENV_RULES];
    mm_env *env;
    assert_ok(mm_env_open(info.id, &env));
    mm_status status = mm_env_check(env, &config, found);
    mm_env_destroy(env);
    if (status == MM_ERR_UNSUPPORTED) continue; // no MuJoCo
    assert_ok(status);
    for (int r = 0; r < MM_ENV_RULES; r++) {
      if (found[r].why[0] != '\0' && !found[r].unmet)
        fail_msg("%s: %s: %s", info.id, mm_env_rules_info[r].name, found[r].why);
    }
  }
}

// What a play does not come to is no rule that holds: it goes on, and says so where that was in
// vain.
static void test_unmet(void **state) {
  (void)state;
  mm_env_finding found[MM_ENV_RULES];
  mm_env *env;
  assert_ok(mm_env_open("Pendulum-v1", &env)); // 200 steps
  const mm_env_check_config briefly = { .steps = 10, .most = 150 }, on = { .steps = 10 };
  assert_ok(mm_env_check(env, &briefly, found));
  for (int r = 0; r < MM_ENV_RULES; r++)
    assert_int_equal(found[r].unmet, r == MM_ENV_RULE_ENDS || r == MM_ENV_RULE_AUTORESET);
  assert_string_equal(found[MM_ENV_RULE_ENDS].why,
                      "no episode came to the limit of 200 within 150 steps");
  assert_string_equal(found[MM_ENV_RULE_AUTORESET].why, "no episode ended within 150 steps");
  mm_env_destroy(env);
  assert_ok(mm_env_open("MountainCar-v0", &env)); // 200 steps
  assert_ok(mm_env_check(env, &(mm_env_check_config){ .steps = 30, .most = 400 }, found));
  for (int r = 0; r < MM_ENV_RULES; r++)
    assert_true(!found[r].unmet && found[r].why[0] == '\0');
  assert_ok(mm_env_check(env, &on, found));
  assert_true(found[MM_ENV_RULE_ENDS].unmet);
  mm_env_destroy(env);
  // without chance, which it says
  assert_ok(mm_env_open("SpaceInvaders-MinAtar", &env));
  assert_ok(mm_env_check(env, &on, found));
  assert_string_equal(found[MM_ENV_RULE_CHANCE].why, "");
  mm_env_destroy(env);
}

static void test_refused(void **state) {
  (void)state;
  mm_env_finding found[MM_ENV_RULES];
  mm_env *env;
  assert_ok(mm_env_open("CartPole-v1", &env));
  assert_fails(mm_env_check(env, &(mm_env_check_config){ .steps = 7 }, found), MM_ERR_INPUT,
               "7 steps: expected 8 ..");
  mm_env_destroy(env);
}

// Each allocation fails once.
static void test_memory(void **state) {
  (void)state;
  mm_env_finding found[MM_ENV_RULES];
  mm_env *env;
  mm_status status = MM_ERR_MEMORY;
  size_t needed = 0;
  assert_ok(mm_env_open("Pendulum-v1", &env));
  for (; status != MM_OK; needed++) {
    make_memory_scarce();
    allocations_left = needed;
    status = mm_env_check(env, &(mm_env_check_config){ .steps = 10 }, found);
    make_memory_usual();
    if (status != MM_OK) assert_int_equal(status, MM_ERR_MEMORY);
  }
  assert_true(needed > 10);
  mm_env_destroy(env);
}

int suite_env_check(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_faults),  cmocka_unit_test(test_built_in), cmocka_unit_test(test_unmet),
    cmocka_unit_test(test_refused), cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests_name("env_check", tests, NULL, NULL);
}
