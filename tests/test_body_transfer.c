// SPDX-License-Identifier: Apache-2.0
// Suite `body_transfer`: our engine and the MuJoCo library as environments. Episodes of a random
// policy have the same distribution in both, and a policy that was trained in one does as well in
// the other. MM_TEST_LONG=1: on all bodies, with 2000 random episodes and trainings of 10^6 steps.

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>

#include "agent_fixture.h"
#include "body_rig.h"
#include "mirrormap/settings.h"
#include "mirrormap/stats.h"
#include "statistics.h"
#include "study/policy/evaluate.h"

#define ID(NAME, name, id, kernels) id,
static const char *const names[] = { MM_BODY_LIST(ID) };
enum { OWN, LIBRARY, EPISODES = 2000, EPISODES_SHORT = 200, PLAYED = 100 };

static bool is_long(void) {
  const char *text = getenv("MM_TEST_LONG");
  return text && atoi(text) > 0;
}

// Bodies to look at, and whether the library is there to be compared with.
static int bodies_here(void) {
  if (body_runs("Hopper", MM_ENV_PHYSICS_MUJOCO)) return is_long() ? MM_BODY_COUNT : 1;
  print_message("built without the MuJoCo library: nothing to compare with\n");
  skip();
  return 0;
}

// ---------------------------------------------------------------------------------------------
// A random policy

typedef struct sample {
  size_t n;
  double value[EPISODES], length[EPISODES];
} sample;

// Uniform actions, others in each engine.
static void draw_uniform(rig *r, int engine, uint64_t t) {
  mm_stream stream = mm_stream_make(7, (uint32_t)engine, MM_RNG_ACTION, 0);
  const size_t n = r->info.n * (size_t)r->info.n_real;
  for (size_t i = 0; i < n; i++)
    ((float *)r->action)[i] =
        mm_uniform_between_f((uint32_t)mm_stream_pair(stream, t * n + i), -1.0f, 1.0f);
}

// The first episode of each of n environments.
static void play_at_random(const char *id, int engine, size_t n, sample *out) {
  rig r = rig_open(
      id,
      (mm_vec_config){ .n = n, .seed = 11 + (uint64_t)engine, .physics = body_engines[engine] });
  size_t left = n;
  *out = (sample){ .n = n };
  assert_ok(mm_vec_reset(r.vec, &r.out));
  for (uint64_t t = 0; left > 0; t++) {
    draw_uniform(&r, engine, t);
    assert_ok(mm_vec_step(r.vec, r.action, &r.out));
    for (size_t i = 0; i < n; i++) {
      if (out->length[i] > 0) continue;
      out->value[i] += (double)r.out.reward[i];
      if (!r.out.end[i]) continue;
      out->length[i] = (double)(t + 1);
      left--;
    }
  }
  rig_close(&r);
}

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

// The largest distance of the two samples' distributions; sorts both.
static double distance(double *a, double *b, size_t n) {
  double most = 0;
  size_t i = 0, k = 0;
  qsort(a, n, sizeof *a, compare_numbers);
  qsort(b, n, sizeof *b, compare_numbers);
  while (i < n && k < n) {
    double x = fmin(a[i], b[k]);
    while (i < n && a[i] == x)
      i++;
    while (k < n && b[k] == x)
      k++;
    most = fmax(most, fabs((double)i - (double)k) / (double)n);
  }
  return most;
}

// Means within two standard errors of their difference, and Kolmogorov and Smirnov's p.
static void compare_samples(const char *id, const char *what, double *own, double *library,
                            size_t n) {
  mm_estimate a = mm_estimate_of(own, n), b = mm_estimate_of(library, n);
  double error = hypot(a.sem, b.sem), d = distance(own, library, n);
  double p = kolmogorov_p(d, 0.5 * (double)n);
  print_message("%s, %zu random episodes, %s: own %.3f (%.3f), library %.3f (%.3f), KS p %.3f\n",
                id, n, what, a.mean, a.sem, b.mean, b.sem, p);
  if (!(fabs(a.mean - b.mean) <= 2 * error)) fail_msg("%s: the means of %s differ", id, what);
  if (!(p > 0.01)) fail_msg("%s: the distributions of %s differ", id, what);
}

static void test_distribution(void **state) {
  (void)state;
  int n = bodies_here();
  size_t episodes = is_long() ? EPISODES : EPISODES_SHORT;
  sample *s = calloc(2, sizeof *s);
  for (int i = 0; i < n; i++) {
    for (int e = OWN; e <= LIBRARY; e++)
      play_at_random(names[i], e, episodes, &s[e]);
    compare_samples(names[i], "return", s[OWN].value, s[LIBRARY].value, episodes);
    compare_samples(names[i], "length", s[OWN].length, s[LIBRARY].length, episodes);
  }
  free(s);
}

// The distance of two small samples, by hand.
static void test_distance(void **state) {
  (void)state;
  double a[] = { 3, 1, 2, 4 }, b[] = { 2, 5, 6, 2 }, c[] = { 1, 1, 1, 1 }, d[] = { 1, 1, 1, 1 };
  assert_true(distance(a, b, 4) == 0.5); // at 4: all of a, half of b
  assert_true(distance(c, d, 4) == 0);
  assert_true(distance(a, c, 4) == 0.75);
  assert_true(kolmogorov_p(0, 100) == 1 && kolmogorov_p(0.5, 100) < 1e-20);
}

// ---------------------------------------------------------------------------------------------
// Trained policies

static mm_policy *train(const char *id, const mm_settings *settings) {
  mm_env *env;
  mm_map *map;
  mm_ampo *agent;
  mm_policy *policy;
  assert_ok(mm_env_open(id, &env));
  assert_ok(mm_map_open("negentropy", &map));
  assert_ok(make_agent_of(env, map, settings, 0, 0, &agent));
  for (int64_t k = mm_ampo_iterations(&settings->net); k > 0; k--)
    assert_ok(mm_ampo_iterate(agent));
  assert_ok(mm_policy_make(id, map, settings, 0, 1, &policy));
  assert_ok(mm_policy_set(policy, 0, mm_ampo_net(agent)));
  mm_ampo_destroy(agent);
  mm_map_destroy(map);
  mm_env_destroy(env);
  return policy;
}

static mm_returns play(const mm_policy *policy, const char *id, int engine) {
  mm_env *env;
  mm_evaluation result;
  assert_ok(mm_env_open(id, &env));
  mm_evaluate_config config = mm_evaluate_config_default();
  config.policy = policy;
  config.env = env;
  config.physics = body_engines[engine];
  config.episodes = PLAYED;
  assert_ok(mm_evaluate_run(&config, &result));
  mm_returns all = result.all;
  mm_evaluation_release(&result);
  mm_env_destroy(env);
  return all;
}

// Mean returns within 3 % or two standard errors of their difference.
static void check_transfer(const char *id, int home) {
  static const char *const called[] = { "own", "library" };
  mm_settings settings = mm_settings_default(MM_ALGO_GAUSSIAN);
  assert_ok(mm_preset_apply(MM_TEST_DATA "/../presets/mujoco-laptop.yaml", &settings));
  if (!is_long()) settings.net.steps = 131072;
  settings.net.physics = (int)body_engines[home];
  mm_policy *policy = train(id, &settings);
  mm_returns a = play(policy, id, home), b = play(policy, id, !home);
  mm_policy_destroy(policy);
  double apart = fabs(a.mean - b.mean), error = hypot(a.sem, b.sem);
  print_message("%s, trained with %s: %.1f (%.1f) there, %.1f (%.1f) with %s; lengths %.0f, %.0f\n",
                id, called[home], a.mean, a.sem, b.mean, b.sem, called[!home], a.mean_length,
                b.mean_length);
  if (!(apart <= 0.03 * fabs(a.mean) || apart <= 2 * error))
    fail_msg("%s: returns in the two engines differ by %g", id, apart);
}

static void test_transfer(void **state) {
  (void)state;
  if (test_is_slowed()) skip(); // what it executes cli_bodies and cli_gaussian do too
  int n = bodies_here();
  for (int i = 0; i < n; i++)
    for (int home = OWN; home <= LIBRARY; home++)
      check_transfer(names[i], home);
}

int suite_body_transfer(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_distance),
    cmocka_unit_test(test_distribution),
    cmocka_unit_test(test_transfer),
  };
  return cmocka_run_group_tests_name("body_transfer", tests, body_setup, NULL);
}
