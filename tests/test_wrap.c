// SPDX-License-Identifier: Apache-2.0
// Scaled observations and rewards against a plain reference that keeps everything it saw, the log
// of episodes, parts, and states as bytes.

#include <math.h>
#include <stdlib.h>

#include "env/vec_internal.h"
#include "env/wrap.h"
#include "scarce_memory.h"
#include "test.h"
#include "vec_rig.h"

enum {
  N = 150,
  K = 3,
  T = 260
}; // Pendulum; beyond its limit of 200, and no whole number of blocks

static mm_wrap *open_wrap(rig *r, mm_wrap_config config) {
  mm_wrap *wrap;
  assert_ok(mm_wrap_create(r->vec, &config, &wrap));
  return wrap;
}

static rig open_rig(const char *id) {
  return rig_open(id, (mm_vec_config){ .n = N, .seed = 3 });
}

static void wrapped_step(rig *r, mm_wrap *wrap, uint64_t t) {
  draw_actions(r, t);
  assert_ok(mm_wrap_step(wrap, r->action, &r->out));
}

// ---------------------------------------------------------------------------------------------
// The reference: mean and variance by the formulas of a merge, with a batch's own in two passes

typedef struct reference {
  double count, mean, var;
} reference;

static void merge(reference *r, const double *x, size_t n) {
  double mean = 0, var = 0, b = (double)n, total = r->count + b;
  for (size_t i = 0; i < n; i++)
    mean += x[i] / b;
  for (size_t i = 0; i < n; i++)
    var += (x[i] - mean) * (x[i] - mean) / b;
  double delta = mean - r->mean;
  double square = r->var * r->count + var * b + delta * delta * r->count * b / total;
  r->mean += delta * b / total;
  r->var = square / total;
  r->count = total;
}

static void merge_rows(reference r[K], const float *obs) {
  double column[N];
  for (size_t j = 0; j < K; j++) {
    for (size_t i = 0; i < N; i++)
      column[i] = (double)obs[i * K + j];
    merge(&r[j], column, N);
  }
}

static void check_rows(const reference r[K], const float *raw, const float *scaled, size_t n) {
  for (size_t i = 0; i < n * K; i++) {
    const reference *c = &r[i % K];
    double expected = ((double)raw[i] - c->mean) / sqrt(c->var + 1e-8);
    assert_true(fabs((double)scaled[i] - expected) <= 1e-6 * (1 + fabs(expected)));
  }
}

static void test_reference(void **state) {
  (void)state;
  const double gamma = 0.97;
  rig raw = open_rig("Pendulum-v1"), r = open_rig("Pendulum-v1");
  mm_wrap *wrap = open_wrap(&r, (mm_wrap_config){ .gamma = gamma });
  reference obs[K] = { { 1e-4, 0, 1 }, { 1e-4, 0, 1 }, { 1e-4, 0, 1 } }, ret = { 1e-4, 0, 1 };
  double discounted[N] = { 0 };
  size_t ends = 0;
  assert_ok(mm_vec_reset(raw.vec, &raw.out));
  assert_ok(mm_wrap_reset(wrap, &r.out));
  merge_rows(obs, raw.out.obs); // the first observations count
  check_rows(obs, raw.out.obs, r.out.obs, N);
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&raw, t);
    assert_ok(mm_vec_step(raw.vec, raw.action, &raw.out));
    wrapped_step(&r, wrap, t);
    for (size_t i = 0; i < N; i++)
      discounted[i] = gamma * discounted[i] * (raw.out.end[i] ? 0 : 1) + (double)raw.out.reward[i];
    merge_rows(obs, raw.out.obs);
    merge(&ret, discounted, N);
    check_rows(obs, raw.out.obs, r.out.obs, N);
    assert_memory_equal(raw.out.end, r.out.end, N);
    for (size_t i = 0; i < N; i++) {
      double expected = (double)raw.out.reward[i] / sqrt(ret.var + 1e-8);
      assert_true(fabs((double)r.out.reward[i] - expected) <= 1e-6 * (1 + fabs(expected)));
      if (!r.out.end[i]) continue;
      check_rows(obs, (float *)raw.out.final_obs + i * K, (float *)r.out.final_obs + i * K, 1);
      ends++;
    }
  }
  assert_true(ends >= N);
  const mm_running_stats *seen = mm_wrap_observations(wrap);
  assert_true(fabs(seen->count - (1e-4 + N * (T + 1.0))) < 1e-6);
  mm_wrap_destroy(wrap);
  rig_close(&raw);
  rig_close(&r);
}

// A component that never changes must not blow up by what rounding leaves of its variance.
static void test_constant(void **state) {
  (void)state;
  double mean[2], var[2], sum[4];
  mm_running_stats r = { .k = 2, .mean = mean, .var = var };
  mm_running_stats_start(&r);
  float rows[64][2];
  for (int i = 0; i < 64; i++)
    rows[i][0] = 1234.567f, rows[i][1] = i % 2 ? 1.0f : -1.0f;
  for (int t = 0; t < 2000; t++) {
    mm_running_stats_sum(&r, rows[0], 64, sum);
    mm_running_stats_merge(&r, sum, 1, 64);
    assert_true(mm_running_stats_are_valid(&r));
  }
  assert_true(fabs(mean[0] - (double)1234.567f) < 1e-4);
  assert_true(fabs(var[1] - 1) < 1e-9 && fabs(mean[1]) < 1e-9);
  // the first guess, 1234.567 away, fades as 1e-4 / 128000
  assert_true(var[0] < 1234.567 * 1234.567 * 1e-4 / (64 * 2000) * 1.01 && var[0] > 0);
}

static void test_raw(void **state) {
  (void)state;
  rig raw = open_rig("Pendulum-v1"), r = open_rig("Pendulum-v1");
  mm_wrap *wrap =
      open_wrap(&r, (mm_wrap_config){ .gamma = 1, .raw_obs = true, .raw_reward = true });
  assert_ok(mm_vec_reset(raw.vec, &raw.out));
  assert_ok(mm_wrap_reset(wrap, &r.out));
  for (uint64_t t = 0; t < 30; t++) {
    draw_actions(&raw, t);
    assert_ok(mm_vec_step(raw.vec, raw.action, &raw.out));
    wrapped_step(&r, wrap, t);
    assert_memory_equal(raw.out.obs, r.out.obs, raw.info.obs_size);
    assert_memory_equal(raw.out.reward, r.out.reward, N * sizeof(float));
  }
  mm_wrap_destroy(wrap);
  rig_close(&raw);
  rig_close(&r);
}

// ---------------------------------------------------------------------------------------------

// Raw return and length of the last finished episode of each environment, in an environment whose
// episodes end at different times.
static void test_log(void **state) {
  (void)state;
  rig r = open_rig("MountainCarContinuous-v0");
  mm_wrap *wrap = open_wrap(&r, (mm_wrap_config){ .gamma = 0.99 });
  rig raw = open_rig("MountainCarContinuous-v0");
  double now[N] = { 0 }, last[N] = { 0 }, length[N] = { 0 }, last_length[N] = { 0 };
  uint64_t episodes = 0;
  mm_wrap_log log;
  assert_ok(mm_vec_reset(raw.vec, &raw.out));
  assert_ok(mm_wrap_reset(wrap, &r.out));
  for (uint64_t t = 0; t < 1100; t++) {
    draw_actions(&raw, t);
    for (size_t i = 0; i < N; i++) // the swing of a third of them helps: they reach the goal
      if (i % 3 == 0)
        ((float *)raw.action)[i] = ((float *)raw.out.obs)[2 * i + 1] < 0 ? -1.0f : 1.0f;
    memcpy(r.action, raw.action, N * sizeof(float));
    assert_ok(mm_vec_step(raw.vec, raw.action, &raw.out));
    assert_ok(mm_wrap_step(wrap, r.action, &r.out));
    if (t == 0) {
      mm_wrap_read_log(wrap, &log);
      assert_true(log.episodes == 0 && log.finished == 0 && isnan(log.mean_return));
    }
    for (size_t i = 0; i < N; i++) {
      now[i] += (double)raw.out.reward[i];
      length[i]++;
      if (!raw.out.end[i]) continue;
      episodes++;
      last[i] = now[i];
      last_length[i] = length[i];
      now[i] = length[i] = 0;
    }
  }
  double mean = 0, mean_length = 0;
  size_t finished = 0;
  for (size_t i = 0; i < N; i++) {
    finished += last_length[i] > 0;
    mean += last[i];
    mean_length += last_length[i];
  }
  mm_wrap_read_log(wrap, &log);
  assert_int_equal(log.episodes, episodes);
  assert_int_equal(log.finished, finished);
  assert_int_equal(finished, N);
  assert_true(episodes > N);
  assert_true(fabs(log.mean_return - mean / N) < 1e-9 * fabs(mean / N) + 1e-9);
  assert_true(fabs(log.mean_length - mean_length / N) < 1e-9);
  mm_wrap_destroy(wrap);
  rig_close(&r);
  rig_close(&raw);
}

// ---------------------------------------------------------------------------------------------

// In blocks, in any order: the same bits.
static void test_parts(void **state) {
  (void)state;
  static const size_t part[4] = { 0, 64, 128, N };
  rig a = open_rig("Pendulum-v1"), b = open_rig("Pendulum-v1");
  mm_wrap *whole = open_wrap(&a, (mm_wrap_config){ .gamma = 0.99 });
  mm_wrap *parts = open_wrap(&b, (mm_wrap_config){ .gamma = 0.99 });
  assert_ok(mm_wrap_reset(whole, &a.out));
  assert_ok(mm_wrap_reset(parts, &b.out));
  for (uint64_t t = 0; t < T; t++) {
    wrapped_step(&a, whole, t);
    draw_actions(&b, t);
    for (int k = 2; k >= 0; k--)
      assert_ok(mm_wrap_step_part(parts, part[k], part[k + 1], b.action, &b.out));
    mm_wrap_merge(parts);
    for (int k = 0; k < 3; k++)
      assert_ok(mm_wrap_scale_part(parts, part[k], part[k + 1], &b.out));
    assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
    assert_memory_equal(a.out.final_obs, b.out.final_obs, a.info.obs_size);
    assert_memory_equal(a.out.reward, b.out.reward, N * sizeof(float));
  }
  assert_fails(mm_wrap_step_part(parts, 0, 63, b.action, &b.out), MM_ERR_INPUT, "blocks of 64");
  assert_fails(mm_wrap_step_part(parts, 1, 64, b.action, &b.out), MM_ERR_INPUT, "blocks of 64");
  assert_fails(mm_wrap_scale_part(parts, 64, 192, &b.out), MM_ERR_INPUT, "blocks of 64");
  mm_wrap_destroy(whole);
  mm_wrap_destroy(parts);
  rig_close(&a);
  rig_close(&b);
}

static void test_state(void **state) {
  (void)state;
  rig a = open_rig("Pendulum-v1"), b = open_rig("Pendulum-v1");
  mm_wrap *first = open_wrap(&a, (mm_wrap_config){ .gamma = 0.99 });
  mm_wrap *second = open_wrap(&b, (mm_wrap_config){ .gamma = 0.99 });
  size_t size = mm_wrap_state_size(first), vec_size = mm_vec_kept_size(a.vec);
  double *bytes = zeroed(size, 1), *again = zeroed(size, 1);
  void *vec_bytes = zeroed(vec_size, 1);
  mm_wrap_log log[2];
  assert_ok(mm_wrap_reset(first, &a.out));
  for (uint64_t t = 0; t < 230; t++)
    wrapped_step(&a, first, t);
  mm_wrap_save(first, bytes);
  mm_vec_keep(a.vec, vec_bytes);
  assert_ok(mm_wrap_load(second, bytes, size));
  assert_ok(mm_vec_take_up(b.vec, vec_bytes, vec_size));
  mm_wrap_save(second, again);
  assert_memory_equal(bytes, again, size);
  mm_wrap_observe(second, b.out.obs);
  assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
  for (uint64_t t = 230; t < 430; t++) {
    wrapped_step(&a, first, t);
    wrapped_step(&b, second, t);
    assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
    assert_memory_equal(a.out.reward, b.out.reward, N * sizeof(float));
  }
  mm_wrap_read_log(first, &log[0]);
  mm_wrap_read_log(second, &log[1]);
  assert_memory_equal(&log[0], &log[1], sizeof log[0]);
  assert_int_equal(log[0].episodes, 2 * N);

  assert_fails(mm_wrap_load(second, bytes, size - 1), MM_ERR_INPUT, "bytes: expected");
  // any number of it that is not finite, a variance below zero, a count below the first
  for (size_t k = 0; k < 2 + 2 * K + 2 + 3; k++) {
    memcpy(again, bytes, size);
    again[k] = NAN;
    assert_fails(mm_wrap_load(second, again, size), MM_ERR_INPUT, "can come to");
  }
  memcpy(again, bytes, size);
  again[2 + K] = -1e-3;
  assert_fails(mm_wrap_load(second, again, size), MM_ERR_INPUT, "can come to");
  memcpy(again, bytes, size);
  again[1] = 0;
  assert_fails(mm_wrap_load(second, again, size), MM_ERR_INPUT, "can come to");
  assert_ok(mm_wrap_load(second, bytes, size));
  free(bytes);
  free(again);
  free(vec_bytes);
  mm_wrap_destroy(first);
  mm_wrap_destroy(second);
  rig_close(&a);
  rig_close(&b);
}

static void test_refused(void **state) {
  (void)state;
  mm_wrap *wrap;
  mm_wrap_config config = { .gamma = 0.99 };
  rig lists = rig_open("CartPole-v1", (mm_vec_config){ .n = 2, .obs = MM_OBS_COLUMNS });
  assert_fails(mm_wrap_create(lists.vec, &config, &wrap), MM_ERR_INPUT, "expected FLOATS");
  rig r = open_rig("Pendulum-v1");
  config.gamma = 1.5;
  assert_fails(mm_wrap_create(r.vec, &config, &wrap), MM_ERR_INPUT, "gamma = 1.5");
  config.gamma = NAN;
  assert_fails(mm_wrap_create(r.vec, &config, &wrap), MM_ERR_INPUT, "gamma");
  assert_null(wrap);
  config.gamma = 0.5;
  for (size_t k = 0; k < 2; k++) { // of the two that it needs, one fails
    make_memory_scarce();
    allocations_left = k;
    mm_status status = mm_wrap_create(r.vec, &config, &wrap);
    make_memory_usual();
    assert_int_equal(status, MM_ERR_MEMORY);
    assert_null(wrap);
  }
  // bad actions move nothing, and nothing is counted
  wrap = open_wrap(&r, config);
  assert_ok(mm_wrap_reset(wrap, &r.out));
  const double count = mm_wrap_observations(wrap)->count;
  draw_actions(&r, 0);
  ((float *)r.action)[N - 1] = NAN;
  assert_fails(mm_wrap_step(wrap, r.action, &r.out), MM_ERR_INPUT, "is not finite");
  assert_true(mm_wrap_observations(wrap)->count == count);
  mm_wrap_destroy(wrap);
  rig_close(&r);
  rig_close(&lists);
}

int suite_wrap(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reference), cmocka_unit_test(test_constant), cmocka_unit_test(test_raw),
    cmocka_unit_test(test_log),       cmocka_unit_test(test_parts),    cmocka_unit_test(test_state),
    cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests_name("wrap", tests, NULL, NULL);
}
