// SPDX-License-Identifier: Apache-2.0
// Tabular PMD: its gradient against central differences, its policies against a version written
// straight from the equations, and what must hold for every run.

#include <float.h>
#include <stdlib.h>

#include "agent/pmd.h"
#include "base/isa.h"
#include "base/status.h"
#include "env/grid/grid_model.h"
#include "env/grid/grid_sample.h"
#include "env/grid/grid_task.h"
#include "map/map_internal.h"
#include "random_map.h"

enum { A = MM_GRID_ACTIONS };

static mm_map *open_map(const char *name) {
  mm_map *map;
  assert_ok(mm_map_open(name, &map));
  return map;
}

static mm_env *open_env(const char *id) {
  mm_env *env;
  assert_ok(mm_env_open(id, &env));
  return env;
}

static const char *const map_names[] = {
  "negentropy", "l2",       "tsallis:0.5", "tsallis:1.5",
  "piecewise",  "random:4", "neural",      "random-neural:2"
};
enum { MAPS = sizeof map_names / sizeof *map_names };

// phi^-1 as the agent has it: neural maps go through their table.
static double inverse_of(const mm_map *map, double p) {
  double x;
  assert_ok(mm_map_phi_inverse_tabulated(map, &p, 1, &x));
  return x;
}

// ---------------------------------------------------------------------------------------------
// Gradient

static void softmax(const double *theta, double *pi) {
  double top = theta[0], total = 0;
  for (int a = 1; a < A; a++)
    top = fmax(top, theta[a]);
  for (int a = 0; a < A; a++)
    total += pi[a] = exp(theta[a] - top);
  for (int a = 0; a < A; a++)
    pi[a] /= total;
}

// J_s(theta) = <gain, pi> - D_h(pi, pi^t).
static double objective(const mm_map *map, const double *theta, const double *gain,
                        const double *start) {
  double pi[A], d, sum = 0;
  softmax(theta, pi);
  assert_ok(mm_map_bregman(map, pi, start, A, &d));
  for (int a = 0; a < A; a++)
    sum += gain[a] * pi[a];
  return sum - d;
}

// A probability whose neighbourhood holds a knot of a piecewise map: no second derivative there.
static bool near_knot(const mm_map *map, const double *pi) {
  size_t n;
  mm_map_piecewise_psi(map, &n);
  for (int a = 0; a < A && n; a++)
    if (fabs(pi[a] * (double)n - round(pi[a] * (double)n)) < 1e-3) return true;
  return false;
}

// The second step of two is weight times the gradient at where the first one led, with pi^t fixed.
static void test_gradient(void **state) {
  (void)state;
  int compared = 0;
  for (int m = 0; m < MAPS; m++) {
    if (strstr(map_names[m], "neural")) continue; // trained through the table: next test
    mm_map *map = open_map(map_names[m]);
    static mm_pmd_block one, two;
    memset(&one, 0, sizeof one);
    for (uint32_t l = 0; l < MM_PMD_LANES; l++) {
      one.weight[l] = random_in(l, 100, 0, 0.1, 1);
      for (uint32_t a = 0; a < A; a++) {
        one.theta[a * MM_PMD_LANES + l] = random_in(l, 101, a, -1, 1);
        one.gain[a * MM_PMD_LANES + l] = random_in(l, 102, a, -1, 1);
      }
    }
    mm_pmd_block initial = two = one;
    mm_pmd_kernels_current()->epochs(&map->engine, 1, &one);
    mm_pmd_kernels_current()->epochs(&map->engine, 2, &two);
    for (int l = 0; l < MM_PMD_LANES; l++) {
      double theta[A], gain[A], start[A], at[A], first[A];
      for (int a = 0; a < A; a++) {
        theta[a] = one.theta[a * MM_PMD_LANES + l];
        first[a] = initial.theta[a * MM_PMD_LANES + l];
        gain[a] = initial.gain[a * MM_PMD_LANES + l];
      }
      softmax(first, start);
      softmax(theta, at);
      if (near_knot(map, at)) continue;
      // the objective's own size decides what its differences can tell
      double size = fabs(objective(map, theta, gain, start));
      for (int a = 0; a < A; a++)
        size = fmax(size, fabs(inverse_of(map, at[a]) - inverse_of(map, start[a])));
      for (int a = 0; a < A; a++, compared++) {
        double h = 2e-5, up[A], down[A];
        memcpy(up, theta, sizeof up);
        memcpy(down, theta, sizeof down);
        up[a] += h;
        down[a] -= h;
        double expected =
            (objective(map, up, gain, start) - objective(map, down, gain, start)) / (2 * h);
        double got = (two.theta[a * MM_PMD_LANES + l] - theta[a]) / initial.weight[l];
        if (fabs(got - expected) > 1e-9 * fmax(1, size))
          fail_msg("%s lane %d action %d: %.12g, not %.12g", map_names[m], l, a, got, expected);
      }
    }
    mm_map_destroy(map);
  }
  assert_true(compared > 500);
}

// ---------------------------------------------------------------------------------------------
// Brute force: every sample by itself, every epoch as an epoch

typedef struct brute {
  const mm_grid *grid;
  const mm_map *map;
  const mm_pmd_config *config;
  double eta;
  uint64_t seed;
  int64_t step;
  double *theta, *value; // [n_state][5], [n_state]
  mm_grid_state *env;    // [envs]
} brute;

typedef struct sample {
  int32_t state, next;
  int action;
  double reward, advantage, target, normalised;
  bool done;
} sample;

static void brute_rollout(brute *b, sample *samples, int n_env, int unroll) {
  mm_grid_sampler sampler = mm_grid_sampler_make(b->grid);
  for (int e = 0; e < n_env; e++)
    for (int t = 0; t < unroll; t++) {
      sample *k = samples + e * unroll + t;
      uint64_t step = (uint64_t)(b->step + t);
      mm_stream choices = mm_stream_make(b->seed, 0, MM_RNG_ACTION, (uint32_t)e);
      mm_stream outcomes = mm_stream_make(b->seed, 0, MM_RNG_ENV_STEP, (uint32_t)e);
      mm_block block = mm_stream_block(choices, step / 4);
      double pi[A], u = block.word[step % 4] * 0x1p-32;
      k->state = mm_grid_index(b->grid, b->env[e]);
      softmax(b->theta + k->state * A, pi);
      k->action = mm_categorical_d(u, pi, A);
      mm_grid_event event = mm_grid_step(b->grid, &sampler, outcomes, step, k->action, &b->env[e]);
      k->reward = event.reward;
      k->done = event.done;
      if (event.done) b->env[e] = mm_grid_start(b->grid);
      k->next = mm_grid_index(b->grid, b->env[e]);
    }
  b->step += unroll;
}

static void brute_advantages(const brute *b, sample *samples, int n_env, int unroll) {
  const mm_pmd_config *c = b->config;
  int n = n_env * unroll;
  for (int k = 0; k < n; k++) {
    // the definition: discounted sum of the errors up to the end of unroll or episode
    double factor = 1, sum = 0;
    for (int j = k; j < (k / unroll + 1) * unroll; j++) {
      bool masked = samples[j].done && !c->restart;
      double next = masked ? 0 : b->value[samples[j].next];
      sum += factor * (samples[j].reward + c->gamma * next - b->value[samples[j].state]);
      if (masked) break;
      factor *= c->gamma * c->gae_lambda;
    }
    samples[k].advantage = sum;
    samples[k].target = sum + b->value[samples[k].state];
  }
  double mean = 0, variance = 0;
  for (int k = 0; k < n; k++)
    mean += samples[k].advantage / n;
  for (int k = 0; k < n; k++)
    variance += (samples[k].advantage - mean) * (samples[k].advantage - mean) / n;
  for (int k = 0; k < n; k++)
    samples[k].normalised = c->normalise_advantage
                                ? (samples[k].advantage - mean) / (sqrt(variance) + 1e-8)
                                : samples[k].advantage;
}

static void brute_policy(brute *b, const sample *samples, int n) {
  size_t entries = (size_t)b->grid->n_state * A;
  double *start = calloc(entries, sizeof *start), *step = calloc(entries, sizeof *step);
  for (int32_t s = 0; s < b->grid->n_state; s++)
    softmax(b->theta + s * A, start + s * A);
  for (int epoch = 0; epoch < (int)b->config->epochs; epoch++) {
    memset(step, 0, entries * sizeof *step);
    for (int k = 0; k < n; k++) {
      int32_t s = samples[k].state;
      double pi[A], gap[A], mean = 0;
      softmax(b->theta + s * A, pi);
      for (int a = 0; a < A; a++) {
        gap[a] = inverse_of(b->map, pi[a]) - inverse_of(b->map, start[s * A + a]);
        mean += pi[a] * gap[a];
      }
      int chosen = samples[k].action;
      double ratio = pi[chosen] / start[s * A + chosen];
      for (int a = 0; a < A; a++)
        step[s * A + a] += b->eta * samples[k].normalised * ratio * ((a == chosen) - pi[a]) -
                           pi[a] * (gap[a] - mean);
    }
    for (size_t i = 0; i < entries; i++)
      b->theta[i] += b->config->lr * step[i] / n;
  }
  free(start);
  free(step);
}

static void brute_critic(brute *b, const sample *samples, int n) {
  double *step = malloc((size_t)b->grid->n_state * sizeof *step);
  int *visits = calloc((size_t)b->grid->n_state, sizeof *visits);
  for (int k = 0; k < n; k++)
    visits[samples[k].state]++;
  for (int epoch = 0; epoch < (int)b->config->epochs; epoch++) {
    memset(step, 0, (size_t)b->grid->n_state * sizeof *step);
    for (int k = 0; k < n; k++)
      step[samples[k].state] += 2 * (samples[k].target - b->value[samples[k].state]) / n;
    for (int32_t s = 0; s < b->grid->n_state; s++) {
      // a rate at which the step would overshoot jumps to the mean target
      double rate = b->config->critic_lr, own = 2.0 * visits[s] / n;
      b->value[s] += (rate * own > 1 ? 1 / own : rate) * step[s];
    }
  }
  free(step);
  free(visits);
}

enum { ITERATIONS = 5 };

// What iterations are done with, set by hand for each.
typedef struct course {
  double eta[ITERATIONS];
} course;

// Largest difference of the two policies over all states after five iterations. `by_hand`: NULL
// where nothing changes.
static double compare(const mm_grid *grid, const mm_map *map, const mm_pmd_config *config,
                      uint64_t seed, const course *by_hand) {
  int n_env = (int)config->envs, unroll = (int)config->unroll, n = n_env * unroll;
  size_t states = (size_t)grid->n_state;
  brute b = { grid,
              map,
              config,
              config->eta,
              seed,
              0,
              calloc(states * A, sizeof(double)),
              calloc(states, sizeof(double)),
              malloc((size_t)n_env * sizeof(mm_grid_state)) };
  sample *samples = calloc((size_t)n, sizeof *samples);
  double *policy = malloc(states * A * sizeof *policy), worst = 0;
  for (int e = 0; e < n_env; e++)
    b.env[e] = mm_grid_start(grid);
  mm_pmd *pmd;
  assert_ok(mm_pmd_create(grid, map, config, seed, 0, &pmd));
  for (int t = 0; t < ITERATIONS; t++) {
    assert_ok(mm_pmd_iterate(pmd));
    if (by_hand) b.eta = by_hand->eta[t];
    brute_rollout(&b, samples, n_env, unroll);
    brute_advantages(&b, samples, n_env, unroll);
    brute_policy(&b, samples, n);
    brute_critic(&b, samples, n);
  }
  mm_pmd_policy(pmd, policy);
  for (size_t s = 0; s < states; s++) {
    double pi[A];
    softmax(b.theta + s * A, pi);
    for (size_t a = 0; a < A; a++)
      worst = fmax(worst, fabs(pi[a] - policy[a * states + s]));
    worst = fmax(worst, fabs(b.value[s] - mm_pmd_critic(pmd)[s]));
  }
  mm_pmd_destroy(pmd);
  free(b.theta);
  free(b.value);
  free(b.env);
  free(samples);
  free(policy);
  return worst;
}

static void test_brute_force(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-small");
  for (uint64_t task = 0; task < 20; task++) {
    mm_grid *grid;
    assert_ok(mm_grid_draw(env, 5, task, &grid));
    mm_map *map = open_map(map_names[task % MAPS]);
    mm_pmd_config config = mm_pmd_config_default();
    config.envs = 8;
    config.unroll = 16;
    config.epochs = 8;
    // a rough map is unstable at the usual rate: rounding errors would grow, in either version
    if (strncmp(map_names[task % MAPS], "random:", 7) == 0) config.lr = 2;
    config.restart = task % 3 == 1;
    config.normalise_advantage = task % 4 != 3;
    double worst = compare(grid, map, &config, task, NULL);
    if (!(worst <= 1e-10)) fail_msg("task %d, %s: %g", (int)task, map_names[task % MAPS], worst);
    mm_map_destroy(map);
    mm_grid_destroy(grid);
  }
  mm_env_destroy(env);
}

static mm_pmd_config short_config(void) {
  mm_pmd_config config = mm_pmd_config_default();
  config.envs = 8;
  config.unroll = 16;
  config.epochs = 8;
  config.steps = 8 * 16 * ITERATIONS;
  return config;
}

// eta 0.1 times 1, 2, 4, 2, 1: anchors at the first, third and last iteration.
static void test_eta_schedule(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-small");
  const course by_hand = { .eta = { 0.1, 0.2, 0.4, 0.2, 0.1 } };
  for (uint64_t task = 0; task < 4; task++) {
    mm_grid *grid;
    assert_ok(mm_grid_draw(env, 5, task, &grid));
    mm_map *map = open_map(map_names[task]);
    mm_pmd_config config = short_config();
    memcpy(config.eta_schedule, (double[3]){ 1, 4, 1 }, 3 * sizeof(double));
    assert_true(compare(grid, map, &config, task, &by_hand) <= 1e-10);
    assert_true(compare(grid, map, &config, task, NULL) > 1e-6); // it is felt
    mm_map_destroy(map);
    mm_grid_destroy(grid);
  }
  mm_env_destroy(env);
}

// ---------------------------------------------------------------------------------------------

// A whole run's result to the bit, on every instruction set, however often.
static void test_same_bits(void **state) {
  (void)state;
  static const char *const isa[] = { "portable", "avx2", "avx512", "auto" };
  mm_env *env = open_env("GridWorld-medium");
  for (int m = 0; m < MAPS; m++) {
    mm_map *map = open_map(map_names[m]);
    mm_pmd_config config = mm_pmd_config_default();
    config.steps = 20 * 2048;
    mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 3 };
    double first = 0;
    for (int v = 0; v < 4; v++) {
      if (mm_isa_select(isa[v]) != MM_OK) continue;
      mm_result result;
      assert_ok(mm_job_run(&job, NULL, &result));
      assert_int_equal(result.env_steps, 20 * 2048);
      assert_int_equal(result.n_curve, 1);
      if (v == 0) first = result.final_value;
      assert_true(result.final_value == first);
      mm_result_release(&result);
    }
    mm_map_destroy(map);
  }
  mm_env_destroy(env);
}

// Policies are distributions, values lie below V*, the curve starts at the uniform policy.
static void test_run(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-all");
  mm_map *map = open_map("l2");
  mm_pmd_config config = mm_pmd_config_default();
  config.exact_curve = true;
  for (uint64_t seed = 0; seed < 6; seed++) {
    mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = seed };
    mm_result result;
    assert_ok(mm_job_run(&job, NULL, &result));
    assert_int_equal(result.n_curve, 129);
    assert_int_equal(result.curve_step[128], 262144);
    assert_true(result.final_value == result.curve[128]);
    mm_grid *grid;
    mm_grid_model *model;
    assert_ok(mm_grid_draw(env, seed, 0, &grid));
    assert_ok(mm_grid_model_create(grid, config.gamma, false, &model));
    size_t states = (size_t)grid->n_state;
    double *policy = malloc(states * A * sizeof *policy), *value = calloc(states, sizeof *value);
    uint8_t *action = malloc(states);
    for (size_t i = 0; i < states * A; i++)
      policy[i] = 1.0 / A;
    assert_ok(mm_grid_value(model, policy, value, NULL));
    size_t start = (size_t)mm_grid_index(grid, mm_grid_start(grid));
    assert_true(fabs(value[start] - result.curve[0]) < 1e-9);
    assert_ok(mm_grid_optimal(model, value, action));
    assert_true(fabs(value[start] - result.optimal_value) < 1e-9);
    for (size_t i = 0; i < result.n_curve; i++)
      assert_true(result.curve[i] <= value[start] + 1e-8);
    // it learns something wherever there is something to learn
    if (value[start] > 0.1) assert_true(result.final_value > result.curve[0]);
    free(policy);
    free(value);
    free(action);
    mm_grid_model_destroy(model);
    mm_grid_destroy(grid);
    mm_result_release(&result);
  }
  mm_map_destroy(map);
  mm_env_destroy(env);
}

// A rate that blows the logits up is reported, and the last finite policy is what counts.
static void test_numeric_trouble(void **state) {
  (void)state;
  mm_env *env = open_env("GridWorld-dense");
  mm_map *map = open_map("l2");
  mm_pmd_config config = mm_pmd_config_default();
  config.lr = 1e6;
  config.eta = 1e6;
  config.normalise_advantage = false;
  config.epochs = test_is_slowed() ? 8192 : 65536;
  config.steps = 4 * 2048;
  mm_job job = { .env = env, .map = map, .algo = MM_ALGO_PMD, .config = &config, .seed = 1 };
  mm_result result;
  mm_status status = mm_job_run(&job, NULL, &result);
  assert_true(status == MM_OK || status == MM_ERR_NUMERIC);
  assert_true(isfinite(result.final_value));
  mm_result_release(&result);
  // a NaN among the logits does not lead a table look-up astray
  static const char *const looked_up[] = { "piecewise", "neural", "tsallis:0.5" };
  for (int m = 0; m < 3; m++) {
    mm_map *other = open_map(looked_up[m]);
    static mm_pmd_block block;
    memset(&block, 0, sizeof block);
    block.weight[0] = 1;
    block.gain[0] = INFINITY;
    mm_pmd_kernels_current()->epochs(&other->engine, 3, &block);
    assert_true(!isfinite(block.theta[0]));
    // and probabilities that have vanished move nothing
    memset(&block, 0, sizeof block);
    block.weight[0] = 1;
    block.theta[0] = 3000;
    mm_pmd_kernels_current()->epochs(&other->engine, 3, &block);
    for (int k = 0; k < MM_PMD_ENTRIES; k++)
      assert_true(isfinite(block.theta[k]));
    mm_map_destroy(other);
  }
  // settings out of range, and an interruption
  config = mm_pmd_config_default();
  config.gamma = 1;
  assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, "gamma");
  config = mm_pmd_config_default();
  config.steps = 100;
  assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, "steps");
  config = mm_pmd_config_default();
  config.envs = 4.5;
  assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, "'envs': 4.5 is not a whole number");
  config = mm_pmd_config_default();
  config.epochs = 0.5;
  assert_fails(mm_job_run(&job, NULL, &result), MM_ERR_INPUT, "'epochs': 0.5");
  config = mm_pmd_config_default();
  int stop = 1;
  assert_fails(mm_job_run(&job, &stop, &result), MM_ERR_INTERRUPTED, "interrupted");
  assert_null(result.curve);
  mm_map_destroy(map);
  mm_env_destroy(env);
}

int suite_pmd(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gradient),     cmocka_unit_test(test_brute_force),
    cmocka_unit_test(test_eta_schedule), cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_run),          cmocka_unit_test(test_numeric_trouble),
  };
  return cmocka_run_group_tests_name("pmd", tests, NULL, NULL);
}
