// SPDX-License-Identifier: Apache-2.0
// log=on: what it records against the definitions, in double precision on the C library's functions
// from the networks before and after an update; and that training does not change by a bit.

#include <math.h>
#include <stdlib.h>

#include "agent/ampo_internal.h"
#include "agent_fixture.h"
#include "base/isa.h"
#include "laws/update.h"
#include "test.h"

typedef struct scene {
  mm_algo algo;
  const char *env, *map;
  const char *schedule; // of eta, or NULL
} scene;

static const scene scenes[] = {
  { MM_ALGO_AMPO, "CartPole-v1", "l2", "9,9" },
  { MM_ALGO_AMPO, "Acrobot-v1", "negentropy", "1,4" },
  { MM_ALGO_AMPO, "Breakout-MinAtar", "tsallis:1.5", NULL },
  { MM_ALGO_AMPO, "GridWorld-small", "random:3", NULL },
  { MM_ALGO_PPO, "CartPole-v1", "negentropy", NULL },
  { MM_ALGO_PPO, "Pendulum-v1", "negentropy", NULL },
  { MM_ALGO_GAUSSIAN, "Pendulum-v1", "l2", NULL },
  { MM_ALGO_GAUSSIAN, "HalfCheetah", "random-neural:2", "4,1" },
};
enum { SCENES = sizeof scenes / sizeof *scenes, ITERATIONS = 5 };

// Minibatches are not all of one size; 300 rows are looked at again in two parts.
static mm_settings settings_of(const scene *s, bool log) {
  mm_settings c = mm_settings_default(s->algo);
  c.net.envs = 6;
  c.net.unroll = 50;
  c.net.steps = 6 * 50 * ITERATIONS;
  c.net.epochs = 3;
  c.net.minibatches = 7;
  c.net.hidden = 20;
  c.net.lr = s->algo == MM_ALGO_AMPO ? 0.01 : 0.003;
  if (s->schedule) assert_ok(mm_settings_set(&c, "eta_schedule", s->schedule));
  assert_ok(mm_settings_set(&c, "log", log ? "on" : "off"));
  return c;
}

typedef struct rig {
  const scene *scene;
  mm_settings c;
  mm_env *env;
  mm_map *map;
  mm_ampo *a;
  mm_net *before; // networks that the iteration began with
} rig;

static void open_rig(const scene *s, bool log, rig *r) {
  *r = (rig){ .scene = s, .c = settings_of(s, log) };
  assert_ok(mm_env_open(s->env, &r->env));
  assert_ok(mm_map_open(s->map, &r->map));
  assert_ok(make_agent_of(r->env, r->map, &r->c, 4, 0, &r->a));
  assert_ok(mm_net_create(mm_net_shape(r->a->net), &r->before));
}

static void close_rig(rig *r) {
  mm_net_destroy(r->before);
  mm_ampo_destroy(r->a);
  mm_map_destroy(r->map);
  mm_env_destroy(r->env);
}

static mm_ampo_log iterate(rig *r) {
  mm_net_copy(r->before, r->a->net);
  assert_ok(mm_ampo_iterate(r->a));
  return mm_ampo_last(r->a).log;
}

// ---------------------------------------------------------------------------------------------
// The definitions once more

// eta of an iteration: its factors lie geometrically between the two of the schedule.
static double eta_of(const rig *r, int t) {
  const double *eta = mm_settings_number(&((rig *)r)->c, "eta");
  if (!eta) return 1;
  if (!r->scene->schedule) return *eta;
  double from = r->scene->schedule[0] - '0', to = r->scene->schedule[2] - '0';
  return *eta * from * pow(to / from, t / (double)(ITERATIONS - 1));
}

// Probabilities of row i by the network.
static void policy_of(const rig *r, mm_net *net, double eta, size_t i, double *p) {
  const size_t n = r->a->n_out;
  const mm_net_obs obs = mm_ampo_obs(r->a, i);
  float score[32];
  double x[32], lambda;
  mm_net_scores(net, &obs, 1, score);
  for (size_t k = 0; k < n; k++)
    x[k] = eta * (double)score[k];
  assert_ok(mm_map_project(r->map, MM_PROJECTION_EXACT, x, n, p, &lambda));
}

static double log_density_of(const rig *r, mm_net *net, size_t i) {
  const size_t d = r->a->n_out;
  const mm_net_obs obs = mm_ampo_obs(r->a, i);
  float mean[32], log_std[32];
  double sum = 0;
  mm_net_scores(net, &obs, 1, mean);
  mm_net_log_std(net, log_std);
  for (size_t k = 0; k < d; k++) {
    double z = ((double)r->a->real_action[i * d + k] - (double)mean[k]) / exp((double)log_std[k]);
    sum -= 0.5 * z * z + (double)log_std[k] + 0.5 * log(2 * acos(-1));
  }
  return sum;
}

static double variance_of(const double *x, size_t n) {
  double mean = 0, square = 0;
  for (size_t i = 0; i < n; i++)
    mean += x[i] / (double)n;
  for (size_t i = 0; i < n; i++)
    square += (x[i] - mean) * (x[i] - mean) / (double)n;
  return square;
}

static double log_ratio_of(const rig *r, size_t i, int t, mm_ampo_log *sum) {
  if (r->a->real) return log_density_of(r, r->a->net, i) - log_density_of(r, r->before, i);
  const size_t n = r->a->n_out;
  double p[32], q[32];
  policy_of(r, r->before, eta_of(r, t > 0 ? t - 1 : 0), i, q);
  policy_of(r, r->a->net, eta_of(r, t), i, p);
  for (size_t k = 0; k < n; k++) {
    if (!(p[k] > 0)) continue;
    sum->entropy -= p[k] * log(p[k]);
    sum->support++;
  }
  const int32_t action = r->a->action[i];
  return p[action] > 0 ? log(p[action]) - log(q[action]) : -INFINITY;
}

static mm_ampo_log expected_of(const rig *r, int t) {
  const mm_ampo *a = r->a;
  const size_t n = a->n_row;
  mm_ampo_log e = { 0 };
  double error[300], target[300], share = 1 / (double)n;
  for (size_t i = 0; i < n; i++) {
    double x = log_ratio_of(r, i, t, &e);
    x = fmax(fmin(x, 20), -20); // the documented bound
    e.approx_kl += exp(x) - 1 - x;
    e.clip_fraction += fabs(exp(x) - 1) > 0.2;
    error[i] = (double)a->target[i] - (double)a->value[i];
    target[i] = a->target[i];
  }
  e.approx_kl *= share;
  e.clip_fraction = a->method.ppo ? e.clip_fraction * share : NAN;
  e.support = a->real ? NAN : e.support * share;
  e.entropy *= share;
  e.explained_variance = 1 - variance_of(error, n) / variance_of(target, n);
  if (!a->real) return e;
  float log_std[32];
  mm_net_log_std(a->net, log_std);
  for (size_t k = 0; k < a->n_out; k++)
    e.entropy += (double)log_std[k] + 0.5 * log(2 * acos(-1) * exp(1));
  return e;
}

// Learns the last batch once more from the networks before, which end as those of the agent; the
// losses of all samples on the way.
static void replay(const rig *r, int t, mm_ampo_log *e) {
  mm_ampo *a = r->a;
  const size_t m = (size_t)a->config.minibatches, epochs = (size_t)a->config.epochs;
  const mm_net_batch batch = { .obs = mm_ampo_obs(a, 0),
                               .action = a->action,
                               .real = a->real_action,
                               .policy = a->policy,
                               .value = a->value,
                               .target = a->target,
                               .advantage = a->advantage };
  double lr = a->config.lr * (a->config.anneal ? 1 - t / (double)ITERATIONS : 1);
  uint32_t row[300];
  for (size_t k = 0; k < epochs; k++) {
    mm_stream stream = mm_stream_make(4, 0, MM_RNG_SHUFFLE, 0);
    mm_shuffle shuffle = mm_shuffle_make(stream, (uint64_t)t * epochs + k, (uint32_t)a->n_row);
    mm_shuffle_all(&shuffle, row);
    for (size_t i = 0, from = 0; i < m; i++) {
      mm_net_report report;
      size_t n = a->n_row / m + (i < a->n_row % m);
      assert_ok(mm_net_learn(r->before, &a->learn, lr, &batch, row + from, n, &report));
      e->policy_loss += report.policy_loss * (double)n / (double)(epochs * a->n_row);
      e->value_loss += report.value_loss * (double)n / (double)(epochs * a->n_row);
      from += n;
    }
  }
  float *x = malloc(1 << 20), *y = malloc(1 << 20);
  assert_true(x && y);
  for (int i = 0; i < MM_NET_TENSORS; i++) {
    mm_net_tensor tensor = mm_net_describe(a->net, i);
    size_t size = (size_t)tensor.rows * (size_t)tensor.cols * sizeof *x;
    assert_true(size <= 1 << 20);
    mm_net_export(a->net, MM_NET_PARAM, i, x);
    mm_net_export(r->before, MM_NET_PARAM, i, y);
    assert_memory_equal(x, y, size);
  }
  free(x);
  free(y);
}

// ---------------------------------------------------------------------------------------------

static void expect_near(const scene *s, int t, const char *what, double found, double expected,
                        double tolerance) {
  if (isnan(expected) ? isnan(found)
                      : fabs(found - expected) <= tolerance * (fabs(expected) + 1e-5))
    return;
  fail_msg("%s on %s, %s, iteration %d: %s is %.12g, expected %.12g", mm_algo_name(s->algo), s->env,
           s->map, t, what, found, expected);
}

static void test_definitions(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    const scene *s = &scenes[k];
    double moved = 0, clipped = 0, narrow = 0;
    rig r;
    open_rig(s, true, &r);
    for (int t = 0; t < ITERATIONS; t++) {
      const mm_ampo_log found = iterate(&r);
      mm_ampo_log e = expected_of(&r, t);
      replay(&r, t, &e);
#define NEAR(field, tolerance) expect_near(s, t, #field, found.field, e.field, tolerance)
      NEAR(policy_loss, 1e-12);
      NEAR(value_loss, 1e-12);
      NEAR(entropy, 1e-5);
      NEAR(approx_kl, 1e-3);
      NEAR(clip_fraction, 1e-12);
      NEAR(support, 1e-12);
      NEAR(explained_variance, 1e-9);
#undef NEAR
      moved = fmax(moved, found.approx_kl);
      clipped = fmax(clipped, found.clip_fraction);
      narrow += !isnan(found.support) && found.support < (double)r.a->n_out;
    }
    assert_true(moved > 1e-5); // there was something to measure
    assert_true(s->algo != MM_ALGO_PPO || clipped > 0);
    assert_true(strcmp(s->map, "l2") != 0 || r.a->real || narrow > 0);
    close_rig(&r);
  }
}

// The states between iterations have all that training goes on from.
static void test_training_is_the_same(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    rig off, on;
    open_rig(&scenes[k], false, &off);
    open_rig(&scenes[k], true, &on);
    const size_t size = mm_ampo_state_size(off.a);
    unsigned char *x = malloc(size), *y = malloc(size);
    assert_true(x && y && mm_ampo_state_size(on.a) == size);
    for (int t = 0; t < ITERATIONS; t++) {
      assert_ok(mm_ampo_iterate(off.a));
      assert_ok(mm_ampo_iterate(on.a));
      mm_ampo_save(off.a, x);
      mm_ampo_save(on.a, y);
      assert_memory_equal(x, y, size);
      const mm_ampo_report a = mm_ampo_last(off.a), b = mm_ampo_last(on.a);
      assert_memory_equal(&a.metric, &b.metric, sizeof a.metric);
      assert_memory_equal(&a.policy, &b.policy, sizeof a.policy);
    }
    free(x);
    free(y);
    close_rig(&off);
    close_rig(&on);
  }
}

static mm_result train(const scene *s, const mm_settings *c) {
  mm_env *env;
  mm_map *map;
  mm_result result;
  assert_ok(mm_env_open(s->env, &env));
  assert_ok(mm_map_open(s->map, &map));
  const mm_job job = job_of(env, map, c, 4);
  assert_ok(mm_job_run(&job, NULL, &result));
  mm_map_destroy(map);
  mm_env_destroy(env);
  return result;
}

// Of a job: a column for each, NaN where it is not defined; the same bits in every build.
static void test_columns(void **state) {
  (void)state;
  static const char *const isas[] = { "portable", "avx2", "avx512" };
  for (int k = 0; k < SCENES; k++) {
    const scene *s = &scenes[k];
    const bool ppo = s->algo == MM_ALGO_PPO, real = k >= 5;
    mm_settings on = settings_of(s, true), off = settings_of(s, false);
    mm_result r = train(s, &on), plain = train(s, &off);
    assert_memory_equal(r.curve, plain.curve, ITERATIONS * sizeof *r.curve);
    assert_true(r.measure && !plain.measure == !real);
    for (int t = 0; t < ITERATIONS; t++)
      for (int m = 0; m < MM_MEASURES; m++) {
        const double x = r.measure[t * MM_MEASURES + m];
        const bool logged = m >= MM_MEASURE_POLICY_LOSS;
        const bool known = m == MM_MEASURE_CLIP_FRACTION ? ppo
                           : m == MM_MEASURE_SUPPORT     ? !real
                           : m == MM_MEASURE_DIVERGENCE  ? real && !ppo
                                                         : logged || real;
        assert_true(isfinite(x) == known);
        if (!plain.measure) continue;
        const double y = plain.measure[t * MM_MEASURES + m];
        assert_true(logged ? isnan(y) : x == y || (isnan(x) && isnan(y)));
      }
    for (int i = 0; i < 3; i++) {
      if (mm_isa_select(isas[i]) != MM_OK) continue; // not on this machine
      mm_result again = train(s, &on);
      assert_memory_equal(r.measure, again.measure, ITERATIONS * MM_MEASURES * sizeof *r.measure);
      mm_result_release(&again);
    }
    assert_ok(mm_isa_select("auto"));
    mm_result_release(&r);
    mm_result_release(&plain);
  }
}

// A policy that stays: no divergence, nothing clipped, and all of its first entropy.
static void test_still(void **state) {
  (void)state;
  for (int k = 0; k < SCENES; k++) {
    if (scenes[k].schedule) continue; // eta moves it
    mm_settings c = settings_of(&scenes[k], true);
    c.net.lr = 0;
    mm_result r = train(&scenes[k], &c);
    for (int t = 0; t < ITERATIONS; t++) {
      const double *at = r.measure + t * MM_MEASURES;
      assert_true(at[MM_MEASURE_APPROX_KL] == 0);
      assert_true(!(at[MM_MEASURE_CLIP_FRACTION] > 0));
      assert_true(fabs(at[MM_MEASURE_ENTROPY] - r.measure[MM_MEASURE_ENTROPY]) < 1e-3);
    }
    mm_result_release(&r);
  }
  // without a pass over the batch there are no losses
  mm_settings c = settings_of(&scenes[0], true);
  c.net.epochs = 0;
  mm_result r = train(&scenes[0], &c);
  assert_true(isnan(r.measure[MM_MEASURE_POLICY_LOSS]) && isnan(r.measure[MM_MEASURE_VALUE_LOSS]));
  assert_true(r.measure[MM_MEASURE_APPROX_KL] == 0);
  assert_true(fabs(r.measure[MM_MEASURE_ENTROPY] - log(2)) < 1e-3);
  mm_result_release(&r);
}

static void test_laws(void **state) {
  (void)state;
  for (double x = -21; x <= 21; x += 0.37) {
    const double r = exp(x), kl = r - 1 - x;
    assert_true(fabs(mm_kl_sample(x) - kl) <= 1e-13 * (1 + r));
    assert_true(mm_ratio_is_clipped(x, 0.2) == (r > 1.2 || r < 0.8));
  }
  assert_true(mm_kl_sample(1e-6) > 4.9e-13 && mm_kl_sample(1e-6) < 5.1e-13); // with its digits
  assert_true(mm_log_ratio(0, 0.5) == -20 && mm_log_ratio(1e-30, 0.5) == -20);
  assert_true(mm_log_ratio(0.5, 1e-30) == 20 && mm_log_ratio(0.25, 0.25) == 0);
  assert_true(mm_log_ratio_within(INFINITY) == 20 && mm_log_ratio_within(-INFINITY) == -20);
  assert_true(mm_entropy_term(0) == 0 && mm_entropy_term(1) == 0);
  assert_true(fabs(mm_entropy_term(0.5) - 0.5 * log(2)) < 1e-15);
  assert_true(mm_explained_variance(1, 4) == 0.75 && mm_explained_variance(8, 4) == -1);
  assert_true(isnan(mm_explained_variance(1, 0)));
}

int suite_ampo_log(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_laws),    cmocka_unit_test(test_definitions),
    cmocka_unit_test(test_columns), cmocka_unit_test(test_training_is_the_same),
    cmocka_unit_test(test_still),
  };
  return cmocka_run_group_tests_name("ampo_log", tests, NULL, NULL);
}
