// SPDX-License-Identifier: Apache-2.0
// The exact model: golden values, dense and explicit oracles, Monte-Carlo.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "env/grid/grid_model.h"
#include "env/grid/grid_sample.h"
#include "env/grid/grid_task.h"
#include "grid_oracle.h"
#include "test.h"

static const double gamma_paper = 0.99;

static void *take(size_t count, size_t size) {
  void *block = calloc(count, size);
  assert_non_null(block);
  return block;
}

static mm_grid *draw(const char *id, uint64_t seed, uint64_t index) {
  mm_env *env;
  mm_grid *grid;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_grid_draw(env, seed, index, &grid));
  mm_env_destroy(env);
  return grid;
}

static double *uniform_policy(const mm_grid *g) {
  size_t n = MM_GRID_ACTIONS * (size_t)g->n_state;
  double *policy = take(n, sizeof *policy);
  for (size_t i = 0; i < n; i++)
    policy[i] = 0.2;
  return policy;
}

// Kind 0: spread out; 1: deterministic; 2: nearly so; 3: uniform.
static double *random_policy(const mm_grid *g, uint64_t seed, int kind) {
  size_t n = (size_t)g->n_state;
  double *policy = uniform_policy(g);
  mm_stream stream = mm_stream_make(seed, 0, MM_RNG_TEST, 40);
  for (size_t s = 0; s < n && kind != 3; s++) {
    double sum = 0;
    uint32_t chosen = mm_uniform_int(mm_stream_pair(stream, 8 * s + 5), MM_GRID_ACTIONS);
    for (size_t a = 0; a < MM_GRID_ACTIONS; a++) {
      double w = -log(mm_uniform_open_d(mm_stream_pair(stream, 8 * s + a)));
      if (kind > 0) w = a == chosen ? 1 : kind == 1 ? 0 : 1e-9 * w;
      policy[a * n + s] = w;
      sum += w;
    }
    for (size_t a = 0; a < MM_GRID_ACTIONS; a++)
      policy[a * n + s] /= sum;
  }
  return policy;
}

static double most_apart(const double *a, const double *b, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++)
    most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

// ---------------------------------------------------------------------------------------------
// Golden values

typedef struct golden {
  const char *id; // NULL: the tiny task
  int start[2], objects[5][2];
  double best[2], uniform[2]; // absorb, restart
  int reachable;
} golden;

static const golden goldens[] = {
  { "GridWorld-dense",
    { 0, 0 },
    { { 1, 3 }, { 3, 7 }, { 8, 7 }, { 9, 2 } },
    { 9.4903723530, 9.4903723530 },
    { 0.6434146582, 0.6889627861 },
    1936 },
  { "GridWorld-sparse",
    { 6, 6 },
    { { 3, 9 }, { 9, 4 } },
    { 0.9509900499, 16.2507258676 },
    { -0.0344984560, -0.0546970537 },
    167 },
  { "GridWorld-long",
    { 0, 0 },
    { { 1, 3 }, { 3, 7 }, { 8, 7 }, { 9, 2 } },
    { 3.6345962862, 3.6345962862 },
    { 0.5033111165, 0.5881928409 },
    492 },
  { "GridWorld-longer",
    { 4, 0 },
    { { 1, 1 }, { 7, 7 }, { 2, 6 }, { 4, 2 }, { 6, 6 } },
    { 2.8378068900, 6.2423914316 },
    { -0.4540172525, -1.2165269308 },
    308 },
  { "GridWorld-long_dense",
    { 2, 2 },
    { { 1, 1 }, { 1, 9 }, { 9, 1 }, { 9, 9 } },
    { 4.8559331816, 4.8559331816 },
    { 1.0054305451, 1.0054305451 },
    1664 },
  { "GridWorld-sixteen_rooms",
    { 6, 7 },
    { { 12, 12 }, { 0, 12 }, { 12, 0 } },
    { 2.0774319658, 2.9773688157 },
    { 0.1173119096, 0.1194096406 },
    984 },
  { NULL,
    { 0, 0 },
    { { 3, 3 } },
    { 1.7277759053, 11.9361992538 },
    { 0.8259019702, 1.3970432545 },
    32 },
};

enum { GOLDENS = sizeof goldens / sizeof *goldens, DENSE = 0, LONGER = 3, ROOMS = 5, TINY = 6 };

// An instance of the configuration with the cells of the table.
static mm_grid *golden_task(int which) {
  const golden *w = &goldens[which];
  mm_grid *g = w->id ? draw(w->id, 1, 1) : NULL, *task;
  mm_grid_parts p;
  memset(&p, 0, sizeof p);
  p.side = g ? g->side : 4;
  p.n_object = g ? g->n_object : 1;
  p.wall = g ? g->wall : NULL;
  p.start = w->start[0] * p.side + w->start[1];
  for (int i = 0; i < p.n_object; i++) {
    p.object[i] = w->objects[i][0] * p.side + w->objects[i][1];
    p.reward[i] = g ? g->reward[i] : 1;
    p.terminate[i] = g ? g->terminate[i] : .5;
    p.respawn[i] = g ? g->respawn[i] : .1;
    if (which != ROOMS) continue;
    p.reward[i] = i == 0 ? 1 : i == 1 ? .5 : .25;
    p.terminate[i] = .1;
    p.respawn[i] = .01;
  }
  assert_ok(mm_grid_create(&p, &task));
  mm_grid_destroy(g);
  return task;
}

static void check_golden(const golden *w, const mm_grid *g, bool restart) {
  size_t n = (size_t)g->n_state, start = (size_t)mm_grid_index(g, mm_grid_start(g));
  mm_grid_model *model;
  double *policy = uniform_policy(g), *value = take(n, sizeof *value), residual;
  uint8_t *action = take(n, 1), *reachable = take(n, 1);
  assert_ok(mm_grid_model_create(g, gamma_paper, restart, &model));
  assert_ok(mm_grid_value(model, policy, value, &residual));
  // the table has ten decimals
  assert_true(fabs(value[start] - w->uniform[restart]) < 1e-10);
  assert_ok(mm_grid_optimal(model, value, action));
  assert_true(fabs(value[start] - w->best[restart]) < 1e-10);
  int count = 0;
  mm_grid_reachable(model, reachable);
  for (size_t s = 0; s < n; s++)
    count += reachable[s];
  assert_int_equal(count, w->reachable);
  free(policy);
  free(value);
  free(action);
  free(reachable);
  mm_grid_model_destroy(model);
}

static void test_golden(void **state) {
  (void)state;
  for (int i = 0; i < GOLDENS; i++) {
    mm_grid *g = golden_task(i);
    check_golden(&goldens[i], g, false);
    check_golden(&goldens[i], g, true);
    mm_grid_destroy(g);
  }
}

static void test_golden_q(void **state) {
  (void)state;
  static const double rows[2][MM_GRID_ACTIONS] = {
    { 9.39546863, 9.49037235, 9.39546863, 9.49037235, 9.39546863 },
    { 2.83780689, 2.78133453, 2.80942882, 2.83780689, 2.80942882 }
  };
  for (int i = 0; i < 3; i++) { // dense in both modes, longer under absorb
    mm_grid *g = golden_task(i < 2 ? DENSE : LONGER);
    size_t n = (size_t)g->n_state, start = (size_t)mm_grid_index(g, mm_grid_start(g));
    double *value = take(n, sizeof *value), *q = take(5 * n, sizeof *q);
    uint8_t *action = take(n, 1);
    mm_grid_model *model;
    assert_ok(mm_grid_model_create(g, gamma_paper, i == 1, &model));
    assert_ok(mm_grid_optimal(model, value, action));
    mm_grid_q(model, value, q);
    for (size_t a = 0; a < MM_GRID_ACTIONS; a++)
      assert_true(fabs(q[a * n + start] - rows[i / 2][a]) < 5.1e-9);
    assert_int_equal(action[start], i < 2 ? 1 : 0); // the lowest of the two best
    free(value);
    free(q);
    free(action);
    mm_grid_model_destroy(model);
    mm_grid_destroy(g);
  }
}

// ---------------------------------------------------------------------------------------------
// Dense oracles

// V and d of one policy against elimination on I - gamma P; the residual must be what it says.
static void check_dense(const mm_grid *g, const double *policy, bool restart) {
  size_t n = (size_t)g->n_state, start = (size_t)mm_grid_index(g, mm_grid_start(g));
  double *a = take(n * n, sizeof *a), *v = take(n, sizeof *v), *d = take(n, sizeof *d);
  double *value = take(n, sizeof *value), *visits = take(n, sizeof *visits), residual;
  int *pivot = take(n, sizeof *pivot);
  oracle_matrix(g, policy, restart, a, v);
  for (size_t i = 0; i < n * n; i++)
    a[i] *= -gamma_paper;
  for (size_t s = 0; s < n; s++)
    a[s * n + s] += 1;
  oracle_factor(a, (int)n, pivot);
  oracle_solve(a, (int)n, pivot, v);
  d[start] = 1 - gamma_paper;
  oracle_solve_transposed(a, (int)n, pivot, d);

  mm_grid_model *model;
  assert_ok(mm_grid_model_create(g, gamma_paper, restart, &model));
  assert_ok(mm_grid_value(model, policy, value, &residual));
  assert_true(most_apart(value, v, n) < 1e-10);
  double honest = oracle_residual(g, policy, gamma_paper, restart, value);
  assert_true(residual < 2e-12 && honest < 2e-12 && fabs(honest - residual) < 1e-13);
  assert_ok(mm_grid_visitation(model, policy, visits));
  assert_true(most_apart(visits, d, n) < 1e-12);

  // from anywhere else the same values come out, also from what is no number
  for (size_t s = 0; s < n; s++)
    value[s] = s % 3 ? 5 : -1e3;
  assert_ok(mm_grid_value(model, policy, value, NULL));
  assert_true(most_apart(value, v, n) < 1e-10);
  value[n / 2] = NAN;
  assert_ok(mm_grid_value(model, policy, value, NULL));
  assert_true(most_apart(value, v, n) < 1e-10);
  mm_grid_model_destroy(model);
  free(a);
  free(v);
  free(d);
  free(value);
  free(visits);
  free(pivot);
}

static void test_dense(void **state) {
  (void)state;
  int done = 0;
  for (uint64_t i = 0; done < 100; i++) {
    mm_grid *g = draw(i % 4 ? "GridWorld-small" : "GridWorld-all", 3, i);
    if (g->n_state <= 400) {
      double *policy = random_policy(g, i, done % 4);
      check_dense(g, policy, false);
      check_dense(g, policy, true);
      free(policy);
      done++;
    }
    mm_grid_destroy(g);
  }
}

// Certain and impossible events, objects of no use, a board of three cells in a row.
static void test_edges(void **state) {
  (void)state;
  static const double probabilities[] = { 0, 1, .5, 1, 0, 1e-12, 1 - 1e-12, .3 };
  uint8_t wall[9] = { 1, 1, 1, 0, 0, 0, 1, 1, 1 };
  for (int n_object = 1; n_object <= 2; n_object++) {
    for (int i = 0; i < 64; i++) {
      mm_grid_parts p = { .side = 3, .n_object = n_object, .start = 4, .wall = wall };
      for (int j = 0; j < n_object; j++) {
        p.object[j] = j == 0 ? 3 : 5;
        p.reward[j] = j == 0 ? 1 : -3;
        p.terminate[j] = probabilities[(i + 3 * j) % 8];
        p.respawn[j] = probabilities[(i / 8 + 5 * j) % 8];
      }
      mm_grid *g;
      assert_ok(mm_grid_create(&p, &g));
      for (int kind = 0; kind < 4; kind++) {
        double *policy = random_policy(g, 100 + (uint64_t)i, kind);
        check_dense(g, policy, false);
        check_dense(g, policy, true);
        free(policy);
      }
      mm_grid_destroy(g);
    }
  }
}

// The paper's formula: Q over all pairs, (I - gamma P)Q = r with P((s, a), (s', a')) = P(s' | s, a)
// pi(a' | s').
static void test_pairs(void **state) {
  (void)state;
  mm_grid *g = golden_task(TINY);
  size_t n = (size_t)g->n_state, pairs = n * MM_GRID_ACTIONS;
  double *a = take(pairs * pairs, sizeof *a), *q = take(pairs, sizeof *q);
  double *value = take(n, sizeof *value), *ours = take(pairs, sizeof *ours);
  int *pivot = take(pairs, sizeof *pivot);
  for (int mode = 0; mode < 2; mode++) {
    double *policy = random_policy(g, 9, 0);
    memset(a, 0, pairs * pairs * sizeof *a);
    for (size_t i = 0; i < pairs; i++) { // i = action * n + state
      oracle_outcomes o;
      oracle_step(g, (int32_t)(i % n), (int)(i / n), mode, &o);
      a[i * pairs + i] += 1;
      q[i] = o.reward;
      for (int k = 0; k < o.n; k++) {
        for (size_t b = 0; b < MM_GRID_ACTIONS; b++) {
          size_t j = b * n + (size_t)o.state[k];
          a[i * pairs + j] -= gamma_paper * o.probability[k] * policy[j];
        }
      }
    }
    oracle_factor(a, (int)pairs, pivot);
    oracle_solve(a, (int)pairs, pivot, q);
    mm_grid_model *model;
    assert_ok(mm_grid_model_create(g, gamma_paper, mode, &model));
    memset(value, 0, n * sizeof *value);
    assert_ok(mm_grid_value(model, policy, value, NULL));
    mm_grid_q(model, value, ours);
    assert_true(most_apart(q, ours, pairs) < 1e-10);
    mm_grid_model_destroy(model);
    free(policy);
  }
  free(a);
  free(q);
  free(value);
  free(ours);
  free(pivot);
  mm_grid_destroy(g);
}

// ---------------------------------------------------------------------------------------------
// Explicit outcomes: tasks too large for elimination

static void test_outcomes(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 12; i++) {
    mm_grid *g = draw("GridWorld-large", 5, i);
    size_t n = (size_t)g->n_state;
    // row sums, and the number of successors: each absent object doubles them
    int n_free = 0;
    int64_t successors = 0, expected = 5;
    for (int c = 0; c < g->cells; c++)
      n_free += !g->wall[c];
    for (int j = 0; j < g->n_object; j++)
      expected *= 3;
    for (int32_t s = 0; s < g->n_state; s++) {
      for (int a = 0; a < MM_GRID_ACTIONS && !oracle_is_wall(g, s); a++) {
        oracle_outcomes o;
        double sum = 0;
        oracle_step(g, s, a, false, &o);
        for (int k = 0; k < o.n; k++)
          sum += o.probability[k];
        assert_true(fabs(sum - (1 - o.ends)) < 1e-14);
        successors += o.n;
      }
    }
    assert_true(successors == expected * n_free);
    for (int kind = 0; kind < 4; kind++) {
      double *policy = random_policy(g, i, kind), *value = take(n, sizeof *value), residual;
      mm_grid_model *model;
      assert_ok(mm_grid_model_create(g, gamma_paper, kind % 2, &model));
      assert_ok(mm_grid_value(model, policy, value, &residual));
      double honest = oracle_residual(g, policy, gamma_paper, kind % 2, value);
      assert_true(honest < 2e-12 && fabs(honest - residual) < 1e-13);
      mm_grid_model_destroy(model);
      free(policy);
      free(value);
    }
    mm_grid_destroy(g);
  }
}

// V* satisfies its equation, is attained by the policy that comes with it, and ties go to the
// lowest action.
static void test_optimal(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 60; i++) {
    mm_grid *g = draw(i % 3 ? "GridWorld-all" : "GridWorld-labyrinth", 6, i);
    size_t n = (size_t)g->n_state;
    double *value = take(n, sizeof *value), *attained = take(n, sizeof *attained);
    double *q = take(5 * n, sizeof *q), *policy = take(5 * n, sizeof *policy), equation = 0;
    uint8_t *action = take(n, 1);
    mm_grid_model *model;
    assert_ok(mm_grid_model_create(g, gamma_paper, i % 2, &model));
    assert_ok(mm_grid_optimal(model, value, action));
    mm_grid_q(model, value, q);
    for (size_t s = 0; s < n; s++) {
      double best = q[s];
      for (size_t a = 1; a < MM_GRID_ACTIONS; a++)
        best = fmax(best, q[a * n + s]);
      equation = fmax(equation, fabs(best - value[s]));
      for (size_t a = 0; a < action[s]; a++)
        assert_true(q[a * n + s] < best - 0.9e-9);
      assert_true(q[action[s] * n + s] > best - 1.1e-9);
      policy[action[s] * n + s] = 1;
    }
    assert_true(equation < 2e-13);
    assert_ok(mm_grid_value(model, policy, attained, NULL));
    // what ties within 1e-9 may cost
    assert_true(most_apart(value, attained, n) < 1e-7);
    mm_grid_model_destroy(model);
    mm_grid_destroy(g);
    free(value);
    free(attained);
    free(q);
    free(policy);
    free(action);
  }
}

// ---------------------------------------------------------------------------------------------
// Monte-Carlo

static void check_episodes(const mm_grid *g, bool restart, int episodes) {
  size_t n = (size_t)g->n_state, start = (size_t)mm_grid_index(g, mm_grid_start(g));
  double *policy = uniform_policy(g), *value = take(n, sizeof *value), sum = 0, squares = 0;
  mm_grid_model *model;
  assert_ok(mm_grid_model_create(g, gamma_paper, restart, &model));
  assert_ok(mm_grid_value(model, policy, value, NULL));
  mm_grid_sampler sampler = mm_grid_sampler_make(g);
  for (int e = 0; e < episodes; e++) {
    mm_stream steps = mm_stream_make(11, 0, MM_RNG_ENV_STEP, (uint32_t)e);
    mm_stream actions = mm_stream_make(11, 0, MM_RNG_ACTION, (uint32_t)e);
    mm_grid_state s = mm_grid_start(g);
    double discounted = 0, scale = 1;
    // what comes later weighs less than 1e-5
    for (uint64_t t = 0; t < 1200; t++, scale *= gamma_paper) {
      int action = (int)mm_uniform_int(mm_stream_pair(actions, t), MM_GRID_ACTIONS);
      mm_grid_event event = mm_grid_step(g, &sampler, steps, t, action, &s);
      discounted += scale * event.reward;
      if (event.done && !restart) break;
      if (event.done) s = mm_grid_start(g);
    }
    sum += discounted;
    squares += discounted * discounted;
  }
  double mean = sum / episodes, variance = squares / episodes - mean * mean;
  double error = sqrt(variance / episodes);
  if (!(fabs(mean - value[start]) < 3 * error))
    fail_msg("mean %g, exact %g, standard error %g", mean, value[start], error);
  mm_grid_model_destroy(model);
  free(policy);
  free(value);
}

static void test_monte_carlo(void **state) {
  (void)state;
  for (int mode = 0; mode < 2; mode++) {
    mm_grid *g = golden_task(TINY);
    check_episodes(g, mode, 10000);
    mm_grid_destroy(g);
    g = golden_task(DENSE);
    check_episodes(g, mode, 4000);
    mm_grid_destroy(g);
    for (uint64_t i = 0; i < 4; i++) {
      g = draw("GridWorld-all", 8, i);
      check_episodes(g, mode, 3000);
      mm_grid_destroy(g);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Limits

static void test_discounts(void **state) {
  (void)state;
  mm_grid *g = draw("GridWorld-all", 2, 4);
  mm_grid_model *model;
  size_t n = (size_t)g->n_state;
  double *policy = uniform_policy(g), *value = take(n, sizeof *value), residual;
  const double good[] = { 0, .5, .999, .999999 }, bad[] = { 1, -.1, NAN, INFINITY };
  for (int i = 0; i < 4; i++) {
    assert_fails(mm_grid_model_create(g, bad[i], false, &model), MM_ERR_INPUT, "gamma");
    assert_null(model);
    assert_ok(mm_grid_model_create(g, good[i], true, &model));
    assert_ok(mm_grid_value(model, policy, value, &residual));
    double honest = oracle_residual(g, policy, good[i], true, value);
    assert_true(residual < 1e-11 && fabs(honest - residual) < 1e-11);
    mm_grid_model_destroy(model);
  }
  free(policy);
  free(value);
  mm_grid_destroy(g);
}

// Rewards that overflow end in an error, not in numbers that are none.
static void test_overflow(void **state) {
  (void)state;
  mm_grid_parts p = { .side = 2, .n_object = 1, .start = 0, .object = { 3 } };
  p.reward[0] = 1e308;
  p.respawn[0] = 1;
  mm_grid *g;
  mm_grid_model *model;
  assert_ok(mm_grid_create(&p, &g));
  size_t n = (size_t)g->n_state;
  double *policy = uniform_policy(g), *value = take(n, sizeof *value);
  uint8_t *action = take(n, 1);
  assert_ok(mm_grid_model_create(g, gamma_paper, false, &model));
  assert_int_equal(mm_grid_value(model, policy, value, NULL), MM_ERR_NUMERIC);
  assert_int_equal(mm_grid_optimal(model, value, action), MM_ERR_NUMERIC);
  for (size_t s = 0; s < n; s++)
    assert_true(value[s] == 0);
  mm_grid_model_destroy(model);
  mm_grid_destroy(g);
  free(policy);
  free(value);
  free(action);
}

// An object behind walls: nothing to gain, everything still defined.
static void test_unreachable(void **state) {
  (void)state;
  uint8_t wall[16] = { [11] = 1, [14] = 1 };
  mm_grid_parts p = { .side = 4, .n_object = 1, .start = 0, .wall = wall, .object = { 15 } };
  p.reward[0] = 1;
  p.respawn[0] = .1;
  mm_grid *g;
  mm_grid_model *model;
  assert_ok(mm_grid_create(&p, &g));
  double value[32] = { 0 }, d[32], sum = 0, *policy = uniform_policy(g);
  uint8_t action[32], reachable[32];
  int count = 0;
  assert_ok(mm_grid_model_create(g, gamma_paper, false, &model));
  assert_ok(mm_grid_optimal(model, value, action));
  assert_true(value[16] == 0 && action[16] == 0);
  mm_grid_reachable(model, reachable);
  assert_ok(mm_grid_visitation(model, policy, d));
  for (int s = 0; s < 32; s++) {
    count += reachable[s];
    sum += d[s];
    assert_true(reachable[s] || d[s] < 1e-15);
  }
  assert_int_equal(count, 13);
  assert_true(fabs(sum - 1) < 1e-12);
  free(policy);
  mm_grid_model_destroy(model);
  mm_grid_destroy(g);
}

int suite_grid_model(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),      cmocka_unit_test(test_golden_q),
    cmocka_unit_test(test_dense),       cmocka_unit_test(test_edges),
    cmocka_unit_test(test_pairs),       cmocka_unit_test(test_outcomes),
    cmocka_unit_test(test_optimal),     cmocka_unit_test(test_monte_carlo),
    cmocka_unit_test(test_discounts),   cmocka_unit_test(test_overflow),
    cmocka_unit_test(test_unreachable),
  };
  return cmocka_run_group_tests_name("grid_model", tests, NULL, NULL);
}
