// SPDX-License-Identifier: Apache-2.0
// All bodies: observation, reward, end and start by hand, the vector layer on
// every engine that is here, and each step against the MuJoCo library where it is.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>

#ifdef HAVE_MUJOCO
#include <mujoco/mujoco.h>

#include "base/data_folder.h"
#endif

#include "body_rig.h"
#include "env/locomotion/ant.h"
#include "env/locomotion/half_cheetah.h"
#include "env/locomotion/hopper.h"
#include "env/locomotion/walker2d.h"
#include "scarce_memory.h"

static void close_to(double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance))
    fail_msg("found %.9g, expected %.9g", found, expected);
}

// ---------------------------------------------------------------------------------------------
// By hand. States are columns two apart, with the other one not to be touched.

enum { STRIDE = 2 };

static void fill(float *column, const float *value, int n) {
  for (int k = 0; k < n; k++) {
    column[k * STRIDE] = value[k];
    column[k * STRIDE + 1] = NAN;
  }
}

static void test_hopper_by_hand(void **state) {
  (void)state;
  float q[12], v[12], obs[11];
  fill(q, (float[]){ 7, -0.05f, 0.1f, -0.2f, -0.3f, 0.4f }, 6);
  fill(v, (float[]){ 1, -2, 3, 11, -12, 9.5f }, 6);
  mm_hopper_observe(q, v, STRIDE, 1.25f, obs, 1);
  const double seen[11] = { 1.2, 0.1, -0.2, -0.3, 0.4, 1, -2, 3, 10, -10, 9.5 };
  for (int k = 0; k < 11; k++)
    close_to((double)obs[k], seen[k], 1e-6);
  // 0.016 in 0.008 s, and 0.001 (1 + 0.25 + 0)
  close_to((double)mm_hopper_reward(0.016f, (float[]){ 1, -0.5f, 0 }), 2 + 1 - 0.00125, 1e-6);

  assert_true(mm_hopper_healthy(q, v, STRIDE, 1.25f));
  const struct {
    int k; // coordinate, or 6 + velocity
    float value;
    bool good;
  } cases[] = {
    { 1, -0.5499f, true },   { 1, -0.5501f, false }, { 2, 0.1999f, true }, { 2, 0.2f, false },
    { 2, -0.1999f, true },   { 2, -0.2f, false },    { 3, 99.9f, true },   { 3, 100, false },
    { 5, -100, false },      { 6, 99.9f, true },     { 6, 100, false },    { 9, -100, false },
    { 0, 1e9f, true },       { 1, 1000, true },      { 4, NAN, false },    { 7, NAN, false },
    { 2, -INFINITY, false },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    float *at = cases[i].k < 6 ? &q[cases[i].k * STRIDE] : &v[(cases[i].k - 6) * STRIDE];
    float before = *at;
    *at = cases[i].value;
    if (!!mm_hopper_healthy(q, v, STRIDE, 1.25f) != cases[i].good)
      fail_msg("case %zu: number %d = %g", i, cases[i].k, (double)cases[i].value);
    *at = before;
  }
  // Gymnasium's coordinate is the height itself
  q[STRIDE] = 0.701f;
  assert_true(mm_hopper_healthy(q, v, STRIDE, 0));
  q[STRIDE] = 0.7f;
  assert_false(mm_hopper_healthy(q, v, STRIDE, 0));
}

static void test_half_cheetah_by_hand(void **state) {
  (void)state;
  float q[18], v[18], obs[17 * 3];
  fill(q, (float[]){ 5, -0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f }, 9);
  fill(v, (float[]){ 11, 12, 13, 14, 15, 16, 17, 18, -190 }, 9);
  mm_half_cheetah_observe(q, v, STRIDE, 0.7f, obs, 3);
  const double seen[17] = { -0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 11,
                            12,   13,  14,  15,  16,  17,  18,  -190 };
  for (int k = 0; k < 17; k++)
    close_to((double)obs[3 * k], seen[k], 1e-6);
  // backwards 0.1 in 0.05 s, 0.1 (1 + 1 + 0.25)
  close_to((double)mm_half_cheetah_reward(-0.1f, (float[]){ 1, 0, 0, -1, 0.5f, 0 }), -2 - 0.225,
           1e-6);
}

static void test_ant_by_hand(void **state) {
  (void)state;
  float q[30], v[28], obs[27], value[15];
  for (int k = 0; k < 15; k++)
    value[k] = (float)k;
  fill(q, value, 15);
  fill(v, value, 14);
  mm_ant_observe(q, v, STRIDE, 0, obs, 1);
  for (int k = 0; k < 13; k++)
    close_to((double)obs[k], k + 2, 0);
  for (int k = 0; k < 14; k++)
    close_to((double)obs[13 + k], k, 0);
  const float action[8] = { 1, -1, 0.5f, 0, 0, 0, 0, 0 };
  close_to((double)mm_ant_reward(0.05f, action), 1 + 1 - 0.5 * 2.25, 1e-6);
  const float heights[] = { 0.2f, 1.0f, 0.19999f, 1.00001f, NAN };
  for (int k = 0; k < 5; k++) {
    q[2 * STRIDE] = heights[k];
    assert_int_equal(!!mm_ant_healthy(q, v, STRIDE, 0), k < 2);
  }
}

static void test_walker2d_by_hand(void **state) {
  (void)state;
  float q[9 * STRIDE], v[9 * STRIDE], obs[17];
  for (int k = 0; k < 9; k++) {
    q[k * STRIDE] = 0.1f * (float)k;
    v[k * STRIDE] = (float)(3 * k - 12);
  }
  mm_walker2d_observe(q, v, STRIDE, 1.25f, obs, 1);
  close_to((double)obs[0], 1.35, 1e-6);
  for (int k = 1; k < 8; k++)
    close_to((double)obs[k], 0.1 * (k + 1), 1e-6);
  for (int k = 0; k < 9; k++)
    close_to((double)obs[8 + k], fmin(fmax(3 * k - 12, -10), 10), 0);
  const float action[6] = { 1, -0.5f, 0, 0, 0, 0 };
  close_to((double)mm_walker2d_reward(0.016f, action), 2 + 1 - 0.00125, 1e-6);
  static const struct {
    float z, pitch;
    bool good;
  } cases[] = { { 0, 0, true },       { -0.4499f, 0.99f, true }, { -0.4501f, 0, false },
                { 0.7499f, 0, true }, { 0.7501f, 0, false },     { 0, 1, false },
                { 0, -0.99f, true },  { 0, -1, false },          { NAN, 0, false },
                { 0, NAN, false } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    q[STRIDE] = cases[i].z;
    q[2 * STRIDE] = cases[i].pitch;
    if (!!mm_walker2d_healthy(q, v, STRIDE, 1.25f) != cases[i].good) fail_msg("case %zu", i);
  }
}

static void test_clip(void **state) {
  (void)state;
  assert_true(mm_bodies_clip(3) == 1 && mm_bodies_clip(-1e30f) == -1);
  assert_true(mm_bodies_clip(-0.3f) == -0.3f && mm_bodies_clip(NAN) == 0);
}

// The bounds, mean and spread of the noise: of 4000 starts each number on its own.
static void test_starts(void **state) {
  (void)state;
  enum { STARTS = 4000 };
  static const struct {
    int nq, nv;
    double q, v; // of the noise, which is uniform
    bool normal; // of velocities
    void (*reset)(float *, float *, size_t, const float *, const mm_bodies_draws *);
  } laws[] = { { 6, 6, 0.005, 0.005, false, mm_hopper_reset },
               { 9, 9, 0.1, 0.1, true, mm_half_cheetah_reset },
               { 15, 14, 0.1, 0.1, true, mm_ant_reset },
               { 9, 9, 0.005, 0.005, false, mm_walker2d_reset } };
  for (int body = 0; body < MM_BODY_COUNT; body++) {
    float start[15], q[15], v[14];
    double sum[29] = { 0 }, square[29] = { 0 }, far = 0;
    const int nq = laws[body].nq, nv = laws[body].nv;
    for (int k = 0; k < 15; k++)
      start[k] = (float)mm_body_describe((mm_body)body)->start[0][k];
    for (uint64_t e = 0; e < STARTS; e++) {
      mm_bodies_draws d = mm_bodies_draw(mm_stream_make(1, 2, MM_RNG_ENV_RESET, 3), e);
      laws[body].reset(q, v, 1, start, &d);
      double length = 0;
      for (int k = 0; k < nq + nv; k++) {
        double x = k < nq ? (double)q[k] - (double)start[k] : (double)v[k - nq];
        bool turned = body == MM_BODY_ANT && k >= 3 && k < 7; // normalised afterwards
        if (turned) length += (double)q[k] * (double)q[k];
        if (k < nq && !turned) assert_true(fabs(x) <= laws[body].q * 1.0001);
        if (k >= nq && !laws[body].normal) assert_true(fabs(x) <= laws[body].v * 1.0001);
        if (k >= nq) far = fmax(far, fabs(x));
        sum[k] += x;
        square[k] += x * x;
      }
      if (body == MM_BODY_ANT) close_to(length, 1, 1e-6);
    }
    for (int k = 0; k < nq + nv; k++) {
      if (body == MM_BODY_ANT && k >= 3 && k < 7) continue;
      const bool normal = k >= nq && laws[body].normal;
      const double sd = normal ? laws[body].v : laws[body].q / sqrt(3.0);
      close_to(sum[k] / STARTS, 0, 5 * sd / sqrt(STARTS));
      close_to(sqrt(square[k] / STARTS) / sd, 1, 5 / sqrt(STARTS));
    }
    if (laws[body].normal) assert_true(far > 3 * laws[body].v); // normal, not uniform
  }
}

// ---------------------------------------------------------------------------------------------
// Through the vector layer

static void check_shape(const body_id *id, mm_env_physics physics) {
  static const int inputs[] = { 11, 17, 27, 17 }, motors[] = { 3, 6, 8, 6 };
  rig r = rig_open(id->id, (mm_vec_config){ .n = 5, .seed = 8, .physics = physics });
  const mm_physics *p = r.vec->physics;
  assert_int_equal(r.info.n_input, inputs[id->body]);
  assert_int_equal(r.info.n_real, motors[id->body]);
  assert_int_equal(r.info.n_action, 0);
  assert_int_equal(r.info.limit, 1000);
  assert_true(r.info.low == -1 && r.info.high == 1);
  assert_int_equal(p->config.flavour, id->flavour);
  assert_false(mm_env_has_switches(r.env));
  assert_string_equal(mm_vec_physics(r.vec), physics == MM_ENV_PHYSICS_OWN ? "own" : "mujoco");
  assert_ok(mm_vec_reset(r.vec, &r.out));
  const float *obs = r.out.obs;
  static const double heights[MM_BODY_COUNT][2] = {
    { 1.25, 1.25 }, { 0, 0 }, { 0.55, 0.75 }, { 1.25, 1.25 }
  };
  const double height = heights[id->body][id->flavour];
  const double noise = height > 1 ? 0.005 : 0.1;
  for (int i = 0; i < 5; i++)
    close_to((double)obs[i * r.info.n_input], height, noise + 1e-6);
  if (id->body == MM_BODY_ANT) { // ankles
    static const double ankle[4] = { 1, -1, -1, 1 };
    for (int leg = 0; leg < 4; leg++)
      close_to((double)obs[6 + 2 * leg], id->flavour == MM_FLAVOUR_BRAX ? ankle[leg] : 0, 0.1001);
  }
  rig_close(&r);
}

static void test_shape(void **state) {
  (void)state;
  body_each(check_shape);
}

// Step by step: the reward of where the body came to, ends by the rules, what follows an end.
static void check_steps(const body_id *id, mm_env_physics physics) {
  enum { N = 6, T = 80 };
  rig r = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 2, .physics = physics });
  mm_physics *p = r.vec->physics;
  const size_t k = (size_t)r.info.n_input, nu = (size_t)r.info.n_real;
  float first[N][27];
  const float *obs = r.out.obs, *final_obs = r.out.final_obs, *action = r.action;
  const double dt = p->info->h * p->info->substeps;
  int ends = 0;
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (size_t i = 0; i < N; i++)
    memcpy(first[i], obs + i * k, k * sizeof(float));
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&r, t);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < N; i++) {
      double cost = 0;
      for (size_t j = 0; j < nu; j++) {
        double a = fmin(fmax((double)action[i * nu + j], -1), 1);
        cost += a * a;
      }
      const float *seen = r.out.end[i] ? final_obs + i * k : obs + i * k;
      const double *weight =
          (const double[][2]){ { 1, 0.001 }, { 0, 0.1 }, { 1, 0.5 }, { 1, 0.001 } }[id->body];
      const bool healthy = (const bool[]){ seen[0] > 0.7f && fabsf(seen[1]) < 0.2f, true,
                                           seen[0] >= 0.2f && seen[0] <= 1,
                                           seen[0] > 0.8f && fabsf(seen[1]) < 1 }[id->body];
      assert_int_equal(r.out.end[i], healthy ? 0 : MM_END_TERMINATED);
      if (r.out.end[i]) { // the next episode starts where the first did
        ends++;
        assert_memory_equal(obs + i * k, first[i], k * sizeof(float));
      } else {
        double way = (double)p->q[i] + (p->xpos_offset ? (double)p->xpos_offset[i] : 0);
        close_to((double)r.out.reward[i], way / dt + weight[0] - weight[1] * cost, 1e-4);
      }
    }
  }
  assert_true(ends > 0 || id->body == MM_BODY_HALF_CHEETAH);
  assert_int_equal(mm_vec_unstable(r.vec), 0);
  rig_close(&r);
}

static void test_steps(void **state) {
  (void)state;
  body_each(check_steps);
}

// fresh_reset: other starts, those that an environment's stream names.
static void check_fresh(const body_id *id, mm_env_physics physics) {
  enum { N = 4 };
  if (id->body == MM_BODY_HALF_CHEETAH) return; // its episodes take a thousand steps: test_limit
  rig r = rig_open(id->id,
                   (mm_vec_config){ .n = N, .seed = 5, .physics = physics, .fresh_reset = true });
  mm_physics *p = r.vec->physics;
  uint64_t episode[N] = { 0 };
  float q[15], v[14];
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t t = 0; t < 120; t++) {
    draw_actions(&r, t);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < N; i++) {
      if (!r.out.end[i]) continue;
      float start[15];
      for (int j = 0; j < 15; j++)
        start[j] = (float)p->info->start[id->flavour][j];
      mm_stream stream = mm_stream_make(5, 0, MM_RNG_ENV_RESET, (uint32_t)i);
      mm_bodies_draws d = mm_bodies_draw(stream, ++episode[i]);
      (id->body == MM_BODY_HOPPER ? mm_hopper_reset
       : id->body == MM_BODY_ANT  ? mm_ant_reset
                                  : mm_walker2d_reset)(q, v, 1, start, &d);
      for (int j = 0; j < p->info->nq; j++)
        assert_true(p->q[(size_t)j * p->stride + i] == q[j]);
      for (int j = 0; j < p->info->nv; j++)
        assert_true(p->v[(size_t)j * p->stride + i] == v[j]);
    }
  }
  assert_true(episode[0] + episode[1] + episode[2] + episode[3] > 2);
  rig_close(&r);
}

static void test_fresh(void **state) {
  (void)state;
  body_each(check_fresh);
}

// A thousand steps end an episode that nothing else does; both flags can be set.
static void check_limit(const body_id *id, mm_env_physics physics) {
  enum { N = 2 };
  rig r = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 5, .physics = physics });
  const size_t size = mm_vec_kept_size(r.vec);
  int32_t *bytes = zeroed(size, 1);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  mm_vec_keep(r.vec, bytes);
  bytes[0] = 998; // steps of environment 0
  assert_ok(mm_vec_take_up(r.vec, bytes, size));
  assert_ok(mm_vec_step(r.vec, r.action, &r.out));
  assert_int_equal(r.out.end[0], 0);
  if (id->body != MM_BODY_HALF_CHEETAH) r.vec->physics->q[2 * r.vec->physics->stride] = 50; // falls
  assert_ok(mm_vec_step(r.vec, r.action, &r.out));
  const int both = MM_END_TRUNCATED | MM_END_TERMINATED;
  assert_int_equal(r.out.end[0], id->body == MM_BODY_HALF_CHEETAH ? MM_END_TRUNCATED : both);
  assert_int_equal(r.out.end[1], 0);
  mm_vec_keep(r.vec, bytes);
  assert_int_equal(bytes[0], 0);
  free(bytes);
  rig_close(&r);
}

static void test_limit(void **state) {
  (void)state;
  body_each(check_limit);
}

// ---------------------------------------------------------------------------------------------
// The same bits whatever else happens

static void check_forms(const body_id *id, mm_env_physics physics) {
  enum { N = 19 };
  mm_vec_config config = { .n = N, .seed = 4, .physics = physics };
  rig rows = rig_open(id->id, config), few;
  config.obs = MM_OBS_COLUMNS;
  rig columns = rig_open(id->id, config);
  config.n = 3;
  few = rig_open(id->id, config);
  const float *a = rows.out.obs, *b = columns.out.obs, *c = few.out.obs;
  const size_t k = (size_t)rows.info.n_input, nu = (size_t)rows.info.n_real;
  assert_ok(mm_vec_reset(rows.vec, &rows.out));
  assert_ok(mm_vec_reset(columns.vec, &columns.out));
  assert_ok(mm_vec_reset(few.vec, &few.out));
  for (uint64_t t = 0; t < 40; t++) {
    draw_actions(&rows, t);
    assert_ok(mm_vec_step(rows.vec, rows.action, &rows.out));
    assert_ok(mm_vec_step(columns.vec, rows.action, &columns.out));
    memcpy(few.action, rows.action, 3 * nu * sizeof(float));
    assert_ok(mm_vec_step(few.vec, few.action, &few.out));
    assert_memory_equal(rows.out.reward, columns.out.reward, N * sizeof(float));
    assert_memory_equal(rows.out.reward, few.out.reward, 3 * sizeof(float));
    for (size_t i = 0; i < N; i++) {
      for (size_t j = 0; j < k; j++) {
        assert_true(a[i * k + j] == b[j * N + i]);
        assert_true(i >= 3 || a[i * k + j] == c[j * 3 + i]);
      }
    }
  }
  rig_close(&rows);
  rig_close(&columns);
  rig_close(&few);
}

static void test_forms(void **state) {
  (void)state;
  body_each(check_forms);
}

typedef struct share {
  rig *r;
  size_t from, to;
} share;

static void *step_share(void *user) {
  share *s = user;
  mm_status status = mm_vec_step_part(s->r->vec, s->from, s->to, s->r->action, &s->r->out);
  return status == MM_OK ? NULL : s;
}

// Threads that share a vec, in parts that are no whole groups of lanes.
static void check_threads(const body_id *id, mm_env_physics physics) {
  enum { N = 45, PARTS = 3 };
  static const size_t bound[PARTS + 1] = { 0, 7, 33, N };
  mm_vec_config config = { .n = N, .seed = 9, .physics = physics };
  rig a = rig_open(id->id, config), b = rig_open(id->id, config);
  assert_ok(mm_vec_reset(a.vec, &a.out));
  assert_ok(mm_vec_reset(b.vec, &b.out));
  for (uint64_t t = 0; t < 30; t++) {
    draw_actions(&a, t);
    draw_actions(&b, t);
    assert_ok(mm_vec_step(a.vec, a.action, &a.out));
    pthread_t thread[PARTS];
    share shares[PARTS];
    for (int i = 0; i < PARTS; i++) {
      shares[i] = (share){ &b, bound[i], bound[i + 1] };
      assert_int_equal(pthread_create(&thread[i], NULL, step_share, &shares[i]), 0);
    }
    for (int i = 0; i < PARTS; i++) {
      void *failed;
      pthread_join(thread[i], &failed);
      assert_null(failed);
    }
    assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
    assert_memory_equal(a.out.reward, b.out.reward, N * sizeof(float));
    assert_memory_equal(a.out.end, b.out.end, N);
  }
  rig_close(&a);
  rig_close(&b);
}

static void test_threads(void **state) {
  (void)state;
  body_each(check_threads);
}

// The state as bytes: another vec goes on to the same bits; what cannot be is refused.
static void check_state(const body_id *id, mm_env_physics physics) {
  enum { N = 5, LANE = 3 };
  mm_vec_config config = { .n = N, .seed = 6, .physics = physics, .fresh_reset = true };
  rig a = rig_open(id->id, config), b = rig_open(id->id, config);
  const mm_body_info *body = mm_body_describe(id->body);
  const size_t size = mm_vec_kept_size(a.vec), numbers = size / 4 - LANE * N;
  float *bytes = zeroed(size, 1), *again = zeroed(size, 1), *column = again + LANE * N;
  const bool offset = a.vec->physics->xpos_offset != NULL;
  assert_int_equal(offset, id->body == MM_BODY_ANT && id->flavour == MM_FLAVOUR_GYMNASIUM);
  assert_int_equal(numbers, N * (size_t)(body->nq + 2 * body->nv + offset));
  assert_ok(mm_vec_reset(a.vec, &a.out));
  for (uint64_t t = 0; t < 60; t++) {
    draw_actions(&a, t);
    assert_ok(mm_vec_step(a.vec, a.action, &a.out));
  }
  mm_vec_keep(a.vec, bytes);
  if (offset) {
    assert_true(bytes[size / 4 - 1] != 0); // something to lose
    assert_fails(mm_vec_take_up(b.vec, bytes, size - N * 4), MM_ERR_INPUT, "bytes: expected");
  }
  assert_ok(mm_vec_take_up(b.vec, bytes, size));
  mm_vec_keep(b.vec, again);
  assert_memory_equal(bytes, again, size);
  assert_ok(mm_vec_observe(b.vec, b.out.obs));
  assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
  for (uint64_t t = 60; t < 130; t++) {
    draw_actions(&a, t);
    draw_actions(&b, t);
    assert_ok(mm_vec_step(a.vec, a.action, &a.out));
    assert_ok(mm_vec_step(b.vec, b.action, &b.out));
    assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
    assert_memory_equal(a.out.reward, b.out.reward, N * sizeof(float));
  }
  assert_fails(mm_vec_take_up(b.vec, bytes, size - 4), MM_ERR_INPUT, "bytes: expected");
  for (size_t i = 0; i < numbers; i += 3) {
    const float wrong[] = { NAN, INFINITY, -1.1e10f };
    memcpy(again, bytes, size);
    column[i] = wrong[i / 3 % 3];
    assert_fails(mm_vec_take_up(b.vec, again, size), MM_ERR_INPUT, "can come to");
    assert_fails(mm_vec_step(b.vec, b.action, &b.out), MM_ERR_INPUT, "never reset");
  }
  const int32_t times[] = { -1, 1000 };
  for (int i = 0; i < 2; i++) {
    memcpy(again, bytes, size);
    memcpy(again, &times[i], sizeof times[i]);
    assert_fails(mm_vec_take_up(b.vec, again, size), MM_ERR_INPUT, "can come to");
  }
  if (id->body == MM_BODY_ANT) { // no direction
    memcpy(again, bytes, size);
    memset(column + 3 * N, 0, 4 * N * sizeof(float));
    assert_fails(mm_vec_take_up(b.vec, again, size), MM_ERR_INPUT, "can come to");
  }
  free(bytes);
  free(again);
  rig_close(&a);
  rig_close(&b);
}

static void test_state(void **state) {
  (void)state;
  body_each(check_state);
}

// ---------------------------------------------------------------------------------------------
// What goes wrong

// States that no physics survives end the episode, are counted, and leave neighbours alone.
static void check_unstable(const body_id *id, mm_env_physics physics) {
  enum { N = 17, BAD = 5 };
  rig a = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 7, .physics = physics });
  rig b = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 7, .physics = physics });
  const size_t k = (size_t)a.info.n_input, stride = b.vec->physics->stride;
  float start[27], *obs = b.out.obs, *final_obs = b.out.final_obs;
  uint64_t expected = 0;
  assert_ok(mm_vec_reset(a.vec, &a.out));
  assert_ok(mm_vec_reset(b.vec, &b.out));
  memcpy(start, obs + BAD * k, sizeof(float) * k);
  const float wrong[] = { NAN, 1e11f, -3e38f, INFINITY };
  for (uint64_t t = 0; t < 8; t++) {
    draw_actions(&a, t);
    draw_actions(&b, t);
    float *column = t % 2 ? b.vec->physics->v : b.vec->physics->q;
    const size_t first = id->body == MM_BODY_ANT ? 7 : 1; // behind its quaternion, of any length
    column[(first + t % 5) * stride + BAD] = wrong[t / 2];
    assert_ok(mm_vec_step(a.vec, a.action, &a.out));
    assert_ok(mm_vec_step(b.vec, b.action, &b.out));
    if (mm_vec_unstable(b.vec) != ++expected)
      fail_msg("%s, engine %s: step %d is not unstable", id->id, mm_vec_physics(b.vec), (int)t);
    assert_int_equal(b.out.end[BAD], MM_END_TERMINATED);
    assert_true(b.out.reward[BAD] == 0);
    assert_memory_equal(obs + BAD * k, start, k * sizeof(float));
    assert_memory_equal(final_obs + BAD * k, start, k * sizeof(float));
    for (size_t i = 0; i < N; i++) {
      if (i == BAD) continue;
      assert_memory_equal((float *)a.out.obs + i * k, obs + i * k, k * sizeof(float));
      assert_true(a.out.reward[i] == b.out.reward[i]);
    }
  }
  assert_int_equal(mm_vec_unstable(a.vec), 0);
  assert_ok(mm_vec_reset(b.vec, &b.out));
  assert_int_equal(mm_vec_unstable(b.vec), 0);
  rig_close(&a);
  rig_close(&b);
}

static void test_unstable(void **state) {
  (void)state;
  body_each(check_unstable);
}

// A body thrown into the floor, or away: numbers stay numbers.
static void check_thrown(const body_id *id, mm_env_physics physics) {
  enum { N = 12 };
  rig r = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 7, .physics = physics });
  mm_physics *p = r.vec->physics;
  const size_t z = (size_t)p->info->z_index;
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (size_t i = 0; i < N; i++) {
    p->v[z * p->stride + i] = (i % 2 ? -1.0f : 1.0f) * powf(10, (float)(i / 2) + 1);
    p->q[z * p->stride + i] -= i % 3 == 0 ? 2.0f : 0;
  }
  for (uint64_t t = 0; t < 50; t++) {
    draw_actions(&r, t);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < N * (size_t)r.info.n_input; i++)
      assert_true(isfinite(((float *)r.out.obs)[i]));
    for (size_t i = 0; i < N; i++)
      assert_true(isfinite(r.out.reward[i]));
  }
  rig_close(&r);
}

static void test_thrown(void **state) {
  (void)state;
  body_each(check_thrown);
}

static void check_actions(const body_id *id, mm_env_physics physics) {
  enum { N = 3 };
  rig a = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 7, .physics = physics });
  rig b = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 7, .physics = physics });
  float *x = a.action, *y = b.action;
  const size_t nu = (size_t)a.info.n_real;
  assert_ok(mm_vec_reset(a.vec, &a.out));
  assert_ok(mm_vec_reset(b.vec, &b.out));
  // huge ones are clipped like any other
  for (size_t i = 0; i < N * nu; i++) {
    x[i] = i % 2 ? 3e38f : -7.5f;
    y[i] = i % 2 ? 1 : -1;
  }
  assert_ok(mm_vec_step(a.vec, x, &a.out));
  assert_ok(mm_vec_step(b.vec, y, &b.out));
  assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
  assert_memory_equal(a.out.reward, b.out.reward, N * sizeof(float));
  // others are refused, and nothing has moved
  const float wrong[] = { NAN, INFINITY, -INFINITY };
  for (int i = 0; i < 3; i++) {
    x[N * nu - 1] = wrong[i];
    assert_fails(mm_vec_step(a.vec, x, &a.out), MM_ERR_INPUT, "is not finite");
  }
  assert_ok(mm_vec_step(a.vec, y, &a.out));
  assert_ok(mm_vec_step(b.vec, y, &b.out));
  assert_memory_equal(a.out.obs, b.out.obs, a.info.obs_size);
  rig_close(&a);
  rig_close(&b);
}

static void test_actions(void **state) {
  (void)state;
  body_each(check_actions);
}

static void test_refused(void **state) {
  (void)state;
  mm_env *env;
  mm_vec *vec;
  assert_ok(mm_env_open("Hopper", &env));
  mm_vec_config config = { .size = sizeof config, .n = 1, .obs = MM_OBS_BITS };
  assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, "expected FLOATS or COLUMNS");
  config = (mm_vec_config){ .size = sizeof config, .n = 1, .flavour = (mm_env_flavour)3 };
  assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, "flavour");
  config = (mm_vec_config){ .size = sizeof config, .n = 1, .physics = (mm_env_physics)-1 };
  assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_INPUT, "physics");
  mm_env_destroy(env);
  for (int i = 0; i < BODY_IDS; i++) {
    if (body_runs(body_ids[i].id, MM_ENV_PHYSICS_MUJOCO)) continue;
    assert_ok(mm_env_open(body_ids[i].id, &env));
    config = (mm_vec_config){ .size = sizeof config, .n = 1, .physics = MM_ENV_PHYSICS_MUJOCO };
    assert_fails(mm_vec_create(env, &config, &vec), MM_ERR_UNSUPPORTED, "libmujoco-dev");
    mm_env_destroy(env);
  }
}

// Each allocation fails once.
static void check_memory(const body_id *id, mm_env_physics physics) {
  mm_env *env;
  mm_vec *vec = NULL;
  mm_status status = MM_ERR_MEMORY;
  assert_ok(mm_env_open(id->id, &env));
  size_t needed = 0;
  for (; status != MM_OK; needed++) {
    make_memory_scarce();
    allocations_left = needed;
    status = mm_vec_create(
        env, &(mm_vec_config){ .size = sizeof(mm_vec_config), .n = 20, .physics = physics }, &vec);
    make_memory_usual();
    assert_true(status == MM_OK || (status == MM_ERR_MEMORY && !vec));
  }
  assert_true(needed > 2);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
}

static void test_memory(void **state) {
  (void)state;
  body_each(check_memory);
}

// ---------------------------------------------------------------------------------------------
// Against the library: every step from the state before it

#ifdef HAVE_MUJOCO

static mjModel *load_model(const body_id *id) {
  char path[MM_DATA_PATH_SIZE], error[300];
  assert_true(mm_data_find("models", mm_body_model_name(id->body, id->flavour), ".xml", path));
  mjModel *model = mj_loadXML(path, NULL, error, sizeof error);
  if (!model) fail_msg("%s: %s", path, error);
  if (model) model->opt.iterations = 100; // as our engine of the library asks for
  return model;
}

// Environment i's next step by the library, which has it at `x`.
static void library_step(const mjModel *m, mjData *d, const rig *r, size_t i, mjtNum x) {
  const mm_physics *p = r->vec->physics;
  mj_resetData(m, d);
  for (int k = 0; k < m->nq; k++)
    d->qpos[k] = k == 0 ? x : (mjtNum)p->q[(size_t)k * p->stride + i];
  for (int k = 0; k < m->nv; k++) {
    d->qvel[k] = (mjtNum)p->v[(size_t)k * p->stride + i];
    d->qacc_warmstart[k] = (mjtNum)p->warm[(size_t)k * p->stride + i];
  }
  for (int k = 0; k < m->nu; k++)
    d->ctrl[k] = (mjtNum)((float *)r->action)[i * (size_t)m->nu + (size_t)k]; // the model clips
  for (int k = 0; k < p->info->substeps; k++)
    mj_step(m, d);
}

static void check_library(const body_id *id) {
  enum { N = 4, T = 60 };
  rig r = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 12, .physics = MM_ENV_PHYSICS_MUJOCO });
  mm_physics *p = r.vec->physics;
  mjModel *m = load_model(id);
  mjData *d = mj_makeData(m);
  mjtNum x[N][64];
  assert_int_equal(m->opt.integrator,
                   id->flavour == MM_FLAVOUR_GYMNASIUM && id->body != MM_BODY_HALF_CHEETAH
                       ? mjINT_RK4
                       : mjINT_EULER);
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&r, t);
    for (size_t i = 0; i < N; i++) { // where the library goes from here
      library_step(m, d, &r, i, p->xpos_offset ? -(mjtNum)p->xpos_offset[i] : 0);
      mju_copy(x[i], d->qpos, m->nq);
      mju_copy(x[i] + m->nq, d->qvel, m->nv);
    }
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < N; i++) {
      if (r.out.end[i]) continue; // it is at its start again
      for (int k = 0; k < m->nq + m->nv; k++) {
        double found = (double)(k < m->nq ? p->q[(size_t)k * p->stride + i]
                                          : p->v[(size_t)(k - m->nq) * p->stride + i]);
        close_to(found, x[i][k], 1e-7 * (1 + fabs(x[i][k])));
      }
    }
  }
  mj_deleteData(d);
  mj_deleteModel(m);
  rig_close(&r);
}

// Ant-v4 pays for the way of the torso's xpos, as the library leaves it behind a step; at a reset
// it is current.
static void check_xpos(const body_id *id, mm_env_physics physics) {
  enum { N = 6, T = 150 };
  if (id->body != MM_BODY_ANT || id->flavour != MM_FLAVOUR_GYMNASIUM) return;
  rig r = rig_open(id->id, (mm_vec_config){ .n = N, .seed = 12, .physics = physics });
  mjModel *m = load_model(id);
  mjData *d = mj_makeData(m);
  const int torso = mj_name2id(m, mjOBJ_BODY, "torso");
  const double tolerance = physics == MM_ENV_PHYSICS_MUJOCO ? 2e-6 : 2e-4;
  double xpos[N] = { 0 }, expected[N], largest = 0;
  int ends = 0;
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t t = 0; t < T; t++) {
    draw_actions(&r, t);
    for (size_t i = 0; i < N; i++) {
      library_step(m, d, &r, i, 0);
      double cost = 0;
      for (int k = 0; k < m->nu; k++)
        cost += pow(fmin(fmax(d->ctrl[k], -1), 1), 2);
      expected[i] = (d->xpos[3 * torso] - xpos[i]) / 0.05 + 1 - 0.5 * cost;
      xpos[i] = d->xpos[3 * torso] - d->qpos[0];
      largest = fmax(largest, fabs(xpos[i]));
    }
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < N; i++) {
      close_to((double)r.out.reward[i], expected[i], tolerance);
      if (!r.out.end[i]) continue;
      xpos[i] = 0;
      ends++;
    }
  }
  assert_true(ends > 0 && largest > 1e-3); // 0.02 of a reward
  mj_deleteData(d);
  mj_deleteModel(m);
  rig_close(&r);
}

static void test_xpos(void **state) {
  (void)state;
  body_each(check_xpos);
}

static void test_library(void **state) {
  (void)state;
  for (int i = 0; i < BODY_IDS; i++)
    check_library(&body_ids[i]);
}

#else

static void test_xpos(void **state) {
  (void)state;
  print_message("built without the MuJoCo library: nothing to compare with\n");
  skip();
}

static void test_library(void **state) {
  (void)state;
  print_message("built without the MuJoCo library: nothing to compare with\n");
  skip();
}

#endif

int suite_bodies(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_walker2d_by_hand),
    cmocka_unit_test(test_hopper_by_hand),
    cmocka_unit_test(test_half_cheetah_by_hand),
    cmocka_unit_test(test_ant_by_hand),
    cmocka_unit_test(test_clip),
    cmocka_unit_test(test_starts),
    cmocka_unit_test(test_shape),
    cmocka_unit_test(test_steps),
    cmocka_unit_test(test_fresh),
    cmocka_unit_test(test_limit),
    cmocka_unit_test(test_forms),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_state),
    cmocka_unit_test(test_unstable),
    cmocka_unit_test(test_thrown),
    cmocka_unit_test(test_actions),
    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_xpos),
    cmocka_unit_test(test_library),
  };
  return cmocka_run_group_tests_name("bodies", tests, body_setup, NULL);
}
