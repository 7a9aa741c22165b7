// SPDX-License-Identifier: Apache-2.0
// Suite `theory`: golden values through task files, and every quantity of Theorem 1 against a
// version spelt out with dense matrices.

#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/pmd.h"
#include "env/grid/grid_task.h"
#include "grid_oracle.h"
#include "show/figure/theory_figure.h"
#include "study/theory/theory.h"

enum { A = MM_GRID_ACTIONS };

static mm_env *open_env(const char *id) {
  mm_env *env;
  assert_ok(mm_env_open(id, &env));
  return env;
}

static mm_map *open_map(const char *name) {
  mm_map *map;
  assert_ok(mm_map_open(name, &map));
  return map;
}

static void *take(size_t n, size_t size) {
  void *block = calloc(n, size);
  assert_non_null(block);
  return block;
}

static void assert_near(const char *what, double got, double expected, double tolerance) {
  if (!(fabs(got - expected) <= tolerance * fmax(1, fabs(expected))))
    fail_msg("%s: %.15g, not %.15g", what, got, expected);
}

// ---------------------------------------------------------------------------------------------
// Golden values

static void check_golden(const char *task, bool restart, double v_star, double uniform) {
  char path[512];
  snprintf(path, sizeof path, "%s/golden/gridworld/%s.yaml", MM_TEST_DATA, task);
  mm_env *env = open_env(path);
  mm_map *map = open_map("l2");
  mm_pmd_config config = mm_pmd_config_default();
  config.steps = 2048;
  config.restart = restart;
  mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 1 };
  mm_theory theory;
  assert_ok(mm_theory_run(&job, NULL, NULL, NULL, &theory));
  assert_int_equal(theory.n_step, 1);
  assert_near(task, theory.v_star, v_star, 1e-8);
  assert_near(task, theory.step[0].value, uniform, 1e-8);
  mm_theory_release(&theory);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_golden(void **state) {
  (void)state;
  FILE *file = fopen(MM_TEST_DATA "/golden/gridworld/values.txt", "r");
  assert_non_null(file);
  char line[256], task[64];
  int checked = 0;
  while (fgets(line, sizeof line, file)) {
    double v[4];
    if (line[0] == '#') continue;
    assert_int_equal(sscanf(line, "%63s %lf %lf %lf %lf", task, v, v + 1, v + 2, v + 3), 5);
    check_golden(task, false, v[0], v[1]);
    check_golden(task, true, v[2], v[3]);
    checked++;
  }
  fclose(file);
  assert_int_equal(checked, 7);
}

// ---------------------------------------------------------------------------------------------
// Spelt out

typedef struct brute {
  const mm_grid *grid;
  double gamma;
  bool restart;
  int n, start;
  double *p, *r;        // [n][n], [n] of the policy in hand
  int *pivot;           // [n]
  double *value, *q;    // [n], [5][n]
  double *policy;       // [5][n]
  double *before;       // [5][n]
  bool *reachable;      // [n]
  oracle_outcomes *out; // one
} brute;

static void brute_open(brute *b) {
  size_t n = (size_t)(b->n = b->grid->n_state);
  b->start = mm_grid_index(b->grid, mm_grid_start(b->grid));
  b->p = take(n * n, sizeof *b->p);
  b->r = take(n, sizeof *b->r);
  b->pivot = take(n, sizeof *b->pivot);
  b->value = take(n, sizeof *b->value);
  b->q = take(A * n, sizeof *b->q);
  b->policy = take(A * n, sizeof *b->policy);
  b->before = take(A * n, sizeof *b->before);
  b->reachable = take(n, sizeof *b->reachable);
  b->out = take(1, sizeof *b->out);
}

static void brute_close(brute *b) {
  free(b->p);
  free(b->r);
  free(b->pivot);
  free(b->value);
  free(b->q);
  free(b->policy);
  free(b->before);
  free(b->reachable);
  free(b->out);
}

// Everything that can be reached from the start, one generation after the other.
static void find_reachable(brute *b) {
  bool grew = true;
  b->reachable[b->start] = true;
  while (grew) {
    grew = false;
    for (int s = 0; s < b->n; s++)
      for (int a = 0; a < A && b->reachable[s]; a++) {
        oracle_step(b->grid, s, a, b->restart, b->out);
        for (int k = 0; k < b->out->n; k++) {
          if (b->out->probability[k] <= 0 || b->reachable[b->out->state[k]]) continue;
          b->reachable[b->out->state[k]] = true;
          grew = true;
        }
      }
  }
}

// Factors of I - gamma P for a policy; r beside them.
static void factor(brute *b, const double *policy) {
  oracle_matrix(b->grid, policy, b->restart, b->p, b->r);
  for (int i = 0; i < b->n; i++)
    for (int j = 0; j < b->n; j++)
      b->p[i * b->n + j] = (i == j) - b->gamma * b->p[i * b->n + j];
  oracle_factor(b->p, b->n, b->pivot);
}

static void solve_q(brute *b, const double *value) {
  for (int s = 0; s < b->n; s++)
    for (int a = 0; a < A; a++) {
      double *q = b->q + a * b->n + s;
      *q = 0;
      if (oracle_is_wall(b->grid, s)) continue;
      oracle_step(b->grid, s, a, b->restart, b->out);
      *q = b->out->reward;
      for (int k = 0; k < b->out->n; k++)
        *q += b->gamma * b->out->probability[k] * value[b->out->state[k]];
    }
}

// V and Q of a policy.
static void solve(brute *b, const double *policy) {
  factor(b, policy);
  memcpy(b->value, b->r, (size_t)b->n * sizeof *b->value);
  oracle_solve(b->p, b->n, b->pivot, b->value);
  solve_q(b, b->value);
}

// By policy iteration, starting from action 0 everywhere; ends with the greedy policy that takes
// the lowest of equally good actions. Returns V* and sets *divergence.
static double optimum(brute *b, const mm_map *map, double *divergence) {
  for (int s = 0; s < b->n; s++)
    b->policy[s] = 1;
  for (int sweep = 0; sweep < 1000; sweep++) {
    bool better = false;
    solve(b, b->policy);
    for (int s = 0; s < b->n; s++) {
      int best = 0;
      for (int a = 1; a < A; a++)
        if (b->q[a * b->n + s] > b->q[best * b->n + s] + 1e-9) best = a;
      for (int a = 0; a < A; a++) {
        better |=
            b->policy[a * b->n + s] != (a == best) && b->q[best * b->n + s] > b->value[s] + 1e-9;
        b->policy[a * b->n + s] = a == best;
      }
    }
    if (!better && sweep > 0) break;
  }
  solve(b, b->policy);
  double v_star = b->value[b->start];
  double *d = take((size_t)b->n, sizeof *d);
  d[b->start] = 1 - b->gamma;
  oracle_solve_transposed(b->p, b->n, b->pivot, d);
  *divergence = 0;
  for (int s = 0; s < b->n; s++) {
    double pi[A], uniform[A], bregman;
    for (int a = 0; a < A; a++) {
      pi[a] = b->policy[a * b->n + s];
      uniform[a] = 0.2;
    }
    assert_ok(mm_map_bregman(map, pi, uniform, A, &bregman));
    *divergence += d[s] * bregman;
  }
  free(d);
  return v_star;
}

// E_t, all and sampled, of the batch just seen; b->q is that of its policy.
static void errors(const brute *b, const mm_pmd *pmd, const double *critic, double *all,
                   double *sampled) {
  mm_pmd_batch batch = mm_pmd_last_batch(pmd);
  *all = *sampled = 0;
  for (int s = 0; s < b->n; s++) {
    if (!b->reachable[s]) continue;
    for (int a = 0; a < A; a++) {
      double estimate = critic[s];
      bool seen = false;
      for (int i = 0; i < batch.n_visited; i++) {
        double visits = batch.visits[i * A + a];
        if (batch.state[i] != s || visits == 0) continue;
        estimate = critic[s] + batch.raw_sum[i * A + a] / visits;
        seen = true;
      }
      double error = fabs(estimate - b->q[a * b->n + s]);
      *all = fmax(*all, error);
      if (seen) *sampled = fmax(*sampled, error);
    }
  }
}

static double distance(const brute *b) {
  double largest = 0;
  for (int s = 0; s < b->n; s++) {
    double sum = 0;
    for (int a = 0; a < A; a++)
      sum += fabs(b->policy[a * b->n + s] - b->before[a * b->n + s]);
    largest = fmax(largest, sum);
  }
  return largest;
}

static void check_step(brute *b, mm_pmd *pmd, const mm_theory_step *step) {
  size_t n = (size_t)b->n;
  double all, sampled, *critic = take(n, sizeof *critic);
  mm_pmd_policy(pmd, b->before);
  memcpy(critic, mm_pmd_critic(pmd), n * sizeof *critic);
  solve(b, b->before);
  double value = b->value[b->start];
  assert_ok(mm_pmd_iterate(pmd));
  errors(b, pmd, critic, &all, &sampled);
  mm_pmd_policy(pmd, b->policy);
  double moved = distance(b);
  assert_near("value", step->value, value, 1e-9);
  assert_near("estimation error", step->estimation_error, all, 1e-9);
  assert_near("sampled", step->estimation_error_sampled, sampled, 1e-9);
  assert_near("distance", step->update_distance, moved, 1e-12);
  assert_near("bound", step->monotone_bound, -all * moved / (1 - b->gamma), 1e-8);
  solve(b, b->policy);
  assert_near("change", step->value_change, b->value[b->start] - value, 1e-9);
  free(critic);
}

// The three readings of the convergence bound, and what is counted over the run.
static void check_conclusion(const mm_theory *t, const mm_pmd_config *c, double range) {
  double h = 1 / (1 - c->gamma), n = (double)t->n_step, sum = 0, worst = 0, std = 0;
  size_t violations = 0;
  for (size_t i = 0; i < t->n_step; i++) {
    const mm_theory_step *step = t->step + i;
    sum += step->value;
    worst = fmax(worst, step->estimation_error);
    std += step->advantage_std;
    violations += step->value_change < step->monotone_bound;
    double after = i + 1 < t->n_step ? step[1].value : t->final_value;
    assert_near("change", step->value_change, after - step->value, 1e-12);
  }
  double eta = c->normalise_advantage ? c->eta * n / std : c->eta, d = t->optimal_divergence;
  double floor_term = 4 * worst * h * h;
  assert_near("average gap", t->average_gap, t->v_star - sum / n, 1e-12);
  assert_near("floor", t->floor_term, floor_term, 1e-12);
  assert_near("rate", t->rate_term, (d / (c->eta * (1 - c->gamma)) + h * h) / n, 1e-12);
  assert_near("bound", t->convergence_bound, t->rate_term + t->floor_term, 1e-12);
  assert_near("range", t->reward_range, range, 1e-15);
  assert_near("bound with range", t->bound_with_range,
              (d / c->eta * h + range * h * h) / n + floor_term, 1e-12);
  assert_near("effective eta", t->effective_eta, eta, 1e-12);
  assert_near("bound with effective eta", t->bound_with_effective_eta,
              (d / eta * h + h * h) / n + floor_term, 1e-12);
  assert_int_equal(t->violations, violations);
}

static double range_of(const mm_grid *grid) {
  double low = 0, high = 0;
  for (int i = 0; i < grid->n_object; i++) {
    low = fmin(low, grid->reward[i]);
    high = fmax(high, grid->reward[i]);
  }
  return high - low;
}

static void check_run(const mm_env *env, const mm_map *map, const mm_pmd_config *config,
                      uint64_t seed) {
  mm_grid *grid;
  mm_pmd *pmd;
  mm_theory theory;
  double divergence;
  mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = config, .seed = seed };
  assert_ok(mm_theory_run(&job, NULL, NULL, NULL, &theory));
  assert_int_equal(theory.n_step, mm_pmd_iterations(config));
  assert_ok(mm_grid_draw(env, seed, 0, &grid));
  assert_ok(mm_pmd_create(grid, map, config, seed, 0, &pmd));
  brute b = { .grid = grid, .gamma = config->gamma, .restart = config->restart };
  brute_open(&b);
  find_reachable(&b);
  assert_near("V*", theory.v_star, optimum(&b, map, &divergence), 1e-9);
  assert_near("divergence", theory.optimal_divergence, divergence, 1e-8);
  for (size_t t = 0; t < theory.n_step; t++)
    check_step(&b, pmd, theory.step + t);
  assert_near("final", theory.final_value, b.value[b.start], 1e-9);
  check_conclusion(&theory, config, range_of(grid));
  brute_close(&b);
  mm_pmd_destroy(pmd);
  mm_grid_destroy(grid);
  mm_theory_release(&theory);
}

static void test_brute_force(void **state) {
  (void)state;
  static const char *const envs[] = { MM_TEST_DATA "/golden/gridworld/tiny.yaml",
                                      "GridWorld-small" };
  static const char *const maps[] = { "negentropy", "l2", "tsallis:0.5", "random-neural:1" };
  for (int e = 0; e < 2; e++) {
    mm_env *env = open_env(envs[e]);
    for (int k = 0; k < 8; k++) {
      mm_map *map = open_map(maps[k / 2]);
      mm_pmd_config config = mm_pmd_config_default();
      config.envs = 16;
      config.steps = 5 * config.envs * config.unroll;
      config.restart = k % 2 == 1;
      config.normalise_advantage = k % 4 < 2;
      config.gamma = k < 6 ? 0.99 : 0.5;
      check_run(env, map, &config, (uint64_t)k);
      mm_map_destroy(map);
    }
    mm_env_destroy(env);
  }
}

// With gamma = 0 and every pair sampled the estimates are exact, so that any loss breaks the bound;
// and two gradient steps of which the second overshoots its way back lose value.
static void test_violations(void **state) {
  (void)state;
  mm_env *env = open_env(MM_TEST_DATA "/golden/gridworld/square.yaml");
  mm_map *map = open_map("negentropy");
  mm_pmd_config config = mm_pmd_config_default();
  config.steps = 4 * config.envs * config.unroll;
  config.gamma = 0;
  config.epochs = 2;
  size_t found[2];
  for (int k = 0; k < 2; k++) {
    mm_theory theory;
    config.lr = k == 0 ? 4 : 40;
    mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 5 };
    assert_ok(mm_theory_run(&job, NULL, NULL, NULL, &theory));
    assert_near("error of the first policy", theory.step[0].estimation_error, 0, 1e-12);
    check_conclusion(&theory, &config, 1);
    found[k] = theory.violations;
    if (k == 1) assert_true(theory.step[0].value_change < -1e-3);
    mm_theory_release(&theory);
    check_run(env, map, &config, 5);
  }
  assert_int_equal(found[0], 0);
  assert_true(found[1] >= 1 && found[1] <= 4);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------
// The call itself

typedef struct listener {
  size_t calls, total;
  volatile int stop;
  size_t stop_at;
} listener;

static void listen(size_t done, size_t total, void *user) {
  listener *l = user;
  l->calls++;
  assert_int_equal(done, l->calls);
  l->total = total;
  if (done == l->stop_at) l->stop = 1;
}

static void test_progress_and_stop(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-sparse");
  mm_map *map = open_map("negentropy");
  mm_pmd_config config = mm_pmd_config_default();
  config.steps = 10 * 2048;
  mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 3 };
  mm_theory theory, again;
  listener all = { 0 }, some = { .stop_at = 4 };
  assert_ok(mm_theory_run(&job, &all.stop, listen, &all, &theory));
  assert_int_equal(all.calls, 10);
  assert_int_equal(all.total, 10);
  assert_fails(mm_theory_run(&job, &some.stop, listen, &some, &again), MM_ERR_INTERRUPTED,
               "interrupted");
  assert_int_equal(some.calls, 4);
  assert_null(again.step);
  // `curve` makes no difference, nor does being watched
  config.exact_curve = true;
  assert_ok(mm_theory_run(&job, NULL, NULL, NULL, &again));
  assert_memory_equal(theory.step, again.step, 10 * sizeof *theory.step);
  assert_true(theory.final_value == again.final_value);
  mm_theory_release(&theory);
  mm_theory_release(&again);
  config.steps = 100;
  assert_fails(mm_theory_run(&job, NULL, NULL, NULL, &again), MM_ERR_INPUT, "steps");
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// Values are those of `train` with an exact curve.
static void test_same_as_train(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-all");
  mm_map *map = open_map("l2");
  mm_pmd_config config = mm_pmd_config_default();
  config.steps = 20 * 2048;
  config.exact_curve = true;
  mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 11 };
  mm_theory theory;
  mm_result result;
  assert_ok(mm_theory_run(&job, NULL, NULL, NULL, &theory));
  assert_ok(mm_job_run(&job, NULL, &result));
  assert_int_equal(result.n_curve, 21);
  for (size_t t = 0; t < 20; t++)
    assert_near("curve", theory.step[t].value, result.curve[t], 1e-9);
  assert_near("final", theory.final_value, result.final_value, 1e-9);
  mm_result_release(&result);
  mm_theory_release(&theory);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

static void test_figure_refusals(void **state) {
  (void)state;
  mm_theory_step step = { .value = 1 };
  mm_theory runs[9], empty = { 0 };
  const char *names[9];
  for (int i = 0; i < 9; i++) {
    runs[i] = (mm_theory){ .step = &step, .n_step = 1 };
    names[i] = "name";
  }
  assert_fails(mm_theory_figure_write(runs, names, 9, "", 1, "x.svg"), MM_ERR_INPUT, "1 to 8");
  assert_fails(mm_theory_figure_write(runs, names, 0, "", 1, "x.svg"), MM_ERR_INPUT, "1 to 8");
  assert_fails(mm_theory_figure_write(&empty, names, 1, "", 1, "x.svg"), MM_ERR_INPUT, "iteration");
  assert_fails(mm_theory_figure_write(runs, names, 1, "", 1, "x.gif"), MM_ERR_INPUT, ".svg");
}

int suite_theory(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),        cmocka_unit_test(test_brute_force),
    cmocka_unit_test(test_violations),    cmocka_unit_test(test_progress_and_stop),
    cmocka_unit_test(test_same_as_train), cmocka_unit_test(test_figure_refusals),
  };
  return cmocka_run_group_tests_name("theory", tests, NULL, NULL);
}
