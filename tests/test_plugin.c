// SPDX-License-Identifier: Apache-2.0
// Environments, potentials and learners of plug-ins, entered into the tables directly: what the
// library does around them, potentials that are clones of built-in ones, and what is refused.
// (Shared objects: cli_plugin.sh.) They stay for the rest of the process, so they keep all rules.

#include <math.h>

#include "agent/job_hooks.h"
#include "agent/learner.h"
#include "env/env_check.h"
#include "env/plugin_env.h"
#include "map/density.h"
#include "map/foreign.h"
#include "map/map_internal.h"
#include "mirrormap/agent.h"
#include "mirrormap/render.h"
#include "plugin/plugin.h"
#include "scarce_memory.h"
#include "show/picture/picture.h"
#include "study/settings/settings.h"
#include "test.h"

// ---------------------------------------------------------------------------------------------
// A drift: two numbers that are pushed along, one at random

enum { REALS = 2, LIMIT = 15 };

typedef struct drift {
  float at[REALS], heard[REALS];
  int32_t drawn;
} drift;

static void drift_reset(void *state, mm_random *random) {
  drift *d = state;
  assert_true(d->at[0] == 0 && d->drawn == 0); // zeros
  d->at[0] = mm_random_uniform(random);
  d->at[1] = mm_random_normal(random);
}

static int drift_step(void *state, const void *action, mm_random *random, float *reward) {
  drift *d = state;
  assert_true(*reward == 0);
  memcpy(d->heard, action, sizeof d->heard);
  for (int k = 0; k < REALS; k++)
    d->at[k] += d->heard[k];
  d->drawn = mm_random_below(random, 3);
  *reward = d->at[0];
  return mm_random_below(random, 12) == 0 ? MM_END_TERMINATED : 0;
}

static void drift_observe(const void *state, float *obs) {
  const drift *d = state;
  obs[0] = d->at[0];
  obs[1] = d->at[1];
  obs[2] = d->heard[0];
  obs[3] = d->heard[1];
  obs[4] = (float)d->drawn;
}

static bool drift_valid(const void *state) {
  const drift *d = state;
  return d->drawn >= 0 && d->drawn < 3;
}

static const mm_plugin_env drift_law = { .size = sizeof drift_law,
                                         .id = "Drift",
                                         .summary = "numbers that are pushed along",
                                         .n_input = 5,
                                         .n_real = REALS,
                                         .low = -1,
                                         .high = 2,
                                         .limit = LIMIT,
                                         .state_size = sizeof(drift),
                                         .reset = drift_reset,
                                         .step = drift_step,
                                         .observe = drift_observe,
                                         .valid = drift_valid };

static mm_env *open_drift(void) {
  mm_env *env;
  if (mm_env_open("Drift", &env) == MM_OK) return env;
  assert_ok(mm_plugin_env_check(&drift_law));
  mm_plugin_env_add(&drift_law);
  assert_ok(mm_env_open("Drift", &env));
  return env;
}

static mm_vec *open_vec(size_t n, mm_obs_form form) {
  mm_env *env = open_drift();
  mm_vec_config config = mm_vec_config_default();
  mm_vec *vec;
  config.n = n;
  config.seed = 7;
  config.obs = form;
  assert_ok(mm_vec_create(env, &config, &vec));
  mm_env_destroy(env);
  return vec;
}

enum { N = 6, T = 60 };

static float action_of(size_t i, size_t t, int k) {
  return (float)((i + 2 * t + 3 * (size_t)k) % 7) - 3;
}

// Rows and columns, whole and in parts: the same. Actions arrive clipped, ends come by the limit
// and by chance.
static void test_env(void **state) {
  (void)state;
  mm_vec *rows = open_vec(N, MM_OBS_FLOATS), *columns = open_vec(N, MM_OBS_COLUMNS);
  static float obs[2][N * 5], last[2][N * 5], reward[2][N], action[N * REALS];
  uint8_t end[2][N], all = 0;
  int32_t length[N] = { 0 };
  bool drawn[3] = { false };
  mm_vec_out out[2];
  for (int k = 0; k < 2; k++)
    out[k] = (mm_vec_out){ obs[k], last[k], reward[k], end[k] };
  assert_ok(mm_vec_reset(rows, &out[0]));
  assert_ok(mm_vec_reset(columns, &out[1]));
  for (size_t t = 0; t < T; t++) {
    for (size_t i = 0; i < N * REALS; i++)
      action[i] = action_of(i / REALS, t, (int)(i % REALS));
    assert_ok(mm_vec_step(rows, action, &out[0]));
    assert_ok(mm_vec_step_part(columns, 2, N, action, &out[1]));
    assert_ok(mm_vec_step_part(columns, 0, 2, action, &out[1]));
    assert_memory_equal(reward[0], reward[1], sizeof reward[0]);
    assert_memory_equal(end[0], end[1], sizeof end[0]);
    for (size_t i = 0; i < N; i++) {
      const float *seen = end[0][i] ? &last[0][5 * i] : &obs[0][5 * i];
      for (size_t j = 0; j < 5; j++)
        assert_true(obs[0][5 * i + j] == obs[1][j * N + i]);
      for (int k = 0; k < REALS; k++)
        assert_true(seen[2 + k] == fminf(fmaxf(action_of(i, t, k), -1), 2));
      drawn[(int)seen[4]] = true;
      all |= end[0][i];
      assert_int_equal(++length[i] >= LIMIT, (end[0][i] & MM_END_TRUNCATED) != 0);
      if (end[0][i]) length[i] = 0;
    }
  }
  assert_int_equal(all, MM_END_TERMINATED | MM_END_TRUNCATED);
  assert_true(drawn[0] && drawn[1] && drawn[2]);
  mm_vec_destroy(rows);
  mm_vec_destroy(columns);
}

static void test_env_keeps_rules(void **state) {
  (void)state;
  const mm_env_check_config config = { .seed = 3, .steps = 300 };
  mm_env_finding found[MM_ENV_RULES];
  mm_env *env = open_drift();
  assert_ok(mm_env_check(env, &config, found));
  for (int r = 0; r < MM_ENV_RULES; r++)
    assert_string_equal(found[r].why, "");
  mm_env_destroy(env);
}

// Bytes that no step leads to, in the head and in the state, and those of other environments.
static void test_env_state(void **state) {
  (void)state;
  mm_vec *vec = open_vec(1, MM_OBS_FLOATS);
  float obs[5], after[5];
  const mm_vec_out out = { .obs = obs };
  assert_ok(mm_vec_reset(vec, &out));
  const size_t size = mm_vec_state_size(vec);
  unsigned char *bytes = test_malloc(size);
  mm_vec_save(vec, bytes);
  assert_ok(mm_vec_load(vec, bytes, size));
  mm_vec_observe(vec, after);
  assert_memory_equal(obs, after, sizeof obs);
  drift *kept = (void *)(bytes + size - 32); // the last whole stride
  assert_true(kept->at[0] == obs[0]);
  kept->drawn = 3;
  assert_fails(mm_vec_load(vec, bytes, size), MM_ERR_INPUT, "expected one that they can come to");
  kept->drawn = 0;
  const int32_t late = LIMIT;
  memcpy(bytes + size - 32 - sizeof late, &late, sizeof late);
  assert_fails(mm_vec_load(vec, bytes, size), MM_ERR_INPUT, "expected one that they can come to");
  bytes[8] ^= 1; // which environment they are of
  assert_fails(mm_vec_load(vec, bytes, size), MM_ERR_INPUT, "environment:");
  test_free(bytes);
  mm_vec_destroy(vec);
}

// What a law draws may be anything.
static int draw_nonsense(const float *obs, mm_shape *out) {
  (void)obs;
  out[0] = mm_shape_disc(0, 0, 0, 1);
  out[1] = mm_shape_disc(1, 0, 0, 1); // no such mark
  out[2] = mm_shape_line(0, 0, NAN, 1, 1, 1);
  out[3] = (mm_shape){ .kind = (mm_shape_kind)9 };
  return 1000;
}

static void test_env_refused(void **state) {
  (void)state;
  static const float upside_down[5][2] = { { 1, 0 } };
  static const struct {
    size_t at, size;
    union {
      int32_t whole;
      float number;
      const void *pointer;
      size_t length;
      int (*shapes)(const float *obs, mm_shape *out);
    } value;
    const char *part;
  } wrong[] = {
#define WHOLE(field, x, part) { offsetof(mm_plugin_env, field), 4, { .whole = x }, part }
#define POINTER(field, x, part)                                                                    \
  { offsetof(mm_plugin_env, field), 8, { .pointer = x }, part }
    POINTER(id, NULL, "without an ID"),
    POINTER(id, "a b", "without an ID"),
    POINTER(id, "GridWorld-dense", "there is one of that ID"),
    POINTER(id, "Hopper", "there is one of that ID"),
    POINTER(summary, NULL, "expected a summary"),
    POINTER(reset, NULL, "expected a summary, reset"),
    WHOLE(n_input, 0, "n_input = 0: expected 1 to"),
    WHOLE(n_input, MM_PLUGIN_INPUTS + 1, "n_input = 4097"),
    WHOLE(n_real, 0, "expected n_action"),
    WHOLE(n_real, MM_PLUGIN_REALS + 1, "expected n_action"),
    WHOLE(n_action, 2, "expected n_action"),
    WHOLE(limit, -1, "limit: expected 0 or more"),
    { offsetof(mm_plugin_env, low), 4, { .number = 2 }, "bounds low < high" },
    { offsetof(mm_plugin_env, high), 4, { .number = INFINITY }, "finite bounds" },
    { offsetof(mm_plugin_env, state_size), 8, { .length = 0 }, "state_size = 0" },
    POINTER(bounds, upside_down, "bounds[0]: expected the lower one first"),
    { offsetof(mm_plugin_env, shapes), 8, { .shapes = draw_nonsense }, "marks of its picture" },
  };
  mm_env_destroy(open_drift());
  assert_fails(mm_plugin_env_check(&drift_law), MM_ERR_INPUT, "there is one of that ID");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mm_plugin_env law = drift_law;
    law.id = "Other";
    assert_ok(mm_plugin_env_check(&law));
    memcpy((char *)&law + wrong[i].at, &wrong[i].value, wrong[i].size);
    assert_fails(mm_plugin_env_check(&law), MM_ERR_INPUT, wrong[i].part);
  }
}

// A bar for each input, and pixels of them.
static void test_picture(void **state) {
  (void)state;
  static const mm_mark mark = { "thing", 0x0087d7, '#', 0 };
  const mm_scene nonsense = { &mark, 1, .box = { -1, 1, -1, 1 }, .shapes = draw_nonsense };
  const float obs[5] = { 0, 1, -3, INFINITY, 0.5f };
  static mm_shape shapes[MM_SHAPES_MOST];
  static uint8_t rgb[80 * 40 * 3];
  mm_scene scene;
  mm_vec *vec = open_vec(1, MM_OBS_FLOATS);
  assert_true(mm_scene_find("Drift", &scene));
  assert_int_equal(mm_scene_shapes(&scene, obs, shapes), 5);
  assert_true(shapes[1].y2 == 0.5 && shapes[2].y2 == -0.75 && shapes[3].y2 == 0);
  assert_ok(mm_vec_render(vec, obs, 0, 80, 40, rgb));
  memset(shapes, 0, sizeof shapes);
  for (int i = 0; i < MM_SHAPES_MOST; i++)
    shapes[i].mark = -1;
  assert_int_equal(mm_scene_shapes(&nonsense, obs, shapes), 1);
  mm_vec_destroy(vec);
}

// Trained on the CPU, in a run that two halves make as well as one.
static void test_training(void **state) {
  (void)state;
  mm_env *env = open_drift();
  mm_map *map;
  mm_gaussian_config config = mm_gaussian_config_default();
  config.net.steps = 1024;
  config.net.envs = 4;
  config.net.unroll = 32;
  config.net.minibatches = 2;
  config.net.epochs = 1;
  config.net.hidden = 8;
  assert_ok(mm_map_create_l2(&map));
  const mm_job job = {
    .env = env, .map = map, .algo = MM_ALGO_GAUSSIAN, .config = &config, .seed = 1
  };
  mm_result first, second;
  assert_ok(mm_job_run(&job, NULL, &first));
  assert_ok(mm_job_run(&job, NULL, &second));
  assert_true(isfinite(first.final_value) && first.final_value == second.final_value);
  assert_int_equal(first.env_steps, 1024);
  mm_result_release(&first);
  mm_result_release(&second);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------
// Clones of negentropy and of Tsallis' family

static double log_inverse(const double *x, double p) {
  (void)x;
  return log(p);
}

static double log_slope(const double *x, double p) {
  (void)x;
  return 1 / p;
}

static double log_integral(const double *x, double p) {
  (void)x;
  return p > 0 ? p * log(p) - p + 1 : 1;
}

static const mm_plugin_potential clone_law = { .size = sizeof clone_law,
                                               .name = "entropy-clone",
                                               .summary = "log p",
                                               .inverse = log_inverse,
                                               .slope = log_slope,
                                               .integral = log_integral };

static double q_inverse(const double *x, double p) {
  return x[0] / (x[0] - 1) * pow(p, x[0] - 1);
}

static double q_slope(const double *x, double p) {
  return x[0] * pow(p, x[0] - 2);
}

static double q_integral(const double *x, double p) {
  return (pow(p, x[0]) - 1) / (x[0] - 1);
}

static const mm_plugin_parameter q_parameter[] = {
  { .name = "q", .start = 2, .least = 1, .most = 9 },
  { .name = "idle", .start = 0.25, .least = -1, .most = 1, .linear = true },
};
static const mm_plugin_potential q_law = { .size = sizeof q_law,
                                           .name = "q-clone",
                                           .summary = "Tsallis, q > 1",
                                           .n_parameter = 2,
                                           .parameter = q_parameter,
                                           .inverse = q_inverse,
                                           .slope = q_slope,
                                           .integral = q_integral };

static void add_clones(void) {
  mm_map *map;
  if (mm_map_open("q-clone", &map) == MM_OK) {
    mm_map_destroy(map);
    return;
  }
  assert_ok(mm_foreign_check(&clone_law));
  mm_foreign_add(&clone_law);
  assert_ok(mm_foreign_check(&q_law));
  mm_foreign_add(&q_law);
}

enum { PAIRS = 4 };
static const char *const pairs[PAIRS][2] = { { "entropy-clone", "negentropy" },
                                             { "q-clone:1.5,0", "tsallis:1.5" },
                                             { "q-clone", "tsallis:2" },
                                             { "q-clone:4,0", "tsallis:4" } };

static bool near(double a, double b, double tolerance) {
  return fabs(a - b) <= tolerance * fmax(1, fmax(fabs(a), fabs(b)));
}

static void test_map(void **state) {
  (void)state;
  const double p[] = { 1e-9, 0.003, 0.25, 0.5, 0.75, 0.999, 1 },
               q[] = { 0.2, 0.004, 0.25, 0.49, 0.1, 0.9, 0.5 };
  enum { POINTS = sizeof p / sizeof *p };
  add_clones();
  for (int k = 0; k < PAIRS; k++) {
    mm_map *map[2];
    double inverse[2][POINTS], phi[2][POINTS], h[2][POINTS], distance[2], probs[2][3], lambda[2];
    const double scores[] = { 0.3, -0.4, 1.1 };
    for (int i = 0; i < 2; i++) {
      assert_ok(mm_map_open(pairs[k][i], &map[i]));
      assert_ok(mm_map_phi_inverse(map[i], p, POINTS, inverse[i]));
      assert_ok(mm_map_phi(map[i], inverse[i], POINTS, phi[i]));
      assert_ok(mm_map_h(map[i], p, POINTS, h[i]));
      assert_ok(mm_map_bregman(map[i], p, q, POINTS, &distance[i]));
      assert_ok(mm_map_project(map[i], MM_PROJECTION_EXACT, scores, 3, probs[i], &lambda[i]));
      mm_map_report report;
      mm_map_check(map[i], &report);
      assert_int_equal(report.n_failure, 0);
      assert_true(report.strictly_increasing);
      assert_int_equal(report.essentially_smooth, k == 0);
    }
    for (int i = 0; i < POINTS; i++) {
      assert_true(near(inverse[0][i], inverse[1][i], 1e-14));
      assert_true(near(h[0][i], h[1][i], 1e-13));
      assert_true(near(phi[0][i], p[i], 1e-14) && near(phi[1][i], p[i], 1e-14));
    }
    assert_true(near(distance[0], distance[1], 1e-13));
    for (int a = 0; a < 3; a++)
      assert_true(near(probs[0][a], probs[1][a], 1e-14));
    assert_true(near(lambda[0], lambda[1], 1e-14));
    mm_map_destroy(map[0]);
    mm_map_destroy(map[1]);
  }
}

// The engines' form, ten bisections, and beyond 1.
static void test_map_single(void **state) {
  (void)state;
  const float scores[6] = { 0.3f, -0.4f, 1.1f, -2, 0, 0.1f };
  const double beyond[] = { 1.5, 40 };
  add_clones();
  for (int k = 0; k < PAIRS; k++) {
    mm_map *map[2];
    float probs[2][6], lambda[2][2];
    double x[2][2];
    for (int how = 0; how < 2; how++) {
      for (int i = 0; i < 2; i++) {
        assert_ok(mm_map_open(pairs[k][i], &map[i]));
        assert_ok(
            mm_map_project_batch_f(map[i], (mm_projection)how, scores, 2, 3, probs[i], lambda[i]));
        mm_foreign_phi_inverse_d(&map[0]->exact, beyond, 2, x[0]);
        assert_ok(mm_map_phi(map[i], x[0], 2, x[1]));
        for (int j = 0; j < 2; j++)
          assert_true(near(x[1][j], beyond[j], 1e-12));
      }
      for (int a = 0; a < 6; a++)
        assert_true(near((double)probs[0][a], (double)probs[1][a], 2e-6));
      mm_map_destroy(map[0]);
      mm_map_destroy(map[1]);
    }
  }
}

static void test_density(void **state) {
  (void)state;
  enum { ROWS = 6 };
  const float log_p[ROWS] = { 0.5f, -3, 1.00001f, 2, -40, 3.5f };
  const float log_q[ROWS] = { 0, -2.5f, 1, 1.9f, -1, 3.5f };
  add_clones();
  for (int k = 0; k < PAIRS; k++) {
    float rise[2][ROWS];
    uint8_t acted[2][ROWS];
    for (int i = 0; i < 2; i++) {
      mm_map *map;
      mm_density density;
      assert_ok(mm_map_open(pairs[k][i], &map));
      mm_density_make(map, 0.7, &density);
      mm_density_rows_current()(&density, ROWS, log_p, log_q, rise[i], acted[i]);
      const double d = mm_density_divergence(&density, 0.4, 0.1);
      assert_true(d > 0 && d < 10);
      mm_map_destroy(map);
    }
    for (int r = 0; r < ROWS; r++) {
      if (k == 0 && r == 4) continue; // the logarithm itself knows no end
      assert_true(near((double)rise[0][r], (double)rise[1][r], 2e-5));
      assert_int_equal(acted[0][r], acted[1][r] & MM_DENSITY_CLAMPED);
    }
    assert_int_equal(acted[0][4], MM_DENSITY_CLAMPED);
  }
}

// Tabular PMD: the same policies to rounding.
static void test_pmd(void **state) {
  (void)state;
  add_clones();
  for (int k = 0; k < PAIRS; k += 2) {
    mm_pmd_config config = mm_pmd_config_default();
    mm_result result[2];
    config.steps = 4096;
    for (int i = 0; i < 2; i++) {
      mm_map *map;
      mm_env *env;
      assert_ok(mm_map_open(pairs[k][i], &map));
      assert_ok(mm_env_open("GridWorld-small", &env));
      const mm_job job = {
        .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 2
      };
      assert_ok(mm_job_run(&job, NULL, &result[i]));
      mm_env_destroy(env);
      mm_map_destroy(map);
    }
    assert_true(near(result[0].final_value, result[1].final_value, 1e-9));
    mm_result_release(&result[0]);
    mm_result_release(&result[1]);
  }
}

// Files, search coordinates, controls, maps that move.
static void test_map_parts(void **state) {
  (void)state;
  mm_map *map, *again, *moving;
  double z[4] = { 0 }, x[2], third = 1.0 / 3, got[2];
  char *text;
  add_clones();
  assert_ok(mm_map_open("q-clone:2.25,-0.5", &map));
  const mm_map_kind kind = mm_map_get_kind(map);
  assert_string_equal(mm_map_kind_name(kind), "q-clone");
  assert_true(kind >= MM_MAP_KINDS);
  assert_ok(mm_map_format(map, NULL, &text));
  assert_non_null(strstr(text, "\"kind\": \"q-clone\""));
  assert_non_null(strstr(text, "\"idle\": -0.5"));
  assert_ok(mm_map_parse(text, strlen(text), "text", &again));
  mm_map_text_free(text);
  assert_ok(mm_map_phi_inverse(map, &third, 1, &got[0]));
  assert_ok(mm_map_phi_inverse(again, &third, 1, &got[1]));
  assert_true(got[0] == got[1]);

  assert_int_equal(mm_map_search_size(kind, 100), 2);
  assert_ok(mm_map_to_search(map, z));
  assert_true(near(z[0], log(1.25), 1e-15) && z[1] == -0.5);
  mm_map_destroy(again);
  assert_ok(mm_map_from_search(kind, 100, z, &again));
  assert_true(near(again->exact.foreign->x[0], 2.25, 1e-15));
  mm_map_destroy(again);
  assert_ok(mm_map_search_initial(kind, 100, z));
  assert_true(z[0] == 0 && z[1] == 0.25);
  z[0] = 50; // to the end of the range
  z[1] = -3;
  assert_ok(mm_map_from_search(kind, 100, z, &again));
  assert_true(again->exact.foreign->x[0] == 9 && again->exact.foreign->x[1] == -1);
  mm_map_destroy(again);
  assert_ok(mm_map_open("entropy-clone", &again));
  assert_fails(mm_map_to_search(again, z), MM_ERR_INPUT, "no search coordinates");
  mm_map_destroy(again);
  assert_ok(mm_map_open("random-q-clone:3", &again));
  x[0] = again->exact.foreign->x[0];
  assert_true(x[0] > 1 && x[0] <= 9 && x[0] != 2);
  mm_map_destroy(again);

  assert_ok(mm_map_open("q-clone:4,0.5", &again));
  assert_ok(mm_map_create_stages((const mm_map *const[]){ map, again }, 2, &moving));
  mm_map_now now = { 0 };
  assert_ok(mm_map_now_at(moving, 1, 3, &now));
  assert_true(now.map->exact.foreign->x[0] == 3.125 && now.map->exact.foreign->x[1] == 0);
  mm_map_now_release(&now);
  mm_map_destroy(moving);
  mm_map_destroy(again);
  mm_map_destroy(map);
}

static void test_map_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } wrong[] = { { "q-clone:", "expected q-clone:q,idle" },
                { "q-clone:2", "expected q-clone:q,idle" },
                { "q-clone:2,0,1", "expected q-clone:q,idle" },
                { "q-clone:2,x", "expected q-clone:q,idle" },
                { "q-clone:1,0", "q = 1: expected a number > 1 and at most 9" },
                { "q-clone:2,1.5", "idle = 1.5: expected a number >= -1" },
                { "q-clon", "did you mean 'q-clone'" },
                { "random-q-clone", "expected random-q-clone:SEED" } };
  static const char file[] = "{\"format\": \"mirrormap/1\", \"kind\": \"q-clone\", \"q\": 2}";
  mm_map *map;
  add_clones();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_fails(mm_map_open(wrong[i].text, &map), MM_ERR_INPUT, wrong[i].part);
  assert_fails(mm_map_parse(file, strlen(file), "file", &map), MM_ERR_INPUT, "file: field 'idle'");

  mm_plugin_potential law = q_law;
  mm_plugin_parameter parameter[2] = { q_parameter[0], q_parameter[1] };
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "there is a family of that name");
  law.name = "tsallis";
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "there is a family of that name");
  law.name = "a,b";
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "without a name");
  law.name = "other";
  assert_ok(mm_foreign_check(&law));
  law.slope = NULL;
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "expected a summary, inverse, slope");
  law.slope = q_slope;
  law.parameter = parameter;
  parameter[1].name = "q";
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "parameter 'q' comes twice");
  parameter[1].name = "eta";
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "expected a name of its own");
  parameter[1].name = "fine";
  parameter[1].start = 2;
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "the start between them");
  law.n_parameter = MM_PLUGIN_PARAMETERS + 1;
  assert_fails(mm_foreign_check(&law), MM_ERR_INPUT, "17 parameters");
}

// ---------------------------------------------------------------------------------------------
// A learner that learns nothing, and says what it was told

static double told[3];
static mm_status outcome;

static mm_status count_steps(mm_training *t) {
  memcpy(told, t->setting, sizeof told);
  assert_true(mm_random_uniform(t->random) != mm_random_uniform(t->random));
  for (uint64_t i = 1; i <= 200; i++) {
    const double value = i % 10 == 0 ? NAN : (double)i;
    if (!mm_training_point(t, 10 * i, value)) return MM_OK;
    assert_true(mm_training_point(t, 10 * i, 0)); // no step further: dropped
  }
  return outcome;
}

static const mm_plugin_setting count_settings[] = {
  { "steps", 2000, 1, 1e9, true, "environment steps of a run" },
  { "envs", 10, 1, 100, true, "environments side by side" },
  { "patience", 0.5, 0, 1, false, "of the counter" },
};
static const mm_plugin_learner counter = { .size = sizeof counter,
                                           .name = "counter",
                                           .summary = "counts steps",
                                           .discrete = true,
                                           .n_setting = 3,
                                           .setting = count_settings,
                                           .train = count_steps };

static mm_algo counter_number(void) {
  mm_algo algo;
  if (mm_algo_find("counter", &algo)) return algo;
  assert_ok(mm_plugin_learner_check(&counter));
  mm_plugin_learner_add(&counter);
  assert_true(mm_algo_find("counter", &algo));
  return algo;
}

static mm_status count(const char *id, mm_settings *settings, const volatile int *stop,
                       mm_result *result) {
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_map_create_negentropy(&map));
  mm_job job = { .env = env, .map = map, .seed = 3 };
  mm_settings_bind(settings, &job);
  const mm_status status = mm_job_run(&job, stop, result);
  mm_env_destroy(env);
  mm_map_destroy(map);
  return status;
}

static void test_learner(void **state) {
  (void)state;
  const mm_algo algo = counter_number();
  mm_settings settings = mm_settings_default(algo);
  mm_result result;
  const int stop = 1;
  char text[MM_SETTING_TEXT_SIZE];
  assert_string_equal(mm_algo_name(algo), "counter");
  assert_false(mm_algo_has_map(algo));
  assert_string_equal(mm_settings_text(&settings, "patience", text), "0.5");
  assert_ok(mm_settings_set(&settings, "patience", "0.75"));
  assert_fails(mm_settings_set(&settings, "patience", "2"), MM_ERR_INPUT, "at most 1");
  assert_fails(mm_settings_set(&settings, "lr", "1"), MM_ERR_INPUT, "counter has no setting 'lr'");
  assert_true(mm_settings_iterations(&settings) == 200);

  outcome = MM_OK;
  assert_ok(count("CartPole-v1", &settings, NULL, &result));
  assert_true(told[0] == 2000 && told[1] == 10 && told[2] == 0.75);
  assert_int_equal(result.n_curve, 200);
  assert_int_equal(result.env_steps, 2000);
  assert_true(result.curve_step[0] == 10 && result.curve[0] == 1 && isnan(result.curve[9]));
  assert_true(isnan(result.final_value) && near(result.recent_value, 190, 1e-12));
  mm_result_release(&result);

  // room for fewer points
  assert_ok(mm_settings_set(&settings, "steps", "55"));
  assert_ok(count("CartPole-v1", &settings, NULL, &result));
  assert_true(result.n_curve == 5 && result.final_value == 5);
  mm_result_release(&result);

  assert_fails(count("CartPole-v1", &settings, &stop, &result), MM_ERR_INTERRUPTED, "interrupted");
  mm_result_release(&result);
  outcome = MM_ERR_NUMERIC;
  assert_fails(count("CartPole-v1", &settings, NULL, &result), MM_ERR_NUMERIC,
               "counter: its numbers came to nothing");
  assert_int_equal(result.n_curve, 5);
  mm_result_release(&result);
  assert_fails(count("Pendulum-v1", &settings, NULL, &result), MM_ERR_INPUT,
               "'Pendulum-v1' has continuous actions: counter takes discrete ones");
}

static void test_learner_refused(void **state) {
  (void)state;
  mm_plugin_setting setting[3] = { count_settings[0], count_settings[1], count_settings[2] };
  mm_plugin_learner law = counter;
  (void)counter_number();
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "'counter': there is one of that name");
  law.name = "ppo";
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "'ppo': there is one of that name");
  law.name = NULL;
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "without a name");
  law.name = "other";
  law.setting = setting;
  assert_ok(mm_plugin_learner_check(&law));
  law.discrete = false;
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "actions that it takes");
  law.discrete = true;
  setting[2].name = "envs";
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "'envs' comes twice");
  setting[2] = (mm_plugin_setting){ "late", 3, 0, 2, false, "" };
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "least <= value <= most");
  setting[2] = count_settings[2];
  setting[0].name = "envs";
  setting[1].name = "steps";
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "'steps', at least 1, as its first");
  law.n_setting = 0;
  assert_fails(mm_plugin_learner_check(&law), MM_ERR_INPUT, "0 settings: expected 1 to 16");
}

// A learner that can be stopped: it adds random numbers, one a point, and has their sum as its
// state.
static double total;

static mm_status add_up(mm_training *t) {
  if (t->state) {
    assert_int_equal(t->state_size, sizeof total);
    memcpy(&total, t->state, sizeof total);
  } else {
    total = 0;
  }
  for (uint64_t i = t->state ? (uint64_t)t->setting[1] : 0; (double)(10 * i) < t->setting[0];) {
    total += (double)mm_random_uniform(t->random);
    if (!mm_training_point(t, 10 * ++i, total)) break;
  }
  return MM_OK;
}

static size_t sum_size(const mm_training *t) {
  (void)t;
  return sizeof total;
}

static void save_sum(const mm_training *t, void *state) {
  (void)t;
  memcpy(state, &total, sizeof total);
}

static const mm_plugin_setting adder_settings[] = {
  { "steps", 100, 1, 1e9, true, "environment steps of a run" },
  { "from", 0, 0, 1e9, true, "points that a state has" },
};
static const mm_plugin_learner adder = { .size = sizeof adder,
                                         .name = "adder",
                                         .summary = "adds random numbers",
                                         .discrete = true,
                                         .n_setting = 2,
                                         .setting = adder_settings,
                                         .train = add_up,
                                         .state_size = sum_size,
                                         .save = save_sum };

typedef struct kept {
  unsigned char bytes[512];
  size_t size;
} kept;

static void keep_state(const mm_job *job, const void *state, size_t size, void *user) {
  kept *k = user;
  (void)job;
  assert_true(size <= sizeof k->bytes);
  memcpy(k->bytes, state, size);
  k->size = size;
}

static void test_learner_states(void **state) {
  (void)state;
  mm_plugin_learner half = adder;
  half.save = NULL;
  assert_fails(mm_plugin_learner_check(&half), MM_ERR_INPUT, "both state_size and save");
  assert_ok(mm_plugin_learner_check(&adder));
  mm_plugin_learner_add(&adder);
  mm_algo algo, counts = counter_number();
  assert_true(mm_algo_find("adder", &algo));
  double setting[2] = { 100, 0 };
  kept k = { .size = 0 };
  const mm_job_hooks hooks = { .save = keep_state, .user = &k };
  const int stop = 1;
  mm_result whole, part;
  mm_env *env;
  mm_map *map;
  assert_ok(mm_env_open("CartPole-v1", &env));
  assert_ok(mm_map_create_negentropy(&map));
  mm_job job = {
    .env = env, .map = map, .algo = algo, .config = setting, .seed = 3, .hooks = &hooks
  };
  assert_ok(mm_job_run(&job, NULL, &whole));
  assert_int_equal(k.size, 0); // no checkpoint was due
  assert_int_equal(whole.n_curve, 10);
  // stopped behind the first point, and gone on
  assert_fails(mm_job_run(&job, &stop, &part), MM_ERR_INTERRUPTED, "interrupted");
  mm_result_release(&part);
  assert_true(k.size > 0);
  assert_int_equal(mm_job_state_done(k.bytes, k.size), 10);
  setting[1] = 1;
  job.state = k.bytes;
  job.state_size = k.size;
  assert_ok(mm_job_run(&job, NULL, &part));
  assert_int_equal(part.n_curve, 10);
  assert_memory_equal(part.curve, whole.curve, 10 * sizeof *part.curve);
  assert_memory_equal(part.curve_step, whole.curve_step, 10 * sizeof *part.curve_step);
  assert_true(part.final_value == whole.final_value && part.env_steps == whole.env_steps);
  mm_result_release(&part);
  mm_result_release(&whole);
  // damaged, cut off, of a longer run, of a learner without states
  for (size_t i = 0; i < k.size; i++) {
    k.bytes[i] ^= 4;
    assert_fails(mm_job_run(&job, NULL, &part), MM_ERR_INPUT, "state of a training");
    k.bytes[i] ^= 4;
  }
  job.state_size--;
  assert_fails(mm_job_run(&job, NULL, &part), MM_ERR_INPUT, "state of a training");
  job.state_size++;
  mm_settings settings = mm_settings_default(counts);
  mm_settings_bind(&settings, &job);
  assert_fails(mm_job_run(&job, NULL, &part), MM_ERR_INPUT, "counter does not go on from one");
  mm_env_destroy(env);
  mm_map_destroy(map);
}

// Each allocation fails once: of maps, of vecs, of a run of a learner.
static mm_status use_all(mm_settings *settings) {
  mm_map *map = NULL;
  mm_vec *vec = NULL;
  mm_env *env = NULL;
  mm_result result = { 0 };
  mm_vec_config config = mm_vec_config_default();
  config.n = 2;
  mm_status status = mm_map_open("random-q-clone:2", &map);
  if (status == MM_OK) status = mm_env_open("Drift", &env);
  if (status == MM_OK) status = mm_vec_create(env, &config, &vec);
  mm_vec_destroy(vec);
  mm_env_destroy(env);
  env = NULL;
  if (status == MM_OK) status = mm_env_open("CartPole-v1", &env);
  mm_job job = { .env = env, .map = map };
  mm_settings_bind(settings, &job);
  if (status == MM_OK) status = mm_job_run(&job, NULL, &result);
  mm_result_release(&result);
  mm_env_destroy(env);
  mm_map_destroy(map);
  return status;
}

static void test_memory(void **state) {
  (void)state;
  mm_settings settings = mm_settings_default(counter_number());
  mm_status status = MM_ERR_MEMORY;
  size_t needed = 0;
  mm_env_destroy(open_drift());
  add_clones();
  outcome = MM_OK;
  for (; status != MM_OK; needed++) {
    make_memory_scarce();
    allocations_left = needed;
    status = use_all(&settings);
    make_memory_usual();
    if (status != MM_OK) assert_int_equal(status, MM_ERR_MEMORY);
  }
  assert_true(needed > 8);
}

static void test_load(void **state) {
  (void)state;
  mm_plugin_info info;
  const size_t n = mm_plugin_count();
  assert_fails(mm_plugin_load("there/is/none.so"), MM_ERR_INPUT, "No such file");
  assert_fails(mm_plugin_load(MM_TEST_DATA "/main.c"), MM_ERR_INPUT, "main.c: ");
  assert_int_equal(mm_plugin_count(), n);
  assert_false(mm_plugin_list(n, &info));
  assert_int_equal(mm_plugin_of("CartPole-v1"), MM_PLUGINS_MOST);
  assert_fails(mm_plugin_need("run", "windy", "1.0"), MM_ERR_INPUT,
               "run: begun with plug-in 'windy' 1.0: expected --plugin FILE");
}

int suite_plugin(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_env),
    cmocka_unit_test(test_env_keeps_rules),
    cmocka_unit_test(test_env_state),
    cmocka_unit_test(test_env_refused),
    cmocka_unit_test(test_picture),
    cmocka_unit_test(test_training),
    cmocka_unit_test(test_map),
    cmocka_unit_test(test_map_single),
    cmocka_unit_test(test_density),
    cmocka_unit_test(test_pmd),
    cmocka_unit_test(test_map_parts),
    cmocka_unit_test(test_map_refused),
    cmocka_unit_test(test_learner),
    cmocka_unit_test(test_learner_refused),
    cmocka_unit_test(test_learner_states),
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_load),
  };
  return cmocka_run_group_tests_name("plugin", tests, NULL, NULL);
}
