// SPDX-License-Identifier: Apache-2.0
// The three ways of autoreset, resets of single environments, states of the public interface,
// bounds and counted episodes, on every built-in environment.

#include <math.h>
#include <pthread.h>

#include "scarce_memory.h"
#include "test.h"
#include "vec_rig.h"

static bool is_grid(const char *id) {
  return strncmp(id, "GridWorld-", 10) == 0;
}

static bool runs_here(const char *id) {
  mm_env *env;
  mm_vec *vec;
  assert_ok(mm_env_open(id, &env));
  mm_vec_config config = mm_vec_config_default();
  bool there_is = mm_vec_create(env, &config, &vec) == MM_OK; // else MuJoCo is missing
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  return there_is;
}

// Every environment that can be listed and opened here, in two forms of observations.
static void for_all(void (*function)(const char *id, mm_obs_form form)) {
  mm_env_info info;
  for (size_t i = 0; mm_env_list(i, &info); i++) {
    mm_env *env;
    if (!runs_here(info.id)) continue;
    assert_ok(mm_env_open(info.id, &env));
    bool switches = mm_env_has_switches(env);
    mm_env_destroy(env);
    function(info.id, MM_OBS_FLOATS);
    function(info.id, switches ? MM_OBS_LIST : MM_OBS_COLUMNS);
  }
}

// Observation i of a buffer in one row, whatever its form.
static void read_row(const rig *r, mm_obs_form form, const void *obs, size_t i, uint32_t *row) {
  const size_t k = (size_t)r->info.entries, n = r->info.n;
  for (size_t j = 0; j < k; j++)
    row[j] = form == MM_OBS_LIST      ? ((const uint16_t *)obs)[i * k + j]
             : form == MM_OBS_COLUMNS ? ((const uint32_t *)obs)[j * n + i]
                                      : ((const uint32_t *)obs)[i * k + j];
}

static void same_row(const rig *a, const void *obs_a, size_t i, const rig *b, const void *obs_b,
                     size_t j, mm_obs_form form) {
  const size_t k = (size_t)a->info.entries;
  uint32_t *row = zeroed(2 * k, sizeof *row);
  read_row(a, form, obs_a, i, row);
  read_row(b, form, obs_b, j, row + k);
  assert_memory_equal(row, row + k, k * sizeof *row);
  free(row);
}

// Action k of lane `lane`, for environment i.
static void put_action(rig *r, size_t i, uint64_t lane, uint64_t k) {
  mm_stream stream = mm_stream_make(98, 0, MM_RNG_ACTION, (uint32_t)lane);
  const size_t width = (size_t)r->info.n_real;
  if (r->info.n_action > 0)
    ((int32_t *)r->action)[i] =
        (int32_t)mm_uniform_int(mm_stream_pair(stream, k), (uint32_t)r->info.n_action);
  for (size_t j = 0; j < width; j++)
    ((float *)r->action)[i * width + j] = mm_uniform_between_f(
        (uint32_t)mm_stream_pair(stream, k * width + j), r->info.low, r->info.high);
}

// ---------------------------------------------------------------------------------------------
// The same episodes in all three ways

enum { N = 3, STEPS = 1100 };

// What same-step autoreset gave at step k.
typedef struct record {
  float reward[N];
  uint8_t end[N];
  void *obs, *final_obs;
} record;

static record *play_same_step(const char *id, mm_obs_form form) {
  record *all = zeroed(STEPS, sizeof *all);
  rig r = rig_open(id, (mm_vec_config){ .n = N, .seed = 5, .obs = form });
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t k = 0; k < STEPS; k++) {
    for (size_t i = 0; i < N; i++)
      put_action(&r, i, i, k);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    memcpy(all[k].reward, r.out.reward, sizeof all[k].reward);
    memcpy(all[k].end, r.out.end, sizeof all[k].end);
    all[k].obs = zeroed(r.info.obs_size, 1);
    all[k].final_obs = zeroed(r.info.obs_size, 1);
    memcpy(all[k].obs, r.out.obs, r.info.obs_size);
    memcpy(all[k].final_obs, r.out.final_obs, r.info.obs_size);
  }
  rig_close(&r);
  return all;
}

static void forget(record *all) {
  for (size_t k = 0; k < STEPS; k++) {
    free(all[k].obs);
    free(all[k].final_obs);
  }
  free(all);
}

// An environment that follows the record.
typedef struct follower {
  uint64_t k; // its step
  bool ended;
  double ret;
  uint32_t length, number;
} follower;

// After a step: what the record has, and at an end the last observation.
static void follow(const rig *r, size_t i, follower *f, const record *all, mm_obs_form form) {
  const record *then = &all[f->k++];
  const mm_episode *last = &mm_vec_episodes(r->vec)[i];
  f->ended = r->out.end[i] != 0;
  assert_true(r->out.reward[i] == then->reward[i]);
  assert_int_equal(r->out.end[i], then->end[i]);
  same_row(r, r->out.obs, i, r, f->ended ? then->final_obs : then->obs, i, form);
  if (f->ended) same_row(r, r->out.final_obs, i, r, then->final_obs, i, form);
  f->ret += (double)r->out.reward[i];
  f->length++;
  if (f->ended) {
    assert_true(last->ret == f->ret);
    assert_int_equal(last->length, f->length);
    f->ret = f->length = 0;
    f->number++;
  }
  assert_int_equal(last->number, f->number);
}

// The step after an end has shown the start of the next episode.
static void begin(const rig *r, size_t i, follower *f, const record *all, mm_obs_form form) {
  same_row(r, r->out.obs, i, r, all[f->k - 1].obs, i, form);
  f->ended = false;
}

static void check_next_step(const char *id, mm_obs_form form, const record *all) {
  rig r = rig_open(
      id,
      (mm_vec_config){
          .n = N, .seed = 5, .obs = form, .autoreset = MM_AUTORESET_NEXT_STEP, .episodes = true });
  follower f[N] = { 0 };
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t k = 0; k < STEPS; k++) {
    for (size_t i = 0; i < N; i++)
      put_action(&r, i, i, f[i].k);
    assert_ok(mm_vec_step_part(r.vec, 1, N, r.action, &r.out));
    assert_ok(mm_vec_step_part(r.vec, 0, 1, r.action, &r.out));
    for (size_t i = 0; i < N; i++) {
      if (f[i].ended) {
        begin(&r, i, &f[i], all, form);
        assert_true(r.out.reward[i] == 0 && r.out.end[i] == 0);
      } else {
        follow(&r, i, &f[i], all, form);
      }
    }
  }
  rig_close(&r);
}

static void check_disabled(const char *id, mm_obs_form form, const record *all) {
  rig r = rig_open(
      id,
      (mm_vec_config){
          .n = N, .seed = 5, .obs = form, .autoreset = MM_AUTORESET_DISABLED, .episodes = true });
  mm_vec_out no_final = r.out;
  follower f[N] = { 0 };
  uint8_t mask[N];
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t k = 0; k < STEPS; k++) {
    bool any = false;
    for (size_t i = 0; i < N; i++) {
      put_action(&r, i, i, f[i].k);
      mask[i] = f[i].ended;
      any |= f[i].ended;
    }
    if (any) {
      assert_fails(mm_vec_step(r.vec, r.action, &r.out), MM_ERR_INPUT, "has ended");
      no_final.obs = r.out.obs;
      assert_ok(mm_vec_reset_where(r.vec, mask, NULL, &no_final));
    }
    for (size_t i = 0; i < N; i++)
      if (mask[i]) begin(&r, i, &f[i], all, form);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < N; i++)
      follow(&r, i, &f[i], all, form);
  }
  rig_close(&r);
}

static void check_ways(const char *id, mm_obs_form form) {
  record *all = play_same_step(id, form);
  check_next_step(id, form, all);
  check_disabled(id, form, all);
  forget(all);
}

static void test_ways(void **state) {
  (void)state;
  for_all(check_ways);
}

// Where the next step begins an episode, whatever stands there as action is fine, elsewhere not.
static void test_action_of_none(void **state) {
  (void)state;
  static const char *const id[] = { "CartPole-v1", "MountainCarContinuous-v0" };
  for (int k = 0; k < 2; k++) {
    mm_vec_config config = { .n = 2, .seed = 5, .autoreset = MM_AUTORESET_NEXT_STEP };
    rig r = rig_open(id[k], config);
    const int32_t bad = -1;
    const float nan = NAN;
    uint64_t t = 0;
    assert_ok(mm_vec_reset(r.vec, &r.out));
    do {
      put_action(&r, 0, 0, 0), put_action(&r, 1, 0, t++);
      assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    } while (!r.out.end[0] && !r.out.end[1]);
    const size_t ended = r.out.end[0] ? 0 : 1, other = 1 - ended;
    const bool both = r.out.end[other] != 0;
    const void *const wrong = k == 0 ? (const void *)&bad : &nan;
    memcpy((char *)r.action + 4 * ended, wrong, 4);
    put_action(&r, other, 0, 1);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    assert_int_equal(r.out.end[ended], 0);
    assert_true(r.out.reward[ended] == 0);
    assert_true(both || r.out.reward[other] != 0 || k == 1);
    memcpy((char *)r.action + 4 * ended, wrong, 4);
    assert_fails(mm_vec_step(r.vec, r.action, &r.out), MM_ERR_INPUT, "action[");
    rig_close(&r);
  }
}

// ---------------------------------------------------------------------------------------------
// Seeds of their own

static void step_lanes(rig *r, const uint64_t *lane, uint64_t k) {
  for (size_t i = 0; i < r->info.n; i++)
    put_action(r, i, lane[i], k);
  assert_ok(mm_vec_step(r->vec, r->action, &r->out));
}

// Environment i of one as environment j of the other.
static void same_lane(const rig *a, size_t i, const rig *b, size_t j, mm_obs_form form) {
  assert_true(a->out.reward[i] == b->out.reward[j]);
  assert_int_equal(a->out.end[i], b->out.end[j]);
  same_row(a, a->out.obs, i, b, b->out.obs, j, form);
  if (a->out.end[i]) same_row(a, a->out.final_obs, i, b, b->out.final_obs, j, form);
}

// Environments 1 and 3 of four get seeds; the others do not notice.
static void check_seeds(const char *id, mm_obs_form form) {
  enum { FOUR = 4, BEFORE = 30, AFTER = 600 };
  static const uint8_t mask[FOUR] = { 0, 1, 0, 255 };
  static const uint64_t seed[FOUR] = { 1, 77, 2, (uint64_t)1 << 63 }, lane[FOUR] = { 0, 7, 2, 8 };
  mm_vec_config config = { .n = FOUR, .seed = 5, .obs = form };
  rig r = rig_open(id, config), whole = rig_open(id, config), alone[2];
  assert_ok(mm_vec_reset(r.vec, &r.out));
  assert_ok(mm_vec_reset(whole.vec, &whole.out));
  for (uint64_t k = 0; k < BEFORE; k++) {
    step_lanes(&r, lane, k);
    step_lanes(&whole, lane, k);
  }
  assert_ok(mm_vec_reset_where(r.vec, mask, seed, &r.out));
  for (size_t a = 0; a < 2; a++) {
    config.n = 1;
    config.seed = is_grid(id) ? 5 : seed[2 * a + 1]; // of a family the instance stays
    alone[a] = rig_open(id, config);
    assert_ok(mm_vec_reset_where(alone[a].vec, NULL, is_grid(id) ? &seed[2 * a + 1] : NULL,
                                 &alone[a].out));
    same_row(&r, r.out.obs, 2 * a + 1, &alone[a], alone[a].out.obs, 0, form);
  }
  for (uint64_t k = BEFORE; k < BEFORE + AFTER; k++) {
    step_lanes(&r, lane, k);
    step_lanes(&whole, lane, k);
    for (size_t a = 0; a < 2; a++) {
      step_lanes(&alone[a], &lane[2 * a + 1], k);
      same_lane(&r, 2 * a + 1, &alone[a], 0, form);
      same_lane(&r, 2 * a, &whole, 2 * a, form);
    }
  }
  // a reset of all forgets them
  assert_ok(mm_vec_reset(r.vec, &r.out));
  assert_ok(mm_vec_reset(whole.vec, &whole.out));
  assert_memory_equal(r.out.obs, whole.out.obs, r.info.obs_size);
  rig_close(&r);
  rig_close(&whole);
  rig_close(&alone[0]);
  rig_close(&alone[1]);
}

static void test_seeds(void **state) {
  (void)state;
  for_all(check_seeds);
}

// Without a seed the next episode begins, and its time from 0.
static void test_reset_running(void **state) {
  (void)state;
  enum { TWO = 2 };
  static const uint8_t first[TWO] = { 1, 0 };
  static const uint64_t lane[TWO] = { 0, 1 };
  rig r = rig_open("Pendulum-v1", (mm_vec_config){ .n = TWO, .episodes = true });
  rig whole = rig_open("Pendulum-v1", (mm_vec_config){ .n = TWO });
  const mm_episode *last = mm_vec_episodes(r.vec);
  assert_null(mm_vec_episodes(whole.vec));
  assert_fails(mm_vec_reset_where(r.vec, first, NULL, &r.out), MM_ERR_INPUT, "never reset");
  assert_ok(mm_vec_reset_where(r.vec, NULL, NULL, &r.out));
  assert_ok(mm_vec_reset(whole.vec, &whole.out));
  for (uint64_t k = 0; k < 250; k++) {
    if (k == 50) {
      float before[6];
      memcpy(before, r.out.obs, sizeof before);
      assert_ok(mm_vec_reset_where(r.vec, first, NULL, &r.out));
      assert_memory_not_equal(before, r.out.obs, 3 * sizeof(float));
      assert_memory_equal(before + 3, (float *)r.out.obs + 3, 3 * sizeof(float));
      mm_vec_out none = { 0 };
      assert_fails(mm_vec_reset_where(r.vec, first, NULL, &none), MM_ERR_INPUT, "obs");
    }
    step_lanes(&r, lane, k);
    step_lanes(&whole, lane, k);
    same_lane(&r, 1, &whole, 1, MM_OBS_FLOATS);
    assert_int_equal(r.out.end[0] != 0, k == 249);
    assert_int_equal(r.out.end[1] != 0, k == 199);
  }
  assert_int_equal(last[0].length, 200);
  assert_int_equal(last[0].number, 1);
  assert_int_equal(last[1].length, 200);
  rig_close(&r);
  rig_close(&whole);
}

// ---------------------------------------------------------------------------------------------
// States

static mm_vec_config state_config(mm_obs_form form, int way) {
  return (mm_vec_config){ .n = N,
                          .seed = 6,
                          .obs = form,
                          .autoreset = (mm_autoreset)way,
                          .episodes = way != MM_AUTORESET_NEXT_STEP };
}

static void step_any(rig *r, uint64_t k, mm_autoreset way) {
  static const uint64_t lane[N] = { 0, 1, 2 };
  if (way == MM_AUTORESET_DISABLED && k > 0)
    assert_ok(mm_vec_reset_where(r->vec, r->out.end, NULL, &r->out));
  step_lanes(r, lane, k);
}

static void same_step(const rig *a, const rig *b) {
  const mm_episode *e = mm_vec_episodes(a->vec);
  assert_memory_equal(a->out.obs, b->out.obs, a->info.obs_size);
  assert_memory_equal(a->out.reward, b->out.reward, N * sizeof(float));
  assert_memory_equal(a->out.end, b->out.end, N);
  if (e) assert_memory_equal(e, mm_vec_episodes(b->vec), N * sizeof *e);
}

// Saved with and without seeds of their own, and loaded by a vec that was somewhere else.
static void check_state(const char *id, mm_obs_form form) {
  static const uint64_t seed[N] = { 9, 8, 7 };
  static const uint8_t mask[N] = { 0, 1, 1 };
  for (int way = MM_AUTORESET_SAME_STEP; way <= MM_AUTORESET_DISABLED; way++) {
    rig a = rig_open(id, state_config(form, way)), b = rig_open(id, state_config(form, way));
    assert_ok(mm_vec_reset(a.vec, &a.out));
    for (uint64_t k = 0; k < 420; k++) {
      if (k == 250) {
        assert_ok(mm_vec_reset_where(a.vec, mask, seed, &a.out));
        memset(a.out.end, 0, N);
      }
      if (k % 60 == 10) {
        size_t size = mm_vec_state_size(a.vec);
        void *bytes = zeroed(size, 1), *again = zeroed(size, 1);
        mm_vec_save(a.vec, bytes);
        assert_ok(mm_vec_load(b.vec, bytes, size));
        assert_int_equal(mm_vec_state_size(b.vec), size);
        mm_vec_save(b.vec, again);
        assert_memory_equal(bytes, again, size);
        memcpy(b.out.end, a.out.end, N);
        free(bytes);
        free(again);
      }
      if (k == 250) assert_ok(mm_vec_reset_where(b.vec, mask, seed, &b.out));
      if (k == 250) memset(b.out.end, 0, N);
      step_any(&a, k, (mm_autoreset)way);
      if (k < 10) continue;
      step_any(&b, k, (mm_autoreset)way);
      same_step(&a, &b);
    }
    rig_close(&a);
    rig_close(&b);
  }
}

static void test_states(void **state) {
  (void)state;
  for_all(check_state);
}

// What does not fit is refused by the name of what differs.
static void refuse_state(mm_vec_config config, const char *id, const char *why) {
  rig from = rig_open("Breakout-MinAtar", (mm_vec_config){ .n = N, .seed = 6 });
  rig to = rig_open(id, config);
  size_t size = mm_vec_state_size(from.vec);
  void *bytes = zeroed(size, 1);
  assert_ok(mm_vec_reset(from.vec, &from.out));
  mm_vec_save(from.vec, bytes);
  assert_fails(mm_vec_load(to.vec, bytes, size), MM_ERR_INPUT, why);
  assert_fails(mm_vec_step(to.vec, to.action, &to.out), MM_ERR_INPUT, "never reset");
  free(bytes);
  rig_close(&from);
  rig_close(&to);
}

static void test_refused_states(void **state) {
  (void)state;
  const mm_vec_config fits = { .n = N, .seed = 6 };
  mm_vec_config other = fits;
  refuse_state(fits, "CartPole-v1", "environment");
  refuse_state(fits, "Asterix-MinAtar", "environment");
  refuse_state(fits, "GridWorld-dense", "environment");
  refuse_state(fits, "MinAtar/Breakout-v1", "rules");
  other.seed = 7;
  refuse_state(other, "Breakout-MinAtar", "seed: 0x6: expected 0x7");
  other = fits;
  other.n = 2;
  refuse_state(other, "Breakout-MinAtar", "n: 0x3: expected 0x2");
  other = fits;
  other.autoreset = MM_AUTORESET_NEXT_STEP;
  refuse_state(other, "Breakout-MinAtar", "autoreset");
  other = fits;
  other.episodes = true;
  refuse_state(other, "Breakout-MinAtar", "episodes");
}

// States of version 1 named the environment by its place in a list: MinAtar's second game.
static void test_older_states(void **state) {
  (void)state;
  const uint64_t older[2] = { 0x6d6d766563000001u, 256 * 2 + 1 };
  const mm_vec_config config = { .n = N, .seed = 6 };
  rig a = rig_open("Breakout-MinAtar", config), b = rig_open("Breakout-MinAtar", config);
  rig other = rig_open("Asterix-MinAtar", config);
  size_t size = mm_vec_state_size(a.vec);
  char *bytes = zeroed(size, 1);
  assert_ok(mm_vec_reset(a.vec, &a.out));
  mm_vec_save(a.vec, bytes);
  memcpy(bytes, older, sizeof older);
  assert_ok(mm_vec_load(b.vec, bytes, size));
  assert_ok(mm_vec_observe(b.vec, b.out.obs));
  assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
  assert_fails(mm_vec_load(other.vec, bytes, size), MM_ERR_INPUT,
               "environment: 0x201: expected 0x200");
  free(bytes);
  rig_close(&a);
  rig_close(&b);
  rig_close(&other);
}

static void test_damaged_states(void **state) {
  (void)state;
  rig r = rig_open("Breakout-MinAtar", state_config(MM_OBS_FLOATS, MM_AUTORESET_NEXT_STEP));
  size_t size = mm_vec_state_size(r.vec);
  unsigned char *bytes = zeroed(size, 1);
  assert_fails(mm_vec_observe(r.vec, r.out.obs), MM_ERR_INPUT, "never reset");
  assert_ok(mm_vec_reset(r.vec, &r.out));
  mm_vec_save(r.vec, bytes);
  assert_fails(mm_vec_load(r.vec, bytes, 7), MM_ERR_INPUT, "7 bytes: expected");
  assert_fails(mm_vec_observe(r.vec, r.out.obs), MM_ERR_INPUT, "never reset");
  assert_fails(mm_vec_load(r.vec, bytes, size - 1), MM_ERR_INPUT, "bytes: expected");
  bytes[0] ^= 7; // the version
  assert_fails(mm_vec_load(r.vec, bytes, size), MM_ERR_INPUT, "format");
  bytes[0] ^= 7;
  bytes[size - 1] = 2; // neither ended nor not
  assert_fails(mm_vec_load(r.vec, bytes, size), MM_ERR_INPUT, "can come to");
  assert_fails(mm_vec_step(r.vec, r.action, &r.out), MM_ERR_INPUT, "never reset");
  bytes[size - 1] = 0;
  assert_ok(mm_vec_load(r.vec, bytes, size));
  assert_ok(mm_vec_step(r.vec, r.action, &r.out));
  // bytes changed anywhere: refused, or harmless
  mm_stream stream = mm_stream_make(3, 0, MM_RNG_SHUFFLE, 0);
  for (uint64_t k = 0; k < 3000; k++) {
    size_t at = mm_uniform_int(mm_stream_pair(stream, k), (uint32_t)size);
    unsigned char before = bytes[at];
    bytes[at] ^= (unsigned char)(1u << (k & 7));
    if (mm_vec_load(r.vec, bytes, size) == MM_OK) assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    bytes[at] = before;
  }
  free(bytes);
  rig_close(&r);
}

// ---------------------------------------------------------------------------------------------
// Config, bounds, memory, threads

static void test_config(void **state) {
  (void)state;
  mm_env *env;
  mm_vec *vec;
  mm_vec_info info;
  mm_vec_config config = mm_vec_config_default();
  assert_ok(mm_env_open("CartPole-v1", &env));
  assert_int_equal(config.size, sizeof config);
  config.size = 0;
  assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, "size = 0");
  config.size = sizeof config + 1;
  assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, "mm_vec_config_default");
  config = mm_vec_config_default();
  config.autoreset = (mm_autoreset)3;
  assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, "autoreset");
  // a program that knows no more than seeds: what lies behind its config does not count
  config.size = offsetof(mm_vec_config, repeat);
  config.n = 2;
  assert_ok(mm_vec_create(env, &config, &vec));
  mm_vec_describe(vec, &info);
  assert_int_equal(info.n, 2);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
}

static void check_bounds(const char *id, mm_obs_form form) {
  static const uint64_t lane[N] = { 0, 1, 2 };
  if (form != MM_OBS_FLOATS) return;
  rig r = rig_open(id, (mm_vec_config){ .n = N, .seed = 1 });
  const size_t k = (size_t)r.info.n_input;
  float *low = zeroed(2 * k, sizeof *low), *high = low + k;
  mm_vec_obs_bounds(r.vec, low, high);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t t = 0; t < 600; t++) {
    const float *obs = r.out.obs, *last = r.out.final_obs;
    for (size_t i = 0; i < N * k; i++) {
      assert_true(low[i % k] < high[i % k]);
      assert_true(obs[i] >= low[i % k] && obs[i] <= high[i % k]);
      if (r.out.end[i / k]) assert_true(last[i] >= low[i % k] && last[i] <= high[i % k]);
    }
    step_lanes(&r, lane, t);
  }
  float action[2][8] = { { NAN }, { NAN } };
  mm_vec_action_bounds(r.vec, action[0], action[1]);
  assert_int_equal(isnan(action[0][0]) != 0, r.info.n_action > 0);
  for (int32_t j = 0; j < r.info.n_real; j++)
    assert_true(action[0][j] == r.info.low && action[1][j] == r.info.high);
  free(low);
  rig_close(&r);
}

static void test_bounds(void **state) {
  (void)state;
  for_all(check_bounds);
  float low[4], high[4];
  rig r = rig_open("CartPole-v1", (mm_vec_config){ .n = 0 });
  mm_vec_obs_bounds(r.vec, low, high);
  assert_true(fabsf(high[0] - 4.8f) < 1e-6f && low[0] == -high[0]);
  assert_true(low[1] == -INFINITY && high[3] == INFINITY);
  rig_close(&r);
}

// Each allocation fails once: of a creation, of seeds, of a state with seeds.
static void test_memory(void **state) {
  (void)state;
  static const uint64_t seed[N] = { 1, 2, 3 };
  mm_vec_config config = state_config(MM_OBS_FLOATS, MM_AUTORESET_DISABLED);
  rig r = rig_open("CartPole-v1", config), b = rig_open("CartPole-v1", config);
  mm_vec *vec;
  config.size = sizeof config;
  make_memory_scarce();
  allocations_left = 0;
  assert_fails(mm_vec_create(r.env, &config, &vec), MM_ERR_MEMORY, "no memory");
  assert_fails(mm_vec_reset_where(r.vec, NULL, seed, &r.out), MM_ERR_MEMORY, "seeds of 3");
  allocations_left = 1;
  assert_ok(mm_vec_reset_where(r.vec, NULL, seed, &r.out));
  size_t size = mm_vec_state_size(r.vec);
  void *bytes = zeroed(size, 1);
  mm_vec_save(r.vec, bytes);
  assert_fails(mm_vec_load(b.vec, bytes, size), MM_ERR_MEMORY, "seeds of 3");
  assert_fails(mm_vec_step(b.vec, b.action, &b.out), MM_ERR_INPUT, "never reset");
  allocations_left = 1;
  assert_ok(mm_vec_load(b.vec, bytes, size));
  make_memory_usual();
  free(bytes);
  rig_close(&r);
  rig_close(&b);
}

typedef struct half {
  rig *r;
  size_t from, to;
  int failures;
} half;

static void *step_half(void *argument) {
  half *h = argument;
  for (int k = 0; k < 400; k++)
    h->failures += mm_vec_step_part(h->r->vec, h->from, h->to, h->r->action, &h->r->out) != MM_OK;
  return NULL;
}

// Two threads, each with its part, in all ways that step on after an end.
static void test_threads(void **state) {
  (void)state;
  enum { MANY = 300 };
  static const uint64_t seeds[MANY] = { 4 };
  for (int way = MM_AUTORESET_SAME_STEP; way <= MM_AUTORESET_NEXT_STEP; way++) {
    mm_vec_config config = { .n = MANY, .autoreset = (mm_autoreset)way, .episodes = true };
    rig a = rig_open("Acrobot-v1", config), b = rig_open("Acrobot-v1", config);
    assert_ok(mm_vec_reset_where(a.vec, NULL, seeds, &a.out));
    assert_ok(mm_vec_reset_where(b.vec, NULL, seeds, &b.out));
    half part[2] = { { &a, 0, 111, 0 }, { &a, 111, MANY, 0 } }, all = { &b, 0, MANY, 0 };
    pthread_t thread;
    draw_actions(&a, 0);
    draw_actions(&b, 0);
    assert_int_equal(pthread_create(&thread, NULL, step_half, &part[0]), 0);
    step_half(&part[1]);
    pthread_join(thread, NULL);
    step_half(&all);
    assert_int_equal(part[0].failures + part[1].failures + all.failures, 0);
    assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
    assert_memory_equal(mm_vec_episodes(a.vec), mm_vec_episodes(b.vec), MANY * sizeof(mm_episode));
    rig_close(&a);
    rig_close(&b);
  }
}

int suite_vec_autoreset(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_ways),           cmocka_unit_test(test_seeds),
    cmocka_unit_test(test_reset_running),  cmocka_unit_test(test_states),
    cmocka_unit_test(test_action_of_none), cmocka_unit_test(test_refused_states),
    cmocka_unit_test(test_older_states),   cmocka_unit_test(test_damaged_states),
    cmocka_unit_test(test_config),         cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_memory),         cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests_name("vec_autoreset", tests, NULL, NULL);
}
